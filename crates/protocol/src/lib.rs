//! Sans-IO agents: what runs on hosts and beside the network, as state machines.
//!
//! An [`Agent`] is told the time and what came in, and answers with values: send this message, open this gate. It reads no clock
//! and has no socket; the simulator and the Linux driver run the same agents. Times are readings of the agent's own clock; where agents talk
//! about time, their clocks agree up to the error that the controller is configured with.
//!
//! Here so far: slots with grants by time. The [`SlotManager`] collects [`Report`]s, asks a
//! [`Scheduler`](timeplane_schedule::Scheduler) for rounds of slots and sends [`Grants`]; a [`HostAgent`] per host reports, and
//! executes its grants through a [`Gate`] per queue.

mod agent;
mod gate;
mod host;
mod message;
mod rates;
mod slots;
mod timeslots;

pub use agent::{Address, Agent, Event, Input, Opening, Output, PlanFault};
pub use gate::{Gate, Refused};
pub use host::{HostAgent, HostConfig, HostCounters, Reporting};
pub use message::{Grants, Message, Rates, Report};
pub use rates::{Estimator, RateManager, RateManagerConfig, RateManagerCounters};
pub use slots::{ManagerCounters, SlotManager, SlotManagerConfig};
pub use timeslots::{TimeslotManager, TimeslotManagerConfig, TimeslotManagerCounters};
