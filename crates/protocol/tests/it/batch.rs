//! A batch of timeslots equals its messages: for the hosts that get them, and on the wire.

use crate::common::wire;
use proptest::prelude::*;
use timeplane_model::{Class, Duration, HostId, PathTag, Round, Time};
use timeplane_protocol::{
    Address, Agent, GrantBatch, HostAgent, HostConfig, Input, Message, Output, Reporting, Timeslot,
};

const SLOT: i64 = 1_000_000;

fn batch(round: u64, effective: i64, timeslots: &[(u32, u32, u32)]) -> GrantBatch {
    let timeslot = |&(host, index, destination): &(u32, u32, u32)| Timeslot {
        host: HostId(host),
        destination: HostId(destination),
        index,
        path: (destination > 1).then_some(PathTag::new(2, 0)),
        class: Class(0),
    };
    GrantBatch {
        epoch: 0,
        round: Round(round),
        effective: Time::from_ps(effective),
        slot: Duration::from_ps(SLOT),
        packets: Some(1),
        timeslots: timeslots.iter().map(timeslot).collect(),
    }
}

#[test]
fn each_host_gets_its_own_timeslots() {
    let batch = batch(3, 5 * SLOT, &[(1, 0, 2), (1, 2, 0), (4, 1, 1)]);
    let messages: Vec<_> = batch.messages().collect();
    let [(HostId(1), Message::Grants(first)), (HostId(4), Message::Grants(second))] = &messages[..] else {
        panic!("{messages:?}")
    };
    let at = |grants: &[timeplane_model::Grant]| grants.iter().map(|g| (g.start, g.known_end())).collect::<Vec<_>>();
    let slot = |k: i64| {
        let time = |k: i64| Time::from_ps(k * SLOT);
        (timeplane_model::Trigger::At(time(k)), Some(time(k + 1)))
    };
    assert_eq!(at(&first.grants), [slot(5), slot(7)]);
    assert_eq!(at(&second.grants), [slot(6)]);
    assert_eq!((first.round, first.effective), (Round(3), Time::from_ps(5 * SLOT)));
    for (_, message) in &messages {
        assert_eq!(wire::over_the_wire(message), *message);
    }
}

fn agent() -> HostAgent {
    let (fallback, reporting) = (Duration::from_ps(7 * SLOT), Reporting { on_change: true, ..Reporting::default() });
    HostAgent::new(HostConfig { host: HostId(0), epoch: 0, start: Time::ZERO, fallback, reporting, signals: None })
}

proptest! {
    /// An agent whose driver keeps its timeslots reports at the same times and counts the same as
    /// one that opens gates by itself, in time or too late.
    #[test]
    fn timeslots_that_the_driver_keeps_equal_messages(
        batches in proptest::collection::vec((0i64..4, 0i64..5, proptest::collection::vec(any::<bool>(), 1..6)), 1..12),
    ) {
        let (mut alone, mut kept) = (agent(), agent());
        let (mut now, mut free_from, mut out) = (0, 0, Vec::new());
        for agent in [&mut alone, &mut kept] {
            agent.handle(Time::ZERO, Input::Due, &mut out);
        }
        for (round, (wait, ahead, slots)) in (1..).zip(batches) {
            // Batches do not overlap, and come late where the last one was long.
            now += wait * SLOT / 2;
            let effective = free_from.max(now + (ahead - 1) * SLOT);
            free_from = effective + slots.len() as i64 * SLOT;
            let uses: Vec<_> = (0..).zip(&slots).filter(|s| *s.1).map(|(index, _)| (0, index, 1)).collect();
            if uses.is_empty() {
                continue;
            }
            let batch = batch(round, effective, &uses);
            let at = Time::from_ps(now);
            let message = batch.message(&batch.timeslots);
            alone.handle(at, Input::Message { from: Address::Controller, message }, &mut out);
            let in_time = kept.hear_timeslots(at, (0, Round(round)), batch.effective, uses.len() as u32);
            prop_assert_eq!(in_time, effective >= now);
            // All slots start before the next batch comes, as they do one after the other.
            for timeslot in batch.timeslots.iter().filter(|_| in_time) {
                let start = batch.start(timeslot.index);
                if start > at {
                    alone.handle(start, Input::Due, &mut out);
                    kept.handle(start, Input::Due, &mut out);
                }
                kept.used_timeslot();
                now = start.as_ps();
            }
            prop_assert_eq!(alone.counters(), kept.counters());
            prop_assert_eq!(alone.deadline(), kept.deadline());
        }
        let opened = out.iter().filter(|o| matches!(o, Output::Open(_))).count() as u64;
        prop_assert_eq!(opened, alone.counters().executed);
    }
}
