//! Texts of files reach the terminal without what a terminal would obey.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// ESC, BEL, CR, a control character of C1, and an override of the direction.
const HOSTILE: &str = "\u{1b}[2J\u{7}\r\u{9b}31m\u{202e}";
/// The same in TOML.
const WRITTEN: &str = r"\u001b[2J\u0007\r\u009b31m\u202e";
/// The same as it is shown.
const SHOWN: &str = r"\u{1b}[2J\u{7}\r\u{9b}31m\u{202e}";

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn scenario(more: &str) -> String {
    format!(
        r#"name = "quiet"
description = """
First{WRITTEN} line
second line"""
[fabric]
topology.single_switch = {{ hosts = 2 }}
rate = "10 Gb/s"
[workload.shuffle]
bytes = "10 kB"
[scheme.tcp]
transport.tcp = {{}}
[scheme.raw]
transport.raw = {{}}
{more}"#
    )
}

fn timeplane(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_timeplane")).current_dir(dir).args(arguments).output().unwrap()
}

/// Both outputs, in which nothing but ends of lines controls a terminal.
fn harmless(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8(both).unwrap();
    let bad = text.chars().find(|&c| c.is_control() && c != '\n' || c == '\u{202e}');
    assert_eq!(bad, None, "{text:?}");
    text
}

#[test]
fn texts_of_files_cannot_control_a_terminal() {
    let dir = folder("terminal");
    let file = format!("a{HOSTILE}.toml");
    std::fs::write(dir.join(&file), scenario("")).unwrap();
    for arguments in [&["run", &file, "--dry-run"][..], &["run", &file], &["validate", &file]] {
        let output = timeplane(&dir, arguments);
        assert!(output.status.success(), "{}", harmless(&output));
        let said = harmless(&output);
        assert!(said.contains(SHOWN), "{arguments:?}: {said}");
        if arguments[0] == "run" {
            assert!(said.contains("second line"), "{said}");
        }
    }
    // Results may come from elsewhere.
    let manifest = dir.join("results/quiet/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let hostile = serde_json::to_string(&format!("tcp{HOSTILE}")).unwrap();
    std::fs::write(&manifest, text.replace("\"scheme\": \"tcp\"", &format!("\"scheme\": {hostile}"))).unwrap();
    let said = harmless(&timeplane(&dir, &["compare", "results/quiet"]));
    assert!(said.contains(&format!("tcp{SHOWN}")), "{said}");
    // JSON has the same value, in other letters.
    let output = timeplane(&dir, &["compare", "results/quiet", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&harmless(&output)).unwrap();
    assert!(json["lines"].as_array().unwrap().iter().any(|line| line["scheme"] == format!("tcp{HOSTILE}")), "{json}");
    // Programs get the value as it is.
    let output = timeplane(&dir, &["compare", "results/quiet", "--csv"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains(HOSTILE));
    let output = timeplane(&dir, &["trace", "results/quiet", "--scheme", &format!("no{HOSTILE}")]);
    assert!(!output.status.success() && harmless(&output).contains(&format!("no{SHOWN}")));
}

#[test]
fn errors_quote_files_without_obeying_them() {
    let dir = folder("terminal-errors");
    for (more, code) in [
        (format!("[scheme.\"other{WRITTEN}\"]\ntransport.tcp.congestion = \"cu{WRITTEN}\""), 2),
        (format!("[scheme.other]\n\"ke{WRITTEN}y\" = 1"), 2),
        (format!("[scheme.\"other{WRITTEN}\"]\ntransport.tcp = {{}}"), 2),
        (format!("[scheme.other]\nfoo = {HOSTILE}"), 2),
        (format!("[scheme.other]\ntransport.tcp = {{}}\nfabric.rate = \"1{WRITTEN} Gb/s\""), 2),
    ] {
        std::fs::write(dir.join("wrong.toml"), scenario(&more)).unwrap();
        let output = timeplane(&dir, &["run", "wrong.toml"]);
        assert_eq!(output.status.code(), Some(code), "{}", harmless(&output));
        let said = harmless(&output);
        assert!(said.contains("\\u{1b}[2J") || more.contains(HOSTILE), "{said}");
    }
    // As a person sees it, with an excerpt of the file.
    let script = "timeplane run wrong.toml".replace("timeplane", env!("CARGO_BIN_EXE_timeplane"));
    std::fs::write(dir.join("wrong.toml"), scenario(&format!("[scheme.other]\n\"ke{WRITTEN}y\" = 1 # \u{202e}")))
        .unwrap();
    let output =
        Command::new("script").current_dir(&dir).args(["-qec", &script, "/dev/null"]).env("NO_COLOR", "1").output();
    let Ok(output) = output else { return println!("no program `script`: not tested") };
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    let bad = text.chars().find(|&c| c.is_control() && c != '\n' || c == '\u{202e}');
    assert!(bad.is_none() && text.contains("wrong.toml") && text.contains("unknown key"), "{text:?}");
}
