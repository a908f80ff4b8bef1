//! Split connections and steered senders, at the ends of a network with only a delay and losses.
//!
//! The test drives the endpoints without the engine.

use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, Framing, HostId, LinkSpec, Rate, Switch};
use timeplane_results::Recorder;
use timeplane_scenario::PacketMix;
use timeplane_sim::SimTime;
use timeplane_sim::hosts::endpoints::{Config, Endpoints, Timers, Transport, Wire};
use timeplane_sim::network::packet::Packet;
use timeplane_sim::record::ledger::Ledger;
use timeplane_transport::{RepairReport, Steering, TcpConfig};
use timeplane_workload::FlowArrival;

enum Event {
    Packet(Packet),
    Timer(u32, u32),
}

/// Delays each packet by its sender, and loses every n-th.
#[derive(Default)]
struct Pipe {
    events: BTreeMap<(SimTime, u64), Event>,
    count: u64,
    lose: u64,
    /// Packets handed over by each host, with their times.
    sent: Vec<(SimTime, u32)>,
}

const DELAYS: [Duration; 3] = [Duration::from_ms(20), Duration::from_ms(1), Duration::from_ms(1)];

impl Pipe {
    fn push(&mut self, at: SimTime, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }
}

impl Timers for Pipe {
    fn arm(&mut self, at: SimTime, flow: u32, key: u32) {
        self.push(at, Event::Timer(flow, key));
    }
}

impl Wire for Pipe {
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet) {
        self.sent.push((now, host));
        self.push(now + DELAYS[host as usize], Event::Packet(packet));
    }
    fn report(&mut self, _: SimTime, _: [u32; 2], _: u32, _: u32, _: RepairReport) {
        unreachable!("TCP reports nothing");
    }
}

fn ends(tcp: TcpConfig) -> Endpoints {
    let link =
        LinkSpec { rate: Rate::gbps(1), propagation: Duration::from_us(1), framing: Framing::Ethernet, bit_error: 0.0 };
    let fabric = Arc::new(Fabric::single_switch(3, Switch::default(), link).unwrap());
    let all = SimTime::ZERO..SimTime::MAX;
    let config = Config {
        transport: Transport::Tcp(tcp),
        packets: PacketMix::Mtu,
        mtu: 1500,
        salt: 1,
        per_packet: false,
        routes_change: false,
        packet_seed: 1,
        fragments: false,
        acknowledgements: None,
        background: None,
        classes: Vec::new(),
        granted: None,
        measured: all.clone(),
        stop: SimTime::MAX,
    };
    Endpoints::new(fabric, config, Ledger::new(3, all, Recorder::discard()))
}

fn flow(source: u32, destination: u32, bytes: u64) -> FlowArrival {
    FlowArrival {
        at: Duration::ZERO,
        source: HostId(source),
        destination: HostId(destination),
        bytes: Bytes::new(bytes),
        coflow: None,
    }
}

/// Runs until nothing is left to do, or until `end`: packets lost.
fn run(ends: &mut Endpoints, pipe: &mut Pipe, end: SimTime, mut each: impl FnMut(&Endpoints)) -> u64 {
    let mut lost = 0;
    while let Some(entry) = pipe.events.first_entry().filter(|e| e.key().0 <= end) {
        let ((at, number), event) = entry.remove_entry();
        match event {
            Event::Packet(packet) if pipe.lose > 0 && number % pipe.lose == 0 => {
                lost += 1;
                ends.lost(packet);
            }
            Event::Packet(packet) => {
                ends.receive(at, packet, pipe);
            }
            Event::Timer(flow, key) => {
                ends.timer(at, flow, key, pipe);
            }
        }
        each(ends);
    }
    lost
}

#[test]
fn a_split_connection_keeps_the_books() {
    for lose in [0, 7, 40, 151] {
        for handshake in [false, true] {
            let bytes = 1_000_003;
            let mut ends = ends(TcpConfig { handshake, ..TcpConfig::default() });
            let mut pipe = Pipe { lose, ..Pipe::default() };
            ends.start_split(SimTime::ZERO, &flow(0, 1, bytes), &flow(1, 2, bytes), &mut pipe);
            let mut ahead = 0;
            let lost = run(&mut ends, &mut pipe, SimTime::MAX, |ends| {
                let [_, _, device] = ends.ledger.received[..] else { unreachable!("three hosts") };
                let first = ends.flows.iter().find(|(_, f)| f.destination == 1);
                let proxy = first.map_or(bytes, |(_, f)| f.receiver.received);
                assert!(device <= proxy, "the second half has what the first has not brought");
                ahead = ahead.max(proxy - device);
            });
            // Bytes at the proxy are not goodput.
            assert_eq!(ends.ledger.received, [0, 0, bytes], "{lose}");
            assert_eq!((ends.ledger.arrived, ends.ledger.ended, ends.flows.len()), (2, 2, 0));
            assert_eq!(ends.ledger.sent.0, ends.ledger.delivered.0 + lost);
            assert!(ahead > 0 && (lose == 0) == (lost == 0));
        }
    }
}

#[test]
fn a_flow_is_steered_by_its_number() {
    let at = |ms: i64| SimTime::from_ps(ms * 1_000_000_000);
    let mut ends = ends(TcpConfig::default());
    let mut pipe = Pipe::default();
    let bytes = 1460 * 2_000;
    ends.start(at(0), &flow(0, 1, bytes), &mut pipe);
    ends.start(at(0), &flow(2, 1, 1460), &mut pipe);
    run(&mut ends, &mut pipe, at(15), |_| {});
    let order = |segments: u64| Some(Steering { window: 1460 * segments, rate: None, hold: true });
    let from_server = |pipe: &Pipe| pipe.sent.iter().filter(|s| s.1 == 0).count();
    assert_eq!(from_server(&pipe), 10);
    assert!(ends.steer(at(15), 0, order(100), &mut pipe));
    assert_eq!(from_server(&pipe), 100, "at once");
    assert!(!ends.steer(at(15), 1, order(1), &mut pipe), "over");
    assert!(!ends.steer(at(15), 7, order(1), &mut pipe), "never was");
    // Stopped for two seconds, without a packet or a timeout.
    assert!(ends.steer(at(16), 0, order(0), &mut pipe));
    run(&mut ends, &mut pipe, at(2_000), |_| {});
    assert_eq!((from_server(&pipe), ends.flows.len()), (100, 1));
    assert!(ends.steer(at(2_000), 0, order(50), &mut pipe));
    assert_eq!(from_server(&pipe), 150);
    assert!(ends.steer(at(2_000), 0, None, &mut pipe));
    run(&mut ends, &mut pipe, SimTime::MAX, |_| {});
    assert_eq!((ends.ledger.received[1], ends.flows.len()), (bytes + 1460, 0));
    assert_eq!(from_server(&pipe), 2_000, "nothing twice");
}
