//! Switches with priority flow control: ports that can be paused.
//!
//! When a packet leaves such a port is not known when it joins, so that the port keeps a queue for each priority and is served by an
//! event whenever its link becomes free. Other links know nothing of it: that of a port is no plain link, and packets that are sent on
//! it fly as they do elsewhere. A host that is paused stops its interface's queues of that class.

use super::{Loss, Network};
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::packet::flags;
use std::collections::VecDeque;
use timeplane_model::{Duration, Fabric, LinkId, NodeId, Pfc};

/// All ports and inputs of switches, by link.
pub(crate) struct Lossless {
    /// The sending ends.
    ports: Vec<Option<Port>>,
    /// The receiving ends.
    inputs: Vec<Option<Input>>,
    /// PFC frames sent.
    frames: u64,
}

/// Where a switch sends on a link.
struct Port {
    queues: [VecDeque<Waiting>; Pfc::PRIORITIES],
    /// Priorities that may not send, a bit each.
    paused: u8,
    /// What leaves now.
    sending: Option<Held>,
    /// The switch has something new to say to the other end.
    news: bool,
    /// When it is served next.
    armed: SimTime,
    /// Wire bytes in its queues, and their line time in ps.
    queued: u64,
    queue_time: i64,
    /// When the other end obeys a PFC frame, after the frame's last bit has left.
    effect: Duration,
}

/// A packet in a port's queue.
struct Waiting {
    /// It has passed the switch.
    ready: SimTime,
    id: u32,
    held: Held,
    /// Wire bytes on the port's link.
    wire: u32,
}

/// What a packet takes of an input's room.
#[derive(Clone, Copy)]
struct Held {
    /// The link that it came by.
    from: u32,
    priority: u8,
    wire: u32,
}

/// Where a switch receives over a link.
struct Input {
    /// Wire bytes in the switch, by priority.
    held: [u64; Pfc::PRIORITIES],
    /// Priorities that are to pause, and those that the other end has been told of, a bit each.
    paused: u8,
    told: u8,
    /// More than this leaves no room for a frame below the bound.
    pause_above: u64,
    resume_at: u64,
    capacity: u64,
}

impl Lossless {
    fn new(fabric: &Fabric, mtu: u32) -> Option<Self> {
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
}

impl Input {
    /// A packet comes in: whether there is room for it, and whether who sends is to be told.
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

    /// A packet has left: whether who sends is to be told.
    fn give(&mut self, priority: u8, wire: u32) -> bool {
        let held = &mut self.held[usize::from(priority)];
        *held -= u64::from(wire);
        let resume = *held <= self.resume_at && self.paused & 1 << priority != 0;
        self.paused &= !(u8::from(resume) << priority);
        resume
    }
}

impl Port {
    /// The priority that goes first of those that have a packet and may send it, or when there may be one.
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

impl Network {
    /// Lets switches pause each other and hosts, where the fabric's do. Before the run begins; hosts need queued interfaces for it.
    ///
    /// # Panics
    /// Where switches have PFC and hosts' interfaces have no queues.
    pub fn pause(&mut self, mtu: u32) {
        self.lossless = Lossless::new(&self.fabric, mtu).map(Box::new);
        if self.lossless.is_some() {
            assert!(self.nics.is_some(), "a host that can be paused has queues");
            self.passive = false;
        }
    }

    /// PFC frames sent, and their wire bytes.
    pub fn pauses(&self) -> (u64, u64) {
        let frames = self.lossless.as_ref().map_or(0, |l| l.frames);
        (frames, frames * u64::from(Pfc::FRAME))
    }

    /// Packets and their wire bytes that wait at a switch's port, beside what its link has taken.
    pub fn port_waiting(&self, link: u32) -> (u64, u64) {
        let port = self.lossless.as_ref().and_then(|l| l.ports[link as usize].as_ref());
        port.map_or((0, 0), |p| (p.queues.iter().map(|q| q.len() as u64).sum(), p.queued))
    }

    /// Packets that wait at switches' ports.
    pub(crate) fn port_packets(&self) -> impl Iterator<Item = u32> + '_ {
        let ports = self.lossless.iter().flat_map(|l| l.ports.iter().flatten());
        ports.flat_map(|p| p.queues.iter().flatten().map(|w| w.id))
    }

    /// A packet that came over `from` at `at` joins a port's queue, unless its input has no room.
    #[inline(never)]
    pub(crate) fn enqueue(&mut self, at: SimTime, ready: SimTime, from: u32, out: u32, id: u32, ends: &mut Endpoints) {
        let Some(lossless) = &mut self.lossless else { return };
        let packet = self.packets.get_mut(id);
        let priority = packet.class() & (Pfc::PRIORITIES as u8 - 1);
        let held = Held { from, priority, wire: self.links[from as usize].wire(packet.bytes) };
        let input = lossless.inputs[from as usize].as_mut().expect("a switch with PFC received it");
        let Some(tell) = input.take(priority, held.wire) else {
            let packet = self.packets.remove(id);
            return self.lose(from, Loss::InputFull, packet, ends);
        };
        let port = lossless.ports[out as usize].as_mut().expect("a switch with PFC sends it");
        let link = &mut self.links[out as usize];
        let wait = link.backlog(ready) + Duration::from_ps(port.queue_time);
        if link.marks(wait) && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
        }
        let wire = link.wire(packet.bytes);
        port.queues[usize::from(priority)].push_back(Waiting { ready, id, held, wire });
        port.queued += u64::from(wire);
        port.queue_time += link.line_time(wire);
        link.note_queue(wait + Duration::from_ps(link.line_time(wire)));
        self.arm_port(ready, out);
        if tell {
            self.tell_sender(at, from);
        }
    }

    /// Has a PFC frame sent to who sends on a link.
    fn tell_sender(&mut self, at: SimTime, from: u32) {
        if let Some(port) = self.lossless.as_mut().and_then(|l| l.ports[from as usize ^ 1].as_mut()) {
            port.news = true;
            self.arm_port(at, from ^ 1);
        }
    }

    /// Has a port served at `at`, or when its link is free, unless it is served earlier.
    fn arm_port(&mut self, at: SimTime, link: u32) {
        let at = at.max(self.links[link as usize].free_at());
        if let Some(port) = self.lossless.as_mut().and_then(|l| l.ports[link as usize].as_mut())
            && at < port.armed
        {
            port.armed = at;
            self.calendar.push(at, EventKind::Serve { sender: self.hosts + link }.key());
        }
    }

    /// A port may be free.
    pub fn serve_port(&mut self, now: SimTime, link: u32) {
        let Some(lossless) = &mut self.lossless else { return };
        let Some(port) = lossless.ports[link as usize].as_mut().filter(|p| p.armed == now) else { return };
        port.armed = SimTime::MAX;
        if self.links[link as usize].free_at() > now {
            return self.arm_port(now, link);
        }
        if let Some(Held { from, priority, wire }) = port.sending.take() {
            let input = lossless.inputs[from as usize].as_mut().expect("it came over it");
            if input.give(priority, wire) {
                self.tell_sender(now, from);
            }
        }
        if self.send_pause(now, link) {
            return self.arm_port(now, link);
        }
        let Some(port) = self.lossless.as_mut().and_then(|l| l.ports[link as usize].as_mut()) else { return };
        match port.choose(now) {
            Ok(priority) => {
                let first = port.queues[priority].pop_front().expect("it was chosen");
                port.queued -= u64::from(first.wire);
                port.queue_time -= self.links[link as usize].line_time(first.wire);
                port.sending = Some(first.held);
                let joined = self.join_special(link, now, now, first.id);
                let (departure, arrival) = joined.expect("a port that is free takes a packet");
                self.fly(link, arrival, first.id);
                self.arm_port(departure, link);
            }
            Err(SimTime::MAX) => {}
            Err(ready) => self.arm_port(ready, link),
        }
    }

    /// Sends a PFC frame, if there is something new to say: it goes before all packets.
    fn send_pause(&mut self, now: SimTime, link: u32) -> bool {
        let Some(lossless) = &mut self.lossless else { return false };
        let Some(port) = &mut lossless.ports[link as usize] else { return false };
        let Some(input) = &mut lossless.inputs[link as usize ^ 1] else { return false };
        if !std::mem::take(&mut port.news) || input.told == input.paused {
            return false;
        }
        input.told = input.paused;
        lossless.frames += 1;
        let state = &mut self.links[link as usize];
        let sent = now + Duration::from_ps(state.line_time(Pfc::FRAME));
        state.free_from(sent);
        let told = input.told;
        self.calendar.push(sent + port.effect, EventKind::Pause { link: link ^ 1, priorities: told }.key());
        if let Some(capture) = &mut self.capture {
            let is = self.fabric.link(LinkId(link));
            capture.paused(now, sent + is.spec.propagation, link, (is.from.0, is.to.0), told);
        }
        true
    }

    /// A PFC frame takes effect: who sends on this link begins no packets of these priorities.
    pub fn obey(&mut self, now: SimTime, link: u32, paused: u8) {
        let from = self.fabric.link(LinkId(link)).from.0;
        if from < self.hosts {
            if let Some(nics) = &mut self.nics {
                nics[from as usize].pause(paused);
            }
            self.wake(now, from);
        } else if let Some(port) = self.lossless.as_mut().and_then(|l| l.ports[link as usize].as_mut()) {
            port.paused = paused;
            self.arm_port(now, link);
        }
    }
}
