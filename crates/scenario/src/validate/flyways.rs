//! Whether flyways make sense.

use super::{Checked, LONGEST_DELAY};
use crate::{AccessSpec, FlywaysSpec, PointingSpec, RadioSpec, Scenario};
use std::collections::BTreeSet;
use timeplane_radio::{Layout, Rack};

/// Places of the bundled layout.
const BUNDLED: u32 = 160;

impl Checked {
    pub(super) fn flyways(&mut self, key: &str, spec: &FlywaysSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.count(&at("channels"), spec.channels, 1, 4);
        self.count(&at("radios"), spec.radios, 1, spec.channels.clamp(1, 4));
        if spec.access == AccessSpec::Planned {
            let message = "frames of flyways take their airtime: `planned` has none";
            self.conflict(&at("access"), message, Some("access = \"token\""));
        }
        self.air_queue(&at("queue"), spec.queue);
        for (name, found) in [("every", spec.every), ("report_every", spec.report_every), ("lease", spec.lease)] {
            self.positive_span(&at(name), found, LONGEST_DELAY);
        }
        for (name, found) in [("control_latency", spec.control_latency), ("compute_time", spec.compute_time)] {
            self.span(&at(name), found, LONGEST_DELAY);
        }
        self.probability(&at("control_loss"), spec.control_loss);
        let least = (spec.compute_time + spec.control_latency) * 2;
        if spec.lease <= least {
            let allowed = format!("longer than twice compute time and latency, {least}, so that it can be renewed");
            self.value(&at("lease"), spec.lease, &allowed);
        }
        match spec.pointing() {
            PointingSpec::Trained { sectors } => self.count(&at("pointing.trained.sectors"), sectors, 1, 1_024),
            PointingSpec::Coordinated { steering } => {
                self.span(&at("pointing.coordinated.steering"), steering, LONGEST_DELAY);
            }
        }
        let racks = u32::try_from(s.fabric.hosts()).unwrap_or(u32::MAX);
        match &spec.positions_m {
            None if racks > BUNDLED => {
                let message = format!("{racks} racks, and the bundled layout has {BUNDLED} places");
                self.conflict(
                    key,
                    &message,
                    Some("positions_m = [[0.0, 0.0], [0.6, 0.0]] and so on, one for each rack"),
                );
            }
            None => {}
            Some(places) if places.len() != racks as usize => {
                self.value(&at("positions_m"), places.len(), &format!("one for each of {racks} racks"));
            }
            Some(places) => {
                let middles: Vec<_> = places.iter().map(|p| (p[0], p[1])).collect();
                let far = |p: &&(f64, f64)| !(p.0.abs() <= Layout::FARTHEST_M && p.1.abs() <= Layout::FARTHEST_M);
                if let Some(p) = middles.iter().find(far) {
                    let allowed = format!("within {} m", Layout::FARTHEST_M);
                    self.value(&at("positions_m"), format!("[{}, {}]", p.0, p.1), &allowed);
                } else if let Err(overlap) = Layout::new(Rack::default(), &middles) {
                    self.conflict(&at("positions_m"), &overlap.to_string(), None);
                }
            }
        }
        if s.fabric.radio.is_some() {
            let message = "the controller sets all air links up: there are none in the fabric";
            self.conflict(key, message, Some("leave `fabric.radio` out"));
        }
        if !s.failure.is_empty() || !s.change.is_empty() {
            self.conflict(key, "flyways do not go with failures and changes of wires yet", None);
        }
        let Ok(fabric) = s.fabric.build() else { return };
        let switches: BTreeSet<_> = (0..fabric.hosts()).map(|h| RadioSpec::switch_of(&fabric, h)).collect();
        if switches.len() < fabric.hosts() as usize {
            let message = "hosts are racks here, and each needs a switch of its own for its radios";
            let help = "topology.tree = { edges = 150, hosts_per_edge = 1 }, with `uplink_rate` below `rate`";
            self.conflict("fabric.topology", message, Some(help));
        }
    }
}
