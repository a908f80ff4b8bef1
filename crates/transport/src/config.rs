//! Parameters of a TCP connection.
//!
//! Defaults follow RFCs and common hosts, as each field says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

use crate::receive_window::FIRST_WINDOW;
use crate::segment::header_bytes;
use crate::{CongestionKind, RtoRule};

/// Parameters of a TCP connection, the same for both ends.
///
/// Impossible limits (an MSS, a window or a count of zero) are raised to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// The congestion control. Default: CUBIC, as in most hosts.
    pub congestion: CongestionKind,
    /// The most payload of a segment, in bytes. Default 1460: an MTU of 1500 without TCP options.
    pub mss: u32,
    /// The initial window, in segments. Default 10 (RFC 6928). With [`CongestionKind::Fixed`] the
    /// window stays.
    pub initial_window: u32,
    /// The shortest retransmission timeout. Default 200 ms, as in Linux. RFC 6298 requires 1 s;
    /// data centers often use less than 10 ms.
    pub min_rto: Duration,
    /// How the retransmission timeout follows from round-trip times. Default: RFC 6298.
    pub rto: RtoRule,
    /// The retransmission timeout before the first measurement of the round-trip time, for the SYN
    /// too. Default 1 s (RFC 6298, rule 2.1); at least `min_rto`.
    pub initial_rto: Duration,
    /// When a receiver delays an acknowledgement.
    pub delayed_ack: DelayedAck,
    /// How many segments one acknowledgement may add to the window in slow start: L of RFC 3465,
    /// section 2.3. With the default of 2, delayed acknowledgements double the window each round
    /// trip. With 1 it is equation 2 of RFC 5681.
    pub slow_start_segments: u32,
    /// In congestion avoidance, NewReno and DCTCP count acknowledged bytes (RFC 3465, section 2.1)
    /// instead of acknowledgements, so that delayed ones do not slow the growth down. Default off.
    pub byte_counting: bool,
    /// Selective acknowledgements (RFC 2018) and recovery by them (RFC 6675) instead of RFC 6582.
    /// Default on.
    pub sack: bool,
    /// With SACK, detects that the repetition of the first segment is lost too, once something sent
    /// later has arrived, and reduces the window again (RFC 5681, section 4.3). Hosts with RACK
    /// (RFC 8985) do so. Default on. Otherwise only the retransmission timer detects it, as in RFC
    /// 6675; if `min_rto` is many round trips, this makes short queues look bad.
    pub find_lost_repetitions: bool,
    /// Timestamps (RFC 7323) in each segment and acknowledgement, which are 12 bytes longer
    /// ([`TcpConfig::header_bytes`]). The retransmission timeout then has a measurement after
    /// repetitions too. Their echo undoes timeouts and recoveries that repeated nothing lost (Eifel
    /// detection, RFC 3522), where `f_rto` and `rack` undo them. The clock has ticks of
    /// [`TIMESTAMP_TICK`](crate::TIMESTAMP_TICK). Default off.
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168). Default off; always on with
    /// [`CongestionKind::Dctcp`].
    pub ecn: bool,
    /// Spreads segments over the round trip: the rate is `f * cwnd / srtt`, with f = 2 in slow
    /// start and 1.2 later, as in Linux. It starts with the first measurement. Default off.
    pub pacing: bool,
    /// Exchanges SYN and SYN-ACK before data. Default off: the connection is open from the start.
    pub handshake: bool,
    /// The receive window in bytes, which limits outstanding data. Default unlimited.
    pub receive_window: Option<u64>,
    /// The receive window starts at 64 KiB, and grows up to `receive_window` while more arrives in
    /// a round trip, as in Linux (`net.ipv4.tcp_moderate_rcvbuf`). Without `receive_window` it has
    /// no effect. Default off.
    pub window_growth: bool,
    /// CUBIC and NewReno leave slow start when round trips lengthen (HyStart++, RFC 9406). Default
    /// off.
    pub hystart: bool,
    /// The window grows only if it has limited the sender in the latest window of data, as in Linux
    /// (`tcp_is_cwnd_limited`): it was full, or in slow start more than half of it was outstanding.
    /// Default off: it also grows in congestion avoidance if three quarters were outstanding.
    pub limited_growth: bool,
    /// CUBIC takes `W_max` and `cwnd_prior` from the congestion window (RFC 9438, sections 4.6 and
    /// 4.7), which may be more than was in flight. Default off: from the bytes in flight, as the
    /// threshold.
    pub w_max_from_cwnd: bool,
    /// Proportional rate reduction (RFC 9937, which replaces RFC 6937): after a loss or a mark, the
    /// reduction is spread over the acknowledgements of a round trip. The RFC is about losses;
    /// Linux does so after marks too (`tcp_enter_cwr`). Default off: the window falls at once. It
    /// needs SACK, and a control that sets a threshold.
    pub prr: bool,
    /// Forward RTO recovery (RFC 5682): after a timeout, two new segments show whether anything was
    /// lost. If not, the timeout's effect on the window is undone, and nothing more is repeated.
    /// Default off.
    pub f_rto: bool,
    /// Finds losses by the time of sending (RACK, RFC 8985) instead of counting segments that were
    /// acknowledged above them, with a window for reordering that adapts. The receiver reports
    /// duplicates (RFC 2883), and a recovery whose repetitions were all needless is undone. As in
    /// Linux, lost repetitions are repeated, but reduce the window no further. It needs SACK and
    /// makes `find_lost_repetitions` void. Default off.
    pub rack: bool,
    /// Tail loss probes (RFC 8985, section 7): after two round trips of silence, a segment asks for
    /// an acknowledgement, so that a loss at the end of a flight needs no timeout. It needs `rack`.
    /// Default off.
    pub tail_loss_probe: bool,
}

/// How long a receiver delays acknowledgements (RFC 5681, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelayedAck {
    /// Number of segments per acknowledgement; RFC 5681 allows 2, and 1 acknowledges each segment.
    pub segments: u32,
    /// Longest delay after the first unacknowledged segment. RFC 5681 allows 500 ms; Linux uses
    /// 40 ms or more.
    pub timeout: Duration,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: 2, timeout: Duration::from_ms(1) }
    }
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion: CongestionKind::Cubic,
            mss: 1460,
            initial_window: 10,
            min_rto: Duration::from_ms(200),
            rto: RtoRule::Rfc,
            initial_rto: Duration::from_secs(1),
            delayed_ack: DelayedAck::default(),
            slow_start_segments: 2,
            byte_counting: false,
            sack: true,
            find_lost_repetitions: true,
            timestamps: false,
            ecn: false,
            pacing: false,
            handshake: false,
            receive_window: None,
            window_growth: false,
            hystart: false,
            limited_growth: false,
            w_max_from_cwnd: false,
            prr: false,
            f_rto: false,
            rack: false,
            tail_loss_probe: false,
        }
    }
}

impl TcpConfig {
    /// Bytes of the headers of a data segment: the MSS and this make the MTU.
    pub const fn header_bytes(&self) -> u32 {
        header_bytes(self.timestamps)
    }
    /// The receive window at the start; unlimited if it is `u64::MAX`.
    pub(crate) fn first_window(&self) -> u64 {
        let most = self.receive_window.map_or(u64::MAX, |w| w.max(1));
        if self.window_growth && self.receive_window.is_some() { most.min(FIRST_WINDOW) } else { most }
    }
    /// Whether segments are ECN-capable.
    pub(crate) fn uses_ecn(&self) -> bool {
        self.ecn || self.congestion == CongestionKind::Dctcp
    }
}
