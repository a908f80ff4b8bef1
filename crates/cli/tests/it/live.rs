//! `timeplane live`: starts the separate program, and says how to install it if it is missing.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

/// Copies a program, in another process. If this process opened the copy for writing, children that
/// other tests fork meanwhile would inherit the file, and it could not be run (`ETXTBSY`).
fn install(from: impl AsRef<Path>, to: &Path) {
    assert!(Command::new("install").args(["-m", "755"]).arg(from.as_ref()).arg(to).status().unwrap().success());
}

/// Writes a script and makes it a program.
fn install_script(text: &str, to: &Path) {
    let draft = to.with_extension("sh");
    std::fs::write(&draft, text).unwrap();
    install(draft, to);
}

#[test]
fn live_is_a_program_beside_this_one() {
    let folder = std::env::temp_dir().join(format!("timeplane-cli-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = folder.join("timeplane");
    install(env!("CARGO_BIN_EXE_timeplane"), &own);
    let run = || {
        let out = Command::new(&own).args(["live", "lab", "--help", "a b"]).env("PATH", &folder).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    let (code, out, err) = run();
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("cargo install --path crates/lab") && err.contains("bash install.sh"), "{err}");
    let program = folder.join("timeplane-live");
    install_script("#!/bin/sh\nprintf '%s|' \"$@\"\nexit 7\n", &program);
    assert_eq!(run(), (Some(7), "lab|--help|a b|".to_owned(), String::new()));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn doctor_asks_the_program_for_real_hosts_and_is_well_where_that_is() {
    let folder = std::env::temp_dir().join(format!("timeplane-cli-doctor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = folder.join("timeplane");
    install(env!("CARGO_BIN_EXE_timeplane"), &own);
    let run = |arguments: &[&str]| {
        // Nothing in PATH: no clang, and no other program of that name.
        let out = Command::new(&own).arg("doctor").args(arguments).env("PATH", &folder).output().unwrap();
        (out.status.code(), String::from_utf8(out.stdout).unwrap())
    };
    let (code, out) = run(&[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("MISSING  clang for BPF") && out.contains("MISSING  timeplane-lab"), "{out}");
    let program = folder.join("timeplane-live");
    let script = "#!/bin/sh\n[ \"$*\" = \"doctor --json\" ] && echo '[{\"what\": \"gate\"}]' || echo \"works: $*\"\n";
    install_script(script, &program);
    let (code, out) = run(&[]);
    assert!(code == Some(0) && out.contains("works: doctor\n") && out.contains("simulations work"), "{out}");
    let (code, out) = run(&["--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["live"]["trials"][0]["what"]), (Some(0), &"gate".into()), "{out}");
    assert_eq!(json["build"][0]["works"], false, "{out}");
    install_script("#!/bin/sh\nexit 1\n", &program);
    assert_eq!(run(&[]).0, Some(1));
    std::fs::remove_dir_all(folder).unwrap();
}
