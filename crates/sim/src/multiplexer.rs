//! The port of a hybrid rack switch towards a host: circuits go first, and it holds a frame of each input (REACToR, section 3.2).

use crate::packet::LAST;
use std::collections::VecDeque;

/// Frames that wait for one host's link, by where they come from.
#[derive(Debug, Default)]
pub struct Multiplexer {
    /// From the circuit switch or a host of the rack; then from the packet switch.
    inputs: [VecDeque<u32>; 2],
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
    /// Holds a frame, where its input holds fewer than `frames`.
    pub fn hold(&mut self, from: Input, packet: u32, frames: u32) -> bool {
        let input = &mut self.inputs[from as usize];
        let fits = input.len() < frames as usize;
        if fits {
            input.push_back(packet);
        }
        fits
    }
    /// The frame to send next, or `LAST`.
    pub fn next(&mut self) -> u32 {
        self.inputs.iter_mut().find_map(VecDeque::pop_front).unwrap_or(LAST)
    }
    /// Frames that wait.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.inputs.iter().flatten().copied()
    }
}
