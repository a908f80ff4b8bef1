//! A scenario in a lab of namespaces: its results, and that nothing is left behind.

use crate::common::judged::{Expected, judge};
use crate::common::place::{PROGRAM, Place, columns, runs, summary};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration as Wait, Instant};
use timeplane_experiment::{self as experiment, Comparison, ExitCode};
use timeplane_lab::run::{self, Options, Progress};
use timeplane_live::daemons;
use timeplane_model::Duration;
use timeplane_results::Metric;
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;

/// Four hosts, slots that are long enough for daemons without real-time priority. Rounds are short,
/// as the first one is planned before all programs have begun to send.
fn scenario(bytes: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 4 }}
        rate = "20 Mb/s"
        [workload.shuffle]
        bytes = "{bytes}"
        [scheme.slots]
        transport.raw = {{ header = "38 B" }}
        [scheme.slots.plan.tdma]
        slot = "10 ms"
        guard = "1 ms"
        round_slots = 4
        control_latency = "1 ms"
        compute_time = "1 ms"
        signals = {{ hold = "20 ms", reaction.times = {{ off_least = "1 us", off_most = "100 us", on_least = "10 us", on_most = "150 us" }} }}
        [scheme.free]
        transport.tcp = {{}}
        "#
    )
}

/// `control_loss` of a scenario holds in a lab as well: signals get lost, slots with them, and no
/// byte.
#[test]
fn signals_get_lost_as_the_scenario_says() {
    let _turn = crate::turn();
    let place = Place::new("lloss");
    let set = ("scheme.slots.plan.tdma.control_loss".to_owned(), vec!["0.2".to_owned()]);
    let loaded = Loaded::from_file(place.file("50 kB"), &[set]).unwrap();
    let outcome = run::run(&loaded, &place.options(), &|| false, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
    let [(_, live)] = &outcome.live[..] else { panic!("{:?}", outcome.live) };
    assert_eq!((&live["ended"], &live["violations"]), (&"delivered".into(), &0.into()), "{live:#}");
    let [run] = &runs(&outcome.directory)[..] else { panic!("one run") };
    let pfc = &summary(run)["control_messages"]["pfc"];
    let (sent, lost) = (pfc["messages"].as_f64().unwrap(), pfc["lost"].as_f64().unwrap());
    // Of n signals a fifth, within five standard deviations; those before the loss began are none
    // of them.
    assert!(lost > 0.0 && lost < 0.2 * sent + 5.0 * (0.16 * sent).sqrt(), "{lost} of {sent}");
    assert_eq!(live["signals_lost"].as_f64(), Some(lost));
}

/// What a lab of this file's scenario adds to its place.
trait InPlace {
    /// The scenario, with so many bytes for each pair.
    fn file(&self, bytes: &str) -> PathBuf;
    /// Processes in its namespaces.
    fn pids(&self) -> Vec<u32>;
    /// Gates of its hosts that are pinned.
    fn pins(&self) -> Vec<PathBuf>;
}

impl InPlace for Place {
    fn file(&self, bytes: &str) -> PathBuf {
        let file = self.folder.join("small.toml");
        std::fs::write(&file, scenario(bytes)).unwrap();
        file
    }
    fn pids(&self) -> Vec<u32> {
        let of = |name: &String| {
            let out = Command::new("ip").args(["netns", "pids", name]).output().unwrap();
            String::from_utf8(out.stdout).unwrap().split_whitespace().map(|p| p.parse().unwrap()).collect::<Vec<_>>()
        };
        self.namespaces().iter().flat_map(of).collect()
    }
    fn pins(&self) -> Vec<PathBuf> {
        let pin = |name: &String| {
            let namespace = std::fs::File::open(Path::new("/run/netns").join(name)).ok()?;
            let inside = move || {
                setns(namespace, CloneFlags::CLONE_NEWNET).ok()?;
                let (root, name) = daemons::pin_of("eth0").ok()?;
                Some(root.join(name))
            };
            std::thread::spawn(inside).join().unwrap().filter(|p| p.is_dir())
        };
        self.namespaces().iter().filter(|n| n.contains("-h")).filter_map(pin).collect()
    }
}

/// Columns of a table, as numbers, by row.
fn numbers<const N: usize>(table: &Path, names: [&str; N]) -> Vec<[u64; N]> {
    let file = std::fs::File::open(table).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut rows = Vec::new();
    for batch in reader.map(Result::unwrap) {
        let columns = names.map(|name| {
            let column = arrow_cast::cast(batch.column_by_name(name).unwrap(), &arrow_schema::DataType::UInt64);
            column.unwrap().as_any().downcast_ref::<arrow_array::UInt64Array>().unwrap().clone()
        });
        rows.extend((0..batch.num_rows()).map(|row| std::array::from_fn(|c| columns[c].value(row))));
    }
    rows
}

/// Of the first scheme.
fn completion(outcome: &Comparison) -> f64 {
    let json = outcome.to_json();
    let lines = json["lines"].as_array().unwrap();
    lines[0]["metrics"][Metric::Completion.name()]["value"]["mean"].as_f64().unwrap_or_else(|| panic!("{json:#}"))
}

#[test]
fn a_lab_gives_the_tables_of_a_simulation_and_nobody_sends_in_a_foreign_slot() {
    let _turn = crate::turn();
    let place = Place::new("lrun");
    let set = ("record.queues_every".to_owned(), vec!["1 ms".to_owned()]);
    let loaded = Loaded::from_file(place.file("100 kB"), &[set]).unwrap();
    let options = place.options();
    let left_out = Mutex::new(Vec::new());
    let told = |p: Progress<'_>| {
        if let Progress::LeftOut(why) = p {
            left_out.lock().unwrap().push(why.to_owned());
        }
    };
    let outcome = run::run(&loaded, &options, &|| false, &told).unwrap_or_else(|e| panic!("{e}"));
    assert!(place.namespaces().is_empty());
    let left_out = left_out.into_inner().unwrap();
    assert_eq!(left_out[0], "record.queues_every: only a simulation has it");
    assert!(left_out.len() == 2 && left_out[1].contains("`free`"), "{left_out:?}");
    let [(_, live)] = &outcome.live[..] else { panic!("{:?}", outcome.live) };
    assert_eq!(live["ended"], "delivered", "{live:#}");
    assert_eq!(live["violations"], 0, "{live:#}");
    assert!(live["frames"].as_u64().unwrap() >= 12 * 69 && live["slots_used"].as_f64().unwrap() > 0.0, "{live:#}");
    let [run] = &runs(&outcome.directory)[..] else { panic!("one run") };
    let s = summary(run);
    assert_eq!((&s["flows"]["arrived"], &s["flows"]["finished"]), (&12.into(), &12.into()), "{s:#}");
    for what in ["packets", "bytes"] {
        let n = |part: &str| s[what][part].as_u64().unwrap();
        assert_eq!(n("sent"), n("delivered") + n("dropped") + n("in_flight"), "{s:#}");
    }
    assert!(s["bytes"]["delivered"].as_u64().unwrap() >= 12 * 100_000);
    // The same again is there already.
    let again = run::run(&loaded, &options, &|| false, &|_| {}).unwrap();
    assert_eq!((again.runs, again.cached), (1, 1));

    let simulated = experiment::Options::new(1, options.results.clone());
    let never = AtomicBool::new(false);
    let simulated = experiment::run(Simulator::default(), &loaded, &simulated, &never, &|_| {}).unwrap();
    let theirs = runs(&simulated.directory);
    let theirs = theirs.iter().find(|r| summary(r)["scheme"] == "slots").unwrap();
    for entry in std::fs::read_dir(theirs).unwrap().map(|e| e.unwrap().path()) {
        if entry.extension().is_some_and(|e| e == "parquet") {
            let mine = run.join(entry.file_name().unwrap());
            assert_eq!(columns(&mine).0, columns(&entry).0, "{}", mine.display());
        }
    }
    assert_eq!(columns(&run.join("flows.parquet")).1, 12);
    assert!(columns(&run.join("slots.parquet")).1 > 12);
    // Up and down of four hosts. What hosts have sent is on their links, and what they got; and
    // what was said to get it there.
    assert_eq!(columns(&run.join("links.parquet")).1, 8);
    let scheme = &s["control_messages"];
    let per_message = |kind: &str| {
        let n = |what: &str| scheme[kind][what].as_f64().unwrap_or_else(|| panic!("{kind}: {s:#}"));
        n("bytes") / n("messages")
    };
    // A report has a datagram's header and, of three destinations, 36 bytes at most; a signal is
    // the smallest frame.
    assert!(per_message("report") >= 84.0 && per_message("report") < 200.0, "{scheme:#}");
    assert_eq!(per_message("pfc"), 84.0, "{scheme:#}");
    let links = numbers(&run.join("links.parquet"), ["sent_packets", "sent_bytes", "busy_ps"]);
    let up = |column: usize| links.iter().step_by(2).map(|row| row[column]).sum::<u64>();
    assert!(up(0) >= s["packets"]["sent"].as_u64().unwrap(), "{links:?}");
    assert!(up(1) >= s["bytes"]["sent"].as_u64().unwrap(), "{links:?}");
    // 20 Mb/s are 400 ns a byte.
    assert!(links.iter().all(|row| row[2] == row[1] * 400_000), "{links:?}");
    let flows = numbers(&run.join("flows.parquet"), ["retransmissions"]);
    let resent: u64 = flows.iter().map(|row| row[0]).sum();
    assert!(resent <= live["frames_resent"].as_u64().unwrap(), "{resent} of {live:#}");
    let (mine, theirs) = (completion(&outcome.comparison), completion(&simulated.comparison));
    // 3 x 100 kB and their headers at 20 Mb/s.
    let bound = 3.0 * 100_000.0 * 8.0 / 20e6 * 1e3;
    let (slot, start) = (Duration::from_ms(10), Duration::from_ms(2 * 4 * 11));
    let expected = Expected { simulated: theirs / 1e9, bound, slot, start };
    judge(&expected, (live.clone(), mine / 1e9), |run| {
        let again = Options { results: place.folder.join(format!("again-{run}")), ..options.clone() };
        let outcome = run::run(&loaded, &again, &|| false, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
        (outcome.live[0].1.clone(), completion(&outcome.comparison) / 1e9)
    });
}

fn start(place: &Place, file: &Path) -> Child {
    Command::new(PROGRAM)
        .args(["lab", "--quiet", "--no-real-time", "--name", &place.name, "--results"])
        .arg(place.results())
        .arg(file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Wait::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Wait::from_millis(20));
    }
}

/// A controller and four agents, with their gates.
fn is_up(place: &Place) -> bool {
    place.pids().len() >= 5 && place.pins().len() == 4
}

#[test]
fn what_a_killed_lab_has_left_is_removed_by_the_next_one() {
    let _turn = crate::turn();
    let place = Place::new("lkill");
    let mut first = start(&place, &place.file("50 MB"));
    until("the first lab", || is_up(&place));
    // An agent that hears no signal, and a process that knows nothing of the lab.
    let out = Command::new("ip").args(["netns", "pids", &format!("{}-h1", place.name)]).output().unwrap();
    let agent: i32 = String::from_utf8(out.stdout).unwrap().trim().parse().unwrap();
    kill(Pid::from_raw(agent), Signal::SIGSTOP).unwrap();
    let namespace = format!("--net=/run/netns/{}-h0", place.name);
    let mut stray = Command::new("nsenter").args([&namespace, "--", "sleep", "600"]).spawn().unwrap();
    until("the stray process", || place.pids().contains(&stray.id()));
    let (pids, pins) = (place.pids(), place.pins());
    first.kill().unwrap();
    first.wait().unwrap();
    until("daemons end with their lab", || place.pids().len() == 2);
    assert!(!place.namespaces().is_empty() && !place.pins().is_empty());
    let second = start(&place, &place.file("10 kB")).wait().unwrap();
    stray.wait().unwrap();
    assert_eq!(second.code(), Some(0));
    assert_eq!(place.namespaces(), Vec::<String>::new());
    // One that has ended and that nobody has waited for yet is no more than a number.
    let runs = |p: &&u32| std::fs::read_to_string(format!("/proc/{p}/stat")).is_ok_and(|s| !s.contains(") Z "));
    let alive: Vec<&u32> = pids.iter().filter(runs).collect();
    assert!(alive.is_empty(), "{alive:?}");
    let kept: Vec<&PathBuf> = pins.iter().filter(|p| p.exists()).collect();
    assert!(kept.is_empty(), "{kept:?}");
    let folder = std::env::temp_dir().join(format!("timeplane-{}-{}", place.name, first.id()));
    assert!(!folder.exists());
}

#[test]
fn an_interrupt_takes_everything_down() {
    let _turn = crate::turn();
    let place = Place::new("lstop");
    let mut lab = start(&place, &place.file("50 MB"));
    until("the lab", || is_up(&place));
    let pins = place.pins();
    kill(Pid::from_raw(lab.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(lab.wait().unwrap().code(), Some(130));
    assert_eq!(place.namespaces(), Vec::<String>::new());
    assert!(!pins.iter().any(|p| p.exists()));
}

#[test]
fn what_a_lab_has_not_is_refused_before_anything_runs() {
    let _turn = crate::turn();
    let place = Place::new("lnot");
    let file = place.file("10 kB");
    for (set, said) in [
        (("fabric.topology", "{ leaf_spine = { leaves = 2, hosts_per_leaf = 2, spines = 1 } }"), "single_switch"),
        (("fabric.mtu", "9000 B"), "1500"),
        (("scheme.slots.plan.tdma.background", "{ below = \"1 kB\", rate = \"1 Mb/s\" }"), "none of the schemes"),
        (("scheme.slots.plan.tdma.receive", "{ buffer = \"1 MB\", drain = \"1 Gb/s\" }"), "none of the schemes"),
    ] {
        let overrides = [(set.0.to_owned(), vec![set.1.to_owned()])];
        let loaded = Loaded::from_file(&file, &overrides).unwrap_or_else(|e| panic!("{e}"));
        let e = run::run(&loaded, &place.options(), &|| false, &|_| {}).unwrap_err();
        assert!(e.exit_code() == ExitCode::Configuration && e.to_string().contains(said), "{e}");
    }
    let only = Options { schemes: vec!["slot".to_owned()], ..place.options() };
    let e = run::run(&Loaded::from_file(&file, &[]).unwrap(), &only, &|| false, &|_| {}).unwrap_err();
    assert!(e.to_string().contains("did you mean `slots`?"), "{e}");
    assert!(!place.results().exists());
}

#[test]
fn checks_of_a_scenario_hold_in_a_lab_too() {
    let _turn = crate::turn();
    let place = Place::new("lcheck");
    let check = |scheme: &str, most: &str| {
        format!("[[check]]\nmetric = \"completion\"\nscheme = \"{scheme}\"\nat_most = \"{most}\"\n")
    };
    let run = |checks: &[String]| {
        let file = place.folder.join("small.toml");
        std::fs::write(&file, scenario("10 kB") + "\n" + &checks.concat()).unwrap();
        let out = Command::new(PROGRAM)
            .args(["lab", "--quiet", "--no-real-time", "--name", &place.name, "--results"])
            .arg(place.results())
            .arg(&file)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    // No real host can have the second one.
    let (code, out, err) = run(&[check("slots", "1 us"), check("free", "1 us")]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(out.contains("1 of 1 check failed:\n  slots: completion is "), "{out}");
    assert!(err.contains("not checked: check.1: scheme `free` was not run"), "{err}");
    // Checks are no part of what a run depends on.
    let (code, out, err) = run(&[check("slots", "10 s")]);
    assert!(code == Some(0) && out.contains("1 check passed."), "{out}{err}");
    let (code, _, err) = run(&[check("slots", "10 Mb/s")]);
    assert!(code == Some(2) && err.contains("completion_ps expects a duration"), "{err}");
}

/// A host's agent, a wire and the controller fail and return, while the others go on: what is
/// delivered is whole, and nobody sends in a foreign slot.
#[test]
fn what_a_scenario_has_fail_fails_and_returns() {
    let _turn = crate::turn();
    let place = Place::new("lfail");
    let file = place.folder.join("small.toml");
    let failure = |element: &str, at: u32, until: u32| {
        format!("[[failure]]\nelement.{element}\nat = \"{at} ms\"\nuntil = \"{until} ms\"\n")
    };
    let failures =
        [failure("wire = 2", 300, 700), failure("controller = {}", 1000, 1300), failure("host = 3", 1800, 2200)];
    let failures = failures.concat().replace("element.controller = {}", "element = \"controller\"");
    std::fs::write(&file, scenario("1 MB") + "\n" + &failures).unwrap();
    let loaded = Loaded::from_file(&file, &[]).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run::run(&loaded, &place.options(), &|| false, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert!(place.namespaces().is_empty());
    let [(_, live)] = &outcome.live[..] else { panic!("{:?}", outcome.live) };
    assert_eq!((&live["violations"], &live["agents_killed"]), (&0.into(), &1.into()), "{live:#}");
    let [run] = &runs(&outcome.directory)[..] else { panic!("one run") };
    let s = summary(run);
    let n = |part: &str| s["packets"][part].as_u64().unwrap();
    assert_eq!(n("sent"), n("delivered") + n("dropped") + n("in_flight"), "{s:#}");
    // Flows of the host whose agent was killed may have failed with it; the six among the others
    // have not.
    let flows = numbers(&run.join("flows.parquet"), ["source", "destination", "size_bytes", "received_bytes"]);
    let others: Vec<_> = flows.iter().filter(|f| f[0] != 3 && f[1] != 3).collect();
    assert!(others.len() == 6 && others.iter().all(|f| f[2] == f[3]), "{flows:?}");
    // 3 MB at 20 Mb/s a host take 1.2 s at the least, and the controller was away.
    assert!(s["simulated_ps"].as_i64().unwrap() > 1_500_000_000_000, "{s:#}");

    std::fs::write(&file, scenario("10 kB") + "\n" + &failure("switch = 0", 10, 20)).unwrap();
    let loaded = Loaded::from_file(&file, &[]).unwrap_or_else(|e| panic!("{e}"));
    let e = run::run(&loaded, &place.options(), &|| false, &|_| {}).unwrap_err();
    let said = e.to_string();
    assert!(
        e.exit_code() == ExitCode::Configuration
            && said.contains("small.toml:")
            && said.contains("failure.0.element: a lab has one switch"),
        "{said}"
    );
}
