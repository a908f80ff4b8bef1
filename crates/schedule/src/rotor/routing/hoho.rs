//! Earliest arrival with few hops (HOHO): the soonest path under a limit on hops.
//!
//! Ties go to the path with fewer hops, then to the one that is sent sooner, then to the first
//! uplink.

use super::earliest::Earliest;
use super::{Hop, Position, Routing};
use crate::rotor::{RotorError, RotorSchedule};
use std::sync::Arc;

/// Of all paths within a limit on hops, the one that arrives in the earliest slice.
///
/// A limit of one hop is direct routing. Several circuits of one slice may be used one after the
/// other. The hops left travel with the packet; a late packet that cannot arrive with those left
/// gets all of them again.
///
/// Source: Jialong Li et al., "Hop-On Hop-Off routing: a fast tour across the optical data center
/// network for latency-sensitive flows", APNet 2022; the limit is that of OpenOptics
/// (`routing_hoho`).
pub struct Hoho {
    earliest: Earliest,
}

impl Hoho {
    /// Computes paths of up to `hops` hops, from 1 to 16.
    ///
    /// # Errors
    /// Fails if the limit is out of range, or if the table would be too large.
    pub fn new(schedule: &Arc<RotorSchedule>, hops: u32) -> Result<Self, RotorError> {
        Ok(Self { earliest: Earliest::new(schedule, hops, |_, _| ())? })
    }
}

impl Routing for Hoho {
    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        let hops = match packet.progress {
            0 => self.earliest.hops(),
            left => u32::from(left),
        };
        self.earliest.next_hop(packet, hops)
    }

    fn table_bytes(&self) -> u64 {
        self.earliest.bytes()
    }
}
