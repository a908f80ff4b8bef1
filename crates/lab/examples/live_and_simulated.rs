//! Labs on top of simulations of the same scenarios, as a table: completion, fill, the share of
//! circuits and round trips, with the daemons' own lag and the machine's pressure in each row.
//!
//! Repetitions give the ratio of live to simulated a confidence interval of 95 % (Student). A row
//! is judged only where the daemons kept up. In each repetition, a woken daemon has to wait for a
//! core for less than [`LAG`] of a slot on average. The schedule may slip by [`SLIP`] of the
//! completion. Its first argument is the program `timeplane-lab`. Needs root.
//!
//! The simulated hosts have the latencies of this machine, from a preset that the program measures
//! at the start or that `--preset` names. The control latency stays that of the file, as the lab's
//! controllers plan with it too.

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use clap::Parser;
use comfy_table::{Table, presets};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration as Wait, Instant};
use timeplane_experiment as experiment;
use timeplane_live::daemons::Failure;
use timeplane_scenario::{Loaded, Preset};
use timeplane_sim::Simulator;

/// Share of a slot that daemons may wait for a core, on average.
const LAG: f64 = 0.05;
/// Share of the completion by which the schedule may slip.
const SLIP: f64 = 0.02;
/// Deviation of live from simulated that is accepted.
const WITHIN: f64 = 0.1;
/// Quantile 0.975 of Student's distribution, by degrees of freedom from 1.
const STUDENT: [f64; 9] = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
/// Frames of the MTU that a slot holds at least. Where the links are too slow for that, they are
/// faster.
const FRAMES: u64 = 4;
/// Bytes of a frame of the MTU on the wire.
const FRAME: u64 = 1538;
const COLUMNS: [&str; 15] = [
    "plan",
    "hosts",
    "slot us",
    "Mb/s",
    "live ms",
    "simulated ms",
    "ratio",
    "fill live",
    "simulated",
    "circuits or RTT p50, live",
    "simulated",
    "lag us",
    "slipped ms; cores; pressure",
    "CPU us a frame",
    "within 10 %",
];

#[derive(Parser)]
struct Args {
    /// The program timeplane-lab
    program: PathBuf,
    #[arg(long, value_delimiter = ',', default_values_t = [4, 6, 8, 12])]
    hosts: Vec<u64>,
    /// Lengths of slots in microseconds
    #[arg(long, value_delimiter = ',', default_values_t = [2000, 1000, 300])]
    slots: Vec<u64>,
    #[arg(long, value_delimiter = ',', default_values_t = ["tdma", "rates", "circuits", "proxy"].map(str::to_owned))]
    plans: Vec<String>,
    /// Repetitions of each lab, 2 to 10
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=10))]
    repeat: u8,
    /// Rate of the hosts' links in Mb/s. Short slots have faster links
    #[arg(long, default_value_t = 50)]
    rate: u64,
    /// Latencies of this machine, as `timeplane live calibrate` writes them [default: measured
    /// first]
    #[arg(long)]
    preset: Option<PathBuf>,
    /// Start no further row after this time
    #[arg(long, default_value_t = 9.5)]
    minutes: f64,
}

/// A row of the table.
struct Row {
    plan: String,
    hosts: u64,
    slot_us: u64,
    rate: u64,
}

/// What one run gave.
#[derive(Default)]
struct Figures {
    completion_ms: f64,
    /// Payload over what all hosts' links carry until completion.
    fill: f64,
    /// The share of bytes over circuits, or the median round trip in ms.
    other: Option<f64>,
    /// Mean wait of a woken daemon for a core, in us.
    lag_us: f64,
    slipped_ms: f64,
    /// Share of the time in which some task of the machine waited for a core.
    pressure: f64,
    /// Cores that daemons and programs kept busy.
    cores: f64,
    /// CPU time of daemons over frames.
    frame_us: f64,
}

fn main() -> Result<(), Failure> {
    let args = Args::parse();
    let place = std::env::temp_dir().join(format!("tp-live-sim-{}", std::process::id()));
    std::fs::create_dir_all(&place)?;
    let began = Instant::now();
    let preset = preset(&args, &place)?;
    let mut rows: Vec<Row> = Vec::new();
    let row = |plan: &str, hosts, slot_us: u64| {
        let least = (FRAMES * FRAME * 8).div_ceil(slot_us);
        let rate = if plan == "tdma" { args.rate.max(least) } else { args.rate };
        Row { plan: plan.to_owned(), hosts, slot_us, rate }
    };
    for plan in &args.plans {
        match plan.as_str() {
            "proxy" => rows.push(row(plan, 2, 1000)),
            "tdma" | "rates" | "circuits" => {
                rows.extend(args.hosts.iter().flat_map(|h| args.slots.iter().map(|s| row(plan, *h, *s))));
            }
            other => return Err(format!("unknown plan `{other}`: expected tdma, rates, circuits or proxy").into()),
        }
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(COLUMNS);
    for row in rows {
        if began.elapsed().as_secs_f64() > 60.0 * args.minutes {
            eprintln!("out of time: {} of {} hosts and later rows are left out", row.plan, row.hosts);
            break;
        }
        let cells = measured(&row, &args, &preset, &place).unwrap_or_else(|e| {
            let place = [row.plan.clone(), row.hosts.to_string(), row.slot_us.to_string(), row.rate.to_string()];
            place.into_iter().chain([e.to_string()]).collect()
        });
        eprintln!("{}", cells.join(" | "));
        table.add_row(cells);
    }
    println!("{table}");
    std::fs::remove_dir_all(&place)?;
    Ok(())
}

/// The given preset, or a new one of this machine.
fn preset(args: &Args, place: &Path) -> Result<Preset, Failure> {
    let file = match &args.preset {
        Some(file) => file.clone(),
        None => {
            let file = place.join("machine.toml");
            let calibrated = Command::new(&args.program).arg("calibrate").arg(&file).stdin(Stdio::null()).output()?;
            if !calibrated.status.success() {
                let said = String::from_utf8_lossy(&calibrated.stderr);
                return Err(format!("calibrate ended with {}: {}", calibrated.status, said.trim()).into());
            }
            eprint!("{}", String::from_utf8_lossy(&calibrated.stdout));
            file
        }
    };
    Ok(Preset::from_file(file)?)
}

fn measured(row: &Row, args: &Args, preset: &Preset, place: &Path) -> Result<Vec<String>, Failure> {
    let file = row.file(place)?;
    let simulated = simulate(row, preset, &file, &place.join(format!("s-{}-{}-{}", row.plan, row.hosts, row.slot_us)))?;
    let runs: Vec<Figures> = (0..args.repeat)
        .map(|n| {
            let results = place.join(format!("l-{}-{}-{}-{n}", row.plan, row.hosts, row.slot_us));
            live(row, &args.program, &file, &results)
        })
        .collect::<Result<_, _>>()?;
    let mean = |of: &dyn Fn(&Figures) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    // Of the proxy, whose runs take as long as they are told, goodput is compared.
    let value = |f: &Figures| if row.plan == "proxy" { f.fill } else { f.completion_ms };
    let ratio = mean(&value) / value(&simulated);
    let variance = runs.iter().map(|f| (value(f) / value(&simulated) - ratio).powi(2)).sum::<f64>();
    let (n, most) = (runs.len() as f64, |of: &dyn Fn(&Figures) -> f64| runs.iter().map(of).fold(0.0, f64::max));
    let half = STUDENT[runs.len() - 2] * (variance / (n - 1.0) / n).sqrt();
    let keeps_up = runs.iter().all(|f| f.lag_us < LAG * row.slot_us as f64 && f.slipped_ms <= SLIP * f.completion_ms);
    let judged = match (keeps_up, (ratio - 1.0).abs() <= WITHIN) {
        (false, _) => "not judged: the machine was late",
        (true, true) => "yes",
        (true, false) => "NO",
    };
    let other = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
    let others: Option<Vec<f64>> = runs.iter().map(|f| f.other).collect();
    let others = others.map(|o| o.iter().sum::<f64>() / n);
    let frame_us = mean(&|f| f.frame_us);
    Ok(vec![
        row.plan.clone(),
        row.hosts.to_string(),
        row.slot_us.to_string(),
        if row.plan == "proxy" { "air".to_owned() } else { row.rate.to_string() },
        format!("{:.0}", mean(&|f| f.completion_ms)),
        format!("{:.0}", simulated.completion_ms),
        format!("{ratio:.3} +- {half:.3}"),
        format!("{:.3}", mean(&|f| f.fill)),
        format!("{:.3}", simulated.fill),
        other(others),
        other(simulated.other),
        format!("{:.0}, at most {:.0}", mean(&|f| f.lag_us), most(&|f| f.lag_us)),
        format!("{:.1}; {:.2}; {:.0} %", most(&|f| f.slipped_ms), mean(&|f| f.cores), 100.0 * mean(&|f| f.pressure)),
        if frame_us.is_finite() { format!("{frame_us:.0}") } else { "-".to_owned() },
        judged.to_owned(),
    ])
}

impl Row {
    /// Writes the scenario of a row. Each host sends for 600 ms at the rate of its link.
    fn file(&self, place: &Path) -> Result<PathBuf, Failure> {
        if self.plan == "proxy" {
            return Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/proxy_live.toml"));
        }
        let Self { plan, hosts, slot_us, rate } = self;
        let bytes = 600_000 * rate / 8 / (hosts - 1) / 1000 * 1000;
        let topology = match plan.as_str() {
            "circuits" => format!(
                "hybrid = {{ tors = {hosts}, hosts_per_tor = 1, packet_rate = \"{} kb/s\", dark.fixed = \"2 ms\", \
                 multiplexer_frames = 4 }}",
                rate * 100
            ),
            _ => format!("single_switch.hosts = {hosts}"),
        };
        let reaction = "signals.reaction.times = { off_least = \"1 us\", off_most = \"30 us\", on_least = \"10 us\", \
                        on_most = \"110 us\" }";
        let keys = match plan.as_str() {
            "tdma" => format!(
                "tdma]\nround_slots = {hosts}\nslot = \"{slot_us} us\"\nguard = \"200 us\"\ncontrol_latency = \"1 ms\"\n\
                 compute_time = \"1 ms\"\nsignals.hold = \"5 ms\"\n{reaction}\n"
            ),
            "rates" => format!(
                "rates]\ncontrol_latency = \"1 ms\"\nevery = \"{slot_us} us\"\nreport_every = \"{} us\"\n",
                // Hosts that repeat reports before an answer can come only keep each other busy.
                // The check of scenarios wants four latencies.
                (2 * slot_us).max(4000)
            ),
            _ => format!(
                "circuits]\nperiod = \"{} us\"\ndark = \"10 ms\"\nleast_open = \"20 ms\"\ncontrol_latency = \"6 ms\"\n\
                 compute_time = \"1 ms\"\n{reaction}\n",
                // Shorter periods have no room for two configurations.
                (60 * slot_us).max(80_000)
            ),
        };
        let text = format!(
            "[fabric]\ntopology.{topology}\nrate = \"{rate} Mb/s\"\npropagation = \"5 us\"\n[workload.shuffle]\n\
             bytes = \"{bytes} B\"\n[scheme.{plan}]\ntransport.raw.header = \"38 B\"\n[scheme.{plan}.plan.{keys}"
        );
        let file = place.join(format!("{plan}{hosts}x{slot_us}.toml"));
        std::fs::write(&file, text)?;
        Ok(file)
    }

    /// What a completed run says.
    fn figures(&self, run: &Path) -> Result<Figures, Failure> {
        let summary: Value = serde_json::from_str(&std::fs::read_to_string(run.join("summary.json"))?)?;
        let number = |key: &str| summary[key].as_f64().ok_or_else(|| format!("no `{key}` in {}", run.display()));
        if self.plan == "proxy" {
            // The link has 1 Gb/s at most.
            let rtt = summary["rtt_ps"]["p50"].as_f64().map(|ps| ps / 1e9);
            let fill = number("goodput_bps")? / 1e9;
            return Ok(Figures {
                completion_ms: number("simulated_ps")? / 1e9,
                fill,
                other: rtt,
                ..Figures::default()
            });
        }
        if summary["flows"]["arrived"] != summary["flows"]["finished"] {
            return Err(format!("flows are not finished: {}", summary["flows"]).into());
        }
        let completion_ms = number("completion_ps")? / 1e9;
        let bytes = 600_000 * self.rate / 8 / (self.hosts - 1) / 1000 * 1000 * (self.hosts - 1);
        let fill = bytes as f64 * 8.0 / (self.rate as f64 * 1e3 * completion_ms);
        Ok(Figures { completion_ms, fill, ..Figures::default() })
    }
}

fn simulate(row: &Row, preset: &Preset, file: &Path, results: &Path) -> Result<Figures, Failure> {
    let mut overrides = preset.overrides(&Loaded::from_file(file, &row.overrides())?.scenario);
    overrides.retain(|(key, _)| key.ends_with(".host.latency"));
    overrides.extend(row.overrides());
    let loaded = Loaded::from_file(file, &overrides)?;
    let options = experiment::Options::new(1, results);
    let outcome = experiment::run(Simulator::default(), &loaded, &options, &AtomicBool::new(false), &|_| {})?;
    let run = only_run(&outcome.directory, &row.scheme())?;
    let mut figures = row.figures(&run)?;
    if row.plan == "circuits" {
        let switch = loaded.scenario.fabric.build()?.circuit_switch().map(|node| node.0);
        figures.other = Some(circuit_share(&run, row.hosts as u32, switch)?);
    }
    Ok(figures)
}

impl Row {
    fn scheme(&self) -> String {
        if self.plan == "proxy" { "reactive".to_owned() } else { self.plan.clone() }
    }
    /// The proxy runs for three seconds.
    fn overrides(&self) -> Vec<(String, Vec<String>)> {
        let measure = ("window.measure".to_owned(), vec!["3 s".to_owned()]);
        if self.plan == "proxy" { vec![measure] } else { Vec::new() }
    }
}

/// The share of what hosts have sent that crossed the circuit switch.
fn circuit_share(run: &Path, hosts: u32, switch: Option<u32>) -> Result<f64, Failure> {
    let file = std::fs::File::open(run.join("links.parquet"))?;
    let (mut sent, mut by_circuit) = (0, 0);
    for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
        let batch = batch?;
        let column = |name| batch.column_by_name(name).ok_or_else(|| format!("no column `{name}`"));
        let (from, to) = (column("from")?.as_primitive::<UInt32Type>(), column("to")?.as_primitive::<UInt32Type>());
        let bytes = column("sent_bytes")?.as_primitive::<UInt64Type>();
        for row in 0..batch.num_rows() {
            sent += if from.value(row) < hosts { bytes.value(row) } else { 0 };
            by_circuit += if Some(to.value(row)) == switch { bytes.value(row) } else { 0 };
        }
    }
    Ok(by_circuit as f64 / sent as f64)
}

/// The folder of the one complete run of a scheme.
fn only_run(results: &Path, scheme: &str) -> Result<PathBuf, Failure> {
    for entry in std::fs::read_dir(results.join("runs"))? {
        let folder = entry?.path();
        let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap_or_default();
        let json: Value = serde_json::from_str(&summary).unwrap_or_default();
        if json["scheme"] == scheme {
            return Ok(folder);
        }
    }
    Err(format!("no run of `{scheme}` in {}", results.display()).into())
}

fn live(row: &Row, program: &Path, file: &Path, results: &Path) -> Result<Figures, Failure> {
    let mut command = Command::new(program);
    let name = format!("tplas{}", std::process::id());
    command.arg("lab").arg(file).args(["--quiet", "--json", "--name", &name, "--scheme", &row.scheme()]);
    for (key, values) in row.overrides() {
        command.arg("--set").arg(format!("{key}={}", values.concat()));
    }
    let log = std::fs::File::create(results.with_extension("log"))?;
    command.arg("--results").arg(results).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let (before, began) = (pressure_us()?, Instant::now());
    let mut lab = command.spawn()?;
    let mut waits: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    let status = loop {
        add_waits(lab.id(), &mut waits);
        match lab.try_wait()? {
            Some(status) => break status,
            None => std::thread::sleep(Wait::from_millis(100)),
        }
    };
    let took_us = began.elapsed().as_micros() as f64;
    let pressure = (pressure_us()? - before) / took_us;
    if !status.success() {
        let said = std::fs::read_to_string(results.with_extension("log"))?;
        return Err(format!("the lab ended with {status}: {}", said.trim()).into());
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let run = only_run(&results.join(format!("{stem}-live")), &row.scheme())?;
    let live: Value = serde_json::from_str(&std::fs::read_to_string(run.join("live.json"))?)?;
    let (ran, waited, times) = waits.values().fold((0, 0, 0), |sum, w| (sum.0 + w.0, sum.1 + w.1, sum.2 + w.2));
    let mut figures = Figures { pressure, ..row.figures(&run)? };
    figures.lag_us = waited as f64 / 1e3 / times.max(1) as f64;
    figures.cores = ran as f64 / 1e3 / took_us;
    let frames: u64 =
        live["agents"].as_array().into_iter().flatten().filter_map(|a| a["agent"]["frames"].as_u64()).sum();
    figures.frame_us = live["load"]["cpu_ms"].as_f64().unwrap_or(f64::NAN) * 1e3 / frames.max(1) as f64;
    figures.slipped_ms = live["slipped_us"].as_f64().unwrap_or(0.0) / 1e3;
    if row.plan == "circuits" {
        figures.other = live["circuit_share"].as_f64();
    }
    Ok(figures)
}

/// The time in which some task has waited for a core, since the start of the machine.
fn pressure_us() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/pressure/cpu")?;
    let total = text.lines().next().and_then(|line| line.rsplit_once("total="));
    Ok(total.ok_or("no total in /proc/pressure/cpu")?.1.trim().parse()?)
}

/// Reads how long the threads of a process and of its descendants have run and waited for a core in
/// ns, and how often they have run, by thread.
fn add_waits(root: u32, waits: &mut BTreeMap<String, (u64, u64, u64)>) {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (process, parent)));
    }
    let mut ours = vec![root];
    let mut at = 0;
    while let Some(&parent) = ours.get(at) {
        ours.extend(parents.iter().filter(|(_, p)| **p == parent).map(|(process, _)| *process));
        at += 1;
    }
    for process in ours {
        for task in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let numbers: Vec<u64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
            if let [ran, waited, times] = numbers[..] {
                waits.insert(task.path().display().to_string(), (ran, waited, times));
            }
        }
    }
}
