//! Whether several access points make sense.

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
                self.value(&format!("{key}.level_dbm"), pair.level_dbm, "allowed is -200 to 30 dBm");
            }
            let [a, b] = pair.nodes;
            let nodes = format!("{key}.nodes");
            if a == b {
                self.value(&nodes, format!("[{a}, {b}]"), "two different nodes");
            } else if let Some(wrong) = pair.nodes.iter().find(|n| !follows(n)) {
                self.value(&nodes, wrong, "an end of an air link that follows a trace");
            } else if channels(a).is_disjoint(&channels(b)) {
                let message = format!("nodes {a} and {b} have no channel in common and never disturb each other");
                self.conflict(&key, &message, Some("leave the pair out, or give links of both the same `channel`"));
            } else if !seen.insert([a.min(b), a.max(b)]) {
                self.conflict(&key, &format!("nodes {a} and {b} are named twice"), Some("leave one of them out"));
            }
        }
    }

    pub(super) fn handover(&mut self, radio: &RadioSpec, fabric: Option<&Fabric>) {
        const KEY: &str = "fabric.radio.handover";
        let Some(handover) = radio.handover else { return };
        if !(0.0..=60.0).contains(&handover.hysteresis_db) {
            self.value(&format!("{KEY}.hysteresis_db"), handover.hysteresis_db, "allowed is 0 to 60 dB");
        }
        self.span(&format!("{KEY}.trigger"), handover.trigger, LONGEST_DELAY);
        self.span(&format!("{KEY}.delay"), handover.delay, LONGEST_DELAY);
        let devices = radio.devices();
        if devices.is_empty() {
            let message = "no device has links to several access points";
            let help = "a device is the second of `nodes` in each of its links: [2, 4] and [3, 4]";
            return self.conflict(KEY, message, Some(help));
        }
        let Some(fabric) = fabric else { return };
        for (&device, links) in &devices {
            for &i in links {
                let link = &radio.link[i];
                let key = format!("fabric.radio.link.{i}");
                if link.trace.is_none() {
                    let message = format!("node {device} goes from one access point to another by levels over time");
                    self.conflict(&key, &message, Some("trace = { beams = \"FILE.csv\" }"));
                } else if link.share.is_some() {
                    let message = "a device that goes from one access point to another has no wires beside its links";
                    self.conflict(&key, message, Some("leave `share` out: the link takes the place of a wire"));
                } else if links.iter().any(|&j| j < i && radio.link[j].nodes == link.nodes) {
                    let message = format!("node {device} has two links to access point {}", link.nodes[0]);
                    self.conflict(&key, &message, Some("leave one of them out"));
                }
            }
            if let Some(other) = neighbour(radio, fabric, device, links) {
                let message = format!(
                    "node {device}, which has several access points, is also joined to {other}: it would carry what is not its own"
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
                let message = format!("host {host} cannot be reached where devices use one access point each");
                return self.conflict(KEY, &message, Some("join access points by wires of `topology.graph`"));
            }
        }
    }
}

/// A switch that a device is joined to by other than a link of its own.
fn neighbour(radio: &RadioSpec, fabric: &Fabric, device: u32, links: &[usize]) -> Option<u32> {
    let mut own: BTreeSet<u32> = links.iter().map(|&l| radio.link[l].nodes[0]).collect();
    let wires = fabric.links().iter().filter(|l| l.from == NodeId(device)).map(|l| l.to.0);
    let beside = radio.link.iter().filter(|l| l.nodes[0] == device).map(|l| l.nodes[1]);
    // Each access point has one wire for its air link.
    wires.filter(|&n| n >= fabric.hosts() && !own.remove(&n)).chain(beside).next()
}

/// A host without a way to host 0 where these links are not used.
fn cut_off<'a>(fabric: &Fabric, unused: impl Iterator<Item = &'a RadioLink>) -> Option<u32> {
    let dead: Vec<LinkId> = unused.filter_map(|link| RadioSpec::wire(link, fabric)).collect();
    let rest = fabric.without(dead);
    (1..fabric.hosts()).find(|&h| !rest.reaches(HostId(0), HostId(h)) || !rest.reaches(HostId(h), HostId(0)))
}
