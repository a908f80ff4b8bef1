//! Results as one HTML page that works offline: question and answer, distributions, queues, the
//! schedule, links, drops, manifest.
//!
//! - [`ReportPage`]: reads results folders and makes the page; [`write`](fn@write) writes it
//!   atomically.
//! - [`pack`]: packs tables as text.
//!
//! Texts (description, comparison, manifest, command) are HTML and need no script. `viewer/` draws
//! the charts from packed tables. A page depends only on the results: it has no time, host name or
//! path.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod answer;
mod distributions;
mod error;
mod html;
pub mod pack;
mod page;
mod schedule;
mod tables;

use answer::capital;
pub use error::ReportError;
pub use schedule::{Slots, pack_slots};

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use timeplane_experiment::{Cell, Comparison, ComparisonOptions, Context};
use timeplane_results::{Bound, FORMAT, Folder, RunSummary, guarded};

/// The default limit of rows of the schedule, of queues and of air links: 512 hosts for 4,000
/// slots.
pub const ROWS: usize = 2_100_000;

/// A page and its contents.
#[derive(Debug)]
pub struct ReportPage {
    /// The page.
    pub html: String,
    /// The number of its runs.
    pub runs: usize,
    /// A sentence for each part that was left out.
    pub left_out: Vec<String>,
}

impl ReportPage {
    /// Makes the page of folders whose schemes have unique names ([`Folder::tell_apart`]). `rows`
    /// limits the rows of each table over time (slots, queues, air), over all runs.
    ///
    /// # Errors
    /// If a table cannot be read, or no run is complete.
    pub fn new(folders: &[Folder], rows: usize) -> Result<Self, ReportError> {
        if folders.iter().all(|folder| folder.manifest.format == FORMAT) {
            return Self::make(folders, rows);
        }
        // Tables of an older layout have no digests. Damaged ones may have any numbers, which
        // overflow in sums.
        guarded(|| Ok(Self::make(folders, rows))).unwrap_or_else(|reason| Err(ReportError::Damaged { reason }))
    }

    fn make(folders: &[Folder], rows: usize) -> Result<Self, ReportError> {
        let summaries: Vec<RunSummary> = folders.iter().flat_map(|f| &f.runs).map(|r| r.summary.clone()).collect();
        if summaries.is_empty() {
            let names: Vec<String> = folders.iter().map(|f| f.directory.display().to_string()).collect();
            return Err(ReportError::Nothing { folders: names.join(" and ") });
        }
        let bounds: Vec<Bound> = Folder::bounds(folders);
        let context = Context::of_folders(folders);
        let comparison = Comparison::new(&summaries, &ComparisonOptions { bounds, context, ..Default::default() });
        let cells = comparison.lines().first().map_or(&[][..], |line| &line.cells);
        let label = |c: &Cell| (c.metric.name().to_owned(), Value::String(capital(c.metric.label())));
        let labels: Value = cells.iter().map(label).collect();
        let mut book = tables::Book::new(folders, rows);
        let charts = json!({
            "level": timeplane_results::stats::LEVEL,
            "labels": labels,
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

    /// A summary of the page as JSON.
    pub fn to_json(&self, output: &Path) -> Value {
        json!({
            "output": output.display().to_string(),
            "bytes": self.html.len(),
            "runs": self.runs,
            "left_out": self.left_out,
        })
    }
}

/// Replaces the page at `path` atomically.
///
/// # Errors
/// If the file system fails; no partial file is left.
#[expect(clippy::disallowed_methods, reason = "it writes the page")]
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
