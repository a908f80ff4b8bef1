//! Direct routing: a packet waits for a circuit to its destination.
//!
//! It takes one hop, uses no capacity of other racks, and waits for up to a cycle.

use super::meetings::Meetings;
use super::{Hop, Position, Routing};
use crate::rotor::{RotorError, RotorSchedule};

/// Waits for the next circuit to the destination. If several uplinks have one in the same slice, it
/// takes the first.
pub struct Direct {
    meetings: Meetings,
}

impl Direct {
    /// Direct routing over a schedule. Pairs that never meet have no path.
    ///
    /// # Errors
    /// Fails if the table would be too large.
    pub fn new(schedule: &RotorSchedule) -> Result<Self, RotorError> {
        Ok(Self { meetings: Meetings::new(schedule)? })
    }
}

impl Routing for Direct {
    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        if packet.rack == packet.destination {
            return None;
        }
        let (wait, uplink) = self.meetings.next(packet.rack, packet.destination, packet.slice)?;
        Some(Hop { rack: packet.destination, uplink, wait, progress: 0 })
    }

    fn table_bytes(&self) -> u64 {
        self.meetings.bytes()
    }
}
