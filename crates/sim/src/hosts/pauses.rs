//! Hosts that pause data or acknowledgements at given times (`[[pause]]`).
//!
//! A pause is arithmetic on the time, not an event: an interface asks whenever it is about to send,
//! and is served again when the pause ends. Interfaces obey; they do not know the times.

use crate::engine::time::SimTime;
use crate::network::packet::{Packet, flags};
use timeplane_model::Duration;
use timeplane_scenario::{Pause, PausedPackets};

/// The packets that an interface may not start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Packets with data, and flows that hold some.
    pub data: bool,
    /// Acknowledgements of TCP.
    pub acknowledgements: bool,
}

impl Held {
    /// Whether anything is held.
    #[inline]
    pub fn any(self) -> bool {
        self.data || self.acknowledgements
    }

    /// Whether this packet may not start.
    #[inline]
    pub fn stops(self, packet: &Packet) -> bool {
        if packet.flags & flags::ACK == 0 { self.data } else { self.acknowledgements }
    }
}

/// The pauses of one table.
#[derive(Clone, Copy)]
struct Times {
    what: PausedPackets,
    begin: SimTime,
    /// Both in ps; no period where there is one pause only.
    closed: i64,
    period: Option<i64>,
}

impl Times {
    fn new(pause: &Pause) -> Self {
        let Pause { what, at, closed, open, .. } = *pause;
        let period = open.map(|open| (closed + open).as_ps());
        Self { what, begin: SimTime::ZERO + at, closed: closed.as_ps(), period }
    }

    /// When the pause at `now` ends, if there is one. It includes its start, not its end.
    fn end(&self, now: SimTime) -> Option<SimTime> {
        let since = (now - self.begin).as_ps();
        let within = self.period.map_or(since, |period| since % period);
        (since >= 0 && within < self.closed).then(|| now + Duration::from_ps(self.closed - within))
    }
}

/// The pauses of a run.
pub struct Pauses {
    /// By host.
    times: Vec<Vec<Times>>,
}

impl Pauses {
    /// The pauses of these tables.
    ///
    /// # Panics
    /// Where a host does not exist.
    pub fn new(pauses: &[Pause], hosts: u32) -> Self {
        let mut times = vec![Vec::new(); hosts as usize];
        for pause in pauses {
            match &pause.hosts {
                None => times.iter_mut().for_each(|of| of.push(Times::new(pause))),
                Some(some) => some.iter().for_each(|&host| times[host as usize].push(Times::new(pause))),
            }
        }
        Self { times }
    }

    /// What a host may not start at `now`, and the first end of a pause that it is in.
    pub(crate) fn at(&self, host: u32, now: SimTime) -> (Held, SimTime) {
        let (mut held, mut until) = (Held::default(), SimTime::MAX);
        for times in &self.times[host as usize] {
            let Some(end) = times.end(now) else { continue };
            until = until.min(end);
            held.data |= times.what != PausedPackets::Acknowledgements;
            held.acknowledgements |= times.what != PausedPackets::Data;
        }
        (held, until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PausedPackets::{Acknowledgements, Both, Data};

    fn at(us: i64) -> SimTime {
        SimTime::ZERO + Duration::from_us(us)
    }

    fn pause(hosts: Option<Vec<u32>>, what: PausedPackets, [begin, closed]: [i64; 2], open: Option<i64>) -> Pause {
        let us = Duration::from_us;
        Pause { hosts, what, at: us(begin), closed: us(closed), open: open.map(us) }
    }

    /// Data, acknowledgements and the end of the pause in us.
    fn seen(pauses: &Pauses, host: u32, now: SimTime) -> (bool, bool, Option<i64>) {
        let (held, until) = pauses.at(host, now);
        (held.data, held.acknowledgements, (until < SimTime::MAX).then(|| until.as_ps() / 1_000_000))
    }

    #[test]
    fn a_pause_includes_its_start_and_not_its_end() {
        let pauses = Pauses::new(&[pause(None, Both, [10, 5], Some(20))], 2);
        let ps = Duration::from_ps(1);
        for begin in [10, 35, 60, 10 + 25 * 1_000_000] {
            assert_eq!(seen(&pauses, 1, at(begin) - ps), (false, false, None));
            assert_eq!(seen(&pauses, 1, at(begin)), (true, true, Some(begin + 5)));
            assert_eq!(seen(&pauses, 1, at(begin + 5) - ps), (true, true, Some(begin + 5)));
            assert_eq!(seen(&pauses, 1, at(begin + 5)), (false, false, None));
        }
        assert_eq!(seen(&pauses, 0, at(0)), (false, false, None));
    }

    #[test]
    fn tables_add_up() {
        let tables = [
            pause(Some(vec![1]), Data, [0, 10], None),
            pause(None, Acknowledgements, [5, 10], None),
            pause(Some(vec![0, 1]), Data, [20, 10], None),
        ];
        let pauses = Pauses::new(&tables, 3);
        assert_eq!(
            [0, 7, 12, 25, 31].map(|us| seen(&pauses, 1, at(us))),
            [
                (true, false, Some(10)),
                (true, true, Some(10)),
                (false, true, Some(15)),
                (true, false, Some(30)),
                (false, false, None),
            ]
        );
        assert_eq!([7, 25].map(|us| seen(&pauses, 2, at(us))), [(false, true, Some(15)), (false, false, None)]);
    }
}
