//! What a folder of results says of the scenario that it answers, whoever runs it.

use crate::{Question, Source, mean_bounds, seeds, values};
use timeplane_model::Fabric;
use timeplane_results::{Bound, FORMAT, Manifest, ManifestRun, Metric, run_key};
use timeplane_scenario::{Loaded, PlanSpec, Point, Scheme};

/// Version of the program, part of every run's key.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Question {
    /// The run that answers it, kept under a hash of all that the answer depends on.
    pub fn run(&self) -> ManifestRun {
        let Self { scheme, values, seed, .. } = self.clone();
        ManifestRun { key: run_key(&self.json, seed, VERSION), scheme, point: values, seed }
    }
}

/// What a folder of this name is about.
pub fn manifest(loaded: &Loaded, name: &str, runs: Vec<ManifestRun>, bounds: &[Bound]) -> Manifest {
    Manifest {
        format: FORMAT,
        name: name.to_owned(),
        version: VERSION.to_owned(),
        source: loaded.text().map(str::to_owned),
        set: loaded.overrides().map(|(key, values)| (key.to_owned(), values.to_owned())).collect(),
        scenario: loaded.scenario.to_json(),
        bounds: bounds.to_vec(),
        seeds: seeds(loaded).collect(),
        runs,
    }
}

/// The bounds of every point whose workload ends, mean over seeds, for the comparison. A point comes with its fabric, its workload and its seeds.
pub fn comparison_bounds<'a, S: IntoIterator<Item = u64>>(
    points: impl IntoIterator<Item = (&'a Point, &'a Fabric, &'a Source, S)>,
) -> Vec<Bound> {
    let (mut completion, mut cct, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_cut = false;
    for (point, fabric, source, seeds) in points {
        let mtu = point.scenario.fabric.mtu.get();
        let flies = |c: &Scheme| c.fabric.is_none() && matches!(c.plan, Some(PlanSpec::Flyways(_)));
        let air = point.scenario.fabric.radio.is_some() || point.scenario.scheme.values().any(flies);
        let Some(bounds) = mean_bounds(fabric, source, seeds, mtu, air) else { continue };
        by_cut |= bounds.by_cut;
        let values = values(point);
        completion.push((values.clone(), bounds.completion_ps));
        steps.extend(bounds.step_ps.map(|step| (values.clone(), step)));
        cct.extend(bounds.cct_mean_ps.map(|mean| (values, mean)));
    }
    let bound = |label: &str, metric, values| Bound { label: label.to_owned(), metric, values };
    let all = [
        bound(if by_cut { "busiest link or cut" } else { "busiest link" }, Metric::Completion, completion),
        bound("each coflow alone", Metric::CctMean, cct),
        bound("critical path", Metric::StepMean, steps),
    ];
    all.into_iter().filter(|b| !b.values.is_empty()).collect()
}
