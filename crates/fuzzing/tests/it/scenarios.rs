//! Scenarios: from TOML or JSON to runs that are ready to start, sweeps and settings included.
//!
//! A scenario that passes all checks is prepared as a run prepares it: fabric, workload, files of
//! radios, and the network with its controllers. Large ones are only checked. Radios are prepared
//! for a short window, because their quality is computed for all of it. In long runs, one in eight
//! is prepared: that takes most of the time.

use crate::files::said;
use crate::seeds;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timeplane_experiment::checks;
use timeplane_fuzzing::{Fault, Format, Outcome, Subject, Target};
use timeplane_model::Duration;
use timeplane_results::Recorder;
use timeplane_scenario::{Loaded, Problem, ScenarioError, Window, split_override};
use timeplane_schedule::rotor::routing::Direct;
use timeplane_schedule::{Algorithms, OwnError};
use timeplane_sim::memory;
use timeplane_sim::run::{RunSpec, prepare};
use timeplane_workload::Source;

pub const TARGETS: &[Target] = &[
    Target { name: "scenario", format: Format::Text, ordinary: 300, memory: 4 << 30, prepare: toml },
    Target { name: "scenario-json", format: Format::Text, ordinary: 150, memory: 4 << 30, prepare: json },
    Target { name: "sweep", format: Format::Text, ordinary: 150, memory: 4 << 30, prepare: sweep },
];

/// A scenario with more hosts and switches is not prepared.
const MOST_NODES: u128 = 300;
/// Radios are prepared for this much of each part of the window.
const LONGEST: Duration = Duration::from_ms(100);
/// Points of a sweep that are prepared, the first ones.
const POINTS: usize = 4;

/// The names of keys and alternatives, from the schema.
pub fn words() -> Vec<String> {
    fn collect(value: &serde_json::Value, words: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    match (key.as_str(), value) {
                        ("properties", serde_json::Value::Object(of)) => words.extend(of.keys().cloned()),
                        ("const", serde_json::Value::String(name)) => drop(words.insert(format!("\"{name}\""))),
                        ("enum", serde_json::Value::Array(names)) => {
                            words.extend(names.iter().filter_map(|n| Some(format!("\"{}\"", n.as_str()?))));
                        }
                        _ => {}
                    }
                    collect(value, words);
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
            _ => {}
        }
    }
    let mut words = BTreeSet::new();
    collect(&timeplane_scenario::schema(), &mut words);
    words.extend(["\"/dev/zero\"", "\"/dev/null\"", "\".\"", "\"cells-flows.csv\""].map(str::to_owned));
    words.into_iter().collect()
}

fn refused(e: &ScenarioError) -> Outcome {
    let syntax = |p: &Problem| matches!(p, Problem::Syntax(_));
    let first = e.issues().first().map_or_else(String::new, |i| format!("{}: {}", i.key, i.problem));
    // The whole message is made, as a command prints it.
    let _ = e.to_string();
    if e.issues().iter().any(|i| syntax(&i.problem)) { Outcome::Refused(first) } else { Outcome::Parsed(first) }
}

/// So many inputs of a process get all steps: these include the corpus.
const ALL_STEPS: u64 = 5000;

/// Whether a scenario that passes all checks is prepared. `number` counts the inputs of this
/// process.
fn is_prepared(number: u64) -> bool {
    number <= ALL_STEPS || number.is_multiple_of(8)
}

/// The built-in algorithms, and the routing that a seed names.
fn algorithms() -> Algorithms {
    let mut algorithms = Algorithms::built_in();
    algorithms.routings.register("mine", |of, _| match Direct::new(&of.schedule) {
        Ok(direct) => Ok(Box::new(direct)),
        Err(e) => Err(OwnError::Failed(said(e))),
    });
    algorithms
}

/// All that is done before a run.
fn all_steps(loaded: Result<Loaded, ScenarioError>, prepared: bool) -> Result<Outcome, Fault> {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(e) => return Ok(refused(&e)),
    };
    let algorithms = algorithms();
    if let Err(e) = checks::scenario(&loaded, &algorithms) {
        return Ok(match &e {
            checks::Refusal::Scenario(e) => refused(e),
            e => Outcome::Parsed(said(e)),
        });
    }
    let points = loaded.points().map_err(|e| format!("a valid sweep has no points: {e}"))?;
    if !prepared {
        return Ok(Outcome::Accepted);
    }
    for point in points.into_iter().take(POINTS) {
        let mut scenario = point.scenario;
        if scenario.fabric.hosts() + scenario.fabric.switches() > MOST_NODES {
            continue;
        }
        if scenario.fabric.radio.is_some() {
            let Window { warmup, measure, drain } = &mut scenario.window;
            [Some(warmup), measure.as_mut(), drain.as_mut()].into_iter().flatten().for_each(|d| *d = LONGEST.min(*d));
        }
        let scenario = &scenario;
        let fabric = match scenario.fabric.build() {
            Ok(fabric) => Arc::new(fabric),
            Err(e) => return Ok(Outcome::Parsed(said(e))),
        };
        let source = match Source::load(&scenario.workload, &loaded.base, &fabric, scenario.fabric.mtu) {
            Ok(source) => source,
            Err(e) => return Ok(Outcome::Parsed(said(e))),
        };
        for (name, scheme) in &scenario.scheme {
            let _ = memory::least(scenario, scheme, &fabric, &source);
            let spec = RunSpec { scenario, scheme: name, point: Default::default(), seed: 1, base: &loaded.base };
            if let Err(e) = prepare(&spec, &fabric, &source, &algorithms, Recorder::discard()) {
                return Ok(Outcome::Parsed(said(e)));
            }
        }
    }
    Ok(Outcome::Accepted)
}

fn text_of(input: &[u8]) -> Result<&str, Outcome> {
    std::str::from_utf8(input).map_err(|_| Outcome::Refused("no UTF-8".to_owned()))
}

fn toml(folder: &Path) -> Subject {
    seeds::copy_inputs(folder);
    let base = folder.to_owned();
    let mut number = 0;
    let check = move |input: &[u8]| {
        number += 1;
        match text_of(input) {
            Ok(text) => all_steps(Loaded::from_str(text, "fuzzed.toml", &base, &[]), is_prepared(number)),
            Err(outcome) => Ok(outcome),
        }
    };
    Subject { seeds: seeds::scenarios(), words: words(), check: Box::new(check) }
}

fn json(folder: &Path) -> Subject {
    seeds::copy_inputs(folder);
    let base = folder.to_owned();
    let as_json = |text: Vec<u8>| {
        let text = String::from_utf8(text).unwrap_or_default();
        let value: serde_json::Value = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        value.to_string().into_bytes()
    };
    let mut number = 0;
    let check = move |input: &[u8]| {
        number += 1;
        match serde_json::from_slice(input) {
            Ok(value) => all_steps(Loaded::from_json(&value, &base, &[]), is_prepared(number)),
            Err(e) => Ok(Outcome::Refused(said(e))),
        }
    };
    Subject { seeds: seeds::scenarios().into_iter().map(as_json).collect(), words: words(), check: Box::new(check) }
}

/// The scenario whose sweeps and settings are fuzzed.
const SWEPT: &str = r#"
[fabric]
topology.leaf_spine = { leaves = 2, hosts_per_leaf = 2, spines = 2 }
rate = "10 Gb/s"
switch.ecn = "100 kB"
[workload.poisson]
load = 0.5
sizes.exponential = "100 kB"
[window]
measure = "1 ms"
[scheme.dctcp]
transport.tcp = { congestion = "dctcp" }
"#;

/// The lines of an input up to an empty one are settings, the others the file's `[sweep]`.
fn sweep(folder: &Path) -> Subject {
    let base: PathBuf = folder.to_owned();
    let seeds = [
        "\n\"workload.poisson.load\" = [0.2, 0.5]\n",
        "workload.poisson.load=0.2,0.5\nfabric.rate=1 Gb/s\n\nfabric.mtu = [\"1500 B\", \"9 kB\"]\n",
        "seeds=3\nscheme.dctcp.transport.tcp.min_rto=1 ms,\"10 ms\"\n\n",
        "scheme.dctcp.ecmp=\"packet\"\n\n\"fabric.rate, workload.poisson.load\" = [[\"10 Gb/s\", 0.2], [\"40 Gb/s\", 0.5]]\n",
        "fabric.topology.leaf_spine={ leaves = 2, hosts_per_leaf = 3, spines = 1 }\nrecord.capture=[\"host 1\"]\n\n",
    ];
    let check = move |input: &[u8]| {
        let text = match text_of(input) {
            Ok(text) => text,
            Err(outcome) => return Ok(outcome),
        };
        let (settings, sweep) =
            text.strip_prefix('\n').map_or_else(|| text.split_once("\n\n").unwrap_or((text, "")), |sweep| ("", sweep));
        let mut overrides = Vec::new();
        for line in settings.lines() {
            match split_override(line) {
                Ok(setting) => overrides.push(setting),
                Err(e) => return Ok(Outcome::Refused(e)),
            }
        }
        let file = if sweep.is_empty() { SWEPT.to_owned() } else { format!("{SWEPT}[sweep]\n{sweep}") };
        all_steps(Loaded::from_str(&file, "fuzzed.toml", &base, &overrides), true)
    };
    Subject { seeds: seeds.map(|s| s.as_bytes().to_vec()).to_vec(), words: words(), check: Box::new(check) }
}
