//! A sweep that is killed or fills the disk keeps its completed runs. The same command then ends
//! with the same files as an undisturbed sweep.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Twelve runs of some 100 ms, with tables of some 100 kB.
const SCENARIO: &str = r#"
name = "sweep"
seeds = 6
[fabric]
topology.single_switch = { hosts = 8 }
rate = "10 Gb/s"
switch.buffer.per_port = "100 kB"
[workload.poisson]
load = 0.6
sizes.exponential = "10 kB"
[window]
measure = "20 ms"
drain = "1 ms"
[scheme.datagrams]
transport.datagrams = {}
[scheme.cubic]
transport.tcp = { min_rto = "5 ms" }
"#;
const RUNS: usize = 12;

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("sweep.toml"), SCENARIO).unwrap();
    dir
}

/// The command in a folder, with results in `results` there, and one run at a time.
fn timeplane(dir: &Path, results: &str) -> Command {
    timeplane_with(dir, results, "1")
}

fn timeplane_with(dir: &Path, results: &str, jobs: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timeplane"));
    command.current_dir(dir).args(["run", "sweep.toml", "--quiet", "--jobs", jobs, "--results", results]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Folders of complete runs.
fn complete(results: &Path) -> Vec<String> {
    let runs = std::fs::read_dir(results.join("sweep/runs")).map(|d| d.flatten().collect()).unwrap_or_else(|_| vec![]);
    let names = runs.into_iter().map(|e| e.file_name().to_string_lossy().into_owned());
    names.filter(|n| !n.starts_with('.')).collect()
}

/// Every file under a folder, by its path there; without the lock, which names its last process.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_none_or(|n| n != ".timeplane-results") {
                all.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

fn same(found: &Path, expected: &Path) {
    let (found, expected) = (files(found), files(expected));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (path, bytes) in &found {
        assert!(*bytes == expected[path], "{} differs", path.display());
    }
}

#[test]
fn a_killed_sweep_goes_on_to_the_same_files() {
    let dir = folder("killed");
    // Finished runs become durable in groups: the sweep must take longer than a slow disk needs.
    std::fs::write(dir.join("sweep.toml"), SCENARIO.replace("20 ms", "80 ms")).unwrap();
    let whole = timeplane(&dir, "whole").output().unwrap();
    assert!(whole.status.success(), "{}", said(&whole));
    // Killed twice, each time in the middle of a run, without a chance to tidy up.
    for at in [3, 7] {
        let mut child = timeplane(&dir, "killed").spawn().unwrap();
        let begin = Instant::now();
        while complete(&dir.join("killed")).len() < at {
            assert!(begin.elapsed() < Duration::from_secs(60), "it takes too long");
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!((at..RUNS).contains(&complete(&dir.join("killed")).len()));
    }
    let resumed = timeplane(&dir, "killed").output().unwrap();
    assert!(resumed.status.success(), "{}", said(&resumed));
    assert_eq!(resumed.stdout, whole.stdout);
    same(&dir.join("killed/sweep"), &dir.join("whole/sweep"));
}

/// Runs whose last file is written, by key, with when it was: those in their place, and those that
/// wait for it.
fn finished(results: &Path) -> [BTreeMap<String, SystemTime>; 2] {
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    for entry in std::fs::read_dir(results.join("sweep/runs")).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        // A file that is cut off does not end like this.
        let summary = entry.path().join("summary.json");
        let whole = std::fs::read_to_string(&summary).is_ok_and(|text| text.ends_with("\"\n}\n"));
        if let Ok(about) = std::fs::metadata(&summary)
            && whole
        {
            let waits = name.strip_prefix(".partial-").map(|rest| rest[..16].to_owned());
            found[usize::from(waits.is_some())].insert(waits.unwrap_or(name), about.modified().unwrap());
        }
    }
    found
}

#[test]
fn many_kills_lose_no_finished_run() {
    let dir = folder("kills");
    let many = SCENARIO.replace("20 ms", "1 ms").replace("seeds = 6", "seeds = 100");
    std::fs::write(dir.join("sweep.toml"), many).unwrap();
    let whole = timeplane(&dir, "whole").output().unwrap();
    assert!(whole.status.success(), "{}", said(&whole));
    let results = dir.join("killed");
    let (mut kills, mut waited, mut most) = (0, 0, 0);
    loop {
        let before = finished(&results);
        let mut child = timeplane_with(&dir, "killed", "2").spawn().unwrap();
        // Each kill comes after a few more runs, and at another moment of a group.
        let wanted = before[0].len() + before[1].len() + 3 + kills % 7;
        let ended = loop {
            if child.try_wait().unwrap().is_some() {
                break true;
            }
            let now = finished(&results);
            if now[0].len() + now[1].len() >= wanted {
                break false;
            }
            std::thread::sleep(Duration::from_millis(1 + kills as u64 % 5));
        };
        if ended {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let now = finished(&results);
        // What was finished before has not been run again.
        for (key, when) in before.iter().flatten() {
            assert_eq!(now[0].get(key), Some(when), "{key}, after {kills} kills");
        }
        waited += now[1].len();
        most = most.max(now[1].len());
    }
    println!("{kills} kills: {waited} finished runs were not in their place, up to {most} at once; 0 lost");
    assert!(kills >= 5, "{kills}");
    same(&dir.join("killed/sweep"), &dir.join("whole/sweep"));
}

/// On a file system of 900 kB, mounted in a namespace of this process. Skipped if that is not
/// allowed.
#[test]
fn a_full_disk_keeps_complete_runs() {
    let dir = folder("full");
    let whole = timeplane(&dir, "whole").output().unwrap();
    assert!(whole.status.success(), "{}", said(&whole));
    std::fs::create_dir_all(dir.join("small")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=900k none small || exit 77
        "$0" run sweep.toml --quiet --jobs 1 --results small
        code=$?
        cp -r small kept
        exit $code
    "#;
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, env!("CARGO_BIN_EXE_timeplane")])
        .current_dir(&dir)
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(77) && !said(&output).starts_with("unshare") => output,
        _ => return println!("no mounts here: not tested"),
    };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let message = said(&output);
    assert!(message.starts_with("error: ") && message.contains("no space left to write"), "{message}");
    assert!(message.trim().lines().count() == 1, "{message}");
    let kept = complete(&dir.join("kept"));
    assert!(!kept.is_empty() && kept.len() < RUNS, "{} runs", kept.len());
    for run in &kept {
        same(&dir.join("kept/sweep/runs").join(run), &dir.join("whole/sweep/runs").join(run));
    }
    // With room again, the rest follows.
    let resumed = timeplane(&dir, "kept").output().unwrap();
    assert!(resumed.status.success(), "{}", said(&resumed));
    same(&dir.join("kept/sweep"), &dir.join("whole/sweep"));
}
