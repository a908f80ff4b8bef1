//! The comparison as text, JSON and CSV.

use crate::common::{flow, summary};
use indexmap::IndexMap;
use timeplane_experiment::{Comparison, ComparisonOptions};
use timeplane_results::{Bound, CoflowRow, Metric, RunSummary, Summarizer};

const LOAD: &str = "workload.poisson.load";

fn runs() -> Vec<RunSummary> {
    let mut runs = Vec::new();
    for load in ["0.2", "0.8"] {
        for (scheme, factor) in [("tcp", 1.0), ("planned", 0.8), ("twin", 1.001)] {
            for seed in 1..=3 {
                let factor = factor * (1.0 + 0.003 * (seed as f64 - 2.0) * factor);
                runs.push(summary(scheme, &[(LOAD, load)], seed, factor));
            }
        }
    }
    runs
}

fn point(load: &str) -> IndexMap<String, String> {
    IndexMap::from([(LOAD.to_owned(), load.to_owned())])
}

#[test]
fn a_sweep_with_bounds() {
    let bound = Bound {
        label: "ideal".into(),
        metric: Metric::FctMean,
        values: vec![(point("0.2"), 9_000_000.0), (point("0.8"), 9_500_000.0)],
    };
    let comparison = Comparison::new(&runs(), &ComparisonOptions { bounds: vec![bound], ..Default::default() });
    insta::assert_snapshot!(comparison.to_text(120));
}

#[test]
fn columns_that_do_not_fit_follow_in_another_table() {
    let comparison = Comparison::new(&runs(), &ComparisonOptions::default());
    let text = comparison.to_text(80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for metric in Metric::usual(&runs()) {
        assert!(text.contains(metric.label()), "{}", metric.label());
    }
    insta::assert_snapshot!(text);
    for width in [20, 40, 60, 100, 200] {
        let text = comparison.to_text(width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

/// A run with flows and coflows that do not finish.
fn unfinished(scheme: &str, seed: u64, finishes: impl Fn(u32) -> bool) -> RunSummary {
    let mut summarizer = Summarizer::new();
    for i in 0..100 {
        let mut row = flow(i);
        row.fct_ps = finishes(i).then_some(12_000_000_000);
        summarizer.flow(&row);
    }
    for i in 0..10 {
        summarizer.coflow(&CoflowRow {
            coflow: i,
            name: i.into(),
            flows: 10,
            size_bytes: 1000,
            start_ps: 0,
            cct_ps: finishes(i).then_some(34_000_000_000 + i64::from(i)),
            finished_flows: 0,
            measured: true,
        });
    }
    summarizer.finish(crate::common::facts(scheme, &[], seed))
}

#[test]
fn nothing_is_left_out_in_silence() {
    let mut runs = vec![unfinished("tcp", 1, |i| i != 7), unfinished("tcp", 2, |_| true)];
    runs.push(unfinished("planned", 2, |_| false));
    let comparison = Comparison::new(&runs, &ComparisonOptions::default());
    insta::assert_snapshot!(comparison.to_text(120));
    let text = comparison.to_text(120);
    let parts = ["1 of 160", "80 of 80", "did not finish", "Missing: planned has 1 of 2 seeds", ">= 12.9 ± 11.8 ms !"];
    for part in parts {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// A run of 4000 flows, 3200 of them measured, whose completion times are in ms.
fn run_of(scheme: &str, seed: u64, fct_ms: impl Fn(u32) -> Option<f64>) -> RunSummary {
    let mut summarizer = Summarizer::new();
    for i in 0..4000 {
        let mut row = flow(i);
        row.fct_ps = fct_ms(i).map(|ms| ((ms + 0.01 * seed as f64) * 1e9) as i64);
        summarizer.flow(&row);
    }
    summarizer.finish(crate::common::facts(scheme, &[], seed))
}

/// The comparison of three runs each of `tcp`, the baseline, and `planned`.
fn two(tcp: impl Fn(u32) -> Option<f64>, planned: impl Fn(u32) -> Option<f64>) -> Comparison {
    let runs = |name, fct: &dyn Fn(u32) -> Option<f64>| (1..=3).map(|seed| run_of(name, seed, fct)).collect::<Vec<_>>();
    let metrics = ["fct_mean", "fct_p50", "fct_max", "goodput"].map(|name| Metric::named(name).unwrap());
    let options = ComparisonOptions { metrics: metrics.to_vec(), ..Default::default() };
    Comparison::new(&[runs("tcp", &tcp), runs("planned", &planned)].concat(), &options)
}

#[test]
fn a_scheme_that_finishes_fewer_flows_gains_nothing_by_it() {
    // Half as slow for flows that finish, and one in eight does not.
    let comparison = two(|_| Some(12.0), |i| (i % 8 != 1).then_some(6.0));
    let text = comparison.to_text(120);
    let cells = &comparison.lines()[1].cells;
    assert!(cells[0].lower_bound && cells[0].value.unwrap().mean > 20e9, "{text}");
    assert!(cells[..3].iter().all(|c| c.unfinished), "{text}");
    // The median is exact. It is not tested, because too many flows are unfinished.
    assert!(!cells[1].lower_bound && (cells[1].value.unwrap().mean - 6.02e9).abs() < 1e6, "{text}");
    for cell in &cells[..3] {
        assert!(cell.untested && cell.equivalence.is_none() && cell.significant.is_none(), "{text}");
    }
    assert!(!cells[3].unfinished && !cells[3].untested && cells[3].equivalence.unwrap().equivalent, "{text}");
    assert!(!text.contains(" *\n") && text.contains(" ?") && text.contains(">= "), "{text}");
    assert!(text.contains("? not tested: on either side more than 0.1 % did not finish"), "{text}");
    let json = comparison.to_json();
    let cell = &json["lines"][1]["metrics"]["fct_mean_ps"];
    assert_eq!((&cell["significant"], &cell["equivalence"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    assert_eq!(
        (&cell["untested"], &cell["lower_bound"], &cell["unfinished"]),
        (&true.into(), &true.into(), &true.into())
    );
}

#[test]
fn the_mark_of_unfinished_flows_looks_at_both_sides() {
    let comparison = two(|i| (i % 8 != 1).then_some(12.0), |_| Some(6.0));
    let [tcp, planned] = comparison.lines() else { panic!("two lines") };
    assert!(tcp.cells[0].unfinished && planned.cells[0].unfinished && !planned.cells[0].lower_bound);
    assert!(planned.cells[0].untested && !tcp.cells[0].untested, "the baseline has no difference");
    let text = comparison.to_text(120);
    let line = text.lines().find(|l| l.starts_with(" planned")).unwrap();
    assert_eq!(line.matches(" !").count(), 3, "{text}");
}

#[test]
fn a_few_unfinished_flows_leave_means_and_exact_percentiles_tested() {
    // 2 of 3200 flows.
    let comparison = two(|_| Some(12.0), |i| (i != 1 && i != 7).then_some(6.0));
    let cells = &comparison.lines()[1].cells;
    assert_eq!(cells.iter().map(|c| c.untested).collect::<Vec<_>>(), [false, false, true, false]);
    assert_eq!(cells[0].significant, Some(true));
    assert!(cells[0].lower_bound && cells[0].unfinished);
}

#[test]
fn stars_are_corrected_for_the_number_of_tests() {
    // Relative differences of -10, -8 and -5 %, whose p-value is 0.034.
    let mut runs: Vec<RunSummary> = (1..=3).map(|seed| summary("tcp", &[], seed, 1.0)).collect();
    runs.extend([(1, 0.9), (2, 0.92), (3, 0.95)].map(|(seed, factor)| summary("planned", &[], seed, factor)));
    let cell = |metrics: &[&str]| {
        let metrics = metrics.iter().map(|name| Metric::named(name).unwrap()).collect();
        let comparison = Comparison::new(&runs, &ComparisonOptions { metrics, ..Default::default() });
        (comparison.lines()[1].cells[0].clone(), comparison.to_text(120))
    };
    let (alone, text) = cell(&["fct_mean"]);
    assert!(alone.significant == Some(true) && text.contains("-7.7 ± 6.3 % *\n"), "{text}");
    let (one_of_four, text) = cell(&["fct_mean", "fct_p50", "fct_p95", "fct_max"]);
    assert_eq!(one_of_four.difference, alone.difference, "the plain interval stays");
    assert!(one_of_four.significant == Some(false) && text.contains("-7.7 ± 6.3 % "), "{text}");
    assert!(!text.contains(" *\n") && text.contains("Holm's correction for 4 tests"), "{text}");
    let p_value = alone.difference.unwrap().p_value.unwrap();
    assert!((one_of_four.corrected_p_value.unwrap() - 4.0 * p_value).abs() < 0.01, "{one_of_four:?}");
}

#[test]
fn a_single_run() {
    let comparison = Comparison::new(&[summary("tcp", &[], 1, 1.0)], &ComparisonOptions::default());
    insta::assert_snapshot!(comparison.to_text(120));
    assert_eq!(Comparison::new(&[], &ComparisonOptions::default()).to_text(120), "No run is complete.\n");
}

#[test]
fn an_unknown_baseline_is_said() {
    let options = ComparisonOptions { baseline: Some("nobody".into()), ..Default::default() };
    let text = Comparison::new(&runs(), &options).to_text(120);
    assert!(text.contains("There is no run of the baseline `nobody`"), "{text}");
}

#[test]
fn programs_get_the_same() {
    let bound = Bound { label: "ideal".into(), metric: Metric::FctMean, values: vec![(point("0.8"), 10_000_000.0)] };
    let metrics = vec![Metric::FctMean, Metric::named("dropped_packets").unwrap()];
    let options =
        ComparisonOptions { bounds: vec![bound], metrics, baseline: Some("tcp".into()), ..Default::default() };
    let comparison = Comparison::new(&runs(), &options);
    let json = comparison.to_json();
    let line = &json["lines"][4];
    assert_eq!((line["scheme"].as_str(), line["point"][LOAD].as_str()), (Some("planned"), Some("0.8")));
    assert_eq!(line["seeds"], serde_json::json!([1, 2, 3]));
    let cell = &line["metrics"]["fct_mean_ps"];
    let mean = cell["value"]["mean"].as_f64().unwrap();
    assert!((cell["over_bound"].as_f64().unwrap() - mean / 10_000_000.0).abs() < 1e-12);
    assert!((cell["difference"]["relative"]["mean"].as_f64().unwrap() + 0.2).abs() < 0.001);
    assert_eq!(cell["significant"], true);
    assert_eq!(cell["equivalence"]["equivalent"], false);
    assert_eq!(json["lines"][2]["metrics"]["fct_mean_ps"]["equivalence"]["equivalent"], true);

    let csv = comparison.to_csv();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(&reader.headers().unwrap()[0], LOAD);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 * 3 * 2);
    assert_eq!(rows[8].iter().take(4).collect::<Vec<_>>(), ["0.8", "planned", "fct_mean_ps", "3"]);
    assert_eq!(rows[8][8].parse::<f64>().unwrap(), mean);
    assert_eq!(&rows[8][16], "10000000");
}

#[test]
fn a_line_with_two_bounds_shows_none() {
    let bound =
        |value| Bound { label: "ideal".into(), metric: Metric::FctMean, values: vec![(IndexMap::new(), value)] };
    let shown = |bounds: Vec<Bound>| {
        let options = ComparisonOptions { bounds, ..Default::default() };
        let comparison = Comparison::new(&[summary("tcp", &[], 1, 1.0)], &options);
        let at = comparison.lines()[0].cells.iter().position(|c| c.metric == Metric::FctMean).unwrap();
        comparison.lines()[0].cells[at].bound
    };
    assert_eq!(shown(vec![bound(5.0)]), Some(5.0));
    assert_eq!(shown(vec![bound(5.0), bound(7.0)]), None);
}

#[test]
fn metrics_have_names() {
    for metric in Metric::ALL {
        assert_eq!(Metric::named(metric.name()), Some(*metric));
    }
    assert_eq!(Metric::named("fct_mean"), Some(Metric::FctMean));
    assert_eq!(Metric::named("goodput"), Some(Metric::Goodput));
    assert_eq!(Metric::named("speed"), None);
}
