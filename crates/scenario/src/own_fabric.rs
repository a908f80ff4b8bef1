//! The `[scheme.NAME.fabric]` tables: schemes of one workload on networks of their own.

use crate::{FabricSpec, OwnRadio, Scenario, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use timeplane_model::{Buffer, Bytes, Duration, Forwarding, Framing, Pfc, Rate, Switch};

/// What a scheme's fabric has other than the scenario's. What is missing is as in `[fabric]`.
///
/// There are as many hosts as in `[fabric]`, and the flows are the same: the load of a workload is that of `[fabric]`, whatever rate hosts have
/// here. Slowdowns count from the least time in `[fabric]` and bounds are its bounds, so that all schemes are measured by one scale; a faster
/// fabric can beat both. Failures and changes count the elements of each scheme's fabric as it has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnFabric {
    /// Its shape, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Rate of the hosts' links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of links between switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Duration>,
    /// What the link layer adds to a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<Framing>,
    /// The largest packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Probability that a bit on a link is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error: Option<f64>,
    /// All switches, key by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<OwnSwitch>,
    /// Radios, key by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<OwnRadio>,
}

/// What the switches of a scheme's fabric have other than the scenario's.
///
/// Marks and pauses that `[fabric.switch]` has cannot be taken away here: leave them out there, and give them to the schemes that want them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnSwitch {
    /// From a packet's arrival to its place in an output queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Store-and-forward or cut-through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding: Option<Forwarding>,
    /// Bound of the output queues, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Marks a packet that finds at least so many wire bytes in its output queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Bytes>,
    /// Pauses who sends more than there is room for, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
}

impl OwnFabric {
    /// The fabric of the scheme, where the scenario's is `base`.
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
    /// The scenario as a scheme sees it: with the scheme's own fabric where it has one.
    ///
    /// `None` where there is no such scheme.
    pub fn seen_by(&self, scheme: &str) -> Option<Cow<'_, Self>> {
        Some(match &self.scheme.get(scheme)?.fabric {
            None => Cow::Borrowed(self),
            Some(own) => Cow::Owned(Self { fabric: own.over(&self.fabric), ..self.clone() }),
        })
    }
}
