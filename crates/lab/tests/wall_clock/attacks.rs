//! Attacks of the table of attacks, each for a second. Those whose verdict depends on the speed of
//! the machine are left to the program.
//!
//! A machine that pauses between a gate and the switch makes a frame late that left in time. An
//! attack that shows nothing but such frames is repeated.

use crate::common::place::PROGRAM;
use std::path::Path;
use std::time::Duration as Wait;
use timeplane_lab::attacks::ATTACKS;

/// The most times that an attack is carried out.
const MOST: u32 = 3;

/// Carries out an attack and expects that the daemons keep their promises.
fn holds(name: &str) {
    let _turn = crate::turn();
    let attack = ATTACKS.iter().find(|a| a.name == name).unwrap();
    let bed = format!("tpat{}", std::process::id());
    for _ in 0..MOST {
        let finding =
            attack.run(Path::new(PROGRAM), &bed, Wait::from_secs(1)).unwrap_or_else(|e| panic!("{name}: {e}"));
        println!("{}: before: {}; after: {}", attack.about, attack.before, finding.after);
        if finding.held {
            return;
        }
        assert!(finding.machine_was_late, "{}", finding.after);
    }
    panic!("{name}: frames in foreign slots all of {MOST} times");
}

macro_rules! attacks {
    ($($test:ident $name:literal,)+) => {
        $(#[test] fn $test() { holds($name); })+

        #[test]
        fn every_exact_attack_is_a_test() {
            let tests = [$($name),+];
            let missing = |a: &&timeplane_lab::attacks::Attack| a.is_exact && !tests.contains(&a.name);
            let missing: Vec<&str> = ATTACKS.iter().filter(missing).map(|a| a.name).collect();
            assert_eq!(missing, Vec::<&str>::new());
        }
    };
}

attacks! {
    forged_epochs_make_nobody_deaf "forged-epochs",
    forged_bytes_and_acknowledgements_are_refused "forged-bytes",
    an_agent_that_is_started_twice_goes_on "agent-twice",
    an_agent_outlives_its_interface "interface",
    an_agent_that_stays_away_keeps_no_program_waiting "agent-away",
    invented_epochs_stop_no_standby "liar-epochs",
    scenarios_that_run_refuses_are_refused "refused-scenario",
}
