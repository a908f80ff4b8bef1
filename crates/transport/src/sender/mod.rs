//! The sending side of a TCP flow.
//!
//! This module sends and takes acknowledgements. Its parts keep the scoreboard, recover from
//! losses, feed a model of the path, and accept steering from outside.

mod frto;
mod model;
mod probe;
mod prr;
mod rack;
mod recovery;
mod scoreboard;
mod state;
mod steering;
mod turns;
mod undo;
mod usage;

pub use steering::Steering;
pub use turns::Sendable;

use std::collections::VecDeque;

use timeplane_model::{Duration, Time};

use crate::congestion::{Acked, Congestion, CongestionControl, Window};
use crate::delivery::Delivery;
use crate::rtt::RttEstimator;
use crate::{Ack, RangeSet, Segment, TcpConfig};

/// How many duplicates, or segments acknowledged above it, make a segment count as lost (RFC 5681,
/// RFC 6675).
const DUP_THRESH: u64 = 3;
/// The timeout for data after a repeated SYN (RFC 6298, rule 5.7).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The record of a segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// When it was last sent.
    sent: Time,
    /// How many copies are presumably in the network: 0, 1 or 2.
    copies: u8,
    /// Acknowledged selectively.
    sacked: bool,
    /// The first copy is presumably lost. With RACK, copies are lost or not together.
    lost: bool,
    /// Sent more than once.
    repeated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Connection {
    Idle,
    /// The SYN is to be sent.
    Opening,
    /// The SYN is in flight.
    SynSent,
    Open,
}

/// What to send next, with the offset of a repetition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Candidate {
    New,
    Repeat(u64),
    /// The repetition of last resort (RFC 6675, NextSeg, rule 4).
    Rescue(u64),
    /// The repetition that asks whether the last segment has arrived (RFC 8985, section 7.3).
    Probe(u64),
}

/// What a sender waits for beside the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// The last acknowledgement that reordering explains.
    Reordering,
    /// The time to probe.
    Probe,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repair {
    /// Nothing is being repaired.
    None,
    /// Fast recovery (RFC 6675, or RFC 6582 without SACK).
    Fast,
    /// Slow start after a timeout.
    Timeout,
}

/// Sends one flow of known length: handshake, window, loss recovery, timers, pacing.
///
/// It cuts the flow into segments of exactly the MSS, except for the last one, and repeats them as
/// they were cut. The crate's description tells how to drive it. It uses 16 bytes per outstanding
/// segment.
///
/// Recovery follows RFC 6675 with SACK: all rules of NextSeg, the rescue retransmission, and the
/// timer re-armed when the first segment is repeated (section 6). Beyond that RFC, it detects lost
/// repetitions if [`TcpConfig::find_lost_repetitions`] is set. Without SACK it follows RFC 6582.
/// Both use limited transmit (RFC 3042). RFC 6582 inflates the window; here the count of bytes in
/// the network is smaller instead, with the same sums. [`TcpConfig::prr`] and [`TcpConfig::f_rto`]
/// add proportional rate reduction and the detection of spurious timeouts. [`TcpConfig::rack`] and
/// [`TcpConfig::tail_loss_probe`] replace the detection of losses by RFC 8985's.
#[derive(Clone, Debug)]
pub struct Sender {
    // Sequence numbers.
    /// Length of the flow.
    bytes: u64,
    /// Nothing from here on may be sent yet: a multiple of the MSS, or the flow's end.
    limit: u64,
    /// The first byte not acknowledged.
    una: u64,
    /// The first byte never sent.
    next: u64,
    /// The start of the first record's segment: `una`, unless a peer acknowledges parts of
    /// segments.
    head: u64,
    /// The current repair ends when this is acknowledged; kept afterwards.
    recover: u64,
    /// Segments below this that are not SACKed are lost.
    lost_below: u64,
    /// Where to look for the next segment to repeat: after HighRxt of RFC 6675.
    repeat_from: u64,
    /// No second reaction to ECN echoes until data above this is acknowledged.
    reduced_below: u64,

    // Outstanding data.
    records: VecDeque<Record>,
    /// Bytes above `una` that the receiver holds.
    sacked: RangeSet,
    /// Bytes in the network: over all records, copies times length.
    pipe: u64,
    /// Bytes of segments that have arrived, each counted once, selectively acknowledged or not.
    delivered: u64,
    /// Duplicate acknowledgements since the last advance.
    duplicates: u32,
    /// Without SACK: segments that have left the network, by the count of duplicates.
    left: u32,

    // Times.
    rtt: RttEstimator,
    rto_at: Option<Time>,
    /// When the sender looks for losses, or probes for one, before that.
    wait_at: Option<Time>,
    /// When pacing lets the next segment go.
    release: Time,
    /// When the youngest arrived segment was sent, of those sent once.
    youngest: Time,

    // Windows.
    window: Window,
    usage: usage::Usage,
    congestion: Congestion,
    receive_window: u64,
    /// The gradual reduction of a fast recovery, or after a mark.
    reduction: Option<Box<prr::Prr>>,
    /// The latest timeout, until it is known whether it was needed.
    judged: Option<Box<frto::Frto>>,
    rack: Option<Box<rack::Rack>>,
    probing: Option<Box<probe::Probing>>,
    undo: Option<Box<undo::Undo>>,
    steered: Option<Box<steering::Steered>>,
    /// For a congestion control that models the path.
    delivery: Option<Box<Delivery>>,

    /// Round-trip times since they were last taken, if they are kept.
    samples: Option<Box<state::Samples>>,
    retransmissions: u64,
    timeouts: u32,
    slow_start_segments: u32,
    connection: Connection,
    repair: Repair,
    /// What `wait_at` is for.
    waits_for: Wait,
    /// The first segment, with RACK the first lost one, must be repeated regardless of the window.
    repeat_head: bool,
    /// A repair has set `recover`.
    has_recovered: bool,
    /// RFC 6582: a partial acknowledgement has already restarted the timer.
    partial_seen: bool,
    /// RFC 6675: this recovery has used its rescue retransmission.
    rescued: bool,
    /// A recovery reduces the window gradually.
    reduces_gradually: bool,
    /// Timeouts are judged (F-RTO).
    judges_timeouts: bool,
    /// The current acknowledgement shows a loss.
    found_loss: bool,
    /// The first segment has timed out before.
    head_timed_out: bool,
    /// The SYN was sent more than once.
    syn_repeated: bool,
    /// Only pacing keeps `poll` from returning a segment.
    paced_out: bool,
    cwr_due: bool,
    sack: bool,
    repeat_twice: bool,
    ecn: bool,
    /// Whether segments are paced now.
    pacing: bool,
    /// Whether segments are paced without steering.
    paces_itself: bool,
    /// Steered to send nothing.
    stopped: bool,
    /// `poll` has returned nothing because the application had no more data.
    starved: bool,
    /// Sending must be noted, because of `starved` or a control that models the path.
    watched: bool,
    handshake: bool,
    timestamps: bool,
}

/// Room for the records of a short flow, or of the first window after a round trip of slow start.
fn first_records(config: &TcpConfig, bytes: u64) -> usize {
    let segments = bytes.div_ceil(u64::from(config.mss.max(1)));
    segments.min(4 * u64::from(config.initial_window)).min(64) as usize
}

impl Sender {
    /// A sender for a flow of `bytes`. It sends nothing before [`Sender::start`].
    pub fn new(config: &TcpConfig, bytes: u64) -> Self {
        let congestion = Congestion::new(config);
        let models = congestion.pacing_rate().is_some();
        let rack = config.rack && config.sack;
        let weighs_losses = congestion.weighs_losses();
        Self {
            bytes,
            limit: bytes,
            una: 0,
            next: 0,
            head: 0,
            recover: 0,
            lost_below: 0,
            repeat_from: 0,
            reduced_below: 0,
            records: VecDeque::with_capacity(first_records(config, bytes)),
            sacked: RangeSet::new(),
            pipe: 0,
            delivered: 0,
            duplicates: 0,
            left: 0,
            rtt: RttEstimator::new(config.initial_rto, config.min_rto).with_rule(config.rto),
            rto_at: None,
            wait_at: None,
            release: Time::ZERO,
            youngest: Time::ZERO,
            window: Window::new(config.mss, config.initial_window),
            usage: usage::Usage::new(config.limited_growth),
            congestion,
            receive_window: config.first_window(),
            reduction: None,
            judged: None,
            rack: rack.then(|| Box::new(rack::Rack::new())),
            probing: (rack && config.tail_loss_probe).then(|| Box::new(probe::Probing::new(config))),
            undo: None,
            steered: None,
            delivery: models.then(|| Box::new(Delivery::new(weighs_losses))),
            samples: None,
            retransmissions: 0,
            timeouts: 0,
            slow_start_segments: config.slow_start_segments.max(1),
            connection: Connection::Idle,
            repair: Repair::None,
            waits_for: Wait::Probe,
            repeat_head: false,
            has_recovered: false,
            partial_seen: false,
            rescued: false,
            reduces_gradually: config.prr && config.sack && !models,
            judges_timeouts: config.f_rto,
            found_loss: false,
            head_timed_out: false,
            syn_repeated: false,
            paced_out: false,
            cwr_due: false,
            sack: config.sack,
            repeat_twice: config.sack && config.find_lost_repetitions && !rack,
            ecn: config.uses_ecn(),
            pacing: config.pacing || models,
            paces_itself: config.pacing || models,
            stopped: false,
            starved: false,
            watched: models,
            handshake: config.handshake,
            timestamps: config.timestamps,
        }
    }

    /// Opens the connection: [`Sender::poll`] then returns the SYN, or data. A second call does
    /// nothing.
    pub fn start(&mut self, now: Time) {
        if self.connection == Connection::Idle {
            self.connection = if self.handshake { Connection::Opening } else { Connection::Open };
            self.release = now;
        }
    }

    /// Limits sending to the first `bytes`, which the application has so far. Without a call it has
    /// all.
    ///
    /// Segments are not cut short. The rest beyond a multiple of the MSS waits for more, as with
    /// Nagle's algorithm, except for the flow's end. A limit below data that was sent has no effect
    /// on that data. Call [`Sender::poll`] afterwards. A sender without outstanding data has no
    /// deadline and waits for this call. Its window does not grow while little of it is used (RFC
    /// 7661), and its waiting does not count for CUBIC's curve (RFC 9438, section 5.8).
    pub fn limit_to(&mut self, bytes: u64) {
        let mss = u64::from(self.window.mss);
        let whole = if bytes >= self.bytes { self.bytes } else { bytes / mss * mss };
        self.limit = whole.max(self.next);
    }

    /// Returns the next segment to transmit now; `None` if windows or pacing forbid more.
    ///
    /// Call it until there is none after each of `start`, `on_ack`, `on_timeout`, `limit_to`,
    /// `steer` and `unsteer`. A driver whose queue is full may call later, see
    /// [`Sender::poll_late`].
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.stopped {
            return None;
        }
        if self.connection != Connection::Open {
            return self.poll_syn(now);
        }
        Some(match self.next_candidate(now)? {
            Candidate::New => self.send_new(now),
            Candidate::Repeat(seq) => {
                self.repeat_head = false;
                self.repeat_from = self.repeat_from.max(seq + u64::from(self.window.mss));
                self.send_again(now, seq)
            }
            Candidate::Rescue(seq) => {
                self.rescued = true;
                self.send_again(now, seq)
            }
            Candidate::Probe(seq) => {
                self.note_probe(true);
                self.send_again(now, seq)
            }
        })
    }

    /// When to call [`Sender::on_timeout`]: the earliest one of the timers and pacing.
    pub fn deadline(&self) -> Option<Time> {
        let or_never = |at: Option<Time>| at.unwrap_or(Time::MAX);
        let release = if self.paced_out { self.release } else { Time::MAX };
        let at = or_never(self.rto_at).min(or_never(self.wait_at)).min(release);
        (at < Time::MAX).then_some(at)
    }

    /// Handles the deadline; does nothing before it.
    pub fn on_timeout(&mut self, now: Time) {
        if self.release <= now {
            self.paced_out = false;
        }
        if self.wait_at.is_some_and(|at| at <= now) {
            self.wait_at = None;
            match self.waits_for {
                Wait::Reordering => self.end_waiting(now),
                Wait::Probe => self.begin_probe(now),
            }
        }
        if self.rto_at.is_none_or(|at| now < at) {
            return;
        }
        self.timeouts += 1;
        self.rtt.back_off();
        self.arm(now);
        match self.connection {
            Connection::SynSent => self.connection = Connection::Opening,
            Connection::Open => self.collapse(now),
            Connection::Idle | Connection::Opening => {}
        }
    }

    /// Takes an acknowledgement. One of bytes that were never sent is ignored; an old one counts
    /// only for its SACK blocks.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if self.connection != Connection::Open {
            self.on_syn_ack(now, ack);
            return;
        }
        if ack.ack > self.next || ack.syn {
            return;
        }
        let acked = ack.ack.saturating_sub(self.una);
        let duplicate = ack.ack == self.una && self.una < self.next;
        let outstanding = self.outstanding();
        let delivered = self.delivered;
        self.found_loss = false;
        let before = if self.delivery.is_some() { self.in_flight() } else { 0 };
        let mut sample = None;
        self.take_window(ack, acked);
        if acked > 0 {
            sample = self.advance(now, ack);
        }
        if self.sack && !(ack.sacks.is_empty() && self.sacked.is_empty()) {
            self.take_sacks(now, &ack.sacks);
        }
        self.take_reports(now, ack);
        if acked > 0 {
            self.congestion.on_feedback(acked, ack.ece, self.una, self.handed_over());
            let recovering = self.repair == Repair::Fast;
            let may_grow = self.after_advance(now, ack.timestamp_echo);
            let echoed = self.ecn && ack.ece;
            if echoed {
                self.on_echo(now, outstanding);
            }
            // RFC 3168, section 6.1.2: an acknowledgement with an echo does not enlarge the window.
            let used = self.window_was_used(outstanding);
            if may_grow && !used && (self.limit < self.bytes || self.usage.decides) {
                self.congestion.on_unused(now);
            }
            if may_grow && !echoed && used {
                let limit = if self.repair == Repair::Timeout { 1 } else { self.slow_start_segments };
                let mss = u64::from(self.window.mss);
                let acked = Acked {
                    now,
                    // The end of a recovery counts for one repetition, as the rest had arrived
                    // during it.
                    bytes: if recovering { acked.min(mss) } else { acked },
                    slow_start_limit: u64::from(limit) * mss,
                    srtt: self.rtt.srtt().unwrap_or_default(),
                    rtt: sample,
                    una: self.una,
                    next: self.handed_over(),
                };
                match self.steering() {
                    None => self.congestion.on_ack(&mut self.window, &acked),
                    Some(order) => self.grow_steered(order, &acked),
                }
            }
        } else if duplicate && !self.sack {
            self.on_duplicate(now, outstanding);
        }
        if self.judged.is_some() && (acked > 0 || duplicate) {
            self.judge_timeout(self.delivered - delivered, (acked > 0).then_some(ack));
        }
        self.judge_probe(now, ack, acked > 0, outstanding);
        if self.sack && self.repair == Repair::None && self.has_losses() {
            self.enter_recovery(now, outstanding);
        } else if self.repeat_twice && self.repair == Repair::Fast {
            self.find_lost_repetition(now, outstanding);
        }
        if self.reduction.is_some() {
            self.reduce(self.delivered - delivered, acked > 0 && !self.found_loss);
        }
        if acked > 0 {
            self.schedule_probe(now);
        }
        if self.delivery.is_some() {
            self.model_path(now, before);
        }
        if let Some(order) = self.steering() {
            self.hold_window(order);
        }
    }

    /// Whether all bytes are acknowledged, which ends the flow.
    pub fn is_done(&self) -> bool {
        self.una == self.bytes && self.connection == Connection::Open
    }

    // Opening.

    fn poll_syn(&mut self, now: Time) -> Option<Segment> {
        if self.connection != Connection::Opening {
            return None;
        }
        self.connection = Connection::SynSent;
        self.syn_repeated = self.timeouts > 0;
        // No data is paced before the connection is open: `release` keeps when the SYN left.
        self.release = now;
        self.arm(now);
        let (ect, retransmission, timestamp) = (self.is_always_capable(), self.syn_repeated, self.timestamp(now));
        Some(Segment { seq: 0, len: 0, syn: true, cwr: false, ect, retransmission, timestamp })
    }

    fn on_syn_ack(&mut self, now: Time, ack: &Ack) {
        if !ack.syn || matches!(self.connection, Connection::Idle | Connection::Open) {
            return;
        }
        if self.syn_repeated {
            // RFC 6298, rule 5.7; RFC 5681, section 3.1: an initial window of one segment.
            self.rtt.restart(RTO_AFTER_LOST_SYN);
            let mss = u64::from(self.window.mss);
            self.congestion.limit(&mut self.window, mss);
        } else if self.connection == Connection::SynSent {
            let rtt = now - self.release;
            self.rtt.sample(rtt, 0, 0);
            if let Some(rack) = &mut self.rack {
                rack.opened(rtt);
            }
            self.congestion.on_open(rtt);
        }
        self.connection = Connection::Open;
        self.disarm();
        self.release = now;
    }

    // Sending.

    /// Length of the segment at `seq`.
    fn segment_len(&self, seq: u64) -> u32 {
        (self.bytes - seq).min(u64::from(self.window.mss)) as u32
    }

    /// What may be sent now. Otherwise notes the reason.
    #[inline]
    fn next_candidate(&mut self, now: Time) -> Option<Candidate> {
        self.paced_out = false;
        if self.next >= self.limit && self.repair == Repair::None && !self.must_probe() {
            self.run_dry();
            return None;
        }
        let Some(candidate) = self.candidate() else {
            if self.watched {
                self.note_limit();
            }
            if self.usage.decides {
                self.note_usage(false);
            }
            return None;
        };
        if self.pacing && now < self.release {
            self.paced_out = true;
            return None;
        }
        Some(candidate)
    }

    fn candidate(&mut self) -> Option<Candidate> {
        if self.must_probe() {
            return Some(self.probe());
        }
        if self.repeat_head {
            let first = if self.rack.is_some() { self.next_lost(u64::MAX) } else { Some(self.head) };
            if first.is_some() {
                return first.map(Candidate::Repeat);
            }
            self.repeat_head = false;
        }
        let in_flight = self.in_flight();
        let whole_segment_fits = in_flight + u64::from(self.window.mss) <= self.window.cwnd;
        if let Some(may_probe) = self.may_probe() {
            return (may_probe && whole_segment_fits && self.has_new_data()).then_some(Candidate::New);
        }
        if self.repair != Repair::None && whole_segment_fits {
            let end = self.repair_end();
            let seq = match self.rack {
                Some(_) => self.next_lost(end),
                // RFC 6675, section 4, NextSeg, rule 1.
                None => self.first_unrepeated(self.lost_below.min(end)),
            };
            if seq.is_some() {
                return seq.map(Candidate::Repeat);
            }
        }
        // Rule 2.
        if self.has_new_data() && in_flight + u64::from(self.segment_len(self.next)) <= self.window.cwnd {
            return Some(Candidate::New);
        }
        if self.repair == Repair::Fast && self.sack && self.rack.is_none() && whole_segment_fits {
            // Rules 3 and 4.
            let highest = self.sacked.as_slice().last().map_or(0, |r| r.end);
            return self.first_unrepeated(highest).map(Candidate::Repeat).or_else(|| self.rescue());
        }
        None
    }

    /// Whether there is a segment that was never sent, with room for it at the receiver.
    fn has_new_data(&self) -> bool {
        self.next < self.limit && {
            let len = u64::from(self.segment_len(self.next));
            self.next + len - self.una <= self.window_at_receiver()
        }
    }

    /// Takes the receive window of an acknowledgement of `acked` new bytes. A window never shrinks
    /// (RFC 9293, section 3.8.6).
    fn take_window(&mut self, ack: &Ack, acked: u64) {
        if let Some(window) = ack.window {
            let end = self.una.saturating_add(self.receive_window).max(ack.ack + u64::from(window.get()));
            self.receive_window = end - self.una - acked;
        }
    }

    /// At least one segment, so that a small window does not end the flow.
    fn window_at_receiver(&self) -> u64 {
        self.receive_window.max(u64::from(self.window.mss))
    }

    /// A timeout's repair covers losses below its end; later ones follow when it has ended.
    fn repair_end(&self) -> u64 {
        if self.repair == Repair::Timeout { self.recover } else { u64::MAX }
    }

    fn send_new(&mut self, now: Time) -> Segment {
        if self.watched {
            self.note_new(now);
        }
        let (seq, len) = (self.next, self.segment_len(self.next));
        self.records.push_back(Record { sent: now, copies: 1, sacked: false, lost: false, repeated: false });
        self.pipe += u64::from(len);
        self.next += u64::from(len);
        if self.usage.held > 0 {
            // It counts as sent since then.
            self.usage.held -= 1;
        } else {
            self.count_sent(len);
            if self.usage.decides {
                self.note_usage(true);
            }
        }
        if self.rto_at.is_none() {
            self.arm(now);
        }
        self.note_probe(false);
        self.schedule_probe(now);
        self.pace(now, len);
        let cwr = core::mem::take(&mut self.cwr_due);
        Segment { seq, len, syn: false, cwr, ect: self.ecn, retransmission: false, timestamp: self.timestamp(now) }
    }

    fn send_again(&mut self, now: Time, seq: u64) -> Segment {
        let mss = u64::from(self.window.mss);
        let len = self.segment_len(seq);
        let i = ((seq - self.head) / mss) as usize;
        if self.delivery.is_some() {
            self.note_again(now, i, len);
        }
        let record = &mut self.records[i];
        record.sent = now;
        record.copies += 1;
        record.repeated = true;
        self.pipe += u64::from(len);
        self.retransmissions += 1;
        self.note_repetition(now, seq);
        self.count_sent(len);
        // RFC 6675, section 6, lets any repetition restart the timer. Here only the first segment's
        // does, or a recovery whose repetitions are lost as well would never end. RFC 6582, section
        // 3.2: only at the first partial acknowledgement.
        if seq == self.head && (self.sack || self.repair == Repair::Timeout || !self.partial_seen) {
            self.arm(now);
        }
        self.pace(now, len);
        let (ect, timestamp) = (self.is_always_capable(), self.timestamp(now));
        self.note_timestamp(timestamp);
        Segment { seq, len, syn: false, cwr: false, ect, retransmission: true, timestamp }
    }

    /// Whether repetitions and SYNs are ECN-capable too (RFC 8257, section 3.5).
    fn is_always_capable(&self) -> bool {
        matches!(self.congestion, Congestion::Dctcp(_))
    }

    fn arm(&mut self, now: Time) {
        let rto = self.rtt.rto();
        if self.stopped {
            self.arm_stopped(Some(rto));
        } else {
            self.rto_at = Some(now.saturating_add(rto));
        }
    }

    fn disarm(&mut self) {
        self.rto_at = None;
        self.wait_at = None;
        if self.stopped {
            self.arm_stopped(None);
        }
    }

    /// Sets the timer beside the retransmission timer.
    fn wait(&mut self, waits_for: Wait, at: Time) {
        if !self.stopped {
            self.waits_for = waits_for;
            self.wait_at = Some(at);
        }
    }

    /// Sets when the next segment may go, after one of `len` bytes.
    fn pace(&mut self, now: Time, len: u32) {
        if self.pacing {
            self.release = self.release.max(now).saturating_add(self.spacing(len));
        }
    }
}

#[cfg(test)]
mod tests;
