//! Links whose rates change: a packet that has begun ends at its rate, what waits is sent at the new one.
//!
//! Departures are computed when packets join a link. So a link that will change is no plain one: of what it holds is written down from when on
//! it could be sent, and a change computes the departures anew of all that have not begun. No other link pays for it.

use super::{Changes, Network};
use crate::engine::time::SimTime;
use crate::network::failures::undoomed;
use crate::network::packet::LAST;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use timeplane_model::{Duration, Fabric, LinkId, LinkSpec, Rate};
use timeplane_scenario::Change;

/// What happens at one instant, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Holds,
    /// The controller hears of it.
    Known,
}

/// Rates in turn.
struct Rates {
    links: Vec<LinkId>,
    rates: Vec<Rate>,
    begin: SimTime,
    every: Option<Duration>,
    notice: Duration,
}

impl Rates {
    /// When the rate of this turn holds.
    fn at(&self, turn: u64) -> SimTime {
        let every = self.every.unwrap_or(Duration::ZERO).as_ps();
        SimTime(self.begin.0.saturating_add(every.saturating_mul(i64::try_from(turn).unwrap_or(i64::MAX))))
    }

    fn rate(&self, turn: u64) -> Rate {
        self.rates[(turn % self.rates.len() as u64) as usize]
    }

    /// When that is known.
    fn known(&self, turn: u64) -> SimTime {
        SimTime((self.at(turn).0 - self.notice.as_ps()).max(0))
    }
}

/// A packet on a link whose rate changes, until it arrives.
#[derive(Clone, Copy, Debug)]
struct Sending {
    id: u32,
    /// It could be sent from here on.
    ready: SimTime,
    /// Its last bit leaves.
    departure: SimTime,
    /// How long it is sent, in ps.
    line: i64,
}

/// What a link whose rate changes holds and has done.
#[derive(Default)]
struct Track {
    /// First to last.
    sending: VecDeque<Sending>,
    /// Time spent sending what was accepted, in ps.
    busy: i64,
    /// The longest queue, in wire bytes of the rate of its time.
    longest: u64,
}

/// Changes of one run.
pub(crate) struct Retiming {
    rates: Vec<Rates>,
    /// By time, what, table and turn.
    next: BTreeSet<(SimTime, Turn, usize, u64)>,
    tracks: BTreeMap<u32, Track>,
}

impl Retiming {
    fn new(changes: &[Change], fabric: &Fabric) -> Self {
        let one = |change: &Change| Rates {
            links: change.wires.links(fabric),
            rates: change.rates.clone(),
            begin: SimTime::ZERO + change.at,
            every: change.every,
            notice: change.notice,
        };
        let rates: Vec<Rates> = changes.iter().map(one).collect();
        let first = rates.iter().enumerate();
        let next = first.flat_map(|(i, r)| [(r.at(0), Turn::Holds, i, 0), (r.known(0), Turn::Known, i, 0)]).collect();
        let tracks = rates.iter().flat_map(|r| &r.links).map(|l| (l.0, Track::default())).collect();
        Self { rates, next, tracks }
    }

    /// What happens next, if that is at `at`: which links get which rate, and when.
    fn pop(&mut self, at: SimTime) -> Option<(Turn, SimTime, Rate, Vec<LinkId>)> {
        let (_, what, table, turn) = *self.next.first().filter(|n| n.0 == at)?;
        self.next.pop_first();
        let of = &self.rates[table];
        if of.every.is_some() {
            let next = if what == Turn::Holds { of.at(turn + 1) } else { of.known(turn + 1) };
            self.next.insert((next, what, table, turn + 1));
        }
        Some((what, of.at(turn), of.rate(turn), of.links.clone()))
    }
}

impl Network {
    /// Lets rates change in this run. Before it begins.
    ///
    /// # Panics
    /// Where a table has no rate.
    pub fn change_rates(&mut self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        assert!(changes.iter().all(|c| !c.rates.is_empty()), "a change has a rate");
        // What would be booked ahead may come at another time.
        self.passive = false;
        self.retiming = Some(Box::new(Retiming::new(changes, &self.fabric)));
        self.mark_changing();
    }

    /// Tells links that their rates change.
    pub(crate) fn mark_changing(&mut self) {
        for &link in self.retiming.iter().flat_map(|r| r.tracks.keys()) {
            self.links[link as usize].set_changing();
        }
    }

    /// When a rate changes next, or is known to.
    pub fn next_rate(&self) -> Option<SimTime> {
        self.retiming.as_ref().and_then(|r| r.next.first()).map(|n| n.0)
    }

    /// All rates that change at `at`, and all word of them that comes then.
    pub(crate) fn take_rates(&mut self, at: SimTime, changes: &mut Changes) {
        while let Some((what, from, rate, links)) = self.retiming.as_mut().and_then(|r| r.pop(at)) {
            match what {
                Turn::Holds => links.iter().for_each(|l| self.retime(at, l.0, rate)),
                Turn::Known => changes.rates.push((from, links.iter().map(|l| (*l, rate)).collect())),
            }
        }
    }

    /// A packet has joined a link whose rate changes, to leave at `departure`. Before it flies.
    pub(crate) fn note_sending(&mut self, link: u32, id: u32, ready: SimTime, departure: SimTime) {
        let state = &self.links[link as usize];
        let Some(track) = self.retiming.as_mut().and_then(|r| r.tracks.get_mut(&link)) else { return };
        // What has arrived is of no interest any more.
        if state.first() == LAST {
            track.sending.clear();
        } else {
            let first = state.departs(state.first(), &self.packets);
            while track.sending.front().is_some_and(|s| s.departure < first) {
                track.sending.pop_front();
            }
        }
        let line = state.line_time(state.wire(self.packets.get(id).bytes));
        track.busy += line;
        track.longest = track.longest.max(state.bytes_of(departure - ready));
        track.sending.push_back(Sending { id, ready, departure, line });
    }

    /// How long a packet in flight is or was sent, in ps.
    pub(crate) fn line_of(&self, link: u32, id: u32) -> i64 {
        let state = &self.links[link as usize];
        let departure = state.departs(id, &self.packets);
        let track = self.retiming.as_ref().and_then(|r| r.tracks.get(&link));
        let known = track.and_then(|t| {
            let place = t.sending.binary_search_by_key(&departure, |s| s.departure).ok()?;
            Some(t.sending[place].line)
        });
        known.unwrap_or_else(|| state.line_time(state.wire(self.packets.get(id).bytes)))
    }

    /// What a link held is lost at `at`: all of it, or what has not left.
    pub(crate) fn forget_sending(&mut self, link: u32, at: SimTime, all: bool) {
        let Some(track) = self.retiming.as_mut().and_then(|r| r.tracks.get_mut(&link)) else { return };
        let left = track.sending.partition_point(|s| s.departure <= at);
        track.busy -= track.sending.range(left..).map(|s| s.line).sum::<i64>();
        track.sending.truncate(if all { 0 } else { left });
    }

    /// A link's rate changes.
    fn retime(&mut self, at: SimTime, link: u32, rate: Rate) {
        let is = *self.fabric.link(LinkId(link));
        let state = &mut self.links[link as usize];
        state.set_spec(&LinkSpec { rate, ..is.spec }, self.fabric.switch(is.from), self.fabric.switch(is.to));
        if let Some(shared) = is.from.0.checked_sub(self.hosts).and_then(|s| self.switches[s as usize].shared.as_mut())
        {
            // Of a packet that has begun, the bytes left count by the new rate: ask the ports.
            shared.at_most = f64::INFINITY;
        }
        let Some(track) = self.retiming.as_mut().and_then(|r| r.tracks.get_mut(&link)) else { return };
        let begun = track.sending.partition_point(|s| s.departure.0 - s.line < at.0);
        let mut free = begun.checked_sub(1).map_or(SimTime(i64::MIN), |last| track.sending[last].departure);
        let first = state.first();
        let mut moved = Vec::with_capacity(track.sending.len() - begun);
        for sending in track.sending.range_mut(begun..) {
            let wire = state.wire(self.packets.get(sending.id).bytes);
            let line = state.line_time(wire);
            track.busy += line - sending.line;
            sending.line = line;
            let begin = free.max(sending.ready);
            sending.departure = begin + Duration::from_ps(line);
            free = sending.departure;
            let (before, arrival) = (self.packets.arrival(sending.id), state.arrival(free, wire));
            self.packets.retime(sending.id, arrival);
            if sending.id == first {
                self.calendar.remove_arrival(before, link);
                self.calendar.push_arrival(arrival, link);
            }
            moved.push((sending.id, begin, arrival));
        }
        if moved.is_empty() {
            return;
        }
        state.set_free_at(free);
        if let Some(collisions) = &mut self.collisions {
            collisions.moved(link, free);
        }
        let (leads_down, by_host) = (state.leads_down(), is.from.0 < self.hosts);
        for (id, begin, arrival) in moved {
            if leads_down {
                *self.packets.get_mut(id) = undoomed(*self.packets.get(id)).0;
                self.doom_if_early(link, arrival, id);
            }
            if let Some(latencies) = self.latencies.as_mut().filter(|_| by_host) {
                latencies.begin(id, begin);
            }
        }
    }

    /// Time that a link has spent sending what was accepted.
    pub fn busy(&self, link: u32) -> Duration {
        let track = self.retiming.as_ref().and_then(|r| r.tracks.get(&link));
        track.map_or_else(|| self.links[link as usize].busy(), |t| Duration::from_ps(t.busy))
    }

    /// The longest queue that a packet has found on a link together with itself, in wire bytes.
    pub fn longest_bytes(&self, link: u32) -> u64 {
        let track = self.retiming.as_ref().and_then(|r| r.tracks.get(&link));
        track.map_or_else(|| self.links[link as usize].longest_bytes(), |t| t.longest)
    }
}
