//! Reservations of the ports of a circuit switch, which Sunflow makes one by one.
//!
//! A reservation never moves another one.

use super::lines::NONE;
use super::{CircuitParameters, Matching};
use std::collections::{BTreeMap, BTreeSet};

/// A circuit that has both its ports from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) source: usize,
    pub(super) destination: usize,
    /// When it is set up, in picoseconds; it carries after `setup`.
    pub(super) start: u64,
    setup: u64,
    pub(super) end: u64,
}

impl Reservation {
    /// How long it carries.
    pub(super) fn open(&self) -> u64 {
        self.end - self.start - self.setup
    }
}

/// All reservations, by port.
#[derive(Debug)]
pub(super) struct Timetable {
    ports: usize,
    dark: u64,
    least: u64,
    window: u64,
    most: usize,
    /// By port, senders first: end and partner of each reservation, by its start.
    taken: Vec<BTreeMap<u64, (u64, u32)>>,
    /// By port, the partner at the start.
    standing: Vec<u32>,
    /// Times at which circuits are set up.
    starts: BTreeSet<u64>,
    /// In the order in which they were made.
    reservations: Vec<Reservation>,
}

impl Timetable {
    pub(super) fn new(ports: usize, parameters: &CircuitParameters, standing: Option<&Matching>) -> Self {
        let mut up = vec![NONE; 2 * ports];
        for (i, j) in standing.into_iter().flat_map(Matching::pairs) {
            up[i.index()] = j.0;
            up[ports + j.index()] = i.0;
        }
        Self {
            ports,
            dark: parameters.dark.as_ps() as u64,
            least: (parameters.least_open.as_ps() as u64).max(1),
            window: parameters.window.as_ps() as u64,
            most: usize::try_from(parameters.most).unwrap_or(usize::MAX),
            taken: vec![BTreeMap::new(); 2 * ports],
            standing: up,
            starts: BTreeSet::new(),
            reservations: Vec::new(),
        }
    }

    pub(super) fn ports(&self) -> usize {
        self.ports
    }

    pub(super) fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// Whether a circuit is up at the start.
    pub(super) fn stands(&self, i: usize, j: usize) -> bool {
        self.standing[i] == j as u32
    }

    /// Ends of the reservations of a port; receiver j is port `ports` + j.
    pub(super) fn ends(&self, port: usize) -> impl Iterator<Item = u64> + '_ {
        self.taken[port].values().map(|&(end, _)| end)
    }

    /// End and partner of the last reservation of a port that starts by `now`.
    fn before(&self, port: usize, now: u64) -> (u64, u32) {
        let last = self.taken[port].range(..=now).next_back();
        last.map_or((0, self.standing[port]), |(_, &reserved)| reserved)
    }

    /// Start of the first reservation of a port after `now`.
    fn after(&self, port: usize, now: u64) -> u64 {
        self.taken[port].range(now + 1..).next().map_or(u64::MAX, |(&start, _)| start)
    }

    /// Reserves a circuit from `now` on for a line time, or for the part of it that fits before the
    /// next reservation. `None` if a port is taken, or if less than the least open time fits.
    pub(super) fn reserve(&mut self, now: u64, i: usize, j: usize, time: u64) -> Option<Reservation> {
        let ports = [i, self.ports + j];
        let [a, b] = ports.map(|port| self.before(port, now));
        if a.0 > now || b.0 > now {
            return None;
        }
        let up = a.1 == j as u32 && b.1 == i as u32;
        let setup = if up { 0 } else { self.dark };
        let moves = !up || now == 0;
        if moves && !self.starts.contains(&now) && self.starts.len() >= self.most {
            return None;
        }
        let until = ports.map(|port| self.after(port, now)).into_iter().fold(self.window, u64::min);
        let room = until.checked_sub(now + setup).filter(|&room| room >= self.least)?;
        let end = now + setup + time.max(self.least).min(room);
        for (port, (free, partner)) in ports.into_iter().zip([(a.0, j), (b.0, i)]) {
            // A circuit that is still up must not be taken down meanwhile.
            let start = if up { free } else { now };
            self.taken[port].insert(start, (end, partner as u32));
        }
        if moves {
            self.starts.insert(now);
        }
        let reserved = Reservation { source: i, destination: j, start: now, setup, end };
        self.reservations.push(reserved);
        Some(reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Retune;
    use super::*;
    use timeplane_model::{Duration, HostId, Rate};

    fn table(most: u32, standing: Option<&Matching>) -> Timetable {
        let ps = Duration::from_ps;
        let (circuit, packet) = (Rate::gbps(8000), Rate::ZERO);
        let (dark, least_open, window) = (ps(10), ps(5), ps(1000));
        let p = CircuitParameters { circuit, packet, dark, retune: Retune::Moved, least_open, window, most };
        Timetable::new(4, &p, standing)
    }

    #[test]
    fn reservations_fit_between_others_and_never_move_them() {
        let mut t = table(9, None);
        let mut at = |now, i, j, time| t.reserve(now, i, j, time).map(|r| (r.start, r.open(), r.end));
        assert_eq!(at(0, 0, 1, 100), Some((0, 100, 110)));
        assert_eq!(at(300, 0, 2, 100), Some((300, 100, 410)));
        // Port 0 is taken, or receiver 1 is, or the next one comes too soon.
        assert_eq!((at(109, 0, 3, 1), at(50, 2, 1, 1), at(286, 0, 3, 1)), (None, None, None));
        // 190 are free, 180 of them after a dark time. A longer demand gets as much as fits.
        assert_eq!(at(110, 0, 3, 500), Some((110, 180, 300)));
        // A circuit that is up goes on without a dark time, and is up for at least 5.
        assert_eq!((at(410, 0, 2, 1), at(415, 0, 2, 70)), (Some((410, 5, 415)), Some((415, 70, 485))));
        // Nothing is reserved beyond the window.
        assert_eq!((at(980, 1, 0, 99), at(986, 2, 3, 99)), (Some((980, 10, 1000)), None));
    }

    #[test]
    fn a_circuit_that_somebody_counts_on_stays_up() {
        let up = Matching::new(vec![Some(HostId(1)), None, None, None]).unwrap();
        let mut t = table(9, Some(&up));
        // The standing circuit is used from 200 on, so that neither port is free before.
        assert_eq!(t.reserve(200, 0, 1, 50).map(|r| (r.open(), r.end)), Some((50, 250)));
        assert_eq!((t.reserve(0, 0, 2, 20), t.reserve(0, 3, 1, 20)), (None, None));
        assert_eq!(t.reserve(250, 0, 2, 20).map(|r| r.end), Some(280));
    }

    #[test]
    fn the_number_of_setups_is_limited() {
        let mut t = table(2, None);
        assert!(t.reserve(0, 0, 1, 20).is_some() && t.reserve(30, 0, 2, 20).is_some());
        assert!(t.reserve(60, 0, 3, 20).is_none(), "a third time");
        assert!(t.reserve(30, 3, 1, 20).is_some(), "the same time");
        assert!(t.reserve(60, 0, 2, 20).is_some(), "nothing is set up");
    }
}
