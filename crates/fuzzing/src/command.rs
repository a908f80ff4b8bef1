//! The command line of a test binary that fuzzes: chooses targets, and is also the child.
//!
//! Options of libtest that `cargo test` may pass are accepted and change nothing.

use crate::child::{self, Places, Work};
use crate::table;
use crate::target::Target;
use crate::watch::{Amount, Limits, fuzz};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
Fuzz parsers: all of them, or those whose names contain a NAME

usage: cargo test --release -p timeplane-fuzzing --test it -- [OPTIONS] [NAME]...

  --inputs N     try N inputs for each parser
  --seconds S    try each parser for S seconds
  --seed N       choose other inputs
  --table FILE   also append the table to a file
  --list         list the parsers
";

/// The stack of the thread that tries inputs, as threads have it.
const STACK: usize = 2 << 20;

#[derive(Default)]
struct Arguments {
    names: Vec<String>,
    exact: bool,
    inputs: Option<u64>,
    seconds: Option<f64>,
    seed: u64,
    table: Option<PathBuf>,
    list: bool,
    help: bool,
    // Of a child.
    child: Option<String>,
    scratch: PathBuf,
    round: u64,
    fixed: u64,
    tried: Option<PathBuf>,
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("invalid value `{text}` of {name}: expected a number"))
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut parsed = Arguments { seed: 1, ..Arguments::default() };
    let mut rest = arguments;
    while let Some(argument) = rest.next() {
        let (name, given) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value = || given.clone().or_else(|| rest.next()).ok_or(format!("missing value of {name}"));
        match name.as_str() {
            "--inputs" => parsed.inputs = Some(number(&name, &value()?)?),
            "--seconds" => parsed.seconds = Some(number(&name, &value()?)?),
            "--seed" => parsed.seed = number(&name, &value()?)?,
            "--round" => parsed.round = number(&name, &value()?)?,
            "--fixed" => parsed.fixed = number(&name, &value()?)?,
            "--table" => parsed.table = Some(value()?.into()),
            "--child" => parsed.child = Some(value()?),
            "--scratch" => parsed.scratch = value()?.into(),
            "--try" => parsed.tried = Some(value()?.into()),
            "--list" => parsed.list = true,
            "--exact" => parsed.exact = true,
            "--help" | "-h" => parsed.help = true,
            // Of libtest.
            "--test-threads" | "--format" | "--skip" | "--color" | "-Z" => drop(value()?),
            "--nocapture" | "--no-capture" | "--quiet" | "-q" | "--include-ignored" | "--show-output" => {}
            "--ignored" => parsed.names.push("\0".to_owned()),
            name if name.starts_with('-') => return Err(format!("unknown option {name}\n\n{HELP}")),
            _ => parsed.names.push(name),
        }
    }
    Ok(parsed)
}

/// Runs the command line of this process. `corpus` has a folder for each target. Exits with code 1
/// if anything was found.
pub fn run(targets: &[Target], corpus: &Path) -> ExitCode {
    let done = parse(std::env::args().skip(1)).and_then(|arguments| {
        if arguments.help {
            print!("{HELP}");
            return Ok(true);
        }
        match &arguments.child {
            Some(name) => be_child(targets, name, &arguments).map(|()| true),
            None => be_parent(targets, corpus, &arguments),
        }
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn be_child(targets: &[Target], name: &str, arguments: &Arguments) -> Result<(), String> {
    let target = targets.iter().find(|t| t.name == name).ok_or(format!("unknown parser `{name}`"))?;
    let work = Work {
        seed: arguments.seed,
        round: arguments.round,
        fixed: arguments.fixed,
        inputs: arguments.inputs.unwrap_or(0),
        time: arguments.seconds.map(Duration::from_secs_f64),
    };
    let places = Places { scratch: &arguments.scratch };
    let trying = || match &arguments.tried {
        None => child::work(target, &places, &work).map_err(|e| e.to_string()),
        Some(file) => {
            let input = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
            child::try_one(target, &places, &input).map_or(Ok(()), Err)
        }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, trying);
        thread.map_err(|e| e.to_string())?.join().unwrap_or_else(|_| Err("the parser cannot be set up".to_owned()))
    })
}

fn be_parent(targets: &[Target], corpus: &Path, arguments: &Arguments) -> Result<bool, String> {
    let names = |t: &&Target| {
        let fits = |n: &String| if arguments.exact { t.name == n } else { t.name.contains(n.as_str()) };
        arguments.names.is_empty() || arguments.names.iter().any(fits)
    };
    let chosen: Vec<&Target> = targets.iter().filter(names).collect();
    if arguments.list {
        chosen.iter().for_each(|t| println!("{}: test", t.name));
        return Ok(true);
    }
    let write = |text: &str| -> io::Result<()> {
        print!("{text}");
        io::stdout().flush()?;
        match &arguments.table {
            Some(file) => OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes()),
            None => Ok(()),
        }
    };
    let failed = |e: io::Error| e.to_string();
    if !chosen.is_empty() {
        write(&table::head()).map_err(failed)?;
    }
    let mut clean = true;
    for target in chosen {
        let time = arguments.seconds.map(Duration::from_secs_f64);
        let inputs = arguments.inputs.unwrap_or(if time.is_some() { u64::MAX } else { target.ordinary });
        let amount = Amount { seed: arguments.seed, inputs, time };
        let report = fuzz(target, &corpus.join(target.name), amount, Limits::default());
        let report = report.map_err(|e| format!("{}: {e}", target.name))?;
        write(&table::line(target, &report)).map_err(failed)?;
        clean &= report.found.is_empty();
        for (why, path) in &report.found {
            eprintln!("{}: {why}\n  {}", target.name, path.display());
        }
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Arguments, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_have_values_in_both_forms() {
        let a = of("--inputs=5 --seconds 1.5 scenario --test-threads 2 --nocapture").unwrap();
        assert_eq!((a.inputs, a.seconds, a.names.as_slice()), (Some(5), Some(1.5), &["scenario".to_owned()][..]));
        assert_eq!(of("--inputs x").err().unwrap(), "invalid value `x` of --inputs: expected a number");
        assert!(of("--wrong").err().unwrap().starts_with("unknown option --wrong"));
        assert_eq!(of("--seed").err().unwrap(), "missing value of --seed");
    }
}
