//! The policy of a window proxy, which is an agent of a scheme without a plan.
//!
//! A proxy computes the congestion windows of TCP senders from reports of access points.

use timeplane_protocol::{Policy, PredictedConfig, ProactiveConfig};
use timeplane_scenario::ProxyPolicy;

/// Converts the specification of a proxy's policy.
pub fn window_policy(policy: ProxyPolicy) -> Policy {
    match policy {
        ProxyPolicy::Reactive {} => Policy::Reactive,
        ProxyPolicy::Proactive(p) => {
            Policy::Proactive(ProactiveConfig { window: p.window, drop: p.drop as usize, ttr: p.ttr, growth: p.growth })
        }
        ProxyPolicy::Predicted(p) => Policy::Predicted(PredictedConfig { boldness: p.boldness }),
    }
}
