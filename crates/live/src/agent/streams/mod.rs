//! Streams of programs, and IP packets, from a host's queues into frames and back: no clock, no
//! socket, no thread.
//!
//! A stream goes from a program here to one that [listens](Streams::listen) at a port of another
//! host. Its bytes are kept until the receiver's agent has them, frames that are lost are sent
//! again (`timeplane_transport`'s raw frames), and its end counts as one more byte, so that it is
//! repaired like the others. What a program has written arrives once and in order, as long as both
//! agents live.
//!
//! - **Flow control.** A sender keeps at most `send_buffer` bytes that are not acknowledged; a
//!   receiver acknowledges at most that many beyond what its program has read, and keeps twice as
//!   many. So a receiver has room for whatever a sender may send, without a window in any frame.
//! - **Memory** of all streams together is bounded. Where it is short, a stream keeps 64 KiB, and
//!   its program waits. It goes back to the system when streams end.
//! - **Reports** leave at gaps, after 256 KiB or 20 ms of progress, and when all has come; not more
//!   often than `report_interval`, and less and less often while nothing comes.
//! - **Nobody listens.** A stream waits for ten seconds, in which its bytes are not kept but asked
//!   for again once somebody listens; then its sender is told that it is given up.
//! - **Programs that go away.** Either agent tells the other, several times where that is not
//!   confirmed.
//! - **Hosts that stay away**, as the agent's loop tells: all streams from and to them are broken.
//! - **Agents that are started anew** have a higher epoch, which controllers announce. All streams
//!   of the former one are broken, and its frames are stale.
//! - **Seals.** With a [secret](StreamsConfig::secret), every frame has a tag under a key that only
//!   its two hosts and their controllers know. All others are counted and change nothing. Recorded
//!   frames have no effect when they are sent again: bytes of streams have arrived, older reports
//!   are ignored, IP packets have numbers, and streams that have ended are remembered.
//!
//! Without a secret, whoever can send frames and knows the hosts' addresses and epochs can forge.

mod absence;
mod frames;
mod hearing;
mod incoming;
mod listening;
mod outgoing;
mod packets;
mod peer;
mod pool;
mod reach;
mod repeats;
mod ring;
mod sending;
mod types;
mod watching;

#[cfg(test)]
mod tests;

pub use types::{
    Attention, Awaited, IncomingId, ListenerId, Outgoing, PeerHost, Read, Sent, StreamCounters, StreamError, StreamId,
    StreamsConfig,
};

use incoming::Receiving;
use listening::Port;
use outgoing::Sending;
use peer::Peer;
use pool::Pool;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{Bytes, Duration, HostId, Time};
use watching::Watching;

/// Streams that may be open to send.
pub const MAX_OUTGOING: usize = 4096;
/// Streams that a host may have open to this one.
pub const MAX_INCOMING: usize = 1024;
/// Programs that may listen.
pub const MAX_LISTENERS: usize = 4096;
/// How long a stream waits for somebody to listen at its port.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How often a receiver is told that a stream is given up, where it does not confirm.
const FAREWELLS: u8 = 8;
/// Bytes that every stream may keep, even where memory is short.
const FLOOR: u64 = 64 * 1024;
/// Answers to frames of ended streams that wait to be sent.
const MAX_ANSWERS: usize = 256;

/// What has a time to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sending(u32),
    Receiving(IncomingId),
    Farewell(u32),
}

/// A stream that was given up here, until its receiver knows.
#[derive(Clone, Copy, Debug)]
struct Farewell {
    to: HostId,
    left: u8,
    timer: Option<Time>,
}

/// What a host is told about a stream that is not open here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// To its sender: this is all of it.
    Complete(u64),
    /// To its sender: it is given up.
    Unwanted,
    /// To its receiver: it is given up.
    Abandoned,
}

/// All streams and IP packets of a host.
#[derive(Debug)]
pub struct Streams {
    config: StreamsConfig,
    counters: StreamCounters,
    pool: Pool,
    /// The latest time that has been told.
    clock: Time,
    peers: BTreeMap<HostId, Peer>,
    sending: BTreeMap<u32, Sending>,
    receiving: BTreeMap<IncomingId, Receiving>,
    ports: BTreeMap<u16, Port>,
    listeners: usize,
    farewells: BTreeMap<u32, Farewell>,
    answers: BTreeMap<(HostId, u32, u32), Answer>,
    timers: BTreeSet<(Time, Timer)>,
    next_stream: u32,
    /// Number of the last repair.
    next_repair: u32,
    next_listener: u64,
    /// How often a destination for which nothing waited got something.
    awoken: u64,
    watching: Watching,
}

impl Streams {
    /// A host that knows nobody yet.
    pub fn new(mut config: StreamsConfig) -> Self {
        // Less than some frames would never be reported.
        config.send_buffer = Bytes::new(config.send_buffer.get().max(4 * u64::from(config.max_payload())));
        let next_stream = config.first_stream;
        Self {
            config,
            counters: StreamCounters::default(),
            pool: Pool::default(),
            clock: Time::ZERO,
            peers: BTreeMap::new(),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            ports: BTreeMap::new(),
            listeners: 0,
            farewells: BTreeMap::new(),
            answers: BTreeMap::new(),
            timers: BTreeSet::new(),
            next_stream,
            next_repair: 0,
            next_listener: 0,
            awoken: 0,
            watching: Watching::default(),
        }
    }

    /// How it was made.
    pub fn config(&self) -> &StreamsConfig {
        &self.config
    }

    /// Changes the largest packet of the network, in bytes without Ethernet's header. Streams cut
    /// their next frames to it, also those that come back by [`Streams::unsent`]. IP packets that
    /// are longer now are dropped and counted.
    pub fn set_mtu(&mut self, mtu: u32) {
        self.config.mtu = mtu;
        for peer in self.peers.values_mut() {
            let most = self.config.payload_within(mtu.min(peer.mtu)) as usize;
            self.counters.packets_dropped += peer.packets.drop_longer(most);
        }
    }

    /// The largest payload of a frame to a host: neither its interface nor this one's allows more.
    pub fn max_payload(&self, to: HostId) -> u32 {
        let mtu = self.peers.get(&to).map_or(u32::MAX, |peer| peer.mtu);
        self.config.payload_within(mtu.min(self.config.mtu))
    }

    /// Counts a packet that was longer than [`max_payload`](Self::max_payload), and how it was
    /// handled: as fragments, or by an answer to its sender.
    pub fn count_too_long(&mut self, fragmented: bool) {
        if fragmented {
            self.counters.packets_fragmented += 1;
        } else {
            self.counters.packets_too_long += 1;
        }
    }

    /// Begins a stream to a port of another host, of a length that may be known. Where it is, the
    /// stream is finished with its last byte.
    ///
    /// # Errors
    /// If nobody has told of the host, it [stays away](Self::set_absent), or [`MAX_OUTGOING`] are
    /// open.
    pub fn open(&mut self, to: HostId, port: u16, length: Option<u64>) -> Result<StreamId, StreamError> {
        if !self.peers.contains_key(&to) {
            return Err(StreamError::UnknownHost(to));
        }
        if self.is_absent(to) {
            return Err(StreamError::Absent { host: to });
        }
        let have = self.sending.len();
        if have >= MAX_OUTGOING {
            return Err(StreamError::TooMany { what: "streams to send", have });
        }
        // After four billion streams, numbers come again.
        while self.sending.contains_key(&self.next_stream) || self.farewells.contains_key(&self.next_stream) {
            self.next_stream = self.next_stream.wrapping_add(1);
        }
        // The highest lengths would leave no room for the end.
        let length = length.map(|l| l.min(u64::MAX - 2));
        let number = self.next_stream;
        self.next_stream = number.wrapping_add(1);
        self.sending.insert(number, Sending::new(to, port, length, &self.config.raw, &self.pool));
        self.counters.streams_opened += 1;
        self.make_ready(number);
        Ok(StreamId(number))
    }

    /// Takes as many bytes as the send buffer has room for: how many. Zero where it is full.
    ///
    /// # Errors
    /// If more comes than was declared (nothing is taken), the stream is finished, its receiver
    /// has given it up, or it is not open.
    pub fn write(&mut self, id: StreamId, bytes: &[u8]) -> Result<usize, StreamError> {
        let stream = self.sending.get_mut(&id.0).ok_or(StreamError::UnknownStream(id.0))?;
        let left = self.config.memory.get().saturating_sub(self.pool.used());
        let most = FLOOR.max(stream.held() + left);
        let n = match stream.write(bytes, self.config.send_buffer.get().min(most)) {
            Err(StreamError::GivenUp { host }) => return Err(self.given_up(host)),
            taken => taken?,
        };
        self.make_ready(id.0);
        Ok(n)
    }

    /// No more bytes come. Where more were declared, the stream is [abandoned](Self::abandon), as
    /// its receiver was promised them.
    pub fn finish(&mut self, id: StreamId) {
        let Some(stream) = self.sending.get_mut(&id.0) else { return };
        if stream.finish() {
            self.make_ready(id.0);
        } else {
            self.abandon(id);
        }
    }

    /// How far a stream is; `None` where it is not open.
    pub fn outgoing(&self, id: StreamId) -> Option<Outgoing> {
        let stream = self.sending.get(&id.0)?;
        Some(Outgoing {
            to: stream.to,
            accepted: stream.accepted(),
            acknowledged: stream.acknowledged_bytes(),
            resent: stream.resent(),
            complete: stream.is_complete(),
            given_up: stream.is_given_up(),
        })
    }

    /// Forgets a stream: it is complete, or its program is gone. In that case its receiver is told,
    /// by a frame that no gate stops and that is repeated until it is confirmed, eight times at
    /// most; what was not acknowledged does not arrive.
    pub fn abandon(&mut self, id: StreamId) {
        let Some(stream) = self.sending.remove(&id.0) else { return };
        self.watching.end(id);
        if let Some(at) = stream.timer {
            self.timers.remove(&(at, Timer::Sending(id.0)));
        }
        if let Some(peer) = self.peers.get_mut(&stream.to) {
            peer.forget_turn(id.0);
        }
        // A host that stays away is told when it is back, and leaves room for others until then.
        let absent = self.is_absent(stream.to);
        let most = if absent { MAX_OUTGOING / 2 } else { MAX_OUTGOING };
        if !stream.is_complete() && stream.is_begun() && self.farewells.len() < most {
            let timer = (!absent).then_some(self.clock);
            self.farewells.insert(id.0, Farewell { to: stream.to, left: FAREWELLS, timer });
            self.timers.extend(timer.map(|at| (at, Timer::Farewell(id.0))));
        }
    }

    /// An IP packet for another host. False where it is dropped: its queue is full, no frame is as
    /// long, or the host is not known or stays away.
    pub fn push_packet(&mut self, to: HostId, packet: &[u8]) -> bool {
        let fits = packet.len() <= self.max_payload(to) as usize;
        let most = self.config.packet_queue.get();
        let taken = self.peers.get_mut(&to).filter(|peer| fits && !peer.absent).is_some_and(|peer| {
            let was_empty = peer.packets.is_empty();
            let pushed = peer.packets.push(packet, most);
            if pushed && was_empty && !peer.ready.contains(&peer::Turn::Packets) {
                self.awoken += u64::from(peer.ready.is_empty());
                peer.ready.push_back(peer::Turn::Packets);
            }
            pushed
        });
        self.counters.packets_dropped += u64::from(!taken);
        taken
    }

    /// What has been counted.
    pub fn counters(&self) -> &StreamCounters {
        &self.counters
    }

    /// Memory that the bytes of streams take: at most the send buffer a stream that is sent and
    /// twice as much a stream that comes, and some chunks of 16 KiB each. Of all streams together
    /// at most [`StreamsConfig::memory`], and 64 KiB a stream that is sent and 128 KiB a stream
    /// that comes.
    pub fn memory(&self) -> Bytes {
        debug_assert_eq!(
            self.pool.used(),
            self.sending
                .values()
                .map(Sending::memory)
                .chain(self.receiving.values().map(Receiving::memory))
                .sum::<u64>()
        );
        Bytes::new(self.pool.used())
    }

    /// Memory that was taken for bytes of streams and is kept for the next ones: at most 4 MiB.
    pub fn spare_memory(&self) -> Bytes {
        Bytes::new(self.pool.spare())
    }
}
