//! The file `live.json` of a run, with results that only a lab has.
//!
//! It has the counters of all daemons and the report of the observer at the switch.

use super::circuits::CircuitsSeen;
use super::failures::Failures;
use super::hosts::Hosts;
use super::load::Load;
use super::tables::RecordError;
use super::workload::{Ended, Programs};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use timeplane_live::agent::Snapshot;
use timeplane_live::observer::ObserverReport;
use timeplane_model::Rate;

/// A slot of a controller's log.
#[derive(Clone, Debug, Deserialize)]
pub struct Slot {
    /// Number of the round.
    pub round: u64,
    /// Number of the slot in its round.
    pub slot: u32,
    /// Planned start, by the machine's clock.
    pub start_ps: i64,
    /// Length of the slot.
    pub open_ps: i64,
    /// Guard between this slot and the next.
    pub gap_ps: i64,
    /// Pairs of source and destination.
    pub pairs: Vec<(u32, u32)>,
}

/// Final counters of the daemons.
#[derive(Clone, Debug)]
pub struct Counted {
    /// State of each agent, by host.
    pub agents: Vec<Snapshot>,
    /// Counters of each controller, by place.
    pub controllers: Vec<BTreeMap<String, u64>>,
    /// Slots of all controllers, in order of time.
    pub slots: Vec<Slot>,
    /// Number of agents that the scenario's failures killed. Their last counts are unknown.
    pub killed_agents: u64,
    /// Signals that were dropped as the scenario demands.
    pub lost_signals: u64,
    /// Counters of both switches of a plan of circuits.
    pub circuits: Option<CircuitsSeen>,
}

impl Counted {
    /// Reads the counters of [stopped](Hosts::stop) hosts. For killed ones, the last known counters
    /// are used.
    ///
    /// # Errors
    /// If a daemon has not written its counters, or those of a switch cannot be read.
    pub fn read(hosts: &Hosts, controllers: u32, failures: &Failures) -> Result<Self, RecordError> {
        let missing = |who: String| RecordError::Missing { who };
        let agent = |h: u16| {
            let killed = failures.agents.get(&h).map_or(&[][..], Vec::as_slice);
            let lives = hosts.snapshot(h.into()).into_iter().chain(killed.iter().cloned());
            lives.reduce(together).ok_or_else(|| missing(format!("host-{h}")))
        };
        let agents = (0..hosts.fabric().parameters().hosts).map(agent).collect::<Result<_, _>>()?;
        let controller = |p: u32| {
            let killed = failures.controllers.get(&p).map_or(&[][..], Vec::as_slice);
            let lives = hosts.controller_counters(p as usize).into_iter().chain(killed.iter().cloned());
            lives.reduce(summed).ok_or_else(|| missing(format!("controller-{p}")))
        };
        let counters = (0..controllers).map(controller).collect::<Result<_, _>>()?;
        let mut slots = Vec::new();
        for place in 0..controllers {
            let file = hosts.folder(&format!("controller-{place}")).join("slots.jsonl");
            let text = std::fs::read_to_string(file).unwrap_or_default();
            // The last line of a killed controller may be incomplete.
            slots.extend(text.lines().filter_map(|line| serde_json::from_str::<Slot>(line).ok()));
        }
        slots.sort_by_key(|s| s.start_ps);
        let killed = failures.agents.values().map(|lives| lives.len() as u64).sum();
        let circuits = hosts.circuits().map(|c| c.seen(hosts.fabric())).transpose();
        let circuits = circuits.map_err(|e| missing(format!("the circuit switch ({e})")))?;
        Ok(Self { agents, controllers: counters, slots, lost_signals: 0, killed_agents: killed, circuits })
    }
    /// The sum of a counter of all agents.
    pub fn agents(&self, name: &str) -> u64 {
        self.agents.iter().filter_map(|a| a.agent.get(name)).sum()
    }
    /// The sum of a counter of all agents' streams.
    pub fn streams(&self, name: &str) -> u64 {
        self.agents.iter().filter_map(|a| a.streams.get(name)?.as_u64()).sum()
    }
    /// The sum of a counter of all controllers.
    pub fn controllers(&self, name: &str) -> u64 {
        self.controllers.iter().filter_map(|m| m.get(name)).sum()
    }
}

fn summed(mut one: BTreeMap<String, u64>, other: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    other.into_iter().for_each(|(name, value)| *one.entry(name).or_default() += value);
    one
}

/// Two starts of an agent. Its gate outlives it, and has counted both.
fn together(newer: Snapshot, older: Snapshot) -> Snapshot {
    let mut streams = newer.streams;
    for (name, value) in older.streams.as_object().into_iter().flatten() {
        let sum = streams[name].as_u64().unwrap_or(0) + value.as_u64().unwrap_or(0);
        streams[name] = sum.into();
    }
    Snapshot { agent: summed(newer.agent, older.agent), streams, ..newer }
}

/// The content of `live.json`.
pub fn live_json(
    seen: Option<&ObserverReport>,
    rate: Rate,
    counted: &Counted,
    programs: &Programs,
    load: &Load,
) -> Value {
    let us = |ns: u64| ns as f64 / 1e3;
    let mut live = json!({
        "ended": match programs.ended {
            Ended::Delivered => "delivered",
            Ended::Time => "time",
            Ended::Stalled => "stalled",
            Ended::Cancelled => "cancelled",
        },
        "slips": counted.controllers("slips"),
        "slipped_us": us(counted.controllers("slipped_ns")),
        "signals_lost": counted.lost_signals,
        "agents_killed": counted.killed_agents,
        "frames_resent": counted.streams("frames_resent"),
        "frames_too_late": counted.agents("too_late"),
        "failed_flows": programs.flows.iter().filter(|f| f.finished().is_none()).filter_map(|f| f.failure()).take(20).collect::<Vec<_>>(),
        "agents": counted.agents,
        "controllers": counted.controllers,
        "load": load,
    });
    if let Some(report) = seen {
        live["frames"] = report.frames.into();
        live["violations"] = report.violations.into();
        live["reaction_p50_us"] = report.reaction.p50_us.into();
        live["reaction_p99_us"] = report.reaction.p99_us.into();
        live["slots_used"] = share((report.slots - report.empty_slots) as f64, report.slots as f64);
        live["slots_filled"] = report.filled(rate).into();
        live["observer"] = json!(report);
    }
    if let Some(seen) = &counted.circuits {
        let sum = seen.sum();
        live["circuit_frames"] = sum.frames.into();
        live["circuit_dark"] = sum.dark.into();
        live["circuit_unconnected"] = sum.unconnected.into();
        live["circuit_share"] = share(counted.agents("circuit_wire_bytes") as f64, counted.agents("wire_bytes") as f64);
        live["packets_dropped"] = seen.packets_dropped.iter().sum::<u64>().into();
        live["circuits"] = json!(seen);
    }
    live
}

fn share(part: f64, whole: f64) -> Value {
    if whole > 0.0 { json!(part / whole) } else { Value::Null }
}

/// A line of text about it.
pub fn line(live: &Value) -> String {
    let number = |key: &str| live[key].as_f64();
    let mut parts = Vec::new();
    if let (Some(violations), Some(frames)) = (live["violations"].as_u64(), live["frames"].as_u64()) {
        parts.push(format!("violations {violations} of {frames} frames"));
    }
    if let (Some(p50), Some(p99)) = (number("reaction_p50_us"), number("reaction_p99_us")) {
        parts.push(format!("reaction p50 {p50:.0} us, p99 {p99:.0} us"));
    }
    for (key, what) in [("slots_used", "slots used"), ("slots_filled", "filled")] {
        parts.extend(number(key).map(|share| format!("{what} {:.1} %", 100.0 * share)));
    }
    if let (Some(dark), Some(unconnected)) = (live["circuit_dark"].as_u64(), live["circuit_unconnected"].as_u64()) {
        parts.extend(number("circuit_share").map(|share| format!("{:.1} % over circuits", 100.0 * share)));
        parts.push(format!("{dark} frames lost in dark times, {unconnected} without a circuit"));
    }
    if let (Some(us), Some(slips)) = (number("slipped_us"), live["slips"].as_u64()) {
        parts.push(format!("slipped {:.1} ms in {slips}", us / 1e3));
    }
    parts.extend(live["frames_resent"].as_u64().map(|n| format!("{n} frames resent")));
    if let Some(ended) = live["ended"].as_str().filter(|e| *e != "delivered") {
        parts.push(format!("ended: {ended}"));
    }
    parts.join("; ")
}
