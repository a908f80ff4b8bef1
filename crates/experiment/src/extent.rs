//! How far a run goes, and how far it is: progress, the time that is left and trials are shares of
//! this.

use crate::driver::{Progress, Pulse};
use std::sync::atomic::Ordering;
use timeplane_model::Duration;
use timeplane_scenario::Scenario;
use timeplane_workload::Source;

/// How far a run goes: until its bytes have arrived, or until a time.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    bytes: Option<u64>,
    end: Duration,
}

impl Extent {
    /// The extent of runs of a scenario. A window of fixed length ends runs at its end. Without
    /// one, a run ends with its flows. Its time is then spent on packets, so bytes tell how far it
    /// is: most flows may be small, and a few large ones take most of the time.
    pub fn new(scenario: &Scenario, source: &Source) -> Self {
        let window = scenario.window;
        let end = window.warmup + window.measure.unwrap_or_default() + window.drain.unwrap_or_default();
        let bytes = source.facts().bytes.filter(|_| window.measure.is_none() && !source.is_endless());
        Self { bytes, end }
    }

    /// The completed share, 0 to 1; `None` before the first event, or if nothing tells.
    pub fn share(&self, pulse: &Pulse) -> Option<f64> {
        if pulse.events.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let (done, all) = match self.bytes {
            Some(bytes) => (pulse.bytes.load(Ordering::Relaxed), bytes),
            None => (pulse.now_ps.load(Ordering::Relaxed), u64::try_from(self.end.as_ps()).unwrap_or(0)),
        };
        (all > 0).then(|| (done as f64 / all as f64).min(1.0))
    }

    /// Reports how far a run is, if it has begun, and passes on that it is cancelled.
    pub(crate) fn look(
        &self,
        run: usize,
        pulse: &Pulse,
        cancelled: bool,
        tell: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Option<f64> {
        if cancelled {
            pulse.cancel.store(true, Ordering::Relaxed);
        }
        let events = pulse.events.load(Ordering::Relaxed);
        let share = self.share(pulse);
        if events > 0 {
            tell(Progress::Tick { run, fraction: share.unwrap_or(0.0), events });
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_bytes_or_of_time() {
        let pulse = Pulse::default();
        let (of_bytes, of_time) =
            (Extent { bytes: Some(400), end: Duration::ZERO }, Extent { bytes: None, end: Duration::from_us(2) });
        assert_eq!(of_bytes.share(&pulse), None, "nothing has happened");
        pulse.events.store(1, Ordering::Relaxed);
        pulse.bytes.store(100, Ordering::Relaxed);
        pulse.now_ps.store(1_000_000, Ordering::Relaxed);
        assert_eq!((of_bytes.share(&pulse), of_time.share(&pulse)), (Some(0.25), Some(0.5)));
        pulse.now_ps.store(3_000_000, Ordering::Relaxed);
        assert_eq!(of_time.share(&pulse), Some(1.0), "the last packets may arrive later");
        assert_eq!(Extent { bytes: Some(0), end: Duration::ZERO }.share(&pulse), None);
    }
}
