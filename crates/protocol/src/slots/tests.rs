//! Rounds of the controller of slots, step by step.
//!
//! Each test drives one controller with inputs and looks at its outputs.

use super::*;
use timeplane_model::{Framing, LinkSpec, RateMatrix, Slot, Switch};
use timeplane_schedule::WeightedRoundRobin;

const US: Duration = Duration::from_us(1);
const PARAMETERS: SlotParameters =
    SlotParameters { open: Duration::from_us(300), guard: Duration::from_us(15), slots: 4, frame: Bytes::ZERO };

fn fabric() -> Arc<Fabric> {
    let link =
        LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    Arc::new(Fabric::single_switch(3, Switch::default(), link).unwrap())
}
fn controller(scheduler: Box<dyn Scheduler>) -> SlotController {
    SlotController::new(SlotControllerConfig::new(PARAMETERS), scheduler, fabric())
}
fn at(us: i64) -> Time {
    Time::ZERO + US * us
}
fn report(from: u32, sequence: u64, taken_at: Time, to: u32, bytes: u64) -> Input {
    let backlog = Backlog::of_bytes([(HostId(to), Bytes::new(bytes))]);
    let message =
        Message::Report(Box::new(BacklogReport { epoch: 0, sequence, taken_at, obeys: 0, heard: 0, backlog }));
    Input::Message { from: Address::Host(HostId(from)), message }
}
fn slots(out: &[Output]) -> Vec<u32> {
    let planned = |o: &Output| match o {
        Output::Log(Event::RoundPlanned { slots, .. }) => Some(*slots),
        _ => None,
    };
    out.iter().filter_map(planned).collect()
}

#[test]
fn a_round_is_planned_granted_and_not_planned_again() {
    let mut m = controller(Box::new(WeightedRoundRobin::new(PARAMETERS)));
    let mut out = vec![];
    // Six slots of bytes from host 0 to host 1.
    m.handle(at(10), report(0, 0, at(0), 1, 6 * 375_000), &mut out);
    assert_eq!((m.deadline(), out.len()), (Some(at(21)), 0));
    m.handle(at(21), Input::Due, &mut out);
    assert_eq!(slots(&out), [4]);
    // One message goes to each host after the compute time.
    assert_eq!(m.deadline(), Some(at(121)));
    out.clear();
    m.handle(at(121), Input::Due, &mut out);
    let sent: Vec<&Grants> = out
        .iter()
        .map(|o| match o {
            Output::Send { message: Message::Grants(g), .. } => g,
            other => panic!("{other:?}"),
        })
        .collect();
    // The round starts at 21 + 100 + 20 + 1 and lasts 4 x 315. The next one is planned a lead
    // before its end, from reports that have arrived by then.
    let begin = at(142);
    assert_eq!(sent.iter().map(|g| g.grants.len()).collect::<Vec<_>>(), [4, 0, 0]);
    assert!(sent.iter().all(|g| g.effective == begin && g.report_at == begin + US * (1260 - 121 - 21)));
    assert!(sent[0].grants.iter().all(|g| g.known_end() == Some(g.lease)));
    assert_eq!(m.deadline(), Some(begin + US * (1260 - 121)));
    // A report of that time, in the fourth slot. The rest of the slot is not planned again, so
    // two slots are left.
    let taken = begin + US * (3 * 315 + 150);
    out.clear();
    m.handle(taken + US, report(0, 1, taken, 1, 2 * 375_000 + 187_500), &mut out);
    m.handle(begin + US * (1260 - 121), Input::Due, &mut out);
    assert_eq!(slots(&out), [2]);
    // Without a new report, everything is granted already.
    out.clear();
    while slots(&out).is_empty() {
        m.handle(m.deadline().unwrap(), Input::Due, &mut out);
    }
    assert_eq!(slots(&out), [0]);
}

/// Reports of all hosts end the silence after a start, whatever is due. The next round waits until
/// the current one is computed, so the deadline is never a time that has passed.
#[test]
fn reports_end_the_silence_while_a_round_is_computed() {
    for (reported, compute) in [30, 119, 121, 140, 330].into_iter().flat_map(|r| [(r, 100), (r, 400)]) {
        let mut config = SlotControllerConfig { quiet: US * 100_000, ..SlotControllerConfig::new(PARAMETERS) };
        config.compute_time = US * compute;
        let mut m = SlotController::new(config, Box::new(WeightedRoundRobin::new(PARAMETERS)), fabric());
        let mut out = vec![];
        m.handle(at(21), Input::Due, &mut out);
        let mut now = 21;
        while slots(&out).iter().all(|&slots| slots == 0) {
            now += 1;
            if now == reported {
                (0..3).for_each(|h| m.handle(at(now), report(h, 0, at(now), (h + 1) % 3, 1_500), &mut out));
            }
            while let Some(due) = m.deadline().filter(|&due| due <= at(now)) {
                m.handle(at(now), Input::Due, &mut out);
                assert_ne!(m.deadline(), Some(due), "reported at {reported} us, due at {now} us and never done");
            }
            assert!(now < 2_000, "reported at {reported} us, and nothing is planned");
        }
        // What was open has ended a slot and a message later. A round starts a lead after its plan,
        // and is planned after the computation of the one before.
        let free = reported + 315 + 21;
        let soonest = free.max(reported + compute + 21);
        let starts = now + compute + 21;
        assert!(starts >= free, "reported at {reported} us, starts at {starts} us, before {free}");
        assert!(starts <= soonest + compute, "reported at {reported} us, starts at {starts} us");
        assert!(compute > 315 || starts == free, "reported at {reported} us, starts at {starts} us, not at {free}");
    }
}

#[test]
fn no_slot_lasts_beyond_a_change() {
    let mut m = controller(Box::new(WeightedRoundRobin::new(PARAMETERS)));
    let mut out = vec![];
    m.handle(at(1), report(0, 0, at(0), 1, 9 * 375_000), &mut out);
    // The first round starts at 142 us. Two slots and their guards fit before the change; a
    // third does not.
    let change = at(142 + 2 * 315 + 100);
    m.handle(at(2), Input::Rates(change, vec![(LinkId(2), Rate::gbps(1)), (LinkId(3), Rate::gbps(1))]), &mut out);
    m.handle(at(21), Input::Due, &mut out);
    assert_eq!(slots(&out), [2]);
    let grants = |out: &[Output]| {
        out.iter()
            .find_map(|o| match o {
                Output::Send { message: Message::Grants(g), .. } if !g.grants.is_empty() => Some(g.clone()),
                _ => None,
            })
            .unwrap()
    };
    m.handle(at(121), Input::Due, &mut out);
    assert_eq!((grants(&out).effective, grants(&out).grants[0].rate), (at(142), None));
    // The next round starts with the change, at the new rates.
    let mut next = vec![];
    while slots(&next).is_empty() || m.deadline().unwrap() < change {
        m.handle(m.deadline().unwrap(), Input::Due, &mut next);
    }
    assert_eq!((slots(&next)[0], grants(&next).effective), (4, change));
    assert!(grants(&next).grants.iter().all(|g| g.rate == Some(Rate::gbps(1))));
    // Rates of unknown links, and zero rates, are ignored.
    m.handle(change, Input::Rates(change, vec![(LinkId(99), Rate::gbps(1)), (LinkId(0), Rate::ZERO)]), &mut next);
    for _ in 0..20 {
        m.handle(m.deadline().unwrap(), Input::Due, &mut next);
    }
}

#[test]
fn a_backlog_ends_the_wait_of_an_idle_network() {
    // Without a backlog, hosts are asked once a round of 1,260 us.
    let config = SlotControllerConfig { idle: PARAMETERS.round(), ..SlotControllerConfig::new(PARAMETERS) };
    let mut m = SlotController::new(config, Box::new(WeightedRoundRobin::new(PARAMETERS)), fabric());
    let mut out = vec![];
    for expected in [21, 121, 21 + 1260, 121 + 1260, 21 + 2 * 1260, 121 + 2 * 1260] {
        assert_eq!(m.deadline(), Some(at(expected)));
        m.handle(at(expected), Input::Due, &mut out);
    }
    assert_eq!(slots(&out), [0, 0, 0]);
    // Empty reports change nothing. A backlog is planned at once, but not before a slot's time
    // after the last plan, as reports of other hosts may follow.
    m.handle(at(2700), report(0, 0, at(2690), 1, 0), &mut out);
    assert_eq!(m.deadline(), Some(at(21 + 3 * 1260)));
    m.handle(at(2710), report(0, 1, at(2700), 1, 375_000), &mut out);
    assert_eq!(m.deadline(), Some(at(21 + 2 * 1260 + 315)));
    m.handle(at(2900), Input::Due, &mut out);
    assert_eq!(slots(&out), [0, 0, 0, 1]);
}

#[test]
fn the_newest_report_wins() {
    let mut m = controller(Box::new(WeightedRoundRobin::new(PARAMETERS)));
    let mut out = vec![];
    m.handle(at(1), report(0, 5, at(0), 1, 375_000), &mut out);
    m.handle(at(2), report(0, 4, at(0), 1, 9 * 375_000), &mut out);
    m.handle(at(3), report(0, 5, at(0), 1, 375_000), &mut out);
    assert_eq!((m.heard().taken, m.heard().stale), (1, 2));
    m.handle(at(21), Input::Due, &mut out);
    assert_eq!(slots(&out), [1]);
}

#[test]
fn nonsense_is_counted_and_dropped() {
    let mut m = controller(Box::new(WeightedRoundRobin::new(PARAMETERS)));
    let mut out = vec![];
    m.handle(at(1), report(0, 0, at(0), 0, 1), &mut out);
    m.handle(at(1), report(0, 0, at(0), 3, 1), &mut out);
    m.handle(at(1), report(7, 0, at(0), 1, 1), &mut out);
    m.handle(at(1), Input::Backlog(Backlog::default()), &mut out);
    assert_eq!((m.heard().malformed, m.heard().taken, out.len()), (4, 0, 0));
    // A report from the end of time hides nothing and breaks nothing.
    m.handle(at(1), report(0, 1, Time::MAX, 1, 9 * 375_000), &mut out);
    m.handle(at(1), report(1, 1, Time::from_ps(i64::MIN / 4), 0, 9 * 375_000), &mut out);
    for _ in 0..20 {
        m.handle(m.deadline().unwrap(), Input::Due, &mut out);
    }
    assert_eq!(slots(&out)[..4], [4, 4, 1, 0]);
}

struct Fixed(Plan);
impl Scheduler for Fixed {
    fn plan(&mut self, _: &Demand, _: &Fabric, _: &Standing) -> Plan {
        self.0.clone()
    }
}

#[test]
fn plans_that_are_no_slots_are_refused() {
    let entry = |guard| ScheduleEntry { slot: Slot::new(vec![], US, &fabric()).unwrap(), guard };
    let rates = Plan::Rates(RateMatrix::new(vec![Rate::ZERO; 9], &fabric()).unwrap());
    for (plan, expected) in [
        (rates, PlanFault::Rates),
        (Plan::Slots(vec![entry(US); 5]), PlanFault::TooLong { slots: 5, most: 4 }),
        (Plan::Slots(vec![entry(US), entry(-US)]), PlanFault::Guard { index: 1 }),
    ] {
        let mut m = controller(Box::new(Fixed(plan)));
        let mut out = vec![];
        m.handle(at(21), Input::Due, &mut out);
        assert_eq!(out[0], Output::Log(Event::PlanRefused { round: Round(1), fault: expected }));
        assert_eq!((slots(&out), m.counters().refused), (vec![0], 1));
    }
}
