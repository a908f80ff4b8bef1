//! Times until hosts stop and resume sending when control frames pause circuits. Validation
//! compares them with the dark time of a plan, and the controller of circuits keeps to them.

use crate::{CircuitsSpec, Interfaces};
use timeplane_model::{Bytes, Duration, Fabric, HostId, LinkSpec, Rate};
use timeplane_protocol::{Message, SLACK, size};
use timeplane_schedule::circuits::{CircuitAlgorithm, CircuitTuning};

impl CircuitsSpec {
    /// Maximum time from sending pause frames until no more light reaches the circuit switch, for
    /// packets of `mtu` bytes on a hybrid fabric:
    ///
    /// `control latency + frames to all hosts of an interface + off_most + the packet in progress +
    /// its path to the circuit switch`
    pub fn stop(&self, fabric: &Fabric, mtu: u32) -> Duration {
        let line = link(fabric).rate.time_for(Bytes::new(u64::from(link(fabric).framing.wire(mtu))));
        self.frames(fabric) + self.control_latency + self.signals.reaction.times().off_most + line + way(fabric, mtu)
    }

    /// Minimum time from sending a frame that opens a gate until light can reach the circuit
    /// switch, with the fastest reaction and the smallest packet, on a hybrid fabric.
    pub fn open_lead(&self, fabric: &Fabric) -> Duration {
        let frame = self.signals.frame_time(fabric);
        self.control_latency + frame + self.signals.reaction.times().on_least + way(fabric, 0)
    }

    /// Longest time that schedules or packet rates spend on ports until all hosts have them: a
    /// grant for each configuration, or a rate for each other host and for its acknowledgements.
    pub fn transfer(&self, fabric: &Fabric, mtu: u32) -> Duration {
        self.control.transfer(fabric, mtu, self.messages(fabric))
    }

    /// Most wire bytes of a message of a period to one host.
    pub fn messages(&self, fabric: &Fabric) -> Bytes {
        let others = u64::from(fabric.hosts().saturating_sub(1));
        let fit = self.period.as_ps() / (self.dark + self.least_open).as_ps().max(1);
        let configurations = u64::from(self.configurations.unwrap_or(u32::MAX)).min(fit.unsigned_abs());
        // Leases end after the period.
        let grant = size::GRANT + size::RATE + size::LINK + size::long(self.period * 2);
        let schedule = Message::most_of_grants(configurations.min(others), grant);
        let rates = Message::most_of_rates(others * if self.acknowledgements > 0.0 { 2 } else { 1 });
        schedule.max(rates)
    }

    /// The part of a host's link that circuits leave, for a packet switch that has this rate for
    /// each host: acknowledgements, requests that are not reported yet, and some slack.
    pub fn reserved(&self, packet: Rate) -> Rate {
        if self.limits && self.packets {
            Rate::bps((packet.as_bps() as f64 * self.reserved_share()).ceil() as u64)
        } else {
            Rate::ZERO
        }
    }

    /// The same as a share of the packet switch's rate.
    pub(crate) fn reserved_share(&self) -> f64 {
        self.acknowledgements + (1.0 - self.acknowledgements) * self.unreported + SLACK
    }

    /// Parameters of the scheduler.
    pub fn tuning(&self) -> CircuitTuning {
        let Self { day, granularity, hysteresis, reorder, .. } = *self;
        CircuitTuning { day, granularity, hysteresis, reorder }
    }

    /// Whether the scheduler is a built-in one with this property.
    pub(crate) fn has(&self, property: impl FnOnce(CircuitAlgorithm) -> bool) -> bool {
        self.scheduler.built_in().is_some_and(property)
    }

    /// Whether hosts report their backlogs by coflow.
    pub fn reports_coflows(&self) -> bool {
        self.coflows && self.has(CircuitAlgorithm::orders_coflows)
    }

    /// Time to send the control frames to all hosts.
    pub fn frames(&self, fabric: &Fabric) -> Duration {
        let rack = |h: u32| fabric.link(fabric.uplink(HostId(h))).to;
        let hosts = match self.signals.interfaces {
            Interfaces::One => fabric.hosts() as usize,
            Interfaces::PerEdgeSwitch => (0..fabric.hosts()).filter(|&h| rack(h) == rack(0)).count(),
        };
        (self.signals.frame_time(fabric) + self.signals.frame_gap) * hosts as i64
    }
}

/// A host's link; all are alike.
fn link(fabric: &Fabric) -> &LinkSpec {
    &fabric.link(fabric.uplink(HostId(0))).spec
}

/// From a gate to the circuit switch: the host's link, the rack switch, the rack's link.
fn way(fabric: &Fabric, bytes: u32) -> Duration {
    let line = |l: &LinkSpec| l.rate.time_for(Bytes::new(u64::from(l.framing.wire(bytes)))) + l.propagation;
    let rack = fabric.link(fabric.uplink(HostId(0))).to;
    let latency = fabric.switch(rack).map_or(Duration::ZERO, |s| s.latency);
    let up = fabric.circuit_uplinks(rack);
    let up = up.first().map_or(Duration::ZERO, |&up| line(&fabric.link(up).spec));
    line(link(fabric)) + latency + up
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reaction, SignalSpec};
    use timeplane_model::{Framing, Hybrid, Rate, Switch};

    #[test]
    fn times_are_the_sums_of_their_parts() {
        let spec = |gbps| LinkSpec {
            rate: Rate::gbps(gbps),
            propagation: Duration::from_us(1),
            framing: Framing::Ethernet,
            bit_error: 0.0,
        };
        let shape = Hybrid { tors: 4, hosts_per_tor: 2, packet_uplinks: 1, circuit_uplinks: 2 };
        let switch = Switch { latency: Duration::from_ns(500), ..Switch::default() };
        let fabric = Fabric::hybrid(shape, switch, spec(10), spec(1), spec(100)).unwrap();
        let signals =
            SignalSpec { reaction: Reaction::Interface, frame_gap: Duration::from_us(3), ..SignalSpec::default() };
        let one = CircuitsSpec { control_latency: Duration::from_us(7), signals, ..CircuitsSpec::default() };
        let frame = Duration::from_ps(67_200);
        assert_eq!(one.frames(&fabric), (frame + Duration::from_us(3)) * 8);
        let signals = SignalSpec { interfaces: Interfaces::PerEdgeSwitch, ..signals };
        let each = CircuitsSpec { signals, ..one.clone() };
        assert_eq!(each.frames(&fabric), (frame + Duration::from_us(3)) * 2);
        // 1538 B at 10 Gb/s twice, at 100 Gb/s once; two propagation delays and the rack switch.
        let line = Duration::from_ps(1_230_400 * 2 + 123_040);
        let rest = Duration::from_us(7 + 6 + 2) + Duration::from_ns(500);
        assert_eq!(each.stop(&fabric, 1500), each.frames(&fabric) + line + rest);
        assert_eq!(one.stop(&fabric, 1500) - each.stop(&fabric, 1500), one.frames(&fabric) - each.frames(&fabric));
        // 84 B on both links, after the frame, with the fastest reaction and the same path.
        let line = Duration::from_ps(67_200 * 2 + 6_720);
        assert_eq!(one.open_lead(&fabric), line + Duration::from_us(7 + 2 + 2) + Duration::from_ns(500));
    }
}
