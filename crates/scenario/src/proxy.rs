//! The `[scheme.NAME.proxy]` table: a proxy that tells TCP what an air link carries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// A proxy that sets the windows of TCP senders whose flows cross an air link with a link trace (Drago et al., MASS 2019, section III).
///
/// The link's access point reports whenever the rate changes, and now and then otherwise; the proxy makes a window of rate and least round
/// trip, which its policy may hold back. Losses are the sender's to find and repair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxySpec {
    /// How reports become windows.
    pub policy: ProxyPolicy,
    /// The proxy ends the connections at this host, and begins others there: each flow is two connections of TCP, of which it is the second
    /// one's sender. Its memory has no bound. Missing: it steers the senders by messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_at: Option<u32>,
    /// After a loss recovery the window is again what the proxy said last. Otherwise it stays what the recovery left, until the next message.
    #[serde(default = "yes")]
    pub hold: bool,
    /// Senders are told how fast to send, too, so that a window that jumps does not burst into the queue.
    #[serde(default = "yes")]
    pub pace: bool,
    /// From the access point to the proxy.
    #[serde(default = "ten_ms")]
    pub report_delay: Duration,
    /// From the proxy to a sender, and back for its round trips.
    #[serde(default)]
    pub command_delay: Duration,
    /// The access point reports at least so often. A predictor lives of reports between the changes.
    #[serde(default = "ten_ms")]
    pub report_every: Duration,
    /// What was said to a sender is said again after so long.
    #[serde(default = "hundred_ms")]
    pub repeat: Duration,
    /// A link that has not been reported on for so long counts as one at its slowest rate.
    #[serde(default = "one_second")]
    pub silence: Duration,
    /// The round trip until one has been measured.
    #[serde(default = "forty_ms")]
    pub base_rtt: Duration,
    /// Probability that a message of either kind is lost.
    #[serde(default)]
    pub loss: f64,
}

const fn yes() -> bool {
    true
}
const fn ten_ms() -> Duration {
    Duration::from_ms(10)
}
const fn one_second() -> Duration {
    Duration::from_secs(1)
}
const fn forty_ms() -> Duration {
    Duration::from_ms(40)
}
const fn hundred_ms() -> Duration {
    Duration::from_ms(100)
}

/// How reports become windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProxyPolicy {
    /// The window is the bandwidth-delay product of the rate reported last.
    Reactive {},
    /// After a fast fall it is that of the slowest rate for a while, and grows back step by step.
    Proactive(ProactiveSpec),
    /// It is that of the rate which a trained predictor expects for the next 150 ms.
    Predicted(PredictedSpec),
}

/// What counts as a fast fall, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProactiveSpec {
    /// Falls are looked for over so long.
    pub window: Duration,
    /// A fall by so many usable rates is a fast one.
    pub drop: u32,
    /// How long the slowest rate's window holds after a fast fall.
    pub ttr: Duration,
    /// On the way back it climbs one usable rate per so long.
    pub growth: Duration,
}

impl Default for ProactiveSpec {
    fn default() -> Self {
        Self { window: Duration::from_ms(150), drop: 2, ttr: Duration::from_ms(800), growth: Duration::from_ms(40) }
    }
}

/// How far a prediction is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PredictedSpec {
    /// Added to the predicted place on the ladder of rates before it is rounded down: below 0.5 it is cautious, above it bold.
    pub boldness: f64,
}

impl Default for PredictedSpec {
    fn default() -> Self {
        Self { boldness: 0.5 }
    }
}
