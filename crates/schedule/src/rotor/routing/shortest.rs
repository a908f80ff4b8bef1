//! Shortest paths over the circuits of one slice, as Opera sends its short flows.
//!
//! The table has the distance and the number of paths for each slice and pair of racks, 2 bytes in
//! all. Paths are numbered, so a packet carries its number and the table needs no list of them.

use super::{Hop, Position, Routing};
use crate::rotor::RotorSchedule;
use crate::rotor::error::{RotorError, table, within};
use crate::rotor::numbers::below;
use std::sync::Arc;
use timeplane_model::mix64;

/// The distance of racks that are not connected.
const NONE: u8 = u8::MAX;
/// The largest number of paths between two racks.
const MOST_PATHS: u32 = 255;

/// Which circuits and how many paths to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortestParameters {
    /// Maximum number of paths between two racks, from 1 to 255.
    pub paths: u32,
    /// Leave out switches that change at the start of the slice, as they are dark for a part of it.
    pub settled: bool,
}

impl Default for ShortestParameters {
    fn default() -> Self {
        Self { paths: 1, settled: true }
    }
}

/// The fewest hops over circuits of the present slice.
///
/// Of all shortest paths, the first `paths` are used, ordered by the uplinks that they take. The
/// packet's [`Position::draw`] picks one. Every rack decides by its present slice: if that is no
/// longer the source's, the packet continues on a shortest path of its new slice. If there is no
/// path, the packet waits for the next slice that has one. Paths of more than 254 hops do not
/// count.
///
/// Source: William Mellette et al., "Expanding across time to deliver bandwidth efficiency and low
/// latency" (Opera), NSDI 2020.
pub struct Shortest {
    schedule: Arc<RotorSchedule>,
    settled: bool,
    /// Per slice, destination and rack: hops, and the number of paths up to the limit.
    hops: Vec<u8>,
    paths: Vec<u8>,
}

impl Shortest {
    /// Computes the paths of all slices.
    ///
    /// # Errors
    /// Fails if the number of paths is out of range, or if the table would be too large.
    pub fn new(schedule: &Arc<RotorSchedule>, parameters: ShortestParameters) -> Result<Self, RotorError> {
        within("paths", u64::from(parameters.paths), 1, u64::from(MOST_PATHS))?;
        let [n, s] = [schedule.racks(), schedule.slices()].map(u64::from);
        table("table of shortest paths", &[s, n, n], 2)?;
        let entries = (s * n * n) as usize;
        let (hops, paths) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let mut shortest = Self { schedule: Arc::clone(schedule), settled: parameters.settled, hops, paths };
        for slice in 0..schedule.slices() {
            shortest.add_slice(slice, parameters.paths);
        }
        Ok(shortest)
    }

    /// The circuits that may be used in a slice, as (uplink, destination).
    fn circuits(&self, slice: u32, rack: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let usable = move |p: u32| !(self.settled && self.schedule.is_changing(slice, p));
        self.schedule.circuits(slice, rack).filter(move |&(uplink, _)| usable(uplink))
    }

    /// Searches backward from each destination, rack by rack in the order of distance.
    fn add_slice(&mut self, slice: u32, most: u32) {
        let racks = self.schedule.racks();
        let mut before: Vec<Vec<u32>> = vec![vec![]; racks as usize];
        for rack in 0..racks {
            self.circuits(slice, rack).for_each(|(_, to)| before[to as usize].push(rack));
        }
        for destination in 0..racks as usize {
            let (mut hops, mut paths) = (vec![NONE; racks as usize], vec![0u8; racks as usize]);
            (hops[destination], paths[destination]) = (0, 1);
            let (mut reached, mut done) = (vec![destination], 0);
            while done < reached.len() {
                let at = reached[done];
                done += 1;
                for from in before[at].iter().map(|&from| from as usize) {
                    if hops[from] == NONE && hops[at] + 1 < NONE {
                        hops[from] = hops[at] + 1;
                        reached.push(from);
                    }
                    if hops[from] != NONE && hops[from] == hops[at] + 1 {
                        paths[from] = (u32::from(paths[from]) + u32::from(paths[at])).min(most) as u8;
                    }
                }
            }
            self.hops.append(&mut hops);
            self.paths.append(&mut paths);
        }
    }

    fn entry(&self, slice: u32, destination: u32, rack: u32) -> usize {
        let n = self.schedule.racks();
        assert!(rack < n && destination < n, "racks {rack} and {destination} of {n}");
        ((slice % self.schedule.slices()) as usize * n as usize + destination as usize) * n as usize + rack as usize
    }

    /// Hops of the shortest path over circuits of a slice; `None` if there is none.
    ///
    /// # Panics
    /// If a rack does not exist.
    pub fn hops(&self, slice: u32, from: u32, to: u32) -> Option<u32> {
        Some(self.hops[self.entry(slice, to, from)]).filter(|&hops| hops != NONE).map(u32::from)
    }
}

impl Routing for Shortest {
    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        let Position { rack, destination, .. } = *packet;
        if rack == destination {
            return None;
        }
        let start = packet.slice % self.schedule.slices();
        let wait = (0..self.schedule.slices()).find(|wait| self.hops(start + wait, rack, destination).is_some())?;
        let slice = start + wait;
        let entry = self.entry(slice, destination, rack);
        let paths = usize::from(self.paths[entry]);
        let mut number = match packet.progress {
            0 => below(mix64(packet.draw), paths),
            progress => usize::from(progress - 1) % paths,
        };
        for (uplink, next) in self.circuits(slice, rack) {
            let after = self.entry(slice, destination, next);
            if self.hops[after] == NONE || self.hops[after] + 1 != self.hops[entry] {
                continue;
            }
            let paths = usize::from(self.paths[after]);
            if number < paths {
                return Some(Hop { rack: next, uplink, wait, progress: number as u16 + 1 });
            }
            number -= paths;
        }
        None
    }

    fn table_bytes(&self) -> u64 {
        (self.hops.len() + self.paths.len()) as u64
    }
}
