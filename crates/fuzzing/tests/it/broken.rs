//! A parser that fails in all ways, which the fuzzer has to tell apart.
//!
//! Each failing input is in a corpus of its own and has its letter among others.

use std::path::Path;
use std::time::Duration;
use timeplane_fuzzing::{Amount, Fault, Format, Limits, Outcome, Subject, Target, fuzz, put, scratch_root};

pub const TARGETS: &[Target] =
    &[Target { name: "broken", format: Format::Bytes, ordinary: 0, memory: 2 << 30, prepare: broken }];

/// Inputs that break the parser, each in another way.
const CORPUS: [&str; 6] = ["..W..", ".P...", "...S", "A....", "..M", "H."];

/// Takes a frame of the stack for each call.
fn deep(n: u64) -> u64 {
    let frame = std::hint::black_box([n; 64]);
    if n == 0 { 0 } else { deep(n - 1) + frame[usize::from(n as u8 & 63)] }
}

fn broken(_: &Path) -> Subject {
    let check = |input: &[u8]| {
        let has = |letter: u8| input.contains(&letter);
        match input {
            _ if has(b'W') => return Err(Fault::Wrong("a broken promise".to_owned())),
            _ if has(b'P') => panic!("a panic"),
            _ if has(b'S') => drop(std::hint::black_box(deep(u64::MAX))),
            _ if has(b'A') => std::process::abort(),
            _ if has(b'M') => drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 40))),
            _ if has(b'H') => loop {
                std::hint::spin_loop();
            },
            _ => {}
        }
        Ok(Outcome::Accepted)
    };
    Subject { seeds: vec![b"valid".to_vec()], words: Vec::new(), check: Box::new(check) }
}

/// Fuzzes the broken parser, and says what was not found of its failures.
pub fn is_found() -> Result<(), String> {
    let corpus = scratch_root().join(format!("timeplane-fuzzing-corpus-{}", std::process::id()));
    std::fs::create_dir_all(&corpus).map_err(|e| e.to_string())?;
    CORPUS.iter().for_each(|input| put(&corpus.join(input), input.as_bytes()));
    let limits = Limits { busy: Duration::from_millis(300), waiting: Duration::from_secs(60) };
    let report = fuzz(&TARGETS[0], &corpus, Amount { seed: 1, inputs: 0, time: None }, limits);
    let report = report.map_err(|e| e.to_string());
    let kept = |path: &Path| String::from_utf8(std::fs::read(path).unwrap_or_default()).unwrap_or_default();
    let mut found: Vec<(String, String)> = report
        .iter()
        .flat_map(|r| &r.found)
        .map(|(why, path)| (why.split(':').next().unwrap_or_default().to_owned(), kept(path)))
        .collect();
    found.sort();
    let _ = std::fs::remove_dir_all(&corpus);
    let report = report?;
    let counts = [report.panics, report.wrong, report.hangs, report.aborts, report.tried, report.accepted];
    // An input that hangs is not shrunk: each attempt would take as long.
    let expected = [("abort", "A"), ("abort", "M"), ("abort", "S"), ("hang", "H."), ("panic", "P"), ("wrong", "W")];
    let expected = expected.map(|(kind, input)| (kind.to_owned(), input.to_owned()));
    if counts == [1, 1, 1, 3, 7, 1] && found == expected {
        return Ok(());
    }
    Err(format!("the fuzzer does not find what is broken: {counts:?}, {found:?}"))
}
