//! A scenario of the proxy in `timeplane live lab`: its results, and that nothing is left behind.

use crate::common::place::{PROGRAM, Place, columns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration as Wait, Instant};
use timeplane_experiment as experiment;
use timeplane_results::Store;
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;

/// What a run of the proxy adds to its place.
trait InPlace {
    fn command(&self, arguments: &[&str]) -> Command;
    fn start(&self, arguments: &[&str]) -> Child;
    /// Until its three namespaces are there.
    fn until_it_runs(&self);
}

impl InPlace for Place {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["lab", "--quiet", "--name", &self.name, "--results"]).arg(self.results());
        command.arg(scenario()).args(arguments);
        command
    }
    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::null()).spawn().unwrap()
    }
    fn until_it_runs(&self) {
        let began = Instant::now();
        while self.namespaces().len() < 3 {
            assert!(began.elapsed() < Wait::from_secs(60), "no lab within a minute");
            std::thread::sleep(Wait::from_millis(10));
        }
    }
}

fn scenario() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/proxy_live.toml")
}

#[test]
fn kernel_tcp_gives_the_tables_of_a_simulation_alone_and_steered() {
    let _turn = crate::turn();
    let place = Place::new("xrun");
    let arguments = ["--scheme", "cubic,reactive", "--set", "window.measure=3 s", "--json"];
    let out = place.command(&arguments).output().unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)));
    assert_eq!(
        (out.status.code(), &json["runs"], &json["interrupted"]),
        (Some(0), &2.into(), &false.into()),
        "{json:#}"
    );
    assert!(place.namespaces().is_empty());
    let of = |scheme: &str| {
        let runs = json["live"].as_array().unwrap();
        runs.iter().find(|r| r["scheme"] == scheme).unwrap_or_else(|| panic!("{json:#}"))["live"].clone()
    };
    let (cubic, reactive) = (of("cubic"), of("reactive"));
    assert_eq!((&cubic["policy"], &reactive["policy"]), (&"cubic".into(), &"reactive".into()));
    assert!(cubic["reports"].is_null() && reactive["reports"].as_u64().unwrap() > 10, "{json:#}");
    for live in [&cubic, &reactive] {
        let number = |key: &str| live[key].as_f64().unwrap_or_else(|| panic!("{key} in {live:#}"));
        // Rounded to 50 us.
        assert!(number("rtt_p50_us") >= number("base_rtt_us") && number("base_rtt_us") == 20_000.0, "{live:#}");
        assert!(number("goodput_bps") > 0.0 && number("goodput_bps") < number("capacity_bps"), "{live:#}");
    }

    let sets = [("window.measure".to_owned(), vec!["3 s".to_owned()])];
    let loaded = Loaded::from_file(scenario(), &sets).unwrap();
    let simulated = experiment::Options::new(1, place.results());
    let never = AtomicBool::new(false);
    let simulated = experiment::run(Simulator::default(), &loaded, &simulated, &never, &|_| {}).unwrap();
    let store = |name: &str| Store::open(&place.results(), name).unwrap();
    let (live, theirs) = (store("proxy_live-live"), store("proxy_live"));
    let manifest = live.manifest().unwrap().unwrap();
    let key = |store: &Store| store.manifest().unwrap().unwrap().runs[0].key.clone();
    let (mine, other) = (live.run_dir(&key(&live)), theirs.run_dir(&key(&theirs)));
    assert!(simulated.runs == 4 && other.is_dir());
    for entry in std::fs::read_dir(&other).unwrap().map(|e| e.unwrap().path()) {
        if entry.extension().is_some_and(|e| e == "parquet") {
            let mine = mine.join(entry.file_name().unwrap());
            assert_eq!(columns(&mine).0, columns(&entry).0, "{}", mine.display());
        }
    }
    assert_eq!(columns(&mine.join("flows.parquet")).1, 1);
    assert!(columns(&mine.join("rtt.parquet")).1 > 10);
    for summary in live.answers(&manifest.runs).unwrap() {
        assert!(summary.packets.is_balanced() && summary.bytes.is_balanced(), "{summary:?}");
        assert_eq!((summary.flows.arrived, summary.flows.unfinished), (1, 1));
        let goodput = summary.goodput_bps.unwrap();
        let same = of(&summary.scheme)["goodput_bps"].as_f64().unwrap();
        assert!((goodput - same).abs() <= 1e-6 * same, "{goodput} and {same}");
        assert!(summary.rtt_ps.unwrap().max >= summary.rtt_ps.unwrap().p99);
    }
    drop((live, theirs));
    // The same again is there already.
    let out = place.command(&arguments).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["cached"], 2);
}

#[test]
fn what_a_killed_lab_has_left_is_removed_by_the_next_one_and_an_interrupt_leaves_nothing() {
    let _turn = crate::turn();
    let place = Place::new("xkill");
    let mut first = place.start(&["--scheme", "reactive", "--set", "window.measure=60 s"]);
    place.until_it_runs();
    // One of a name at a time.
    let out = place.command(&[]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(1) && said.contains("is in use by another run"), "{said}");
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(place.namespaces().len(), 3);
    let second = place.start(&["--scheme", "reactive", "--set", "window.measure=1 s"]).wait().unwrap();
    assert_eq!(second.code(), Some(0));
    assert_eq!(place.namespaces(), Vec::<String>::new());

    let mut third = place.start(&["--scheme", "reactive", "--set", "window.measure=60 s"]);
    place.until_it_runs();
    kill(Pid::from_raw(third.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(third.wait().unwrap().code(), Some(130));
    assert_eq!(place.namespaces(), Vec::<String>::new());
}

#[test]
fn what_the_lab_has_not_is_refused_before_anything_runs() {
    let _turn = crate::turn();
    let place = Place::new("xnot");
    for (arguments, said) in [
        (&["--scheme", "reactiv"][..], "did you mean `reactive`?"),
        (&["--set", "workload={ shuffle = { bytes = \"1 MB\" } }"], "workload: it has no flow, or more than one"),
        (&["--set", "fabric.radio.link.0.trace.varied=true"], "varied"),
    ] {
        let out = place.command(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && stderr.contains(said), "{stderr}");
    }
    assert!(!place.results().exists());
}
