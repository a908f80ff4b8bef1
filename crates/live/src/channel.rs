//! The demand channel: messages between controllers, agents and observers over TCP and TLS 1.3.
//!
//! Signals, not this channel, open and close gates. The channel carries reports, grants and notes
//! of daemons, which may be a millisecond late. It runs on a thread of its own. Its callers run on
//! ordinary threads.
//!
//! Both sides authenticate with certificates ([`crate::keys`]). A peer has one connection: a new
//! one with the same name replaces it. Both sides send a ping every [`Timing::ping`]. A side that
//! receives nothing for [`Timing::silence`] considers the other one dead. A server reads of each
//! peer what it [may send](Timing::messages), and leaves the rest in the peer's system.
//!
//! A record on the wire has a length (4 bytes, big endian; 1 B to 1 MiB, without the length
//! itself), a kind (1 byte) and its content:
//!
//! | kind | content |
//! | --- | --- |
//! | 0 | a note: JSON in UTF-8 |
//! | 1 | a part of a control message: the sender's clock as it was sent (8 bytes, picoseconds, two's complement, big endian), then one datagram of [`Control::encode`](timeplane_protocol::wire::Control::encode) |
//! | 2 | a ping: nothing |

mod client;
mod counters;
mod outbox;
mod pump;
mod record;
mod server;
mod strangers;

pub use crate::tokens::Allowance;
pub use client::Client;
pub use counters::Counters;
pub use record::{MAX_RECORD, Record, RecordError};
pub use server::Server;

use std::net::SocketAddr;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::{Control, EncodeError};

/// Number of a connection, unique in its server or client. A peer that reconnects has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// Events of a channel. They are delivered one after the other on the channel's thread. A slow
/// handler delays all peers; one that takes longer than [`Timing::silence`] loses them.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer has connected.
    Joined {
        /// Number of its connection.
        peer: PeerId,
        /// Name in its certificate.
        name: String,
    },
    /// A note has arrived.
    Note {
        /// Number of the sender's connection.
        peer: PeerId,
        /// Content of the note.
        note: serde_json::Value,
    },
    /// A complete message of the protocol has arrived.
    Control {
        /// Number of the sender's connection.
        peer: PeerId,
        /// Time of sending, by the sender's clock.
        sent_at: Time,
        /// The message.
        control: Control,
    },
    /// A peer has left. No more events with its number follow.
    Left {
        /// Number of its connection.
        peer: PeerId,
        /// Explanation for the log.
        why: String,
    },
}

/// Timers and limits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time between two pings. 200 ms.
    pub ping: Duration,
    /// A peer that sends nothing, or accepts nothing, for this time is gone. 1 s.
    pub silence: Duration,
    /// Maximum time of a new connection's authentication. 5 s.
    pub handshake: Duration,
    /// Maximum time until a server takes a client's connection. 250 ms: the kernel itself asks
    /// again after a second only, so a server that returns would be found late.
    pub connect: Duration,
    /// Longest pause of a client before it asks a server again that it could not reach. 25 ms.
    pub away_pause: Duration,
    /// Longest pause after the first connection that a server has taken and ended. Pauses double
    /// up to [`longest_pause`](Self::longest_pause). 50 ms.
    pub first_pause: Duration,
    /// The longest such pause, so that a server which refuses a client has little work with it.
    /// 2 s.
    pub longest_pause: Duration,
    /// A connection that lasted for this long was a good one: pauses start anew. 2 s.
    pub good_after: Duration,
    /// Maximum number of unauthenticated connections of a server. Beyond it, one of the source that
    /// has most of them is closed. A source is an IPv4 address or a /64 of IPv6. 256.
    pub strangers: usize,
    /// Maximum number of unauthenticated connections of a source. Beyond it, its oldest one is
    /// closed, as a real peer authenticates within milliseconds. 32.
    pub strangers_per_source: usize,
    /// How often a source may connect. 100 a second, and 200 at once.
    pub connects: Allowance,
    /// Notes that a server reads of a peer: 50 a second, and 100 at once. One of more than 1 KiB
    /// counts once for each KiB.
    pub notes: Allowance,
    /// Other records that a server reads of a peer: 5,000 a second and at once. One of more than
    /// 4 KiB counts once for every 4 KiB.
    pub messages: Allowance,
    /// Maximum number of bytes queued for a peer, in records as on the wire. 4 MiB.
    pub queue: usize,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ping: Duration::from_ms(200),
            silence: Duration::from_secs(1),
            handshake: Duration::from_secs(5),
            connect: Duration::from_ms(250),
            away_pause: Duration::from_ms(25),
            first_pause: Duration::from_ms(50),
            longest_pause: Duration::from_secs(2),
            good_after: Duration::from_secs(2),
            strangers: 256,
            strangers_per_source: 32,
            connects: Allowance { per_second: 100, burst: 200 },
            notes: Allowance { per_second: 50, burst: 100 },
            messages: Allowance { per_second: 5000, burst: 5000 },
            queue: 4 << 20,
        }
    }
}

/// A channel could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The socket cannot be opened.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address of the socket.
        address: SocketAddr,
        /// The system's message.
        source: std::io::Error,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread of the channel: {source}")]
    Start {
        /// The system's message.
        source: std::io::Error,
    },
    /// The name cannot be in a certificate.
    #[error("invalid server name {name:?}: expected a name such as controller-0")]
    Name {
        /// The invalid name.
        name: String,
    },
}

/// A record was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The peer has left or has not connected yet.
    #[error("the peer is not connected")]
    Gone,
    /// The message cannot be encoded.
    #[error("cannot send the message: {0}")]
    Encode(#[from] EncodeError),
    /// The record is longer than the limit of a record or of the queue.
    #[error("message of {length} B: expected at most {most} B")]
    TooLong {
        /// Length of the record, in bytes.
        length: usize,
        /// Limit, in bytes.
        most: usize,
    },
    /// The peer accepts nothing, and its queue is full of notes, none of which may be lost. It is
    /// disconnected.
    #[error("the peer reads too slowly; connection closed")]
    Stuck,
}

/// Converts to tokio's duration; negative ones become 0.
fn wait(d: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos((d.as_ps().max(0) / 1000) as u64)
}

#[cfg(test)]
mod tests;
