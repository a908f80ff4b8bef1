//! Hosts that use their timeslots in step.
//!
//! Where clocks are right and no message is lost, each host starts a timeslot in the same instant.
//! The grants of a batch then stay one list from the controller to the interfaces: a slot is one
//! event, at which each of its hosts sends a packet. No message is in flight as an object, and no
//! agent is called for it. What a host's agent has heard is worked out when somebody asks.
//!
//! This changes no result. A host that cannot send at once gets an ordinary opening of its gate.

use super::agents::Agents;
use super::channel::Channel;
use crate::engine::time::SimTime;
use crate::network::Network;
use std::collections::VecDeque;
use timeplane_assembly::{DemandSource, GrantRecord, PlanTerms};
use timeplane_model::{Duration, Medium, Round};
use timeplane_protocol::{GrantBatch, Opening, Timeslot};

/// Whether the hosts of a plan act in step, as far as the plan decides that.
pub fn is_possible(terms: &PlanTerms) -> bool {
    let clocks = terms.clocks;
    matches!(terms.grants, Some(GrantRecord::Timeslots(_)))
        && (clocks.error, clocks.phase, clocks.drift_ppm) == (Duration::ZERO, Duration::ZERO, 0.0)
        && clocks.resync.is_none()
        && terms.control_loss == 0.0
        && terms.control.in_band().is_none()
        && terms.demand == DemandSource::Queues
        && !terms.reporting.after_grants
        && !terms.shares_links
        && terms.slot_slack.is_none()
        && terms.planners == 1
        && terms.relays.is_none()
}

/// A message of grants to a host.
#[derive(Debug)]
struct Told {
    /// When it arrives. `None` if that depends on the ports.
    arrives: Option<SimTime>,
    /// When it would have arrived without ports.
    soonest: SimTime,
    round: (u32, Round),
    /// When the first slot of its batch starts.
    effective: SimTime,
    timeslots: u32,
}

/// What a host has heard and will hear.
#[derive(Debug, Default)]
struct Host {
    /// Messages that it has not heard of, first to last.
    told: VecDeque<Told>,
    /// The newest batch that it has heard of.
    heard: Round,
    /// Batches of which it has heard too late.
    late: Vec<Round>,
}

/// A slot, and who uses it.
#[derive(Debug)]
pub struct Slot {
    pub start: SimTime,
    pub until: SimTime,
    /// The batch that it belongs to.
    round: Round,
    pub uses: Vec<Timeslot>,
}

impl Slot {
    /// What the gate of a host does when the slot starts.
    pub fn opening(&self, timeslot: &Timeslot) -> Opening {
        let Timeslot { destination, class, path, .. } = *timeslot;
        Opening {
            destination,
            class,
            medium: path.map_or(Medium::Fabric, Medium::Path),
            rate: None,
            bytes: None,
            packets: Some(1),
            from: self.start.on_perfect_clock(),
            until: self.until.on_perfect_clock(),
        }
    }
}

/// The timeslots of all hosts.
#[derive(Debug)]
pub struct InStep {
    /// The controller's number.
    controller: u32,
    /// One way between controller and hosts.
    latency: Duration,
    hosts: Vec<Host>,
    /// In the order of starts.
    slots: VecDeque<Slot>,
    /// The wire bytes of a message with so many timeslots; 0 where it is not known yet.
    bytes: Vec<u32>,
    /// Whether a host has heard of a batch too late.
    some_late: bool,
    /// Lists to use again.
    spare: Vec<Vec<Timeslot>>,
}

impl InStep {
    pub fn new(hosts: u32, latency: Duration) -> Self {
        Self {
            controller: hosts,
            latency,
            hosts: (0..hosts).map(|_| Host::default()).collect(),
            slots: VecDeque::new(),
            bytes: Vec::new(),
            some_late: false,
            spare: Vec::new(),
        }
    }

    /// When the next slot starts.
    pub fn next_start(&self) -> Option<SimTime> {
        self.slots.front().map(|slot| slot.start)
    }

    /// Sends the messages of a batch.
    pub fn send(&mut self, at: SimTime, batch: &GrantBatch, channel: &mut Channel, network: &mut Network) {
        let effective = SimTime::from_ps(batch.effective.as_ps());
        let (mut messages, mut sum) = (0, 0);
        for of in batch.by_host() {
            let host = of[0].host;
            let bytes = self.wire_bytes(batch, of);
            messages += 1;
            sum += u64::from(bytes);
            let soonest = at + self.latency;
            let arrives = match &mut network.ports {
                None => Some(soonest),
                Some(ports) => {
                    let at_port = ports.leave(at, self.controller, bytes) + self.latency;
                    ports.expect(host.0, at_port, bytes);
                    None
                }
            };
            let round = (batch.epoch, batch.round);
            let told = Told { arrives, soonest, round, effective, timeslots: of.len() as u32 };
            self.hosts[host.index()].told.push_back(told);
        }
        channel.count_grants(self.controller, messages, sum);
        // Nobody hears of a slot in the past in time.
        if effective >= at {
            self.keep(batch);
        }
    }

    /// Wire bytes of a message. Those of short batches depend on the number of timeslots alone.
    fn wire_bytes(&mut self, batch: &GrantBatch, timeslots: &[Timeslot]) -> u32 {
        let is_long =
            (batch.start(timeslots[timeslots.len() - 1].index + 1) - batch.effective).as_ps() > u32::MAX.into();
        if is_long {
            return batch.message(timeslots).wire_bytes();
        }
        if self.bytes.len() <= timeslots.len() {
            self.bytes.resize(timeslots.len() + 1, 0);
        }
        let bytes = &mut self.bytes[timeslots.len()];
        if *bytes == 0 {
            *bytes = batch.message(timeslots).wire_bytes();
        }
        *bytes
    }

    /// Puts the timeslots of a batch into their slots.
    fn keep(&mut self, batch: &GrantBatch) {
        let Some(last) = batch.timeslots.iter().map(|t| t.index).max() else { return };
        let first = self.slots.len();
        for index in 0..=last {
            let start = SimTime::from_ps(batch.start(index).as_ps());
            let uses = self.spare.pop().unwrap_or_default();
            self.slots.push_back(Slot { start, until: start + batch.slot, round: batch.round, uses });
        }
        for timeslot in &batch.timeslots {
            self.slots[first + timeslot.index as usize].uses.push(*timeslot);
        }
    }

    /// Lets a host's agent hear of what has arrived by `until`.
    #[inline]
    pub fn hear(
        &mut self,
        until: SimTime,
        host: u32,
        agents: &mut Agents,
        channel: &mut Channel,
        network: &mut Network,
    ) {
        let of = &mut self.hosts[host as usize];
        while let Some(next) = of.told.front() {
            let arrives = match (next.arrives, &mut network.ports) {
                (None, Some(ports)) => ports.take_expected(host, until),
                (arrives, _) => arrives.filter(|a| *a <= until),
            };
            let Some(arrives) = arrives else { return };
            let Told { soonest, round, effective, timeslots, .. } = *next;
            of.told.pop_front();
            channel.note_transfer(self.controller, arrives - soonest);
            of.heard = round.1;
            let agent = agents.host(host).expect("an agent of a host");
            let [arrives, effective] = [arrives, effective].map(SimTime::on_perfect_clock);
            if !agent.hear_timeslots(arrives, round, effective, timeslots) {
                channel.count_late(host);
                of.late.push(round.1);
                self.some_late = true;
            }
        }
    }

    /// Lets all agents hear of what has arrived by `until`, the end of the run. A message counts
    /// from when it comes to its port on, also if it is not through.
    pub fn hear_all(&mut self, until: SimTime, agents: &mut Agents, channel: &mut Channel, network: &mut Network) {
        for host in 0..self.hosts.len() as u32 {
            self.hear(until, host, agents, channel, network);
            if let Some(ports) = &mut network.ports {
                for (through, told) in ports.come(host, until).zip(&self.hosts[host as usize].told) {
                    channel.note_transfer(self.controller, through - told.soonest);
                }
            }
        }
    }

    /// Takes out the slot that starts at `at`.
    pub fn start(&mut self, at: SimTime) -> Option<Slot> {
        if self.next_start() == Some(at) { self.slots.pop_front() } else { None }
    }

    /// Whether a host knows in time of its timeslot, after it has [heard](Self::hear) of all that
    /// has arrived.
    #[inline]
    pub fn knows(&self, host: u32, slot: &Slot) -> bool {
        let of = &self.hosts[host as usize];
        of.heard >= slot.round && (of.late.is_empty() || !of.late.contains(&slot.round))
    }

    /// Takes back a slot that has started.
    pub fn started(&mut self, mut slot: Slot) {
        if self.some_late {
            self.hosts.iter_mut().for_each(|host| host.late.retain(|round| *round >= slot.round));
        }
        slot.uses.clear();
        self.spare.push(slot.uses);
    }
}
