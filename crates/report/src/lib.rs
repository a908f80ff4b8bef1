//! Results as one HTML page that works offline: question and answer, distributions, queues, the
//! schedule, links, drops, manifest.
//!
//! - [`Report`]: reads folders of results and makes the page; [`write`](fn@write) puts it into its
//!   place as a whole.
//! - [`pack`]: tables as text in a page.
//!
//! What is text (question, answer, manifest, command) is HTML from here and needs no script; charts
//! are drawn by `viewer/`, from tables that are packed beside. A page is a function of the results:
//! no time, no host name, no path.

mod answer;
mod distributions;
mod error;
mod html;
pub mod pack;
mod page;
mod schedule;
mod tables;

pub use error::ReportError;
pub use schedule::{Slots, pack_slots};

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use timeplane_experiment::{Comparison, ComparisonOptions};
use timeplane_results::{Bound, Folder, RunSummary};

/// Rows of the schedule, and as many of the queues and of the air, that a page holds unless said
/// otherwise: 512 hosts for 4,000 slots.
pub const ROWS: usize = 2_100_000;

/// A page, and what is in it.
#[derive(Debug)]
pub struct Report {
    /// The page.
    pub html: String,
    /// Runs that it is about.
    pub runs: usize,
    /// What was left out, in words; empty where nothing was.
    pub left_out: Vec<String>,
}

impl Report {
    /// Of folders, side by side. Schemes have names of their own in all folders
    /// ([`Folder::tell_apart`]). `rows` is how many rows of a table over time (slots, queues, air)
    /// the page holds, of all runs together.
    ///
    /// # Errors
    /// Where a table cannot be read, or no run is complete.
    pub fn new(folders: &[Folder], rows: usize) -> Result<Self, ReportError> {
        let summaries: Vec<RunSummary> = folders.iter().flat_map(|f| &f.runs).map(|r| r.summary.clone()).collect();
        if summaries.is_empty() {
            let names: Vec<String> = folders.iter().map(|f| f.directory.display().to_string()).collect();
            return Err(ReportError::Nothing { folders: names.join(" and ") });
        }
        let bounds: Vec<Bound> = Folder::bounds(folders);
        let comparison = Comparison::new(&summaries, &ComparisonOptions { bounds, ..Default::default() });
        let mut book = tables::Book::new(folders, rows);
        let charts = json!({
            "level": timeplane_results::stats::LEVEL,
            "schemes": book.schemes(),
            "points": book.points(),
            "runs": book.runs(),
            "distributions": distributions::completion(&mut book)?,
            "slowdown": distributions::slowdown(&mut book)?,
            "schedules": schedule::schedules(&mut book)?,
            "queues": tables::queues(&mut book)?,
            "links": tables::links(&mut book)?,
            "drops": tables::drops(&mut book)?,
            "comparison": comparison.to_json(),
        });
        let left_out = std::mem::take(&mut book.left_out);
        let html = page::page(folders, &comparison, &charts, book.tables(), &left_out);
        Ok(Self { html, runs: summaries.len(), left_out })
    }

    /// What a program may want to know.
    pub fn to_json(&self, output: &Path) -> Value {
        json!({
            "output": output.display().to_string(),
            "bytes": self.html.len(),
            "runs": self.runs,
            "left_out": self.left_out,
        })
    }
}

/// Writes a page under another name and renames it: what is at `path` is the old page or the new
/// one, whole, whenever the process ends.
///
/// # Errors
/// Where the file system refuses; nothing is left then of what was begun.
pub fn write(path: &Path, html: &str) -> Result<(), ReportError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Two reports at once do not write into each other.
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary: PathBuf = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(html.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, path)).map_err(|source| {
        let _ = fs::remove_file(&temporary);
        ReportError::Write { path: path.to_owned(), source }
    })
}
