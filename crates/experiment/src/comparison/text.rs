//! The comparison as a table for people.

use super::{Cell, Comparison, Line};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use std::ops::Range;
use timeplane_model::Duration;
use timeplane_results::{Counts, Metric, Scope, show_relative};

impl Comparison {
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
            1 => "One seed: no confidence interval.".to_owned(),
            n => format!("Means over {n} seeds, ± half of the {} interval (Student's t).", percent(self.level)),
        });
        if !self.lines.iter().any(|l| l.scheme == self.baseline) {
            notes
                .push(format!("There is no run of the baseline `{}`, and so there are no differences.", self.baseline));
        } else if self.lines.iter().any(|l| l.scheme != self.baseline) {
            let mut note = format!("vs {}: relative difference, seed by seed, on the same arrivals", self.baseline);
            if self.seeds > 1 {
                note += "; * significant (the interval excludes 0)";
                note += &format!(", = equivalent within {}", percent(self.margin));
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
                    Some(drain) => format!("the run continues for {}", time(drain)),
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
}

impl Cell {
    fn show(&self, line: &Line) -> String {
        let Some(value) = self.value else { return "-".to_owned() };
        let quantity = self.metric.quantity();
        let mut text = quantity.show(value.mean, value.half_width);
        if leaves_out(self.metric, line) {
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

/// Whether a metric's mean leaves out flows or coflows of a line that did not finish.
fn leaves_out(metric: Metric, line: &Line) -> bool {
    match metric.scope() {
        Scope::Flows => line.flows.unfinished > 0,
        Scope::Coflows => line.coflows.unfinished > 0,
        Scope::Run => false,
    }
}
