//! The runs of a scenario and their keys. A key is a hash of everything that the run's result
//! depends on, so a run with a known key need not be repeated.

use indexmap::IndexMap;
use std::path::Path;
use timeplane_model::printable_line;
use timeplane_results::ManifestRun;
use timeplane_scenario::{Loaded, Point, Scenario, ScenarioError, Topology, Workload};
use timeplane_workload::chakra_files;

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The number of its point, from 0.
    pub point: usize,
    /// The point's swept values, as text.
    pub values: IndexMap<String, String>,
    /// The name of its scheme.
    pub scheme: String,
    /// The seed of its workload and of all its random choices.
    pub seed: u64,
    /// The name of its folder: a hash of everything that its result depends on.
    pub key: String,
    /// Whether it was complete when the plan was made.
    pub complete: bool,
}

impl PlannedRun {
    /// The run as the manifest lists it.
    pub fn listed(&self) -> ManifestRun {
        let Self { key, scheme, values, seed, .. } = self.clone();
        ManifestRun { key, scheme, point: values, seed }
    }

    /// The run in a line for the user: `load = 0.5, dctcp, seed 1`.
    pub fn label(&self) -> String {
        let point: String = self.values.iter().map(|(key, value)| format!("{key} = {value}, ")).collect();
        printable_line(&format!("{point}{}, seed {}", self.scheme, self.seed)).into_owned()
    }
}

/// The runs of a scheme at a point, one for each seed, before they have keys.
#[derive(Clone, Debug)]
pub(crate) struct RunInputs {
    /// The number of the point, from 0.
    pub point: usize,
    /// The point's swept values, as text.
    pub values: IndexMap<String, String>,
    /// The name of the scheme.
    pub scheme: String,
    /// Everything that the result of the run with the first seed depends on, except the program.
    pub json: serde_json::Value,
}

/// All runs of a scenario in the order of tables: points, schemes, seeds.
///
/// # Errors
/// If a sweep names a key that does not exist.
///
/// # Panics
/// Never: the schemes of a point are those of its scenario.
pub(crate) fn all_inputs(loaded: &Loaded) -> Result<Vec<RunInputs>, ScenarioError> {
    let mut all = Vec::new();
    for (p, point) in loaded.points()?.iter().enumerate() {
        for scheme in point.scenario.scheme.keys() {
            let digest = digest(&point.scenario, scheme, &loaded.base);
            let json = with_digest(point, scheme, seeds(loaded).start, &digest).expect("a scheme of this scenario");
            all.push(RunInputs { point: p, values: values(point), scheme: scheme.clone(), json });
        }
    }
    Ok(all)
}

/// Everything that the result of a run depends on; `None` if the point has no such scheme. File
/// names in the scenario are relative to `base`.
pub(crate) fn inputs_of(point: &Point, scheme: &str, seed: u64, base: &Path) -> Option<serde_json::Value> {
    with_digest(point, scheme, seed, &digest(&point.scenario, scheme, base))
}

fn with_digest(point: &Point, scheme: &str, seed: u64, digest: &str) -> Option<serde_json::Value> {
    let mut json = point.run_json(scheme, seed)?;
    json["files"] = digest.into();
    Some(json)
}

/// The seeds of a scenario.
pub(crate) fn seeds(loaded: &Loaded) -> std::ops::Range<u64> {
    loaded.scenario.seed..loaded.scenario.seed + u64::from(loaded.scenario.seeds)
}

/// The swept values of a point, as text.
pub(crate) fn values(point: &Point) -> IndexMap<String, String> {
    let plain = |v: &serde_json::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    point.values.iter().map(|(k, v)| (k.clone(), plain(v))).collect()
}

/// A hash of the files that a workload and a scheme's fabric name: a run with a changed file has
/// another key. Bundled files are a part of the program.
#[expect(clippy::disallowed_methods, reason = "it reads the workload's files")]
fn digest(scenario: &Scenario, scheme: &str, base: &Path) -> String {
    let json = serde_json::to_value(&scenario.workload).expect("a workload is JSON");
    let seen = scenario.seen_by(scheme);
    let radio = seen.as_ref().and_then(|s| s.fabric.radio.clone());
    let radio = serde_json::to_value(radio).expect("radios are JSON");
    let mut hash = blake3::Hasher::new();
    if let Some(Topology::Rotor(rotor)) = seen.as_ref().map(|s| &s.fabric.topology)
        && let Some(bytes) = rotor.file().and_then(|file| std::fs::read(base.join(file)).ok())
    {
        hash.update(&bytes);
    }
    let mut stack = vec![&radio, &json];
    while let Some(value) = stack.pop() {
        match value {
            serde_json::Value::String(name) => {
                if let Ok(bytes) = std::fs::read(base.join(name)) {
                    hash.update(&bytes);
                }
            }
            serde_json::Value::Object(fields) => stack.extend(fields.values()),
            serde_json::Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    if let Workload::Chakra(trace) = &scenario.workload {
        // One prefix names many files.
        for bytes in chakra_files(&trace.prefix, base).values().filter_map(|file| std::fs::read(file).ok()) {
            hash.update(&bytes);
        }
    }
    hash.finalize().to_hex()[..16].to_owned()
}
