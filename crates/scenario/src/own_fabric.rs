//! The `[scheme.NAME.fabric]` tables: schemes with their own networks for the same workload. A
//! table holds only the keys that differ from `[fabric]`.

use crate::{FabricSpec, OwnRadio, Scenario, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use timeplane_model::{Buffer, Bytes, Duration, Forwarding, Framing, Pfc, Rate, Switch};

/// Differences of a scheme's fabric from `[fabric]`; keys that are absent keep the value in
/// `[fabric]`.
///
/// The number of hosts and the flows stay the same: the load of a workload refers to `[fabric]`.
/// Slowdowns and bounds also refer to `[fabric]`, so that all schemes are measured on one scale; a
/// faster fabric can beat the bounds. Failures and changes number the elements of each scheme's own
/// fabric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnFabric {
    /// Shape of the network; replaces the whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Rate of the hosts' links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of links between switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of each link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Duration>,
    /// Bytes that the link layer adds to a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<Framing>,
    /// Size of the largest packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Probability of a bit error on a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error: Option<f64>,
    /// Parameters of all switches, key by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<OwnSwitch>,
    /// Radios, key by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<OwnRadio>,
}

/// Differences of a scheme's switches from `[fabric.switch]`.
///
/// A scheme cannot remove marking or pausing that `[fabric.switch]` sets: set them only in the
/// schemes that use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnSwitch {
    /// Latency from a packet's arrival to its output queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Store-and-forward or cut-through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding: Option<Forwarding>,
    /// Bound of the output queues; replaces the whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Queue length in wire bytes from which arriving packets are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Bytes>,
    /// Priority flow control; replaces the whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
}

impl OwnFabric {
    /// The fabric of the scheme if the scenario's is `base`.
    pub fn over(&self, base: &FabricSpec) -> FabricSpec {
        FabricSpec {
            topology: self.topology.as_ref().unwrap_or(&base.topology).clone(),
            rate: self.rate.unwrap_or(base.rate),
            uplink_rate: self.uplink_rate.or(base.uplink_rate),
            propagation: self.propagation.unwrap_or(base.propagation),
            framing: self.framing.unwrap_or(base.framing),
            mtu: self.mtu.unwrap_or(base.mtu),
            bit_error: self.bit_error.unwrap_or(base.bit_error),
            switch: self.switch.map_or(base.switch, |own| own.over(base.switch)),
            radio: self.radio.as_ref().map(|own| own.over(base.radio.as_ref())).or_else(|| base.radio.clone()),
        }
    }
}

impl OwnSwitch {
    fn over(self, base: Switch) -> Switch {
        Switch {
            latency: self.latency.unwrap_or(base.latency),
            forwarding: self.forwarding.unwrap_or(base.forwarding),
            buffer: self.buffer.unwrap_or(base.buffer),
            ecn: self.ecn.or(base.ecn),
            pfc: self.pfc.or(base.pfc),
        }
    }
}

impl Scenario {
    /// The scenario as a scheme sees it: with the scheme's own fabric, if it has one.
    ///
    /// Returns `None` if there is no such scheme.
    pub fn seen_by(&self, scheme: &str) -> Option<Cow<'_, Self>> {
        Some(match &self.scheme.get(scheme)?.fabric {
            None => Cow::Borrowed(self),
            Some(own) => Cow::Owned(Self { fabric: own.over(&self.fabric), ..self.clone() }),
        })
    }
}
