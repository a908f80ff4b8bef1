//! Measures of a circuit schedule: what it carries, when it finishes, and lower bounds on that.
//!
//! Demand is treated as a fluid: packets and later arrivals are not modeled.

use super::lines::Lines;
use super::{CircuitError, CircuitParameters, Configuration, uptimes};
use timeplane_model::{Bytes, Demand, Duration, Matching, Rate};

/// Results of a plan for a demand, with both taken as fluids and no further arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Bytes of the demand.
    pub demand: Bytes,
    /// Bytes that circuits carry.
    pub served: Bytes,
    /// Bytes that are left to the packet switch.
    pub left: Bytes,
    /// Bytes of `left` whose pair has a circuit in the plan. REACToR never opens such a queue to
    /// the packet switch in the same period (NSDI 2014, section 3.2). There, these bytes wait for
    /// the next period and `finish` does not apply.
    pub waiting: Bytes,
    /// When the last byte arrives, if the packet switch carries its part from the start of the plan
    /// on, limited by its ports only. `None` if bytes are left and there is no packet switch, or if
    /// it takes more than 106 days.
    pub finish: Option<Duration>,
    /// When the last circuit has carried its last byte.
    pub circuits_end: Duration,
    /// Lower bound on the finish of any schedule: [`bound`].
    pub bound: Duration,
    /// Number of configurations.
    pub configurations: usize,
    /// Sum of all dark times. Under [`Retune::Moved`](super::Retune::Moved) only some ports are
    /// dark then.
    pub dark: Duration,
    /// Sum of all dark and open times.
    pub length: Duration,
}

impl Evaluation {
    /// The share of bytes that circuits carry; 1 where there is no demand.
    pub fn share(&self) -> f64 {
        if self.demand == Bytes::ZERO { 1.0 } else { self.served.get() as f64 / self.demand.get() as f64 }
    }
    /// The finish time as a multiple of its lower bound; 1 without demand, `None` if the demand
    /// never finishes.
    pub fn over_bound(&self) -> Option<f64> {
        let finish = self.finish?;
        Some(if self.bound == Duration::ZERO { 1.0 } else { finish.as_secs_f64() / self.bound.as_secs_f64() })
    }
}

/// Lower bound on when the last byte of a demand arrives, for any schedule and without dark time:
/// the longest row or column sum over the combined rate of a circuit and the packet switch. If a
/// port carries less than that rate, [`port_bound`] is tighter.
///
/// # Errors
/// Fails if the circuit rate is zero, or if the demand is too large to plan.
pub fn bound(demand: &Demand, parameters: &CircuitParameters) -> Result<Duration, CircuitError> {
    if parameters.circuit == Rate::ZERO {
        return Err(CircuitError::NoRate);
    }
    let both = parameters.circuit.as_bps().saturating_add(parameters.packet.as_bps());
    port_bound(demand, Rate::bps(both))
}

/// Lower bound like [`bound`], for circuit and packet traffic that share a port: the longest row or
/// column sum over the port's rate. In REACToR a port carries 100 Gb/s, not 110 (NSDI 2014, section
/// 3.3).
///
/// # Errors
/// Fails if the rate is zero, or if the demand is too large to plan.
pub fn port_bound(demand: &Demand, port: Rate) -> Result<Duration, CircuitError> {
    if port == Rate::ZERO {
        return Err(CircuitError::NoRate);
    }
    // Checks the size. Sums of bytes are rounded once, not for each pair.
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

/// Evaluates a plan. The plan need not obey the window, the least open time or the limit on
/// configurations: see [`CircuitParameters::check_plan`].
///
/// # Errors
/// Fails if the parameters are impossible, if the demand is too large, or if demand, plan and
/// standing matching have different sizes.
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
            // A byte that is half carried counts as left. As times are rounded up, so is the rest.
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
