//! The gate in the kernel at real interfaces of namespaces: which signals open it, and what it lets
//! through.

mod late;

use nix::unistd::{Uid, setfsuid};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use timeplane_live::gate::{Allowed, Gate, GateConfig, GateCounters, Mode, SafeState, Scope};
use timeplane_live::netns::{Namespace, veth};
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket, Stop};
use timeplane_model::{Duration, HostId, Rate};
use timeplane_protocol::Pfc;
use timeplane_protocol::numbering::CIRCUIT;
use timeplane_protocol::wire::{DataHeader, DataKind, Heard, MacAddress, SignalEncoding, SignalKey, UNGATED};

const CONTROLLER: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const KEY: SignalKey = SignalKey([7; 16]);
const LONG: Duration = Duration::from_secs(20);

/// A host with a gate, and at the other end of its wire a controller.
struct Bench {
    host: Namespace,
    _other: Namespace,
    /// At the host, and at the other end.
    data: PacketSocket,
    controller: PacketSocket,
    gate: Gate,
    config: GateConfig,
}

impl Bench {
    fn new(name: &str, change: impl FnOnce(&mut GateConfig)) -> Self {
        let [host, other] =
            ["h", "m"].map(|end| Namespace::create(&format!("tpg{name}{}{end}", std::process::id())).unwrap());
        veth((&host, "eth0", "02:00:00:00:00:01"), (&other, "eth0", "02:00:00:00:00:09")).unwrap();
        let mut config = GateConfig { lease: LONG, max_hold: LONG, ..GateConfig::new("eth0", HOST, KEY) };
        change(&mut config);
        let gate = host.enter(|| Gate::attach(&config)).unwrap().unwrap();
        let data = host.enter(|| PacketSocket::open("eth0", 0x88b6)).unwrap().unwrap();
        let controller = other.enter(|| PacketSocket::open("eth0", ALL_ETHER_TYPES)).unwrap().unwrap();
        Self { host, _other: other, data, controller, gate, config }
    }
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.gate.counters().iter().filter(|c| c.1 > 0).collect()
    }
    /// Sends a signal, and waits until it has been counted one way or the other.
    fn signal(&self, frame: &[u8]) {
        let heard =
            |c: &GateCounters| c.obeyed + c.forged + c.stale + c.late + c.malformed + c.unwanted + c.other_station;
        let before = heard(&self.gate.counters());
        self.controller.send(frame).unwrap();
        let began = std::time::Instant::now();
        while heard(&self.gate.counters()) == before && began.elapsed().as_secs() < 5 {
            std::thread::yield_now();
        }
    }
    /// Whether a frame of a class leaves.
    fn leaves(&self, class: u16) -> bool {
        self.data.send(&frame(DataKind::Stream, class)).unwrap() != Some(Stop::Refused)
    }
    fn seal(&self, pfc: Pfc) -> Vec<u8> {
        pfc.seal(SignalEncoding::Experimental, &KEY, CONTROLLER, HOST).unwrap()
    }
}

fn frame(kind: DataKind, class: u16) -> Vec<u8> {
    let header = DataHeader {
        destination: CONTROLLER,
        source: HOST,
        kind,
        class,
        payload: 1448,
        host: HostId(1),
        epoch: 1,
        stream: 1,
        port: 0,
        sealed: false,
        offset: 0,
        length: None,
    };
    [&header.encode()[..], &[0; 1448]].concat()
}

fn pfc(sequence: u64, open: Option<u16>) -> Pfc {
    Pfc { epoch: 1, sequence, open, hold: LONG }
}

#[test]
fn every_encoding_opens_one_class_and_closes_the_one_before() {
    for encoding in SignalEncoding::ALL.into_iter().filter(|e| *e != SignalEncoding::Udp) {
        let bench = Bench::new("enc", |c| c.encodings = vec![encoding]);
        assert!(!bench.leaves(3), "{encoding:?}: nobody has opened it");
        let send = |sequence, open| {
            bench.signal(&pfc(sequence, open).seal(encoding, &KEY, CONTROLLER, HOST).unwrap());
        };
        send(1, Some(3));
        assert!(bench.leaves(3) && !bench.leaves(4), "{encoding:?}");
        send(2, Some(4));
        assert!(!bench.leaves(3) && bench.leaves(4), "{encoding:?}");
        send(3, None);
        assert!(!bench.leaves(3) && !bench.leaves(4), "{encoding:?}");
        let c = bench.gate.counters();
        assert_eq!((c.obeyed, c.passed, c.gated), (3, 2, 5), "{encoding:?}");
        assert_eq!(c.passed_bytes, 2 * 1500, "{encoding:?}");
        assert!(bench.gate.by_xdp());
        // What was refused has not been on the wire.
        let (mut frames, mut arrived) = (Frames::new(1514), 0);
        while bench.controller.receive_batch(&mut frames).unwrap() > 0 {
            arrived += frames.iter().filter(|f| f[12..14] == [0x88, 0xb6]).count();
        }
        assert_eq!(arrived, 2, "{encoding:?}");
    }
}

#[test]
fn a_frame_that_goes_by_circuit_waits_for_the_class_below_its_bit() {
    let bench = Bench::new("bit", |_| {});
    bench.signal(&bench.seal(pfc(1, Some(9))));
    assert!(bench.leaves(9) && bench.leaves(9 | CIRCUIT));
    // Another class, and bits above that mean nothing.
    assert!(!bench.leaves(10 | CIRCUIT) && !bench.leaves(9 | CIRCUIT << 1));
    bench.signal(&bench.seal(pfc(2, None)));
    assert!(!bench.leaves(9) && !bench.leaves(9 | CIRCUIT));
}

#[test]
fn signals_in_datagrams_are_heard_as_well() {
    use timeplane_protocol::wire::{Endpoint, PORT, UdpFrame};
    let bench = Bench::new("udp", |c| c.encodings = vec![SignalEncoding::Udp]);
    let end = |mac, last| Endpoint { mac, ip: [10, 0, 0, last].into(), port: PORT };
    let payload = pfc(1, Some(5)).seal(SignalEncoding::Udp, &KEY, CONTROLLER, HOST).unwrap();
    let mut datagram = UdpFrame { source: end(CONTROLLER, 9), destination: end(HOST, 1), payload };
    bench.signal(&datagram.encode().unwrap());
    assert!(bench.leaves(5));
    datagram.payload[20] ^= 1;
    bench.signal(&datagram.encode().unwrap());
    assert_eq!(bench.counters(), BTreeMap::from([("obeyed", 1), ("forged", 1), ("passed", 1), ("passed_bytes", 1500)]));
}

#[test]
fn forged_replayed_old_foreign_and_plain_signals_are_counted_and_never_obeyed() {
    let bench = Bench::new("forge", |_| {});
    let first = bench.seal(pfc(5, Some(3)));
    bench.signal(&first);
    assert!(bench.leaves(3));
    // Replayed; older; of an older epoch; with another key; for another station; a changed bit; a
    // plain PFC that opens all.
    bench.signal(&bench.seal(pfc(6, None)));
    bench.signal(&first);
    bench.signal(&bench.seal(pfc(4, Some(3))));
    bench.signal(&bench.seal(Pfc { epoch: 0, ..pfc(99, Some(3)) }));
    let other = SignalKey([8; 16]);
    bench.signal(&pfc(7, Some(3)).seal(SignalEncoding::Experimental, &other, CONTROLLER, HOST).unwrap());
    bench.signal(&pfc(7, Some(3)).seal(SignalEncoding::Experimental, &KEY, CONTROLLER, CONTROLLER).unwrap());
    let mut changed = bench.seal(pfc(7, Some(3)));
    changed[31] ^= 4;
    bench.signal(&changed);
    bench.signal(&pfc(7, Some(3)).seal(SignalEncoding::PlainPfc, &KEY, CONTROLLER, HOST).unwrap());
    bench.signal(&bench.seal(pfc(8, Some(9)))[..60]);
    assert!(!bench.leaves(3) && !bench.leaves(9));
    let expected = [
        ("obeyed", 2),
        ("forged", 2),
        ("stale", 3),
        ("other_station", 1),
        ("unwanted", 1),
        ("malformed", 1),
        ("passed", 1),
        ("passed_bytes", 1500),
        ("gated", 2),
        ("gated_bytes", 3000),
    ];
    assert_eq!(bench.counters(), BTreeMap::from(expected));
    // A controller that takes over has a higher epoch, and the one before is not heard any more.
    bench.signal(&bench.seal(Pfc { epoch: 2, ..pfc(0, Some(4)) }));
    bench.signal(&bench.seal(pfc(1000, Some(3))));
    assert!(bench.leaves(4) && !bench.leaves(3));
}

#[test]
fn a_controller_that_falls_silent_opens_nothing_for_good() {
    let closed = Bench::new("hold", |_| {});
    closed.signal(&closed.seal(Pfc { hold: Duration::from_ms(30), ..pfc(1, Some(3)) }));
    std::thread::sleep(std::time::Duration::from_millis(40));
    assert!(!closed.leaves(3), "its hold is over");
    // What the operator wants of a gate that has been abandoned.
    let open = Bench::new("safe", |c| {
        c.safe = SafeState::Open;
        c.lease = Duration::from_secs(1);
    });
    open.signal(&open.seal(pfc(1, None)));
    assert!(!open.leaves(3), "a controller rules");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert!(open.leaves(3), "nobody does");
    open.gate.renew(LONG).unwrap();
    assert!(!open.leaves(3), "it was heard over the demand channel");
    assert_eq!(open.gate.counters().unscheduled, 1);
}

#[test]
fn an_observer_counts_and_stops_nothing() {
    let bench = Bench::new("obs", |c| c.mode = Mode::Observe);
    assert!(bench.leaves(3));
    assert_eq!(bench.counters(), BTreeMap::from([("would_gate", 1)]));
    bench.gate.configure(&GateConfig { mode: Mode::Enforce, ..bench.config.clone() }).unwrap();
    assert!(!bench.leaves(3));
}

/// A TCP segment or another packet over IPv4, from a port to a port.
fn ip(protocol: u8, to: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[..14].copy_from_slice(&[&CONTROLLER.0[..], &HOST.0[..], &[8, 0]].concat());
    packet[14] = 0x45;
    packet[16..18].copy_from_slice(&50u16.to_be_bytes());
    packet[23] = protocol;
    packet[30..34].copy_from_slice(&to);
    packet[34..36].copy_from_slice(&ports.0.to_be_bytes());
    packet[36..38].copy_from_slice(&ports.1.to_be_bytes());
    packet
}

/// The same over IPv6.
fn ip6(protocol: u8, to: Ipv6Addr, ports: (u16, u16)) -> Vec<u8> {
    let mut packet = vec![0; 94];
    packet[..14].copy_from_slice(&[&CONTROLLER.0[..], &HOST.0[..], &[0x86, 0xdd]].concat());
    (packet[14], packet[20]) = (0x60, protocol);
    packet[38..54].copy_from_slice(&to.octets());
    packet[54..56].copy_from_slice(&ports.0.to_be_bytes());
    packet[56..58].copy_from_slice(&ports.1.to_be_bytes());
    packet
}

const ADDRESS: [u8; 4] = [10, 0, 0, 1];
const OTHER: [u8; 4] = [10, 0, 0, 2];

#[test]
fn where_all_traffic_is_gated_what_is_allowed_never_stops() {
    let address6 = "fd00::1".parse::<Ipv6Addr>().unwrap();
    let bench = Bench::new("all", |c| {
        c.scope = Scope::All;
        c.allowed = Allowed::always([(ADDRESS, 51208).into(), (address6, 51208).into()]);
        c.allowed.push(Allowed::Udp(53));
    });
    let ether =
        |ether_type: u16| [&CONTROLLER.0[..], &HOST.0[..], &ether_type.to_be_bytes()[..], &[0; 46][..]].concat();
    let passes = |frame: &[u8]| bench.data.send(frame).unwrap() != Some(Stop::Refused);
    let other6 = "fd00::2".parse().unwrap();
    // ARP; SSH in both directions; the demand channels; a name server; neighbor discovery.
    let allowed = [
        ether(0x0806),
        ip(6, OTHER, (50000, 22)),
        ip(6, OTHER, (22, 50000)),
        ip(6, ADDRESS, (40000, 51208)),
        ip6(6, address6, (40000, 51208)),
        ip(17, OTHER, (4, 53)),
        ip6(58, other6, (0, 0)),
    ];
    let stopped = [
        ether(0x88cc),
        ip(6, OTHER, (50000, 80)),
        ip(17, OTHER, (50000, 22)),
        ip(17, ADDRESS, (4, 51208)),
        ip(1, OTHER, (22, 22)),
        ip(6, OTHER, (53, 4)),
        // The port of a controller that a program has bound, and the same port of other hosts.
        ip(6, OTHER, (51208, 4)),
        ip(6, OTHER, (40000, 51208)),
        ip(6, OTHER, (51208, 51208)),
        ip(6, ADDRESS, (51208, 4)),
        ip6(6, other6, (40000, 51208)),
        ip6(6, address6, (51208, 40000)),
        ip(6, OTHER, (0, 4)),
    ];
    for _ in 0..100 {
        assert!(allowed.iter().all(|f| passes(f)));
        assert!(!stopped.iter().any(|f| passes(f)));
    }
    let c = bench.gate.counters();
    assert_eq!((c.allowed, c.gated, c.passed), (700, 1300, 0));
    // Frames with a class wait for their slot all the same.
    assert!(!bench.leaves(3));
    bench.signal(&bench.seal(pfc(1, Some(3))));
    assert!(bench.leaves(3) && !passes(&stopped[1]));
}

/// A socket that this user has made; raw sockets need no other privilege of root.
fn socket_of(bench: &Bench, user: u32) -> PacketSocket {
    // The kernel keeps the user for file systems by thread, so that no other test has it.
    let open = || {
        setfsuid(Uid::from_raw(user));
        PacketSocket::open("eth0", 0x88b6).unwrap()
    };
    std::thread::scope(|scope| scope.spawn(|| bench.host.enter(open).unwrap()).join().unwrap())
}

/// A port alone is nobody's: any user may bind one above 1023, or above less where the system says
/// so.
#[test]
fn a_program_without_privileges_binds_no_port_that_passes() {
    let bench = Bench::new("priv", |c| {
        c.scope = Scope::All;
        c.allowed = Allowed::always([(ADDRESS, 51208).into()]);
    });
    let [root, nobody] = [0, 65534].map(|user| socket_of(&bench, user));
    let passes = |socket: &PacketSocket, frame: &[u8]| socket.send(frame).unwrap() != Some(Stop::Refused);
    for ports in [(51208, 40000), (40000, 51208), (51208, 51208), (40000, 22), (22, 40000), (22, 51208)] {
        assert!(!passes(&nobody, &ip(6, OTHER, ports)), "{ports:?}");
    }
    assert!(passes(&root, &ip(6, OTHER, (22, 40000))), "the server for SSH");
    // An agent need not be root's.
    assert!(passes(&nobody, &ip(6, ADDRESS, (40000, 51208))));
    let c = bench.gate.counters();
    assert_eq!((c.allowed, c.gated), (2, 6));
    // An operator may open a port to everybody, SSH's as well.
    let open = GateConfig { allowed: [bench.config.allowed.clone(), vec![Allowed::Tcp(22)]].concat(), ..bench.config };
    drop(bench.gate);
    let _gate = bench.host.enter(|| Gate::attach(&open)).unwrap().unwrap();
    assert!(passes(&nobody, &ip(6, OTHER, (40000, 22))));
}

#[test]
fn repairs_pass_and_other_frames_without_a_class_do_not() {
    let bench = Bench::new("rep", |_| {});
    assert_eq!(bench.data.send(&frame(DataKind::Repair, UNGATED)).unwrap(), None);
    assert_eq!(bench.data.send(&frame(DataKind::Stream, UNGATED)).unwrap(), Some(Stop::Refused));
    assert_eq!(bench.data.send(&frame(DataKind::Packet, UNGATED)).unwrap(), Some(Stop::Refused));
    assert_eq!(bench.data.send(&frame(DataKind::Repair, 3)).unwrap(), Some(Stop::Refused));
    // One that is too short to have a class, padded by nobody.
    assert_eq!(bench.data.send(&frame(DataKind::Stream, 3)[..18]).unwrap(), Some(Stop::Refused));
    assert_eq!((bench.gate.counters().repairs, bench.gate.counters().gated), (1, 4));
}

#[test]
fn a_class_with_a_rate_is_paced_by_the_kernel() {
    let bench = Bench::new("rate", |_| {});
    // 1538 bytes a second: the second frame is early by one, the third by two, the fourth is
    // refused.
    bench.gate.open(3, LONG, Some(Rate::bps(8 * 1538))).unwrap();
    let sent = (0..10).filter(|_| bench.leaves(3)).count();
    assert!((3..=4).contains(&sent), "{sent}");
    assert_eq!(bench.gate.counters().too_fast, 10 - sent as u64);
    bench.gate.close(3).unwrap();
    assert!(!bench.leaves(3));
}

/// An interface takes a limited number of programs, so the next gate finds no place.
#[test]
fn a_gate_that_cannot_be_attached_leaves_nothing_pinned() {
    let root = std::path::PathBuf::from(format!("/tmp/tpfull{}", std::process::id()));
    let bench = Bench::new("full", |_| ());
    let attach = || Gate::attach(&GateConfig { pin: None, ..bench.config.clone() });
    let others: Vec<Gate> = bench.host.enter(|| (0..100).map_while(|_| attach().ok()).collect()).unwrap();
    assert!(others.len() < 100, "no place is left");
    let refused = bench
        .host
        .enter(|| Gate::attach(&GateConfig { pin: Some((root.clone(), "a".to_owned())), ..bench.config.clone() }));
    let refused = refused.unwrap().unwrap_err().to_string();
    assert!(refused.contains("at eth0"), "{refused}");
    assert!(!root.join("a").exists(), "{refused}");
    nix::mount::umount(&root).unwrap();
    std::fs::remove_dir(&root).unwrap();
}

#[test]
fn a_pinned_gate_outlives_its_agent_and_goes_when_released() {
    let root = std::path::PathBuf::from(format!("/tmp/tpgate{}", std::process::id()));
    let mut bench = Bench::new("pin", |c| c.pin = Some((root.clone(), "a".to_owned())));
    bench.signal(&bench.seal(pfc(1, Some(3))));
    assert!(bench.leaves(3));
    // The agent dies; another one comes, with a new key: nothing of before is believed.
    let config = GateConfig { key: SignalKey([9; 16]), ..bench.config.clone() };
    bench.gate = bench.host.enter(|| Gate::attach(&config)).unwrap().unwrap();
    assert!(!bench.leaves(3), "closed until the new agent has heard");
    assert_eq!(bench.gate.counters().obeyed, 1, "it has kept its counters");
    bench.signal(&bench.seal(pfc(2, Some(3))));
    assert_eq!(bench.gate.counters().forged, 1);
    drop(std::mem::replace(&mut bench.gate, {
        let other = Namespace::create(&format!("tpgpinx{}", std::process::id())).unwrap();
        veth((&other, "eth0", "02:00:00:00:00:03"), (&bench._other, "eth9", "02:00:00:00:00:04")).unwrap();
        other.enter(|| Gate::attach(&GateConfig { pin: None, ..config.clone() })).unwrap().unwrap()
    }));
    assert!(!bench.leaves(3), "nobody holds it, and it is there");
    timeplane_live::gate::release(&root.join("a")).unwrap();
    assert!(bench.leaves(3), "released");
    nix::mount::umount(&root).unwrap();
    std::fs::remove_dir(&root).unwrap();
}

/// The agent renews the lease while signals come in: none of their numbers is ever taken back.
#[test]
fn renewing_the_lease_takes_no_signal_back() {
    let bench = Bench::new("renew", |_| {});
    let done = std::sync::atomic::AtomicBool::new(false);
    const SIGNALS: u64 = 3000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                bench.gate.renew(LONG).unwrap();
            }
        });
        for sequence in 1..=SIGNALS {
            let signal = bench.seal(pfc(sequence, Some((sequence % 2) as u16)));
            bench.signal(&signal);
            // The same again, and the one before.
            bench.signal(&signal);
            bench.signal(&bench.seal(pfc(sequence - 1, Some(7))));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let c = bench.gate.counters();
    assert_eq!((c.obeyed, c.stale), (SIGNALS, 2 * SIGNALS));
    assert!(bench.leaves((SIGNALS % 2) as u16) && !bench.leaves(7));
}

/// What the kernel says of a frame is what the parser of the protocol says.
#[test]
fn the_kernel_reads_signals_as_the_protocol_does() {
    let bench = Bench::new("same", |c| c.encodings = SignalEncoding::ALL.to_vec());
    let mut runner = TestRunner::new(Config { cases: 2000, failure_persistence: None, ..Config::default() });
    let sequence = std::cell::Cell::new(1u64);
    let frames = (0usize..5, proptest::option::of(0u16..2048), any::<bool>(), 0usize..70, any::<u8>(), 0usize..71);
    let tried = runner.run(&frames, |(encoding, open, damaged, at, by, length)| {
        let encoding = SignalEncoding::ALL[encoding];
        if encoding == SignalEncoding::Udp {
            return Ok(());
        }
        sequence.set(sequence.get() + 1);
        let open = open.map(|c| c % encoding.classes());
        let sent = Pfc { epoch: 1, sequence: sequence.get(), open, hold: LONG };
        let mut frame = sent.seal(encoding, &KEY, CONTROLLER, HOST).unwrap();
        // Beyond the EtherType, which says who parses it; cut, but not below what an interface
        // sends.
        if damaged {
            if let Some(byte) = frame.get_mut(16 + at) {
                *byte ^= by;
            }
            frame.truncate(frame.len().min(14 + length).max(18));
        }
        let before = bench.gate.counters();
        bench.signal(&frame);
        let after = bench.gate.counters();
        let obeyed = after.obeyed - before.obeyed == 1;
        let expected = Pfc::unseal(&frame, HOST, &KEY);
        prop_assert_eq!(
            obeyed,
            expected.is_ok(),
            "{:?} {:?}: {:?} {:?} {:?}",
            encoding,
            frame,
            expected,
            before,
            after
        );
        if let Ok(Heard::Sealed(Pfc { open, .. }) | Heard::Plain(open)) = expected {
            prop_assert_eq!(open.is_none_or(|class| bench.leaves(class)), true);
            prop_assert!(!bench.leaves(open.map_or(7, |c| (c + 1) % 2048)));
        }
        Ok(())
    });
    tried.unwrap();
}
