//! Checks failures: their times, and that the element exists in the fabric or in the plan of at
//! least one scheme.

use super::{Checked, LONGEST_DELAY, LONGEST_RUN};
use crate::{Element, Failure, PlanSpec, Scenario};
use timeplane_model::{Buffer, Fabric, NodeId};

impl Checked {
    pub(super) fn failures(&mut self, s: &Scenario) {
        // Errors of the fabric itself are reported by its own check.
        let needs_nodes = s.failure.iter().any(|f| matches!(f.element, Element::Between(_)));
        let fabric = if needs_nodes { s.fabric.build().ok() } else { None };
        for (i, failure) in s.failure.iter().enumerate() {
            self.failure(&format!("failure.{i}"), failure, s, fabric.as_ref());
        }
        if let Some(i) = s.failure.iter().position(|f| f.until.is_none())
            && s.window.drain.is_none()
        {
            let message = "a failure without `until`: expected `window.drain`, as waiting flows never end";
            let help = "window = { drain = \"100 ms\" } ends the run 100 ms after the last arrival";
            self.conflict(&format!("failure.{i}"), message, Some(help));
        }
        if !s.failure.is_empty() && s.fabric.switch.pfc.is_some() {
            let message = "failures with PFC: not supported yet, as a pause could last forever";
            self.conflict("failure.0", message, Some("omit `fabric.switch.pfc` or the failures"));
        }
        if !s.failure.is_empty() && matches!(s.fabric.switch.buffer, Buffer::PerInput(_)) {
            let message = "failures with `buffer.per_input`: not supported yet";
            let help = "omit the failures, or use `per_port` or `shared` in `fabric.switch.buffer`";
            self.conflict("failure.0", message, Some(help));
        }
    }

    fn failure(&mut self, key: &str, failure: &Failure, s: &Scenario, fabric: Option<&Fabric>) {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("at"), failure.at, LONGEST_RUN);
        self.span(&at("detection"), failure.detection, LONGEST_DELAY);
        if let Some(until) = failure.until {
            self.span(&at("until"), until, LONGEST_RUN);
            if until <= failure.at {
                self.value(&at("until"), until, &format!("a time after `at`, {}", failure.at));
            }
        }
        let f = &s.fabric;
        let mut number = |name: &str, what: &str, found: u32, count: u128| {
            if u128::from(found) >= count {
                let allowed = format!("{what} from 0 to {}", count.saturating_sub(1));
                self.value(&at(name), found, &allowed);
            }
        };
        match failure.element {
            Element::Wire(wire) => number("element.wire", "a wire", wire, f.wires()),
            Element::Switch(switch) => number("element.switch", "a switch", switch, f.switches()),
            Element::Host(host) => number("element.host", "a host", host, f.hosts()),
            Element::Between([a, b]) => {
                let nodes = f.hosts() + f.switches();
                for (place, node) in [a, b].into_iter().enumerate() {
                    number(&format!("element.between.{place}"), "a node", node, nodes);
                }
                let joined = |f: &Fabric| f.links().iter().any(|l| (l.from, l.to) == (NodeId(a), NodeId(b)));
                if [a, b].iter().all(|&n| u128::from(n) < nodes) && fabric.is_some_and(|f| !joined(f)) {
                    let message = format!("no wire between nodes {a} and {b}: expected two connected nodes");
                    let help = "nodes are numbered from 0: hosts, then switches, those nearest to the hosts first";
                    self.conflict(&at("element.between"), &message, Some(help));
                }
            }
            Element::Controller if s.scheme.values().all(|c| c.plan.is_none()) => {
                self.conflict(&at("element"), "no controller: expected a scheme with a plan", None);
            }
            Element::Standby
                if !s.scheme.values().any(|c| matches!(&c.plan, Some(PlanSpec::Tdma(p)) if p.standby.is_some())) =>
            {
                let help = "add `standby = {}` to a `plan.tdma`";
                self.conflict(&at("element"), "no standby controller: expected a scheme with one", Some(help));
            }
            Element::Relay(relay) => {
                let counts = s.scheme.values().filter_map(|c| match &c.plan {
                    Some(PlanSpec::Tdma(slots)) => slots.controllers.map(|m| m.count),
                    _ => None,
                });
                match counts.max() {
                    Some(count) => number("element.relay", "a relay", relay, u128::from(count)),
                    None => {
                        let help = "add `controllers = { count = 2 }` to a `plan.tdma`";
                        self.conflict(
                            &at("element.relay"),
                            "no relays: expected a scheme with `controllers`",
                            Some(help),
                        );
                    }
                }
            }
            Element::Controller | Element::Standby => {}
        }
    }
}
