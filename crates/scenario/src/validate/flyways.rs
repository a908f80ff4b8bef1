//! Checks plans of flyways: radios, channels, timers and the positions of racks, and that each
//! switch has one host.

use super::{Checked, LONGEST_DELAY, usable};
use crate::{Access, FlywaysSpec, PointingSpec, RadioSpec, Scenario};
use std::collections::BTreeSet;
use timeplane_model::Buffer;
use timeplane_radio::{Layout, Rack, Rows};

/// Number of positions in the bundled layout.
const BUNDLED: u32 = 160;

impl Checked {
    pub(super) fn flyways(&mut self, key: &str, spec: &FlywaysSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.count(&at("channels"), spec.channels, 1, 4);
        self.count(&at("radios"), spec.radios, 1, spec.channels.clamp(1, 4));
        if spec.access == Access::Planned {
            let message = "access `planned` with flyways: expected another access, as `planned` has no airtimes";
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
        self.out_of_band(key, spec.control, "flyways");
        if matches!(s.fabric.switch.buffer, Buffer::PerInput(_)) {
            let message = "flyways with `buffer.per_input`: not supported yet";
            self.conflict(key, message, Some("use `per_port` or `shared` in `fabric.switch.buffer`"));
        }
        if usable(spec.compute_time) && usable(spec.control_latency) {
            let least = (spec.compute_time + spec.control_latency) * 2;
            if spec.lease <= least {
                let allowed =
                    format!("more than {least}, twice the compute time and latency, so that it can be renewed");
                self.value(&at("lease"), spec.lease, &allowed);
            }
        }
        match spec.pointing() {
            PointingSpec::Trained { sectors } => self.count(&at("pointing.trained.sectors"), sectors, 1, 1_024),
            PointingSpec::Coordinated { steering } => {
                self.span(&at("pointing.coordinated.steering"), steering, LONGEST_DELAY);
            }
        }
        if let Some(every) = spec.measure_every {
            self.positive_span(&at("measure_every"), every, LONGEST_DELAY);
        }
        self.places(key, spec, u32::try_from(s.fabric.hosts()).unwrap_or(u32::MAX));
        if s.fabric.radio.is_some() {
            let message = "air links in the fabric with flyways: expected none, as the controller sets them up";
            self.conflict(key, message, Some("omit `fabric.radio`"));
        }
        if !s.failure.is_empty() || !s.change.is_empty() {
            self.conflict(key, "flyways with failures or rate changes: not supported yet", None);
        }
        let Ok(fabric) = s.fabric.build() else { return };
        let switches: BTreeSet<_> = (0..fabric.hosts()).map(|h| RadioSpec::switch_of(&fabric, h)).collect();
        if switches.len() < fabric.hosts() as usize {
            let message = "several hosts per switch: expected one, as each host is a rack with its radios";
            let help = "topology.tree = { edges = 150, hosts_per_edge = 1 }, with `uplink_rate` below `rate`";
            self.conflict("fabric.topology", message, Some(help));
        }
    }
    /// Where racks stand.
    fn places(&mut self, key: &str, spec: &FlywaysSpec, racks: u32) {
        let at = |name: &str| format!("{key}.{name}");
        if let Some(rows) = &spec.rows {
            if spec.positions_m.is_some() {
                let message = "`rows` with `positions_m`: expected one of them";
                return self.conflict(&at("rows"), message, Some("omit `rows` or `positions_m`"));
            }
            self.count(&at("rows.racks"), rows.racks, 1, Rows::MOST);
            self.count(&at("rows.rows"), rows.rows, 1, Rows::MOST);
            let rack = Rack::default();
            let (width, depth) = (rack.width.get(), rack.depth.get());
            for (name, found, least, what) in [
                ("spacing_m", rows.spacing_m, width, "the width of a rack"),
                ("row_spacing_m", rows.row_spacing_m, depth, "the depth of a rack"),
                ("block_spacing_m", rows.block_spacing_m, rows.width_m(), "the width of a row"),
            ] {
                if !(found >= least - 1e-3 && found <= Layout::FARTHEST_M) {
                    let allowed = format!("{least:.4}, {what}, to {}", Layout::FARTHEST_M);
                    return self.value(&at(&format!("rows.{name}")), found, &allowed);
                }
            }
        }
        let (name, middles) = match (&spec.positions_m, spec.middles(racks.min(Layout::MOST_RACKS as u32 + 1))) {
            (None, None) if racks > BUNDLED => {
                let message = format!("{racks} racks: expected at most {BUNDLED}, the positions of the bundled layout");
                let help = "set rows = {}, or positions_m = [[0.0, 0.0], [0.6, 0.0], ...], one for each rack";
                return self.conflict(key, &message, Some(help));
            }
            (_, None) => return,
            (Some(places), Some(_)) if places.len() != racks as usize => {
                return self.value(&at("positions_m"), places.len(), &format!("{racks}, one for each rack"));
            }
            (Some(_), Some(middles)) => (at("positions_m"), middles),
            (None, Some(middles)) => (at("rows"), middles),
        };
        if middles.len() > Layout::MOST_RACKS {
            let message = format!("{racks} racks: expected at most {}", Layout::MOST_RACKS);
            return self.conflict(key, &message, None);
        }
        let far = |p: &&(f64, f64)| !(p.0.abs() <= Layout::FARTHEST_M && p.1.abs() <= Layout::FARTHEST_M);
        if let Some(p) = middles.iter().find(far) {
            let allowed = format!("coordinates within {} m", Layout::FARTHEST_M);
            self.value(&name, format!("[{}, {}]", p.0, p.1), &allowed);
        } else if let Err(overlap) = Layout::new(Rack::default(), &middles) {
            self.conflict(&name, &overlap.to_string(), None);
        }
    }
}
