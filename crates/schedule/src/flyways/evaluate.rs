//! The completion time of a flyway plan, computed from its definition.
//!
//! The planner reports this time, not its own estimate.

use super::{Duplex, FlywayError, Link, Route, Traffic, Wired};
use std::collections::BTreeMap;
use timeplane_model::{Duration, Rate};

/// A place that carries traffic in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Sending hosts of a rack.
    HostsSend(usize),
    /// Receiving hosts of a rack.
    HostsReceive(usize),
    /// Wire from a rack up.
    Uplink(usize),
    /// Wire down to a rack.
    Downlink(usize),
    /// Wire from an aggregation switch up.
    ToCore(usize),
    /// Wire down to an aggregation switch.
    FromCore(usize),
    /// A link, by its index in the plan: towards `b`, or both directions of a half-duplex link.
    Link(usize),
    /// A full-duplex link towards `a`, by its index in the plan.
    LinkBack(usize),
}

/// Results of a set of links and shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Completion time of demands (CTD).
    pub ctd: Duration,
    /// The place that takes longest; `None` without traffic.
    pub busiest: Option<Place>,
    /// Bytes carried by each place.
    pub bytes: BTreeMap<Place, f64>,
}

/// Converts seconds to a duration, rounded up to a picosecond and limited to the longest duration.
pub(super) fn rounded_up(seconds: f64) -> Duration {
    // Ignores the last digits, which are rounding errors of the sum.
    Duration::from_ps((seconds * 1e12 * (1.0 - 1e-14)).ceil() as i64)
}

/// Computes how long traffic takes as fluids. Everything flows at once, over links as `routes` says
/// and over wires for the rest. It ends when the slowest place has carried its bytes. A link starts
/// after its setup time.
///
/// # Errors
/// Fails if a share or a route is invalid, or if tree and traffic have different sizes.
pub fn evaluate(
    traffic: &Traffic,
    wired: &Wired,
    links: &[(Link, Duration)],
    routes: &[Route],
) -> Result<Evaluation, FlywayError> {
    wired.check(traffic)?;
    let by_pair = routes_by_pair(wired, links, routes)?;
    let bytes = bytes_by_place(traffic, wired, links, &by_pair)?;
    let mut busiest: Option<(Duration, Place)> = None;
    for (&place, &bytes) in &bytes {
        let time = transmission_time(wired, links, place, bytes);
        if busiest.is_none_or(|(most, _)| time > most) {
            busiest = Some((time, place));
        }
    }
    let ctd = busiest.map_or(Duration::ZERO, |(time, _)| time);
    Ok(Evaluation { ctd, busiest: busiest.map(|(_, place)| place), bytes })
}

/// Routes by the racks of their traffic, source and destination.
type RoutesByPair<'a> = BTreeMap<(usize, usize), Vec<&'a Route>>;

/// Checks each route's share and link, and groups routes by the pair of racks that they serve.
fn routes_by_pair<'a>(
    wired: &Wired,
    links: &[(Link, Duration)],
    routes: &'a [Route],
) -> Result<RoutesByPair<'a>, FlywayError> {
    let mut by_pair = RoutesByPair::new();
    for route in routes {
        let Route { from, to, link, share } = *route;
        if !(share > 0.0 && share <= 1.0) {
            return Err(FlywayError::Share { from, to, found: share });
        }
        let of = by_pair.entry((from, to)).or_default();
        let ends = links.get(link).is_some_and(|(l, _)| l.other(from).is_some() || l.other(to).is_some());
        if from == to || from >= wired.racks || to >= wired.racks || !ends || of.iter().any(|r| r.link == link) {
            return Err(FlywayError::Route { from, to, link });
        }
        of.push(route);
    }
    Ok(by_pair)
}

/// The bytes that each place carries. What a pair's routes leave over goes by wire.
fn bytes_by_place(
    traffic: &Traffic,
    wired: &Wired,
    links: &[(Link, Duration)],
    by_pair: &RoutesByPair<'_>,
) -> Result<BTreeMap<Place, f64>, FlywayError> {
    let mut sums: BTreeMap<Place, f64> = BTreeMap::new();
    let mut carry = |place, bytes: f64| *sums.entry(place).or_default() += bytes;
    for (from, to, bytes) in traffic.pairs() {
        let bytes = bytes.get() as f64;
        carry(Place::HostsSend(from), bytes);
        carry(Place::HostsReceive(to), bytes);
        let mut by_wire = |from: usize, to: usize, bytes: f64| {
            carry(Place::Uplink(from), bytes);
            let (here, there) = (wired.aggregation(from), wired.aggregation(to));
            if here != there {
                carry(Place::ToCore(here), bytes);
                carry(Place::FromCore(there), bytes);
            }
            carry(Place::Downlink(to), bytes);
        };
        let routes = by_pair.get(&(from, to)).map_or(&[][..], Vec::as_slice);
        let total: f64 = routes.iter().map(|r| r.share).sum();
        if total > 1.0 + 1e-9 {
            return Err(FlywayError::Share { from, to, found: total });
        }
        let rest = bytes * (1.0 - total);
        if rest > 1e-9 * bytes {
            by_wire(from, to, rest);
        }
        let mut starts = Vec::new();
        for route in routes {
            let link = &links[route.link].0;
            let start = match (link.other(from), link.other(to)) {
                (Some(end), _) => {
                    if end != to {
                        by_wire(end, to, bytes * route.share);
                    }
                    from
                }
                (None, Some(start)) => {
                    by_wire(from, start, bytes * route.share);
                    start
                }
                (None, None) => unreachable!("a route was checked"),
            };
            starts.push((route.link, start, bytes * route.share));
        }
        for (link, start, bytes) in starts {
            let of = &links[link].0;
            let back = of.duplex == Duplex::Full && start == of.b;
            carry(if back { Place::LinkBack(link) } else { Place::Link(link) }, bytes);
        }
    }
    Ok(sums)
}

/// The time that a place takes to carry these bytes, setup included.
fn transmission_time(wired: &Wired, links: &[(Link, Duration)], place: Place, bytes: f64) -> Duration {
    let (rate, setup) = match place {
        Place::HostsSend(_) | Place::HostsReceive(_) => (wired.hosts, Duration::ZERO),
        Place::Uplink(_) | Place::Downlink(_) => (wired.uplink, Duration::ZERO),
        Place::ToCore(_) | Place::FromCore(_) => (wired.core.map_or(Rate::ZERO, |c| c.rate), Duration::ZERO),
        Place::Link(l) | Place::LinkBack(l) => (links[l].0.rate, links[l].1),
    };
    rounded_up(8.0 * bytes / rate.as_bps() as f64) + setup
}
