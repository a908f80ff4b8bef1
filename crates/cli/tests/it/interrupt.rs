//! An interrupt keeps completed runs, and a closed stderr changes nothing.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
seeds = 5000

[fabric]
topology.single_switch = { hosts = 8 }
rate = "10 Gb/s"

[workload.shuffle]
bytes = "1 MB"
jitter = "20 us"

[scheme.cubic]
transport.tcp = {}
"#;

/// Folders of complete runs.
fn complete(folder: &Path) -> usize {
    let runs = std::fs::read_dir(folder.join("runs"));
    let name = |e: std::fs::DirEntry| e.file_name().to_string_lossy().into_owned();
    runs.map_or(0, |d| d.flatten().map(name).filter(|n| !n.starts_with('.')).count())
}

#[test]
fn an_interrupt_keeps_complete_runs() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupt");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("many.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_timeplane"))
        .args(["run", "--jobs", "1", "--results"])
        .arg(&dir)
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let folder = dir.join("many");
    let begin = Instant::now();
    while complete(&folder) < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no run is complete after a minute");
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    let kept = complete(&folder);
    assert!((3..5000).contains(&kept), "{kept}");
    assert!(said.contains(&format!("interrupted: {kept} of 5000 runs are complete")), "{said}");
    // Completed runs are compared, and the next command continues with the others.
    assert!(String::from_utf8(output.stdout).unwrap().contains("cubic"));
    let again = Command::new(env!("CARGO_BIN_EXE_timeplane"))
        .args(["run", "--seeds", "3", "--results"])
        .arg(&dir)
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(0));
    assert!(String::from_utf8(again.stderr).unwrap().contains("3 runs, complete before"));
}

#[test]
fn a_closed_stderr_changes_nothing() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("closed");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("few.toml");
    std::fs::write(&file, SCENARIO.replace("seeds = 5000", "seeds = 3")).unwrap();
    for arguments in [vec!["run"], vec!["run", "--fresh-nothing"], vec!["validate"]] {
        // The other end of this pipe is closed before the command writes its first message.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_timeplane"));
        command.args(&arguments).arg(&file).stdout(Stdio::piped()).stderr(writer);
        if arguments[0] == "run" {
            command.arg("--results").arg(&dir);
        }
        let output = command.output().unwrap();
        let expected = if arguments.len() == 1 { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
    }
    assert_eq!(complete(&dir.join("few")), 3);
}
