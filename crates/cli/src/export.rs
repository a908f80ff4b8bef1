//! `export-flows`: the arrivals of a workload with one seed, as CSV for other simulators. The flows
//! are the same that a run with this seed gets.

use crate::fail::{self, Failure};
use crate::preview::Sources;
use crate::{ExportArgs, output};
use timeplane_experiment::say;
use timeplane_model::Duration;
use timeplane_schedule::Algorithms;
use timeplane_workload::write_flow_list;

pub fn export(args: &ExportArgs) -> Result<(), Failure> {
    let loaded = args.scenario.load()?;
    fail::warnings(&loaded.validate(&Algorithms::built_in())?);
    let points = loaded.points()?;
    let [point] = &points[..] else {
        let keys: Vec<&str> = loaded.scenario.sweep.keys().map(String::as_str).collect();
        let message = format!(
            "the scenario has {}: expected one; give {} one value with --set",
            output::count(points.len() as u64, "point"),
            keys.join(" and "),
        );
        return Err(Failure::configuration(message));
    };
    let scenario = &point.scenario;
    let both = Sources::default().of(scenario, &loaded)?;
    let source = &both.1;
    if source.steps().is_some() {
        let message = "flows of this workload start when others end: expected a workload with start times";
        return Err(Failure::configuration(message));
    }
    let window = scenario.window;
    // Flows arrive until the end of the window or, if there is one, of the drain.
    let end = window.measure.map(|m| window.warmup + m + window.drain.unwrap_or(Duration::ZERO));
    let seed = args.seed.unwrap_or(scenario.seed);
    let flows = source.arrivals(seed).take_while(|f| end.is_none_or(|end| f.at < end));
    let written = write_flow_list(&args.out, flows).map_err(Failure::failed)?;
    say!("{} of seed {seed} in {}", output::count(written, "flow"), args.out.display());
    Ok(())
}
