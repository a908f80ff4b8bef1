//! Checks the fabric: links, switches, flow control and topology. Errors of [`FabricSpec::build`]
//! are reported at the key that causes them.

use super::{Checked, LONGEST_DELAY, MOST_BYTES};
use crate::{FabricSpec, Scenario, Topology};
use timeplane_model::{Buffer, Bytes, Clos, Duration, FabricError, Forwarding, LinkSpec, Pfc, Rate};

impl Checked {
    pub(super) fn fabric(&mut self, f: &FabricSpec) {
        self.rate("fabric.rate", f.rate);
        if let Some(rate) = f.uplink_rate {
            self.rate("fabric.uplink_rate", rate);
            if matches!(f.topology, Topology::SingleSwitch { .. }) {
                self.warn("fabric.uplink_rate", "no effect: a single switch has no uplinks".to_owned());
            }
        }
        self.span("fabric.propagation", f.propagation, LONGEST_DELAY);
        self.probability("fabric.bit_error", f.bit_error);
        let mtu_fits = (68..=65_535).contains(&f.mtu.get());
        if !mtu_fits {
            self.value("fabric.mtu", f.mtu, "68 B to 65535 B");
        }
        self.span("fabric.switch.latency", f.switch.latency, LONGEST_DELAY);
        let frame = if mtu_fits { Bytes::new(f.framing.wire(f.mtu.get() as u32).into()) } else { Bytes::new(1) };
        let holds_frame = format!("room for one frame of the MTU, {frame} on the wire");
        match f.switch.buffer {
            Buffer::Unbounded => {}
            Buffer::PerPort(bytes) if bytes < frame => {
                self.value("fabric.switch.buffer.per_port", bytes, &holds_frame);
            }
            Buffer::PerPort(_) => {}
            Buffer::PerInput(memory) => self.per_input(memory, f, frame, &holds_frame),
            Buffer::Shared { memory, alpha } => {
                if !(alpha > 0.0 && alpha <= 1024.0) {
                    self.value("fabric.switch.buffer.shared.alpha", alpha, "above 0, at most 1024");
                } else if alpha.min(1.0) * (memory.get() as f64) < frame.get() as f64 {
                    let key = "fabric.switch.buffer.shared.memory";
                    self.value(key, memory, &format!("{holds_frame}, as a port may use alpha times the memory"));
                }
            }
        }
        if let Some(pfc) = &f.switch.pfc {
            self.pfc(pfc, f, frame);
        }
        if let Some(threshold) = f.switch.ecn {
            if threshold == Bytes::ZERO {
                self.value(
                    "fabric.switch.ecn",
                    threshold,
                    "more than zero, as zero marks every packet; to mark none, omit the key",
                );
            }
            if matches!(f.switch.buffer, Buffer::PerPort(bytes) if bytes < threshold) {
                let message = format!("no effect: no queue ever holds {threshold}");
                self.warn("fabric.switch.ecn", message);
            }
        }
        if let Topology::Hybrid(hybrid) = &f.topology {
            self.hybrid(hybrid, f.rate);
        }
        if let Topology::Rotor(rotor) = &f.topology {
            self.rotor(rotor, f);
        }
        self.radio(f);
        if let Topology::Graph { links, .. } = &f.topology {
            for (i, link) in links.iter().enumerate() {
                if let Some(rate) = link.rate {
                    self.rate(&format!("fabric.topology.graph.links.{i}.rate"), rate);
                }
                if let Some(propagation) = link.propagation {
                    self.span(&format!("fabric.topology.graph.links.{i}.propagation"), propagation, LONGEST_DELAY);
                }
            }
        }
        if let Err(e) = f.check_topology() {
            self.topology(f, e);
        }
    }

    /// Checks the memory of inputs, and refuses what it cannot be combined with.
    fn per_input(&mut self, memory: Bytes, f: &FabricSpec, frame: Bytes, holds_frame: &str) {
        const KEY: &str = "fabric.switch.buffer.per_input";
        if memory < frame {
            self.value(KEY, memory, holds_frame);
        }
        let mut refuse = |there: bool, message: &str, help: &str| {
            if there {
                self.conflict(KEY, message, Some(help));
            }
        };
        refuse(
            f.switch.forwarding == Forwarding::CutThrough,
            "`per_input` with `cut_through`: expected store-and-forward, as inputs store whole packets",
            "omit `fabric.switch.forwarding`, or use `per_port` or `shared`",
        );
        refuse(
            f.switch.pfc.is_some(),
            "`per_input` with PFC: expected one of them, as PFC bounds the inputs itself",
            "omit `fabric.switch.buffer`; `pause_at` and `headroom` bound each input",
        );
        refuse(
            f.radio.is_some(),
            "`per_input` with radio: not supported yet",
            "omit `fabric.radio`, or use `per_port` or `shared`",
        );
        refuse(
            matches!(f.topology, Topology::Hybrid(_)),
            "`per_input` on a hybrid fabric: not supported yet",
            "use another topology, or `per_port` or `shared`",
        );
    }

    /// Warns of runs that may never end: on rings of switches, ports that are paused can wait for
    /// each other (a deadlock of PFC).
    pub(super) fn deadlocks(&mut self, s: &Scenario) {
        let has_rings = matches!(s.fabric.topology, Topology::Expander { uplinks: 2.., .. });
        if has_rings && s.fabric.switch.pfc.is_some() && s.window.drain.is_none() {
            let message = "switches of an expander form rings, in which paused ports can wait for each other for ever: \
                           without `window.drain`, such a run never ends";
            self.warn("fabric.switch.pfc", message.to_owned());
        }
    }

    fn pfc(&mut self, pfc: &Pfc, f: &FabricSpec, frame: Bytes) {
        const KEY: &str = "fabric.switch.pfc";
        let at = |name: &str| format!("{KEY}.{name}");
        if f.switch.forwarding == Forwarding::CutThrough {
            let message = "`cut_through` with PFC: expected store-and-forward, as pausing switches store whole packets";
            self.conflict(KEY, message, Some("omit `fabric.switch.forwarding`"));
        }
        if !matches!(f.switch.buffer, Buffer::Unbounded | Buffer::PerInput(_)) {
            let message = "bounded output queues with PFC: expected no bound, as PFC counts packets at the inputs";
            self.conflict(
                KEY,
                message,
                Some("omit `fabric.switch.buffer`; `pause_at` and `headroom` bound each input"),
            );
        }
        self.span(&at("reaction"), pfc.reaction, LONGEST_DELAY);
        if pfc.pause_at < frame || pfc.pause_at > MOST_BYTES {
            let allowed = format!("one frame of the MTU, {frame} on the wire, to 1000 TB");
            self.value(&at("pause_at"), pfc.pause_at, &allowed);
        } else if pfc.resume_at > pfc.pause_at.saturating_sub(frame) {
            let allowed =
                format!("at least a frame of the MTU ({frame} on the wire) less than `pause_at`, {}", pfc.pause_at);
            self.value(&at("resume_at"), pfc.resume_at, &allowed);
        }
        let usable =
            |r: Rate, p: Duration| r.as_bps() <= 1_000_000_000_000_000 && !p.is_negative() && p <= LONGEST_DELAY;
        if pfc.reaction.is_negative() || pfc.reaction > LONGEST_DELAY || f.mtu.get() > 65_535 {
            return;
        }
        let Some(headroom) = pfc.headroom else { return };
        let own = match &f.topology {
            Topology::Graph { links, .. } => links.iter().map(|l| (l.rate, l.propagation)).collect(),
            _ => Vec::new(),
        };
        let kinds = [(Some(f.rate), None), (f.uplink_rate, None)].into_iter().chain(own);
        let kinds = kinds.map(|(rate, propagation)| (rate.unwrap_or(f.rate), propagation.unwrap_or(f.propagation)));
        let needed = kinds.filter(|&(rate, propagation)| usable(rate, propagation)).map(|(rate, propagation)| {
            let link = LinkSpec { rate, propagation, framing: f.framing, bit_error: 0.0 };
            (pfc.headroom(&link, f.mtu.get() as u32), rate, propagation)
        });
        if let Some((needed, rate, propagation)) = needed.max().filter(|n| n.0 > headroom) {
            let message = format!(
                "headroom of {headroom}: expected {needed}, which may arrive after a pause at {rate}, with {propagation} of propagation and {} of reaction; packets may be lost",
                pfc.reaction
            );
            self.warn(&at("headroom"), message);
        }
    }

    /// Reports what [`FabricSpec::build`] rejects, at the key that causes it.
    fn topology(&mut self, f: &FabricSpec, e: FabricError) {
        let table = format!("fabric.topology.{}", f.topology.key());
        let counts_hosts =
            matches!(f.topology, Topology::SingleSwitch { .. } | Topology::Expander { .. } | Topology::Graph { .. });
        let key = match &e {
            FabricError::Link { link, .. } => format!("{table}.links.{link}"),
            FabricError::Disconnected { .. } if f.topology.key() == "expander" => format!("{table}.uplinks"),
            FabricError::HostWires { .. } | FabricError::Disconnected { .. } => format!("{table}.links"),
            FabricError::TooFewHosts { .. } if counts_hosts => format!("{table}.hosts"),
            FabricError::Dimension { found: 0, what, .. }
            | FabricError::Dimension { what: what @ ("k" | "uplinks" | "hosts_per_edge"), .. } => {
                format!("{table}.{what}")
            }
            FabricError::TooFewHosts { .. } | FabricError::Dimension { .. } => table,
        };
        self.error(&key, e.into(), None);
    }

    /// Wire bytes and line time of a frame of the MTU on a host's link, if both are valid.
    pub(super) fn frame(f: &FabricSpec) -> Option<(Bytes, Duration)> {
        if f.mtu.get() > 65_535 || f.rate.as_bps() < 1_000 {
            return None;
        }
        let wire = Bytes::new(f.framing.wire(f.mtu.get() as u32).into());
        Some((wire, f.rate.time_for(wire)))
    }

    /// Requires links that represent parallel unit links, as paths of timeslots and rates for pairs
    /// need.
    pub(super) fn unit_links(&mut self, key: &str, f: &FabricSpec) {
        if let Ok(fabric) = f.build()
            && let Err(e) = Clos::of(&fabric)
        {
            self.conflict(key, &e.to_string(), None);
        }
    }
}
