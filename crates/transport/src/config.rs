//! Parameters of a TCP connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

use crate::CongestionKind;

/// Parameters of a TCP connection. Both ends are given the same.
///
/// A limit that makes no sense (an MSS, a window or a count of zero) is taken as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// Congestion control. Default: CUBIC, as in most hosts.
    pub congestion: CongestionKind,
    /// Most payload of a segment, bytes. Default 1460: an MTU of 1500 without TCP options.
    pub mss: u32,
    /// Initial window, segments. Default 10 (RFC 6928). With [`CongestionKind::Fixed`] the window for ever.
    pub initial_window: u32,
    /// Least retransmission timeout. Default 200 ms, as in Linux; RFC 6298 asks for 1 s, a data center often
    /// for less than 10 ms.
    pub min_rto: Duration,
    /// Retransmission timeout before the first measurement of the round-trip time, for the SYN too. Default 1 s
    /// (RFC 6298, rule 2.1). Raised to `min_rto` where it is less.
    pub initial_rto: Duration,
    /// When a receiver holds an acknowledgement back.
    pub delayed_ack: DelayedAck,
    /// Most segments by which one acknowledgement in slow start may enlarge the window: L of RFC 3465, section
    /// 2.3. Default 2, so that delayed acknowledgements double the window each round trip; 1 is equation 2 of
    /// RFC 5681.
    pub slow_start_segments: u32,
    /// Selective acknowledgements (RFC 2018), and recovery by them (RFC 6675) instead of RFC 6582. Default on.
    pub sack: bool,
    /// With SACK, notice that the first segment's repetition is lost, too, once something sent later has arrived, and
    /// reduce the window again (RFC 5681, section 4.3); hosts with RACK (RFC 8985) do. Default on. Off leaves it to the
    /// retransmission timer, as RFC 6675 does, which where `min_rto` is many round trips makes short queues look bad.
    pub find_lost_repetitions: bool,
    /// Explicit congestion notification (RFC 3168). Default off; always on with [`CongestionKind::Dctcp`].
    pub ecn: bool,
    /// Spread segments over the round trip: one per payload / (f * cwnd / srtt), with f = 2 in slow start and
    /// 1.2 later, as Linux does. Not before the first measurement. Default off.
    pub pacing: bool,
    /// Exchange SYN and SYN-ACK before data. Default off: the connection is declared open.
    pub handshake: bool,
    /// Room at the receiver, bytes, which limits what is outstanding. Default unlimited.
    pub receive_window: Option<u64>,
    /// CUBIC leaves slow start when the round trips lengthen (HyStart++, RFC 9406). Default off.
    pub hystart: bool,
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
            initial_rto: Duration::from_secs(1),
            delayed_ack: DelayedAck::default(),
            slow_start_segments: 2,
            sack: true,
            find_lost_repetitions: true,
            ecn: false,
            pacing: false,
            handshake: false,
            receive_window: None,
            hystart: false,
        }
    }
}

impl TcpConfig {
    /// Whether segments are ECN-capable.
    pub(crate) fn uses_ecn(&self) -> bool {
        self.ecn || self.congestion == CongestionKind::Dctcp
    }
}
