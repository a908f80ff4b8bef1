//! Checks the algorithms of plans: the names of own ones, which a registry knows.
//!
//! Their constructors check their parameters.

use super::Checked;
use crate::error::Problem;
use crate::shape::one_of;
use crate::{Algorithms, PlanSpec};
use timeplane_model::nearest;
use timeplane_schedule::{OwnAlgorithm, Registry};

impl Checked {
    /// Checks the own algorithm of a plan, if it names one. `plan` is the plan's key.
    pub(super) fn own_algorithm(&mut self, plan: &str, spec: &PlanSpec, known: &Algorithms) {
        let Some((key, own)) = spec.own_algorithm() else { return };
        let key = format!("{plan}.{key}");
        match spec {
            PlanSpec::Tdma(_) => self.registered(&key, own, &known.tdma),
            PlanSpec::Timeslots(_) => self.registered(&key, own, &known.orders),
            PlanSpec::Rates(_) => self.registered(&key, own, &known.rates),
            PlanSpec::Circuits(_) => self.registered(&key, own, &known.circuits),
            PlanSpec::Flyways(_) => self.registered(&key, own, &known.flyways),
        }
    }

    pub(super) fn registered<P, A>(&mut self, key: &str, own: &OwnAlgorithm, known: &Registry<P, A>) {
        let name = &own.name;
        if known.factory(own).is_ok() {
            return;
        }
        let names: Vec<&str> = known.names().collect();
        if names.contains(&name.as_str()) {
            let message = format!("`{name}` with parameters: expected `\"{name}\"`, a built-in {}", known.kind());
            return self.conflict(key, &message, Some("keys of the plan tune built-in algorithms"));
        }
        let problem = Problem::UnknownName {
            what: known.kind(),
            found: name.clone(),
            nearest: nearest(name, names.iter().copied()),
            allowed: names.iter().map(|n| (*n).to_owned()).collect(),
        };
        let help = match names[..] {
            [] => format!("no program has registered a {}", known.kind()),
            _ => one_of("expected one of", &names),
        };
        self.error(key, problem, Some(&help));
    }
}
