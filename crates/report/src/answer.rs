//! The comparison in sentences and as a table, in HTML that needs no script. Numbers are those of
//! the comparison in the terminal.

use crate::html::escape;
use std::fmt::Write;
use timeplane_experiment::{Cell, Comparison, Line};
use timeplane_results::Metric;

/// The largest number of points with sentences; the table has all points.
const SENTENCES: usize = 8;

/// The place of the picture, the sentences, the table and its notes.
pub fn answer(comparison: &Comparison) -> String {
    // The page's script draws it.
    let mut html = String::from("<div id=\"picture\"></div>\n");
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
    if let Some(ahead) = runner_up(lines, at, best, comparison.baseline(), higher) {
        let _ = write!(text, " {ahead}");
    }
    let others: Vec<String> = valued().filter_map(|(line, cell, _)| against(line, cell)).collect();
    if !others.is_empty() {
        let _ = write!(text, " Against {}: {}.", escape(comparison.baseline()), others.join("; "));
    }
    let unfinished = lines.iter().filter(|l| l.flows.unfinished > 0 || l.coflows.unfinished > 0);
    let unfinished: Vec<String> = unfinished.map(|l| escape(&l.scheme)).collect();
    if !unfinished.is_empty() {
        let _ = write!(text, " Not all flows finished under {}.", unfinished.join(", "));
    }
    Some(text)
}

/// A sentence on the distance of the best scheme from the second one. `None` if the differences
/// from the baseline say it, or if unfinished flows leave open which scheme is best.
fn runner_up(lines: &[Line], at: usize, best: &Line, baseline: &str, higher: bool) -> Option<String> {
    let best_cell = &best.cells[at];
    let others = lines.iter().filter(|l| l.scheme != best.scheme);
    let (second, cell, value) = others
        .filter_map(|l| Some((l, &l.cells[at], l.cells[at].value?)))
        .min_by(|a, b| if higher { b.2.mean.total_cmp(&a.2.mean) } else { a.2.mean.total_cmp(&b.2.mean) })?;
    if best_cell.lower_bound || best.scheme == baseline || second.scheme == baseline {
        return None;
    }
    let mean = best_cell.value?.mean;
    let share = 100.0 * (mean - value.mean).abs() / value.mean.abs();
    if !share.is_finite() {
        return None;
    }
    let at_least = if cell.lower_bound { "at least " } else { "" };
    let side = if higher { "above" } else { "below" };
    let (near, far) =
        if higher { (best_cell.value?.low(), value.high()) } else { (value.low(), best_cell.value?.high()) };
    let overlap = match (near, far) {
        (Some(near), Some(far)) if near <= far => "; their intervals overlap",
        (Some(_), Some(_)) => "",
        _ => "; one seed",
    };
    Some(format!("That is {at_least}{share:.1} % {side} the second, {}{overlap}.", escape(&second.scheme)))
}

/// The text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_experiment::ComparisonOptions;
    use timeplane_results::{FlowRow, RunFacts, RunSummary, Summarizer, WindowSummary};

    /// A run of four flows that ends after 5 us. The first flow takes 1 us, the others `fct_ps`.
    fn run(scheme: &str, fct_ps: Option<i64>) -> RunSummary {
        let mut summarizer = Summarizer::new();
        for flow in 0..4 {
            summarizer.flow(&FlowRow {
                flow,
                coflow: None,
                source: 0,
                destination: 1,
                size_bytes: 1000,
                start_ps: 0,
                fct_ps: if flow == 0 { Some(1_000_000) } else { fct_ps },
                acknowledged_ps: None,
                received_bytes: 1000,
                ideal_ps: 1_000_000,
                measured: true,
                retransmissions: 0,
                timeouts: 0,
            });
        }
        let window = WindowSummary { measure_ps: Some(1_000_000), ..WindowSummary::default() };
        summarizer.finish(RunFacts { scheme: scheme.into(), window, simulated_ps: 5_000_000, ..RunFacts::default() })
    }

    fn sentences(runs: &[RunSummary]) -> String {
        answer(&Comparison::new(runs, &ComparisonOptions::default()))
    }

    #[test]
    fn the_best_scheme_is_compared_with_the_second() {
        let [tcp, second, best] =
            [("tcp", 5_000_000), ("rates", 2_000_000), ("slots", 1_000_000)].map(|(n, t)| run(n, Some(t)));
        let html = sentences(&[tcp.clone(), second.clone(), best.clone()]);
        // Means of 1 us, and of 1 and three times 2 us.
        assert!(html.contains("That is 42.9 % below the second, rates; one seed. Against tcp:"), "{html}");
        // The difference from the baseline already says it, or nobody knows.
        assert!(!sentences(&[tcp.clone(), best.clone()]).contains("the second"));
        assert!(!sentences(&[best.clone(), tcp.clone(), second]).contains("the second"));
        assert!(!sentences(&[tcp, best, run("waits", None)]).contains("the second, waits"));
    }

    #[test]
    fn a_scheme_with_unfinished_flows_is_not_called_the_best() {
        let tcp = run("tcp", Some(4_600_000));
        let html = sentences(&[tcp.clone(), run("planned", Some(1_000_000))]);
        assert!(html.contains("FCT mean is lowest under <b>planned</b>: 1.00 us."), "{html}");
        assert!(html.contains("Against tcp: planned -73.0 % (one seed)."), "{html}");
        // Three of four flows have waited for 5 us each.
        let slow = run("tcp", Some(4_999_999_999));
        let html = sentences(&[slow, run("planned", None)]);
        assert!(html.contains("FCT mean has no known lowest; under <b>planned</b> it is at least 4.00 us."), "{html}");
        assert!(html.contains("planned -99.9 % (not tested: unfinished flows)"), "{html}");
        // A lower bound above the mean of another scheme does not matter.
        let html = sentences(&[tcp, run("planned", None)]);
        assert!(html.contains("FCT mean is lowest under <b>tcp</b>: 3.70 us."), "{html}");
        assert!(html.contains("&gt;= 4.00 us !"), "{html}");
        let html = sentences(&[run("planned", None)]);
        assert!(html.contains("FCT mean under <b>planned</b> is at least 4.00 us."), "{html}");
    }
}
