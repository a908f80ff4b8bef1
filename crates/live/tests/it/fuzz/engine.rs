//! Generates inputs that are nearly valid: encoded seeds with a few changes, and a corpus of former
//! failures.
//!
//! A normal run tries the same inputs each time. With `TIMEPLANE_FUZZ_SECONDS` each target tries
//! more for that long. A failing input is shrunk and stored in `crates/live/tests/corpus`, which
//! every run tries first.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Inputs between two looks at the clock.
const ROUND: u32 = 256;
/// All targets together try inputs for about 7 s of a processor. They are the same in every run, so
/// more of them would find little more.
const ORDINARY: u32 = 4;
/// No input is longer.
const LONGEST: usize = 1 << 14;

/// Numbers at the ends of ranges.
const ODD: [u64; 13] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX - 1, u64::MAX];
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// A place in an input, and what becomes of it.
#[derive(Clone, Debug)]
enum Change {
    Flip(Index, u8),
    Set(Index, u8),
    Number(Index, u64, usize),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    Again(Index, usize),
    Cut(Index),
    /// A piece of another seed, from one place to another.
    Graft(Index, Index, Index, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let number = prop_oneof![prop::sample::select(&ODD[..]), any::<u64>()];
    let change = prop_oneof![
        4 => (at(), 0u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        4 => (at(), any::<u8>()).prop_map(|(at, to)| Change::Set(at, to)),
        4 => (at(), number, prop::sample::select(&SIZES[..])).prop_map(|(at, n, size)| Change::Number(at, n, size)),
        1 => (at(), 1usize..40).prop_map(|(at, n)| Change::Remove(at, n)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, b)| Change::Insert(at, b)),
        1 => (at(), 1usize..200).prop_map(|(at, n)| Change::Again(at, n)),
        1 => at().prop_map(Change::Cut),
        1 => (at(), at(), at(), 1usize..200).prop_map(|(at, seed, from, n)| Change::Graft(at, seed, from, n)),
    ];
    prop::collection::vec(change, 0..6)
}

fn apply(seeds: &[Vec<u8>], seed: &Index, changes: &[Change]) -> Vec<u8> {
    let mut input = seed.get(seeds).clone();
    for change in changes {
        let at = |at: &Index| at.index(input.len() + 1);
        match change {
            Change::Flip(place, bit) => {
                let at = at(place);
                input.get_mut(at).into_iter().for_each(|b| *b ^= 1 << bit);
            }
            Change::Set(place, to) => {
                let at = at(place);
                input.get_mut(at).into_iter().for_each(|b| *b = *to);
            }
            Change::Number(place, number, size) => {
                let at = at(place);
                let bytes = number.to_be_bytes();
                if let Some(place) = input.get_mut(at..at + size) {
                    place.copy_from_slice(&bytes[8 - size..]);
                }
            }
            Change::Remove(place, n) => {
                let at = at(place);
                input.drain(at..(at + n).min(input.len()));
            }
            Change::Insert(place, bytes) => {
                let at = at(place);
                input.splice(at..at, bytes.iter().copied());
            }
            Change::Again(place, n) => {
                let at = at(place);
                let piece = input[at..(at + n).min(input.len())].to_vec();
                input.splice(at..at, piece);
            }
            Change::Cut(place) => {
                let at = at(place);
                input.truncate(at);
            }
            Change::Graft(place, seed, from, n) => {
                let (at, other) = (at(place), seed.get(seeds));
                let from = from.index(other.len() + 1);
                let piece = &other[from..(from + n).min(other.len())];
                let end = (at + piece.len()).min(input.len());
                input.splice(at..end, piece.iter().copied());
            }
        }
    }
    input.truncate(LONGEST);
    input
}

/// Tries a target: it neither panics nor says what is wrong. `rounds` of 256 inputs, which say what
/// targets need in proportion, times [`ORDINARY`] are an ordinary run.
pub fn fuzz(target: &str, mut seeds: Vec<Vec<u8>>, rounds: u32, check: impl Fn(&[u8]) -> Result<(), String>) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(target);
    let mut kept: Vec<PathBuf> =
        std::fs::read_dir(&folder).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    kept.sort();
    for path in kept {
        let input = std::fs::read(&path).unwrap();
        check(&input).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        seeds.push(input);
    }
    for (number, seed) in seeds.iter().enumerate() {
        check(seed).unwrap_or_else(|e| panic!("seed {number} of {target}: {e}"));
    }
    let longer = std::env::var("TIMEPLANE_FUZZ_SECONDS").ok();
    let longer =
        longer.map(|s| Duration::from_secs_f64(s.parse().expect("TIMEPLANE_FUZZ_SECONDS is a number of seconds")));
    let (began, mut round) = (Instant::now(), 0u32);
    while longer.map_or(round < rounds * ORDINARY, |most| began.elapsed() < most) {
        let config = Config { cases: ROUND, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
        let seed: Vec<u8> = (0..8).flat_map(|_| round.to_be_bytes()).collect();
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let tried = runner.run(&(any::<Index>(), changes()), |(seed, changes)| {
            check(&apply(&seeds, &seed, &changes)).map_err(TestCaseError::fail)
        });
        if let Err(TestError::Fail(why, (seed, changes))) = tried {
            let input = apply(&seeds, &seed, &changes);
            let mut hasher = DefaultHasher::new();
            input.hash(&mut hasher);
            let path = folder.join(format!("{:016x}", hasher.finish()));
            // Where the sources cannot be written, the message has it all.
            let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, &input));
            panic!("{target}: {why}\n{} ({} B): {:02x?}", path.display(), input.len(), input);
        }
        round += 1;
    }
    println!("{target}: {} inputs in {:.1} s", u64::from(round) * u64::from(ROUND), began.elapsed().as_secs_f64());
}
