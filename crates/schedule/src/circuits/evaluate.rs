//! How good a plan is.

use super::lines::Lines;
use super::{CircuitError, CircuitParameters, Configuration, uptimes};
use timeplane_model::{Bytes, Demand, Duration, Matching, Rate};

/// What a plan does for a demand, if both are taken as fluids and nothing else arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// All bytes asked for.
    pub demand: Bytes,
    /// Those that circuits carry.
    pub served: Bytes,
    /// Those that are left to the packet switch.
    pub left: Bytes,
    /// Those of `left` whose pair has a circuit in the plan. In REACToR such a queue is never opened to the packet switch in the
    /// same period (NSDI 2014, section 3.2): they wait for the next one, and `finish` does not hold.
    pub waiting: Bytes,
    /// The end of the last byte, with the packet switch at work on what is left to it from the begin of the plan on; its ports are its
    /// only limit. `None` where something is left and there is no packet switch, or it takes more than 106 days.
    pub finish: Option<Duration>,
    /// When the last circuit has carried its last byte.
    pub circuits_end: Duration,
    /// No schedule finishes earlier: [`bound`].
    pub bound: Duration,
    /// How many configurations there are.
    pub configurations: usize,
    /// All dark times. Under [`Retune::Moved`](super::Retune::Moved) only some ports are dark then.
    pub dark: Duration,
    /// All dark and open times.
    pub length: Duration,
}

impl Evaluation {
    /// The share of bytes that circuits carry; 1 where there is no demand.
    pub fn share(&self) -> f64 {
        if self.demand == Bytes::ZERO { 1.0 } else { self.served.get() as f64 / self.demand.get() as f64 }
    }
    /// The time to finish as a multiple of its lower bound; 1 where there is no demand, `None` where it never finishes.
    pub fn over_bound(&self) -> Option<f64> {
        let finish = self.finish?;
        Some(if self.bound == Duration::ZERO { 1.0 } else { finish.as_secs_f64() / self.bound.as_secs_f64() })
    }
}

/// When the last byte of a demand is through at the earliest, whatever the schedule and without any dark time: the longest sum of a
/// row or column over the rate of a circuit and the packet switch together. Where a port carries less than that, [`port_bound`] is
/// the tighter one.
///
/// # Errors
/// Without a circuit rate, or where the demand is too large to plan.
pub fn bound(demand: &Demand, parameters: &CircuitParameters) -> Result<Duration, CircuitError> {
    if parameters.circuit == Rate::ZERO {
        return Err(CircuitError::NoRate);
    }
    let both = parameters.circuit.as_bps().saturating_add(parameters.packet.as_bps());
    port_bound(demand, Rate::bps(both))
}

/// The same where circuit and packet traffic share a port of a rate: the longest sum of a row or column over it. In REACToR a port
/// carries 100 Gb/s, not 110 (NSDI 2014, section 3.3).
///
/// # Errors
/// At rate zero, or where the demand is too large to plan.
pub fn port_bound(demand: &Demand, port: Rate) -> Result<Duration, CircuitError> {
    if port == Rate::ZERO {
        return Err(CircuitError::NoRate);
    }
    // Checks the size; sums of bytes are rounded once, not pair by pair.
    let lines = Lines::at(demand, port)?;
    let mut bytes = vec![Bytes::ZERO; 2 * lines.ports];
    for (i, row) in demand.rows().iter().enumerate() {
        for entry in row.entries() {
            bytes[i] += entry.bytes;
            bytes[lines.ports + entry.destination.index()] += entry.bytes;
        }
    }
    Ok(port.time_for(bytes.into_iter().max().unwrap_or_default()))
}

/// Follows a plan. The plan need not keep to window, least open time and number of configurations: see
/// [`CircuitParameters::check_plan`].
///
/// # Errors
/// Where the parameters are impossible, the demand is too large, or demand, plan and standing matching are not of one size.
pub fn evaluate(
    demand: &Demand,
    parameters: &CircuitParameters,
    standing: Option<&Matching>,
    plan: &[Configuration],
) -> Result<Evaluation, CircuitError> {
    let mut waits = Lines::of(demand, parameters, standing)?;
    for configuration in plan {
        let found = configuration.matching.outputs().len() as u32;
        if found != demand.hosts() {
            return Err(CircuitError::Hosts { what: "a matching of the plan", found, hosts: demand.hosts() });
        }
    }
    let length: i128 = plan.iter().map(|c| i128::from(c.dark.as_ps()) + i128::from(c.open.as_ps())).sum();
    if i64::try_from(length).is_err() {
        return Err(CircuitError::TooLong { found: Duration::MAX, window: parameters.window });
    }
    let mut circuits_end = Duration::ZERO;
    for up in uptimes(plan, parameters, standing) {
        let (i, j) = (up.source.index(), up.destination.index());
        let open = (up.end - up.begin).as_ps() as u64;
        let time = open.min(waits.at_pair(i, j));
        if time > 0 {
            waits.take(i, j, time);
            circuits_end = circuits_end.max(up.begin + Duration::from_ps(time as i64));
        }
    }
    let n = waits.ports;
    let mut has_circuit = vec![false; n * n];
    for (i, j) in plan.iter().flat_map(|c| c.matching.pairs()) {
        has_circuit[i.index() * n + j.index()] = true;
    }
    let mut waiting = Bytes::ZERO;
    let (mut rows, mut columns) = (vec![Bytes::ZERO; n], vec![Bytes::ZERO; n]);
    let mut left = Bytes::ZERO;
    for (i, row) in demand.rows().iter().enumerate() {
        for entry in row.entries() {
            let j = entry.destination.index();
            let time = Duration::from_ps(waits.at_pair(i, j) as i64);
            // A byte that is half carried is left. As times are rounded up, so is what is left.
            let bytes = parameters.circuit.bytes_in(time).min(entry.bytes);
            let bytes = if parameters.circuit.time_for(bytes) < time { bytes + Bytes::new(1) } else { bytes };
            let bytes = bytes.min(entry.bytes);
            rows[i] += bytes;
            columns[j] += bytes;
            left += bytes;
            if has_circuit[i * n + j] {
                waiting += bytes;
            }
        }
    }
    let busiest = rows.into_iter().chain(columns).max().unwrap_or_default();
    let by_packets = match parameters.packet {
        _ if busiest == Bytes::ZERO => Some(Duration::ZERO),
        Rate::ZERO => None,
        rate => {
            let time = (u128::from(busiest.get()) * 8_000_000_000_000).div_ceil(u128::from(rate.as_bps()));
            i64::try_from(time).ok().map(Duration::from_ps)
        }
    };
    Ok(Evaluation {
        demand: demand.total(),
        served: demand.total().saturating_sub(left),
        left,
        waiting,
        finish: by_packets.map(|t| t.max(circuits_end)),
        circuits_end,
        bound: bound(demand, parameters)?,
        configurations: plan.len(),
        dark: plan.iter().fold(Duration::ZERO, |sum, c| sum + c.dark),
        length: plan.iter().fold(Duration::ZERO, |sum, c| sum + c.length()),
    })
}
