//! Whether wires that change their rate make sense.

use super::{Checked, LONGEST_DELAY, LONGEST_RUN};
use crate::{Change, PlanSpec, Scenario, Topology, Wires};
use timeplane_model::{Duration, Fabric, Forwarding, NodeId, Rate};

/// Of one table.
const MOST_RATES: usize = 1000;
/// More often nothing changes: every change takes the simulator some work.
const SHORTEST: Duration = Duration::from_us(1);

impl Checked {
    pub(super) fn changes(&mut self, s: &Scenario) {
        if s.change.is_empty() {
            return;
        }
        // What is wrong with the fabric is said elsewhere.
        let fabric = s.fabric.build().ok();
        for (i, change) in s.change.iter().enumerate() {
            self.change(&format!("change.{i}"), change, s, fabric.as_ref());
        }
        let mut refuse = |message: &str, help: &str| self.conflict("change.0", message, Some(help));
        if s.fabric.switch.forwarding == Forwarding::CutThrough {
            refuse("rates do not change behind cut-through yet", "store-and-forward is the default");
        }
        if s.fabric.switch.pfc.is_some() {
            refuse("changes of rates and PFC do not go together yet", "leave `fabric.switch.pfc` or the changes out");
        }
        if matches!(s.fabric.topology, Topology::Hybrid(_)) {
            refuse(
                "the rates of a hybrid fabric do not change yet",
                "the circuits of a hybrid fabric change by a plan",
            );
        }
        for (name, scheme) in &s.scheme {
            let message = match &scheme.plan {
                None => continue,
                Some(PlanSpec::Tdma(slots)) if slots.background.is_none() => continue,
                Some(PlanSpec::Tdma(_)) => format!("`scheme.{name}` keeps a share of each link outside its slots"),
                Some(_) => format!("the plan of `scheme.{name}` counts in rates that do not change"),
            };
            let help = "schemes without a plan, and slots without `background`, go with it";
            self.conflict("change.0", &message, Some(help));
        }
    }

    fn change(&mut self, key: &str, change: &Change, s: &Scenario, fabric: Option<&Fabric>) {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("at"), change.at, LONGEST_RUN);
        self.span(&at("notice"), change.notice, LONGEST_DELAY);
        match change.every {
            Some(every) if every < SHORTEST => self.value(&at("every"), every, &format!("at least {SHORTEST}")),
            Some(every) => self.span(&at("every"), every, LONGEST_RUN),
            None if change.rates.len() > 1 => {
                self.conflict(&at("rates"), "without `every` there is one rate", Some("every = \"10 ms\""));
            }
            None => {}
        }
        if !(1..=MOST_RATES).contains(&change.rates.len()) {
            self.value(&at("rates"), change.rates.len(), &format!("1 to {MOST_RATES} rates"));
        }
        self.ends(key, change, s, fabric);
        let links = fabric.map(|f| change.wires.links(f).into_iter().map(|l| f.link(l).spec.rate).min());
        let most = links.flatten().unwrap_or(Rate::bps(u64::MAX));
        for (i, &rate) in change.rates.iter().enumerate() {
            let key = at(&format!("rates.{i}"));
            self.rate(&key, rate);
            if rate > most {
                self.value(&key, rate, &format!("at most {most}, what the fabric gives the slowest of these wires"));
            }
        }
    }

    /// Whether the wires exist.
    fn ends(&mut self, key: &str, change: &Change, s: &Scenario, fabric: Option<&Fabric>) {
        let (nodes, wires) = (s.fabric.hosts() + s.fabric.switches(), s.fabric.wires());
        let mut number = |name: &str, what: &str, found: u32, count: u128| {
            if u128::from(found) >= count {
                let allowed = format!("{what} are numbered 0 to {}", count.saturating_sub(1));
                self.value(&format!("{key}.wires.{name}"), found, &allowed);
            }
        };
        match change.wires {
            Wires::All => {}
            Wires::Wire(wire) => number("wire", "wires", wire, wires),
            Wires::Between([a, b]) => {
                number("between.0", "nodes", a, nodes);
                number("between.1", "nodes", b, nodes);
                let known = [a, b].iter().all(|&n| u128::from(n) < nodes);
                let joined = |f: &Fabric| f.links().iter().any(|l| (l.from, l.to) == (NodeId(a), NodeId(b)));
                if known && fabric.is_some_and(|f| !joined(f)) {
                    let message = format!("no wire joins node {a} and node {b}");
                    let help = "hosts are nodes from 0, switches follow: those nearest to the hosts first";
                    self.conflict(&format!("{key}.wires.between"), &message, Some(help));
                }
            }
        }
    }
}
