//! The tables of a page: selects its runs and rows, and packs the tables that need no other
//! processing.

use crate::ReportError;
use crate::pack::{Column, Packed, pack};
use indexmap::{IndexMap, IndexSet};
use serde_json::{Value, json};
use timeplane_model::Duration;
use timeplane_results::stats::{Interval, LEVEL};
use timeplane_results::{Columns, CompleteRun, DropRow, Folder, LinkRow, QueueRow, Row};

/// A combination of swept keys and their values.
pub type PointKey = Vec<(String, String)>;

/// The circuit switch that a run's plan assumes.
#[derive(Clone, Copy, Debug)]
pub struct Circuits {
    /// Time between two configurations.
    pub dark: Duration,
    /// Whether circuits that do not change carry traffic in the dark time of others.
    pub moved_only: bool,
}

/// Runs, and the tables that have been packed so far.
pub struct Book<'a> {
    runs: Vec<(&'a Folder, &'a CompleteRun)>,
    rows: usize,
    tables: Vec<Packed>,
    /// A sentence for each part that the page leaves out.
    pub left_out: Vec<String>,
}

impl<'a> Book<'a> {
    pub fn new(folders: &'a [Folder], rows: usize) -> Self {
        let runs = folders.iter().flat_map(|f| f.runs.iter().map(move |run| (f, run))).collect();
        Self { runs, rows, tables: Vec::new(), left_out: Vec::new() }
    }

    /// The packed tables; charts refer to them by index.
    pub fn tables(&self) -> &[Packed] {
        &self.tables
    }

    /// Packs and adds a table; returns its index.
    pub fn add(&mut self, columns: &[Column]) -> usize {
        self.push(pack(columns))
    }

    /// Adds a packed table; returns its index.
    pub fn push(&mut self, table: Packed) -> usize {
        self.tables.push(table);
        self.tables.len() - 1
    }

    /// The circuit switch of a run by the scenario in its manifest; `None` if it plans no circuits.
    pub fn circuits(&self, number: usize) -> Option<Circuits> {
        let (folder, run) = self.runs[number];
        let scenario = &folder.manifest.scenario;
        let scheme = &scenario["scheme"][&run.scheme];
        let plan = scheme["plan"]["circuits"].as_object()?;
        let swept = run.about.point.get(&format!("scheme.{}.plan.circuits.dark", run.scheme));
        let dark = swept.map(String::as_str).or_else(|| plan.get("dark")?.as_str());
        // A manifest that was edited may have a negative one.
        let dark = dark.and_then(|text| text.parse().ok()).unwrap_or(Duration::ZERO).max(Duration::ZERO);
        let own = &scheme["fabric"]["topology"]["hybrid"]["retune"];
        let retune = if own.is_null() { &scenario["fabric"]["topology"]["hybrid"]["retune"] } else { own };
        Some(Circuits { dark, moved_only: retune.as_str().is_some_and(|r| r != "all_stop") })
    }

    /// Whether the network of a run has rotor switches, by the scenario in its manifest.
    pub fn has_rotors(&self, number: usize) -> bool {
        let (folder, run) = self.runs[number];
        let scenario = &folder.manifest.scenario;
        let own = &scenario["scheme"][&run.scheme]["fabric"]["topology"];
        let topology = if own.is_null() { &scenario["fabric"]["topology"] } else { own };
        !topology["rotor"].is_null()
    }

    /// All runs.
    pub fn all(&self) -> Vec<&'a CompleteRun> {
        self.runs.iter().map(|(_, run)| *run).collect()
    }

    /// Names of the schemes, in the order of folders and scenarios.
    pub fn schemes(&self) -> Vec<&'a str> {
        self.runs.iter().map(|(_, run)| run.about.scheme.as_str()).collect::<IndexSet<_>>().into_iter().collect()
    }

    fn point_keys(&self) -> IndexSet<PointKey> {
        self.runs.iter().map(|(_, run)| key(run)).collect()
    }

    /// The points as text, such as `load = 0.5`.
    pub fn points(&self) -> Vec<String> {
        let text = |(k, v): &(String, String)| format!("{k} = {v}");
        self.point_keys().iter().map(|p| p.iter().map(text).collect::<Vec<_>>().join(", ")).collect()
    }

    /// For each run: scheme, point and seed.
    pub fn runs(&self) -> Value {
        let (schemes, points) = (self.schemes(), self.point_keys());
        let run = |(folder, run): &(&Folder, &CompleteRun)| {
            json!({
                "scheme": schemes.iter().position(|c| *c == run.about.scheme),
                "point": points.get_index_of(&key(run)),
                "seed": run.about.seed,
                "folder": folder.name,
                "key": run.about.key,
                "simulated_ps": run.summary.simulated_ps,
            })
        };
        self.runs.iter().map(run).collect()
    }

    /// Runs of a point, by scheme (in the order of all schemes) and ascending seed.
    pub fn at(&self, point: usize) -> IndexMap<&'a str, Vec<&'a CompleteRun>> {
        let points = self.point_keys();
        let wanted = &points[point];
        let mut all: IndexMap<&str, Vec<&CompleteRun>> = self.schemes().into_iter().map(|c| (c, Vec::new())).collect();
        for (_, run) in self.runs.iter().filter(|(_, run)| key(run) == *wanted) {
            all[run.about.scheme.as_str()].push(run);
        }
        all.values_mut().for_each(|runs| runs.sort_by_key(|r| r.about.seed));
        all
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.point_keys().len()
    }

    /// Indices of the runs in charts over time: the lowest seed of each scheme at each point. Other
    /// seeds are in the statistics only.
    pub fn shown(&self) -> Vec<usize> {
        let mut first: IndexMap<(&str, PointKey), usize> = IndexMap::new();
        for (number, (_, run)) in self.runs.iter().enumerate() {
            let at = first.entry((&run.about.scheme, key(run))).or_insert(number);
            if run.about.seed < self.runs[*at].1.about.seed {
                *at = number;
            }
        }
        let mut shown: Vec<usize> = first.into_values().collect();
        shown.sort_unstable();
        shown
    }

    /// Columns of a table for the shown runs that have rows in it: index of the run, columns, and
    /// the number of rows in the file. If all rows together exceed the limit of the page, short
    /// tables are complete and each of the others gets the same number of rows, from the start of
    /// the run.
    pub fn columns<R: Row>(&mut self, names: &[&str]) -> Result<Vec<(usize, Columns, usize)>, ReportError> {
        let mut counts = Vec::new();
        for number in self.shown() {
            let rows = Columns::count::<R>(self.runs[number].1)?;
            if rows > 0 {
                counts.push((rows, number));
            }
        }
        counts.sort_unstable();
        let mut left = self.rows;
        let mut all = Vec::with_capacity(counts.len());
        for (i, &(rows, number)) in counts.iter().enumerate() {
            let share = rows.min(left / (counts.len() - i));
            left -= share;
            let run = self.runs[number].1;
            if let Some(columns) = Columns::read::<R>(run, names, Some(share))? {
                all.push((number, columns, rows));
            }
            if share < rows {
                let (scheme, seed) = (&run.about.scheme, run.about.seed);
                let share = grouped(share);
                self.left_out.push(format!(
                    "{scheme}, seed {seed}: the first {share} of {} rows of `{}` (--rows has more of them)",
                    grouped(rows),
                    R::TABLE
                ));
            }
        }
        all.sort_by_key(|(number, ..)| *number);
        Ok(all)
    }
}

fn key(run: &CompleteRun) -> PointKey {
    run.about.point.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// The number with separators of thousands: `12,345`.
fn grouped(n: usize) -> String {
    let mut digits = n.to_string();
    for at in (1..digits.len()).rev().filter(|at| (digits.len() - at).is_multiple_of(3)).collect::<Vec<_>>() {
        digits.insert(at, ',');
    }
    digits
}

/// Queues over time, for the shown runs that recorded them.
pub fn queues(book: &mut Book<'_>) -> Result<Value, ReportError> {
    let names = ["time_ps", "link", "queue_bytes", "queue_packets"];
    let mut all = Vec::new();
    for (run, columns, rows) in book.columns::<QueueRow>(&names)? {
        let table = book.add(&names.map(|name| Column::new(name, columns.numbers(name))));
        all.push(json!({ "run": run, "table": table, "rows": columns.rows(), "of": rows }));
    }
    Ok(all.into())
}

/// Links of the shown runs, over the whole run.
pub fn links(book: &mut Book<'_>) -> Result<Value, ReportError> {
    let names = ["link", "from", "to", "sent_packets", "sent_bytes", "busy_ps", "max_queue_bytes"];
    let mut all = Vec::new();
    for (run, columns, rows) in book.columns::<LinkRow>(&names)? {
        let ends = [columns.numbers("from"), columns.numbers("to")];
        let hosts = hosts(&ends[0], &ends[1]);
        let racks = if book.has_rotors(run) { neighbors_of_hosts(&ends[0], &ends[1], hosts) } else { 0 };
        let table = book.add(&names.map(|name| Column::new(name, columns.numbers(name))));
        all.push(json!({
            "run": run, "table": table, "rows": columns.rows(), "of": rows, "hosts": hosts, "racks": racks,
        }));
    }
    Ok(all.into())
}

/// Number of hosts. Hosts have the lowest node numbers and one wire each, so they are the first
/// nodes with one neighbor.
fn hosts(from: &[i64], to: &[i64]) -> usize {
    let mut neighbors: IndexMap<i64, IndexSet<i64>> = IndexMap::new();
    for (&a, &b) in from.iter().zip(to) {
        neighbors.entry(a).or_default().insert(b);
        neighbors.entry(b).or_default().insert(a);
    }
    (0..).take_while(|node| neighbors.get(node).is_some_and(|n| n.len() == 1)).count()
}

/// The number of switches that hosts are connected to.
fn neighbors_of_hosts(from: &[i64], to: &[i64], hosts: usize) -> usize {
    let pairs = from.iter().zip(to).filter(|(from, _)| **from < hosts as i64);
    pairs.map(|(_, to)| to).collect::<IndexSet<_>>().len()
}

/// Lost packets: the table of each shown run, and means over seeds by reason.
pub fn drops(book: &mut Book<'_>) -> Result<Value, ReportError> {
    let mut tables = Vec::new();
    for (run, columns, rows) in book.columns::<DropRow>(&["link", "node", "reason", "packets", "bytes"])? {
        let number = |name| Column::new(name, columns.numbers(name));
        let reason = Column::words("reason", &columns.words("reason"));
        let table = book.add(&[number("link"), number("node"), reason, number("packets"), number("bytes")]);
        tables.push(json!({ "run": run, "table": table, "rows": columns.rows(), "of": rows }));
    }
    let reasons: IndexSet<&String> = book.all().into_iter().flat_map(|r| r.summary.dropped_packets.keys()).collect();
    let mut means = Vec::new();
    for point in 0..book.point_count() {
        for (scheme, runs) in book.at(point).into_iter().filter(|(_, runs)| !runs.is_empty()) {
            let mean = |reason: &&String| {
                let lost = |r: &&CompleteRun| r.summary.dropped_packets.get(*reason).copied().unwrap_or(0) as f64;
                let interval = Interval::of(&runs.iter().map(lost).collect::<Vec<_>>(), LEVEL);
                json!({ "mean": interval.map(|i| i.mean), "half": interval.and_then(|i| i.half_width) })
            };
            let sent: u64 = runs.iter().map(|r| r.summary.packets.sent).fold(0, u64::saturating_add);
            means.push(json!({
                "point": point,
                "scheme": scheme,
                "sent": sent as f64 / runs.len() as f64,
                "reasons": reasons.iter().map(mean).collect::<Vec<_>>(),
            }));
        }
    }
    Ok(json!({ "reasons": reasons, "means": means, "tables": tables }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_the_first_nodes_with_one_neighbor() {
        // Hosts 0 to 2, switches 3 and 4; host 2 has a switch of its own, which has one neighbor
        // more.
        let wires = [(0, 3), (1, 3), (2, 4), (3, 4)];
        let from: Vec<i64> = wires.iter().flat_map(|&(a, b)| [a, b]).collect();
        let to: Vec<i64> = wires.iter().flat_map(|&(a, b)| [b, a]).collect();
        assert_eq!(hosts(&from, &to), 3);
        assert_eq!(hosts(&[0, 1], &[1, 0]), 2, "two hosts and a wire");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([999, 1000, 2_100_000].map(grouped), ["999", "1,000", "2,100,000"]);
    }
}
