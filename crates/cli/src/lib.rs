//! The `timeplane` command: answers on stdout, everything else on stderr, and an exit code that scripts can trust.
//!
//! It is a library so that the Python package can offer the same command.

mod bench;
mod compare;
mod doctor;
mod export;
mod fail;
mod list;
mod live;
mod manual;
mod new;
mod output;
mod preview;
mod progress;
mod report;
mod run;
mod sweep;
mod trace;

use clap::{Args, CommandFactory, Parser, Subcommand};
use fail::Failure;
use std::ffi::OsString;
use std::path::PathBuf;
use timeplane_experiment::{ExitCode, Shard, Until};
use timeplane_scenario::{Loaded, split_override};

/// Simulates data-center networks whose transmissions are planned in time.
#[derive(Debug, Parser)]
#[command(
    name = "timeplane",
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 ok, 1 a run failed, 2 the scenario or the command line is wrong, 3 a check is not met, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Writes a commented scenario to start from
    New(NewArgs),
    /// Runs every scheme of a scenario with every seed and compares them
    ///
    /// Runs that are complete already are not run again; after an interrupt, the same command goes on.
    Run(RunArgs),
    /// Runs a scenario of many points: shared among machines, or ended when enough is known
    ///
    /// As `run`, which runs a sweep on all cores of this machine; what one has run, the other need not.
    Sweep(SweepArgs),
    /// Checks a scenario and everything that it names, and runs nothing
    Validate(ValidateArgs),
    /// Compares the complete runs of results folders again, of several side by side
    Compare(CompareArgs),
    /// Writes results as one HTML page that works offline, of several folders side by side
    Report(ReportArgs),
    /// Writes the flows of a scenario's workload as CSV, for other simulators
    ExportFlows(ExportArgs),
    /// Writes a timeline of runs for Perfetto: slots or circuits, queues, TCP's windows
    ///
    /// It is made of the tables of a folder of results; queues and windows are there where they were recorded (`record.queues_every`,
    /// `record.tcp_every`). Open it in the browser at ui.perfetto.dev.
    Trace(TraceArgs),
    /// Prints the dissector by which Wireshark and tshark read our frames, a Lua program
    ///
    /// As `timeplane dissector > ~/.local/lib/wireshark/plugins/timeplane.lua`.
    Dissector,
    /// Measures the speed of the engine on this machine
    Bench(BenchArgs),
    /// Lists what scenarios can name: topologies, workloads, schemes, schedulers, bundled data; and what results hold
    List(ListArgs),
    /// Prints the JSON Schema of scenario files
    Schema,
    /// Runs planned schemes on real Linux hosts, or in a lab on this one
    #[command(disable_help_flag = true)]
    Live(LiveArgs),
    /// Says what of timeplane works on this machine, found out by trying
    Doctor(DoctorArgs),
    /// Prints a script with which a shell completes this command
    ///
    /// Bash reads it from ~/.local/share/bash-completion/completions/timeplane, or at once: `source <(timeplane completion bash)`. Zsh looks for
    /// _timeplane in a folder of `fpath`, fish for ~/.config/fish/completions/timeplane.fish.
    Completion(CompletionArgs),
    /// Writes manual pages, one for each command
    Man(ManArgs),
    /// Runs a study of a paper (the Python package does)
    #[command(hide = true)]
    Study(StudyArgs),
}

/// A scenario and what is changed in it.
#[derive(Debug, Args)]
struct ScenarioArgs {
    /// The scenario, a TOML file
    file: PathBuf,
    /// Changes a value; several values are tried one after the other, several keys make a grid
    ///
    /// As `--set workload.poisson.load=0.2,0.5` or `--set fabric.rate="10 Gb/s"`. May be given several times.
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = split_override)]
    set: Vec<(String, Vec<String>)>,
}

impl ScenarioArgs {
    fn load(&self) -> Result<Loaded, Failure> {
        Ok(Loaded::from_file(&self.file, &self.set)?)
    }
}

#[derive(Debug, Args)]
struct NewArgs {
    /// The file, which must not be there yet; - prints the scenario
    #[arg(value_name = "FILE", default_value = "scenario.toml")]
    file: PathBuf,
    /// What to start from
    #[arg(long, short, value_name = "NAME", default_value = new::TEMPLATES[0].name, value_parser = new::names())]
    template: String,
    /// Replaces a file that is there
    #[arg(long)]
    force: bool,
    /// Lists the templates, and writes nothing
    #[arg(long)]
    list: bool,
    /// Prints the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// How many seeds, instead of the scenario's own number
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Runs at the same time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: Option<u32>,
    /// Prints the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Says what would run, and runs nothing
    #[arg(long)]
    dry_run: bool,
    /// Folder in which results/NAME is made
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Args)]
struct SweepArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Ends each point at the seed with which this is known for all schemes, such as fct_mean=5%
    ///
    /// 5 % is half of the 95 % interval of the mean over seeds. Seeds are looked at in order, from the third on, up to the scenario's number.
    #[arg(long, value_name = "METRIC=PERCENT", conflicts_with = "shard")]
    until: Option<Until>,
    /// Runs only share I of N, as in an array of batch jobs; all shares may run at the same time, into the same folder
    #[arg(long, value_name = "I/N", conflicts_with = "dask")]
    shard: Option<Shard>,
    /// Runs on the workers of this Dask scheduler (the Python package does)
    #[arg(long, value_name = "ADDRESS")]
    dask: Option<String>,
}

#[derive(Debug, Args)]
struct ValidateArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Prints what is wrong as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CompareArgs {
    /// Folders of results, as results/NAME
    ///
    /// Schemes that a folder before has as well are named `NAME (FOLDER)`.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The scheme that differences are to [default: the first of the first folder]
    #[arg(long, value_name = "CONTROL")]
    baseline: Option<String>,
    /// Columns, by the names that `list results` shows [default: the usual ones]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Prints JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Prints CSV: one row per point, scheme and metric
    #[arg(long)]
    csv: bool,
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// Folders of results, as results/NAME
    ///
    /// Schemes that a folder before has as well are named `NAME (FOLDER)`.
    #[arg(required = true, value_name = "RESULTS")]
    folders: Vec<PathBuf>,
    /// The page [default: report.html in the first folder]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Rows of each table over time (slots, queues, air) that the page holds, of all runs together [default: 2,100,000]
    ///
    /// Where there are more, runs are shown from their begin, and the page says until where.
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ExportArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Where to: columns start_ps, source, destination, size_bytes, and coflow where there are any
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The seed, instead of the scenario's first
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Debug, Args)]
struct TraceArgs {
    /// A folder of results, as results/NAME
    folder: PathBuf,
    /// Where to
    #[arg(long, short, value_name = "FILE", default_value = "timeplane.perfetto-trace")]
    output: PathBuf,
    /// Only these schemes [default: all]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    scheme: Vec<String>,
    /// The runs of this seed [default: the first one]
    #[arg(long)]
    seed: Option<u64>,
    /// These runs, by their keys in the manifest, as the folders in `runs` are named [default: those of the first point]
    #[arg(long, value_name = "KEY,..", value_delimiter = ',', conflicts_with_all = ["scheme", "seed"])]
    run: Vec<String>,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// A smaller measurement, in a few seconds
    #[arg(long)]
    quick: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only this
    #[arg(value_enum)]
    what: Option<list::What>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct LiveArgs {
    /// A command of `timeplane-lab` or `timeplane-live`, and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct DoctorArgs {
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
struct ManArgs {
    /// The folder for them, which is made where it is missing; `man` looks in ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
struct StudyArgs {
    /// Its name, and arguments of its own
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the command and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version come this way, too; clap knows where each belongs.
            let _ = e.print();
            return e.exit_code().try_into().unwrap_or(ExitCode::Configuration.into());
        }
    };
    let done = match cli.command {
        Command::New(args) => new::new(&args),
        Command::Run(args) => run::run(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Validate(args) => preview::validate(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Report(args) => report::report(&args),
        Command::ExportFlows(args) => export::export(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Dissector => output::text(include_str!("../../../data/wireshark/timeplane.lua")),
        Command::Bench(args) => bench::bench(&args),
        Command::List(args) => list::list(&args),
        Command::Schema => output::json(&timeplane_scenario::schema()),
        Command::Live(args) => live::live(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completion(args) => manual::completion(Cli::command(), args.shell),
        Command::Man(args) => manual::pages(Cli::command(), &args.folder),
        Command::Study(_) => Err(Failure::configuration(
            "studies are Python programs: the Python package runs them, `pip install .` in a clone of timeplane",
        )),
    };
    match done {
        Ok(()) => ExitCode::Ok.into(),
        Err(failure) => failure.report().into(),
    }
}
