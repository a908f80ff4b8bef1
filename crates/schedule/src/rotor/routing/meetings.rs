//! Index of the slices in which a rack has a circuit to another one.
//!
//! It takes 3 bytes for each circuit of a cycle, and 4 bytes for each pair of racks.

use crate::rotor::RotorSchedule;
use crate::rotor::error::{RotorError, table};

/// Per ordered pair of racks, its circuits by slice.
pub(super) struct Meetings {
    racks: u32,
    cycle: u32,
    /// Per pair, the index of its first circuit, and at last the number of circuits.
    first: Vec<u32>,
    slices: Vec<u16>,
    uplinks: Vec<u8>,
}

impl Meetings {
    /// # Errors
    /// Fails if the index would be too large.
    pub(super) fn new(schedule: &RotorSchedule) -> Result<Self, RotorError> {
        let (racks, cycle) = (schedule.racks(), schedule.slices());
        let [n, s, u] = [racks, cycle, schedule.uplinks()].map(u64::from);
        table("index of pairs", &[n, n], 4)?;
        table("index of circuits", &[n, s, u], 3)?;
        let pair = |from: u32, to: u32| from as usize * racks as usize + to as usize;
        let mut first = vec![0u32; (racks as usize).pow(2) + 1];
        let all = || (0..cycle).flat_map(|slice| (0..racks).map(move |rack| (slice, rack)));
        for (slice, rack) in all() {
            schedule.circuits(slice, rack).for_each(|(_, to)| first[pair(rack, to) + 1] += 1);
        }
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let count = first[first.len() - 1] as usize;
        let (mut slices, mut uplinks, mut next) = (vec![0; count], vec![0; count], first.clone());
        for (slice, rack) in all() {
            for (uplink, to) in schedule.circuits(slice, rack) {
                let place = &mut next[pair(rack, to)];
                (slices[*place as usize], uplinks[*place as usize]) = (slice as u16, uplink as u8);
                *place += 1;
            }
        }
        Ok(Self { racks, cycle, first, slices, uplinks })
    }

    /// The next circuit from this slice on, as (slices to wait, uplink).
    pub(super) fn next(&self, from: u32, to: u32, slice: u32) -> Option<(u32, u32)> {
        assert!(from < self.racks && to < self.racks, "racks {from} and {to} of {}", self.racks);
        let slice = slice % self.cycle;
        let pair = from as usize * self.racks as usize + to as usize;
        let range = self.first[pair] as usize..self.first[pair + 1] as usize;
        let later = self.slices[range.clone()].partition_point(|&s| u32::from(s) < slice);
        let entry = if range.start + later < range.end { range.start + later } else { range.start };
        let found = range.contains(&entry).then(|| u32::from(self.slices[entry]))?;
        Some(((found + self.cycle - slice) % self.cycle, u32::from(self.uplinks[entry])))
    }

    pub(super) fn bytes(&self) -> u64 {
        4 * self.first.len() as u64 + 3 * self.slices.len() as u64
    }
}
