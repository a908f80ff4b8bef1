//! The scenarios of `new` run; completion scripts and manual pages are accepted by shells and
//! `man`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("timeplane-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn timeplane(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        said(Command::new(env!("CARGO_BIN_EXE_timeplane")).args(arguments).current_dir(&self.0).output().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Removes the `#` in front of TOML; prose has a space after it, and the schema's name a colon.
fn with_more(text: &str) -> String {
    let line = |l: &str| match l.strip_prefix('#') {
        Some(rest) if !rest.starts_with([' ', ':']) && !rest.is_empty() => rest.to_owned(),
        _ => l.to_owned(),
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

#[test]
fn every_template_runs_with_and_without_what_is_left_out() {
    let folder = Folder::new("templates");
    let (code, json, _) = folder.timeplane(&["new", "--list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(code == Some(0) && names.len() >= 9, "{json}");
    for name in names {
        let file = format!("{name}.toml");
        let (code, _, err) = folder.timeplane(&["new", &file, "--template", name]);
        assert_eq!(code, Some(0), "{err}");
        let text = std::fs::read_to_string(folder.0.join(&file)).unwrap();
        assert!(!text.contains("@FILE") && !text.contains("@RESULTS"), "{text}");
        assert!(text.lines().filter(|l| l.contains('#')).count() >= 5, "{name} explains little");
        let run = |file: &str| {
            let (code, out, err) = folder.timeplane(&["run", file, "--seeds", "1", "--quiet"]);
            assert_eq!(code, Some(0), "{file}: {err}");
            assert_eq!(err, "", "{file}: what one starts from is not doubtful");
            assert!(out.contains("measured flows"), "{file} prints no table:\n{out}");
            out
        };
        let plain = run(&file);
        assert!(!plain.contains("unfinished") || name == "circuits" || name == "proxy", "{plain}");
        let more = with_more(&text);
        if more != text {
            std::fs::write(folder.0.join("more.toml"), more).unwrap();
            assert!(run("more.toml").contains("check"), "the check that is left out is one");
        }
    }
}

#[test]
fn a_file_that_is_there_stays() {
    let folder = Folder::new("new");
    let read = |file: &str| std::fs::read_to_string(folder.0.join(file)).unwrap();
    std::fs::write(folder.0.join("scenario.toml"), "mine").unwrap();
    let (code, out, err) = folder.timeplane(&["new"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("scenario.toml exists already") && err.contains("--force"), "{err}");
    assert_eq!(read("scenario.toml"), "mine");
    assert_eq!(folder.timeplane(&["new", "--force"]).0, Some(0));
    assert!(read("scenario.toml").contains("#   timeplane run scenario.toml "));
    assert_eq!(folder.timeplane(&["new", "-"]).1, read("scenario.toml"), "- prints it");

    let (code, _, err) = folder.timeplane(&["new", "no/such.toml"]);
    assert!(code == Some(2) && err.contains("its folder does not exist"), "{err}");
    let (code, _, err) = folder.timeplane(&["new", "a.toml", "--template", "timeslot"]);
    assert!(code == Some(2) && err.contains("'timeslots'"), "{err}");
    assert!(!folder.0.join("a.toml").exists());

    // A name that a shell would not take as it is, nor a comment.
    assert_eq!(folder.timeplane(&["new", "a b\nseeds = 99.toml"]).0, Some(0));
    let text = read("a b\nseeds = 99.toml");
    assert!(text.contains("#   timeplane run 'a b?seeds = 99.toml'") && !text.contains("\nseeds = 99"), "{text}");
    assert_eq!(folder.timeplane(&["new", "it's.toml", "--template", "lab"]).0, Some(0));
    assert!(read("it's.toml").contains(r"`timeplane live lab 'it'\''s.toml'`"));
}

#[test]
fn bash_completes() {
    let folder = Folder::new("bash");
    let (code, script, _) = folder.timeplane(&["completion", "bash"]);
    assert_eq!(code, Some(0));
    std::fs::write(folder.0.join("timeplane.bash"), script).unwrap();
    // What bash does when a user presses the tab key behind these words.
    let ask = r#"
        source timeplane.bash && complete -p timeplane || exit 1
        press() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _timeplane timeplane "${@: -1}" "${@: -2:1}"; echo "${COMPREPLY[*]}"; }
        press timeplane swe
        press timeplane new --template t
        press timeplane run --dry
        press timeplane completion f
    "#;
    let bash = |arguments: &[&str]| said(Command::new("bash").args(arguments).current_dir(&folder.0).output().unwrap());
    assert_eq!(bash(&["-n", "timeplane.bash"]), (Some(0), String::new(), String::new()));
    let (code, out, err) = bash(&["--norc", "--noprofile", "-c", ask]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].contains("-F _timeplane"), "{out}");
    assert_eq!(lines[1..], ["sweep", "tdma timeslots training", "--dry-run", "fish"]);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let (code, script, err) = folder.timeplane(&["completion", shell]);
        assert!(code == Some(0) && script.contains("export-flows"), "{shell}: {err}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new("man");
    let (code, out, err) = folder.timeplane(&["man", "share/man1"]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    let help = folder.timeplane(&["help"]).1;
    let commands = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let commands = commands.filter(|l| !l.starts_with("     ")).filter_map(|l| l.split_whitespace().next());
    let of_parts = ["timeplane.1".to_owned(), "timeplane-data-export.1".to_owned()];
    let wanted: BTreeSet<String> =
        commands.filter(|c| *c != "help").map(|c| format!("timeplane-{c}.1")).chain(of_parts).collect();
    let pages = Path::new(&folder.0).join("share/man1");
    let found: BTreeSet<String> =
        std::fs::read_dir(&pages).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, wanted);
    for page in &found {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
            assert!(text.contains(part), "{page} has no {part}");
        }
        if has("groff") {
            // All warnings: nothing is said of a right page.
            let (code, _, err) = said(
                Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z", page]).current_dir(&pages).output().unwrap(),
            );
            assert_eq!((code, err.as_str()), (Some(0), ""), "{page}");
        }
    }
}
