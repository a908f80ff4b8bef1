//! `timeplane report`: its output, its page and its errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCENARIO: &str = r#"
description = "Four hosts, all to all: <slots> or TCP?"
seeds = 2
[fabric]
topology.single_switch = { hosts = 4 }
rate = "10 Gb/s"
[workload.shuffle]
bytes = "50 kB"
jitter = "10 us"
[record]
queues_every = "20 us"
[scheme.slots]
transport.raw = {}
plan.tdma = { slot = "100 us", guard = "5 us" }
[scheme.cubic]
transport.tcp = {}
"#;

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("four.toml"), SCENARIO).unwrap();
    dir
}

fn timeplane(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_timeplane")).current_dir(dir).args(arguments).output().unwrap()
}

/// Runs the command, which has to succeed, and gives its answer.
fn answer(dir: &Path, arguments: &[&str]) -> String {
    let output = timeplane(dir, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the command, which has to fail with this code; returns its output.
fn refused(dir: &Path, arguments: &[&str], code: i32) -> String {
    let output = timeplane(dir, arguments);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn results_become_a_page_with_the_answer_the_bound_and_the_command() {
    let dir = folder("report-page");
    answer(&dir, &["run", "four.toml", "--quiet", "--set", "fabric.rate=20 Gb/s"]);
    let said = answer(&dir, &["report", "results/four"]);
    assert!(said.starts_with("results/four/report.html: 4 runs, ") && said.ends_with(" kB\n"), "{said}");
    let html = fs::read_to_string(dir.join("results/four/report.html")).unwrap();
    let compared = answer(&dir, &["compare", "results/four"]);
    assert!(compared.contains("bound: busiest link"), "{compared}");
    for part in [
        "Four hosts, all to all: &lt;slots&gt; or TCP?",
        "bound: busiest link",
        "times the bound of ",
        "timeplane run four.toml --set 'fabric.rate=20 Gb/s'",
        "manifest.json",
        "Content-Security-Policy",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // The table is that of the terminal.
    let header = compared.lines().nth(1).unwrap_or_default();
    for column in ["completion", "FCT mean", "FCT p99"] {
        assert!(compared.contains(column) && html.contains(&format!(">{column}<")), "{column}: {header}");
    }
    // Again, elsewhere, for programs; the same page.
    let json = answer(&dir, &["report", "results/four", "--output", "page.html", "--json"]);
    assert!(json.contains("\"output\": \"page.html\"") && json.contains("\"runs\": 4"), "{json}");
    assert_eq!(fs::read_to_string(dir.join("page.html")).unwrap(), html);
    // A report in the folder is no stranger there.
    answer(&dir, &["run", "four.toml", "--quiet", "--set", "fabric.rate=20 Gb/s"]);
}

#[test]
fn results_side_by_side_have_controls_of_their_own() {
    let dir = folder("report-both");
    answer(&dir, &["run", "four.toml", "--quiet", "--seeds", "1"]);
    fs::copy(dir.join("four.toml"), dir.join("twice.toml")).unwrap();
    answer(&dir, &["run", "twice.toml", "--quiet", "--seeds", "1", "--set", "workload.shuffle.bytes=100 kB"]);
    let said = answer(&dir, &["report", "results/four", "results/twice"]);
    assert!(said.starts_with("results/four/report.html: 4 runs, "), "{said}");
    let html = fs::read_to_string(dir.join("results/four/report.html")).unwrap();
    for part in
        ["slots (twice)", "cubic (twice)", "bound: busiest link (twice)", "How four was made", "How twice was made"]
    {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn what_cannot_be_reported_is_said_and_leaves_the_page_before() {
    let dir = folder("report-refused");
    answer(&dir, &["run", "four.toml", "--quiet", "--seeds", "1"]);
    answer(&dir, &["report", "results/four"]);
    let page = dir.join("results/four/report.html");
    let before = fs::read(&page).unwrap();

    let said = refused(&dir, &["report", "results"], 2);
    assert!(said.contains("results is not a results folder: it has no manifest.json"), "{said}");
    let said = refused(&dir, &["report", "results/four", "--output", "none/page.html"], 1);
    assert!(said.contains("cannot write none/page.html"), "{said}");

    let run = fs::read_dir(dir.join("results/four/runs")).unwrap().next().unwrap().unwrap().path();
    let flows = run.join("flows.parquet");
    let whole = fs::read(&flows).unwrap();
    fs::write(&flows, &whole[..whole.len() / 2]).unwrap();
    let advice = "To make it anew, run the scenario again: `timeplane run four.toml --results results`";
    for command in ["report", "compare", "trace"] {
        let said = refused(&dir, &[command, "results/four"], 1);
        assert!(said.contains("flows.parquet: it has ") && said.contains(advice), "{said}");
    }
    // What it advises helps: the run is repeated, with a line about it.
    let repeated = timeplane(&dir, &["run", "four.toml", "--seeds", "1", "--results", "results"]);
    let said = String::from_utf8(repeated.stderr).unwrap();
    let about: Vec<&str> = said.lines().filter(|line| line.contains("is run again: ")).collect();
    assert!(about.len() == 1 && about[0].contains("flows.parquet: it has "), "{said}");
    assert!(said.contains("2 runs (1 complete before)"), "{said}");
    assert_eq!(fs::read(&flows).unwrap(), whole);
    // Edited numbers are found, too.
    let summary = run.join("summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("\"retransmissions\": ", "\"retransmissions\": 1", 1)).unwrap();
    let said = refused(&dir, &["compare", "results/four"], 1);
    assert!(said.contains("summary.json: its digest is "), "{said}");
    answer(&dir, &["run", "four.toml", "--quiet", "--seeds", "1"]);
    assert_eq!(fs::read_to_string(&summary).unwrap(), text);
    answer(&dir, &["report", "results/four"]);
    assert_eq!(fs::read(&page).unwrap(), before);

    let manifest = dir.join("results/four/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"format\": 4", "\"format\": 7", 1)).unwrap();
    let said = refused(&dir, &["report", "results/four"], 2);
    assert!(said.contains("results/four has results of layout 7: expected layout 4"), "{said}");
    assert!(said.contains("Use the version of timeplane that wrote them"), "{said}");
    fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    let said = refused(&dir, &["report", "results/four"], 1);
    assert!(said.contains("manifest.json: "), "{said}");
    assert_eq!(fs::read(&page).unwrap(), before);
    let left: Vec<_> = fs::read_dir(dir.join("results/four")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}
