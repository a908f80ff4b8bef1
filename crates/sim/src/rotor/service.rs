//! What racks do with packets: find a route, queue them for its circuit, and send while it is open.
//!
//! The network moves packets; here is decided which and when.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::network::failures::Failures;
use crate::network::link::LinkState;
use crate::network::meters::{Loss, Meters};
use crate::network::packet::{LAST, Packet, Packets, UNKNOWN, flags};
use crate::network::trimming::spares;
use crate::network::wires::Wires;
use crate::rotor::cycle::Hold;
use crate::rotor::grants::{Granted, Lines};
use crate::rotor::queues::{BULK, CLASSES, DATA, HEADERS, LATER, QueueId};
use crate::rotor::{RELAYED, Rotor};
use timeplane_model::{Bytes, Duration, mix64};
use timeplane_schedule::rotor::Late;
use timeplane_schedule::rotor::routing::{Hop, Position};

/// What an uplink does when it is served.
pub(crate) enum Next {
    /// Sends this packet, which its queue has handed over, and has more for this circuit or not.
    Packet(u32, bool),
    /// Sends nothing before this time.
    Wait(SimTime),
    /// Sends nothing until another packet or slice comes.
    Nothing,
}

/// A packet that lands at a rack: the node of the rack, or the link that loses it and the reason,
/// `None` if it is corrupt or its rack is down.
pub(crate) type Landing = Result<u32, (u32, Option<Loss>)>;

impl Rotor {
    /// Whether a node is a rotor switch.
    #[inline]
    pub fn is_rotor(&self, node: u32) -> bool {
        self.racks.is_rotor(node)
    }

    /// Whether a link leads from a rack to a rotor switch.
    #[inline]
    pub fn is_uplink(&self, link: u32) -> bool {
        self.racks.place_of(link).is_some()
    }

    /// The rack of a node, and whether a host is in it.
    #[inline]
    pub fn is_home(&self, node: u32, host: u32) -> bool {
        node == self.racks.hosts + self.racks.rack_of(host)
    }

    /// The last bit of a packet that crossed a rotor switch arrives at a rack at `at`.
    pub fn land(&self, wires: &mut Wires, failures: Option<&Failures>, at: SimTime, link: u32, id: u32) -> Landing {
        let (rack, uplink) = self.racks.place_of(link).expect("only racks send to rotor switches");
        let packet = wires.packets.get(id);
        let bytes = packet.bytes;
        if packet.flags & flags::CORRUPT != 0 {
            return Err((link, None));
        }
        let state = &wires.links[link as usize];
        let end = at - self.beyond;
        let begin = SimTime(end.0 - state.line_time(state.wire(bytes)));
        let Some(to) = self.cycle.lit(begin, end, rack, uplink) else { return Err((link, Some(Loss::CircuitDark))) };
        let down = self.racks.uplink(to, uplink) + 1;
        if wires.links[down as usize].is_down() {
            let reason = failures.map_or(Loss::LinkDown, |f| f.down_reason(wires, down));
            return Err((down, Some(reason)));
        }
        if wires.links[down as usize].leads_down() {
            return Err((down, Some(Loss::SwitchDown)));
        }
        wires.links[down as usize].pass(end, bytes);
        Ok(self.racks.hosts + to)
    }

    /// Which routing a packet has.
    fn routing_of(&self, bulk: bool) -> usize {
        usize::from(bulk && self.routed[1].is_some())
    }

    /// The next hop of a packet that asks in a slice.
    fn hop(&mut self, packet: &Packet, rack: u32, slice: i64, bulk: bool) -> Option<Hop> {
        let routed = self.routed[self.routing_of(bulk)].as_ref()?;
        let draw = if routed.in_turn() {
            let turn = &mut self.turns[rack as usize];
            *turn += 1;
            *turn - 1
        } else if routed.draws {
            mix64(u64::from(packet.hash) << 32 ^ packet.seq)
        } else {
            u64::from(packet.hash)
        };
        let is_data = packet.flags & flags::ACK == 0;
        let position = Position {
            rack,
            destination: self.racks.rack_of(packet.destination),
            slice: self.cycle.in_cycle(slice),
            progress: packet.path,
            draw,
            age: Bytes::new(if is_data { packet.seq } else { 0 }),
        };
        let hop = routed.routing.next_hop(&position)?;
        match routed.spec.own() {
            Some(own) if !self.has_circuit(&position, &hop) => {
                let Position { rack, destination, slice, .. } = position;
                self.fault = Some(format!(
                    "routing `{}` sends a packet for rack {destination} at rack {rack} in slice {slice} to rack {} over \
                     uplink {} after {} slices: expected a circuit of the schedule",
                    own.name, hop.rack, hop.uplink, hop.wait
                ));
                None
            }
            _ => Some(hop),
        }
    }

    /// Whether the circuit of a hop exists, within a cycle.
    fn has_circuit(&self, at: &Position, hop: &Hop) -> bool {
        let schedule = self.cycle.schedule();
        let slice = || (at.slice + hop.wait) % schedule.slices();
        hop.uplink < schedule.uplinks()
            && hop.wait <= schedule.slices()
            && schedule.destination(slice(), at.rack, hop.uplink) == Some(hop.rack)
    }

    /// A packet of a flow of `size` bytes is ready at a rack at `at`: queues it for a circuit.
    /// Returns the uplink's link, and which packet is lost if one is, and why.
    pub fn admit(
        &mut self,
        wires: &mut Wires,
        meters: &mut Meters,
        at: SimTime,
        [node, id]: [u32; 2],
        size: u64,
    ) -> Result<u32, (u32, Loss)> {
        let rack = node - self.racks.hosts;
        let packet = *wires.packets.get(id);
        let is_data = packet.flags & flags::ACK == 0;
        let bulk = is_data && self.is_bulk(size, packet.seq);
        let class = if bulk { BULK } else { self.class_of(&packet) };
        let now = self.cycle.slice_at(at);
        let asks_for_grant = self.grants.is_some() && bulk && packet.path != RELAYED;
        if asks_for_grant && let Some(link) = self.admit_granted(wires, at, rack, id) {
            return Ok(link);
        }
        let mut slice = now;
        let last = now + i64::from(self.cycle.schedule().slices());
        while slice <= last {
            let hop = self.hop(wires.packets.get(id), rack, slice, bulk).ok_or((id, Loss::NoRoute))?;
            let when = slice + i64::from(hop.wait);
            let hold = self.cycle.hold(when, hop.uplink);
            let queue = QueueId { rack, uplink: hop.uplink, hold: hold.number, class };
            let link = self.racks.uplink(rack, hop.uplink);
            let state = &wires.links[link as usize];
            let wire = state.wire(packet.bytes);
            let waits = self.queues.ahead_of(queue);
            if self.limit.is_some_and(|limit| waits + u64::from(wire) > limit) {
                return Err((id, Loss::BufferFull));
            }
            let fits = fits(state, at, hold, waits + u64::from(wire));
            // The room of a circuit that has begun is granted already.
            let relayed = self.grants.is_some() && bulk;
            if relayed && hold.open <= at + self.cycle.timing().dark() {
                slice = when + 1;
                continue;
            }
            let waits_for_more = relayed || self.limit.is_some() || self.late == Late::Bounce;
            if fits || waits_for_more && hold.open > at {
                // The same circuit may be open now, and will be again after a cycle.
                let is_late = relayed && self.cycle.hold(now, hop.uplink).number == hold.number;
                let queue = if is_late { QueueId { class: LATER, ..queue } } else { queue };
                self.enqueue(wires, meters, queue, id, hop.progress)?;
                return Ok(link);
            }
            slice = when + 1;
        }
        Err((id, Loss::BufferFull))
    }

    /// The class of a packet that is not bulk.
    fn class_of(&self, packet: &Packet) -> usize {
        if self.trimming.is_some() && !packet.may_be_trimmed() { HEADERS } else { DATA }
    }

    /// Queues a packet, which takes `progress` to its next rack. Where switches trim and its queue
    /// of data is full, it is cut down to its header, or it takes the place of the last packet,
    /// which is. Headers have a bound, too: which packet is lost, and why.
    fn enqueue(
        &mut self,
        wires: &mut Wires,
        meters: &mut Meters,
        queue: QueueId,
        id: u32,
        progress: u16,
    ) -> Result<(), (u32, Loss)> {
        let link = self.racks.uplink(queue.rack, queue.uplink);
        let wire = |wires: &Wires, id: u32| wires.links[link as usize].wire(wires.packets.get(id).bytes);
        wires.packets.get_mut(id).ahead = [LAST, u32::from(progress), LAST, LAST];
        let (mut id, mut class) = (id, queue.class);
        if let Some(trimming) = self.trimming {
            let waiting = self.queues.len(queue);
            if class == DATA && waiting >= u64::from(trimming.queue) {
                if waiting > 0 && spares(wires.packets.get(id), link) {
                    let last = self.queues.last(queue);
                    let wires_of = [wire(wires, id), wire(wires, last)];
                    self.queues.replace_last(queue, id, wires_of, &mut wires.packets);
                    id = last;
                }
                meters.trimmed(link, wires.packets.get_mut(id).trim(trimming.header));
                class = HEADERS;
            }
            if class == HEADERS && self.queues.len(QueueId { class, ..queue }) >= u64::from(trimming.headers) {
                return Err((id, Loss::BufferFull));
            }
        }
        self.queues.push(QueueId { class, ..queue }, id, wire(wires, id), &mut wires.packets);
        Ok(())
    }

    /// Queues a packet that has the grant of an uplink for the circuit of now, if it still fits
    /// there. If not, its rack relays it.
    fn admit_granted(&mut self, wires: &mut Wires, at: SimTime, rack: u32, id: u32) -> Option<u32> {
        let packet = *wires.packets.get(id);
        let granted = u32::from(packet.path.checked_sub(1)?);
        let hold = self.cycle.hold(self.cycle.slice_at(at), granted);
        // A host notes the hold that it was granted, in place of the links ahead.
        let planned = packet.ahead[1];
        let queue = QueueId { rack, uplink: granted, hold: hold.number, class: BULK };
        let link = self.racks.uplink(rack, granted);
        let state = &wires.links[link as usize];
        let wire = state.wire(packet.bytes);
        let waits = self.queues.ahead_of(queue);
        if hold.number == planned && fits(state, at, hold, waits + u64::from(wire)) {
            wires.packets.get_mut(id).ahead = [LAST, u32::from(RELAYED), LAST, LAST];
            self.queues.push(queue, id, wire, &mut wires.packets);
            return Some(link);
        }
        let over = self.cycle.end_of(rack, granted, planned);
        if let Some(grants) = &mut self.grants {
            grants.keeps(rack, over, self.racks.rack_of(packet.destination));
        }
        wires.packets.get_mut(id).path = RELAYED;
        None
    }

    /// Something waits at an uplink that may send at `at`, or later: whether it has to be served
    /// at once. Otherwise an event serves it.
    pub fn wake(&mut self, wires: &mut Wires, at: SimTime, link: u32) -> bool {
        let (rack, uplink) = self.racks.place_of(link).expect("an uplink");
        let hold = self.cycle.hold(self.cycle.slice_at(at), uplink);
        if self.queues.is_empty(rack, uplink, hold.number) {
            return false;
        }
        let free = wires.links[link as usize].free_at().max(hold.open);
        if free > at {
            self.arm(wires, free, link);
        }
        free <= at
    }

    /// Serves an uplink at `at`, unless an event does it earlier.
    pub fn arm(&mut self, wires: &mut Wires, at: SimTime, link: u32) {
        let (rack, uplink) = self.racks.place_of(link).expect("an uplink");
        let armed = self.queues.armed(rack, uplink);
        if at < *armed {
            *armed = at;
            wires.calendar.push(at, EventKind::Serve { sender: self.racks.hosts + link }.key());
        }
    }

    /// Whether the event of an uplink at `at` is not stale.
    pub fn is_due(&mut self, at: SimTime, link: u32) -> bool {
        let (rack, uplink) = self.racks.place_of(link).expect("an uplink");
        let armed = self.queues.armed(rack, uplink);
        let due = *armed == at;
        if due {
            *armed = SimTime::MAX;
        }
        due
    }

    /// What an uplink sends at `at`.
    pub fn next(&mut self, wires: &mut Wires, at: SimTime, link: u32) -> Next {
        let (rack, uplink) = self.racks.place_of(link).expect("an uplink");
        let slice = self.cycle.slice_at(at);
        let hold = self.cycle.hold(slice, uplink);
        let state = &wires.links[link as usize];
        let free = state.free_at().max(hold.open);
        let Some((id, queue)) = self.queues.first(rack, uplink, hold.number) else { return Next::Nothing };
        if free > at {
            return Next::Wait(free);
        }
        let wire = state.wire(wires.packets.get(id).bytes);
        if at.0.saturating_add(state.line_time(wire)) > hold.close.0 {
            // Its slice ends before it could leave.
            return Next::Nothing;
        }
        self.queues.pop(queue, wire, &wires.packets);
        let packet = wires.packets.get_mut(id);
        let relayed = packet.path == RELAYED;
        packet.path = packet.ahead[1] as u16;
        packet.ahead = UNKNOWN;
        if relayed && let Some(grants) = &mut self.grants {
            grants.relays(rack, self.racks.rack_of(packet.destination));
        }
        Next::Packet(id, !self.queues.is_empty(rack, uplink, hold.number))
    }

    /// Racks and uplinks that lead elsewhere from `slice` on, and where packets wait for the
    /// circuit of the slice `of`, with the number of its hold.
    fn changing(&self, slice: i64, of: i64) -> Vec<(u32, u32, u32)> {
        let mut found = Vec::new();
        for uplink in (0..self.racks.uplinks).filter(|&p| self.cycle.is_changing(slice, p)) {
            let hold = self.cycle.hold(of, uplink).number;
            let waits = (0..self.racks.racks).filter(|&rack| !self.queues.is_empty(rack, uplink, hold));
            found.extend(waits.map(|rack| (rack, uplink, hold)));
        }
        found
    }

    /// The packets that were late in the slice before `slice`: those of circuits that have ended,
    /// with the node of their rack and their uplink's link. They stay queued where late packets
    /// wait for the same circuit.
    pub fn take_late(&mut self, wires: &mut Wires, slice: i64) -> Vec<(u32, u32, u32)> {
        let mut late = Vec::new();
        for (rack, uplink, hold) in self.changing(slice, slice - 1) {
            let link = self.racks.uplink(rack, uplink);
            for class in 0..CLASSES {
                let id = QueueId { rack, uplink, hold, class };
                if self.late == Late::Bounce {
                    *self.late_counts.entry(link).or_default() += self.queues.len(id);
                    continue;
                }
                let drained = self.queues.drain(id, &wires.packets);
                late.extend(drained.into_iter().map(|packet| (self.racks.hosts + rack, link, packet)));
            }
        }
        if self.grants.is_some() {
            for uplink in (0..self.racks.uplinks).filter(|&p| self.cycle.is_changing(slice, p)) {
                let hold = self.cycle.hold(slice - 1, uplink).number;
                for rack in 0..self.racks.racks {
                    self.queues.keep_later(rack, uplink, hold, &mut wires.packets);
                }
            }
        }
        late
    }

    /// The uplinks whose circuits begin with this slice and have packets to send.
    pub fn opening(&self, slice: i64) -> Vec<u32> {
        self.changing(slice, slice).into_iter().map(|(rack, uplink, _)| self.racks.uplink(rack, uplink)).collect()
    }

    /// A packet that was late: whether it asks for a new route, which is counted, or is lost.
    pub fn reroutes(&mut self, wires: &mut Wires, link: u32, id: u32) -> bool {
        let packet = wires.packets.get_mut(id);
        packet.ahead = UNKNOWN;
        if self.late == Late::Lose {
            return false;
        }
        *self.late_counts.entry(link).or_default() += 1;
        true
    }

    /// All packets of a rack's uplink, which fails with its rack.
    pub fn drain(&mut self, wires: &mut Wires, link: u32) -> Vec<u32> {
        let Some((rack, uplink)) = self.racks.place_of(link) else { return Vec::new() };
        let queues: Vec<QueueId> = self.queues.of(rack, uplink).collect();
        let drained: Vec<u32> = queues.into_iter().flat_map(|id| self.queues.drain(id, &wires.packets)).collect();
        for &id in &drained {
            let packet = wires.packets.get_mut(id);
            packet.ahead = UNKNOWN;
            if packet.path == RELAYED
                && let Some(grants) = &mut self.grants
            {
                grants.relays(rack, self.racks.rack_of(packet.destination));
            }
        }
        drained
    }

    /// A slice has been prepared: the next one is due if anything still waits.
    pub fn slice_is_over(&mut self, slice: i64) {
        let waits = self.queues.packets > 0 || self.grants.as_ref().is_some_and(|g| g.waits());
        self.due = waits.then_some(slice + 1);
    }
}

/// Whether `wire` bytes that are ready at `at` leave over an uplink before its circuit ends.
fn fits(link: &LinkState, at: SimTime, hold: Hold, wire: u64) -> bool {
    let begin = at.max(hold.open).max(link.free_at());
    begin.0.saturating_add(link.line_time_of(wire)) <= hold.close.0
}

/// Grants of RotorLB.
impl Rotor {
    /// Keeps a flow to another rack at its host until its packets are granted.
    pub fn keep_flow(&mut self, host: u32, destination: u32, key: u32, packets: u64) {
        if let Some(grants) = &mut self.grants {
            grants.push(self.racks, host, destination, key, packets);
        }
    }

    /// Counts anew what racks relay. A packet that is lost on its way never comes to its relay,
    /// which would keep room for it.
    fn count_relayed(&mut self, packets: &Packets) {
        let Some(grants) = &mut self.grants else { return };
        grants.forget_relayed(self.racks);
        for (rack, uplink) in (0..self.racks.racks).flat_map(|r| (0..self.racks.uplinks).map(move |p| (r, p))) {
            for id in self.queues.of(rack, uplink).flat_map(|queue| self.queues.chain(queue, packets)) {
                let packet = packets.get(id);
                if packet.path == RELAYED {
                    grants.stores(rack, self.racks.rack_of(packet.destination));
                }
            }
        }
    }

    /// Grants the circuits that begin with a slice; the hosts that then have grants. If packets
    /// were `lost` in this run, racks count what they relay once a cycle.
    pub fn plan(&mut self, slice: i64, lines: Lines, packets: &Packets, lost: bool) -> Vec<u32> {
        if lost && self.cycle.in_cycle(slice) == 0 {
            self.count_relayed(packets);
        }
        let Some(grants) = &mut self.grants else { return Vec::new() };
        let uplinks: Vec<u32> = (0..self.racks.uplinks).filter(|&p| self.cycle.is_changing(slice, p)).collect();
        let queued = |rack: u32, uplink: u32, hold: u32| {
            (0..CLASSES).map(|class| self.queues.len(QueueId { rack, uplink, hold, class })).sum()
        };
        let dead = |rack: u32, uplink: u32| self.dead[(rack * self.racks.uplinks + uplink) as usize];
        grants.plan(&self.cycle, self.racks, lines, (slice, &uplinks), queued, dead);
        grants.granted().collect()
    }

    /// The link to the host that relays a packet which crossed a circuit to this rack, if hosts do.
    pub fn relays_at_host(&mut self, links: &[LinkState], node: u32, packet: &Packet) -> Option<u32> {
        let grants = self.grants.as_mut().filter(|_| packet.path == RELAYED)?;
        let works = |host: u32| !links[self.racks.downlink(host) as usize].is_down();
        let host = grants.relaying_host(self.racks, node - self.racks.hosts, works)?;
        Some(self.racks.downlink(host))
    }

    /// A packet comes to a host that relays it.
    pub fn store(&mut self, host: u32, id: u32, destination: u32) {
        if let Some(grants) = &mut self.grants {
            grants.store(host, self.racks.rack_of(destination), id);
        }
    }

    /// The granted packet that a host sends at `now`, or when it will.
    pub fn next_granted(&mut self, host: u32, now: SimTime, line: Duration) -> Option<Result<Granted, SimTime>> {
        self.grants.as_mut()?.next(self.racks, host, now, line)
    }
}
