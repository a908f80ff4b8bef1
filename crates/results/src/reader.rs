//! Reads results folders and their tables without locks, so a folder can be read while a command
//! writes to it. Runs in progress are left out.

use crate::digests::CheckedRuns;
use crate::error::ResultsError;
use crate::metric::Bound;
use crate::store::{FORMAT, Manifest, ManifestRun, OLDEST_FORMAT};
use crate::summary::RunSummary;
use crate::table_file::TableFile;
use crate::tables::Row;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use indexmap::IndexMap;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A results folder and its completed runs.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Path of the results folder.
    pub directory: PathBuf,
    /// The name of the folder, which may differ from that of its manifest.
    pub name: String,
    /// The content of `manifest.json`.
    pub manifest: Manifest,
    /// The completed runs, in the order of the manifest.
    pub runs: Vec<CompleteRun>,
}

/// A completed run.
#[derive(Clone, Debug)]
pub struct CompleteRun {
    /// The folder of its tables.
    pub directory: PathBuf,
    /// Its key, scheme, point and seed.
    pub about: ManifestRun,
    /// The name of its scheme in the scenario, which [`Folder::tell_apart`] does not change.
    pub scheme: String,
    /// Its summary, with the names of the manifest.
    pub summary: RunSummary,
}

impl Folder {
    /// Reads the manifest and the summaries of the completed runs, and checks the digests of all
    /// files of these runs. Runs of layout 3 have no digests and are not checked.
    ///
    /// # Errors
    /// If the folder has no results or results of another layout, a run is damaged, or a file
    /// cannot be read.
    pub fn read(directory: &Path) -> Result<Self, ResultsError> {
        Self::read_checked(directory, &CheckedRuns::default())
    }

    /// As [`read`](Self::read), without checking runs that have been checked before.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_checked(directory: &Path, checked: &CheckedRuns) -> Result<Self, ResultsError> {
        let path = directory.join("manifest.json");
        let text = match fs::read(&path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(ResultsError::NoResults { path: directory.to_owned() });
            }
            text => text.map_err(|e| ResultsError::io("read", &path, e))?,
        };
        let broken = |e: serde_json::Error| ResultsError::Broken { path: path.clone(), reason: e.to_string() };
        let json: Value = serde_json::from_slice(&text).map_err(broken)?;
        // Checked first, because a manifest of another layout may have other keys.
        let format = &json["format"];
        let digests = *format == FORMAT;
        if !digests && *format != OLDEST_FORMAT {
            let found = if format.is_null() { "without a number".to_owned() } else { format.to_string() };
            return Err(ResultsError::Format { path: directory.to_owned(), found, known: FORMAT });
        }
        let manifest: Manifest = serde_json::from_value(json).map_err(broken)?;
        let keys: BTreeSet<&str> = manifest.runs.iter().map(|run| run.key.as_str()).collect();
        let keys: Vec<&str> = keys.into_iter().collect();
        let place = |key: &str| directory.join("runs").join(key);
        let found = keys.par_iter().map(|key| {
            let place = place(key);
            place.is_dir().then(|| checked.verify(&place, key, digests))
        });
        let found: Vec<_> = found.collect();
        let mut summaries = BTreeMap::new();
        for (key, summary) in keys.into_iter().zip(found) {
            if let Some(summary) = summary.transpose()? {
                summaries.insert(key, summary);
            }
        }
        let complete = |about: &ManifestRun| {
            let summary = summaries.get(about.key.as_str())?.clone();
            let (scheme, point) = (about.scheme.clone(), about.point.clone());
            // Runs are stored by key; this manifest may use other names for them.
            let summary = RunSummary { scheme: scheme.clone(), point, ..summary };
            Some(CompleteRun { directory: place(&about.key), about: about.clone(), scheme, summary })
        };
        let runs = manifest.runs.iter().filter_map(complete).collect();
        let full = directory.canonicalize().map_err(|e| ResultsError::io("read", directory, e))?;
        let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { directory: directory.to_owned(), name, manifest, runs })
    }

    /// The bounds of several folders. Equal bounds are merged. A bound of the same name with other
    /// values is named `NAME (FOLDER)`.
    pub fn bounds(folders: &[Self]) -> Vec<Bound> {
        let mut all: Vec<Bound> = Vec::new();
        for folder in folders {
            for bound in &folder.manifest.bounds {
                if all.iter().any(|b| b.metric == bound.metric && b.values == bound.values) {
                    continue;
                }
                let mut bound = bound.clone();
                if all.iter().any(|b| b.label == bound.label) {
                    bound.label = format!("{} ({})", bound.label, folder.name);
                }
                all.push(bound);
            }
        }
        all
    }

    /// Makes the names of schemes unique, in manifests and runs: a scheme that an earlier folder
    /// also has is named `NAME (FOLDER)`, with a number if that is taken, too.
    pub fn tell_apart(folders: &mut [Self]) {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for folder in folders {
            let mut names: IndexMap<String, String> = IndexMap::new();
            for run in &folder.manifest.runs {
                let scheme = &run.scheme;
                if names.contains_key(scheme) {
                    continue;
                }
                let with_folder = format!("{scheme} ({})", folder.name);
                let numbered = (2u32..).map(|n| format!("{scheme} ({} {n})", folder.name));
                let free = [scheme.clone(), with_folder].into_iter().chain(numbered).find(|name| !taken.contains(name));
                names.insert(scheme.clone(), free.unwrap_or_default());
            }
            let rename = |scheme: &mut String| {
                if let Some(name) = names.get(scheme) {
                    scheme.clone_from(name);
                }
            };
            folder.manifest.runs.iter_mut().for_each(|run| rename(&mut run.scheme));
            for run in &mut folder.runs {
                rename(&mut run.about.scheme);
                rename(&mut run.summary.scheme);
            }
            taken.extend(names.into_values());
        }
    }
}

fn broken(path: &Path, reason: String) -> ResultsError {
    ResultsError::BrokenRun { path: path.to_owned(), reason }
}

/// The file of a table; `None` if it does not exist.
fn open<R: Row>(run: &CompleteRun) -> Result<Option<(PathBuf, TableFile)>, ResultsError> {
    let path = run.directory.join(R::TABLE).with_extension("parquet");
    match TableFile::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(ResultsError::io("read", &path, e)),
        Ok(file) => file.map_err(|e| broken(&path, e)).map(|file| Some((path, file))),
    }
}

/// Some columns of a table of a run, as declared in [`tables`](crate::tables).
#[derive(Clone, Debug)]
pub struct Columns {
    batch: RecordBatch,
}

impl Columns {
    /// The number of rows of a table of a run; 0 if it does not exist.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn count<R: Row>(run: &CompleteRun) -> Result<usize, ResultsError> {
        let Some((path, file)) = open::<R>(run)? else { return Ok(0) };
        usize::try_from(file.rows()).map_err(|e| broken(&path, e.to_string()))
    }

    /// Reads these columns of a table, all rows or the first `most`; `None` if the run has no such
    /// table.
    ///
    /// # Errors
    /// If the file is damaged, or its columns differ from those of this version.
    ///
    /// # Panics
    /// If `names` has a column that is not declared.
    pub fn read<R: Row>(run: &CompleteRun, names: &[&str], most: Option<usize>) -> Result<Option<Self>, ResultsError> {
        let Some((path, file)) = open::<R>(run)? else { return Ok(None) };
        let broken = |reason: String| broken(&path, reason);
        let places = file.places(&R::schema(), names);
        let places = places.map_err(|reason| ResultsError::Column { path: path.clone(), reason })?;
        let rows = file.read(&places, most).map_err(broken)?;
        let schema = rows.schema();
        let batches = rows.collect::<Result<Vec<_>, _>>().map_err(broken)?;
        let batch = concat_batches(&schema, &batches).map_err(|e| broken(e.to_string()))?;
        Ok(Some(Self { batch }))
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn column(&self, name: &str) -> &ArrayRef {
        self.batch.column_by_name(name).expect("a column that was asked for")
    }

    /// The numbers of a column; null is `None`. Counts beyond 2^63 are invalid and become `None`.
    ///
    /// # Panics
    /// If the column was not read, or has text.
    pub fn nullable(&self, name: &str) -> Vec<Option<i64>> {
        let column = self.column(name);
        match column.data_type() {
            DataType::Boolean => column.as_boolean().iter().map(|v| v.map(i64::from)).collect(),
            DataType::Int64 => column.as_primitive::<Int64Type>().iter().collect(),
            DataType::UInt32 => column.as_primitive::<UInt32Type>().iter().map(|v| v.map(i64::from)).collect(),
            DataType::UInt64 => column.as_primitive::<UInt64Type>().iter().map(|v| i64::try_from(v?).ok()).collect(),
            other => panic!("the column `{name}` holds {other}: expected numbers"),
        }
    }

    /// The numbers of a column that is not nullable; booleans are 0 and 1.
    ///
    /// # Panics
    /// If the column was not read, or has text.
    pub fn numbers(&self, name: &str) -> Vec<i64> {
        self.nullable(name).into_iter().map(Option::unwrap_or_default).collect()
    }

    /// The texts of a column.
    ///
    /// # Panics
    /// If the column was not read, or has numbers.
    pub fn words(&self, name: &str) -> Vec<String> {
        let column = self.column(name).as_dictionary::<Int32Type>();
        let words = column.downcast_dict::<StringArray>().expect("words");
        words.into_iter().map(|v| v.unwrap_or_default().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;
    use crate::summary::{RunFacts, Summarizer};
    use serde_json::json;

    fn folder(name: &str, schemes: &[&str]) -> Folder {
        let about = |scheme: &&str| ManifestRun {
            key: String::new(),
            scheme: (*scheme).to_owned(),
            point: IndexMap::new(),
            seed: 1,
        };
        let manifest = Manifest {
            format: FORMAT,
            name: name.to_owned(),
            version: String::new(),
            program: String::new(),
            commit: None,
            source: None,
            set: Vec::new(),
            scenario: json!({}),
            bounds: Vec::new(),
            seeds: vec![1],
            runs: schemes.iter().map(about).collect(),
        };
        let run = |about: &ManifestRun| CompleteRun {
            directory: PathBuf::new(),
            about: about.clone(),
            scheme: about.scheme.clone(),
            summary: Summarizer::new().finish(RunFacts { scheme: about.scheme.clone(), ..RunFacts::default() }),
        };
        let runs = manifest.runs.iter().map(run).collect();
        Folder { directory: PathBuf::new(), name: name.to_owned(), manifest, runs }
    }

    #[test]
    fn controls_of_one_name_are_told_apart_by_their_folders() {
        let mut folders = [
            folder("lab", &["slots", "slots", "rates"]),
            folder("lab-live", &["slots", "free", "slots"]),
            folder("lab-live", &["slots"]),
        ];
        Folder::tell_apart(&mut folders);
        let names: Vec<&String> = folders.iter().flat_map(|f| &f.manifest.runs).map(|r| &r.scheme).collect();
        let live = "slots (lab-live)";
        assert_eq!(names, ["slots", "slots", "rates", live, "free", live, "slots (lab-live 2)"]);
        let runs: Vec<&String> = folders.iter().flat_map(|f| &f.runs).map(|r| &r.summary.scheme).collect();
        assert_eq!(runs, names);
    }

    #[test]
    fn a_bound_of_several_folders_is_there_once_and_another_one_is_named_by_its_folder() {
        let with = |name: &str, value: f64| {
            let values = vec![(IndexMap::new(), value)];
            let mut folder = folder(name, &["slots"]);
            folder.manifest.bounds = vec![Bound { label: "busiest link".into(), metric: Metric::Completion, values }];
            folder
        };
        let bounds = Folder::bounds(&[with("lab", 5.0), with("lab-live", 5.0), with("other", 7.0)]);
        let labels: Vec<&str> = bounds.iter().map(|b| b.label.as_str()).collect();
        assert_eq!(labels, ["busiest link", "busiest link (other)"]);
    }
}
