//! The demand channel: what controller, agents and observers tell each other over TCP and TLS 1.3.
//!
//! Nothing here opens a gate: that is the signals' business. The channel carries reports, grants
//! and what daemons say of themselves, and is allowed to be a millisecond late. It runs on a thread
//! of its own; whoever sends or is told runs on ordinary threads.
//!
//! Both sides prove by a certificate who they are ([`crate::keys`]). A peer has one connection: one
//! that comes with the name of another that is there replaces it. Both sides send a ping every
//! [`Timing::ping`]; a side that hears nothing for [`Timing::silence`] takes the other for dead.
//!
//! Records on the wire: their length (4 bytes, big endian; what follows it, 1 to 1 MiB), their kind
//! (1 byte), their content:
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

pub use client::Client;
pub use counters::Counters;
pub use record::{MAX_RECORD, Record, RecordError};
pub use server::Server;

use std::net::SocketAddr;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::{Control, EncodeError};

/// A connection. No other ever has the same number in the same server or client; a peer that comes
/// back has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// What the channel has to tell. Events come one after the other, on the channel's thread: a
/// function that takes long lets peers wait, and one that takes longer than [`Timing::silence`]
/// loses them.
#[derive(Clone, Debug)]
pub enum Event {
    /// Somebody is there.
    Joined {
        /// By which it is named from now on.
        peer: PeerId,
        /// Of its certificate.
        name: String,
    },
    /// It says something.
    Note {
        /// Who.
        peer: PeerId,
        /// What.
        note: serde_json::Value,
    },
    /// A message of the protocol, complete.
    Control {
        /// Of whom.
        peer: PeerId,
        /// When it was sent, by the sender's clock.
        sent_at: Time,
        /// The message.
        control: Control,
    },
    /// It is gone. Nothing comes of this number any more.
    Left {
        /// Who.
        peer: PeerId,
        /// For people.
        why: String,
    },
}

/// How a channel behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two pings. 200 ms.
    pub ping: Duration,
    /// Who has not been heard of, or has taken nothing, for so long is gone. 1 s.
    pub silence: Duration,
    /// How long a stranger has to prove who it is. 5 s.
    pub handshake: Duration,
    /// The first pause of a client before it connects again; each is twice the one before, up to
    /// [`longest_pause`](Self::longest_pause). 50 ms.
    pub first_pause: Duration,
    /// The longest pause. 2 s.
    pub longest_pause: Duration,
    /// How many strangers a server bears at a time. Where there are more, the one that has been
    /// there longest is turned away: a real peer takes milliseconds. 256.
    pub strangers: usize,
    /// How many bytes wait for a peer at most, records as they are on the wire. 4 MiB.
    pub queue: usize,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ping: Duration::from_ms(200),
            silence: Duration::from_secs(1),
            handshake: Duration::from_secs(5),
            first_pause: Duration::from_ms(50),
            longest_pause: Duration::from_secs(2),
            strangers: 256,
            queue: 4 << 20,
        }
    }
}

/// A channel could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// No socket.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where it was to be.
        address: SocketAddr,
        /// The system's message.
        source: std::io::Error,
    },
    /// No thread for it.
    #[error("cannot start the thread of the channel: {source}")]
    Start {
        /// The system's message.
        source: std::io::Error,
    },
    /// No name that a certificate can have.
    #[error("invalid server name {name:?}: expected a name such as controller-0")]
    Name {
        /// As given.
        name: String,
    },
}

/// A record was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Nobody is there: it has left, or has not come yet.
    #[error("the peer is not connected")]
    Gone,
    /// The message cannot be written.
    #[error("cannot send the message: {0}")]
    Encode(#[from] EncodeError),
    /// It is longer than a record may be, or than what may wait for a peer.
    #[error("message of {length} B: expected at most {most} B")]
    TooLong {
        /// In bytes.
        length: usize,
        /// In bytes.
        most: usize,
    },
    /// It takes nothing: its queue is full of notes, of which none may be lost. It is cut off.
    #[error("the peer reads too slowly; connection closed")]
    Stuck,
}

/// Waits of tokio; what is negative does not wait.
fn wait(d: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos((d.as_ps().max(0) / 1000) as u64)
}

#[cfg(test)]
mod tests;
