//! `list`: the names that scenarios can use.
//!
//! The lists come from the JSON Schema and the enums that read scenarios.

use crate::fail::Failure;
use crate::{ListArgs, output};
use clap::ValueEnum;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use timeplane_results::{Metric, tables};
use timeplane_workload::BUNDLED;

/// Kind of names to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Shapes of the fabric
    Topologies,
    /// Traffic: workloads, patterns, sizes and packets
    Workloads,
    /// Transports of flows
    Transports,
    /// Congestion controls of TCP
    Congestion,
    /// Plans of schemes
    Plans,
    /// Planning algorithms
    Schedulers,
    /// Policies of flyways and proxies
    Policies,
    /// Antennas and medium access
    Radio,
    /// Disciplines, buffers and paths of queues
    Queues,
    /// Sets of parameters: TCP, hosts, reactions to signals, dark times
    Presets,
    /// Bundled traces and distributions
    Data,
    /// Metrics and tables of results
    Results,
}

/// A list: its title with the key that uses the names, and what it names.
struct List {
    what: What,
    title: &'static str,
    entries: Vec<Entry>,
}

/// Something that scenarios can name.
struct Entry {
    name: String,
    about: String,
    /// Of an algorithm: the publication that it follows, and in what it differs from that.
    published: Option<[String; 2]>,
}

impl Entry {
    fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { name: name.into(), about: about.into(), published: None }
    }
    fn to_json(&self) -> Value {
        let mut all = json!({ "name": self.name, "about": self.about });
        if let Some([source, departures]) = &self.published {
            all["source"] = json!(source);
            all["departures"] = json!(departures);
        }
        all
    }
    /// Description, and in another line the source.
    fn to_text(&self) -> String {
        match &self.published {
            None => self.about.clone(),
            Some([source, departures]) => format!("{}\n{source}; departures: {departures}", self.about),
        }
    }
}

pub fn list(args: &ListArgs) -> Result<(), Failure> {
    let lists: Vec<List> = all().into_iter().filter(|l| args.what.is_none_or(|w| w == l.what)).collect();
    if args.json {
        let one = |l: &List| {
            let entries: Vec<Value> = l.entries.iter().map(Entry::to_json).collect();
            json!({ "title": l.title, "entries": entries })
        };
        return output::json(&lists.iter().map(one).collect());
    }
    let text: Vec<String> = lists.iter().map(List::to_text).collect();
    output::text(&text.join("\n"))
}

impl List {
    fn to_text(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(output::width().min(u16::MAX.into()) as u16);
        for entry in &self.entries {
            table.add_row([format!(" {}", entry.name), entry.to_text()]);
        }
        let lines: Vec<String> = table.lines().map(|l| format!("{}\n", l.trim_end())).collect();
        format!("{}\n{}", self.title, lines.concat())
    }
}

fn all() -> Vec<List> {
    let schema = timeplane_scenario::schema();
    let list = |what, title, entries| List { what, title, entries };
    let of = |name: &str| alternatives(&schema["$defs"][name]);
    let mut lists = vec![
        list(What::Topologies, "Topologies (fabric.topology)", of("Topology")),
        list(What::Workloads, "Workloads (workload)", of("Workload")),
        list(What::Workloads, "Patterns of a Poisson workload (workload.poisson.pattern)", of("Pattern")),
        list(What::Workloads, "Sizes of its flows (workload.poisson.sizes)", of("Sizes")),
        list(What::Workloads, "Packets of its flows (workload.poisson.packets)", of("PacketMix")),
        list(What::Transports, "Transports (scheme.NAME.transport)", of("Transport")),
        list(What::Congestion, "Congestion controls (scheme.NAME.transport.tcp.congestion)", of("Congestion")),
        list(What::Plans, "Plans (scheme.NAME.plan)", of("PlanSpec")),
    ];
    lists.extend([
        list(What::Schedulers, "TDMA schedulers (scheme.NAME.plan.tdma.scheduler)", of("TdmaScheduler")),
        list(What::Schedulers, "Circuit schedulers (scheme.NAME.plan.circuits.scheduler)", of("CircuitAlgorithm")),
        list(What::Schedulers, "Orders of timeslots (scheme.NAME.plan.timeslots.metric)", of("SlotMetric")),
        list(What::Schedulers, "Path algorithms (scheme.NAME.plan.timeslots.coloring)", of("PathColoring")),
        list(What::Schedulers, "Rate estimators (scheme.NAME.plan.rates.estimator)", of("RateEstimator")),
        list(What::Schedulers, "Rate normalizers (scheme.NAME.plan.rates.normalizer)", of("RateNormalizer")),
        list(What::Policies, "Flyway policies (scheme.NAME.plan.flyways.policy)", of("FlywayPolicy")),
        list(What::Policies, "Proxy policies (scheme.NAME.proxy.policy)", of("ProxyPolicy")),
        list(What::Radio, "Antennas (fabric.radio.antenna)", of("AntennaName")),
        list(What::Radio, "Constants of medium access (fabric.radio.mac)", of("MacName")),
        list(What::Radio, "Medium access (fabric.radio.access)", of("Access")),
        list(What::Queues, "Disciplines (scheme.NAME.nic.discipline)", of("Discipline")),
        list(What::Queues, "Buffers of switches (fabric.switch.buffer)", of("Buffer")),
        list(What::Queues, "Queues in front of air links (fabric.radio.queue)", of("AirQueue")),
        list(What::Queues, "Paths of equal cost (scheme.NAME.ecmp)", of("Ecmp")),
        list(What::Presets, "Presets of TCP (scheme.NAME.transport.tcp.preset)", of("TcpPreset")),
        list(What::Presets, "Latencies of hosts (scheme.NAME.host.latency)", of("HostLatency")),
        list(What::Presets, "Reactions of hosts to signals (scheme.NAME.plan.tdma.signals.reaction)", of("Reaction")),
        list(What::Presets, "Dark times of circuit switches (fabric.topology.hybrid.dark)", of("DarkTime")),
    ]);
    let bundled = |b: &timeplane_workload::Bundled| Entry::new(b.name, format!("{} ({})", b.about, b.kind.key()));
    lists.push(list(What::Data, "Bundled data", BUNDLED.iter().map(bundled).collect()));
    let metric = |m: &Metric| Entry::new(m.name(), m.label());
    lists.push(list(What::Results, "Metrics of a run (summary.parquet)", Metric::ALL.iter().map(metric).collect()));
    let tables = tables::all().into_iter().map(|(name, schema)| {
        let columns: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        Entry::new(name, columns.join(", "))
    });
    lists.push(list(What::Results, "Tables of a run (runs/KEY/NAME.parquet) and their columns", tables.collect()));
    lists
}

/// The alternatives of a choice in the schema.
fn alternatives(schema: &Value) -> Vec<Entry> {
    let none = vec![];
    let entry = |alternative: &Value| {
        let name = alternative["const"].as_str().map(str::to_owned);
        let key = || alternative["properties"].as_object().and_then(|p| p.keys().next().cloned());
        let about = alternative["description"].as_str().unwrap_or_default().replace('\n', " ");
        let text = |key: &str| alternative[key].as_str().map(str::to_owned);
        let published = text("x-source").zip(text("x-departures")).map(|(source, departures)| [source, departures]);
        name.or_else(key).map(|name| Entry { name, about: about.trim_end_matches('.').to_owned(), published })
    };
    schema["oneOf"].as_array().unwrap_or(&none).iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_is_empty_and_every_entry_says_what_it_is() {
        for list in all() {
            assert!(!list.entries.is_empty(), "{}", list.title);
            assert!(list.entries.iter().all(|e| !e.name.is_empty() && !e.about.is_empty()), "{}", list.title);
        }
    }

    #[test]
    fn every_algorithm_has_a_source_and_its_departures_in_a_line() {
        let algorithms = |l: &List| l.what == What::Schedulers || l.title.starts_with("Flyway policies");
        for list in all().iter().filter(|l| algorithms(l)) {
            assert!(!list.entries.is_empty(), "{}", list.title);
            for entry in &list.entries {
                let Some(published) = &entry.published else { panic!("{}: {} has no source", list.title, entry.name) };
                let fits = |text: &String| !text.is_empty() && text.len() <= 160 && !text.contains("  ");
                assert!(published.iter().all(fits), "{}: {published:?}", entry.name);
            }
        }
    }
}
