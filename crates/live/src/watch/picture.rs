//! Content of a page, and its changes since the last event. A snapshot and the events after it
//! contain everything.
//!
//! An event is JSON. Times are nanoseconds since the start of the controller; unknown values are
//! `null`:
//!
//! | key | what |
//! | --- | --- |
//! | `now_ns` | when it was made |
//! | `about` | [`About`](super::About); in a snapshot only |
//! | `slots` | columns: `round`, `slot`, `begin_ns`, `open_ns`, `gap_ns`, and `pairs`, how many of `source` and `destination` each has |
//! | `left_out` | slots that were planned while somebody looked, and were too many to show |
//! | `demand` | by host that has changed: wire bytes that wait, by destination |
//! | `hosts` | by host that has changed: [`Host`] |
//! | `counters` | what the controller counts |
//! | `observed` | what an observer at the switch has seen, once there is one |

use super::{Kind, Planned, Watch};
use crate::controller::Known;
use crate::notes::Counts;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use timeplane_model::{Duration, Rate, Time};

/// Maximum number of slots' pairs in an event.
pub(super) const EVENT_PAIRS: usize = 4_000;
/// Pairs of slots in a snapshot, with those of one event on top: the newest.
pub(super) const KEPT_PAIRS: usize = 20_000;
/// Maximum number of demand entries in an event. Rows that do not fit come with the next one.
pub(super) const ENTRIES: usize = 16_384;
/// Slots of a host that wait to be compared with what it has sent.
const OPENINGS: usize = 16_384;
/// Over how many of an agent's counts, a second apart, fill is taken.
const FILLS: usize = 4;

/// Of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Host {
    /// What the controller takes it for.
    pub(super) state: State,
    /// When its last report came.
    reported_ns: Option<i64>,
    /// How many have come.
    reports: u64,
    /// Since when it is away.
    left_ns: Option<i64>,
    /// The share of its slots' time that it has sent in, of the last seconds.
    pub(super) fill: Option<f64>,
    /// When that was known.
    fill_ns: Option<i64>,
    /// What its agent has counted.
    counts: Option<Counts>,
}

/// What a controller takes a host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It has not joined yet.
    Absent,
    /// It is there.
    Joined,
    /// It is there, and has not reported for too long.
    Late,
    /// It was there: its slots are others' now.
    Silent,
}

/// Planned slots of a host and the bytes it has sent, for comparison.
#[derive(Clone, Debug, Default)]
struct Use {
    openings: VecDeque<(Time, Time)>,
    last: Option<(Time, Counts)>,
    /// Bytes sent, and bytes that could have been.
    fills: VecDeque<(u64, u64)>,
    at: Option<Time>,
}

/// What listeners have been told.
#[derive(Debug)]
pub(super) struct Picture {
    slots: VecDeque<Planned>,
    pairs: usize,
    left_out: u64,
    demand: Vec<Vec<(u32, u64)>>,
    /// Whose rows come next.
    changed: VecDeque<usize>,
    hosts: Vec<Option<Host>>,
    uses: Vec<Use>,
    /// From when on all slots are known.
    complete: Option<Time>,
    counters: Value,
    observed: Value,
    observed_at: Option<Time>,
}

impl Picture {
    /// Nothing is known, and nobody looks.
    pub(super) fn new(hosts: u32) -> Self {
        let hosts = hosts as usize;
        Self {
            slots: VecDeque::new(),
            pairs: 0,
            left_out: 0,
            demand: vec![Vec::new(); hosts],
            changed: VecDeque::new(),
            hosts: vec![None; hosts],
            uses: vec![Use::default(); hosts],
            complete: None,
            counters: Value::Null,
            observed: Value::Null,
            observed_at: None,
        }
    }

    /// Everything, for one who knows nothing.
    pub(super) fn snapshot(&self, watch: &Watch, now: Time) -> Value {
        let ns = |t: Time| (t - watch.begun).as_ps() / 1000;
        let rows = self.demand.iter().enumerate().map(|(h, row)| (h, &row[..]));
        let hosts = self.hosts.iter().enumerate().filter_map(|(h, of)| Some((h, of.as_ref()?)));
        json!({
            "now_ns": ns(now),
            "about": watch.about,
            "slots": columns(self.slots.iter(), ns),
            "left_out": self.left_out,
            "demand": demand(rows),
            "hosts": by_host(hosts),
            "counters": self.counters,
            "observed": self.observed,
        })
    }

    /// Slots that were planned since the last call; `None` where there are none.
    pub(super) fn slots(&mut self, watch: &Watch, planned: &Receiver<Planned>) -> Option<Value> {
        let mut new: Vec<Planned> = Vec::new();
        let (mut pairs, mut left_out) = (0, watch.missed.swap(0, Relaxed));
        if left_out > 0 {
            self.complete = None;
        }
        while let Ok(slot) = planned.try_recv() {
            self.plan(&slot);
            pairs += slot.pairs.len();
            if pairs > EVENT_PAIRS {
                left_out += 1;
            } else {
                new.push(slot);
            }
        }
        self.left_out += left_out;
        if new.is_empty() && left_out == 0 {
            return None;
        }
        let ns = |t: Time| (t - watch.begun).as_ps() / 1000;
        let shown = json!({ "slots": columns(new.iter(), ns), "left_out": self.left_out });
        self.pairs += new.iter().map(|s| s.pairs.len()).sum::<usize>();
        self.slots.extend(new);
        while self.pairs > KEPT_PAIRS {
            self.pairs -= self.slots.pop_front().map_or(self.pairs, |s| s.pairs.len());
        }
        Some(shown)
    }

    /// What a host may send in a slot.
    fn plan(&mut self, slot: &Planned) {
        self.complete.get_or_insert(slot.start);
        for (source, _) in &slot.pairs {
            let Some(of) = self.uses.get_mut(source.index()) else { continue };
            of.openings.push_back((slot.start, slot.start.saturating_add(slot.open)));
            if of.openings.len() > OPENINGS {
                // Without counts of the agent, nothing can be compared.
                of.openings.pop_front();
                of.last = None;
            }
        }
    }

    /// Changes of hosts, demand, counters and the observer's report since the last call.
    pub(super) fn rest(&mut self, watch: &Watch, now: Time, known: &Known, counters: Value) -> Value {
        let ns = |t: Time| (t - watch.begun).as_ps() / 1000;
        let mut shown = Map::new();
        let mut hosts: Vec<usize> = Vec::new();
        // Hosts' words wait for as long as it takes to copy what they have said, no longer.
        let heard: Vec<_> = {
            let mut heard = watch.heard();
            let copied = heard.hosts.iter_mut().enumerate().map(|(h, of)| {
                if std::mem::take(&mut of.changed) {
                    self.demand[h].clone_from(&of.backlog);
                    if !self.changed.contains(&h) {
                        self.changed.push_back(h);
                    }
                }
                (std::mem::take(&mut of.counts), of.joined, of.reported, of.reports)
            });
            copied.collect()
        };
        for (h, (counts, came, reported, reports)) in heard.into_iter().enumerate() {
            for (at, counts) in counts {
                self.uses[h].counted(at, counts, self.complete, watch.about.plan, watch.about.rate);
            }
            let joined = known.joined.contains_key(&(h as u32));
            let left = known.left.get(&(h as u32)).copied();
            let overdue = |t: Time| watch.about.late_after.is_some_and(|late| now - t > late);
            let state = match (joined, left) {
                (true, _) if came.max(reported).is_some_and(overdue) => State::Late,
                (true, _) => State::Joined,
                (false, Some(_)) => State::Silent,
                (false, None) => State::Absent,
            };
            let used = &self.uses[h];
            let host = Host {
                state,
                reported_ns: reported.map(ns),
                reports,
                left_ns: left.filter(|_| !joined).map(ns),
                fill: used.fill().filter(|_| joined),
                fill_ns: used.at.map(ns),
                counts: used.last.as_ref().map(|l| l.1.clone()),
            };
            if self.hosts[h].as_ref() != Some(&host) {
                self.hosts[h] = Some(host);
                hosts.push(h);
            }
        }
        shown.insert("hosts".into(), by_host(hosts.iter().filter_map(|&h| Some((h, self.hosts[h].as_ref()?)))));
        let (mut rows, mut entries) = (Vec::new(), 0);
        while let Some(&h) = self.changed.front() {
            entries += self.demand[h].len();
            // At least one row, which has at most as many entries as there are hosts.
            if entries > ENTRIES && !rows.is_empty() {
                break;
            }
            self.changed.pop_front();
            rows.push(h);
        }
        shown.insert("demand".into(), demand(rows.iter().map(|&h| (h, &self.demand[h][..]))));
        shown.insert("counters".into(), counters.clone());
        self.counters = counters;
        if let Some((at, report)) = watch.observed().filter(|o| Some(o.0) != self.observed_at) {
            self.observed_at = Some(at);
            let mut value = serde_json::to_value(&report).unwrap_or_default();
            value["filled"] = report.filled(watch.about.rate).into();
            value["at_ns"] = ns(at).into();
            shown.insert("observed".into(), value.clone());
            self.observed = value;
        }
        shown.into()
    }
}

impl Use {
    /// An agent has counted so much by now.
    fn counted(&mut self, at: Time, counts: Counts, complete: Option<Time>, plan: Kind, rate: Rate) {
        let before = self.last.replace((at, counts.clone()));
        let sent = |c: &Counts| if plan == Kind::Circuits { c.circuit_wire_bytes } else { c.wire_bytes };
        let since = before.as_ref().map_or(at, |b| b.0);
        let overlap = |(from, until): (Time, Time)| (until.min(at) - from.max(since)).max(Duration::ZERO);
        let open = self.openings.iter().map(|&o| overlap(o)).fold(Duration::ZERO, |sum, d| sum + d);
        while self.openings.front().is_some_and(|o| o.1 <= at) {
            self.openings.pop_front();
        }
        self.at = Some(at);
        let Some((_, before)) =
            before.filter(|(since, b)| b.epoch == counts.epoch && complete.is_some_and(|c| c <= *since))
        else {
            self.fills.clear();
            return;
        };
        self.fills.push_back((sent(&counts).saturating_sub(sent(&before)), rate.bytes_in(open).get()));
        if self.fills.len() > FILLS {
            self.fills.pop_front();
        }
    }

    /// Of the time that it was given, the share in which it sent; `None` where it was given none,
    /// or not all of it is known.
    fn fill(&self) -> Option<f64> {
        let (sent, could) = self.fills.iter().fold((0, 0), |(a, b), f| (a + f.0, b + f.1));
        (could > 0).then(|| sent as f64 / could as f64)
    }
}

fn columns<'a>(slots: impl Iterator<Item = &'a Planned>, ns: impl Fn(Time) -> i64) -> Value {
    let mut columns: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for name in ["round", "slot", "begin_ns", "open_ns", "gap_ns", "pairs", "source", "destination"] {
        columns.insert(name, Vec::new());
    }
    let mut add = |name, value| columns.get_mut(name).expect("a column").push(value);
    for slot in slots {
        add("round", slot.round.0 as i64);
        add("slot", slot.index.into());
        add("begin_ns", ns(slot.start));
        add("open_ns", slot.open.as_ps() / 1000);
        add("gap_ns", slot.guard.as_ps() / 1000);
        add("pairs", slot.pairs.len() as i64);
        for (source, destination) in &slot.pairs {
            add("source", source.0.into());
            add("destination", destination.0.into());
        }
    }
    json!(columns)
}

fn demand<'a>(rows: impl Iterator<Item = (usize, &'a [(u32, u64)])>) -> Value {
    let row = |row: &[(u32, u64)]| row.iter().map(|(d, bytes)| (d.to_string(), (*bytes).into())).collect::<Map<_, _>>();
    rows.map(|(h, of)| (h.to_string(), row(of).into())).collect::<Map<_, _>>().into()
}

fn by_host<'a>(hosts: impl Iterator<Item = (usize, &'a Host)>) -> Value {
    hosts.map(|(h, of)| (h.to_string(), json!(of))).collect::<Map<_, _>>().into()
}
