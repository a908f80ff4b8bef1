//! A proxy that tells TCP senders what a 60 GHz link can carry.
//!
//! After Drago et al., "QoS Provisioning in 60 GHz Communications by Physical and Transport Layer
//! Coordination", MASS 2019, section III. A [`LinkReporter`] at the access point sends
//! [`LinkReport`]s. A [`WindowProxy`] computes windows by a [`WindowPolicy`] and sends them to TCP
//! senders in [`Steer`] messages. Senders only set the window, and still find and repair losses.

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
