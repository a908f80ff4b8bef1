//! The registry of a daemon's metrics.
//!
//! They are written in the text format of OpenMetrics.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All metrics of a daemon. A clone is the same registry.
///
/// Names are told without `timeplane_`, which all have, and without `_total`, which counters get:
/// `slots_opened` of a counter is `timeplane_slots_opened_total`. A name ends in its unit where it
/// has one, and units are base units (`_seconds`, `_bytes`), as Prometheus has them. Counting is an
/// atomic addition; it takes no lock, and may be done in timed loops.
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Inner>>);

struct Inner {
    registry: Registry,
    names: BTreeSet<String>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Metrics").field(&self.inner().names).finish()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// None yet.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Inner { registry: Registry::with_prefix("timeplane"), names: BTreeSet::new() })))
    }

    /// Something that only grows.
    ///
    /// # Panics
    /// Here and in all others: where the name is taken, has other characters than `a-z`, `0-9` and
    /// `_`, or ends in `_total`.
    pub fn counter(&self, name: &str, help: &str) -> Counter {
        let counter = Counter::default();
        self.register(name, help, counter.clone());
        counter
    }
    /// A whole number that goes up and down.
    ///
    /// # Panics
    /// As [`counter`](Self::counter).
    pub fn gauge(&self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.register(name, help, gauge.clone());
        gauge
    }
    /// How often values were at most each of these bounds.
    ///
    /// # Panics
    /// As [`counter`](Self::counter).
    pub fn histogram(&self, name: &str, help: &str, bounds: &[f64]) -> Histogram {
        let histogram = Histogram::new(bounds.iter().copied());
        self.register(name, help, histogram.clone());
        histogram
    }
    /// A metric of another type, such as a family with labels.
    ///
    /// # Panics
    /// As [`counter`](Self::counter).
    pub fn register(&self, name: &str, help: &str, metric: impl Metric) {
        self.inner().take(name).register(name, help_of(help), metric);
    }
    /// A counter that is kept elsewhere, and read whenever somebody asks.
    ///
    /// # Panics
    /// As [`counter`](Self::counter).
    pub fn counter_of(&self, name: &str, help: &str, read: impl Fn() -> u64 + Send + Sync + 'static) {
        self.read(name, help, Reading::Counter(Box::new(read)));
    }
    /// A gauge that is kept elsewhere, and read whenever somebody asks.
    ///
    /// # Panics
    /// As [`counter`](Self::counter).
    pub fn gauge_of(&self, name: &str, help: &str, read: impl Fn() -> f64 + Send + Sync + 'static) {
        self.read(name, help, Reading::Gauge(Box::new(read)));
    }

    fn read(&self, name: &str, help: &str, reading: Reading) {
        let read = Read { name: name.to_owned(), help: format!("{}.", help_of(help)), reading };
        self.inner().take(name).register_collector(Box::new(read));
    }

    /// All of them, in the text format of OpenMetrics 1.0.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A string takes everything.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.inner().registry);
        text
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn take(&mut self, name: &str) -> &mut Registry {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let good = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain);
        assert!(good && !name.ends_with("_total"), "{name:?} is no name of a metric");
        assert!(self.names.insert(name.to_owned()), "there is a metric {name} already");
        &mut self.registry
    }
}

/// The library ends it with a full stop.
fn help_of(help: &str) -> &str {
    help.trim_end_matches('.')
}

enum Reading {
    Counter(Box<dyn Fn() -> u64 + Send + Sync>),
    Gauge(Box<dyn Fn() -> f64 + Send + Sync>),
}

struct Read {
    name: String,
    help: String,
    reading: Reading,
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Read").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Collector for Read {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        fn put(encoder: &mut DescriptorEncoder<'_>, read: &Read, metric: &impl EncodeMetric) -> Result<(), fmt::Error> {
            let encoder = encoder.encode_descriptor(&read.name, &read.help, None, metric.metric_type())?;
            metric.encode(encoder)
        }
        match &self.reading {
            Reading::Counter(read) => put(&mut encoder, self, &ConstCounter::new(read())),
            Reading::Gauge(read) => put(&mut encoder, self, &ConstGauge::new(read())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_units_and_values_are_as_told() {
        let metrics = Metrics::new();
        metrics.counter("slots_opened", "Slots that were opened.").inc_by(3);
        metrics.gauge("backlog_bytes", "What waits").set(-5);
        metrics.counter_of("drops", "What was lost", || 7);
        metrics.gauge_of("lateness_seconds", "How late", || 0.25);
        let histogram = metrics.histogram("reaction_seconds", "Signal to gate", &[0.001, 0.01]);
        histogram.observe(0.005);
        histogram.observe(5.0);
        let expected = "\
# HELP timeplane_slots_opened Slots that were opened.
# TYPE timeplane_slots_opened counter
timeplane_slots_opened_total 3
# HELP timeplane_backlog_bytes What waits.
# TYPE timeplane_backlog_bytes gauge
timeplane_backlog_bytes -5
# HELP timeplane_reaction_seconds Signal to gate.
# TYPE timeplane_reaction_seconds histogram
timeplane_reaction_seconds_sum 5.005
timeplane_reaction_seconds_count 2
timeplane_reaction_seconds_bucket{le=\"0.001\"} 0
timeplane_reaction_seconds_bucket{le=\"0.01\"} 1
timeplane_reaction_seconds_bucket{le=\"+Inf\"} 2
# HELP timeplane_drops What was lost.
# TYPE timeplane_drops counter
timeplane_drops_total 7
# HELP timeplane_lateness_seconds How late.
# TYPE timeplane_lateness_seconds gauge
timeplane_lateness_seconds 0.25
# EOF
";
        assert_eq!(metrics.text(), expected);
    }

    #[test]
    #[should_panic(expected = "already")]
    fn a_name_is_used_once() {
        let metrics = Metrics::new();
        metrics.counter("drops", "a");
        metrics.clone().gauge("drops", "b");
    }

    #[test]
    #[should_panic(expected = "no name of a metric")]
    fn a_total_is_the_librarys_to_add() {
        Metrics::new().counter("drops_total", "a");
    }
}
