//! The `[scheme.NAME.proxy]` table: a proxy that tells TCP the capacity of an air link (Drago et
//! al., MASS 2019).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;
use timeplane_protocol::ProxyPolicy;

/// A proxy that sets the windows of TCP senders whose flows cross an air link with a link trace
/// (Drago et al., MASS 2019, section III).
///
/// The access point of the link reports every change of the rate, and also periodically. The proxy
/// computes a window from the rate and the minimum round trip; its policy may reduce the window.
/// Senders detect and repair losses themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxySpec {
    /// Policy that turns reports into windows.
    pub policy: ProxyPolicy,
    /// Host at which the proxy splits connections: each flow becomes two TCP connections, and the
    /// proxy is the sender of the second. Its memory is unlimited. Default: the proxy steers the
    /// senders by messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_at: Option<u32>,
    /// Restore the window from the proxy's last message after each loss recovery. Otherwise the
    /// window stays as recovery left it until the next message.
    #[serde(default = "yes")]
    pub hold: bool,
    /// Also tell senders a pacing rate, so that a larger window does not cause a burst.
    #[serde(default = "yes")]
    pub pace: bool,
    /// Latency from the access point to the proxy.
    #[serde(default = "ten_ms")]
    pub report_delay: Duration,
    /// Latency from the proxy to a sender, and back for its round trips.
    #[serde(default)]
    pub command_delay: Duration,
    /// Longest interval between reports of the access point. Predictors need reports between
    /// changes.
    #[serde(default = "ten_ms")]
    pub report_every: Duration,
    /// Interval at which the last message to a sender is repeated.
    #[serde(default = "hundred_ms")]
    pub repeat: Duration,
    /// Time without a report after which a link counts as one at its slowest rate.
    #[serde(default = "one_second")]
    pub silence: Duration,
    /// Assumed round trip until one has been measured.
    #[serde(default = "forty_ms")]
    pub base_rtt: Duration,
    /// Probability that a report or a message to a sender is lost.
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
