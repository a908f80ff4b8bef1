//! The hosts' own time for packets (`host.latency`): a line of packets within each host for each
//! direction.
//!
//! A packet that a host sends waits at the far end of its host's link, until the host's time to
//! send has passed, and a packet that a host receives waits there before its transport sees it. So
//! queues and links of hosts work as without these times. Packets of a line keep their order.
//! Control messages do not wait.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::Network;
use crate::network::packet::{Packet, Packets};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::VecDeque;
use timeplane_model::{Duration, Fabric, HostId};
use timeplane_scenario::HostTimes;
use timeplane_workload::Streams;

/// The lines of all hosts.
#[derive(Debug)]
pub(crate) struct HostLines {
    /// By link: those on which a host sends have its line for sending, those to a host its line for
    /// receiving.
    lines: Vec<Option<Line>>,
}

/// Packets within a host, in one direction.
#[derive(Debug)]
struct Line {
    least: Duration,
    most: Duration,
    draws: Xoshiro256PlusPlus,
    /// First to last: when they go on, and their numbers.
    waiting: VecDeque<(SimTime, u32)>,
    /// When the last packet so far goes on.
    last: SimTime,
}

impl Line {
    /// When a packet goes on that comes at `at`.
    fn pass(&mut self, at: SimTime) -> SimTime {
        let uniform = (self.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let time = self.least + (self.most - self.least).scale(uniform);
        self.last = self.last.max(at + time);
        self.last
    }
}

impl HostLines {
    fn new(fabric: &Fabric, times: HostTimes, streams: &Streams) -> Self {
        let mut lines: Vec<Option<Line>> = fabric.links().iter().map(|_| None).collect();
        let HostTimes { send_least, send_most, receive_least, receive_most } = times;
        for host in (0..fabric.hosts()).map(HostId) {
            let line = |purpose: &str, least, most| {
                let draws = streams.fast("host", u64::from(host.0), purpose);
                (most > Duration::ZERO).then(|| Line {
                    least,
                    most,
                    draws,
                    waiting: VecDeque::new(),
                    last: SimTime::ZERO,
                })
            };
            lines[fabric.uplink(host).index()] = line("time to send", send_least, send_most);
            lines[fabric.downlink(host).index()] = line("time to receive", receive_least, receive_most);
        }
        Self { lines }
    }

    fn line(&mut self, link: u32) -> Option<&mut Line> {
        self.lines.get_mut(link as usize)?.as_mut()
    }

    /// Packets within hosts.
    pub fn packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = &'a Packet> {
        self.lines.iter().flatten().flat_map(|l| &l.waiting).map(|&(_, id)| packets.get(id))
    }
}

impl Network {
    /// Lets hosts take time for packets.
    ///
    /// # Panics
    /// In debug builds where last hops are no events.
    pub fn let_hosts_take(&mut self, times: HostTimes, streams: &Streams) {
        debug_assert!(!self.passive, "a host takes a packet later than it arrives");
        self.host_lines = Some(Box::new(HostLines::new(&self.wires.fabric, times, streams)));
        // Each of these asks the lines where hosts receive, and where they send.
        self.inspects = true;
        self.detours = true;
    }

    /// A packet waits at the end of a host's link for the time of its host. False where it does
    /// not.
    pub(super) fn waits_in_host(&mut self, at: SimTime, link: u32, id: u32) -> bool {
        let Some(line) = self.host_lines.as_mut().and_then(|l| l.line(link)) else { return false };
        if self.wires.packets.get(id).control_message().is_some() {
            return false;
        }
        let passes = line.pass(at);
        if line.waiting.is_empty() {
            self.wires.calendar.push(passes, EventKind::PassHost { link }.key());
        }
        line.waiting.push_back((passes, id));
        // A packet enters the network when it has left its host.
        let sends = self.wires.links[link as usize].to >= self.wires.hosts;
        if let Some(latencies) = self.meters.latencies.as_mut().filter(|_| sends) {
            latencies.delay(id, passes - at);
        }
        true
    }

    /// The first packet within a host goes on: to the first switch, or to the transport.
    pub(crate) fn pass_host(&mut self, at: SimTime, link: u32, ends: &mut Endpoints) {
        let Some(line) = self.host_lines.as_mut().and_then(|l| l.line(link)) else { return };
        let Some((_, id)) = line.waiting.pop_front() else { return };
        if let Some(&(next, _)) = line.waiting.front() {
            self.wires.calendar.push(next, EventKind::PassHost { link }.key());
        }
        let to = self.wires.links[link as usize].to;
        if to < self.wires.hosts {
            let packet = self.wires.packets.remove(id);
            ends.receive(at, packet, self);
        } else {
            self.forward(at, link, to, id, ends);
        }
    }
}
