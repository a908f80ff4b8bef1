//! Whether workloads whose flows wait for each other make sense.

use super::{Checked, LONGEST_RUN};
use crate::{ChakraTrace, Collective, CollectiveAlgorithm, CollectiveSpec, MOST_STEPS, Scenario, SimaiWorkload};
use std::path::Path;

impl Checked {
    /// What goes for all of them.
    pub(super) fn steps(&mut self, s: &Scenario) {
        if s.window.measure.is_some() || s.window.drain.is_some() {
            let message = "when flows that wait for others start is known only as they run: they run to their end";
            self.conflict("workload", message, Some("leave `window.measure` and `window.drain` out"));
        }
        for (name, scheme) in &s.scheme {
            if scheme.proxy.is_some() {
                let message = "a proxy is for flows whose start is known, and these wait for each other";
                self.conflict(&format!("scheme.{name}.proxy"), message, Some("leave `proxy` out"));
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
                "groups of {group} ranks that are {} apart take {} hosts: the fabric has to have a multiple of that, and has {hosts}",
                c.stride,
                group * u128::from(c.stride)
            );
            self.value(&key, found, &allowed);
        }
        if c.algorithm == CollectiveAlgorithm::HalvingDoubling && !group.is_power_of_two() {
            let message = format!("`halving_doubling` is for a power of two of ranks, and a group has {group}");
            self.conflict(&at("algorithm"), &message, Some("`ring`, `tree` and `direct` take any number"));
        }
        self.tree(&at("algorithm"), c.operation, c.algorithm);
    }

    pub(super) fn chakra(&mut self, c: &ChakraTrace, hosts: u128) {
        const KEY: &str = "workload.chakra";
        let at = |name: &str| format!("{KEY}.{name}");
        if c.prefix.is_empty() {
            self.conflict(&at("prefix"), "the name of the files is empty", None);
        }
        if let Some(ranks) = c.ranks
            && (ranks == 0 || u128::from(ranks) > hosts)
        {
            self.value(&at("ranks"), ranks, &format!("each rank is a host: allowed is 1 to {hosts}"));
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
            let message = "an all-to-all does not go along a tree: everything would cross its root";
            self.conflict(key, message, Some("`direct`, `ring` and `halving_doubling` do it"));
        }
    }
}
