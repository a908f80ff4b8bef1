//! Several access points in `[fabric.radio]`: interference between their links, and handover of
//! devices from one access point to another.

use super::RadioSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use timeplane_model::Duration;

/// Handover of devices between access points.
///
/// A device is the second node of several links with link traces. It uses one of them at a time,
/// initially the one with the highest power. It changes to another link whose power has been higher
/// by more than the hysteresis for the whole trigger time (event A3 of 3GPP TS 38.331, clause
/// 5.5.4.4). The network then sends to the new access point, and no packet starts on the device's
/// links during the delay; a packet in the air finishes normally. Powers are those of the selected
/// beams, in steps of 0.01 dB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HandoverSpec {
    /// Minimum difference of the received powers in dB.
    pub hysteresis_db: f64,
    /// Time for which the difference has to last.
    pub trigger: Duration,
    /// Interruption of the device's links.
    pub delay: Duration,
    /// Treatment of packets queued at the old access point. Packets queued in the device use the
    /// new link.
    pub queued: QueuedSpec,
}

impl Default for HandoverSpec {
    fn default() -> Self {
        Self {
            hysteresis_db: 3.0,
            trigger: Duration::from_ms(100),
            delay: Duration::from_ms(20),
            queued: QueuedSpec::Lost,
        }
    }
}

/// Treatment of packets queued at an access point whose device leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuedSpec {
    /// They are lost, with reason `handover`.
    #[default]
    Lost,
    /// They are forwarded to the new access point over the wires.
    Forwarded,
}

/// Received power between two nodes that are not the two ends of an active link, on each channel
/// that both use. It represents the directions of their beams while they communicate with others,
/// and is constant. Links without a link trace neither cause interference nor suffer from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// The two switches.
    pub nodes: [u32; 2],
    /// Power that each receives from the other, in dBm.
    pub level_dbm: f64,
}

impl RadioSpec {
    /// Devices that can change access points, with the positions of their links in the list.
    pub fn devices(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut devices = BTreeMap::<u32, Vec<usize>>::new();
        if self.handover.is_some() {
            for (i, link) in self.link.iter().enumerate() {
                devices.entry(link.nodes[1]).or_default().push(i);
            }
        }
        devices.retain(|_, links| links.len() > 1);
        devices
    }
}
