//! Labs of the proxy: the link to try it on, and a scenario's runs over it.
//!
//! - An [`Emulator`] carries packets between two TUN interfaces as a link would that follows a [`Link trace`]:
//!   of steps, or the one that the simulator follows. Its queue is arithmetic ([`Fifo`]).
//! - An [`AccessPoint`] reports what that link does, as datagrams, by the agent that the simulator drives too.
//! - A [`ProxyLab`] puts these and the proxy together in namespaces and measures; [`answers`] runs a
//!   scenario in it.

mod access_point;
pub mod answers;
pub mod command;
mod delays;
mod emulator;
mod experiment;
mod fifo;
mod lab;
mod rate_trace;
mod stream;
mod tables;

pub use access_point::{AccessPoint, AccessPointConfig};
pub use delays::Delays;
pub use emulator::{Counters, Direction, Emulator, EmulatorError, LinkSpec, Measured, tun};
pub use experiment::{Experiment, ExperimentError};
pub use fifo::{Count, Fate, Fifo};
pub use lab::{Figures, LabError, LabScheme, ProxyLab, RoundTrips};
pub use rate_trace::{Phase, RateTrace, RateTraceError};
pub use tables::RecordError;
