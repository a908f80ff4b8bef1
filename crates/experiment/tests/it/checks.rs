//! The `[[check]]` tables of a scenario against its runs.

use crate::common::{facts, flow};
use timeplane_experiment::checks;
use timeplane_results::{CoflowRow, RunSummary, Summarizer};
use timeplane_scenario::Loaded;

const SCENARIO: &str = r#"
[fabric]
topology.single_switch.hosts = 4
rate = "10 Gb/s"
[workload.shuffle]
bytes = "1 MB"
[scheme.tcp]
transport.tcp = {}
[scheme.planned]
transport.raw = {}
plan.tdma = {}
[[check]]
scheme = "planned"
"#;

/// A run of 84 flows, of which the first ones finish after 100 ms. It ends after 160 ms. All flows
/// are one coflow.
fn run(scheme: &str, finished: u32) -> RunSummary {
    let mut summarizer = Summarizer::new();
    for i in 0..84 {
        let mut row = flow(i);
        row.measured = true;
        row.fct_ps = (i < finished).then_some(100_000_000_000);
        summarizer.flow(&row);
    }
    summarizer.coflow(&CoflowRow {
        coflow: 0,
        name: 0,
        flows: 84,
        size_bytes: 1000,
        start_ps: 0,
        cct_ps: (finished == 84).then_some(100_000_000_000),
        finished_flows: finished,
        measured: true,
    });
    summarizer.finish(facts(scheme, &[], 1))
}

/// Whether a check is met with these numbers of finished flows, and the text.
fn check(keys: &str, planned: u32, tcp: u32) -> (bool, String) {
    let loaded = Loaded::from_str(&format!("{SCENARIO}{keys}"), "a.toml", ".", &[]).unwrap();
    let metrics = checks::validate(&loaded).unwrap();
    let runs = [run("tcp", tcp), run("planned", planned)];
    let all = checks::evaluate(&loaded, &metrics, &runs, &[]);
    let json = checks::to_json(&all);
    assert_eq!(json[0]["met"], checks::all_met(&all));
    (checks::all_met(&all), checks::to_text(&all))
}

#[test]
fn unfinished_flows_fail_a_check() {
    // No flow that finished took longer than 100 ms.
    let median = "metric = \"fct_p50\"\nat_most = \"170 ms\"\n";
    assert!(check(median, 84, 84).0);
    let (met, text) = check(median, 28, 84);
    assert!(!met);
    assert_eq!(
        text,
        "1 of 1 check failed:\n  planned: FCT median is at least 160 ms, expected at most 170 ms; 56 of 84 flows of \
         planned did not finish: expected none, see `allow_unfinished`\n"
    );
    for (allowed, met) in [("56", true), ("55", false), ("0.67", true), ("0.66", false), ("0", false)] {
        let (found, text) = check(&format!("{median}allow_unfinished = {allowed}\n"), 28, 84);
        assert_eq!(found, met, "{allowed}: {text}");
    }
    let text = check(&format!("{median}allow_unfinished = 0.5\n"), 28, 84).1;
    assert!(text.contains("56 of 84 flows of planned did not finish: expected at most 42, see"), "{text}");
}

#[test]
fn every_metric_and_both_schemes_count() {
    let goodput = "metric = \"goodput\"\nat_least = \"1 kb/s\"\n";
    assert!(check(goodput, 84, 83).0, "the other scheme has nothing to do with it");
    assert!(!check(goodput, 83, 84).0);
    assert!(check(&format!("{goodput}allow_unfinished = 1\n"), 83, 84).0);
    let ratio = "metric = \"fct_p50\"\nat_most = 2\nrelative_to = \"tcp\"\n";
    assert!(check(ratio, 84, 84).0);
    let (met, text) = check(ratio, 84, 80);
    assert!(!met && text.contains("4 of 84 flows of tcp did not finish: expected none"), "{text}");
    assert!(check(&format!("{ratio}allow_unfinished = 4\n"), 84, 80).0);
    let coflows = "metric = \"cct_mean\"\nat_most = \"170 ms\"\n";
    let (met, text) = check(coflows, 80, 84);
    assert!(!met && text.contains("1 of 1 coflows of planned did not finish"), "{text}");
    assert!(check(&format!("{coflows}allow_unfinished = 1\n"), 80, 84).0);
}
