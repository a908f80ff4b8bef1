//! Memories of inputs and virtual output queues, written to be obviously right.

use super::{Flying, Reference, Waiting, What};
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::{Buffer, Bytes, LinkId};

/// What waits for an output.
#[derive(Default)]
pub(super) struct ByInput {
    /// By link of the input.
    queues: BTreeMap<u32, VecDeque<Waiting>>,
    /// The inputs with packets, the next one first.
    turns: VecDeque<u32>,
}

impl ByInput {
    pub fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.queues.values().flatten()
    }
}

impl Reference {
    /// Whether the switches have memories of inputs.
    pub(super) fn has_memories(&self) -> bool {
        (0..self.fabric.links().len() as u32).any(|l| self.is_by_input(l))
    }

    /// Whether a link's sender is a switch with memories of inputs.
    pub(super) fn is_by_input(&self, link: u32) -> bool {
        let switch = self.fabric.switch(self.fabric.link(LinkId(link)).from);
        switch.is_some_and(|s| matches!(s.buffer, Buffer::PerInput(_)))
    }

    /// A packet comes over a link. False if the memory has no room.
    pub(super) fn store(&mut self, link: u32, wire: u32, memory: Bytes) -> bool {
        let stored = &mut self.ports[link as usize].stored;
        let fits = *stored + u64::from(wire) <= memory.get();
        *stored += if fits { u64::from(wire) } else { 0 };
        fits
    }

    /// A packet has passed its switch: it leaves at once, or waits.
    pub(super) fn queue_by_input(&mut self, link: u32, w: Waiting) {
        let port = &mut self.ports[link as usize];
        if port.departure.is_none() && port.by_input.turns.is_empty() {
            return self.start(link, w);
        }
        let from = w.held.unwrap().0;
        let queue = port.by_input.queues.entry(from).or_default();
        if queue.is_empty() {
            port.by_input.turns.push_back(from);
        }
        queue.push_back(w);
    }

    /// The last bit of a packet has left: its memory is free. What comes at this instant may be
    /// chosen next.
    pub(super) fn left(&mut self, link: u32) {
        if let Some((from, _, wire)) = self.ports[link as usize].leaving.take() {
            self.ports[from as usize].stored -= u64::from(wire);
        }
        if !self.ports[link as usize].by_input.turns.is_empty() {
            self.at(self.now, What::Send(self.fabric.hosts() + link));
        }
    }

    pub(super) fn serve_by_input(&mut self, link: u32) {
        let waits = &mut self.ports[link as usize].by_input;
        let from = waits.turns.pop_front().unwrap();
        let queue = waits.queues.get_mut(&from).unwrap();
        let w = queue.pop_front().unwrap();
        if !queue.is_empty() {
            waits.turns.push_back(from);
        }
        self.start(link, w);
    }

    fn start(&mut self, link: u32, mut w: Waiting) {
        self.corrupt(link, &mut w.packet);
        let departure = self.now + self.line(link, w.wire);
        let arrival = departure + self.fabric.link(LinkId(link)).spec.propagation.as_ps();
        let id = self.numbered();
        let port = &mut self.ports[link as usize];
        port.departure = Some(departure);
        port.leaving = w.held;
        port.flying.push_back(Flying { packet: w.packet, wire: w.wire, id, departure, first: self.now });
        let generation = port.generation;
        self.at(departure, What::Depart(link, generation));
        self.at(arrival, What::Arrive(link, id));
    }
}
