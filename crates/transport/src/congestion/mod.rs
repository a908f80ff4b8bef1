//! Congestion control: the size of the window.
//!
//! The sender decides *when* something is lost, marked or acknowledged; controls decide what
//! follows for the window. A new control is one file that implements [`CongestionControl`], its
//! `mod` line, and its variant in the table at the end of this file.

mod bbr;
mod bbr3;
mod cubic;
mod dctcp;
mod fixed;
mod hystart;
mod max_filter;
mod newreno;

pub use bbr::{Bbr, Mode as BbrMode};
pub use bbr3::{Bbr3, Mode as Bbr3Mode};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use fixed::Fixed;
pub use newreno::NewReno;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Duration, Named, Rate, Time};

use crate::TcpConfig;
pub use crate::delivery::{LostSegment, RateSample};

/// The congestion window and the slow start threshold, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The congestion window; at least one segment.
    pub cwnd: u64,
    /// Slow start below it; `u64::MAX` until the first reduction.
    pub ssthresh: u64,
    /// Maximum segment size.
    pub mss: u32,
}

impl Window {
    /// A window of `segments` of `mss` bytes, in slow start. Zeros count as one.
    pub fn new(mss: u32, segments: u32) -> Self {
        let mss = mss.max(1);
        Self { cwnd: u64::from(mss) * u64::from(segments.max(1)), ssthresh: u64::MAX, mss }
    }
    /// Whether the window grows by the acknowledged bytes.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// Slow start with byte counting (RFC 3465): grows by up to `limit` bytes per acknowledgement,
    /// and no further than the threshold. Returns the rest of these bytes for congestion avoidance.
    pub fn slow_start(&mut self, acked: u64, limit: u64) -> u64 {
        let growth = acked.min(limit);
        let room = self.ssthresh.saturating_sub(self.cwnd);
        self.cwnd += growth.min(room);
        growth.saturating_sub(room)
    }
    /// Two segments: the least threshold (RFC 5681, equation 4).
    pub const fn floor(&self) -> u64 {
        2 * self.mss as u64
    }
    /// After a retransmission timeout: one segment (RFC 5681, section 3.1).
    pub const fn collapse(&mut self) {
        self.cwnd = self.mss as u64;
    }
}

/// An acknowledgement of new data while the window was in use, outside fast recovery or at its end
/// with SACK.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// Newly acknowledged contiguous bytes. At the end of a fast recovery at most a segment, as the
    /// rest had been acknowledged selectively.
    pub bytes: u64,
    /// The part of [`Acked::bytes`] that slow start may count.
    pub slow_start_limit: u64,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// The measurement of this acknowledgement.
    pub rtt: Option<Duration>,
    /// All bytes below this offset are acknowledged.
    pub una: u64,
    /// The first byte never sent.
    pub next: u64,
}

/// A congestion control algorithm. It has its own state and changes the [`Window`].
pub trait CongestionControl: Sized {
    /// A control for a connection with these parameters.
    fn new(config: &TcpConfig) -> Self;

    /// New data was acknowledged without an ECN echo, outside fast recovery or at its end, and the
    /// window was in use.
    fn on_ack(&mut self, window: &mut Window, acked: &Acked);

    /// A loss was found other than by timeout, once per window of data. `flight` is the number of
    /// outstanding bytes, without the additions of limited transmit.
    fn on_loss(&mut self, window: &mut Window, flight: u64, now: Time);

    /// An ECN echo arrived, at most once per window of data, and not in a window with a loss.
    fn on_ecn(&mut self, window: &mut Window, flight: u64, now: Time) {
        self.on_loss(window, flight, now);
    }

    /// The retransmission timer expired. `first` unless this segment has timed out before;
    /// otherwise the threshold stays (RFC 5681, section 3.1).
    fn on_timeout(&mut self, window: &mut Window, flight: u64, first: bool);

    /// The sender limits the window to `bytes`, after a lost SYN and to avoid a burst at the end of
    /// a recovery.
    fn limit(&mut self, window: &mut Window, bytes: u64) {
        window.cwnd = window.cwnd.min(bytes);
    }

    /// The application leaves the window unused. Time until now does not count for growth (RFC
    /// 9438, section 5.8).
    fn on_unused(&mut self, now: Time) {
        let _ = now;
    }

    /// The application had nothing to send until now, and nothing is in the network. A steered
    /// window is a copy here.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let _ = window;
        self.on_unused(now);
    }

    /// The connection is open; `rtt` is the round trip of its SYN.
    fn on_open(&mut self, rtt: Duration) {
        let _ = rtt;
    }

    /// An acknowledgement reports delivered or lost bytes; called last, and only for controls that
    /// have a [`pacing_rate`](Self::pacing_rate) from the start. A steered window is a copy here.
    /// Returns whether the window is now so small that sending does not show the path's rate.
    fn on_rate(&mut self, window: &mut Window, sample: &RateSample) -> bool {
        let _ = (window, sample);
        false
    }

    /// Whether [`on_lost_segment`](Self::on_lost_segment) is called, and samples relate losses to
    /// what was in the network. Each outstanding segment then has a larger record.
    fn weighs_losses(&self) -> bool {
        false
    }

    /// A segment counts as lost, because of an acknowledgement or of a timeout before it. Called
    /// for each segment, before [`on_rate`](Self::on_rate) with the same sample.
    fn on_lost_segment(&mut self, window: &Window, sample: &RateSample, lost: &LostSegment) {
        let _ = (window, sample, lost);
    }

    /// The last timeout was spurious: nothing was lost. The window is again what it was before. A
    /// control without a [`pacing_rate`](Self::pacing_rate) has its earlier state again too.
    fn on_spurious(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// The rate of payload at which segments are paced, for a control that knows one.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The window was set from outside and is the control's again. Measurements since the last
    /// reduction no longer count.
    fn on_new_window(&mut self) {}

    /// An acknowledgement of new data arrived, in recovery too; called first. It covers `bytes` up
    /// to `una`, with or without an ECN echo, while the first byte never sent is `next`.
    fn on_feedback(&mut self, bytes: u64, echo: bool, una: u64, next: u64) {
        let _ = (bytes, echo, una, next);
    }
}

/// Generates the two enums of the table at the end of this file, with static dispatch between its
/// rows.
macro_rules! controls {
    ($($(#[$meta:meta])* $variant:ident),+ $(,)?) => {
        /// Congestion control of TCP.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema, VariantArray, IntoStaticStr, EnumMessage)]
        #[serde(rename_all = "snake_case")]
        #[schemars(rename = "Congestion")]
        #[strum(serialize_all = "snake_case")]
        pub enum CongestionKind { $($(#[$meta])* $variant),+ }

        impl Named for CongestionKind {
            const KIND: &'static str = "congestion control";
        }

        /// A congestion control with its state.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // Each variant is described where the control is.
        pub enum Congestion { $($variant($variant)),+ }

        impl CongestionControl for Congestion {
            fn new(config: &TcpConfig) -> Self {
                match config.congestion {
                    $(CongestionKind::$variant => Self::$variant(CongestionControl::new(config))),+
                }
            }
            fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
                match self { $(Self::$variant(c) => c.on_ack(window, acked)),+ }
            }
            fn on_loss(&mut self, window: &mut Window, flight: u64, now: Time) {
                match self { $(Self::$variant(c) => c.on_loss(window, flight, now)),+ }
            }
            fn on_ecn(&mut self, window: &mut Window, flight: u64, now: Time) {
                match self { $(Self::$variant(c) => c.on_ecn(window, flight, now)),+ }
            }
            fn on_timeout(&mut self, window: &mut Window, flight: u64, first: bool) {
                match self { $(Self::$variant(c) => c.on_timeout(window, flight, first)),+ }
            }
            fn limit(&mut self, window: &mut Window, bytes: u64) {
                match self { $(Self::$variant(c) => c.limit(window, bytes)),+ }
            }
            fn on_unused(&mut self, now: Time) {
                match self { $(Self::$variant(c) => c.on_unused(now)),+ }
            }
            fn on_restart(&mut self, window: &mut Window, now: Time) {
                match self { $(Self::$variant(c) => c.on_restart(window, now)),+ }
            }
            fn on_open(&mut self, rtt: Duration) {
                match self { $(Self::$variant(c) => c.on_open(rtt)),+ }
            }
            fn on_rate(&mut self, window: &mut Window, sample: &RateSample) -> bool {
                match self { $(Self::$variant(c) => c.on_rate(window, sample)),+ }
            }
            fn weighs_losses(&self) -> bool {
                match self { $(Self::$variant(c) => c.weighs_losses()),+ }
            }
            fn on_lost_segment(&mut self, window: &Window, sample: &RateSample, lost: &LostSegment) {
                match self { $(Self::$variant(c) => c.on_lost_segment(window, sample, lost)),+ }
            }
            fn on_spurious(&mut self, window: &mut Window) {
                match self { $(Self::$variant(c) => c.on_spurious(window)),+ }
            }
            fn pacing_rate(&self) -> Option<Rate> {
                match self { $(Self::$variant(c) => c.pacing_rate()),+ }
            }
            fn on_new_window(&mut self) {
                match self { $(Self::$variant(c) => c.on_new_window()),+ }
            }
            fn on_feedback(&mut self, bytes: u64, echo: bool, una: u64, next: u64) {
                match self { $(Self::$variant(c) => c.on_feedback(bytes, echo, una, next)),+ }
            }
        }
    };
}

controls! {
    /// NewReno: halves at a loss, grows by a segment per round trip (RFC 5681, 6582).
    NewReno,
    /// CUBIC: grows by the cube of the time since the last loss (RFC 9438).
    #[default]
    Cubic,
    /// DCTCP: reduces by the share of marked bytes (RFC 8257).
    Dctcp,
    /// BBR version 1: a model of the path's rate and round trip; it always paces (Cardwell, 2016).
    Bbr,
    /// BBR version 3: version 1 with bounds from losses, and rarer probes alongside
    /// CUBIC (draft-ietf-ccwg-bbr-06).
    Bbr3,
    /// A window that never changes; for tests and for windows that something else sets.
    #[serde(skip)]
    Fixed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut w = Window { cwnd: 1_000, ssthresh: 2_500, mss: 1_000 };
        assert_eq!(w.slow_start(1_000, 2_000), 0);
        assert_eq!(w.slow_start(9_000, 2_000), 1_500);
        assert_eq!((w.cwnd, w.in_slow_start()), (2_500, false));
    }
}
