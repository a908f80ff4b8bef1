//! Tests of the circuit switch, with frames of raw sockets on hosts of a fabric.
//!
//! They need CAP_NET_ADMIN and CAP_SYS_ADMIN.

use super::*;
use crate::fabric::{Fabric, FabricParameters, INTERFACE, host_mac};
use std::time::Instant;
use timeplane_live::clock;
use timeplane_live::packet_socket::{Frames, PacketSocket};
use timeplane_model::HostId;
use timeplane_protocol::numbering::CIRCUIT;
use timeplane_schedule::rotor::{RotorSchedule, RotorTiming, Stepping, matchings};

/// A switch between hosts that can receive, and a socket of each.
struct Rig {
    switch: CircuitSwitch,
    hosts: Vec<PacketSocket>,
    fabric: Fabric,
}

const NEVER: Duration = Duration::from_secs(3600);

fn frame(from: u16, to: u16, class: u16, number: u32) -> Vec<u8> {
    let mut frame = [host_mac(to).0, host_mac(from).0].concat();
    frame.extend([0x88, 0xb6, 1, 1]);
    frame.extend(class.to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(u32::from(from).to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(60, 0);
    frame
}

impl Rig {
    fn start(test: &str, hosts: u16, dark: Duration, darkens: Darkens) -> Self {
        Self::with_mtu(test, hosts, 1500, dark, darkens)
    }
    fn with_mtu(test: &str, hosts: u16, mtu: u32, dark: Duration, darkens: Darkens) -> Self {
        let name = format!("tpc{test}{}", std::process::id());
        let fabric = Fabric::start(&FabricParameters { name, hosts, mtu, limit: None }).unwrap();
        let open = || {
            prepare_receiver(INTERFACE).unwrap();
            PacketSocket::open(INTERFACE, 0x88b6).unwrap()
        };
        let sockets = fabric.hosts().iter().map(|h| h.enter(open).unwrap()).collect();
        let ports = fabric.ports();
        let switch = fabric.switch().enter(|| CircuitSwitch::attach(&ports, dark, darkens).unwrap()).unwrap();
        Self { switch, hosts: sockets, fabric }
    }
    /// Sends frames of a class, each with its number, and waits until the switch has seen them.
    fn send(&self, from: u16, to: u16, class: u16, count: u32) {
        let before = self.count(from);
        let frames: Vec<_> = (0..count).map(|n| frame(from, to, class, n)).collect();
        assert_eq!(self.hosts[usize::from(from)].send_batch(&frames).unwrap().sent, count as usize);
        self.seen(from, before + u64::from(count));
    }
    /// How many frames have come in at a port.
    fn count(&self, port: u16) -> u64 {
        let c = self.switch.counters().unwrap()[usize::from(port)];
        c.frames + c.passed
    }
    /// Waits until there are so many.
    fn seen(&self, port: u16, frames: u64) {
        let start = Instant::now();
        while self.count(port) < frames {
            assert!(start.elapsed().as_secs() < 10, "{:?}", self.switch.counters());
            std::thread::yield_now();
        }
    }
    /// Who sent the frames that a host has received, and their numbers; there are at least `least`.
    fn receive(&self, host: usize, least: usize) -> Vec<(u8, u32)> {
        let mut frames = Frames::new(1514);
        let mut all = vec![];
        while self.hosts[host].wait(Duration::from_ms(if all.len() < least { 10_000 } else { 50 })).unwrap() {
            self.hosts[host].receive_batch(&mut frames).unwrap();
            all.extend(frames.iter().map(|f| (f[11], u32::from_be_bytes([f[24], f[25], f[26], f[27]]))));
        }
        all
    }
    fn counts(&self) -> Vec<[u64; 4]> {
        let counters = self.switch.counters().unwrap();
        for c in &counters {
            assert_eq!(c.frames, c.forwarded + c.dark + c.unconnected);
            assert_eq!(c.bytes, 60 * c.frames);
        }
        counters.iter().map(|c| [c.forwarded, c.dark, c.unconnected, c.passed]).collect()
    }
}

fn numbered(from: u8, count: u32) -> Vec<(u8, u32)> {
    (0..count).map(|n| (from, n)).collect()
}

#[test]
fn circuits_go_where_the_permutation_says_and_packets_where_they_are_addressed_to() {
    let mut rig = Rig::start("perm", 4, Duration::default(), Darkens::Moved);
    // Nothing is connected in the beginning.
    rig.send(0, 1, CIRCUIT + 1, 10);
    rig.switch.retune(&[Some(1), Some(2), Some(0), None]).unwrap();
    for host in 0..4 {
        // They are all addressed to host 3.
        rig.send(host, 3, CIRCUIT + 3, 50);
    }
    assert_eq!([0, 1, 2].map(|h| rig.receive(h, 50)), [numbered(2, 50), numbered(0, 50), numbered(1, 50)]);
    // The packet switch: classes below and above, which include what is not gated.
    rig.send(0, 3, CIRCUIT - 1, 20);
    rig.send(1, 3, 2 * CIRCUIT, 20);
    rig.send(3, 0, 0xffff, 20);
    let mut packets = rig.receive(3, 40);
    packets.sort_unstable();
    assert_eq!(packets, [numbered(0, 20), numbered(1, 20)].concat());
    assert_eq!(rig.receive(0, 20), numbered(3, 20));
    // Another permutation, and one from a plan.
    rig.switch.retune(&[Some(3), None, None, Some(0)]).unwrap();
    rig.send(0, 1, CIRCUIT, 30);
    rig.send(3, 1, CIRCUIT, 30);
    assert_eq!([3, 0].map(|h| rig.receive(h, 30)), [numbered(0, 30), numbered(3, 30)]);
    rig.switch.connect(&Matching::new(vec![Some(HostId(2)), None, None, None]).unwrap()).unwrap();
    rig.send(0, 1, CIRCUIT, 30);
    assert_eq!(rig.receive(2, 30), numbered(0, 30));
    assert_eq!(rig.counts(), [[110, 0, 10, 20], [50, 0, 0, 20], [50, 0, 0, 0], [30, 0, 50, 20]]);
    assert!(rig.receive(1, 0).is_empty());
}

#[test]
fn frames_longer_than_a_page_stay_whole() {
    let mut rig = Rig::with_mtu("long", 2, 9000, Duration::default(), Darkens::Moved);
    rig.switch.retune(&[Some(1), None]).unwrap();
    let mut long = frame(0, 1, CIRCUIT + 1, 1);
    long.extend((60..9014).map(|i| i as u8));
    rig.hosts[0].send(&long).unwrap();
    assert!(rig.hosts[1].wait(Duration::from_ms(10_000)).unwrap());
    let mut frames = Frames::new(9014);
    rig.hosts[1].receive_batch(&mut frames).unwrap();
    assert!(frames.iter().eq([&long[..]]));
    let counters = rig.switch.counters().unwrap()[0];
    assert_eq!((counters.frames, counters.bytes, counters.forwarded), (1, 9014, 1));
}

#[test]
fn what_moves_is_dark_and_what_stays_carries_on() {
    for (darkens, others) in [(Darkens::Moved, [20, 0]), (Darkens::All, [0, 20])] {
        let mut rig = Rig::start("dark", 4, NEVER, darkens);
        // It would be dark for an hour: as if it had been lit for long.
        rig.switch.set_dark(Duration::ZERO, Duration::ZERO).unwrap();
        rig.switch.retune(&[Some(1), Some(0), Some(3), None]).unwrap();
        rig.switch.set_dark(NEVER, NEVER).unwrap();
        rig.switch.retune(&[Some(2), None, Some(3), Some(0)]).unwrap();
        for host in 0..4 {
            rig.send(host, 1, CIRCUIT, 20);
            rig.send(host, 1, 7, 5);
        }
        let [carried, dark] = others;
        assert_eq!(rig.counts(), [[0, 20, 0, 5], [0, 0, 20, 5], [carried, dark, 0, 5], [0, 20, 0, 5]]);
        assert_eq!(rig.receive(3, carried as usize).len() as u64, carried);
        // Packets are not concerned; those of host 1 to itself are dropped by the bridge.
        assert_eq!(rig.receive(1, 15).len(), 15);
    }
}

#[test]
fn a_retune_under_traffic_loses_what_it_counts_and_nothing_after_it() {
    let mut rig = Rig::start("tune", 3, Duration::from_ms(20), Darkens::Moved);
    let now = timeplane_live::clock::now;
    // Per frame: where to the circuit went, and whether it was sent after light, by the sender's
    // clock, which is the switch's.
    let mut sent: Vec<(usize, bool)> = vec![];
    for output in [1, 2, 1, 2, 1, 2] {
        let lit = rig.switch.retune(&[Some(output), None, None]).unwrap();
        let mut after = 0;
        while after < 20 {
            let is_lit = now() >= lit;
            after += usize::from(is_lit);
            assert_eq!(rig.hosts[0].send(&frame(0, 1, CIRCUIT, sent.len() as u32)).unwrap(), None);
            sent.push((output, is_lit));
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        // All are through before the next retune.
        rig.seen(0, sent.len() as u64);
    }
    let [forwarded, dark, unconnected, _] = rig.counts()[0];
    assert_eq!((forwarded + dark, unconnected), (sent.len() as u64, 0));
    assert!(dark > 0, "of six times 20 ms, not one frame was in the dark");
    let mut arrived = vec![false; sent.len()];
    for host in [1, 2] {
        for (_, number) in rig.receive(host, 60) {
            assert_eq!(sent[number as usize].0, host);
            arrived[number as usize] = true;
        }
    }
    // What was lost is what was counted, and nothing that was sent after light.
    assert_eq!(arrived.iter().filter(|a| **a).count() as u64, forwarded);
    assert!(sent.iter().zip(&arrived).all(|((_, is_lit), arrived)| *arrived || !is_lit));
}

#[test]
fn what_is_no_permutation_changes_nothing() {
    let mut rig = Rig::start("bad", 2, Duration::default(), Darkens::Moved);
    rig.switch.retune(&[Some(1), None]).unwrap();
    for (wrong, said) in [
        (vec![Some(1)], "1 outputs: expected 2, one for each port"),
        (vec![Some(1), Some(1)], "output 1 is not a port, or is used by two inputs"),
        (vec![Some(2), None], "output 2"),
    ] {
        let error = rig.switch.retune(&wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(rig.switch.outputs().unwrap(), [Some(1), None]);
    rig.send(0, 1, CIRCUIT, 5);
    assert_eq!(rig.receive(1, 5).len(), 5);
    let attach = |interfaces: &[&str]| CircuitSwitch::attach(interfaces, NEVER, Darkens::All).unwrap_err().to_string();
    let twice = rig.fabric.switch().enter(|| attach(&["p1"])).unwrap();
    assert!(twice.contains("at p1") && twice.contains("busy"), "{twice}");
    assert!(attach(&["no-such-port"]).contains("no-such-port"));
    assert!(attach(&[]).contains("1 to 1024"));
    assert!(prepare_receiver("no-such-port").is_err());
}

/// Four ports under a rotor switch whose slices have 20 ms, and are dark for 5 ms.
fn rotor(test: &str, start: Time) -> (Rig, Cycle) {
    let name = format!("tpc{test}{}", std::process::id());
    let fabric = Fabric::start(&FabricParameters { name, hosts: 4, mtu: 1500, limit: None }).unwrap();
    let schedule = RotorSchedule::spread(&matchings::round_robin(4).unwrap(), 1, Stepping::Together).unwrap();
    let timing = RotorTiming::new(Duration::from_ms(20), Duration::from_ms(5)).unwrap();
    let cycle = Cycle::new(std::sync::Arc::new(schedule), timing, Duration::ZERO);
    let open = || {
        prepare_receiver(INTERFACE).unwrap();
        PacketSocket::open(INTERFACE, 0x88b6).unwrap()
    };
    let hosts = fabric.hosts().iter().map(|h| h.enter(open).unwrap()).collect();
    let ports = fabric.ports();
    let switch = fabric.switch().enter(|| CircuitSwitch::rotor(&ports, &cycle, start).unwrap()).unwrap();
    (Rig { switch, hosts, fabric }, cycle)
}

/// Each frame is somewhere in the time from its sending to its arrival, however slow the machine
/// is: in that time, the schedule must once have led where it came.
#[test]
fn a_rotor_switch_turns_by_itself() {
    let start = clock::now() + Duration::from_ms(50);
    let (rig, cycle) = rotor("turn", start);
    let (mut sent, mut came) = (Vec::new(), 0);
    let mut frames = Frames::new(1514);
    let slice = cycle.timing().slice();
    let counted = |of: usize| rig.counts().iter().map(|c| c[of]).sum::<u64>();
    // At least eight cycles, and longer on a machine that is busy.
    while clock::now() < start + slice * 25 || came < 100 || counted(1) < 20 {
        assert!(clock::now() < start + Duration::from_secs(60), "{:?}", rig.counts());
        for from in 0..4 {
            let number = sent.len() as u32;
            sent.push((from, clock::now()));
            rig.hosts[usize::from(from)].send(&frame(from, 0, CIRCUIT, number)).unwrap();
        }
        for (to, host) in rig.hosts.iter().enumerate() {
            host.receive_batch(&mut frames).unwrap();
            for f in frames.iter() {
                let number = u32::from_be_bytes([f[24], f[25], f[26], f[27]]);
                let (from, begin) = sent[number as usize];
                let slices = [begin, clock::now()].map(|t| cycle.slice_at(Time::ZERO + (t - start)));
                let mut led = (slices[0]..=slices[1]).map(|s| cycle.destination(s, from.into(), 0));
                assert!(led.any(|there| there == Some(to as u32)), "{from} to {to} in slices {slices:?}");
                came += 1;
            }
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    assert!(counted(0) >= came, "{came} of {:?}", rig.counts());
}

#[test]
fn a_rotor_switch_connects_nothing_before_it_starts() {
    let (rig, _) = rotor("rest", clock::now() + NEVER);
    rig.send(0, 1, CIRCUIT, 5);
    rig.send(2, 1, 0, 3);
    assert_eq!(rig.counts()[0], [0, 0, 5, 0]);
    assert_eq!(rig.receive(1, 3), numbered(2, 3));
    assert!(rig.receive(3, 0).is_empty());
}

#[test]
fn a_rotor_switch_has_a_port_for_each_rack() {
    let schedule = |switches| RotorSchedule::spread(&matchings::round_robin(4).unwrap(), switches, Stepping::Together);
    let timing = RotorTiming::new(Duration::from_ms(20), Duration::from_ms(5)).unwrap();
    for (switches, ports) in [(1, 3), (3, 4)] {
        let cycle = Cycle::new(std::sync::Arc::new(schedule(switches).unwrap()), timing, Duration::ZERO);
        let ports: Vec<String> = (0..ports).map(|p| format!("none{p}")).collect();
        let error = CircuitSwitch::rotor(&ports, &cycle, Time::ZERO).unwrap_err().to_string();
        assert!(error.contains(&format!("for 4 racks with uplinks to {switches} switches")), "{error}");
    }
}
