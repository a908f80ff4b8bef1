//! What a network tells a [`Capture`]: which packet took which link, and when its first bit left.
//!
//! A tap reads the network and changes nothing in it. A packet is known when it lands, so a tap
//! works out from its arrival when it left.

use crate::air::links::AirLinks;
use crate::circuit::hybrid::Hybrid;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::packet::Packet;
use crate::network::rate_changes::RateChanges;
use crate::network::wires::Wires;
use crate::record::capture::{Capture, Seen};
use timeplane_results::ResultsError;

/// The parts of a network that tell when a packet left.
pub(crate) struct Tap<'a> {
    pub wires: &'a Wires,
    pub rates: Option<&'a RateChanges>,
    pub air: Option<&'a AirLinks>,
    pub hybrid: Option<&'a Hybrid>,
    /// The end of the run.
    pub stop: SimTime,
}

/// A packet on a link.
#[derive(Clone, Copy)]
pub(crate) struct Carried<'a> {
    pub link: u32,
    /// The number of the packet, until now.
    pub id: u32,
    pub packet: &'a Packet,
}

impl Tap<'_> {
    /// The time at which the first bit of a packet left, given its `arrival`; over the air, the
    /// time at which the medium delivered it.
    fn left(&self, on: Carried<'_>, arrival: SimTime) -> SimTime {
        let state = &self.wires.links[on.link as usize];
        let wire = state.wire(on.packet.bytes);
        let departure = state.departure(arrival, wire);
        let (from, to) = self.wires.ends_of(on.link);
        if self.air.is_some_and(|air| air.queue(on.link).is_some()) {
            // The latency of a switch is added behind its link to the air.
            return departure - self.wires.latency(from);
        }
        let changed = if state.is_changing() { self.rates } else { None };
        let line = changed.and_then(|rates| rates.line_of(self.wires, on.link, on.id));
        let first = SimTime(departure.0 - line.unwrap_or_else(|| state.line_time(wire)));
        match self.hybrid {
            // The latency of a rack is added behind its port.
            Some(_) if to < self.wires.hosts => first - self.wires.latency(from),
            // A frame from the circuit switch arrives as if it were as long as the longest frame.
            Some(hybrid) if from == hybrid.circuit_switch => SimTime(departure.0 - state.line_time(hybrid.largest)),
            _ => first,
        }
    }
}

impl Capture {
    /// A packet lands at the end of a link at `at`, or will without an event of its own.
    #[cold]
    #[inline(never)]
    pub(crate) fn landing(&mut self, tap: &Tap<'_>, at: SimTime, on: Carried<'_>, ends: &Endpoints) {
        let state = &tap.wires.links[on.link as usize];
        let landed = at + state.tail_lag(state.wire(on.packet.bytes));
        self.note(tap, on, ends, [tap.left(on, at), landed], state.to);
    }

    /// A packet in flight is lost at `at`, after its sender has begun it.
    #[cold]
    pub(crate) fn cut(&mut self, tap: &Tap<'_>, at: SimTime, link: u32, id: u32, ends: &Endpoints) {
        let on = Carried { link, id, packet: tap.wires.packets.get(id) };
        let left = tap.left(on, tap.wires.packets.arrival(id));
        self.note(tap, on, ends, [left, at], u32::MAX);
    }

    fn note(&mut self, tap: &Tap<'_>, on: Carried<'_>, ends: &Endpoints, [left, landed]: [SimTime; 2], to: u32) {
        if left > tap.stop {
            return;
        }
        let Carried { link, id, packet } = on;
        self.landed(&Seen {
            packet,
            id,
            flow: ends.flows.get(packet.flow),
            options: ends.options(packet),
            transport: &ends.config().transport,
            link,
            left,
            landed,
            by_host: tap.wires.links[link as usize].host,
            // A packet that lands after the end of the run does not land.
            to: if landed > tap.stop { u32::MAX } else { to },
        });
    }

    /// Writes all frames before which nothing can come any more. Called between events.
    #[cold]
    pub(crate) fn write_until(&mut self, tap: &Tap<'_>, now: SimTime) {
        // Packets in flight are written when they land, at the time when they left.
        let first = self.links().filter_map(|link| {
            let id = tap.wires.links[link as usize].in_flight(&tap.wires.packets).next()?;
            let on = Carried { link, id, packet: tap.wires.packets.get(id) };
            Some(tap.left(on, tap.wires.packets.arrival(id)))
        });
        let before = first.chain([now]).min().unwrap_or(now);
        self.write(before);
    }

    /// The run is over: writes the packets in flight as ones that left and did not arrive.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub(crate) fn end(mut self, tap: &Tap<'_>, end: SimTime, ends: &Endpoints) -> Result<(), ResultsError> {
        let links: Vec<u32> = self.links().collect();
        for link in links {
            for id in tap.wires.links[link as usize].in_flight(&tap.wires.packets) {
                let on = Carried { link, id, packet: tap.wires.packets.get(id) };
                let left = tap.left(on, tap.wires.packets.arrival(id));
                // Captures at agents have control messages.
                if left <= end && on.packet.control_message().is_none() {
                    self.note(tap, on, ends, [left, end], u32::MAX);
                }
            }
        }
        self.finish()
    }
}
