//! Agents of `plan.timeslots`: a controller that gives each packet a timeslot and a path.
//!
//! A timeslot is as long as a frame of the MTU takes on a host's link, unless the specification
//! says otherwise.

use crate::{AssemblyError, ClockTerms, GrantRecord, PlanAgents, PlanTerms, QueueWatch, Role, Site, Start};
use std::sync::Arc;
use timeplane_model::{Bytes, Fabric, HostId, Time};
use timeplane_protocol::{Agent, TimeslotController, TimeslotControllerConfig};
use timeplane_scenario::TimeslotsSpec;
use timeplane_schedule::{Algorithm, Algorithms, Order, TimeslotParameters};

pub(crate) struct Timeslots {
    pub spec: TimeslotsSpec,
    pub site: Site,
}

impl Timeslots {
    fn config(&self) -> TimeslotControllerConfig {
        let (spec, fabric) = (&self.spec, &self.site.fabric);
        let link = &fabric.link(fabric.uplink(HostId(0))).spec;
        let frame = Bytes::new(u64::from(link.framing.wire(self.site.mtu)));
        let slot = spec.slot.unwrap_or_else(|| link.rate.time_for(frame));
        TimeslotControllerConfig {
            epoch: 0,
            start: Time::ZERO,
            slot,
            slot_bytes: link.rate.bytes_in(slot),
            fill: spec.fill,
            coloring: spec.coloring,
            batch: spec.batch,
            ahead: spec.ahead.unwrap_or_else(|| spec.least_ahead(fabric, self.site.mtu)),
            compute_time: spec.compute_time,
            fallback: spec.report_every,
        }
    }
}

impl PlanAgents for Timeslots {
    fn fabric(&self) -> &Arc<Fabric> {
        &self.site.fabric
    }

    fn terms(&self) -> PlanTerms {
        let config = self.config();
        PlanTerms {
            control_loss: self.spec.control_loss,
            clocks: ClockTerms { error: self.spec.clock_error, phase: self.spec.phase, ..ClockTerms::default() },
            reporting: config.reporting(),
            watch: QueueWatch::Arrivals,
            grants: Some(GrantRecord::Timeslots(config.slot)),
            ..PlanTerms::new(self.spec.control, self.spec.control_latency, config.fallback)
        }
    }

    fn controller(
        &self,
        _: Role,
        start: Start,
        algorithms: &Algorithms,
    ) -> Result<Box<dyn Agent + Send>, AssemblyError> {
        let config = self.config();
        // Grants of an earlier start reach this far.
        let reach = config.ahead + config.slot * (i64::from(config.batch) + 1);
        let at = if start.after_restart { start.at + reach } else { start.at };
        let config = TimeslotControllerConfig { epoch: start.epoch, start: at, ..config };
        let order = match &self.spec.metric {
            Algorithm::BuiltIn(metric) => (*metric).into(),
            Algorithm::Own(own) => {
                let slots = TimeslotParameters { slot: config.slot, bytes: config.slot_bytes, batch: config.batch };
                let made = algorithms.orders.build(own, &slots);
                Order::Own(made.map_err(AssemblyError::own("plan.timeslots.metric"))?)
            }
        };
        Ok(Box::new(TimeslotController::new(config, order, &self.site.fabric)?))
    }
}
