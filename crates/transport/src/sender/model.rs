//! Input for a congestion control that models the path.
//!
//! It consists of samples of the delivery rate, and of marks on samples that the application
//! limits.

use timeplane_model::Time;

use super::{Repair, Sender};
use crate::congestion::CongestionControl;

impl Sender {
    /// Everything available has been sent.
    #[inline(never)]
    pub(super) fn run_dry(&mut self) {
        self.starved = self.limit < self.bytes;
        self.watched |= self.starved;
        self.note_limit();
    }

    /// A new segment is about to be sent.
    #[inline(never)]
    pub(super) fn note_new(&mut self, now: Time) {
        let first = self.records.is_empty();
        if core::mem::take(&mut self.starved) && first {
            self.congestion.on_restart(now);
        }
        match &mut self.delivery {
            Some(delivery) => delivery.sent(now, first, self.steered.is_some()),
            None => self.watched = false,
        }
    }

    /// Nothing more can be sent. If data is missing, rates measured from here on say nothing about
    /// the path.
    pub(super) fn note_limit(&mut self) {
        if self.delivery.is_some() && self.next >= self.limit {
            let in_flight = self.in_flight();
            if let Some(delivery) = &mut self.delivery
                && in_flight + u64::from(self.window.mss) <= self.window.cwnd
            {
                delivery.limited(in_flight);
            }
        }
    }

    /// Handles an acknowledgement before which `before` bytes were in the network.
    #[inline(never)]
    pub(super) fn model_path(&mut self, now: Time, before: u64) {
        let in_flight = self.in_flight();
        let Some(delivery) = &mut self.delivery else { return };
        let Some(mut sample) = delivery.sample(now) else { return };
        sample.in_flight = in_flight;
        sample.prior_in_flight = before;
        sample.is_recovering = self.repair != Repair::None;
        sample.is_fast_recovery = self.repair == Repair::Fast;
        let mut copy = self.window;
        let window = if self.steered.is_some() { &mut copy } else { &mut self.window };
        if self.congestion.on_rate(window, &sample) {
            delivery.limited(in_flight);
        }
    }
}
