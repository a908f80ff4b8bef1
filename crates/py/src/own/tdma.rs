//! TDMA schedulers written in Python: a demand matrix becomes the matchings of a round and their
//! durations.

use super::{Callable, Own, demand_matrix, invalid, matchings_and_durations, opens, serves};
use pyo3::prelude::*;
use timeplane_model::{Class, Demand, Duration, Fabric, HostId, Matching, Plan, ScheduleEntry, Slot, Transmission};
use timeplane_schedule::{OwnError, Registry, Scheduler, Standing};

/// Slot parameters of the scenario; the constructor of a scheduler class gets them.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct SlotParameters(timeplane_schedule::SlotParameters);

#[pymethods]
impl SlotParameters {
    /// Time for which the gates of a slot are open, in seconds.
    #[getter]
    fn slot(&self) -> f64 {
        self.0.open.as_secs_f64()
    }
    /// Time between the end of a slot and the start of the next, in seconds.
    #[getter]
    fn guard(&self) -> f64 {
        self.0.guard.as_secs_f64()
    }
    /// Maximum number of slots in a round.
    #[getter]
    fn round_slots(&self) -> u32 {
        self.0.slots
    }
    /// Size of the largest frame in wire bytes. Frames are not cut, so a smaller grant may be of no
    /// use.
    #[getter]
    fn frame_bytes(&self) -> u64 {
        self.0.frame.get()
    }
    fn __repr__(&self) -> String {
        let (slot, guard, slots, frame) = (self.slot(), self.guard(), self.round_slots(), self.frame_bytes());
        format!("SlotParameters(slot={slot}, guard={guard}, round_slots={slots}, frame_bytes={frame})")
    }
}

pub(super) fn register(
    all: &mut Registry<timeplane_schedule::SlotParameters, Box<dyn Scheduler>>,
    name: &str,
    own: Own,
) {
    all.register(name, move |&parameters, values| {
        let call = own.make(SlotParameters(parameters), values)?;
        Ok(Box::new(PythonScheduler { parameters, call, failure: None }))
    });
}

struct PythonScheduler {
    parameters: timeplane_schedule::SlotParameters,
    call: Callable,
    failure: Option<OwnError>,
}

impl PythonScheduler {
    fn entries(&mut self, demand: &Demand, fabric: &Fabric) -> Result<Vec<ScheduleEntry>, OwnError> {
        let parameters = &self.parameters;
        let (matchings, opens) = self.call.ask(|call| {
            let answer = call.call1((demand_matrix(call.py(), demand),))?;
            let (matchings, durations) = matchings_and_durations(&answer, demand.hosts() as usize, "slot")?;
            if matchings.len() > parameters.slots as usize {
                let (found, most) = (matchings.len(), parameters.slots);
                return Err(invalid(format!("{found} slots, but a round has at most {most} (round_slots)")));
            }
            let opens = opens(&durations, matchings.len(), Some(parameters.open))?;
            Ok((matchings, opens))
        })?;
        let serves = matchings.iter().any(|matching| serves(matching, demand));
        self.call.count(!serves && !demand.is_empty(), demand.total())?;
        let entry = |(k, (matching, open)): (usize, (Matching, Duration))| {
            let transmissions = matching.pairs().map(|(s, d)| transmission(fabric, s, d)).collect();
            let slot = Slot::new(transmissions, open, fabric).map_err(|e| invalid(format!("slot {k}: {e}")))?;
            Ok(ScheduleEntry { slot, guard: parameters.guard })
        };
        self.call.ask(|_| matchings.into_iter().zip(opens).enumerate().map(entry).collect())
    }
}

impl Scheduler for PythonScheduler {
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, _: &Standing) -> Plan {
        // One failure is enough.
        if self.failure.is_some() {
            return Plan::Slots(Vec::new());
        }
        Plan::Slots(self.entries(demand, fabric).unwrap_or_else(|failure| {
            self.failure = Some(failure);
            Vec::new()
        }))
    }

    fn failure(&self) -> Option<OwnError> {
        self.failure.clone()
    }
}

/// A transmission at the rate of the slowest link that it crosses for certain.
fn transmission(fabric: &Fabric, source: HostId, destination: HostId) -> Transmission {
    let line = fabric.link(fabric.uplink(source)).spec.rate;
    let path = if fabric.is_single_path(source, destination) {
        fabric.path(source, destination, 0)
    } else {
        vec![fabric.uplink(source), fabric.downlink(destination)]
    };
    let slowest = path.into_iter().map(|l| fabric.link(l).spec.rate).min().unwrap_or(line);
    let rate = (slowest < line).then_some(slowest);
    Transmission { source, destination, class: Class(0), path: None, rate, bytes: None }
}
