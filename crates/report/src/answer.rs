//! The comparison in sentences and as a table, in HTML that needs no script. Numbers are those of
//! the comparison in the terminal.

use crate::html::escape;
use std::fmt::Write;
use timeplane_experiment::{Cell, Comparison, Line};
use timeplane_results::Metric;

/// The largest number of points with sentences; the table has all points.
const SENTENCES: usize = 8;

/// The sentences, the table and its notes.
pub fn answer(comparison: &Comparison) -> String {
    let mut html = String::new();
    let points: Vec<&[Line]> = comparison.lines().chunk_by(|a, b| a.point == b.point).collect();
    for lines in points.iter().take(SENTENCES) {
        if let Some(sentence) = sentence(lines, comparison, points.len() > 1) {
            let _ = writeln!(html, "<p class=\"answer\">{sentence}</p>");
        }
    }
    if points.len() > SENTENCES {
        let _ = writeln!(html, "<p>{} more points are in the table.</p>", points.len() - SENTENCES);
    }
    html += &table(comparison);
    html += "<ul class=\"notes\">";
    for note in comparison.notes() {
        let _ = write!(html, "<li>{}</li>", escape(&note));
    }
    html += "</ul>\n";
    html
}

/// A sentence on the best scheme by the first metric that has values, its distance from the bound,
/// and the differences of other schemes from the baseline.
fn sentence(lines: &[Line], comparison: &Comparison, several: bool) -> Option<String> {
    let cells = &lines.first()?.cells;
    let at = (0..cells.len()).find(|&i| lines.iter().any(|l| l.cells[i].value.is_some()))?;
    let metric = cells[at].metric;
    let higher = matches!(metric, Metric::Goodput | Metric::GoodputJain);
    let valued = || lines.iter().filter_map(|l| Some((l, &l.cells[at], l.cells[at].value?)));
    let (best, cell, value) = valued().min_by(|a, b| {
        let order = a.2.mean.total_cmp(&b.2.mean);
        if higher { order.reverse() } else { order }
    })?;
    let mut text = String::new();
    if several {
        let point: Vec<String> = best.point.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        let _ = write!(text, "At {}: ", escape(&point.join(", ")));
    }
    let extreme = if higher { "highest" } else { "lowest" };
    let (label, shown) = (escape(&capital(metric.label())), escape(&metric.show(value.mean)));
    let scheme = escape(&best.scheme);
    let _ = match (valued().count(), cell.lower_bound) {
        (1, false) => write!(text, "{label} under <b>{scheme}</b> is {shown}"),
        (_, false) => write!(text, "{label} is {extreme} under <b>{scheme}</b>: {shown}"),
        (1, true) => write!(text, "{label} under <b>{scheme}</b> is at least {shown}"),
        // Another scheme may be better once all flows have finished.
        (_, true) => write!(text, "{label} has no known {extreme}; under <b>{scheme}</b> it is at least {shown}"),
    };
    match cell.bound {
        Some(bound) if bound > 0.0 => {
            let labels = comparison.bounds().iter().filter(|b| b.metric == metric).map(|b| b.label.as_str());
            let label = escape(labels.into_iter().next().unwrap_or("theory"));
            let at_least = if cell.lower_bound { "at least " } else { "" };
            let _ = write!(
                text,
                ", {at_least}{:.3} times the bound of {} ({label}).",
                value.mean / bound,
                escape(&metric.show(bound))
            );
        }
        _ => text.push('.'),
    }
    let others: Vec<String> = valued().filter_map(|(line, cell, _)| against(line, cell)).collect();
    if !others.is_empty() {
        let _ = write!(text, " Against {}: {}.", escape(comparison.baseline()), others.join("; "));
    }
    let unfinished = lines.iter().filter(|l| l.flows.unfinished + l.coflows.unfinished > 0);
    let unfinished: Vec<String> = unfinished.map(|l| escape(&l.scheme)).collect();
    if !unfinished.is_empty() {
        let _ = write!(text, " Not all flows finished under {}.", unfinished.join(", "));
    }
    Some(text)
}

/// The text with a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The relative difference of a line from the baseline, and what a test says about it.
fn against(line: &Line, cell: &Cell) -> Option<String> {
    let share = cell.difference?.relative?.mean;
    let test = match cell.significant {
        Some(true) => "",
        Some(false) => " (not significant)",
        None if cell.untested => " (not tested: unfinished flows)",
        None => " (one seed)",
    };
    Some(format!("{} {:+.1} %{test}", escape(&line.scheme), 100.0 * share))
}

/// The table as it is in a terminal.
fn table(comparison: &Comparison) -> String {
    let rows = comparison.rows();
    let metrics = comparison.lines().first().map_or(0, |l| l.cells.len());
    let header = &rows[0];
    // Swept keys and the scheme come before the metrics, counts of unfinished flows after them.
    let unfinished = header.iter().rev().take_while(|h| h.starts_with("unfinished ")).count();
    let fixed = header.len().saturating_sub(metrics + unfinished);
    let mut html = String::from("<div class=\"scroll\" tabindex=\"0\"><table id=\"comparison\">\n<thead><tr>");
    for cell in header {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape(cell));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &rows[1..] {
        if row.iter().all(String::is_empty) {
            html += "</tbody>\n<tbody>\n";
            continue;
        }
        let bound = row[fixed.saturating_sub(1)].starts_with("bound: ") && row.iter().all(|c| !c.contains('\n'));
        // Bounds of metrics without a column are left out, as in the terminal.
        if bound && row[fixed..].iter().all(String::is_empty) {
            continue;
        }
        html += if bound { "<tr class=\"bound\">" } else { "<tr>" };
        for (i, cell) in row.iter().enumerate() {
            let (first, second) = cell.split_once('\n').unwrap_or((cell, ""));
            let tag = if i + 1 == fixed { "th scope=\"row\"" } else { "td" };
            let _ = write!(html, "<{tag}>{}", escape(first));
            if !second.trim().is_empty() {
                let strong = if second.contains('*') { " class=\"beyond\"" } else { "" };
                let _ = write!(html, "<br><small{strong}>{}</small>", escape(second.trim()));
            }
            html += if i + 1 == fixed { "</th>" } else { "</td>" };
        }
        html += "</tr>\n";
    }
    html += "</tbody></table></div>\n";
    html
}
