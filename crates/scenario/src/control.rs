//! How messages between a controller and its hosts travel, and how long a round of them takes: on
//! ports of a control network, or in band.

use crate::signals::longest_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Fabric, HostId, Rate};

/// Path of the messages between a controller and its hosts, and of the repair reports of `raw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlSpec {
    /// Network of their own with a port for each host and each controller. Messages leave a port
    /// one after the other and arrive one after the other.
    Network(ControlNetworkSpec),
    /// Links of the fabric, where control frames go before all data that has not started.
    InBand(InBandSpec),
    /// Network of their own whose ports take no time.
    Unlimited,
}

/// Ports of the control network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControlNetworkSpec {
    /// Rate of a host's port.
    pub host_rate: Rate,
    /// Rate of the port of each controller, standby and relay.
    pub controller_rate: Rate,
}

impl Default for ControlNetworkSpec {
    fn default() -> Self {
        Self { host_rate: Rate::gbps(10), controller_rate: Rate::gbps(100) }
    }
}

/// Place of the controller in the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InBandSpec {
    /// Number of the host that also runs the controller. `control_latency` is then the time that
    /// both ends take to handle a message; links add theirs.
    pub controller: u32,
}

impl Default for ControlSpec {
    fn default() -> Self {
        Self::Network(ControlNetworkSpec::default())
    }
}

impl ControlSpec {
    /// Longest time that links add to a message of at most `each` wire bytes, if every host sends
    /// one or gets one at the same time. Frames of data have at most `mtu` bytes.
    ///
    /// In the control network: all of them through the controller's port, and the last one through
    /// that of its host. In band: all of them over the slowest link, and for each link of the
    /// longest path the frame of data in service, a control frame, and the delays of wire and
    /// switch.
    pub fn transfer(&self, fabric: &Fabric, mtu: u32, each: Bytes) -> Duration {
        let busy = self.busy(fabric, each);
        match self {
            Self::Unlimited => busy,
            Self::Network(n) => busy + n.host_rate.time_for(each),
            Self::InBand(_) => {
                let hop = fabric.links().iter().map(|l| {
                    let frame = Bytes::new(u64::from(l.spec.framing.wire(mtu).max(1538)));
                    let latency = fabric.switch(l.from).map_or(Duration::ZERO, |s| s.latency);
                    l.spec.rate.time_for(frame) * 2 + l.spec.propagation + latency
                });
                busy + hop.max().unwrap_or_default() * longest_path(fabric) as i64
            }
        }
    }

    /// Time that messages of `each` wire bytes to all hosts, or from all of them, keep the
    /// controller's port busy; in band, the slowest link.
    pub fn busy(&self, fabric: &Fabric, each: Bytes) -> Duration {
        let all = Bytes::new(each.get().saturating_mul(u64::from(fabric.hosts())));
        match self {
            Self::Unlimited => Duration::ZERO,
            Self::Network(n) => n.controller_rate.time_for(all),
            Self::InBand(_) => {
                let slowest = fabric.links().iter().map(|l| l.spec.rate).min();
                slowest.map_or(Duration::ZERO, |rate| rate.time_for(all))
            }
        }
    }

    /// The host that also runs the controller, if messages travel in band.
    pub fn in_band(&self) -> Option<HostId> {
        match self {
            Self::InBand(spec) => Some(HostId(spec.controller)),
            Self::Network(_) | Self::Unlimited => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Framing, LinkSpec, NodeId, Switch};

    /// Two hosts on a switch, with links of 10 Gb/s and 1 us.
    fn pair() -> Fabric {
        let link = LinkSpec {
            rate: Rate::gbps(10),
            propagation: Duration::from_us(1),
            framing: Framing::Ethernet,
            bit_error: 0.0,
        };
        let wires = [(NodeId(0), NodeId(2), link), (NodeId(1), NodeId(2), link)];
        Fabric::new(2, vec![Switch::default()], &wires).expect("a fabric")
    }

    #[test]
    fn a_round_takes_the_controllers_port_and_one_of_a_host() {
        let ports = ControlNetworkSpec { host_rate: Rate::gbps(1), controller_rate: Rate::gbps(10) };
        // Two messages of 1000 B at 10 Gb/s, and one at 1 Gb/s.
        let expected = Duration::from_ns(1_600 + 8_000);
        assert_eq!(ControlSpec::Network(ports).transfer(&pair(), 1500, Bytes::new(1000)), expected);
        assert_eq!(ControlSpec::Unlimited.transfer(&pair(), 1500, Bytes::new(1000)), Duration::ZERO);
    }

    #[test]
    fn in_band_a_frame_of_data_goes_first_on_each_link() {
        let spec = ControlSpec::InBand(InBandSpec { controller: 0 });
        let frame = Rate::gbps(10).time_for(Bytes::new(1538));
        let hops = (frame * 2 + Duration::from_us(1)) * 2;
        let expected = Rate::gbps(10).time_for(Bytes::new(2000)) + hops;
        assert_eq!(spec.transfer(&pair(), 1500, Bytes::new(1000)), expected);
    }
}
