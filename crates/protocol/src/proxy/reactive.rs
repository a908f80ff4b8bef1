//! A policy whose window follows the reports.
//!
//! It has no state beyond the newest report.

use super::policy::{LinkView, WindowPolicy};
use timeplane_model::{Rate, Time};

/// Allows the newest reported rate, and nothing in an outage (section III-A of the paper, "reactive
/// policy").
#[derive(Clone, Copy, Debug, Default)]
pub struct Reactive {
    rate: Rate,
}

impl WindowPolicy for Reactive {
    fn report(&mut self, _: Time, link: LinkView) {
        self.rate = link.rate;
    }
    fn allowed(&mut self, _: Time) -> Rate {
        self.rate
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}
