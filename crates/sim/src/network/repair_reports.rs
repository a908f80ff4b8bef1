//! Repair reports of raw receivers on their way to the senders.
//!
//! Reports travel as control messages do: over the ports of the control network, or in band. They
//! take a fixed latency besides, and are lost where an end is down and where a frame is lost in
//! band. They are counted with the bytes that they would take as datagrams.

use crate::engine::time::SimTime;
use crate::network::Network;
use std::collections::BTreeMap;
use timeplane_model::Duration;
use timeplane_transport::RepairReport;

/// Reports under way.
pub(crate) struct RepairReports {
    /// By time, flow and sequence of what happens next to each.
    under_way: BTreeMap<(SimTime, u32, u32), UnderWay>,
    /// By number of message, reports of which frames are on the fabric's links: when they were
    /// sent, the frames that have not arrived, the flow and its key.
    in_band: BTreeMap<u64, (SimTime, u32, [u32; 2], RepairReport)>,
    /// Whether reports travel over the fabric's links.
    pub is_in_band: bool,
    sequence: u32,
    latency: Duration,
    /// Reports sent, their wire bytes, and those that were lost.
    pub sent: (u64, u64, u64),
    /// The longest time of a report on ports or links, besides the latency.
    pub longest: Duration,
}

/// A report and what happens next to it.
struct UnderWay {
    key: u32,
    next: Next,
    /// `None` if it is lost.
    report: Option<RepairReport>,
}

enum Next {
    /// It reaches the port of the first host, to go to the second one. Receivers may be ahead of
    /// the time of the run.
    Port([u32; 2]),
    /// It reaches the port of its recipient, as early as a report without ports at this time.
    LastPort(u32, SimTime),
    /// It arrives.
    Arrival,
}

/// A report that arrives.
pub(crate) struct ArrivedReport {
    pub at: SimTime,
    pub flow: u32,
    pub key: u32,
    /// `None` if it was lost.
    pub report: Option<RepairReport>,
}

impl RepairReports {
    pub fn new(latency: Duration) -> Self {
        Self {
            under_way: BTreeMap::new(),
            in_band: BTreeMap::new(),
            is_in_band: false,
            sequence: 0,
            latency,
            sent: (0, 0, 0),
            longest: Duration::ZERO,
        }
    }

    /// Numbers of messages in band from here on belong to repair reports.
    pub const FIRST: u64 = 1 << 63;

    /// When the next report arrives, or reaches a port.
    pub fn next(&self) -> Option<SimTime> {
        self.under_way.first_key_value().map(|(k, _)| k.0)
    }

    fn insert(&mut self, at: SimTime, [flow, key]: [u32; 2], next: Next, report: Option<RepairReport>) {
        self.sequence += 1;
        self.under_way.insert((at, flow, self.sequence), UnderWay { key, next, report });
    }

    /// A frame of a report in band arrives, or is lost at some time before.
    pub fn frame(&mut self, at: SimTime, number: u64, lost: bool) {
        let Some((_, left, ..)) = self.in_band.get_mut(&number) else { return };
        *left -= 1;
        if *left > 0 && !lost {
            return;
        }
        let Some((sent, _, flow, report)) = self.in_band.remove(&number) else { return };
        self.longest = self.longest.max(at - sent);
        self.sent.2 += u64::from(lost);
        self.insert(at + self.latency, flow, Next::Arrival, (!lost).then_some(report));
    }
}

impl Network {
    /// A receiver sends a report of a flow to its sender, or is down.
    pub(super) fn send_repair(&mut self, now: SimTime, ends: [u32; 2], flow: [u32; 2], report: Option<RepairReport>) {
        let latency = self.repairs.latency;
        let Some(report) = report else {
            return self.repairs.insert(now + latency, flow, Next::Arrival, None);
        };
        let bytes = wire_bytes(&report);
        self.repairs.sent.0 += 1;
        self.repairs.sent.1 += u64::from(bytes);
        if self.repairs.is_in_band {
            let number = RepairReports::FIRST + self.repairs.sent.0;
            let frames = bytes.div_ceil(FRAME);
            self.repairs.in_band.insert(number, (now, frames, flow, report));
            for frame in 0..frames {
                self.send_control(now, ends, (bytes - frame * FRAME).min(FRAME), number);
            }
            return;
        }
        let (at, next) = if self.ports.is_some() { (now, Next::Port(ends)) } else { (now + latency, Next::Arrival) };
        self.repairs.insert(at, flow, next, Some(report));
    }

    /// Takes the next repair report that arrives by `now`.
    pub(crate) fn pop_report(&mut self, now: SimTime) -> Option<ArrivedReport> {
        let latency = self.repairs.latency;
        while let Some(first) = self.repairs.under_way.first_entry().filter(|f| f.key().0 <= now) {
            let ((at, flow, _), UnderWay { key, next, report }) = first.remove_entry();
            let bytes = report.as_ref().map_or(0, wire_bytes);
            match (next, &mut self.ports) {
                (Next::Port([from, to]), Some(ports)) => {
                    let arrives = ports.leave(at, from, bytes) + latency;
                    self.repairs.insert(arrives, [flow, key], Next::LastPort(to, at + latency), report);
                }
                (Next::LastPort(to, soonest), Some(ports)) => {
                    let arrives = ports.arrive(at, to, bytes);
                    self.repairs.longest = self.repairs.longest.max(arrives - soonest);
                    self.repairs.insert(arrives, [flow, key], Next::Arrival, report);
                }
                _ => return Some(ArrivedReport { at, flow, key, report }),
            }
        }
        None
    }
}

/// The largest frame on the wire.
const FRAME: u32 = 1538;

/// Bytes of a repair report on the wire: a datagram of 12 B, and 16 B for each gap.
fn wire_bytes(report: &RepairReport) -> u32 {
    let payload = 28 + 12 + 16 * report.missing.len() as u32;
    (payload + 38).max(84)
}
