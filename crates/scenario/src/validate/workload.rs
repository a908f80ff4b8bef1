//! Checks the workload and its measurement: sizes, loads, patterns and files, and the intervals at
//! which a run records samples.

use super::{Checked, LONGEST_RUN};
use crate::{LatencyFrom, PacketMix, Pattern, Poisson, Scenario, Sizes, Workload};
use std::path::Path;
use timeplane_model::{Bytes, Duration};

impl Checked {
    pub(super) fn window(&mut self, s: &Scenario) {
        let w = s.window;
        self.span("window.warmup", w.warmup, LONGEST_RUN);
        if let Some(measure) = w.measure {
            self.positive_span("window.measure", measure, LONGEST_RUN);
        }
        if let Some(drain) = w.drain {
            self.span("window.drain", drain, LONGEST_RUN);
        }
        if w.measure.is_none() && matches!(s.workload, Workload::Poisson(_)) {
            let message = "missing key `measure`: a Poisson workload never ends";
            self.conflict("window", message, Some("window = { measure = \"100 ms\" } counts the flows of 100 ms"));
        }
        if s.record.latency_from != LatencyFrom::default() && !s.record.latency {
            let message = "a begin of latencies that are not recorded: expected also `latency = true`";
            self.conflict("record.latency_from", message, None);
        }
        let record = [
            ("queues_every", s.record.queues_every),
            ("received_every", s.record.received_every),
            ("tcp_every", s.record.tcp_every),
        ];
        for (name, every) in record {
            let key = format!("record.{name}");
            match every {
                Some(every) if every < Duration::from_ns(1) => self.value(&key, every, "at least 1 ns"),
                Some(every) => self.span(&key, every, LONGEST_RUN),
                None => {}
            }
        }
    }

    pub(super) fn workload(&mut self, s: &Scenario, hosts: u128, base: &Path) {
        if s.workload.has_steps() {
            self.steps(s);
        }
        match &s.workload {
            Workload::Poisson(p) => self.poisson(p, hosts, s.fabric.mtu, base),
            Workload::Flows(f) => self.file("workload.flows.file", &f.file, base),
            Workload::Shuffle(shuffle) => {
                self.bytes("workload.shuffle.bytes", shuffle.bytes);
                self.span("workload.shuffle.jitter", shuffle.jitter, LONGEST_RUN);
                if shuffle.in_turn && (s.window.measure.is_some() || s.window.drain.is_some()) {
                    let message = "`in_turn` with a measured interval: expected none, as start times depend on the run";
                    self.conflict(
                        "workload.shuffle.in_turn",
                        message,
                        Some("omit `window.measure` and `window.drain`"),
                    );
                }
            }
            Workload::Coflows(c) => {
                self.file("workload.coflows.file", &c.file, base);
                self.factor("workload.coflows.time_scale", c.time_scale);
                self.factor("workload.coflows.byte_scale", c.byte_scale);
                self.span("workload.coflows.jitter", c.jitter, LONGEST_RUN);
                if let Some(blocks) = c.blocks {
                    self.count("workload.coflows.blocks", blocks, 1, 1_000_000);
                }
                if c.max_flows == Some(0) {
                    self.value("workload.coflows.max_flows", 0, "at least 1");
                }
            }
            Workload::Collective(c) => self.collective(c, hosts),
            Workload::Chakra(c) => self.chakra(c, hosts),
            Workload::Simai(c) => self.simai(c, base),
        }
    }

    fn poisson(&mut self, p: &Poisson, hosts: u128, mtu: Bytes, base: &Path) {
        const LOAD: &str = "workload.poisson.load";
        if !(p.load > 0.0 && p.load <= 10.0) {
            let allowed = "a share of the links' rate, such as 0.5: above 0, at most 10";
            self.value(LOAD, p.load, allowed);
        } else if p.load > 1.0 {
            self.warn(
                LOAD,
                format!("load {} exceeds the capacity of the links: queues grow throughout the run", p.load),
            );
        }
        match &p.pattern {
            Pattern::Incast { receiver } if u128::from(*receiver) >= hosts => {
                let allowed = format!("a host from 0 to {}", hosts.saturating_sub(1));
                self.value("workload.poisson.pattern.incast.receiver", receiver, &allowed);
            }
            Pattern::Stride { by } if hosts > 0 && u128::from(*by) % hosts == 0 => {
                let message = format!(
                    "stride {by}: expected no multiple of the number of hosts, {hosts}, as every host would send to itself"
                );
                self.conflict("workload.poisson.pattern.stride.by", &message, None);
            }
            Pattern::Matrix { file, .. } => self.file("workload.poisson.pattern.matrix.file", file, base),
            _ => {}
        }
        match &p.sizes {
            Sizes::Fixed(bytes) => self.bytes("workload.poisson.sizes.fixed", *bytes),
            Sizes::Exponential(mean) => self.bytes("workload.poisson.sizes.exponential", *mean),
            Sizes::Cdf(file) => self.file("workload.poisson.sizes.cdf", file, base),
            Sizes::CdfPoints(file) => self.file("workload.poisson.sizes.cdf_points", file, base),
        }
        match p.packets {
            PacketMix::Fixed(size) if !(64..=mtu.get().max(64)).contains(&size.get()) => {
                let allowed = format!("64 B to the MTU, {mtu}");
                self.value("workload.poisson.packets.fixed", size, &allowed);
            }
            PacketMix::Bimodal | PacketMix::FacebookWeb | PacketMix::Alternating if mtu < Bytes::new(1500) => {
                let message = format!("MTU {mtu}: expected at least 1500 B, the largest packet of this mix");
                self.conflict("workload.poisson.packets", &message, None);
            }
            _ => {}
        }
    }
}
