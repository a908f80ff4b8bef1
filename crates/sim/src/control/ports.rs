//! Ports of the control network: messages leave one after the other, and arrive one after the
//! other.
//!
//! A switch that takes whole messages lies between two ports; nothing else slows them down. Calls
//! for one direction of a port must be in the order of time.

use crate::engine::time::SimTime;
use std::collections::VecDeque;
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_scenario::ControlSpec;

/// The ports of all agents; those of hosts come first.
#[derive(Debug)]
pub struct Ports {
    hosts: usize,
    host: PortRate,
    controller: PortRate,
    /// By agent, when its port can send again, and when it can receive again.
    free_at: Vec<[SimTime; 2]>,
    /// By host, messages that are known to come, see [`expect`](Self::expect).
    expected: Vec<Expected>,
}

/// Messages that come to the port of a host, first to last.
#[derive(Clone, Debug, Default)]
struct Expected {
    /// When each comes, and its bytes.
    coming: VecDeque<(SimTime, u32)>,
    /// When each of those that have passed the port was through.
    through: VecDeque<SimTime>,
}

/// A rate, with the line time of a byte where that is a whole number of picoseconds.
#[derive(Clone, Copy, Debug)]
struct PortRate {
    rate: Rate,
    ps_per_byte: Option<u64>,
}

impl PortRate {
    fn new(rate: Rate) -> Self {
        const BYTE: u64 = 8_000_000_000_000;
        Self { rate, ps_per_byte: BYTE.is_multiple_of(rate.as_bps()).then(|| BYTE / rate.as_bps()) }
    }

    fn time_for(self, bytes: u32) -> Duration {
        match self.ps_per_byte {
            Some(ps) => Duration::from_ps((ps * u64::from(bytes)) as i64),
            None => self.rate.time_for(Bytes::new(u64::from(bytes))),
        }
    }
}

impl Ports {
    /// Idle ports of hosts; `None` where messages take no time on ports.
    pub fn new(control: ControlSpec, hosts: u32) -> Option<Self> {
        let ControlSpec::Network(spec) = control else { return None };
        Some(Self {
            hosts: hosts as usize,
            host: PortRate::new(spec.host_rate),
            controller: PortRate::new(spec.controller_rate),
            free_at: vec![[SimTime::ZERO; 2]; hosts as usize],
            expected: vec![Expected::default(); hosts as usize],
        })
    }

    /// Adds ports of controllers for this many agents in all.
    pub fn add_controllers(&mut self, agents: usize) {
        self.free_at.resize(agents, [SimTime::ZERO; 2]);
    }

    /// An agent sends a message at `at`: when it has left.
    pub fn leave(&mut self, at: SimTime, from: u32, bytes: u32) -> SimTime {
        self.pass(at, from, 0, bytes)
    }

    /// A message has come to the port of its recipient at `at`: when it arrives.
    pub fn arrive(&mut self, at: SimTime, to: u32, bytes: u32) -> SimTime {
        self.pass_expected(at, to);
        self.pass(at, to, 1, bytes)
    }

    /// A message will come to the port of a host at `at`, not before those that are expected
    /// already. It needs no call then: it passes before all that comes to the port later.
    pub fn expect(&mut self, to: u32, at: SimTime, bytes: u32) {
        self.expected[to as usize].coming.push_back((at, bytes));
    }

    /// When the next expected message of a host arrives, if that is by `until`. Takes it out.
    pub fn take_expected(&mut self, to: u32, until: SimTime) -> Option<SimTime> {
        self.pass_expected(until, to);
        let through = &mut self.expected[to as usize].through;
        if *through.front()? <= until { through.pop_front() } else { None }
    }

    /// When the expected messages of a host are through that have come by `until` and were not
    /// taken out, first to last.
    pub fn come(&mut self, to: u32, until: SimTime) -> impl Iterator<Item = SimTime> + '_ {
        self.pass_expected(until, to);
        self.expected[to as usize].through.iter().copied()
    }

    /// Lets the expected messages pass that come by `until`.
    fn pass_expected(&mut self, until: SimTime, to: u32) {
        while let Some(expected) = self.expected.get_mut(to as usize)
            && let Some(&(at, bytes)) = expected.coming.front().filter(|next| next.0 <= until)
        {
            expected.coming.pop_front();
            let through = self.pass(at, to, 1, bytes);
            self.expected[to as usize].through.push_back(through);
        }
    }

    /// A message that is there at `at` passes a port in one direction: when it is through.
    fn pass(&mut self, at: SimTime, agent: u32, direction: usize, bytes: u32) -> SimTime {
        let rate = if (agent as usize) < self.hosts { self.host } else { self.controller };
        let free_at = &mut self.free_at[agent as usize][direction];
        *free_at = at.max(*free_at) + rate.time_for(bytes);
        *free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_scenario::ControlNetworkSpec;

    fn at(ns: i64) -> SimTime {
        SimTime::ZERO + Duration::from_ns(ns)
    }

    /// Two hosts with 1 Gb/s and a controller, agent 2, with 10 Gb/s.
    fn ports() -> Ports {
        let rates = ControlNetworkSpec { host_rate: Rate::gbps(1), controller_rate: Rate::gbps(10) };
        let mut ports = Ports::new(ControlSpec::Network(rates), 2).expect("ports");
        ports.add_controllers(3);
        ports
    }

    #[test]
    fn grants_leave_the_controller_one_after_the_other() {
        let mut ports = ports();
        // 1250 B take 1 us at 10 Gb/s and 10 us at 1 Gb/s.
        assert_eq!([0, 0, 500].map(|ns| ports.leave(at(ns), 2, 1250)), [1_000, 2_000, 3_000].map(at));
        assert_eq!(ports.leave(at(50_000), 2, 1250), at(51_000), "it was idle");
        assert_eq!(ports.arrive(at(2_000), 0, 1250), at(12_000));
        assert_eq!(ports.arrive(at(3_000), 1, 1250), at(13_000), "another host");
        assert_eq!(ports.arrive(at(4_000), 0, 1250), at(22_000));
    }

    #[test]
    fn expected_messages_pass_in_the_order_in_which_they_come() {
        let mut ports = ports();
        // 125 B take 1 us at a host.
        ports.expect(0, at(10_000), 125);
        ports.expect(0, at(10_500), 125);
        ports.expect(0, at(20_000), 125);
        assert_eq!(ports.take_expected(0, at(10_999)), None, "it is not through");
        assert_eq!(ports.come(0, at(10_999)).collect::<Vec<_>>(), [at(11_000), at(12_000)], "but two have come");
        assert_eq!(ports.take_expected(0, at(11_000)), Some(at(11_000)));
        // Another message comes behind the second and before the third.
        assert_eq!(ports.arrive(at(19_500), 0, 125), at(20_500));
        assert_eq!(ports.take_expected(0, at(11_999)), None);
        assert_eq!([(); 2].map(|()| ports.take_expected(0, at(30_000))), [Some(at(12_000)), Some(at(21_500))]);
        assert_eq!(ports.take_expected(0, at(30_000)), None);
    }

    #[test]
    fn directions_do_not_disturb_each_other() {
        let mut ports = ports();
        assert_eq!(ports.leave(at(0), 0, 125), at(1_000));
        assert_eq!(ports.arrive(at(0), 0, 125), at(1_000));
    }

    #[test]
    fn a_rate_without_whole_picoseconds_rounds_up_once() {
        let odd = PortRate::new(Rate::bps(3_000_000_000));
        assert_eq!(odd.time_for(1000), Rate::bps(3_000_000_000).time_for(Bytes::new(1000)));
        assert_eq!(PortRate::new(Rate::gbps(25)).time_for(1000), Duration::from_ns(320));
    }

    #[test]
    fn only_a_network_of_its_own_has_ports() {
        assert!(Ports::new(ControlSpec::Unlimited, 2).is_none());
    }
}
