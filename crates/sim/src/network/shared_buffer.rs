//! A buffer that all ports of a switch share, bounded by dynamic thresholds (Choudhury and Hahne,
//! 1998).
//!
//! A port may queue up to `alpha` times the memory that is still free. The buffer measures ports by
//! the backlog of their links; it does not know packets.
//!
//! A train is booked ahead, so the backlog of its port says nothing of an instant. The port then
//! counts with one packet. While that leaves room for everything, nothing can be lost. Otherwise
//! the buffer is [uncertain](SharedBuffer::is_uncertain), and the run is repeated packet by packet.

use crate::engine::time::SimTime;
use crate::network::link::LinkState;
use timeplane_model::{Buffer, Forwarding, Switch};

/// A switch's shared memory, in bytes. What each packet needs is in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SharedBuffer {
    memory: f64,
    alpha: f64,
    /// An upper bound of the bytes in use: an exact value and all bytes since then. The ports are
    /// asked only when this bound leaves no room.
    at_most: f64,
    /// The largest packet of trains so far, in bytes; 0 without trains.
    largest: f64,
    /// Behind cut-through a port may wait for the rest of a packet. Its line time then grows by
    /// more than the packet, so the bound does not hold.
    always_ask: bool,
    /// Whether the fate of a packet depended on what trains hold at an instant.
    uncertain: bool,
    /// The links that the switch sends on, by number.
    ports: Vec<u32>,
    /// By port, when the last packet of the last train joins it; empty without trains.
    joined: Vec<SimTime>,
}

impl SharedBuffer {
    /// The buffer of a switch that has one; `ports` lists the links that it sends on.
    pub fn of(switch: &Switch, ports: impl FnOnce() -> Vec<u32>) -> Option<Self> {
        let Buffer::Shared { memory, alpha } = switch.buffer else { return None };
        Some(Self {
            memory: memory.get() as f64,
            alpha,
            at_most: 0.0,
            largest: 0.0,
            always_ask: switch.forwarding == Forwarding::CutThrough,
            uncertain: false,
            ports: ports(),
            joined: Vec::new(),
        })
    }

    /// Makes the next packet ask the ports: their backlogs have changed by more than packets.
    pub fn forget(&mut self) {
        self.at_most = f64::INFINITY;
    }

    /// The line time that port `out` may queue with this packet: none, or any.
    #[inline]
    pub fn room(&mut self, ready: SimTime, out: u32, wire: u32, links: &[LinkState]) -> i64 {
        let bytes = f64::from(wire);
        let all = self.at_most + bytes;
        // Most ports have far less than they may. Two bytes are left for what is rounded.
        let may = self.alpha * (self.memory - self.at_most) - bytes - 2.0;
        if !self.always_ask && self.has_room(all, self.largest) && links[out as usize].is_within(ready, may) {
            self.at_most = all;
            return i64::MAX;
        }
        self.ask(ready, out, bytes, links)
    }

    #[inline(never)]
    fn ask(&mut self, ready: SimTime, out: u32, wire: f64, links: &[LinkState]) -> i64 {
        let own = links[out as usize].backlog_bytes(ready) as f64;
        let fits = |this: &Self| {
            let used = this.at_most;
            own + wire <= this.alpha * (this.memory - used) && used + wire <= this.memory
        };
        // A packet of a train under way must find room behind this one.
        let all_fit = |this: &Self| fits(this) && this.has_room(this.at_most + wire, this.largest);
        if self.always_ask || !all_fit(self) {
            self.sum_up(ready, links);
            self.uncertain |= !all_fit(self) && self.joined.iter().any(|&joined| joined >= ready);
            if !fits(self) {
                return -1;
            }
        }
        self.at_most += wire;
        i64::MAX
    }

    /// Whether a packet of a train fits that finds its port empty and `used` bytes in use.
    fn has_room(&self, used: f64, packet: f64) -> bool {
        packet <= self.alpha * (self.memory - used) && used + packet <= self.memory
    }

    /// Sums up the bytes in use from `at` on. A port that takes a train holds one packet of it at a
    /// time.
    fn sum_up(&mut self, at: SimTime, links: &[LinkState]) {
        let backlog = |(i, &port): (usize, &u32)| {
            let takes_train = self.joined.get(i).is_some_and(|&joined| joined >= at);
            if takes_train { self.largest } else { links[port as usize].backlog_bytes(at) as f64 }
        };
        self.at_most = self.ports.iter().enumerate().map(backlog).sum();
    }

    /// Whether packets of `wire` bytes that leave a host back to back from `now` on certainly find
    /// room, each by itself at its port, whatever else the switch has accepted.
    pub fn takes_train(&mut self, now: SimTime, wire: u32, links: &[LinkState]) -> bool {
        let packet = train_bytes(wire);
        let largest = self.largest.max(packet);
        if self.always_ask {
            return false;
        }
        if !self.has_room(self.at_most + packet, largest) {
            self.sum_up(now, links);
        }
        self.has_room(self.at_most + packet, largest)
    }

    /// Packets of `wire` bytes join port `out`, the last one at `last`.
    pub fn book(&mut self, out: u32, last: SimTime, wire: u32) {
        let packet = train_bytes(wire);
        self.joined.resize(self.ports.len(), SimTime(i64::MIN));
        if let Ok(port) = self.ports.binary_search(&out) {
            self.joined[port] = last;
        }
        self.largest = self.largest.max(packet);
        self.at_most += packet;
    }

    /// Whether the fate of a packet depended on what trains hold at an instant, which bookings do
    /// not tell.
    pub fn is_uncertain(&self) -> bool {
        self.uncertain
    }
}

/// The most that a packet of a train occupies. Backlogs are rounded up to whole bytes.
fn train_bytes(wire: u32) -> f64 {
    f64::from(wire) + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Bytes, Duration, Framing, Link, LinkSpec, NodeId, Rate};

    const FRAME: u32 = 1538;

    /// Three idle ports of 10 Gb/s with this memory, of which each may take what is free.
    fn buffer(memory: u64) -> (SharedBuffer, Vec<LinkState>) {
        let switch = Switch { buffer: Buffer::Shared { memory: Bytes::new(memory), alpha: 1.0 }, ..Switch::default() };
        let (rate, propagation) = (Rate::gbps(10), Duration::from_us(1));
        let spec = LinkSpec { rate, propagation, framing: Framing::Ethernet, bit_error: 0.0 };
        let link = |to| LinkState::new(&Link { from: NodeId(3), to: NodeId(to), spec }, Some(&switch), None);
        (SharedBuffer::of(&switch, || vec![0, 1, 2]).expect("a shared buffer"), (0..3).map(link).collect())
    }

    fn us(us: i64) -> SimTime {
        SimTime::ZERO + Duration::from_us(us)
    }

    /// A frame joins a port, if it has room.
    fn join(shared: &mut SharedBuffer, links: &mut [LinkState], at: SimTime, port: u32) -> bool {
        let room = shared.room(at, port, FRAME, links);
        links[port as usize].accept(at, at, FRAME, room).is_ok()
    }

    #[test]
    fn a_train_needs_room_for_its_packets_whatever_the_others_hold() {
        let (mut shared, mut links) = buffer(5_000);
        assert!(shared.takes_train(us(0), FRAME, &links));
        assert!(join(&mut shared, &mut links, us(0), 1) && shared.takes_train(us(0), FRAME, &links));
        assert!(join(&mut shared, &mut links, us(0), 1) && !shared.takes_train(us(0), FRAME, &links));
        assert!(shared.takes_train(us(2), FRAME, &links), "one of them has left");
    }

    #[test]
    fn what_depends_on_a_train_is_uncertain_while_it_lasts() {
        for (at, uncertain) in [(us(1), true), (us(11), false)] {
            let (mut shared, mut links) = buffer(5_000);
            shared.book(0, us(10), FRAME);
            assert!(join(&mut shared, &mut links, at, 1) && !shared.is_uncertain(), "there is room for all");
            assert!(join(&mut shared, &mut links, at, 2));
            assert_eq!(shared.is_uncertain(), uncertain, "a packet of the train may find no room");
        }
    }
}
