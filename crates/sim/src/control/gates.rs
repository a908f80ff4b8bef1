//! Gates of hosts: when they open and close, how many bytes pass, and the rows of tables for them.
//!
//! A gate opens by the host's clock or by a signal. What passed it is booked to its slot, if the
//! controller announces slots, and to the record of grants, if the scenario asks for one.

use super::clocks::Clocks;
use super::nodes::Nodes;
use super::slots::{PlannedSlot, Slots};
use crate::circuit::switch::CIRCUIT;
use crate::engine::time::SimTime;
use crate::hosts::nic::{GateOpening, RateUpdate};
use crate::network::Network;
use crate::record::grants::Grants;
use std::collections::BTreeMap;
use timeplane_assembly::{GrantRecord, PlanTerms};
use timeplane_model::{Bytes, Duration, Fabric, HostId, Medium, Rate};
use timeplane_protocol::{Opening, RateChange};
use timeplane_results::Recorder;

/// How a gate was opened.
#[derive(Clone, Copy, Debug)]
pub enum Trigger {
    /// By the host's clock.
    Clock,
    /// By a signal.
    Signal {
        /// When a later signal closes the gate.
        closes: SimTime,
        /// How long after a slot's end a closing signal takes effect at the earliest.
        delay: Duration,
    },
}

/// The gates of all hosts.
pub struct Gates {
    /// See [`PlanTerms::slot_slack`].
    slack: Option<Duration>,
    /// See [`PlanTerms::opens_early`].
    opens_early: bool,
    /// See [`PlanTerms::shares_links`].
    shares_links: bool,
    slots: Slots,
    grants: Option<Grants>,
    /// The rate that slots of each host have.
    line: Vec<Rate>,
    /// Openings that have ended, kept to be used again.
    ended: Vec<GateOpening>,
}

impl Gates {
    pub fn new(fabric: &Fabric, terms: &PlanTerms) -> Self {
        Self {
            slack: terms.slot_slack,
            opens_early: terms.opens_early,
            shares_links: terms.shares_links,
            slots: Slots::default(),
            grants: None,
            line: (0..fabric.hosts()).map(|h| fabric.link(fabric.uplink(HostId(h))).spec.rate).collect(),
            ended: Vec::new(),
        }
    }

    pub fn record_grants(&mut self, record: GrantRecord) {
        self.grants = Some(match record {
            GrantRecord::Rates => Grants::Rates(BTreeMap::new()),
            GrantRecord::Timeslots(length) => Grants::Timeslots(length),
        });
    }

    /// Whether grants are written to tables.
    pub fn records_grants(&self) -> bool {
        self.grants.is_some()
    }

    pub fn plan(&mut self, slot: PlannedSlot) {
        self.slots.push(slot);
    }

    /// Opens a gate of a host.
    #[expect(clippy::too_many_arguments, reason = "the parts that an opening touches, each by itself")]
    pub fn open(
        &mut self,
        at: SimTime,
        host: u32,
        opening: &Opening,
        trigger: Trigger,
        clocks: &Clocks,
        nodes: &Nodes,
        network: &mut Network,
        recorder: &mut Recorder,
    ) {
        if matches!(trigger, Trigger::Signal { closes, .. } if closes <= at) {
            return;
        }
        let until = clocks.of(host).truth(opening.until);
        let gate = match trigger {
            Trigger::Clock => self.opening_of(at, until, host, opening, false),
            Trigger::Signal { closes, delay } => {
                let slot = self.slot_at(at, host, opening.destination);
                let opened = slot.map_or(at.on_perfect_clock(), |slot| slot.start);
                // The controller sends the closing signal at the slot's end.
                let end = slot.map_or(at, |slot| clocks.of(nodes.leader()).truth(slot.start + slot.open));
                let certain = end + delay;
                GateOpening { closes, certain, opened, ..self.opening_of(at, until, host, opening, true) }
            }
        };
        self.ended.clear();
        network.open(at, host, gate, &mut self.ended);
        self.count(host);
        if let Some(grants) = &mut self.grants {
            grants.opened(at, until, host, opening, recorder);
            grants.ended(host, self.line[host as usize], &self.ended, recorder);
        }
    }

    /// Replaces rates of a host's queues at once. `false` if each is an opening that tables record,
    /// or that ends with a slot.
    pub fn set_rates(
        &mut self,
        at: SimTime,
        host: u32,
        changes: &[RateChange],
        clocks: &Clocks,
        network: &mut Network,
    ) -> bool {
        if self.in_slot(false) || self.grants.is_some() || network.capture.is_some() {
            return false;
        }
        let clock = clocks.of(host);
        let update = |c: &RateChange| RateUpdate {
            queue: (c.destination.0, c.class.0),
            rate: c.rate,
            until: clock.truth(c.until),
        };
        network.pace(at, host, changes.iter().map(update));
        true
    }

    /// Whether an opening ends with a slot. A slot's rate carries no more in its time, except that
    /// its first packet leaves at once. Rates alongside circuits need no signal and hold until the
    /// next ones.
    fn in_slot(&self, by_signal: bool) -> bool {
        self.slack.is_some() && (by_signal || !self.opens_early)
    }

    fn opening_of(&self, at: SimTime, until: SimTime, host: u32, opening: &Opening, by_signal: bool) -> GateOpening {
        let in_slot = self.in_slot(by_signal);
        let rate = opening.rate.or(self.shares_links.then(|| self.line[host as usize]));
        let most = rate.filter(|_| in_slot).map_or(u64::MAX, |rate| rate.bytes_in(until - at).get());
        GateOpening {
            queue: (opening.destination.0, opening.class.0),
            from: at,
            until,
            closes: SimTime::MAX,
            certain: SimTime::MAX,
            by_signal,
            opened: opening.from,
            rate,
            paced: in_slot,
            most: opening.bytes.map_or(u64::MAX, Bytes::get).min(most),
            most_packets: opening.packets.unwrap_or(u32::MAX),
            path: match opening.medium {
                Medium::Path(tag) => tag.0 + 1,
                Medium::Link(_) => CIRCUIT,
                Medium::Fabric => 0,
            },
            sent: 0,
            eligible: at,
        }
    }

    /// The slot that a signal has opened: the last one of the pair.
    fn slot_at(&self, at: SimTime, source: u32, destination: HostId) -> Option<&PlannedSlot> {
        let now = at.on_perfect_clock();
        let latest = if self.opens_early { now + self.slack.unwrap_or_default() } else { now };
        self.slots.find(latest, source, destination)
    }

    /// Counts what a host sent through the gates that have just ended.
    fn count(&mut self, host: u32) {
        if self.slack.is_some() {
            self.slots.count(host, &self.ended);
        }
    }

    /// Writes the slots that are over at `at`, or all without a time.
    pub fn write_slots(&mut self, at: Option<SimTime>, network: &mut Network, recorder: &mut Recorder) {
        let Some(slack) = self.slack else { return };
        for host in 0..self.line.len() as u32 {
            self.ended.clear();
            network.expire(at.unwrap_or(SimTime::MAX), host, &mut self.ended);
            self.count(host);
        }
        self.slots.write(at, slack, &self.line, network.capture.as_deref_mut(), recorder);
    }

    /// Writes all slots and grants at the end of the run.
    pub fn close(&mut self, now: SimTime, network: &mut Network, recorder: &mut Recorder) {
        self.write_slots(None, network, recorder);
        if let Some(grants) = &mut self.grants {
            grants.close(now, recorder);
            for (host, line) in (0..).zip(&self.line) {
                self.ended.clear();
                network.expire(SimTime::MAX, host, &mut self.ended);
                grants.ended(host, *line, &self.ended, recorder);
            }
        }
    }
}
