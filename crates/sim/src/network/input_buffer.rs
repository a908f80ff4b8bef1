//! Switches with a memory for each input and virtual output queues.
//!
//! Each output of a switch has a queue for each input. An output that is free serves the inputs
//! with ready packets round robin, one packet each. Outputs do not know of each other: one input
//! may send to several outputs at once, so the crossbar never blocks. An output that is idle takes
//! the first packet that comes, without an event. Of packets that come at one instant, that of the
//! lowest link comes first.
//!
//! A packet takes its wire bytes of its input's memory from its last bit in to its last bit out.
//! The memory is not told when packets leave: it keeps their departures, which are known once they
//! are served, and looks at them when it lacks room.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::network::link::LinkState;
use crate::network::meters::Loss;
use crate::network::packet::{LAST, Packets, flags};
use crate::network::wires::{LinkChanges, Wires};
use std::collections::VecDeque;
use timeplane_model::{Buffer, Duration, Fabric, NodeId};

/// Departures that a memory keeps before it looks which of them are over.
const MOST_LEAVING: usize = 64;

/// All outputs and inputs of switches that buffer at their inputs, by link.
#[derive(Debug)]
pub(crate) struct InputBuffers {
    outputs: Vec<Option<Output>>,
    inputs: Vec<Option<Input>>,
}

/// The sending end of a switch on a link.
#[derive(Clone, Debug, Default)]
struct Output {
    /// By number of the input; empty until a packet waits.
    queues: Vec<Queue>,
    /// Inputs with waiting packets, the next one first. If there are any, the output has an event.
    turns: VecDeque<Turn>,
    /// When all packets that have joined will have left.
    drained: SimTime,
    /// Packets that wait, and their wire bytes.
    waiting: (u64, u64),
}

/// The place of an input in the order of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// When its first packet was ready, or when the input was served last if that is later.
    since: SimTime,
    /// Whether it was served then. Packets come before outputs choose.
    again: bool,
    input: u32,
}

/// Packets of one input that wait for one output, chained like those in flight. Their time of
/// arrival is when they have passed the switch.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The link of the input.
    from: u32,
    head: u32,
    tail: u32,
}

/// The receiving end of a switch on a link.
#[derive(Clone, Debug)]
struct Input {
    /// Its number among the inputs of its switch, and how many there are.
    number: u32,
    of: u32,
    memory: u64,
    /// Wire bytes in memory, with those in `leaving`.
    held: u64,
    /// When packets that were served leave, and their wire bytes.
    leaving: Vec<(SimTime, u32)>,
}

/// A packet that has joined an output.
pub(crate) struct Joined {
    /// When all packets that have joined, this one included, will have left.
    pub drained: SimTime,
    /// When it arrives, unless it waits.
    pub arrival: Option<SimTime>,
}

impl InputBuffers {
    /// The buffers of a fabric in which some switch has them.
    pub fn new(fabric: &Fabric) -> Option<Self> {
        let memory = |node: NodeId| match fabric.switch(node)?.buffer {
            Buffer::PerInput(memory) => Some(memory.get()),
            _ => None,
        };
        let mut count = vec![0; fabric.nodes().len()];
        let mut inputs: Vec<Option<Input>> = Vec::with_capacity(fabric.links().len());
        for link in fabric.links() {
            let number = count[link.to.index()];
            count[link.to.index()] += 1;
            let input = |memory| Input { number, of: 0, memory, held: 0, leaving: Vec::new() };
            inputs.push(memory(link.to).map(input));
        }
        for (input, link) in inputs.iter_mut().zip(fabric.links()) {
            if let Some(input) = input {
                input.of = count[link.to.index()];
            }
        }
        let outputs = fabric.links().iter().map(|link| memory(link.from).map(|_| Output::default())).collect();
        inputs.iter().any(Option::is_some).then_some(Self { outputs, inputs })
    }

    /// Packets and their wire bytes that wait at an output and that its link has not accepted.
    pub fn waiting(&self, link: u32) -> (u64, u64) {
        self.outputs.get(link as usize).and_then(Option::as_ref).map_or((0, 0), |o| o.waiting)
    }

    /// Packets that wait at outputs.
    pub fn packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = u32> + 'a {
        let some = |id: u32| (id != LAST).then_some(id);
        let queues = self.outputs.iter().flatten().flat_map(|o| &o.queues);
        queues.flat_map(move |q| std::iter::successors(some(q.head), move |&id| some(packets.next(id))))
    }

    /// Whether a train that comes over `from` finds its switch empty and leaves it as if there were
    /// no memory. The first of its packets of `wire` bytes arrives at `at`.
    ///
    /// A train takes no memory. Packets that follow it may meet its last ones, so there has to be
    /// room for twice what a switch holds of one input and one idle output. Then nothing can be
    /// lost until the train has left.
    pub fn takes_train(
        &self,
        links: &[LinkState],
        [from, out]: [u32; 2],
        at: SimTime,
        latency: Duration,
        wire: u32,
    ) -> bool {
        let (Some(input), Some(output)) = (&self.inputs[from as usize], &self.outputs[out as usize]) else {
            return true;
        };
        let came = &links[from as usize];
        let holds = came.bytes_of(latency) + 2 * u64::from(wire);
        let left: u64 = input.leaving.iter().filter(|l| l.0 <= at).map(|l| u64::from(l.1)).sum();
        came.is_idle() && output.turns.is_empty() && input.held == left && 2 * holds <= input.memory
    }
}

impl Output {
    /// Gives an input its turn behind those that have waited longer.
    fn wait(&mut self, turn: Turn) {
        let behind = self.turns.iter().rev().take_while(|t| **t > turn).count();
        self.turns.insert(self.turns.len() - behind, turn);
    }

    /// Takes the next packet at `now`: its number and the link of its input. `Err` says when there
    /// is one.
    fn next(&mut self, packets: &Packets, now: SimTime) -> Result<[u32; 2], SimTime> {
        let Turn { since, input, .. } = *self.turns.front().ok_or(SimTime::MAX)?;
        if since > now {
            return Err(since);
        }
        self.turns.pop_front();
        let queue = &mut self.queues[input as usize];
        let (id, from) = (queue.head, queue.from);
        queue.head = packets.next(id);
        if queue.head != LAST {
            let ready = packets.arrival(queue.head);
            self.wait(Turn { since: ready.max(now), again: ready <= now, input });
        }
        Ok([id, from])
    }
}

impl Input {
    /// A packet comes at `at`. False if there is no room for it.
    fn take(&mut self, at: SimTime, wire: u32) -> bool {
        if self.held + u64::from(wire) > self.memory || self.leaving.len() > MOST_LEAVING {
            let held = &mut self.held;
            self.leaving.retain(|&(departure, wire)| {
                let stays = departure > at;
                *held -= if stays { 0 } else { u64::from(wire) };
                stays
            });
        }
        if self.held + u64::from(wire) > self.memory {
            return false;
        }
        self.held += u64::from(wire);
        true
    }
}

impl Wires {
    /// A packet that came over link `from` at `at` joins output `out` of its switch at `ready`.
    ///
    /// # Errors
    /// If the memory of its input has no room.
    pub(crate) fn join_by_input(
        &mut self,
        at: SimTime,
        ready: SimTime,
        [from, out]: [u32; 2],
        id: u32,
    ) -> Result<Joined, Loss> {
        let buffers = self.input_buffers.as_mut().expect("its switch has them");
        let input = buffers.inputs[from as usize].as_mut().expect("its switch received it");
        let output = buffers.outputs[out as usize].as_mut().expect("its switch sends it");
        let packet = self.packets.get_mut(id);
        if !input.take(at, self.links[from as usize].wire(packet.bytes)) {
            return Err(Loss::InputFull);
        }
        let link = &mut self.links[out as usize];
        let (wire, free) = (link.wire(packet.bytes), link.free_at());
        let begin = output.drained.max(free).max(ready);
        output.drained = begin + Duration::from_ps(link.line_time(wire));
        let drained = output.drained;
        link.note_queue(drained - ready);
        if link.marks(begin - ready) && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
        }
        if output.turns.is_empty() {
            if free <= ready {
                return Ok(Joined { drained, arrival: Some(self.leave(ready, [from, out], id).1) });
            }
            self.calendar.push(free, EventKind::Serve { sender: self.hosts + out }.key());
        }
        if output.queues.is_empty() {
            output.queues = vec![Queue { from: LAST, head: LAST, tail: LAST }; input.of as usize];
        }
        let queue = &mut output.queues[input.number as usize];
        self.packets.depart(id, ready);
        if queue.head == LAST {
            *queue = Queue { from, head: id, tail: id };
            output.wait(Turn { since: ready, again: false, input: input.number });
        } else {
            self.packets.append(queue.tail, id);
            queue.tail = id;
        }
        output.waiting = (output.waiting.0 + 1, output.waiting.1 + u64::from(wire));
        Ok(Joined { drained, arrival: None })
    }

    /// The link of an output with waiting packets is free: the one that leaves, and when it
    /// arrives.
    pub(crate) fn serve_by_input(&mut self, now: SimTime, link: u32) -> Option<(u32, SimTime)> {
        let output = |wires: &mut Self| wires.input_buffers.as_mut().and_then(|b| b.outputs[link as usize].take());
        let mut output = output(self)?;
        let (again, left) = match output.next(&self.packets, now) {
            Ok([id, from]) => {
                let wire = self.links[link as usize].wire(self.packets.get(id).bytes);
                output.waiting = (output.waiting.0 - 1, output.waiting.1 - u64::from(wire));
                let (departure, arrival) = self.leave(now, [from, link], id);
                (departure, Some((id, arrival)))
            }
            Err(ready) => (ready, None),
        };
        if !output.turns.is_empty() {
            self.calendar.push(again, EventKind::Serve { sender: self.hosts + link }.key());
        }
        if let Some(buffers) = &mut self.input_buffers {
            buffers.outputs[link as usize] = Some(output);
        }
        left
    }

    /// A packet that came over `from` leaves over a free link: its departure and its arrival.
    fn leave(&mut self, at: SimTime, [from, out]: [u32; 2], id: u32) -> (SimTime, SimTime) {
        let times = self.join_special(LinkChanges::default(), out, at, at, id);
        let (departure, arrival) = times.expect("a free link takes a packet");
        let wire = self.links[from as usize].wire(self.packets.get(id).bytes);
        let input = self.input_buffers.as_mut().and_then(|b| b.inputs[from as usize].as_mut());
        input.expect("its switch received it").leaving.push((departure, wire));
        (departure, arrival)
    }
}
