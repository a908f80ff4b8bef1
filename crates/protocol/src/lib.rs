//! Sans-IO agents: what runs on hosts and beside the network, as state machines.
//!
//! An [`Agent`] is told the time and what came in, and answers with values: send this message, open this gate. It reads no clock
//! and has no socket; the simulator and the Linux driver run the same agents. Times are readings of the agent's own clock; where agents talk
//! about time, their clocks agree up to the error that the controller is configured with.
//!
//! Three controllers collect [`Report`]s: the [`SlotController`] asks a [`Scheduler`](timeplane_schedule::Scheduler) for rounds of slots, the
//! [`TimeslotController`] an [`Arbiter`](timeplane_schedule::Arbiter) for slots of one packet, and both send [`Grants`]; the [`RateController`] sends
//! [`Rates`]. The [`CircuitController`] sets a circuit switch, the [`FlywayController`] has racks linked by radio ([`RadioLinks`]) or otherwise. It and the [`SlotController`] may open gates by [`Pfc`] frames instead of by time, and a
//! [`Standby`] replaces a controller that is lost. Where hosts are many, a [`Relay`] for each part of them stands between them and the controller of
//! slots. A [`HostAgent`] per host reports, and executes what it gets through a [`Gate`] per queue, or by a
//! rate for it.
//!
//! A [`WindowProxy`] plans nothing: it hears from a [`LinkReporter`] what a 60 GHz link carries, and tells senders of TCP the window for it.
//!
//! [`wire`] has all of this, and the frames of Ethernet and REACToR that gate hosts, as bytes.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod agent;
mod circuits;
mod flyways;
mod gate;
mod host;
mod inbox;
mod live;
mod message;
pub mod numbering;
mod proxy;
mod radio_links;
mod rates;
mod relay;
mod signalled;
mod signaller;
mod slots;
mod standby;
mod timeslots;
pub mod wire;

pub use agent::{Address, Agent, ClassFault, Event, Input, Opening, Output, PlanFault, Side};
pub use circuits::{ACKNOWLEDGEMENTS, CircuitController, CircuitControllerConfig, CircuitControllerCounters, SLACK};
pub use flyways::{FlywayController, FlywayControllerConfig, FlywayControllerCounters};
pub use gate::{Gate, Refused};
pub use host::{HostAgent, HostConfig, HostCounters, Reporting};
pub use inbox::ReportCounters;
pub use message::{Gathered, Grants, Heartbeat, Message, Part, Pfc, RackFlyways, RackLink, RackShare, Rates, Report};
pub use proxy::{
    Freshness, LinkReport, LinkReporter, LinkReporterConfig, LinkSample, LinkUse, LinkView, Policy, Predicted,
    PredictedConfig, Proactive, ProactiveConfig, ProxyInput, QueueSample, RateLadder, Reactive, ReporterInput, Steer,
    WindowPolicy, WindowProxy, WindowProxyConfig, WindowProxyCounters,
};
pub use radio_links::{Pointing, RadioLinks};
pub use rates::{Estimator, RateController, RateControllerConfig, RateControllerCounters};
pub use relay::{Relay, RelayConfig, RelayCounters};
pub use signaller::SignalConfig;
pub use slots::{ControllerCounters, SlotController, SlotControllerConfig};
pub use standby::{MakeScheduler, Standby, Succession};
pub use timeslots::{TimeslotController, TimeslotControllerConfig, TimeslotControllerCounters};
