//! Agents of `plan.rates`: a controller that gives each pair with demand a rate.
//!
//! Hosts hold a rate for ten reporting intervals, and for the time that its successor takes to
//! reach them.

use crate::{AssemblyError, GrantRecord, PlanAgents, PlanTerms, QueueWatch, Role, Site, Start};
use std::sync::Arc;
use timeplane_model::Fabric;
use timeplane_protocol::{Agent, Message, RateController, RateControllerConfig};
use timeplane_scenario::{RateEstimator, RatesSpec};
use timeplane_schedule::{Algorithm, Algorithms, RateParameters, RateRule};

pub(crate) struct Rates {
    pub spec: RatesSpec,
    pub site: Site,
}

impl Rates {
    fn config(&self) -> RateControllerConfig {
        let spec = &self.spec;
        let rates = Message::most_of_rates(u64::from(self.site.fabric.hosts()));
        let way = spec.control_latency + spec.control.transfer(&self.site.fabric, self.site.mtu, rates);
        RateControllerConfig {
            epoch: 0,
            estimator: spec.estimator,
            every: spec.every,
            compute_time: spec.compute_time,
            lease: spec.report_every * 10 + way * 2 + spec.compute_time,
            threshold_ppm: (spec.threshold * 1e6) as u32,
            fallback: spec.report_every,
        }
    }
}

impl PlanAgents for Rates {
    fn fabric(&self) -> &Arc<Fabric> {
        &self.site.fabric
    }

    fn terms(&self) -> PlanTerms {
        let config = self.config();
        PlanTerms {
            control_loss: self.spec.control_loss,
            reporting: config.reporting(),
            watch: match self.spec.estimator {
                RateEstimator::Backlogged => QueueWatch::Transitions,
                RateEstimator::Horizon(_) | RateEstimator::Arrivals(_) => QueueWatch::Everything,
            },
            grants: Some(GrantRecord::Rates),
            ..PlanTerms::new(self.spec.control, self.spec.control_latency, config.fallback)
        }
    }

    fn controller(
        &self,
        _: Role,
        start: Start,
        algorithms: &Algorithms,
    ) -> Result<Box<dyn Agent + Send>, AssemblyError> {
        let config = RateControllerConfig { epoch: start.epoch, ..self.config() };
        let fabric = &self.site.fabric;
        let rule = match &self.spec.normalizer {
            Algorithm::BuiltIn(normalizer) => (*normalizer).into(),
            Algorithm::Own(own) => {
                let made = algorithms.rates.build(own, &RateParameters::of(fabric)?);
                RateRule::Own(made.map_err(AssemblyError::own("plan.rates.normalizer"))?)
            }
        };
        Ok(Box::new(RateController::new(config, rule, fabric)?))
    }
}
