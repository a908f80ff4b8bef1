//! The port of a hybrid rack switch towards a host: circuits go first, and it holds little of each input (REACToR, section 3.2).

use crate::packet::LAST;
use std::collections::VecDeque;

/// Frames that wait for one host's link, by where they come from.
#[derive(Debug, Default)]
pub struct Multiplexer {
    /// From the circuit switch or a host of the rack; then from the packet switch.
    inputs: [VecDeque<(u32, u32)>; 2],
    /// Wire bytes of each.
    held: [u32; 2],
}

/// Where a frame comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The circuit switch, or the rack itself: first.
    Circuit = 0,
    /// The packet switch.
    Packets = 1,
}

impl Multiplexer {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.inputs.iter().all(VecDeque::is_empty)
    }
    /// Holds a frame of `wire` bytes, where its input holds at most `most` with it. Small frames that come behind a large one wait together.
    pub fn hold(&mut self, from: Input, packet: u32, wire: u32, most: u32) -> bool {
        let held = &mut self.held[from as usize];
        let fits = *held + wire <= most;
        if fits {
            *held += wire;
            self.inputs[from as usize].push_back((packet, wire));
        }
        fits
    }
    /// The frame to send next, or `LAST`.
    pub fn next(&mut self) -> u32 {
        for (input, held) in self.inputs.iter_mut().zip(&mut self.held) {
            if let Some((packet, wire)) = input.pop_front() {
                *held -= wire;
                return packet;
            }
        }
        LAST
    }
    /// Frames that wait.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.inputs.iter().flatten().map(|p| p.0)
    }
}
