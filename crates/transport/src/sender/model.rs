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
            let mut copy = self.window;
            let window = if self.steered.is_some() { &mut copy } else { &mut self.window };
            self.congestion.on_restart(window, now);
        }
        let in_flight = self.in_flight() + u64::from(self.segment_len(self.next));
        match &mut self.delivery {
            Some(delivery) => {
                delivery.sent(now, first, self.steered.is_some(), in_flight);
                if in_flight + u64::from(self.window.mss) > self.window.cwnd {
                    delivery.full(in_flight);
                }
            }
            None => self.watched = false,
        }
    }

    /// The `i`th outstanding segment is about to be repeated, for a control that models the path.
    #[inline(never)]
    pub(super) fn note_again(&mut self, now: Time, i: usize, len: u32) {
        let in_flight = self.in_flight() + u64::from(len);
        if let Some(delivery) = &mut self.delivery {
            delivery.sent_again(i, now, self.steered.is_some(), in_flight);
        }
    }

    /// A timeout is about to make all that is in the network count as lost.
    pub(super) fn note_timeout(&mut self) {
        let Some(delivery) = &mut self.delivery else { return };
        let mss = u64::from(self.window.mss);
        for (i, record) in self.records.iter().enumerate() {
            let len = mss.min(self.bytes - (self.head + i as u64 * mss));
            (0..record.copies).for_each(|_| delivery.lost_by_timeout(i, len));
        }
    }

    /// Nothing more can be sent. If data is missing, rates measured from here on say nothing about
    /// the path.
    pub(super) fn note_limit(&mut self) {
        if self.delivery.is_some() {
            let in_flight = self.in_flight();
            let full = in_flight + u64::from(self.window.mss) > self.window.cwnd;
            if let Some(delivery) = &mut self.delivery {
                if full {
                    delivery.full(in_flight);
                } else if self.next >= self.limit {
                    delivery.limited(in_flight);
                }
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
        for lost in delivery.take_lost() {
            self.congestion.on_lost_segment(window, &sample, &lost);
        }
        if self.congestion.on_rate(window, &sample) {
            delivery.limited(in_flight);
        }
    }
}
