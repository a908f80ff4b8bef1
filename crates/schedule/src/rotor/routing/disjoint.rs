//! Disjoint paths over the circuits of one slice, which spread short flows over all uplinks.
//!
//! A packet carries the uplinks that it still has to take, as one number, so racks on its way need
//! not know where it came from. If the slice has changed and these uplinks lead elsewhere, the
//! packet chooses again.

use super::{Hop, Position, Routing, Shortest, ShortestParameters};
use crate::rotor::RotorSchedule;
use crate::rotor::error::{RotorError, table, within};
use crate::rotor::numbers::below;
use std::sync::Arc;
use timeplane_model::mix64;

/// No uplink, no rack, and no path.
const NONE: u16 = u16::MAX;
/// The largest number of paths between two racks.
const MOST_PATHS: u32 = 255;
/// The most circuits that all searches may look at. A quarter of it, Opera's network, takes 5 s.
const MOST_STEPS: u64 = 1 << 34;

/// The first hop of a path, and the uplinks after it as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    uplink: u16,
    rest: u16,
}

/// Up to `paths` paths over circuits of the present slice, of which no two share a circuit.
///
/// The first is a shortest path, the next one the shortest over the circuits that are left, and so
/// on. The packet's [`Position::draw`] picks one. Paths with more hops than fit into
/// [`Position::progress`] do not count (with six uplinks, some of eight hops and all longer ones).
/// If a pair has only longer ones, each rack on the way picks a path again. If there is none, the
/// packet waits for the next slice that has one.
///
/// The published runs of Opera with "5 paths" (William Mellette et al., NSDI 2020, figures 9 and
/// 10) have completion times of such paths, one over each of five uplinks.
pub struct Disjoint {
    schedule: Arc<RotorSchedule>,
    settled: bool,
    /// Places for the paths of a pair.
    most: usize,
    /// Per slice, source and destination: its paths.
    ways: Vec<Way>,
}

impl Disjoint {
    /// Computes the paths of all slices.
    ///
    /// # Errors
    /// Fails if the number of paths is out of range, if the table would be too large, or if the
    /// search would take too long.
    pub fn new(schedule: &Arc<RotorSchedule>, parameters: ShortestParameters) -> Result<Self, RotorError> {
        within("paths", u64::from(parameters.paths), 1, u64::from(MOST_PATHS))?;
        let most = parameters.paths.min(schedule.uplinks());
        let [n, s, u, m] = [schedule.racks(), schedule.slices(), schedule.uplinks(), most].map(u64::from);
        table("table of disjoint paths", &[s, n, n, m], size_of::<Way>() as u64)?;
        let steps = u128::from(s * n * n * m) * u128::from(n * u);
        within("steps of a search for disjoint paths", steps.try_into().unwrap_or(u64::MAX), 1, MOST_STEPS)?;
        let shortest = Shortest::new(schedule, ShortestParameters { paths: 1, ..parameters })?;
        let (schedule, settled, most) = (Arc::clone(schedule), parameters.settled, most as usize);
        let mut disjoint = Self { schedule, settled, most, ways: Vec::with_capacity((s * n * n * m) as usize) };
        for slice in 0..disjoint.schedule.slices() {
            let mut search = Search::new(&disjoint, &shortest, slice);
            for (from, to) in (0..n as usize).flat_map(|from| (0..n as usize).map(move |to| (from, to))) {
                search.add_pair(from, to, most, &mut disjoint.ways);
            }
        }
        Ok(disjoint)
    }

    /// The rack to which an uplink leads in a slice, if packets may take it.
    fn circuit(&self, slice: u32, rack: u32, uplink: u32) -> Option<u32> {
        let usable = !(self.settled && self.schedule.is_changing(slice, uplink));
        self.schedule.destination(slice, rack, uplink).filter(|_| usable)
    }

    /// The paths of a pair in a slice.
    fn ways(&self, slice: u32, from: u32, to: u32) -> &[Way] {
        let (n, slice) = (self.schedule.racks(), slice % self.schedule.slices());
        let first = ((slice as usize * n as usize + from as usize) * n as usize + to as usize) * self.most;
        let ways = &self.ways[first..first + self.most];
        &ways[..ways.iter().take_while(|way| way.uplink != NONE).count()]
    }

    /// The next hop over the uplinks that a packet carries, if they lead to its destination.
    fn next_of(&self, packet: &Position) -> Option<Hop> {
        let uplinks = self.schedule.uplinks();
        let (mut at, mut left, mut first) = (packet.rack, packet.progress, None);
        while left > 0 {
            let (uplink, rest) = split(left, uplinks);
            at = self.circuit(packet.slice, at, uplink)?;
            first = first.or(Some(Hop { rack: at, uplink, wait: 0, progress: rest }));
            left = rest;
        }
        first.filter(|_| at == packet.destination)
    }
}

/// The first of the uplinks in a number, and the rest of them: numbers from 1 on stand for all
/// lists of digits that have no zero.
fn split(number: u16, uplinks: u32) -> (u32, u16) {
    let before = u32::from(number) - 1;
    (before % uplinks, (before / uplinks) as u16)
}

/// Puts an uplink before those in a number. `None` if that does not fit.
fn join(uplink: u32, rest: u16, uplinks: u32) -> Option<u16> {
    u16::try_from(u32::from(rest) * uplinks + uplink + 1).ok().filter(|&number| number != NONE)
}

/// The search for paths in one slice.
struct Search {
    slice: u32,
    racks: usize,
    uplinks: usize,
    /// Per rack and uplink, where it leads, or `NONE`.
    circuits: Vec<u16>,
    /// Whether a path of the pair has the circuit.
    used: Vec<bool>,
    /// Per destination and rack, the fewest hops, or `NONE`, whatever is used.
    hops: Vec<u16>,
    /// Per rack, the rack before it and its uplink, if `seen` has the number of the search.
    before: Vec<(u16, u16)>,
    seen: Vec<u32>,
    number: u32,
    /// Steps to try, by the hops that a path with them has at least: those of the first ones, one
    /// more, and so on.
    steps: Vec<Vec<Step>>,
}

/// A hop that leads to a rack after some others.
#[derive(Clone, Copy)]
struct Step {
    rack: u16,
    before: (u16, u16),
}

impl Search {
    fn new(of: &Disjoint, shortest: &Shortest, slice: u32) -> Self {
        let (racks, uplinks) = (of.schedule.racks(), of.schedule.uplinks());
        let all = (0..racks).flat_map(|rack| (0..uplinks).map(move |uplink| (rack, uplink)));
        let to = |(rack, uplink)| of.circuit(slice, rack, uplink).map_or(NONE, |to| to as u16);
        let circuits: Vec<_> = all.map(to).collect();
        let pairs = (0..racks).flat_map(|to| (0..racks).map(move |rack| (rack, to)));
        let hops: Vec<_> = pairs.map(|(rack, to)| shortest.hops(slice, rack, to).map_or(NONE, |n| n as u16)).collect();
        let (racks, uplinks) = (racks as usize, uplinks as usize);
        let most = hops.iter().filter(|&&hops| hops != NONE).max().map_or(0, |&hops| usize::from(hops));
        Self {
            slice,
            racks,
            uplinks,
            used: vec![false; circuits.len()],
            hops,
            circuits,
            before: vec![(NONE, NONE); racks],
            seen: vec![0; racks],
            number: 0,
            // A circuit that leads away adds its hop and the way back.
            steps: vec![Vec::new(); most + 2],
        }
    }

    /// Appends the `most` places of a pair.
    fn add_pair(&mut self, from: usize, to: usize, most: usize, ways: &mut Vec<Way>) {
        let end = ways.len() + most;
        let mut taken = Vec::new();
        while from != to && ways.len() < end && self.reaches(from, to) {
            let first_taken = taken.len();
            let mut at = to;
            while at != from {
                let (rack, uplink) = self.before[at];
                at = usize::from(rack);
                taken.push(at * self.uplinks + usize::from(uplink));
            }
            let mut uplinks = taken[first_taken..].iter().map(|circuit| (circuit % self.uplinks) as u32);
            let first = uplinks.next_back().expect("a path between two racks");
            let rest = uplinks.try_fold(0, |rest, uplink| join(uplink, rest, self.uplinks as u32));
            match rest {
                Some(rest) => ways.push(Way { uplink: first as u16, rest }),
                // Longer ones follow. The shortest path is kept, and its racks pick again.
                None if first_taken == 0 => ways.push(Way { uplink: first as u16, rest: 0 }),
                None => {}
            }
            if rest.is_none() {
                break;
            }
            taken[first_taken..].iter().for_each(|&circuit| self.used[circuit] = true);
        }
        taken.into_iter().for_each(|circuit| self.used[circuit] = false);
        ways.resize(end, Way { uplink: NONE, rest: 0 });
    }

    /// Searches a shortest path over circuits that are left, by A*: no path has fewer hops than
    /// over all circuits, and each hop brings a rack nearer by one at most. Racks try their uplinks
    /// in different orders, so that no uplink has more of the paths than others.
    fn reaches(&mut self, from: usize, to: usize) -> bool {
        self.number += 1;
        let turn = mix64(u64::from(self.slice) << 32 | (from * self.racks + to) as u64) as usize >> 16;
        let hops = &self.hops[to * self.racks..(to + 1) * self.racks];
        self.steps.iter_mut().for_each(Vec::clear);
        self.steps[0].push(Step { rack: from as u16, before: (NONE, NONE) });
        while self.steps.iter().any(|steps| !steps.is_empty()) {
            let Some(Step { rack, before }) = self.steps[0].pop() else {
                self.steps.rotate_left(1);
                continue;
            };
            let at = usize::from(rack);
            if self.seen[at] == self.number {
                continue;
            }
            (self.seen[at], self.before[at]) = (self.number, before);
            if at == to {
                return true;
            }
            for n in 0..self.uplinks {
                let uplink = (n + turn + at) % self.uplinks;
                let circuit = at * self.uplinks + uplink;
                let next = self.circuits[circuit];
                let open = next != NONE && !self.used[circuit] && self.seen[usize::from(next)] != self.number;
                if open && hops[usize::from(next)] != NONE {
                    let more = hops[usize::from(next)] + 1 - hops[at];
                    self.steps[usize::from(more)].push(Step { rack: next, before: (rack, uplink as u16) });
                }
            }
        }
        false
    }
}

impl Routing for Disjoint {
    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        let Position { rack, destination, slice, .. } = *packet;
        let (n, slices) = (self.schedule.racks(), self.schedule.slices());
        assert!(rack < n && destination < n, "racks {rack} and {destination} of {n}");
        if rack == destination {
            return None;
        }
        if let Some(hop) = self.next_of(packet) {
            return Some(hop);
        }
        let start = slice % slices;
        let wait = (0..slices).find(|wait| !self.ways(start + wait, rack, destination).is_empty())?;
        let ways = self.ways(start + wait, rack, destination);
        let Way { uplink, rest } = ways[below(mix64(packet.draw), ways.len())];
        let uplink = u32::from(uplink);
        let next = self.schedule.destination(start + wait, rack, uplink)?;
        Some(Hop { rack: next, uplink, wait, progress: rest })
    }

    fn table_bytes(&self) -> u64 {
        (self.ways.len() * size_of::<Way>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_for_all_lists_of_uplinks() {
        for uplinks in [1u32, 2, 6, 255] {
            for number in 1..NONE {
                let (uplink, rest) = split(number, uplinks);
                assert!(uplink < uplinks && rest < number);
                assert_eq!(join(uplink, rest, uplinks), Some(number));
            }
        }
        assert_eq!(join(0, NONE - 1, 1), None);
        let most =
            |uplinks| std::iter::successors(join(uplinks - 1, 0, uplinks), |&n| join(uplinks - 1, n, uplinks)).count();
        assert_eq!([1, 2, 6, 255].map(most), [65_534, 15, 6, 2]);
    }
}
