//! The receiving side of a TCP flow.
//!
//! It reassembles segments and decides when to acknowledge them.

use timeplane_model::{Duration, Time};

use crate::receive_window::ReceiveWindow;
use crate::timestamps::Recent;
use crate::{Ack, Arrival, CongestionKind, MAX_SACK_BLOCKS, Range, RangeSet, SackBlocks, TcpConfig};

/// Receives one flow of known length: reassembly, acknowledgements, SACK blocks, ECN echo.
///
/// It delays an acknowledgement until [`DelayedAck::segments`](crate::DelayedAck::segments)
/// segments or its timer. It never delays one for a segment that is out of order, fills a gap or is
/// a duplicate (RFC 5681, section 4.2), nor for the flow's last byte, which stands for the FIN,
/// nor, with DCTCP, across a change of the mark (RFC 8257, section 3.2).
///
/// It allocates memory only if segments arrive out of order.
#[derive(Clone, Debug)]
pub struct Receiver {
    bytes: u64,
    /// All bytes below it have arrived.
    next: u64,
    /// Ranges above it that have arrived.
    held: RangeSet,
    /// A byte of each of the latest arrivals out of order, latest first; zero if none.
    latest: [u64; MAX_SACK_BLOCKS],
    ack_at: Option<Time>,
    timeout: Duration,
    /// Segments that have arrived since the last acknowledgement.
    pending: u32,
    count: u32,
    duplicates: u64,
    /// The latest segment without new bytes since the last acknowledgement, if it is reported.
    duplicate: Option<Range>,
    /// The ECN echo: latched until CWR, or DCTCP.CE of RFC 8257.
    echo: bool,
    dctcp: bool,
    sack: bool,
    /// Duplicates are reported (RFC 2883).
    reports: bool,
    ecn: bool,
    /// The receive window, if it grows.
    window: Option<Box<ReceiveWindow>>,
    /// What to echo, with timestamps.
    recent: Option<Recent>,
}

impl Receiver {
    /// A receiver for a flow of `bytes`, with the sender's configuration.
    pub fn new(config: &TcpConfig, bytes: u64) -> Self {
        Self {
            bytes,
            next: 0,
            held: RangeSet::new(),
            latest: [0; MAX_SACK_BLOCKS],
            ack_at: None,
            timeout: config.delayed_ack.timeout,
            pending: 0,
            count: config.delayed_ack.segments.max(1),
            duplicates: 0,
            duplicate: None,
            echo: false,
            dctcp: config.congestion == CongestionKind::Dctcp,
            sack: config.sack,
            reports: config.sack && config.rack,
            ecn: config.uses_ecn(),
            window: ReceiveWindow::new(config).map(Box::new),
            recent: config.timestamps.then(Recent::default),
        }
    }

    /// Takes a segment and returns the acknowledgement to send now, if any.
    ///
    /// With DCTCP one segment can require two. The second is then due at once, see
    /// [`Receiver::deadline`]. Bytes beyond the flow's end are ignored.
    pub fn on_segment(&mut self, now: Time, segment: &Arrival) -> Option<Ack> {
        if segment.syn {
            self.take_timestamp(segment);
            return Some(Ack { ack: self.next, syn: true, timestamp_echo: self.timestamp_echo(), ..Ack::default() });
        }
        let end = segment.seq.saturating_add(u64::from(segment.len)).min(self.bytes);
        if segment.seq >= end {
            return None;
        }
        let earlier = if self.ecn { self.take_mark(segment) } else { None };
        self.take_timestamp(segment);

        let at_once = if segment.seq <= self.next && end > self.next {
            self.next = end;
            if let Some(window) = &mut self.window {
                window.received(now, end);
            }
            // With a gap above, the segment fills it, or the sender must know that it does not.
            let has_held = !self.held.is_empty();
            if has_held {
                self.take_held();
            }
            has_held || self.next == self.bytes
        } else {
            self.hold(Range { start: segment.seq, end });
            true
        };

        self.pending += 1;
        if at_once || self.pending >= self.count {
            if earlier.is_some() {
                self.ack_at = Some(now);
                return earlier;
            }
            return Some(self.acknowledge());
        }
        if self.ack_at.is_none() {
            self.ack_at = Some(now.saturating_add(self.timeout));
        }
        earlier
    }

    /// When to call [`Receiver::on_timeout`], possibly at the time of the segment that has just
    /// arrived.
    pub fn deadline(&self) -> Option<Time> {
        self.ack_at
    }

    /// Returns the acknowledgement to send now; `None` before the deadline.
    pub fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        self.ack_at.filter(|&at| at <= now)?;
        Some(self.acknowledge())
    }

    /// Bytes that have arrived without gaps, which the application has.
    pub fn received(&self) -> u64 {
        self.next
    }
    /// Bytes that have arrived, each counted once, with or without gaps.
    pub fn delivered_unique(&self) -> u64 {
        self.next + self.held.total()
    }
    /// Segments without new bytes.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
    /// Whether all bytes have arrived.
    pub fn is_complete(&self) -> bool {
        self.next == self.bytes
    }

    /// Notes CE and CWR. Returns the acknowledgement that must leave before the segment is taken,
    /// if any.
    fn take_mark(&mut self, segment: &Arrival) -> Option<Ack> {
        if self.dctcp {
            let changed = self.echo != segment.ce;
            let earlier = (changed && self.pending > 0).then(|| self.acknowledge());
            self.echo = segment.ce;
            return earlier;
        }
        // RFC 3168, section 6.1.3.
        self.echo = segment.ce || (self.echo && !segment.cwr);
        None
    }

    fn take_timestamp(&mut self, segment: &Arrival) {
        if let Some(recent) = &mut self.recent
            && let Some(timestamp) = segment.timestamp
        {
            recent.take(timestamp, segment.seq);
        }
    }

    fn timestamp_echo(&mut self) -> Option<u32> {
        let next = self.next;
        self.recent.as_mut().map(|recent| recent.echo(next))
    }

    /// Hands on bytes that are no longer above a gap.
    fn take_held(&mut self) {
        if let Some(first) = self.held.as_slice().first().filter(|r| r.start <= self.next) {
            self.next = self.next.max(first.end);
        }
        self.held.remove_below(self.next);
    }

    fn hold(&mut self, range: Range) {
        let mut news = false;
        if range.start > self.next {
            self.held.insert(range, |_| news = true);
            // Latest first: older entries move down, up to the earlier position of this block.
            let block = self.held.containing(range.start);
            let mut carried = range.start;
            for slot in &mut self.latest {
                core::mem::swap(slot, &mut carried);
                if block.is_some_and(|b| b.start <= carried && carried < b.end) {
                    break;
                }
            }
        }
        if !news {
            self.duplicates += 1;
            self.duplicate = self.reports.then_some(range);
        }
    }

    fn acknowledge(&mut self) -> Ack {
        self.pending = 0;
        self.ack_at = None;
        let nothing = (self.held.is_empty() && self.duplicate.is_none()) || !self.sack;
        let sacks = if nothing { SackBlocks::NONE } else { self.blocks() };
        let window = self.window.as_ref().and_then(|window| window.offer());
        Ack { ack: self.next, sacks, ece: self.echo, syn: false, window, timestamp_echo: self.timestamp_echo() }
    }

    /// The duplicate to report (RFC 2883), and the blocks of the latest arrivals, latest first (RFC
    /// 2018, section 4). If the duplicate is within a block, this block follows it.
    fn blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let duplicate = self.duplicate.take();
        let around = duplicate.and_then(|range| self.held.containing(range.start));
        let latest = self.latest.iter().filter_map(|&byte| self.held.containing(byte));
        if let Some(range) = duplicate {
            blocks.push(range);
        }
        let reported = blocks.len();
        for block in around.into_iter().chain(latest) {
            if !blocks[reported..].contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u64) -> Arrival {
        Arrival { seq, len: 10, syn: false, cwr: false, ce: false, timestamp: None }
    }

    fn blocks(ack: Option<Ack>) -> Vec<(u64, u64)> {
        ack.expect("an acknowledgement").sacks.iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn acknowledges_every_second_segment_or_after_the_timeout() {
        let mut r = Receiver::new(&TcpConfig::default(), 1_000);
        let now = Time::ZERO;
        assert_eq!(r.on_segment(now, &data(0)), None);
        assert_eq!(r.deadline(), Some(now + Duration::from_ms(1)));
        assert_eq!(r.on_segment(now, &data(10)).map(|a| a.ack), Some(20));
        assert_eq!(r.deadline(), None);
        assert_eq!(r.on_segment(now, &data(20)), None);
        assert_eq!(r.on_timeout(now), None);
        assert_eq!(r.on_timeout(now + Duration::from_ms(1)).map(|a| a.ack), Some(30));
        assert_eq!(r.deadline(), None);
    }

    #[test]
    fn blocks_are_latest_first_and_at_most_three() {
        let mut r = Receiver::new(&TcpConfig::default(), 1_000);
        let mut arrive = |seq| blocks(r.on_segment(Time::ZERO, &data(seq)));
        assert_eq!(arrive(20), [(20, 30)]);
        assert_eq!(arrive(60), [(60, 70), (20, 30)]);
        assert_eq!(arrive(40), [(40, 50), (60, 70), (20, 30)]);
        assert_eq!(arrive(80), [(80, 90), (40, 50), (60, 70)]);
        // Joins two blocks; then the head arrives.
        assert_eq!(arrive(50), [(40, 70), (80, 90)]);
        assert_eq!(arrive(10), [(10, 30), (40, 70), (80, 90)]);
        assert_eq!(arrive(0), [(40, 70), (80, 90)]);
        assert_eq!((r.received(), r.delivered_unique()), (30, 70));
        assert_eq!(blocks(r.on_segment(Time::ZERO, &data(0))), [(40, 70), (80, 90)]);
        assert_eq!(r.duplicates(), 1);
    }

    /// RFC 2883, section 4: the duplicate comes first, then the block around it, then others.
    #[test]
    fn reports_duplicates_once() {
        let mut r = Receiver::new(&TcpConfig { rack: true, ..TcpConfig::default() }, 1_000);
        let mut arrive = |seq| {
            let ack = r.on_segment(Time::ZERO, &data(seq)).expect("an acknowledgement");
            (ack.duplicate().map(|b| b.start), blocks(Some(ack)))
        };
        assert_eq!(arrive(20), (None, vec![(20, 30)]));
        assert_eq!(arrive(30), (None, vec![(20, 40)]));
        assert_eq!(arrive(60), (None, vec![(60, 70), (20, 40)]));
        assert_eq!(arrive(30), (Some(30), vec![(30, 40), (20, 40), (60, 70)]));
        assert_eq!(arrive(60), (Some(60), vec![(60, 70), (60, 70), (20, 40)]));
        assert_eq!(arrive(80), (None, vec![(80, 90), (60, 70), (20, 40)]), "once");
        assert_eq!(arrive(0), (None, vec![(80, 90), (60, 70), (20, 40)]));
        assert_eq!(arrive(0), (Some(0), vec![(0, 10), (80, 90), (60, 70)]));
        // Without RACK, nobody asks for it.
        let mut r = Receiver::new(&TcpConfig::default(), 1_000);
        assert_eq!(blocks(r.on_segment(Time::ZERO, &data(20))), [(20, 30)]);
        assert_eq!(blocks(r.on_segment(Time::ZERO, &data(20))), [(20, 30)]);
    }

    #[test]
    fn the_last_byte_is_acknowledged_at_once() {
        let mut r = Receiver::new(&TcpConfig::default(), 15);
        assert_eq!(r.on_segment(Time::ZERO, &data(10)).map(|a| a.ack), Some(0));
        assert_eq!(r.on_segment(Time::ZERO, &data(0)).map(|a| a.ack), Some(15));
        assert!(r.is_complete());
    }

    #[test]
    fn echo_lasts_until_the_sender_has_reduced() {
        let mut config = TcpConfig { ecn: true, congestion: CongestionKind::NewReno, ..TcpConfig::default() };
        config.delayed_ack.segments = 1;
        let mut r = Receiver::new(&config, 1_000);
        let mut arrive =
            |seq, ce, cwr| r.on_segment(Time::ZERO, &Arrival { ce, cwr, ..data(seq) }).expect("an acknowledgement").ece;
        assert!(!arrive(0, false, false));
        assert!(arrive(10, true, false));
        assert!(arrive(20, false, false));
        assert!(!arrive(30, false, true));
        assert!(arrive(40, true, true));
    }

    /// The segments A to E of RFC 7323, section 4.3, with the timestamps 1 to 5: what arrives, and
    /// what is acknowledged and echoed.
    fn echoes(segments: u32, order: &[u64]) -> Vec<Option<(u64, u32)>> {
        let mut config = TcpConfig { timestamps: true, ..TcpConfig::default() };
        config.delayed_ack.segments = segments;
        let mut r = Receiver::new(&config, 1_000);
        let arrivals = order.iter().map(|&i| Arrival { timestamp: Some(i as u32), ..data(10 * (i - 1)) });
        let acks = arrivals.map(|arrival| r.on_segment(Time::ZERO, &arrival));
        acks.map(|ack| ack.map(|a| (a.ack / 10, a.timestamp_echo.expect("the option")))).collect()
    }

    /// Its first example: acknowledgements are delayed.
    #[test]
    fn echoes_the_earliest_segment_of_a_delayed_acknowledgement() {
        assert_eq!(echoes(3, &[1, 2, 3]), [None, None, Some((3, 1))]);
        assert_eq!(echoes(3, &[1, 2, 3, 4, 5, 6])[5], Some((6, 4)));
    }

    /// Its second example: segments arrive out of order, and each is acknowledged.
    #[test]
    fn echoes_the_last_segment_in_order_until_a_hole_is_filled() {
        let expected = [(1, 1), (1, 1), (3, 2), (3, 2), (5, 4)];
        assert_eq!(echoes(1, &[1, 3, 2, 5, 4]), expected.map(Some));
        // Before the first segment, there is nothing to echo.
        assert_eq!(echoes(1, &[2, 1]), [Some((0, 0)), Some((2, 1))]);
    }

    /// Old duplicates have older timestamps, which are not echoed; a needless repetition has a
    /// newer one, which is.
    #[test]
    fn old_timestamps_are_not_echoed() {
        let mut r = Receiver::new(&TcpConfig { timestamps: true, ..TcpConfig::default() }, 1_000);
        let syn = Arrival { syn: true, len: 0, timestamp: Some(7), ..data(0) };
        assert_eq!(r.on_segment(Time::ZERO, &syn).and_then(|a| a.timestamp_echo), Some(7));
        let mut arrive = |seq, timestamp| {
            let arrival = Arrival { timestamp: Some(timestamp), ..data(seq) };
            r.on_segment(Time::ZERO, &arrival).and_then(|a| a.timestamp_echo)
        };
        assert_eq!([arrive(0, 8), arrive(10, 8)], [None, Some(8)]);
        assert_eq!([arrive(0, 7), arrive(0, 9)], [Some(8), Some(9)]);
        // Without the option, a timestamp is ignored.
        let mut r = Receiver::new(&TcpConfig::default(), 1_000);
        assert_eq!(r.on_segment(Time::ZERO, &syn).map(|a| (a.timestamp_echo, a.wire_bytes())), Some((None, 40)));
    }

    /// The acknowledgement of what came before a change of the mark echoes its own timestamp.
    #[test]
    fn dctcp_echoes_the_timestamp_before_the_mark_changes() {
        let config = TcpConfig { congestion: CongestionKind::Dctcp, timestamps: true, ..TcpConfig::default() };
        let mut r = Receiver::new(&config, 1_000);
        let mut arrive = |seq, ce, timestamp| {
            let arrival = Arrival { ce, timestamp: Some(timestamp), ..data(seq) };
            r.on_segment(Time::ZERO, &arrival).map(|a| (a.ack, a.ece, a.timestamp_echo))
        };
        assert_eq!(arrive(0, false, 1), None);
        assert_eq!(arrive(10, true, 2), Some((10, false, Some(1))));
        assert_eq!(arrive(20, true, 3), Some((30, true, Some(2))));
    }

    #[test]
    fn dctcp_acknowledges_before_the_mark_changes() {
        let config = TcpConfig { congestion: CongestionKind::Dctcp, ..TcpConfig::default() };
        let mut r = Receiver::new(&config, 1_000);
        let now = Time::ZERO;
        let mut arrive = |seq, ce| r.on_segment(now, &Arrival { ce, ..data(seq) }).map(|a| (a.ack, a.ece));
        assert_eq!(arrive(0, false), None);
        assert_eq!(arrive(10, true), Some((10, false)));
        assert_eq!(arrive(20, true), Some((30, true)));
        assert_eq!(arrive(30, true), None);
        // Unmarked and out of order: the acknowledgement of marked bytes, and at once that of the
        // gap.
        assert_eq!(arrive(50, false), Some((40, true)));
        assert_eq!(r.deadline(), Some(now));
        let ack = r.on_timeout(now).expect("a second acknowledgement");
        assert_eq!((ack.ack, ack.ece, ack.sacks.len()), (40, false, 1));
    }
}
