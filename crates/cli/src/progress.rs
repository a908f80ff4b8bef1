//! Progress on stderr: a bar on a terminal, a line every ten seconds elsewhere. Runs that were
//! complete before do not count in the estimate of the remaining time.

use crate::output::rough;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use timeplane_experiment::{Progress, say};

/// Steps of the bar for each run.
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
    done: Vec<f64>,
    events: Vec<u64>,
    finished: usize,
    /// Runs that were complete before; they do not count in the estimate of the remaining time.
    cached: usize,
    begun: Instant,
    shown: Option<Instant>,
}

impl Display {
    pub fn new(runs: usize, quiet: bool) -> Self {
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(
                Some((runs as f64 * STEPS) as u64),
                ProgressDrawTarget::stderr_with_hz(10),
            );
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}").expect("a right template");
            bar.set_style(style);
            bar
        });
        let state = State {
            done: vec![0.0; runs],
            events: vec![0; runs],
            finished: 0,
            cached: 0,
            begun: Instant::now(),
            shown: None,
        };
        Self { state: Mutex::new(state), bar, quiet }
    }

    pub fn on(&self, progress: Progress<'_>) {
        if self.quiet {
            return;
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
        let message = state.message(now - state.begun);
        match &self.bar {
            Some(bar) => {
                bar.set_position((state.done.iter().sum::<f64>() * STEPS) as u64);
                bar.set_message(message);
            }
            None => say!("{:3.0} %  {message}", 100.0 * state.share()),
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
    fn take(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Started { .. } | Progress::LeftOut(_) | Progress::Note(_) => {}
            Progress::Tick { run, fraction, events } => {
                if let (Some(done), Some(seen)) = (self.done.get_mut(run), self.events.get_mut(run)) {
                    *done = fraction.clamp(*done, 1.0);
                    *seen = events.max(*seen);
                }
            }
            Progress::Finished { run, cached, events } => {
                self.events[run] = self.events[run].max(events);
                if let Some(done) = self.done.get_mut(run) {
                    *done = 1.0;
                }
                self.finished += 1;
                self.cached += usize::from(cached);
            }
        }
    }

    fn share(&self) -> f64 {
        if self.done.is_empty() { 1.0 } else { self.done.iter().sum::<f64>() / self.done.len() as f64 }
    }

    fn message(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let mut message = format!("{} of {} runs", self.finished, self.done.len());
        if self.cached > 0 {
            message += &format!(" ({} complete before)", self.cached);
        }
        let events: u64 = self.events.iter().sum();
        if events > 0 {
            message += &format!(", {} events/s", rough(events as f64 / seconds));
        }
        let worked = self.done.iter().sum::<f64>() - self.cached as f64;
        let left = self.done.len() as f64 - self.done.iter().sum::<f64>();
        if worked > 0.01 && left > 0.0 && seconds > 1.0 {
            message += &format!(", {} left", span(seconds * left / worked));
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
    fn what_was_there_before_says_nothing_about_the_rest() {
        let mut state = State {
            done: vec![0.0; 4],
            events: vec![0; 4],
            finished: 0,
            cached: 0,
            begun: Instant::now(),
            shown: None,
        };
        state.take(Progress::Finished { run: 0, cached: true, events: 0 });
        state.take(Progress::Started { run: 1, label: "dctcp, seed 1" });
        state.take(Progress::Tick { run: 1, fraction: 0.5, events: 20_000_000 });
        // Half a run took 10 s; two and a half runs are left.
        assert_eq!(
            state.message(Duration::from_secs(10)),
            "1 of 4 runs (1 complete before), 2.0 M events/s, 50 s left"
        );
        assert_eq!(state.share(), 0.375);
        // A late report does not reduce the progress.
        state.take(Progress::Tick { run: 1, fraction: 0.4, events: 1 });
        assert_eq!(state.share(), 0.375);
        assert_eq!(span(100.0), "2 min");
    }
}
