//! `validate` and `run --dry-run`: all checks of a scenario that need no run, and a preview of what
//! would run.

use crate::fail::{self, Failure};
use crate::{ValidateArgs, output};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use timeplane_experiment::{ExitCode, PlannedRun, checks};
use timeplane_model::{Bytes, Duration, Fabric, Rate, printable_line};
use timeplane_scenario::{Loaded, Pattern, PlanSpec, Point, RadioSpec, Scenario, Workload};
use timeplane_schedule::Algorithms;
use timeplane_sim::memory;
use timeplane_workload::{Source, WorkloadError};

/// The memory of a run from which on a preview states it.
const WORTH_SAYING: Bytes = Bytes::mb(100);

/// Fabrics and workloads by their specification. Points of a sweep often share them.
#[derive(Default)]
pub struct Sources(HashMap<String, Rc<(Arc<Fabric>, Source)>>);

impl Sources {
    /// The fabric and workload of a point.
    pub fn of(&mut self, scenario: &Scenario, loaded: &Loaded) -> Result<Rc<(Arc<Fabric>, Source)>, Failure> {
        let key = json!([scenario.workload, scenario.fabric]).to_string();
        if let Some(known) = self.0.get(&key) {
            return Ok(Rc::clone(known));
        }
        let fabric = Arc::new(scenario.fabric.build().map_err(Failure::configuration)?);
        let source = Source::load(&scenario.workload, &loaded.base, &fabric, scenario.fabric.mtu).map_err(|e| {
            let key = match &e {
                WorkloadError::Value { key, .. } | WorkloadError::Missing { key, .. } => *key,
                _ => "workload",
            };
            Failure::configuration(loaded.locate(key).map_or(e.to_string(), |place| format!("{place}: {e}")))
        })?;
        let both = Rc::new((fabric, source));
        self.0.insert(key, Rc::clone(&both));
        Ok(both)
    }
}

pub fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    let checked = args.scenario.load().and_then(|loaded| {
        let (points, warnings) = check(&loaded)?;
        Ok((product(&loaded.scenario, points.len()), warnings))
    });
    let json = |valid: bool, errors: serde_json::Value, warnings| {
        output::json(&json!({ "valid": valid, "errors": errors, "warnings": warnings }))
    };
    match checked {
        Ok((_, warnings)) if args.json => json(true, json!([]), fail::as_json(&warnings)),
        Ok((runs, warnings)) => {
            fail::warnings(&warnings);
            output::text(&format!("{}: ok: {runs}\n", args.scenario.file.display()))
        }
        Err(failure) if args.json => {
            let (errors, code) = match &failure {
                Failure::Scenario(e) => (fail::as_json(e.issues()), ExitCode::Configuration),
                Failure::Message(code, what) => (json!([{ "message": what }]), *code),
                Failure::Silent(code) => (json!([]), *code),
            };
            json(false, errors, json!([]))?;
            Err(Failure::Silent(code))
        }
        Err(failure) => Err(failure),
    }
}

/// Checks values, fabrics and files. Returns the points and the warnings.
pub fn check(loaded: &Loaded) -> Result<(Vec<Point>, Vec<timeplane_scenario::Issue>), Failure> {
    let warnings = checks::scenario(loaded, &Algorithms::built_in())?;
    let points = loaded.points()?;
    let mut sources = Sources::default();
    for point in &points {
        sources.of(&point.scenario, loaded)?;
    }
    Ok((points, warnings))
}

/// `3 points x 2 schemes x 3 seeds = 18 runs`
fn product(scenario: &Scenario, points: usize) -> String {
    let (schemes, seeds) = (scenario.scheme.len() as u64, u64::from(scenario.seeds));
    format!(
        "{} x {} x {} = {}",
        output::count(points as u64, "point"),
        output::count(schemes, "scheme"),
        output::count(seeds, "seed"),
        output::count(points as u64 * schemes * seeds, "run"),
    )
}

/// The preview as text.
pub fn dry_run(loaded: &Loaded, points: &[Point], planned: &[PlannedRun]) -> Result<String, Failure> {
    let scenario = &points[0].scenario;
    let mut sources = Sources::default();
    let first = sources.of(scenario, loaded)?;
    let (fabric, source) = &*first;
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        writeln!(text, "{what:<9} {}", printable_line(&value)).expect("a String takes all");
    };
    line("scenario", loaded.name());
    if let Some(description) = &scenario.description {
        description.trim().lines().for_each(|text| line("", text.replace('\t', "    ")));
    }
    line(
        "fabric",
        format!(
            "{}: {}, {}, {}",
            scenario.fabric.topology.key(),
            output::count(fabric.hosts(), "host"),
            output::count(fabric.switches() as u64, "switch"),
            links(fabric),
        ),
    );
    for (name, own) in scenario.scheme.iter().filter_map(|(name, c)| Some((name, c.fabric.as_ref()?))) {
        let own = own.over(&scenario.fabric);
        let switches = output::count(own.switches() as u64, "switch");
        line("", format!("{name}: {}, {switches} at {}", own.topology.key(), own.rate));
    }
    for (i, text) in radios(scenario).into_iter().enumerate() {
        line(if i == 0 { "radio" } else { "" }, text);
    }
    line("workload", source.facts().to_string());
    if matches!(&scenario.workload, Workload::Coflows(c) if c.blocks != Some(1)) {
        line("", "each seed draws its coflows from blocks of the trace's time".to_owned());
    }
    for (key, values) in &loaded.scenario.sweep {
        let values: Vec<String> = values.iter().map(|v| v.as_str().map_or(v.to_string(), str::to_owned)).collect();
        line("sweep", format!("{key} = {}", values.join(", ")));
    }
    line("schemes", scenario.scheme.keys().cloned().collect::<Vec<_>>().join(", "));
    line("runs", product(&loaded.scenario, points.len()));
    let complete = planned.iter().filter(|p| p.complete).count();
    if complete > 0 {
        line("", format!("{complete} complete already, {} to run", planned.len() - complete));
    }
    let (mut frames, mut memory) = (0.0, Bytes::ZERO);
    for point in points {
        let both = sources.of(&point.scenario, loaded)?;
        frames += frames_of_run(&point.scenario, &both.0, &both.1);
        let of_schemes = point.scenario.scheme.values().map(|s| memory::least(&point.scenario, s, &both.0, &both.1));
        memory = of_schemes.fold(memory, Bytes::max);
    }
    let per_point = scenario.scheme.len() as f64 * f64::from(scenario.seeds);
    line("frames", format!("about {} data frames sent by hosts in all runs", output::rough(frames * per_point)));
    if memory >= WORTH_SAYING {
        line("memory", format!("a run needs {} at least", memory::in_gb(memory)));
    }
    Ok(text)
}

/// The number of links by rate.
fn links(fabric: &Fabric) -> String {
    let mut by_rate = BTreeMap::<Rate, u64>::new();
    fabric.links().iter().for_each(|l| *by_rate.entry(l.spec.rate).or_default() += 1);
    let all = output::count(fabric.links().len() as u64, "link");
    match by_rate.len() {
        1 => format!("{all} at {}", fabric.links()[0].spec.rate),
        _ => {
            let each: Vec<String> = by_rate.iter().map(|(rate, n)| format!("{n} at {rate}")).collect();
            format!("{all} ({})", each.join(", "))
        }
    }
}

/// The radios of the fabric, and of schemes with flyways.
fn radios(scenario: &Scenario) -> Vec<String> {
    // Names are those of scenario files.
    let name = |value: Value| value.as_str().map_or(value.to_string(), str::to_owned);
    let mut all = Vec::new();
    if let Some(radio) = &scenario.fabric.radio {
        let beside = radio.link.iter().filter(|l| l.share.is_some()).count();
        let kinds = [(radio.link.len() - beside, "instead of wires"), (beside, "beside wires")];
        let kinds = kinds
            .into_iter()
            .filter(|k| k.0 > 0)
            .map(|(n, place)| format!("{} {place}", output::count(n as u64, "air link")));
        let channels = radio.link.iter().map(|l| l.channel).collect::<BTreeSet<_>>().len();
        let antenna = radio.antenna.map_or(String::new(), |a| format!(", antennas {}", name(json!(a))));
        all.push(format!(
            "{} on {}, access {}{antenna}",
            kinds.collect::<Vec<_>>().join(" and "),
            output::count(channels as u64, "channel"),
            name(json!(radio.access)),
        ));
        all.extend(rates(radio));
    }
    for (scheme, spec) in &scenario.scheme {
        if let Some(PlanSpec::Flyways(f)) = &spec.plan {
            all.push(format!(
                "{scheme}: {} per rack on {}, policy {}, antennas {}, access {}",
                output::count(f.radios, "radio"),
                output::count(f.channels, "channel"),
                f.policy.name().to_owned(),
                name(json!(f.antenna)),
                name(json!(f.access)),
            ));
        }
    }
    all
}

/// The rates of air links: by MCS for links without a trace, and the highest one for links with a
/// trace.
fn rates(radio: &RadioSpec) -> Option<String> {
    let (traced, fixed): (Vec<_>, Vec<_>) = radio.link.iter().partition(|l| l.trace.is_some());
    let mut by_mcs = BTreeMap::<Rate, (&str, u64)>::new();
    for mcs in fixed.iter().filter_map(|l| radio.mcs(l).ok()) {
        by_mcs.entry(mcs.rate()).or_insert((mcs.name(), 0)).1 += 1;
    }
    // A rate as 4504.5 Mb/s is written in kb/s otherwise.
    let mbps = |rate: Rate| format!("{} Mb/s", rate.as_bps() as f64 / 1e6);
    let one = |(rate, (mcs, n)): (&Rate, &(&str, u64))| format!("{n} at MCS {mcs}, {}", mbps(*rate));
    let mut all: Vec<String> = match by_mcs.len() {
        0..=4 => by_mcs.iter().map(one).collect(),
        _ => {
            let ends = [by_mcs.first_key_value(), by_mcs.last_key_value()].map(|e| e.expect("not empty"));
            let [(slow, (low, _)), (fast, (high, _))] = ends;
            vec![format!("{} at MCS {low} to {high}, {} to {}", fixed.len(), mbps(*slow), mbps(*fast))]
        }
    };
    if let Some(most) = traced.iter().filter_map(|l| radio.most(l)).max() {
        all.push(format!("{} by a trace, up to {}", traced.len(), mbps(most)));
    }
    (!all.is_empty()).then(|| format!("rates: {}; without headers, waits and answers", all.join("; ")))
}

/// Estimates the number of data frames that the hosts send in one run.
pub fn frames_of_run(scenario: &Scenario, fabric: &Fabric, source: &Source) -> f64 {
    let f = &scenario.fabric;
    let mtu = f.mtu.get() as f64;
    let facts = source.facts();
    let window = scenario.window;
    let seconds = (window.warmup + window.measure.unwrap_or(Duration::ZERO) + window.drain.unwrap_or(Duration::ZERO))
        .as_secs_f64();
    if let Some(bytes) = facts.bytes {
        return (bytes as f64 / mtu).max(facts.flows.unwrap_or(0) as f64);
    }
    let Workload::Poisson(p) = &scenario.workload else { return 0.0 };
    let receivers = if matches!(p.pattern, Pattern::Incast { .. }) { 1.0 } else { f64::from(fabric.hosts()) };
    let wire = f64::from(f.framing.wire(f.mtu.get() as u32));
    let full = p.load * receivers * f.rate.as_bps() as f64 * seconds / (8.0 * wire);
    full.max(facts.arrivals_per_second.unwrap_or(0.0) * seconds)
}
