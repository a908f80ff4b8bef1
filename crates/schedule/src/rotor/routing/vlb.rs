//! Valiant load balancing: over any rack that is connected now, then directly.
//!
//! A packet takes at most two hops. The first never waits if the rack has a circuit at all, and
//! spreads any demand over all racks.

use super::meetings::Meetings;
use super::{Hop, Position, Routing};
use crate::rotor::numbers::below;
use crate::rotor::{RotorError, RotorSchedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use timeplane_model::mix64;

/// How the first hop is chosen among the circuits of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// At random, by the packet's [`Position::draw`].
    #[default]
    Random,
    /// In turn: packet number `draw` takes circuit `draw` modulo their number.
    InTurn,
}

/// Sends a packet directly if its destination is connected now. If not, sends it to one of the
/// racks that are connected now, where it waits for its destination.
///
/// If the source has no circuit in the present slice, the packet waits for the next one in which it
/// has. The scheme is Valiant's; RotorNet (SIGCOMM 2017) and Sirius (Hitesh Ballani et
/// al., SIGCOMM 2020) use it for circuits that take turns.
pub struct Vlb {
    schedule: Arc<RotorSchedule>,
    meetings: Meetings,
    spread: Spread,
}

impl Vlb {
    /// Load balancing over a schedule.
    ///
    /// # Errors
    /// Fails if some racks never meet, or if the table would be too large.
    pub fn new(schedule: &Arc<RotorSchedule>, spread: Spread) -> Result<Self, RotorError> {
        schedule.check_all_meet()?;
        Self::over_part(schedule, spread)
    }

    /// As [`new`](Self::new), for a schedule that has lost circuits: racks that do not meet have no
    /// second hop.
    ///
    /// # Errors
    /// Fails if the table would be too large.
    pub fn over_part(schedule: &Arc<RotorSchedule>, spread: Spread) -> Result<Self, RotorError> {
        Ok(Self { schedule: Arc::clone(schedule), meetings: Meetings::new(schedule)?, spread })
    }

    /// The circuit of the first hop, and the slices to wait for it.
    fn first(&self, packet: &Position) -> Option<Hop> {
        let slice = packet.slice % self.schedule.slices();
        let circuits = |wait| self.schedule.circuits(slice + wait, packet.rack);
        let wait = (0..self.schedule.slices()).find(|&wait| circuits(wait).next().is_some())?;
        if let Some((uplink, rack)) = circuits(wait).find(|(_, to)| *to == packet.destination) {
            return Some(Hop { rack, uplink, wait, progress: 1 });
        }
        let count = circuits(wait).count();
        let chosen = match self.spread {
            Spread::Random => below(mix64(packet.draw), count),
            Spread::InTurn => (packet.draw % count as u64) as usize,
        };
        circuits(wait).nth(chosen).map(|(uplink, rack)| Hop { rack, uplink, wait, progress: 1 })
    }
}

impl Routing for Vlb {
    fn draws_per_packet(&self) -> bool {
        true
    }

    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        if packet.rack == packet.destination {
            return None;
        }
        if packet.progress == 0 {
            return self.first(packet);
        }
        let (wait, uplink) = self.meetings.next(packet.rack, packet.destination, packet.slice)?;
        Some(Hop { rack: packet.destination, uplink, wait, progress: 1 })
    }

    fn table_bytes(&self) -> u64 {
        self.meetings.bytes()
    }
}
