//! Links whose rates change: a packet in transmission keeps its rate, a queued packet is sent at
//! the new one.
//!
//! Departures are computed when packets join a link. A link that will change therefore leaves the
//! fast path: for each packet on it this module notes the time from which it could be sent. A
//! change recomputes the departures of all queued packets. Other links have no extra cost.
//!
//! The fabric of a run has the highest rates, so bounds and ideal times hold. A TDMA controller
//! that knows of changes ahead lets no slot last across one, and plans each round at the rates of
//! its time. Behind cut-through, with PFC, on hybrid fabrics and under other plans, rates cannot
//! change yet.

use crate::engine::time::SimTime;
use crate::network::failures::{Failures, undoomed};
use crate::network::meters::Meters;
use crate::network::packet::LAST;
use crate::network::wires::Wires;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use timeplane_model::{Duration, Fabric, LinkId, LinkSpec, Rate};
use timeplane_scenario::Change;

/// The two parts of a change, in their order within one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RateTurn {
    /// The new rate takes effect.
    Holds,
    /// The controller learns of the change.
    Known,
}

/// The rates of a table, in turn.
struct Rates {
    links: Vec<LinkId>,
    rates: Vec<Rate>,
    begin: SimTime,
    every: Option<Duration>,
    notice: Duration,
}

impl Rates {
    /// When the rate of this turn starts to hold.
    fn at(&self, turn: u64) -> SimTime {
        let every = self.every.unwrap_or(Duration::ZERO).as_ps();
        SimTime(self.begin.0.saturating_add(every.saturating_mul(i64::try_from(turn).unwrap_or(i64::MAX))))
    }

    fn rate(&self, turn: u64) -> Rate {
        self.rates[(turn % self.rates.len() as u64) as usize]
    }

    /// When the rate of this turn becomes known.
    fn known(&self, turn: u64) -> SimTime {
        SimTime((self.at(turn).0 - self.notice.as_ps()).max(0))
    }
}

/// A packet on a link whose rate changes, until it arrives.
#[derive(Clone, Copy, Debug)]
struct Sending {
    id: u32,
    /// From when on it could be sent.
    ready: SimTime,
    /// When its last bit leaves.
    departure: SimTime,
    /// How long it is sent, in ps.
    line: i64,
}

/// The packets and the meters of a link whose rate changes.
#[derive(Default)]
struct Track {
    /// First to last.
    sending: VecDeque<Sending>,
    /// The time spent sending, in ps.
    busy: i64,
    /// The longest queue, in wire bytes of the rate at that time.
    longest: u64,
}

/// The changes of rates in one run.
pub(crate) struct RateChanges {
    rates: Vec<Rates>,
    /// The next changes, by time, kind, table and turn.
    next: BTreeSet<(SimTime, RateTurn, usize, u64)>,
    tracks: BTreeMap<u32, Track>,
}

impl RateChanges {
    pub fn new(changes: &[Change], fabric: &Fabric) -> Self {
        let one = |change: &Change| Rates {
            links: change.wires.links(fabric),
            rates: change.rates.clone(),
            begin: SimTime::ZERO + change.at,
            every: change.every,
            notice: change.notice,
        };
        let rates: Vec<Rates> = changes.iter().map(one).collect();
        let first = rates.iter().enumerate();
        let next =
            first.flat_map(|(i, r)| [(r.at(0), RateTurn::Holds, i, 0), (r.known(0), RateTurn::Known, i, 0)]).collect();
        let tracks = rates.iter().flat_map(|r| &r.links).map(|l| (l.0, Track::default())).collect();
        Self { rates, next, tracks }
    }

    /// Takes the next change if it is at `at`: its kind, when it holds, the rate and the links.
    pub fn pop(&mut self, at: SimTime) -> Option<(RateTurn, SimTime, Rate, Vec<LinkId>)> {
        let (_, what, table, turn) = *self.next.first().filter(|n| n.0 == at)?;
        self.next.pop_first();
        let of = &self.rates[table];
        if of.every.is_some() {
            let next = if what == RateTurn::Holds { of.at(turn + 1) } else { of.known(turn + 1) };
            self.next.insert((next, what, table, turn + 1));
        }
        Some((what, of.at(turn), of.rate(turn), of.links.clone()))
    }

    /// Tells links that their rates change.
    pub fn mark(&self, wires: &mut Wires) {
        for &link in self.tracks.keys() {
            wires.links[link as usize].set_changing();
        }
    }

    /// When a rate changes next, or becomes known.
    pub fn next(&self) -> Option<SimTime> {
        self.next.first().map(|n| n.0)
    }

    /// A packet has joined a link, to leave at `departure`. Called before it flies.
    pub fn note_sending(&mut self, wires: &Wires, link: u32, id: u32, ready: SimTime, departure: SimTime) {
        let state = &wires.links[link as usize];
        let Some(track) = self.tracks.get_mut(&link) else { return };
        // Packets that have arrived no longer matter.
        if state.first() == LAST {
            track.sending.clear();
        } else {
            let first = state.departs(state.first(), &wires.packets);
            while track.sending.front().is_some_and(|s| s.departure < first) {
                track.sending.pop_front();
            }
        }
        let line = state.line_time(state.wire(wires.packets.get(id).bytes));
        track.busy += line;
        track.longest = track.longest.max(state.bytes_of(departure - ready));
        track.sending.push_back(Sending { id, ready, departure, line });
    }

    /// How long a packet in flight is or was sent, in ps, where its link's rate changes.
    pub fn line_of(&self, wires: &Wires, link: u32, id: u32) -> Option<i64> {
        let departure = wires.links[link as usize].departs(id, &wires.packets);
        let track = self.tracks.get(&link)?;
        let place = track.sending.binary_search_by_key(&departure, |s| s.departure).ok()?;
        Some(track.sending[place].line)
    }

    /// A link has lost at `at` all its packets, or those that had not left.
    pub fn forget_sending(&mut self, link: u32, at: SimTime, all: bool) {
        let Some(track) = self.tracks.get_mut(&link) else { return };
        let left = track.sending.partition_point(|s| s.departure <= at);
        track.busy -= track.sending.range(left..).map(|s| s.line).sum::<i64>();
        track.sending.truncate(if all { 0 } else { left });
    }

    /// Gives a link another rate, and its waiting packets other departures.
    pub fn retime(
        &mut self,
        wires: &mut Wires,
        meters: &mut Meters,
        failures: Option<&Failures>,
        at: SimTime,
        link: u32,
        rate: Rate,
    ) {
        let is = *wires.fabric.link(LinkId(link));
        let (from, to) = (wires.fabric.switch(is.from), wires.fabric.switch(is.to));
        wires.links[link as usize].set_spec(&LinkSpec { rate, ..is.spec }, from, to);
        let switch = is.from.0.checked_sub(wires.hosts);
        if let Some(shared) = switch.and_then(|s| wires.switches[s as usize].shared.as_mut()) {
            // The rest of a packet that has begun now counts by the new rate.
            shared.forget();
        }
        let Some((free, moved)) = self.tracks.get_mut(&link).and_then(|t| t.retime(wires, at, link)) else { return };
        let state = &mut wires.links[link as usize];
        state.set_free_at(free);
        if let Some(collisions) = &mut meters.collisions {
            collisions.moved(link, free);
        }
        let (leads_down, by_host) = (state.leads_down(), is.from.0 < wires.hosts);
        for (id, begin, arrival) in moved {
            if leads_down && let Some(failures) = failures {
                *wires.packets.get_mut(id) = undoomed(*wires.packets.get(id)).0;
                failures.doom_if_early(wires, link, arrival, id);
            }
            if let Some(latencies) = meters.latencies.as_mut().filter(|_| by_host) {
                latencies.begin(id, begin, arrival);
            }
        }
    }

    /// How long a link has been busy, where its rate changes.
    pub fn busy(&self, link: u32) -> Option<Duration> {
        self.tracks.get(&link).map(|t| Duration::from_ps(t.busy))
    }

    /// The longest queue that a packet has found with itself, in wire bytes, where the link's rate
    /// changes.
    pub fn longest_bytes(&self, link: u32) -> Option<u64> {
        self.tracks.get(&link).map(|t| t.longest)
    }
}

/// A packet that a rate change reschedules: its number, the start of its transmission, and its
/// arrival.
type Moved = (u32, SimTime, SimTime);

impl Track {
    /// Recomputes the departures of the packets that have not begun: when the link is free then,
    /// and these packets. `None` if all have begun.
    fn retime(&mut self, wires: &mut Wires, at: SimTime, link: u32) -> Option<(SimTime, Vec<Moved>)> {
        let state = &wires.links[link as usize];
        let begun = self.sending.partition_point(|s| s.departure.0 - s.line < at.0);
        let mut free = begun.checked_sub(1).map_or(SimTime(i64::MIN), |last| self.sending[last].departure);
        let first = state.first();
        let mut moved = Vec::with_capacity(self.sending.len() - begun);
        for sending in self.sending.range_mut(begun..) {
            let wire = state.wire(wires.packets.get(sending.id).bytes);
            let line = state.line_time(wire);
            self.busy += line - sending.line;
            sending.line = line;
            let begin = free.max(sending.ready);
            sending.departure = begin + Duration::from_ps(line);
            free = sending.departure;
            let (before, arrival) = (wires.packets.arrival(sending.id), state.arrival(free, wire));
            wires.packets.retime(sending.id, arrival);
            if sending.id == first {
                wires.calendar.remove_arrival(before, link);
                wires.calendar.push_arrival(arrival, link);
            }
            moved.push((sending.id, begin, arrival));
        }
        (!moved.is_empty()).then_some((free, moved))
    }
}
