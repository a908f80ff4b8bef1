//! HyStart++: leaves slow start before it causes losses (RFC 9406).
//!
//! CUBIC uses it if it is enabled.

use timeplane_model::Duration;

use super::{Acked, Window};

/// Watches the round-trip times of the initial slow start. If a round's minimum exceeds that of the
/// round before, the window grows at a quarter of the pace for up to five rounds (conservative slow
/// start). Congestion avoidance follows, unless the round trips shorten again.
///
/// The threshold is at least 4 ms (section 4.3), so it does nothing in a data center before queues
/// are long. The limit of growth per acknowledgement is
/// [`TcpConfig::slow_start_segments`](crate::TcpConfig), not the L of section 4.2.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// The round ends when this is acknowledged.
    round_end: u64,
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    /// In conservative slow start: the least round trip at its start.
    baseline: Option<Duration>,
    conservative_rounds: u32,
}

const MIN_THRESHOLD: Duration = Duration::from_ms(4);
const MAX_THRESHOLD: Duration = Duration::from_ms(16);
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;

impl HyStart {
    /// Grows the window in slow start; sets the threshold to end it.
    pub(super) fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let divisor = if self.baseline.is_some() { GROWTH_DIVISOR } else { 1 };
        window.cwnd += acked.bytes.min(acked.slow_start_limit) / divisor;
        if let Some(rtt) = acked.rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        if acked.una > self.round_end {
            self.conservative_rounds += u32::from(self.baseline.is_some());
            if self.conservative_rounds >= CONSERVATIVE_ROUNDS {
                window.ssthresh = window.cwnd;
            }
            self.round_end = acked.next;
            self.last_round = self.this_round.take();
            self.samples = 0;
        }
    }

    fn judge(&mut self) {
        let Some(now) = self.this_round.filter(|_| self.samples >= SAMPLES) else { return };
        if let Some(baseline) = self.baseline {
            if now < baseline {
                self.baseline = None;
                self.conservative_rounds = 0;
            }
        } else if let Some(last) = self.last_round
            && now >= last + (last / 8).clamp(MIN_THRESHOLD, MAX_THRESHOLD)
        {
            self.baseline = Some(now);
        }
    }
}
