//! The next frames to hand to the interface: which open queues may send, by their own paces and by
//! that of the host's link.
//!
//! A slot or a timeslot has batches of its own, as the next signal may close it. Queues with rates
//! share batches. They are many, and each sends a frame or two at a time.

use super::opening::OpenQueue;
use super::wire_bytes;
use crate::agent::pace::Pace;
use crate::agent::streams::{Sent, Streams};
use std::ops::Range;
use timeplane_model::Time;

/// Number of frames that are passed to the interface at once.
const MOST: usize = 16;

/// Frames of open queues, in the order in which they leave.
#[derive(Debug)]
pub(super) struct Batch {
    /// Buffers; those of [`Self::origins`] have frames.
    frames: Vec<Vec<u8>>,
    /// The place of each frame's queue, and its origin.
    origins: Vec<(usize, Sent)>,
}

impl Batch {
    /// An empty batch.
    pub(super) fn new() -> Self {
        Self { frames: (0..MOST).map(|_| Vec::with_capacity(1514)).collect(), origins: Vec::with_capacity(MOST) }
    }

    /// The frames.
    pub(super) fn frames(&self) -> &[Vec<u8>] {
        &self.frames[..self.origins.len()]
    }

    /// Whether there is no room for another frame.
    pub(super) fn is_full(&self) -> bool {
        self.origins.len() == MOST
    }

    /// The place of a frame's queue.
    pub(super) fn queue_of(&self, frame: usize) -> usize {
        self.origins[frame].0
    }

    /// Replaces the frames by the next ones, from the queue at `at` on. Moves `at` to the first
    /// queue that has not been asked for all of its frames. Returns when one of the queues before
    /// it may send again.
    pub(super) fn fill(
        &mut self,
        now: Time,
        open: &mut [OpenQueue],
        at: &mut usize,
        link: &mut Pace,
        streams: &mut Streams,
    ) -> Option<Time> {
        self.origins.clear();
        let mut next: Option<Time> = None;
        while let Some(queue) = open.get_mut(*at) {
            let before = self.origins.len();
            if before > 0 && queue.is_slot() {
                break;
            }
            self.fill_from(now, *at, queue, link, streams);
            if self.is_full() {
                break;
            }
            *at += 1;
            // A timeslot has sent what it may, or has nothing to send.
            if queue.packets.is_none() && streams.waits(queue.destination) {
                // Queues with a pace of their own are many and slow, so they are served together,
                // not at each queue's next frame.
                let together = queue.pace.as_ref().map(|p| p.ready().max(now.saturating_add(Pace::DEPTH / 4)));
                let ready = together.into_iter().fold(link.ready(), Time::max);
                if ready > now {
                    next = Some(next.map_or(ready, |n| n.min(ready)));
                }
            }
            if self.origins.len() > before && queue.is_slot() {
                break;
            }
        }
        next
    }

    /// Adds frames of an open queue, as many as the queue, the link and the batch allow.
    fn fill_from(&mut self, now: Time, at: usize, queue: &mut OpenQueue, link: &mut Pace, streams: &mut Streams) {
        while !self.is_full() && now < queue.until {
            let allowed = match queue.packets {
                // A timeslot is longer than its packets.
                Some(packets) => packets > 0,
                None => queue.pace.as_ref().is_none_or(|p| p.allows(now)) && link.allows(now),
            };
            if !allowed {
                break;
            }
            let most = queue.bytes.unwrap_or(u64::MAX);
            let frame = &mut self.frames[self.origins.len()];
            let class = queue.class_field();
            let Some(sent) = streams.next_frame(now, queue.destination, class, most, frame) else { break };
            let wire = wire_bytes(frame.len());
            link.take(now, wire);
            if let Some(pace) = &mut queue.pace {
                pace.take(now, wire);
            }
            queue.bytes = queue.bytes.map(|b| b.saturating_sub(wire));
            queue.packets = queue.packets.map(|p| p - 1);
            self.origins.push((at, sent));
        }
    }

    /// Returns frames that the interface has not taken to their streams, the last one first.
    pub(super) fn take_back(
        &mut self,
        frames: Range<usize>,
        open: &mut [OpenQueue],
        link: &mut Pace,
        streams: &mut Streams,
    ) {
        for (frame, (at, sent)) in self.frames[frames.clone()].iter().zip(&self.origins[frames]).rev() {
            let (wire, queue) = (wire_bytes(frame.len()), &mut open[*at]);
            link.give_back(wire);
            if let Some(pace) = &mut queue.pace {
                pace.give_back(wire);
            }
            if let Some(packets) = &mut queue.packets {
                *packets += 1;
            }
            streams.unsent(*sent, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::streams::{PeerHost, StreamsConfig};
    use timeplane_model::{Duration, HostId, Rate};
    use timeplane_protocol::wire::MacAddress;

    const PEERS: u32 = 11;
    const LINK: Rate = Rate::mbps(50);

    /// A host with a stream of many bytes for each of its peers.
    fn streams() -> Streams {
        let mut streams = Streams::new(StreamsConfig::new(HostId(0), MacAddress([2; 6]), 1));
        for peer in (1..=PEERS).map(HostId) {
            streams.set_peer(peer, PeerHost { mac: MacAddress([3; 6]), epoch: 1, key: None, mtu: None });
            let id = streams.open(peer, 0, None).unwrap();
            streams.write(id, &vec![7; 2_000_000]).unwrap();
        }
        streams
    }

    /// Bytes by peer that leave in `length`, if each call of `fill` takes the loop `busy`, and it
    /// comes `late` after the time that it has asked for.
    fn leave(length: Duration, busy: Duration, late: Duration) -> Vec<u64> {
        let (mut streams, mut batch) = (streams(), Batch::new());
        let begin = Time::from_ps(1_000_000_000_000);
        let (end, mut now) = (begin + length, begin);
        let mut link = Pace::new(now, LINK);
        let rate = Rate::bps(LINK.as_bps() / u64::from(PEERS));
        let mut open: Vec<OpenQueue> =
            (1..=PEERS).map(|peer| OpenQueue::with_rate(HostId(peer), Time::MAX, Pace::new(now, rate))).collect();
        let mut left = vec![0; PEERS as usize + 1];
        while now < end {
            let mut at = 0;
            let mut next = None;
            while at < open.len() {
                let ready = batch.fill(now, &mut open, &mut at, &mut link, &mut streams);
                next = [next, ready].into_iter().flatten().min();
                for (i, frame) in batch.frames().iter().enumerate() {
                    left[open[batch.queue_of(i)].destination.index()] += wire_bytes(frame.len());
                }
                if batch.is_full() {
                    next = Some(now);
                    break;
                }
            }
            open.rotate_left(1);
            now = (now + busy).max(next.map_or(now, |n| n + late));
        }
        left.split_off(1)
    }

    #[test]
    fn queues_with_rates_get_them_although_the_loop_is_slow_and_late() {
        let share = LINK.bytes_in(Duration::from_secs(1)).get() / u64::from(PEERS);
        for (busy, late) in [(0, 0), (300, 0), (300, 2_000), (2_500, 0)] {
            let left = leave(Duration::from_secs(1), Duration::from_us(busy), Duration::from_us(late));
            let (least, most) = (left.iter().min().unwrap(), left.iter().max().unwrap());
            assert!(
                *least as f64 > 0.98 * share as f64 && (*most as f64) < 1.02 * share as f64,
                "busy for {busy} us and {late} us late: {least} to {most} B, expected {share} B"
            );
        }
    }

    #[test]
    fn frames_that_come_back_leave_first_and_cost_nothing() {
        let (mut streams, mut batch) = (streams(), Batch::new());
        let now = Time::from_ps(1_000_000_000_000);
        let mut link = Pace::new(now, LINK);
        let rate = Rate::bps(LINK.as_bps() / u64::from(PEERS));
        let mut open: Vec<OpenQueue> =
            (1..=2).map(|peer| OpenQueue::with_rate(HostId(peer), Time::MAX, Pace::new(now, rate))).collect();
        let (mut at, paces) = (0, format!("{link:?} {open:?}"));
        batch.fill(now, &mut open, &mut at, &mut link, &mut streams);
        let first: Vec<Vec<u8>> = batch.frames().to_vec();
        // Both queues are in one batch.
        assert_eq!((at, batch.queue_of(0), batch.queue_of(first.len() - 1)), (2, 0, 1));
        let all = 0..first.len();
        batch.take_back(all, &mut open, &mut link, &mut streams);
        assert_eq!(format!("{link:?} {open:?}"), paces);
        at = 0;
        batch.fill(now, &mut open, &mut at, &mut link, &mut streams);
        assert_eq!(batch.frames(), first);
    }
}
