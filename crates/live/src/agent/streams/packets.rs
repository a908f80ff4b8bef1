//! The queue of IP packets for one destination. It is first in, first out, and limited in bytes.
//! A packet that the gate refused returns to its place.

use super::frames::FrameSizes;
use std::collections::VecDeque;

/// Maximum number of spare buffers that are kept.
const SPARE: usize = 64;

/// A queue of packets, limited in bytes.
#[derive(Debug)]
pub(super) struct PacketQueue {
    sizes: FrameSizes,
    /// Packets with their numbers, which tell where a returned packet belongs.
    queue: VecDeque<(u64, Vec<u8>)>,
    next: u64,
    bytes: u64,
    wire: u64,
    spare: Vec<Vec<u8>>,
}

impl PacketQueue {
    pub(super) fn new(sizes: FrameSizes) -> Self {
        Self { sizes, queue: VecDeque::new(), next: 0, bytes: 0, wire: 0, spare: Vec::new() }
    }

    /// Adds a packet at the tail. Returns false if the queue is full.
    pub(super) fn push(&mut self, packet: &[u8], most: u64) -> bool {
        if self.bytes + packet.len() as u64 > most {
            return false;
        }
        self.next += 1;
        self.insert(self.next, packet);
        true
    }

    /// Returns a packet that did not leave to its place, even if the queue is full by now.
    pub(super) fn insert(&mut self, number: u64, packet: &[u8]) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(packet);
        self.bytes += packet.len() as u64;
        self.wire += self.sizes.wire(packet.len() as u64);
        let at = self.queue.partition_point(|(n, _)| *n < number);
        self.queue.insert(at, (number, buffer));
    }

    /// Length of the next packet, in bytes.
    pub(super) fn first(&self) -> Option<usize> {
        self.queue.front().map(|(_, p)| p.len())
    }

    /// Removes the next packet and appends it to a frame. Returns its number.
    pub(super) fn take(&mut self, frame: &mut Vec<u8>) -> Option<u64> {
        let (number, mut packet) = self.queue.pop_front()?;
        frame.extend_from_slice(&packet);
        self.bytes -= packet.len() as u64;
        self.wire -= self.sizes.wire(packet.len() as u64);
        if self.spare.len() < SPARE {
            packet.clear();
            self.spare.push(packet);
        }
        Some(number)
    }

    /// Drops all packets, and frees the memory. Returns their number.
    pub(super) fn clear(&mut self) -> u64 {
        let dropped = self.queue.len() as u64;
        *self = Self { next: self.next, ..Self::new(self.sizes) };
        dropped
    }

    /// Drops packets of more than `most` bytes. Returns their number.
    pub(super) fn drop_longer(&mut self, most: usize) -> u64 {
        let before = self.queue.len();
        self.queue.retain(|(_, packet)| packet.len() <= most);
        self.bytes = self.queue.iter().map(|(_, packet)| packet.len() as u64).sum();
        self.wire = self.queue.iter().map(|(_, packet)| self.sizes.wire(packet.len() as u64)).sum();
        (before - self.queue.len()) as u64
    }

    /// Bytes on the wire of all queued packets.
    pub(super) fn wire(&self) -> u64 {
        self.wire
    }
    /// Whether the queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
