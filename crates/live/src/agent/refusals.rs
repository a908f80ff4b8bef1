//! Frames of others that an agent refuses. They are counted by reason.
//!
//! The log has at most one line a second, however many there are.

use super::{AgentCounters, StreamCounters};
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Duration, Time};

/// The shortest time between two log lines.
const PAUSE: Duration = Duration::from_secs(1);

impl StreamCounters {
    /// Refused frames that show an attack or a wrong configuration, by reason.
    fn suspicious(&self) -> [(u64, &'static str); 5] {
        [
            (self.frames_forged, "with a wrong tag"),
            (self.frames_unsealed, "without a tag"),
            (self.frames_sealed, "with a tag, although `seal` is \"none\" here"),
            (self.frames_repeated, "that had arrived before"),
            (self.frames_stale, "of agents that no controller names"),
        ]
    }
}

impl AgentCounters {
    /// Takes over what the streams have refused.
    pub(super) fn take_refused(&self, streams: &StreamCounters) {
        for (counter, value) in [
            (&self.refused_forged, streams.frames_forged),
            (&self.refused_unsealed, streams.frames_unsealed),
            (&self.refused_sealed, streams.frames_sealed),
            (&self.refused_repeated, streams.frames_repeated),
            (&self.refused_stale, streams.frames_stale),
            (&self.refused_foreign, streams.frames_foreign),
        ] {
            counter.store(value, Relaxed);
        }
    }
}

/// What has been logged.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    said: StreamCounters,
    at: Option<Time>,
}

impl Refusals {
    /// A log line, if frames were refused since the last one and that was a second ago.
    pub(super) fn news(&mut self, now: Time, counters: &StreamCounters) -> Option<String> {
        if self.at.is_some_and(|at| now - at < PAUSE) {
            return None;
        }
        let reasons = counters.suspicious().into_iter().zip(self.said.suspicious());
        let new = reasons.map(|((count, reason), (before, _))| (count - before, reason));
        let new: Vec<String> = new.filter(|(count, _)| *count > 0).map(|(n, reason)| format!("{n} {reason}")).collect();
        if new.is_empty() {
            return None;
        }
        (self.said, self.at) = (*counters, Some(now));
        Some(format!("refused frames between hosts: {}", new.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_line_a_second() {
        let (mut refusals, mut counters) = (Refusals::default(), StreamCounters::default());
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        assert_eq!(refusals.news(at(0), &counters), None);
        let mut lines = Vec::new();
        for ms in 0..3000 {
            counters.frames_forged += 10;
            counters.frames_unsealed += u64::from(ms == 500);
            counters.frames_foreign += 1;
            lines.extend(refusals.news(at(ms), &counters));
        }
        let forged = |n| format!("refused frames between hosts: {n} with a wrong tag");
        assert_eq!(lines, [forged(10), format!("{}, 1 without a tag", forged(10_000)), forged(10_000)]);
        // Nothing new.
        refusals.news(at(5000), &counters);
        assert_eq!(refusals.news(at(9000), &counters), None);
        let agent = AgentCounters::default();
        agent.take_refused(&counters);
        let counted = |name| agent.iter().find(|c| c.0 == name).unwrap().1;
        assert_eq!(
            (counted("refused_forged"), counted("refused_unsealed"), counted("refused_foreign")),
            (30_000, 1, 3000)
        );
    }
}
