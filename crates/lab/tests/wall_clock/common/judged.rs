//! Completion in a lab on top of a simulation, judged by the daemons' own lag.
//!
//! The wall clock says nothing of a machine that others use too. Where a woken daemon waited for a
//! core for too long, a run is repeated, and after that only what holds on any machine is checked.

use serde_json::Value;
use timeplane_model::Duration;

/// Share of a slot that daemons may wait for a core, on average, for a run to be judged.
const LAG: f64 = 0.05;
/// Share of the completion by which the schedule may slip.
const SLIP: f64 = 0.02;
/// Share by which live may deviate from simulated.
const WITHIN: f64 = 0.1;
/// How often a run is repeated on a machine that does not keep up.
const RUNS: usize = 3;

/// What a run is compared with, in ms.
pub struct Expected {
    /// The simulated completion.
    pub simulated: f64,
    /// No network of these links is faster.
    pub bound: f64,
    /// The slot, or another time that daemons have to keep.
    pub slot: Duration,
    /// What a start may cost: rounds or periods that are planned before the flows arrive.
    pub start: Duration,
}

/// Whether the daemons of a run kept up.
fn kept_up(live: &Value, slot: Duration, completion: f64) -> bool {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{live:#}"));
    let (lag_us, slipped_us) = (number(&live["load"]["lag_us"]), number(&live["slipped_us"]));
    println!("lag {lag_us:.0} us, slipped {:.1} ms", slipped_us / 1e3);
    lag_us < LAG * slot.as_ps() as f64 / 1e6 && slipped_us / 1e3 < SLIP * completion
}

/// Judges a run, which `again` repeats: `live.json` and the completion in ms. Panics if it is
/// faster than the bound, or if the daemons kept up and it deviates. Returns whether it could be
/// judged.
pub fn judge(
    expected: &Expected,
    (mut live, mut completion): (Value, f64),
    mut again: impl FnMut(usize) -> (Value, f64),
) -> bool {
    let Expected { simulated, bound, slot, start } = *expected;
    for run in 1.. {
        println!("completion: {completion:.1} ms live, {simulated:.1} ms simulated");
        assert!(completion >= bound, "{completion} ms is faster than the links: {bound} ms");
        if kept_up(&live, slot, completion) {
            let may = WITHIN * simulated + start.as_ps() as f64 / 1e9;
            let apart = (completion - simulated).abs();
            assert!(apart <= may, "{completion} ms live, {simulated} ms simulated: expected within {may} ms; {live:#}");
            return true;
        }
        if run == RUNS {
            break;
        }
        (live, completion) = again(run);
    }
    println!("not judged: the machine was late");
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(lag_us: f64, slipped_us: f64, completion: f64) -> (Value, f64) {
        (json!({ "load": { "lag_us": lag_us }, "slipped_us": slipped_us }), completion)
    }

    #[test]
    fn runs_of_a_late_machine_are_repeated_and_others_judged() {
        let expected =
            Expected { simulated: 100.0, bound: 90.0, slot: Duration::from_ms(10), start: Duration::from_ms(20) };
        let never = |_| -> (Value, f64) { panic!("it was judged at once") };
        assert!(judge(&expected, run(499.0, 1_000.0, 130.0), never));
        // Late, slipped, and then in time.
        let mut later = vec![run(499.0, 1_000.0, 101.0), run(10.0, 30_000.0, 900.0)];
        assert!(judge(&expected, run(501.0, 0.0, 900.0), |_| later.pop().unwrap()));
        assert!(!judge(&expected, run(501.0, 0.0, 900.0), |_| run(800.0, 0.0, 5_000.0)));
        for (lag_us, completion) in [(499.0, 131.0), (501.0, 89.0)] {
            let judged = || judge(&expected, run(lag_us, 0.0, completion), |_| run(800.0, 0.0, 89.0));
            assert!(std::panic::catch_unwind(judged).is_err(), "{lag_us} {completion}");
        }
    }
}
