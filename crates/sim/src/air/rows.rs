//! What air links were over time, as rows of the table `air`.
//!
//! It asks the medium, handovers and flyways for their histories at the end of a run.

use crate::air::flyways::links::{Does, FlywayLinks};
use crate::air::handover::access::{Handovers, Use};
use crate::air::links::AirLinks;
use crate::air::medium::{Access, AirLink, Carried, Quality, Way};
use crate::engine::time::SimTime;
use crate::network::wires::Wires;
use timeplane_radio::Mcs;
use timeplane_results::AirRow;

/// What a link is from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    at: SimTime,
    /// The node at its receiving end.
    to: Option<u32>,
    state: &'static str,
    mcs: Option<Mcs>,
    rate_bps: u64,
    /// The share of packets that is lost, in a million, where it is known before they are sent.
    lost_ppm: Option<u32>,
}

/// One row for each change of each link until `end`, in the order of links. Links of flyways that
/// never had another end have none.
pub(crate) fn rows(
    air: &AirLinks,
    wires: &Wires,
    handovers: Option<&Handovers>,
    flyways: Option<&FlywayLinks>,
    end: SimTime,
) -> Vec<AirRow> {
    let mut rows = Vec::new();
    for ((link, &number), air_link) in air.medium.links().iter().zip(&air.numbers).zip(0..) {
        let (from, to) = wires.ends_of(number);
        let mut states = match (flyways, link.way()) {
            (Some(flyways), _) => pointed(flyways, air_link),
            (None, Way::Coded(mcs)) => {
                // Frames of planned links are not received by their SINR.
                let lost_ppm = (air.medium.access() == Access::Planned).then_some(0);
                let (mcs, rate_bps) = (Some(*mcs), mcs.rate().as_bps());
                vec![State { at: SimTime::ZERO, to: Some(to), state: "used", mcs, rate_bps, lost_ppm }]
            }
            (None, Way::LinkTrace(_)) => {
                traced(link, to, &handovers.map_or_else(Vec::new, |h| h.uses(air_link).collect()))
            }
        };
        states.retain(|s| s.at <= end);
        let until = states.iter().skip(1).map(|s| link.carried_until(s.at)).chain([link.carried()]);
        let mut before = Carried::default();
        for (s, until) in states.iter().zip(until) {
            rows.push(AirRow {
                time_ps: s.at.as_ps(),
                link: number,
                from,
                to: s.to,
                state: s.state,
                mcs: s.mcs.and_then(|m| m.name().parse().ok()),
                rate_bps: s.rate_bps,
                lost_ppm: s.lost_ppm,
                airtime_ps: (until.airtime - before.airtime).as_ps(),
                carried_bytes: until.bytes - before.bytes,
            });
            before = until;
        }
    }
    rows
}

/// A link of a rack's radio, which a controller points.
fn pointed(flyways: &FlywayLinks, air_link: u32) -> Vec<State> {
    let down = State { at: SimTime::ZERO, to: None, state: "down", mcs: None, rate_bps: 0, lost_ppm: None };
    let mut states = vec![down];
    for change in flyways.history().iter().filter(|c| c.link == air_link) {
        let (state, other) = match change.does {
            Does::Nothing => ("down", None),
            Does::Points(peer, mcs) => ("pointing", Some((peer, mcs))),
            Does::Sends(peer, mcs) => ("used", Some((peer, mcs))),
        };
        let next = State {
            at: change.at,
            to: other.map(|o| flyways.switch(o.0)),
            state,
            mcs: other.map(|o| o.1),
            rate_bps: other.filter(|_| state == "used").map_or(0, |o| o.1.rate().as_bps()),
            lost_ppm: None,
        };
        // Several changes at one instant are one.
        states.pop_if(|s| s.at == next.at);
        if states.last().is_none_or(|s| State { at: next.at, ..*s } != next) {
            states.push(next);
        }
    }
    if states.len() == 1 && states[0] == down {
        states.clear();
    }
    states
}

/// A link with a trace, and what it is to its device.
fn traced(link: &AirLink, to: u32, uses: &[(SimTime, Use)]) -> Vec<State> {
    let trace = link.trace();
    let mut times: Vec<SimTime> = trace.iter().map(|s| s.0).chain(uses.iter().map(|u| u.0)).collect();
    times.sort_unstable();
    times.dedup();
    let (mut states, mut last) = (Vec::new(), None);
    for at in times {
        let Some((_, quality)) = trace[..trace.partition_point(|s| s.0 <= at)].last() else { continue };
        let state = match uses[..uses.partition_point(|u| u.0 <= at)].last() {
            Some((_, Use::Unused)) => "unused",
            Some((_, Use::Awaited)) => "handover",
            _ if quality.is_none() => "outage",
            _ => "used",
        };
        let now = (state, quality.map(Quality::shown));
        if last != Some(now) {
            last = Some(now);
            states.push(State {
                at,
                to: Some(to),
                state,
                mcs: quality.map(|q| q.mcs),
                rate_bps: quality.map_or(0, |q| q.rate.as_bps()),
                lost_ppm: Some(quality.map_or(1_000_000, |q| (q.packet_error * 1e6) as u32)),
            });
        }
    }
    states
}
