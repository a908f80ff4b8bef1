//! `compare`: the table of a results folder, again, or of several side by side.

use crate::fail::Failure;
use crate::{CompareArgs, output};
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::path::Path;
use timeplane_results::{Comparison, Manifest, Metric, Options, RunSummary, Store};

/// A folder of results.
struct Folder {
    name: String,
    /// Of all runs, complete or not, in their order.
    controls: Vec<String>,
    complete: Vec<RunSummary>,
}

pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let mut folders = args.folders.iter().map(|f| read(f)).collect::<Result<Vec<_>, _>>()?;
    tell_apart(&mut folders);
    if let Some(baseline) = &args.baseline {
        let known: BTreeSet<&String> = folders.iter().flat_map(|f| &f.controls).collect();
        if !known.contains(baseline) {
            let places: Vec<String> = args.folders.iter().map(|f| f.display().to_string()).collect();
            return Err(Failure::configuration(format!("there is no control `{baseline}` in {}", places.join(", "))));
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
    let all: usize = folders.iter().map(|f| f.controls.len()).sum();
    let runs: Vec<RunSummary> = folders.into_iter().flat_map(|f| f.complete).collect();
    let comparison = Comparison::new(&runs, &options);
    if args.json {
        output::json(&comparison.to_json())
    } else if args.csv {
        output::text(&comparison.to_csv())
    } else {
        if runs.len() < all {
            eprintln!("{} of {} complete", runs.len(), output::count(all as u64, "run"));
        }
        output::text(&comparison.to_text(output::width()))
    }
}

/// A folder of results that is there: its name, the store and what it is about.
pub fn open(folder: &Path) -> Result<(String, Store, Manifest), Failure> {
    // Opening a store makes it: look first.
    if !folder.join("manifest.json").is_file() {
        let message = format!("{} is no folder of results: there is no manifest.json in it", folder.display());
        return Err(Failure::configuration(message));
    }
    let folder = folder.canonicalize().map_err(|e| Failure::failed(format!("{}: {e}", folder.display())))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let store = Store::open(folder.parent().unwrap_or(Path::new("/")), &name).map_err(Failure::failed)?;
    let manifest = store.manifest().map_err(Failure::failed)?;
    let manifest = manifest.ok_or_else(|| Failure::failed("manifest.json has just been removed"))?;
    Ok((name, store, manifest))
}

fn read(folder: &Path) -> Result<Folder, Failure> {
    let (name, store, manifest) = open(folder)?;
    let complete = store.answers(&manifest.runs).map_err(Failure::failed)?;
    Ok(Folder { name, controls: manifest.runs.into_iter().map(|r| r.control).collect(), complete })
}

/// Gives controls that a folder before has as well a name with their folder, and a number where that is taken too.
fn tell_apart(folders: &mut [Folder]) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for folder in folders {
        let mut names: IndexMap<String, String> = IndexMap::new();
        for control in &folder.controls {
            if names.contains_key(control) {
                continue;
            }
            let with_folder = format!("{control} ({})", folder.name);
            let numbered = (2u32..).map(|n| format!("{control} ({} {n})", folder.name));
            let free = [control.clone(), with_folder].into_iter().chain(numbered).find(|name| !taken.contains(name));
            names.insert(control.clone(), free.unwrap_or_default());
        }
        let new = |control: &String| names.get(control).unwrap_or(control).clone();
        folder.controls = folder.controls.iter().map(new).collect();
        for run in &mut folder.complete {
            run.control = new(&run.control);
        }
        taken.extend(names.into_values());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_of_one_name_are_told_apart_by_their_folders() {
        let folder = |name: &str, controls: &[&str]| {
            let controls = controls.iter().map(|&c| c.to_owned()).collect();
            Folder { name: name.to_owned(), controls, complete: Vec::new() }
        };
        let mut folders = [
            folder("lab", &["slots", "slots", "rates"]),
            folder("lab-live", &["slots", "free", "slots"]),
            folder("lab-live", &["slots"]),
        ];
        tell_apart(&mut folders);
        let names: Vec<&String> = folders.iter().flat_map(|f| &f.controls).collect();
        let live = "slots (lab-live)";
        assert_eq!(names, ["slots", "slots", "rates", live, "free", live, "slots (lab-live 2)"]);
    }
}
