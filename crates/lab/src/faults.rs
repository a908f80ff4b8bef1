//! Faults of daemons, interfaces, networks and disks on a [`Bed`], again and again, and what each
//! of them costs.
//!
//! [`FAULTS`] lists them, [`Rounds`] carries them out, and [`row`] sums rounds up.
//!
//! Recovery is the longest time without a data frame from a host that the fault affects, less the
//! longest such time that the plan alone gives. A fault that silences a host by its nature counts
//! from its repair.

pub(crate) mod list;
mod table;

pub use list::{Affected, FAULTS, Fault, Since};
pub use table::{Row, row, text};

use crate::bed::{Bed, HOSTS};
use crate::captures::{self, Foreign, Frame, Seen};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration as Wait;
use timeplane_live::daemons::Failure;

/// What a round has shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Name of the fault.
    pub fault: String,
    /// Number of the round, from 0.
    pub round: u32,
    /// Frames in foreign slots, by the observer.
    pub observed: u64,
    /// Frames in foreign slots, by captures.
    pub captured: u64,
    /// Longest time from the closing of a class to a frame in a foreign slot, by captures, in
    /// milliseconds. It is very long if the class was never open.
    #[serde(default)]
    pub late_ms: f64,
    /// Frames that captures have missed, so that their judgment may be wrong.
    pub missed: u64,
    /// Bytes that were said to be delivered, and that no program has read.
    pub lost_bytes: u64,
    /// Bytes that nobody sent, streams that came twice, and ends without an error.
    pub wrong: u64,
    /// Streams that were delivered.
    pub streams: u64,
    /// Streams whose senders were told of an error.
    pub refused: u64,
    /// Whether streams of all pairs were delivered afterwards.
    pub recovered: bool,
    /// Longest silence of an affected host because of the fault, in milliseconds.
    pub silence_ms: f64,
    /// The same before the fault.
    pub usual_ms: f64,
    /// Longest silence of a host that is not affected, in milliseconds.
    pub others_ms: f64,
    /// How much the schedules of running controllers slipped, in milliseconds.
    pub slipped_ms: f64,
    /// Longest delay of a thread with the daemons' priority, in milliseconds.
    pub lag_ms: f64,
    /// The first frames in foreign slots, for a reader.
    pub examples: Vec<String>,
}

impl Round {
    /// Whether nothing was lost, wrong or in a foreign slot, and all went on.
    pub fn is_clean(&self) -> bool {
        self.observed + self.captured + self.lost_bytes + self.wrong == 0 && self.recovered
    }
}

/// What is known of a bed from its rounds so far.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Of the last round.
    foreign: Vec<Foreign>,
    before: Totals,
}

/// Counters that only rise.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    observed: u64,
    missed: u64,
    lost_bytes: u64,
    wrong: u64,
    streams: u64,
    refused: u64,
}

/// How long streams of all pairs may take, before the fault and after it.
const PATIENCE: Wait = Wait::from_secs(20);
/// Signals to show before a foreign frame, in nanoseconds.
const BEFORE: u64 = 15_000_000;
/// How long the plan alone is watched.
const USUAL: Wait = Wait::from_millis(400);

/// Starts a bed for a fault.
///
/// # Errors
/// If it does not start.
pub fn bed(program: &Path, name: &str, fault: &Fault) -> Result<Bed, Failure> {
    let mut bed = Bed::start(program, name, |_| {})?;
    (fault.begin)(&mut bed)?;
    Ok(bed)
}

impl Rounds {
    /// Rounds on a bed on which others have been before.
    ///
    /// # Errors
    /// If the bed's counters cannot be read.
    pub fn on(bed: &Bed) -> Result<Self, Failure> {
        Ok(Self { before: totals(bed)?, ..Self::default() })
    }

    /// Carries out a fault, repairs it, and waits until all goes on.
    ///
    /// # Errors
    /// If the bed cannot be changed: its next round needs a new one.
    pub fn run(&mut self, bed: &mut Bed, fault: &Fault, round: u32) -> Result<Round, Failure> {
        (fault.prepare)(bed)?;
        bed.all_deliver(PATIENCE);
        bed.settle();
        let usual_from = captures::now();
        std::thread::sleep(USUAL);
        let (slipped, _) = (bed.slipped(), bed.lag.take());
        let struck = captures::now();
        (fault.strike)(bed)?;
        std::thread::sleep(fault.lasts);
        let repaired = captures::now();
        (fault.repair)(bed)?;
        let recovered = bed.all_deliver(PATIENCE);
        std::thread::sleep(Wait::from_millis(200));
        let (end, lag) = (captures::now(), bed.lag.take());
        let slipped = bed.slipped().saturating_sub(slipped);
        let (seen, foreign) = bed.judged(end);
        self.foreign = foreign;
        let since = match fault.since {
            Since::Strike => struck,
            Since::Repair => repaired,
        };
        let silences: Vec<f64> = (0..HOSTS).map(|h| silence(&seen, h, since, end, fault.since)).collect();
        let usual: Vec<f64> = (0..HOSTS).map(|h| silence(&seen, h, usual_from, struck, Since::Repair)).collect();
        let longest = |of: &[f64], affected: bool| {
            let of = (0..).zip(of).filter(|(host, _)| fault.affected.has(*host) == affected);
            of.map(|(_, silence)| *silence).fold(0.0, f64::max)
        };
        let totals = totals(bed)?;
        let before = std::mem::replace(&mut self.before, totals);
        let ms = |time: Wait| time.as_secs_f64() * 1e3;
        Ok(Round {
            fault: fault.name.to_owned(),
            round,
            observed: totals.observed - before.observed,
            captured: self.foreign.len() as u64,
            late_ms: ms(captures::latest(&self.foreign)),
            missed: totals.missed - before.missed,
            lost_bytes: totals.lost_bytes.saturating_sub(before.lost_bytes),
            wrong: totals.wrong - before.wrong,
            streams: totals.streams - before.streams,
            refused: totals.refused - before.refused,
            recovered,
            silence_ms: longest(&silences, true),
            usual_ms: longest(&usual, true),
            others_ms: longest(&silences, false),
            slipped_ms: ms(slipped),
            lag_ms: ms(lag),
            examples: self.examples(bed, &seen, struck)?,
        })
    }

    /// The first frames in foreign slots, and what the host was told before.
    fn examples(&self, bed: &mut Bed, seen: &[Seen], struck: u64) -> Result<Vec<String>, Failure> {
        let observed = bed.observer.violations()?;
        let observed = observed.iter().take(3).map(|v| format!("observer: {v:?}"));
        let ms = |ns: u64| ns as f64 / 1e6;
        let captured = self.foreign.iter().take(3).map(|f| {
            let told = seen.iter().filter(|s| s.at <= f.at && f.at - s.at < BEFORE).filter_map(|s| match s.frame {
                Frame::Signal { host, open, hold, number } if host == f.host => {
                    let (what, before) = (open.map_or("close".into(), |c| format!("open {c}")), ms(f.at - s.at));
                    Some(format!("{before:.3} ms before: {what} for {:.3} ms, epoch {}", ms(hold), number.0))
                }
                _ => None,
            });
            let told = told.collect::<Vec<_>>().join("; ");
            let (after, closed) = ((f.at as f64 - struck as f64) / 1e6, f.after.map(ms));
            format!(
                "captures: host {} class {} {after:.3} ms after the strike, closed for {closed:?} ms; {told}",
                f.host, f.class
            )
        });
        Ok(observed.chain(captured).collect())
    }
}

fn totals(bed: &Bed) -> Result<Totals, Failure> {
    let outcome = bed.traffic.check(Wait::from_secs(5));
    Ok(Totals {
        observed: bed.violations()?,
        missed: bed.captures.lost(),
        lost_bytes: outcome.lost_bytes,
        wrong: outcome.wrong,
        streams: outcome.delivered as u64,
        refused: outcome.errors.len() as u64,
    })
}

/// The longest time without a data frame of a host, in milliseconds, of those that end after
/// `from`. Times before `from` count only if they are since a strike.
fn silence(seen: &[Seen], host: u16, from: u64, end: u64, since: Since) -> f64 {
    let data = seen.iter().filter(|s| matches!(s.frame, Frame::Data { host: h, .. } if h == host)).map(|s| s.at);
    let (mut last, mut longest) = (from, 0);
    for at in data.take_while(|at| *at < end).chain([end]) {
        if at > from {
            let begin = if since == Since::Repair { last.max(from) } else { last };
            longest = longest.max(at.saturating_sub(begin));
        }
        last = at;
    }
    longest as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_the_longest_time_without_a_frame() {
        let ms = |at: u64| at * 1_000_000;
        let data = |at, host| Seen { at: ms(at), frame: Frame::Data { host, class: 1 } };
        let seen = [data(10, 0), data(11, 1), data(20, 0), data(60, 0), data(61, 1), data(65, 0)];
        // A strike at 30 ms: the host was silent from 20 ms on. A repair at 30 ms: from then on.
        assert_eq!(silence(&seen, 0, ms(30), ms(70), Since::Strike), 40.0);
        assert_eq!(silence(&seen, 0, ms(30), ms(70), Since::Repair), 30.0);
        assert_eq!(silence(&seen, 1, ms(30), ms(70), Since::Strike), 50.0);
        // One that never sends again is silent until the end.
        assert_eq!(silence(&seen, 0, ms(66), ms(100), Since::Repair), 34.0);
        assert_eq!(silence(&seen, 3, ms(66), ms(100), Since::Strike), 34.0);
    }
}
