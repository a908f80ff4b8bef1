//! What a scenario asks: one question for each point, scheme and seed, whoever answers it.

use indexmap::IndexMap;
use std::path::Path;
use timeplane_scenario::{Loaded, Point, Scenario, ScenarioError, Workload};

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which point, counted from 0.
    pub point: usize,
    /// Its values, as text.
    pub values: IndexMap<String, String>,
    /// Which scheme.
    pub scheme: String,
    /// Which seed.
    pub seed: u64,
    /// All that the answer depends on, files too, but for the program.
    pub json: serde_json::Value,
}

/// All questions of a scenario, in the order of tables: points, schemes, seeds.
///
/// # Errors
/// Where a sweep names what does not exist.
///
/// # Panics
/// Never: schemes of a point are those of its scenario.
pub fn questions(loaded: &Loaded) -> Result<Vec<Question>, ScenarioError> {
    let mut all = Vec::new();
    for (p, point) in loaded.points()?.iter().enumerate() {
        for scheme in point.scenario.scheme.keys() {
            let digest = digest(&point.scenario, scheme, &loaded.base);
            for seed in seeds(loaded) {
                let json = with_digest(point, scheme, seed, &digest).expect("a scheme of this scenario");
                all.push(Question { point: p, values: values(point), scheme: scheme.clone(), seed, json });
            }
        }
    }
    Ok(all)
}

/// All that the answer to one question of a point depends on; `None` where there is no such scheme. `base` is the folder in which files that the
/// scenario names are looked up.
pub fn question(point: &Point, scheme: &str, seed: u64, base: &Path) -> Option<serde_json::Value> {
    with_digest(point, scheme, seed, &digest(&point.scenario, scheme, base))
}

fn with_digest(point: &Point, scheme: &str, seed: u64, digest: &str) -> Option<serde_json::Value> {
    let mut json = point.run_json(scheme, seed)?;
    json["files"] = digest.into();
    Some(json)
}

/// The seeds of a scenario.
pub fn seeds(loaded: &Loaded) -> std::ops::Range<u64> {
    loaded.scenario.seed..loaded.scenario.seed + u64::from(loaded.scenario.seeds)
}

/// The swept values of a point, as text.
pub fn values(point: &Point) -> IndexMap<String, String> {
    let plain = |v: &serde_json::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    point.values.iter().map(|(k, v)| (k.clone(), plain(v))).collect()
}

/// A hash of the files that a workload and a scheme's fabric name, so that a changed trace is a changed question. What is bundled changes with
/// the version only.
fn digest(scenario: &Scenario, scheme: &str, base: &Path) -> String {
    let json = serde_json::to_value(&scenario.workload).expect("a workload is JSON");
    let seen = scenario.seen_by(scheme);
    let radio = seen.and_then(|s| s.fabric.radio.clone());
    let radio = serde_json::to_value(radio).expect("radios are JSON");
    let mut hash = blake3::Hasher::new();
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
        // Many files by one name.
        for bytes in crate::chakra::files(&trace.prefix, base).values().filter_map(|file| std::fs::read(file).ok()) {
            hash.update(&bytes);
        }
    }
    hash.finalize().to_hex()[..16].to_owned()
}
