//! The wireless medium: stations that share channels, and the fate of their frames.
//!
//! A medium knows stations, the air links between them with their queues, and the power at which
//! stations hear each other. It is driven like an agent: the network offers packets,
//! [`Medium::deadline`] says when to call again, and [`Medium::step`] tells what became of packets.
//! It draws random numbers only from the streams that it was given.
//!
//! - A frame holds what fits of one link's queue. It is received by its SINR, part by part, as
//!   other frames start and end. A packet, or a frame with a single checksum, arrives if all its
//!   bits are right. A sending station hears nothing. A frame is missed if its start cannot be told
//!   from the interference.
//! - A station that hears a frame keeps silent until the answer must have come. The reservation in
//!   the frame and EIFS, for stations that cannot read it, amount to the same.
//! - Carrier sense takes no time. Stations that start at the same instant collide; a station that
//!   starts later is heard.
//! - Packets come out of a link in the order in which they went in. A packet behind a gap waits for
//!   it.

mod frame;
mod hearing;
mod interference;
mod link;
mod station;
#[cfg(test)]
mod tests;

pub use interference::Interference;
pub use link::{AirLink, Carried, LinkTrace, Offered, Quality, Way};

use crate::engine::time::SimTime;
use crate::hosts::discipline::OnArrival;
use frame::{Content, Frames};
use hearing::Hearing;
use link::Sent;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use station::{State, Station};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use timeplane_model::{Bytes, Duration};
use timeplane_radio::{MacParameters, Mcs, Milliwatts};
pub use timeplane_scenario::Access;

/// The most packets of a frame: 262,143 octets hold no more of 64 octets.
const LONGEST_FRAME: usize = 4_096;

/// The parameters of all stations.
#[derive(Clone, Debug)]
pub struct MediumSpec {
    /// Interframe spaces, back-off, aggregation and answers.
    pub mac: MacParameters,
    /// How stations share a channel.
    pub access: Access,
    /// How often a packet is repeated at most; 0 turns retransmission off.
    pub retries: u32,
    /// The noise of each channel, to which SINR refers.
    pub noise: Milliwatts,
    /// The power from which on a channel counts as busy.
    pub senses: Milliwatts,
    /// By station: its channel. Channels do not disturb each other.
    pub channels: Vec<u32>,
    /// The power between stations in mW, by sender, then by receiver.
    pub powers: Vec<f64>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It came out at the other end of the link.
    Arrived {
        /// The number of the air link in the medium.
        link: u32,
        /// The number of the packet in the network.
        packet: u32,
    },
    /// It will not come out: dropped by its queue, or given up.
    Lost {
        /// The number of the air link in the medium.
        link: u32,
        /// The number of the packet in the network.
        packet: u32,
        /// Whether the queue discipline dropped it, rather than the air after all retries.
        shed: bool,
    },
    /// Its link is down and it was not received.
    Returned {
        /// The number of the air link in the medium.
        link: u32,
        /// The number of the packet in the network.
        packet: u32,
    },
    /// The queue discipline marks it.
    Marked {
        /// The number of the packet in the network.
        packet: u32,
    },
}

/// Pending actions, in the order within one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The state of a link changes.
    Change { link: u32 },
    /// A station's frame ends.
    End { station: u32 },
    /// A station answers.
    Answer { station: u32 },
    /// A station's frame has been answered by now, or will not be.
    Verdict { station: u32 },
    /// A station may start, unless its turn has changed since.
    Try { station: u32, turn: u32 },
}

/// Counts of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data frames started.
    pub frames: u64,
    /// Data frames that met another frame at their receiver, or a receiver that sent.
    pub met: u64,
    /// Data frames that were not answered.
    pub unanswered: u64,
}

/// Stations, links, and the frames between them.
pub struct Medium {
    spec: MediumSpec,
    stations: Vec<Station>,
    links: Vec<AirLink>,
    frames: Frames,
    hearing: Hearing,
    /// How long each answer takes.
    response: Duration,
    /// Interference among planned links, where they disturb each other.
    interference: Option<Box<Interference>>,
    due: BinaryHeap<Reverse<(SimTime, Due)>>,
    outcomes: Vec<Outcome>,
    counts: Counts,
}

impl Medium {
    /// An idle medium. Every station draws its back-offs, and every link its losses, from a stream
    /// of its own.
    ///
    /// # Panics
    ///
    /// If the station of a link does not exist, or `powers` is not a square.
    pub fn new(mut spec: MediumSpec, links: Vec<AirLink>, backoffs: Vec<Xoshiro256PlusPlus>) -> Self {
        let n = spec.channels.len();
        assert_eq!(spec.powers.len(), n * n, "a power for each pair of stations");
        let mut stations: Vec<Station> = backoffs.into_iter().map(Station::new).collect();
        assert_eq!(stations.len(), n, "a stream for each station");
        let mut due = BinaryHeap::new();
        for (l, link) in links.iter().enumerate() {
            stations[link.from as usize].links.push(l as u32);
            assert!((link.to() as usize) < n, "a link's station exists");
            if let Some(at) = link.next_change() {
                due.push(Reverse((at, Due::Change { link: l as u32 })));
            }
        }
        let mut medium = Self {
            frames: Frames::new(&mut spec),
            hearing: Hearing::default(),
            response: spec.mac.response_time(),
            spec,
            stations,
            links,
            interference: None,
            due,
            outcomes: Vec::new(),
            counts: Counts::default(),
        };
        medium.hearing = medium.hearing_anew();
        medium
    }

    /// Lets planned links disturb each other. Called before anything is sent.
    pub fn disturb(&mut self, interference: Interference) {
        self.interference = Some(Box::new(interference));
    }

    /// When to call [`Medium::step`] next.
    pub fn deadline(&self) -> Option<SimTime> {
        self.due.peek().map(|d| d.0.0)
    }

    /// Links in the order in which they were given.
    pub fn links(&self) -> &[AirLink] {
        &self.links
    }

    /// How stations share a channel.
    pub fn access(&self) -> Access {
        self.spec.access
    }

    /// Counts of frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A packet joins the queue of a link, if the queue discipline takes it.
    pub fn offer(&mut self, now: SimTime, link: u32, offered: Offered) -> OnArrival {
        let octets = match self.spec.access {
            Access::Planned => offered.bytes,
            _ => self.spec.mac.in_frame(Bytes::new(u64::from(offered.bytes))).get() as u32,
        };
        let l = &mut self.links[link as usize];
        let verdict = l.arrive(&offered);
        if verdict == OnArrival::Drop {
            return verdict;
        }
        l.push(now, offered, octets);
        let s = l.from;
        let station = &mut self.stations[s as usize];
        if station.state == State::Free && !station.is_contending() {
            // A station that finds the channel busy, or not idle for long enough, waits for a
            // back-off.
            let too_early = station.busy > 0 || now < station.idle_since + self.spec.mac.aifs();
            if too_early && station.backoff == 0 {
                self.draw_backoff(s);
            }
            self.contend(now, s);
        }
        verdict
    }

    /// Remembers what a link has carried until now, as something about it changes.
    pub fn note(&mut self, now: SimTime, link: u32) {
        self.links[link as usize].note(now);
    }

    /// Takes a link down, after the frame in the air and its answer. Waiting packets are returned
    /// then.
    pub fn take_down(&mut self, link: u32) {
        let l = &mut self.links[link as usize];
        l.take_down();
        let moved = l.return_all(link, &mut self.outcomes);
        debug_assert!(!moved, "a link that is taken down points where it pointed");
    }

    /// Points a station elsewhere: the power at which others hear it, and at which it hears them,
    /// in mW by station.
    pub fn point(&mut self, station: u32, heard_by: &[f64], hears: &[f64]) {
        self.frames.point(station, heard_by, hears);
        self.beam_moved(station);
    }

    /// Points a link that was down at a station, with a rate; at once, or when the frame in the air
    /// is over.
    pub fn set_up(&mut self, now: SimTime, link: u32, to: u32, mcs: Mcs) {
        let l = &mut self.links[link as usize];
        let (s, moved) = (l.from, l.set_up(to, mcs));
        if moved {
            self.beam_moved(s);
        }
        self.contend(now, s);
    }

    /// Handles all events up to `now` and returns the outcomes of packets. Call it at
    /// [`Medium::deadline`].
    pub fn step(&mut self, now: SimTime) -> impl Iterator<Item = Outcome> + '_ {
        while let Some(&Reverse((at, due))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            match due {
                Due::Change { link } => self.change(at, link),
                Due::End { station } => self.end(at, station),
                Due::Answer { station } => self.answer(at, station),
                Due::Verdict { station } => self.verdict(at, station),
                Due::Try { station, turn } if self.stations[station as usize].turn == turn => self.attempt(at, station),
                Due::Try { .. } => {}
            }
        }
        self.outcomes.drain(..)
    }

    fn wake(&mut self, at: SimTime, due: Due) {
        self.due.push(Reverse((at, due)));
    }

    fn draw_backoff(&mut self, s: u32) {
        let station = &mut self.stations[s as usize];
        station.backoff = match self.spec.access {
            Access::Dcf | Access::DcfWithoutCollisions => {
                // Contention windows are powers of two minus one.
                station.stream.next_u64() as u32 & self.spec.mac.contention_window(station.failures)
            }
            _ => 0,
        };
    }

    /// A free station with something to send asks for its turn.
    fn contend(&mut self, now: SimTime, s: u32) {
        let has_traffic = self.next_link(s).is_some();
        let only_answers = self.has_only_answers(s);
        let station = &mut self.stations[s as usize];
        if station.state != State::Free || !has_traffic || station.busy > 0 || station.is_contending() {
            return;
        }
        let mac = &self.spec.mac;
        let at = match self.spec.access {
            Access::Planned => now,
            Access::DcfWithoutCollisions if only_answers => station.idle_since + mac.aifs(),
            Access::Token if station.has_token => station.idle_since + mac.sifs,
            _ => station.idle_since + mac.aifs() + mac.slot * i64::from(station.backoff),
        };
        let at = at.max(now);
        let turn = station.ask(at);
        self.wake(at, Due::Try { station: s, turn });
    }

    fn has_only_answers(&self, s: u32) -> bool {
        self.stations[s as usize].links.iter().all(|&l| self.links[l as usize].has_only_acknowledgements())
    }

    /// The turn of a station has come.
    fn attempt(&mut self, now: SimTime, s: u32) {
        if matches!(self.spec.access, Access::DcfWithoutCollisions | Access::NoBackoff | Access::Token) {
            let rank = |medium: &Self, s: u32| (!medium.has_only_answers(s), medium.stations[s as usize].last_sent, s);
            let hearing = self.hearing.listeners(s).iter().copied();
            let rivals = hearing.filter(|&r| self.stations[r as usize].is_due(now));
            let best = rivals.chain([s]).min_by_key(|&r| rank(self, r)).unwrap_or(s);
            if best != s {
                // The other one gets its turn now, and makes this one wait.
                self.send(now, best);
                return;
            }
        }
        self.send(now, s);
    }

    fn next_link(&self, s: u32) -> Option<u32> {
        let station = &self.stations[s as usize];
        let n = station.links.len();
        (0..n).map(|i| station.links[(station.next + i) % n]).find(|&l| self.links[l as usize].can_send())
    }

    /// A station sends a frame of its next link.
    fn send(&mut self, now: SimTime, s: u32) {
        self.stations[s as usize].turn_is_over();
        let Some(l) = self.next_link(s) else { return };
        let link = &mut self.links[l as usize];
        let planned = self.spec.access == Access::Planned;
        link.admit(now, l, if planned { 1 } else { LONGEST_FRAME }, &mut self.outcomes);
        if !link.can_send() {
            // The queue discipline dropped the whole queue.
            return self.contend(now, s);
        }
        let (mcs, length) = match link.fill(&self.spec.mac, planned) {
            Sent::Frame { mcs, psdu } => (Some((mcs, psdu)), self.spec.mac.airtime(mcs, Bytes::new(u64::from(psdu)))),
            Sent::Packet { length } => (None, length),
        };
        let to = link.to();
        if let (Some(interference), Some((quality, bytes))) =
            (&mut self.interference, link.in_air().filter(|_| planned))
        {
            interference.begin(now, l, [s, to], quality, bytes);
        }
        let station = &mut self.stations[s as usize];
        let place = station.links.iter().position(|&x| x == l).unwrap_or(0);
        station.next = (place + 1) % station.links.len();
        station.last_sent = now;
        self.counts.frames += 1;
        self.begin(now, s, to, Content::Data { link: l }, mcs, length);
        self.wake(now + length, Due::End { station: s });
    }

    /// A frame starts.
    fn begin(&mut self, now: SimTime, s: u32, to: u32, content: Content, mcs: Option<(Mcs, u32)>, length: Duration) {
        self.stations[s as usize].state = State::Sends;
        let aside = self.frames.begin(now, s, to, content, mcs, length);
        if let Content::Data { .. } = content {
            self.counts.met += u64::from(aside);
        }
        if self.spec.access == Access::Planned {
            return;
        }
        let reserved = match content {
            Content::Data { .. } => now + length + self.spec.mac.sifs + self.response,
            Content::Answer { .. } => now + length,
        };
        let collides = self.spec.access == Access::Dcf;
        let mut listeners = std::mem::take(&mut self.stations[s as usize].listeners);
        listeners.extend_from_slice(self.hearing.listeners(s));
        let (aifs, slot) = (self.spec.mac.aifs(), self.spec.mac.slot);
        for &h in &listeners {
            let station = &mut self.stations[h as usize];
            station.reserved = station.reserved.max(reserved);
            station.becomes_busy(now, aifs, slot, collides);
        }
        self.stations[s as usize].listeners = listeners;
    }

    /// A frame ends.
    fn end(&mut self, now: SimTime, s: u32) {
        let frame = self.frames.end(now, s);
        self.counts.met += u64::from(frame.was_met());
        let mac = self.spec.mac;
        let planned = self.spec.access == Access::Planned;
        match frame.content {
            Content::Data { link } => {
                let l = &mut self.links[link as usize];
                if let Some(success) = self.interference.as_mut().and_then(|i| i.end(now, s)) {
                    l.set_success(success);
                }
                l.was_in_air(frame.length());
                let came = l.receive(&frame, &mac, planned, self.spec.retries);
                l.release(link, &mut self.outcomes);
                let to = l.to();
                self.frames.keep(frame);
                if planned {
                    self.stations[s as usize].state = State::Free;
                } else {
                    self.stations[s as usize].state = State::Waits;
                    self.stations[s as usize].answered = false;
                    self.wake(now + mac.sifs + self.response, Due::Verdict { station: s });
                    let receiver = &mut self.stations[to as usize];
                    if came && receiver.state == State::Free {
                        receiver.state = State::Owes { link };
                        receiver.turn_is_over();
                        self.wake(now + mac.sifs, Due::Answer { station: to });
                    }
                }
            }
            Content::Answer { link } => {
                let station = &mut self.stations[s as usize];
                station.state = State::Free;
                station.idle_since = station.idle_since.max(now);
                let draw = &mut self.links[link as usize].stream;
                let arrived = frame.is_received(draw);
                self.stations[frame.to as usize].answered = arrived;
                self.frames.keep(frame);
            }
        }
        if planned {
            return self.contend(now, s);
        }
        // Links may have changed since, so this takes the stations that heard the start.
        let mut listeners = std::mem::take(&mut self.stations[s as usize].listeners);
        for h in listeners.drain(..) {
            self.stations[h as usize].hears_end(now);
            self.contend(now, h);
        }
        self.stations[s as usize].listeners = listeners;
        self.contend(now, s);
    }

    /// A receiver answers a SIFS after the frame.
    fn answer(&mut self, now: SimTime, s: u32) {
        let State::Owes { link } = self.stations[s as usize].state else { return };
        let to = self.links[link as usize].from;
        let response = self.spec.mac.response;
        let length = self.response;
        let psdu = response.psdu.get() as u32;
        self.begin(now, s, to, Content::Answer { link }, Some((response.mcs, psdu)), length);
        self.wake(now + length, Due::End { station: s });
    }

    /// The answer to a station's frame has come, or has not.
    fn verdict(&mut self, now: SimTime, s: u32) {
        let station = &mut self.stations[s as usize];
        let answered = station.answered;
        station.failures = if answered { 0 } else { station.failures + 1 };
        station.state = State::Free;
        station.idle_since = station.idle_since.max(now);
        for i in 0..station.links.len() {
            let l = self.stations[s as usize].links[i];
            let link = &mut self.links[l as usize];
            if link.is_outstanding() {
                link.judge(answered, self.spec.retries, &self.spec.mac);
                link.release(l, &mut self.outcomes);
                if link.return_all(l, &mut self.outcomes) {
                    self.beam_moved(s);
                }
            }
        }
        self.counts.unanswered += u64::from(!answered);
        self.draw_backoff(s);
        if self.spec.access == Access::Token {
            self.pass_token(now, s, answered);
        }
        self.contend(now, s);
    }

    /// With the answer the other end has the token. It continues if it has something to send, or
    /// gives the token back.
    fn pass_token(&mut self, now: SimTime, s: u32, answered: bool) {
        let Some(&l) = self.stations[s as usize].links.first() else { return };
        let peer = self.links[l as usize].to();
        let hands_over = answered && self.next_link(peer).is_some();
        self.stations[s as usize].has_token = !hands_over;
        self.stations[peer as usize].has_token = hands_over;
        if hands_over {
            self.stations[peer as usize].turn_is_over();
            self.stations[peer as usize].idle_since = now;
            self.contend(now, peer);
        }
    }

    fn change(&mut self, now: SimTime, link: u32) {
        let l = &mut self.links[link as usize];
        l.change(now);
        let (s, next) = (l.from, l.next_change());
        if let Some(at) = next {
            self.wake(at, Due::Change { link });
        }
        self.contend(now, s);
    }
}
