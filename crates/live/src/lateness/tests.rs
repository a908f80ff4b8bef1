//! Estimates in virtual time: two clocks that differ, drift and step, and a network that delays,
//! loses and holds back.

use super::*;
use libbpf_rs::{ObjectBuilder, ProgramInput};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// Two clocks: the receiver's is ahead by an offset that grows.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    offset: u64,
    ppm: i64,
}

impl Clocks {
    /// The receiver's clock when the sender's shows `sent`.
    fn receiver(self, sent: u64) -> u64 {
        let drift = i128::from(sent) * i128::from(self.ppm) / 1_000_000;
        (i128::from(self.offset) + i128::from(sent) + drift) as u64
    }
    fn take(self, fastest: &mut Fastest, sent: u64, delay: u64) -> u64 {
        fastest.take(self.receiver(sent) + delay, sent)
    }
}

proptest! {
    /// However the clocks are set and drift, a message that is delayed by much more than any before
    /// is late, by about its delay, and the others are late by their own delays at most.
    #[test]
    fn a_message_is_late_by_its_delay(
        offset in 0u64..1 << 50, ppm in -50i64..=50, every in 1u64..100, shortest in 0u64..300,
        jitter in proptest::collection::vec(0u64..100, 20..200), held in 2u64..10_000,
    ) {
        let clocks = Clocks { offset, ppm };
        let mut fastest = Fastest::default();
        let (mut sent, mut within) = (1 << 40, 0);
        for more in &jitter {
            sent += every * MS;
            within = clocks.take(&mut fastest, sent, (shortest + more) * US);
            // The drift within a window, where the clock that drifts is not the receiver's.
            prop_assert!(within <= 100 * US + 3 * every * 50, "{within}");
        }
        sent += every * MS;
        let late = clocks.take(&mut fastest, sent, shortest * US + held * MS);
        // The least difference has grown by the drift that is allowed for, meanwhile too.
        prop_assert!(late + 100 * US + 4_000 * 111 >= held * MS - held * 62, "{late} of {held} ms");
        prop_assert!(late <= held * MS + 100 * US + 3 * every * 50, "{late} of {held} ms, before {within}");
    }

    /// Silence for hours makes no message late that comes as fast as the ones before, and one that
    /// was held back meanwhile is late.
    #[test]
    fn messages_after_a_silence_are_compared_with_those_before(ppm in -50i64..=50, hours in 0u64..100) {
        let clocks = Clocks { offset: 1 << 45, ppm };
        let mut fastest = Fastest::default();
        let mut sent = 1 << 40;
        for _ in 0..100 {
            sent += MS;
            clocks.take(&mut fastest, sent, 10 * US);
        }
        let silence = hours * 3_600_000 * MS + MS;
        let held = clocks.receiver(sent + silence);
        let mut other = fastest;
        let late = other.take(held, sent + MS);
        // Of an hour, the clocks may hide less than half a second.
        prop_assert!(late + MS >= silence - silence / 7_000, "{late} of {silence}");
        prop_assert_eq!(fastest.take(held + 10 * US, sent + silence), 0);
    }

    /// A clock that steps ahead makes messages late for two windows, and not for longer. One that
    /// steps back makes none late.
    #[test]
    fn a_step_ends_within_two_windows(step in 1u64..1_000_000, back: bool, every in 1u64..50, when in 0u64..4_000) {
        let step = step * MS;
        let (before, after) = if back { (step, 0) } else { (0, step) };
        let mut fastest = Fastest::default();
        let base = 1 << 50;
        let steps = base + when * MS;
        let mut sent = base - 3 * WINDOW;
        while sent < steps + 2 * WINDOW + 3 * every * MS {
            let offset = if sent < steps { before } else { after };
            let late = fastest.take(sent + offset, sent);
            if back || sent < steps || sent >= steps + 2 * WINDOW + 2 * every * MS {
                prop_assert!(late == 0, "{late} at {} ms", (sent as i64 - steps as i64) / 1_000_000);
            } else if sent < steps + MS {
                prop_assert!(late + MS > step - step / 10_000, "{late}");
            }
            sent += every * MS;
        }
    }

    /// Losses: whichever messages are lost, one that is held back is late if a fast one has come in
    /// this window or the one before.
    #[test]
    fn losses_hide_no_late_message(lost in proptest::collection::vec(any::<bool>(), 1..2_000), held in 1u64..100) {
        let clocks = Clocks { offset: 77, ppm: 0 };
        let mut fastest = Fastest::default();
        let mut known = false;
        for (i, lost) in (0u64..).zip(lost) {
            let sent = (1 << 40) + i * 5 * MS;
            if !lost {
                clocks.take(&mut fastest, sent, 50 * US);
                known = true;
            } else if known {
                let late = fastest.clone().take(clocks.receiver(sent) + held * MS, sent);
                prop_assert!(late + MS / 2 + 20 * US > held * MS, "{late} of {held} ms");
            }
        }
    }

    /// A receiver that starts again knows nothing. From its first fast message on it does.
    #[test]
    fn after_a_restart_one_fast_message_is_enough(held in proptest::collection::vec(1_000u64..100_000, 1..20)) {
        let clocks = Clocks { offset: 5, ppm: 0 };
        let mut fastest = Fastest::default();
        let mut sent = 1 << 40;
        for held in &held {
            sent += MS;
            // Late as it is, it may be the fastest so far.
            clocks.take(&mut fastest, sent, held * US);
        }
        sent += MS;
        prop_assert_eq!(clocks.take(&mut fastest, sent, 10 * US), 0);
        for held in held {
            sent += MS;
            let late = clocks.take(&mut fastest, sent, held * US);
            prop_assert!(late >= held * US - 12 * US, "{late} of {held} us");
        }
    }
}

/// The kernel's estimate is this one, message by message.
#[test]
fn the_kernel_estimates_the_same() {
    static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lateness.o"));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 20, ..ProptestConfig::default() });
    let message = (0u64..3_000, 0u64..5_000, 0u32..10);
    let messages = (0u64..1 << 60, proptest::collection::vec(message, 1..100));
    let tried = runner.run(&messages, |(offset, messages)| {
        let object = ObjectBuilder::default().open_memory(OBJECT).unwrap().load().unwrap();
        let program = crate::bpf::program(&object, "take");
        let (mut here, mut sent) = (Fastest::default(), 1u64 << 40);
        for (wait, delay, step) in messages {
            // Now and then a clock steps.
            let offset = if step == 0 { offset / 2 } else { offset };
            sent += wait * MS;
            let now = sent + offset + delay * US;
            let mut context = [now, sent, 0].map(u64::to_ne_bytes).concat();
            program.test_run(ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() }).unwrap();
            let late = u64::from_ne_bytes(context[16..].try_into().unwrap());
            prop_assert_eq!(late, here.take(now, sent));
        }
        Ok(())
    });
    tried.unwrap();
}
