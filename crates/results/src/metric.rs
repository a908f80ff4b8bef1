//! The metrics by which schemes are compared, and theoretical bounds on them. One macro declares
//! each metric with its name, label, unit and scope.

use crate::human::Quantity;
use crate::summary::{Counts, RunSummary};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// What a metric is computed over. A number over flows or coflows is flagged if some did not
/// finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Measured flows.
    Flows,
    /// Measured coflows.
    Coflows,
    /// The whole run.
    Run,
}

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal, $label:literal, $quantity:ident, $scope:ident, $get:expr;)+) => {
        /// A number of a run by which schemes are compared.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Metric {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl Metric {
            /// All metrics.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name with the unit: the name of its column in `summary.parquet`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
            /// The name for tables and charts.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
            }
            /// Its value in a run, in the unit of its name, if the run has one.
            pub fn value(self, run: &RunSummary) -> Option<f64> {
                let get: fn(&RunSummary) -> Option<f64> = match self { $(Self::$variant => $get),+ };
                get(run)
            }
            /// A value as text: three digits and a unit.
            pub fn show(self, value: f64) -> String {
                self.quantity().show(value, None)
            }
            /// The kind of quantity, which decides the units of texts.
            pub const fn quantity(self) -> Quantity {
                match self { $(Self::$variant => Quantity::$quantity),+ }
            }
            /// What it is computed over.
            pub const fn scope(self) -> Scope {
                match self { $(Self::$variant => Scope::$scope),+ }
            }
        }
    };
}

metrics! {
    /// Mean flow completion time.
    FctMean "fct_mean_ps", "FCT mean", Time, Flows, |r| r.fct_ps.map(|d| d.mean);
    /// Median flow completion time.
    FctP50 "fct_p50_ps", "FCT median", Time, Flows, |r| r.fct_ps.map(|d| d.p50);
    /// 95th percentile of flow completion times.
    FctP95 "fct_p95_ps", "FCT p95", Time, Flows, |r| r.fct_ps.map(|d| d.p95);
    /// 99th percentile of flow completion times.
    FctP99 "fct_p99_ps", "FCT p99", Time, Flows, |r| r.fct_ps.map(|d| d.p99);
    /// Longest flow completion time.
    FctMax "fct_max_ps", "FCT max", Time, Flows, |r| r.fct_ps.map(|d| d.max);
    /// Mean slowdown: completion time over that in an empty network.
    SlowdownMean "slowdown_mean", "slowdown mean", Ratio, Flows, |r| r.slowdown.map(|d| d.mean);
    /// Median slowdown.
    SlowdownP50 "slowdown_p50", "slowdown median", Ratio, Flows, |r| r.slowdown.map(|d| d.p50);
    /// 99th percentile of slowdowns.
    SlowdownP99 "slowdown_p99", "slowdown p99", Ratio, Flows, |r| r.slowdown.map(|d| d.p99);
    /// Mean coflow completion time.
    CctMean "cct_mean_ps", "CCT mean", Time, Coflows, |r| r.cct_ps.map(|d| d.mean);
    /// Median coflow completion time.
    CctP50 "cct_p50_ps", "CCT median", Time, Coflows, |r| r.cct_ps.map(|d| d.p50);
    /// 95th percentile of coflow completion times.
    CctP95 "cct_p95_ps", "CCT p95", Time, Coflows, |r| r.cct_ps.map(|d| d.p95);
    /// Longest coflow completion time.
    CctMax "cct_max_ps", "CCT max", Time, Coflows, |r| r.cct_ps.map(|d| d.max);
    /// Mean time of a step.
    StepMean "step_mean_ps", "step mean", Time, Run, |r| r.step_ps.map(|d| d.mean);
    /// Longest step.
    StepMax "step_max_ps", "step max", Time, Run, |r| r.step_ps.map(|d| d.max);
    /// Mean of the steps' times divided by their lower bounds.
    StepStretch "step_stretch", "step over bound", Ratio, Run, |r| r.step_stretch;
    /// From the first arrival to the end of the last flow, if all flows finished.
    Completion "completion_ps", "completion", Time, Run, |r| r.completion_ps.map(|ps| ps as f64);
    /// Application bits received per second in the window, over all hosts.
    Goodput "goodput_bps", "goodput", Rate, Run, |r| r.goodput_bps;
    /// Jain's index of the hosts' goodput.
    GoodputJain "goodput_jain", "Jain's index", Ratio, Run, |r| r.goodput_jain;
    /// Mean latency of packets.
    NetworkLatencyMean "network_latency_mean_ps", "network latency mean", Time, Run, |r| r.network_latency_ps.map(|d| d.mean);
    /// Median latency of packets.
    NetworkLatencyP50 "network_latency_p50_ps", "network latency median", Time, Run, |r| r.network_latency_ps.map(|d| d.p50);
    /// 99th percentile of the latencies of packets.
    NetworkLatencyP99 "network_latency_p99_ps", "network latency p99", Time, Run, |r| r.network_latency_ps.map(|d| d.p99);
    /// Mean round-trip time of TCP segments.
    RttMean "rtt_mean_ps", "RTT mean", Time, Run, |r| r.rtt_ps.map(|d| d.mean);
    /// Median round-trip time.
    RttP50 "rtt_p50_ps", "RTT median", Time, Run, |r| r.rtt_ps.map(|d| d.p50);
    /// 99th percentile of the round-trip times.
    RttP99 "rtt_p99_ps", "RTT p99", Time, Run, |r| r.rtt_ps.map(|d| d.p99);
    /// 99.999th percentile of the round-trip times.
    RttP99999 "rtt_p99999_ps", "RTT p99.999", Time, Run, |r| r.rtt_p99999_ps;
    /// Longest round-trip time.
    RttMax "rtt_max_ps", "RTT max", Time, Run, |r| r.rtt_ps.map(|d| d.max);
    /// Data packets lost.
    DroppedPackets "dropped_packets", "dropped packets", Count, Run, |r| Some(r.packets.dropped as f64);
    /// Retransmitted packets.
    Retransmissions "retransmissions", "retransmissions", Count, Run, |r| Some(r.retransmissions as f64);
    /// Control messages sent.
    ControlMessages "control_messages", "control messages", Count, Run, |r| Some(r.control_total().messages as f64);
    /// Wire bytes of control messages.
    ControlBytes "control_bytes", "control", Bytes, Run, |r| Some(r.control_total().bytes as f64);
}

impl Metric {
    /// The metric of this name, with or without the unit (`fct_mean_ps` or `fct_mean`).
    pub fn named(name: &str) -> Option<Self> {
        let bare = |m: Self| m.name().trim_end_matches("_ps").trim_end_matches("_bps");
        Self::ALL.iter().copied().find(|m| m.name() == name || bare(*m) == name)
    }

    /// Whether its value in a run is a lower bound of the true one, because of flows or coflows
    /// that did not finish.
    pub fn is_lower_bound(self, run: &RunSummary) -> bool {
        self.scope() != Scope::Run && run.lower_bounds().iter().any(|name| name == self.name())
    }

    /// The flows or coflows of a run that it is computed over; `None` if it is over the whole run.
    pub const fn counts(self, run: &RunSummary) -> Option<Counts> {
        match self.scope() {
            Scope::Flows => Some(run.flows),
            Scope::Coflows => Some(run.coflows),
            Scope::Run => None,
        }
    }

    /// Whether it is an arithmetic mean over flows or coflows.
    pub const fn is_mean(self) -> bool {
        matches!(self, Self::FctMean | Self::SlowdownMean | Self::CctMean)
    }

    /// The metrics of a table by default: those of steps, coflows or flows, whichever the workload
    /// has, and drops if there are any. Completion times are left out if no flow finished.
    pub fn usual(runs: &[RunSummary]) -> Vec<Self> {
        let finished = |m: Self, r: &RunSummary| m.counts(r).is_none_or(|counts| counts.finished > 0);
        let has = |metric: Self| runs.iter().any(|r| metric.value(r).is_some() && finished(metric, r));
        let mut metrics = if has(Self::StepMean) {
            // A step lasts until its slowest flow has ended.
            vec![Self::StepMean, Self::StepStretch, Self::CctMean, Self::CctP95, Self::FctMean]
        } else if runs.iter().any(|r| r.coflows.measured > 0) {
            vec![Self::CctMean, Self::CctP95, Self::Completion, Self::FctMean, Self::FctP99]
        } else if runs.iter().all(|r| r.window.measure_ps.is_none()) {
            // The workload ends, so its completion time comes first.
            vec![Self::Completion, Self::FctMean, Self::FctP99, Self::SlowdownMean, Self::Goodput]
        } else {
            vec![Self::FctMean, Self::FctP99, Self::SlowdownMean, Self::SlowdownP99, Self::Goodput]
        };
        metrics.push(Self::NetworkLatencyP50);
        metrics.retain(|m| has(*m));
        if runs.iter().any(|r| r.packets.dropped > 0) {
            metrics.push(Self::DroppedPackets);
        }
        metrics
    }
}

/// A theoretical bound that no scheme can beat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Its name, such as `busiest link`.
    pub label: String,
    /// The metric that it bounds.
    #[serde(with = "by_name")]
    pub metric: Metric,
    /// Its value by sweep point, in the unit of the metric. Some points may have none.
    pub values: Vec<(IndexMap<String, String>, f64)>,
}

/// A metric in a file, by its name.
mod by_name {
    use super::Metric;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(metric: &Metric, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(metric.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(from)?;
        Metric::named(&name).ok_or_else(|| D::Error::custom(format!("there is no metric `{name}`")))
    }
}
