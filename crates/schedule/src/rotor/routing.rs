//! Routing over rotor switches: which circuit a packet takes next, and in which slice.
//!
//! A [`Routing`] computes its table once for a cycle and then answers for one packet at one rack at
//! a time. It keeps nothing of packets: what the next rack has to know travels with the packet, as
//! [`Hop::progress`]. A packet that misses its slice simply asks again.
//!
//! Time is counted in slices. To wait for the next slice costs one. To cross a circuit of the
//! present slice costs none, so several hops fit into a slice. A rack that has to keep slices apart
//! (for propagation or queues) asks for a later slice.

mod choice;
mod direct;
mod disjoint;
mod earliest;
mod hoho;
mod meetings;
mod shale;
mod shortest;
mod ucmp;
mod vlb;

pub use choice::{BulkRelay, CircuitShare, RotorRouting, RoutingParameters, Routings};
pub use direct::Direct;
pub use disjoint::Disjoint;
pub use hoho::Hoho;
pub use shale::Shale;
pub use shortest::{Shortest, ShortestParameters};
pub use ucmp::{Ucmp, UcmpParameters};
pub use vlb::{Spread, Vlb};

use timeplane_model::Bytes;

/// A packet at a rack that asks for its next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The rack where the packet is.
    pub rack: u32,
    /// The rack where it goes.
    pub destination: u32,
    /// The present slice; slices may be counted on over cycles.
    pub slice: u32,
    /// What the last hop's answer handed on; 0 at the source.
    pub progress: u16,
    /// Random bits of the packet or of its flow, the same at all racks. A counter makes choices
    /// take turns.
    pub draw: u64,
    /// Bytes that the packet's flow has sent before it.
    pub age: Bytes,
}

/// The next circuit of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The rack at the other end of the circuit.
    pub rack: u32,
    /// The uplink at this end, and number of the rotor switch.
    pub uplink: u32,
    /// How many slices the packet waits first; 0 sends it in the present slice.
    pub wait: u32,
    /// The [`Position::progress`] of the packet at the next rack.
    pub progress: u16,
}

/// A routing with its table for one schedule.
pub trait Routing: Send + Sync {
    /// The packet's next hop; `None` at its destination or without a path.
    ///
    /// # Panics
    /// If the rack or the destination does not exist.
    fn next_hop(&self, packet: &Position) -> Option<Hop>;

    /// Size of the tables in bytes, without the schedule.
    fn table_bytes(&self) -> u64;

    /// Whether packets of one flow draw different numbers. Otherwise [`Position::draw`] is that of
    /// the flow.
    fn draws_per_packet(&self) -> bool {
        false
    }
}

/// The hops of a packet that is never late, from a position to its destination. `None` if there is
/// no path, or if it is longer than `most` hops.
pub fn path(routing: &dyn Routing, from: &Position, most: usize) -> Option<Vec<Hop>> {
    let (mut at, mut hops) = (*from, vec![]);
    while at.rack != at.destination {
        let hop = routing.next_hop(&at).filter(|_| hops.len() < most)?;
        at = Position { rack: hop.rack, slice: at.slice + hop.wait, progress: hop.progress, ..at };
        hops.push(hop);
    }
    Some(hops)
}
