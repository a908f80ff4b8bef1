//! The sending side of a flow.

mod model;
mod steering;

pub use steering::Steering;

use std::collections::VecDeque;

use timeplane_model::{Duration, Time};

use crate::congestion::{Acked, Congestion, CongestionControl, Window};
use crate::delivery::Delivery;
use crate::rtt::RttEstimator;
use crate::{Ack, CongestionKind, Range, RangeSet, Segment, TcpConfig};

/// Duplicates, or segments acknowledged above, that make a segment count as lost (RFC 5681, RFC 6675).
const DUP_THRESH: u64 = 3;
/// Timeout for data after a SYN that had to be repeated (RFC 6298, rule 5.7).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// What is known of one segment that was sent and is not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// When it was last sent.
    sent: Time,
    /// How many copies are thought to be in the network: 0, 1 or 2.
    copies: u8,
    /// Acknowledged selectively.
    sacked: bool,
    /// Thought to be lost (its first copy).
    lost: bool,
    /// Sent more than once.
    repeated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Connection {
    Idle,
    /// A SYN is to be sent.
    Opening,
    /// A SYN is under way.
    SynSent,
    Open,
}

/// What to send next, and where it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Candidate {
    New,
    Repeat(u64),
    /// The repetition of last resort (RFC 6675, NextSeg, rule 4).
    Rescue(u64),
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
/// It cuts the flow into segments of exactly the MSS (the last may be shorter), and repeats them as they were
/// cut. See the crate's description for how to drive it. Memory: one record of 16 bytes per outstanding segment.
///
/// Recovery follows RFC 6675 with SACK: all of NextSeg's rules, with the rescue retransmission, and the timer
/// re-armed when the first segment is repeated (section 6). A repetition that is lost is found, beyond that RFC, if
/// [`TcpConfig::find_lost_repetitions`] says so. Without SACK it is RFC 6582, with RFC 3042's limited transmit in
/// both cases. What RFC 6582 writes as an inflated window is here a smaller count of bytes in the network;
/// the sums are the same.
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
    /// Where the first record's segment starts: `una`, unless an odd peer acknowledges part of a segment.
    head: u64,
    /// The repair in progress ends when this is acknowledged; kept afterwards.
    recover: u64,
    /// Segments below this which are not SACKed are lost.
    lost_below: u64,
    /// Where to look for the next segment to repeat: after HighRxt of RFC 6675.
    repeat_from: u64,
    /// No second reaction to ECN echoes until data above this is acknowledged.
    reduced_below: u64,

    // What is outstanding.
    records: VecDeque<Record>,
    /// Bytes above `una` that the receiver holds.
    sacked: RangeSet,
    /// Bytes in the network: over all records, copies times length.
    pipe: u64,
    /// Duplicate acknowledgements since the last advance.
    duplicates: u32,
    /// Without SACK: segments that duplicates say have left the network.
    left: u32,

    // Times.
    rtt: RttEstimator,
    rto_at: Option<Time>,
    /// When pacing lets the next segment go.
    release: Time,
    /// When the youngest of the segments that have arrived was sent, of those sent once.
    youngest: Time,

    // Windows.
    window: Window,
    congestion: Congestion,
    receive_window: u64,
    steered: Option<Box<steering::Steered>>,
    /// For a congestion control that models the path.
    delivery: Option<Box<Delivery>>,

    /// Round-trip times since they were taken last, where somebody wants them.
    #[expect(clippy::box_collection, reason = "a word in every sender, three otherwise")]
    samples: Option<Box<Vec<Duration>>>,
    retransmissions: u64,
    timeouts: u32,
    slow_start_segments: u32,
    connection: Connection,
    repair: Repair,
    /// The first segment is to be repeated whatever the window says.
    repeat_head: bool,
    /// A repair has set `recover`.
    has_recovered: bool,
    /// RFC 6582: a partial acknowledgement has already restarted the timer.
    partial_seen: bool,
    /// RFC 6675: the rescue retransmission of this recovery has been used.
    rescued: bool,
    /// The first segment has timed out before.
    head_timed_out: bool,
    /// The SYN was sent more than once.
    syn_repeated: bool,
    /// `poll` has returned nothing only because of pacing.
    paced_out: bool,
    cwr_due: bool,
    sack: bool,
    repeat_twice: bool,
    ecn: bool,
    ecn_always: bool,
    /// Whether segments are paced now.
    pacing: bool,
    /// Whether they are when nobody steers.
    paces_itself: bool,
    /// Steered to send nothing.
    stopped: bool,
    /// `poll` has returned nothing because the application had no more.
    starved: bool,
    /// `starved`, or the control models the path: what is sent has to be noted.
    watched: bool,
    handshake: bool,
}

/// Room for the records of a flow's segments, or of the first window's and what slow start makes of it in a round trip.
fn first_records(config: &TcpConfig, bytes: u64) -> usize {
    let segments = bytes.div_ceil(u64::from(config.mss.max(1)));
    segments.min(4 * u64::from(config.initial_window)).min(64) as usize
}

impl Sender {
    /// A flow of `bytes`. Nothing is sent before [`Sender::start`].
    pub fn new(config: &TcpConfig, bytes: u64) -> Self {
        let congestion = Congestion::new(config);
        let models = congestion.pacing_rate().is_some();
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
            duplicates: 0,
            left: 0,
            rtt: RttEstimator::new(config.initial_rto, config.min_rto),
            rto_at: None,
            release: Time::ZERO,
            youngest: Time::ZERO,
            window: Window::new(config.mss, config.initial_window),
            congestion,
            receive_window: config.receive_window.map_or(u64::MAX, |w| w.max(1)),
            steered: None,
            delivery: models.then(Box::default),
            samples: None,
            retransmissions: 0,
            timeouts: 0,
            slow_start_segments: config.slow_start_segments.max(1),
            connection: Connection::Idle,
            repair: Repair::None,
            repeat_head: false,
            has_recovered: false,
            partial_seen: false,
            rescued: false,
            head_timed_out: false,
            syn_repeated: false,
            paced_out: false,
            cwr_due: false,
            sack: config.sack,
            repeat_twice: config.sack && config.find_lost_repetitions,
            ecn: config.uses_ecn(),
            ecn_always: config.congestion == CongestionKind::Dctcp,
            pacing: config.pacing || models,
            paces_itself: config.pacing || models,
            stopped: false,
            starved: false,
            watched: models,
            handshake: config.handshake,
        }
    }

    /// Opens the connection: from now on [`Sender::poll`] gives the SYN, or data. A second call does nothing.
    pub fn start(&mut self, now: Time) {
        if self.connection == Connection::Idle {
            self.connection = if self.handshake { Connection::Opening } else { Connection::Open };
            self.release = now;
        }
    }

    /// The application has no more than the first `bytes` yet: nothing beyond them is sent. Without a call it has all.
    ///
    /// Segments are not cut short for it: what is left of them beyond a multiple of the MSS waits for more, as under
    /// Nagle's algorithm, and only the flow's end is sent as it is. What has been sent stays sent, so that a limit below
    /// it is one there. To be followed by [`Sender::poll`]. A sender for which nothing is outstanding then has no
    /// deadline: it waits for this call. Its window does not grow while little of it is used (RFC 7661), nor does the
    /// time that it waits count for CUBIC's curve (RFC 9438, section 5.8).
    pub fn limit_to(&mut self, bytes: u64) {
        let mss = u64::from(self.window.mss);
        let whole = if bytes >= self.bytes { self.bytes } else { bytes / mss * mss };
        self.limit = whole.max(self.next);
    }

    /// The next segment to transmit now; `None` if the windows or pacing forbid more.
    ///
    /// To be asked until there is none after each of `start`, `on_ack`, `on_timeout`, `limit_to`, `steer` and `unsteer`. A
    /// driver whose queue is full may ask later.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.stopped {
            return None;
        }
        if self.connection != Connection::Open {
            return self.poll_syn(now);
        }
        self.paced_out = false;
        if self.next >= self.limit && self.repair == Repair::None {
            self.run_dry();
            return None;
        }
        let Some(candidate) = self.candidate() else {
            if self.watched {
                self.note_limit();
            }
            return None;
        };
        if self.pacing && now < self.release {
            self.paced_out = true;
            return None;
        }
        Some(match candidate {
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
        })
    }

    /// When to call [`Sender::on_timeout`]: the retransmission timer or pacing, whichever comes first.
    pub fn deadline(&self) -> Option<Time> {
        if self.paced_out {
            return Some(self.rto_at.map_or(self.release, |rto| rto.min(self.release)));
        }
        self.rto_at
    }

    /// The deadline has come. Does nothing before it.
    pub fn on_timeout(&mut self, now: Time) {
        if self.release <= now {
            self.paced_out = false;
        }
        if self.rto_at.is_none_or(|at| now < at) {
            return;
        }
        self.timeouts += 1;
        self.rtt.back_off();
        self.arm(now);
        match self.connection {
            Connection::SynSent => self.connection = Connection::Opening,
            Connection::Open => self.collapse(),
            Connection::Idle | Connection::Opening => {}
        }
    }

    /// Takes an acknowledgement. One of bytes that were never sent is ignored; an old one counts only for its
    /// SACK blocks.
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
        let outstanding = self.next - self.una;
        let before = if self.delivery.is_some() { self.in_flight() } else { 0 };
        let mut sample = None;
        if acked > 0 {
            sample = self.advance(now, ack.ack);
        }
        if self.sack && !(ack.sacks.is_empty() && self.sacked.is_empty()) {
            self.take_sacks(now, &ack.sacks);
        }
        if acked > 0 {
            self.congestion.on_feedback(acked, ack.ece, self.una, self.next);
            let recovering = self.repair == Repair::Fast;
            let may_grow = self.after_advance(now);
            let echoed = self.ecn && ack.ece;
            if echoed {
                self.on_echo(now, outstanding);
            }
            // RFC 3168, section 6.1.2: no growth by an acknowledgement with an echo.
            let used = self.window_was_used(outstanding);
            if may_grow && !used && self.limit < self.bytes {
                self.congestion.on_unused(now);
            }
            if may_grow && !echoed && used {
                let limit = if self.repair == Repair::Timeout { 1 } else { self.slow_start_segments };
                let mss = u64::from(self.window.mss);
                let acked = Acked {
                    now,
                    // What ends a recovery tells of one repetition. The rest had arrived during it.
                    bytes: if recovering { acked.min(mss) } else { acked },
                    slow_start_limit: u64::from(limit) * mss,
                    srtt: self.rtt.srtt().unwrap_or_default(),
                    rtt: sample,
                    una: self.una,
                    next: self.next,
                };
                match self.steering() {
                    None => self.congestion.on_ack(&mut self.window, &acked),
                    Some(order) => self.grow_steered(order, &acked),
                }
            }
        } else if duplicate && !self.sack {
            self.on_duplicate(now, outstanding);
        }
        if self.sack && self.repair == Repair::None && self.lost_below > self.head {
            self.enter_recovery(now, outstanding);
        } else if self.repeat_twice && self.repair == Repair::Fast {
            self.find_lost_repetition(now, outstanding);
        }
        if self.delivery.is_some() {
            self.model_path(now, before);
        }
        if let Some(order) = self.steering() {
            self.hold_window(order);
        }
    }

    /// Whether all bytes are acknowledged; the flow has ended.
    pub fn is_done(&self) -> bool {
        self.una == self.bytes && self.connection == Connection::Open
    }

    // Getters, for traces.

    /// Congestion window, bytes; zero while steered to send nothing.
    pub fn cwnd(&self) -> u64 {
        if self.stopped { 0 } else { self.window.cwnd }
    }
    /// Slow start threshold, bytes; `u64::MAX` before the first reduction.
    pub fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }
    /// Smoothed round-trip time; `None` before the first measurement.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }
    /// The retransmission timeout, backed off.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }
    /// Keeps the round-trip time of every segment from now on: from its sending to the acknowledgement, selective or not, that tells of it.
    /// Segments that were sent again have none (Karn's rule, RFC 6298, section 3).
    pub fn keep_samples(&mut self) {
        self.samples.get_or_insert_default();
    }
    /// Takes the round-trip times out that were measured since the last call; none unless they are [kept](Self::keep_samples).
    pub fn take_samples(&mut self) -> impl Iterator<Item = Duration> + '_ {
        self.samples.iter_mut().flat_map(|s| s.drain(..))
    }
    /// Bytes that are thought to be in the network ("pipe" of RFC 6675).
    pub fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(u64::from(self.left) * u64::from(self.window.mss))
    }
    /// Bytes acknowledged, without gaps.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }
    /// Bytes never sent so far, whether the application has them or not.
    pub fn unsent(&self) -> u64 {
        self.bytes - self.next
    }
    /// Data segments sent again.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
    /// Times that the retransmission timer expired, for a SYN or data.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// Whether losses are being repaired, by fast recovery or after a timeout.
    pub fn is_recovering(&self) -> bool {
        self.repair != Repair::None
    }
    /// The congestion control and its state.
    pub fn congestion(&self) -> &Congestion {
        &self.congestion
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
        Some(Segment { seq: 0, len: 0, syn: true, cwr: false, ect: self.ecn_always, retransmission: self.syn_repeated })
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
            self.rtt.sample(rtt);
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

    fn candidate(&mut self) -> Option<Candidate> {
        if self.repeat_head {
            return Some(Candidate::Repeat(self.head));
        }
        let in_flight = self.in_flight();
        let whole_segment_fits = in_flight + u64::from(self.window.mss) <= self.window.cwnd;
        if self.repair != Repair::None && whole_segment_fits {
            // RFC 6675, section 4, NextSeg, rule 1.
            if let Some(seq) = self.first_unrepeated(self.lost_below.min(self.repair_end())) {
                return Some(Candidate::Repeat(seq));
            }
        }
        if self.next < self.limit {
            // Rule 2.
            let len = u64::from(self.segment_len(self.next));
            if in_flight + len <= self.window.cwnd && self.next + len - self.una <= self.window_at_receiver() {
                return Some(Candidate::New);
            }
        }
        if self.repair == Repair::Fast && self.sack && whole_segment_fits {
            // Rules 3 and 4.
            let highest = self.sacked.as_slice().last().map_or(0, |r| r.end);
            return self.first_unrepeated(highest).map(Candidate::Repeat).or_else(|| self.rescue());
        }
        None
    }

    /// Never less than a segment, so that a small window does not end the flow.
    fn window_at_receiver(&self) -> u64 {
        self.receive_window.max(u64::from(self.window.mss))
    }

    /// After a timeout all losses below the repair's end are repaired, those above once it has ended.
    fn repair_end(&self) -> u64 {
        if self.repair == Repair::Timeout { self.recover } else { u64::MAX }
    }

    /// The first segment below `end` and not behind the last one repeated which the receiver is not known to
    /// hold. Moves the place to look from.
    fn first_unrepeated(&mut self, end: u64) -> Option<u64> {
        let mss = u64::from(self.window.mss);
        let mut seq = self.repeat_from.max(self.head);
        let end = end.min(self.next);
        if seq >= end {
            return None;
        }
        let mut i = ((seq - self.head) / mss) as usize;
        while seq < end && self.records[i].sacked {
            i += 1;
            seq += mss;
        }
        self.repeat_from = seq;
        (seq < end).then_some(seq)
    }

    /// The last segment that the receiver is not known to hold, once per recovery (NextSeg, rule 4).
    fn rescue(&self) -> Option<Candidate> {
        if self.rescued {
            return None;
        }
        let i = self.records.iter().rposition(|r| !r.sacked)?;
        Some(Candidate::Rescue(self.head + i as u64 * u64::from(self.window.mss)))
    }

    fn send_new(&mut self, now: Time) -> Segment {
        if self.watched {
            self.note_new(now);
        }
        let (seq, len) = (self.next, self.segment_len(self.next));
        self.records.push_back(Record { sent: now, copies: 1, sacked: false, lost: false, repeated: false });
        self.pipe += u64::from(len);
        self.next += u64::from(len);
        if self.rto_at.is_none() {
            self.arm(now);
        }
        self.pace(now, len);
        let cwr = core::mem::take(&mut self.cwr_due);
        Segment { seq, len, syn: false, cwr, ect: self.ecn, retransmission: false }
    }

    fn send_again(&mut self, now: Time, seq: u64) -> Segment {
        let mss = u64::from(self.window.mss);
        let len = self.segment_len(seq);
        let i = ((seq - self.head) / mss) as usize;
        if let Some(delivery) = &mut self.delivery {
            delivery.sent_again(i, now, self.steered.is_some());
        }
        let record = &mut self.records[i];
        record.sent = now;
        record.copies += 1;
        record.repeated = true;
        self.pipe += u64::from(len);
        self.retransmissions += 1;
        // RFC 6675, section 6, lets any repetition restart the timer. Here only the first segment's does: where
        // repetitions are lost as well, a recovery would otherwise have no end. RFC 6582, section 3.2: at the first
        // partial acknowledgement only.
        if seq == self.head && (self.sack || self.repair == Repair::Timeout || !self.partial_seen) {
            self.arm(now);
        }
        self.pace(now, len);
        Segment { seq, len, syn: false, cwr: false, ect: self.ecn_always, retransmission: true }
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
        if self.stopped {
            self.arm_stopped(None);
        }
    }

    /// Sets when the next segment may go, after one of `len` bytes.
    fn pace(&mut self, now: Time, len: u32) {
        if self.pacing {
            self.release = self.release.max(now).saturating_add(self.gap(len));
        }
    }

    // Acknowledgements.

    /// Everything below `ack` has arrived. The round-trip time measured by it, if any.
    ///
    /// It is that of the highest segment acknowledged now and not selectively before, which is the one that made
    /// the receiver speak; none if any of them was sent twice (Karn).
    fn advance(&mut self, now: Time, ack: u64) -> Option<Duration> {
        let mss = u64::from(self.window.mss);
        self.una = ack;
        self.duplicates = 0;
        self.head_timed_out = false;
        let mut repeated = false;
        let mut sent = None;
        let mut popped = 0;
        while self.head < self.next {
            let len = self.bytes.min(self.head + mss) - self.head;
            if self.head + len > ack {
                break;
            }
            let Some(record) = self.records.pop_front() else { break };
            if let Some(delivery) = &mut self.delivery {
                if !record.sacked {
                    delivery.arrived(0, len);
                }
                delivery.pop();
            }
            self.pipe -= u64::from(record.copies) * len;
            self.head += len;
            repeated |= record.repeated;
            popped += 1;
            if !record.sacked {
                sent = Some(record.sent);
                if let Some(samples) = self.samples.as_mut().filter(|_| !record.repeated) {
                    samples.push(now - record.sent);
                }
            }
            if !record.repeated {
                self.youngest = self.youngest.max(record.sent);
            }
        }
        if self.repair == Repair::Fast {
            // RFC 6582: what arrives leaves the network once, as a duplicate or in this advance.
            self.left = (self.left + 1).saturating_sub(popped).min(self.records.len() as u32);
        } else {
            self.left = 0;
        }
        if popped > 0 {
            self.repeat_head = false;
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(self.head);
        }
        let sample = sent.filter(|_| !repeated).map(|sent| now - sent);
        if let Some(rtt) = sample {
            self.rtt.sample(rtt);
        }
        sample
    }

    /// RFC 6675's Update(): notes what the blocks tell, and which segments are lost by it.
    fn take_sacks(&mut self, now: Time, blocks: &[Range]) {
        let mss = u64::from(self.window.mss);
        let (head, next, bytes) = (self.head, self.next, self.bytes);
        let (records, pipe, youngest) = (&mut self.records, &mut self.pipe, &mut self.youngest);
        let (delivery, samples) = (&mut self.delivery, &mut self.samples);
        let mut news = false;
        for block in blocks.iter().filter(|b| b.start < next && b.end > head) {
            // Only whole segments count.
            let start = head + block.start.saturating_sub(head).div_ceil(mss) * mss;
            let end = block.end.min(next);
            let end = if end == bytes { end } else { head + (end - head) / mss * mss };
            self.sacked.insert(Range { start, end }, |new| {
                news = true;
                let mut seq = new.start;
                let mut i = ((seq - head) / mss) as usize;
                while seq < new.end {
                    let len = mss.min(bytes - seq);
                    let record = &mut records[i];
                    *pipe -= u64::from(record.copies) * len;
                    record.copies = 0;
                    record.sacked = true;
                    if let Some(delivery) = delivery {
                        delivery.arrived(i, len);
                    }
                    if !record.repeated {
                        *youngest = (*youngest).max(record.sent);
                        if let Some(samples) = samples {
                            samples.push(now - record.sent);
                        }
                    }
                    seq += mss;
                    i += 1;
                }
            });
        }
        if news {
            self.mark_lost();
        }
    }

    /// IsLost() of RFC 6675 for all segments: those with at least three SACKed segments above them.
    ///
    /// Three segments are more than twice the MSS and need not be apart, so one count serves both of its rules.
    fn mark_lost(&mut self) {
        let mss = u64::from(self.window.mss);
        let mut needed = DUP_THRESH;
        for range in self.sacked.as_slice().iter().rev() {
            let segments = range.len().div_ceil(mss);
            if segments >= needed {
                // The start of the third highest SACKed segment; only the flow's last one can be short.
                let below = range.start + (segments - needed) * mss;
                let mut seq = self.lost_below.max(self.head);
                while seq < below {
                    let record = &mut self.records[((seq - self.head) / mss) as usize];
                    if !record.sacked && !record.lost {
                        record.lost = true;
                        record.copies -= 1;
                        self.pipe -= mss;
                        if let Some(delivery) = &mut self.delivery {
                            delivery.lost(mss);
                        }
                    }
                    seq += mss;
                }
                self.lost_below = self.lost_below.max(below);
                return;
            }
            needed -= segments;
        }
    }

    /// What an advance means for a repair and the timer. Whether the window may grow.
    ///
    /// It does not in fast recovery. With SACK the acknowledgement that ends one is again part of congestion avoidance, of
    /// which each that acknowledges new data counts (RFC 5681, section 3.1); Linux does so as well. Without SACK,
    /// RFC 6582 says what the window is then.
    fn after_advance(&mut self, now: Time) -> bool {
        let mut grow = self.repair != Repair::Fast;
        if self.repair != Repair::None {
            if self.una >= self.recover {
                if self.repair == Repair::Fast && !self.sack {
                    // RFC 6582, section 3.2, step 3, first choice: no burst.
                    let mss = u64::from(self.window.mss);
                    let flight = (self.next - self.una).max(mss) + mss;
                    self.congestion.limit(&mut self.window, flight);
                }
                grow |= self.sack;
                self.repair = Repair::None;
                self.left = 0;
                self.repeat_head = false;
            } else if self.repair == Repair::Fast && !self.sack {
                // A partial acknowledgement: the next segment is lost, too.
                self.lose_head();
                if self.partial_seen {
                    return false;
                }
                self.arm(now);
                self.partial_seen = true;
                return false;
            }
        }
        grow &= self.una < self.bytes;
        // RFC 6298, rules 5.2 and 5.3.
        if self.una == self.next {
            self.disarm();
        } else {
            self.arm(now);
        }
        grow
    }

    /// Growth without use says nothing about the path: at least half of the window in slow start, and three
    /// quarters of it later, must have been outstanding, but for the part of a segment that never fits.
    fn window_was_used(&self, outstanding: u64) -> bool {
        let cwnd = self.window.cwnd;
        let enough = if self.window.in_slow_start() { cwnd / 2 } else { cwnd - cwnd / 4 };
        outstanding + u64::from(self.window.mss) > enough
    }

    /// A duplicate acknowledgement, without SACK (RFC 5681, section 3.2; RFC 6582).
    fn on_duplicate(&mut self, now: Time, outstanding: u64) {
        self.duplicates += 1;
        if self.repair == Repair::Timeout {
            return;
        }
        // At most all but the first have left.
        self.left = (self.left + 1).min(self.records.len() as u32 - 1);
        // RFC 6582, section 3.2, step 2: duplicates of what was repeated do not start another recovery.
        let fresh = !self.has_recovered || self.una > self.recover;
        if self.repair == Repair::None && u64::from(self.duplicates) == DUP_THRESH && fresh {
            self.lose_head();
            self.enter_recovery(now, outstanding);
        }
    }

    /// The first segment is lost and to be repeated at once.
    fn lose_head(&mut self) {
        let len = u64::from(self.segment_len(self.head));
        let record = &mut self.records[0];
        if !record.lost {
            record.lost = true;
            record.copies -= 1;
            self.pipe -= len;
            if let Some(delivery) = &mut self.delivery {
                delivery.lost(len);
            }
        }
        self.repeat_head = true;
    }

    fn on_echo(&mut self, now: Time, outstanding: u64) {
        // A repair has reduced the window, too; what it covers ends at `recover`.
        let reduced_below = if self.has_recovered { self.reduced_below.max(self.recover) } else { self.reduced_below };
        if self.repair == Repair::None && self.una > reduced_below {
            let flight = self.flight(outstanding);
            self.congestion.on_ecn(&mut self.window, flight, now);
            self.reduced_below = self.next;
            self.cwr_due = true;
        }
    }

    /// FlightSize of RFC 5681 before the event at hand, without what limited transmit has added.
    fn flight(&self, outstanding: u64) -> u64 {
        outstanding.min(self.window.cwnd)
    }

    fn enter_recovery(&mut self, now: Time, outstanding: u64) {
        self.repair = Repair::Fast;
        self.recover = self.next;
        self.has_recovered = true;
        self.repeat_from = self.head;
        self.repeat_head = true;
        self.partial_seen = false;
        self.rescued = false;
        // At most one reduction per window of data, by marks or losses (RFC 3168, section 6.1.2).
        if self.una >= self.reduced_below {
            let flight = self.flight(outstanding);
            self.congestion.on_loss(&mut self.window, flight, now);
            self.cwr_due = self.ecn;
        }
    }

    /// Whether the repetition of the first segment is lost: something sent clearly later has arrived, by a quarter of
    /// a round trip (the reordering window of RFC 8985, section 6.2). It is then repeated at once, and is a second
    /// sign of congestion (RFC 5681, section 4.3).
    fn find_lost_repetition(&mut self, now: Time, outstanding: u64) {
        let tolerance = self.rtt.srtt().unwrap_or_default() / 4;
        let lost = |r: &Record| r.lost && r.copies == 1 && r.sent.saturating_add(tolerance) < self.youngest;
        if !self.repeat_head && self.records.front().is_some_and(lost) {
            let len = u64::from(self.segment_len(self.head));
            self.pipe -= len;
            if let Some(delivery) = &mut self.delivery {
                delivery.lost(len);
            }
            self.records[0].copies = 0;
            self.repeat_head = true;
            let flight = self.flight(outstanding);
            self.congestion.on_loss(&mut self.window, flight, now);
        }
    }

    /// The retransmission timer has expired (RFC 5681, section 3.1; RFC 6675, section 5.1): whatever the receiver
    /// is not known to hold is lost, and repeated in slow start.
    fn collapse(&mut self) {
        let flight = self.flight(self.next - self.una);
        self.congestion.on_timeout(&mut self.window, flight, !self.head_timed_out);
        self.head_timed_out = true;
        self.repair = Repair::Timeout;
        self.recover = self.next;
        self.has_recovered = true;
        self.cwr_due = self.ecn;
        for record in &mut self.records {
            record.copies = 0;
            record.lost |= !record.sacked;
        }
        self.pipe = 0;
        self.left = 0;
        self.duplicates = 0;
        self.lost_below = self.next;
        self.repeat_from = self.head;
        self.repeat_head = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlocks;
    use proptest::prelude::*;

    #[test]
    fn stays_small() {
        // Six cache lines, and a word for round trips that are recorded.
        assert!(size_of::<Sender>() <= 392, "{}", size_of::<Sender>());
        assert_eq!(size_of::<Record>(), 16);
    }

    /// The scoreboard against RFC 6675's definitions, worked out anew for each segment.
    fn check_scoreboard(sender: &Sender) {
        let mss = u64::from(sender.window.mss);
        let mut pipe = 0;
        for (i, record) in sender.records.iter().enumerate() {
            let seq = sender.head + i as u64 * mss;
            let sacked_above = sender.records.iter().skip(i + 1).filter(|r| r.sacked).count();
            assert_eq!(record.sacked, sender.sacked.containing(seq).is_some());
            assert_eq!(seq % mss, 0);
            if sender.sack && !record.sacked {
                let lost = sacked_above >= DUP_THRESH as usize;
                assert!(record.lost == lost || (record.lost && sender.timeouts > 0), "segment at {seq}");
            }
            pipe += u64::from(record.copies) * u64::from(sender.segment_len(seq));
        }
        assert_eq!(sender.pipe, pipe);
        assert_eq!(sender.records.len() as u64, (sender.next - sender.head).div_ceil(mss));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// A peer that acknowledges at random, in whole segments or not, some of it impossible.
        #[test]
        fn the_scoreboard_is_what_the_rfc_says(
            segments in 1u64..60,
            short in 0u64..10,
            whole: bool,
            sack: bool,
            steps in prop::collection::vec((0u64..64, 0u64..10, 0u64..64, 1u64..8, 0u8..8), 1..80),
        ) {
            let config = TcpConfig { mss: 10, sack, ecn: true, ..TcpConfig::default() };
            let mut sender = Sender::new(&config, segments * 10 - short);
            let mut now = Time::ZERO;
            sender.start(now);
            for (ack, odd, block, blocks, kind) in steps {
                for _ in 0..kind {
                    sender.poll(now);
                }
                now += Duration::from_ms(7);
                let odd = if whole { 0 } else { odd };
                let mut sacks = SackBlocks::NONE;
                sacks.push(Range { start: block * 10 + odd, end: (block + blocks) * 10 + odd / 2 });
                // Mostly duplicates, as those are what the scoreboard is about.
                let ack = if kind == 0 { sender.una.max(ack * 10 + odd) } else { sender.una };
                sender.on_ack(now, &Ack { ack, sacks, ece: kind == 1, syn: false });
                if kind == 7 && blocks == 7 {
                    now = sender.deadline().unwrap_or(now);
                    sender.on_timeout(now);
                }
                check_scoreboard(&sender);
            }
        }
    }
}
