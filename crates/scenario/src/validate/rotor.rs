//! Checks rotor switches: their slices and matchings, and the routing of schemes that use them.
//!
//! Tables of routings are computed, and schedule files read, before the first run.

use super::{Checked, LONGEST_DELAY, MOST_BYTES};
use crate::{
    Algorithms, BulkBy, FabricSpec, PacketMix, PlanSpec, RotorRouting, RotorRoutingSpec, RotorSpec, RotorSpecError,
    Scenario, Scheme, Topology, Transport, Workload,
};
use std::path::Path;
use strum::VariantNames;
use timeplane_model::{Buffer, Duration, Forwarding};
use timeplane_schedule::rotor::RotorError;

const TABLE: &str = "fabric.topology.rotor";

impl Checked {
    pub(super) fn rotor(&mut self, r: &RotorSpec, f: &FabricSpec) {
        let at = |name: &str| format!("{TABLE}.{name}");
        self.positive_span(&at("slice"), r.slice, LONGEST_DELAY);
        self.span(&at("dark"), r.dark, LONGEST_DELAY);
        if r.slice > Duration::ZERO
            && !r.dark.is_negative()
            && let Err(e) = r.timing()
        {
            self.conflict(&at("dark"), &e.to_string(), Some("a slice begins dark, and carries packets after that"));
        }
        if f.check_topology().is_ok() && r.file().is_none() {
            match r.schedule(None) {
                Ok(_) => {}
                Err(RotorSpecError::Schedule(e @ RotorError::Number { what: "uplinks", .. })) => {
                    let help = "each switch needs a matching of its own";
                    self.conflict(&at("switches"), &e.to_string(), Some(help));
                }
                Err(e) => self.conflict(&at("matchings"), &e.to_string(), None),
            }
        }
        let mut refuse = |there: bool, key: &str, message: &str, help: &str| {
            if there {
                self.conflict(key, message, Some(help));
            }
        };
        refuse(
            f.switch.forwarding == Forwarding::CutThrough,
            "fabric.switch.forwarding",
            "`cut_through` with rotor switches: not supported yet",
            "omit `fabric.switch.forwarding`",
        );
        refuse(
            f.switch.pfc.is_some(),
            "fabric.switch.pfc",
            "PFC with rotor switches: not supported yet",
            "omit `fabric.switch.pfc`",
        );
        refuse(
            matches!(f.switch.buffer, Buffer::PerInput(_)),
            "fabric.switch.buffer.per_input",
            "`per_input` with rotor switches: not supported yet",
            "omit it, or use `per_port` or `shared` for the queues towards hosts",
        );
        refuse(
            f.radio.is_some(),
            "fabric.radio",
            "radio with rotor switches: not supported yet",
            "omit `fabric.radio`",
        );
    }

    /// Requires the schedule file of a fabric, if it names one.
    pub(super) fn schedule_file(&mut self, f: &FabricSpec, base: &Path) {
        if let Topology::Rotor(rotor) = &f.topology
            && let Some(name) = rotor.file()
        {
            let key = format!("{TABLE}.matchings.file");
            if !name.is_empty() && base.join(name).is_file() {
                return;
            }
            let looked = base.join(name);
            self.conflict(&key, &format!("file `{}` not found", looked.display()), None);
        }
    }

    /// Requires a routing where there are rotor switches, and none elsewhere.
    pub(super) fn rotor_routing(&mut self, name: &str, scheme: &Scheme, s: &Scenario, known: &Algorithms) {
        let key = format!("scheme.{name}.rotor");
        let has_rotors = matches!(s.fabric.topology, Topology::Rotor(_));
        let Some(rotor) = &scheme.rotor else {
            if has_rotors {
                let help = format!("add `rotor.routing.vlb = {{}}` to `[scheme.{name}]`");
                let message = "no routing over rotor switches: expected `rotor`";
                self.conflict(&format!("scheme.{name}"), message, Some(&help));
            }
            return;
        };
        if !has_rotors {
            let help = "topology.rotor = { racks = 8, hosts_per_rack = 4, switches = 4, slice = \"100 us\" } has some";
            return self.conflict(&key, "no rotor switches: expected `topology.rotor`", Some(help));
        }
        let refused = [
            (scheme.plan.as_ref().map(PlanSpec::key), "plan", "a plan over rotor switches: not supported"),
            (scheme.proxy.as_ref().map(|_| ""), "proxy", "a proxy over rotor switches: not supported"),
        ];
        for (_, part, message) in refused.into_iter().filter(|r| r.0.is_some()) {
            self.conflict(&format!("scheme.{name}.{part}"), message, Some("omit it, or change the topology"));
        }
        if !s.change.is_empty() {
            self.conflict("change.0", "rate changes with rotor switches: not supported yet", Some("omit the changes"));
        }
        self.routings(&key, rotor, scheme, s, known);
    }

    fn routings(&mut self, key: &str, rotor: &RotorRoutingSpec, scheme: &Scheme, s: &Scenario, known: &Algorithms) {
        for (bulk, routing) in rotor.routings() {
            let table = format!("{key}{}.routing.{}", if bulk { ".bulk" } else { "" }, routing.name());
            let at = |name: &str| format!("{table}.{name}");
            match routing {
                RotorRouting::Shortest { paths, .. } | RotorRouting::Disjoint { paths, .. } => {
                    self.count(&at("paths"), *paths, 1, 255)
                }
                RotorRouting::Hoho { hops } => self.count(&at("hops"), *hops, 1, 16),
                RotorRouting::Ucmp { hops, alpha, buckets } => {
                    self.count(&at("hops"), *hops, 1, 16);
                    if !(0.0..=1.0).contains(alpha) {
                        self.value(&at("alpha"), alpha, "a weight from 0 to 1");
                    }
                    if buckets.is_empty() || buckets.len() > 255 {
                        self.value(&at("buckets"), buckets.len(), "1 to 255 bounds");
                    } else if buckets.windows(2).any(|w| w[0] >= w[1]) {
                        self.conflict(&at("buckets"), "bounds out of order: expected increasing bounds", None);
                    }
                }
                RotorRouting::Shale { dimensions } => self.count(&at("dimensions"), *dimensions, 1, 14),
                RotorRouting::Own(own) if known.routings.factory(own).is_ok() => {}
                RotorRouting::Own(own) if RotorRouting::VARIANTS.contains(&own.name.as_str()) => {
                    let message = format!("`{}`: expected a routing that a program has registered", own.name);
                    let help = format!("a built-in one is a key of its own: `routing.{} = ...`", own.name);
                    self.conflict(&table, &message, Some(&help));
                }
                RotorRouting::Own(own) => self.registered(&table, own, &known.routings),
                RotorRouting::Direct {} | RotorRouting::Vlb { .. } | RotorRouting::RotorLb { .. } => {}
            }
            if routing.is_granted() && !matches!(scheme.transport, Transport::Datagrams {} | Transport::Ndp(_)) {
                let message = "`rotor_lb` with this transport: expected `datagrams`, or `ndp` for flows that are not \
                               bulk, as hosts keep bulk until racks have agreed on it";
                self.conflict(&table, message, Some("`vlb` carries every transport"));
            }
            if routing.is_granted() && matches!(&s.workload, Workload::Poisson(p) if p.packets != PacketMix::Mtu) {
                let message = "a mix of packets with `rotor_lb`: expected packets of the MTU, which racks count";
                self.conflict(&table, message, Some("omit `workload.poisson.packets`"));
            }
        }
        if rotor.routing.is_granted() && rotor.bulk.is_some() {
            let help = "omit `bulk`, or route what is not bulk by `shortest`, `disjoint`, `hoho`, `ucmp` or `vlb`";
            self.conflict(
                &format!("{key}.bulk"),
                "`rotor_lb` for flows that are not bulk: expected one class",
                Some(help),
            );
        }
        if let Some(bulk) = &rotor.bulk {
            if bulk.above > MOST_BYTES {
                self.value(&format!("{key}.bulk.above"), bulk.above, "at most 1000 TB");
            }
            if bulk.by == BulkBy::Age && bulk.also.is_some() {
                let message = "`also` with `age`: expected `size`, as flows have one size";
                self.conflict(&format!("{key}.bulk.also"), message, Some("omit `also`"));
            }
            if bulk.by == BulkBy::Age && bulk.routing.is_granted() {
                let help = "set `by = \"size\"`, or another `bulk.routing`";
                let message = "`age` with `rotor_lb`: expected `size`, as hosts keep a flow as a whole";
                self.conflict(&format!("{key}.bulk.by"), message, Some(help));
            }
        }
        if let Some(queue) = rotor.queue {
            self.bytes(&format!("{key}.queue"), queue);
        }
    }
}
