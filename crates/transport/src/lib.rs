//! Sans-IO transports: TCP at the level of segments, raw frames with an end-to-end repair, and
//! [NDP](ndp).
//!
//! Nothing here reads a clock, opens a socket or draws a random number. For each flow, a driver
//! owns a [`Sender`] and a [`Receiver`] and
//!
//! 1. calls [`Sender::start`] when the flow arrives,
//! 2. calls [`Sender::poll`] until it returns none, after each call that takes `&mut self`,
//! 3. carries each [`Segment`] to [`Receiver::on_segment`] and each [`Ack`] to [`Sender::on_ack`],
//! 4. calls `on_timeout` of either side at its `deadline`,
//! 5. drops both when [`Sender::is_done`].
//!
//! A [`Sender`] can be steered from outside ([`Sender::steer`]), and can get its bytes gradually
//! ([`Sender::limit_to`]).
//!
//! A deadline may move with every acknowledgement. Reading it is cheap, so a driver may leave a
//! timer as it is and read the deadline again when it fires. `on_timeout` before the deadline does
//! nothing.
//!
//! Not supported: FIN (a flow ends when all its bytes are acknowledged), urgent data, applications
//! that read slowly, and idle restart. Sequence numbers have 64 bits, start at zero
//! and do not wrap. A SYN takes no sequence number.
//!
//! Invalid input never panics: acknowledgements of bytes that were not sent are ignored.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod config;
pub mod congestion;
mod delivery;
pub mod ndp;
mod raw;
mod receive_window;
mod receiver;
mod rtt;
mod sack;
mod segment;
mod sender;
mod timestamps;

pub use config::{DelayedAck, TcpConfig};
pub use congestion::CongestionKind;
pub use raw::{MAX_MISSING, RawConfig, RawFrame, RawReceiver, RawSender, RepairReport};
pub use receiver::Receiver;
pub use rtt::{RtoRule, RttEstimator};
pub use sack::{Range, RangeSet};
pub use segment::{
    Ack, Arrival, HEADER_BYTES, MAX_SACK_BLOCKS, SackBlocks, Segment, TIMESTAMP_BYTES, ack_options_bytes,
};
pub use sender::{Sendable, Sender, Steering};
pub use timestamps::TIMESTAMP_TICK;
