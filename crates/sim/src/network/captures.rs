//! Captures of a network: which frames they get, and when they are written.
//! Runs without captures ask none of this.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::Network;
use crate::network::packet::Packet;
use crate::record::capture::Capture;
use crate::record::capture::taps::{Carried, Tap};
use timeplane_results::ResultsError;

impl Network {
    /// The capture of a run, if any, and the state that it reads.
    pub(super) fn tap(&mut self) -> Option<(&mut Capture, Tap<'_>)> {
        let tap = Tap {
            wires: &self.wires,
            rates: self.rate_changes.as_deref(),
            air: self.air.as_deref(),
            hybrid: self.hybrid.as_deref(),
            stop: self.stop,
        };
        Some((self.capture.as_deref_mut()?, tap))
    }

    pub(super) fn capture_landing(&mut self, at: SimTime, link: u32, id: u32, packet: &Packet, ends: &Endpoints) {
        if packet.control_message().is_none()
            && let Some((capture, tap)) = self.tap()
        {
            capture.landing(&tap, at, Carried { link, id, packet }, ends);
        }
    }

    /// Writes all captured frames before which nothing can come any more. Called between events.
    #[inline]
    pub(crate) fn write_capture(&mut self, now: SimTime) {
        if self.inspects
            && let Some((capture, tap)) = self.tap()
        {
            capture.write_until(&tap, now);
        }
    }

    /// The run is over: completes the captures.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub(crate) fn end_capture(&mut self, end: SimTime, ends: &Endpoints) -> Result<(), ResultsError> {
        let Some(capture) = self.capture.take() else { return Ok(()) };
        let tap = Tap {
            wires: &self.wires,
            rates: self.rate_changes.as_deref(),
            air: self.air.as_deref(),
            hybrid: self.hybrid.as_deref(),
            stop: self.stop,
        };
        capture.end(&tap, end, ends)
    }
}
