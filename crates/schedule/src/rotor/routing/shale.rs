//! Routing of Shale: random hops in all dimensions of a grid, then direct ones.
//!
//! The first half spreads any demand evenly over all racks, the second half brings it home.

use super::meetings::Meetings;
use super::{Hop, Position, Routing};
use crate::rotor::matchings::side;
use crate::rotor::numbers::below;
use crate::rotor::{RotorError, RotorSchedule};
use std::sync::Arc;
use timeplane_model::mix64;

/// Up to h random hops, one in each dimension, then up to h hops that correct one dimension each.
///
/// In the first step the packet takes the next circuit, or keeps its place with the chance of any
/// other place. In each of the next h - 1 steps it goes to a random place in one dimension, the
/// present place included. The intermediate rack is thus any rack with the same chance, if packets
/// come at any time. Dimensions follow in turn after that of the first circuit; so do the direct
/// steps. A step that keeps the rack costs no hop. A packet that meets its destination early stays
/// there.
///
/// With n racks along each dimension and one uplink, every demand that overloads no rack gets a
/// throughput of n / (2 h (n - 1)), a little more than 1 / (2 h). Without queues a packet arrives
/// within 2 h (n - 1) slices, two cycles; within one if h is 1.
///
/// Source: Daniel Amir et al., "Shale: a practical, scalable oblivious reconfigurable network",
/// SIGCOMM 2024; the scheme is from "Optimal oblivious reconfigurable networks", STOC 2022.
pub struct Shale {
    schedule: Arc<RotorSchedule>,
    meetings: Meetings,
    dimensions: u32,
    side: u32,
}

impl Shale {
    /// Routing over a schedule in which racks that differ in one dimension meet, such as that of
    /// [`grid`](crate::rotor::matchings::grid).
    ///
    /// # Errors
    /// Fails if the racks form no grid, if such racks never meet, or if the table would be too
    /// large.
    pub fn new(schedule: &Arc<RotorSchedule>, dimensions: u32) -> Result<Self, RotorError> {
        let shale = Self::over_part(schedule, dimensions)?;
        shale.check_neighbors()?;
        Ok(shale)
    }

    /// As [`new`](Self::new), for a schedule that has lost circuits: a packet that needs one of
    /// them has no path.
    ///
    /// # Errors
    /// Fails if the racks form no grid, or if the table would be too large.
    pub fn over_part(schedule: &Arc<RotorSchedule>, dimensions: u32) -> Result<Self, RotorError> {
        let side = side(schedule.racks(), dimensions)?;
        let (meetings, schedule) = (Meetings::new(schedule)?, Arc::clone(schedule));
        Ok(Self { schedule, meetings, dimensions, side })
    }

    fn check_neighbors(&self) -> Result<(), RotorError> {
        let (mut pairs, mut first) = (0, None);
        for from in 0..self.schedule.racks() {
            for (dimension, digit) in (0..self.dimensions).flat_map(|d| (0..self.side).map(move |k| (d, k))) {
                let to = self.moved(from, dimension, digit);
                if to != from && self.meetings.next(from, to, 0).is_none() {
                    pairs += 1;
                    first.get_or_insert((from, to));
                }
            }
        }
        let slices = self.schedule.slices();
        first.map_or(Ok(()), |(from, to)| Err(RotorError::NeverMeet { from, to, pairs, slices }))
    }

    /// A rack's place in a dimension.
    fn digit(&self, rack: u32, dimension: u32) -> u32 {
        rack / self.side.pow(dimension) % self.side
    }

    /// The rack at another place in a dimension.
    fn moved(&self, rack: u32, dimension: u32, digit: u32) -> u32 {
        let weight = self.side.pow(dimension);
        rack - self.digit(rack, dimension) * weight + digit * weight
    }

    /// The rack's next circuit in a dimension of the grid, and that dimension.
    fn next_circuit(&self, rack: u32, slice: u32) -> Option<(u32, u32)> {
        let slice = slice % self.schedule.slices();
        (0..self.schedule.slices()).flat_map(|wait| self.schedule.circuits(slice + wait, rack)).find_map(|(_, to)| {
            let dimension = (0..self.dimensions).find(|&d| self.digit(to, d) != self.digit(rack, d))?;
            (self.moved(rack, dimension, self.digit(to, dimension)) == to).then_some((dimension, to))
        })
    }
}

impl Routing for Shale {
    fn draws_per_packet(&self) -> bool {
        true
    }

    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        if packet.rack == packet.destination {
            return None;
        }
        // The progress is 1, plus the steps done, plus a multiple of the first dimension.
        let h = self.dimensions;
        let base = 4 * h;
        let (first, done, next) = match u32::from(packet.progress) {
            0 => self.next_circuit(packet.rack, packet.slice).map_or((0, 0, None), |(d, to)| (d, 0, Some(to))),
            progress => ((progress - 1) / base % h, (progress - 1) % base, None),
        };
        // More than h direct steps are needed only if the packet was moved in between.
        for step in done..3 * h {
            let dimension = (first + step) % h;
            let draw = || below(mix64(packet.draw ^ mix64(u64::from(step) + 1)), self.side as usize) as u32;
            let digit = match next.filter(|_| step == 0) {
                Some(_) if draw() == 0 => self.digit(packet.rack, dimension),
                Some(to) => self.digit(to, dimension),
                None if step < h => draw(),
                None => self.digit(packet.destination, dimension),
            };
            let rack = self.moved(packet.rack, dimension, digit);
            if rack != packet.rack {
                let (wait, uplink) = self.meetings.next(packet.rack, rack, packet.slice)?;
                return Some(Hop { rack, uplink, wait, progress: (2 + first * base + step) as u16 });
            }
        }
        None
    }

    fn table_bytes(&self) -> u64 {
        self.meetings.bytes()
    }
}
