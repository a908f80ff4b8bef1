//! The lab of the proxy: an emulated radio link, and the runs of a scenario over it.
//!
//! - An [`Emulator`] carries packets between two TUN interfaces like a link that follows a
//!   [`RateTrace`]: a list of steps, or the trace of the simulator. Its queue is arithmetic
//!   ([`Fifo`]).
//! - An [`AccessPoint`] reports the state of that link in datagrams, by the simulator's agent.
//! - A [`ProxyLab`] puts these and the proxy together in namespaces and measures. [`answers`] runs
//!   a scenario in it.

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
pub use lab::{Figures, LabScheme, ProxyLab, ProxyLabError, RoundTrips};
pub use rate_trace::{Phase, RateTrace, RateTraceError};
pub use tables::RecordError;
