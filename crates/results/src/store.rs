//! The results folder `results/NAME/`: completed runs by key, the manifest and the table of runs.
//!
//! ```text
//! results/NAME/
//!   .timeplane-results       marks the folder and is locked while a process writes to it
//!   manifest.json            scenario, seeds, version and keys of the runs
//!   summary.parquet, .csv    one row per run
//!   runs/KEY/                a completed run: summary.json and tables
//!   runs/.partial-KEY-PID.N/ a run in progress
//! ```
//!
//! A run is written under another name and renamed when it is complete: even if a process is
//! killed, `runs/KEY` is complete or does not exist. A run that was finished but not yet renamed is
//! known by its digests, and the next process renames it. A run whose digests do not match its
//! files is damaged: it counts as missing, and is replaced when it has been run again.

use crate::digests::{self, CheckedRuns, FileDigest};
use crate::error::ResultsError;
use crate::leftovers;
use crate::metric::Bound;
use crate::recorder::writer_properties;
use crate::summary::{RunSummary, summary_batch};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use indexmap::IndexMap;
use parquet::arrow::ArrowWriter;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The layout of the folder, which new results have.
pub const FORMAT: u32 = 4;
/// The oldest layout that can be read. In layout 3, runs have no digests.
pub(crate) const OLDEST_FORMAT: u32 = 3;

const MARKER: &str = ".timeplane-results";
const MARKER_TEXT: &str = "timeplane results, layout ";
pub(crate) const PARTIAL: &str = ".partial-";
pub(crate) const SUMMARY: &str = "summary.json";
pub(crate) const KEY_LENGTH: usize = 16;
/// How long a lock may outlive the process that took it. A program that this process was starting
/// when it was killed holds the lock as well, until it runs.
const RELEASE: Duration = Duration::from_secs(5);

/// The key of a run: 16 hexadecimal digits of a BLAKE3 hash over everything that determines it.
/// `scenario` is the scenario of the run, with defaults, its scheme and its sweep point. The order
/// of keys in JSON objects does not matter.
pub fn run_key(scenario: &Value, seed: u64, program: &str) -> String {
    let mut text = String::new();
    canonical(&json!({ "scenario": scenario, "seed": seed, "program": program }), &mut text);
    let mut key = blake3::hash(text.as_bytes()).to_hex().to_string();
    key.truncate(KEY_LENGTH);
    key
}

/// Keys of runs that differ by their seeds alone, much faster than [`run_key`] for each.
#[derive(Clone, Debug)]
pub struct RunKeys {
    /// What is hashed, without the seeds.
    around: [String; 3],
}

impl RunKeys {
    /// `scenario` is that of one of the runs, with its seed as `seed`.
    pub fn new(scenario: &Value, program: &str) -> Self {
        let mut text = String::new();
        canonical(scenario, &mut text);
        // A text does not contain its own hash.
        let mark = blake3::hash(text.as_bytes()).to_hex().to_string();
        let mut scenario = scenario.clone();
        scenario["seed"] = mark.as_str().into();
        text.clear();
        canonical(&json!({ "scenario": scenario, "seed": mark, "program": program }), &mut text);
        let quoted = format!("\"{mark}\"");
        let mut parts = text.split(&quoted).map(str::to_owned);
        Self { around: [(); 3].map(|()| parts.next().expect("two seeds")) }
    }

    /// The key of the run with this seed: that of [`run_key`].
    pub fn of(&self, seed: u64) -> String {
        let mut key = blake3::hash(self.around.join(&seed.to_string()).as_bytes()).to_hex().to_string();
        key.truncate(KEY_LENGTH);
        key
    }
}

/// JSON without spaces, keys in alphabetical order.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// The manifest of a results folder: enough to run it again. Nothing in it depends on when or where
/// it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The layout of the folder, [`FORMAT`].
    pub format: u32,
    /// Name of the results.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// The version with a digest of the engine's sources: part of every key.
    #[serde(default)]
    pub program: String,
    /// The commit that the program was built from, with `-dirty` where its files were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The text of the scenario file; `None` if the scenario was made by code.
    pub source: Option<String>,
    /// Keys and values of every `--set`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, String)>,
    /// The scenario with all defaults and every `--set` applied.
    pub scenario: Value,
    /// Theoretical bounds; none if the workload does not end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// The seeds that each scheme runs with, ascending.
    pub seeds: Vec<u64>,
    /// All runs, in the order of tables: points, schemes, seeds.
    pub runs: Vec<ManifestRun>,
}

/// A run as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestRun {
    /// Its folder in `runs/`.
    pub key: String,
    /// Name of the scheme.
    pub scheme: String,
    /// The swept keys and their values.
    pub point: IndexMap<String, String>,
    /// The seed of the run.
    pub seed: u64,
}

/// A results folder that this process writes to until it is dropped. Threads can share it.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    checked: CheckedRuns,
    /// Holds the lock.
    _marker: File,
}

impl Store {
    /// Opens `root/name`, creates it if it is missing, and tidies up after killed processes:
    /// finished runs get their final names, and unfinished runs and files are removed.
    ///
    /// # Errors
    /// If the name is invalid, the folder holds something else or results of another layout,
    /// another process writes to it, or the file system fails.
    pub fn open(root: &Path, name: &str) -> Result<Self, ResultsError> {
        let (store, locked) = Self::open_with(root, name, File::try_lock)?;
        leftovers::tidy(&store.dir, locked, &store.checked)?;
        Ok(store)
    }

    /// Opens `root/name` together with other processes on this or other machines. Keeps partial
    /// runs, as they may belong to another process.
    ///
    /// # Errors
    /// As [`open`](Self::open); the folder is busy while a process has opened it with `open`.
    pub fn open_shared(root: &Path, name: &str) -> Result<Self, ResultsError> {
        Ok(Self::open_with(root, name, File::try_lock_shared)?.0)
    }

    /// Opens it and returns whether it is locked.
    fn open_with(
        root: &Path,
        name: &str,
        lock_by: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(Self, bool), ResultsError> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ' | '+' | '=' | ',');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(ResultsError::Name { name: name.to_owned() });
        }
        let dir = root.join(name);
        fs::create_dir_all(&dir).map_err(|e| match fs::symlink_metadata(&dir) {
            Ok(what) if !what.is_dir() => {
                ResultsError::NotOurs { path: dir.clone(), found: "no files: it is one".into() }
            }
            _ => ResultsError::io("create", &dir, e),
        })?;
        let path = dir.join(MARKER);
        if !path.exists() {
            refuse_strangers(&dir)?;
        }
        let mut marker = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| ResultsError::io("open", &path, e))?;
        let locked = lock(&mut marker, &dir, lock_by)?;
        check_layout(&mut marker, &dir)?;
        let runs = dir.join("runs");
        fs::create_dir_all(&runs).map_err(|e| ResultsError::io("create", &runs, e))?;
        Ok((Self { dir, checked: CheckedRuns::default(), _marker: marker }, locked))
    }

    /// `root/name`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of a run, complete or not.
    pub fn run_dir(&self, key: &str) -> PathBuf {
        self.dir.join("runs").join(key)
    }

    /// The runs whose files this process has checked or written, for [`Folder::read_checked`].
    ///
    /// [`Folder::read_checked`]: crate::Folder::read_checked
    pub fn checked(&self) -> CheckedRuns {
        self.checked.clone()
    }

    /// Whether the run of this key is complete and undamaged. The first call reads its files.
    ///
    /// # Errors
    /// If the run is damaged, or cannot be read.
    pub fn check(&self, key: &str) -> Result<bool, ResultsError> {
        let dir = self.run_dir(key);
        if !dir.is_dir() {
            return Ok(false);
        }
        if self.checked.has(key) {
            return Ok(dir.join(SUMMARY).is_file());
        }
        self.checked.verify(&dir, key, true).map(|_| true)
    }

    /// [Checks](Self::check) several runs at the same time, on all cores. A key may come more than
    /// once.
    pub fn check_all(&self, keys: &[&str]) -> Vec<Result<bool, ResultsError>> {
        let unique: BTreeSet<&str> = keys.iter().copied().collect();
        let unique: Vec<&str> = unique.into_iter().collect();
        let found: Vec<_> = unique.par_iter().map(|key| self.check(key)).collect();
        let mut found: BTreeMap<&str, Result<bool, ResultsError>> = unique.into_iter().zip(found).collect();
        // Where a key comes again, only a damaged run is read again.
        keys.iter().map(|key| found.remove(key).unwrap_or_else(|| self.check(key))).collect()
    }

    /// Whether the run of this key is complete and undamaged, see [`check`](Self::check).
    pub fn is_complete(&self, key: &str) -> bool {
        matches!(self.check(key), Ok(true))
    }

    /// The summary of a completed run.
    ///
    /// # Errors
    /// If the run is incomplete or damaged.
    pub fn summary(&self, key: &str) -> Result<RunSummary, ResultsError> {
        self.checked.verify(&self.run_dir(key), key, true)
    }

    /// Starts a run: creates an empty folder for its tables. A run can be started twice; the first
    /// one to be committed stays.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn begin(&self, key: &str) -> Result<PartialRun, ResultsError> {
        PartialRun::begin(&self.dir.join("runs"), key, &self.checked)
    }

    /// Removes a run, complete or not.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn remove(&self, key: &str) -> Result<(), ResultsError> {
        if !self.run_dir(key).exists() {
            return Ok(());
        }
        self.begin(key)?.remove_target()
    }

    /// Replaces `manifest.json` atomically.
    ///
    /// # Errors
    /// If the file system fails; the previous manifest is kept.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), ResultsError> {
        write_atomically(&self.dir.join("manifest.json"), &to_json(manifest))
    }

    /// Reads `manifest.json`; `None` if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn manifest(&self) -> Result<Option<Manifest>, ResultsError> {
        let path = self.dir.join("manifest.json");
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| ResultsError::io("read", &path, e))?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|e| ResultsError::Broken { path, reason: e.to_string() })
    }

    /// The summaries of the completed ones of `runs`, in order, with the schemes and points of
    /// `runs`: another manifest may have given them other names.
    ///
    /// # Errors
    /// If a summary cannot be read.
    pub fn answers(&self, runs: &[ManifestRun]) -> Result<Vec<RunSummary>, ResultsError> {
        let answer = |run: &ManifestRun| {
            let summary = self.summary(&run.key)?;
            Ok(RunSummary { scheme: run.scheme.clone(), point: run.point.clone(), ..summary })
        };
        runs.iter().filter(|run| self.is_complete(&run.key)).map(answer).collect()
    }

    /// Collects the summaries of the [completed ones](Self::answers) of `runs`, writes
    /// `summary.parquet` and `summary.csv` (see [`summary_batch`]), and returns them.
    ///
    /// # Errors
    /// If a summary cannot be read, or a table cannot be written.
    pub fn combine(&self, runs: &[ManifestRun]) -> Result<Vec<RunSummary>, ResultsError> {
        let complete: Vec<ManifestRun> = runs.iter().filter(|run| self.is_complete(&run.key)).cloned().collect();
        let answers = self.answers(&complete)?;
        let batch = summary_batch(complete.iter().map(|run| run.key.as_str()).zip(&answers));
        let path = self.dir.join("summary.parquet");
        write_atomically(&path, &parquet_bytes(&batch, &path)?)?;
        let path = self.dir.join("summary.csv");
        write_atomically(&path, &csv_bytes(&batch))?;
        Ok(answers)
    }
}

/// A run that is being written. If it is dropped before it is [placed](place), nothing is left of
/// it.
#[derive(Debug)]
pub struct PartialRun {
    key: String,
    dir: PathBuf,
    target: PathBuf,
    checked: CheckedRuns,
    done: bool,
}

impl PartialRun {
    /// Creates an empty folder for a run in the folder of all runs.
    fn begin(runs: &Path, key: &str, checked: &CheckedRuns) -> Result<Self, ResultsError> {
        let mut attempt = 0;
        loop {
            let dir = runs.join(format!("{PARTIAL}{key}-{}.{attempt}", std::process::id()));
            match fs::create_dir(&dir) {
                Ok(()) => return Ok(Self::at(dir, runs, key, checked)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
                Err(e) => return Err(ResultsError::io("create", &dir, e)),
            }
        }
    }

    /// The run in an existing folder `dir`, among all `runs`.
    pub(crate) fn at(dir: PathBuf, runs: &Path, key: &str, checked: &CheckedRuns) -> Self {
        Self { key: key.to_owned(), dir, target: runs.join(key), checked: checked.clone(), done: false }
    }

    /// The folder for the run's tables, see [`Recorder::files`](crate::Recorder::files).
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the summary, makes all files durable and places the run. If the same run is complete
    /// already, that one stays.
    ///
    /// # Errors
    /// If the file system fails; nothing is left of the run.
    pub fn commit(self, summary: &RunSummary) -> Result<(), ResultsError> {
        self.finish(summary)?;
        place(vec![self])
    }

    /// Writes the summary, the last file of a run before [`place`], with the digests of all files.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn finish(&self, summary: &RunSummary) -> Result<(), ResultsError> {
        let text = digests::seal(summary, &self.key, digests::of_files(&self.dir)?);
        let path = self.dir.join(SUMMARY);
        fs::write(&path, text).map_err(|e| ResultsError::io("write", &path, e))
    }

    /// Writes the [files](Self::files) of a run that another process has completed, before
    /// [`place`].
    ///
    /// # Errors
    /// If a name is not a file name, the summary is missing, a file differs from its digest, or the
    /// file system fails.
    pub fn adopt(&self, files: &[(String, Vec<u8>)]) -> Result<(), ResultsError> {
        let broken = |reason: String| ResultsError::Broken { path: self.target.clone(), reason };
        let summary = files.iter().find(|f| f.0 == SUMMARY).ok_or_else(|| broken(format!("no {SUMMARY} came")))?;
        let sealed = digests::unseal(&summary.1).map_err(|e| broken(format!("its {SUMMARY}: {e}")))?;
        if !sealed.digest || sealed.run != self.key {
            return Err(broken(format!("its {SUMMARY}: expected a digest, and the run {}", self.key)));
        }
        for (name, expected) in &sealed.files {
            let found = files.iter().find(|f| f.0 == *name).map(|f| FileDigest::of(&f.1));
            let differs = found.map_or(Some("it did not come".to_owned()), |found| found.differs(expected));
            if let Some(reason) = differs {
                return Err(broken(format!("its {name}: {reason}")));
            }
        }
        for (name, bytes) in files {
            if name != SUMMARY && !sealed.files.contains_key(name) {
                return Err(broken(format!("`{name}` is no file of the run")));
            }
            if Path::new(name).file_name() != Some(name.as_ref()) {
                return Err(broken(format!("`{name}` is no file's name")));
            }
            let path = self.dir.join(name);
            fs::write(&path, bytes).map_err(|e| ResultsError::io("write", &path, e))?;
        }
        Ok(())
    }

    /// The names and contents of the files of the run, sorted by name, for [`adopt`](Self::adopt).
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, ResultsError> {
        let mut files = Vec::new();
        for path in self.paths()? {
            let bytes = fs::read(&path).map_err(|e| ResultsError::io("read", &path, e))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push((name, bytes));
        }
        files.sort();
        Ok(files)
    }

    fn paths(&self) -> Result<Vec<PathBuf>, ResultsError> {
        let entries = fs::read_dir(&self.dir).and_then(|entries| entries.map(|e| Ok(e?.path())).collect());
        entries.map_err(|e| ResultsError::io("read", &self.dir, e))
    }

    /// Renames the run to its final name. A damaged run of that name is replaced.
    fn rename(mut self) -> Result<(), ResultsError> {
        // The summary is the last file, so that the run's digests are known then.
        let finished = self.dir.join(SUMMARY).is_file();
        let mut renamed = fs::rename(&self.dir, &self.target);
        if renamed.is_err() && self.target.exists() {
            if self.checked.verify(&self.target, &self.key, true).is_ok() {
                return Ok(());
            }
            let runs = self.target.parent().unwrap_or(&self.target);
            Self::begin(runs, &self.key, &self.checked)?.remove_target()?;
            renamed = fs::rename(&self.dir, &self.target);
        }
        renamed.map_err(|e| ResultsError::io("create", &self.target, e))?;
        self.done = true;
        if finished {
            self.checked.add(&self.key);
        }
        Ok(())
    }

    /// Removes the run of this key that is in its place, with this empty one. It is moved first: a
    /// partly removed run never looks complete.
    fn remove_target(self) -> Result<(), ResultsError> {
        self.checked.remove(&self.key);
        let moved = fs::rename(&self.target, self.dir.join("removed"));
        moved.map_err(|e| ResultsError::io("remove", &self.target, e))
    }
}

/// Makes all files of finished runs of one store durable and renames the runs to their final names.
/// If the same run is complete already, that one stays.
///
/// # Errors
/// If the file system fails; nothing is left of the runs that are not yet renamed.
pub fn place(runs: Vec<PartialRun>) -> Result<(), ResultsError> {
    let Some(folder) = runs.first().and_then(|r| r.target.parent()).map(Path::to_owned) else { return Ok(()) };
    make_durable(&folder, &runs)?;
    runs.into_iter().try_for_each(PartialRun::rename)?;
    sync_dir(&folder);
    Ok(())
}

/// Syncs the files of runs. To sync the files of a short run one by one takes longer than to run
/// it, so for several runs the whole file system is synced once.
fn make_durable(folder: &Path, runs: &[PartialRun]) -> Result<(), ResultsError> {
    if runs.len() > 1 && sync_file_system(folder)? {
        return Ok(());
    }
    for run in runs {
        for path in run.paths()? {
            let synced = OpenOptions::new().write(true).open(&path).and_then(|file| file.sync_all());
            synced.map_err(|e| ResultsError::io("write", &path, e))?;
        }
        sync_dir(&run.dir);
    }
    Ok(())
}

/// Syncs the file system of a folder; `false` if that is not supported.
#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) -> Result<bool, ResultsError> {
    use rustix::io::Errno;
    let error = |e| ResultsError::io("write", folder, e);
    let opened = File::open(folder).map_err(error)?;
    match rustix::fs::syncfs(&opened) {
        Ok(()) => Ok(true),
        Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => Ok(false),
        Err(e) => Err(error(e.into())),
    }
}

/// Only Linux has a call that waits until it is done.
#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> Result<bool, ResultsError> {
    Ok(false)
}

impl Drop for PartialRun {
    fn drop(&mut self) {
        if !self.done {
            // If this fails, the next `Store::open` removes it.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn refuse_strangers(dir: &Path) -> Result<(), ResultsError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| ResultsError::io("read", dir, e))? {
        let entry = entry.map_err(|e| ResultsError::io("read", dir, e))?;
        found.push(entry.file_name().to_string_lossy().into_owned());
    }
    // Another process may have marked it in the meantime.
    if found.is_empty() || found.iter().any(|name| name == MARKER) {
        return Ok(());
    }
    found.sort();
    let more = found.len().saturating_sub(3);
    found.truncate(3);
    let mut text = found.join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    Err(ResultsError::NotOurs { path: dir.to_owned(), found: text })
}

/// Takes the lock; `false` if the file system has none.
fn lock(marker: &mut File, dir: &Path, by: fn(&File) -> Result<(), TryLockError>) -> Result<bool, ResultsError> {
    let began = Instant::now();
    loop {
        match by(marker) {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(_)) => return Ok(false),
            Err(TryLockError::WouldBlock) => {
                let holder = holder(marker);
                if holder.is_none_or(leftovers::is_alive) || began.elapsed() > RELEASE {
                    let holder = holder.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                    return Err(ResultsError::Busy { path: dir.to_owned(), holder });
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// The process that the marker names.
fn holder(marker: &mut File) -> Option<u32> {
    let mut text = String::new();
    marker.rewind().and_then(|()| marker.read_to_string(&mut text)).ok()?;
    text.split_once("process ")?.1.trim().parse().ok()
}

/// Checks the layout in the marker, and writes the current one with this process's id.
fn check_layout(marker: &mut File, dir: &Path) -> Result<(), ResultsError> {
    let path = dir.join(MARKER);
    let mut text = String::new();
    marker.rewind().and_then(|()| marker.read_to_string(&mut text)).map_err(|e| ResultsError::io("read", &path, e))?;
    // A process that was killed here leaves an empty marker.
    if let Some(first) = text.lines().next() {
        let layout = first.strip_prefix(MARKER_TEXT).unwrap_or(first);
        // An older layout that can be read becomes this one: its runs count as damaged.
        if !(OLDEST_FORMAT..=FORMAT).any(|known| layout == known.to_string()) {
            return Err(ResultsError::Format { path: dir.to_owned(), found: layout.to_owned(), known: FORMAT });
        }
    }
    let text = format!("{MARKER_TEXT}{FORMAT}\nlast written by process {}\n", std::process::id());
    let written = marker
        .rewind()
        .and_then(|()| marker.write_all(text.as_bytes()))
        .and_then(|()| marker.set_len(text.len() as u64));
    written.map_err(|e| ResultsError::io("write", &path, e))
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("string keys and finite numbers");
    text.push(b'\n');
    text
}

/// Replaces a file atomically, even if the process or the machine stops.
fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ResultsError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Other processes may write the same file at the same time.
    name.push(format!(".{}-{:?}.tmp", std::process::id(), std::thread::current().id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(e) = written.and_then(|()| fs::rename(&temporary, path)) {
        let _ = fs::remove_file(&temporary);
        return Err(ResultsError::io("write", path, e));
    }
    if let Some(dir) = path.parent() {
        sync_dir(dir);
    }
    Ok(())
}

/// Makes renames in a folder durable, if the file system supports it.
fn sync_dir(dir: &Path) {
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
}

fn parquet_bytes(batch: &RecordBatch, path: &Path) -> Result<Vec<u8>, ResultsError> {
    let mut bytes = Vec::new();
    let write = |bytes: &mut Vec<u8>| {
        let mut writer = ArrowWriter::try_new(bytes, batch.schema(), Some(writer_properties(&batch.schema())))?;
        writer.write(batch)?;
        writer.close()
    };
    write(&mut bytes).map_err(|e| ResultsError::parquet(path, e))?;
    Ok(bytes)
}

/// The batch as CSV with a header. Numbers have the shortest form that reads back exactly; null is
/// empty.
fn csv_bytes(batch: &RecordBatch) -> Vec<u8> {
    let schema = batch.schema();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let in_memory = "writing to memory";
    writer.write_record(schema.fields().iter().map(|f| f.name())).expect(in_memory);
    for row in 0..batch.num_rows() {
        let cells = batch.columns().iter().map(|column| match column.data_type() {
            _ if column.is_null(row) => String::new(),
            DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
            _ => column.as_string::<i32>().value(row).to_owned(),
        });
        writer.write_record(cells).expect(in_memory);
    }
    writer.into_inner().expect(in_memory)
}
