//! State about another host: its address, its agent's epoch, its keys, its turn queue, and its
//! streams that have ended.

use super::PeerHost;
use super::frames::FrameSizes;
use super::packets::PacketQueue;
use super::reach::Reach;
use super::repeats::Repeats;
use std::collections::{BTreeMap, VecDeque};
use timeplane_protocol::wire::{DataHeader, MacAddress, PairKey};

/// Maximum number of ended streams of a peer that are remembered individually.
const MAX_ENDED: usize = 65_536;

/// A sender that waits for its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Packets,
    Stream(u32),
}

/// State about another host.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) mac: MacAddress,
    /// Epoch of its agent, as controllers say.
    pub(super) epoch: u32,
    /// Key of frames to it.
    pub(super) send_key: Option<PairKey>,
    /// Key of frames from it.
    pub(super) receive_key: Option<PairKey>,
    /// Senders to this host that wait for their turn, the next one first.
    pub(super) ready: VecDeque<Turn>,
    pub(super) packets: PacketQueue,
    /// Number of the last IP packet to it.
    packet: u64,
    /// IP packets of its agent that have arrived.
    pub(super) repeats: Repeats,
    /// Number of open streams from this host.
    pub(super) incoming: usize,
    pub(super) ended: Ended,
    /// Whether it stays away, so that nothing may wait for it.
    pub(super) absent: bool,
    /// How long frames to it may be.
    pub(super) reach: Reach,
    /// The longest packet that it says it receives.
    pub(super) mtu: u32,
}

impl Peer {
    pub(super) fn new(host: &PeerHost, receive_key: Option<PairKey>, sizes: FrameSizes) -> Self {
        Self {
            mac: host.mac,
            epoch: host.epoch,
            send_key: host.key,
            receive_key,
            ready: VecDeque::new(),
            packets: PacketQueue::new(sizes),
            packet: 0,
            repeats: Repeats::default(),
            incoming: 0,
            ended: Ended::default(),
            absent: false,
            reach: Reach::default(),
            mtu: host.mtu.unwrap_or(u32::MAX),
        }
    }

    /// Numbers an IP packet, so that its receiver can tell whether it has seen it.
    pub(super) fn number_packet(&mut self) -> u64 {
        self.packet += 1;
        self.packet
    }

    /// Adds the tag to a frame whose header says that it has one.
    pub(super) fn seal(&self, frame: &mut Vec<u8>) {
        if let Some(key) = &self.send_key {
            key.seal(frame);
        }
    }

    /// Whether a frame has the tag of the agent.
    pub(super) fn has_sealed(&self, frame: &[u8], header: &DataHeader) -> bool {
        self.receive_key.is_some_and(|key| key.fits(frame, header))
    }

    /// Removes a stream from the queue of turns.
    pub(super) fn forget_turn(&mut self, stream: u32) {
        self.ready.retain(|&t| t != Turn::Stream(stream));
    }
}

/// How a stream of a peer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// All bytes had arrived, and its sender was told.
    Complete,
    /// Either side gave it up.
    GivenUp,
}

/// Streams of a peer that have ended, so that a late frame does not start one again.
///
/// Numbers of streams start anywhere and wrap around. They are kept as 64 bits, of which the low 32
/// are the stream's number, and the others follow from the highest number so far.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// All streams with lower numbers have ended; how is forgotten.
    below: u64,
    highest: u64,
    streams: BTreeMap<u64, Ending>,
}

impl Ended {
    /// The number nearest to the highest one.
    fn unwrapped(&self, stream: u32) -> u64 {
        if self.streams.is_empty() {
            // Room for lower ones, as streams do not end in order.
            return 1 << 32 | u64::from(stream);
        }
        let ahead = stream.wrapping_sub(self.highest as u32) as i32;
        self.highest.saturating_add_signed(ahead.into())
    }

    pub(super) fn insert(&mut self, stream: u32, ending: Ending) {
        let stream = self.unwrapped(stream);
        self.highest = self.highest.max(stream);
        if stream >= self.below {
            self.streams.entry(stream).or_insert(ending);
        }
        if self.streams.len() > MAX_ENDED
            && let Some((oldest, _)) = self.streams.pop_first()
        {
            self.below = oldest + 1;
        }
    }

    pub(super) fn get(&self, stream: u32) -> Option<Ending> {
        let stream = self.unwrapped(stream);
        if stream < self.below { Some(Ending::GivenUp) } else { self.streams.get(&stream).copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_over_in_bounded_memory() {
        // Also where numbers wrap around meanwhile.
        for first in [0, 1, u32::MAX, u32::MAX - 3 * MAX_ENDED as u32, 1 << 31] {
            let number = |n: u32| first.wrapping_add(n);
            let mut ended = Ended::default();
            for stream in 0..3 * MAX_ENDED as u32 {
                let ending = if stream % 2 == 0 { Ending::Complete } else { Ending::GivenUp };
                assert_eq!(ended.get(number(2 * stream)), None);
                ended.insert(number(2 * stream), ending);
                assert_eq!(ended.get(number(2 * stream)), Some(ending));
            }
            assert_eq!(ended.streams.len(), MAX_ENDED);
            let ends = (ended.get(number(0)), ended.get(number(6 * MAX_ENDED as u32)));
            assert_eq!(ends, (Some(Ending::GivenUp), None));
            ended.insert(number(1), Ending::Complete);
            assert_eq!(ended.get(number(1)), Some(Ending::GivenUp));
        }
    }

    #[test]
    fn streams_that_end_out_of_order_are_told_apart() {
        let mut ended = Ended::default();
        ended.insert(3, Ending::Complete);
        ended.insert(u32::MAX, Ending::GivenUp);
        assert_eq!((ended.get(u32::MAX), ended.get(3)), (Some(Ending::GivenUp), Some(Ending::Complete)));
        assert_eq!((ended.get(0), ended.get(4), ended.get(1 << 31)), (None, None, None));
    }
}
