//! The IP packets that wait for one destination.

use super::frames;
use std::collections::VecDeque;

/// Buffers that are kept for packets to come.
const SPARE: usize = 64;

/// First in, first out, bounded in bytes.
#[derive(Debug, Default)]
pub(super) struct PacketQueue {
    /// With their numbers, which tell where one belongs that comes back.
    queue: VecDeque<(u64, Vec<u8>)>,
    next: u64,
    bytes: u64,
    wire: u64,
    spare: Vec<Vec<u8>>,
}

impl PacketQueue {
    /// Adds a packet at the tail; false where it is full.
    pub(super) fn push(&mut self, packet: &[u8], most: u64) -> bool {
        if self.bytes + packet.len() as u64 > most {
            return false;
        }
        self.next += 1;
        self.insert(self.next, packet);
        true
    }

    /// A packet that was taken did not leave: it goes back to its place, also where the queue is
    /// full by now.
    pub(super) fn insert(&mut self, number: u64, packet: &[u8]) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(packet);
        self.bytes += packet.len() as u64;
        self.wire += frames::wire(packet.len() as u64);
        let at = self.queue.partition_point(|(n, _)| *n < number);
        self.queue.insert(at, (number, buffer));
    }

    /// Bytes of the packet that comes next.
    pub(super) fn first(&self) -> Option<usize> {
        self.queue.front().map(|(_, p)| p.len())
    }

    /// Takes the next one, appended to a frame: its number.
    pub(super) fn take(&mut self, frame: &mut Vec<u8>) -> Option<u64> {
        let (number, mut packet) = self.queue.pop_front()?;
        frame.extend_from_slice(&packet);
        self.bytes -= packet.len() as u64;
        self.wire -= frames::wire(packet.len() as u64);
        if self.spare.len() < SPARE {
            packet.clear();
            self.spare.push(packet);
        }
        Some(number)
    }

    /// Bytes on the wire of what waits.
    pub(super) fn wire(&self) -> u64 {
        self.wire
    }
    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
