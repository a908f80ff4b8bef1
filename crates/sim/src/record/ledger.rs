//! The books of a run: every packet and byte accounted for, every flow and coflow written once.
//!
//! The ledger hears of events from the endpoints. It does not know the network.

use crate::engine::time::{SimTime, evenly_within};
use crate::hosts::flow::{Flow, NONE, SenderTransport};
use crate::network::packet::Packet;
use crate::record::latency::Histogram;
use crate::record::round_trips::{Reading, RoundTrips};
use std::collections::BTreeMap;
use timeplane_model::Duration;
use timeplane_results::{CoflowRow, FlowRow, Recorder, Summarizer};

/// A coflow in progress.
#[derive(Clone, Copy, Debug)]
struct Group {
    flows: u32,
    finished: u32,
    bytes: u64,
    start: i64,
    last: i64,
    measured: bool,
}

/// Counts packets, bytes, flows and coflows.
pub struct Ledger {
    /// Packets, and bytes without framing, handed to a first link or queue.
    pub sent: (u64, u64),
    /// Packets and bytes that arrived at their destinations.
    pub delivered: (u64, u64),
    /// New application bytes at their receivers, at any time.
    pub new_bytes: u64,
    /// New application bytes within the measurement, by receiving host.
    pub received: Vec<u64>,
    /// Round-trip times of TCP segments, if recorded.
    pub rtts: Option<Histogram>,
    /// Round-trip times by reading, if recorded.
    pub round_trips: Option<Box<RoundTrips>>,
    measurement: core::ops::Range<SimTime>,
    groups: BTreeMap<u32, Group>,
    /// Flows that arrived.
    pub arrived: u64,
    /// Flows that ended, finished or not.
    pub ended: u64,
    /// The tables.
    pub recorder: Recorder,
    /// The summary of the tables.
    pub summary: Summarizer,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(hosts: u32, measurement: core::ops::Range<SimTime>, recorder: Recorder) -> Self {
        Self {
            sent: (0, 0),
            delivered: (0, 0),
            new_bytes: 0,
            received: vec![0; hosts as usize],
            rtts: None,
            round_trips: None,
            measurement,
            groups: BTreeMap::new(),
            arrived: 0,
            ended: 0,
            recorder,
            summary: Summarizer::new(),
        }
    }

    /// A flow arrives.
    pub fn arrived(&mut self, flow: &Flow) {
        self.arrived += 1;
        if flow.sender.coflow != NONE {
            let group = self.groups.entry(flow.sender.coflow).or_insert(Group {
                flows: 0,
                finished: 0,
                bytes: 0,
                start: flow.start,
                last: flow.start,
                measured: flow.sender.measured,
            });
            group.flows += 1;
            group.bytes += flow.bytes;
            group.start = group.start.min(flow.start);
        }
    }

    /// A packet is sent.
    #[inline]
    pub fn sent(&mut self, bytes: u32) {
        self.sent.0 += 1;
        self.sent.1 += u64::from(bytes);
    }

    /// A packet arrives at its destination.
    #[inline]
    pub fn delivered(&mut self, bytes: u32) {
        self.delivered.0 += 1;
        self.delivered.1 += u64::from(bytes);
    }

    /// Counts `count` packets like this one as sent and delivered, each with `payload` bytes: the
    /// first at `first`, each further one `line` after the previous one.
    pub fn carried(&mut self, first: SimTime, line: Duration, count: u64, packet: &Packet, payload: u32) {
        let bytes = count * u64::from(packet.bytes);
        self.sent.0 += count;
        self.sent.1 += bytes;
        self.delivered.0 += count;
        self.delivered.1 += bytes;
        self.new_bytes += count * u64::from(payload);
        let counted = evenly_within(&self.measurement, first, line, count);
        self.received[packet.destination as usize] += counted * u64::from(payload);
    }

    /// New application bytes arrive.
    #[inline(always)]
    pub fn received(&mut self, at: SimTime, host: u32, bytes: u64) {
        self.new_bytes += bytes;
        if self.measurement.contains(&at) {
            self.received[host as usize] += bytes;
        }
    }

    /// Whether round-trip times of any reading are recorded.
    pub fn records_round_trips(&self) -> bool {
        self.rtts.is_some() || self.round_trips.is_some()
    }

    /// A round-trip time was measured.
    pub fn round_trip(&mut self, at: SimTime, reading: Reading, rtt: Duration) {
        if !self.measurement.contains(&at) {
            return;
        }
        if let Some(rtts) = self.rtts.as_mut().filter(|_| reading == Reading::Segment) {
            rtts.add(rtt, 1);
        }
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.add(reading, rtt);
        }
    }

    /// The receiver of a flow has all bytes below `end`. They are `delivered` unless they only
    /// reached the middle of a split connection.
    pub fn in_order(&mut self, at: SimTime, flow: u32, end: u64, delivered: bool) {
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.delivered(at, flow, end, delivered && self.measurement.contains(&at));
        }
    }

    /// A flow ended.
    pub fn ended(&mut self, flow: &Flow, stop: SimTime) {
        self.ended += 1;
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.ended(flow.number);
        }
        let (received, last) = (flow.receiver.received, flow.receiver.last);
        // An arrival that was booked ahead and lies after the end has not happened.
        let finished = received == flow.bytes && last <= stop.as_ps();
        let (retransmissions, timeouts) = match &flow.sender.transport {
            SenderTransport::Datagrams { .. } => (0, 0),
            SenderTransport::Raw(sender) => (sender.retransmissions(), 0),
            SenderTransport::Tcp(sender) => (sender.retransmissions(), sender.timeouts()),
            SenderTransport::Ndp(sender, _) => (sender.retransmissions(), sender.timeouts()),
        };
        let acknowledged = flow.receiver.end.as_ref().and_then(|end| end.acknowledged);
        let row = FlowRow {
            flow: flow.number,
            coflow: (flow.sender.coflow != NONE).then_some(flow.sender.coflow),
            source: flow.sender.source,
            destination: flow.destination,
            size_bytes: flow.bytes,
            start_ps: flow.start,
            fct_ps: finished.then_some(last - flow.start),
            acknowledged_ps: acknowledged.map(|at| at - flow.start),
            received_bytes: received,
            ideal_ps: flow.ideal,
            measured: flow.sender.measured,
            retransmissions: u32::try_from(retransmissions).unwrap_or(u32::MAX),
            timeouts,
        };
        self.recorder.flow(&row);
        self.summary.flow(&row);
        if flow.sender.coflow != NONE && finished {
            let group = self.groups.get_mut(&flow.sender.coflow).expect("its coflow arrived with it");
            group.finished += 1;
            group.last = group.last.max(last);
        }
    }

    /// Writes the coflows by number; `name` gives a coflow's number in its trace.
    pub fn close(&mut self, name: impl Fn(u32) -> u64) {
        for (&coflow, group) in &self.groups {
            let done = group.finished == group.flows;
            let row = CoflowRow {
                coflow,
                name: name(coflow),
                flows: group.flows,
                size_bytes: group.bytes,
                start_ps: group.start,
                cct_ps: done.then_some(group.last - group.start),
                finished_flows: group.finished,
                measured: group.measured,
            };
            self.recorder.coflow(&row);
            self.summary.coflow(&row);
        }
    }
}
