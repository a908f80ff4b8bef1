//! Checks workloads whose flows depend on each other: collectives, Chakra traces and SimAI
//! workloads. Their start times depend on the run, which a measured interval does not allow.

use super::{Checked, LONGEST_RUN};
use crate::{ChakraTrace, Collective, CollectiveAlgorithm, CollectiveSpec, MOST_STEPS, Scenario, SimaiWorkload};
use std::path::Path;

impl Checked {
    /// Checks that apply to all of them.
    pub(super) fn steps(&mut self, s: &Scenario) {
        if s.window.measure.is_some() || s.window.drain.is_some() {
            let message = "dependent flows with a measured interval: expected none, as start times depend on the run";
            self.conflict("workload", message, Some("omit `window.measure` and `window.drain`"));
        }
        for (name, scheme) in &s.scheme {
            if scheme.proxy.is_some() {
                let message = "a proxy with dependent flows: expected flows with known start times";
                self.conflict(&format!("scheme.{name}.proxy"), message, Some("omit `proxy`"));
            }
        }
    }

    pub(super) fn collective(&mut self, c: &CollectiveSpec, hosts: u128) {
        const KEY: &str = "workload.collective";
        let at = |name: &str| format!("{KEY}.{name}");
        self.bytes(&at("bytes"), c.bytes);
        self.count(&at("steps"), c.steps, 1, MOST_STEPS);
        self.span(&at("compute"), c.compute, LONGEST_RUN);
        let group = c.group.map_or(hosts, u128::from);
        if group < 2 {
            self.value(&at("group"), group, "at least 2 ranks");
        } else if c.stride == 0 {
            self.value(&at("stride"), 0, "at least 1");
        } else if !hosts.is_multiple_of(group * u128::from(c.stride)) {
            let (key, found) = match c.group {
                Some(group) => (at("group"), group),
                None => (at("stride"), c.stride),
            };
            let allowed = format!(
                "groups of {group} ranks that are {} hosts apart: expected a multiple of {} hosts, found {hosts}",
                c.stride,
                group * u128::from(c.stride)
            );
            self.value(&key, found, &allowed);
        }
        if c.algorithm == CollectiveAlgorithm::HalvingDoubling && !group.is_power_of_two() {
            let message = format!("`halving_doubling` with {group} ranks per group: expected a power of two");
            self.conflict(&at("algorithm"), &message, Some("`ring`, `tree` and `direct` support any number"));
        }
        self.tree(&at("algorithm"), c.operation, c.algorithm);
    }

    pub(super) fn chakra(&mut self, c: &ChakraTrace, hosts: u128) {
        const KEY: &str = "workload.chakra";
        let at = |name: &str| format!("{KEY}.{name}");
        if c.prefix.is_empty() {
            self.conflict(&at("prefix"), "empty file name", None);
        }
        if let Some(ranks) = c.ranks
            && (ranks == 0 || u128::from(ranks) > hosts)
        {
            self.value(&at("ranks"), ranks, &format!("1 to {hosts}, the number of hosts"));
        }
        self.count(&at("steps"), c.steps, 1, MOST_STEPS);
        self.factor(&at("time_scale"), c.time_scale);
        self.factor(&at("byte_scale"), c.byte_scale);
        self.tree(&at("algorithms.all_to_all"), Collective::AllToAll, c.algorithms.all_to_all);
    }

    pub(super) fn simai(&mut self, c: &SimaiWorkload, base: &Path) {
        const KEY: &str = "workload.simai";
        let at = |name: &str| format!("{KEY}.{name}");
        self.file(&at("file"), &c.file, base);
        if c.layers == Some(0) {
            self.value(&at("layers"), 0, "at least 1");
        }
        self.count(&at("steps"), c.steps, 1, MOST_STEPS);
        self.factor(&at("time_scale"), c.time_scale);
        self.factor(&at("byte_scale"), c.byte_scale);
        self.tree(&at("algorithms.all_to_all"), Collective::AllToAll, c.algorithms.all_to_all);
    }

    fn tree(&mut self, key: &str, operation: Collective, algorithm: CollectiveAlgorithm) {
        if operation == Collective::AllToAll && algorithm == CollectiveAlgorithm::Tree {
            let message = "`tree` with all-to-all: expected another algorithm, as all data would cross the root";
            self.conflict(key, message, Some("use `direct`, `ring` or `halving_doubling`"));
        }
    }
}
