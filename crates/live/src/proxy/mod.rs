//! A proxy that tells kernel TCP what a 60 GHz link can carry (Drago et al., MASS 2019, section
//! III).
//!
//! - A [`SplitProxy`] terminates connections and opens new ones towards the radio. [`Steering`]
//!   sets the windows of these as the access point's reports ask for, by the agent that the
//!   simulator drives too.
//! - An [`Actuator`] applies a window: a congestion control in BPF ([`WindowControl`]), or the size
//!   of the send buffer.
//! - `timeplane live proxy --listen` is the proxy of a real edge: it takes direct connections, or
//!   those that netfilter redirects to it.

mod actuator;
mod clock;
mod connections;
mod daemon;
mod sockets;
mod split;
mod steering;
mod window;

pub use actuator::{Actuator, Order};
pub use clock::{Clock, wall};
pub use connections::{Connections, Halves, SplitCounters};
pub use daemon::{ProxyArgs, proxy};
pub use sockets::{TcpInfo, set_pacing};
pub use split::{SplitConfig, SplitProxy, Target};
pub use steering::{Steering, SteeringConfig, SteeringCounters};
pub use window::{WindowControl, WindowCounters, WindowError};
