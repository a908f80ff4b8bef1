//! When the circuits of a plan are up, and whether the plan obeys the rules.
//!
//! The rules are the window, the least open time, the dark time and the limit on configurations.

use super::lines::{NONE, check_hosts};
use super::{CircuitError, CircuitParameters, Configuration, Retune};
use timeplane_model::{Duration, HostId, Matching};

/// An interval in which a circuit carries without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uptime {
    /// The sending host.
    pub source: HostId,
    /// The receiving host.
    pub destination: HostId,
    /// Start of the interval, from the start of the plan.
    pub begin: Duration,
    /// End of the interval, from the start of the plan.
    pub end: Duration,
}

/// The intervals in which each circuit of a plan carries, sorted by start and source. Empty
/// intervals are left out.
///
/// Under [`Retune::AllStop`] a circuit carries during the open times of its configurations;
/// consecutive open times without dark time form one interval. Under [`Retune::Moved`] it carries
/// as long as it stays in the matching, from [`CircuitParameters::dark`] after it first appears, or
/// from the start if it is standing.
pub fn uptimes(plan: &[Configuration], parameters: &CircuitParameters, standing: Option<&Matching>) -> Vec<Uptime> {
    let mut all = Vec::new();
    follow(plan, parameters, standing, |up, _| {
        if up.end > up.begin {
            all.push(up);
        }
    });
    all.sort_by_key(|u| (u.begin, u.source));
    all
}

/// The circuit of a sender.
#[derive(Clone, Copy)]
struct Circuit {
    output: u32,
    begin: Duration,
    /// The configuration in which the circuit first appears; `None` if it was standing.
    since: Option<usize>,
}

/// A saturating sum: plans from other sources may contain any times.
fn later(time: Duration, by: Duration) -> Duration {
    Duration::from_ps(time.as_ps().saturating_add(by.as_ps()))
}

/// Calls `tell` for each circuit when it ends, with the configuration in which it appeared. The end
/// of a circuit that never comes up is at or before its start.
fn follow(
    plan: &[Configuration],
    parameters: &CircuitParameters,
    standing: Option<&Matching>,
    mut tell: impl FnMut(Uptime, Option<usize>),
) {
    let none = Circuit { output: NONE, begin: Duration::ZERO, since: None };
    let hosts = plan.iter().map(|c| c.matching.outputs().len()).chain(standing.map(|s| s.outputs().len())).max();
    let mut up = vec![none; hosts.unwrap_or(0)];
    for (i, j) in standing.into_iter().flat_map(Matching::pairs) {
        up[i.index()].output = j.0;
    }
    let mut now = Duration::ZERO;
    let mut end = |i: usize, circuit: Circuit, end: Duration| {
        if circuit.output != NONE {
            let (source, destination) = (HostId(i as u32), HostId(circuit.output));
            tell(Uptime { source, destination, begin: circuit.begin, end }, circuit.since);
        }
    };
    for (index, configuration) in plan.iter().enumerate() {
        let all_dark = parameters.retune == Retune::AllStop && configuration.dark > Duration::ZERO;
        for (i, circuit) in up.iter_mut().enumerate() {
            let output = configuration.matching.outputs().get(i).copied().flatten().map_or(NONE, |o| o.0);
            if all_dark || output != circuit.output {
                end(i, *circuit, now);
                let dark = match parameters.retune {
                    Retune::AllStop => configuration.dark,
                    Retune::Moved => parameters.dark,
                };
                *circuit = Circuit { output, begin: later(now, dark), since: Some(index) };
            }
        }
        now = later(later(now, configuration.dark), configuration.open);
    }
    if !plan.is_empty() {
        up.into_iter().enumerate().for_each(|(i, circuit)| end(i, circuit, now));
    }
}

/// Checks that a plan obeys all rules; see [`CircuitParameters::check_plan`].
pub(super) fn check(
    parameters: &CircuitParameters,
    hosts: u32,
    plan: &[Configuration],
    standing: Option<&Matching>,
) -> Result<(), CircuitError> {
    parameters.check()?;
    check_hosts(hosts, standing)?;
    if plan.len() as u64 > u64::from(parameters.most) {
        return Err(CircuitError::TooMany { found: plan.len(), most: parameters.most });
    }
    let mut before = standing;
    // The sum of adversarial times may overflow 64 bits.
    let mut length = 0i128;
    for (index, configuration) in plan.iter().enumerate() {
        let Configuration { matching, dark, open } = configuration;
        let found = matching.outputs().len() as u32;
        if found != hosts {
            return Err(CircuitError::Hosts { what: "a matching of the plan", found, hosts });
        }
        for (what, found) in [("dark time of a configuration", *dark), ("open time of a configuration", *open)] {
            if found.is_negative() {
                return Err(CircuitError::Negative { what, found });
            }
        }
        length += i128::from(dark.as_ps()) + i128::from(open.as_ps());
        if length > i128::from(parameters.window.as_ps()) {
            let found = Duration::from_ps(i64::try_from(length).unwrap_or(i64::MAX));
            return Err(CircuitError::TooLong { found, window: parameters.window });
        }
        let stays = before.is_some_and(|b| parameters.retune.keeps(b, matching));
        let too_fast = match parameters.retune {
            Retune::AllStop => !stays && *dark < parameters.dark,
            // A configuration may end while its circuits are still dark.
            Retune::Moved => !stays && *dark < parameters.dark && *open > Duration::ZERO,
        };
        if too_fast {
            return Err(CircuitError::TooFast { index, found: *dark, dark: parameters.dark });
        }
        let least_open = parameters.least_open;
        if parameters.retune == Retune::AllStop && (*open < least_open || *open == Duration::ZERO) {
            return Err(CircuitError::TooShort { index, open: *open, least_open });
        }
        before = Some(matching);
    }
    let mut short: Option<(usize, Duration)> = None;
    follow(plan, parameters, standing, |up, since| {
        let open = up.end - up.begin;
        // A standing circuit has been open before.
        if let Some(index) = since
            && (open < parameters.least_open || open <= Duration::ZERO)
            && short.is_none_or(|(first, _)| index < first)
        {
            short = Some((index, open));
        }
    });
    match short {
        Some((index, open)) => Err(CircuitError::TooShort { index, open, least_open: parameters.least_open }),
        None => Ok(()),
    }
}
