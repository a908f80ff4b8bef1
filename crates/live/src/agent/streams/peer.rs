//! State about another host: its address, its agent's epoch, its turn queue, and its streams that
//! have ended.

use super::packets::PacketQueue;
use super::reach::Reach;
use std::collections::{BTreeMap, VecDeque};
use timeplane_protocol::wire::MacAddress;

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
    /// The newest known epoch of its agent.
    pub(super) epoch: Option<u32>,
    /// Senders to this host that wait for their turn, the next one first.
    pub(super) ready: VecDeque<Turn>,
    pub(super) packets: PacketQueue,
    /// Number of open streams from this host.
    pub(super) incoming: usize,
    pub(super) ended: Ended,
    /// Whether it stays away, so that nothing may wait for it.
    pub(super) absent: bool,
    /// How long frames to it may be.
    pub(super) reach: Reach,
}

impl Peer {
    pub(super) fn new(mac: MacAddress) -> Self {
        Self {
            mac,
            epoch: None,
            ready: VecDeque::new(),
            packets: PacketQueue::default(),
            incoming: 0,
            ended: Ended::default(),
            absent: false,
            reach: Reach::default(),
        }
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
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// All streams with lower numbers have ended; how is forgotten.
    below: u32,
    streams: BTreeMap<u32, Ending>,
}

impl Ended {
    pub(super) fn insert(&mut self, stream: u32, ending: Ending) {
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
        if stream < self.below { Some(Ending::GivenUp) } else { self.streams.get(&stream).copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_over_in_bounded_memory() {
        let mut ended = Ended::default();
        for stream in 0..3 * MAX_ENDED as u32 {
            let ending = if stream % 2 == 0 { Ending::Complete } else { Ending::GivenUp };
            ended.insert(2 * stream, ending);
            assert_eq!(ended.get(2 * stream), Some(ending));
        }
        assert_eq!(ended.streams.len(), MAX_ENDED);
        assert_eq!((ended.get(0), ended.get(6 * MAX_ENDED as u32)), (Some(Ending::GivenUp), None));
        ended.insert(1, Ending::Complete);
        assert_eq!(ended.get(1), Some(Ending::GivenUp));
    }
}
