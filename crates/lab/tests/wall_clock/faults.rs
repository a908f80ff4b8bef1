//! Some faults of the table of faults, one round each: nothing is lost, and all goes on.
//!
//! A machine that pauses between a gate and the switch makes a frame late that left in time. So a
//! round with foreign frames is repeated, but only if a thread with the daemons' priority was late
//! for longer than these frames, and than the guard.

use crate::common::place::PROGRAM;
use std::path::Path;
use timeplane_lab::bed::GUARD;
use timeplane_lab::faults::{self, FAULTS, Rounds};

/// The most rounds of a fault.
const MOST: u32 = 3;

fn costs_no_byte(name: &str) {
    let _turn = crate::turn();
    let fault = FAULTS.iter().find(|f| f.name == name).unwrap();
    let mut bed = faults::bed(Path::new(PROGRAM), &format!("tpft{}", std::process::id()), fault).unwrap();
    let mut rounds = Rounds::default();
    for number in 0..MOST {
        let round = rounds.run(&mut bed, fault, number).unwrap();
        println!("{round:?}");
        assert!(round.recovered && round.lost_bytes + round.wrong == 0, "{round:?}");
        assert!(round.streams > 0 && round.silence_ms > 0.0, "{round:?}");
        if round.is_clean() {
            return;
        }
        assert!(round.lag_ms > round.late_ms.max(GUARD.as_secs_f64() * 1e3), "{round:?}");
    }
    panic!("frames in foreign slots in all of {MOST} rounds");
}

#[test]
fn a_killed_leader_costs_no_byte() {
    costs_no_byte("leader-killed");
}

#[test]
fn a_killed_agent_costs_no_byte_that_was_delivered() {
    costs_no_byte("agent-killed");
}

#[test]
fn frames_that_overtake_each_other_cost_no_byte() {
    costs_no_byte("frames-reordered");
}

/// What daemons want to log does not fit onto the disk.
#[test]
fn daemons_outlive_a_full_disk_also_when_they_have_something_to_say() {
    costs_no_byte("disk-full-leader-killed");
}
