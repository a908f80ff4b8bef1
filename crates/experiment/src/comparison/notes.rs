//! The notes below a comparison: how to read its numbers, and what is missing in them. A note
//! appears only where the table needs it.

use super::{Comparison, Line, SharedTraffic, UNFINISHED_SHARE};
use timeplane_model::{Duration, printable_line};
use timeplane_results::Counts;

/// What the metrics of a prefix mean.
const MEANINGS: &[(&str, &str)] = &[
    ("fct_", "FCT: from a flow's arrival to its last byte at the receiver"),
    ("cct_", "CCT: from a coflow's arrival to the end of its last flow"),
    ("slowdown_", "slowdown: FCT divided by the FCT in an empty network"),
    ("completion_", "completion: from the first arrival to the last byte"),
    ("goodput_bps", "goodput: application bits, over all hosts"),
];

impl Comparison {
    /// The notes, one sentence or two each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![self.interval_note()];
        notes.extend(self.baseline_note());
        notes.extend(self.context.differences().into_iter().map(|d| format!("Schemes differ in {d}.")));
        let shows = |prefix: &str| self.metrics.iter().any(|m| m.name().starts_with(prefix));
        let meanings: Vec<&str> = MEANINGS.iter().filter(|(prefix, _)| shows(prefix)).map(|(_, text)| *text).collect();
        if !meanings.is_empty() {
            notes.push(format!("{}.", meanings.join("; ")));
        }
        notes.push(self.window_note());
        notes.extend(self.unfinished_note("flows", |l| l.flows));
        notes.extend(self.unfinished_note("coflows", |l| l.coflows));
        let cells = || self.lines.iter().flat_map(|l| &l.cells);
        if cells().any(|c| c.lower_bound) {
            let waited = "an unfinished flow or coflow counts with the time from its arrival to the end of its run";
            notes.push(format!(">= lower bound: {waited}."));
        }
        if cells().any(|c| c.untested) {
            let share = percent(UNFINISHED_SHARE);
            notes.push(format!(
                "? not tested: on either side more than {share} did not finish, or a percentile is a lower bound."
            ));
        }
        notes.extend(self.missing_notes());
        notes.iter().map(|note| printable_line(note).into_owned()).collect()
    }

    fn interval_note(&self) -> String {
        match self.seeds {
            1 => "One seed: no confidence interval.".to_owned(),
            n => {
                let level = percent(self.level);
                let varied = self.context.varied().map_or_else(String::new, |varied| format!(" {varied}"));
                format!("Means over {n} seeds ± half-width of the {level} confidence interval (Student's t).{varied}")
            }
        }
    }

    fn baseline_note(&self) -> Option<String> {
        if !self.lines.iter().any(|l| l.scheme == self.baseline) {
            return Some(format!("There is no run of the baseline `{}`: no differences are shown.", self.baseline));
        }
        let others = self.lines.iter().any(|l| l.scheme != self.baseline);
        let tests = if self.tests > 0 {
            let (alpha, margin) = (percent(1.0 - self.level), percent(self.margin));
            let tests = self.tests;
            format!("; * significant at {alpha} by Holm's correction for {tests} tests, = equivalent within {margin}")
        } else {
            String::new()
        };
        let baseline = &self.baseline;
        let traffic = match self.context.traffic() {
            SharedTraffic::Arrivals => ", on the same arrivals",
            SharedTraffic::Work => ", on the same work",
            SharedTraffic::Unknown => "",
        };
        others.then(|| format!("vs {baseline}: relative difference, paired by seed{traffic}{tests}."))
    }

    fn window_note(&self) -> String {
        let [w] = self.windows[..] else { return "Window: differs between runs; see the manifest.".to_owned() };
        let time = Duration::from_ps;
        let counts = match (w.warmup_ps, w.measure_ps) {
            (0, None) => "all arrivals count".to_owned(),
            (from, None) => format!("arrivals from {} on count", time(from)),
            (from, Some(m)) => format!("arrivals from {} to {} count", time(from), time(from + m)),
        };
        let drain = match w.drain_ps {
            Some(drain) => format!("the run continues for {}", time(drain)),
            None => "the run ends with the last flow".to_owned(),
        };
        format!("Window: {counts}; {drain}.")
    }

    fn unfinished_note(&self, what: &str, counts: fn(&Line) -> Counts) -> Option<String> {
        let count = |part: fn(Counts) -> u64| self.lines.iter().map(|l| part(counts(l))).fold(0, u64::saturating_add);
        let (measured, unfinished) = (count(|c| c.measured), count(|c| c.unfinished));
        match (measured, unfinished) {
            (0, _) => None,
            (_, 0) => Some(format!("All {measured} measured {what} of all runs finished.")),
            _ => Some(format!(
                "! unfinished {what} on either side: {unfinished} of {measured} measured {what} of all runs did not finish ({:.2} %).",
                100.0 * unfinished as f64 / measured as f64
            )),
        }
    }

    fn missing_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
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
            notes.push(format!("Some runs have no value of {names}: means are over the others (-: none)."));
        }
        notes
    }
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 1e2)
}
