//! Control frames as bytes: what agents and switches say to each other, as it is on a wire.
//!
//! - Ethernet's own: [`PauseFrame`] (802.3x) and [`PfcFrame`] (802.1Qbb), and ours with 11 bits of class, [`ExtendedPfcFrame`],
//!   which a [`Pfc`](crate::Pfc) is.
//! - Over UDP: [`Control`], which is a [`Message`](crate::Message), REACToR's [`PeriodSchedule`] and [`Heartbeat`], the
//!   [`ClassNames`] of a host, or what a [proxy](crate::WindowProxy) hears and says. What does not fit into a datagram goes into several, which a [`Reassembler`] joins.
//! - [`Pfc::seal`](crate::Pfc::seal) adds a tag to a signal, so that nobody else can give it; [`DataHeader`] is before the data of live agents.
//! - [`UdpFrame`] puts a datagram into IPv4 and Ethernet.
//!
//! All numbers are big-endian. Frames are without preamble and FCS, which the hardware adds. Parsers take any bytes, never panic, and
//! tell what is wrong with them ([`WireError`]); what they give has no byte that they did not look at, save padding that the standards
//! tell a receiver to ignore.

mod bytes;
mod classes;
mod control;
mod data;
mod datagram;
mod error;
mod ethernet;
mod extended;
mod flyways;
mod message;
mod pause;
mod proxy;
mod quanta;
mod reactor;
mod reassembler;
mod relay;
mod sealed;
mod signal;
mod udp;

pub use classes::ClassNames;
pub use control::Control;
pub use data::{DataHeader, DataKind, ETHER_TYPE_DATA, GIVEN_UP, UNGATED, encode_repair, parse_repair};
pub use datagram::{Header, MAX_PARTS, PORT, ROOM};
pub use error::{EncodeError, WireError};
pub use ethernet::{
    ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_MAC_CONTROL, MAC_CONTROL_ADDRESS, MIN_FRAME, MacAddress, MacAddressError,
};
pub use extended::{Carrier, ExtendedPfcFrame, OPCODE_EXTENDED_PFC, PfcClass};
pub use pause::{ControlFrame, OPCODE_PAUSE, OPCODE_PFC, PauseFrame, PfcFrame};
pub use quanta::Quanta;
pub use reactor::{Circuit, Configuration, EpsShare, Heartbeat, HostPeriod, PeriodSchedule, ScheduleFault, Via};
pub use reassembler::{Limits, Reassembler, ReassemblerCounters};
pub use sealed::{Heard, SignalEncoding, SignalKey};
pub use udp::{Endpoint, UdpFrame};

pub(crate) use message::long_times;
