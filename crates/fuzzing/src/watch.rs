//! The parent of the child that tries inputs: notices that it ended or hangs, finds the input that
//! was the cause, and starts another child behind it.

use crate::child::{Counts, Places, Work, keep_found, read_record};
use crate::scratch::Scratch;
use crate::shrink::shrunk;
use crate::target::Target;
use crate::{corpus, digest};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at whether the child has ended.
const LOOK: Duration = Duration::from_millis(5);
/// After this many crashes and hangs, the rest of a target's inputs is not tried.
const MOST_CRASHES: u64 = 500;
/// The most attempts to shrink an input that ends its child; each one starts a child.
const ATTEMPTS: usize = 60;

/// When an input hangs.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// It takes this much time of a processor.
    pub busy: Duration,
    /// It takes this long, whether it computes or waits.
    pub waiting: Duration,
}

impl Default for Limits {
    /// Long enough for a machine with much other work.
    fn default() -> Self {
        Self { busy: Duration::from_secs(20), waiting: Duration::from_secs(180) }
    }
}

/// How much of a target is tried.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Chooses the inputs.
    pub seed: u64,
    /// The most inputs; the corpus and valid inputs are tried in any case.
    pub inputs: u64,
    /// The longest time.
    pub time: Option<Duration>,
}

/// What became of a target's inputs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Inputs that were tried.
    pub tried: u64,
    /// Of them, those that the first step did not refuse.
    pub past_first: u64,
    /// Of them, valid ones.
    pub accepted: u64,
    /// Inputs at which the parser panicked.
    pub panics: u64,
    /// Inputs at which it broke a promise.
    pub wrong: u64,
    /// Inputs at which it did not end.
    pub hangs: u64,
    /// Inputs at which it ended its process, or that of another program.
    pub aborts: u64,
    /// The time that all took.
    pub seconds: f64,
    /// The time of a processor that the slowest input took, of those that came to an end.
    pub slowest: Duration,
    /// What was found: the first input of each reason, with its file in the corpus.
    pub found: Vec<(String, PathBuf)>,
}

impl Tally {
    fn add(&mut self, counts: &Counts) {
        self.tried += counts.tried;
        self.past_first += counts.past_first;
        self.accepted += counts.accepted;
        self.panics += counts.panics;
        self.wrong += counts.wrong;
        self.aborts += counts.aborts;
        self.slowest = self.slowest.max(Duration::from_micros(counts.slowest_us));
    }
}

/// The end of a child.
enum End {
    Done,
    /// It ended otherwise.
    Crash(String),
    Hang(String),
}

/// Arguments of a child.
fn arguments(target: &Target, scratch: &Path, work: &Work) -> Vec<String> {
    let mut all = vec!["--child".to_owned(), target.name.to_owned(), "--scratch".to_owned()];
    all.push(scratch.display().to_string());
    let numbers = [("--seed", work.seed), ("--round", work.round), ("--fixed", work.fixed), ("--inputs", work.inputs)];
    all.extend(numbers.iter().flat_map(|(name, n)| [(*name).to_owned(), n.to_string()]));
    if let Some(time) = work.time {
        all.extend(["--seconds".to_owned(), time.as_secs_f64().to_string()]);
    }
    all
}

/// Tries the inputs of a target in children. `folder` is its corpus, to which what is found is
/// added.
///
/// # Errors
/// If no child can be started or set up, or files cannot be written.
pub fn fuzz(target: &Target, folder: &Path, amount: Amount, limits: Limits) -> io::Result<Tally> {
    let scratch = Scratch::new(target.name)?;
    let places = Places { scratch: scratch.path() };
    for folder in [places.found(), places.corpus(), places.files()] {
        fs::create_dir_all(folder)?;
    }
    for (path, input) in corpus::read(folder)? {
        fs::write(places.corpus().join(path.file_name().unwrap_or_default()), input)?;
    }
    let (began, mut report) = (Instant::now(), Tally::default());
    let Amount { seed, inputs, time } = amount;
    let mut work = Work { seed, round: 0, fixed: 0, inputs, time };
    loop {
        let _ = fs::remove_file(places.record());
        let end = one_child(&arguments(target, scratch.path(), &work), &places, limits)?;
        let record = read_record(&places.record());
        let (kind, reason) = match end {
            End::Done => {
                report.add(&record.map(|r| r.0).unwrap_or_default());
                break;
            }
            // A child that cannot do its work says so; a valid input may be refused.
            End::Crash(reason) if reason.starts_with("exit code 2") => return Err(io::Error::other(reason)),
            End::Crash(reason) => ("abort", reason),
            End::Hang(reason) => ("hang", reason),
        };
        let Some((counts, input)) = record else { return Err(io::Error::other(reason)) };
        // The input that ended the child was tried, too. It is one of the corpus or a valid one if
        // only such ones were tried before.
        work.fixed = counts.fixed + u64::from(counts.tried == counts.fixed - work.fixed);
        report.add(&Counts { tried: counts.tried + 1, ..counts });
        *(if kind == "hang" { &mut report.hangs } else { &mut report.aborts }) += 1;
        keep_found(&places, kind, &reason, &input)?;
        work.round += 1;
        work.inputs = inputs.saturating_sub(report.tried);
        work.time = time.map(|time| time.saturating_sub(began.elapsed()));
        if work.time == Some(Duration::ZERO) {
            break;
        }
        if report.hangs + report.aborts >= MOST_CRASHES {
            eprintln!("{}: {MOST_CRASHES} children have ended: the rest is not tried", target.name);
            break;
        }
    }
    report.found = gather(target, &places, folder, limits)?;
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// Moves what was found to the corpus, after shrinking inputs that ended their child.
fn gather(target: &Target, places: &Places<'_>, folder: &Path, limits: Limits) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for (path, why) in corpus::read(&places.found())? {
        if path.extension().is_none_or(|e| e != "why") {
            continue;
        }
        let why = String::from_utf8_lossy(&why).into_owned();
        let mut input = fs::read(path.with_extension(""))?;
        if why.starts_with("abort: ") {
            let file = places.scratch.join("tried");
            let plain = |why: &str| digest::of_message(why.trim_start_matches("abort: "));
            let fails = |smaller: &[u8]| {
                let [scratch, file] = [places.scratch, &file].map(|p| p.display().to_string());
                let arguments = ["--child", target.name, "--scratch", &scratch, "--try", &file].map(str::to_owned);
                fs::write(&file, smaller).is_ok()
                    && matches!(one_child(&arguments, places, limits), Ok(End::Crash(now)) if plain(&now) == plain(&why))
            };
            input = shrunk(&input, ATTEMPTS, fails);
        }
        found.push((why, corpus::keep(folder, &input)?));
    }
    Ok(found)
}

/// Starts a child and waits until it ends or hangs.
fn one_child(arguments: &[String], places: &Places<'_>, limits: Limits) -> io::Result<End> {
    let said = places.scratch.join("said");
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said)?);
    // A backtrace would hide why it ended.
    command.env("RUST_BACKTRACE", "0");
    // Its own group, so that programs that it starts end with it.
    let mut child = command.process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let end = wait(&mut child, places, limits);
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
    Ok(match end? {
        Ok(status) if status.success() => End::Done,
        Ok(status) => End::Crash(reason(status, &said)),
        Err(why) => End::Hang(why),
    })
}

/// The status of a child that ended; an error if it hangs.
fn wait(child: &mut Child, places: &Places<'_>, limits: Limits) -> io::Result<Result<ExitStatus, String>> {
    let (mut tried, mut since, mut busy, mut looks) = (None, Instant::now(), Duration::ZERO, 0u32);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ok(status));
        }
        std::thread::sleep(LOOK);
        looks += 1;
        if !looks.is_multiple_of(100) {
            continue;
        }
        let now = read_record(&places.record()).map(|r| r.0.tried);
        let used = time_of(child.id());
        if now != tried {
            (tried, since, busy) = (now, Instant::now(), used);
        } else if used.saturating_sub(busy) > limits.busy {
            return Ok(Err(format!("takes more than {:?} of a processor", limits.busy)));
        } else if since.elapsed() > limits.waiting {
            return Ok(Err(format!("takes more than {:?}", limits.waiting)));
        }
    }
}

/// The time of a processor that a process has used.
fn time_of(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, which may hold spaces, is in parentheses. User and system time follow as fields 14
    // and 15, in hundredths of a second.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Why a child ended, with the last that it said.
fn reason(status: ExitStatus, said: &Path) -> String {
    let how = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, code) => format!("exit code {}", code.unwrap_or_default()),
    };
    let said = fs::read(said).unwrap_or_default();
    let said = String::from_utf8_lossy(&said[said.len().saturating_sub(2000)..]).into_owned();
    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    format!("{how}: {}", lines[lines.len().saturating_sub(3)..].join("; "))
}
