//! Sans-IO agents of hosts and controllers, as state machines.
//!
//! An [`Agent`] gets inputs with the current time and answers with values, such as messages to send
//! and gates to open. It reads no clock and has no socket, so the simulator and the Linux driver
//! run the same agents. Times are readings of the agent's own clock. Clocks of different agents
//! agree up to an error that controllers are configured with.
//!
//! Controllers collect reports of hosts and plan:
//!
//! - The [`SlotController`] asks a [`Scheduler`](timeplane_schedule::Scheduler) for rounds of slots
//!   and sends [`Grants`]. A [`Standby`] takes over from a controller that fails. A [`Relay`] for
//!   each part of the hosts stands between them and the controller.
//! - The [`TimeslotController`] asks an
//!   [`TimeslotAllocator`](timeplane_schedule::TimeslotAllocator) for slots of one packet, and
//!   sends [`Grants`] as well.
//! - The [`RateController`] sends [`Rates`].
//! - The [`CircuitController`] sets a circuit switch. It and the [`SlotController`] may open gates
//!   by [`Pfc`] frames instead of by time.
//! - The [`FlywayController`] links racks by radio ([`RadioLinks`]) or otherwise.
//!
//! The [`HostAgent`] of each host reports and executes grants through the [`Gates`] of its queues.
//!
//! A [`Rack`] under rotor switches needs no controller: it follows a schedule.
//!
//! A [`WindowProxy`] plans nothing. A [`LinkReporter`] tells it what a 60 GHz link carries, and it
//! tells TCP senders the window for it.
//!
//! [`wire`] encodes all messages, and the Ethernet and REACToR frames that gate hosts, as bytes.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod agent;
mod batch;
mod circuits;
mod epochs;
mod flyways;
mod gates;
mod host;
mod inbox;
mod live;
mod message;
pub mod numbering;
mod proxy;
mod rack;
mod radio_links;
mod rates;
mod relay;
mod signalled;
mod signaller;
mod slots;
mod standby;
mod timeslots;
pub mod wire;
mod witnesses;

pub use agent::{Address, Agent, ClassFault, Event, Input, Opening, Output, PlanFault, RateChange, Side};
pub use batch::{GrantBatch, Timeslot};
pub use circuits::{ACKNOWLEDGEMENTS, CircuitController, CircuitControllerConfig, CircuitControllerCounters, SLACK};
pub use epochs::KnownEpochs;
pub use flyways::{FlywayController, FlywayControllerConfig, FlywayControllerCounters};
pub use gates::{Gates, Refused};
pub use host::{Detail, HostAgent, HostConfig, HostCounters, Reporting};
pub use inbox::ReportCounters;
pub use message::{
    BacklogReport, Gathered, Grants, Heartbeat, Message, Part, Pfc, RackFlyways, RackLink, RackShare, Rates,
    short_round, size,
};
pub use proxy::{
    Freshness, LinkReport, LinkReporter, LinkReporterConfig, LinkSample, LinkUse, LinkView, Predicted, PredictedConfig,
    Proactive, ProactiveConfig, ProxyInput, ProxyPolicy, QueueSample, RateLadder, Reactive, ReporterInput, Steer,
    WindowPolicy, WindowProxy, WindowProxyConfig, WindowProxyCounters,
};
pub use rack::{NextPacket, Rack, RackConfig, RackCounts, RackPacket};
pub use radio_links::{Pointing, RadioLinks};
pub use rates::{RateController, RateControllerConfig, RateControllerCounters, RateEstimator};
pub use relay::{Relay, RelayConfig, RelayCounters};
pub use signaller::SignalConfig;
pub use slots::{ControlPorts, ControllerCounters, SlotController, SlotControllerConfig};
pub use standby::{MakeScheduler, Standby, Succession};
pub use timeslots::{TimeslotController, TimeslotControllerConfig, TimeslotControllerCounters};
