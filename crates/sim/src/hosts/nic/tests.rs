//! Interfaces without a network: bursts that end early, and turns of TCP flows behind a gate.
//! Nothing carries their packets on; tests acknowledge for the receivers.

use super::*;
use crate::bench::endpoints;
use crate::hosts::endpoints::{HostAction, Service, Transport, Wire};
use crate::network::packet::{NO_OPTIONS, UNKNOWN, flags};
use proptest::prelude::*;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, Framing, HostId, LinkSpec, Switch};
use timeplane_protocol::Detail;
use timeplane_results::Recorder;
use timeplane_transport::{RawConfig, RepairReport, TcpConfig};
use timeplane_workload::FlowArrival;

const RATE: Rate = Rate::gbps(10);
/// Wire bytes and line time of a full packet.
const FRAME: u64 = 1_538;
const LINE: Duration = Duration::from_ps(1_230_400);

/// Notes which flows ask for their turns.
#[derive(Default)]
struct Asks(Vec<Offer>);

impl Timers for Asks {
    fn arm(&mut self, _: SimTime, _: u32, _: u32) {}
}

impl Wire for Asks {
    fn transmit(&mut self, _: SimTime, _: u32, _: Packet) {
        unreachable!("every flow is asked for its segments");
    }
    fn service(&self, _: u32) -> Service {
        Service::BehindGates
    }
    fn offer(&mut self, _: SimTime, offer: &Offer) {
        self.0.push(*offer);
    }
    fn report(&mut self, _: SimTime, _: [u32; 2], _: u32, _: u32, _: RepairReport) {}
}

struct Host {
    ends: Endpoints,
    link: LinkState,
    nic: Nic,
    now: SimTime,
}

impl Host {
    fn new(transport: Transport, nic: Nic) -> Self {
        Self::among(3, transport, nic)
    }

    fn among(hosts: u32, transport: Transport, nic: Nic) -> Self {
        let spec = LinkSpec { rate: RATE, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        let fabric = Arc::new(Fabric::single_switch(hosts, Switch::default(), spec).unwrap());
        let link = LinkState::new(fabric.link(fabric.uplink(HostId(0))), None, None);
        Self { ends: endpoints(&fabric, transport, 1_500, 0, Recorder::discard()), link, nic, now: SimTime::ZERO }
    }

    /// A gated host whose flows take turns, with windows of 100 segments and no handshake.
    fn gated() -> Self {
        let tcp = TcpConfig { mss: 1_460, initial_window: 100, handshake: false, ..TcpConfig::default() };
        Self::new(Transport::Tcp(tcp), Nic::new(NicSpec::default(), true, Some(Quanta::new(1_500, 0))))
    }

    /// A flow starts and asks for its turn. Returns its key.
    fn start(&mut self, destination: u32, segments: u64) -> FlowKey {
        let arrival = FlowArrival {
            at: Duration::ZERO,
            source: HostId(0),
            destination: HostId(destination),
            bytes: Bytes::new(1_460 * segments),
            coflow: None,
        };
        let mut asks = Asks::default();
        match self.ends.start(self.now, &arrival, &mut asks) {
            HostAction::Queue { key, .. } => {
                self.nic.push_flow(self.now, destination, key, &self.link, &mut self.ends);
                key
            }
            _ => {
                assert_eq!(asks.0.len(), 1, "one offer, whatever the window");
                self.nic.push_offer(self.now, &asks.0[0]);
                asks.0[0].flow
            }
        }
    }

    fn acknowledge(&mut self, destination: u32, flow: FlowKey) {
        let (flags, ahead, options) = (flags::ACK, UNKNOWN, NO_OPTIONS);
        let packet = Packet { flow, destination, hash: 0, bytes: 40, seq: 0, options, path: 0, flags, ahead };
        self.nic.push_packet(self.now, packet, &self.link);
    }

    fn open(&mut self, destination: u32, length: Duration, most: u64) {
        let opening = GateOpening::slot((destination, 0), self.now, self.now + length);
        self.nic.open(self.now, GateOpening { most, ..opening }, &mut Vec::new());
    }

    fn serve(&mut self) -> Option<Packet> {
        let served = self.nic.serve(self.now, &self.link, RATE, &mut self.ends, &mut Asks::default());
        let Served::Packet { packet, .. } = served else { return None };
        self.now = self.now + RATE.time_for(Bytes::new(u64::from(self.link.wire(packet.bytes))));
        Some(packet)
    }

    /// Whose packets leave, up to `most`.
    fn order(&mut self, most: usize) -> Vec<FlowKey> {
        (0..most).map_while(|_| self.serve()).map(|packet| packet.flow).collect()
    }

    /// The reported backlog for a destination, and what ever arrived for it.
    fn backlog(&self, destination: u32) -> (u64, Option<u64>) {
        let backlog = self.nic.backlog(self.now, &self.link, Duration::ZERO, Detail::Destinations, &self.ends);
        let entry = backlog.entries().iter().find(|e| e.destination == HostId(destination));
        entry.map_or((0, None), |e| (e.bytes.get(), e.arrived.map(Bytes::get)))
    }
}

#[test]
fn a_withdrawn_burst_lets_others_go_on() {
    let nic = Nic::new(NicSpec { burst: Bytes::kb(64), ..NicSpec::default() }, false, None);
    let mut host = Host::new(Transport::Raw { header: 16, config: RawConfig::default() }, nic);
    let first = host.start(1, 20);
    let second = host.start(2, 20);
    assert_eq!(host.order(2), [first; 2]);
    host.nic.withdraw(1, first, &mut host.ends);
    assert_eq!(host.order(1), [second]);
}

#[test]
fn flows_of_a_queue_take_turns_and_acknowledgements_go_first() {
    let mut host = Host::gated();
    let long = host.start(1, 1_000);
    host.open(1, Duration::from_ms(1), u64::MAX);
    assert_eq!(host.order(20), [long; 20]);
    // Its segments have not been handed over, so nothing is in the way.
    assert!(host.nic.packets().next().is_none());
    let short = host.start(1, 3);
    host.acknowledge(1, 90);
    let other = host.start(2, 3);
    assert_eq!(host.order(7), [90, short, short, short, long, long, long]);
    // Two of one size take turns of up to two packets.
    let second = host.start(1, 1_000);
    let order = host.order(60);
    let mine = |of: FlowKey| order.iter().filter(|&&flow| flow == of).count();
    assert!(mine(long).abs_diff(mine(second)) <= 10 + 2 && mine(other) == 0, "{order:?}");
    assert!(order[12..].chunk_by(|a, b| a == b).all(|turn| turn.len() <= 2), "{order:?}");
}

#[test]
fn the_backlog_is_what_windows_allow() {
    let mut host = Host::gated();
    host.nic.count_arrivals();
    host.start(1, 1_000);
    let all = 100 * FRAME;
    assert_eq!(host.backlog(1), (all, Some(all)));
    host.start(1, 1);
    host.acknowledge(1, 90);
    let more = all + FRAME + 84;
    assert_eq!(host.backlog(1), (more, Some(more)));
    host.open(1, LINE * 30, u64::MAX);
    // An acknowledgement, and 29 packets in the rest of the time.
    assert_eq!(host.order(200).len(), 30);
    assert_eq!(host.backlog(1), (more - 84 - 29 * FRAME, Some(more)));
    host.open(1, Duration::from_ms(1), u64::MAX);
    // Nobody acknowledges, so windows end.
    assert_eq!(host.order(200).len(), 72);
    assert!(host.nic.is_empty());
}

#[test]
fn a_segment_that_does_not_fit_keeps_its_turn() {
    let mut host = Host::gated();
    let (first, second) = (host.start(1, 3), host.start(1, 3));
    host.open(1, Duration::from_us(10), FRAME - 1);
    assert!(host.order(9).is_empty());
    host.open(1, LINE, u64::MAX);
    host.now = host.now + Duration::from_ps(1);
    assert!(host.order(9).is_empty(), "a part of it would leave too late");
    host.now = host.now + Duration::from_us(10);
    host.open(1, LINE * 4, u64::MAX);
    assert_eq!(host.order(9), [first, first, first, second]);
}

#[test]
fn a_rate_paces_the_queue_and_not_its_flows() {
    let mut host = Host::gated();
    let until = host.now + Duration::from_secs(1);
    let opening = GateOpening::slot((1, 0), host.now, until);
    host.nic.open(host.now, GateOpening { rate: Some(Rate::gbps(1)), ..opening }, &mut Vec::new());
    let (first, second) = (host.start(1, 1_000), host.start(1, 1_000));
    let mut sent = std::collections::BTreeMap::<FlowKey, u32>::new();
    // A packet takes ten times as long as on the line.
    for _ in 0..100 {
        let begin = host.now;
        let packet = host.serve().expect("a packet whose time has come");
        *sent.entry(packet.flow).or_default() += 1;
        assert!(host.serve().is_none(), "the next one has to wait");
        host.now = begin + LINE * 10;
    }
    assert_eq!(sent[&first] + sent[&second], 100);
    assert!(sent[&first].abs_diff(sent[&second]) <= 2, "{sent:?}");
}

#[test]
fn a_flow_that_leaves_takes_its_credit_along() {
    let mut host = Host::gated();
    let key = host.start(1, 1_000);
    host.open(1, LINE * 4, u64::MAX);
    assert_eq!(host.order(9), [key; 4]);
    let credit = 15_000 - 4 * i64::try_from(FRAME).unwrap();
    assert_eq!(host.nic.remove((1, 0), key), (Some(credit), true));
    assert_eq!(host.nic.remove((1, 0), key), (None, false));
}

proptest! {
    /// First come, first served finds the queue that a search of all finds.
    #[test]
    fn the_first_queue_is_that_of_a_search(steps in proptest::collection::vec((0..6, 1..9u32, 1..4u64), 1..120)) {
        let transport = Transport::Raw { header: 16, config: RawConfig::default() };
        let mut host = Host::among(9, transport, Nic::new(NicSpec::default(), false, None));
        let mut flows = Vec::new();
        for (step, destination, segments) in steps {
            match step {
                0..2 => flows.push((destination, host.start(destination, segments))),
                2 => host.acknowledge(destination, 0),
                3 if !flows.is_empty() => {
                    let (destination, flow) = flows.swap_remove(segments as usize % flows.len());
                    host.nic.withdraw(destination, flow, &mut host.ends);
                }
                _ => {
                    let queues = host.nic.queues.iter();
                    let first = queues.filter_map(|(id, queue)| Some((queue.since()?, *id))).min();
                    prop_assert_eq!(host.nic.choose(), first.map(|f| f.1));
                    host.serve();
                }
            }
        }
    }
}
