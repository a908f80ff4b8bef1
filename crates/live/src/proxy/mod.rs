//! A proxy that tells kernel TCP what a 60 GHz link can carry (Drago et al., MASS 2019, section III), and the link to try it on.
//!
//! - An [`Emulator`] carries packets between two TUN interfaces as a link would that follows a [`Link trace`]: of steps, or the one that the
//!   simulator follows. Its queue is arithmetic ([`Fifo`]).
//! - An [`AccessPoint`] reports what that link does, as datagrams.
//! - A [`SplitProxy`] ends connections and begins others towards the radio, and [`Steering`] sets the windows of these as the reports ask for. Both
//!   agents are those of `timeplane-protocol` that the simulator drives, too.
//! - An [`Actuator`] is how: a congestion control in BPF ([`WindowControl`]), or the size of the send buffer.
//! - `timeplane live proxy --listen` is the proxy of a real edge: connections to it, or those that netfilter turns to it.
//! - A [`ProxyLab`] puts them together in namespaces and measures; [`answers`] runs a scenario in it.

mod access_point;
mod actuator;
pub mod answers;
mod clock;
pub mod command;
mod connections;
mod daemon;
mod delays;
mod emulator;
mod experiment;
mod fifo;
mod lab;
mod rate_trace;
mod sockets;
mod split;
mod steering;
mod stream;
mod tables;
mod window;

pub use access_point::{AccessPoint, AccessPointConfig};
pub use actuator::{Actuator, Order};
pub use clock::Clock;
pub use connections::{Connections, Halves, SplitCounters};
pub use delays::Delays;
pub use emulator::{Counters, Direction, Emulator, EmulatorError, LinkSpec, Measured, tun};
pub use experiment::{Experiment, ExperimentError};
pub use fifo::{Count, Fate, Fifo};
pub use lab::{Figures, LabError, LabScheme, ProxyLab, RoundTrips};
pub use rate_trace::{Phase, RateTrace, RateTraceError};
pub use sockets::{TcpInfo, set_pacing};
pub use split::{SplitConfig, SplitProxy, Target};
pub use steering::{Steering, SteeringConfig, SteeringCounters};
pub use tables::RecordError;
pub use window::{WindowControl, WindowCounters, WindowError};
