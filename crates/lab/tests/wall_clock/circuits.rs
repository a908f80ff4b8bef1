//! Circuits on real interfaces: a controller sets a circuit switch in the kernel, and hosts send
//! over it while their circuit is up, and otherwise over the bridge.

use crate::common::judged::{Expected, judge};
use crate::common::place::{PROGRAM, Place};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration as Wait, Instant};
use timeplane_experiment as experiment;
use timeplane_lab::answers::Outcome;
use timeplane_lab::circuits::CircuitsSeen;
use timeplane_lab::fabric::FabricParameters;
use timeplane_lab::hosts::{Hosts, HostsParameters};
use timeplane_lab::plan::LivePlan;
use timeplane_lab::run::{self, Options};
use timeplane_live::controller::Plan;
use timeplane_model::{Duration, Fabric, HostId};
use timeplane_protocol::wire::SignalEncoding;
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;

const CONTROL: &str = "circuits";
/// Of the scenario.
const PERIOD: Duration = Duration::from_ms(120);
const DARK: Duration = Duration::from_ms(2);

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/lab_circuits.toml")
}

fn loaded(set: &[(&str, &str)]) -> Loaded {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), vec![(*value).to_owned()])).collect();
    Loaded::from_file(file(), &set).unwrap_or_else(|e| panic!("{e}"))
}

fn lab(place: &Place, loaded: &Loaded) -> Outcome {
    run::run(loaded, &place.options(), &|| false, &|_| {}).unwrap_or_else(|e| panic!("{e}"))
}

/// The one run that the simulator makes of it.
fn simulated(place: &Place, loaded: &Loaded) -> Run {
    let options = experiment::Options::new(1, place.results());
    let never = AtomicBool::new(false);
    let outcome = experiment::run(Simulator::default(), loaded, &options, &never, &|_| {});
    Run::only(&outcome.unwrap_or_else(|e| panic!("{e}")).directory)
}

/// What is kept of a run.
struct Run {
    folder: PathBuf,
    summary: serde_json::Value,
}

impl Run {
    fn only(results: &Path) -> Self {
        let runs = crate::common::place::runs(results);
        let [folder] = &runs[..] else { panic!("{runs:?}") };
        Self { folder: folder.clone(), summary: crate::common::place::summary(folder) }
    }
    /// Frames that were lost for this reason.
    fn dropped(&self, reason: &str) -> u64 {
        self.summary["dropped_packets"][reason].as_u64().unwrap_or(0)
    }
    /// Everything that was sent is somewhere, and all flows are done.
    fn is_whole(&self) {
        let s = &self.summary;
        assert_eq!(s["flows"]["arrived"], s["flows"]["finished"], "{s:#}");
        for what in ["packets", "bytes"] {
            let n = |part: &str| s[what][part].as_u64().unwrap();
            assert_eq!(n("sent"), n("delivered") + n("dropped") + n("in_flight"), "{s:#}");
        }
    }
    fn completion_ms(&self) -> f64 {
        self.summary["completion_ps"].as_f64().unwrap() / 1e9
    }
    /// What share of all that hosts sent crossed the circuit switch, by the table of links of a
    /// simulation.
    fn circuit_share(&self, fabric: &Fabric) -> f64 {
        let file = std::fs::File::open(self.folder.join("links.parquet")).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let (mut sent, mut by_circuit) = (0, 0);
        for batch in reader.build().unwrap().map(Result::unwrap) {
            let column = |name| batch.column_by_name(name).unwrap();
            let (from, to) = (column("from").as_primitive::<UInt32Type>(), column("to").as_primitive::<UInt32Type>());
            let bytes = column("sent_bytes").as_primitive::<UInt64Type>();
            for row in 0..batch.num_rows() {
                sent += if from.value(row) < fabric.hosts() { bytes.value(row) } else { 0 };
                let crosses = fabric.circuit_switch().is_some_and(|node| node.0 == to.value(row));
                by_circuit += if crosses { bytes.value(row) } else { 0 };
            }
        }
        by_circuit as f64 / sent as f64
    }
}

/// The file of `scenarios/`, as it is: what is simulated is what the lab does.
#[test]
fn a_lab_of_circuits_does_what_the_simulator_says() {
    let _turn = crate::turn();
    let place = Place::new("crun");
    let loaded = loaded(&[]);
    let outcome = lab(&place, &loaded);
    let [(_, live)] = &outcome.live[..] else { panic!("{:?}", outcome.live) };
    assert_eq!(live["ended"], "delivered", "{live:#}");
    let run = Run::only(&outcome.directory);
    run.is_whole();
    // Guards hold: no host sends into the dark, or without a circuit.
    assert_eq!((&live["circuit_dark"], &live["circuit_unconnected"]), (&0.into(), &0.into()), "{live:#}");
    println!("the packet switch had no room for {} frames", live["packets_dropped"]);
    let theirs = simulated(&place, &loaded);
    let (share, simulated) =
        (live["circuit_share"].as_f64().unwrap(), theirs.circuit_share(&loaded.scenario.fabric.build().unwrap()));
    println!("over circuits: {:.1} % live, {:.1} % simulated", 100.0 * share, 100.0 * simulated);
    let (mine, theirs) = (run.completion_ms(), theirs.completion_ms());
    println!("completion: {mine:.0} ms live, {theirs:.0} ms simulated; frames resent: {}", live["frames_resent"]);
    // The packet switch carries 30 Mb/s of six hosts for as long as a run takes, and one on a
    // machine that is busy takes longer: schedules that come too late are not used, and late
    // controllers slip. So much of 27 MB may differ, and beside it what two periods carry, as flows
    // begin anywhere in a period.
    let longer = 30e6 / 8.0 * (mine - theirs).max(0.0) / 1e3 / 27e6;
    assert!((share - simulated).abs() < 0.035 + longer, "{share} {simulated} {longer}");
    // 4.3 MB and their headers at 50 Mb/s are 706 ms, whatever the switches are. Of two periods,
    // flows get the part that is left when they arrive.
    // Daemons have to keep the dark time: with every switch, all hosts wait for the last one.
    let (slot, start) = (DARK, PERIOD * 2);
    let expected = Expected { simulated: theirs, bound: 0.95 * 706.0, slot, start };
    judge(&expected, (live.clone(), mine), |run| {
        let again = Options { results: place.folder.join(format!("again-{run}")), ..place.options() };
        let outcome = run::run(&loaded, &again, &|| false, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
        (outcome.live[0].1.clone(), Run::only(&outcome.directory).completion_ms())
    });
    let controller = &live["controllers"][0];
    assert!(controller["retunes"].as_u64().unwrap() >= 2, "{controller}");
    assert_eq!((&controller["retunes_failed"], &controller["refused_plans"]), (&0.into(), &0.into()), "{controller}");
}

/// A switch that is dark for longer than it is said to be: what is lost is counted, with its
/// reason, and comes all the same. So does the simulator say.
#[test]
fn a_switch_that_is_dark_for_too_long_costs_frames_and_no_byte() {
    let _turn = crate::turn();
    let place = Place::new("cdark");
    let loaded = loaded(&[("fabric.topology.hybrid.dark.fixed", "24 ms")]);
    let outcome = lab(&place, &loaded);
    let [(_, live)] = &outcome.live[..] else { panic!("{:?}", outcome.live) };
    assert_eq!(live["ended"], "delivered", "{live:#}");
    let run = Run::only(&outcome.directory);
    run.is_whole();
    let theirs = simulated(&place, &loaded);
    let (mine, resent) = (run.dropped("circuit_dark"), live["frames_resent"].as_u64().unwrap());
    println!("in the dark: {mine} frames live, {} simulated; {resent} sent again", theirs.dropped("circuit_dark"));
    assert!(mine > 0 && theirs.dropped("circuit_dark") > 0, "{live:#}");
    assert_eq!(live["circuit_dark"], mine);
    // Each is sent again, at least once.
    assert!(resent >= mine, "{resent} of {mine}");
    assert_eq!(live["circuit_unconnected"], 0, "{live:#}");
}

/// Schedules, heartbeats and signals get lost: each costs time, and none a frame, as a gate closes
/// with its configuration and a rate with its period.
#[test]
fn lost_schedules_heartbeats_and_signals_cost_time_and_no_frame() {
    let _turn = crate::turn();
    let place = Place::new("closs");
    let outcome = lab(&place, &loaded(&[("scheme.circuits.plan.circuits.control_loss", "0.15")]));
    let [(_, live)] = &outcome.live[..] else { panic!("{:?}", outcome.live) };
    assert_eq!(live["ended"], "delivered", "{live:#}");
    let run = Run::only(&outcome.directory);
    run.is_whole();
    let lost = |kind: &str| run.summary["control_messages"][kind]["lost"].as_u64().unwrap();
    println!("lost: {} schedules and heartbeats, {} signals", lost("grants"), lost("pfc"));
    assert!(lost("grants") > 0 && lost("pfc") > 0, "{:#}", run.summary["control_messages"]);
    assert_eq!((&live["circuit_dark"], &live["circuit_unconnected"]), (&0.into(), &0.into()), "{live:#}");
}

/// Daemons that run until the test is done with them.
struct Lab {
    hosts: Hosts,
}

impl Lab {
    fn start(place: &Place) -> Self {
        let plan = LivePlan::new(&loaded(&[]).scenario, CONTROL).unwrap();
        let parameters = HostsParameters {
            lease: Duration::from_ms(500),
            real_time: false,
            circuits: plan.circuits().copied(),
            ..HostsParameters::new(PROGRAM, &place.folder, file(), CONTROL)
        };
        let hosts = plan.fabric.hosts() as u16;
        let fabric = FabricParameters { name: place.name.clone(), hosts, mtu: 1500, limit: None };
        let hosts = Hosts::start(parameters, &fabric).unwrap_or_else(|e| panic!("{e}"));
        Self { hosts }
    }
    fn seen(&self) -> CircuitsSeen {
        self.hosts.circuits().unwrap().seen(self.hosts.fabric()).unwrap()
    }
    /// Frames that hosts have sent, over either switch.
    fn frames(&self) -> u64 {
        // Agents show themselves five times a second.
        std::thread::sleep(Wait::from_millis(450));
        (0..6).map(|h| self.hosts.snapshot(h).unwrap().agent["frames"]).sum()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}\n{}", self.seen(), self.hosts.log("controller-0"));
            (0..6).for_each(|h| eprintln!("{:?}", self.hosts.snapshot(h)));
        }
    }
}

/// A controller that is killed leaves no gate open: nobody sends, into the dark or elsewhere, until
/// another start of it plans again.
#[test]
fn a_killed_controller_leaves_nobody_sending_into_the_dark() {
    let _turn = crate::turn();
    const BYTES: usize = 3_000_000;
    let place = Place::new("ckill");
    let mut lab = Lab::start(&place);
    let receiving: Vec<_> = (0..6).map(|h| lab.hosts.client(h).receive(7).unwrap()).collect();
    let senders: Vec<_> = (0..6u32)
        .map(|h| {
            let agent = lab.hosts.client(h as usize);
            std::thread::spawn(move || {
                let mut stream = agent.send(HostId((h + 1) % 6), 7, Some(BYTES as u64)).unwrap();
                stream.write_all(&vec![h as u8 + 1; BYTES]).unwrap();
                stream.finish().unwrap()
            })
        })
        .collect();
    let began = Instant::now();
    while lab.seen().sum().forwarded < 200 {
        assert!(began.elapsed() < Wait::from_secs(20), "no circuit: {:?}", lab.seen());
        std::thread::sleep(Wait::from_millis(5));
    }
    lab.hosts.kill_controller(0);
    // What it has granted holds for two periods at most.
    std::thread::sleep(Wait::from_millis(500));
    let silent = lab.frames();
    assert_eq!(lab.frames(), silent, "somebody sends without a controller");
    lab.hosts.start_controller(0).unwrap_or_else(|e| panic!("{e}"));
    for mut stream in receiving {
        stream.set_timeout(Some(Wait::from_secs(60))).unwrap();
        let from = stream.source().unwrap().host.0 as u8;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert!(bytes.len() == BYTES && bytes.iter().all(|b| *b == from + 1));
    }
    senders.into_iter().for_each(|s| assert_eq!(s.join().unwrap(), BYTES as u64));
    let sum = lab.seen().sum();
    println!("{sum:?}");
    assert_eq!((sum.dark, sum.unconnected), (0, 0), "{sum:?}");
}

#[test]
fn what_real_hosts_do_not_do_is_refused_with_its_reason() {
    let _turn = crate::turn();
    for (set, said) in [
        (("fabric.topology.hybrid.hosts_per_tor", "2"), "expected 1 for `hosts_per_tor` and uplinks"),
        (("scheme.circuits.plan.circuits.demand", "oracle"), "it plans by an oracle"),
        (("scheme.circuits.plan.circuits.acknowledgements", "0.1"), "expected `acknowledgements` of 0"),
        (("scheme.circuits.plan", "{ rates = {} }"), "the fabric has a circuit switch"),
    ] {
        let e = LivePlan::new(&loaded(&[set]).scenario, CONTROL).unwrap_err().to_string();
        assert!(e.contains(said) && e.contains("`circuits`"), "{e}");
    }
    let plan = LivePlan::new(&loaded(&[]).scenario, CONTROL).unwrap();
    let e = plan.host(SignalEncoding::Pfc).unwrap_err().to_string();
    assert_eq!(e, "encoding with 8 classes: expected at least 18, which 6 hosts need");
}
