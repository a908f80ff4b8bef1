//! Policies of a proxy: each has its own file, and a variant with its arms here.
//!
//! A policy tells how much of a link's rate senders may use.

use super::ladder::RateLadder;
use super::predicted::{Predicted, PredictedConfig};
use super::proactive::{Proactive, ProactiveConfig};
use super::reactive::Reactive;
use core::fmt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use timeplane_model::{Rate, Time};

/// A link, by the newest report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkView {
    /// Its rate; zero in an outage.
    pub rate: Rate,
    /// The position of that rate on the ladder, from 1; 0 in an outage.
    pub rung: usize,
    /// The received level in dBm.
    pub level_dbm: f64,
}

/// Decides how much of a link's rate may be used. Windows are the bandwidth-delay product of that
/// rate.
///
/// Deterministic and without a clock; times never decrease between calls.
pub trait WindowPolicy: fmt::Debug + Send {
    /// Takes a report.
    fn report(&mut self, now: Time, link: LinkView);
    /// The rate to allow now. Timers that have expired by then count.
    fn allowed(&mut self, now: Time) -> Rate;
    /// When to ask again if no report comes before.
    fn deadline(&self) -> Option<Time>;
}

/// How a proxy turns link reports into windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum ProxyPolicy {
    /// The window is the bandwidth-delay product of the rate reported last.
    Reactive {},
    /// After a fast fall the window is that of the slowest rate for a while, then grows stepwise.
    Proactive(ProactiveConfig),
    /// The window is that of the rate that a trained predictor expects for the next 150 ms.
    Predicted(PredictedConfig),
}

impl ProxyPolicy {
    /// All policies, with the parameters chosen by the offline evaluation in
    /// `studies/mmwave-proxy`.
    pub fn all() -> [Self; 3] {
        [
            Self::Reactive {},
            Self::Proactive(ProactiveConfig::default()),
            Self::Predicted(PredictedConfig { boldness: 0.75 }),
        ]
    }
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        self.into()
    }
    /// A state machine that has received nothing.
    ///
    /// # Panics
    ///
    /// If parameters are impossible, see [`Proactive::new`].
    pub fn build(self, ladder: &RateLadder) -> Box<dyn WindowPolicy> {
        match self {
            Self::Reactive {} => Box::new(Reactive::default()),
            Self::Proactive(config) => Box::new(Proactive::new(config, ladder.clone())),
            Self::Predicted(config) => Box::new(Predicted::new(config, ladder.clone())),
        }
    }
}
