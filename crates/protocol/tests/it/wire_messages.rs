//! Tests of messages as datagrams: documented length, round trips, any order of parts, and parsers
//! on arbitrary bytes.

use core::net::Ipv4Addr;
use proptest::prelude::*;
use timeplane_model::{
    Backlog, BacklogEntry, Burst, Bytes, Class, CoflowBacklog, CoflowId, Duration, FlowId, Grant, HostId, LinkId,
    Medium, PathTag, Rate, Round, Time, Trigger,
};
use timeplane_protocol::wire::{
    Circuit, ClassNames, Configuration, Control, EncodeError, Endpoint, EpsShare, Header, Heartbeat, HostPeriod,
    Limits, MacAddress, PeriodSchedule, PfcClass, ROOM, Reassembler, ReassemblerCounters, UdpFrame, Via, WireError,
};
use timeplane_protocol::{
    BacklogReport, Gathered, Grants, LinkReport, LinkSample, LinkUse, Message, Part, QueueSample, RackFlyways,
    RackLink, RackShare, Rates, Steer,
};

fn host() -> impl Strategy<Value = HostId> {
    prop_oneof![0u32..8, 0u32..1 << 30].prop_map(HostId)
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![any::<i64>(), 0i64..20_000_000_000].prop_map(Time::from_ps)
}

/// Up to `most` elements: often few, sometimes enough for several datagrams.
fn some<T: Strategy>(of: T, most: usize) -> impl Strategy<Value = Vec<T::Value>> {
    (any::<prop::sample::Index>(), prop::collection::vec(of, 0..most)).prop_map(|(cut, mut all)| {
        all.truncate(if cut.index(2) == 0 { 3 } else { all.len() });
        all
    })
}

/// A backlog by destination, flow by flow, or coflow by coflow; below 2^48 bytes in all.
fn backlog() -> impl Strategy<Value = Backlog> {
    let bytes = || (1u64..1 << 38).prop_map(Bytes::new);
    let any_bytes = || any::<u64>().prop_map(Bytes::new);
    let entry = (host(), bytes(), prop::option::of(any_bytes()))
        .prop_map(|(destination, bytes, arrived)| BacklogEntry { destination, bytes, arrived });
    let entries = some(entry, 300).prop_map(|mut entries| {
        entries.sort_by_key(|e| e.destination);
        entries.dedup_by_key(|e| e.destination);
        Backlog::new(entries)
    });
    let burst = (host(), any::<u8>(), time(), any::<u32>(), 0u64..1 << 38).prop_map(|(d, c, arrived, packets, b)| {
        Burst { destination: d, class: Class(c), arrived, packets, bytes: Bytes::new(b) }
    });
    let bursts = some(burst, 200).prop_map(|mut bursts| {
        bursts.sort_by_key(|b| (b.destination, b.class));
        let mut backlog = Backlog::of_bytes(bursts.iter().map(|b| (b.destination, b.bytes)));
        backlog.bursts = bursts;
        backlog
    });
    let part = (host(), 0u32..u32::MAX, 1u64..1 << 36, 0u64..1 << 36);
    let coflows = some(part, 200).prop_map(|parts| {
        // What belongs to no coflow is part of the backlog, too.
        let row = Backlog::of_bytes(parts.iter().map(|p| (p.0, Bytes::new(p.2 + p.3))));
        let part = |&(destination, coflow, bytes, _): &(HostId, u32, u64, u64)| CoflowBacklog {
            destination,
            coflow: CoflowId(coflow),
            bytes: Bytes::new(bytes),
        };
        row.with_coflows(parts.iter().map(part).collect())
    });
    (prop_oneof![entries, bursts, coflows], prop::option::of(any_bytes())).prop_map(|(mut backlog, room)| {
        backlog.room = room;
        backlog
    })
}

fn trigger() -> impl Strategy<Value = Trigger> {
    prop_oneof![
        4 => time().prop_map(Trigger::At),
        1 => any::<u32>().prop_map(Trigger::Signal),
        1 => Just(Trigger::Never),
    ]
}

fn grant() -> impl Strategy<Value = Grant> {
    let medium = prop_oneof![
        Just(Medium::Fabric),
        any::<u16>().prop_map(|t| Medium::Path(PathTag(t))),
        any::<u32>().prop_map(|l| Medium::Link(LinkId(l))),
    ];
    let limits = (any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u32>>());
    let times = prop_oneof![
        (trigger(), trigger(), time()),
        // A slot as controllers grant it: short, and its lease is its end.
        (0i64..20_000_000_000, 1i64..5_000_000_000).prop_map(|(start, open)| {
            let end = Time::from_ps(start + open);
            (Trigger::At(Time::from_ps(start)), Trigger::At(end), end)
        }),
    ];
    (host(), any::<u8>(), medium, limits, times).prop_map(
        |(destination, class, medium, limits, (start, end, lease))| {
            let (rate, bytes, packets) = (limits.0.map(Rate::bps), limits.1.map(Bytes::new), limits.2);
            Grant { destination, class: Class(class), medium, rate, bytes, packets, start, end, lease }
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let obeys = prop_oneof![Just(0), any::<u32>()];
    let report =
        (any::<u32>(), any::<u64>(), time(), obeys, backlog()).prop_map(|(epoch, number, taken_at, obeys, backlog)| {
            // Both are in one field.
            let (sequence, heard) = (number >> 8, number as u8);
            Message::Report(Box::new(BacklogReport { epoch, sequence, taken_at, obeys, heard, backlog }))
        });
    let grants = (any::<u32>(), any::<u64>(), time(), some(grant(), 150), time()).prop_map(
        |(epoch, round, effective, grants, report_at)| {
            Message::Grants(Grants { epoch, round: Round(round), effective, grants, report_at })
        },
    );
    let rate = (host(), any::<u8>(), 1u64..1 << 56).prop_map(|(h, c, r)| (h, Class(c), Rate::bps(r)));
    let rates = (any::<u32>(), any::<u64>(), time(), some(rate, 300)).prop_map(|(epoch, round, lease, mut rates)| {
        rates.sort_by_key(|r| (r.0, r.1));
        rates.dedup_by_key(|r| (r.0, r.1));
        Message::Rates(Rates { epoch, round: Round(round), lease, rates })
    });
    let heartbeat = (any::<u32>(), any::<u64>())
        .prop_map(|(epoch, round)| Message::Heartbeat(timeplane_protocol::Heartbeat { epoch, round: Round(round) }));
    let part = (any::<u32>(), any::<u64>(), time(), some((host(), grant()), 150), time()).prop_map(
        |(epoch, round, effective, mut grants, report_at)| {
            grants.sort_by_key(|g| g.0);
            Message::Part(Part { epoch, round: Round(round), effective, report_at, grants })
        },
    );
    let of_host = (host(), any::<u32>(), any::<u64>(), time(), prop_oneof![Just(0), any::<u32>()], backlog());
    let gathered = (any::<u32>(), any::<u64>(), some(of_host, 40)).prop_map(|(epoch, sequence, reports)| {
        let mut reports: Vec<(HostId, BacklogReport)> = reports
            .into_iter()
            .map(|(host, epoch, number, taken_at, obeys, mut backlog)| {
                let (sequence, heard) = (number >> 8, number as u8);
                // Between controllers, backlogs are by destination.
                backlog.bursts.clear();
                backlog = backlog.with_coflows(Vec::new());
                (host, BacklogReport { epoch, sequence, taken_at, obeys, heard, backlog })
            })
            .collect();
        reports.sort_by_key(|r| r.0);
        reports.dedup_by_key(|r| r.0);
        Message::Gathered(Gathered { epoch, sequence, reports })
    });
    let link = (host(), any::<u32>(), 1u64..1 << 56, time()).prop_map(|(peer, channel, rate, up)| RackLink {
        peer,
        channel,
        rate: Rate::bps(rate),
        up,
    });
    // So many shares together are at most the whole.
    let share = (host(), host(), host(), any::<u32>(), 1u32..6_000)
        .prop_map(|(destination, start, end, channel, ppm)| RackShare { destination, start, end, channel, ppm });
    let flyways = (any::<u32>(), any::<u64>(), time(), some(link, 80), some(share, 160)).prop_map(
        |(epoch, round, lease, mut links, mut shares)| {
            links.sort_by_key(|l| (l.peer, l.channel));
            links.dedup_by_key(|l| (l.peer, l.channel));
            shares.sort_by_key(RackShare::place);
            shares.dedup_by_key(|s| s.place());
            Message::Flyways(RackFlyways { epoch, round: Round(round), lease, links, shares })
        },
    );
    prop_oneof![report, grants, rates, heartbeat, part, gathered, flyways]
}

fn class() -> impl Strategy<Value = PfcClass> {
    (0u16..2048).prop_map(|c| PfcClass::new(c).unwrap())
}

/// A valid period: destinations in turn, some with circuits, some without.
fn schedule() -> impl Strategy<Value = PeriodSchedule> {
    let destinations = prop::collection::btree_map(0u32..1 << 30, class(), 0..60);
    let configuration =
        (1i64..1 << 40, any::<bool>(), any::<Option<prop::sample::Index>>(), 1u64..1 << 48, any::<bool>());
    let numbers = (any::<u32>(), any::<u64>(), time(), 0i64..1 << 40, 0u64..1 << 40);
    (destinations, some(configuration, 120), numbers).prop_map(|(destinations, turns, numbers)| {
        let mut used = std::collections::BTreeSet::from([PfcClass::new(7).unwrap()]);
        let pairs: Vec<_> = destinations.into_iter().filter(|&(_, c)| used.insert(c)).collect();
        let (switched, rest) = pairs.split_at(pairs.len() / 2);
        let (epoch, period, planned, dark, share) = numbers;
        let configurations: Vec<_> = turns
            .into_iter()
            .map(|(ps, retunes, pick, rate, local)| {
                let to = pick.filter(|_| !switched.is_empty()).map(|i| switched[i.index(switched.len())]);
                let via = if local { Via::RackLocal } else { Via::Circuit };
                let circuit =
                    to.map(|(d, class)| Circuit { via, destination: HostId(d), class, rate: Rate::bps(rate) });
                Configuration { duration: Duration::from_ps(ps), retunes, circuit }
            })
            .collect();
        let needed: i64 = configurations.iter().map(|c| c.duration.as_ps() + if c.retunes { dark } else { 0 }).sum();
        let share = Rate::bps(share);
        let eps = rest.iter().map(|&(d, class)| EpsShare { destination: HostId(d), class, rate: share }).collect();
        let all = HostPeriod {
            epoch,
            period,
            planned,
            length: Duration::from_ps(needed.max(1)),
            dark: Duration::from_ps(dark),
            eps_rate: Rate::bps(share.as_bps() * (rest.len() as u64 + 2)),
            eps_class: (PfcClass::new(7).unwrap(), share),
            others: share,
            configurations,
            eps,
        };
        PeriodSchedule::new(all).unwrap()
    })
}

fn link_report() -> impl Strategy<Value = LinkReport> {
    let uses = prop::option::of((1u64..1 << 56, any::<u8>()).prop_map(|(r, mcs)| LinkUse { rate: Rate::bps(r), mcs }));
    let sample = (uses, any::<(u16, u16)>(), any::<i32>()).prop_map(|(uses, beams, level_cdbm)| LinkSample {
        uses,
        beams,
        level_cdbm,
    });
    let queue = (any::<u64>(), any::<u32>(), any::<u64>()).prop_map(|(bytes, packets, drops)| QueueSample {
        bytes: Bytes::new(bytes),
        packets,
        drops,
    });
    (any::<u32>(), any::<u64>(), time(), any::<u32>(), sample, queue).prop_map(
        |(epoch, sequence, taken_at, link, sample, queue)| LinkReport {
            epoch,
            sequence,
            taken_at,
            link: LinkId(link),
            sample,
            queue,
        },
    )
}

fn steer() -> impl Strategy<Value = Steer> {
    let rate = prop::option::of((0u64..1 << 56).prop_map(Rate::bps));
    (any::<u32>(), any::<u64>(), any::<u32>(), any::<u64>(), rate).prop_map(|(epoch, sequence, flow, window, rate)| {
        Steer { epoch, sequence, flow: FlowId(flow), window: Bytes::new(window), rate }
    })
}

fn control() -> impl Strategy<Value = Control> {
    let heartbeat = (any::<u32>(), any::<u64>(), time())
        .prop_map(|(epoch, period, sent_at)| Control::Heartbeat(Heartbeat { epoch, period, sent_at }));
    let names = (any::<u32>(), any::<u64>(), time(), prop::collection::btree_map(class(), any::<u32>(), 0..400))
        .prop_map(|(epoch, round, effective, names)| {
            let mut seen = std::collections::BTreeSet::new();
            let names = names.into_iter().filter(|n| seen.insert(n.1)).map(|(c, h)| (c, HostId(h))).collect();
            Control::ClassNames(ClassNames { epoch, round: Round(round), effective, names })
        });
    prop_oneof![
        3 => message().prop_map(Control::Message),
        1 => schedule().prop_map(Control::Schedule),
        1 => link_report().prop_map(Control::LinkReport),
        1 => steer().prop_map(Control::Steer),
        1 => heartbeat,
        1 => names,
    ]
}

/// A message, the number of repetitions of each datagram, and an order of all of them.
fn shuffled() -> impl Strategy<Value = (Control, usize, Vec<usize>)> {
    (control(), 0usize..3).prop_flat_map(|(control, doubled)| {
        let number = control.encode().unwrap().len();
        let all: Vec<usize> = (0..number * (1 + doubled)).map(|i| i % number).collect();
        (Just(control), Just(doubled), Just(all).prop_shuffle())
    })
}

/// Bytes on the wire of a datagram's frame: FCS 4, preamble 8, interframe space 12.
fn on_the_wire(payload: &[u8]) -> u32 {
    let end = |n: u8| Endpoint { mac: MacAddress([2, 0, 0, 0, 0, n]), ip: Ipv4Addr::new(10, 0, 0, n), port: 51_208 };
    let frame = UdpFrame { source: end(1), destination: end(2), payload: payload.to_vec() };
    frame.encode().unwrap().len() as u32 + 24
}

fn all(datagrams: &[Vec<u8>]) -> (Vec<Control>, ReassemblerCounters) {
    let mut reassembler = Reassembler::default();
    let whole = datagrams.iter().filter_map(|d| reassembler.push(d).unwrap()).collect();
    (whole, *reassembler.counters())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn messages_are_as_long_as_they_say(message in message()) {
        let datagrams = message.encode().unwrap();
        prop_assert_eq!(datagrams.iter().map(|d| on_the_wire(d)).sum::<u32>(), message.wire_bytes());
        let (whole, _) = all(&datagrams);
        prop_assert_eq!(whole, [Control::Message(message)]);
    }

    /// Datagrams in any order, each `1 + doubled` times: the message is returned once, with its
    /// last part.
    #[test]
    fn parts_come_in_any_order_and_twice((control, _, order) in shuffled()) {
        let is_beat = matches!(control, Control::Message(Message::Heartbeat(_)));
        let datagrams = control.encode().unwrap();
        prop_assert_eq!(datagrams.iter().map(|d| on_the_wire(d)).sum::<u32>(), control.wire_bytes().unwrap());
        let sent: Vec<&Vec<u8>> = order.iter().map(|&i| &datagrams[i]).collect();
        let mut reassembler = Reassembler::default();
        let mut seen = std::collections::BTreeSet::new();
        let mut whole = 0;
        for datagram in sent {
            let before = seen.len();
            seen.insert(datagram.clone());
            match reassembler.push(datagram).unwrap() {
                Some(out) => {
                    prop_assert_eq!(&out, &control);
                    prop_assert!(is_beat || before + 1 == datagrams.len() && seen.len() == datagrams.len());
                    whole += 1;
                }
                None => prop_assert!(seen.len() < datagrams.len() || seen.len() == before),
            }
        }
        // Of a controller's heartbeats to its peers each counts.
        let complete = if is_beat { order.len() as u64 } else { 1 };
        prop_assert_eq!(whole, complete);
        let doubled = order.len() as u64 - datagrams.len() as u64 - (complete - 1);
        let expected = ReassemblerCounters { complete, doubled, ..Default::default() };
        prop_assert_eq!(*reassembler.counters(), expected);
        prop_assert_eq!(reassembler.held(), 0);
    }

    /// With a part missing, no message is returned; newer messages displace the rest, which is
    /// counted.
    #[test]
    fn what_misses_a_part_never_comes_out(messages in prop::collection::vec(message(), 6), lost: prop::sample::Index) {
        let mut reassembler = Reassembler::new(Limits { messages: 2, ..Limits::default() });
        let mut incomplete = 0;
        for (i, mut message) in messages.into_iter().enumerate() {
            // Different names.
            match &mut message {
                Message::Report(r) => r.epoch = i as u32,
                Message::Grants(g) => g.epoch = i as u32,
                Message::Rates(r) => r.epoch = i as u32,
                Message::Flyways(f) => f.epoch = i as u32,
                Message::Heartbeat(h) => h.epoch = i as u32,
                Message::Part(p) => p.epoch = i as u32,
                Message::Gathered(g) => g.epoch = i as u32,
                Message::Pfc(_) => unreachable!("no strategy makes one"),
            }
            let mut datagrams = message.encode().unwrap();
            datagrams.remove(lost.index(datagrams.len()));
            incomplete += u64::from(!datagrams.is_empty());
            for datagram in &datagrams {
                prop_assert_eq!(reassembler.push(datagram), Ok(None));
            }
        }
        let expected = ReassemblerCounters { abandoned: incomplete.saturating_sub(2), ..Default::default() };
        prop_assert_eq!(*reassembler.counters(), expected);
    }

    /// Arbitrary or almost valid bytes give an error or another message, but never a panic, and
    /// never use more memory than allowed.
    #[test]
    fn the_reassembler_takes_anything(
        control in control(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        kind: u8,
        flips in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..8),
        cut: Option<prop::sample::Index>,
    ) {
        let limits = Limits { messages: 3, bytes: 3000 };
        let mut reassembler = Reassembler::new(limits);
        let mut datagrams = control.encode().unwrap();
        for (which, bit) in flips {
            let which = which.index(datagrams.len());
            let bit = bit.index(8 * datagrams[which].len());
            datagrams[which][bit / 8] ^= 1 << (bit % 8);
        }
        if let Some(cut) = cut {
            let keep = cut.index(datagrams[0].len());
            datagrams[0].truncate(keep);
        }
        let mut headed = vec![1, kind, 0x80, 0];
        headed.extend([0; 20]);
        headed.extend(&noise);
        datagrams.extend([noise, headed]);
        let (mut out, mut refused) = (0, 0);
        for datagram in &datagrams {
            match reassembler.push(datagram) {
                Ok(Some(control)) => {
                    out += 1;
                    // Whatever is parsed can be encoded, and parses to the same.
                    let (again, _) = all(&control.encode().unwrap());
                    prop_assert_eq!(again, [control]);
                }
                Ok(None) | Err(WireError::TooLong { .. }) => {}
                Err(_) => refused += 1,
            }
            prop_assert!(reassembler.held() <= limits.bytes);
        }
        let counters = reassembler.counters();
        prop_assert_eq!((counters.complete, counters.malformed), (out, refused));
    }
}

fn report(entries: u32) -> BacklogReport {
    let backlog = Backlog::of_bytes((0..entries).map(|d| (HostId(d), Bytes::new(1))));
    BacklogReport { epoch: 3, sequence: 5, taken_at: Time::from_ps(-2), obeys: 0, heard: 0, backlog }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|p| u8::from_str_radix(core::str::from_utf8(p).unwrap(), 16).unwrap()).collect()
}

#[test]
fn reports_are_as_documented() {
    let entry = |d, b, arrived: Option<u64>| BacklogEntry {
        destination: HostId(d),
        bytes: Bytes::new(b),
        arrived: arrived.map(Bytes::new),
    };
    let mut backlog = Backlog::new(vec![entry(1, 0x1234, None), entry(2, 1, Some(0xff))]);
    backlog.room = Some(Bytes::new(65_536));
    let by_destination = Message::Report(Box::new(BacklogReport { backlog, ..report(0) }));
    let golden = bytes(
        "01 11 8000 00000003 0000000000000005 fffffffffffffffe
         0000000000010000
         00000001 0000000000001234
         80000002 0000000000000001 00000000000000ff",
    );
    assert_eq!(by_destination.encode(), Ok(vec![golden]));

    let mut backlog = Backlog::default();
    backlog.room = Some(Bytes::new(7));
    let after_a_takeover = Message::Report(Box::new(BacklogReport { backlog, obeys: 0x0102, ..report(0) }));
    let golden = bytes(
        "01 51 8000 00000003 0000000000000005 fffffffffffffffe
         0000000000000007 00000102",
    );
    assert_eq!(after_a_takeover.encode(), Ok(vec![golden]));
    assert_eq!(after_a_takeover.wire_bytes(), 38 + 28 + 24 + 12);

    let burst = Burst {
        destination: HostId(9),
        class: Class(4),
        arrived: Time::from_ps(16),
        packets: 0x0102_0304,
        bytes: Bytes::new(0xa0_0000_0001),
    };
    let mut backlog = Backlog::of_bytes([(HostId(9), Bytes::new(0xa0_0000_0001))]);
    backlog.bursts = vec![burst];
    let flow_by_flow = Message::Report(Box::new(BacklogReport { backlog, ..report(0) }));
    let golden = bytes(
        "01 21 8000 00000003 0000000000000005 fffffffffffffffe
         00000009 04 01020304 0000a000000001 0000000000000010",
    );
    assert_eq!(flow_by_flow.encode(), Ok(vec![golden]));

    // Of ten bytes for host 9, seven are of coflow 5, and three of none.
    let part = CoflowBacklog { destination: HostId(9), coflow: CoflowId(5), bytes: Bytes::new(7) };
    let backlog = Backlog::of_bytes([(HostId(9), Bytes::new(10))]).with_coflows(vec![part]);
    let by_coflow = Message::Report(Box::new(BacklogReport { backlog, ..report(0) }));
    let golden = bytes(
        "01 81 8000 00000003 0000000000000005 fffffffffffffffe
         00000009 00000005 0000000000000007
         00000009 ffffffff 0000000000000003",
    );
    assert_eq!(by_coflow.wire_bytes(), 38 + 28 + 24 + 32);
    let mut both = golden.clone();
    both[1] |= 0x20;
    assert_eq!(by_coflow.encode(), Ok(vec![golden]));
    let refused = Reassembler::new(Limits::default()).push(&both);
    assert!(matches!(refused, Err(WireError::Value { what: "both bursts and coflows", .. })), "{refused:?}");
}

#[test]
fn what_relays_say_is_as_documented() {
    let mut backlog = Backlog::of_bytes([(HostId(5), Bytes::new(0x1234))]);
    backlog.room = Some(Bytes::new(65_536));
    let reports = vec![(HostId(1), BacklogReport { obeys: 9, heard: 0, backlog, ..report(0) }), (HostId(2), report(0))];
    let gathered = Message::Gathered(Gathered { epoch: 1, sequence: 2, reports });
    let golden = bytes(
        "01 09 8000 00000001 0000000000000002 0000000000000000
         c0000001 00000003 0000000000000005 fffffffffffffffe 00000001 0000000000010000 00000009
         00000005 0000000000001234
         00000002 00000003 0000000000000005 fffffffffffffffe 00000000",
    );
    assert_eq!(gathered.encode(), Ok(vec![golden]));
    let grant = Grant {
        destination: HostId(1),
        class: Class(0),
        medium: Medium::Fabric,
        rate: None,
        bytes: None,
        packets: None,
        start: Trigger::At(Time::from_ps(0x30)),
        end: Trigger::At(Time::from_ps(0x40)),
        lease: Time::from_ps(0x40),
    };
    let part = Part {
        epoch: 1,
        round: Round(2),
        effective: Time::from_ps(0x20),
        report_at: Time::from_ps(0x99),
        grants: vec![(HostId(7), grant)],
    };
    let golden = bytes(
        "01 08 8000 00000001 0000000000000002 0000000000000020
         0000000000000099
         00000007 00000001 00 00 0000 0000000000000010 00000010 00000000",
    );
    assert_eq!(Message::Part(part).encode(), Ok(vec![golden]));
    // Hosts out of order, and a number of destinations that are missing.
    let push = |hex: &str| Reassembler::default().push(&bytes(hex));
    let head = "01098000 00000001 0000000000000002 0000000000000000";
    let of = |host: &str, count: &str| format!("{host} 00000003 0000000000000005 fffffffffffffffe {count}");
    let two = push(&format!("{head} {} {}", of("00000002", "00000000"), of("00000002", "00000000")));
    assert_eq!(two, Err(WireError::Disordered { at: 28 }));
    let none = push(&format!("{head} {}", of("00000002", "ffffffff")));
    assert_eq!(none, Err(WireError::Truncated { have: 28, need: 32 }));
    let zero = push(&format!("{head} {} 00000000", of("40000002", "00000000")));
    assert!(matches!(zero, Err(WireError::Value { at: 28, .. })));
}

#[test]
fn grants_are_as_documented() {
    let grant = Grant {
        destination: HostId(1),
        class: Class(2),
        medium: Medium::Path(PathTag(0x0304)),
        rate: None,
        bytes: Some(Bytes::new(1500)),
        packets: Some(1),
        start: Trigger::At(Time::from_ps(0x1010)),
        end: Trigger::At(Time::from_ps(0x1110)),
        lease: Time::from_ps(0x1113),
    };
    // A circuit between two signals at a rate, with a late lease.
    let circuit = Grant {
        medium: Medium::Link(LinkId(6)),
        rate: Some(Rate::bps(7)),
        bytes: None,
        packets: None,
        start: Trigger::Signal(8),
        end: Trigger::Signal(9),
        lease: Time::from_ps(0x1000 + (1 << 32)),
        ..grant
    };
    let forever = Grant {
        medium: Medium::Fabric,
        rate: None,
        start: Trigger::Never,
        end: Trigger::Never,
        lease: Time::from_ps(0x1001),
        ..circuit
    };
    let late = Grant {
        start: Trigger::At(Time::from_ps(0xfff)),
        end: Trigger::At(Time::from_ps(0x1_0000_0fff)),
        lease: Time::from_ps(0x1_0000_0fff),
        ..forever
    };
    let message = Message::Grants(Grants {
        epoch: 1,
        round: Round(2),
        effective: Time::from_ps(0x1000),
        grants: vec![grant, circuit, forever, late],
        report_at: Time::from_ps(0x2000),
    });
    let golden = bytes(
        "01 02 8000 00000001 0000000000000002 0000000000001000
         0000000000002000
         40000001 02 60 0304 0000000000000010 00000100 00000003 00000000000005dc 00000001
         80000001 02 95 0000 0000000000000008 00000009 00000000 0000000000000007 00000006 0000000100001000
         00000001 02 0a 0000 0000000000000000 00000000 00000001
         00000001 02 0c 0000 ffffffffffffffff 00000000 00000000 0000000100000fff",
    );
    assert_eq!(message.encode(), Ok(vec![golden]));
    assert_eq!(message.wire_bytes(), 98 + 36 + 44 + 24 + 32);
}

#[test]
fn rates_are_as_documented() {
    let message = Message::Rates(Rates {
        epoch: 1,
        round: Round(2),
        lease: Time::from_ps(3),
        rates: vec![(HostId(4), Class(0), Rate::gbps(10)), (HostId(4), Class(1), Rate::bps(1))],
    });
    let golden = bytes(
        "01 03 8000 00000001 0000000000000002 0000000000000000
         0000000000000003
         00000004 00 000002540be400
         00000004 01 00000000000001",
    );
    assert_eq!(message.encode(), Ok(vec![golden]));
}

#[test]
fn flyways_are_as_documented() {
    let link = RackLink { peer: HostId(4), channel: 2, rate: Rate::gbps(10), up: Time::from_ps(5) };
    let share = RackShare { destination: HostId(6), start: HostId(1), end: HostId(4), channel: 2, ppm: 1_000_000 };
    let of = |links: Vec<RackLink>, shares: Vec<RackShare>| {
        Message::Flyways(RackFlyways { epoch: 1, round: Round(2), lease: Time::from_ps(3), links, shares }).encode()
    };
    let golden = bytes(
        "01 0c 8000 00000001 0000000000000002 0000000000000000
         0000000000000003
         80000004 00000002 000002540be400 0000000000000005
         00000006 00000001 00000004 00000002 000f4240",
    );
    assert_eq!(of(vec![link], vec![share]), Ok(vec![golden.clone()]));
    assert_eq!(of(vec![link, link], vec![]), Err(EncodeError::Disordered { what: "link", index: 1 }));
    assert_eq!(of(vec![], vec![share, share]), Err(EncodeError::Disordered { what: "share", index: 1 }));
    assert_eq!(
        of(vec![RackLink { rate: Rate::ZERO, ..link }], vec![]),
        Err(EncodeError::Zero { what: "a link's rate" })
    );
    assert_eq!(of(vec![], vec![RackShare { ppm: 0, ..share }]), Err(EncodeError::Zero { what: "a share" }));
    // More than the whole; to another destination it is valid.
    let more = RackShare { channel: 3, ppm: 1, ..share };
    assert!(matches!(of(vec![], vec![share, more]), Err(EncodeError::Range { value: 1_000_001, .. })));
    assert!(of(vec![], vec![share, RackShare { destination: HostId(7), ..more }]).is_ok());
    // The same when parsed.
    let read = |datagram: &[u8]| Reassembler::new(Limits::default()).push(datagram);
    let mut wrong = golden.clone();
    *wrong.last_mut().unwrap() += 1;
    assert!(matches!(read(&wrong), Err(WireError::Value { .. })));
    let mut link_last = golden[..32].to_vec();
    link_last.extend_from_slice(&golden[55..]);
    link_last.extend_from_slice(&golden[32..55]);
    assert!(matches!(read(&link_last), Err(WireError::Disordered { .. })));
    assert!(matches!(read(&golden), Ok(Some(_))));
}

#[test]
fn a_long_report_is_split_between_entries() {
    let datagrams = Message::Report(Box::new(report(121))).encode().unwrap();
    assert_eq!(datagrams.iter().map(Vec::len).collect::<Vec<_>>(), [24 + 120 * 12, 24 + 12]);
    assert_eq!(ROOM, 1448);
    let headers: Vec<Header> = datagrams.iter().map(|d| Header::parse(d).unwrap().0).collect();
    assert_eq!(headers.iter().map(|h| (h.part, h.last)).collect::<Vec<_>>(), [(0, false), (1, true)]);
}

#[test]
fn what_has_no_bytes_is_refused() {
    let encode = |report: BacklogReport| Message::Report(Box::new(report)).encode();
    let of = |h, b| BacklogReport { backlog: Backlog::of_bytes([(HostId(h), Bytes::new(b))]), ..report(0) };
    let most = (1 << 30) - 1;
    assert!(encode(of(most as u32, (1 << 48) - 1)).is_ok());
    assert_eq!(encode(of(1 << 30, 1)), Err(EncodeError::Range { what: "host number", value: 1 << 30, most }));
    let (value, most) = (1 << 48, (1 << 48) - 1);
    assert_eq!(encode(of(0, 1 << 48)), Err(EncodeError::Range { what: "a backlog", value, most }));
    // Bursts that contradict the bytes by destination.
    let mut differ = of(1, 10);
    let burst =
        Burst { destination: HostId(1), class: Class(0), arrived: Time::ZERO, packets: 1, bytes: Bytes::new(9) };
    differ.backlog.bursts = vec![burst];
    assert_eq!(encode(differ.clone()), Err(EncodeError::NotTheSums));
    differ.backlog.bursts = vec![burst, Burst { destination: HostId(0), ..burst }];
    assert_eq!(encode(differ), Err(EncodeError::Disordered { what: "burst", index: 1 }));
    let rates = |rates: Vec<(u32, u64)>| {
        let rates = rates.into_iter().map(|(h, r)| (HostId(h), Class(0), Rate::bps(r))).collect();
        Message::Rates(Rates { epoch: 0, round: Round(0), lease: Time::ZERO, rates }).encode()
    };
    assert_eq!(rates(vec![(1, 0)]), Err(EncodeError::Zero { what: "a rate" }));
    assert_eq!(rates(vec![(1, 1), (1, 2)]), Err(EncodeError::Disordered { what: "rate", index: 1 }));
    assert!(matches!(rates(vec![(1, 1 << 56)]), Err(EncodeError::Range { what: "a rate", .. })));
}

#[test]
fn bytes_that_no_agent_sends_are_refused() {
    let push = |hex: &str| Reassembler::default().push(&bytes(hex));
    let report = |rest: &str| push(&format!("01018000 00000000 0000000000000000 0000000000000000 {rest}"));
    assert_eq!(push("0101"), Err(WireError::Truncated { have: 2, need: 24 }));
    assert_eq!(push(&"02".repeat(24)), Err(WireError::Version { found: 2 }));
    assert_eq!(push(&format!("01{}", "0f".repeat(23))), Err(WireError::Kind { found: 15 }));
    assert_eq!(push(&format!("0182{}", "00".repeat(22))), Err(WireError::Reserved { at: 1 }));
    // An encoded epoch is not zero.
    let obeys = push("01418000 00000000 0000000000000000 0000000000000000 00000000");
    assert!(matches!(obeys, Err(WireError::Value { at: 0, .. })));
    assert_eq!(push(&format!("01038000{}", "01".repeat(28))), Err(WireError::Reserved { at: 16 }));
    assert_eq!(report("00000001"), Err(WireError::Truncated { have: 4, need: 12 }));
    assert_eq!(report("40000001 0000000000000001"), Err(WireError::Reserved { at: 0 }));
    assert!(matches!(report("00000001 0000000000000000"), Err(WireError::Value { at: 4, .. })));
    assert_eq!(report("00000001 0000000000000001 00000001 0000000000000001"), Err(WireError::Disordered { at: 12 }));
    // Sums that would overflow a controller's numbers.
    assert!(matches!(report("00000001 0000ffffffffffff 00000002 0000000000000001"), Err(WireError::Value { .. })));
    let bursts = |bytes: &str| format!("01218000 00000000 0000000000000000 0000000000000000 {bytes}");
    assert!(matches!(push(&bursts("")), Err(WireError::Value { at: 0, .. })));
    let huge = "00000001 00 00000001 ffffffffffffff 0000000000000000";
    assert!(matches!(push(&bursts(huge)), Err(WireError::Value { .. })));
    // Both a path and a link; a path without one; an unknown kind of start; a time beyond the last.
    let grant = |rest: &str, round: &str| push(&format!("01028000 00000000 {round} 0000000000000000 {rest}"));
    let zero = "0000000000000000";
    let of = |grant: &str| format!("{zero} {grant}");
    // A lease and an end in 8 bytes that fit into 4: after the round's start at 0, and after a
    // start at 0.
    for flags in ["80", "0c"] {
        let long = of(&format!("00000001 00 {flags} 0000 {zero} {zero} 0000000000000007"));
        let refused = grant(&long, zero);
        assert!(matches!(refused, Err(WireError::Value { at: 32, .. })), "{flags}: {refused:?}");
    }
    assert!(matches!(
        grant(&of(&format!("c0000001 00 00 0000 {zero} {zero}")), zero),
        Err(WireError::Value { at: 8, .. })
    ));
    assert_eq!(grant(&of(&format!("00000001 00 00 0001 {zero} {zero}")), zero), Err(WireError::Reserved { at: 14 }));
    assert!(matches!(
        grant(&of(&format!("00000001 00 03 0000 {zero} {zero}")), zero),
        Err(WireError::Value { at: 13, .. })
    ));
    let late = "00000001 00 00 0000 7fffffffffffffff 00000001 00000000";
    assert!(matches!(grant(&of(late), zero), Err(WireError::Value { at: 24, .. })));
    assert_eq!(
        grant(&of(&format!("00000001 00 02 0000 0000000000000001 {zero}")), zero),
        Err(WireError::Reserved { at: 16 })
    );
}

#[test]
fn parts_that_contradict_each_other_end_their_message() {
    let parts = Message::Report(Box::new(report(300))).encode().unwrap();
    assert_eq!(parts.len(), 3);
    let inconsistent = |change: &dyn Fn(&mut Vec<Vec<u8>>), at: usize| {
        let mut sent = parts.clone();
        change(&mut sent);
        let mut reassembler = Reassembler::default();
        for (i, datagram) in sent.iter().enumerate() {
            let result = reassembler.push(datagram);
            if i == at {
                assert!(matches!(result, Err(WireError::Inconsistent { .. })), "{result:?}");
                let counters = ReassemblerCounters { abandoned: 1, malformed: 1, ..Default::default() };
                assert_eq!((*reassembler.counters(), reassembler.held()), (counters, 0));
                return;
            }
            assert_eq!(result, Ok(None), "part {i}");
        }
    };
    // Another time; a part beyond the last; a last part before a later one; the same part with
    // other contents; the same as the last.
    inconsistent(&|p| p[1][23] ^= 1, 1);
    inconsistent(&|p| (p[0], p[1]) = (p[2].clone(), [&p[1][..3], &[3], &p[1][4..]].concat()), 1);
    inconsistent(&|p| (p[0], p[1][2]) = ([&p[2][..2], &[0], &p[2][3..]].concat(), 0x80), 1);
    inconsistent(&|p| p[1] = [&p[0][..30], &[9], &p[0][31..]].concat(), 1);
    inconsistent(&|p| p[1] = [&p[0][..2], &[0x80], &p[0][3..]].concat(), 1);
}

#[test]
fn memory_is_bounded() {
    let parts = Message::Report(Box::new(report(2000))).encode().unwrap();
    let mut small = Reassembler::new(Limits { messages: 4, bytes: 5000 });
    let results: Vec<_> = parts.iter().map(|p| small.push(p)).collect();
    assert!(results.contains(&Err(WireError::TooLong { limit: 5000 })));
    assert!(results.iter().all(|r| !matches!(r, Ok(Some(_)))));
    // The second message displaces the first.
    let mut two = Reassembler::new(Limits { messages: 4, bytes: 5000 });
    let other = Message::Report(Box::new(BacklogReport { sequence: 6, ..report(300) })).encode().unwrap();
    parts[..3].iter().for_each(|p| assert_eq!(two.push(p), Ok(None)));
    assert_eq!((two.push(&other[0]), two.push(&other[1])), (Ok(None), Ok(None)));
    assert!(matches!(two.push(&other[2]), Ok(Some(_))));
    assert_eq!(*two.counters(), ReassemblerCounters { complete: 1, abandoned: 1, ..Default::default() });
    assert_eq!(two.held(), 0);
    // The growing message stays, and others are displaced: before it and after it.
    let mut three = Reassembler::new(Limits { messages: 4, bytes: 3100 });
    let small =
        |sequence| Message::Report(Box::new(BacklogReport { sequence, ..report(121) })).encode().unwrap().remove(1);
    for datagram in [&small(1), &other[0], &small(2), &other[1]] {
        assert_eq!(three.push(datagram), Ok(None));
    }
    assert_eq!(three.counters().abandoned, 2);
    assert!(matches!(three.push(&other[2]), Ok(Some(_))));
}
