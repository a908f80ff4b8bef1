//! The circuit switch of a controller whose plan has circuits.
//!
//! A [`Tuner`] sets it; the switch itself belongs to another process.

use super::Plan;
use super::{ControllerCounters, ControllerError};
use crate::tuner::Tuner;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::Matching;

/// Opens the switch of a plan of circuits; plans without circuits need none.
pub(super) fn tuner(plan: &dyn Plan, folder: Option<&Path>) -> Result<Option<Tuner>, ControllerError> {
    if plan.most_dark().is_none() {
        return Ok(None);
    }
    let folder = folder.ok_or_else(|| ControllerError::NoCircuits { scheme: plan.scheme().to_owned() })?;
    let tuner = Tuner::open(folder)?;
    let (ports, hosts) = (tuner.ports()?, plan.fabric().hosts());
    if ports != hosts as usize {
        return Err(ControllerError::Ports { ports, hosts });
    }
    Ok(Some(tuner))
}

/// Sets the switch.
pub(super) fn retune(tuner: &mut Option<Tuner>, matching: &Matching, counters: &ControllerCounters) {
    let Some(tuner) = tuner else { return };
    match tuner.connect(matching) {
        Ok(_) => counters.retunes.fetch_add(1, Relaxed),
        Err(e) => {
            tracing::error!("cannot set the circuit switch: {e}");
            counters.retunes_failed.fetch_add(1, Relaxed)
        }
    };
}
