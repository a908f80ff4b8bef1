//! The fault matrix: daemons die, freeze, lose their network or their disk, and what that costs, as
//! a table. All faults at 20 rounds each take 20 minutes. Needs root and nft.
//!
//! ```sh
//! cargo build --release -p timeplane-lab
//! cargo run --release -p timeplane-lab --example faults
//! ```
//!
//! Each finished round is a line of `rounds.jsonl` in the folder of results. A run that was
//! interrupted goes on where it was, and the tables are those of all rounds in the folder.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use timeplane_lab::bed::{self, Bed};
use timeplane_lab::faults::{self, FAULTS, Fault, Round, Rounds, Row, row, text};
use timeplane_live::daemons::Failure;
use timeplane_live::service::Stop;

#[derive(Debug, Parser)]
#[command(about = "Run daemons through faults and print what each of them costs", max_term_width = 100)]
struct Arguments {
    /// Number of rounds of each fault
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// Run only the faults whose names contain one of these
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// List the faults and exit
    #[arg(long)]
    list: bool,
    /// Folder of results; rounds in it are not run again
    #[arg(long, default_value = "target/faults")]
    results: PathBuf,
    /// The program timeplane-lab; by default the one that was built with this one
    #[arg(long)]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Failure> {
    let arguments = Arguments::parse();
    if arguments.list {
        FAULTS.iter().for_each(|f| println!("{:24} {}", f.name, f.about));
        return Ok(ExitCode::SUCCESS);
    }
    let program = bed::program(arguments.program)?;
    let chosen = |f: &&Fault| arguments.only.is_empty() || arguments.only.iter().any(|name| f.name.contains(name));
    let faults: Vec<&Fault> = FAULTS.iter().filter(chosen).collect();
    if faults.is_empty() {
        let names: Vec<&str> = FAULTS.iter().map(|f| f.name).collect();
        return Err(format!("no fault has a name with {:?}: expected {}", arguments.only, names.join(", ")).into());
    }
    std::fs::create_dir_all(&arguments.results)?;
    let stop = Stop::on_signals()?;
    let mut rounds = read(&arguments.results)?;
    let bar = ProgressBar::new(u64::from(arguments.rounds) * faults.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} (about {eta} left) {msg}")?);
    for fault in &faults {
        bar.set_message(fault.name);
        run(fault, arguments.rounds, &program, &arguments.results, &mut rounds, &stop, &bar)?;
    }
    bar.finish_and_clear();
    let rows: Vec<Row> = faults.iter().filter_map(|fault| sum_up(fault, &rounds)).collect();
    write(&arguments.results, &rows)?;
    println!("{}", text(&rows));
    let clean = rounds.iter().all(Round::is_clean);
    if stop.is_set() {
        eprintln!("interrupted: the same command goes on");
    }
    Ok(ExitCode::from(u8::from(!clean || stop.is_set())))
}

fn read(results: &Path) -> Result<Vec<Round>, Failure> {
    let path = results.join("rounds.jsonl");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path)?;
    let place = |line: usize, e| format!("{}:{line}: {e}: expected a round; remove the line", path.display());
    let parse = |(line, text)| serde_json::from_str(text).map_err(|e| place(line, e).into());
    (1..).zip(text.lines()).map(parse).collect()
}

/// The missing rounds of a fault, until told to stop.
fn run(
    fault: &Fault,
    count: u32,
    program: &Path,
    results: &Path,
    rounds: &mut Vec<Round>,
    stop: &Stop,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let mut file = std::fs::File::options().create(true).append(true).open(results.join("rounds.jsonl"))?;
    let name = format!("tpfault{}", std::process::id());
    let mut current: Option<(Bed, Rounds)> = None;
    for round in 0..count {
        if rounds.iter().any(|r| (r.fault.as_str(), r.round) == (fault.name, round)) {
            bar.inc(1);
            continue;
        }
        if stop.is_set() {
            return Ok(());
        }
        let (mut bed, mut of_bed) = match current.take() {
            Some(current) => current,
            None => (faults::bed(program, &name, fault)?, Rounds::default()),
        };
        // A bed that cannot be changed or repaired is a round that has not recovered.
        let failed = |e: Failure| {
            let (fault, examples) = (fault.name.to_owned(), vec![e.to_string()]);
            Round { fault, round, examples, ..Round::default() }
        };
        let outcome = of_bed.run(&mut bed, fault, round).unwrap_or_else(failed);
        // An interrupt ends the daemons too.
        if stop.is_set() {
            return Ok(());
        }
        if !outcome.is_clean() {
            bed.copy_logs(&results.join("logs").join(format!("{}-{round}", fault.name)))?;
        }
        // A bed that has not recovered would spoil the next rounds.
        current = outcome.recovered.then_some((bed, of_bed));
        writeln!(file, "{}", serde_json::to_string(&outcome)?)?;
        rounds.push(outcome);
        bar.inc(1);
    }
    Ok(())
}

fn sum_up(fault: &Fault, rounds: &[Round]) -> Option<Row> {
    let of: Vec<&Round> = rounds.iter().filter(|r| r.fault == fault.name).collect();
    (!of.is_empty()).then(|| row(fault.name, &of))
}

fn write(results: &Path, rows: &[Row]) -> Result<(), Failure> {
    std::fs::write(results.join("faults.txt"), text(rows) + "\n")?;
    std::fs::write(results.join("faults.json"), serde_json::to_string_pretty(rows)? + "\n")?;
    let values = rows.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = values.first().and_then(|v| v.as_object()) else { return Ok(()) };
    let mut csv = first.keys().cloned().collect::<Vec<_>>().join(",") + "\n";
    for value in values.iter().filter_map(|v| v.as_object()) {
        let cells = value.values().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
        csv += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    Ok(std::fs::write(results.join("faults.csv"), csv)?)
}
