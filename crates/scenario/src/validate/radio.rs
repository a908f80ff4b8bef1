//! Checks air links: their ends, channels, rates, queues and link traces. Rejects what cannot yet
//! be combined with them.

mod cells;

use super::{Checked, LONGEST_DELAY};
use crate::radio::{LONGEST_LINK, RATE_FACTORS, SIGNALS};
use crate::{Access, AirQueue, FabricSpec, LinkTraceSpec, PlanSpec, RadioLink, RadioSpec, Scenario};
use timeplane_model::{Bytes, Duration, Forwarding, NodeId};
use timeplane_radio::Mcs;

/// Maximum number of air links; the simulator stores the received power of every pair.
const MOST_LINKS: usize = 4_096;

impl Checked {
    pub(super) fn radio(&mut self, f: &FabricSpec) {
        let Some(radio) = &f.radio else { return };
        const KEY: &str = "fabric.radio";
        if !(1..=MOST_LINKS).contains(&radio.link.len()) {
            self.value(&format!("{KEY}.link"), radio.link.len(), &format!("1 to {MOST_LINKS} links"));
        }
        if !(-120.0..=0.0).contains(&radio.senses_dbm) {
            self.value(&format!("{KEY}.senses_dbm"), radio.senses_dbm, "-120 to 0 dBm");
        }
        self.air_queue(&format!("{KEY}.queue"), radio.queue);
        let mut refuse = |message: &str, help: &str| self.conflict(KEY, message, Some(help));
        if f.switch.pfc.is_some() {
            refuse("radio with PFC: not supported yet", "omit `fabric.switch.pfc` or the radio");
        }
        if f.switch.forwarding == Forwarding::CutThrough {
            refuse(
                "radio with `cut_through`: expected store-and-forward, as radios receive whole frames",
                "omit `fabric.switch.forwarding`",
            );
        }
        if matches!(f.topology, crate::Topology::Hybrid(_)) {
            refuse("radio on a hybrid fabric: not supported yet", "omit `fabric.radio`");
        }
        // Errors of the fabric itself are reported by its own check.
        let fabric = f.build().ok();
        for (i, link) in radio.link.iter().enumerate() {
            self.radio_link(&format!("{KEY}.link.{i}"), link, radio, fabric.as_ref());
        }
        self.interference(radio);
        self.handover(radio, fabric.as_ref());
    }

    /// Checks the queue of an air link at its key.
    pub(super) fn air_queue(&mut self, key: &str, queue: Option<AirQueue>) {
        let (name, packets) = match queue {
            None => ("", None),
            Some(AirQueue::DropTail { packets }) => ("drop_tail", packets),
            Some(AirQueue::Ecn { packets, .. }) => ("ecn", packets),
            Some(AirQueue::CoDel { target, interval, packets, .. }) => {
                self.positive_span(&format!("{key}.codel.target"), target, LONGEST_DELAY);
                self.positive_span(&format!("{key}.codel.interval"), interval, LONGEST_DELAY);
                ("codel", packets)
            }
        };
        if packets == Some(0) {
            self.value(&format!("{key}.{name}.packets"), 0, "at least 1");
        }
    }

    fn radio_link(&mut self, key: &str, link: &RadioLink, radio: &RadioSpec, fabric: Option<&timeplane_model::Fabric>) {
        let at = |name: &str| format!("{key}.{name}");
        if let Some(share) = link.share
            && !(0.0..=1.0).contains(&share)
        {
            self.value(&at("share"), share, "0 to 1");
        }
        let mcs = link.mcs.map(Mcs::numbered);
        match mcs {
            Some(Err(_)) => self.value(&at("mcs"), link.mcs.unwrap_or_default(), "an MCS from 0 to 31"),
            Some(Ok(mcs)) if mcs.sensitivity().is_none() => {
                self.value(&at("mcs"), mcs.name(), "an MCS from 0 to 31");
            }
            _ => {}
        }
        if let Some(trace) = &link.trace {
            self.trace(&at("trace"), trace, radio);
            if link.mcs.is_some() || link.signal_dbm.is_some() {
                let message =
                    "`trace` with `mcs` or `signal_dbm`: expected one of them, as a trace determines signal and rate";
                self.conflict(key, message, Some("omit `mcs` and `signal_dbm`"));
            }
        }
        match (link.signal_dbm, link.distance_m) {
            _ if link.trace.is_some() => {}
            (Some(_), Some(_)) => {
                self.conflict(
                    key,
                    "both `signal_dbm` and `distance_m`: expected one of them",
                    Some("omit one of them"),
                );
            }
            (None, None) if radio.access == Access::Planned && link.mcs.is_some() => {}
            (None, None) => self.conflict(
                key,
                "no signal: expected `signal_dbm`, `distance_m` or `trace`",
                Some("signal_dbm = -45.0, or distance_m = 20.0"),
            ),
            (Some(level), None) if !SIGNALS.contains(&level) => {
                self.value(&at("signal_dbm"), level, "-120 to 30 dBm");
            }
            (None, Some(distance)) if !(distance > 0.0 && distance <= LONGEST_LINK) => {
                self.value(&at("distance_m"), distance, &format!("above 0, at most {LONGEST_LINK} m"));
            }
            (None, Some(_)) if radio.antenna.is_none() => {
                self.conflict(
                    "fabric.radio",
                    "`distance_m` without an antenna: expected `antenna`",
                    Some("antenna = \"narrow_beam\", or `signal_dbm` instead of `distance_m`"),
                );
            }
            _ => {}
        }
        let Some(fabric) = fabric else { return };
        let [a, b] = link.nodes;
        let is_switch = |n: u32| n >= fabric.hosts() && (n as usize) < fabric.nodes().len();
        if a == b {
            self.value(&at("nodes"), format!("[{a}, {b}]"), "two different switches");
        } else if let Some(wrong) = link.nodes.into_iter().find(|&n| !is_switch(n)) {
            let last = fabric.nodes().len() - 1;
            let allowed =
                format!("a switch, which are nodes {} to {last}; a host uses the radio of its switch", fabric.hosts());
            self.value(&at("nodes"), wrong, &allowed);
        } else if link.share.is_none() && RadioSpec::wire(link, fabric).is_none() {
            let message = format!("no wire between nodes {a} and {b}: expected one that the link replaces");
            let help = "set `share` to add the link to the wires, or list the wire in `topology.graph`: its rate does \
                        not matter";
            self.conflict(key, &message, Some(help));
        } else if link.share.is_some() && ![a, b].iter().all(|&n| has_hosts(fabric, NodeId(n))) {
            self.conflict(key, "a share between switches without hosts: expected hosts under both ends", None);
        }
    }

    fn trace(&mut self, key: &str, trace: &LinkTraceSpec, radio: &RadioSpec) {
        let at = |name: &str| format!("{key}.{name}");
        match (&trace.room, &trace.beams) {
            (Some(_), Some(_)) => {
                self.conflict(key, "both `room` and `beams`: expected one of them", Some("omit one of them"))
            }
            (None, None) => self.conflict(
                key,
                "no signal: expected `room` or `beams`",
                Some("room = \"b\", or beams = \"FILE.csv\""),
            ),
            _ => {}
        }
        if radio.access != Access::Planned {
            let message = "link traces with this access: expected `planned`";
            self.conflict("fabric.radio.access", message, Some("access = \"planned\""));
        }
        if !(-120.0..=30.0).contains(&trace.level_dbm) {
            self.value(&at("level_dbm"), trace.level_dbm, "-120 to 30 dBm");
        }
        if !(0.0..=60.0).contains(&trace.loss_db) {
            self.value(&at("loss_db"), trace.loss_db, "0 to 60 dB");
        }
        if let Some(loss) = trace.body_loss_db {
            if !(0.0..=60.0).contains(&loss) {
                self.value(&at("body_loss_db"), loss, "0 to 60 dB");
            }
            if trace.beams.is_some() {
                let message = "`body_loss_db` with `beams`: expected a room, as a file includes shadows";
                self.conflict(key, message, Some("omit `body_loss_db`, or set a room"));
            }
        }
        if !(trace.target > 0.0 && trace.target < 1.0) {
            self.value(&at("target"), trace.target, "a probability above 0 and below 1");
        }
        if !RATE_FACTORS.contains(&trace.rate_factor) {
            self.value(&at("rate_factor"), trace.rate_factor, "0.001 to 1");
        }
        if trace.packet == Bytes::ZERO || trace.packet > Bytes::new(1 << 20) {
            self.value(&at("packet"), trace.packet, "1 B to 1 MB");
        }
        for (name, found) in [("every", trace.every), ("select_every", trace.select_every)] {
            if found < Duration::from_us(10) {
                self.value(&at(name), found, "at least 10 us");
            } else {
                self.span(&at(name), found, LONGEST_DELAY);
            }
        }
    }

    /// Rejects what cannot yet be combined with air links.
    pub(super) fn with_radio(&mut self, name: &str, s: &Scenario) {
        if s.fabric.radio.is_none() {
            return;
        }
        let key = format!("scheme.{name}");
        if let Some(plan) = &s.scheme[name].plan {
            if matches!(plan, PlanSpec::Flyways(_)) {
                return;
            }
            let message = format!("air links with a plan of {}: not supported yet", plan.key());
            self.conflict(&format!("{key}.plan"), &message, Some("omit the plan or `fabric.radio`"));
        }
        if !s.failure.is_empty() || !s.change.is_empty() {
            self.conflict(&key, "air links with failures or rate changes: not supported yet", None);
        }
    }
}

fn has_hosts(fabric: &timeplane_model::Fabric, switch: NodeId) -> bool {
    (0..fabric.hosts()).any(|h| RadioSpec::switch_of(fabric, h) == switch)
}
