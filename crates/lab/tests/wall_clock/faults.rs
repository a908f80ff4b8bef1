//! Some faults of the table of faults, one round each: nothing is lost, and all goes on.
//!
//! A machine that pauses between a gate and the end of its wire makes a frame late that was sent in
//! time. So a round with a foreign frame is repeated if a thread with the daemons' priority was
//! later than the guard meanwhile.

use crate::common::place::PROGRAM;
use std::path::Path;
use timeplane_lab::faults::{self, FAULTS, Rounds};

const MOST: u32 = 3;
/// Guard of the bed's slots.
const GUARD_MS: f64 = 0.2;

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
        assert!(round.lag_ms > GUARD_MS, "{round:?}");
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
