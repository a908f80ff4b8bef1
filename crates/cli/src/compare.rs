//! `compare`: the table of a results folder, again.

use crate::fail::Failure;
use crate::{CompareArgs, output};
use std::path::Path;
use timeplane_results::{Comparison, Metric, Options, Store};

pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    // Opening a store makes it: look first.
    if !folder.join("manifest.json").is_file() {
        let message = format!("{} is no folder of results: there is no manifest.json in it", folder.display());
        return Err(Failure::configuration(message));
    }
    let folder = folder.canonicalize().map_err(|e| Failure::failed(format!("{}: {e}", folder.display())))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let store = Store::open(folder.parent().unwrap_or(Path::new("/")), &name).map_err(Failure::failed)?;
    let manifest = store.manifest().map_err(Failure::failed)?;
    let manifest = manifest.ok_or_else(|| Failure::failed("manifest.json has just been removed"))?;
    let keys: Vec<String> = manifest.runs.iter().map(|r| r.key.clone()).collect();
    let runs = keys.iter().filter(|k| store.is_complete(k)).map(|k| store.summary(k));
    let runs = runs.collect::<Result<Vec<_>, _>>().map_err(Failure::failed)?;
    if let Some(baseline) = &args.baseline {
        let known: Vec<&str> = manifest.runs.iter().map(|r| r.control.as_str()).collect();
        if !known.contains(&baseline.as_str()) {
            return Err(Failure::configuration(format!(
                "there is no control `{baseline}` in {}",
                store.dir().display()
            )));
        }
    }
    let metric = |name: &String| {
        Metric::named(name).ok_or_else(|| {
            let all: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
            Failure::configuration(format!("there is no metric `{name}`; there are {}", all.join(", ")))
        })
    };
    let metrics = args.metrics.iter().map(metric).collect::<Result<_, _>>()?;
    let options = Options { baseline: args.baseline.clone(), metrics, ..Options::default() };
    let comparison = Comparison::new(&runs, &options);
    if args.json {
        output::json(&comparison.to_json())
    } else if args.csv {
        output::text(&comparison.to_csv())
    } else {
        if runs.len() < keys.len() {
            eprintln!("{} of {} complete", runs.len(), output::count(keys.len() as u64, "run"));
        }
        output::text(&comparison.to_text(output::width()))
    }
}
