//! Priority flow control: the headroom of the formula prevents all losses, and one frame less does
//! not. Also which hosts are paused, and which are not.
//!
//! A slow receiver makes queues grow where the test wants them.

use crate::common::{Ran, flow_list, load, run};
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, Framing, HostId, LinkSpec, NodeId, Pfc, Rate, Switch};
use timeplane_results::Recorder;
use timeplane_scenario::{Algorithms, Nic, PacketMix};
use timeplane_sim::SimTime;
use timeplane_sim::engine::{Ended, Engine, Pulse};
use timeplane_sim::hosts::endpoints::{Config, Endpoints, Transport};
use timeplane_sim::network::{InterfaceForm, Network};
use timeplane_sim::record::ledger::Ledger;
use timeplane_workload::{FlowArrival, Streams};

/// Wire bytes of a full frame, and its line time at 10 Gb/s in ps.
const FRAME: u64 = 1538;
const LINE: i64 = 1_230_400;
/// Application bytes of a full datagram.
const PAYLOAD: u64 = 1472;
/// Two propagations, the reaction of 614.4 ns and the PFC frame's 67.2 ns make one frame's line
/// time and 50 ns. At worst three frames come after a pause, which is all that the formula has room
/// for.
const PROPAGATION: i64 = 299_400;

fn lost(ran: &Ran) -> u64 {
    ran.summary.dropped_packets.values().sum()
}

fn fct(ran: &Ran, flow: usize) -> i64 {
    let number = ran.column("flows", "flow").iter().position(|f| *f == flow as i64).expect("the flow");
    ran.nullable("flows", "fct_ps")[number].expect("it is done")
}

/// Hosts 0 and 1 at 10 Gb/s and host 2 at 10 Mb/s under one switch.
fn slow_receiver(headroom: Option<u64>, flows: &str) -> String {
    let headroom = headroom.map_or(String::new(), |h| format!(", headroom = \"{h} B\""));
    let propagation = format!("{}.{} ns", PROPAGATION / 1000, PROPAGATION % 1000);
    format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = 3, switches = 1, links = [
            {{ nodes = [0, 3] }}, {{ nodes = [1, 3] }}, {{ nodes = [2, 3], rate = "10 Mb/s" }},
        ] }}
        rate = "10 Gb/s"
        propagation = "{propagation}"
        switch.pfc = {{ pause_at = "{} B", resume_at = "{} B"{headroom} }}
        [workload.flows]
        file = "{flows}"
        [scheme.c]
        transport.datagrams = {{}}
        "#,
        20 * FRAME,
        10 * FRAME
    )
}

/// The formula once more: bytes at 10 Gb/s for two propagations and the reaction, two frames, and
/// the PFC frame.
fn formula() -> u64 {
    let time = 2 * PROPAGATION + 614_400;
    (time as u64).div_ceil(800) + 2 * FRAME + 84
}

#[test]
fn nothing_is_lost_with_the_formulas_headroom_and_a_frame_with_one_less() {
    let pfc =
        Pfc { pause_at: Bytes::kb(30), resume_at: Bytes::kb(10), headroom: None, reaction: Duration::from_ps(614_400) };
    let (propagation, framing) = (Duration::from_ps(PROPAGATION), Framing::Ethernet);
    let link = LinkSpec { rate: Rate::gbps(10), propagation, framing, bit_error: 0.0 };
    assert_eq!(pfc.headroom(&link, 1500), Bytes::new(formula()));
    // Host 0 sends more than host 2 accepts, and is paused. Traffic from host 1 to host 0 keeps the
    // link back busy: the PFC frame waits for a frame, for another part of it in each run.
    let (mut worst, mut most) = (0, 0);
    for offset in (0..LINE).step_by(20_000) {
        let file = format!("pfc-{offset}.csv");
        flow_list(&file, &[(0, 0, 2, 60 * PAYLOAD), (offset, 1, 0, 50 * PAYLOAD)]);
        let runs = [None, Some(formula()), Some(formula() - FRAME)].map(|h| run(&slow_receiver(h, &file), "c", 1));
        assert_eq!((lost(&runs[0]), lost(&runs[1])), (0, 0), "{offset} ps");
        let reasons: Vec<&String> = runs[2].summary.dropped_packets.keys().collect();
        assert!(reasons.is_empty() || reasons == ["input_full"], "{reasons:?}");
        worst += lost(&runs[2]);
        most = most.max(lost(&runs[2]));
    }
    assert!(worst > 0 && most == 1, "{worst} frames lost in all runs, {most} in one");
    println!("with the formula's {} B none lost, with {} B {worst} in 62 runs", formula(), formula() - FRAME);
    // A scenario with doubtful headroom is reported before the run.
    let warns = |h| load(&slow_receiver(h, "pfc-0.csv")).validate(&Algorithms::built_in()).expect("it is right").len();
    assert_eq!([None, Some(formula()), Some(formula() - 1)].map(warns), [0, 0, 1]);
}

#[test]
fn a_paused_host_holds_back_what_could_go() {
    flow_list("pfc-hol.csv", &[(0, 0, 2, 100 * PAYLOAD), (60_000_000, 0, 1, 10 * PAYLOAD)]);
    let text = slow_receiver(None, "pfc-hol.csv")
        .replace("transport.datagrams = {}", "transport.datagrams = {}\nnic.discipline = \"round_robin\"");
    let paused = run(&text, "c", 1);
    let from = text.find("switch.pfc").expect("it has");
    let until = text[from..].find('\n').expect("a line") + from;
    let free = run(&format!("{}{}", &text[..from], &text[until..]), "c", 1);
    // Host 2 takes a frame in 1.23 ms. The other flow comes while host 0 is paused, and waits until
    // ten frames have left: head-of-line blocking.
    let (paused_fct, free_fct) = (fct(&paused, 1), fct(&free, 1));
    assert!(free_fct < 22 * LINE + 4 * PROPAGATION, "{free_fct}");
    assert!(paused_fct > 9 * 1000 * LINE, "{paused_fct}");
    println!(
        "10 frames to a fast host: {} us, behind a paused flow {} us",
        free_fct / 1_000_000,
        paused_fct / 1_000_000
    );
    // For each ten frames, one frame pauses and another one resumes.
    let frames = paused.summary.control_messages["pause"].messages;
    assert!((14..=22).contains(&frames), "{frames}");
    // The switch never holds more than the bound and what may still come.
    let queues = paused.column("links", "max_queue_bytes").into_iter().zip(paused.column("links", "from"));
    let longest = queues.filter(|(_, from)| *from == 3).map(|q| q.0).max().unwrap();
    assert!(longest as u64 > 20 * FRAME - 10 && longest as u64 <= 20 * FRAME + formula(), "{longest}");
}

/// The same with the flow to host 1 in a priority of its own: flows up to this size are of class 0,
/// others of class 1.
fn with_classes(classes: Vec<Bytes>) -> Vec<i64> {
    let link = |rate| LinkSpec {
        rate,
        propagation: Duration::from_ps(PROPAGATION),
        framing: Framing::Ethernet,
        bit_error: 0.0,
    };
    let pause = |n: u64| Bytes::new(n * FRAME);
    let pfc = Pfc { pause_at: pause(20), resume_at: pause(10), headroom: None, reaction: Duration::from_ps(614_400) };
    let switch = Switch { pfc: Some(pfc), ..Switch::default() };
    let wires = [Rate::gbps(10), Rate::gbps(10), Rate::mbps(10)];
    let wires: Vec<_> = (0..3).map(|h| (NodeId(h), NodeId(3), link(wires[h as usize]))).collect();
    let fabric = Arc::new(Fabric::new(3, vec![switch], &wires).unwrap());
    let all = SimTime::ZERO..SimTime::MAX;
    let config = Config {
        transport: Transport::Datagrams,
        packets: PacketMix::Mtu,
        mtu: 1500,
        salt: 0,
        per_packet: false,
        routes_change: false,
        packet_seed: 0,
        fragments: false,
        acknowledgements: None,
        background: None,
        classes,
        granted: None,
        measured: all.clone(),
        stop: SimTime::MAX,
    };
    let mut ends = Endpoints::new(Arc::clone(&fabric), config, Ledger::new(3, all, Recorder::discard()));
    ends.log = Some(Vec::new());
    let flow = |at, destination, frames| FlowArrival {
        at: Duration::from_us(at),
        source: HostId(0),
        destination: HostId(destination),
        bytes: Bytes::new(frames * PAYLOAD),
        coflow: None,
    };
    let arrivals = [flow(0, 2, 100), flow(60, 1, 10)];
    let nic = InterfaceForm::Queued { spec: Nic::default(), gated: false, turns: None };
    let mut network =
        Network::new(Arc::clone(&fabric), &Streams::new(1), false, SimTime::MAX, Duration::from_us(20), nic);
    network.pause(1500);
    let mut engine = Engine::new(network, ends, None, Box::new(arrivals.into_iter()), SimTime::MAX, None);
    assert_eq!(engine.run(&Pulse::default()), Ended::Complete);
    assert!(engine.network.meters.losses.is_empty() && engine.ends.flows.is_empty());
    let log = engine.ends.log.take().unwrap();
    (0..2).map(|flow| log.iter().filter(|e| e.flow == flow).map(|e| e.at.as_ps()).max().unwrap()).collect()
}

#[test]
fn a_pause_holds_back_its_own_priority_only() {
    let same = with_classes(vec![]);
    let own = with_classes(vec![Bytes::new(10 * PAYLOAD)]);
    let begin = 60_000_000;
    assert!(same[1] - begin > 9 * 1000 * LINE, "{same:?}");
    // Behind at most one frame that had started, and at once through host and switch.
    assert!(own[1] - begin <= 12 * LINE + 2 * PROPAGATION, "{own:?}");
    // The last frame of the slow flow comes at its usual time: its link is the bottleneck in both.
    assert!((own[0] - same[0]).abs() < 2_000 * LINE, "{own:?} {same:?}");
}

/// All hosts send to host 0, from switch to switch, with little room and every transport: nothing
/// is lost, and nothing deadlocks.
#[test]
fn incast_loses_nothing_and_ends() {
    let shapes = [
        "topology.single_switch = { hosts = 9 }",
        "topology.tree = { edges = 3, hosts_per_edge = 3 }\nuplink_rate = \"25 Gb/s\"",
        "topology.leaf_spine = { leaves = 3, hosts_per_leaf = 3, spines = 2 }\nuplink_rate = \"10 Gb/s\"",
    ];
    let transports = ["datagrams = {}", "raw = {}", "tcp = { min_rto = \"10 ms\" }"];
    let mut frames = 0;
    for (i, shape) in shapes.iter().enumerate() {
        for (transport, (load, pattern)) in transports
            .iter()
            .flat_map(|t| [(0.2, "{ incast = { receiver = 0 } }"), (0.9, "\"uniform\"")].map(|w| (t, w)))
        {
            for seed in 0..4 {
                let latency = ["0 s", "450 ns"][seed as usize % 2];
                let text = format!(
                    r#"
                    [fabric]
                    {shape}
                    rate = "10 Gb/s"
                    propagation = "{} ns"
                    [fabric.switch]
                    latency = "{latency}"
                    pfc = {{ pause_at = "{} B", resume_at = "0 B" }}
                    [workload.poisson]
                    load = {load}
                    sizes.exponential = "60 kB"
                    pattern = {pattern}
                    [window]
                    measure = "1 ms"
                    [scheme.c]
                    transport.{transport}
                    "#,
                    137 * (seed + 1),
                    FRAME * (1 + seed % 3)
                );
                let ran = run(&text, "c", seed);
                assert_eq!((lost(&ran), ran.summary.flows.unfinished), (0, 0), "{i} {transport} {pattern} {seed}");
                frames += ran.summary.control_messages.get("pause").map_or(0, |c| c.messages);
            }
        }
    }
    assert!(frames > 10_000, "{frames}");
}
