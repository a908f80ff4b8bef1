//! tshark with our dissector reads captures: every message of agents, with the encoded values, and
//! frames of a run.
//!
//! Needs the Debian package tshark, which `install.sh` installs.

#[allow(dead_code)]
#[path = "../../../protocol/examples/frames.rs"]
mod example;

use core::net::Ipv4Addr;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use timeplane_model::{
    Backlog, BacklogEntry, Burst, Bytes, Class, CoflowBacklog, CoflowId, Duration, FlowId, Grant, HostId, LinkId,
    Medium, PathTag, Rate, Round, Time, Trigger,
};
use timeplane_protocol::wire::{
    Circuit, ClassNames, Configuration, Control, DataHeader, DataKind, ETHER_TYPE_EXPERIMENTAL, Endpoint, EpsShare,
    Heartbeat, HopHeader, HostPeriod, MacAddress, PORT, PairKey, PeriodSchedule, PfcClass, SignalEncoding, SignalKey,
    UdpFrame, Via, encode_repair,
};
use timeplane_protocol::{
    BacklogReport, Gathered, Grants, LinkReport, LinkSample, LinkUse, Message, Part, Pfc, QueueSample, RackFlyways,
    RackLink, RackShare, Rates, Steer,
};
use timeplane_results::pcapng::{Frame, Interface, PcapngWriter};

/// The values that a dissector must find, by field, in the order of the bytes.
type Found = BTreeMap<String, Vec<String>>;

fn dissector() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/wireshark/timeplane.lua")
}

fn tshark(arguments: &[&str]) -> String {
    let script = format!("lua_script:{}", dissector().display());
    let out = Command::new("tshark").args(["-X", &script]).args(arguments).output();
    let out = out.unwrap_or_else(|e| panic!("tshark cannot be started: {e}; `bash install.sh` installs it"));
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && !errors.contains("Lua"), "{arguments:?}: {errors}");
    text.into_owned()
}

/// All fields of the dissector, by their names in it.
fn fields() -> Vec<String> {
    let script = std::fs::read_to_string(dissector()).expect("the dissector");
    let names = script.lines().filter_map(|l| l.strip_prefix("field(\"")?.split('"').next());
    names.map(|name| format!("timeplane.{name}")).collect()
}

/// Fields that say how others are encoded: the values of a whole message do not determine them.
const LAYOUT: [&str; 3] = ["timeplane.flags", "timeplane.grant.flags", "timeplane.grant.end_kind"];

/// Reads frames, each with the values of our fields.
fn dissect(name: &str, frames: &[Vec<u8>]) -> Vec<Found> {
    let path = crate::common::folder().join(format!("{name}-{}.pcapng", std::process::id()));
    let mut writer = PcapngWriter::new(Vec::new()).expect("memory");
    writer.interface(&Interface { name: "test", description: "", bps: None }).expect("memory");
    for (i, bytes) in frames.iter().enumerate() {
        let length = bytes.len() as u32;
        let at_ns = 1000 * i as u64;
        writer.frame(&Frame { interface: 0, at_ns, bytes, length, direction: None, comment: "" }).expect("memory");
    }
    std::fs::write(&path, writer.finish().expect("memory")).expect("a folder that can be written to");
    let names = fields();
    assert!(names.len() > 100, "{names:?}");
    let file = path.to_str().expect("a path of ours");
    let mut arguments =
        vec!["-r", file, "-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;"];
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let malformed = ["-e", "_ws.malformed", "-e", "timeplane.truncated", "-e", "timeplane.unknown"];
    arguments.extend(malformed);
    let text = tshark(&arguments);
    std::fs::remove_file(&path).expect("it was written");
    let rows: Vec<Found> = text
        .lines()
        .map(|line| {
            let values: Vec<&str> = line.split('|').collect();
            assert_eq!(values.len(), names.len() + 3);
            assert!(values[names.len()..].iter().all(|v| v.is_empty()), "{line}");
            let of = names.iter().zip(values).filter(|(_, v)| !v.is_empty());
            of.map(|(n, v)| (n.clone(), v.split(';').map(str::to_owned).collect())).collect()
        })
        .collect();
    assert_eq!(rows.len(), frames.len());
    rows
}

/// The expected values.
#[derive(Default)]
struct Expected(Found);

impl Expected {
    fn put(&mut self, name: &str, value: impl ToString) {
        self.0.entry(format!("timeplane.{name}")).or_default().push(value.to_string());
    }

    fn entries(&mut self, entries: &[BacklogEntry]) {
        for e in entries {
            self.put("entry.destination", e.destination.0);
            self.put("entry.bytes", e.bytes.get());
            if let Some(arrived) = e.arrived {
                self.put("entry.arrived", arrived.get());
            }
        }
    }

    fn grant(&mut self, of: Option<HostId>, grant: &Grant) {
        let Grant { destination, class, medium, rate, bytes, packets, start, end, lease } = *grant;
        if let Some(host) = of {
            self.put("grant.host", host.0);
        }
        self.put("grant.destination", destination.0);
        self.put("grant.class", class.0);
        let (medium, path) = match medium {
            Medium::Fabric => (0, 0),
            Medium::Path(tag) => (1, tag.0),
            Medium::Link(link) => {
                self.put("grant.link", link.0);
                (2, 0)
            }
        };
        self.put("grant.medium", medium);
        self.put("grant.path", format!("{path:#06x}"));
        let start_kind = match start {
            Trigger::At(t) => {
                self.put("grant.start", t.as_ps());
                0
            }
            Trigger::Signal(n) => {
                self.put("grant.start_signal", n);
                1
            }
            Trigger::Never => 2,
        };
        self.put("grant.start_kind", start_kind);
        match end {
            Trigger::At(t) => self.put("grant.end", t.as_ps()),
            Trigger::Signal(n) => self.put("grant.end_signal", n),
            Trigger::Never => {}
        }
        self.put("grant.lease", lease.as_ps());
        for (name, value) in [
            ("grant.rate", rate.map(Rate::as_bps)),
            ("grant.bytes", bytes.map(Bytes::get)),
            ("grant.packets", packets.map(u64::from)),
        ] {
            value.into_iter().for_each(|v| self.put(name, v));
        }
    }

    /// Fields of a message's content, and kind, epoch, number and time of its header.
    fn message(control: &Control) -> (Self, [String; 4]) {
        let mut e = Self::default();
        let (kind, epoch, number, time) = match control {
            Control::Message(Message::Report(r)) => {
                e.put("report.heard", r.heard);
                r.backlog.room.into_iter().for_each(|room| e.put("report.room", room.get()));
                if r.obeys > 0 {
                    e.put("report.obeys", r.obeys);
                }
                for b in &r.backlog.bursts {
                    e.put("burst.destination", b.destination.0);
                    e.put("burst.class", b.class.0);
                    e.put("burst.packets", b.packets);
                    e.put("burst.bytes", b.bytes.get());
                    e.put("burst.arrived", b.arrived.as_ps());
                }
                for b in r.backlog.coflows() {
                    e.put("part.destination", b.destination.0);
                    e.put("part.coflow", b.coflow.0);
                    e.put("part.bytes", b.bytes.get());
                }
                if r.backlog.bursts.is_empty() && r.backlog.coflows().is_empty() {
                    e.entries(r.backlog.entries());
                }
                (1, r.epoch, r.sequence, r.taken_at)
            }
            Control::Message(Message::Grants(g)) => {
                e.put("report_at", g.report_at.as_ps());
                g.grants.iter().for_each(|grant| e.grant(None, grant));
                (2, g.epoch, g.round.0, g.effective)
            }
            Control::Message(Message::Rates(r)) => {
                e.put("lease", r.lease.as_ps());
                for (destination, class, rate) in &r.rates {
                    e.put("rate.destination", destination.0);
                    e.put("rate.class", class.0);
                    e.put("rate.rate", rate.as_bps());
                }
                (3, r.epoch, r.round.0, Time::ZERO)
            }
            Control::Schedule(s) => {
                let p = s.get();
                e.put("schedule.length", p.length.as_ps());
                e.put("schedule.dark", p.dark.as_ps());
                e.put("schedule.eps_rate", p.eps_rate.as_bps());
                e.put("schedule.others", p.others.as_bps());
                e.put("schedule.eps_class", p.eps_class.0.get());
                e.put("schedule.eps_class_rate", p.eps_class.1.as_bps());
                e.put("schedule.configurations", p.configurations.len());
                for c in &p.configurations {
                    let via = c.circuit.map_or(0, |c| if c.via == Via::Circuit { 2 } else { 1 });
                    e.put("configuration.via", via);
                    e.put("configuration.destination", c.circuit.map_or(0, |c| c.destination.0));
                    e.put("configuration.class", c.circuit.map_or(0, |c| c.class.get()));
                    e.put("configuration.stands", u8::from(!c.retunes));
                    e.put("configuration.duration", c.duration.as_ps());
                    e.put("configuration.rate", c.circuit.map_or(0, |c| c.rate.as_bps()));
                }
                for s in &p.eps {
                    e.put("share.destination", s.destination.0);
                    e.put("share.class", s.class.get());
                    e.put("share.rate", s.rate.as_bps());
                }
                (4, p.epoch, p.period, p.planned)
            }
            Control::Heartbeat(h) => (5, h.epoch, h.period, h.sent_at),
            Control::ClassNames(c) => {
                for (class, host) in &c.names {
                    e.put("name.class", class.get());
                    e.put("name.destination", host.0);
                }
                (6, c.epoch, c.round.0, c.effective)
            }
            Control::Message(Message::Heartbeat(h)) => (7, h.epoch, h.round.0, Time::ZERO),
            Control::Message(Message::Part(p)) => {
                e.put("report_at", p.report_at.as_ps());
                p.grants.iter().for_each(|(host, grant)| e.grant(Some(*host), grant));
                (8, p.epoch, p.round.0, p.effective)
            }
            Control::Message(Message::Gathered(g)) => {
                for (host, r) in &g.reports {
                    e.put("gathered.host", host.0);
                    e.put("gathered.has_room", u8::from(r.backlog.room.is_some()));
                    e.put("gathered.has_obeys", u8::from(r.obeys > 0));
                    e.put("gathered.epoch", r.epoch);
                    e.put("report.heard", r.heard);
                    e.put("gathered.sequence", r.sequence);
                    e.put("gathered.taken_at", r.taken_at.as_ps());
                    e.put("gathered.entries", r.backlog.entries().len());
                    r.backlog.room.into_iter().for_each(|room| e.put("report.room", room.get()));
                    if r.obeys > 0 {
                        e.put("report.obeys", r.obeys);
                    }
                    e.entries(r.backlog.entries());
                }
                (9, g.epoch, g.sequence, Time::ZERO)
            }
            Control::LinkReport(l) => {
                e.put("link.link", l.link.0);
                e.put("link.rate", l.sample.uses.map_or(0, |u| u.rate.as_bps()));
                e.put("link.mcs", l.sample.uses.map_or(0, |u| u.mcs));
                e.put("link.transmit_beam", l.sample.beams.0);
                e.put("link.receive_beam", l.sample.beams.1);
                e.put("link.level", l.sample.level_cdbm);
                e.put("link.queue_bytes", l.queue.bytes.get());
                e.put("link.queue_packets", l.queue.packets);
                e.put("link.drops", l.queue.drops);
                (10, l.epoch, l.sequence, l.taken_at)
            }
            Control::Steer(s) => {
                e.put("steer.flow", s.flow.0);
                e.put("steer.window", s.window.get());
                s.rate.into_iter().for_each(|rate| e.put("steer.rate", rate.as_bps()));
                (11, s.epoch, s.sequence, Time::ZERO)
            }
            Control::Message(Message::Flyways(f)) => {
                e.put("lease", f.lease.as_ps());
                for l in &f.links {
                    e.put("flyway.peer", l.peer.0);
                    e.put("flyway.channel", l.channel);
                    e.put("flyway.rate", l.rate.as_bps());
                    e.put("flyway.up", l.up.as_ps());
                }
                for s in &f.shares {
                    e.put("flyway_share.destination", s.destination.0);
                    e.put("flyway_share.start", s.start.0);
                    e.put("flyway_share.end", s.end.0);
                    e.put("flyway_share.channel", s.channel);
                    e.put("flyway_share.ppm", s.ppm);
                }
                (12, f.epoch, f.round.0, Time::ZERO)
            }
            Control::Message(Message::Pfc(_)) => panic!("a signal is no datagram"),
        };
        (e, [kind.to_string(), epoch.to_string(), number.to_string(), time.as_ps().to_string()])
    }
}

/// Times whose differences fit their fields.
fn time() -> impl Strategy<Value = Time> {
    (-1i64 << 60..1i64 << 60).prop_map(Time::from_ps)
}

fn grant() -> impl Strategy<Value = Grant> {
    let medium = prop_oneof![
        Just(Medium::Fabric),
        any::<u16>().prop_map(|t| Medium::Path(PathTag(t))),
        any::<u32>().prop_map(|l| Medium::Link(LinkId(l)))
    ];
    let trigger =
        || prop_oneof![time().prop_map(Trigger::At), any::<u32>().prop_map(Trigger::Signal), Just(Trigger::Never)];
    let soon = || prop_oneof![0i64..4_000_000_000, 5_000_000_000i64..1 << 50];
    let limits = (any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u32>>());
    (0u32..1 << 30, any::<u8>(), medium, limits, trigger(), trigger(), soon(), soon()).prop_map(
        |(destination, class, medium, (rate, bytes, packets), start, end, open, lease)| {
            // Most grants end soon after they start, and leases soon after that.
            let end = match (start, end) {
                (Trigger::At(start), Trigger::At(_)) => Trigger::At(start + Duration::from_ps(open)),
                (_, end) => end,
            };
            let lease = match end {
                Trigger::At(end) => end + Duration::from_ps(lease),
                _ => Time::from_ps(lease),
            };
            Grant {
                destination: HostId(destination),
                class: Class(class),
                medium,
                rate: rate.map(Rate::bps),
                bytes: bytes.map(Bytes::new),
                packets,
                start,
                end,
                lease,
            }
        },
    )
}

fn entries(most: usize) -> impl Strategy<Value = Vec<BacklogEntry>> {
    let entry = (1u64..1 << 40, proptest::option::of(any::<u64>()));
    proptest::collection::btree_map(0u32..1 << 30, entry, 0..most).prop_map(|all| {
        let entry = |(d, (b, a)): (u32, (u64, Option<u64>))| BacklogEntry {
            destination: HostId(d),
            bytes: Bytes::new(b),
            arrived: a.map(Bytes::new),
        };
        all.into_iter().map(entry).collect()
    })
}

fn report(most: usize) -> impl Strategy<Value = BacklogReport> {
    let numbers = (any::<u32>(), any::<u64>(), time(), any::<u32>());
    (numbers, entries(most), any::<Option<u64>>()).prop_map(|((epoch, number, taken_at, obeys), entries, room)| {
        let mut backlog = Backlog::new(entries);
        backlog.room = room.map(Bytes::new);
        // Both are in one field.
        let (sequence, heard) = (number >> 8, number as u8);
        BacklogReport { epoch, sequence, taken_at, obeys, heard, backlog }
    })
}

/// A backlog report flow by flow.
fn bursts() -> impl Strategy<Value = BacklogReport> {
    let burst = (any::<u8>(), any::<u32>(), 1u64..1 << 40, time());
    (report(1), proptest::collection::btree_map(0u32..1 << 30, burst, 1..90)).prop_map(|(report, bursts)| {
        let burst = |(d, (class, packets, bytes, arrived)): (u32, (u8, u32, u64, Time))| {
            let (destination, class, bytes) = (HostId(d), Class(class), Bytes::new(bytes));
            Burst { destination, class, arrived, packets, bytes }
        };
        let bursts: Vec<Burst> = bursts.into_iter().map(burst).collect();
        let mut backlog = Backlog::of_bytes(bursts.iter().map(|b| (b.destination, b.bytes)));
        (backlog.bursts, backlog.room) = (bursts, report.backlog.room);
        BacklogReport { backlog, ..report }
    })
}

/// A backlog report coflow by coflow.
fn coflows() -> impl Strategy<Value = BacklogReport> {
    let parts = proptest::collection::btree_map((0u32..1 << 30, 0u32..u32::MAX), 1u64..1 << 40, 1..90);
    (report(1), parts).prop_map(|(report, parts)| {
        let part = |((destination, coflow), bytes): ((u32, u32), u64)| CoflowBacklog {
            destination: HostId(destination),
            coflow: CoflowId(coflow),
            bytes: Bytes::new(bytes),
        };
        let parts: Vec<CoflowBacklog> = parts.into_iter().map(part).collect();
        let mut backlog = Backlog::of_bytes(parts.iter().map(|p| (p.destination, p.bytes))).with_coflows(parts);
        backlog.room = report.backlog.room;
        BacklogReport { backlog, ..report }
    })
}

fn schedule() -> impl Strategy<Value = PeriodSchedule> {
    let configurations = proptest::collection::vec((1i64..1 << 30, any::<bool>(), 0u8..3, 1u64..1 << 47), 0..120);
    (any::<u32>(), any::<u64>(), time(), configurations, 0u32..150).prop_map(|(epoch, period, planned, all, shares)| {
        let class = |n: usize| PfcClass::new(n as u16).expect("below 2048");
        let configuration = |(i, (duration, retunes, via, rate)): (usize, (i64, bool, u8, u64))| {
            let circuit = |via| Circuit { via, destination: HostId(i as u32), class: class(i), rate: Rate::bps(rate) };
            let circuit = [None, Some(circuit(Via::Circuit)), Some(circuit(Via::RackLocal))][usize::from(via)];
            Configuration { duration: Duration::from_ps(duration), retunes, circuit }
        };
        let share = |i: u32| EpsShare {
            destination: HostId(1000 + i),
            class: class(1000 + i as usize),
            rate: Rate::bps(u64::from(i) * 7),
        };
        PeriodSchedule::new(HostPeriod {
            epoch,
            period,
            planned,
            length: Duration::from_secs(1),
            dark: Duration::from_us(3),
            eps_rate: Rate::gbps(1),
            eps_class: (class(2000), Rate::mbps(5)),
            others: Rate::mbps(6),
            configurations: all.into_iter().enumerate().map(configuration).collect(),
            eps: (0..shares).map(share).collect(),
        })
        .expect("a period that keeps the rules")
    })
}

fn rates() -> impl Strategy<Value = Rates> {
    let rates = proptest::collection::btree_map((0u32..1 << 30, any::<u8>()), 1u64..1 << 56, 0..200);
    (any::<u32>(), any::<u64>(), time(), rates).prop_map(|(epoch, round, lease, rates)| {
        let rates = rates.into_iter().map(|((d, c), r)| (HostId(d), Class(c), Rate::bps(r))).collect();
        Rates { epoch, round: Round(round), lease, rates }
    })
}

fn flyways() -> impl Strategy<Value = RackFlyways> {
    let links = proptest::collection::btree_map((0u32..1 << 30, any::<u32>()), (1u64..1 << 56, time()), 0..90);
    let shares =
        proptest::collection::btree_map((0u32..1 << 30, 0u32..1 << 30, 0u32..1 << 30, any::<u32>()), 1u32..9, 0..90);
    (any::<u32>(), any::<u64>(), time(), links, shares).prop_map(|(epoch, round, lease, links, shares)| {
        let link = |((peer, channel), (rate, up))| RackLink { peer: HostId(peer), channel, rate: Rate::bps(rate), up };
        let share = |((d, start, end, channel), ppm)| RackShare {
            destination: HostId(d),
            start: HostId(start),
            end: HostId(end),
            channel,
            ppm,
        };
        let (links, shares) = (links.into_iter().map(link).collect(), shares.into_iter().map(share).collect());
        RackFlyways { epoch, round: Round(round), lease, links, shares }
    })
}

fn controls() -> impl Strategy<Value = Control> {
    let number = || (any::<u32>(), any::<u64>(), time());
    let grants = (number(), time(), proptest::collection::vec(grant(), 0..80)).prop_map(
        |((epoch, round, effective), report_at, grants)| {
            Message::Grants(Grants { epoch, round: Round(round), effective, grants, report_at })
        },
    );
    let part = (number(), time(), proptest::collection::vec((0u32..1 << 30, grant()), 0..80)).prop_map(
        |((epoch, round, effective), report_at, mut grants)| {
            grants.sort_by_key(|g| g.0);
            let grants = grants.into_iter().map(|(h, g)| (HostId(h), g)).collect();
            Message::Part(Part { epoch, round: Round(round), effective, report_at, grants })
        },
    );
    let gathered = (number(), proptest::collection::btree_map(0u32..1 << 30, report(120), 0..6)).prop_map(
        |((epoch, sequence, _), reports)| {
            let reports = reports.into_iter().map(|(h, r)| (HostId(h), r)).collect();
            Message::Gathered(Gathered { epoch, sequence, reports })
        },
    );
    let names = (number(), proptest::collection::btree_map(0u16..2048, any::<u32>(), 0..250)).prop_map(
        |((epoch, round, effective), names)| {
            let mut seen = std::collections::BTreeSet::new();
            let names = names.into_iter().filter(|n| seen.insert(n.1));
            let names = names.map(|(c, h)| (PfcClass::new(c).expect("below 2048"), HostId(h))).collect();
            Control::ClassNames(ClassNames { epoch, round: Round(round), effective, names })
        },
    );
    let uses = proptest::option::of((1u64..1 << 56, any::<u8>()));
    let link = (number(), any::<u32>(), uses, any::<(u16, u16)>(), any::<i32>(), any::<(u64, u32, u64)>()).prop_map(
        |((epoch, sequence, taken_at), link, uses, beams, level_cdbm, (bytes, packets, drops))| {
            let uses = uses.map(|(rate, mcs)| LinkUse { rate: Rate::bps(rate), mcs });
            let sample = LinkSample { uses, beams, level_cdbm };
            let queue = QueueSample { bytes: Bytes::new(bytes), packets, drops };
            Control::LinkReport(LinkReport { epoch, sequence, taken_at, link: LinkId(link), sample, queue })
        },
    );
    let steer = (number(), any::<u32>(), any::<u64>(), proptest::option::of(0u64..1 << 56)).prop_map(
        |((epoch, sequence, _), flow, window, rate)| {
            let (flow, window, rate) = (FlowId(flow), Bytes::new(window), rate.map(Rate::bps));
            Control::Steer(Steer { epoch, sequence, flow, window, rate })
        },
    );
    let heartbeat =
        number().prop_map(|(epoch, period, sent_at)| Control::Heartbeat(Heartbeat { epoch, period, sent_at }));
    let leads = (any::<u32>(), any::<u64>())
        .prop_map(|(epoch, round)| Message::Heartbeat(timeplane_protocol::Heartbeat { epoch, round: Round(round) }));
    prop_oneof![
        report(300).prop_map(|r| Control::Message(Message::Report(Box::new(r)))),
        bursts().prop_map(|r| Control::Message(Message::Report(Box::new(r)))),
        coflows().prop_map(|r| Control::Message(Message::Report(Box::new(r)))),
        grants.prop_map(Control::Message),
        rates().prop_map(|r| Control::Message(Message::Rates(r))),
        part.prop_map(Control::Message),
        gathered.prop_map(Control::Message),
        flyways().prop_map(|f| Control::Message(Message::Flyways(f))),
        leads.prop_map(Control::Message),
        schedule().prop_map(Control::Schedule),
        heartbeat,
        names,
        link,
        steer,
    ]
}

fn samples<T>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T>
where
    T: core::fmt::Debug,
{
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("nothing is rejected").current()).collect()
}

/// All kinds of messages with random content, in as many datagrams as it takes: the dissector finds
/// every encoded value, and no other.
#[test]
fn every_value_of_every_message_is_found() {
    let mut controls = samples(controls(), 400);
    // Messages of one sender differ by their numbers, which are random here.
    controls.extend(samples(schedule(), 5).into_iter().map(Control::Schedule));
    let end =
        |last, ip| Endpoint { mac: MacAddress([2, 0, 0, 0, 0, last]), ip: Ipv4Addr::new(10, 0, 0, ip), port: PORT };
    let (source, destination) = (end(1, 1), end(2, 2));
    let (mut frames, mut of) = (Vec::new(), Vec::new());
    for (i, control) in controls.iter().enumerate() {
        for (part, payload) in control.encode().expect("values that fit").into_iter().enumerate() {
            frames.push(UdpFrame { source, destination, payload }.encode().expect("it fits"));
            of.push((i, part));
        }
    }
    let kinds: std::collections::BTreeSet<String> =
        controls.iter().map(|c| Expected::message(c).1[0].clone()).collect();
    assert_eq!(kinds.len(), 12, "{kinds:?}");
    let many = of.iter().filter(|o| o.1 > 0).count();
    assert!(many > 100, "{many} parts behind the first");

    let found = dissect("messages", &frames);
    let mut joined: Vec<Found> = vec![Found::new(); controls.len()];
    let mut parts = vec![0; controls.len()];
    of.iter().for_each(|(i, _)| parts[*i] += 1);
    for ((i, part), mut found) in of.into_iter().zip(found) {
        let [kind, epoch, number, time] = Expected::message(&controls[i]).1;
        let last = if part + 1 == parts[i] { "1" } else { "0" };
        for (name, value) in [
            ("version", "1"),
            ("kind", &kind),
            ("epoch", &epoch),
            ("number", &number),
            ("time", &time),
            ("part", &part.to_string()),
            ("last", last),
        ] {
            let is = found.remove(&format!("timeplane.{name}"));
            assert_eq!(is, Some(vec![value.to_owned()]), "{name} of {:?}", controls[i]);
        }
        // A report's newest round is in its number, which each part has.
        if kind == "1" && part > 0 {
            assert_eq!(found.remove("timeplane.report.heard"), joined[i].get("timeplane.report.heard").cloned());
        }
        for (name, values) in found.into_iter().filter(|(name, _)| !LAYOUT.contains(&name.as_str())) {
            joined[i].entry(name).or_default().extend(values);
        }
    }
    for (control, found) in controls.iter().zip(joined) {
        let expected = Expected::message(control).0.0;
        for name in expected.keys().chain(found.keys()) {
            assert_eq!(found.get(name), expected.get(name), "{name} of {control:?}");
        }
    }
}

/// Signals in every encoding: what opens, for how long, in which units, and that they are sealed.
#[test]
fn signals_are_read_in_every_encoding() {
    let (controller, host) = (MacAddress([2, 1, 0, 0, 0, 0]), MacAddress([2, 0, 0, 0, 0, 7]));
    let key = SignalKey([9; 16]);
    let numbers = (any::<u32>(), 1u64..u64::MAX, proptest::option::of(0u16..8), 0i64..1 << 57);
    let signals = samples(numbers, 20);
    let (mut frames, mut expected) = (Vec::new(), Vec::new());
    let mut signal = |frame: Vec<u8>, pfc: Pfc, encoding: Option<SignalEncoding>| {
        let mut e = Expected::default();
        let by_standard = matches!(encoding, Some(SignalEncoding::Pfc));
        e.put("signal.epoch", pfc.epoch);
        e.put("signal.number", pfc.sequence);
        if by_standard {
            e.put("signal.hold_ns", pfc.hold.as_ps() / 1000);
        } else {
            e.put("signal.opcode", "0x010b");
            e.put("signal.version", 1);
            e.put("signal.others_count", 1);
            e.put("signal.holds", 1);
            e.put("signal.classes", u8::from(pfc.open.is_some()));
            e.put("signal.others", u16::MAX);
            pfc.open.into_iter().for_each(|class| e.put("signal.class", class));
            pfc.open.into_iter().for_each(|_| e.put("signal.time", 0));
            e.put("signal.hold", pfc.hold.as_ps());
        }
        if encoding.is_some() {
            let tag_at = if by_standard { 52 } else { 60 };
            let tag = &frame[tag_at..tag_at + 8];
            e.put("signal.tag", tag.iter().map(|b| format!("{b:02x}")).collect::<String>());
        }
        expected.push(e.0);
        frames.push(frame);
    };
    for (epoch, sequence, open, hold) in signals {
        let pfc = Pfc { epoch, sequence, open, hold: Duration::from_ps(hold) };
        signal(pfc.encode(controller, host).expect("a class of eleven bits").to_vec(), pfc, None);
        for encoding in [SignalEncoding::Experimental, SignalEncoding::MacControl, SignalEncoding::Pfc] {
            signal(pfc.seal(encoding, &key, controller, host).expect("it fits"), pfc, Some(encoding));
        }
    }
    assert_eq!(dissect("signals", &frames), expected);
    assert_eq!(ETHER_TYPE_EXPERIMENTAL, 0x88b5);

    // As a datagram it has Ethernet, IPv4 and UDP headers, and the same content.
    let pfc = Pfc { epoch: 3, sequence: 1 << 40, open: Some(5), hold: Duration::from_us(9) };
    let payload = pfc.seal(SignalEncoding::Udp, &key, controller, host).expect("it fits");
    let sealed = pfc.seal(SignalEncoding::Experimental, &key, controller, host).expect("it fits");
    let end = |mac, last| Endpoint { mac, ip: Ipv4Addr::new(10, 0, 0, last), port: PORT };
    let datagram =
        UdpFrame { source: end(controller, 1), destination: end(host, 7), payload }.encode().expect("it fits");
    let found = dissect("datagram", &[datagram, sealed]);
    assert_eq!(found[0], found[1]);
}

/// Data frames of live agents, with the gaps of repair reports.
#[test]
fn data_frames_are_read() {
    let frame = |kind, payload: &[u8], class, length| {
        let header = DataHeader {
            destination: MacAddress([2, 0, 0, 0, 0, 1]),
            source: MacAddress([2, 0, 0, 0, 0, 2]),
            kind,
            class,
            payload: payload.len() as u16,
            host: HostId(2),
            epoch: 77,
            stream: 1 << 31,
            port: 5001,
            sealed: kind == DataKind::Stream,
            offset: 1 << 40,
            length,
        };
        let tag = if header.sealed { &[0xa5; PairKey::TAG][..] } else { &[] };
        [&header.encode()[..], payload, tag].concat()
    };
    let gaps = [(9, 10), (1 << 50, 1 << 51)];
    let frames = [
        frame(DataKind::Stream, &[1; 30], 12, Some(1 << 41)),
        frame(DataKind::Repair, &encode_repair(7, gaps.into_iter()), u16::MAX, None),
    ];
    let payload = [3; 9];
    let hop = HopHeader {
        destination: MacAddress([2, 0, 0, 0, 0, 1]),
        source: MacAddress([2, 0, 0, 0, 0, 2]),
        payload: payload.len() as u16,
        from: 300,
        to: 301,
        next: 302,
        progress: 303,
        flow: 1 << 30,
        offset: 1 << 41,
        hops: 5,
    };
    let mut of_hop = Expected::default();
    for (name, value) in [("version", 1), ("kind", 4), ("class", 0x0800), ("payload", 9)] {
        of_hop.put(&format!("data.{name}"), value);
    }
    for (name, value) in [
        ("from", 300u64),
        ("to", 301),
        ("next", 302),
        ("progress", 303),
        ("flow", 1 << 30),
        ("offset", 1 << 41),
        ("hops", 5),
    ] {
        of_hop.put(&format!("hop.{name}"), value);
    }
    assert_eq!(dissect("hop", &[[&hop.encode()[..], &payload].concat()]), [of_hop.0]);
    let expected = [("1", 30, 12, 1u64 << 41), ("2", 40, u16::MAX, u64::MAX)].map(|(kind, payload, class, length)| {
        let mut e = Expected::default();
        e.put("data.version", 1);
        e.put("data.kind", kind);
        e.put("data.class", class);
        e.put("data.payload", payload);
        e.put("data.host", 2);
        e.put("data.epoch", 77);
        e.put("data.stream", 1u32 << 31);
        e.put("data.port", 5001);
        e.put("data.sealed", u8::from(kind == "1"));
        e.put("data.offset", 1u64 << 40);
        e.put("data.length", length);
        if kind == "1" {
            e.put("data.tag", "a5".repeat(PairKey::TAG));
        }
        if kind == "2" {
            e.put("repair.contiguous", 7);
            for (begin, end) in gaps {
                e.put("repair.gap_begin", begin);
                e.put("repair.gap_end", end);
            }
        }
        e.0
    });
    assert_eq!(dissect("data", &frames), expected);
}

/// One of each frame: the text tells a reader which one it is.
#[test]
fn every_kind_has_its_name() {
    let path = crate::common::folder().join(format!("kinds-{}.pcap", std::process::id()));
    std::fs::write(&path, example::capture(&example::frames().expect("frames"))).expect("it can be written");
    let text = tshark(&["-r", path.to_str().expect("a path of ours"), "-T", "fields", "-e", "_ws.col.Info"]);
    std::fs::remove_file(&path).expect("it was written");
    let told: Vec<&str> = text.lines().collect();
    let ours = [
        "Signal 42: opens 1234",
        "Signal 42: opens 1234",
        "Signal 43: opens 1234",
        "Report, sequence 9, part 0",
        "Report, sequence 9, part 1",
        "Grants, round 5",
        "Rates, round 5",
        "Schedule, period 77",
        "Heartbeat, period 77",
        "Class names, round 5",
        "Leads, round 9",
        "Part, round 5",
        "Gathered, sequence 4",
        "Link report, sequence 300",
        "Steer, sequence 17",
        "Flyways, round 5",
    ];
    // PAUSE and PFC frames, which Wireshark knows, come first.
    assert_eq!(told[4..], ours);
    assert!(told[0].contains("pause_time: 65535"), "{}", told[0]);
}

/// Frames of a run, as tshark shows them.
struct Shown {
    seen: crate::pcapng::Frame,
    of: BTreeMap<&'static str, String>,
}

/// Runs three hosts that exchange 50 kB each under a scheme, and reads the frames of host 0 with
/// both readers.
fn captured(name: &str, control: &str) -> Vec<Shown> {
    let text = format!(
        "[fabric]\ntopology.single_switch = {{ hosts = 3 }}\nrate = \"10 Gb/s\"\n[workload.shuffle]\nbytes = \"50 kB\"\n[record]\n\
         capture = [\"host 0\"]\n[scheme.it]\n{control}\n"
    );
    let folder = crate::common::folder().join(format!("shown-{name}-{}", std::process::id()));
    crate::common::run_in(&folder, &text, "it", 1);
    let path = folder.join("host-0.pcapng");
    let (_, seen) = crate::pcapng::read(&std::fs::read(&path).expect("a capture"));
    let names = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "frame.comment",
        "frame.interface_name",
        "_ws.col.Protocol",
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.stream",
        "tcp.len",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "udp.stream",
        "udp.length",
        "timeplane.kind",
        "timeplane.data.stream",
        "timeplane.data.payload",
        "_ws.malformed",
    ];
    let checks = ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE"].map(|check| ["-o", check]).concat();
    let file = path.to_str().expect("a path of ours");
    let mut arguments = [&["-r", file, "-T", "fields", "-E", "separator=|"], &checks[..]].concat();
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let text = tshark(&arguments);
    std::fs::remove_dir_all(&folder).expect("it was made");
    let shown: Vec<_> =
        text.lines().map(|l| names.into_iter().zip(l.split('|').map(str::to_owned)).collect()).collect();
    assert_eq!(shown.len(), seen.len());
    seen.into_iter().zip(shown).map(|(seen, of)| Shown { seen, of }).collect()
}

/// Holds for every frame: nothing is malformed, times are in nanoseconds, and comments and lengths
/// are read.
fn check_shown(all: &[Shown]) {
    assert!(all.len() > 100, "{}", all.len());
    for Shown { seen, of } in all {
        assert_eq!(of["_ws.malformed"], "", "{of:?}");
        assert_eq!(of["frame.time_epoch"], format!("{}.{:09}", seen.at / 1_000_000_000, seen.at % 1_000_000_000));
        assert_eq!((&of["frame.len"], &of["frame.cap_len"]), (&seen.length.to_string(), &seen.bytes.len().to_string()));
        assert_eq!(Some(&of["frame.comment"]), seen.comment.as_ref());
        assert!(["", "1"].contains(&of["ip.checksum.status"].as_str()), "{of:?}");
    }
}

/// Bytes by stream, of frames that have both.
fn by_stream(all: &[Shown], stream: &str, bytes: &str, header: u64) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for Shown { of, .. } in all.iter().filter(|s| !s.of[stream].is_empty() && !s.of[bytes].is_empty()) {
        *sums.entry(of[stream].clone()).or_insert(0) += of[bytes].parse::<u64>().expect("a number") - header;
    }
    sums
}

#[test]
fn tcp_of_a_run_is_tcp() {
    for timestamps in [false, true] {
        let all = captured("tcp", &format!("transport.tcp = {{ handshake = true, timestamps = {timestamps} }}"));
        check_shown(&all);
        assert!(all.iter().all(|s| s.of["_ws.col.Protocol"] == "TCP"));
        // Two flows out and two in, of 50 kB each, without losses.
        let sums = by_stream(&all, "tcp.stream", "tcp.len", 0);
        assert_eq!(sums.into_values().collect::<Vec<_>>(), [50_000; 4]);
        // An acknowledgement is complete, so its checksum can be verified.
        let (bare, full): (Vec<_>, Vec<_>) = all.iter().partition(|s| s.of["tcp.len"] == "0");
        assert!(bare.len() > 20 && bare.iter().all(|s| s.of["tcp.checksum.status"] == "1"));
        // The run takes less than a tick, so data has the clock's first reading, and all but the
        // SYNs echo it.
        let options =
            |s: &Shown| ["tsval", "tsecr"].map(|v| s.of[format!("tcp.options.timestamp.{v}").as_str()].clone());
        let expected = |value: [&'static str; 2]| if timestamps { value } else { ["", ""] };
        assert!(full.iter().all(|s| options(s) == expected(["1", "0"])));
        assert!(bare.iter().all(|s| [["1", "0"], ["0", "1"]].map(expected).iter().any(|e| options(s) == *e)));
        let largest = full.iter().map(|s| s.of["tcp.len"].parse::<u32>().expect("a number")).max();
        assert_eq!(largest, Some(if timestamps { 1_448 } else { 1_460 }));
    }
}

#[test]
fn datagrams_of_a_run_are_udp() {
    let all = captured("datagrams", "transport.datagrams = {}");
    check_shown(&all);
    let sums = by_stream(&all, "udp.stream", "udp.length", 8);
    assert_eq!(sums.into_values().collect::<Vec<_>>(), [50_000; 4]);
}

#[test]
fn slots_of_a_run_have_our_frames() {
    let plan = "transport.raw = {}\nplan.tdma = { slot = \"50 us\", guard = \"5 us\", signals = { reaction = \"immediate\" } }";
    let all = captured("slots", plan);
    check_shown(&all);
    assert!(all.iter().all(|s| s.of["_ws.col.Protocol"] == "timeplane"));
    let of_host: Vec<Shown> = all;
    let interface = |name: &str| of_host.iter().filter(|s| s.of["frame.interface_name"] == name).count();
    assert!(interface("host0") > 100 && interface("host0-agent") > 10);
    // Reports and grants have kinds; signals have none.
    let kinds: std::collections::BTreeSet<&str> = of_host.iter().map(|s| s.of["timeplane.kind"].as_str()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["", "1", "2"]);
    let data: Vec<Shown> = of_host.into_iter().filter(|s| s.of["frame.interface_name"] == "host0").collect();
    let sums = by_stream(&data, "timeplane.data.stream", "timeplane.data.payload", 0);
    assert_eq!(sums.into_values().collect::<Vec<_>>(), [50_000; 4]);
}
