//! The proxy that steers TCP senders, agents of access points that report to it, and their
//! messages.
//!
//! Each access point follows the trace of its link and reports rate and queue. The proxy computes
//! congestion windows from these reports; senders apply the newest one.

use crate::air::LinkTraces;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::{Network, NewAccess};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use timeplane_model::{Bytes, Duration, FlowId, LinkId, Time};
use timeplane_protocol::wire::Control;
use timeplane_protocol::{
    Freshness, LinkReport, LinkReporter, LinkReporterConfig, LinkSample, ProxyInput, QueueSample, RateLadder,
    ReporterInput, Steer, WindowProxy, WindowProxyConfig,
};
use timeplane_results::ControlRow;
use timeplane_scenario::ProxySpec;
use timeplane_transport::Steering;
use timeplane_workload::Streams;

/// A message in flight.
#[derive(Clone, Copy, Debug)]
enum Message {
    Report(LinkReport),
    Steer(Steer),
    /// A sender's word to the proxy.
    Input(ProxyInput),
}

/// An access point's agent and the trace of its link.
#[derive(Debug)]
struct AccessPoint {
    agent: LinkReporter,
    /// The number of the link to the device.
    link: u32,
    trace: Vec<(SimTime, LinkSample)>,
    next: usize,
}

/// The sender of a steered flow.
#[derive(Debug)]
struct Sender {
    freshness: Freshness,
    /// The least round trip that the proxy has heard of.
    least_rtt: Duration,
    /// The switch above the flow's destination.
    device: u32,
}

impl Sender {
    fn new(device: u32) -> Self {
        Self { freshness: Freshness::default(), least_rtt: Duration::from_ps(i64::MAX), device }
    }
}

/// Counts of messages.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    messages: u64,
    bytes: u64,
    lost: u64,
}

/// The proxy and all that it communicates with.
pub struct Proxies {
    spec: ProxySpec,
    proxy: WindowProxy,
    access_points: Vec<AccessPoint>,
    senders: BTreeMap<u32, Sender>,
    messages: BTreeMap<(SimTime, u64), Message>,
    sequence: u64,
    losses: Xoshiro256PlusPlus,
    reports: Sent,
    steers: Sent,
}

impl Proxies {
    /// Idle agents for the links that have traces.
    pub fn new(spec: &ProxySpec, traces: LinkTraces, network: &Network, streams: &Streams) -> Self {
        let ladder = RateLadder::new(traces.rates.iter().copied()).unwrap_or_default();
        let config = WindowProxyConfig {
            epoch: 1,
            policy: spec.policy,
            ladder,
            base_rtt: spec.base_rtt,
            pace: spec.pace,
            repeat: spec.repeat,
            silence: spec.silence,
        };
        let access_points = traces.samples.into_iter().filter_map(|(air_link, trace)| {
            let link = network.air_number(air_link)?;
            let config = LinkReporterConfig { link: LinkId(link), epoch: 1, keep_alive: spec.report_every };
            Some(AccessPoint { agent: LinkReporter::new(config), link, trace, next: 0 })
        });
        Self {
            access_points: access_points.collect(),
            proxy: WindowProxy::new(config),
            spec: spec.clone(),
            senders: BTreeMap::new(),
            messages: BTreeMap::new(),
            sequence: 0,
            losses: streams.fast("proxy", 0, "losses"),
            reports: Sent::default(),
            steers: Sent::default(),
        }
    }

    /// The host that splits connections.
    pub fn split_at(&self) -> Option<u32> {
        self.spec.split_at
    }

    /// When the next change, message or deadline is due.
    pub fn deadline(&self) -> Option<SimTime> {
        let truth = |t: Time| SimTime::from_ps(t.as_ps());
        let message = self.messages.first_key_value().map(|(&(at, _), _)| at);
        let points = self.access_points.iter().flat_map(|a| {
            let change = a.trace.get(a.next).map(|c| c.0);
            change.into_iter().chain(a.agent.deadline().map(truth))
        });
        message.into_iter().chain(points).chain(self.proxy.deadline().map(truth)).min()
    }

    /// A flow starts from a host under the first switch to a host under the second one. The proxy
    /// steers it if an access point reports on its link.
    pub fn flow_begins(
        &mut self,
        now: SimTime,
        flow: u32,
        switches: [u32; 2],
        network: &Network,
        ends: &mut Endpoints,
    ) {
        let links = || self.access_points.iter().map(|a| a.link);
        let towards = |&l: &u32| network.ends_of(l).1 == switches[1] && network.is_used(l);
        let from = |&l: &u32| network.ends_of(l).0 == switches[0];
        let Some(link) = links().find(towards).or_else(|| links().find(from)) else { return };
        self.senders.insert(flow, Sender::new(switches[1]));
        ends.watch_round_trips(flow);
        self.say(now, Message::Input(ProxyInput::Join { flow: FlowId(flow), link: LinkId(link) }));
    }

    /// A device moves to another access point: the proxy learns of the new link of its flows.
    pub fn hands_over(&mut self, now: SimTime, access: NewAccess) {
        let to_device = self.senders.iter().filter(|(_, s)| s.device == access.device);
        let flows: Vec<u32> = to_device.map(|(&flow, _)| flow).collect();
        for flow in flows {
            if let Some(sender) = self.senders.get_mut(&flow) {
                // The proxy forgets the round trip of a flow that joins, so the sender tells it
                // again.
                sender.least_rtt = Duration::from_ps(i64::MAX);
            }
            self.say(now, Message::Input(ProxyInput::Join { flow: FlowId(flow), link: LinkId(access.link) }));
        }
    }

    /// Handles everything that is due at `now`.
    pub fn due(&mut self, now: SimTime, network: &mut Network, ends: &mut Endpoints) {
        self.hear_of_flows(now, ends);
        let clock = now.on_perfect_clock();
        let mut reports = Vec::new();
        for point in &mut self.access_points {
            while let Some(&(at, sample)) = point.trace.get(point.next)
                && at <= now
            {
                point.next += 1;
                let queue = network.air_queue(point.link).map_or_else(QueueSample::default, |(packets, bytes, _)| {
                    QueueSample {
                        bytes: Bytes::new(bytes),
                        packets: packets as u32,
                        drops: network.queue_drops(point.link),
                    }
                });
                point.agent.handle(clock, ReporterInput::Queue(queue), &mut reports);
                point.agent.handle(clock, ReporterInput::Link(sample), &mut reports);
            }
            if point.agent.deadline().is_some_and(|at| at <= clock) {
                point.agent.handle(clock, ReporterInput::Due, &mut reports);
            }
        }
        reports.into_iter().for_each(|r| self.say(now, Message::Report(r)));
        let mut steers = Vec::new();
        while let Some(entry) = self.messages.first_entry()
            && entry.key().0 <= now
        {
            match entry.remove() {
                Message::Report(report) => self.proxy.handle(clock, ProxyInput::Report(report), &mut steers),
                Message::Input(input) => self.proxy.handle(clock, input, &mut steers),
                Message::Steer(steer) => self.obey(now, steer, network, ends),
            }
        }
        if self.proxy.deadline().is_some_and(|at| at <= clock) {
            self.proxy.handle(clock, ProxyInput::Due, &mut steers);
        }
        steers.into_iter().for_each(|s| self.say(now, Message::Steer(s)));
    }

    /// A sender applies a command, unless it has received a newer one.
    fn obey(&mut self, now: SimTime, steer: Steer, network: &mut Network, ends: &mut Endpoints) {
        let Some(sender) = self.senders.get_mut(&steer.flow.0) else { return };
        if let Some(capture) = &mut network.capture
            && let Some(key) = ends.flows.key_of(steer.flow.0)
        {
            capture.steered(now, ends.flows.get(key).sender.source, &steer);
        }
        if sender.freshness.accept(steer.epoch, steer.sequence) {
            let steering = Steering { window: steer.window.get(), rate: steer.rate, hold: self.spec.hold };
            ends.steer(now, steer.flow.0, Some(steering), network);
        }
    }

    /// Senders report new minima of their round trips, and the end of their flows.
    fn hear_of_flows(&mut self, now: SimTime, ends: &mut Endpoints) {
        let mut told = Vec::new();
        self.senders.retain(|&flow, sender| match ends.least_round_trip(flow) {
            Some(Some(rtt)) if rtt < sender.least_rtt => {
                sender.least_rtt = rtt;
                told.push(ProxyInput::Rtt { flow: FlowId(flow), rtt });
                true
            }
            Some(_) => true,
            None => {
                told.push(ProxyInput::Leave { flow: FlowId(flow) });
                false
            }
        });
        told.into_iter().for_each(|input| self.say(now, Message::Input(input)));
    }

    fn say(&mut self, now: SimTime, message: Message) {
        let (delay, sent, bytes) = match message {
            Message::Report(report) => {
                (self.spec.report_delay, Some(&mut self.reports), Control::LinkReport(report).wire_bytes())
            }
            Message::Steer(steer) => {
                (self.spec.command_delay, Some(&mut self.steers), Control::Steer(steer).wire_bytes())
            }
            Message::Input(_) => (self.spec.command_delay, None, Ok(0)),
        };
        if let Some(sent) = sent {
            sent.messages += 1;
            sent.bytes += u64::from(bytes.expect("numbers of links and flows fit their fields"));
            let uniform = (self.losses.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            if uniform < self.spec.loss {
                sent.lost += 1;
                return;
            }
        }
        self.sequence += 1;
        self.messages.insert((now + delay, self.sequence), message);
    }

    /// Rows of the table of control messages.
    pub fn rows(&self) -> [ControlRow; 2] {
        let row = |kind, sent: Sent| ControlRow {
            kind,
            sender: None,
            messages: sent.messages,
            bytes: sent.bytes,
            lost: sent.lost,
            late: 0,
            max_transfer_ps: 0,
        };
        [row("link_report", self.reports), row("steer", self.steers)]
    }
}
