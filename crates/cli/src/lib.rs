//! The `timeplane` command: answers on stdout, everything else on stderr, and reliable exit codes.
//!
//! It is a library so that the Python package can offer the same command.

mod bench;
mod compare;
mod data;
mod doctor;
mod expected;
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
use timeplane_scenario::{Loaded, Preset, split_override};

/// Simulate data-center networks whose transmissions are planned in time.
#[derive(Debug, Parser)]
#[command(
    name = "timeplane",
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 success, 1 a run failed, 2 invalid scenario or command line, 3 a check failed, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a commented scenario to start from
    New(NewArgs),
    /// Run every scheme of a scenario with every seed and compare the results
    ///
    /// Completed runs are not repeated. After an interrupt, run the same command again to continue.
    Run(RunArgs),
    /// Run a scenario with many points, shared among machines or only until enough is known
    ///
    /// `run` also runs sweeps, on all cores of this machine. Either command reuses runs that the
    /// other has completed.
    Sweep(SweepArgs),
    /// Check a scenario and the files that it names without running it
    Validate(ValidateArgs),
    /// Compare the completed runs of one or more results folders
    Compare(CompareArgs),
    /// Write the results of one or more folders as one HTML page that works offline
    Report(ReportArgs),
    /// Draw a figure of results for a paper (needs the Python package)
    #[command(disable_help_flag = true)]
    Plot(PythonArgs),
    /// Convert input files of other simulators to a scenario (needs the Python package)
    #[command(disable_help_flag = true)]
    Import(PythonArgs),
    /// Write the flows of a scenario's workload as CSV, for other simulators
    ExportFlows(ExportArgs),
    /// Write bundled data as files
    #[command(subcommand)]
    Data(DataCommand),
    /// Write a timeline of runs for Perfetto: slots or circuits, queues, congestion windows
    ///
    /// The timeline is made from the tables of a results folder. It has queues and windows if the
    /// scenario records them (`record.queues_every`, `record.tcp_every`). Open it at
    /// ui.perfetto.dev.
    Trace(TraceArgs),
    /// Print the dissector of timeplane's frames for Wireshark and tshark, a Lua program
    ///
    /// Example: `timeplane dissector > ~/.local/lib/wireshark/plugins/timeplane.lua`.
    Dissector,
    /// Measure the speed of the simulator on this machine
    Bench(BenchArgs),
    /// List the names that scenarios can use (topologies, workloads, transports, schedulers,
    /// bundled data), and the tables and metrics of results
    List(ListArgs),
    /// Print the JSON Schema of scenario files
    Schema,
    /// Run planned schemes on real Linux hosts, or in a lab on this host
    #[command(disable_help_flag = true)]
    Live(LiveArgs),
    /// Check which features work on this machine
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    ///
    /// Bash reads it from ~/.local/share/bash-completion/completions/timeplane, or at once with
    /// `source <(timeplane completion bash)`. Zsh looks for `_timeplane` in a folder of `fpath`,
    /// fish for ~/.config/fish/completions/timeplane.fish.
    Completion(CompletionArgs),
    /// Write manual pages, one for each command
    Man(ManArgs),
    /// Run the study of a paper (needs the Python package)
    #[command(hide = true)]
    Study(PythonArgs),
}

/// A scenario and changes to it.
#[derive(Debug, Args)]
struct ScenarioArgs {
    /// The scenario, a TOML file; - reads standard input
    file: PathBuf,
    /// Change a value. Several values make a sweep, several keys a grid
    ///
    /// Examples: `--set workload.poisson.load=0.2,0.5`, `--set fabric.rate="10 Gb/s"`. Can be
    /// repeated.
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = split_override)]
    set: Vec<(String, Vec<String>)>,
    /// Give all schemes the host and control latencies of a machine, from a file that
    /// `timeplane live calibrate` has written
    #[arg(long, value_name = "FILE")]
    preset: Option<PathBuf>,
}

impl ScenarioArgs {
    fn load(&self) -> Result<Loaded, Failure> {
        self.load_with(&[])
    }

    /// Loads the scenario with more changes.
    fn load_with(&self, more: &[(String, Vec<String>)]) -> Result<Loaded, Failure> {
        let overrides = [&self.set[..], more].concat();
        Ok(match &self.preset {
            Some(preset) => Loaded::with_preset(&self.file, &Preset::from_file(preset)?, &overrides)?,
            None => Loaded::from_file(&self.file, &overrides)?,
        })
    }
}

#[derive(Debug, Args)]
struct NewArgs {
    /// The file to create; - prints the scenario
    #[arg(value_name = "FILE", default_value = "scenario.toml")]
    file: PathBuf,
    /// The template to start from
    #[arg(long, short, value_name = "NAME", default_value = new::TEMPLATES[0].name, value_parser = new::names())]
    template: String,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// List the templates and write nothing
    #[arg(long)]
    list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// The number of seeds, instead of the scenario's
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// The number of runs at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: Option<u32>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Show what would run, and how long it takes, from trials of three seconds in all
    ///
    /// With --quiet, there are no trials.
    #[arg(long)]
    dry_run: bool,
    /// The folder in which the results folder NAME is created
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Show no progress and no summary
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Args)]
struct SweepArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Stop each point when a metric is known this well for all schemes, such as fct_mean=5%
    ///
    /// 5 % is the half-width of the 95 % confidence interval over seeds, relative to the mean.
    /// Seeds are added in order, at least three and at most the scenario's number.
    #[arg(long, value_name = "METRIC=PERCENT", conflicts_with = "shard")]
    until: Option<Until>,
    /// Run only share I of N, as in an array of batch jobs. All shares can run at the same time and
    /// write to the same folder
    #[arg(long, value_name = "I/N", conflicts_with = "dask")]
    shard: Option<Shard>,
    /// Run on the workers of this Dask scheduler (needs the Python package)
    #[arg(long, value_name = "ADDRESS")]
    dask: Option<String>,
}

#[derive(Debug, Args)]
struct ValidateArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Print errors and warnings as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CompareArgs {
    /// Results folders, such as results/NAME
    ///
    /// If several folders have a scheme of the same name, the later ones are named `NAME (FOLDER)`.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The scheme that others are compared to [default: the first scheme of the first folder]
    #[arg(long, value_name = "SCHEME")]
    baseline: Option<String>,
    /// The metrics to show, see `timeplane list results` [default: chosen by the workload]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV: one row per point, scheme and metric
    #[arg(long)]
    csv: bool,
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// Results folders, such as results/NAME
    ///
    /// If several folders have a scheme of the same name, the later ones are named `NAME (FOLDER)`.
    #[arg(required = true, value_name = "RESULTS")]
    folders: Vec<PathBuf>,
    /// The file to write [default: report.html in the first folder]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The largest number of rows of each table over time (slots, queues, air), over all runs
    /// [default: 2,100,000]
    ///
    /// If there are more, the page shows the first part of each run and says where it ends.
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ExportArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// The file to write, with columns start_ps, source, destination, size_bytes and, if there are
    /// coflows, coflow
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The seed [default: the scenario's first]
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// Write a bundled trace, distribution or matrix as a file, to read or to change
    ///
    /// A scenario that names the file gets the same traffic as one that names the data.
    Export(DataExportArgs),
}

#[derive(Debug, Args)]
struct DataExportArgs {
    /// The data, as `timeplane list data` names it
    #[arg(value_name = "NAME", value_parser = data::names(), hide_possible_values = true)]
    name: String,
    /// The file to write; - prints it [default: its name in the source tree]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
struct TraceArgs {
    /// A results folder, such as results/NAME
    folder: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "timeplane.perfetto-trace")]
    output: PathBuf,
    /// The schemes to show [default: all]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    scheme: Vec<String>,
    /// The seed of the runs to show [default: the first]
    #[arg(long)]
    seed: Option<u64>,
    /// The runs to show: their keys in the manifest, which are the names of the folders in `runs`
    /// [default: those of the first point]
    #[arg(long, value_name = "KEY,..", value_delimiter = ',', conflicts_with_all = ["scheme", "seed"])]
    run: Vec<String>,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// Take a smaller measurement of a few seconds
    #[arg(long)]
    quick: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// List only this
    #[arg(value_enum)]
    what: Option<list::What>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct LiveArgs {
    /// A command of `timeplane-lab` or `timeplane-live` and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CompletionArgs {
    /// Shell that the script is for
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
struct ManArgs {
    /// The folder to write to, created if it is missing; `man` looks in ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Arguments of a command that the Python package has.
#[derive(Debug, Args)]
struct PythonArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

fn needs_python(what: &str) -> Failure {
    Failure::configuration(format!(
        "{what} need the Python package: run `pip install '.[plot]'` in a clone of timeplane"
    ))
}

/// Runs the command and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are errors, too; clap prints each to the right stream.
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
        // The Python package takes these three before they come here.
        Command::Import(_) => Err(needs_python("imports")),
        Command::Plot(_) => Err(needs_python("figures")),
        Command::Study(_) => Err(needs_python("studies")),
        Command::Data(DataCommand::Export(args)) => data::export(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Dissector => output::data(include_str!("../../../data/wireshark/timeplane.lua")),
        Command::Bench(args) => bench::bench(&args),
        Command::List(args) => list::list(&args),
        Command::Schema => output::json(&timeplane_scenario::schema()),
        Command::Live(args) => live::live(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completion(args) => manual::completion(Cli::command(), args.shell),
        Command::Man(args) => manual::pages(Cli::command(), &args.folder),
    };
    match done {
        Ok(()) => ExitCode::Ok.into(),
        Err(failure) => failure.report().into(),
    }
}
