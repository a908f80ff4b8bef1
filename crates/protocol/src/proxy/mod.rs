//! A proxy that tells TCP what a 60 GHz link can carry (Drago et al., "QoS Provisioning in 60 GHz Communications by Physical and
//! Transport Layer Coordination", MASS 2019, section III).
//!
//! A [`LinkReporter`] beside the access point says what its link does in [`LinkReport`]s. A [`WindowProxy`] makes windows of them, by
//! a [`WindowPolicy`], and says them to senders of TCP in [`Steer`] messages. Senders set the window only: what
//! is lost is theirs to find and repair.

mod agent;
mod ladder;
mod network;
mod policy;
mod predicted;
mod proactive;
mod reactive;
mod report;
mod reporter;

pub use agent::{ProxyInput, WindowProxy, WindowProxyConfig, WindowProxyCounters};
pub use ladder::RateLadder;
pub use policy::{LinkView, ProxyPolicy, WindowPolicy};
pub use predicted::{Predicted, PredictedConfig};
pub use proactive::{Proactive, ProactiveConfig};
pub use reactive::Reactive;
pub use report::{Freshness, LinkReport, LinkSample, LinkUse, QueueSample, Steer};
pub use reporter::{LinkReporter, LinkReporterConfig, ReporterInput};
