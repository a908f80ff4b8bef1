//! Messages of agents and switches as bytes.
//!
//! - Ethernet's control frames: [`PauseFrame`] (802.3x), [`PfcFrame`] (802.1Qbb), and
//!   [`ExtendedPfcFrame`] with 11 bits of class, which encodes a [`Pfc`](crate::Pfc).
//! - Over UDP: [`Control`], which is a [`Message`](crate::Message), REACToR's [`PeriodSchedule`]
//!   and [`Heartbeat`], the [`ClassNames`] of a host, or a message from or to a
//!   [proxy](crate::WindowProxy). Long ones take several datagrams, which a [`Reassembler`] joins.
//! - [`Pfc::seal`](crate::Pfc::seal) adds a tag to a signal, so that others cannot forge it.
//! - [`DataHeader`] precedes the data of live agents, and a [`PairKey`] seals them. [`HopHeader`]
//!   precedes datagrams between racks under rotor switches.
//! - [`UdpFrame`] puts a datagram into IPv4 and Ethernet.
//!
//! All numbers are big-endian. Frames have neither preamble nor FCS, which the hardware adds.
//! Parsers take any bytes, never panic, and explain errors ([`WireError`]). They check every byte,
//! except for padding that receivers must ignore by the standards.

mod bytes;
mod classes;
mod control;
mod data;
mod datagram;
mod error;
mod ethernet;
mod extended;
mod flyways;
mod hop;
mod message;
mod pair_key;
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
pub use extended::{ExtendedPfcFrame, OPCODE_EXTENDED_PFC, PfcClass, SignalEtherType};
pub use hop::HopHeader;
pub use pair_key::{HostSecret, PairKey};
pub use pause::{ControlFrame, OPCODE_PAUSE, OPCODE_PFC, PauseFrame, PfcFrame};
pub use quanta::Quanta;
pub use reactor::{Circuit, Configuration, EpsShare, Heartbeat, HostPeriod, PeriodSchedule, ScheduleFault, Via};
pub use reassembler::{Limits, Reassembler, ReassemblerCounters};
pub use sealed::{Heard, SignalEncoding, SignalKey};
pub use udp::{Endpoint, UdpFrame};

pub(crate) use message::{coflow_items, long_times};
