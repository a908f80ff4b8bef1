//! The table that answers the question of a scenario: schemes side by side at each sweep point.

use crate::human::{Quantity, show_relative};
use crate::stats::{Equivalence, Interval, LEVEL, MARGIN, Paired, equivalence, paired};
use crate::summary::{Counts, RunSummary, WindowSummary};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use timeplane_model::Duration;

/// What a metric is about, which decides when its mean is flagged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Flows that finished: unfinished ones are not in it.
    Flows,
    /// Coflows that finished.
    Coflows,
    /// The whole run.
    All,
}

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal, $label:literal, $quantity:ident, $over:ident, $get:expr;)+) => {
        /// A number of a run that schemes are compared by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Metric {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl Metric {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name, with the unit: that of its column in `summary.parquet`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
            /// Its name for people.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
            }
            /// Its value in a run, in the unit of its name; `None` where the run has none.
            pub fn value(self, run: &RunSummary) -> Option<f64> {
                let get: fn(&RunSummary) -> Option<f64> = match self { $(Self::$variant => $get),+ };
                get(run)
            }
            /// A value of it for people: three digits and a unit.
            pub fn show(self, value: f64) -> String {
                self.quantity().show(value, None)
            }
            const fn quantity(self) -> Quantity {
                match self { $(Self::$variant => Quantity::$quantity),+ }
            }
            const fn over(self) -> Over {
                match self { $(Self::$variant => Over::$over),+ }
            }
        }
    };
}

metrics! {
    /// Mean flow completion time.
    FctMean "fct_mean_ps", "FCT mean", Time, Flows, |r| r.fct_ps.map(|d| d.mean);
    /// Median flow completion time.
    FctP50 "fct_p50_ps", "FCT median", Time, Flows, |r| r.fct_ps.map(|d| d.p50);
    /// 95th percentile of flow completion times.
    FctP95 "fct_p95_ps", "FCT p95", Time, Flows, |r| r.fct_ps.map(|d| d.p95);
    /// 99th percentile of flow completion times.
    FctP99 "fct_p99_ps", "FCT p99", Time, Flows, |r| r.fct_ps.map(|d| d.p99);
    /// Longest flow completion time.
    FctMax "fct_max_ps", "FCT max", Time, Flows, |r| r.fct_ps.map(|d| d.max);
    /// Mean slowdown: completion time over that in an empty network.
    SlowdownMean "slowdown_mean", "slowdown mean", Ratio, Flows, |r| r.slowdown.map(|d| d.mean);
    /// Median slowdown.
    SlowdownP50 "slowdown_p50", "slowdown median", Ratio, Flows, |r| r.slowdown.map(|d| d.p50);
    /// 99th percentile of slowdowns.
    SlowdownP99 "slowdown_p99", "slowdown p99", Ratio, Flows, |r| r.slowdown.map(|d| d.p99);
    /// Mean coflow completion time.
    CctMean "cct_mean_ps", "CCT mean", Time, Coflows, |r| r.cct_ps.map(|d| d.mean);
    /// Median coflow completion time.
    CctP50 "cct_p50_ps", "CCT median", Time, Coflows, |r| r.cct_ps.map(|d| d.p50);
    /// 95th percentile of coflow completion times.
    CctP95 "cct_p95_ps", "CCT p95", Time, Coflows, |r| r.cct_ps.map(|d| d.p95);
    /// Longest coflow completion time.
    CctMax "cct_max_ps", "CCT max", Time, Coflows, |r| r.cct_ps.map(|d| d.max);
    /// Mean time of a step.
    StepMean "step_mean_ps", "step mean", Time, All, |r| r.step_ps.map(|d| d.mean);
    /// Longest step.
    StepMax "step_max_ps", "step max", Time, All, |r| r.step_ps.map(|d| d.max);
    /// Mean of steps' times over what no scheme can be faster than.
    StepStretch "step_stretch", "step over bound", Ratio, All, |r| r.step_stretch;
    /// From the first arrival to the last finish; exists where all flows finished.
    Completion "completion_ps", "completion", Time, All, |r| r.completion_ps.map(|ps| ps as f64);
    /// Application bits received per second in the window, all hosts together.
    Goodput "goodput_bps", "goodput", Rate, All, |r| r.goodput_bps;
    /// Jain's index of the hosts' goodput.
    GoodputJain "goodput_jain", "Jain's index", Ratio, All, |r| r.goodput_jain;
    /// Mean time of packets in the network.
    NetworkLatencyMean "network_latency_mean_ps", "network latency mean", Time, All, |r| r.network_latency_ps.map(|d| d.mean);
    /// Median time of packets in the network.
    NetworkLatencyP50 "network_latency_p50_ps", "network latency median", Time, All, |r| r.network_latency_ps.map(|d| d.p50);
    /// 99th percentile of the times of packets in the network.
    NetworkLatencyP99 "network_latency_p99_ps", "network latency p99", Time, All, |r| r.network_latency_ps.map(|d| d.p99);
    /// Mean round-trip time of TCP's segments.
    RttMean "rtt_mean_ps", "RTT mean", Time, All, |r| r.rtt_ps.map(|d| d.mean);
    /// Median round-trip time.
    RttP50 "rtt_p50_ps", "RTT median", Time, All, |r| r.rtt_ps.map(|d| d.p50);
    /// 99th percentile of the round-trip times.
    RttP99 "rtt_p99_ps", "RTT p99", Time, All, |r| r.rtt_ps.map(|d| d.p99);
    /// The round-trip time that all but one segment in 100,000 keep within.
    RttP99999 "rtt_p99999_ps", "RTT p99.999", Time, All, |r| r.rtt_p99999_ps;
    /// Longest round-trip time.
    RttMax "rtt_max_ps", "RTT max", Time, All, |r| r.rtt_ps.map(|d| d.max);
    /// Data packets lost.
    DroppedPackets "dropped_packets", "dropped packets", Count, All, |r| Some(r.packets.dropped as f64);
    /// Packets sent again.
    Retransmissions "retransmissions", "retransmissions", Count, All, |r| Some(r.retransmissions as f64);
    /// Control messages sent.
    ControlMessages "control_messages", "control messages", Count, All, |r| Some(r.control_total().messages as f64);
    /// Wire bytes of control messages.
    ControlBytes "control_bytes", "control", Bytes, All, |r| Some(r.control_total().bytes as f64);
}

impl Metric {
    /// The metric of this name, with or without the unit (`fct_mean_ps` or `fct_mean`).
    pub fn named(name: &str) -> Option<Self> {
        let bare = |m: Self| m.name().trim_end_matches("_ps").trim_end_matches("_bps");
        Self::ALL.iter().copied().find(|m| m.name() == name || bare(*m) == name)
    }

    /// What a table shows where nobody says: coflows where there are some, flows otherwise, and what went wrong.
    pub fn usual(runs: &[RunSummary]) -> Vec<Self> {
        let has = |metric: Self| runs.iter().any(|r| metric.value(r).is_some());
        let mut metrics = if has(Self::StepMean) {
            // A step is what everybody waits for.
            vec![Self::StepMean, Self::StepStretch, Self::CctMean, Self::CctP95, Self::FctMean]
        } else if runs.iter().any(|r| r.coflows.measured > 0) {
            vec![Self::CctMean, Self::CctP95, Self::Completion, Self::FctMean, Self::FctP99]
        } else if runs.iter().all(|r| r.window.measure_ps.is_none()) {
            // The workload ends: when it is done is the first question.
            vec![Self::Completion, Self::FctMean, Self::FctP99, Self::SlowdownMean, Self::Goodput]
        } else {
            vec![Self::FctMean, Self::FctP99, Self::SlowdownMean, Self::SlowdownP99, Self::Goodput]
        };
        metrics.push(Self::NetworkLatencyP50);
        metrics.retain(|m| has(*m));
        if runs.iter().any(|r| r.packets.dropped > 0) {
            metrics.push(Self::DroppedPackets);
        }
        metrics
    }

    fn unfinished(self, line: &Line) -> bool {
        match self.over() {
            Over::Flows => line.flows.unfinished > 0,
            Over::Coflows => line.coflows.unfinished > 0,
            Over::All => false,
        }
    }
}

/// What theory says that a metric cannot be better than.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What the bound is: `ideal`, `max-min rates`, ...
    pub label: String,
    /// What it bounds; by its name in files.
    #[serde(with = "by_name")]
    pub metric: Metric,
    /// Its value by sweep point, in the metric's unit (times: ps). Points without one have none.
    pub values: Vec<(IndexMap<String, String>, f64)>,
}

/// A metric in a file.
mod by_name {
    use super::Metric;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(metric: &Metric, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(metric.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(from)?;
        Metric::named(&name).ok_or_else(|| D::Error::custom(format!("there is no metric `{name}`")))
    }
}

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The scheme that differences are to; `None`: the one of the first run.
    pub baseline: Option<String>,
    /// Columns; empty: [`Metric::usual`].
    pub metrics: Vec<Metric>,
    /// Confidence level of the intervals; 0.95.
    pub level: f64,
    /// Margin of equivalence, relative to the baseline; 0.1.
    pub margin: f64,
    /// Bounds from theory.
    pub bounds: Vec<Bound>,
}

impl Default for Options {
    fn default() -> Self {
        Self { baseline: None, metrics: Vec::new(), level: LEVEL, margin: MARGIN, bounds: Vec::new() }
    }
}

/// One metric of one scheme at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The metric.
    pub metric: Metric,
    /// Its mean over seeds; `None` where no run has a value.
    pub value: Option<Interval>,
    /// The difference to the baseline over the seeds that both have; `None` for the baseline itself.
    pub difference: Option<Paired>,
    /// Whether it is the same as the baseline's within the margin.
    pub equivalence: Option<Equivalence>,
    /// The bound at this point, where there is one.
    pub bound: Option<f64>,
}

/// One scheme at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The sweep point.
    pub point: IndexMap<String, String>,
    /// The scheme.
    pub scheme: String,
    /// The seeds that were run, in ascending order; empty where no run is complete.
    pub seeds: Vec<u64>,
    /// Flows of all seeds together.
    pub flows: Counts,
    /// Coflows of all seeds together.
    pub coflows: Counts,
    /// By metric, in the order of the columns.
    pub cells: Vec<Cell>,
}

/// Schemes side by side. Lines are ordered as points and schemes first appear among the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    lines: Vec<Line>,
    metrics: Vec<Metric>,
    keys: Vec<String>,
    baseline: String,
    level: f64,
    margin: f64,
    bounds: Vec<Bound>,
    windows: Vec<WindowSummary>,
    seeds: usize,
}

fn total(runs: &BTreeMap<u64, &RunSummary>, counts: fn(&RunSummary) -> Counts) -> Counts {
    runs.values().map(|r| counts(r)).fold(Counts::default(), |a, b| Counts {
        arrived: a.arrived + b.arrived,
        measured: a.measured + b.measured,
        finished: a.finished + b.finished,
        unfinished: a.unfinished + b.unfinished,
    })
}

impl Comparison {
    /// Compares runs. Of several runs with the same point, scheme and seed, the last counts.
    pub fn new(runs: &[RunSummary], options: &Options) -> Self {
        type Group<'a> = (Vec<(&'a String, &'a String)>, &'a str);
        let mut groups: IndexMap<Group<'_>, BTreeMap<u64, &RunSummary>> = IndexMap::new();
        for run in runs {
            groups.entry((run.point.iter().collect(), &run.scheme)).or_default().insert(run.seed, run);
        }
        let points: IndexSet<&Vec<(&String, &String)>> = groups.keys().map(|(point, _)| point).collect();
        let schemes: IndexSet<&str> = runs.iter().map(|r| r.scheme.as_str()).collect();
        let keys: IndexSet<&String> = runs.iter().flat_map(|r| r.point.keys()).collect();
        let windows: IndexMap<(i64, Option<i64>, Option<i64>), WindowSummary> =
            runs.iter().map(|r| ((r.window.warmup_ps, r.window.measure_ps, r.window.drain_ps), r.window)).collect();
        let all_seeds: IndexSet<u64> = runs.iter().map(|r| r.seed).collect();
        let first = schemes.first().copied().unwrap_or_default();
        let baseline = options.baseline.as_deref().unwrap_or(first);
        let metrics = if options.metrics.is_empty() { Metric::usual(runs) } else { options.metrics.clone() };
        let mut lines = Vec::with_capacity(points.len() * schemes.len());
        for point in &points {
            let none = BTreeMap::new();
            let of = |scheme| groups.get(&((*point).clone(), scheme)).unwrap_or(&none);
            let base = of(baseline);
            for &scheme in &schemes {
                let mine = of(scheme);
                let point: IndexMap<String, String> =
                    point.iter().map(|(key, value)| ((*key).clone(), (*value).clone())).collect();
                let cell = |&metric: &Metric| {
                    let values: Vec<f64> = mine.values().filter_map(|r| metric.value(r)).collect();
                    let pairs = mine
                        .iter()
                        .filter(|_| scheme != baseline)
                        .filter_map(|(seed, run)| Some((metric.value(run)?, metric.value(base.get(seed)?)?)));
                    let (own, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
                    let bounds = options.bounds.iter().filter(|b| b.metric == metric);
                    let mut bounds =
                        bounds.flat_map(|b| &b.values).filter(|(at, _)| *at == point).map(|(_, value)| *value);
                    // Of several questions, each with a bound of its own, none is this line's for certain.
                    let bound = bounds.next().filter(|first| bounds.all(|other| other == *first));
                    Cell {
                        metric,
                        value: Interval::of(&values, options.level),
                        difference: paired(&own, &theirs, options.level),
                        equivalence: equivalence(&own, &theirs, options.margin, options.level),
                        bound,
                    }
                };
                let cells = metrics.iter().map(cell).collect();
                let (flows, coflows) = (total(mine, |r| r.flows), total(mine, |r| r.coflows));
                let seeds = mine.keys().copied().collect();
                lines.push(Line { point, scheme: scheme.to_owned(), seeds, flows, coflows, cells });
            }
        }
        Self {
            lines,
            metrics,
            keys: keys.into_iter().cloned().collect(),
            baseline: baseline.to_owned(),
            level: options.level,
            margin: options.margin,
            bounds: options.bounds.clone(),
            windows: windows.into_values().collect(),
            seeds: all_seeds.len(),
        }
    }

    /// All lines: every scheme at every point, also where no run is complete.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The scheme that differences are to.
    pub fn baseline(&self) -> &str {
        &self.baseline
    }

    /// The bounds from theory that it was made with.
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    /// For a terminal of `width` columns. Columns that do not fit follow in further tables; below about 50 columns cells are
    /// broken into lines.
    pub fn to_text(&self, width: usize) -> String {
        if self.lines.is_empty() {
            return "No run is complete.\n".to_owned();
        }
        let rows = self.rows();
        let fixed = self.keys.len() + 1;
        let widths: Vec<usize> = (0..rows[0].len()).map(|i| column_width(rows.iter().map(|r| r[i].as_str()))).collect();
        let left: usize = widths[..fixed].iter().sum();
        let mut text = String::new();
        let mut from = fixed;
        while from < widths.len() {
            let mut to = from + 1;
            while to < widths.len() && left + widths[from..=to].iter().sum::<usize>() <= width + 1 {
                to += 1;
            }
            if from > fixed {
                text.push('\n');
            }
            let fits = left + widths[from..to].iter().sum::<usize>() <= width + 1;
            self.table(&mut text, &rows, from..to, (!fits).then_some(width));
            from = to;
        }
        text.push('\n');
        for note in self.notes() {
            wrap(&mut text, &note, width);
        }
        text
    }

    /// All columns as texts, for tables of any kind: a header, then every line, and every bound at the end of its point. Swept keys and
    /// scheme at the left. The second line of a cell is the difference to the baseline; an empty row stands between points.
    pub fn rows(&self) -> Vec<Vec<String>> {
        type Get = fn(&Line) -> Counts;
        let counts: [(&str, Get); 2] = [("unfinished flows", |l| l.flows), ("unfinished coflows", |l| l.coflows)];
        let counts = counts.map(|(head, of)| (head, of, self.lines.iter().any(|l| of(l).unfinished > 0)));
        let counts = || counts.iter().filter(|(.., any)| *any);
        let mut head: Vec<String> = self.keys.iter().map(|key| self.short(key)).collect();
        head.push("scheme".to_owned());
        head.extend(self.metrics.iter().map(|m| m.label().to_owned()));
        head.extend(counts().map(|(head, ..)| (*head).to_owned()));
        let width = head.len();
        let mut rows = vec![head];
        let several = self.lines.windows(2).any(|pair| pair[0].point == pair[1].point) || !self.bounds.is_empty();
        for group in self.lines.chunk_by(|a, b| a.point == b.point) {
            if several && rows.len() > 1 {
                rows.push(vec![String::new(); width]);
            }
            for (i, line) in group.iter().enumerate() {
                let value = |key| line.point.get(key).filter(|_| i == 0).cloned().unwrap_or_default();
                let mut row: Vec<String> = self.keys.iter().map(value).collect();
                let differs = line.cells.iter().any(|c| c.difference.is_some());
                let second = if differs { format!("\n  vs {}", self.baseline) } else { String::new() };
                row.push(format!("{}{second}", line.scheme));
                row.extend(line.cells.iter().map(|cell| cell.show(line)));
                row.extend(counts().map(|(_, of, _)| format!("{} of {}", of(line).unfinished, of(line).measured)));
                rows.push(row);
            }
            for bound in &self.bounds {
                let Some((_, value)) = bound.values.iter().find(|(point, _)| *point == group[0].point) else {
                    continue;
                };
                let mut row = vec![String::new(); width];
                row[self.keys.len()] = format!("bound: {}", bound.label);
                for (cell, metric) in row[self.keys.len() + 1..].iter_mut().zip(&self.metrics) {
                    if *metric == bound.metric {
                        *cell = metric.quantity().show(*value, None);
                    }
                }
                rows.push(row);
            }
        }
        rows
    }

    /// The last part of a dotted key, where that is enough to tell the keys apart.
    fn short(&self, key: &str) -> String {
        let last = |k: &str| k.rsplit('.').next().unwrap_or_default().to_owned();
        let name = last(key);
        if self.keys.iter().filter(|k| last(k) == name).count() == 1 { name } else { key.to_owned() }
    }

    /// The columns at the left and those of `columns`, in `squeeze` columns of the terminal where they are too wide.
    fn table(&self, text: &mut String, rows: &[Vec<String>], columns: Range<usize>, squeeze: Option<usize>) {
        let fixed = self.keys.len() + 1;
        let mut table = Table::new();
        let rule = LineStyle::none().fill('─').junction('─');
        table.load_style(TableStyle::new().header_separator(rule)).force_no_tty();
        if let Some(width) = squeeze {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.min(1 << 15) as u16);
        }
        let cells = |row: &[String]| {
            let one_line = !row[columns.clone()].iter().any(|cell| cell.contains('\n'));
            let left = row[..fixed].iter().map(|cell| match cell.split_once('\n') {
                Some((name, _)) if one_line => name.to_owned(),
                _ => cell.clone(),
            });
            left.chain(row[columns.clone()].iter().cloned()).collect::<Vec<_>>()
        };
        table.set_header(cells(&rows[0]));
        for row in &rows[1..] {
            let nothing = row[columns.clone()].iter().all(String::is_empty);
            // A bound of other columns says nothing here; an empty row stands between points.
            if !(nothing && row.iter().any(|cell| !cell.is_empty())) {
                table.add_row(cells(row));
            }
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_cell_alignment(if i + 1 == fixed { CellAlignment::Left } else { CellAlignment::Right });
        }
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }

    /// What the reader has to know beside the numbers.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let percent = |share: f64| format!("{} %", (share * 1e4).round() / 1e2);
        notes.push(match self.seeds {
            1 => "One seed: nothing is known about chance.".to_owned(),
            n => format!("Means over {n} seeds, ± half of the {} interval (Student's t).", percent(self.level)),
        });
        if !self.lines.iter().any(|l| l.scheme == self.baseline) {
            notes
                .push(format!("There is no run of the baseline `{}`, and so there are no differences.", self.baseline));
        } else if self.lines.iter().any(|l| l.scheme != self.baseline) {
            let mut note = format!("vs {}: relative difference, seed by seed, on the same arrivals", self.baseline);
            if self.seeds > 1 {
                note += "; * more than chance (the interval excludes 0)";
                note += &format!(", = the same within {} (equivalence test)", percent(self.margin));
            }
            notes.push(note + ".");
        }
        let shows = |prefix: &str| self.metrics.iter().any(|m| m.name().starts_with(prefix));
        let words = [
            ("fct_", "FCT: from a flow's arrival to its last byte at the receiver"),
            ("cct_", "CCT: from a coflow's arrival to the end of its last flow"),
            ("slowdown_", "slowdown: FCT over that in an empty network"),
            ("completion_", "completion: from the first arrival to the last byte"),
            ("goodput_bps", "goodput: application bits, all hosts together"),
        ];
        let words: Vec<&str> = words.into_iter().filter(|(prefix, _)| shows(prefix)).map(|(_, text)| text).collect();
        if !words.is_empty() {
            notes.push(format!("{}.", words.join("; ")));
        }
        match self.windows[..] {
            [w] => {
                let time = Duration::from_ps;
                let counts = match (w.warmup_ps, w.measure_ps) {
                    (0, None) => "all arrivals count".to_owned(),
                    (from, None) => format!("arrivals from {} on count", time(from)),
                    (from, Some(m)) => format!("arrivals from {} to {} count", time(from), time(from + m)),
                };
                let drain = match w.drain_ps {
                    Some(drain) => format!("the run goes on for {} after that", time(drain)),
                    None => "the run ends when every flow is done".to_owned(),
                };
                notes.push(format!("Window: {counts}; {drain}."));
            }
            _ => notes.push("Window: not the same in all runs; see the manifest.".to_owned()),
        }
        let unfinished = |what: &str, counts: fn(&Line) -> Counts| {
            let count = |part: fn(Counts) -> u64| self.lines.iter().map(|l| part(counts(l))).sum::<u64>();
            let (measured, unfinished) = (count(|c| c.measured), count(|c| c.unfinished));
            match (measured, unfinished) {
                (0, _) => None,
                (_, 0) => Some(format!("All {measured} measured {what} of all runs finished.")),
                _ => Some(format!(
                    "! over finished {what} only: {unfinished} of {measured} measured {what} of all runs did not finish ({:.2} %).",
                    100.0 * unfinished as f64 / measured as f64
                )),
            }
        };
        notes.extend(unfinished("flows", |l| l.flows));
        notes.extend(unfinished("coflows", |l| l.coflows));
        for line in self.lines.iter().filter(|l| l.seeds.len() < self.seeds) {
            let at: Vec<String> =
                line.point.iter().map(|(key, value)| format!("{} = {value}", self.short(key))).collect();
            let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
            notes.push(format!("Missing: {}{at} has {} of {} seeds.", line.scheme, line.seeds.len(), self.seeds));
        }
        let lacks = |l: &Line, i: usize| l.cells[i].value.map_or(0, |v| v.count) < l.seeds.len() as u64;
        let lacking = (0..self.metrics.len()).filter(|&i| self.lines.iter().any(|l| lacks(l, i)));
        let lacking: Vec<&str> = lacking.map(|i| self.metrics[i].label()).collect();
        if !lacking.is_empty() {
            let names = lacking.join(", ");
            notes.push(format!("Not every run has a value of: {names}. Means are over those that have (-: none)."));
        }
        notes
    }

    /// Everything, for programs. Times are ps; keys carry units.
    pub fn to_json(&self) -> Value {
        let line = |line: &Line| {
            let cells: Map<String, Value> =
                line.cells.iter().map(|c| (c.metric.name().to_owned(), c.to_json())).collect();
            json!({
                "point": line.point,
                "scheme": line.scheme,
                "seeds": line.seeds,
                "flows": line.flows,
                "coflows": line.coflows,
                "metrics": cells,
            })
        };
        json!({
            "baseline": self.baseline,
            "level": self.level,
            "margin": self.margin,
            "windows": self.windows,
            "bounds": self.bounds.iter().map(|b| json!({ "label": b.label, "metric": b.metric.name() })).collect::<Vec<_>>(),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }

    /// One row per point, scheme and metric, with a header. Empty where a number does not exist.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let in_memory = "writing to memory";
        let fixed = "scheme metric seeds measured_flows unfinished_flows measured_coflows unfinished_coflows mean half_width \
                     difference difference_half_width relative_difference relative_half_width beyond_chance equivalent bound";
        let keys = self.keys.iter().map(String::as_str);
        writer.write_record(keys.chain(fixed.split_whitespace())).expect(in_memory);
        let real = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        for line in &self.lines {
            for cell in &line.cells {
                let point = self.keys.iter().map(|key| line.point.get(key).cloned().unwrap_or_default());
                let (difference, relative) =
                    (cell.difference.map(|d| d.absolute), cell.difference.and_then(|d| d.relative));
                let rest = [
                    line.scheme.clone(),
                    cell.metric.name().to_owned(),
                    cell.value.map_or(0, |v| v.count).to_string(),
                    line.flows.measured.to_string(),
                    line.flows.unfinished.to_string(),
                    line.coflows.measured.to_string(),
                    line.coflows.unfinished.to_string(),
                    real(cell.value.map(|v| v.mean)),
                    real(cell.value.and_then(|v| v.half_width)),
                    real(difference.map(|d| d.mean)),
                    real(difference.and_then(|d| d.half_width)),
                    real(relative.map(|d| d.mean)),
                    real(relative.and_then(|d| d.half_width)),
                    cell.is_beyond_chance().map_or(String::new(), |b| b.to_string()),
                    cell.equivalence.map_or(String::new(), |e| e.equivalent.to_string()),
                    real(cell.bound),
                ];
                writer.write_record(point.chain(rest)).expect(in_memory);
            }
        }
        String::from_utf8(writer.into_inner().expect(in_memory)).expect("written from text")
    }
}

impl Cell {
    /// Whether the interval of the difference (the relative one, where there is one) excludes 0; `None` where there is no interval.
    pub fn is_beyond_chance(&self) -> Option<bool> {
        let difference = self.difference?;
        let shown = difference.relative.unwrap_or(difference.absolute);
        shown.half_width.map(|_| shown.excludes_zero())
    }

    fn show(&self, line: &Line) -> String {
        let Some(value) = self.value else { return "-".to_owned() };
        let quantity = self.metric.quantity();
        let mut text = quantity.show(value.mean, value.half_width);
        if self.metric.unfinished(line) {
            text += " !";
        }
        if let Some(difference) = self.difference {
            text.push('\n');
            text += &match difference.relative {
                Some(relative) => show_relative(relative.mean, relative.half_width),
                None => quantity.show_difference(difference.absolute.mean, difference.absolute.half_width),
            };
            let same = self.equivalence.is_some_and(|e| e.equivalent);
            text += match (self.is_beyond_chance() == Some(true), same) {
                (true, true) => " *=",
                (true, false) => " *",
                (false, true) => " =",
                (false, false) => "",
            };
        }
        text
    }

    fn to_json(&self) -> Value {
        json!({
            "value": self.value,
            "difference": self.difference,
            "beyond_chance": self.is_beyond_chance(),
            "equivalence": self.equivalence,
            "bound": self.bound,
            "over_bound": self.value.zip(self.bound).map(|(value, bound)| value.mean / bound),
        })
    }
}

/// Width of a column in a terminal, with the space around it and after it.
fn column_width<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells.flat_map(str::lines).map(|line| line.chars().count()).max().unwrap_or(0) + 3
}

/// Adds `note` in lines of at most `width` characters, where its words allow.
fn wrap(text: &mut String, note: &str, width: usize) {
    let mut used = 0;
    for word in note.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            text.push_str("\n  ");
            used = 2;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text.push('\n');
}
