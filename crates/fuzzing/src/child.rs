//! The child: tries inputs in a loop, catches panics, and leaves a record of each input for its
//! parent.
//!
//! The record is one file. Before an input is tried, the counts so far and the input are written to
//! it, so that they outlive the child.

use crate::changes::changed;
use crate::numbers::Random;
use crate::pool::Pool;
use crate::shrink::shrunk;
use crate::target::{Fault, Outcome, Subject, Target};
use crate::{corpus, digest};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The most attempts to shrink an input, and the longest time for that.
const ATTEMPTS: usize = 2000;
const SHRINKING: Duration = Duration::from_secs(5);
/// After so many inputs, those that take longer than this many microseconds are not changed
/// further: they would take most of the time. The inputs of long runs thus depend on the machine.
const LONG: u64 = 20_000;
const SLOW_US: u64 = 5_000;
/// Inputs between two looks at the clock.
const ROUND: u64 = 64;

/// What a child has counted, in the order of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Inputs that were tried to their end.
    pub tried: u64,
    /// Of them, those of the corpus and valid ones.
    pub fixed: u64,
    pub past_first: u64,
    pub accepted: u64,
    pub panics: u64,
    pub wrong: u64,
    /// Ends of programs that a check has started.
    pub aborts: u64,
    /// The longest time of a processor that an input took on the child's thread.
    pub slowest_us: u64,
}

const FIELDS: usize = 8;
/// The counts and the length of the input.
const HEADER: usize = 8 * (FIELDS + 1);

impl Counts {
    fn fields(&self) -> [u64; FIELDS] {
        let Self { tried, fixed, past_first, accepted, panics, wrong, aborts, slowest_us } = *self;
        [tried, fixed, past_first, accepted, panics, wrong, aborts, slowest_us]
    }

    fn from_fields(f: [u64; FIELDS]) -> Self {
        let [tried, fixed, past_first, accepted, panics, wrong, aborts, slowest_us] = f;
        Self { tried, fixed, past_first, accepted, panics, wrong, aborts, slowest_us }
    }
}

/// Reads a record: the counts, and the input that is tried. `None` before the first one.
pub(crate) fn read_record(path: &Path) -> Option<(Counts, Vec<u8>)> {
    let bytes = fs::read(path).ok()?;
    let (header, input) = bytes.split_at_checked(HEADER)?;
    let mut fields = header.chunks_exact(8).map(|c| u64::from_be_bytes(c.try_into().unwrap_or_default()));
    let counts = Counts::from_fields(std::array::from_fn(|_| fields.next().unwrap_or(0)));
    let length = usize::try_from(fields.next()?).ok()?;
    Some((counts, input.get(..length)?.to_vec()))
}

/// The places that a child and its parent share.
pub(crate) struct Places<'a> {
    pub scratch: &'a Path,
}

impl Places<'_> {
    pub fn record(&self) -> PathBuf {
        self.scratch.join("record")
    }
    /// What was found: by the hash of its reason, the input and the reason.
    pub fn found(&self) -> PathBuf {
        self.scratch.join("found")
    }
    /// The corpus as it was when the run began.
    pub fn corpus(&self) -> PathBuf {
        self.scratch.join("corpus")
    }
    /// The target's own folder.
    pub fn files(&self) -> PathBuf {
        self.scratch.join("files")
    }
}

/// Keeps an input and the reason; the first input of a reason only. Returns whether it is the
/// first.
pub(crate) fn keep_found(places: &Places<'_>, kind: &str, reason: &str, input: &[u8]) -> io::Result<bool> {
    let name = format!("{:016x}", digest::of_message(&format!("{kind}: {reason}")));
    let path = places.found().join(&name);
    if path.exists() {
        return Ok(false);
    }
    fs::write(path.with_extension("why"), format!("{kind}: {reason}"))?;
    fs::write(path, input)?;
    Ok(true)
}

/// How much a child is to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub seed: u64,
    /// The number of children before it.
    pub round: u64,
    /// How many of the corpus and the valid inputs were tried before.
    pub fixed: u64,
    pub inputs: u64,
    pub time: Option<Duration>,
}

type LastPanic = Arc<Mutex<Option<(ThreadId, String)>>>;

/// Calls the parser and notices panics.
struct Caller {
    subject: Subject,
    last: LastPanic,
}

/// What an input led to.
enum Seen {
    Outcome(Outcome),
    Panic(String),
    Fault(Fault),
}

impl Seen {
    fn reason(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Outcome(_) => None,
            Self::Panic(why) => Some(("panic", why)),
            Self::Fault(Fault::Wrong(why)) => Some(("wrong", why)),
            Self::Fault(Fault::Aborted(why)) => Some(("abort", why)),
        }
    }
}

impl Caller {
    fn new(subject: Subject) -> Self {
        let last = LastPanic::default();
        let told = Arc::clone(&last);
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
            let text = info.payload().downcast_ref::<&str>().copied();
            let text = text.or_else(|| info.payload().downcast_ref::<String>().map(String::as_str));
            let text = text.unwrap_or("a panic without a text");
            if let Ok(mut last) = told.lock() {
                *last = Some((std::thread::current().id(), format!("{place}: {text}")));
            }
        }));
        Self { subject, last }
    }

    fn call(&mut self, input: &[u8]) -> Seen {
        let check = &mut self.subject.check;
        let seen = catch_unwind(AssertUnwindSafe(|| check(input)));
        let last = self.last.lock().ok().and_then(|mut last| last.take());
        match (seen, last) {
            (Err(_), last) => Seen::Panic(last.map_or_else(|| "a panic without a text".into(), |l| l.1)),
            // A panic that the parser has caught itself is an error of its own; one of another
            // thread is not.
            (Ok(_), Some((thread, why))) if thread != std::thread::current().id() => Seen::Panic(why),
            (Ok(Ok(outcome)), _) => Seen::Outcome(outcome),
            (Ok(Err(fault)), _) => Seen::Fault(fault),
        }
    }
}

/// The time of a processor that this thread has used, in microseconds.
fn processor_us() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1000).unwrap_or(0)
}

fn limit(resource: Resource, most: u64) {
    // Where a lower limit holds already, that one is kept.
    let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
}

/// Sets the target up under the limits of a child.
fn prepared(target: &Target, places: &Places<'_>) -> Caller {
    limit(Resource::Core, 0);
    if target.memory > 0 {
        limit(Resource::As, target.memory);
    }
    Caller::new((target.prepare)(&places.files()))
}

/// Tries one input, as [`work`] does.
pub(crate) fn try_one(target: &Target, places: &Places<'_>, input: &[u8]) -> Option<String> {
    let seen = prepared(target, places).call(input);
    seen.reason().map(|(kind, why)| format!("{kind}: {why}"))
}

struct Child<'a> {
    places: &'a Places<'a>,
    caller: Caller,
    pool: Pool,
    random: Random,
    record: File,
    buffer: Vec<u8>,
    counts: Counts,
    known: HashSet<u64>,
}

/// Tries the corpus and the valid inputs, then changed ones until the work is done.
///
/// # Errors
/// If the record or what was found cannot be written.
pub(crate) fn work(target: &Target, places: &Places<'_>, work: &Work) -> io::Result<()> {
    let caller = prepared(target, places);
    let mut fixed: Vec<Vec<u8>> = corpus::read(&places.corpus())?.into_iter().map(|(_, input)| input).collect();
    let valid = caller.subject.seeds.clone();
    let kept = fixed.len();
    fixed.extend(valid.iter().cloned());
    let mut child = Child {
        places,
        caller,
        pool: Pool::new(fixed.clone()),
        random: Random::new(
            work.seed ^ digest::of(target.name.as_bytes()) ^ work.round.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        ),
        record: File::create(places.record())?,
        buffer: Vec::new(),
        counts: Counts { fixed: work.fixed, ..Counts::default() },
        known: HashSet::new(),
    };
    for (number, input) in fixed.iter().enumerate().skip(usize::try_from(work.fixed).unwrap_or(usize::MAX)) {
        let outcome = child.one(input)?;
        child.counts.fixed += 1;
        // A valid input that is refused makes the whole run shallow.
        if number >= kept && !matches!(outcome, None | Some(Outcome::Accepted)) {
            return Err(io::Error::other(format!("valid input {} is refused: {outcome:?}", number - kept)));
        }
    }
    let end = work.time.map(|time| Instant::now() + time);
    while child.counts.tried < work.inputs {
        if child.counts.tried.is_multiple_of(ROUND) && end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        let input = changed(&child.pool, target.format, &child.caller.subject.words, &mut child.random);
        child.one(&input)?;
    }
    child.write(&[])
}

impl Child<'_> {
    fn write(&mut self, input: &[u8]) -> io::Result<()> {
        self.buffer.clear();
        let fields = self.counts.fields().into_iter().chain([input.len() as u64]);
        fields.for_each(|f| self.buffer.extend_from_slice(&f.to_be_bytes()));
        self.buffer.extend_from_slice(input);
        self.record.write_all_at(&self.buffer, 0)
    }

    fn one(&mut self, input: &[u8]) -> io::Result<Option<Outcome>> {
        self.write(input)?;
        let began = processor_us();
        let seen = self.caller.call(input);
        let took = processor_us().saturating_sub(began);
        self.counts.slowest_us = self.counts.slowest_us.max(took);
        self.counts.tried += 1;
        if let Some((kind, why)) = seen.reason() {
            match kind {
                "panic" => self.counts.panics += 1,
                "wrong" => self.counts.wrong += 1,
                _ => self.counts.aborts += 1,
            }
            let hash = digest::of_message(why);
            if self.known.insert(hash) {
                let (why, began) = (why.to_owned(), Instant::now());
                let small = shrunk(input, ATTEMPTS, |smaller| {
                    let same = |s: Seen| s.reason().is_some_and(|(k, w)| k == kind && digest::of_message(w) == hash);
                    began.elapsed() < SHRINKING && same(self.caller.call(smaller))
                });
                keep_found(self.places, kind, &why, &small)?;
            }
            return Ok(None);
        }
        let Seen::Outcome(outcome) = seen else { return Ok(None) };
        if outcome == Outcome::Accepted {
            self.counts.accepted += 1;
        }
        if !matches!(outcome, Outcome::Refused(_)) {
            self.counts.past_first += 1;
        }
        if self.counts.tried < LONG || took < SLOW_US {
            self.pool.learn(input, &outcome, &mut self.random);
        }
        Ok(Some(outcome))
    }
}
