//! Checks interference and handover between several access points. With handover, all hosts must
//! stay reachable whichever access point a device uses.

use super::super::{Checked, LONGEST_DELAY};
use crate::{RadioLink, RadioSpec};
use std::collections::BTreeSet;
use timeplane_model::{Fabric, HostId, LinkId, NodeId};

impl Checked {
    pub(super) fn interference(&mut self, radio: &RadioSpec) {
        let mut seen = BTreeSet::new();
        let follows = |n: &u32| radio.link.iter().any(|l| l.trace.is_some() && l.nodes.contains(n));
        let channels = |n: u32| -> BTreeSet<u32> {
            radio.link.iter().filter(|l| l.nodes.contains(&n)).map(|l| l.channel).collect()
        };
        for (i, pair) in radio.interference.iter().enumerate() {
            let key = format!("fabric.radio.interference.{i}");
            if !(-200.0..=30.0).contains(&pair.level_dbm) {
                self.value(&format!("{key}.level_dbm"), pair.level_dbm, "-200 to 30 dBm");
            }
            let [a, b] = pair.nodes;
            let nodes = format!("{key}.nodes");
            if a == b {
                self.value(&nodes, format!("[{a}, {b}]"), "two different nodes");
            } else if let Some(wrong) = pair.nodes.iter().find(|n| !follows(n)) {
                self.value(&nodes, wrong, "an end of an air link with a trace");
            } else if channels(a).is_disjoint(&channels(b)) {
                let message = format!("no effect: nodes {a} and {b} have no common channel");
                self.conflict(&key, &message, Some("omit the pair, or set the same `channel` for links of both"));
            } else if !seen.insert([a.min(b), a.max(b)]) {
                self.conflict(
                    &key,
                    &format!("duplicate pair of nodes {a} and {b}: expected it once"),
                    Some("omit one of them"),
                );
            }
        }
    }

    pub(super) fn handover(&mut self, radio: &RadioSpec, fabric: Option<&Fabric>) {
        const KEY: &str = "fabric.radio.handover";
        let Some(handover) = radio.handover else { return };
        if !(0.0..=60.0).contains(&handover.hysteresis_db) {
            self.value(&format!("{KEY}.hysteresis_db"), handover.hysteresis_db, "0 to 60 dB");
        }
        self.span(&format!("{KEY}.trigger"), handover.trigger, LONGEST_DELAY);
        self.span(&format!("{KEY}.delay"), handover.delay, LONGEST_DELAY);
        let devices = radio.devices();
        if devices.is_empty() {
            let message = "handover without a choice: expected a device with links to several access points";
            let help = "a device is the second of `nodes` in each of its links: [2, 4] and [3, 4]";
            return self.conflict(KEY, message, Some(help));
        }
        let Some(fabric) = fabric else { return };
        for (&device, links) in &devices {
            for &i in links {
                let link = &radio.link[i];
                let key = format!("fabric.radio.link.{i}");
                if link.trace.is_none() {
                    let message = format!("handover of node {device}: expected a trace with its received power");
                    self.conflict(&key, &message, Some("trace = { beams = \"FILE.csv\" }"));
                } else if link.share.is_some() {
                    let message = "`share` on a link of a device with handover: expected a link that replaces a wire";
                    self.conflict(&key, message, Some("omit `share`"));
                } else if links.iter().any(|&j| j < i && radio.link[j].nodes == link.nodes) {
                    let message = format!("two links of node {device} to access point {}: expected one", link.nodes[0]);
                    self.conflict(&key, &message, Some("omit one of them"));
                }
            }
            if let Some(other) = neighbor(radio, fabric, device, links) {
                let message = format!(
                    "node {device} with handover is also connected to {other}: expected no other links, as it would carry traffic of others"
                );
                self.conflict(KEY, &message, Some("a device's switch has links to its hosts and access points only"));
            }
        }
        for choice in 0..devices.values().map(Vec::len).max().unwrap_or(0) {
            let unused = devices.values().flat_map(|links| {
                let used = choice.min(links.len() - 1);
                links.iter().enumerate().filter(move |(i, _)| *i != used).map(|(_, &l)| &radio.link[l])
            });
            if let Some(host) = cut_off(fabric, unused) {
                let message = format!(
                    "host {host} is unreachable if each device uses one access point: expected wires between access points"
                );
                return self.conflict(KEY, &message, Some("connect access points by wires of `topology.graph`"));
            }
        }
    }
}

/// Finds a switch that is connected to a device by anything but one of the device's own links.
fn neighbor(radio: &RadioSpec, fabric: &Fabric, device: u32, links: &[usize]) -> Option<u32> {
    let mut own: BTreeSet<u32> = links.iter().map(|&l| radio.link[l].nodes[0]).collect();
    let wires = fabric.links().iter().filter(|l| l.from == NodeId(device)).map(|l| l.to.0);
    let beside = radio.link.iter().filter(|l| l.nodes[0] == device).map(|l| l.nodes[1]);
    // Each access point has one wire that its air link replaces.
    wires.filter(|&n| n >= fabric.hosts() && !own.remove(&n)).chain(beside).next()
}

/// Finds a host without a path to host 0 if these links are not used.
fn cut_off<'a>(fabric: &Fabric, unused: impl Iterator<Item = &'a RadioLink>) -> Option<u32> {
    let dead: Vec<LinkId> = unused.filter_map(|link| RadioSpec::wire(link, fabric)).collect();
    let rest = fabric.without(dead);
    (1..fabric.hosts()).find(|&h| !rest.reaches(HostId(0), HostId(h)) || !rest.reaches(HostId(h), HostId(0)))
}
