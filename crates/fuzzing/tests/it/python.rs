//! Stored results by the Python package: its tables as columns and as Arrow streams.
//!
//! An interpreter is a process of its own. It is asked for what an input replaced; where it ends
//! instead of an answer, that is an abort, and another one is started.

use crate::results::{inputs, simulated};
use crate::{parquet, results, seeds};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use timeplane_fuzzing::{Check, Fault, Format, Outcome, Subject, Target, put};

pub const TARGETS: &[Target] =
    &[Target { name: "python", format: Format::Bytes, ordinary: 200, memory: 0, prepare: read_by_python }];

/// An interpreter that has the package: that of the environment of all tests, or of a variable.
pub fn interpreter() -> Option<PathBuf> {
    let given = std::env::var_os("TIMEPLANE_PYTHON").map(PathBuf::from);
    // The environment may be there before the package is built into it.
    let has_package = |python: &PathBuf| {
        let found = "import importlib.util, sys; sys.exit(importlib.util.find_spec('timeplane') is None)";
        Command::new(python).args(["-c", found]).status().is_ok_and(|status| status.success())
    };
    given.or_else(|| Some(seeds::repository().join(".venv/bin/python")).filter(has_package))
}

/// An interpreter that reads results.
struct Reader {
    child: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Reader {
    fn start(results: &Path, log: &Path) -> Result<Self, String> {
        let python = interpreter().ok_or("there is no Python")?;
        let error = |e: std::io::Error| format!("{}: {e}", python.display());
        let mut command = Command::new(&python);
        command.arg(seeds::repository().join("python/tools/read_results.py")).arg(results);
        command.env("POLARS_MAX_THREADS", "1").env("OMP_NUM_THREADS", "1");
        let log_file = File::create(log).map_err(error)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log_file).spawn().map_err(error)?;
        let (Some(asked), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        let mut reader = Self { child, asked, answers: BufReader::new(answers), log: log.to_owned() };
        match reader.answer() {
            Ok(line) if line == "ready" => Ok(reader),
            other => Err(format!("{} does not read results: {other:?}", python.display())),
        }
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line).is_ok_and(|n| n > 0) {
            return Ok(line.trim_end().to_owned());
        }
        let status = self.child.wait().map_err(|e| e.to_string())?;
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let said = log.lines().rev().filter(|l| !l.trim().is_empty()).take(3).collect::<Vec<_>>().join("; ");
        Err(format!("Python ended with signal {:?}: {said}", status.signal()))
    }

    fn ask(&mut self, name: &str) -> Result<String, String> {
        // A reader that has ended is noticed when it gives no answer.
        let _ = writeln!(self.asked, "{name}");
        self.answer()
    }
}

fn read_by_python(folder: &Path) -> Subject {
    let results = simulated(folder);
    let run = results::first_run(&results);
    let mut files: Vec<(&'static str, PathBuf)> =
        results::names().into_iter().map(|name| (name, run.join(name).with_extension("parquet"))).collect();
    let mut seeds = inputs(&run, &results::names());
    for (name, path) in [("manifest", results.join("manifest.json")), ("summary", run.join("summary.json"))] {
        seeds.push([&[files.len() as u8][..], &seeds::read(&path)].concat());
        files.push((name, path));
    }
    let valid: Vec<Vec<u8>> = files.iter().map(|(_, path)| seeds::read(path)).collect();
    let log = folder.join("python.log");
    let start = move || Reader::start(&results, &log).unwrap_or_else(|e| panic!("{e}"));
    let mut reader = start();
    let check: Check = Box::new(move |input: &[u8]| {
        let Some((number, content)) = input.split_first() else { return Ok(Outcome::Refused("empty".to_owned())) };
        let number = usize::from(*number) % files.len();
        let (name, path) = &files[number];
        put(path, content);
        let answer = reader.ask(name);
        let is_table = path.extension().is_some_and(|e| e == "parquet");
        let refused = match &answer {
            Ok(line) if line.starts_with("error") && is_table => parquet::is_refused(path),
            _ => false,
        };
        put(path, &valid[number]);
        let answer = answer.map_err(|ended| {
            reader = start();
            Fault::Aborted(ended)
        })?;
        match answer.split_once(' ') {
            None => Ok(Outcome::Accepted),
            Some(("panic", why)) => Err(Fault::Wrong(format!("a panic reaches Python: {why}"))),
            Some((_, why)) if refused => Ok(Outcome::Refused(why.to_owned())),
            Some((_, why)) => Ok(Outcome::Parsed(why.to_owned())),
        }
    });
    Subject { seeds, words: Vec::new(), check }
}
