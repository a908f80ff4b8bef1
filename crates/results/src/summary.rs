//! The summary of a run: a few numbers, the same on every machine, computed while rows are
//! recorded.

use crate::distribution::Distribution;
use crate::stats::jain;
use crate::tables::{CoflowRow, ControlRow, DropRow, FlowRow, StepRow};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{Field, Schema};
use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The measurement window of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSummary {
    /// Length of the warm-up, in ps, after which the window starts.
    pub warmup_ps: i64,
    /// Length of the window, in ps; `None`: until the workload ends.
    pub measure_ps: Option<i64>,
    /// How long the run continued after the window, in ps; `None`: until the last flow ended.
    pub drain_ps: Option<i64>,
}

/// Numbers of flows or coflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Arrivals of the whole run.
    pub arrived: u64,
    /// Arrivals in the measurement window.
    pub measured: u64,
    /// Measured ones that finished.
    pub finished: u64,
    /// Measured ones that did not finish. They count with the time that they have waited.
    pub unfinished: u64,
}

impl Counts {
    /// The share of measured ones that did not finish; 0 if none is measured.
    pub fn unfinished_share(&self) -> f64 {
        self.unfinished as f64 / self.measured.max(1) as f64
    }

    fn add(&mut self, measured: bool, finished: bool) {
        self.arrived += 1;
        self.measured += u64::from(measured);
        self.finished += u64::from(measured && finished);
        self.unfinished += u64::from(measured && !finished);
    }
}

/// What became of everything that was sent: `sent = delivered + dropped + in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Sent on a first link.
    pub sent: u64,
    /// Arrived at the receiving host.
    pub delivered: u64,
    /// Lost, for any reason.
    pub dropped: u64,
    /// In a queue or on a link at the end of the run.
    pub in_flight: u64,
}

impl Tally {
    /// Whether the numbers add up.
    pub const fn is_balanced(&self) -> bool {
        self.sent as u128 == self.delivered as u128 + self.dropped as u128 + self.in_flight as u128
    }
}

/// Control messages of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlTotals {
    /// Messages sent.
    pub messages: u64,
    /// Wire bytes sent.
    pub bytes: u64,
    /// Lost messages.
    pub lost: u64,
    /// Messages that arrived too late to act on.
    pub late: u64,
    /// Longest time of a message on ports or links, besides the latency.
    #[serde(default)]
    pub max_transfer_ps: i64,
}

/// Facts about a run that are not in its rows, for [`Summarizer::finish`].
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Name of the scheme.
    pub scheme: String,
    /// The swept keys and their values, in the order of the file.
    pub point: IndexMap<String, String>,
    /// The seed of the run.
    pub seed: u64,
    /// The measurement window.
    pub window: WindowSummary,
    /// The time over which `received_bytes` were counted, in ps: the window or, if it has no end,
    /// the whole run.
    pub received_ps: i64,
    /// Application bytes received in that time without duplicates, by host.
    pub received_bytes: Vec<u64>,
    /// Latencies of packets, in ps, if recorded.
    pub network_latency_ps: Option<Distribution>,
    /// Round-trip times of TCP segments, in ps, and their 99.999th percentile, if recorded.
    pub rtt_ps: Option<(Distribution, f64)>,
    /// Packets, including acknowledgments.
    pub packets: Tally,
    /// Bytes of packets, including acknowledgments, without link framing.
    pub bytes: Tally,
    /// Packets that met one of another sender in a switch, if the plan keeps senders apart.
    pub collisions: Option<u64>,
    /// The end of the run, in ps from its start.
    pub simulated_ps: i64,
    /// Links crossed, summed over packets.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
}

/// The summary of a run. Times are in ps.
///
/// Means and percentiles are over measured flows (coflows). One that did not finish counts with the
/// time from its arrival to the end of the run. Numbers that depend on it are lower bounds: see
/// [`lower_bounds`](Self::lower_bounds). `None` is a number that does not exist, such as the mean of
/// no values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Name of the scheme.
    pub scheme: String,
    /// The swept keys and their values in the order of the file; empty without a sweep.
    pub point: IndexMap<String, String>,
    /// The seed of the run.
    pub seed: u64,
    /// The measurement window.
    pub window: WindowSummary,
    /// Numbers of flows.
    pub flows: Counts,
    /// Numbers of coflows.
    pub coflows: Counts,
    /// Flow completion times, in ps.
    pub fct_ps: Option<Distribution>,
    /// Slowdowns: flow completion times divided by those in an empty network. Flows whose
    /// `ideal_ps` is not positive are left out.
    pub slowdown: Option<Distribution>,
    /// Coflow completion times, in ps.
    pub cct_ps: Option<Distribution>,
    /// Times of steps, in ps; `None` without steps or if one did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ps: Option<Distribution>,
    /// The mean of the steps' times divided by their lower bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_stretch: Option<f64>,
    /// Latencies of packets, in ps, if recorded. The mean is exact; percentiles are those of the
    /// table `latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_latency_ps: Option<Distribution>,
    /// Round-trip times of TCP segments, in ps, if recorded. The mean is exact; percentiles are
    /// those of the table `rtt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ps: Option<Distribution>,
    /// The 99.999th percentile of round-trip times, in ps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_p99999_ps: Option<f64>,
    /// From the first arrival to the end of the last flow, including the warm-up, in ps; `None` if
    /// a flow of the run did not finish.
    pub completion_ps: Option<i64>,
    /// Application bits received per second in the window, over all hosts; `None` if the window has
    /// no length.
    pub goodput_bps: Option<f64>,
    /// Jain's index of the goodput of all destinations in the window; `None` if none received
    /// anything.
    pub goodput_jain: Option<f64>,
    /// Packets lost in the whole run, by reason.
    pub dropped_packets: BTreeMap<String, u64>,
    /// Packets that switches cut down to their headers in the whole run; they are not lost. `None`
    /// if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimmed_packets: Option<u64>,
    /// Packets of the whole run, including acknowledgments.
    pub packets: Tally,
    /// Bytes of the packets of the whole run, without link framing.
    pub bytes: Tally,
    /// Control messages of the whole run, by kind.
    pub control_messages: BTreeMap<String, ControlTotals>,
    /// Retransmitted packets of the whole run.
    pub retransmissions: u64,
    /// Retransmission timeouts in the whole run.
    pub timeouts: u64,
    /// Packets that joined an output queue of a switch while one of another sender occupied it, in
    /// the whole run; `None` if no plan keeps senders apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collisions: Option<u64>,
    /// The end of the run, in ps from its start.
    pub simulated_ps: i64,
    /// Links crossed, summed over packets.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
}

impl RunSummary {
    /// Control messages of all kinds.
    pub fn control_total(&self) -> ControlTotals {
        self.control_messages.values().fold(ControlTotals::default(), |a, b| ControlTotals {
            messages: a.messages + b.messages,
            bytes: a.bytes + b.bytes,
            lost: a.lost + b.lost,
            late: a.late + b.late,
            max_transfer_ps: a.max_transfer_ps.max(b.max_transfer_ps),
        })
    }

    /// The names of the columns whose numbers are lower bounds, because of flows or coflows that
    /// did not finish.
    pub fn lower_bounds(&self) -> Vec<String> {
        let all = [("fct", "_ps", self.fct_ps), ("slowdown", "", self.slowdown), ("cct", "_ps", self.cct_ps)];
        let named = all.into_iter().filter_map(|(name, unit, d)| Some((name, unit, d?.lower_bounds)));
        named.flat_map(|(name, unit, b)| b.names().map(move |part| format!("{name}_{part}{unit}"))).collect()
    }
}

/// Computes a [`RunSummary`] from rows. Keeps 16 bytes per measured flow and nothing of other
/// flows.
#[derive(Clone, Debug, Default)]
pub struct Summarizer {
    flows: Counts,
    coflows: Counts,
    fct_ps: Vec<i64>,
    slowdown: Vec<f64>,
    cct_ps: Vec<i64>,
    /// Start and ideal time of measured flows that did not finish.
    waiting: Vec<(i64, i64)>,
    /// Start of measured coflows that did not finish.
    waiting_coflows: Vec<i64>,
    steps: Vec<StepRow>,
    first_start_ps: Option<i64>,
    last_finish_ps: Option<i64>,
    any_unfinished: bool,
    destinations: Vec<bool>,
    dropped_packets: BTreeMap<&'static str, u64>,
    trimmed_packets: Option<u64>,
    control: BTreeMap<&'static str, ControlTotals>,
    retransmissions: u64,
    timeouts: u64,
}

impl Summarizer {
    /// A summary of no rows yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a flow. Give each flow of the run once, in any order, measured or not, finished or
    /// not.
    pub fn flow(&mut self, row: &FlowRow) {
        self.flows.add(row.measured, row.fct_ps.is_some());
        self.first_start_ps = Some(self.first_start_ps.map_or(row.start_ps, |t| t.min(row.start_ps)));
        self.retransmissions += u64::from(row.retransmissions);
        self.timeouts += u64::from(row.timeouts);
        let host = row.destination as usize;
        if self.destinations.len() <= host {
            self.destinations.resize(host + 1, false);
        }
        self.destinations[host] = true;
        let Some(fct) = row.fct_ps else {
            self.any_unfinished = true;
            if row.measured {
                self.waiting.push((row.start_ps, row.ideal_ps));
            }
            return;
        };
        self.last_finish_ps = self.last_finish_ps.max(Some(row.start_ps + fct));
        if row.measured {
            self.fct_ps.push(fct);
            if row.ideal_ps > 0 {
                self.slowdown.push(fct as f64 / row.ideal_ps as f64);
            }
        }
    }

    /// Counts a coflow. Give each coflow of the run once.
    pub fn coflow(&mut self, row: &CoflowRow) {
        self.coflows.add(row.measured, row.cct_ps.is_some());
        match row.cct_ps {
            Some(cct) if row.measured => self.cct_ps.push(cct),
            None if row.measured => self.waiting_coflows.push(row.start_ps),
            _ => {}
        }
    }

    /// Counts a step. Give each step of the run once.
    pub fn step(&mut self, row: &StepRow) {
        self.steps.push(*row);
    }

    /// Counts drops.
    pub fn drop(&mut self, row: &DropRow) {
        *self.dropped_packets.entry(row.reason).or_default() += row.packets;
    }

    /// Counts packets that a switch cut down to their headers.
    pub fn trimmed(&mut self, packets: u64) {
        *self.trimmed_packets.get_or_insert(0) += packets;
    }

    /// Counts control messages.
    pub fn control(&mut self, row: &ControlRow) {
        let total = self.control.entry(row.kind).or_default();
        total.messages += row.messages;
        total.bytes += row.bytes;
        total.lost += row.lost;
        total.late += row.late;
        total.max_transfer_ps = total.max_transfer_ps.max(row.max_transfer_ps);
    }

    /// The summary.
    pub fn finish(self, facts: RunFacts) -> RunSummary {
        let received: u128 = facts.received_bytes.iter().map(|&b| u128::from(b)).sum();
        let goodput_bps = (facts.received_ps > 0).then(|| received as f64 * 8.0 / (facts.received_ps as f64 * 1e-12));
        let addressed = |host: &usize| self.destinations.get(*host).copied().unwrap_or(false);
        let per_host: Vec<f64> = (0..facts.received_bytes.len().max(self.destinations.len()))
            .filter(addressed)
            .map(|host| facts.received_bytes.get(host).map_or(0.0, |&b| b as f64))
            .collect();
        let completion_ps = match (self.first_start_ps, self.last_finish_ps) {
            (Some(first), Some(last)) if !self.any_unfinished => Some(last - first),
            _ => None,
        };
        // A mean of the steps that ended would hide the one that did not.
        let steps: Option<Vec<i64>> = self.steps.iter().map(|s| s.step_ps).collect();
        let stretch = |s: &StepRow| (s.ideal_ps > 0).then(|| s.step_ps.map(|t| t as f64 / s.ideal_ps as f64)).flatten();
        let stretches: Option<Vec<f64>> = self.steps.iter().map(stretch).collect();
        // An unfinished flow has waited until the end of the run.
        let waited = |start: i64| (facts.simulated_ps - start).max(0);
        let waited_slowdown = |&(start, ideal): &(i64, i64)| (ideal > 0).then(|| waited(start) as f64 / ideal as f64);
        let fct_waited = self.waiting.iter().map(|w| waited(w.0)).collect();
        let slowdown_waited = self.waiting.iter().filter_map(waited_slowdown).collect();
        let cct_waited = self.waiting_coflows.iter().map(|&start| waited(start)).collect();
        RunSummary {
            step_ps: steps.and_then(|steps| Distribution::of_ps(steps, Vec::new())),
            step_stretch: stretches.and_then(Distribution::of).map(|d| d.mean),
            scheme: facts.scheme,
            point: facts.point,
            seed: facts.seed,
            window: facts.window,
            flows: self.flows,
            coflows: self.coflows,
            fct_ps: Distribution::of_ps(self.fct_ps, fct_waited),
            slowdown: Distribution::censored(self.slowdown, slowdown_waited),
            cct_ps: Distribution::of_ps(self.cct_ps, cct_waited),
            network_latency_ps: facts.network_latency_ps,
            rtt_ps: facts.rtt_ps.map(|r| r.0),
            rtt_p99999_ps: facts.rtt_ps.map(|r| r.1),
            completion_ps,
            goodput_bps,
            goodput_jain: jain(&per_host),
            dropped_packets: self.dropped_packets.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
            trimmed_packets: self.trimmed_packets,
            packets: facts.packets,
            bytes: facts.bytes,
            control_messages: self.control.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            collisions: facts.collisions,
            simulated_ps: facts.simulated_ps,
            packet_hops: facts.packet_hops,
            events: facts.events,
        }
    }
}

/// A column of the table of runs.
enum Get {
    Count(fn(&RunSummary) -> u64),
    Time(fn(&RunSummary) -> Option<i64>),
    Real(fn(&RunSummary) -> Option<f64>),
}

macro_rules! distribution {
    ($field:ident, $($part:ident = $name:literal),+) => {
        [$(($name, Get::Real(|s| s.$field.map(|d| d.$part)))),+]
    };
}

/// The number columns of the table of runs, in their order.
fn columns() -> Vec<(&'static str, Get)> {
    let mut columns = flow_columns();
    columns.extend(latency_columns());
    columns.extend(traffic_columns());
    columns
}

/// Counts of flows and coflows, and their completion times.
fn flow_columns() -> Vec<(&'static str, Get)> {
    let mut columns: Vec<(&'static str, Get)> = vec![
        ("arrived_flows", Get::Count(|s| s.flows.arrived)),
        ("measured_flows", Get::Count(|s| s.flows.measured)),
        ("finished_flows", Get::Count(|s| s.flows.finished)),
        ("unfinished_flows", Get::Count(|s| s.flows.unfinished)),
        ("arrived_coflows", Get::Count(|s| s.coflows.arrived)),
        ("measured_coflows", Get::Count(|s| s.coflows.measured)),
        ("finished_coflows", Get::Count(|s| s.coflows.finished)),
        ("unfinished_coflows", Get::Count(|s| s.coflows.unfinished)),
    ];
    columns.extend(distribution!(
        fct_ps,
        mean = "fct_mean_ps",
        p50 = "fct_p50_ps",
        p95 = "fct_p95_ps",
        p99 = "fct_p99_ps",
        max = "fct_max_ps"
    ));
    columns.extend(distribution!(
        slowdown,
        mean = "slowdown_mean",
        p50 = "slowdown_p50",
        p95 = "slowdown_p95",
        p99 = "slowdown_p99",
        max = "slowdown_max"
    ));
    columns.extend(distribution!(
        cct_ps,
        mean = "cct_mean_ps",
        p50 = "cct_p50_ps",
        p95 = "cct_p95_ps",
        p99 = "cct_p99_ps",
        max = "cct_max_ps"
    ));
    columns.extend(distribution!(
        step_ps,
        mean = "step_mean_ps",
        p50 = "step_p50_ps",
        p95 = "step_p95_ps",
        p99 = "step_p99_ps",
        max = "step_max_ps"
    ));
    columns.push(("step_stretch", Get::Real(|s| s.step_stretch)));
    columns
}

/// Latencies of packets through the network, and round trips.
fn latency_columns() -> Vec<(&'static str, Get)> {
    let mut columns = Vec::from(distribution!(
        network_latency_ps,
        mean = "network_latency_mean_ps",
        p50 = "network_latency_p50_ps",
        p95 = "network_latency_p95_ps",
        p99 = "network_latency_p99_ps",
        max = "network_latency_max_ps"
    ));
    columns.extend(distribution!(
        rtt_ps,
        mean = "rtt_mean_ps",
        p50 = "rtt_p50_ps",
        p95 = "rtt_p95_ps",
        p99 = "rtt_p99_ps",
        max = "rtt_max_ps"
    ));
    columns.push(("rtt_p99999_ps", Get::Real(|s| s.rtt_p99999_ps)));
    columns
}

/// Goodput, packets, control messages and the size of the run.
fn traffic_columns() -> Vec<(&'static str, Get)> {
    vec![
        ("completion_ps", Get::Time(|s| s.completion_ps)),
        ("goodput_bps", Get::Real(|s| s.goodput_bps)),
        ("goodput_jain", Get::Real(|s| s.goodput_jain)),
        ("sent_packets", Get::Count(|s| s.packets.sent)),
        ("delivered_packets", Get::Count(|s| s.packets.delivered)),
        ("dropped_packets", Get::Count(|s| s.packets.dropped)),
        ("in_flight_packets", Get::Count(|s| s.packets.in_flight)),
        ("sent_bytes", Get::Count(|s| s.bytes.sent)),
        ("delivered_bytes", Get::Count(|s| s.bytes.delivered)),
        ("dropped_bytes", Get::Count(|s| s.bytes.dropped)),
        ("in_flight_bytes", Get::Count(|s| s.bytes.in_flight)),
        ("control_messages", Get::Count(|s| s.control_total().messages)),
        ("control_bytes", Get::Count(|s| s.control_total().bytes)),
        ("lost_control_messages", Get::Count(|s| s.control_total().lost)),
        ("late_control_messages", Get::Count(|s| s.control_total().late)),
        ("control_max_transfer_ps", Get::Time(|s| Some(s.control_total().max_transfer_ps))),
        ("retransmissions", Get::Count(|s| s.retransmissions)),
        ("timeouts", Get::Count(|s| s.timeouts)),
        ("collisions", Get::Time(|s| s.collisions.map(|c| c as i64))),
        ("simulated_ps", Get::Time(|s| Some(s.simulated_ps))),
        ("packet_hops", Get::Count(|s| s.packet_hops)),
        ("events", Get::Count(|s| s.events)),
    ]
}

/// The values of a swept key as numbers; `None` if one of them is none. Missing values are null.
pub fn swept_numbers(values: &[Option<&str>]) -> Option<ArrayRef> {
    fn all<T: std::str::FromStr>(values: &[Option<&str>]) -> Option<Vec<Option<T>>> {
        values.iter().map(|v| v.map(str::parse).transpose().ok()).collect()
    }
    match all::<i64>(values) {
        Some(numbers) => Some(Arc::new(Int64Array::from(numbers))),
        None => Some(Arc::new(Float64Array::from(all::<f64>(values)?))),
    }
}

/// The summaries as a table with one row per run, in their order: key, scheme, swept keys (numbers
/// if all values are numbers, otherwise text), seed and every number of the summary, then one
/// column of lost packets for each reason, and `trimmed_packets` if a run has any. If a run has
/// lower bounds, a last column `lower_bounds` names their columns, separated by spaces.
pub fn summary_batch<'a>(runs: impl IntoIterator<Item = (&'a str, &'a RunSummary)>) -> RecordBatch {
    let (keys, runs): (Vec<&str>, Vec<&RunSummary>) = runs.into_iter().unzip();
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let mut add = |name: &str, array: ArrayRef, nullable: bool| {
        fields.push(Field::new(name, array.data_type().clone(), nullable));
        arrays.push(array);
    };
    add("run", Arc::new(StringArray::from(keys)), false);
    add("scheme", Arc::new(StringArray::from_iter_values(runs.iter().map(|s| &s.scheme))), false);
    let swept: IndexSet<&String> = runs.iter().flat_map(|s| s.point.keys()).collect();
    for key in swept {
        let taken = ["run", "scheme", "seed"].contains(&key.as_str()) || columns().iter().any(|(name, _)| name == key);
        let name = if taken { format!("point.{key}") } else { key.clone() };
        let values: Vec<Option<&str>> = runs.iter().map(|s| s.point.get(key).map(String::as_str)).collect();
        add(&name, swept_numbers(&values).unwrap_or_else(|| Arc::new(StringArray::from(values))), true);
    }
    add("seed", Arc::new(UInt64Array::from_iter_values(runs.iter().map(|s| s.seed))), false);
    for (name, get) in columns() {
        match get {
            Get::Count(get) => {
                add(name, Arc::new(UInt64Array::from_iter_values(runs.iter().map(|s| get(s)))), false);
            }
            Get::Time(get) => add(name, Arc::new(runs.iter().map(|s| get(s)).collect::<Int64Array>()), true),
            Get::Real(get) => add(name, Arc::new(runs.iter().map(|s| get(s)).collect::<Float64Array>()), true),
        }
    }
    let reasons: BTreeSet<&String> = runs.iter().flat_map(|s| s.dropped_packets.keys()).collect();
    for reason in reasons {
        let counts = runs.iter().map(|s| s.dropped_packets.get(reason).copied().unwrap_or(0));
        let name = format!("dropped_{reason}_packets").replace([' ', '-'], "_");
        add(&name, Arc::new(UInt64Array::from_iter_values(counts)), false);
    }
    if runs.iter().any(|s| s.trimmed_packets.is_some()) {
        let counts = runs.iter().map(|s| s.trimmed_packets.unwrap_or(0));
        add("trimmed_packets", Arc::new(UInt64Array::from_iter_values(counts)), false);
    }
    let lower_bounds: Vec<String> = runs.iter().map(|s| s.lower_bounds().join(" ")).collect();
    if lower_bounds.iter().any(|names| !names.is_empty()) {
        let names = lower_bounds.iter().map(|names| (!names.is_empty()).then_some(names));
        add("lower_bounds", Arc::new(names.collect::<StringArray>()), true);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_schema::DataType;

    fn flow(destination: u32, start_ps: i64, fct_ps: Option<i64>, measured: bool) -> FlowRow {
        FlowRow {
            flow: 0,
            coflow: None,
            source: 0,
            destination,
            size_bytes: 1000,
            start_ps,
            fct_ps,
            acknowledged_ps: fct_ps,
            received_bytes: 1000,
            ideal_ps: 50,
            measured,
            retransmissions: 2,
            timeouts: 1,
        }
    }

    fn facts() -> RunFacts {
        RunFacts { received_ps: 1_000_000, received_bytes: vec![500, 0, 1000, 1000], ..RunFacts::default() }
    }

    #[test]
    fn what_is_measured_and_finished_is_summed_up() {
        let rows = [
            flow(1, 0, Some(1_000_000), false),
            flow(2, 10, Some(100), true),
            flow(3, 20, Some(300), true),
            flow(3, 30, Some(200), true),
        ];
        let mut summarizer = Summarizer::new();
        rows.iter().for_each(|row| summarizer.flow(row));
        let summary = summarizer.finish(facts());
        assert_eq!(summary.flows, Counts { arrived: 4, measured: 3, finished: 3, unfinished: 0 });
        let fct = summary.fct_ps.unwrap();
        assert_eq!((fct.mean, fct.p50, fct.p95, fct.max), (200.0, 200.0, 290.0, 300.0));
        assert_eq!(summary.slowdown.unwrap().mean, 4.0);
        assert_eq!(summary.completion_ps, Some(1_000_000), "warm-up included");
        // 2500 B in 1 us, by all hosts; fairness among hosts 1, 2 and 3, as nothing was sent to
        // host 0.
        assert!((summary.goodput_bps.unwrap() - 20e9).abs() < 1.0);
        assert_eq!(summary.goodput_jain, Some(2.0 / 3.0));
        assert_eq!((summary.retransmissions, summary.timeouts), (8, 4));
        assert_eq!(summary.cct_ps, None);

        // The order in which flows end changes nothing.
        let mut backwards = Summarizer::new();
        rows.iter().rev().for_each(|row| backwards.flow(row));
        assert_eq!(backwards.finish(facts()), summary);
    }

    #[test]
    fn unfinished_flows_are_counted() {
        let mut summarizer = Summarizer::new();
        summarizer.flow(&flow(1, 0, Some(100), true));
        summarizer.flow(&flow(1, 5, None, true));
        summarizer.flow(&flow(1, 9, None, false));
        let summary = summarizer.finish(RunFacts { simulated_ps: 1005, ..facts() });
        assert_eq!(summary.flows, Counts { arrived: 3, measured: 2, finished: 1, unfinished: 1 });
        assert_eq!(summary.completion_ps, None);
        // The second flow has waited for 1000 ps, 20 times its ideal time.
        let (fct, slowdown) = (summary.fct_ps.unwrap(), summary.slowdown.unwrap());
        assert_eq!((fct.mean, fct.max, slowdown.mean, slowdown.max), (550.0, 1000.0, 11.0, 20.0));
        assert!(fct.lower_bounds.mean && fct.lower_bounds.max && slowdown.lower_bounds.mean);
        assert_eq!(summary.cct_ps, None);
    }

    #[test]
    fn the_table_of_runs_names_lower_bounds() {
        let run = |finished: bool| {
            let mut summarizer = Summarizer::new();
            for i in 0..100 {
                summarizer.flow(&flow(1, 0, (finished || i != 7).then_some(100 + i), true));
            }
            let coflow = |cct_ps| CoflowRow {
                coflow: 0,
                name: 0,
                flows: 1,
                size_bytes: 1,
                start_ps: 0,
                cct_ps,
                finished_flows: 0,
                measured: true,
            };
            summarizer.coflow(&coflow(finished.then_some(5)));
            summarizer.finish(RunFacts { simulated_ps: 1000, ..facts() })
        };
        let (all, some) = (run(true), run(false));
        let has = |runs: &[&RunSummary]| {
            let batch = summary_batch(runs.iter().map(|&run| ("key", run)));
            batch
                .column_by_name("lower_bounds")
                .map(|c| c.as_string::<i32>().iter().map(|v| v.map(str::to_owned)).collect::<Vec<_>>())
        };
        assert_eq!(has(&[&all]), None::<Vec<Option<String>>>);
        let cct = ["mean", "p50", "p95", "p99", "max"].map(|part| format!("cct_{part}_ps")).join(" ");
        // Of 100 flows the last one is unknown. The 99th percentile lies between the last two.
        let names = format!("fct_mean_ps fct_p99_ps fct_max_ps slowdown_mean slowdown_p99 slowdown_max {cct}");
        assert_eq!(has(&[&all, &some]), Some(vec![None, Some(names)]));
    }

    #[test]
    fn of_an_empty_run_nothing_is_invented() {
        let summary = Summarizer::new().finish(RunFacts::default());
        assert_eq!((summary.fct_ps, summary.slowdown, summary.cct_ps), (None, None, None));
        assert_eq!((summary.goodput_bps, summary.goodput_jain, summary.completion_ps), (None, None, None));
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<RunSummary>(&text).unwrap(), summary);
    }

    #[test]
    fn nothing_is_lost_between_sender_and_receiver() {
        assert!(Tally { sent: 6, delivered: 3, dropped: 2, in_flight: 1 }.is_balanced());
        assert!(!Tally { sent: 6, delivered: 3, dropped: 2, in_flight: 2 }.is_balanced());
    }

    #[test]
    fn a_swept_key_does_not_hide_a_column() {
        let point = IndexMap::from([("seed".to_owned(), "7".to_owned()), ("a.b".to_owned(), "x".to_owned())]);
        let summary = Summarizer::new().finish(RunFacts { point, ..RunFacts::default() });
        let batch = summary_batch([("key", &summary)]);
        let schema = batch.schema();
        let names: Vec<_> = schema.fields().iter().take(5).map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["run", "scheme", "point.seed", "a.b", "seed"]);
        let types: Vec<_> = schema.fields().iter().skip(2).take(2).map(|f| f.data_type().clone()).collect();
        assert_eq!(types, [DataType::Int64, DataType::Utf8]);
        let loads = swept_numbers(&[Some("0.5"), None, Some("1")]).expect("numbers");
        assert_eq!((loads.data_type(), loads.null_count()), (&DataType::Float64, 1));
        let unique: BTreeSet<_> = schema.fields().iter().map(|f| f.name()).collect();
        assert_eq!(unique.len(), schema.fields().len());
    }
}
