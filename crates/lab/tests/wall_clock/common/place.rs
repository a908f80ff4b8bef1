//! A folder and a lab for one test, and readers for the results of a run.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::path::{Path, PathBuf};
use std::process::Command;
use timeplane_lab::run::Options;
use timeplane_live::gate::SafeState;
use timeplane_model::Duration;
use timeplane_protocol::wire::SignalEncoding;

/// The program of this package.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_timeplane-lab");

/// A folder, gone with it, and a name that namespaces begin with.
pub struct Place {
    pub name: String,
    pub folder: PathBuf,
}

impl Place {
    /// Of a test, by a name that no other test of the package has: in twelve letters with the
    /// process's number.
    pub fn new(test: &str) -> Self {
        let name = format!("tp{test}{}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self { name, folder }
    }
    /// Where results go.
    pub fn results(&self) -> PathBuf {
        self.folder.join("results")
    }
    /// A lab of that name with results here, that asks for no priority.
    pub fn options(&self) -> Options {
        Options {
            program: PROGRAM.into(),
            results: self.results(),
            name: self.name.clone(),
            schemes: Vec::new(),
            encoding: SignalEncoding::default(),
            lease: Duration::from_secs(1),
            safe: SafeState::Closed,
            real_time: false,
            keep: false,
            page: None,
        }
    }
    /// Those that are there.
    pub fn namespaces(&self) -> Vec<String> {
        let out = Command::new("ip").args(["netns", "list"]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let names = text.lines().filter_map(|l| l.split_whitespace().next()).map(str::to_owned);
        names.filter(|n| n.starts_with(&format!("{}-", self.name))).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Folders of the complete runs of a folder of results.
pub fn runs(results: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(results.join("runs")).unwrap().map(|e| e.unwrap().path());
    runs.filter(|p| p.join("summary.json").is_file()).collect()
}

/// The summary of a run.
pub fn summary(run: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap()
}

/// The columns of a table by name, type and whether they may be null, and how many rows it has.
pub fn columns(table: &Path) -> (Vec<String>, u64) {
    let file = std::fs::File::open(table).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let fields =
        schema.fields().iter().map(|f| format!("{} {} {}", f.name(), f.data_type(), f.is_nullable())).collect();
    (fields, reader.map(|b| b.unwrap().num_rows() as u64).sum())
}
