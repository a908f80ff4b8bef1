//! An air link: from one station to another, with its queue and the fate of what it sent.
//!
//! A link knows its own packets. It does not know when its station may send.

mod planned;

use super::Outcome;
use super::frame::{Frame, happens};
use crate::engine::time::SimTime;
use crate::hosts::discipline::{Item, OnArrival, OnDeparture, QueueState};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_radio::{Dbm, MacParameters, Mcs, all_right};

/// What a link carries at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The received level.
    pub level: Dbm,
    /// The modulation and coding scheme.
    pub mcs: Mcs,
    /// The rate in bits per second.
    pub rate: Rate,
    /// The probability that a packet of [`Quality::packet`] bytes is lost. Other lengths count as
    /// if each byte were as likely to be wrong.
    pub packet_error: f64,
    /// The packet size of the error rate, in bytes.
    pub packet: u32,
}

impl Quality {
    /// What results show of it: MCS, rate, and whether no packet comes through.
    pub fn shown(self) -> (Mcs, Rate, bool) {
        (self.mcs, self.rate, self.packet_error >= 1.0)
    }
}

/// The states of a link over time. Each lasts until the next; `None` is an outage, also before the
/// first.
#[derive(Clone, Debug, Default)]
pub struct LinkTrace {
    states: Vec<(SimTime, Option<Quality>)>,
    next: usize,
    now: Option<Quality>,
}

impl LinkTrace {
    /// States in the order of their starts.
    ///
    /// # Panics
    ///
    /// If they are not in order.
    pub fn new(states: Vec<(SimTime, Option<Quality>)>) -> Self {
        assert!(states.is_sorted_by(|a, b| a.0 < b.0), "states are in order");
        Self { states, next: 0, now: None }
    }
}

/// What a link has carried so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// How long its frames were in the air, with those that were repeated, and without answers.
    pub airtime: Duration,
    /// Bytes of packets that came out of it, without framing.
    pub bytes: u64,
}

/// How a link makes frames.
#[derive(Clone, Debug)]
pub enum Way {
    /// Aggregates packets into frames at this rate, received by their SINR.
    Coded(Mcs),
    /// Sends each packet as a frame, received with the probability of the link's state when it
    /// starts.
    LinkTrace(LinkTrace),
}

/// A packet for an air link.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Its number.
    pub packet: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// Whether it is only an acknowledgement.
    pub acknowledgement: bool,
    /// Whether it may be marked instead of dropped.
    pub ecn_capable: bool,
}

/// A frame that a link sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sent {
    /// A frame of `psdu` octets.
    Frame { mcs: Mcs, psdu: u32 },
    /// A packet that takes so long.
    Packet { length: Duration },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    packet: u32,
    since: SimTime,
    bytes: u32,
    /// The octets that it takes in frames, and how many of them have arrived where packets are cut.
    octets: u32,
    done: u32,
    attempts: u32,
    acknowledgement: bool,
    ecn_capable: bool,
    /// Whether the queue discipline let it go.
    admitted: bool,
    /// Whether the receiver has it.
    arrived: bool,
    /// Whether it was given up, or dropped by the queue discipline.
    lost: bool,
    shed: bool,
    /// Whether the sender knows its fate.
    settled: bool,
}

/// A frame whose answer is pending.
#[derive(Clone, Debug, Default)]
struct Outstanding {
    /// Packets by number, with their octets in this frame.
    parts: Vec<(u64, u32)>,
    psdu: u32,
    attempts: u32,
    /// Whether the receiver has it.
    came: bool,
    /// The probability that a planned packet arrives.
    success: f64,
}

/// A link and its queue.
#[derive(Debug)]
pub struct AirLink {
    /// The sending station.
    pub from: u32,
    to: u32,
    way: Way,
    queue: VecDeque<Entry>,
    /// The numbers of the queue's first packet, and of the first one that has not come out.
    first: u64,
    released: u64,
    /// Unsettled packets, their bytes, and how many of them are not acknowledgements.
    open: usize,
    open_bytes: u64,
    open_data: usize,
    outstanding: Outstanding,
    discipline: QueueState,
    /// Whether the link is down, and its state after the frame in the air.
    down: bool,
    pending: Option<(u32, Mcs)>,
    /// Whether a frame is in the air, or waits for its answer.
    in_air: bool,
    /// Whether no frame may start.
    closed: bool,
    carried: Carried,
    /// What it had carried at times when something about it changed.
    notes: Vec<(SimTime, Carried)>,
    pub(super) stream: Xoshiro256PlusPlus,
}

impl AirLink {
    /// An idle link. Losses are drawn from `stream`.
    pub fn new(from: u32, to: u32, way: Way, discipline: QueueState, stream: Xoshiro256PlusPlus) -> Self {
        Self {
            from,
            to,
            way,
            queue: VecDeque::new(),
            first: 0,
            released: 0,
            open: 0,
            open_bytes: 0,
            open_data: 0,
            outstanding: Outstanding::default(),
            discipline,
            down: false,
            pending: None,
            in_air: false,
            closed: false,
            carried: Carried::default(),
            notes: Vec::new(),
            stream,
        }
    }

    /// The receiving station.
    pub fn to(&self) -> u32 {
        self.to
    }

    /// Packets and bytes to be sent, including those being sent.
    pub fn queued(&self) -> (usize, u64) {
        (self.open, self.open_bytes)
    }

    /// Packets that have not come out.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.queue.iter().skip((self.released - self.first) as usize).map(|e| e.packet)
    }

    /// Its current state, if it has a trace.
    pub fn quality(&self) -> Option<Quality> {
        match &self.way {
            Way::LinkTrace(trace) => trace.now,
            Way::Coded(_) => None,
        }
    }

    /// What it has carried so far.
    pub fn carried(&self) -> Carried {
        self.carried
    }

    /// What it had carried at the last time up to `at` at which something about it changed.
    pub fn carried_until(&self, at: SimTime) -> Carried {
        let after = self.notes.partition_point(|n| n.0 <= at);
        after.checked_sub(1).map_or(Carried::default(), |last| self.notes[last].1)
    }

    /// Remembers what it has carried until now, as something about it changes.
    pub(super) fn note(&mut self, now: SimTime) {
        match self.notes.last_mut() {
            Some(last) if last.0 == now => last.1 = self.carried,
            Some(last) if last.1 == self.carried => {}
            _ => self.notes.push((now, self.carried)),
        }
    }

    /// A frame of it was in the air for so long.
    pub(super) fn was_in_air(&mut self, airtime: Duration) {
        self.carried.airtime += airtime;
    }

    /// How it makes frames now.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// All states of its trace; empty without one.
    pub fn trace(&self) -> &[(SimTime, Option<Quality>)] {
        match &self.way {
            Way::LinkTrace(trace) => &trace.states,
            Way::Coded(_) => &[],
        }
    }

    pub(super) fn next_change(&self) -> Option<SimTime> {
        match &self.way {
            Way::LinkTrace(trace) => trace.states.get(trace.next).map(|s| s.0),
            Way::Coded(_) => None,
        }
    }

    pub(super) fn change(&mut self, now: SimTime) {
        let Way::LinkTrace(trace) = &mut self.way else { return };
        let before = trace.now.map(Quality::shown);
        while let Some(&(at, state)) = trace.states.get(trace.next)
            && at <= now
        {
            trace.now = state;
            trace.next += 1;
        }
        if trace.now.map(Quality::shown) != before {
            self.note(now);
        }
    }

    /// The fate of a packet that comes.
    pub(super) fn arrive(&self, offered: &Offered) -> OnArrival {
        let item = Item { bytes: u64::from(offered.bytes), ect: offered.ecn_capable };
        self.discipline.arrive(item, self.open as u64, self.open_bytes)
    }

    pub(super) fn push(&mut self, since: SimTime, offered: Offered, octets: u32) {
        let Offered { packet, bytes, acknowledgement, ecn_capable } = offered;
        self.open += 1;
        self.open_bytes += u64::from(bytes);
        self.open_data += usize::from(!acknowledgement);
        self.queue.push_back(Entry {
            packet,
            since,
            bytes,
            octets,
            done: 0,
            attempts: 0,
            acknowledgement,
            ecn_capable,
            admitted: false,
            arrived: false,
            lost: false,
            shed: false,
            settled: false,
        });
    }

    pub(super) fn can_send(&self) -> bool {
        self.open > 0
            && !self.in_air
            && !self.down
            && !self.closed
            && match &self.way {
                Way::Coded(_) => true,
                Way::LinkTrace(trace) => trace.now.is_some(),
            }
    }

    pub(super) fn has_only_acknowledgements(&self) -> bool {
        self.open_data == 0
    }

    pub(super) fn is_outstanding(&self) -> bool {
        self.in_air
    }

    /// Asks the queue discipline about up to `most` packets that are about to leave for the first
    /// time. Reports those that it drops or marks.
    pub(super) fn admit(&mut self, now: SimTime, link: u32, most: usize, outcomes: &mut Vec<Outcome>) {
        let (mut admitted, mut i) = (0, 0);
        while let Some(&entry) = self.queue.get(i)
            && admitted < most
        {
            i += 1;
            if entry.settled || entry.admitted {
                admitted += usize::from(!entry.settled);
                continue;
            }
            let item = Item { bytes: u64::from(entry.bytes), ect: entry.ecn_capable };
            let behind = self.open_bytes - u64::from(entry.bytes);
            match self.discipline.depart(now, item, now - entry.since, behind) {
                OnDeparture::Drop => {
                    let e = &mut self.queue[i - 1];
                    (e.lost, e.shed) = (true, true);
                    self.settle(self.first + i as u64 - 1);
                    continue;
                }
                OnDeparture::Mark => outcomes.push(Outcome::Marked { packet: entry.packet }),
                OnDeparture::Send => {}
            }
            self.queue[i - 1].admitted = true;
            admitted += 1;
        }
        self.release(link, outcomes);
    }

    /// Aggregates the next packets into a frame, or repeats the frame that was not answered.
    pub(super) fn fill(&mut self, mac: &MacParameters, planned: bool) -> Sent {
        self.in_air = true;
        match &self.way {
            Way::LinkTrace(trace) => {
                let quality = trace.now.expect("who sends has asked");
                let first = self.first_open();
                let entry = &self.queue[(first - self.first) as usize];
                let share = f64::from(entry.bytes) / f64::from(quality.packet.max(1));
                self.outstanding.parts.clear();
                self.outstanding.parts.push((first, entry.bytes));
                self.outstanding.success = all_right(quality.packet_error, share);
                Sent::Packet { length: quality.rate.time_for(Bytes::new(u64::from(entry.bytes))) }
            }
            &Way::Coded(mcs) if planned => {
                let first = self.first_open();
                let entry = &self.queue[(first - self.first) as usize];
                self.outstanding.parts.clear();
                self.outstanding.parts.push((first, entry.bytes));
                self.outstanding.success = 1.0;
                Sent::Packet { length: mcs.rate().time_for(Bytes::new(u64::from(entry.bytes))) }
            }
            &Way::Coded(mcs) => {
                if self.outstanding.attempts == 0 {
                    self.put_together(mcs, mac);
                }
                Sent::Frame { mcs, psdu: self.outstanding.psdu }
            }
        }
    }

    fn first_open(&self) -> u64 {
        let place = self.queue.iter().position(|e| !e.settled).expect("who sends has something to send");
        self.first + place as u64
    }

    fn put_together(&mut self, mcs: Mcs, mac: &MacParameters) {
        let a = &mac.aggregation;
        let cuts = !a.packets_are_checked;
        let frame = &mut self.outstanding;
        frame.parts.clear();
        frame.came = false;
        let mut psdu = a.per_frame.get() as u32;
        let most = u32::try_from(a.max_psdu.get()).unwrap_or(u32::MAX);
        for (entry, number) in self.queue.iter().zip(self.first..).filter(|e| !e.0.settled).take_while(|e| e.0.admitted)
        {
            let whole = entry.octets - entry.done;
            let room = most.saturating_sub(psdu);
            let octets = if cuts { whole.min(room) } else { whole };
            let fits = octets > 0
                && (frame.parts.is_empty()
                    || octets <= room
                        && a.max_packets.is_none_or(|m| frame.parts.len() < m as usize)
                        && a.max_time.is_none_or(|t| mac.airtime(mcs, Bytes::new(u64::from(psdu + octets))) <= t));
            if !fits {
                break;
            }
            psdu += octets;
            frame.parts.push((number, octets));
        }
        frame.psdu = psdu;
    }

    /// The receiver handles the end of a frame. Whether there is something to answer.
    pub(super) fn receive(&mut self, frame: &Frame, mac: &MacParameters, planned: bool, retries: u32) -> bool {
        let Self { queue, first, outstanding, stream, .. } = self;
        let entry = |number: u64| (number - *first) as usize;
        if planned {
            let arrived = happens(outstanding.success, stream);
            let number = outstanding.parts[0].0;
            let e = &mut queue[entry(number)];
            e.attempts += 1;
            e.arrived = arrived;
            e.lost = !arrived && (e.attempts > retries || self.closed);
            self.in_air = false;
            if arrived || self.queue[(number - self.first) as usize].lost {
                self.settle(number);
            }
            return arrived;
        }
        if mac.aggregation.packets_are_checked {
            let mut from = mac.aggregation.per_frame.get() as u32;
            let mut came = false;
            for &(number, octets) in &outstanding.parts {
                let arrived = happens(frame.success(from, from + octets), stream);
                queue[entry(number)].arrived |= arrived;
                came |= arrived;
                from += octets;
            }
            return came;
        }
        let came = frame.is_received(stream);
        if came && !outstanding.came {
            outstanding.came = true;
            for &(number, octets) in &outstanding.parts {
                let e = &mut queue[entry(number)];
                e.done += octets;
                e.arrived = e.done >= e.octets;
            }
        }
        came
    }

    /// The sender learns whether its frame was answered.
    pub(super) fn judge(&mut self, answered: bool, retries: u32, mac: &MacParameters) {
        self.in_air = false;
        let parts = std::mem::take(&mut self.outstanding.parts);
        if mac.aggregation.packets_are_checked {
            for &(number, _) in &parts {
                let e = &mut self.queue[(number - self.first) as usize];
                e.attempts += 1;
                if e.arrived && (answered || e.attempts > retries) {
                    self.settle(number);
                } else if !e.arrived && e.attempts > retries {
                    e.lost = true;
                    self.settle(number);
                }
            }
            self.outstanding.parts = parts;
            return;
        }
        self.outstanding.attempts += 1;
        let over = answered || self.outstanding.attempts > retries;
        if over {
            self.outstanding.attempts = 0;
            for &(number, _) in &parts {
                let came = self.outstanding.came;
                let e = &mut self.queue[(number - self.first) as usize];
                e.lost |= !came;
                if e.arrived || e.lost {
                    self.settle(number);
                }
            }
        }
        self.outstanding.parts = parts;
    }

    fn settle(&mut self, number: u64) {
        let e = &mut self.queue[(number - self.first) as usize];
        if !e.settled {
            e.settled = true;
            self.open -= 1;
            self.open_bytes -= u64::from(e.bytes);
            self.open_data -= usize::from(!e.acknowledgement);
        }
    }

    /// Carries nothing from now on.
    pub(super) fn take_down(&mut self) {
        self.down = true;
        self.pending = None;
    }

    /// Points the link at a station with another rate, once no frame is in the air. Whether its
    /// beam moves now.
    #[must_use]
    pub(super) fn set_up(&mut self, to: u32, mcs: Mcs) -> bool {
        if self.in_air {
            self.pending = Some((to, mcs));
            return false;
        }
        let moved = self.to != to;
        (self.down, self.to, self.way) = (false, to, Way::Coded(mcs));
        moved
    }

    /// Returns the packets that wait for a link that is down, unless a frame is in the air. The
    /// link may then be set up again. Whether its beam moves now.
    #[must_use]
    pub(super) fn return_all(&mut self, link: u32, outcomes: &mut Vec<Outcome>) -> bool {
        if !self.down || self.in_air {
            return false;
        }
        let out = (self.released - self.first) as usize;
        for e in self.queue.drain(..).skip(out) {
            let packet = e.packet;
            self.carried.bytes += if e.arrived { u64::from(e.bytes) } else { 0 };
            outcomes.push(match (e.arrived, e.lost) {
                (true, _) => Outcome::Arrived { link, packet },
                (_, true) => Outcome::Lost { link, packet, shed: e.shed },
                _ => Outcome::Returned { link, packet },
            });
        }
        (self.open, self.open_bytes, self.open_data) = (0, 0, 0);
        (self.first, self.released) = (0, 0);
        self.outstanding = Outstanding::default();
        self.pending.take().is_some_and(|(to, mcs)| self.set_up(to, mcs))
    }

    /// Lets out, in order, packets that have arrived or were given up.
    pub(super) fn release(&mut self, link: u32, outcomes: &mut Vec<Outcome>) {
        while let Some(e) = self.queue.get((self.released - self.first) as usize) {
            let packet = e.packet;
            let bytes = u64::from(e.bytes);
            outcomes.push(match (e.arrived, e.lost) {
                (true, _) => {
                    self.carried.bytes += bytes;
                    Outcome::Arrived { link, packet }
                }
                (_, true) => Outcome::Lost { link, packet, shed: e.shed },
                _ => break,
            });
            self.released += 1;
        }
        while self.released > self.first && self.queue.front().is_some_and(|e| e.settled) {
            self.queue.pop_front();
            self.first += 1;
        }
    }
}
