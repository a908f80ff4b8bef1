//! `compare`: the comparison of one or more results folders, without running anything. Schemes of
//! the same name in different folders get the folder's name appended.

use crate::fail::Failure;
use crate::{CompareArgs, output};
use std::collections::BTreeSet;
use std::path::PathBuf;
use timeplane_experiment::{Comparison, ComparisonOptions, Context, say};
use timeplane_results::{Folder, Metric, ResultsError, RunSummary};

pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let folders = read(&args.folders)?;
    if let Some(baseline) = &args.baseline {
        let known: BTreeSet<&String> = folders.iter().flat_map(|f| &f.manifest.runs).map(|r| &r.scheme).collect();
        if !known.contains(baseline) {
            let places: Vec<String> = args.folders.iter().map(|f| f.display().to_string()).collect();
            return Err(Failure::configuration(format!("unknown scheme `{baseline}` in {}", places.join(", "))));
        }
    }
    let metric = |name: &String| {
        Metric::named(name).ok_or_else(|| {
            let all: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
            Failure::configuration(format!("unknown metric `{name}`: expected one of {}", all.join(", ")))
        })
    };
    let metrics = args.metrics.iter().map(metric).collect::<Result<_, _>>()?;
    let bounds = Folder::bounds(&folders);
    let context = Context::of_folders(&folders);
    let baseline = args.baseline.clone();
    let options = ComparisonOptions { baseline, metrics, bounds, context, ..Default::default() };
    let all: usize = folders.iter().map(|f| f.manifest.runs.len()).sum();
    let runs: Vec<RunSummary> = folders.into_iter().flat_map(|f| f.runs).map(|r| r.summary).collect();
    let comparison = Comparison::new(&runs, &options);
    if args.json {
        output::json(&comparison.to_json())
    } else if args.csv {
        output::data(&comparison.to_csv())
    } else {
        if runs.len() < all {
            say!("{} of {} complete", runs.len(), output::count(all as u64, "run"));
        }
        output::text(&comparison.to_text(output::width()))
    }
}

/// Reads results folders and makes the names of their schemes unique.
pub fn read(folders: &[PathBuf]) -> Result<Vec<Folder>, Failure> {
    let read = |folder: &PathBuf| {
        Folder::read(folder).map_err(|e| match e {
            ResultsError::NoResults { .. } | ResultsError::Format { .. } => Failure::configuration(e),
            e => Failure::failed(e),
        })
    };
    let mut folders = folders.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Folder::tell_apart(&mut folders);
    Ok(folders)
}
