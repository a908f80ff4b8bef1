//! What programs and the agent's loop see of streams.

use serde::Serialize;
use timeplane_model::{Bytes, HostId, Time};
use timeplane_protocol::wire::MacAddress;
use timeplane_transport::{RawConfig, RawFrame};

/// How a host's streams are sent and received.
#[derive(Clone, Debug)]
pub struct StreamsConfig {
    /// This host.
    pub host: HostId,
    /// Its address: frames for others are not taken.
    pub mac: MacAddress,
    /// Counts the starts of this agent.
    pub epoch: u32,
    /// The longest packet of the network, bytes without Ethernet's header; at least 576, what less
    /// than that is counts as 576.
    pub mtu: u32,
    /// Bytes of a stream that its sender keeps until they are acknowledged. All hosts have to agree
    /// on it: a receiver keeps up to twice as much. Less than four frames count as four.
    pub send_buffer: Bytes,
    /// IP packets that wait for a destination, bytes.
    pub packet_queue: Bytes,
    /// Timers of the repair. A sender should wait longer than a receiver's reports take, which come
    /// after 20 ms at the latest.
    pub raw: RawConfig,
}

impl StreamsConfig {
    /// The usual: an MTU of 1500, 4 MiB a stream, 1 MiB of packets a destination, senders that ask
    /// after 50 ms.
    pub fn new(host: HostId, mac: MacAddress, epoch: u32) -> Self {
        Self {
            host,
            mac,
            epoch,
            mtu: 1500,
            send_buffer: Bytes::new(4 << 20),
            packet_queue: Bytes::new(1 << 20),
            raw: RawConfig { resend_timeout: timeplane_model::Duration::from_ms(50), ..RawConfig::default() },
        }
    }

    /// The largest payload of a frame, bytes; the MTU of a TUN interface whose packets are carried.
    pub fn max_payload(&self) -> u32 {
        self.mtu.clamp(576, u32::from(u16::MAX)) - super::frames::HEADER as u32
    }
}

/// A stream that this host sends. Numbers are not used again while the agent runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub(super) u32);

impl StreamId {
    /// As frames name it.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A program that waits for streams at a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListenerId {
    pub(super) port: u16,
    pub(super) number: u64,
}

/// A stream that this host receives: the host that sends it, the epoch of that host's agent, and
/// its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IncomingId {
    pub(super) host: HostId,
    pub(super) epoch: u32,
    pub(super) stream: u32,
}

impl IncomingId {
    /// Who sends it.
    pub fn from(self) -> HostId {
        self.host
    }
}

/// Why a stream is not to be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamError {
    /// A destination that nobody has told of.
    #[error("unknown host {}", .0.0)]
    UnknownHost(HostId),
    /// A stream that was never opened, or has been forgotten.
    #[error("stream {0} is not open")]
    UnknownStream(u32),
    /// Bounds are reached.
    #[error("{have} {what} are open: no more are allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        have: usize,
    },
    /// More is written than was declared.
    #[error("{found} B written to a stream that was declared with {declared} B")]
    TooLong {
        /// The stream's length.
        declared: u64,
        /// With what was to be written.
        found: u64,
    },
    /// The stream had been finished, or has its declared length.
    #[error("the stream is finished: nothing more can be written")]
    Finished,
    /// Nobody takes it.
    #[error("host {} closed the stream: no program listens at its port, the program stopped reading, or the agent was restarted", .host.0)]
    GivenUp {
        /// The destination.
        host: HostId,
    },
}

/// How far a stream is that this host sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// The destination.
    pub to: HostId,
    /// Bytes taken from the program.
    pub accepted: u64,
    /// Bytes of these that the receiver's agent has.
    pub acknowledged: u64,
    /// Frames of it that were sent again.
    pub resent: u64,
    /// The program has finished, and the receiver's agent has everything.
    pub complete: bool,
    /// The receiver takes no more, as [`StreamError::GivenUp`] says; the rest does not arrive.
    pub given_up: bool,
}

/// What there is to read of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// So many bytes were put into the buffer.
    Bytes(usize),
    /// None now; or no room for any.
    Nothing,
    /// The stream has ended, and all of it was read.
    End,
    /// The rest will never come: the sender's program is gone, or its agent was started anew. Also
    /// where the stream has been closed here.
    Broken,
}

/// What the agent's loop had to look after at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    pub(super) awoken: u64,
    pub(super) deadline: Option<Time>,
}

/// A frame that [`Streams::next_frame`](super::Streams::next_frame) has built.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub(super) to: HostId,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Packet(u64),
    Stream(u32, RawFrame),
}

/// What streams have counted. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounters {
    /// Frames of streams that were sent.
    pub frames_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Frames of these whose bytes had been sent before.
    pub frames_resent: u64,
    /// Frames, packets too, that did not leave: the gate refused them. They are not among those
    /// sent.
    pub frames_refused: u64,
    /// Frames of streams that came.
    pub frames_received: u64,
    /// Bytes of streams that came for the first time.
    pub bytes_received: u64,
    /// Frames of streams of which nothing was new.
    pub frames_duplicate: u64,
    /// Frames beyond what is kept of a stream.
    pub frames_beyond: u64,
    /// Frames that came while nobody listened at their port.
    pub frames_unheard: u64,
    /// Frames of new streams while their sender had as many as are allowed.
    pub frames_crowded: u64,
    /// Frames that cannot be read, or contradict what came before.
    pub frames_malformed: u64,
    /// Frames of agents that have been replaced.
    pub frames_stale: u64,
    /// Frames for another address, or of hosts that are not known.
    pub frames_foreign: u64,
    /// Reports that were sent.
    pub reports_sent: u64,
    /// Reports that came.
    pub reports_received: u64,
    /// IP packets that were sent.
    pub packets_sent: u64,
    /// Their bytes.
    pub packet_bytes_sent: u64,
    /// IP packets that came.
    pub packets_received: u64,
    /// Their bytes.
    pub packet_bytes_received: u64,
    /// IP packets that found no room in their queue, were too long for a frame, or went to hosts
    /// that are not known.
    pub packets_dropped: u64,
    /// Streams that were opened here.
    pub streams_opened: u64,
    /// Streams that were delivered as a whole.
    pub streams_delivered: u64,
    /// Streams of this host that their receivers gave up.
    pub streams_given_up: u64,
    /// Streams that programs here were given.
    pub streams_accepted: u64,
    /// Streams that came here and broke.
    pub streams_broken: u64,
    /// Streams that came here and nobody listened for.
    pub streams_refused: u64,
}
