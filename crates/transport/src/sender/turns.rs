//! Senders of a host whose interface serves them in turn, or opens gates for them.
//!
//! The interface takes a segment when it is the sender's turn, as with TCP small queues of
//! Linux (`tcp_small_queue_check`). The rest waits in the sender, not in the interface.

use timeplane_model::{Duration, Time};

use super::{Candidate, Connection, Repair, Sender};
use crate::Segment;

/// The time for which pacing goes on while a sender waits for its turn: small queues let a flow
/// hand over a millisecond of its rate ahead (`sk_pacing_shift` of Linux).
const AHEAD: Duration = Duration::from_ms(1);

/// The bytes that a small queue holds in any case: two buffers (`tcp_small_queue_check`), of 64 kB
/// with segmentation offload. Linux makes smaller buffers at low rates over long paths.
const BUFFERS: u64 = 2 * 65_536;

/// What a sender could send at an instant, see [`Sender::sendable`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sendable {
    /// The number of segments.
    pub segments: u64,
    /// Their payload.
    pub bytes: u64,
}

impl Sender {
    /// Whether [`Sender::poll`] would return a segment now.
    ///
    /// A queue that serves senders in turn calls this in place of `poll`, and calls `poll` when it
    /// is the sender's turn.
    pub fn has_segment(&mut self, now: Time) -> bool {
        match self.connection {
            _ if self.stopped => false,
            Connection::Open => self.next_candidate(now).is_some(),
            Connection::Opening => true,
            Connection::Idle | Connection::SynSent => false,
        }
    }

    /// The payload of the segment that [`Sender::poll`] would return now; zero for a SYN.
    pub fn next_len(&mut self, now: Time) -> Option<u32> {
        match self.connection {
            _ if self.stopped => None,
            Connection::Open => self.next_candidate(now).map(|candidate| match candidate {
                Candidate::New => self.segment_len(self.next),
                Candidate::Repeat(seq) | Candidate::Rescue(seq) | Candidate::Probe(seq) => self.segment_len(seq),
            }),
            Connection::Opening => Some(0),
            Connection::Idle | Connection::SynSent => None,
        }
    }

    /// As [`Sender::poll`], for a sender that has had a segment since `since` and had to wait for
    /// its turn.
    ///
    /// Pacing goes on while it waits, for up to a millisecond. A gate that opens once in a while
    /// then lets go what pacing has allowed meanwhile.
    pub fn poll_late(&mut self, now: Time, since: Time) -> Option<Segment> {
        let due = self.due(now, since);
        let segment = self.poll(now)?;
        if self.pacing && !segment.syn {
            self.release = self.release - (now - due);
        }
        Some(segment)
    }

    /// When a segment could have gone that waits for its turn since `since`, as far as that counts.
    fn due(&self, now: Time, since: Time) -> Time {
        self.release.max(since).max(now - AHEAD).min(now)
    }

    /// The segments that [`Sender::poll_late`] would return at `now`, called until there is none,
    /// for a sender that [has](Sender::has_segment) one since `since`.
    ///
    /// This is exact unless losses are being repaired. It then counts all that is lost and not
    /// repeated, and new data, up to the window.
    pub fn sendable(&self, now: Time, since: Time) -> Sendable {
        match self.connection {
            _ if self.stopped => return Sendable::default(),
            Connection::Open => {}
            Connection::Opening => return Sendable { segments: 1, bytes: 0 },
            Connection::Idle | Connection::SynSent => return Sendable::default(),
        }
        let mss = u64::from(self.window.mss);
        let fits = self.fits().0;
        // A probe, and the first segment of a repair, go whatever the window says.
        let bytes = if fits > 0 { fits } else { mss.min(self.bytes - self.head) };
        let paced = match self.spacing(self.window.mss).as_ps() {
            0 => bytes,
            spacing => ((now - self.due(now, since)).as_ps() / spacing + 1).unsigned_abs().saturating_mul(mss),
        };
        let bytes = bytes.min(paced);
        Sendable { segments: bytes.div_ceil(mss), bytes }
    }

    /// What the window has room for, in all and of new data. Repairs go first.
    fn fits(&self) -> (u64, u64) {
        let mss = u64::from(self.window.mss);
        let whole = |bytes: u64| bytes - bytes % mss;
        let at_receiver = self.una.saturating_add(self.window_at_receiver());
        let new = match self.limit.checked_sub(self.next) {
            Some(new) if self.limit <= at_receiver => new,
            _ => whole(at_receiver.min(self.limit).saturating_sub(self.next)),
        };
        let repairs = self.repair != Repair::None || self.repeat_head;
        let arrived_or_under_way = self.sacked.total() + self.in_flight();
        let lost = if repairs { (self.next - self.head).saturating_sub(arrived_or_under_way) } else { 0 };
        let room = self.window.cwnd.saturating_sub(self.in_flight());
        let fits = if lost + new <= room { lost + new } else { whole(room) };
        (fits, fits.saturating_sub(lost))
    }
}

/// A sender that waits behind a gate.
impl Sender {
    /// As [`Sender::has_segment`], for a sender that waits until a gate opens, and not just for
    /// other senders.
    ///
    /// Linux hands over what fits into a small queue, where it waits for the gate. Here it waits in
    /// the sender, and counts as outstanding wherever Linux compares that with the window.
    /// Otherwise the window of a sender that waits for most of the time would hardly grow. Call
    /// this after whatever changes what may be sent, while the sender waits.
    pub fn waits(&mut self, now: Time) -> bool {
        let (before, end) = (self.held(), self.handed_over());
        self.usage.held = 0;
        let waits = self.has_segment(now);
        if waits && self.connection == Connection::Open {
            let held = self.fits().1.min(self.small_queue());
            self.usage.held = u16::try_from(held.div_ceil(u64::from(self.window.mss))).unwrap_or(u16::MAX);
            if self.usage.decides {
                self.note_usage(self.handed_over() > end);
            }
        }
        let held = self.held();
        if let Some(reduction) = &mut self.reduction {
            reduction.hold(before, held);
        }
        waits
    }

    /// The bytes that a small queue may hold, in whole segments.
    fn small_queue(&self) -> u64 {
        let mss = u64::from(self.window.mss);
        let in_time = match self.spacing_if_paced(self.window.mss).as_ps() {
            0 => 0,
            spacing => (AHEAD.as_ps() / spacing).unsigned_abs(),
        };
        in_time.max(BUFFERS / mss).max(1) * mss
    }

    /// Bytes that are held: whole segments, except for the flow's end.
    pub(super) fn held(&self) -> u64 {
        (u64::from(self.usage.held) * u64::from(self.window.mss)).min(self.bytes - self.next)
    }

    /// The first byte that is neither sent nor held: `snd_nxt` of Linux.
    pub(super) fn handed_over(&self) -> u64 {
        self.next + self.held()
    }

    /// FlightSize of RFC 5681, with what is held.
    pub(super) fn outstanding(&self) -> u64 {
        self.handed_over() - self.una
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ack, CongestionKind, TcpConfig};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const MSS: u32 = 1_000;

    fn at(us: i64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn drain(sender: &mut Sender, now: Time, since: Time) -> Sendable {
        let mut sent = Sendable::default();
        while let Some(segment) = sender.poll_late(now, since) {
            sent.segments += 1;
            sent.bytes += u64::from(segment.len);
        }
        sent
    }

    #[test]
    fn pacing_goes_on_for_a_millisecond_while_a_sender_waits() {
        let config =
            TcpConfig { mss: MSS, pacing: true, handshake: true, initial_window: 1_000, ..TcpConfig::default() };
        let mut sender = Sender::new(&config, 100_000_000);
        sender.start(at(0));
        // The handshake measures a round trip of 10 ms. Slow start then sends two windows in it: a
        // segment each 5 us.
        assert!(sender.poll(at(0)).is_some_and(|s| s.syn));
        sender.on_ack(at(10_000), &Ack { syn: true, ..Ack::default() });
        for (waits, expected) in [(0, 1), (4, 1), (5, 2), (100, 21), (1_000, 201), (2_500, 201)] {
            let mut sender = sender.clone();
            assert!(sender.has_segment(at(10_000)));
            let now = at(10_000 + waits);
            let segments = sender.sendable(now, at(10_000)).segments;
            assert_eq!((segments, drain(&mut sender, now, at(10_000)).segments), (expected, expected), "{waits} us");
        }
        // Time in which it had nothing to send does not count.
        assert_eq!(drain(&mut sender.clone(), at(12_000), at(12_000)).segments, 1);
        // Nor does time count twice.
        assert_eq!(drain(&mut sender, at(10_100), at(10_000)).segments, 21);
        assert_eq!(drain(&mut sender, at(10_104), at(10_000)).segments, 0);
        assert_eq!(drain(&mut sender, at(10_105), at(10_000)).segments, 1);
    }

    /// A host whose gate opens once in a millisecond for a number of segments. These arrive at
    /// once, and their acknowledgements two milliseconds later.
    struct Gate {
        sender: Sender,
        /// Segments that were handed over, where they wait in the interface as in Linux.
        queue: Option<VecDeque<Segment>>,
        acks: VecDeque<(Time, u64)>,
    }

    impl Gate {
        fn new(config: &TcpConfig, bytes: u64, queued: bool) -> Self {
            let mut sender = Sender::new(config, bytes);
            sender.start(at(0));
            let mut gate = Self { sender, queue: queued.then(VecDeque::new), acks: VecDeque::new() };
            gate.pump(at(0));
            gate
        }

        fn pump(&mut self, now: Time) {
            match &mut self.queue {
                Some(queue) => queue.extend(core::iter::from_fn(|| self.sender.poll(now))),
                None => drop(self.sender.waits(now)),
            }
        }

        /// The gate opens for `most` segments. Returns what leaves.
        fn open(&mut self, now: Time, most: usize) -> Vec<u64> {
            let mut sent = Vec::new();
            while sent.len() < most {
                let segment = match &mut self.queue {
                    Some(queue) => queue.pop_front(),
                    None => self.sender.poll(now),
                };
                self.pump(now);
                let Some(segment) = segment else { break };
                self.acks.push_back((now + Duration::from_ms(2), segment.seq + u64::from(segment.len)));
                sent.push(segment.seq);
            }
            sent
        }

        /// Takes the acknowledgements that are due, each of them with a mark if it is `marked`.
        fn take_acks(&mut self, now: Time, marked: impl Fn(u64) -> bool) {
            while let Some(&(_, ack)) = self.acks.front().filter(|ack| ack.0 <= now) {
                self.acks.pop_front();
                self.sender.on_ack(now, &Ack { ack, ece: marked(ack), ..Ack::default() });
                self.pump(now);
            }
        }
    }

    fn waits_like_a_queue(config: &TcpConfig, bytes: u64, slots: &[usize], marks: &[u64]) -> u64 {
        let mut gates = [true, false].map(|queued| Gate::new(config, bytes, queued));
        for ms in 0.. {
            let now = at(1_000 * ms);
            let most = slots[ms as usize % slots.len()];
            let [queued, waiting] = gates.each_mut().map(|gate| {
                gate.take_acks(now, |ack| marks.contains(&(ack / u64::from(MSS))));
                let sent = gate.open(now, most);
                (sent, gate.sender.cwnd(), gate.sender.ssthresh())
            });
            assert_eq!(queued, waiting, "{ms} ms");
            if gates[0].sender.is_done() {
                break;
            }
        }
        gates[0].sender.cwnd()
    }

    #[test]
    fn a_window_that_waits_behind_a_gate_grows_as_if_it_waited_in_a_queue() {
        let config =
            TcpConfig { mss: MSS, handshake: false, limited_growth: true, initial_window: 10, ..TcpConfig::default() };
        let cwnd = waits_like_a_queue(&config, 400_000, &[4], &[]);
        assert!(cwnd > 131 * u64::from(MSS), "{cwnd}");
    }

    proptest! {
        /// A window that fits into a small queue grows and falls as where it waits in the
        /// interface, and the same segments leave at the same times.
        #[test]
        fn waiting_is_like_a_small_queue(
            segments in 1u64..400,
            slots in prop::collection::vec(1usize..12, 1..6),
            marks in prop::collection::vec(1u64..400, 0..5),
            dctcp: bool,
            limited_growth: bool,
        ) {
            let congestion = if dctcp { CongestionKind::Dctcp } else { CongestionKind::NewReno };
            let config = TcpConfig {
                mss: MSS, handshake: false, initial_window: 10, receive_window: Some(100_000),
                congestion, ecn: true, prr: true, limited_growth, ..TcpConfig::default()
            };
            waits_like_a_queue(&config, segments * u64::from(MSS), &slots, &marks);
        }

        /// Without losses, what is sendable is what is sent: by windows, limits and pacing, to the
        /// end of the flow.
        #[test]
        fn what_is_sendable_is_sent(
            bytes in 1u64..90_000,
            window in 1u32..40,
            receive in 1u64..60_000,
            pacing: bool,
            handshake: bool,
            steps in prop::collection::vec((0u64..20, 0i64..3_000, 0u64..100_000), 1..40),
        ) {
            let config = TcpConfig {
                mss: MSS, pacing, handshake, initial_window: window, receive_window: Some(receive), ..TcpConfig::default()
            };
            let mut sender = Sender::new(&config, bytes);
            let mut now = at(0);
            sender.start(now);
            for (acked, wait, limit) in steps {
                let next = bytes - sender.unsent();
                let has = sender.has_segment(now);
                let since = now;
                now += Duration::from_us(wait);
                if has {
                    prop_assert_eq!(
                        sender.next_len(now),
                        sender.clone().poll(now).map(|s| s.len),
                        "the next segment"
                    );
                    let expected = sender.sendable(now, since);
                    prop_assert_eq!(drain(&mut sender, now, since), expected);
                }
                now += Duration::from_us(200);
                let syn = sender.connection == Connection::SynSent;
                let ack = (sender.acknowledged() + acked * u64::from(MSS)).min(next);
                sender.on_ack(now, &Ack { ack: if syn { 0 } else { ack }, syn, ..Ack::default() });
                sender.limit_to(limit.max(next));
            }
        }
    }
}
