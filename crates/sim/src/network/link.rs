//! One direction of a wire, with the queue at its sending end: one FIFO whose departures are
//! computed when packets join it.
//!
//! The queue of a link is its unsent rest, measured in line time: `free_at - now`. Its bound and
//! its ECN threshold are line times too, so no counter has to follow departures. A link keeps one
//! event for all packets in flight: the arrival of the first one. A link does not know where its
//! packets go next.

use crate::engine::time::SimTime;
use crate::network::packet::{LAST, Packets};
use std::sync::Arc;
use timeplane_model::{Buffer, Bytes, CUT_THROUGH_HEADER, Duration, Forwarding, Link, LinkSpec, Rate, Switch};

/// The queue had no room for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The departure of a packet, computed when it joins the queue.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// When its last bit leaves.
    pub departure: SimTime,
    /// Whether it found at least the ECN threshold in the queue.
    pub mark: bool,
}

/// Properties that take a link off the fast path. An ordinary link has none of them, which is one
/// test.
mod special {
    pub const BOUND: u16 = 1;
    pub const ECN: u16 = 2;
    pub const ERRORS: u16 = 4;
    pub const CUT_THROUGH: u16 = 8;
    pub const INEXACT: u16 = 16;
    pub const SHARED: u16 = 32;
    /// It accepts no packets.
    pub const DOWN: u16 = 64;
    /// The node at its end accepts no packets.
    pub const LEADS_DOWN: u16 = 128;
    /// Its sending end is a port that can be paused.
    pub const PAUSED: u16 = 256;
    /// Packets that meet on it are counted.
    pub const WATCHED: u16 = 512;
    /// Its rate changes during the run.
    pub const CHANGING: u16 = 1024;
    /// It is a radio link: packets wait for it in the medium.
    pub const AIR: u16 = 2048;
    /// Its sending end is an output that serves the inputs of its switch in turn.
    pub const BY_INPUT: u16 = 4096;
    /// Packets may join before their last bit is there.
    pub const JOINED_EARLY: u16 = 8192;
    /// Its sending end is a port that trims packets.
    pub const TRIMS: u16 = 1 << 15;
    /// All that makes a link one whose queue is bounded or marks, and no more.
    pub const QUEUE: u16 = BOUND | ECN | SHARED;
}

/// The properties of a link. Links that are alike share one of these, so it is always in the cache.
#[derive(Clone, Debug)]
struct Kind {
    propagation: i64,
    /// Exact where a byte takes whole picoseconds; `INEXACT` otherwise.
    ps_per_byte: u32,
    overhead: u8,
    minimum: u8,
    special: u16,
    /// The line time that the queue may hold.
    limit: i64,
    /// The line time from which on packets are marked.
    ecn: i64,
    rate: Rate,
    /// Logarithm of the probability that a byte survives.
    ln_byte_survival: f64,
}

impl Kind {
    fn new(spec: &LinkSpec, from: Option<&Switch>, to: Option<&Switch>, watched: bool) -> Self {
        let rate = spec.rate;
        // A time that is too long for a `Duration` is one that no queue reaches.
        let line_time = |b: Option<Bytes>| b.and_then(|b| rate.checked_time_for(b)).map_or(i64::MAX, Duration::as_ps);
        let limit = match from.map(|s| s.buffer) {
            Some(Buffer::PerPort(bytes)) => Some(bytes),
            _ => None,
        };
        let ecn = from.and_then(|s| s.ecn);
        let exact = 8_000_000_000_000 % rate.as_bps() == 0 && rate.as_bps() >= 2_000;
        let when = |set: bool, bit: u16| if set { bit } else { 0 };
        let special = when(limit.is_some(), special::BOUND)
            | when(ecn.is_some(), special::ECN)
            | when(spec.bit_error > 0.0, special::ERRORS)
            | when(to.is_some_and(|s| s.forwarding == Forwarding::CutThrough), special::CUT_THROUGH)
            | when(
                from.is_some_and(|s| s.forwarding == Forwarding::CutThrough),
                special::BOUND | special::JOINED_EARLY,
            )
            | when(!exact, special::INEXACT)
            | when(matches!(from.map(|s| s.buffer), Some(Buffer::Shared { .. })), special::SHARED)
            | when(matches!(from.map(|s| s.buffer), Some(Buffer::PerInput(_))), special::BY_INPUT)
            | when(from.is_some_and(|s| s.pfc.is_some()), special::PAUSED)
            | when(watched && from.is_some(), special::WATCHED);
        Self {
            propagation: spec.propagation.as_ps(),
            ps_per_byte: if exact { (8_000_000_000_000 / rate.as_bps()) as u32 } else { 0 },
            overhead: spec.framing.overhead() as u8,
            minimum: spec.framing.minimum() as u8,
            special,
            limit: line_time(limit),
            ecn: line_time(ecn),
            rate,
            ln_byte_survival: 8.0 * libm::log1p(-spec.bit_error),
        }
    }
}

/// Makes links; links that are alike share their properties.
#[derive(Default)]
pub(crate) struct Kinds {
    made: Vec<(Shape, Arc<Kind>)>,
    /// Whether packets that meet on links of switches are counted.
    watched: bool,
}

/// What determines the properties of a link: the wire, and the switches at its ends.
type Shape = (LinkSpec, Option<Switch>, Option<Switch>);

impl Kinds {
    pub fn new(watched: bool) -> Self {
        Self { made: Vec::new(), watched }
    }

    pub fn link(&mut self, link: &Link, from: Option<&Switch>, to: Option<&Switch>) -> LinkState {
        let shape = (link.spec, from.copied(), to.copied());
        // Most fabrics have few kinds of links. In graphs where all links differ there is nothing
        // to share.
        let kind = match self.made.iter().rev().take(16).find(|m| m.0 == shape) {
            Some((_, kind)) => Arc::clone(kind),
            None => {
                let kind = Arc::new(Kind::new(&link.spec, from, to, self.watched));
                self.made.push((shape, Arc::clone(&kind)));
                kind
            }
        };
        LinkState::of(kind, link, from.is_none())
    }
}

/// A link and its queue, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct LinkState {
    kind: Arc<Kind>,
    /// When the last queued packet leaves.
    free_at: i64,
    /// The longest queue so far, in line time.
    longest: i64,
    /// Packets that joined and were not cut off.
    pub sent_packets: u64,
    /// Wire bytes sent.
    pub sent_bytes: u64,
    /// The first and the last packet in flight; the first is `LAST` if there are none.
    head: u32,
    tail: u32,
    /// The receiving node.
    pub to: u32,
    /// The host that sends on it, or `u32::MAX`.
    pub host: u32,
}

impl LinkState {
    /// A link of a fabric, with the switches at its ends.
    pub fn new(link: &Link, from: Option<&Switch>, to: Option<&Switch>) -> Self {
        Self::of(Arc::new(Kind::new(&link.spec, from, to, false)), link, from.is_none())
    }

    fn of(kind: Arc<Kind>, link: &Link, by_host: bool) -> Self {
        Self {
            kind,
            free_at: 0,
            longest: 0,
            sent_packets: 0,
            sent_bytes: 0,
            head: LAST,
            tail: LAST,
            to: link.to.0,
            host: if by_host { link.from.0 } else { u32::MAX },
        }
    }

    /// Whether it accepts no packets, because it or its sending node has failed.
    #[inline]
    pub fn is_down(&self) -> bool {
        self.kind.special & special::DOWN != 0
    }

    /// Whether the node at its end has failed.
    #[inline]
    pub fn leads_down(&self) -> bool {
        self.kind.special & special::LEADS_DOWN != 0
    }

    pub(crate) fn set_changing(&mut self) {
        self.kind = Arc::new(Kind { special: self.kind.special | special::CHANGING, ..(*self.kind).clone() });
    }

    /// Whether its rate changes during the run.
    #[inline]
    pub(crate) fn is_changing(&self) -> bool {
        self.kind.special & special::CHANGING != 0
    }

    /// Changes the wire, between the same switches. Packets in flight stay as they are.
    pub(crate) fn set_spec(&mut self, spec: &LinkSpec, from: Option<&Switch>, to: Option<&Switch>) {
        let kept = special::DOWN | special::LEADS_DOWN | special::WATCHED | special::CHANGING;
        let mut kind = Kind::new(spec, from, to, false);
        kind.special |= self.kind.special & kept;
        self.kind = Arc::new(kind);
    }

    /// Replaces the wire by a radio link.
    pub(crate) fn set_air(&mut self) {
        // A radio frame arrives as a whole.
        let special = (self.kind.special | special::AIR) & !special::CUT_THROUGH;
        self.kind = Arc::new(Kind { special, ..(*self.kind).clone() });
    }

    /// Lets a port that trims packets replace the queues of these links.
    pub(crate) fn trim_before<'a>(links: impl Iterator<Item = &'a mut Self>) {
        // Links that were alike stay alike.
        let mut made: Vec<[Arc<Kind>; 2]> = Vec::new();
        for link in links {
            link.kind = match made.iter().rev().take(16).find(|[old, _]| Arc::ptr_eq(old, &link.kind)) {
                Some([_, new]) => Arc::clone(new),
                None => {
                    let special = link.kind.special & !special::QUEUE | special::TRIMS;
                    let new = Kind { special, limit: i64::MAX, ecn: i64::MAX, ..(*link.kind).clone() };
                    made.push([Arc::clone(&link.kind), Arc::new(new)]);
                    Arc::clone(&made[made.len() - 1][1])
                }
            };
        }
    }

    /// Whether its sending end is a port that trims packets.
    #[inline]
    pub(crate) fn trims(&self) -> bool {
        self.kind.special & special::TRIMS != 0
    }

    /// Whether packets wait for it in the medium.
    #[inline]
    pub(crate) fn is_air(&self) -> bool {
        self.kind.special & special::AIR != 0
    }

    /// A packet comes out of the medium at `now`: when it arrives at the other end.
    pub(crate) fn receive_from_air(&mut self, now: SimTime, bytes: u32) -> SimTime {
        self.sent_packets += 1;
        self.sent_bytes += u64::from(bytes);
        SimTime(now.0 + self.kind.propagation)
    }

    /// Its current rate.
    pub(crate) fn rate(&self) -> Rate {
        self.kind.rate
    }

    /// The wire bytes that it sends in a time, rounded up.
    #[inline]
    pub(crate) fn bytes_of(&self, time: Duration) -> u64 {
        let kind = &*self.kind;
        if kind.special & special::INEXACT == 0 {
            // Dividing 64 bits is much faster.
            return time.as_ps().unsigned_abs().div_ceil(u64::from(kind.ps_per_byte));
        }
        (time.as_ps() as u128 * u128::from(kind.rate.as_bps())).div_ceil(8_000_000_000_000) as u64
    }

    /// When the last bit of a packet in flight leaves or left.
    pub(crate) fn departs(&self, id: u32, packets: &Packets) -> SimTime {
        self.departure(packets.arrival(id), self.wire(packets.get(id).bytes))
    }

    /// Sets whether the link, and the node at its end, have failed.
    pub(crate) fn set_state(&mut self, down: bool, leads_down: bool) {
        let bit = |set: bool, bit: u16| if set { bit } else { 0 };
        let state = bit(down, special::DOWN) | bit(leads_down, special::LEADS_DOWN);
        let special = self.kind.special & !(special::DOWN | special::LEADS_DOWN) | state;
        if special != self.kind.special {
            self.kind = Arc::new(Kind { special, ..(*self.kind).clone() });
        }
    }

    /// Removes the packets that have not left at `now`, or `all` packets, and returns them first to
    /// last. The link is free then, and its counters forget what had not left.
    pub(crate) fn cut(&mut self, now: SimTime, all: bool, packets: &mut Packets) -> Vec<u32> {
        let ids: Vec<u32> = self.in_flight(packets).collect();
        let has_left = |&id: &u32| self.departs(id, packets) <= now;
        let left = ids.partition_point(has_left);
        for &id in &ids[left..] {
            self.sent_packets -= 1;
            self.sent_bytes -= u64::from(self.wire(packets.get(id).bytes));
        }
        self.free_at = self.free_at.min(now.0);
        let kept = if all { 0 } else { left };
        match kept.checked_sub(1) {
            Some(last) => {
                self.tail = ids[last];
                packets.end(self.tail);
            }
            None => self.head = LAST,
        }
        ids[kept..].to_vec()
    }

    /// Sends nothing before `at`.
    pub(crate) fn free_from(&mut self, at: SimTime) {
        self.free_at = self.free_at.max(at.0);
    }

    /// Is free from `at` on.
    pub(crate) fn set_free_at(&mut self, at: SimTime) {
        self.free_at = at.0;
    }

    /// When the first bit arrives of a packet of `wire` bytes that arrives at `arrival` and takes
    /// `line` ps to send.
    pub(crate) fn first_bit(&self, arrival: SimTime, wire: u32, line: i64) -> SimTime {
        SimTime((arrival + self.tail_lag(wire)).0 - line)
    }

    /// Whether packets wait for it at a port that can be paused.
    #[inline]
    pub fn has_port(&self) -> bool {
        self.kind.special & special::PAUSED != 0
    }

    /// Whether its sending end serves the inputs of its switch in turn.
    #[inline]
    pub fn is_by_input(&self) -> bool {
        self.kind.special & special::BY_INPUT != 0
    }

    /// Whether a packet that waits so long is marked.
    pub(crate) fn marks(&self, wait: Duration) -> bool {
        wait.as_ps() >= self.kind.ecn
    }

    /// A packet has found a queue that takes so long, with itself.
    pub(crate) fn note_queue(&mut self, length: Duration) {
        self.longest = self.longest.max(length.as_ps());
    }

    /// Whether its sending end shares a buffer with other ports.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.kind.special & special::SHARED != 0
    }

    /// The probability that a frame of `wire` bytes arrives without errors; `None` on a clean link.
    #[inline]
    pub fn survival(&self, wire: u32) -> Option<f64> {
        (self.kind.special & special::ERRORS != 0).then(|| libm::exp(self.kind.ln_byte_survival * f64::from(wire)))
    }

    /// Wire bytes of a packet of `bytes`.
    #[inline]
    pub fn wire(&self, bytes: u32) -> u32 {
        (bytes + u32::from(self.kind.overhead)).max(u32::from(self.kind.minimum))
    }

    /// The largest packet that takes at most `wire` bytes on the wire; 0 if none does.
    pub fn payload_within(&self, wire: u64) -> u32 {
        if wire < u64::from(self.kind.minimum) {
            0
        } else {
            u32::try_from(wire).unwrap_or(u32::MAX).saturating_sub(u32::from(self.kind.overhead))
        }
    }

    /// Line time of `wire` bytes.
    #[inline]
    pub fn line_time(&self, wire: u32) -> i64 {
        if self.kind.special & special::INEXACT == 0 {
            i64::from(wire) * i64::from(self.kind.ps_per_byte)
        } else {
            self.kind.rate.time_for(Bytes::new(u64::from(wire))).as_ps()
        }
    }

    /// Line time of any number of wire bytes; as long as a `Duration` where it is longer.
    #[inline]
    pub(crate) fn line_time_of(&self, wire: u64) -> i64 {
        if self.kind.special & special::INEXACT == 0 {
            i64::try_from(wire).unwrap_or(i64::MAX).saturating_mul(i64::from(self.kind.ps_per_byte))
        } else {
            self.kind.rate.checked_time_for(Bytes::new(wire)).map_or(i64::MAX, Duration::as_ps)
        }
    }

    /// Makes packets on these links arrive this much later, as if the wires were longer. Links that
    /// are alike stay so.
    pub(crate) fn lengthen<'a>(links: impl Iterator<Item = &'a mut Self>, by: Duration) {
        let mut last: Option<(Arc<Kind>, Arc<Kind>)> = None;
        for link in links {
            let known = last.as_ref().filter(|(old, _)| Arc::ptr_eq(old, &link.kind));
            let longer = known.map(|(_, new)| Arc::clone(new)).unwrap_or_else(|| {
                let propagation = link.kind.propagation + by.as_ps();
                Arc::new(Kind { propagation, ..(*link.kind).clone() })
            });
            last = Some((Arc::clone(&link.kind), Arc::clone(&longer)));
            link.kind = longer;
        }
    }

    /// Line time of the unsent rest that a packet finds which joins at `at`.
    #[inline]
    pub fn backlog(&self, at: SimTime) -> Duration {
        Duration::from_ps((self.free_at - at.0).max(0))
    }

    /// The unsent rest at `at`, in wire bytes, rounded up.
    pub fn backlog_bytes(&self, at: SimTime) -> u64 {
        self.bytes_of(self.backlog(at))
    }

    /// Packets that have not left completely at `at`.
    pub fn backlog_packets(&self, at: SimTime, packets: &Packets) -> u32 {
        self.in_flight(packets).filter(|&id| self.departs(id, packets) > at).count() as u32
    }

    /// The unsent rest at `at` of the frame that is being sent, in wire bytes, rounded up.
    pub fn sending_bytes(&self, at: SimTime, packets: &Packets) -> u64 {
        let departures = self.in_flight(packets).map(|id| (id, self.departs(id, packets)));
        let Some((id, departure)) = departures.into_iter().find(|(_, departure)| *departure > at) else { return 0 };
        let rest = departure - at;
        let whole = Duration::from_ps(self.line_time(self.wire(packets.get(id).bytes)));
        if rest <= whole { self.bytes_of(rest) } else { 0 }
    }

    /// The longest queue that a packet has found with itself, in wire bytes.
    pub fn longest_bytes(&self) -> u64 {
        self.bytes_of(Duration::from_ps(self.longest))
    }

    /// The time spent sending.
    pub fn busy(&self) -> Duration {
        if self.kind.special & special::INEXACT == 0 {
            return Duration::from_ps((self.sent_bytes * u64::from(self.kind.ps_per_byte)) as i64);
        }
        self.kind.rate.time_for(Bytes::new(self.sent_bytes))
    }

    /// Packets that were accepted and have not arrived, first to last.
    pub fn in_flight<'a>(&self, packets: &'a Packets) -> impl Iterator<Item = u32> + 'a {
        let some = |id: u32| (id != LAST).then_some(id);
        std::iter::successors(some(self.head), move |&id| some(packets.next(id)))
    }

    /// When the link is free for another packet.
    #[inline]
    pub fn free_at(&self) -> SimTime {
        SimTime(self.free_at)
    }

    /// The packet that arrives next, or `LAST`.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.head
    }

    /// Whether nothing is in flight.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.head == LAST
    }

    /// Whether the link is only a rate and a delay, so that packets may [`join`](Self::join) it.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.kind.special == 0
    }

    /// Whether the link is a rate and a delay behind a queue that is bounded or marks, so that
    /// it [accepts](Self::accept) packets that are there as a whole.
    #[inline]
    pub(crate) fn only_queues(&self) -> bool {
        self.kind.special & !special::QUEUE == 0
    }

    /// Whether the unsent rest at `at` is certainly less than `bytes + 1`, without a division.
    #[inline]
    pub(crate) fn is_within(&self, at: SimTime, bytes: f64) -> bool {
        let kind = &*self.kind;
        kind.special & special::INEXACT == 0 && self.backlog(at).as_ps() as f64 <= bytes * f64::from(kind.ps_per_byte)
    }

    /// Lets a packet of `bytes` join a plain link at `ready`: its departure and its arrival.
    #[inline]
    pub fn join(&mut self, ready: SimTime, bytes: u32) -> (SimTime, SimTime) {
        let wire = self.wire(bytes);
        let departure = self.free_at.max(ready.0) + i64::from(wire) * i64::from(self.kind.ps_per_byte);
        self.take(ready, departure, wire);
        (SimTime(departure), SimTime(departure + self.kind.propagation))
    }

    /// Forwards a packet without a queue, as light crosses a circuit switch. Its last bit leaves at
    /// `at`; returns its arrival.
    pub fn pass(&mut self, at: SimTime, bytes: u32) -> SimTime {
        self.free_at = at.0;
        self.sent_packets += 1;
        self.sent_bytes += u64::from(self.wire(bytes));
        SimTime(at.0 + self.kind.propagation)
    }

    #[inline]
    fn take(&mut self, ready: SimTime, departure: i64, wire: u32) {
        self.free_at = departure;
        self.longest = self.longest.max(departure - ready.0);
        self.sent_packets += 1;
        self.sent_bytes += u64::from(wire);
    }

    /// Lets a packet join at `ready`. `whole` is when its last bit is there to be sent, later than
    /// `ready` only behind a cut-through switch. `room` bounds the queue in line time, in addition
    /// to the link's own bound.
    #[inline]
    pub fn accept(&mut self, ready: SimTime, whole: SimTime, wire: u32, room: i64) -> Result<Sending, Full> {
        let line = self.line_time(wire);
        let begin = self.free_at.max(ready.0);
        let mut departure = begin + line;
        let mut mark = false;
        if self.kind.special & (special::BOUND | special::ECN | special::SHARED) != 0 {
            let wait = begin - ready.0;
            if wait.saturating_add(line) > self.kind.limit.min(room) {
                return Err(Full);
            }
            mark = wait >= self.kind.ecn;
            // A link that is faster than the packet's last one must not run dry in its middle.
            departure = departure.max(whole.0);
        }
        self.take(ready, departure, wire);
        Ok(Sending { departure: SimTime(departure), mark })
    }

    /// Lets a packet of `wire` bytes go before all that have not begun at `ready`, except those of
    /// its kind, and returns its departure. The packets behind it leave later. Called on a link
    /// whose departures follow from its rate alone.
    pub(crate) fn overtake(&mut self, ready: SimTime, id: u32, packets: &mut Packets) -> SimTime {
        let line = |link: &Self, id: u32| link.line_time(link.wire(packets.get(id).bytes));
        let all: Vec<(u32, SimTime, i64)> =
            self.in_flight(packets).map(|id| (id, self.departs(id, packets), line(self, id))).collect();
        let waits = |&(id, departs, line): &(u32, SimTime, i64)| {
            departs.0 - line >= ready.0 && packets.get(id).control_message().is_none()
        };
        let place = all.iter().position(waits).unwrap_or(all.len());
        let (before, behind) = all.split_at(place);
        let free = match (before.last(), behind.first()) {
            (_, None) => self.free_at,
            (Some(last), _) => last.1.0,
            // What left last may still be on the wire behind its header, for as long as this waits.
            (None, Some(first)) if self.kind.special & special::CUT_THROUGH != 0 => first.1.0 - first.2,
            (None, Some(_)) => ready.0,
        };
        let wire = self.wire(packets.get(id).bytes);
        let departure = free.max(ready.0) + self.line_time(wire);
        let mut free = departure;
        let mut order = vec![(id, departure)];
        for &(id, departs, line) in behind {
            free = free.max(departs.0 - line) + line;
            order.push((id, free));
        }
        self.longest = self.longest.max(free - ready.0);
        self.free_at = self.free_at.max(free);
        self.sent_packets += 1;
        self.sent_bytes += u64::from(wire);
        match before.last() {
            Some(last) => self.tail = last.0,
            None => self.head = LAST,
        }
        for (id, departure) in order {
            let arrival = self.arrival(SimTime(departure), self.wire(packets.get(id).bytes));
            self.fly(arrival, id, packets);
        }
        SimTime(departure)
    }

    /// When a packet departs that is ready at `ready` and complete at `whole`, if it certainly
    /// leaves at once and unmarked. `None` if that is not certain. This does not ask the buffers of
    /// inputs, and those that ports share.
    pub(crate) fn departs_alone(&self, ready: SimTime, whole: SimTime, wire: u32) -> Option<SimTime> {
        const ALLOWED: u16 = special::BOUND
            | special::ECN
            | special::CUT_THROUGH
            | special::SHARED
            | special::WATCHED
            | special::BY_INPUT
            | special::JOINED_EARLY;
        let line = self.line_time(wire);
        let kind = &*self.kind;
        if kind.special & !ALLOWED != 0 || self.free_at > ready.0 || line > kind.limit || kind.ecn <= 0 {
            return None;
        }
        let departure = ready.0 + line;
        let waits_for_end = kind.special & (special::BOUND | special::ECN | special::SHARED) != 0;
        Some(SimTime(if waits_for_end { departure.max(whole.0) } else { departure }))
    }

    /// Books packets of `wire` bytes that meet no others. The first is ready at `ready` and leaves
    /// at `departure`; the last leaves `behind` later.
    pub(crate) fn book(&mut self, ready: SimTime, departure: SimTime, behind: Duration, count: u64, wire: u32) {
        self.free_at = (departure + behind).0;
        self.longest = self.longest.max((departure - ready).as_ps());
        self.sent_packets += count;
        self.sent_bytes += count * u64::from(wire);
    }

    /// When the next node may act on a packet of `wire` bytes that departs at `departure`.
    #[inline]
    pub fn arrival(&self, departure: SimTime, wire: u32) -> SimTime {
        SimTime(departure.0 + self.kind.propagation) - self.tail_lag(wire)
    }

    /// The departure of a packet of `wire` bytes that arrives at `arrival`.
    pub(crate) fn departure(&self, arrival: SimTime, wire: u32) -> SimTime {
        SimTime(arrival.0 - self.kind.propagation) + self.tail_lag(wire)
    }

    /// How long after [`arrival`](Self::arrival) the last bit of a packet is there.
    #[inline]
    pub fn tail_lag(&self, wire: u32) -> Duration {
        if self.kind.special & special::CUT_THROUGH != 0 {
            Duration::from_ps(self.line_time(wire) - self.line_time(wire.min(CUT_THROUGH_HEADER)))
        } else {
            Duration::ZERO
        }
    }

    /// Puts a packet into flight. `true` if it is the only one, so that its arrival needs an
    /// event.
    #[inline(always)]
    pub(crate) fn fly(&mut self, arrival: SimTime, packet: u32, packets: &mut Packets) -> bool {
        packets.depart(packet, arrival);
        let last = core::mem::replace(&mut self.tail, packet);
        let first = self.is_idle();
        if first {
            self.head = packet;
        } else {
            packets.append(last, packet);
        }
        first
    }

    /// Takes the packet that arrives, and returns it with the next one in flight, or `LAST`.
    #[inline(always)]
    pub(crate) fn land(&mut self, packets: &Packets) -> (u32, u32) {
        let first = self.head;
        self.head = packets.next(first);
        (first, self.head)
    }
}
