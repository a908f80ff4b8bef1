//! What the network tells a [capture](crate::record::capture::Capture): which packet took which link, and when its first bit left.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::Network;
use crate::network::packet::Packet;
use crate::record::capture::Seen;
use timeplane_results::ResultsError;

impl Network {
    /// A packet, of this number until now, lands at the end of a link at `at`, or will without an event of its own.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_landing(&mut self, at: SimTime, link: u32, id: u32, packet: &Packet, ends: &Endpoints) {
        let left = self.left(link, id, packet, at);
        let state = &self.links[link as usize];
        let landed = at + state.tail_lag(state.wire(packet.bytes));
        self.note_captured(link, id, packet, ends, left, landed, state.to);
    }

    /// A packet in flight is lost at `at`, before it lands: whoever sends has begun it.
    #[cold]
    pub(crate) fn capture_cut(&mut self, at: SimTime, link: u32, id: u32, ends: &Endpoints) {
        let packet = *self.packets.get(id);
        let left = self.left(link, id, &packet, self.packets.arrival(id));
        self.note_captured(link, id, &packet, ends, left, at, u32::MAX);
    }

    #[expect(clippy::too_many_arguments, reason = "what is known of a packet, and where to")]
    fn note_captured(
        &mut self,
        link: u32,
        id: u32,
        packet: &Packet,
        ends: &Endpoints,
        left: SimTime,
        landed: SimTime,
        to: u32,
    ) {
        let Some(capture) = &mut self.capture else { return };
        if left > self.stop {
            return;
        }
        capture.landed(&Seen {
            packet,
            id,
            flow: ends.flows.get(packet.flow),
            sacks: ends.sacks(packet),
            carrier: &ends.setting().carrier,
            link,
            left,
            landed,
            by_host: self.links[link as usize].host,
            // What has not come when the run ends has not come.
            to: if landed > self.stop { u32::MAX } else { to },
        });
    }

    /// When the first bit of a packet left, that arrives over a link at `arrival`; over the air, when it came out of it.
    fn left(&self, link: u32, id: u32, packet: &Packet, arrival: SimTime) -> SimTime {
        let state = &self.links[link as usize];
        let wire = state.wire(packet.bytes);
        let departure = state.departure(arrival, wire);
        let (from, to) = self.ends_of(link);
        let latency = |node: u32| self.switches[(node - self.hosts) as usize].latency;
        if self.air_queue(link).is_some() {
            // A switch's latency is behind its link to the air.
            return departure - latency(from);
        }
        let line = if state.is_changing() { self.line_of(link, id) } else { state.line_time(wire) };
        let first = SimTime(departure.0 - line);
        match &self.hybrid {
            // A rack's latency is behind its port.
            Some(_) if to < self.hosts => first - latency(from),
            // What comes out of the circuit switch comes as if it were as long as the longest frame.
            Some(hybrid) if from == self.circuit_switch => SimTime(departure.0 - state.line_time(hybrid.largest)),
            _ => first,
        }
    }

    /// Writes what has been captured, as far as nothing earlier can come. Between events.
    #[inline]
    pub(crate) fn write_capture(&mut self, now: SimTime) {
        if self.capture.is_some() {
            self.write_captured(now);
        }
    }

    #[cold]
    fn write_captured(&mut self, now: SimTime) {
        let Some(mut capture) = self.capture.take() else { return };
        // What is in flight is written down when it lands, by when it left.
        let first = capture.links().filter_map(|link| {
            let first = self.links[link as usize].in_flight(&self.packets).next()?;
            Some(self.left(link, first, self.packets.get(first), self.packets.arrival(first)))
        });
        let before = first.chain([now]).min().unwrap_or(now);
        capture.write(before);
        self.capture = Some(capture);
    }

    /// The run is over: what is in flight has left its link's sending end.
    ///
    /// # Errors
    /// Where a capture cannot be written.
    pub(crate) fn end_capture(&mut self, end: SimTime, ends: &Endpoints) -> Result<(), ResultsError> {
        let links: Vec<u32> = self.capture.iter().flat_map(|c| c.links()).collect();
        for link in links {
            let ids: Vec<u32> = self.links[link as usize].in_flight(&self.packets).collect();
            for id in ids {
                let packet = *self.packets.get(id);
                let left = self.left(link, id, &packet, self.packets.arrival(id));
                if left <= end {
                    self.note_captured(link, id, &packet, ends, left, end, u32::MAX);
                }
            }
        }
        self.capture.take().map_or(Ok(()), |capture| capture.finish())
    }
}
