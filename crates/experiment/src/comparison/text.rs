//! The comparison as a table of text, fitted to the width of a terminal. Reports and notebooks use
//! the same rows.

use super::{Cell, Comparison, Line};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use std::ops::Range;
use timeplane_model::printable_line;
use timeplane_results::{Counts, show_relative};

impl Comparison {
    /// The table and its notes for a terminal of `width` columns. Columns that do not fit follow in
    /// another table. Below about 50 columns, cells have several lines.
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

    /// All cells as text: the header, then for each point its lines and bounds. The first columns
    /// are the swept keys and the scheme. The second line of a cell is the difference from the
    /// baseline. An empty row separates points.
    pub fn rows(&self) -> Vec<Vec<String>> {
        type Get = fn(&Line) -> Counts;
        let counts: [(&str, Get); 2] = [("unfinished flows", |l| l.flows), ("unfinished coflows", |l| l.coflows)];
        let counts = counts.map(|(head, of)| (head, of, self.lines.iter().any(|l| of(l).unfinished > 0)));
        let counts = || counts.iter().filter(|(.., any)| *any);
        let name = |text: &str| printable_line(text).into_owned();
        let mut head: Vec<String> = self.keys.iter().map(|key| name(&self.short(key))).collect();
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
                let value = |key| line.point.get(key).filter(|_| i == 0).map(|v| name(v)).unwrap_or_default();
                let mut row: Vec<String> = self.keys.iter().map(value).collect();
                let differs = line.cells.iter().any(|c| c.difference.is_some());
                let second = if differs { format!("\n  vs {}", name(&self.baseline)) } else { String::new() };
                row.push(format!("{}{second}", name(&line.scheme)));
                row.extend(line.cells.iter().map(|cell| cell.show()));
                row.extend(counts().map(|(_, of, _)| format!("{} of {}", of(line).unfinished, of(line).measured)));
                rows.push(row);
            }
            for bound in &self.bounds {
                let Some((_, value)) = bound.values.iter().find(|(point, _)| *point == group[0].point) else {
                    continue;
                };
                let mut row = vec![String::new(); width];
                row[self.keys.len()] = format!("bound: {}", name(&bound.label));
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

    /// The last part of a dotted key if it is unique, otherwise the key.
    pub(super) fn short(&self, key: &str) -> String {
        let last = |k: &str| k.rsplit('.').next().unwrap_or_default().to_owned();
        let name = last(key);
        if self.keys.iter().filter(|k| last(k) == name).count() == 1 { name } else { key.to_owned() }
    }

    /// The first columns and those of `columns`. `squeeze` is the width to squeeze a table into
    /// that is too wide.
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
            // Leaves out a bound of other columns. An empty row separates points.
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
}

impl Cell {
    fn show(&self) -> String {
        let Some(value) = self.value else { return "-".to_owned() };
        let quantity = self.metric.quantity();
        let at_least = if self.lower_bound { ">= " } else { "" };
        let mut text = format!("{at_least}{}", quantity.show(value.mean, value.half_width));
        if self.unfinished {
            text += " !";
        }
        if let Some(difference) = self.difference {
            text.push('\n');
            text += &match difference.relative {
                Some(relative) => show_relative(relative.mean, relative.half_width),
                None => quantity.show_difference(difference.absolute.mean, difference.absolute.half_width),
            };
            let same = self.equivalence.is_some_and(|e| e.equivalent);
            text += match (self.significant == Some(true), same) {
                _ if self.untested => " ?",
                (true, true) => " *=",
                (true, false) => " *",
                (false, true) => " =",
                (false, false) => "",
            };
        }
        text
    }
}

/// The width of a column in a terminal, with padding.
fn column_width<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells.flat_map(str::lines).map(|line| line.chars().count()).max().unwrap_or(0) + 3
}

/// Appends `note` in lines of at most `width` characters. A longer word has its own line.
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
