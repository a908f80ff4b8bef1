//! Whether air links make sense.

mod cells;

use super::{Checked, LONGEST_DELAY};
use crate::{AccessSpec, AirQueue, FabricSpec, LinkTraceSpec, PlanSpec, RadioLink, RadioSpec, Scenario};
use timeplane_model::{Bytes, Duration, Forwarding, NodeId};
use timeplane_radio::Mcs;

/// More stations than this on one fabric are not simulated: what everybody hears of everybody is kept.
const MOST_LINKS: usize = 4_096;
/// No radio link of 60 GHz is longer.
const LONGEST_LINK: f64 = 10_000.0;

impl Checked {
    pub(super) fn radio(&mut self, f: &FabricSpec) {
        let Some(radio) = &f.radio else { return };
        const KEY: &str = "fabric.radio";
        if !(1..=MOST_LINKS).contains(&radio.link.len()) {
            self.value(&format!("{KEY}.link"), radio.link.len(), &format!("1 to {MOST_LINKS} links"));
        }
        if !(-120.0..=0.0).contains(&radio.senses_dbm) {
            self.value(&format!("{KEY}.senses_dbm"), radio.senses_dbm, "allowed is -120 to 0 dBm");
        }
        self.air_queue(&format!("{KEY}.queue"), radio.queue);
        let mut refuse = |message: &str, help: &str| self.conflict(KEY, message, Some(help));
        if f.switch.pfc.is_some() {
            refuse("radio and PFC do not go together yet", "leave `fabric.switch.pfc` or the radio out");
        }
        if f.switch.forwarding == Forwarding::CutThrough {
            refuse("a frame of the air is received whole: not behind cut-through", "store-and-forward is the default");
        }
        if matches!(f.topology, crate::Topology::Hybrid(_)) {
            refuse("a hybrid fabric has no radio yet", "leave `fabric.radio` out");
        }
        // What is wrong with the fabric is said elsewhere.
        let fabric = f.build().ok();
        for (i, link) in radio.link.iter().enumerate() {
            self.radio_link(&format!("{KEY}.link.{i}"), link, radio, fabric.as_ref());
        }
        self.interference(radio);
        self.handover(radio, fabric.as_ref());
    }

    /// The queue of an air link, at its key.
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
            self.value(&at("share"), share, "allowed is 0 to 1");
        }
        let mcs = link.mcs.map(Mcs::numbered);
        match mcs {
            Some(Err(_)) => self.value(&at("mcs"), link.mcs.unwrap_or_default(), "802.11ad has MCS 0 to 31"),
            Some(Ok(mcs)) if mcs.sensitivity().is_none() => {
                self.value(&at("mcs"), mcs.name(), "a rate with a sensitivity: 0 to 31");
            }
            _ => {}
        }
        if let Some(trace) = &link.trace {
            self.trace(&at("trace"), trace, radio);
            if link.mcs.is_some() || link.signal_dbm.is_some() {
                let message = "a trace says what arrives and which rate is used";
                self.conflict(key, message, Some("leave `mcs` and `signal_dbm` out"));
            }
        }
        match (link.signal_dbm, link.distance_m) {
            _ if link.trace.is_some() => {}
            (Some(_), Some(_)) => {
                self.conflict(
                    key,
                    "both `signal_dbm` and `distance_m` say what arrives",
                    Some("leave one of them out"),
                );
            }
            (None, None) if radio.access == AccessSpec::Planned && link.mcs.is_some() => {}
            (None, None) => {
                self.conflict(key, "nothing says what arrives", Some("signal_dbm = -45.0, or distance_m = 20.0"))
            }
            (Some(level), None) if !(-120.0..=30.0).contains(&level) => {
                self.value(&at("signal_dbm"), level, "allowed is -120 to 30 dBm");
            }
            (None, Some(distance)) if !(distance > 0.0 && distance <= LONGEST_LINK) => {
                self.value(&at("distance_m"), distance, &format!("above 0 and at most {LONGEST_LINK} m"));
            }
            (None, Some(_)) if radio.antenna.is_none() => {
                self.conflict(
                    "fabric.radio",
                    "a link's distance says nothing without an antenna",
                    Some("antenna = \"narrow_beam\", or `signal_dbm` in place of `distance_m`"),
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
                format!("switches are nodes {} to {last}; a host's radio is that of its switch", fabric.hosts());
            self.value(&at("nodes"), wrong, &allowed);
        } else if link.share.is_none() && RadioSpec::wire(link, fabric).is_none() {
            let message = format!("there is no wire between nodes {a} and {b} that the link could take the place of");
            self.conflict(key, &message, Some("with `share` it is beside the wires"));
        } else if link.share.is_some() && ![a, b].iter().all(|&n| has_hosts(fabric, NodeId(n))) {
            self.conflict(key, "a share is of what hosts under its ends send each other: one has none", None);
        }
    }

    fn trace(&mut self, key: &str, trace: &LinkTraceSpec, radio: &RadioSpec) {
        let at = |name: &str| format!("{key}.{name}");
        match (&trace.room, &trace.beams) {
            (Some(_), Some(_)) => {
                self.conflict(key, "both `room` and `beams` say what arrives", Some("leave one of them out"))
            }
            (None, None) => {
                self.conflict(key, "nothing says what arrives", Some("room = \"b\", or beams = \"FILE.csv\""))
            }
            _ => {}
        }
        if radio.access != AccessSpec::Planned {
            let message = "a link that follows a trace sends a packet a frame, without carrier sense";
            self.conflict("fabric.radio.access", message, Some("access = \"planned\""));
        }
        if !(-120.0..=30.0).contains(&trace.level_dbm) {
            self.value(&at("level_dbm"), trace.level_dbm, "allowed is -120 to 30 dBm");
        }
        if !(0.0..=60.0).contains(&trace.loss_db) {
            self.value(&at("loss_db"), trace.loss_db, "allowed is 0 to 60 dB");
        }
        if let Some(loss) = trace.body_loss_db {
            if !(0.0..=60.0).contains(&loss) {
                self.value(&at("body_loss_db"), loss, "allowed is 0 to 60 dB");
            }
            if trace.beams.is_some() {
                let message = "a file of beams has its shadows in it";
                self.conflict(key, message, Some("leave `body_loss_db` out, or take a room"));
            }
        }
        if !(trace.target > 0.0 && trace.target < 1.0) {
            self.value(&at("target"), trace.target, "a probability above 0 and below 1 is needed");
        }
        if !(0.001..=1.0).contains(&trace.rate_factor) {
            self.value(&at("rate_factor"), trace.rate_factor, "allowed is 0.001 to 1");
        }
        if trace.packet == Bytes::ZERO || trace.packet > Bytes::new(1 << 20) {
            self.value(&at("packet"), trace.packet, "allowed is 1 B to 1 MB");
        }
        for (name, found) in [("every", trace.every), ("select_every", trace.select_every)] {
            if found < Duration::from_us(10) {
                self.value(&at(name), found, "at least 10 us");
            } else {
                self.span(&at(name), found, LONGEST_DELAY);
            }
        }
    }

    /// What does not go with air links yet.
    pub(super) fn with_radio(&mut self, name: &str, s: &Scenario) {
        if s.fabric.radio.is_none() {
            return;
        }
        let key = format!("scheme.{name}");
        if let Some(plan) = &s.scheme[name].plan {
            let which = match plan {
                PlanSpec::Tdma(_) => "tdma",
                PlanSpec::Timeslots(_) => "timeslots",
                PlanSpec::Rates(_) => "rates",
                PlanSpec::Circuits(_) => "circuits",
                PlanSpec::Flyways(_) => return,
            };
            let message = format!("a plan of {which} knows no air links yet");
            self.conflict(&format!("{key}.plan"), &message, Some("leave the plan or `fabric.radio` out"));
        }
        if !s.failure.is_empty() || !s.change.is_empty() {
            self.conflict(&key, "air links do not go with failures and changes of wires yet", None);
        }
    }
}

fn has_hosts(fabric: &timeplane_model::Fabric, switch: NodeId) -> bool {
    (0..fabric.hosts()).any(|h| RadioSpec::switch_of(fabric, h) == switch)
}
