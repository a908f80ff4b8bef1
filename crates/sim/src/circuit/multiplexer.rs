//! The port of a hybrid rack switch towards a host.
//!
//! Circuits go first, and the port holds little of each input (REACToR, section 3.2). It does not
//! know when its link is free.

use crate::network::packet::LAST;
use std::collections::{BTreeMap, VecDeque};

/// Frames that wait for the link of one host.
#[derive(Debug, Default)]
pub struct Multiplexer {
    /// First those from the circuit switch or a host of the rack, then those from the packet
    /// switch.
    classes: [VecDeque<Frame>; 2],
    /// Wire bytes of each input, by the link of the input.
    held: BTreeMap<u32, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    packet: u32,
    wire: u32,
    from: u32,
}

/// The priority of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// From the circuit switch or the rack itself: first.
    Circuit = 0,
    /// From the packet switch.
    Packets = 1,
}

impl Multiplexer {
    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(VecDeque::is_empty)
    }
    /// Holds a frame of `wire` bytes that came by the link `from`, if that input then holds up to
    /// `most` bytes. Small frames behind a large one wait together.
    pub fn hold(&mut self, class: Class, from: u32, packet: u32, wire: u32, most: u32) -> bool {
        let held = self.held.entry(from).or_default();
        let fits = *held + wire <= most;
        if fits {
            *held += wire;
            self.classes[class as usize].push_back(Frame { packet, wire, from });
        }
        fits
    }
    /// The frame to send next, or `LAST`.
    pub fn next(&mut self) -> u32 {
        let Some(frame) = self.classes.iter_mut().find_map(VecDeque::pop_front) else { return LAST };
        if let Some(held) = self.held.get_mut(&frame.from) {
            *held -= frame.wire;
        }
        frame.packet
    }
    /// Removes all frames.
    pub fn drain(&mut self) -> Vec<u32> {
        self.held.clear();
        self.classes.iter_mut().flat_map(|class| class.drain(..)).map(|f| f.packet).collect()
    }
    /// Frames that wait.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.classes.iter().flatten().map(|f| f.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_holds_its_own_and_circuits_go_first() {
        let mut port = Multiplexer::default();
        assert!(port.hold(Class::Packets, 7, 1, 1000, 1538));
        assert!(!port.hold(Class::Packets, 7, 2, 600, 1538), "its input is full");
        assert!(port.hold(Class::Packets, 7, 3, 500, 1538), "a small one fits beside");
        // The circuit and a neighbor of the rack at the same time: two inputs.
        assert!(port.hold(Class::Circuit, 8, 4, 1538, 1538));
        assert!(port.hold(Class::Circuit, 9, 5, 1538, 1538));
        assert_eq!(std::array::from_fn(|_| port.next()), [4, 5, 1, 3, LAST]);
        assert!(port.is_empty() && port.hold(Class::Packets, 7, 6, 1538, 1538));
        assert!(port.hold(Class::Circuit, 8, 7, 1538, 1538) && port.drain() == [7, 6]);
        assert!(port.is_empty() && port.hold(Class::Packets, 7, 8, 1538, 1538), "what is gone takes no room");
    }
}
