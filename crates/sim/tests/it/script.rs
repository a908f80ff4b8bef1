//! A plan that is written down before the run: a controller that grants the same gates again and
//! again, whatever hosts report.

use crate::reference::{Gate, Kind};
use std::sync::Arc;
use timeplane_assembly::{AssemblyError, ClockTerms, DemandSource, PlanAgents, PlanTerms, QueueWatch, Role, Start};
use timeplane_model::{Bytes, Class, Duration, Fabric, Grant, HostId, Medium, Round, Time, Trigger};
use timeplane_protocol::{Address, Agent, Grants, Input, Message, Output, Rates, Reporting};
use timeplane_scenario::{ControlSpec, SignalSpec};
use timeplane_schedule::Algorithms;
use timeplane_sim::control::Controllers;
use timeplane_workload::Streams;

/// Gates, the latency of messages and the period of slots, in ps.
pub struct Script {
    pub fabric: Arc<Fabric>,
    pub gates: Vec<Gate>,
    pub latency: i64,
    pub period: i64,
}

impl Script {
    /// The agents of the plan.
    pub fn controllers(&self, streams: &Streams) -> Controllers {
        Controllers::new(self, &Algorithms::built_in(), streams).expect("a plan without algorithms")
    }
}

impl PlanAgents for Script {
    fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    fn terms(&self) -> PlanTerms {
        let control_latency = Duration::from_ps(self.latency);
        PlanTerms {
            control_latency,
            control: ControlSpec::Unlimited,
            peer_latency: control_latency,
            control_loss: 0.0,
            clocks: ClockTerms::default(),
            fallback: Duration::from_us(300),
            reporting: Reporting { on_change: true, ..Reporting::default() },
            signal_classes: None,
            least_classes: 0,
            signals: SignalSpec::default(),
            planners: 1,
            relays: None,
            slot_slack: None,
            opens_early: false,
            shares_links: false,
            demand: DemandSource::Queues,
            watch: QueueWatch::Everything,
            grants: None,
        }
    }

    fn controller(&self, _: Role, _: Start, _: &Algorithms) -> Result<Box<dyn Agent + Send>, AssemblyError> {
        let Self { ref gates, period, .. } = *self;
        Ok(Box::new(Controller { hosts: self.fabric.hosts(), gates: gates.clone(), period, round: 0, next: Some(0) }))
    }
}

struct Controller {
    hosts: u32,
    gates: Vec<Gate>,
    period: i64,
    round: u64,
    /// When it speaks next.
    next: Option<i64>,
}

impl Controller {
    /// The slots of a host that begin in the next period.
    fn grants(&self, host: u32, begin: i64) -> Message {
        let end = Time::from_ps(begin + 2 * self.period);
        let mut grants: Vec<_> = self.gates.iter().filter(|g| g.host == host).filter_map(|g| self.grant(g)).collect();
        grants.sort_by_key(|g| g.0);
        let grants = grants.into_iter().map(|g| g.1).collect();
        let effective = Time::from_ps(begin + self.period);
        Message::Grants(Grants { epoch: 0, round: Round(self.round), effective, grants, report_at: end })
    }

    fn grant(&self, gate: &Gate) -> Option<(i64, Grant)> {
        let Kind::Slots { from, open, packets, bytes, .. } = gate.kind else { return None };
        let start = from + self.round as i64 * self.period;
        let end = Time::from_ps(start + open);
        let grant = Grant {
            destination: HostId(gate.destination),
            class: Class(0),
            medium: Medium::Fabric,
            rate: None,
            bytes: Some(Bytes::new(bytes)),
            packets: Some(packets),
            start: Trigger::At(Time::from_ps(start)),
            end: Trigger::At(end),
            lease: end,
        };
        Some((start, grant))
    }

    /// The rates of a host, for good.
    fn rates(&self, host: u32) -> Option<Message> {
        let gates = self.gates.iter().filter(|g| g.host == host);
        let rate = |gate: &Gate| match gate.kind {
            Kind::Rate(_, rate) => Some((HostId(gate.destination), Class(0), rate)),
            Kind::Slots { .. } => None,
        };
        let rates: Vec<_> = gates.filter_map(rate).collect();
        let lease = Time::ZERO + Duration::from_secs(3_600);
        (!rates.is_empty()).then_some(Message::Rates(Rates { epoch: 0, round: Round(0), lease, rates }))
    }
}

impl Agent for Controller {
    fn deadline(&self) -> Option<Time> {
        self.next.map(Time::from_ps)
    }

    fn handle(&mut self, now: Time, _: Input, out: &mut Vec<Output>) {
        let Some(next) = self.next.filter(|&next| next <= now.as_ps()) else { return };
        let by_slots = self.gates.iter().any(|g| matches!(g.kind, Kind::Slots { .. }));
        for host in 0..self.hosts {
            let message = if by_slots { Some(self.grants(host, next)) } else { self.rates(host) };
            out.extend(message.map(|message| Output::Send { to: Address::Host(HostId(host)), message }));
        }
        self.round += 1;
        self.next = by_slots.then_some(next + self.period);
    }
}
