//! Checks schemes: transports, and plans of timeslots and rates. Other plans have modules of their
//! own.

use super::{Checked, LONGEST_DELAY, built, mtu, usable};
use crate::{
    Algorithms, Discipline, Ecmp, PacketMix, PlanSpec, RateEstimator, RatesSpec, Scenario, Scheme, TimeslotsSpec,
    Transport, Workload,
};
use timeplane_model::{Bytes, Duration};

impl Checked {
    pub(super) fn scheme(&mut self, name: &str, scheme: &Scheme, s: &Scenario, algorithms: &Algorithms) {
        let at = |key: &str| format!("scheme.{name}.{key}");
        let mtu = s.fabric.mtu;
        match &scheme.transport {
            Transport::Datagrams {} => {}
            Transport::Raw(raw) => {
                if raw.header == Bytes::ZERO || raw.header >= mtu {
                    let allowed = format!("1 B to below the MTU, {mtu}");
                    self.value(&at("transport.raw.header"), raw.header, &allowed);
                }
                self.positive_span(&at("transport.raw.report_every"), raw.report_every, LONGEST_DELAY);
                if let Some(reordering) = raw.reordering {
                    self.span(&at("transport.raw.reordering"), reordering, LONGEST_DELAY);
                }
            }
            Transport::Tcp(tcp) => {
                self.tcp(&at("transport.tcp"), tcp, s);
                if scheme.ecmp == Ecmp::Packet && tcp.resolved().rack != Some(true) {
                    let message = "packets overtake each other, and TCP without RACK takes late ones for lost: \
                                   set `transport.tcp.rack = true`, or omit `ecmp`";
                    self.warn(&at("ecmp"), message.to_owned());
                }
            }
            Transport::Ndp(ndp) => self.ndp(name, ndp, scheme, s),
        }
        if let Workload::Poisson(p) = &s.workload {
            let only = match (&p.packets, &scheme.transport) {
                (PacketMix::Mtu, _) | (PacketMix::Single, Transport::Datagrams {}) => None,
                (PacketMix::Single, _) => Some("packets `single` with this transport: expected `datagrams`"),
                (_, Transport::Tcp(_)) => {
                    Some("a mix of packets with TCP: expected `datagrams` or `raw`, as TCP makes its own segments")
                }
                (_, Transport::Ndp(_)) => {
                    Some("a mix of packets with NDP: expected `datagrams` or `raw`, as NDP makes its own packets")
                }
                _ => None,
            };
            if let Some(message) = only {
                self.conflict(
                    &at("transport"),
                    message,
                    Some("omit `workload.poisson.packets`, or change the transport"),
                );
            }
        }
        let burst = scheme.nic.burst;
        if burst != Bytes::ZERO && !(mtu..=Bytes::mb(16)).contains(&burst) {
            let allowed = format!("0 B (no offload), or the MTU, {mtu}, to 16 MB");
            self.value(&at("nic.burst"), burst, &allowed);
        }
        if burst != Bytes::ZERO && scheme.discipline() == Discipline::ControlFirst {
            let message = "bursts with `nic.discipline = \"control_first\"`, which chooses packet by packet";
            self.conflict(&at("nic.burst"), message, Some("omit it, or change the discipline"));
        }
        match &scheme.plan {
            Some(PlanSpec::Tdma(slots)) => {
                self.tdma(&at("plan.tdma"), slots, scheme.host_latency().send_spread(), s);
            }
            Some(PlanSpec::Timeslots(timeslots)) => self.timeslots(&at("plan.timeslots"), timeslots, s),
            Some(PlanSpec::Rates(rates)) => self.rates(&at("plan.rates"), rates, s),
            Some(PlanSpec::Circuits(circuits)) => self.circuits(&at("plan.circuits"), circuits, s),
            Some(PlanSpec::Flyways(flyways)) => self.flyways(&at("plan.flyways"), flyways, s),
            None => {}
        }
        if let Some(plan) = &scheme.plan {
            let key = at(&format!("plan.{}", plan.key()));
            self.own_algorithm(&key, plan, algorithms);
            self.control(&key, plan.control(), s);
        }
    }

    fn timeslots(&mut self, key: &str, t: &TimeslotsSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.unit_links(key, &s.fabric);
        if let Some((_, frame)) = Self::frame(&s.fabric)
            && let Some(slot) = t.slot
        {
            self.positive_span(&at("slot"), slot, LONGEST_DELAY);
            if Duration::ZERO < slot && slot < frame {
                let allowed = format!("at least {frame}, the time of a packet of the MTU at {}", s.fabric.rate);
                self.value(&at("slot"), slot, &allowed);
            }
        }
        self.count(&at("batch"), t.batch, 1, 65_536);
        if t.classes.len() > 7 {
            self.value(&at("classes"), t.classes.len(), "at most 7 sizes, for 8 classes");
        }
        if t.classes.windows(2).any(|w| w[0] >= w[1]) {
            self.conflict(&at("classes"), "sizes out of order: expected increasing sizes, one for each class", None);
        }
        self.common(key, t.control_latency, t.control_loss, t.compute_time, t.report_every);
        self.span(&at("clock_error"), t.clock_error, LONGEST_DELAY);
        self.span(&at("phase"), t.phase, LONGEST_DELAY);
        if let Some(ahead) = t.ahead {
            self.span(&at("ahead"), ahead, LONGEST_DELAY);
            let of_plan = [t.compute_time, t.control_latency, t.clock_error].into_iter().all(usable);
            let Some(fabric) = built(&s.fabric).filter(|_| of_plan) else { return };
            let least = t.least_ahead(&fabric, mtu(s)).to_three_digits();
            if ahead < least {
                let delivery = (least - t.compute_time - t.clock_error).to_three_digits();
                let allowed = format!(
                    "at least {least}: computation ({}), delivery ({delivery}) and clock errors ({})",
                    t.compute_time, t.clock_error
                );
                self.value(&at("ahead"), ahead, &allowed);
            }
        }
        self.grants_fit(key, t, s);
        self.no_single(key, s);
    }

    /// Rejects packets of any size, as one that is longer than its slot never leaves.
    pub(super) fn no_single(&mut self, key: &str, s: &Scenario) {
        if matches!(&s.workload, Workload::Poisson(p) if p.packets == PacketMix::Single) {
            let help = "omit `workload.poisson.packets` or the plan";
            self.conflict(key, "packets `single` with slots: expected a network without slots", Some(help));
        }
    }

    fn rates(&mut self, key: &str, r: &RatesSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.unit_links(key, &s.fabric);
        self.span(&at("every"), r.every, LONGEST_DELAY);
        self.probability(&at("threshold"), r.threshold);
        self.count(&at("depth"), r.depth, 1, 65_536);
        self.common(key, r.control_latency, r.control_loss, r.compute_time, r.report_every);
        match r.estimator {
            RateEstimator::Backlogged => {}
            RateEstimator::Horizon(time) => self.positive_span(&at("estimator.horizon"), time, LONGEST_DELAY),
            RateEstimator::Arrivals(time) => self.positive_span(&at("estimator.arrivals"), time, LONGEST_DELAY),
        }
    }

    /// Checks the keys that all plans of timeslots and rates have.
    fn common(&mut self, key: &str, latency: Duration, loss: f64, compute_time: Duration, report_every: Duration) {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("control_latency"), latency, LONGEST_DELAY);
        self.probability(&at("control_loss"), loss);
        self.span(&at("compute_time"), compute_time, LONGEST_DELAY);
        self.positive_span(&at("report_every"), report_every, LONGEST_DELAY);
        if Duration::ZERO < report_every && report_every / 4 < latency {
            let message = format!("hosts repeat reports every {report_every}, before a reply can arrive");
            self.warn(&at("report_every"), message);
        }
    }
}
