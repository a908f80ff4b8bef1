//! The trace of a link's rate over time, from a room or a file.
//!
//! A trace is computed before the run. It does not depend on the traffic.

use super::AirError;
use crate::air::medium::Quality;
use crate::engine::time::SimTime;
use rand_xoshiro::rand_core::Rng;
use std::path::Path;
use std::sync::Arc;
use timeplane_model::{Duration, Rate};
use timeplane_protocol::LinkSample;
use timeplane_radio::{BeamTrace, Dbm, ErrorTables, LinkState, LinkTrace, Mcs, RateBySignal, Walk};
use timeplane_scenario::{InOutage, LinkTraceSpec};
use timeplane_workload::Streams;

/// The length of a link trace in a run without an end; it then repeats.
const UNBOUNDED: Duration = Duration::from_secs(60);

/// Reads the matrices of a file.
///
/// # Errors
///
/// If the file cannot be read or is invalid.
#[expect(clippy::disallowed_methods, reason = "it reads a file")]
pub fn read_beams(file: &str, base: &Path) -> Result<BeamTrace, AirError> {
    let path = base.join(file);
    let text = std::fs::read_to_string(&path).map_err(|source| AirError::File { file: path, source })?;
    Ok(BeamTrace::parse(file, &text)?)
}

/// A link trace in the forms that the medium and the access point need.
pub(super) struct Followed {
    pub states: Vec<(SimTime, Option<Quality>)>,
    pub samples: Vec<(SimTime, LinkSample)>,
    /// The rates that some level selects.
    pub rates: Vec<Rate>,
    /// How error rates follow from levels.
    pub errors: Arc<RateBySignal>,
}

/// The states of a link, from the start of the run to its end.
pub(super) fn follow(
    link: usize,
    spec: &LinkTraceSpec,
    base: &Path,
    length: Option<Duration>,
    streams: &Streams,
) -> Result<Followed, AirError> {
    let endless = length.is_none();
    let length = length.unwrap_or(UNBOUNDED);
    let trace = match (&spec.beams, spec.testbed()) {
        (_, Some(testbed)) => {
            let walk = if spec.varied { vary(testbed.walk, link, streams) } else { testbed.walk };
            testbed.walked(walk).trace(length).map_err(|source| AirError::Matrix { link, source })?
        }
        (file, None) => read_beams(file.as_deref().unwrap_or_default(), base)?,
    };
    let parameters = spec.parameters();
    let rates = RateBySignal::new(ErrorTables::bundled(), parameters, Mcs::single_carrier());
    // A trace from a file repeats if it is shorter than the run. A walk is as long as the run.
    let trace = LinkTrace::repeating(&trace, &rates, spec.rules(), length);
    let trace = trace.map_err(|source| AirError::LinkTrace { link, source })?;
    let quality = |level: Dbm, l: LinkState| Quality {
        level,
        mcs: l.mcs,
        rate: l.rate,
        packet_error: l.packet_error,
        packet: spec.packet.get() as u32,
    };
    // The rate at which an access point sends during an outage, if it does.
    let slowest = rates.ladder().next().filter(|_| spec.in_outage == InOutage::Lose);
    let into_outage = slowest.map(|(mcs, _)| LinkState { mcs, rate: parameters.rate(mcs), packet_error: 1.0 });
    let (mut states, mut samples) = (Vec::new(), Vec::new());
    for state in trace.states() {
        let at = SimTime::ZERO + state.at;
        states.push((at, state.link.or(into_outage).map(|l| quality(state.level, l))));
        samples.push((at, LinkSample::from(state)));
    }
    if endless && samples.iter().all(|s| s.1.uses.is_none()) {
        return Err(AirError::NoRate { link });
    }
    let ladder = rates.ladder().map(|(mcs, _)| parameters.rate(mcs)).collect();
    Ok(Followed { states, samples, rates: ladder, errors: Arc::new(rates) })
}

/// Another walk: its speed and start vary by a tenth, its crossing by a tenth of the line.
fn vary(walk: Walk, link: usize, streams: &Streams) -> Walk {
    let mut stream = streams.fast("air link", link as u64, "walk");
    let mut within = || ((stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 0.2;
    Walk {
        speed: walk.speed * (1.0 + within()),
        before: walk.before * (1.0 + within()),
        along: walk.along + within(),
        ..walk
    }
}
