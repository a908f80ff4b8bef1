//! The cyclic schedule of a rotor network: for each slice and rotor switch a matching of racks.
//!
//! Matchings are stored once each, so a schedule of Opera with 108 racks takes 26 kB.

use super::error::{MOST_RACKS, MOST_SLICES, MOST_UPLINKS, RotorError, table, within};
use super::matchings::RackMatching;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// When the rotor switches show their next matching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stepping {
    /// All at the start of every slice, as in RotorNet (SIGCOMM 2017) and Shale (SIGCOMM 2024).
    #[default]
    Together,
    /// One switch in each slice, in turn, so that each holds its matching for as many slices as
    /// there are switches. This is Opera (NSDI 2020): while one switch changes, the
    /// others connect the racks.
    Staggered,
}

/// A cycle of slices, in each of which every rotor switch shows a matching.
///
/// Uplink p of every rack leads to rotor switch p. The schedule holds no durations: those are in
/// [`RotorTiming`](super::RotorTiming).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotorSchedule {
    racks: u32,
    uplinks: u32,
    slices: u32,
    /// All matchings, one after the other: per rack, its destination, or itself without a circuit.
    matchings: Vec<u16>,
    /// Per slice and uplink, the number of the matching.
    shown: Vec<u32>,
}

impl RotorSchedule {
    /// A schedule with these matchings: per slice, one for each uplink.
    ///
    /// # Errors
    /// Fails if slices have different numbers of uplinks, if matchings have different numbers of
    /// racks, or if a number or the table is too large.
    pub fn new<M: Borrow<RackMatching>>(slices: &[Vec<M>]) -> Result<Self, RotorError> {
        within("slices", slices.len() as u64, 1, u64::from(MOST_SLICES))?;
        let uplinks = slices[0].len();
        within("uplinks", uplinks as u64, 1, u64::from(MOST_UPLINKS))?;
        let racks = slices[0][0].borrow().racks();
        table("schedule", &[slices.len() as u64, uplinks as u64], 4)?;
        let mut known: BTreeMap<&[u16], u32> = BTreeMap::new();
        let (mut matchings, mut shown) = (vec![], vec![]);
        for (slice, row) in (0..).zip(slices) {
            if row.len() != uplinks {
                let (found, expected) = (row.len() as u64, uplinks as u64);
                return Err(RotorError::Shape { slice, what: "matchings", found, expected });
            }
            for matching in row.iter().map(M::borrow) {
                if matching.racks() != racks {
                    let (found, expected) = (u64::from(matching.racks()), u64::from(racks));
                    return Err(RotorError::Shape { slice, what: "racks", found, expected });
                }
                let number = known.len() as u32;
                shown.push(*known.entry(matching.table()).or_insert(number));
                if known.len() as u32 > number {
                    table("schedule", &[known.len() as u64, u64::from(racks)], 2)?;
                    matchings.extend_from_slice(matching.table());
                }
            }
        }
        Ok(Self { racks, uplinks: uplinks as u32, slices: slices.len() as u32, matchings, shown })
    }

    /// Spreads matchings over the rotor switches: the first to the first switch, the second to the
    /// second, and so on in turn. A switch that gets one fewer than others has no circuits in its
    /// last place.
    ///
    /// With m matchings per switch and u switches, a cycle has m slices if they step together, and
    /// m u slices if they step one after the other. Then switch p changes at the start of the
    /// slices p, p + u, p + 2 u and so on.
    ///
    /// # Errors
    /// Fails without matchings, with more uplinks than matchings, or as [`new`](Self::new) does.
    pub fn spread(matchings: &[RackMatching], uplinks: u32, stepping: Stepping) -> Result<Self, RotorError> {
        within("matchings", matchings.len() as u64, 1, u64::from(MOST_RACKS))?;
        within("uplinks", u64::from(uplinks), 1, u64::from(MOST_UPLINKS).min(matchings.len() as u64))?;
        let switches = uplinks as usize;
        let steps = matchings.len().div_ceil(switches);
        let idle = RackMatching::idle(matchings[0].racks())?;
        let place = |step: usize, switch: usize| matchings.get(step * switches + switch).unwrap_or(&idle);
        let slices = match stepping {
            Stepping::Together => steps,
            Stepping::Staggered => steps * switches,
        };
        within("slices", slices as u64, 1, u64::from(MOST_SLICES))?;
        let step = |slice: usize, switch: usize| match stepping {
            Stepping::Together => slice,
            // The first slices belong to the hold that began before the cycle's start.
            Stepping::Staggered => (slice + slices - switch) % slices / switches,
        };
        let row = |slice: usize| (0..switches).map(|s| place(step(slice, s), s)).collect();
        Self::new(&(0..slices).map(row).collect::<Vec<_>>())
    }

    /// The same schedule without the circuits that start or end at an uplink that is `dead`, given
    /// as (rack, uplink).
    #[must_use]
    pub fn without(&self, dead: impl Fn(u32, u32) -> bool) -> Self {
        let racks = self.racks as usize;
        let cells = self.shown.len();
        let (mut matchings, mut shown) = (Vec::with_capacity(cells * racks), Vec::with_capacity(cells));
        let mut known: BTreeMap<Vec<u16>, u32> = BTreeMap::new();
        for (slice, uplink) in (0..self.slices).flat_map(|s| (0..self.uplinks).map(move |p| (s, p))) {
            let left = |(rack, &to): (u32, &u16)| {
                if dead(rack, uplink) || dead(u32::from(to), uplink) { rack as u16 } else { to }
            };
            let table: Vec<u16> = (0..).zip(self.table(slice, uplink)).map(left).collect();
            let number = known.len() as u32;
            shown.push(*known.entry(table.clone()).or_insert(number));
            if known.len() as u32 > number {
                matchings.extend(table);
            }
        }
        Self { matchings, shown, ..*self }
    }

    /// Number of racks.
    #[inline]
    pub fn racks(&self) -> u32 {
        self.racks
    }

    /// Number of uplinks of each rack, and of rotor switches.
    #[inline]
    pub fn uplinks(&self) -> u32 {
        self.uplinks
    }

    /// Number of slices in a cycle.
    #[inline]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// The rack to which an uplink of a rack has a circuit in a slice; slices are counted on over
    /// cycles.
    ///
    /// # Panics
    /// If the rack or the uplink does not exist.
    #[inline]
    pub fn destination(&self, slice: u32, rack: u32, uplink: u32) -> Option<u32> {
        assert!(rack < self.racks, "rack {rack} of {}", self.racks);
        let to = u32::from(self.table(slice, uplink)[rack as usize]);
        (to != rack).then_some(to)
    }

    /// The circuits of a rack in a slice as (uplink, destination), by uplink.
    ///
    /// # Panics
    /// If the rack does not exist.
    pub fn circuits(&self, slice: u32, rack: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.uplinks).filter_map(move |uplink| self.destination(slice, rack, uplink).map(|to| (uplink, to)))
    }

    /// Whether a switch shows another matching than in the slice before, so that it is dark at the
    /// start of this one. The slice before the first is the last one of the cycle.
    ///
    /// # Panics
    /// If the uplink does not exist.
    pub fn is_changing(&self, slice: u32, uplink: u32) -> bool {
        let slice = slice % self.slices;
        self.number(slice, uplink) != self.number(slice + self.slices - 1, uplink)
    }

    /// For how many slices, from this one on, a switch keeps its matching; `None` if it never
    /// changes.
    ///
    /// # Panics
    /// If the uplink does not exist.
    pub fn holds(&self, slice: u32, uplink: u32) -> Option<u32> {
        let slice = slice % self.slices;
        (1..=self.slices).find(|later| self.is_changing(slice + later, uplink))
    }

    /// Checks that every rack has a circuit to every other one at least once in a cycle.
    ///
    /// # Errors
    /// Names the first pair without a circuit, and counts such pairs.
    pub fn check_all_meet(&self) -> Result<(), RotorError> {
        let racks = self.racks as usize;
        table("set of pairs", &[u64::from(self.racks), u64::from(self.racks)], 1)?;
        // A rack counts as meeting itself.
        let mut met: Vec<bool> = (0..racks * racks).map(|pair| pair / racks == pair % racks).collect();
        for to in self.matchings.chunks_exact(racks) {
            to.iter().enumerate().for_each(|(from, &to)| met[from * racks + usize::from(to)] = true);
        }
        let Some(first) = met.iter().position(|met| !met) else { return Ok(()) };
        let pairs = met.iter().filter(|met| !**met).count() as u64;
        let (from, to) = ((first / racks) as u32, (first % racks) as u32);
        Err(RotorError::NeverMeet { from, to, pairs, slices: self.slices })
    }

    /// Size of the tables in bytes.
    pub fn table_bytes(&self) -> u64 {
        2 * self.matchings.len() as u64 + 4 * self.shown.len() as u64
    }

    #[inline]
    fn number(&self, slice: u32, uplink: u32) -> u32 {
        assert!(uplink < self.uplinks, "uplink {uplink} of {}", self.uplinks);
        self.shown[((slice % self.slices) * self.uplinks + uplink) as usize]
    }

    /// Per rack, its destination or itself.
    #[inline]
    fn table(&self, slice: u32, uplink: u32) -> &[u16] {
        let first = self.number(slice, uplink) as usize * self.racks as usize;
        &self.matchings[first..first + self.racks as usize]
    }
}
