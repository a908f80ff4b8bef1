//! `trace`: the tables of runs as a timeline for Perfetto. The format is in
//! `timeplane_results::timeline`.

use crate::compare::read;
use crate::fail::Failure;
use crate::{TraceArgs, output};
use serde_json::Value;
use timeplane_experiment::say;
use timeplane_model::Duration;
use timeplane_model::nearest;
use timeplane_results::timeline::{TimelineRun, write_timeline};
use timeplane_results::{Manifest, ManifestRun};

pub fn trace(args: &TraceArgs) -> Result<(), Failure> {
    let folder = read(std::slice::from_ref(&args.folder))?.remove(0);
    let manifest = &folder.manifest;
    let one = |run: &ManifestRun| {
        let Some(complete) = folder.runs.iter().find(|r| r.about.key == run.key) else {
            let (key, name) = (&run.key, &folder.name);
            let message = format!("run {key} ({}) of {name} is incomplete: run the scenario again", label(run));
            return Err(Failure::configuration(message));
        };
        Ok(TimelineRun {
            folder: complete.directory.clone(),
            name: label(run),
            circuits: manifest.scenario["scheme"][&run.scheme]["plan"].get("circuits").is_some(),
            queues_every: every(manifest, run, "queues_every"),
            tcp_every: every(manifest, run, "tcp_every"),
            end: Duration::from_ps(complete.summary.simulated_ps),
        })
    };
    let runs: Vec<TimelineRun> = choose(args, manifest)?.into_iter().map(one).collect::<Result<_, _>>()?;
    let counts = write_timeline(&args.output, &runs).map_err(Failure::failed)?;
    say!(
        "{}: {}, {}{} of queues and {} of TCP in {}",
        output::count(runs.len() as u64, "run"),
        output::count(counts.slots, "slot"),
        if counts.air > 0 { output::count(counts.air, "state") + " of air links, " } else { String::new() },
        output::count(counts.queues, "sample"),
        output::count(counts.windows, "sample"),
        args.output.display()
    );
    Ok(())
}

/// The requested runs, in the order of the manifest.
fn choose<'a>(args: &TraceArgs, manifest: &'a Manifest) -> Result<Vec<&'a ManifestRun>, Failure> {
    let runs = &manifest.runs;
    let unknown = |what: &str, found: &str, all: Vec<&str>| {
        let near = nearest(found, all.iter().copied()).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
        Failure::configuration(format!("unknown {what} `{found}` in {}{near}", args.folder.display()))
    };
    for key in &args.run {
        if !runs.iter().any(|r| r.key == *key) {
            return Err(unknown("run", key, runs.iter().map(|r| r.key.as_str()).collect()));
        }
    }
    for scheme in &args.scheme {
        if !runs.iter().any(|r| r.scheme == *scheme) {
            return Err(unknown("scheme", scheme, runs.iter().map(|r| r.scheme.as_str()).collect()));
        }
    }
    if !args.run.is_empty() {
        let mut chosen: Vec<&ManifestRun> = runs.iter().filter(|r| args.run.contains(&r.key)).collect();
        // Points of a sweep share runs that do not depend on the swept keys.
        let mut keys = std::collections::BTreeSet::new();
        chosen.retain(|r| keys.insert(&r.key));
        return Ok(chosen);
    }
    let Some(first) = runs.first() else {
        return Err(Failure::configuration(format!("no runs in {}", args.folder.display())));
    };
    let seed = args.seed.unwrap_or(first.seed);
    if !runs.iter().any(|r| r.seed == seed) {
        let seeds: Vec<String> = manifest.seeds.iter().map(u64::to_string).collect();
        let message = format!("unknown seed {seed} in {}: expected one of {}", args.folder.display(), seeds.join(", "));
        return Err(Failure::configuration(message));
    }
    let wanted = |r: &&ManifestRun| args.scheme.is_empty() || args.scheme.contains(&r.scheme);
    Ok(runs.iter().filter(|r| r.seed == seed && r.point == first.point).filter(wanted).collect())
}

/// The name of a run in the timeline.
fn label(run: &ManifestRun) -> String {
    let point = run.point.iter().map(|(key, value)| format!(", {key} = {value}")).collect::<String>();
    format!("{}{point}, seed {}", run.scheme, run.seed)
}

/// The interval at which a run recorded something. A sweep can change it.
fn every(manifest: &Manifest, run: &ManifestRun, key: &str) -> Option<Duration> {
    let swept = run.point.get(&format!("record.{key}")).map(String::as_str);
    let text = swept.or_else(|| manifest.scenario.get("record").and_then(|r| r.get(key)).and_then(Value::as_str));
    text.and_then(|text| text.parse().ok())
}
