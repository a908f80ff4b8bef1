//! Progress on stderr: a bar on a terminal, a line every ten seconds elsewhere. Shares are of the
//! time that all takes, as runs of one scheme may take much longer than those of another.

use crate::output::rough;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use timeplane_experiment::{Progress, say};

/// Steps of the bar.
const STEPS: f64 = 1000.0;
/// The interval of lines if there is no terminal.
const LINES_EVERY: Duration = Duration::from_secs(10);
/// The interval of updates of the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// Shows progress. Several threads report to it.
pub struct Display {
    state: Mutex<State>,
    bar: Option<ProgressBar>,
    quiet: bool,
}

struct State {
    events: Vec<u64>,
    finished: usize,
    /// Runs that were complete before.
    cached: usize,
    begun: Instant,
    /// The seconds that are left, and when that was known.
    left: Option<(f64, Instant)>,
    /// The largest share that was shown.
    share: f64,
    shown: Option<Instant>,
}

impl Display {
    pub fn new(runs: usize, quiet: bool) -> Self {
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS as u64), ProgressDrawTarget::stderr_with_hz(10));
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}").expect("a right template");
            bar.set_style(style);
            bar
        });
        Self { state: Mutex::new(State::new(runs)), bar, quiet }
    }

    pub fn on(&self, progress: Progress<'_>) {
        if self.quiet {
            return;
        }
        let note = match progress {
            Progress::LeftOut(why) => Some(format!("left out: {why}")),
            Progress::Note(line) => Some(line.to_owned()),
            _ => None,
        };
        if let Some(line) = note {
            return match &self.bar {
                Some(bar) => bar.suspend(|| say!("{line}")),
                None => say!("{line}"),
            };
        }
        let Ok(mut state) = self.state.lock() else { return };
        state.take(progress);
        let every = if self.bar.is_some() { BAR_EVERY } else { LINES_EVERY };
        let now = Instant::now();
        if state.shown.is_some_and(|shown| now - shown < every) {
            return;
        }
        // Runs that end earlier need no line.
        if self.bar.is_none() && now - state.begun < LINES_EVERY {
            return;
        }
        state.shown = Some(now);
        let message = state.message(now);
        let share = state.share(now);
        match &self.bar {
            Some(bar) => {
                bar.set_position((share * STEPS) as u64);
                bar.set_message(message);
            }
            None => say!("{:3.0} %  {message}", 100.0 * share),
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Events of all runs, and the seconds that they took.
    pub fn total(&self) -> (u64, f64) {
        self.state.lock().map_or((0, 0.0), |s| (s.events.iter().sum(), s.begun.elapsed().as_secs_f64()))
    }
}

impl State {
    fn new(runs: usize) -> Self {
        let (events, begun) = (vec![0; runs], Instant::now());
        Self { events, finished: 0, cached: 0, begun, left: None, share: 0.0, shown: None }
    }

    fn take(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Started { .. } | Progress::LeftOut(_) | Progress::Note(_) => {}
            Progress::Tick { run, events, .. } => {
                if let Some(seen) = self.events.get_mut(run) {
                    *seen = events.max(*seen);
                }
            }
            Progress::Left { seconds } => self.left = Some((seconds, Instant::now())),
            Progress::Finished { run, cached, events } => {
                self.events[run] = self.events[run].max(events);
                self.finished += 1;
                self.cached += usize::from(cached);
            }
        }
    }

    /// The seconds that are left.
    fn left(&self, now: Instant) -> Option<f64> {
        let (seconds, then) = self.left?;
        Some((seconds - (now - then).as_secs_f64()).max(0.0))
    }

    /// The share of all time that is over; it never falls.
    fn share(&mut self, now: Instant) -> f64 {
        let worked = (now - self.begun).as_secs_f64();
        let share = match self.left(now) {
            _ if self.finished == self.events.len() => 1.0,
            Some(left) if worked > 0.0 => worked / (worked + left),
            _ => 0.0,
        };
        self.share = self.share.max(share);
        self.share
    }

    fn message(&self, now: Instant) -> String {
        let seconds = (now - self.begun).as_secs_f64().max(1e-3);
        let mut message = format!("{} of {} runs", self.finished, self.events.len());
        if self.cached > 0 {
            message += &format!(" ({} complete before)", self.cached);
        }
        let events: u64 = self.events.iter().sum();
        if events > 0 {
            message += &format!(", {} events/s", rough(events as f64 / seconds));
        }
        if let Some(left) = self.left(now) {
            message += &format!(", {} left", span(left));
        }
        message
    }
}

/// A time to wait, in its largest unit.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_share_of_time() {
        let mut state = State::new(4);
        state.take(Progress::Finished { run: 0, cached: true, events: 0 });
        state.take(Progress::Started { run: 1, label: "dctcp, seed 1" });
        state.take(Progress::Tick { run: 1, fraction: 0.5, events: 20_000_000 });
        let now = state.begun + Duration::from_secs(10);
        assert_eq!(state.message(now), "1 of 4 runs (1 complete before), 2.0 M events/s");
        assert_eq!(state.share(now), 0.0);
        state.left = Some((50.0, now));
        let later = now + Duration::from_secs(10);
        assert_eq!(state.message(later), "1 of 4 runs (1 complete before), 1.0 M events/s, 40 s left");
        assert_eq!(state.share(later), 20.0 / 60.0);
        // A late report does not reduce the progress, nor does a scheme that takes longer.
        state.take(Progress::Tick { run: 1, fraction: 0.4, events: 1 });
        state.left = Some((100.0, later));
        assert_eq!(state.share(later), 20.0 / 60.0);
        assert_eq!(state.message(later), "1 of 4 runs (1 complete before), 1.0 M events/s, 2 min left");
        assert_eq!(span(100.0), "2 min");
    }
}
