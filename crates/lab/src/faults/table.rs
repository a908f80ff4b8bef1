//! The table of faults: what their rounds have shown.
//!
//! The time that the plan alone gives is the median of all rounds of a fault before it happens.

use super::Round;
use crate::bed::ROUND;
use comfy_table::{Table, presets};
use serde::Serialize;

/// What all rounds of a fault have shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the fault.
    pub fault: String,
    /// Number of rounds.
    pub rounds: usize,
    /// Frames in foreign slots, by the observer.
    pub observed: u64,
    /// Frames in foreign slots, by captures.
    pub captured: u64,
    /// Frames that captures have missed.
    pub missed: u64,
    /// Bytes that were said to be delivered, and that no program has read.
    pub lost_bytes: u64,
    /// Bytes that nobody sent, streams that came twice, and ends without an error.
    pub wrong: u64,
    /// Streams that were delivered.
    pub streams: u64,
    /// Streams whose senders were told of an error.
    pub refused: u64,
    /// Rounds after which streams of all pairs were delivered.
    pub recovered: usize,
    /// Median recovery in milliseconds.
    pub recovery_ms_p50: f64,
    /// Longest recovery in milliseconds.
    pub recovery_ms_max: f64,
    /// Median recovery in rounds of slots.
    pub recovery_rounds_p50: f64,
    /// Longest recovery in rounds of slots.
    pub recovery_rounds_max: f64,
    /// Longest silence that the plan alone gives, in milliseconds: the median of rounds.
    pub usual_ms: f64,
    /// Longest silence of a host that is not affected, in milliseconds: the median of rounds.
    pub others_ms_p50: f64,
    /// How much the schedules of running controllers slipped in a round, in milliseconds, at most.
    pub slipped_ms_max: f64,
    /// Longest delay of a thread with the daemons' priority, in milliseconds: the median of rounds.
    pub lag_ms_p50: f64,
    /// The same, at most.
    pub lag_ms_max: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Sums up the rounds of a fault.
pub fn row(fault: &str, rounds: &[&Round]) -> Row {
    let values = |of: fn(&Round) -> f64| rounds.iter().map(|r| of(r)).collect::<Vec<f64>>();
    let sum = |of: fn(&Round) -> u64| rounds.iter().map(|r| of(r)).sum();
    let usual_ms = median(values(|r| r.usual_ms));
    let recovery: Vec<f64> = rounds.iter().map(|r| (r.silence_ms - usual_ms).max(0.0)).collect();
    let (p50, max, round_ms) = (median(recovery.clone()), highest(&recovery), ROUND.as_secs_f64() * 1e3);
    Row {
        fault: fault.to_owned(),
        rounds: rounds.len(),
        observed: sum(|r| r.observed),
        captured: sum(|r| r.captured),
        missed: sum(|r| r.missed),
        lost_bytes: sum(|r| r.lost_bytes),
        wrong: sum(|r| r.wrong),
        streams: sum(|r| r.streams),
        refused: sum(|r| r.refused),
        recovered: rounds.iter().filter(|r| r.recovered).count(),
        recovery_ms_p50: p50,
        recovery_ms_max: max,
        recovery_rounds_p50: p50 / round_ms,
        recovery_rounds_max: max / round_ms,
        usual_ms,
        others_ms_p50: median(values(|r| r.others_ms)),
        slipped_ms_max: highest(&values(|r| r.slipped_ms)),
        lag_ms_p50: median(values(|r| r.lag_ms)),
        lag_ms_max: highest(&values(|r| r.lag_ms)),
    }
}

/// The rows as a table of text.
pub fn text(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "fault",
        "rounds",
        "foreign (observer / captures)",
        "lost B",
        "wrong",
        "streams",
        "refused",
        "recovered",
        "recovery ms p50 / max",
        "in rounds",
        "plan alone ms",
        "lag ms p50 / max",
        "slipped ms max",
    ]);
    for r in rows {
        table.add_row([
            r.fault.clone(),
            r.rounds.to_string(),
            format!("{} / {}{}", r.observed, r.captured, if r.missed > 0 { "?" } else { "" }),
            r.lost_bytes.to_string(),
            r.wrong.to_string(),
            r.streams.to_string(),
            r.refused.to_string(),
            r.recovered.to_string(),
            format!("{:.0} / {:.0}", r.recovery_ms_p50, r.recovery_ms_max),
            format!("{:.1} / {:.1}", r.recovery_rounds_p50, r.recovery_rounds_max),
            format!("{:.0}", r.usual_ms),
            format!("{:.1} / {:.1}", r.lag_ms_p50, r.lag_ms_max),
            format!("{:.1}", r.slipped_ms_max),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_is_silence_beyond_the_plans() {
        let round = |silence_ms, usual_ms| Round { silence_ms, usual_ms, recovered: true, ..Round::default() };
        let rounds = [round(45.2, 10.0), round(12.0, 11.0), round(5.0, 200.0)];
        let row = row("some", &rounds.iter().collect::<Vec<_>>());
        // The plan's is 11 ms; the disturbed third round does not make it longer.
        assert_eq!((row.usual_ms, row.recovery_ms_p50), (11.0, 1.0));
        assert!((row.recovery_ms_max - 34.2).abs() < 1e-9 && (row.recovery_rounds_max - 34.2 / 17.6).abs() < 1e-9);
        assert_eq!((row.rounds, row.recovered, row.lost_bytes), (3, 3, 0));
        assert!(text(&[row]).contains("1 / 34"));
    }

    #[test]
    fn captures_that_missed_frames_are_marked() {
        let round = Round { missed: 1, ..Round::default() };
        assert!(text(&[row("some", &[&round])]).contains("0 / 0?"));
    }
}
