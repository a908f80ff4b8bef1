//! Tail loss probes: a segment that asks for an acknowledgement where the end of a flight may be
//! lost (RFC 8985, section 7).
//!
//! Nothing arrives above a loss at the end of a flight, so that only the retransmission timer would
//! find it, which is usually many round trips long.

use timeplane_model::{Duration, Time};

use super::{Candidate, Connection, Repair, Sender, Wait};
use crate::congestion::CongestionControl;
use crate::{Ack, TcpConfig};

/// The probe's timeout before any round trip is measured (section 7.2).
const UNMEASURED: Duration = Duration::from_secs(1);

/// The state of probing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// How long the receiver may delay an acknowledgement: `TLP.max_ack_delay`.
    ack_delay: Duration,
    /// A probe was sent, and this is what it has asked for: `TLP.end_seq`.
    end: Option<u64>,
    /// The probe repeats a segment: `TLP.is_retrans`.
    repeats: bool,
    /// A probe is to be sent now.
    due: bool,
}

impl Probing {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let ack_delay = if config.delayed_ack.segments > 1 { config.delayed_ack.timeout } else { Duration::ZERO };
        Self { ack_delay, end: None, repeats: false, due: false }
    }
}

impl Sender {
    /// Sets the probe's timer after new data was sent or acknowledged (sections 7.2 and 7.3).
    ///
    /// There is no probe in a repair, nor above a gap, where other signs show losses; and only one
    /// until it is answered.
    pub(super) fn schedule_probe(&mut self, now: Time) {
        let Some(probing) = &self.probing else { return };
        let may_probe = self.repair == Repair::None && self.sacked.is_empty() && probing.end.is_none();
        if !may_probe || self.una == self.next || self.connection != Connection::Open {
            self.stop_waiting_to_probe();
            return;
        }
        let mut timeout = UNMEASURED;
        if let Some(srtt) = self.rtt.srtt() {
            let delay = if self.records.len() == 1 { probing.ack_delay } else { Duration::ZERO };
            timeout = Duration::from_ps(srtt.as_ps().saturating_mul(2).saturating_add(delay.as_ps()));
        }
        let at = now.saturating_add(timeout);
        self.wait(Wait::Probe, self.rto_at.map_or(at, |rto| rto.min(at)));
    }

    /// The probe's timer has expired: a segment goes, whatever the window says. The retransmission
    /// timer starts anew.
    pub(super) fn begin_probe(&mut self, now: Time) {
        if let Some(probing) = &mut self.probing {
            probing.due = true;
        }
        self.arm(now);
    }

    /// Whether a probe is to be sent now.
    pub(super) fn must_probe(&self) -> bool {
        self.probing.as_ref().is_some_and(|p| p.due) && self.una < self.next
    }

    /// The segment to send as a probe: a new one, or else the last one again.
    pub(super) fn probe(&self) -> Candidate {
        if self.has_new_data() {
            return Candidate::New;
        }
        let last = self.records.len() as u64 - 1;
        Candidate::Probe(self.head + last * u64::from(self.window.mss))
    }

    /// Notes a segment that is sent as a probe.
    pub(super) fn note_probe(&mut self, repeats: bool) {
        if let Some(probing) = &mut self.probing
            && core::mem::take(&mut probing.due)
        {
            (probing.end, probing.repeats) = (Some(self.next), repeats);
        }
    }

    /// Whether a probe has repeated the segment that ends at `end`.
    pub(super) fn was_probed(&self, end: u64) -> bool {
        self.probing.as_ref().is_some_and(|p| p.repeats && p.end == Some(end))
    }

    /// Ends probing when a repair begins.
    pub(super) fn end_probing(&mut self) {
        if let Some(probing) = &mut self.probing {
            probing.end = None;
        }
        self.stop_waiting_to_probe();
    }

    fn stop_waiting_to_probe(&mut self) {
        if let Some(probing) = &mut self.probing {
            probing.due = false;
        }
        if self.waits_for == Wait::Probe {
            self.wait_at = None;
        }
    }

    /// Judges an acknowledgement by the probe that may have caused it (section 7.4). If the probe
    /// has repaired a loss, nobody else reacts to that loss, so the window is reduced here.
    pub(super) fn judge_probe(&mut self, now: Time, ack: &Ack, advanced: bool, outstanding: u64) {
        let Some(probing) = &mut self.probing else { return };
        let Some(end) = probing.end.filter(|&end| ack.ack >= end) else { return };
        let was_needed = probing.repeats && ack.duplicate().is_none_or(|block| block.end != end);
        if !was_needed || (ack.ack == end && !advanced && ack.sacks.is_empty()) {
            probing.end = None;
        } else if ack.ack > end {
            probing.end = None;
            if self.una >= self.reduced_below {
                let flight = self.flight(outstanding);
                self.end_reduction();
                self.congestion.on_loss(&mut self.window, flight, now);
                self.reduced_below = self.handed_over();
                self.cwr_due = self.ecn;
            }
        }
    }
}
