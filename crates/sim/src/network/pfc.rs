//! Switches with priority flow control: ports that can be paused.
//!
//! The departure of a packet from such a port is not known when the packet joins. So the port keeps
//! a queue for each priority, and an event serves it whenever its link becomes free. Other links
//! know nothing of this: the link of a port leaves the fast path, and packets fly on it as
//! elsewhere. A host that is paused stops the queues of that class in its interface.
//!
//! A PFC frame waits for the frame in transmission, precedes all other packets, carries the state
//! of all priorities, and takes effect after its propagation and the reaction time. A switch pauses
//! an input while less than one more frame fits below `pause_at`. At most the headroom of `Pfc`
//! then arrives on top of `pause_at`; what still finds no room is lost as `input_full`.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::network::packet::flags;
use crate::network::wires::Wires;
use std::collections::VecDeque;
use timeplane_model::{Duration, Fabric, NodeId, Pfc};

/// All ports and inputs of switches, by link.
pub(crate) struct PfcSwitches {
    /// Sending ends.
    ports: Vec<Option<Port>>,
    /// Receiving ends.
    inputs: Vec<Option<Input>>,
    /// PFC frames sent.
    frames: u64,
}

/// The sending end of a switch on a link.
struct Port {
    queues: [VecDeque<Waiting>; Pfc::PRIORITIES],
    /// Priorities that may not send, one bit each.
    paused: u8,
    /// The room that the packet on the link takes at its input.
    sending: Option<Held>,
    /// Whether the switch has news for the other end.
    news: bool,
    /// When it is served next.
    armed: SimTime,
    /// Wire bytes in its queues, and their line time in ps.
    queued: u64,
    queue_time: i64,
    /// How long after the last bit of a PFC frame the other end obeys.
    effect: Duration,
}

/// What a port did when it was served.
pub(crate) enum PortServed {
    /// Nothing.
    Idle,
    /// It sent a PFC frame, whose last bit left at `sent`.
    Pause { sent: SimTime, priorities: u8 },
    /// It sends this packet.
    Packet(u32),
}

/// A packet in a port's queue.
struct Waiting {
    /// When it has passed the switch.
    ready: SimTime,
    id: u32,
    held: Held,
    /// Wire bytes on the port's link.
    wire: u32,
}

/// The room that a packet takes at an input.
#[derive(Clone, Copy)]
struct Held {
    /// The link of the input.
    from: u32,
    priority: u8,
    wire: u32,
}

/// The receiving end of a switch on a link.
struct Input {
    /// Wire bytes in the switch, by priority.
    held: [u64; Pfc::PRIORITIES],
    /// Priorities to pause, and those that the other end knows to be paused, one bit each.
    paused: u8,
    told: u8,
    /// With more bytes than this, no further frame fits below the bound.
    pause_above: u64,
    resume_at: u64,
    capacity: u64,
}

impl PfcSwitches {
    pub fn new(fabric: &Fabric, mtu: u32) -> Option<Self> {
        let of = |node: NodeId| fabric.switch(node).and_then(|s| s.pfc);
        let ports = fabric.links().iter().map(|link| {
            of(link.from).map(|pfc| Port {
                queues: Default::default(),
                paused: 0,
                sending: None,
                news: false,
                armed: SimTime::MAX,
                queued: 0,
                queue_time: 0,
                effect: link.spec.propagation + pfc.reaction,
            })
        });
        let inputs = fabric.links().iter().map(|link| {
            of(link.to).map(|pfc| {
                let headroom = pfc.headroom.unwrap_or_else(|| pfc.headroom(&link.spec, mtu));
                let frame = u64::from(link.spec.framing.wire(mtu));
                Input {
                    held: [0; Pfc::PRIORITIES],
                    paused: 0,
                    told: 0,
                    pause_above: pfc.pause_at.get().saturating_sub(frame),
                    resume_at: pfc.resume_at.get(),
                    capacity: pfc.pause_at.get().saturating_add(headroom.get()),
                }
            })
        });
        let (ports, inputs): (Vec<_>, Vec<_>) = (ports.collect(), inputs.collect());
        ports.iter().any(Option::is_some).then_some(Self { ports, inputs, frames: 0 })
    }

    /// PFC frames sent, and their wire bytes.
    pub fn frames(&self) -> (u64, u64) {
        (self.frames, self.frames * u64::from(Pfc::FRAME))
    }

    /// Packets and their wire bytes that wait at a port and that its link has not accepted.
    pub fn waiting(&self, link: u32) -> (u64, u64) {
        let port = self.ports.get(link as usize).and_then(Option::as_ref);
        port.map_or((0, 0), |p| (p.queues.iter().map(|q| q.len() as u64).sum(), p.queued))
    }

    /// Packets that wait at ports.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.ports.iter().flatten().flat_map(|p| p.queues.iter().flatten().map(|w| w.id))
    }

    /// A packet that came over `from` at `at` joins the queue of port `out`. `false` if its input
    /// has no room.
    pub fn enqueue(&mut self, wires: &mut Wires, at: SimTime, ready: SimTime, [from, out]: [u32; 2], id: u32) -> bool {
        let packet = wires.packets.get_mut(id);
        let priority = packet.class() & (Pfc::PRIORITIES as u8 - 1);
        let held = Held { from, priority, wire: wires.links[from as usize].wire(packet.bytes) };
        let input = self.inputs[from as usize].as_mut().expect("a switch with PFC received it");
        let Some(tell) = input.take(priority, held.wire) else { return false };
        let port = self.ports[out as usize].as_mut().expect("a switch with PFC sends it");
        let link = &mut wires.links[out as usize];
        let wait = link.backlog(ready) + Duration::from_ps(port.queue_time);
        if link.marks(wait) && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
        }
        let wire = link.wire(packet.bytes);
        port.queues[usize::from(priority)].push_back(Waiting { ready, id, held, wire });
        port.queued += u64::from(wire);
        port.queue_time += link.line_time(wire);
        link.note_queue(wait + Duration::from_ps(link.line_time(wire)));
        self.arm(wires, ready, out);
        if tell {
            self.tell_sender(wires, at, from);
        }
        true
    }

    /// Schedules a PFC frame to the sender on a link.
    fn tell_sender(&mut self, wires: &mut Wires, at: SimTime, from: u32) {
        if let Some(port) = &mut self.ports[from as usize ^ 1] {
            port.news = true;
            self.arm(wires, at, from ^ 1);
        }
    }

    /// Serves a port at `at`, or when its link is free, unless it is served earlier.
    pub fn arm(&mut self, wires: &mut Wires, at: SimTime, link: u32) {
        let at = at.max(wires.links[link as usize].free_at());
        if let Some(port) = &mut self.ports[link as usize]
            && at < port.armed
        {
            port.armed = at;
            wires.calendar.push(at, EventKind::Serve { sender: wires.hosts + link }.key());
        }
    }

    /// Serves a port that may be free; returns what it sent.
    pub fn serve(&mut self, wires: &mut Wires, now: SimTime, link: u32) -> PortServed {
        let Some(port) = self.ports[link as usize].as_mut().filter(|p| p.armed == now) else { return PortServed::Idle };
        port.armed = SimTime::MAX;
        if wires.links[link as usize].free_at() > now {
            self.arm(wires, now, link);
            return PortServed::Idle;
        }
        if let Some(Held { from, priority, wire }) = port.sending.take() {
            let input = self.inputs[from as usize].as_mut().expect("it came over it");
            if input.give(priority, wire) {
                self.tell_sender(wires, now, from);
            }
        }
        if let Some(paused) = self.send_pause(wires, now, link) {
            self.arm(wires, now, link);
            return PortServed::Pause { sent: paused.0, priorities: paused.1 };
        }
        let Some(port) = &mut self.ports[link as usize] else { return PortServed::Idle };
        match port.choose(now) {
            Ok(priority) => {
                let first = port.queues[priority].pop_front().expect("it was chosen");
                port.queued -= u64::from(first.wire);
                port.queue_time -= wires.links[link as usize].line_time(first.wire);
                port.sending = Some(first.held);
                PortServed::Packet(first.id)
            }
            Err(SimTime::MAX) => PortServed::Idle,
            Err(ready) => {
                self.arm(wires, ready, link);
                PortServed::Idle
            }
        }
    }

    /// Sends a PFC frame if its content is new, before all packets: when its last bit left, and the
    /// priorities that it pauses.
    fn send_pause(&mut self, wires: &mut Wires, now: SimTime, link: u32) -> Option<(SimTime, u8)> {
        let port = self.ports[link as usize].as_mut()?;
        let input = self.inputs[link as usize ^ 1].as_mut()?;
        if !std::mem::take(&mut port.news) || input.told == input.paused {
            return None;
        }
        input.told = input.paused;
        self.frames += 1;
        let state = &mut wires.links[link as usize];
        let sent = now + Duration::from_ps(state.line_time(Pfc::FRAME));
        state.free_from(sent);
        let priorities = input.told;
        wires.calendar.push(sent + port.effect, EventKind::Pause { link: link ^ 1, priorities }.key());
        Some((sent, priorities))
    }

    /// A PFC frame takes effect at a port: it starts no packets of these priorities.
    pub fn pause(&mut self, wires: &mut Wires, now: SimTime, link: u32, priorities: u8) {
        if let Some(port) = &mut self.ports[link as usize] {
            port.paused = priorities;
            self.arm(wires, now, link);
        }
    }
}

impl Input {
    /// A packet comes: whether its sender is to be told, or `None` without room.
    fn take(&mut self, priority: u8, wire: u32) -> Option<bool> {
        let held = &mut self.held[usize::from(priority)];
        if *held + u64::from(wire) > self.capacity {
            return None;
        }
        *held += u64::from(wire);
        let pause = *held > self.pause_above && self.paused & 1 << priority == 0;
        self.paused |= u8::from(pause) << priority;
        Some(pause)
    }

    /// A packet has left: whether its sender is to be told.
    fn give(&mut self, priority: u8, wire: u32) -> bool {
        let held = &mut self.held[usize::from(priority)];
        *held -= u64::from(wire);
        let resume = *held <= self.resume_at && self.paused & 1 << priority != 0;
        self.paused &= !(u8::from(resume) << priority);
        resume
    }
}

impl Port {
    /// The first priority with a packet that may be sent, or when there may be one.
    fn choose(&self, now: SimTime) -> Result<usize, SimTime> {
        let mut soonest = SimTime::MAX;
        for (priority, queue) in self.queues.iter().enumerate().filter(|(p, _)| self.paused & 1 << p == 0) {
            match queue.front() {
                Some(first) if first.ready <= now => return Ok(priority),
                Some(first) => soonest = soonest.min(first.ready),
                None => {}
            }
        }
        Err(soonest)
    }
}
