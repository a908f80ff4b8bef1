//! What a comparison says about its scenarios.

use crate::common::summary;
use timeplane_experiment::{Comparison, ComparisonOptions, Context};
use timeplane_results::RunSummary;
use timeplane_scenario::Loaded;

const SHUFFLE: &str = "shuffle.bytes = \"1 MB\"";

/// The notes of a comparison of two runs of each of the schemes.
fn notes(workload: &str, schemes: &[(&str, &str)], sweep: &[(&str, &str)]) -> Vec<String> {
    let tables = schemes.iter().map(|(name, keys)| format!("[scheme.{name}]\n{keys}\n")).collect::<String>();
    let text = format!(
        "[fabric]\ntopology.single_switch.hosts = 4\nrate = \"10 Gb/s\"\nswitch.ecn = \"100 kB\"\n\
         [workload]\n{workload}\n{tables}"
    );
    let loaded = Loaded::from_str(&text, "a.toml", ".", &[]).unwrap_or_else(|e| panic!("{e}"));
    let runs: Vec<RunSummary> =
        schemes.iter().flat_map(|(name, _)| [1, 2].map(|seed| summary(name, sweep, seed, 1.0))).collect();
    let mut context = Context::default();
    context.add(&loaded.scenario.to_json(), runs.iter().map(|run| (run.scheme.as_str(), run)));
    Comparison::new(&runs, &ComparisonOptions { context, ..Default::default() }).notes()
}

fn differences(schemes: &[(&str, &str)], sweep: &[(&str, &str)]) -> Vec<String> {
    let notes = notes(SHUFFLE, schemes, sweep);
    notes.iter().filter_map(|note| Some(note.strip_prefix("Schemes differ in ")?.to_owned())).collect()
}

#[test]
fn settings_of_transport_that_differ_are_listed() {
    let cubic = "transport.tcp = { congestion = \"cubic\" }";
    assert_eq!(differences(&[("a", cubic), ("b", cubic)], &[]), [""; 0]);
    let dctcp = "transport.tcp = { congestion = \"dctcp\", min_rto = \"10 ms\", pacing = true }";
    // ECN is part of DCTCP, and only CUBIC uses HyStart++.
    let expected = [
        "transport.tcp.congestion: cubic (a, c), dctcp (b).",
        "transport.tcp.ecn: false (a, c), true (b).",
        "transport.tcp.min_rto: 200 ms (a, c), 10 ms (b).",
        "transport.tcp.pacing: false (a, c), true (b).",
    ];
    let mut found = differences(&[("a", cubic), ("b", dctcp), ("c", cubic)], &[]);
    found.sort();
    assert_eq!(found, expected);
    let fair = format!("{cubic}\nnic.discipline = \"round_robin\"\necmp = \"packet\"");
    let found = differences(&[("a", cubic), ("b", &fair)], &[]);
    assert_eq!(found, ["ecmp: flow (a), packet (b).", "nic.discipline: fair_queue (a), round_robin (b)."]);
    let limited = "transport.tcp = { receive_window = \"1 MB\" }";
    assert_eq!(
        differences(&[("a", cubic), ("b", limited)], &[]),
        ["transport.tcp.receive_window: 3 MB (a), 1 MB (b)."]
    );
}

#[test]
fn a_plan_is_another_queue_and_another_transport_has_other_settings() {
    let slots = "transport.raw = {}\nplan.tdma = {}";
    let found = differences(&[("tcp", "transport.tcp = { min_rto = \"5 ms\" }"), ("slots", slots)], &[]);
    let expected =
        ["transport: tcp (tcp), raw (slots).", "nic.discipline: fair_queue (tcp), as planned, by destination (slots)."];
    assert_eq!(found, expected);
    let planned = "transport.tcp = {}\nplan.tdma = {}";
    let found = differences(&[("tcp", "transport.tcp = {}"), ("slots", planned)], &[]);
    assert_eq!(found, ["nic.discipline: fair_queue (tcp), as planned, by destination and flow (slots)."]);
}

#[test]
fn own_switches_and_swept_settings_are_named() {
    let own = "transport.tcp = {}\nfabric.switch.ecn = \"30 kB\"";
    let found = differences(&[("a", "transport.tcp = {}"), ("b", own)], &[]);
    assert_eq!(found, ["fabric.switch.ecn: 100 kB (a), 30 kB (b)."]);
    let swept = [("scheme.b.transport.tcp.min_rto", "10 ms")];
    let found = differences(&[("a", "transport.tcp = {}"), ("b", "transport.tcp = {}")], &swept);
    assert_eq!(found, ["transport.tcp.min_rto: 200 ms (a), swept (b)."]);
}

#[test]
fn the_same_arrivals_are_said_only_where_they_are() {
    let schemes = [("a", "transport.tcp = {}"), ("b", "transport.tcp = { ecn = true }")];
    let says = |workload: &str, sweep: &[(&str, &str)]| {
        let notes = notes(workload, &schemes, sweep);
        notes.into_iter().find(|note| note.starts_with("vs a: ")).unwrap()
    };
    let arrivals = "vs a: relative difference, paired by seed, on the same arrivals; ";
    let work = "vs a: relative difference, paired by seed, on the same work; ";
    assert!(says(SHUFFLE, &[]).starts_with(arrivals));
    let turns = "shuffle = { bytes = \"1 MB\", in_turn = true }";
    assert!(says(turns, &[]).starts_with(work));
    let ring = "collective = { operation = \"all_reduce\", bytes = \"1 MB\" }";
    assert!(says(ring, &[]).starts_with(work));
    assert!(says(SHUFFLE, &[("workload.shuffle.in_turn", "true")]).starts_with(work));
    assert!(says(SHUFFLE, &[("workload.shuffle.bytes", "2 MB")]).starts_with(arrivals));
}

#[test]
fn what_seeds_vary_is_said() {
    let says = |workload: &str| {
        let note = notes(workload, &[("a", "transport.tcp = {}")], &[]).remove(0);
        note.split_once("(Student's t).").expect("a note on intervals").1.to_owned()
    };
    assert_eq!(says("poisson = { load = 0.5, sizes.fixed = \"1 MB\" }"), "");
    assert_eq!(says(SHUFFLE), " Seeds do not vary the traffic.");
    assert_eq!(says("shuffle = { bytes = \"1 MB\", jitter = \"1 us\" }"), " Seeds vary only the starts of flows.");
    assert_eq!(says("coflows.file = \"fb2010\""), " Seeds draw the coflows from blocks of the trace's time.");
    let whole = "coflows = { file = \"fb2010\", blocks = 1, jitter = \"1 us\" }";
    assert_eq!(says(whole), " Seeds vary only the starts of flows.");
    assert_eq!(says("coflows = { file = \"fb2010\", blocks = 1 }"), " Seeds do not vary the traffic.");
}

#[test]
fn folders_with_other_workloads_do_not_share_arrivals() {
    let scenario = |bytes: &str, rate: &str| serde_json::json!({ "workload": { "shuffle": { "bytes": bytes } }, "fabric": { "rate": rate } });
    let said = |second: serde_json::Value| {
        let runs = [summary("a", &[], 1, 1.0), summary("b", &[], 1, 1.0)];
        let mut context = Context::default();
        context.add(&scenario("1 MB", "10 Gb/s"), [("a", &runs[0])]);
        context.add(&second, [("a", &runs[1])]);
        Comparison::new(&runs, &ComparisonOptions { context, ..Default::default() }).notes()[1].clone()
    };
    assert_eq!(said(scenario("1 MB", "10 Gb/s")), "vs a: relative difference, paired by seed, on the same arrivals.");
    assert_eq!(said(scenario("2 MB", "10 Gb/s")), "vs a: relative difference, paired by seed.");
    assert_eq!(said(scenario("1 MB", "40 Gb/s")), "vs a: relative difference, paired by seed.");
    let mut file = scenario("1 MB", "10 Gb/s");
    file["workload"] = serde_json::json!({ "flows": { "file": "flows.csv" } });
    assert_eq!(said(file), "vs a: relative difference, paired by seed.");
}
