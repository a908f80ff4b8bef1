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
//! killed, `runs/KEY` is complete or does not exist.

use crate::error::ResultsError;
use crate::metric::Bound;
use crate::recorder::writer_properties;
use crate::summary::{RunSummary, summary_batch};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use indexmap::IndexMap;
use parquet::arrow::ArrowWriter;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The layout of the folder. Folders of other layouts are rejected.
pub const FORMAT: u32 = 3;

const MARKER: &str = ".timeplane-results";
const MARKER_TEXT: &str = "timeplane results, layout ";
const PARTIAL: &str = ".partial-";
pub(crate) const SUMMARY: &str = "summary.json";
const KEY_LENGTH: usize = 16;
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
    /// Holds the lock.
    _marker: File,
}

impl Store {
    /// Opens `root/name`, creates it if it is missing, and removes what killed runs have left.
    ///
    /// # Errors
    /// If the name is invalid, the folder holds something else or results of another layout,
    /// another process writes to it, or the file system fails.
    pub fn open(root: &Path, name: &str) -> Result<Self, ResultsError> {
        let (store, locked) = Self::open_with(root, name, File::try_lock)?;
        store.clean(locked)?;
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
        Ok((Self { dir, _marker: marker }, locked))
    }

    /// `root/name`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of a run, complete or not.
    pub fn run_dir(&self, key: &str) -> PathBuf {
        self.dir.join("runs").join(key)
    }

    /// Removes partial runs. With the lock, no other process has any. Without locks in the file
    /// system, those of living processes stay.
    fn clean(&self, locked: bool) -> Result<(), ResultsError> {
        let runs = self.dir.join("runs");
        for entry in fs::read_dir(&runs).map_err(|e| ResultsError::io("read", &runs, e))? {
            let path = entry.map_err(|e| ResultsError::io("read", &runs, e))?.path();
            let Some(pid) = path.file_name().and_then(|n| n.to_str()).and_then(partial_pid) else { continue };
            if locked || !is_alive(pid) {
                fs::remove_dir_all(&path).map_err(|e| ResultsError::io("remove", &path, e))?;
            }
        }
        Ok(())
    }

    /// Whether the run of this key is complete.
    pub fn is_complete(&self, key: &str) -> bool {
        self.run_dir(key).join(SUMMARY).is_file()
    }

    /// The summary of a completed run.
    ///
    /// # Errors
    /// If the run is incomplete or its summary cannot be read.
    pub fn summary(&self, key: &str) -> Result<RunSummary, ResultsError> {
        let path = self.run_dir(key).join(SUMMARY);
        let text = fs::read(&path).map_err(|e| ResultsError::io("read", &path, e))?;
        let broken = |e: serde_json::Error| ResultsError::Broken { path: self.run_dir(key), reason: e.to_string() };
        serde_json::from_slice(&text).map_err(broken)
    }

    /// Starts a run: creates an empty folder for its tables. A run can be started twice; the first
    /// one to be committed stays.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn begin(&self, key: &str) -> Result<PartialRun, ResultsError> {
        let mut attempt = 0;
        loop {
            let dir = self.partial_dir(key, attempt);
            match fs::create_dir(&dir) {
                Ok(()) => return Ok(PartialRun { dir, target: self.run_dir(key), done: false }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
                Err(e) => return Err(ResultsError::io("create", &dir, e)),
            }
        }
    }

    fn partial_dir(&self, key: &str, attempt: u32) -> PathBuf {
        self.dir.join("runs").join(format!("{PARTIAL}{key}-{}.{attempt}", std::process::id()))
    }

    /// Removes a run, complete or not.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn remove(&self, key: &str) -> Result<(), ResultsError> {
        let dir = self.run_dir(key);
        if !dir.exists() {
            return Ok(());
        }
        // Renamed first: a partly removed run never looks complete.
        let away = self.begin(key)?;
        fs::rename(&dir, away.dir.join("removed")).map_err(|e| ResultsError::io("remove", &dir, e))
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
    dir: PathBuf,
    target: PathBuf,
    done: bool,
}

impl PartialRun {
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

    /// Writes the summary, the last file of a run before [`place`].
    ///
    /// # Errors
    /// If the file system fails.
    pub fn finish(&self, summary: &RunSummary) -> Result<(), ResultsError> {
        let path = self.dir.join(SUMMARY);
        fs::write(&path, to_json(summary)).map_err(|e| ResultsError::io("write", &path, e))
    }

    /// Writes the [files](Self::files) of a run that another process has completed, before
    /// [`place`].
    ///
    /// # Errors
    /// If a name is not a file name, the summary is missing, or the file system fails.
    pub fn adopt(&self, files: &[(String, Vec<u8>)]) -> Result<(), ResultsError> {
        let broken = |reason: String| ResultsError::Broken { path: self.target.clone(), reason };
        let summary = files.iter().find(|f| f.0 == SUMMARY).ok_or_else(|| broken(format!("no {SUMMARY} came")))?;
        serde_json::from_slice::<RunSummary>(&summary.1).map_err(|e| broken(format!("its {SUMMARY}: {e}")))?;
        for (name, bytes) in files {
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

    /// Renames the run to its final name.
    fn rename(mut self) -> Result<(), ResultsError> {
        match fs::rename(&self.dir, &self.target) {
            Ok(()) => self.done = true,
            Err(_) if self.target.join(SUMMARY).is_file() => {}
            Err(e) => return Err(ResultsError::io("create", &self.target, e)),
        }
        Ok(())
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

/// The pid in the name of a partial run, `.partial-KEY-PID.N`.
fn partial_pid(name: &str) -> Option<u32> {
    let (key, rest) = name.strip_prefix(PARTIAL)?.rsplit_once('-')?;
    let (pid, _) = rest.split_once('.')?;
    let is_key = key.len() == KEY_LENGTH && key.bytes().all(|b| b.is_ascii_hexdigit());
    if is_key { pid.parse().ok() } else { None }
}

/// Whether a process lives on this machine; `true` if unknown.
fn is_alive(pid: u32) -> bool {
    !cfg!(target_os = "linux") || Path::new("/proc").join(pid.to_string()).exists()
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
                if holder.is_none_or(is_alive) || began.elapsed() > RELEASE {
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

/// Checks the layout in the marker and writes the current one with this process's id.
fn check_layout(marker: &mut File, dir: &Path) -> Result<(), ResultsError> {
    let path = dir.join(MARKER);
    let mut text = String::new();
    marker.rewind().and_then(|()| marker.read_to_string(&mut text)).map_err(|e| ResultsError::io("read", &path, e))?;
    // A process that was killed here leaves an empty marker.
    if let Some(first) = text.lines().next() {
        let layout = first.strip_prefix(MARKER_TEXT).unwrap_or(first);
        if layout != FORMAT.to_string() {
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
