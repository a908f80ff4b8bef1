//! The manifest of a results folder, and the theoretical bounds in it. The manifest lists the
//! scenario, its runs and the version of the program.

use crate::planned::{seeds, values};
use timeplane_model::Fabric;
use timeplane_results::{Bound, FORMAT, Manifest, Metric};
use timeplane_scenario::{Loaded, PlanSpec, Point, Scheme};
use timeplane_workload::{Source, mean_bounds};

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The program that makes a run: its version and a digest of the engine's sources. It is part of
/// every key, so that no run of an older program passes for one of this program.
pub(crate) const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("TIMEPLANE_SOURCES"));

/// The commit of the program's sources. Empty where it was not built in a repository.
const COMMIT: &str = env!("TIMEPLANE_COMMIT");

/// The manifest of the results folder `name`, without its runs and bounds.
pub(crate) fn manifest(loaded: &Loaded, name: &str) -> Manifest {
    Manifest {
        format: FORMAT,
        name: name.to_owned(),
        version: VERSION.to_owned(),
        program: PROGRAM.to_owned(),
        commit: (!COMMIT.is_empty()).then(|| COMMIT.to_owned()),
        source: loaded.text().map(str::to_owned),
        set: loaded.overrides().map(|(key, values)| (key.to_owned(), values.to_owned())).collect(),
        scenario: loaded.scenario.to_json(),
        bounds: Vec::new(),
        seeds: seeds(loaded).collect(),
        runs: Vec::new(),
    }
}

/// The bounds of every point whose workload ends, averaged over seeds. Each point comes with its
/// fabric, workload and seeds.
pub(crate) fn comparison_bounds<'a, S: IntoIterator<Item = u64>>(
    points: impl IntoIterator<Item = (&'a Point, &'a Fabric, &'a Source, S)>,
) -> Vec<Bound> {
    let (mut completion, mut cct, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_cut = false;
    for (point, fabric, source, seeds) in points {
        let mtu = point.scenario.fabric.mtu.get();
        let flies = |c: &Scheme| c.fabric.is_none() && matches!(c.plan, Some(PlanSpec::Flyways(_)));
        // Traffic leaves the fabric's routes, too, where devices change their access points.
        let radio = point.scenario.fabric.radio.as_ref();
        let around = radio.is_some_and(|r| r.handover.is_some() || r.link.iter().any(|l| l.share.is_some()));
        let air = around || point.scenario.scheme.values().any(flies);
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
