//! Knowledge about links: which ones are down, and current and future rates.
//!
//! A controller that recovers gets all of it at once; its predecessor got it piece by piece.

use crate::engine::time::SimTime;
use std::collections::BTreeMap;
use timeplane_model::{LinkId, Rate};
use timeplane_protocol::Input;

/// Rates of links.
type Rates = Vec<(LinkId, Rate)>;

/// The state of links, as controllers know it.
#[derive(Default)]
pub struct LinkNews {
    dead: Vec<LinkId>,
    /// By the time of the change. Changes before the latest one that was learned are one entry.
    rates: Vec<(SimTime, Rates)>,
}

impl LinkNews {
    pub fn set_dead(&mut self, dead: &[LinkId]) {
        self.dead = dead.to_vec();
    }

    /// Learns at `at` of rates that links have from `from` on.
    pub fn add_rates(&mut self, at: SimTime, from: SimTime, rates: &[(LinkId, Rate)]) {
        let begun = self.rates.partition_point(|r| r.0 <= at);
        let now: BTreeMap<LinkId, Rate> = self.rates.drain(..begun).flat_map(|r| r.1).collect();
        if !now.is_empty() {
            self.rates.insert(0, (SimTime::ZERO, now.into_iter().collect()));
        }
        let position = self.rates.partition_point(|r| r.0 <= from);
        self.rates.insert(position, (from, rates.to_vec()));
    }

    /// The inputs for a controller that knows nothing.
    pub fn inputs(&self) -> Vec<Input> {
        let dead = (!self.dead.is_empty()).then(|| Input::Down(self.dead.clone()));
        let rates = self.rates.iter().map(|(from, rates)| Input::Rates(from.on_perfect_clock(), rates.clone()));
        dead.into_iter().chain(rates).collect()
    }
}
