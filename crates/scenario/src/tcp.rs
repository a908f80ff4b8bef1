//! The `transport.tcp` table of a scheme, and its presets.
//!
//! A preset gives the defaults of keys that are not in the table; keys in it win.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration};
use timeplane_transport::{CongestionKind, DelayedAck, RtoRule, TcpConfig};

/// The most of a receive window that grows: about half of the 6 MiB of Linux
/// (`net.ipv4.tcp_rmem`), as buffers hold more than payload.
const MOST_WINDOW: Bytes = Bytes::mb(3);

/// TCP with SACK (RFC 2018, 6675) and 40 B of headers, or 52 B with timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Set of defaults for the keys whose description names presets; default: `linux`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<TcpPreset>,
    /// Congestion control.
    pub congestion: CongestionKind,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Minimum retransmission timeout: 1 s in RFC 6298, 200 ms in Linux. Default: 200 ms; 5 ms in
    /// preset `datacenter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// Rule by which the retransmission timeout follows from round-trip times; default: `rfc`, in
    /// other presets `linux`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<RtoRule>,
    /// Delayed acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Use selective acknowledgements.
    pub sack: bool,
    /// Add timestamps of 12 B to all headers (RFC 7323), so that round trips are measured after
    /// repetitions too, and needless repetitions show earlier (RFC 3522). Their clock ticks each
    /// millisecond, as in Linux. Off in all presets; Linux has them on.
    pub timestamps: bool,
    /// Ask switches to mark packets instead of dropping them (RFC 3168); DCTCP always does.
    /// Default: false; true in preset `datacenter`, except for version 1 of BBR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Spread each window over its round trip.
    pub pacing: bool,
    /// Let CUBIC and NewReno leave slow start when round trips lengthen, before a loss (HyStart++,
    /// RFC 9406). Default: false in preset `rfc`, true in others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,
    /// Grow the window only while it limits the sender, as in Linux. Otherwise it also grows while
    /// three quarters of it are in use. Default: false in preset `rfc`, true in others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_growth: Option<bool>,
    /// Let NewReno and DCTCP count acknowledged bytes instead of acknowledgements, which may be
    /// delayed (RFC 3465). Default: false in preset `rfc`, true in others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counting: Option<bool>,
    /// Let CUBIC return to the window before a loss instead of the bytes then in flight (RFC 9438,
    /// section 4.6). Default: false in preset `rfc`, true in others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_max_from_cwnd: Option<bool>,
    /// Spread the reduction of a window over a round trip, after losses (proportional rate
    /// reduction, RFC 9937) and after marks, as Linux does. Default: false in preset `rfc` and
    /// without SACK, true otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prr: Option<bool>,
    /// Recognize timeouts without a loss, and undo their effect (F-RTO, RFC 5682). Default: false
    /// in preset `rfc`, true in others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f_rto: Option<bool>,
    /// Find losses by the time of sending instead of by counts, with a window for reordering that
    /// adapts (RACK, RFC 8985). Default: false in preset `rfc` and without SACK, true otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<bool>,
    /// Ask for an acknowledgement after two silent round trips, so that a loss at the end of a
    /// flight needs no timeout (RFC 8985, section 7). Default: as `rack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,
    /// Open each flow with SYN and SYN-ACK, which count in its completion time.
    pub handshake: bool,
    /// Receive window, or the most of one that grows. Default: 3 MB for one that grows, about
    /// half of the buffer in Linux (`net.ipv4.tcp_rmem`); unlimited otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Bytes>,
    /// Start with a receive window of 64 KiB, and enlarge it while more arrives in a round trip.
    /// Default: false in preset `rfc`, true in others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_growth: Option<bool>,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            preset: None,
            congestion: CongestionKind::Cubic,
            initial_window: 10,
            min_rto: None,
            rto: None,
            delayed_ack: DelayedAck::default(),
            sack: true,
            timestamps: false,
            ecn: None,
            pacing: false,
            hystart: None,
            limited_growth: None,
            byte_counting: None,
            w_max_from_cwnd: None,
            prr: None,
            f_rto: None,
            rack: None,
            tail_loss_probe: None,
            handshake: true,
            receive_window: None,
            window_growth: None,
        }
    }
}

impl Tcp {
    /// The table with every key that presets decide, and without the preset.
    #[must_use]
    pub fn resolved(&self) -> Self {
        let preset = self.preset.unwrap_or_default();
        let like_linux = preset != TcpPreset::Rfc;
        let in_datacenter = preset == TcpPreset::Datacenter;
        let min_rto = if in_datacenter { Duration::from_ms(5) } else { Duration::from_ms(200) };
        let rto = if like_linux { RtoRule::Linux } else { RtoRule::Rfc };
        let rack = self.rack.unwrap_or(like_linux && self.sack);
        let window_growth = self.window_growth.unwrap_or(like_linux);
        Self {
            preset: None,
            min_rto: self.min_rto.or(Some(min_rto)),
            rto: self.rto.or(Some(rto)),
            ecn: self.ecn.or(Some(in_datacenter && self.congestion != CongestionKind::Bbr)),
            hystart: self.hystart.or(Some(like_linux)),
            limited_growth: self.limited_growth.or(Some(like_linux)),
            byte_counting: self.byte_counting.or(Some(like_linux)),
            w_max_from_cwnd: self.w_max_from_cwnd.or(Some(like_linux)),
            prr: self.prr.or(Some(like_linux && self.sack)),
            f_rto: self.f_rto.or(Some(like_linux)),
            rack: Some(rack),
            tail_loss_probe: self.tail_loss_probe.or(Some(rack)),
            receive_window: self.receive_window.or(window_growth.then_some(MOST_WINDOW)),
            window_growth: Some(window_growth),
            ..*self
        }
    }

    /// Bytes of the headers of a data segment.
    pub fn header_bytes(&self) -> u32 {
        TcpConfig { timestamps: self.timestamps, ..TcpConfig::default() }.header_bytes()
    }

    /// The parameters of a connection with segments of at most `mss` bytes of payload: keys as
    /// given, and the others by the preset.
    pub fn config(&self, mss: u32) -> TcpConfig {
        let tcp = self.resolved();
        let defaults = TcpConfig::default();
        TcpConfig {
            congestion: tcp.congestion,
            mss,
            initial_window: tcp.initial_window,
            min_rto: tcp.min_rto.unwrap_or(defaults.min_rto),
            rto: tcp.rto.unwrap_or_default(),
            delayed_ack: tcp.delayed_ack,
            sack: tcp.sack,
            timestamps: tcp.timestamps,
            ecn: tcp.ecn.unwrap_or_default(),
            pacing: tcp.pacing,
            hystart: tcp.hystart.unwrap_or_default(),
            limited_growth: tcp.limited_growth.unwrap_or_default(),
            byte_counting: tcp.byte_counting.unwrap_or_default(),
            w_max_from_cwnd: tcp.w_max_from_cwnd.unwrap_or_default(),
            prr: tcp.prr.unwrap_or_default(),
            f_rto: tcp.f_rto.unwrap_or_default(),
            rack: tcp.rack.unwrap_or_default(),
            tail_loss_probe: tcp.tail_loss_probe.unwrap_or_default(),
            handshake: tcp.handshake,
            receive_window: tcp.receive_window.map(Bytes::get),
            window_growth: tcp.window_growth.unwrap_or_default(),
            ..defaults
        }
    }
}

/// Set of defaults for TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpPreset {
    /// RFC 5681, 6298, 6675 and the control's own RFC, without later improvements.
    Rfc,
    /// Linux: its timeout, growth only of windows that limit, HyStart++, RACK-TLP, PRR, F-RTO and a
    /// receive window that grows.
    #[default]
    Linux,
    /// As `linux`, with a minimum timeout of 5 ms, and ECN where switches mark.
    Datacenter,
}
