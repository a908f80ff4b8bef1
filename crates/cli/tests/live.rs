//! `timeplane live`: starts the program of its own, and says how to get it where it is missing.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn live_is_a_program_beside_this_one() {
    let folder = std::env::temp_dir().join(format!("timeplane-cli-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = folder.join("timeplane");
    std::fs::copy(env!("CARGO_BIN_EXE_timeplane"), &own).unwrap();
    let run = || {
        let out = Command::new(&own).args(["live", "lab", "--help", "a b"]).env("PATH", &folder).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    let (code, out, err) = run();
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("cargo install --path crates/live") && err.contains("bash install.sh"), "{err}");
    let program = folder.join("timeplane-live");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(), (Some(7), "lab|--help|a b|".to_owned(), String::new()));
    std::fs::remove_dir_all(folder).unwrap();
}
