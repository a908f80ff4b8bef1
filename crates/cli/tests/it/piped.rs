//! Scenarios that come through a pipe.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
[fabric]
topology.single_switch = { hosts = 4 }
rate = "10 Gb/s"
[workload.shuffle]
bytes = "50 kB"
[scheme.cubic]
transport.tcp = {}
"#;

fn run(input: &str, arguments: &[&str]) -> Output {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("piped");
    fs::create_dir_all(&dir).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_timeplane"));
    command.current_dir(dir).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may refuse before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn standard_input_and_pipes_are_read() {
    let expected = "scenario  scenario\nfabric    single_switch: 4 hosts, 1 switch, 8 links at 10 Gb/s\n";
    // The shell's `<(...)` names a pipe as /dev/stdin does.
    for path in ["-", "/dev/stdin"] {
        let output = run(SCENARIO, &["run", path, "--dry-run"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.starts_with(expected), "{path}: {output:?}");
    }
}

#[test]
fn errors_of_standard_input_name_their_place() {
    let output = run(&SCENARIO.replace("10 Gb/s", "10G"), &["validate", "-"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("standard input:4:8") && said.contains("write `10G` as `10 Gb/s`"), "{said}");
}

#[test]
fn a_pipe_is_read_to_its_limit_only() {
    let output = run("", &["validate", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/dev/zero: cannot read the file: more than 67108864 B"));
}
