//! A buffer that all ports of a switch share, bounded by dynamic thresholds (Choudhury and Hahne,
//! 1998).
//!
//! A port may queue up to `alpha` times the memory that is still free. The buffer measures ports by
//! the backlog of their links; it does not know packets.

use crate::engine::time::SimTime;
use crate::network::link::LinkState;
use timeplane_model::{Buffer, Forwarding, Switch};

/// A switch's shared memory, in bytes.
#[derive(Debug)]
pub(crate) struct SharedBuffer {
    memory: f64,
    alpha: f64,
    ports: Vec<u32>,
    /// An upper bound of the bytes in use: an exact value and all bytes since then. The ports are
    /// asked only when this bound leaves no room.
    at_most: f64,
    /// Behind cut-through a port may wait for the rest of a packet. Its line time then grows by
    /// more than the packet, so the bound does not hold.
    always_ask: bool,
}

impl SharedBuffer {
    /// The buffer of a switch that has one; `ports` lists the links that it sends on.
    pub fn of(switch: &Switch, ports: impl FnOnce() -> Vec<u32>) -> Option<Self> {
        let Buffer::Shared { memory, alpha } = switch.buffer else { return None };
        Some(Self {
            memory: memory.get() as f64,
            alpha,
            ports: ports(),
            at_most: 0.0,
            always_ask: switch.forwarding == Forwarding::CutThrough,
        })
    }

    /// Makes the next packet ask the ports: their backlogs have changed by more than packets.
    pub fn forget(&mut self) {
        self.at_most = f64::INFINITY;
    }

    /// The line time that port `out` may queue with this packet: none, or any.
    pub fn room(&mut self, ready: SimTime, out: u32, wire: u32, links: &[LinkState]) -> i64 {
        let own = links[out as usize].backlog_bytes(ready) as f64;
        let wire = f64::from(wire);
        let fits = |used: f64| own + wire <= self.alpha * (self.memory - used) && used + wire <= self.memory;
        if self.always_ask || !fits(self.at_most) {
            self.at_most = self.ports.iter().map(|&l| links[l as usize].backlog_bytes(ready) as f64).sum();
            if !fits(self.at_most) {
                return -1;
            }
        }
        self.at_most += wire;
        i64::MAX
    }
}
