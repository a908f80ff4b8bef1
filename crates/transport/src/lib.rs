//! Transports as state machines: TCP at the level of segments, and raw frames with an end-to-end repair.
//!
//! Nothing here reads a clock, opens a socket or draws a random number. A driver owns a [`Sender`] and a
//! [`Receiver`] per flow and
//!
//! 1. calls [`Sender::start`] when the flow arrives,
//! 2. after each call that takes `&mut self` asks [`Sender::poll`] for segments until there are none,
//! 3. carries each [`Segment`] to [`Receiver::on_segment`] and each [`Ack`] to [`Sender::on_ack`],
//! 4. calls `on_timeout` of either side when its one `deadline` has come,
//! 5. drops both when [`Sender::is_done`].
//!
//! A [`Sender`] may be steered by somebody who knows the path ([`Sender::steer`]), and may be given its bytes bit by bit
//! ([`Sender::limit_to`]).
//!
//! A deadline may move with every acknowledgement. It is cheap to ask for, so a driver may leave a timer where
//! it is, and ask again when it fires: `on_timeout` before the deadline does nothing.
//!
//! What is *not* here: FIN (a flow has ended when all its bytes are acknowledged), urgent data, window
//! updates, timestamps, RACK and tail loss probes, proportional rate reduction, idle restart. Sequence numbers
//! are 64 bits, count from zero and do not wrap; a SYN takes no sequence number.
//!
//! Input from the peer never panics: an acknowledgement of what was not sent is ignored.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod config;
pub mod congestion;
mod delivery;
mod raw;
mod receiver;
mod rtt;
mod sack;
mod segment;
mod sender;

pub use config::{DelayedAck, TcpConfig};
pub use congestion::CongestionKind;
pub use raw::{MAX_GAPS, RawConfig, RawFrame, RawReceiver, RawSender, Report};
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sack::{Range, RangeSet};
pub use segment::{Ack, Arrival, HEADER_BYTES, MAX_SACK_BLOCKS, SackBlocks, Segment, ack_options_bytes};
pub use sender::{Sender, Steering};
