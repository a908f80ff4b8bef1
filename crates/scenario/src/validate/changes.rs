//! Checks rate changes of wires: their times and rates, that the wires exist, and that the fabric
//! and all schemes support changes.

use super::{Checked, LONGEST_DELAY, LONGEST_RUN};
use crate::{Change, PlanSpec, Scenario, Topology, Wires};
use timeplane_model::{Buffer, Duration, Fabric, Forwarding, NodeId, Rate};

/// Maximum number of rates per table.
const MOST_RATES: usize = 1000;
/// Minimum time between two changes, because each change costs the simulator time.
const SHORTEST: Duration = Duration::from_us(1);

impl Checked {
    pub(super) fn changes(&mut self, s: &Scenario) {
        if s.change.is_empty() {
            return;
        }
        // Errors of the fabric itself are reported by its own check.
        let fabric = s.fabric.build().ok();
        for (i, change) in s.change.iter().enumerate() {
            self.change(&format!("change.{i}"), change, s, fabric.as_ref());
        }
        let mut refuse = |message: &str, help: &str| self.conflict("change.0", message, Some(help));
        if s.fabric.switch.forwarding == Forwarding::CutThrough {
            refuse("rate changes with `cut_through`: not supported yet", "omit `fabric.switch.forwarding`");
        }
        if s.fabric.switch.pfc.is_some() {
            refuse("rate changes with PFC: not supported yet", "omit `fabric.switch.pfc` or the changes");
        }
        if matches!(s.fabric.switch.buffer, Buffer::PerInput(_)) {
            refuse(
                "rate changes with `buffer.per_input`: not supported yet",
                "omit the changes, or use `per_port` or `shared` in `fabric.switch.buffer`",
            );
        }
        if matches!(s.fabric.topology, Topology::Hybrid(_)) {
            refuse(
                "rate changes on a hybrid fabric: not supported yet",
                "a plan changes the circuits of a hybrid fabric",
            );
        }
        for (name, scheme) in &s.scheme {
            let message = match &scheme.plan {
                None => continue,
                Some(PlanSpec::Tdma(slots)) if slots.background.is_none() => continue,
                Some(PlanSpec::Tdma(_)) => {
                    format!("rate changes with `background` of `scheme.{name}`: not supported yet")
                }
                Some(_) => format!("rate changes with the plan of `scheme.{name}`: not supported yet"),
            };
            let help = "use schemes without a plan, or TDMA plans without `background`";
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
                self.conflict(&at("rates"), "several rates without `every`: expected one", Some("every = \"10 ms\""));
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
                self.value(
                    &key,
                    rate,
                    &format!("at most {most}, the rate of the slowest of these wires in the fabric"),
                );
            }
        }
    }

    /// Checks that the wires exist.
    fn ends(&mut self, key: &str, change: &Change, s: &Scenario, fabric: Option<&Fabric>) {
        let (nodes, wires) = (s.fabric.hosts() + s.fabric.switches(), s.fabric.wires());
        let mut number = |name: &str, what: &str, found: u32, count: u128| {
            if u128::from(found) >= count {
                let allowed = format!("{what} from 0 to {}", count.saturating_sub(1));
                self.value(&format!("{key}.wires.{name}"), found, &allowed);
            }
        };
        match change.wires {
            Wires::All => {}
            Wires::Wire(wire) => number("wire", "a wire", wire, wires),
            Wires::Between([a, b]) => {
                number("between.0", "a node", a, nodes);
                number("between.1", "a node", b, nodes);
                let known = [a, b].iter().all(|&n| u128::from(n) < nodes);
                let joined = |f: &Fabric| f.links().iter().any(|l| (l.from, l.to) == (NodeId(a), NodeId(b)));
                if known && fabric.is_some_and(|f| !joined(f)) {
                    let message = format!("no wire between nodes {a} and {b}: expected two connected nodes");
                    let help = "nodes are numbered from 0: hosts, then switches, those nearest to the hosts first";
                    self.conflict(&format!("{key}.wires.between"), &message, Some(help));
                }
            }
        }
    }
}
