//! The observer at a switch of namespaces: which frames count as violations of which slots.

use std::time::Instant;
use timeplane_lab::fabric::{Fabric, FabricParameters, INTERFACE, controller_mac, host_mac};
use timeplane_live::clock::monotonic_ns;
use timeplane_live::observer::{Observer, PortCounters};
use timeplane_live::packet_socket::PacketSocket;
use timeplane_model::Duration;
use timeplane_protocol::Pfc;
use timeplane_protocol::wire::{Endpoint, PORT, SignalEncoding, SignalKey, UdpFrame};

/// A watched switch, and sockets of those at its ports. What is sent has been counted before
/// anything else is done, so that the order of frames is the order of lines, however busy the
/// machine is.
struct Rig {
    observer: Observer,
    hosts: Vec<PacketSocket>,
    controller: PacketSocket,
    _fabric: Fabric,
    sequence: u64,
    frames: u64,
}

const LONG: Duration = Duration::from_secs(3600);

fn data(host: u16, kind: u8, class: u16, length: usize) -> Vec<u8> {
    let mut frame = [host_mac(0).0, host_mac(host).0].concat();
    frame.extend([0x88, 0xb6, 1, kind]);
    frame.extend(class.to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(u32::from(host).to_be_bytes());
    frame.resize(length, 0);
    frame
}

impl Rig {
    fn start(test: &str, hosts: u16) -> Self {
        let name = format!("tpo{test}{}", std::process::id());
        let fabric = Fabric::start(&FabricParameters { name, hosts, mtu: 9000, limit: None }).unwrap();
        let open = || PacketSocket::open(INTERFACE, 0x88b6).unwrap();
        let sockets = fabric.hosts().iter().map(|h| h.enter(open).unwrap()).collect();
        let controller = fabric.controller().enter(open).unwrap();
        let ports = fabric.ports();
        let observer = fabric.switch().enter(|| Observer::attach(&ports, controller_mac()).unwrap()).unwrap();
        Self { observer, hosts: sockets, controller, _fabric: fabric, sequence: 0, frames: 0 }
    }
    fn signals(&self) -> u64 {
        let of = |p: &PortCounters| p.signals + p.stale_signals + p.other_signals + p.forged_signals;
        self.observer.counters().unwrap().ports.iter().map(of).sum()
    }
    fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed().as_secs() < 10, "{what}: {:?}", self.observer.counters().unwrap().ports);
            std::thread::yield_now();
        }
    }
    fn signal(&mut self, host: u16, pfc: Pfc) {
        let before = self.signals();
        assert_eq!(self.controller.send(&pfc.encode(controller_mac(), host_mac(host)).unwrap()).unwrap(), None);
        self.until("a signal", || self.signals() > before);
    }
    fn open(&mut self, host: u16, open: Option<u16>) {
        self.open_for(host, open, LONG);
    }
    fn open_for(&mut self, host: u16, open: Option<u16>, hold: Duration) {
        self.sequence = monotonic_ns();
        self.signal(host, Pfc { epoch: 1, sequence: self.sequence, open, hold });
    }
    fn send(&mut self, host: u16, class: u16, count: usize) {
        let frames = vec![data(host, 1, class, 60); count];
        assert_eq!(self.hosts[usize::from(host)].send_batch(&frames).unwrap().sent, count);
        self.frames += count as u64;
        self.arrived();
    }
    fn arrived(&self) {
        let frames = || self.observer.counters().unwrap().ports.iter().map(|p| p.frames).sum::<u64>();
        self.until("frames", || frames() == self.frames);
    }
    fn port(&self, host: u16) -> PortCounters {
        self.observer.counters().unwrap().ports[usize::from(host)].clone()
    }
}

#[test]
fn hosts_that_keep_to_their_slots_violate_none() {
    let _turn = crate::turn();
    let mut rig = Rig::start("good", 3);
    for round in 0..4 {
        for host in 0..3 {
            rig.open(host, Some(7 + host));
            // The same again lasts longer, and is no new slot.
            rig.open(host, Some(7 + host));
            // Nobody has to send; host 2 does in every second round.
            if host < 2 || round % 2 == 0 {
                rig.send(host, 7 + host, 5);
            }
            rig.open(host, None);
        }
    }
    // A frame that is longer than a page, an IP packet, and what is not under slots: repairs, other
    // versions, ungated, signals.
    rig.open(0, Some(7));
    let socket = &rig.hosts[0];
    let not = [data(0, 2, 9, 60), data(0, 1, 0xffff, 60), {
        let mut f = data(0, 1, 9, 60);
        f[14] = 2;
        f
    }];
    assert_eq!(socket.send_batch(&not).unwrap().sent, 3);
    assert_eq!(socket.send_batch(&[data(0, 1, 7, 9014), data(0, 3, 7, 100)]).unwrap().sent, 2);
    rig.frames += 2;
    rig.arrived();
    let counters = rig.observer.counters().unwrap();
    for (host, p) in (0..).zip(&counters.ports) {
        let (frames, bytes, slots) = [(22, 20 * 60 + 9114, 5), (20, 20 * 60, 4), (10, 10 * 60, 4)][host];
        assert_eq!((p.frames, p.bytes.get(), p.slots), (frames, bytes, slots), "{p:?}");
        assert_eq!((p.violations, p.reactions, p.violator), (0, 0, None), "{p:?}");
        assert_eq!(p.empty_slots, [0, 0, 2][host]);
        assert_eq!((p.signals, p.stale_signals, p.other_signals), ([13, 12, 12][host], 0, 0));
        assert!(p.open > Duration::default());
    }
    assert_eq!((counters.first_frame.count(), counters.reaction.count()), (11, 0));
    assert!(rig.observer.violations().unwrap().is_empty());
    let report = rig.observer.report().unwrap();
    assert_eq!((report.violations, report.culprits().count()), (0, 0));
    assert!(report.to_string().contains("no violation in 13 slots"), "{report}");
}

/// Two hosts of three have the first slot, all have the second. The first signal of each holds for
/// so short a time that it begins a slot, however fast the machine is.
#[test]
fn the_spread_of_a_slots_signals_is_counted_over_ports() {
    let _turn = crate::turn();
    let mut rig = Rig::start("spread", 3);
    for slot in [&[0, 1][..], &[2, 0, 1]] {
        rig.open_for(slot[0], Some(1), Duration::from_ns(2));
        for host in &slot[1..] {
            rig.open(*host, Some(1));
        }
        for host in slot {
            rig.open(*host, None);
        }
    }
    let counters = rig.observer.counters().unwrap();
    assert_eq!(counters.spread.count(), 1 + 2, "{:?}", counters.spread);
    let report = rig.observer.report().unwrap();
    assert!(report.to_string().contains("a slot's first opening signal to its others: p50"), "{report}");
}

#[test]
fn a_frame_in_the_guard_is_a_reaction_and_one_in_the_next_slot_a_violation() {
    let _turn = crate::turn();
    let mut rig = Rig::start("bad", 3);
    rig.open(0, Some(1));
    rig.send(0, 1, 1);
    rig.open(0, None);
    rig.send(0, 1, 2);
    let counters = rig.observer.counters().unwrap();
    let p = &counters.ports[0];
    assert_eq!((p.frames, p.reactions, p.violations, counters.reaction.count()), (3, 2, 0, 1));
    // Somebody else's slot.
    rig.open(1, Some(5));
    rig.send(0, 1, 1);
    // Another class than the open one, and a host that never had a slot.
    rig.send(1, 6, 1);
    rig.send(2, 5, 1);
    // It is the host's own again.
    rig.open(1, None);
    rig.open(0, Some(1));
    rig.send(0, 1, 1);
    // From one class to another at once: there is no guard in between.
    rig.open(0, Some(2));
    rig.send(0, 2, 1);
    rig.send(0, 1, 1);
    let found = rig.observer.violations().unwrap();
    let found: Vec<_> =
        found.iter().map(|v| (v.interface.as_str(), v.class, v.open, v.length.get(), v.source)).collect();
    assert_eq!(
        found,
        [
            ("p0", 1, None, 60, host_mac(0)),
            ("p1", 6, Some(5), 60, host_mac(1)),
            ("p2", 5, None, 60, host_mac(2)),
            ("p0", 1, Some(2), 60, host_mac(0)),
        ]
    );
    assert!(rig.observer.violations().unwrap().is_empty(), "each is told once");
    let counters = rig.observer.counters().unwrap();
    let counts = |p: &PortCounters| (p.frames, p.reactions, p.violations, p.slots, p.empty_slots);
    let counts: Vec<_> = counters.ports.iter().map(counts).collect();
    assert_eq!(counts, [(7, 2, 2, 3, 0), (1, 0, 1, 1, 1), (1, 0, 1, 0, 0)]);
    assert_eq!((counters.first_frame.count(), counters.reaction.count(), counters.unlogged), (3, 1, 0));
}

/// A host hears a signal that was held back and obeys it, while another host has the slot. The
/// signals at its own port alone show nothing wrong.
#[test]
fn what_a_host_sends_by_a_late_signal_is_in_a_foreign_slot() {
    let _turn = crate::turn();
    let mut rig = Rig::start("late", 3);
    let slot = Duration::from_ms(20);
    // Some of these are fast, however busy the machine is.
    for host in (0..3).cycle().take(60) {
        rig.open_for(host, Some(1), slot);
        rig.open_for(host, None, Duration::ZERO);
    }
    let held = Pfc { epoch: 1, sequence: monotonic_ns(), open: Some(1), hold: slot };
    std::thread::sleep(std::time::Duration::from_millis(100));
    rig.open(1, Some(4));
    rig.send(1, 4, 2);
    assert_eq!(rig.observer.report().unwrap().violations, 0);
    rig.signal(0, held);
    rig.send(0, 1, 5);
    let report = rig.observer.report().unwrap();
    assert_eq!((report.violations, report.ports[0].violations, report.ports[0].stale_signals), (5, 5, 0));
    assert!(report.lateness.max_us.unwrap() > 50_000.0, "{report}");
    // Its next signal is on time.
    rig.open(1, None);
    rig.open(0, Some(1));
    rig.send(0, 1, 5);
    assert_eq!(rig.observer.report().unwrap().violations, 5);
}

#[test]
fn a_hold_ends_a_slot_and_what_no_host_obeys_opens_none() {
    let _turn = crate::turn();
    let mut rig = Rig::start("hold", 2);
    rig.open_for(0, Some(1), Duration::from_us(1));
    std::thread::sleep(std::time::Duration::from_millis(1));
    rig.send(0, 1, 1);
    let p = rig.port(0);
    assert_eq!((p.reactions, p.violations, p.empty_slots, p.open), (1, 0, 1, Duration::from_us(1)));
    // Older than what the host has seen; of an older controller; of somebody else; and one that
    // leaves classes as they are.
    rig.signal(0, Pfc { epoch: 1, sequence: 1, open: Some(1), hold: LONG });
    rig.signal(0, Pfc { epoch: 0, sequence: 99, open: Some(1), hold: LONG });
    let stranger = Pfc { epoch: 9, sequence: 9, open: Some(1), hold: LONG }.encode(host_mac(1), host_mac(0)).unwrap();
    rig.controller.send(&stranger).unwrap();
    let mut other =
        Pfc { epoch: 2, sequence: 9, open: Some(1), hold: LONG }.encode(controller_mac(), host_mac(0)).unwrap();
    (other[17], other[18], other[19]) = (other[17] & !0x80, 0, 0);
    rig.controller.send(&other).unwrap();
    rig.until("the other signal", || rig.port(0).other_signals == 1);
    rig.send(0, 1, 1);
    let p = rig.port(0);
    assert_eq!((p.signals, p.stale_signals, p.other_signals), (1, 2, 1));
    assert_eq!((p.reactions, p.violations, p.slots), (2, 0, 1));
    // The next controller.
    rig.signal(0, Pfc { epoch: 2, sequence: 0, open: Some(1), hold: LONG });
    rig.send(0, 1, 1);
    assert_eq!((rig.port(0).slots, rig.port(0).reactions), (2, 2));
    assert!(rig.observer.report().unwrap().to_string().contains("do two controllers rule"));
}

#[test]
fn who_ignores_its_slots_is_named_and_a_full_log_is_told() {
    let _turn = crate::turn();
    let mut rig = Rig::start("name", 3);
    for _ in 0..3 {
        for host in 0..2 {
            rig.open(host, Some(1));
            rig.send(host, 1, 100);
            rig.send(2, 1, 20);
            rig.open(host, None);
        }
    }
    // Host 1 was late once. That is told, but is no habit.
    rig.open(0, Some(1));
    rig.send(1, 1, 1);
    let report = rig.observer.report().unwrap();
    assert_eq!(report.culprits().map(|p| p.interface.as_str()).collect::<Vec<_>>(), ["p2"]);
    assert_eq!((report.violations, report.ports[2].violations, report.ports[1].violations), (121, 120, 1));
    let text = report.to_string();
    assert!(text.contains("the host at p2 (02:74:70:00:00:02) ignores its slots: 120 of 120 frames"), "{text}");
    assert!(text.contains("the host at p1 (02:74:70:00:00:01) was late: 1 of 301 frames"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["ports"][2]["ignores_slots"], &json["frames"]), (&true.into(), &721.into()));
    assert_eq!(rig.observer.violations().unwrap().len(), 121);
    for _ in 0..80 {
        rig.send(2, 1, 100);
    }
    let (logged, counters) = (rig.observer.violations().unwrap().len() as u64, rig.observer.counters().unwrap());
    assert!(logged > 5000 && counters.unlogged > 0, "{logged} logged, {} not", counters.unlogged);
    assert_eq!(logged + counters.unlogged, 8000);
}

#[test]
fn wrong_interfaces_are_told() {
    let _turn = crate::turn();
    let said = |interfaces: &[&str]| Observer::attach(interfaces, controller_mac()).unwrap_err().to_string();
    assert!(said(&["no-such-port"]).contains("no-such-port"));
    assert!(said(&["lo", "lo"]).contains("two of the name lo"));
    assert!(said(&[]).contains("1 to 1024"));
}

#[test]
fn signals_are_read_in_every_encoding_and_those_with_a_wrong_tag_are_none() {
    let _turn = crate::turn();
    let mut rig = Rig::start("enc", 2);
    let (key, wrong) = (SignalKey([7; 16]), SignalKey([8; 16]));
    let frame = |encoding, sequence, open, key: &SignalKey| {
        let pfc = Pfc { epoch: 1, sequence, open, hold: LONG };
        let sealed = pfc.seal(encoding, key, controller_mac(), host_mac(0)).unwrap();
        if encoding != SignalEncoding::Udp {
            return sealed;
        }
        let end = |mac, last| Endpoint { mac, ip: [10, 0, 0, last].into(), port: PORT };
        UdpFrame { source: end(controller_mac(), 1), destination: end(host_mac(0), 2), payload: sealed }
            .encode()
            .unwrap()
    };
    let say = |rig: &Rig, frame: &[u8]| {
        let before = rig.signals();
        assert_eq!(rig.controller.send(frame).unwrap(), None);
        rig.until("a signal", || rig.signals() > before);
    };
    let encodings = [
        SignalEncoding::Experimental,
        SignalEncoding::MacControl,
        SignalEncoding::Pfc,
        SignalEncoding::Udp,
        SignalEncoding::PlainPfc,
    ];
    let mut sequence;
    for (known, round) in [(false, 0), (true, 1)] {
        for (i, &encoding) in encodings.iter().enumerate() {
            if known {
                rig.observer.set_key("p0", key).unwrap();
            }
            // A class that all encodings have.
            let class = 2 + i as u16;
            for open in [Some(class), None] {
                sequence = monotonic_ns();
                say(&rig, &frame(encoding, sequence, open, &key));
                rig.send(0, class, 3);
            }
            let p = rig.port(0);
            let slots = 5 * round + i as u64 + 1;
            assert_eq!(
                (p.signals, p.slots, p.stale_signals, p.forged_signals),
                (2 * slots, slots, 0, 0),
                "{encoding:?} {p:?}"
            );
            assert_eq!((p.reactions, p.violations), (3 * slots, 0), "{encoding:?} {p:?}");
        }
    }
    // Nobody opens a slot without the key; plain PFC has none.
    for &encoding in &encodings[..4] {
        say(&rig, &frame(encoding, monotonic_ns(), Some(1), &wrong));
    }
    let p = rig.port(0);
    assert_eq!((p.signals, p.slots, p.forged_signals), (20, 10, 4), "{p:?}");
    // Of a host whose key is not known, all count as they are.
    let to_other = |key: &SignalKey| {
        let pfc = Pfc { epoch: 1, sequence: 1, open: Some(1), hold: LONG };
        pfc.seal(SignalEncoding::Experimental, key, controller_mac(), host_mac(1)).unwrap()
    };
    say(&rig, &to_other(&wrong));
    assert_eq!((rig.port(1).slots, rig.port(1).forged_signals), (1, 0));
    let unknown = rig.observer.set_key("p7", key).unwrap_err().to_string();
    assert!(unknown.contains("p7") && unknown.contains("not watched"), "{unknown}");
    // Datagrams of others are none.
    let before = rig.signals();
    let mut other = frame(SignalEncoding::Udp, 999, Some(1), &key);
    other[36] ^= 1;
    rig.controller.send(&other).unwrap();
    sequence = monotonic_ns();
    say(&rig, &frame(SignalEncoding::Udp, sequence, Some(1), &key));
    assert_eq!(rig.signals(), before + 1);
}
