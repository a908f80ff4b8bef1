//! Public types of streams: configuration, identifiers, errors, progress and counters. Programs and
//! the agent's loop use them.

use super::frames::FrameSizes;
use serde::Serialize;
use timeplane_model::{Bytes, HostId, Time};
use timeplane_protocol::wire::{DataHeader, HostSecret, MacAddress, PairKey};
use timeplane_transport::{RawConfig, RawFrame};

/// How a host's streams are sent and received.
#[derive(Clone, Debug)]
pub struct StreamsConfig {
    /// Number of this host.
    pub host: HostId,
    /// MAC address of this host. Frames for other addresses are rejected.
    pub mac: MacAddress,
    /// Number of this start of the agent.
    pub epoch: u32,
    /// MTU of the network, in bytes without Ethernet's header. Values below 576 count as 576.
    pub mtu: u32,
    /// Bytes of a stream that its sender keeps until they are acknowledged. It must be equal on all
    /// hosts, as a receiver keeps up to twice as much. Values below four frames count as four.
    pub send_buffer: Bytes,
    /// Bytes that all streams together may keep beyond 64 KiB each.
    pub memory: Bytes,
    /// Size of the queue of IP packets for each destination, in bytes.
    pub packet_queue: Bytes,
    /// The secret of this host, if hosts seal the frames between them. Frames without the right
    /// tag are then refused.
    pub secret: Option<HostSecret>,
    /// Number of the first stream. Streams are counted from it, and zero follows the highest
    /// number.
    pub first_stream: u32,
    /// Timers of the repair. The resend timeout should exceed the time until a receiver's report,
    /// which is at most 20 ms.
    pub raw: RawConfig,
}

impl StreamsConfig {
    /// Defaults: an MTU of 1500 B, 4 MiB for each stream and 256 MiB for all, 1 MiB of packets for
    /// each destination, a resend timeout of 50 ms, streams from 1 on, and frames without tags.
    pub fn new(host: HostId, mac: MacAddress, epoch: u32) -> Self {
        Self {
            host,
            mac,
            epoch,
            mtu: 1500,
            send_buffer: Bytes::new(4 << 20),
            memory: Bytes::new(256 << 20),
            packet_queue: Bytes::new(1 << 20),
            secret: None,
            first_stream: 1,
            raw: RawConfig { resend_timeout: timeplane_model::Duration::from_ms(50), ..RawConfig::default() },
        }
    }

    /// The largest payload of a frame, in bytes. It is the MTU of a TUN interface whose packets are
    /// carried.
    pub fn max_payload(&self) -> u32 {
        self.payload_within(self.mtu)
    }

    /// The largest payload of a frame in packets of this size.
    pub(super) fn payload_within(&self, mtu: u32) -> u32 {
        mtu.clamp(576, u32::from(u16::MAX)) - self.sizes().overhead() as u32
    }

    pub(super) fn sizes(&self) -> FrameSizes {
        let tag = if self.secret.is_some() { PairKey::TAG } else { 0 };
        FrameSizes::new(DataHeader::BYTES + tag)
    }
}

/// Another host, as a controller describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerHost {
    /// MAC address of its interface.
    pub mac: MacAddress,
    /// Number of the start of its agent.
    pub epoch: u32,
    /// Key of frames from this host to that one, if hosts seal their frames.
    pub key: Option<PairKey>,
    /// The longest packet that its interface receives, in bytes without Ethernet's header, if it
    /// has told. Values below 576 count as 576.
    pub mtu: Option<u32>,
}

/// A stream that this host sends. Numbers are reused after 2^32 streams.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub(super) u32);

impl StreamId {
    /// The stream's number in frames.
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
    /// The host that sends it.
    pub fn from(self) -> HostId {
        self.host
    }
}

/// Why an operation on a stream failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamError {
    /// The destination is unknown.
    #[error("unknown host {}", .0.0)]
    UnknownHost(HostId),
    /// The stream was never opened, or has ended.
    #[error("stream {0} is not open")]
    UnknownStream(u32),
    /// A limit is reached.
    #[error("{have} {what} are open: no more are allowed")]
    TooMany {
        /// The limited objects, as `streams`.
        what: &'static str,
        /// Current number.
        have: usize,
    },
    /// More is written than was declared.
    #[error("{found} B written to a stream that was declared with {declared} B")]
    TooLong {
        /// Declared length of the stream, in bytes.
        declared: u64,
        /// Length with the rejected bytes.
        found: u64,
    },
    /// The stream had been finished, or has its declared length.
    #[error("the stream is finished: nothing more can be written")]
    Finished,
    /// The receiver has given the stream up.
    #[error("host {} closed the stream: no program listens at its port, the program stopped reading, or the agent was restarted", .host.0)]
    GivenUp {
        /// The destination.
        host: HostId,
    },
    /// The other host stays away.
    #[error("host {} has left and not come back in time: its agent has ended, or reaches no controller", .host.0)]
    Absent {
        /// The other host.
        host: HostId,
    },
}

/// Progress of a stream that this host sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// The destination.
    pub to: HostId,
    /// Bytes taken from the program.
    pub accepted: u64,
    /// Bytes of these that the receiver's agent has.
    pub acknowledged: u64,
    /// Retransmitted frames.
    pub resent: u64,
    /// Whether the program has finished, and the receiver's agent has everything.
    pub complete: bool,
    /// Whether it is given up, for the reason that [`Streams::given_up`](super::Streams::given_up)
    /// tells. The rest does not arrive.
    pub given_up: bool,
}

/// What a program waits for. See [`Streams::watch`](super::Streams::watch).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Awaited {
    /// Room in the send buffer of a stream: its receiver has acknowledged more.
    Room(StreamId),
    /// The end of a stream that this host sends: it is complete or given up.
    Delivered(StreamId),
    /// Bytes or the end of a stream that this host receives.
    Readable(IncomingId),
    /// A stream for a listener.
    Offer(ListenerId),
}

/// Result of reading a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// Number of bytes written to the buffer.
    Bytes(usize),
    /// No bytes are available now, or the buffer is empty.
    Nothing,
    /// The stream has ended, and all of its bytes were read.
    End,
    /// The rest will never arrive: the sender's program is gone, its agent was restarted, or the
    /// stream was closed here.
    Broken,
}

/// The pending work of the agent's loop at some moment. See
/// [`Streams::needs_loop`](super::Streams::needs_loop).
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    pub(super) awoken: u64,
    pub(super) deadline: Option<Time>,
}

/// A frame that [`Streams::next_frame`](super::Streams::next_frame) has built.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub(super) to: HostId,
    pub(super) what: SentItem,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum SentItem {
    Packet(u64),
    Stream(u32, RawFrame),
}

/// Counters of streams. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounters {
    /// Frames of streams that were sent.
    pub frames_sent: u64,
    /// Payload bytes of these frames.
    pub bytes_sent: u64,
    /// Frames of these whose bytes had been sent before.
    pub frames_resent: u64,
    /// Frames, of streams and packets, that the gate or the interface refused. They do not count as
    /// sent.
    pub frames_refused: u64,
    /// Frames of streams that were received.
    pub frames_received: u64,
    /// Bytes of streams that were received for the first time.
    pub bytes_received: u64,
    /// Frames of streams without new bytes.
    pub frames_duplicate: u64,
    /// Frames beyond the buffer of a stream.
    pub frames_beyond: u64,
    /// Frames that arrived while no program listened at their port.
    pub frames_unheard: u64,
    /// Frames of new streams whose sender had reached the limit of open streams.
    pub frames_crowded: u64,
    /// Frames that are invalid or contradict earlier ones.
    pub frames_malformed: u64,
    /// Frames of other agents than those that the controllers name: replaced ones, and ones that
    /// have not been announced yet.
    pub frames_stale: u64,
    /// Frames for another address, or of unknown hosts.
    pub frames_foreign: u64,
    /// Sealed frames whose tag is wrong: forged, or sealed for an earlier agent of this host.
    pub frames_forged: u64,
    /// Frames without a tag that should have one.
    pub frames_unsealed: u64,
    /// Sealed frames at a host that does not seal.
    pub frames_sealed: u64,
    /// Frames of IP packets that had arrived before, or are too old to tell.
    pub frames_repeated: u64,
    /// Reports that were sent.
    pub reports_sent: u64,
    /// Reports that were received.
    pub reports_received: u64,
    /// IP packets that were sent.
    pub packets_sent: u64,
    /// Bytes of these packets.
    pub packet_bytes_sent: u64,
    /// IP packets that were received.
    pub packets_received: u64,
    /// Bytes of these packets.
    pub packet_bytes_received: u64,
    /// IP packets that found their queue full, were too long for a frame, or were for hosts that
    /// are unknown or stay away.
    pub packets_dropped: u64,
    /// IP packets that were too long for a frame to their host, and left as fragments.
    pub packets_fragmented: u64,
    /// IP packets that were too long for a frame to their host, and whose senders were told so by
    /// ICMP.
    pub packets_too_long: u64,
    /// Streams that were opened here.
    pub streams_opened: u64,
    /// Streams that were delivered completely.
    pub streams_delivered: u64,
    /// Streams of this host that their receivers have given up, or whose receivers stay away.
    pub streams_given_up: u64,
    /// How often a stream got on by shorter frames only, as longer ones do not reach its host.
    pub streams_shortened: u64,
    /// Streams that programs of this host have accepted.
    pub streams_accepted: u64,
    /// Incoming streams that broke.
    pub streams_broken: u64,
    /// Incoming streams for which no program listened.
    pub streams_refused: u64,
}
