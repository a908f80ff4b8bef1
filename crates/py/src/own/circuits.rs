//! Circuit schedulers written in Python: a demand matrix becomes matchings of a circuit switch and
//! their open times.

use super::{Callable, Own, demand_matrix, invalid, matchings_and_durations, opens, serves};
use numpy::PyArray1;
use pyo3::prelude::*;
use timeplane_model::{Demand, Matching};
use timeplane_schedule::Registry;
use timeplane_schedule::circuits::{CircuitError, CircuitScheduler, Configuration, Retune};

/// Properties of both switches and limits of a plan; the constructor of a circuit scheduler class
/// gets them.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct CircuitParameters(timeplane_schedule::circuits::CircuitParameters);

#[pymethods]
impl CircuitParameters {
    /// Rate of a circuit in bit/s.
    #[getter]
    fn circuit(&self) -> u64 {
        self.0.circuit.as_bps()
    }
    /// Rate in bit/s at which a host sends and receives through the packet switch; 0 if there is
    /// none.
    #[getter]
    fn packet(&self) -> u64 {
        self.0.packet.as_bps()
    }
    /// Dark time of a reconfiguration in seconds.
    #[getter]
    fn dark(&self) -> f64 {
        self.0.dark.as_secs_f64()
    }
    /// Whether only the moved ports go dark, not all.
    #[getter]
    fn moved_only(&self) -> bool {
        self.0.retune == Retune::Moved
    }
    /// Minimum open time in seconds.
    #[getter]
    fn least_open(&self) -> f64 {
        self.0.least_open.as_secs_f64()
    }
    /// Upper limit on the sum of all dark and open times of a plan, in seconds.
    #[getter]
    fn window(&self) -> f64 {
        self.0.window.as_secs_f64()
    }
    /// Maximum number of configurations in a plan; `None` if only the window limits them.
    #[getter]
    fn most(&self) -> Option<u32> {
        Some(self.0.most).filter(|&most| most < u32::MAX)
    }
    fn __repr__(&self) -> String {
        format!(
            "CircuitParameters(circuit={}, packet={}, dark={}, moved_only={}, least_open={}, window={}, most={})",
            self.circuit(),
            self.packet(),
            self.dark(),
            if self.moved_only() { "True" } else { "False" },
            self.least_open(),
            self.window(),
            self.most().map_or_else(|| "None".to_owned(), |most| most.to_string()),
        )
    }
}

pub(super) fn register(
    all: &mut Registry<timeplane_schedule::circuits::CircuitParameters, Box<dyn CircuitScheduler>>,
    name: &str,
    own: Own,
) {
    all.register(name, move |&parameters, values| {
        let call = own.make(CircuitParameters(parameters), values)?;
        let is_oblivious = call.flag("oblivious")?;
        Ok(Box::new(PythonCircuits { call, is_oblivious }))
    });
}

struct PythonCircuits {
    call: Callable,
    is_oblivious: bool,
}

impl CircuitScheduler for PythonCircuits {
    fn is_oblivious(&self) -> bool {
        self.is_oblivious
    }

    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &timeplane_schedule::circuits::CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        parameters.check()?;
        let plan = self.call.ask(|call| {
            let py = call.py();
            let number = |host: &Option<timeplane_model::HostId>| host.map_or(-1, |host| i64::from(host.0));
            let standing_row = standing.map(|s| PyArray1::from_iter(py, s.outputs().iter().map(number)));
            let answer = call.call1((demand_matrix(py, demand), standing_row))?;
            let (matchings, durations) = matchings_and_durations(&answer, demand.hosts() as usize, "configuration")?;
            let opens = opens(&durations, matchings.len(), None)?;
            let plan = parameters.configurations(matchings.into_iter().zip(opens), standing);
            parameters.check_plan(demand.hosts(), &plan, standing).map_err(invalid)?;
            Ok(plan)
        })?;
        let serves = plan.iter().any(|configuration| serves(&configuration.matching, demand));
        // A packet switch carries what circuits leave.
        let is_idle = !serves && !demand.is_empty() && parameters.packet.as_bps() == 0;
        self.call.count(is_idle, demand.total())?;
        Ok(plan)
    }
}
