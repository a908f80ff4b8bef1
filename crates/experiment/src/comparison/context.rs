//! What a comparison says about its scenarios: whether all schemes get the same arrivals, and in
//! which settings of transport, hosts and switches they differ.

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use std::fmt::Write;
use timeplane_model::Duration;
use timeplane_results::{Folder, RunSummary};
use timeplane_scenario::{Scheme, Tcp, Workload};

/// The traffic that all schemes of a comparison share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedTraffic {
    /// The same flows at the same times.
    Arrivals,
    /// The same flows. When they start depends on the scheme, because flows wait for others.
    Work,
    /// Not known, such as in a comparison of folders with different workloads.
    #[default]
    Unknown,
}

/// Facts of the scenarios of a comparison that are not in its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    traffic: SharedTraffic,
    /// What seeds vary of the traffic, unless it is all of it.
    varied: Option<&'static str>,
    /// Workload and fabric of every scenario.
    demands: Vec<[Value; 2]>,
    /// By scheme of the comparison: the values of its settings.
    schemes: IndexMap<String, IndexMap<String, Effect>>,
}

/// The effect of a setting in a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Effect {
    /// A value as text.
    Is(String),
    /// It has no effect in this scheme.
    Idle,
}

impl Context {
    /// The context of results folders.
    pub fn of_folders(folders: &[Folder]) -> Self {
        let mut context = Self::default();
        for folder in folders {
            let runs = folder.runs.iter().map(|run| (run.scheme.as_str(), &run.summary));
            context.add(&folder.manifest.scenario, runs);
        }
        context
    }

    /// Adds a scenario, as its manifest has it, and its runs, each with the name of its scheme in
    /// the scenario. The comparison may have other names.
    pub fn add<'a>(&mut self, scenario: &Value, runs: impl IntoIterator<Item = (&'a str, &'a RunSummary)>) {
        let mut names: IndexMap<&str, &str> = IndexMap::new();
        let mut swept: IndexSet<&str> = IndexSet::new();
        for (name, run) in runs {
            names.entry(name).or_insert(&run.scheme);
            swept.extend(run.point.keys().map(String::as_str));
        }
        self.demands.push([scenario["workload"].clone(), scenario["fabric"].clone()]);
        let first = &self.demands[0];
        let same = self.demands.iter().all(|demand| demand == first);
        // Folders may have different files of one name.
        let apart = self.demands.len() > 1 && reads_files(&scenario["workload"]);
        self.traffic = if same && !apart { shared_traffic(scenario, &swept) } else { SharedTraffic::Unknown };
        let varied = serde_json::from_value(scenario["workload"].clone()).ok().and_then(|w| varied(&w));
        // Not said of scenarios that differ in it.
        self.varied = if self.demands.len() == 1 || self.varied == varied { varied } else { None };
        for (name, shown) in names {
            let settings = settings(name, scenario, &swept);
            self.schemes.insert(shown.to_owned(), settings);
        }
    }

    /// A sentence on what seeds vary of the traffic, unless it is all of it.
    pub(super) const fn varied(&self) -> Option<&'static str> {
        self.varied
    }

    /// The traffic that all schemes share.
    pub(super) const fn traffic(&self) -> SharedTraffic {
        self.traffic
    }

    /// One line for each setting in which schemes differ: its key, and each value with its schemes.
    pub(super) fn differences(&self) -> Vec<String> {
        let keys: IndexSet<&String> = self.schemes.values().flat_map(IndexMap::keys).collect();
        keys.into_iter().filter_map(|key| self.difference(key)).collect()
    }

    fn difference(&self, key: &str) -> Option<String> {
        // Settings of TCP are compared among the schemes with TCP.
        let kind = key.strip_prefix("transport.").and_then(|rest| rest.split('.').next());
        let family = kind.map(|kind| format!("transport.{kind}."));
        let mut by_value: IndexMap<&str, Vec<&str>> = IndexMap::new();
        for (scheme, settings) in &self.schemes {
            let of_family = |family: &String| settings.keys().any(|k| k.starts_with(family));
            match settings.get(key) {
                Some(Effect::Is(value)) => by_value.entry(value).or_default().push(scheme),
                None if family.as_ref().is_none_or(of_family) => by_value.entry("default").or_default().push(scheme),
                Some(Effect::Idle) | None => {}
            }
        }
        let values = by_value.iter().map(|(value, schemes)| format!("{value} ({})", schemes.join(", ")));
        (by_value.len() > 1).then(|| format!("{key}: {}", values.collect::<Vec<_>>().join(", ")))
    }
}

/// Whether a workload reads a file of sizes, flows or dependences.
fn reads_files(workload: &Value) -> bool {
    let mut leaves = IndexMap::new();
    flatten("", workload, &mut leaves);
    leaves.keys().any(|key| key.rsplit('.').next().is_some_and(|last| ["file", "prefix", "cdf"].contains(&last)))
}

/// What seeds vary of a workload; `None` if all of it is random.
fn varied(workload: &Workload) -> Option<&'static str> {
    let jitter = match workload {
        Workload::Poisson(_) => return None,
        Workload::Coflows(c) if c.blocks != Some(1) => {
            return Some("Seeds draw the coflows from blocks of the trace's time.");
        }
        Workload::Coflows(c) => c.jitter,
        Workload::Shuffle(s) => s.jitter,
        Workload::Flows(_) | Workload::Collective(_) | Workload::Chakra(_) | Workload::Simai(_) => Duration::ZERO,
    };
    Some(if jitter > Duration::ZERO {
        "Seeds vary only the starts of flows."
    } else {
        "Seeds do not vary the traffic."
    })
}

fn shared_traffic(scenario: &Value, swept: &IndexSet<&str>) -> SharedTraffic {
    let decides = ["workload", "workload.shuffle", "workload.shuffle.in_turn"];
    match serde_json::from_value::<Workload>(scenario["workload"].clone()) {
        Ok(workload) if workload.starts_depend_on_scheme() => SharedTraffic::Work,
        Ok(_) if swept.iter().any(|key| decides.contains(key)) => SharedTraffic::Work,
        Ok(_) => SharedTraffic::Arrivals,
        Err(_) => SharedTraffic::Unknown,
    }
}

/// The settings of a scheme that decide how its transport behaves, by their keys.
fn settings(name: &str, scenario: &Value, swept: &IndexSet<&str>) -> IndexMap<String, Effect> {
    let scheme = &scenario["scheme"][name];
    let mut leaves = IndexMap::new();
    if let Some(kind) = scheme["transport"].as_object().and_then(|t| t.keys().next()) {
        leaves.insert("transport".to_owned(), kind.clone());
    }
    let mut transport = scheme["transport"].clone();
    // Presets count by what they set.
    if let Ok(tcp) = serde_json::from_value::<Tcp>(transport["tcp"].clone()) {
        transport["tcp"] = serde_json::json!(tcp.resolved());
    }
    flatten("transport", &transport, &mut leaves);
    flatten("ecmp", &scheme["ecmp"], &mut leaves);
    flatten("nic", &scheme["nic"], &mut leaves);
    if let Ok(scheme) = serde_json::from_value::<Scheme>(scheme.clone()) {
        flatten("nic.discipline", &serde_json::json!(scheme.discipline()), &mut leaves);
        flatten("host.latency", &serde_json::json!(scheme.host_latency()), &mut leaves);
    }
    flatten("fabric.switch", &scenario["fabric"]["switch"], &mut leaves);
    // Tables of a scheme's own switches replace whole tables.
    let own = &scheme["fabric"]["switch"];
    let replaced: Vec<String> =
        own.as_object().into_iter().flat_map(|own| own.keys()).map(|key| format!("fabric.switch.{key}")).collect();
    leaves.retain(|key, _| !replaced.iter().any(|table| key.starts_with(table)));
    flatten("fabric.switch", own, &mut leaves);
    let mut settings: IndexMap<String, Effect> = leaves.into_iter().map(|(k, v)| (k, Effect::Is(v))).collect();
    let congestion = scheme["transport"]["tcp"]["congestion"].as_str();
    // DCTCP uses ECN in any case. Other settings are for some controls only.
    if congestion == Some("dctcp") {
        settings.insert("transport.tcp.ecn".to_owned(), Effect::Is("true".to_owned()));
    }
    for (key, controls) in [("hystart", &["cubic", "new_reno"][..]), ("w_max_from_cwnd", &["cubic"])] {
        if congestion.is_some_and(|c| !controls.contains(&c)) {
            settings.insert(format!("transport.tcp.{key}"), Effect::Idle);
        }
    }
    // Gates decide which of a host's queues sends, one queue for each destination. Its flows may
    // take turns.
    let gated = scheme["plan"].as_object().is_some_and(|plan| !plan.contains_key("flyways"));
    if gated && let Some(Effect::Is(discipline)) = settings.get_mut("nic.discipline") {
        let within = if discipline == "fair_queue" { " and flow" } else { "" };
        *discipline = format!("as planned, by destination{within}");
    }
    for key in swept {
        let Some(key) = key.strip_prefix("scheme.").and_then(|k| k.strip_prefix(name)?.strip_prefix('.')) else {
            continue;
        };
        let within = |k: &str| k == key || k.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
        settings.iter_mut().filter(|(k, _)| within(k)).for_each(|(_, v)| *v = Effect::Is("swept".to_owned()));
    }
    settings
}

/// Adds the leaves of a JSON value with their dotted keys.
fn flatten(key: &str, value: &Value, leaves: &mut IndexMap<String, String>) {
    let mut insert = |text: String| {
        leaves.insert(key.to_owned(), text);
    };
    match value {
        Value::Null => {}
        Value::Object(table) => {
            for (name, inner) in table {
                let mut inside = key.to_owned();
                let dot = if key.is_empty() { "" } else { "." };
                let _ = write!(inside, "{dot}{name}");
                flatten(&inside, inner, leaves);
            }
        }
        Value::String(text) => insert(text.clone()),
        other => insert(other.to_string()),
    }
}
