//! What is known of another host.

use super::packets::PacketQueue;
use std::collections::{BTreeMap, VecDeque};
use timeplane_protocol::wire::MacAddress;

/// Ended streams of a peer that are remembered one by one.
const MAX_ENDED: usize = 65_536;

/// Whose turn it is to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Packets,
    Stream(u32),
}

/// Another host.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) mac: MacAddress,
    /// Of its agent, the newest that has been heard of.
    pub(super) epoch: Option<u32>,
    /// Who waits to send to it, the next one first.
    pub(super) ready: VecDeque<Turn>,
    pub(super) packets: PacketQueue,
    /// Streams that come from it.
    pub(super) incoming: usize,
    pub(super) ended: Ended,
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
        }
    }

    /// Takes a stream out of its turn.
    pub(super) fn forget_turn(&mut self, stream: u32) {
        self.ready.retain(|&t| t != Turn::Stream(stream));
    }
}

/// How a stream of a peer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// All of it had come, and its sender was told.
    Complete,
    /// Nobody wanted it, or its sender gave it up.
    GivenUp,
}

/// Streams of a peer that are over, so that a late frame does not begin one again.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// All below it are over, and how is forgotten.
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
