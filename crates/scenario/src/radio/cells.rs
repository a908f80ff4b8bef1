//! Several access points: who disturbs whom, and how a device goes from one to another.

use super::RadioSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use timeplane_model::Duration;

/// How a device goes from one access point to another.
///
/// A device is the second node of several links that follow a link trace; it uses one of them at a time, at the begin the loudest. Once another
/// one has been louder by more than the hysteresis for all of the trigger time (event A3 of 3GPP TS 38.331, clause 5.5.4.4), the device goes over: from then on the
/// network sends to the new access point, and for the delay no packet begins on the device's links. One in the air then ends as it would
/// have. Levels are those of the beams in use, to a hundredth of a decibel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HandoverSpec {
    /// How much louder the other one has to be, dB.
    pub hysteresis_db: f64,
    /// For how long.
    pub trigger: Duration,
    /// How long nothing is carried.
    pub delay: Duration,
    /// What becomes of packets that wait at the old access point. Those that wait in the device go the new way.
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

/// What becomes of packets that wait at an access point whose device leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuedSpec {
    /// They are lost, with the reason `handover`.
    #[default]
    Lost,
    /// They are sent on to the new one by the wires.
    Forwarded,
}

/// What two nodes receive of each other that are not the two ends of a link in use: of what one sends to others, on each channel that both
/// use. It stands for the directions in which their beams point then, and does not change. Links without a link trace neither disturb nor are
/// disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// The two switches.
    pub nodes: [u32; 2],
    /// What each receives of the other, dBm.
    pub level_dbm: f64,
}

impl RadioSpec {
    /// Devices that can go from one access point to another: by device, its links by their places in the list.
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
