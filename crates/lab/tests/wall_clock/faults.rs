//! Some faults of the table of faults, one round each: nothing is lost, and all goes on.

use crate::common::place::PROGRAM;
use std::path::Path;
use timeplane_lab::faults::{self, FAULTS, Rounds};

fn costs_no_byte(name: &str) {
    let _turn = crate::turn();
    let fault = FAULTS.iter().find(|f| f.name == name).unwrap();
    let mut bed = faults::bed(Path::new(PROGRAM), &format!("tpft{}", std::process::id()), fault).unwrap();
    let round = Rounds::default().run(&mut bed, fault, 0).unwrap();
    println!("{round:?}");
    assert!(round.is_clean(), "{round:?}");
    assert!(round.streams > 0 && round.silence_ms > 0.0, "{round:?}");
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
