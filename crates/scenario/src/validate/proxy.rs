//! Checks proxies: that the scheme uses TCP and the fabric has a link trace, and the proxy's timers
//! and policy.

use super::{Checked, LONGEST_DELAY};
use crate::{ProxyPolicy, Scenario, Transport};

impl Checked {
    pub(super) fn proxy(&mut self, name: &str, s: &Scenario) {
        let scheme = &s.scheme[name];
        let Some(proxy) = &scheme.proxy else { return };
        let key = format!("scheme.{name}.proxy");
        let at = |name: &str| format!("{key}.{name}");
        if !matches!(scheme.transport, Transport::Tcp(_)) {
            self.conflict(&key, "a proxy without TCP: expected transport `tcp`", Some("transport.tcp = {}"));
        }
        let links = s.fabric.radio.iter().flat_map(|r| &r.link);
        if links.filter(|l| l.trace.is_some()).count() == 0 {
            let message = "a proxy without link traces: expected an air link with `trace`";
            self.conflict(&key, message, Some("fabric.radio.link = [{ nodes = [2, 3], trace = { room = \"b\" } }]"));
        }
        for (name, found) in [("report_delay", proxy.report_delay), ("command_delay", proxy.command_delay)] {
            self.span(&at(name), found, LONGEST_DELAY);
        }
        for (name, found) in [
            ("report_every", proxy.report_every),
            ("repeat", proxy.repeat),
            ("silence", proxy.silence),
            ("base_rtt", proxy.base_rtt),
        ] {
            self.positive_span(&at(name), found, LONGEST_DELAY);
        }
        self.probability(&at("loss"), proxy.loss);
        if let Some(host) = proxy.split_at
            && u128::from(host) >= s.fabric.hosts()
        {
            self.value(&at("split_at"), host, &format!("a host from 0 to {}", s.fabric.hosts().saturating_sub(1)));
        }
        match proxy.policy {
            ProxyPolicy::Reactive {} => {}
            ProxyPolicy::Proactive(p) => {
                for (name, found) in [("window", p.window), ("growth", p.growth)] {
                    self.positive_span(&at(&format!("policy.proactive.{name}")), found, LONGEST_DELAY);
                }
                self.span(&at("policy.proactive.ttr"), p.ttr, LONGEST_DELAY);
                if p.drop == 0 {
                    self.value(&at("policy.proactive.drop"), 0, "at least 1");
                }
            }
            ProxyPolicy::Predicted(p) if !(-12.0..=12.0).contains(&p.boldness) => {
                self.value(&at("policy.predicted.boldness"), p.boldness, "-12 to 12");
            }
            ProxyPolicy::Predicted(_) => {}
        }
    }
}
