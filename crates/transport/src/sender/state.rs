//! The state of a sender, for traces.
//!
//! Nothing here changes what a sender does.

use timeplane_model::Duration;

use super::{Repair, Sender};
use crate::congestion::Congestion;

/// Round-trip times that are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Of segments, each once.
    pub segments: Vec<Duration>,
    /// Of the latest acknowledgement.
    pub acknowledgement: Option<Duration>,
}

impl Sender {
    /// The congestion window in bytes; zero while steered to send nothing.
    pub fn cwnd(&self) -> u64 {
        if self.stopped { 0 } else { self.window.cwnd }
    }
    /// The slow start threshold in bytes; `u64::MAX` before the first reduction.
    pub fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }
    /// The smoothed round-trip time; `None` before the first measurement.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }
    /// The retransmission timeout with backoff.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }
    /// Keeps the round-trip time of every segment from now on, from its sending to its
    /// acknowledgement, selective or not. Segments that were sent again have none (Karn's rule, RFC
    /// 6298, section 3).
    pub fn keep_samples(&mut self) {
        self.samples.get_or_insert_default();
    }
    /// Takes out the round-trip times since the last call; none unless they are
    /// [kept](Self::keep_samples).
    pub fn take_samples(&mut self) -> impl Iterator<Item = Duration> + '_ {
        self.samples.iter_mut().flat_map(|s| s.segments.drain(..))
    }
    /// Takes out the round-trip time of the latest acknowledgement of new data: the time since its
    /// oldest segment was sent, if this segment was sent once. None unless round-trip times are
    /// [kept](Self::keep_samples).
    pub fn take_acknowledgement_sample(&mut self) -> Option<Duration> {
        self.samples.as_mut()?.acknowledgement.take()
    }
    /// Bytes that are presumably in the network ("pipe" of RFC 6675).
    pub fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(u64::from(self.left) * u64::from(self.window.mss))
    }
    /// Bytes acknowledged without gaps.
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
    /// How often the retransmission timer expired, for a SYN or data.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// Whether losses are being repaired, by fast recovery or after a timeout.
    pub fn is_recovering(&self) -> bool {
        self.repair != Repair::None
    }
    /// The congestion control with its state.
    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }
}
