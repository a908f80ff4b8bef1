//! The table of results: one row for each parser, as Markdown.
//!
//! A row is written when its parser is done, so that a long run can be followed.

use crate::target::Target;
use crate::watch::Tally;

const COLUMNS: [&str; 11] = [
    "parser",
    "inputs",
    "past the first step",
    "accepted",
    "panics",
    "wrong",
    "hangs",
    "aborts",
    "s",
    "inputs/s",
    "slowest, ms",
];

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The head of the table.
pub(crate) fn head() -> String {
    let rule = COLUMNS.iter().enumerate().map(|(i, _)| if i == 0 { "---" } else { "---:" }.to_owned());
    row(&COLUMNS.map(str::to_owned)) + &row(&rule.collect::<Vec<_>>())
}

/// The row of a target.
pub(crate) fn line(target: &Target, report: &Tally) -> String {
    let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / report.tried.max(1) as f64);
    let speed = report.tried as f64 / report.seconds.max(1e-3);
    row(&[
        target.name.to_owned(),
        report.tried.to_string(),
        share(report.past_first),
        share(report.accepted),
        report.panics.to_string(),
        report.wrong.to_string(),
        report.hangs.to_string(),
        report.aborts.to_string(),
        format!("{:.1}", report.seconds),
        format!("{speed:.0}"),
        format!("{:.1}", report.slowest.as_secs_f64() * 1e3),
    ])
}
