//! The counters of daemons as metrics.
//!
//! Their names are those of the counters, with a prefix for the daemon.

use super::Metrics;
use crate::agent::AgentCounters;
use crate::channel;
use crate::controller::ControllerCounters;
use std::sync::Arc;

/// The metrics of a controller: what it counts itself (`controller_..`), and what its end of the
/// demand channel does (`channel_..`).
pub fn of_controller<C>(
    counters: &Arc<ControllerCounters>,
    channel: &C,
    pages: impl Fn() -> u64 + Send + Sync + 'static,
) -> Metrics
where
    C: Fn() -> channel::Counters + Clone + Send + Sync + 'static,
{
    let metrics = Metrics::new();
    for &(name, about) in ControllerCounters::ABOUT {
        let counters = Arc::clone(counters);
        metrics.counter_of(&format!("controller_{name}"), about, move || value(counters.iter(), name));
    }
    for &(name, about) in channel::Counters::ABOUT {
        let channel = channel.clone();
        metrics.counter_of(&format!("channel_{name}"), about, move || value(channel().named(), name));
    }
    metrics.gauge_of("controller_pages", "Pages of browsers that are told what is new.", move || pages() as f64);
    metrics
}

impl Metrics {
    /// Adds the time that the daemon's certificate has left, in seconds.
    pub fn expiry(&self, left: impl Fn() -> i64 + Send + Sync + 'static) {
        let about = "Time until the certificate of this daemon expires; negative afterwards.";
        self.gauge_of("certificate_left_seconds", about, move || left() as f64);
    }
}

/// The metrics of an agent (`agent_..`).
pub fn of_agent(counters: &Arc<AgentCounters>) -> Metrics {
    let metrics = Metrics::new();
    for &(name, about) in AgentCounters::ABOUT {
        let (counters, metric) = (Arc::clone(counters), format!("agent_{name}"));
        if AgentCounters::GAUGES.contains(&name) {
            metrics.gauge_of(&metric, about, move || value(counters.iter(), name) as f64);
        } else {
            metrics.counter_of(&metric, about, move || value(counters.iter(), name));
        }
    }
    metrics
}

fn value(mut all: impl Iterator<Item = (&'static str, u64)>, name: &str) -> u64 {
    all.find(|c| c.0 == name).map_or(0, |c| c.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn every_counter_is_a_metric_that_says_what_it_counts() {
        let counters = Arc::new(ControllerCounters::default());
        counters.slips.store(3, Ordering::Relaxed);
        let text = of_controller(&counters, &|| channel::Counters { replaced: 2, ..Default::default() }, || 1).text();
        assert!(text.contains("# HELP timeplane_controller_slips How often the schedule slipped.\n"), "{text}");
        assert!(text.contains("\ntimeplane_controller_slips_total 3\n"), "{text}");
        assert!(text.contains("\ntimeplane_channel_replaced_total 2\n"), "{text}");
        assert!(text.contains("\ntimeplane_controller_pages 1.0\n"), "{text}");
        // These, and the one of pages.
        let counted = counters.iter().count() + channel::Counters::default().named().count();
        assert_eq!(text.matches("# TYPE").count(), counted + 1);

        let counters = Arc::new(AgentCounters::default());
        counters.frames.store(7, Ordering::Relaxed);
        counters.round_trip_ns.store(9, Ordering::Relaxed);
        let text = of_agent(&counters).text();
        assert!(text.contains("# HELP timeplane_agent_frames Frames that left.\n"), "{text}");
        assert!(text.contains("\ntimeplane_agent_frames_total 7\n"), "{text}");
        assert!(text.contains("\ntimeplane_agent_round_trip_ns 9.0\n"), "{text}");
        assert_eq!(text.matches("# TYPE").count(), counters.iter().count());

        let metrics = of_agent(&counters);
        metrics.expiry(|| -86_400);
        let text = metrics.text();
        assert!(text.contains("\ntimeplane_certificate_left_seconds -86400.0\n"), "{text}");
    }
}
