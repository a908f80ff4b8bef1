//! A policy whose window follows a trained predictor.
//!
//! The predictor is a small network with weights from recorded traces.

use super::ladder::RateLadder;
use super::network::Network;
use super::policy::{LinkView, WindowPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use timeplane_model::{Duration, Rate, Time};

/// Trust in the prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PredictedConfig {
    /// Number added to the predicted position in the list of rates before rounding down. Below 0.5
    /// is cautious, above is bold: higher values increase goodput and round-trip times.
    pub boldness: f64,
}

impl Default for PredictedConfig {
    fn default() -> Self {
        Self { boldness: 0.5 }
    }
}

/// The weights; `data/proxy/README.md` tells how they were trained.
const WEIGHTS: &str = include_str!("../../../../data/proxy/predictor.txt");

/// How long reports are kept, at least as long as the longest lag.
const MEMORY: Duration = Duration::from_ms(1000);

/// Allows the lowest rate that a small network expects within the next 150 ms, at most the newest
/// reported rate, and nothing in an outage.
///
/// This is the data-driven policy that the paper leaves open (section VI). The network's features
/// come from the reports of the last 150 ms: the level, its differences to earlier levels, the rung
/// (the position of the rate on the ladder), its fall from the highest one of that time, and how
/// long it has stood. Its output is a low quantile of the lowest rung over the next 150 ms. It
/// needs reports about every 10 ms, and keeps its output between reports.
#[derive(Clone, Debug)]
pub struct Predicted {
    config: PredictedConfig,
    ladder: RateLadder,
    network: Network,
    /// Times, levels and rungs of reports. The first one may be older than the limit.
    past: VecDeque<(Time, f64, usize)>,
    /// Since when the rung stands.
    since: Time,
    rung: usize,
    allowed: Rate,
}

impl Predicted {
    /// A policy that has received nothing.
    pub fn new(config: PredictedConfig, ladder: RateLadder) -> Self {
        let network = Network::parse(WEIGHTS).expect("the compiled-in predictor is whole");
        let (past, rung, since) = (VecDeque::new(), 0, Time::ZERO);
        Self { config, ladder, network, past, since, rung, allowed: Rate::ZERO }
    }

    /// The level at a time: that of the newest report up to then, or of the oldest one.
    fn level(&self, at: Time) -> f64 {
        let after = self.past.partition_point(|p| p.0 <= at);
        self.past[after.saturating_sub(1)].1
    }

    fn features(&self, now: Time, level: f64) -> Vec<f64> {
        let before = |ms: u16| now.saturating_add(-Duration::from_ms(i64::from(ms)));
        let window = before(self.network.lags_ms.last().copied().unwrap_or(0));
        let from = self.past.partition_point(|p| p.0 <= window).saturating_sub(1);
        let highest = self.past.iter().skip(from).map(|p| p.2).max().unwrap_or(0);
        let stood = (now - self.since).as_secs_f64();
        let mut features = vec![(level + 75.0) * 0.1];
        features.extend(self.network.lags_ms.iter().map(|&lag| (level - self.level(before(lag))) * 0.1));
        features.push(self.rung as f64 * 0.1);
        features.push((highest - self.rung) as f64 * 0.1);
        features.push(if stood < 1.0 { stood } else { 1.0 });
        features
    }

    /// The rung that the network predicts.
    fn predict(&self, now: Time, level: f64) -> f64 {
        let features = self.features(now, level);
        debug_assert_eq!(features.len(), self.network.inputs());
        self.network.evaluate(&features)
    }
}

impl WindowPolicy for Predicted {
    fn report(&mut self, now: Time, link: LinkView) {
        if self.past.is_empty() || link.rung != self.rung {
            self.since = now;
        }
        self.rung = link.rung;
        // A level below every antenna's reach counts as none.
        let level = link.level_dbm.clamp(-100.0, 0.0);
        self.past.push_back((now, level, link.rung));
        let begin = now.saturating_add(-MEMORY);
        while self.past.get(1).is_some_and(|p| p.0 <= begin) {
            self.past.pop_front();
        }
        let expected = self.predict(now, level) + self.config.boldness;
        // Nothing in an outage; otherwise at least the slowest rate and at most the current one.
        let rung = if expected < 1.0 { 1 } else { expected as usize };
        self.allowed = link.rate.min(self.ladder.rate(rung));
    }
    fn allowed(&mut self, _: Time) -> Rate {
        self.allowed
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}
