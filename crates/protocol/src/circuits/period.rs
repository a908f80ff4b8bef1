//! The circuits of a period: configurations that count on the rates that their circuits have.
//! Circuits are planned twice where the rates depend on which pairs have them.

use super::CircuitController;
use super::packets::PacketRates;
use std::collections::BTreeMap;
use timeplane_model::{Backlog, BacklogEntry, Bytes, CoflowBacklog, Demand, Duration, HostId, Rate};
use timeplane_schedule::circuits::{CircuitError, Configuration, Uptime, uptimes};

/// Circuits of a period.
pub(super) struct Period {
    pub plan: Vec<Configuration>,
    pub ups: Vec<Uptime>,
    /// By host, the rates of its circuits beside its packets: to send, and to receive.
    pub limits: [Vec<Rate>; 2],
}

impl Period {
    /// The rate of a circuit beside packets.
    pub fn rate(&self, up: &Uptime) -> Rate {
        self.limits[0][up.source.index()].min(self.limits[1][up.destination.index()])
    }
}

/// The demand whose bytes take as long at `planned` as the real ones at the rates of `slow`
/// circuits, or as the whole window.
fn stretched(demand: &Demand, planned: Rate, window: Duration, slow: &BTreeMap<(HostId, HostId), Rate>) -> Demand {
    let most = planned.bytes_in(window);
    let mut longer = Demand::none(demand.hosts());
    for (source, row) in (0..).map(HostId).zip(demand.rows()) {
        let stretch = |to: HostId, bytes: Bytes| {
            let Some(rate) = slow.get(&(source, to)) else { return bytes };
            let all = u128::from(bytes.get()) * u128::from(planned.as_bps()) / u128::from(rate.as_bps().max(1));
            Bytes::new(u64::try_from(all).unwrap_or(u64::MAX)).min(bytes.max(most))
        };
        let entries = row.entries().iter().map(|e| BacklogEntry { bytes: stretch(e.destination, e.bytes), ..*e });
        let parts = row.coflows().iter().map(|c| CoflowBacklog { bytes: stretch(c.destination, c.bytes), ..*c });
        longer.set_row(source, Backlog::new(entries.collect()).with_coflows(parts.collect()));
    }
    longer
}

impl CircuitController {
    /// Computes the period's circuits, and sets the rates of packets beside them.
    ///
    /// With `unreported` below 1, circuits are as slow as the requests that they leave to packets
    /// make them. The first attempt decides which ones these are. The second one counts on the
    /// rates that its circuits have.
    pub(super) fn schedule(&mut self, demand: &Demand, packets: &mut PacketRates) -> Result<Period, CircuitError> {
        let planned = self.config.circuits.circuit;
        let crowded = self.counters.crowded;
        let first = self.attempt(demand, demand, packets)?;
        if self.config.unreported >= 1.0 || self.scheduler.is_oblivious() {
            return Ok(first);
        }
        let rates = first.ups.iter().map(|up| ((up.source, up.destination), first.rate(up)));
        let slow: BTreeMap<_, _> = rates.filter(|(_, rate)| *rate < planned).collect();
        if slow.is_empty() {
            return Ok(first);
        }
        self.counters.crowded = crowded;
        let longer = stretched(demand, planned, self.config.circuits.window, &slow);
        self.attempt(demand, &longer, packets)
    }

    /// Schedules circuits for the demand `asked`. All of `demand` without a circuit uses packets.
    fn attempt(&mut self, demand: &Demand, asked: &Demand, packets: &mut PacketRates) -> Result<Period, CircuitError> {
        let plan = self.scheduler.plan(asked, &self.config.parameters(), self.standing.as_ref())?;
        let plan = self.fit(demand, plan);
        let plan = self.extend(plan);
        // Circuits to hosts that are cut off may stand, because taking them down would darken all.
        // They are not used.
        let mut ups = uptimes(&plan, &self.config.circuits, self.standing.as_ref());
        ups.retain(|up| self.has_circuits(up.source) && self.has_circuits(up.destination));
        self.set_packet_rates(packets, demand, &ups);
        Ok(Period { plan, ups, limits: self.limits(packets) })
    }
}
