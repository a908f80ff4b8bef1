//! Whether the values of one scenario make sense, alone and together, before anything runs.

mod capture;
mod changes;
mod circuits;
mod collectives;
mod flyways;
mod own_fabric;
mod proxy;
mod radio;

use crate::error::{Problem, nearest};
use crate::shape::one_of;
use crate::{
    AirQueue, Check, Congestion, Element, FabricSpec, Failure, Limit, PacketMix, Pattern, PlanSpec, Poisson,
    RateEstimator, RatesSpec, Reaction, Scenario, Scheme, SignalSpec, Sizes, Tcp, TdmaSpec, TimeslotsSpec, Topology,
    Transport, Workload,
};
use std::fmt::Display;
use std::path::Path;
use timeplane_model::{Buffer, Bytes, Clos, Duration, Fabric, FabricError, Forwarding, LinkSpec, NodeId, Pfc, Rate};

/// One thing that is wrong or doubtful, at a dotted key.
#[derive(PartialEq)]
pub(crate) struct Note {
    pub key: String,
    pub problem: Problem,
    pub help: Option<String>,
}

/// What a check found.
#[derive(Default)]
pub(crate) struct Checked {
    pub errors: Vec<Note>,
    pub warnings: Vec<Note>,
}

/// No simulated span is longer; a day of packets takes years to simulate.
const LONGEST_RUN: Duration = Duration::from_secs(86_400);
/// No slot, delay or timer is longer.
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// A petabyte.
const MOST_BYTES: Bytes = Bytes::new(1_000_000_000_000_000);

/// Checks one scenario, whose sweep has been applied.
pub(crate) fn check(scenario: &Scenario, schedulers: &[&str], base: &Path) -> Checked {
    let mut c = Checked::default();
    c.head(scenario);
    c.fabric(&scenario.fabric);
    let hosts = scenario.fabric.hosts();
    c.workload(scenario, hosts, base);
    c.window(scenario);
    if scenario.scheme.is_empty() {
        c.conflict("scheme", "there is no scheme to run", Some("add a table `[scheme.NAME]` with a transport"));
    }
    for (name, scheme) in &scenario.scheme {
        let seen = scenario.seen_by(name).expect("one of its schemes");
        if scheme.fabric.is_some() {
            c.own_fabric(name, &seen, scenario, base);
        }
        c.scheme(name, scheme, &seen, schedulers);
        c.with_radio(name, &seen);
        c.proxy(name, &seen);
    }
    c.capture(scenario);
    c.failures(scenario);
    c.changes(scenario);
    for (i, check) in scenario.check.iter().enumerate() {
        c.check(&format!("check.{i}"), check, scenario);
    }
    c
}

impl Checked {
    fn error(&mut self, key: &str, problem: Problem, help: Option<&str>) {
        self.errors.push(Note { key: key.to_owned(), problem, help: help.map(str::to_owned) });
    }
    fn value(&mut self, key: &str, found: impl Display, allowed: &str) {
        self.error(key, Problem::Value { found: found.to_string(), allowed: allowed.to_owned() }, None);
    }
    fn conflict(&mut self, key: &str, message: &str, help: Option<&str>) {
        self.error(key, Problem::Conflict(message.to_owned()), help);
    }
    fn warn(&mut self, key: &str, message: String) {
        self.warnings.push(Note { key: key.to_owned(), problem: Problem::Conflict(message), help: None });
    }

    /// A span in `[0, most]`.
    fn span(&mut self, key: &str, found: Duration, most: Duration) {
        if found.is_negative() {
            self.value(key, found, "it must not be negative");
        } else if found > most {
            self.value(key, found, &format!("at most {most}"));
        }
    }
    /// A span in `(0, most]`.
    fn positive_span(&mut self, key: &str, found: Duration, most: Duration) {
        if found == Duration::ZERO {
            self.value(key, found, "it must be more than zero");
        } else {
            self.span(key, found, most);
        }
    }
    fn probability(&mut self, key: &str, found: f64) {
        if !(0.0..1.0).contains(&found) {
            self.value(key, found, "a probability from 0 to below 1 is needed");
        }
    }
    fn count(&mut self, key: &str, found: u32, least: u32, most: u32) {
        if !(least..=most).contains(&found) {
            self.value(key, found, &format!("allowed is {least} to {most}"));
        }
    }
    fn bytes(&mut self, key: &str, found: Bytes) {
        if found == Bytes::ZERO || found > MOST_BYTES {
            self.value(key, found, "allowed is 1 B to 1000 TB");
        }
    }
    fn rate(&mut self, key: &str, found: Rate) {
        if !(1_000..=1_000_000_000_000_000).contains(&found.as_bps()) {
            self.value(key, found, "allowed is 1 kb/s to 1000 Tb/s");
        }
    }
    fn factor(&mut self, key: &str, found: f64) {
        if !(found > 0.0 && found <= 1e6) {
            self.value(key, found, "a factor above 0 and at most 1,000,000 is needed");
        }
    }

    /// A name with an ending or a folder is a file; one without can be a bundled one, which others know.
    fn file(&mut self, key: &str, name: &str, base: &Path) {
        if name.is_empty() {
            self.conflict(key, "the name of the file is empty", None);
        } else if name.contains(['.', '/', '\\']) && !base.join(name).is_file() {
            let looked = base.join(name);
            self.conflict(key, &format!("there is no file `{}`", looked.display()), None);
        }
    }

    fn head(&mut self, s: &Scenario) {
        if let Some(name) = &s.name {
            let right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.starts_with('.') || !name.chars().all(right) {
                self.conflict("name", &format!("`{name}` names no folder: letters, digits, `_`, `-` and `.` do"), None);
            }
        }
        self.count("seeds", s.seeds, 1, 100_000);
        if s.seed > i64::MAX as u64 - u64::from(s.seeds) {
            self.value("seed", s.seed, "the last seed must be below 2^63");
        }
        for name in s.scheme.keys() {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                let message = format!("`{name}` names no scheme: letters, digits, `_` and `-` do");
                self.conflict(&format!("scheme.{name}"), &message, None);
            }
        }
    }

    fn fabric(&mut self, f: &FabricSpec) {
        self.rate("fabric.rate", f.rate);
        if let Some(rate) = f.uplink_rate {
            self.rate("fabric.uplink_rate", rate);
            if matches!(f.topology, Topology::SingleSwitch { .. }) {
                self.warn("fabric.uplink_rate", "a single switch has no uplinks: this changes nothing".to_owned());
            }
        }
        self.span("fabric.propagation", f.propagation, LONGEST_DELAY);
        self.probability("fabric.bit_error", f.bit_error);
        let mtu_fits = (68..=65_535).contains(&f.mtu.get());
        if !mtu_fits {
            self.value("fabric.mtu", f.mtu, "allowed is 68 B to 65535 B");
        }
        self.span("fabric.switch.latency", f.switch.latency, LONGEST_DELAY);
        let frame = if mtu_fits { Bytes::new(f.framing.wire(f.mtu.get() as u32).into()) } else { Bytes::new(1) };
        let holds_frame = format!("it must hold one frame of the MTU, {frame} on the wire");
        match f.switch.buffer {
            Buffer::Unbounded => {}
            Buffer::PerPort(bytes) if bytes < frame => {
                self.value("fabric.switch.buffer.per_port", bytes, &holds_frame);
            }
            Buffer::PerPort(_) => {}
            Buffer::Shared { memory, alpha } => {
                if !(alpha > 0.0 && alpha <= 1024.0) {
                    self.value("fabric.switch.buffer.shared.alpha", alpha, "allowed is above 0 and at most 1024");
                } else if alpha.min(1.0) * (memory.get() as f64) < frame.get() as f64 {
                    let key = "fabric.switch.buffer.shared.memory";
                    self.value(key, memory, &format!("alpha times the memory is what a port may take: {holds_frame}"));
                }
            }
        }
        if let Some(pfc) = &f.switch.pfc {
            self.pfc(pfc, f, frame);
        }
        if let Some(threshold) = f.switch.ecn {
            if threshold == Bytes::ZERO {
                self.value(
                    "fabric.switch.ecn",
                    threshold,
                    "at zero every packet is marked; leave the key out for none",
                );
            }
            if matches!(f.switch.buffer, Buffer::PerPort(bytes) if bytes < threshold) {
                let message = format!("no queue ever holds {threshold}: nothing is marked");
                self.warn("fabric.switch.ecn", message);
            }
        }
        if let Topology::Hybrid(hybrid) = &f.topology {
            self.hybrid(hybrid, f.rate);
        }
        self.radio(f);
        if let Topology::Graph { links, .. } = &f.topology {
            for (i, link) in links.iter().enumerate() {
                if let Some(rate) = link.rate {
                    self.rate(&format!("fabric.topology.graph.links.{i}.rate"), rate);
                }
                if let Some(propagation) = link.propagation {
                    self.span(&format!("fabric.topology.graph.links.{i}.propagation"), propagation, LONGEST_DELAY);
                }
            }
        }
        if let Err(e) = f.check_topology() {
            self.topology(f, e);
        }
    }

    fn pfc(&mut self, pfc: &Pfc, f: &FabricSpec, frame: Bytes) {
        const KEY: &str = "fabric.switch.pfc";
        let at = |name: &str| format!("{KEY}.{name}");
        if f.switch.forwarding == Forwarding::CutThrough {
            let message = "a switch that pauses has to hold whole packets: not with `cut_through`";
            self.conflict(KEY, message, Some("leave `fabric.switch.forwarding` out"));
        }
        if f.switch.buffer != Buffer::Unbounded {
            let message =
                "with PFC, packets are counted where they come in: there is no bound of the output queues beside it";
            self.conflict(
                KEY,
                message,
                Some("leave `fabric.switch.buffer` out; `pause_at` and `headroom` bound each input"),
            );
        }
        self.span(&at("reaction"), pfc.reaction, LONGEST_DELAY);
        if pfc.pause_at < frame || pfc.pause_at > MOST_BYTES {
            let allowed = format!("allowed is one frame of the MTU, {frame} on the wire, to 1000 TB");
            self.value(&at("pause_at"), pfc.pause_at, &allowed);
        } else if pfc.resume_at > pfc.pause_at.saturating_sub(frame) {
            let allowed = format!(
                "it must be at least a frame of the MTU, {frame} on the wire, below `pause_at`, {}",
                pfc.pause_at
            );
            self.value(&at("resume_at"), pfc.resume_at, &allowed);
        }
        let usable =
            |r: Rate, p: Duration| r.as_bps() <= 1_000_000_000_000_000 && !p.is_negative() && p <= LONGEST_DELAY;
        if pfc.reaction.is_negative() || pfc.reaction > LONGEST_DELAY || f.mtu.get() > 65_535 {
            return;
        }
        let Some(headroom) = pfc.headroom else { return };
        let own = match &f.topology {
            Topology::Graph { links, .. } => links.iter().map(|l| (l.rate, l.propagation)).collect(),
            _ => Vec::new(),
        };
        let kinds = [(Some(f.rate), None), (f.uplink_rate, None)].into_iter().chain(own);
        let kinds = kinds.map(|(rate, propagation)| (rate.unwrap_or(f.rate), propagation.unwrap_or(f.propagation)));
        let needed = kinds.filter(|&(rate, propagation)| usable(rate, propagation)).map(|(rate, propagation)| {
            let link = LinkSpec { rate, propagation, framing: f.framing, bit_error: 0.0 };
            (pfc.headroom(&link, f.mtu.get() as u32), rate, propagation)
        });
        if let Some((needed, rate, propagation)) = needed.max().filter(|n| n.0 > headroom) {
            let message = format!(
                "at {rate}, {propagation} of propagation and {} of reaction, {needed} can come after a pause: with {headroom}, packets may be lost",
                pfc.reaction
            );
            self.warn(&at("headroom"), message);
        }
    }

    /// Finds the key of what the fabric's own rules refuse.
    fn topology(&mut self, f: &FabricSpec, e: FabricError) {
        let table = format!("fabric.topology.{}", f.topology.key());
        let counts_hosts = matches!(f.topology, Topology::SingleSwitch { .. } | Topology::Graph { .. });
        let key = match &e {
            FabricError::Link { link, .. } => format!("{table}.links.{link}"),
            FabricError::HostWires { .. } | FabricError::Disconnected { .. } => format!("{table}.links"),
            FabricError::TooFewHosts { .. } if counts_hosts => format!("{table}.hosts"),
            FabricError::Dimension { found: 0, what, .. } | FabricError::Dimension { what: what @ "k", .. } => {
                format!("{table}.{what}")
            }
            FabricError::TooFewHosts { .. } | FabricError::Dimension { .. } => table,
        };
        self.error(&key, e.into(), None);
    }

    fn window(&mut self, s: &Scenario) {
        let w = s.window;
        self.span("window.warmup", w.warmup, LONGEST_RUN);
        if let Some(measure) = w.measure {
            self.positive_span("window.measure", measure, LONGEST_RUN);
        }
        if let Some(drain) = w.drain {
            self.span("window.drain", drain, LONGEST_RUN);
        }
        if w.measure.is_none() && matches!(s.workload, Workload::Poisson(_)) {
            let message = "a Poisson workload never ends: the key `measure` is needed";
            self.conflict("window", message, Some("window = { measure = \"100 ms\" } counts flows of 100 ms"));
        }
        let record = [
            ("queues_every", s.record.queues_every),
            ("received_every", s.record.received_every),
            ("tcp_every", s.record.tcp_every),
        ];
        for (name, every) in record {
            let key = format!("record.{name}");
            match every {
                Some(every) if every < Duration::from_ns(1) => self.value(&key, every, "at least 1 ns"),
                Some(every) => self.span(&key, every, LONGEST_RUN),
                None => {}
            }
        }
    }

    fn workload(&mut self, s: &Scenario, hosts: u128, base: &Path) {
        if s.workload.has_steps() {
            self.steps(s);
        }
        match &s.workload {
            Workload::Poisson(p) => self.poisson(p, hosts, s.fabric.mtu, base),
            Workload::Flows(f) => self.file("workload.flows.file", &f.file, base),
            Workload::Shuffle(shuffle) => {
                self.bytes("workload.shuffle.bytes", shuffle.bytes);
                self.span("workload.shuffle.jitter", shuffle.jitter, LONGEST_RUN);
                if shuffle.in_turn && (s.window.measure.is_some() || s.window.drain.is_some()) {
                    let message = "when flows in turn start is known only as they run: they run to their end";
                    self.conflict(
                        "workload.shuffle.in_turn",
                        message,
                        Some("leave `window.measure` and `window.drain` out"),
                    );
                }
            }
            Workload::Coflows(c) => {
                self.file("workload.coflows.file", &c.file, base);
                self.factor("workload.coflows.time_scale", c.time_scale);
                self.factor("workload.coflows.byte_scale", c.byte_scale);
                self.span("workload.coflows.jitter", c.jitter, LONGEST_RUN);
                if c.max_flows == Some(0) {
                    self.value("workload.coflows.max_flows", 0, "at least 1");
                }
            }
            Workload::Collective(c) => self.collective(c, hosts),
            Workload::Chakra(c) => self.chakra(c, hosts),
            Workload::Simai(c) => self.simai(c, base),
        }
    }

    fn poisson(&mut self, p: &Poisson, hosts: u128, mtu: Bytes, base: &Path) {
        const LOAD: &str = "workload.poisson.load";
        if !(p.load > 0.0 && p.load <= 10.0) {
            let allowed = "a load is a share of the links' rate, as 0.5; allowed is above 0 and at most 10";
            self.value(LOAD, p.load, allowed);
        } else if p.load > 1.0 {
            self.warn(LOAD, format!("{} is more than the links carry: queues grow as long as the run lasts", p.load));
        }
        match &p.pattern {
            Pattern::Incast { receiver } if u128::from(*receiver) >= hosts => {
                let allowed = format!("hosts are numbered 0 to {}", hosts.saturating_sub(1));
                self.value("workload.poisson.pattern.incast.receiver", receiver, &allowed);
            }
            Pattern::Stride { by } if hosts > 0 && u128::from(*by) % hosts == 0 => {
                let message = format!("with {hosts} hosts, a stride of {by} sends every host's flows to itself");
                self.conflict("workload.poisson.pattern.stride.by", &message, None);
            }
            Pattern::Matrix { file } => self.file("workload.poisson.pattern.matrix.file", file, base),
            _ => {}
        }
        match &p.sizes {
            Sizes::Fixed(bytes) => self.bytes("workload.poisson.sizes.fixed", *bytes),
            Sizes::Exponential(mean) => self.bytes("workload.poisson.sizes.exponential", *mean),
            Sizes::Cdf(file) => self.file("workload.poisson.sizes.cdf", file, base),
        }
        match p.packets {
            PacketMix::Fixed(size) if !(64..=mtu.get().max(64)).contains(&size.get()) => {
                let allowed = format!("allowed is 64 B to the MTU, {mtu}");
                self.value("workload.poisson.packets.fixed", size, &allowed);
            }
            PacketMix::Bimodal | PacketMix::FacebookWeb | PacketMix::Alternating if mtu < Bytes::new(1500) => {
                let message = format!("this mix has packets of 1500 B, the MTU is {mtu}");
                self.conflict("workload.poisson.packets", &message, None);
            }
            _ => {}
        }
    }

    fn scheme(&mut self, name: &str, scheme: &Scheme, s: &Scenario, schedulers: &[&str]) {
        let at = |key: &str| format!("scheme.{name}.{key}");
        let mtu = s.fabric.mtu;
        match &scheme.transport {
            Transport::Datagrams {} => {}
            Transport::Raw(raw) => {
                if raw.header == Bytes::ZERO || raw.header.get() + 1 > mtu.get() {
                    let allowed = format!("allowed is 1 B to below the MTU, {mtu}");
                    self.value(&at("transport.raw.header"), raw.header, &allowed);
                }
                self.positive_span(&at("transport.raw.report_every"), raw.report_every, LONGEST_DELAY);
            }
            Transport::Tcp(tcp) => self.tcp(&at("transport.tcp"), tcp, s),
        }
        if let Workload::Poisson(p) = &s.workload {
            let only = match (&p.packets, &scheme.transport) {
                (PacketMix::Mtu, _) | (PacketMix::Single, Transport::Datagrams {}) => None,
                (PacketMix::Single, _) => Some("the packets `single` are for the transport `datagrams` only"),
                (_, Transport::Tcp(_)) => {
                    Some("TCP cuts its own segments: a mix of packets is for datagrams and raw frames")
                }
                _ => None,
            };
            if let Some(message) = only {
                self.conflict(
                    &at("transport"),
                    message,
                    Some("leave `workload.poisson.packets` out, or change the transport"),
                );
            }
        }
        let burst = scheme.nic.burst;
        if burst != Bytes::ZERO && !(mtu..=Bytes::mb(16)).contains(&burst) {
            let allowed = format!("allowed is 0 B (no offload), or the MTU, {mtu}, to 16 MB");
            self.value(&at("nic.burst"), burst, &allowed);
        }
        match &scheme.plan {
            Some(PlanSpec::Tdma(slots)) => self.slots(&at("plan.tdma"), slots, s, schedulers),
            Some(PlanSpec::Timeslots(timeslots)) => self.timeslots(&at("plan.timeslots"), timeslots, s),
            Some(PlanSpec::Rates(rates)) => self.rates(&at("plan.rates"), rates, s),
            Some(PlanSpec::Circuits(circuits)) => self.circuits(&at("plan.circuits"), circuits, s),
            Some(PlanSpec::Flyways(flyways)) => self.flyways(&at("plan.flyways"), flyways, s),
            None => {}
        }
    }

    fn tcp(&mut self, key: &str, tcp: &Tcp, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.count(&at("initial_window"), tcp.initial_window, 1, 10_000);
        self.positive_span(&at("min_rto"), tcp.min_rto, Duration::from_secs(60));
        self.count(&at("delayed_ack.segments"), tcp.delayed_ack.segments, 1, 1_000);
        self.span(&at("delayed_ack.timeout"), tcp.delayed_ack.timeout, LONGEST_DELAY);
        if let Some(window) = tcp.receive_window
            && window < s.fabric.mtu
        {
            self.value(&at("receive_window"), window, &format!("at least one packet of the MTU, {}", s.fabric.mtu));
        }
        if tcp.hystart && tcp.congestion != Congestion::Cubic {
            self.warn(&at("hystart"), "only CUBIC has it: it changes nothing here".to_owned());
        }
        if tcp.ecn && tcp.congestion == Congestion::Bbr {
            self.warn(
                &at("ecn"),
                "BBR takes no notice of marks: switches mark its packets where they would drop them".to_owned(),
            );
        }
        let marks = |queue| matches!(queue, AirQueue::Ecn { .. } | AirQueue::CoDel { ecn: true, .. });
        if s.fabric.switch.ecn.is_none() && !s.fabric.radio.as_ref().and_then(|r| r.queue).is_some_and(marks) {
            if tcp.congestion == Congestion::Dctcp {
                let help =
                    "set fabric.switch.ecn: \"100 kB\" (65 packets) at 10 Gb/s, \"31 kB\" (20 packets) at 1 Gb/s";
                let message = "DCTCP reads the marks of switches, and these switches mark nothing";
                self.conflict(&at("congestion"), message, Some(help));
            } else if tcp.ecn {
                self.warn(&at("ecn"), "these switches mark nothing: set fabric.switch.ecn too".to_owned());
            }
        }
    }

    fn failures(&mut self, s: &Scenario) {
        // What is wrong with the fabric is said elsewhere.
        let needs_nodes = s.failure.iter().any(|f| matches!(f.element, Element::Between(_)));
        let fabric = if needs_nodes { s.fabric.build().ok() } else { None };
        for (i, failure) in s.failure.iter().enumerate() {
            self.failure(&format!("failure.{i}"), failure, s, fabric.as_ref());
        }
        if let Some(i) = s.failure.iter().position(|f| f.until.is_none())
            && s.window.drain.is_none()
        {
            let message = "without `until` it never returns, and flows that wait for it never end: the key `window.drain` is needed";
            let help = "window = { drain = \"100 ms\" } ends the run 100 ms after the last arrival";
            self.conflict(&format!("failure.{i}"), message, Some(help));
        }
        if !s.failure.is_empty() && s.fabric.switch.pfc.is_some() {
            let message = "a pause that nobody takes back would last for ever: failures and PFC do not go together yet";
            self.conflict("failure.0", message, Some("leave `fabric.switch.pfc` or the failures out"));
        }
    }

    fn failure(&mut self, key: &str, failure: &Failure, s: &Scenario, fabric: Option<&Fabric>) {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("at"), failure.at, LONGEST_RUN);
        self.span(&at("detection"), failure.detection, LONGEST_DELAY);
        if let Some(until) = failure.until {
            self.span(&at("until"), until, LONGEST_RUN);
            if until <= failure.at {
                self.value(&at("until"), until, &format!("it must be after `at`, {}", failure.at));
            }
        }
        let f = &s.fabric;
        let mut number = |name: &str, what: &str, found: u32, count: u128| {
            if u128::from(found) >= count {
                let allowed = format!("{what} are numbered 0 to {}", count.saturating_sub(1));
                self.value(&at(name), found, &allowed);
            }
        };
        match failure.element {
            Element::Wire(wire) => number("element.wire", "wires", wire, f.wires()),
            Element::Switch(switch) => number("element.switch", "switches", switch, f.switches()),
            Element::Host(host) => number("element.host", "hosts", host, f.hosts()),
            Element::Between([a, b]) => {
                let nodes = f.hosts() + f.switches();
                for (place, node) in [a, b].into_iter().enumerate() {
                    number(&format!("element.between.{place}"), "nodes", node, nodes);
                }
                let joined = |f: &Fabric| f.links().iter().any(|l| (l.from, l.to) == (NodeId(a), NodeId(b)));
                if [a, b].iter().all(|&n| u128::from(n) < nodes) && fabric.is_some_and(|f| !joined(f)) {
                    let message = format!("no wire joins node {a} and node {b}");
                    let help = "hosts are nodes from 0, switches follow: those nearest to the hosts first";
                    self.conflict(&at("element.between"), &message, Some(help));
                }
            }
            Element::Controller if s.scheme.values().all(|c| c.plan.is_none()) => {
                self.conflict(&at("element"), "no scheme has a plan, so that there is no controller", None);
            }
            Element::Standby
                if !s.scheme.values().any(|c| matches!(&c.plan, Some(PlanSpec::Tdma(p)) if p.standby.is_some())) =>
            {
                let help = "add `standby = {}` to a `plan.tdma`";
                self.conflict(&at("element"), "no scheme has a second controller", Some(help));
            }
            Element::Relay(relay) => {
                let counts = s.scheme.values().filter_map(|c| match &c.plan {
                    Some(PlanSpec::Tdma(slots)) => slots.controllers.map(|m| m.count),
                    _ => None,
                });
                match counts.max() {
                    Some(count) => number("element.relay", "relays", relay, u128::from(count)),
                    None => {
                        let help = "add `controllers = { count = 2 }` to a `plan.tdma`";
                        self.conflict(&at("element.relay"), "no scheme has several controllers", Some(help));
                    }
                }
            }
            Element::Controller | Element::Standby => {}
        }
    }

    /// What is checked exists; names of metrics are known to others.
    fn check(&mut self, at: &str, check: &Check, s: &Scenario) {
        for (key, name) in [("scheme", Some(&check.scheme)), ("relative_to", check.relative_to.as_ref())] {
            if let Some(name) = name.filter(|n| !s.scheme.contains_key(*n)) {
                let known: Vec<&str> = s.scheme.keys().map(String::as_str).collect();
                let problem = Problem::UnknownName {
                    what: "scheme",
                    found: name.clone(),
                    nearest: nearest(name, known.iter().copied()),
                    allowed: known.iter().map(|n| (*n).to_owned()).collect(),
                };
                self.error(&format!("{at}.{key}"), problem, Some(&one_of("one of", &known)));
            }
        }
        if check.relative_to.as_ref() == Some(&check.scheme) {
            self.conflict(&format!("{at}.relative_to"), "the ratio of a scheme to itself is always 1", None);
        }
        if check.relative_to.is_some() && check.relative_to_bound {
            self.conflict(at, "a check is relative to a scheme or to the bound, not to both", None);
        }
        let limits = [("at_most", check.at_most), ("at_least", check.at_least)];
        if limits.iter().all(|(_, limit)| limit.is_none()) {
            self.conflict(at, "a check without `at_most` or `at_least` checks nothing", None);
        }
        for (key, limit) in limits {
            if let Some(limit) = limit
                && check.is_relative()
                && !matches!(limit, Limit::Number(_))
            {
                let message = format!("a ratio has no unit, found {limit}");
                self.conflict(&format!("{at}.{key}"), &message, Some("write a number, as 0.8"));
            }
        }
        if let (Some(most), Some(least)) = (check.at_most, check.at_least)
            && most.suffix() == least.suffix()
            && least.value() > most.value()
        {
            self.conflict(at, &format!("nothing is at least {least} and at most {most}"), None);
        }
    }

    fn slots(&mut self, key: &str, slots: &TdmaSpec, s: &Scenario, schedulers: &[&str]) {
        let at = |name: &str| format!("{key}.{name}");
        self.positive_span(&at("slot"), slots.slot, LONGEST_DELAY);
        let f = &s.fabric;
        if f.mtu.get() <= 65_535 && f.rate.as_bps() >= 1_000 {
            let wire = f.framing.wire(f.mtu.get() as u32);
            let frame = f.rate.time_for(Bytes::new(wire.into()));
            if Duration::ZERO < slots.slot && slots.slot < frame {
                let allowed = format!("a frame of the MTU takes {frame} at {}: a slot must hold one", f.rate);
                self.value(&at("slot"), slots.slot, &allowed);
            }
        }
        self.no_single(key, s);
        self.span(&at("guard"), slots.guard, LONGEST_DELAY);
        self.count(&at("round_slots"), slots.round_slots, 1, 65_536);
        self.span(&at("control_latency"), slots.control_latency, LONGEST_DELAY);
        self.probability(&at("control_loss"), slots.control_loss);
        self.span(&at("compute_time"), slots.compute_time, LONGEST_DELAY);
        self.span(&at("clock_error"), slots.clock_error, LONGEST_DELAY);
        self.clocks(key, slots);
        if let Some(receive) = &slots.receive {
            let frame = Self::frame(f).map_or(Bytes::new(1), |(wire, _)| wire);
            if receive.buffer < frame || receive.buffer > MOST_BYTES {
                let allowed =
                    format!("it must hold one frame of the MTU, {frame} on the wire, and at most {MOST_BYTES}");
                self.value(&at("receive.buffer"), receive.buffer, &allowed);
            }
            self.rate(&at("receive.drain"), receive.drain);
        }
        if let Some(background) = &slots.background {
            let links = f.build().ok().and_then(|fabric| fabric.links().iter().map(|l| l.spec.rate).min());
            let slowest = links.unwrap_or(f.rate);
            if background.rate.as_bps() < 1_000 || background.rate >= slowest {
                let allowed = format!("allowed is 1 kb/s to below the slowest link, {slowest}: slots get the rest");
                self.value(&at("background.rate"), background.rate, &allowed);
            }
            self.bytes(&at("background.below"), background.below);
        }
        if let Some(signals) = &slots.signals {
            self.signals(key, slots, signals, f);
        }
        self.standby(key, slots);
        self.controllers(key, slots, f);
        if !schedulers.contains(&slots.scheduler.as_str()) {
            let problem = Problem::UnknownName {
                what: "scheduler",
                found: slots.scheduler.clone(),
                nearest: nearest(&slots.scheduler, schedulers.iter().copied()),
                allowed: schedulers.iter().map(|n| (*n).to_owned()).collect(),
            };
            self.error(&at("scheduler"), problem, Some(&one_of("one of", schedulers)));
        }
        let usable = |d: Duration| !d.is_negative() && d <= LONGEST_DELAY;
        let between = [slots.relay_latency(), slots.relay_error()];
        if [slots.slot, slots.guard, slots.clock_error, slots.control_latency, slots.compute_time]
            .into_iter()
            .chain(between)
            .all(usable)
        {
            if slots.signals.is_none() && slots.clock_bound() * 2 > slots.guard {
                let message = format!(
                    "two clocks can differ by {}, more than the guard, {}: slots of different hosts overlap",
                    slots.clock_bound() * 2,
                    slots.guard
                );
                self.warn(&at("clock_error"), message);
            }
            let round = (slots.slot + slots.guard) * i64::from(slots.round_slots.min(65_536));
            let ahead = slots.control_way() * 2 + slots.compute_time;
            if ahead > round {
                let message = format!("reports, planning and grants take {ahead}, more than a round, {round}");
                self.warn(&at("round_slots"), message);
            }
        }
    }

    /// The second controller.
    fn standby(&mut self, key: &str, slots: &TdmaSpec) {
        let at = |name: &str| format!("{key}.standby.{name}");
        let Some(standby) = slots.standby else { return };
        if let Some(latency) = standby.latency {
            self.span(&at("latency"), latency, LONGEST_DELAY);
        }
        let Some(takeover) = standby.takeover else { return };
        self.positive_span(&at("takeover"), takeover, LONGEST_RUN);
        let spans =
            [slots.slot, slots.guard, slots.compute_time, slots.control_latency, slots.peer_latency(), takeover];
        let mut spans = spans.into_iter().chain([slots.relay_latency(), slots.relay_error()]);
        let usable = |d: Duration| !d.is_negative() && d <= LONGEST_RUN;
        if takeover == Duration::ZERO
            || !spans.all(usable)
            || slots.clock_error.is_negative()
            || slots.round_slots > 65_536
        {
            return;
        }
        let least = slots.least_takeover();
        if takeover < least {
            let message = format!(
                "heartbeats come once a round, up to {least} apart: a controller that is well is deposed after {takeover}"
            );
            self.conflict(&at("takeover"), &message, Some("a longer takeover, or shorter rounds"));
        } else if slots.control_loss > 0.0 && takeover < least * 2 {
            let message =
                format!("the loss of one heartbeat deposes a controller that is well, unless it is {}", least * 2);
            self.warn(&at("takeover"), message);
        }
    }

    /// Controllers in charge of parts of the hosts.
    fn controllers(&mut self, key: &str, slots: &TdmaSpec, f: &FabricSpec) {
        let at = |name: &str| format!("{key}.controllers.{name}");
        let Some(controllers) = slots.controllers else { return };
        let hosts = f.hosts();
        if controllers.count == 0 || u128::from(controllers.count) > hosts {
            self.value(&at("count"), controllers.count, &format!("allowed is 1 to {hosts}, the number of hosts"));
        }
        self.span(&at("clock_error"), controllers.clock_error, LONGEST_DELAY);
        if let Some(latency) = controllers.latency {
            self.span(&at("latency"), latency, LONGEST_DELAY);
        }
        if let Some(loss) = controllers.loss {
            self.probability(&at("loss"), loss);
        }
    }

    /// Clocks that part, and beacons.
    fn clocks(&mut self, key: &str, slots: &TdmaSpec) {
        let at = |name: &str| format!("{key}.{name}");
        if !(0.0..=1_000.0).contains(&slots.clock_drift) {
            self.value(&at("clock_drift"), slots.clock_drift, "parts per million from 0 to 1,000 are needed");
            return;
        }
        if let Some(every) = slots.resync {
            self.positive_span(&at("resync"), every, LONGEST_RUN);
        } else if slots.clock_drift > 0.0 && slots.signals.is_none() && !slots.guard.is_negative() {
            let apart = 2.0 * slots.clock_drift * 1e-6;
            let spare = slots.guard.as_ps().saturating_sub(slots.clock_error.as_ps().saturating_mul(2)).max(0);
            let after = Duration::from_ps((spare as f64 / apart).min(1e18) as i64);
            let message =
                format!("without beacons (`resync`), clocks have parted by more than the guard after {after}");
            self.warn(&at("clock_drift"), message);
        }
    }

    /// How control frames are sent and obeyed.
    fn signal_frames(&mut self, key: &str, signals: &SignalSpec) {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("frame_gap"), signals.frame_gap, LONGEST_DELAY);
        self.positive_span(&at("hold"), signals.hold, LONGEST_DELAY);
        if let Reaction::Times(t) = signals.reaction {
            let bounds = [("off", t.off_least, t.off_most), ("on", t.on_least, t.on_most)];
            for (name, least, most) in bounds {
                self.span(&at(&format!("reaction.times.{name}_least")), least, LONGEST_DELAY);
                self.span(&at(&format!("reaction.times.{name}_most")), most, LONGEST_DELAY);
                if least > most {
                    let message = format!("the least, {least}, is more than the most, {most}");
                    self.conflict(&at(&format!("reaction.times.{name}_least")), &message, None);
                }
            }
        }
    }

    /// Frames that open and close gates.
    fn signals(&mut self, key: &str, slots: &TdmaSpec, signals: &SignalSpec, f: &FabricSpec) {
        let at = |name: &str| format!("{key}.signals.{name}");
        self.signal_frames(&format!("{key}.signals"), signals);
        let times = signals.reaction.times();
        let spans = [slots.slot, slots.guard, signals.frame_gap, signals.hold, times.off_most, times.on_least];
        let usable = |d: &Duration| !d.is_negative() && *d <= LONGEST_DELAY;
        let (Some((frame, line)), true) = (Self::frame(f), spans.iter().all(usable)) else { return };
        if signals.hold < slots.slot {
            let message = format!(
                "frames open gates for at most {}, the slot is {}: its rest is not used",
                signals.hold, slots.slot
            );
            self.warn(&at("hold"), message);
        }
        // Gates that open late and close early: what is left must hold a frame.
        let left = slots.slot + times.off_least - times.on_most;
        if left < line {
            let message = format!(
                "a gate that is obeyed late by {} is open for less than a frame, {line}",
                times.on_most - times.off_least
            );
            self.conflict(&format!("{key}.slot"), &message, Some("a longer slot, or a quicker `signals.reaction`"));
        }
        let Ok(fabric) = f.build() else { return };
        // Frames that open, and frames that close.
        let skew = signals.skew(&fabric, slots.relays());
        if skew * 2 > slots.slot + slots.guard {
            let message = format!(
                "the frames of a slot take {} to leave, longer than a slot with its guard: signals fall behind for good",
                skew * 2
            );
            self.conflict(&at("frame_gap"), &message, Some("more `interfaces` or `controllers`, or longer slots"));
        }
        if slots.relay_error().is_negative() || slots.relay_error() > LONGEST_DELAY {
            return;
        }
        let least = signals.least_guard(&fabric, frame, slots.relays()) + slots.relay_error() * 2;
        if slots.guard < least {
            let message = format!(
                "with signals, hosts are in each other's slots unless the guard is {least}, by the reaction's jitter, the skew of frames{} and a \
                 frame in progress; it is {}",
                if slots.relay_error() > Duration::ZERO { ", two controllers' clocks" } else { "" },
                slots.guard
            );
            self.warn(&format!("{key}.guard"), message);
        }
    }

    /// A host's link and a frame of the MTU on it, where both make sense.
    fn frame(f: &FabricSpec) -> Option<(Bytes, Duration)> {
        if f.mtu.get() > 65_535 || f.rate.as_bps() < 1_000 {
            return None;
        }
        let wire = Bytes::new(f.framing.wire(f.mtu.get() as u32).into());
        Some((wire, f.rate.time_for(wire)))
    }

    /// Whether links stand for parallel unit links, as paths of timeslots and rates for pairs want it.
    fn unit_links(&mut self, key: &str, f: &FabricSpec) {
        if let Ok(fabric) = f.build()
            && let Err(e) = Clos::of(&fabric)
        {
            self.conflict(key, &e.to_string(), None);
        }
    }

    fn timeslots(&mut self, key: &str, t: &TimeslotsSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.unit_links(key, &s.fabric);
        if let Some((_, frame)) = Self::frame(&s.fabric)
            && let Some(slot) = t.slot
        {
            self.positive_span(&at("slot"), slot, LONGEST_DELAY);
            if Duration::ZERO < slot && slot < frame {
                let allowed =
                    format!("a packet of the MTU takes {frame} at {}: a timeslot must hold one", s.fabric.rate);
                self.value(&at("slot"), slot, &allowed);
            }
        }
        self.count(&at("batch"), t.batch, 1, 65_536);
        if t.classes.len() > 7 {
            self.value(&at("classes"), t.classes.len(), "at most 7 sizes, for 8 classes");
        }
        if t.classes.windows(2).any(|w| w[0] >= w[1]) {
            self.conflict(&at("classes"), "the sizes must grow: each opens a class for larger flows", None);
        }
        self.common(key, t.control_latency, t.control_loss, t.compute_time, t.report_every);
        self.span(&at("clock_error"), t.clock_error, LONGEST_DELAY);
        if let Some(ahead) = t.ahead {
            self.span(&at("ahead"), ahead, LONGEST_DELAY);
            let least = t.least_ahead();
            if ahead < least {
                let allowed = format!(
                    "computing ({}), telling ({}) and hosts' clocks ({}) take {least}: what is granted later is never followed",
                    t.compute_time, t.control_latency, t.clock_error
                );
                self.value(&at("ahead"), ahead, &allowed);
            }
        }
        self.no_single(key, s);
    }

    /// A packet that is longer than its gate is open never leaves.
    fn no_single(&mut self, key: &str, s: &Scenario) {
        if matches!(&s.workload, Workload::Poisson(p) if p.packets == PacketMix::Single) {
            let help = "leave `workload.poisson.packets` out, or the plan";
            self.conflict(key, "a flow in one packet, however large, is for a network without slots", Some(help));
        }
    }

    fn rates(&mut self, key: &str, r: &RatesSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.unit_links(key, &s.fabric);
        self.span(&at("every"), r.every, LONGEST_DELAY);
        self.probability(&at("threshold"), r.threshold);
        self.common(key, r.control_latency, r.control_loss, r.compute_time, r.report_every);
        match r.estimator {
            RateEstimator::Backlogged => {}
            RateEstimator::Horizon(time) => self.positive_span(&at("estimator.horizon"), time, LONGEST_DELAY),
            RateEstimator::Arrivals(time) => self.positive_span(&at("estimator.arrivals"), time, LONGEST_DELAY),
        }
    }

    /// What every central scheme has.
    fn common(&mut self, key: &str, latency: Duration, loss: f64, compute_time: Duration, report_every: Duration) {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("control_latency"), latency, LONGEST_DELAY);
        self.probability(&at("control_loss"), loss);
        self.span(&at("compute_time"), compute_time, LONGEST_DELAY);
        self.positive_span(&at("report_every"), report_every, LONGEST_DELAY);
        if Duration::ZERO < report_every && report_every < latency * 4 {
            let message = format!("a host repeats its report every {report_every}, before an answer can come");
            self.warn(&at("report_every"), message);
        }
    }
}
