//! Timeslots: a packet leaves at a time that the controller names by its clock.
//!
//! Without `fq` or `etf` in the kernel, the agent's thread sends each packet at its time: it sleeps
//! until shortly before, and spins for the rest. Answers over the demand channel tell how the
//! controller's clock differs, and bound the error. The agent makes each timeslot shorter by this
//! error at both ends, and by a frame's time at its end. The kernel's gate is open for the rest
//! alone, so a packet is on the host's link within its timeslot, or does not leave.

use super::clocks::Offset;
use super::{LiveAgent, wire_bytes};
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Backlog, Burst, Bytes, Class, Duration, HostId, Rate, Time, Trigger};
use timeplane_protocol::{BacklogReport, Detail, Grants};

/// Length of the longest frame, with Ethernet's header.
const LONGEST_FRAME: usize = 1514;
/// How long the thread spins before a timeslot. Real-time threads wake within this time, unless the
/// machine is busy.
pub(super) const SPIN: Duration = Duration::from_us(50);

/// Grants of timeslots by the host's clock, each shorter by the error at both ends and by the time
/// of the longest frame at its end.
fn by_host(grants: &mut Grants, offset: Offset, rate: Rate) {
    let (ahead, error) = (Duration::from_ns(offset.ahead), Duration::from_ns(offset.error as i64));
    let frame = rate.time_for(Bytes::new(wire_bytes(LONGEST_FRAME)));
    let here = |time: Time| if time == Time::MAX { time } else { time.saturating_add(ahead) };
    grants.effective = here(grants.effective);
    grants.report_at = here(grants.report_at);
    for grant in &mut grants.grants {
        if let Trigger::At(start) = &mut grant.start {
            *start = here(*start).saturating_add(error);
        }
        let ends = |time: Time| here(time).saturating_add((frame + error) * -1);
        if let Trigger::At(end) = &mut grant.end {
            *end = ends(*end);
        }
        grant.lease = ends(grant.lease);
    }
}

/// A report with times of the controller's clock.
fn by_controller(report: &mut BacklogReport, offset: Offset) {
    let behind = Duration::from_ns(offset.ahead) * -1;
    report.taken_at = report.taken_at.saturating_add(behind);
    for burst in &mut report.backlog.bursts {
        burst.arrived = burst.arrived.saturating_add(behind);
    }
}

/// The backlog as the controller wants it. An agent knows no flows: the packets for a destination
/// are one burst, in as few frames as possible.
pub(super) fn backlog(now: Time, detail: Detail, waiting: Vec<(HostId, Bytes)>) -> Backlog {
    if detail != Detail::Bursts {
        return Backlog::of_bytes(waiting);
    }
    let burst = |(destination, bytes): (HostId, Bytes)| {
        let packets = bytes.get().div_ceil(wire_bytes(LONGEST_FRAME));
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        Burst { destination, class: Class(0), arrived: now, packets, bytes }
    };
    Backlog::of_bursts(waiting.into_iter().map(burst).collect())
}

impl LiveAgent {
    /// Whether the plan consists of timeslots.
    pub(super) fn has_timeslots(&self) -> bool {
        self.welcome.as_ref().is_some_and(|w| w.timeslots)
    }

    /// Puts grants of a controller into the host's clock, if they are timeslots. Returns whether
    /// they can be used: nothing can be sent by a clock that is not known yet.
    pub(super) fn takes_grants(&self, controller: usize, grants: &mut Grants) -> bool {
        let Some(welcome) = self.welcome.as_ref().filter(|w| w.timeslots) else { return true };
        let Some(offset) = self.clocks.offset(controller) else {
            self.counters.timeslots_unclocked.fetch_add(grants.grants.len() as u64, Relaxed);
            return false;
        };
        self.counters.clock_error_ns.store(offset.error, Relaxed);
        by_host(grants, offset, Rate::bps(welcome.rate_bps));
        true
    }

    /// Puts a report into a controller's clock, if the plan consists of timeslots. `None` if that
    /// clock is not known yet; the next report comes soon.
    pub(super) fn report_for(&self, controller: usize, mut report: BacklogReport) -> Option<BacklogReport> {
        if self.has_timeslots() {
            by_controller(&mut report, self.clocks.offset(controller)?);
        }
        Some(report)
    }

    /// The start of the next timeslot, for which the thread spins.
    pub(super) fn next_timeslot(&self) -> Option<Time> {
        self.agent.as_ref().and_then(|agent| agent.next_grant()).filter(|_| self.has_timeslots())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Grant, Medium, Round};

    const US: Duration = Duration::from_us(1);

    fn at(us: i64) -> Time {
        Time::ZERO + US * us
    }

    #[test]
    fn a_timeslot_is_shorter_by_the_error_of_the_clock_and_a_frame() {
        let grant = Grant {
            destination: HostId(1),
            class: Class(0),
            medium: Medium::Fabric,
            rate: None,
            bytes: None,
            packets: Some(1),
            start: Trigger::At(at(10_000)),
            end: Trigger::At(at(11_000)),
            lease: at(11_000),
        };
        let mut grants =
            Grants { epoch: 1, round: Round(1), effective: at(10_000), grants: vec![grant], report_at: Time::MAX };
        // A frame of 1538 B at 100 Mb/s takes 123.04 us.
        by_host(&mut grants, Offset { ahead: 5_000_000, error: 100_000 }, Rate::mbps(100));
        let end = at(16_000).saturating_add(Duration::from_ns(-223_040));
        assert_eq!((grants.effective, grants.report_at), (at(15_000), Time::MAX));
        assert_eq!((grants.grants[0].start, grants.grants[0].end), (Trigger::At(at(15_100)), Trigger::At(end)));
        assert_eq!(grants.grants[0].lease, end);
    }

    #[test]
    fn a_report_counts_packets_and_has_the_time_of_its_controller() {
        let waiting = vec![(HostId(1), Bytes::new(1538)), (HostId(4), Bytes::new(1539))];
        let bytes = backlog(at(9), Detail::Destinations, waiting.clone());
        assert!(bytes.bursts.is_empty() && bytes.entries().len() == 2);
        let backlog = backlog(at(9), Detail::Bursts, waiting);
        let mut report = BacklogReport { epoch: 1, sequence: 1, taken_at: at(10), obeys: 0, heard: 0, backlog };
        by_controller(&mut report, Offset { ahead: -1_000, error: 7 });
        let bursts: Vec<_> = report.backlog.bursts.iter().map(|b| (b.destination.0, b.packets, b.arrived)).collect();
        assert_eq!((bursts, report.taken_at), (vec![(1, 1, at(10)), (4, 2, at(10))], at(11)));
    }
}
