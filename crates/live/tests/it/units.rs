//! The systemd units: systemd accepts them, and they permit what daemons need and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const CONTROLLER: &str = "timeplane-controller.service";
const AGENT: &str = "timeplane-agent@.service";
const MOUNT: &str = "run-timeplane-bpf.mount";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd")
}

fn text(unit: &str) -> String {
    std::fs::read_to_string(folder().join(unit)).unwrap()
}

/// Values by section and key, in the order of the file.
fn read(unit: &str) -> BTreeMap<(String, String), Vec<String>> {
    let (mut section, mut values) = (String::new(), BTreeMap::<_, Vec<_>>::new());
    for line in text(unit).lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.to_owned();
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{unit}: {line}"));
        values.entry((section.clone(), key.to_owned())).or_default().push(value.to_owned());
    }
    values
}

fn value(unit: &str, section: &str, key: &str) -> String {
    let values = read(unit).remove(&(section.to_owned(), key.to_owned()));
    values.unwrap_or_else(|| panic!("{unit} has no {key} in [{section}]")).join(" ")
}

fn words(unit: &str, key: &str) -> BTreeSet<String> {
    value(unit, "Service", key).split(' ').map(str::to_owned).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&w| w.to_owned()).collect()
}

#[test]
fn daemons_are_told_of_watched_and_started_again() {
    for unit in [CONTROLLER, AGENT] {
        let service = |key| value(unit, "Service", key);
        assert_eq!(service("Type"), "notify");
        assert_eq!(service("Restart"), "always");
        assert_eq!(value(unit, "Unit", "StartLimitIntervalSec"), "0", "or systemd gives up");
        assert!(service("WatchdogSec").ends_with('s'));
        assert_eq!(value(unit, "Install", "WantedBy"), "multi-user.target");
    }
    assert!(value(AGENT, "Service", "ExecStart").contains("%i"), "an instance is a host");
}

#[test]
fn daemons_may_do_what_they_need_and_no_more() {
    let controller = ["CAP_NET_RAW", "CAP_SYS_NICE"];
    let agent = [&controller[..], &["CAP_NET_ADMIN", "CAP_BPF", "CAP_PERFMON"]].concat();
    for (unit, capabilities) in [(CONTROLLER, &controller[..]), (AGENT, &agent)] {
        for key in ["CapabilityBoundingSet", "AmbientCapabilities"] {
            assert_eq!(words(unit, key), set(capabilities), "{unit} {key}");
        }
        assert!(words(unit, "RestrictAddressFamilies").contains("AF_PACKET"), "{unit}: raw frames");
        assert_eq!(value(unit, "Service", "ProtectSystem"), "strict");
        assert_eq!(value(unit, "Service", "NoNewPrivileges"), "yes");
        // Timed loops run at FIFO priority.
        assert!(!text(unit).lines().any(|line| line == "RestrictRealtime=yes"), "{unit}");
        assert!(value(unit, "Service", "LimitRTPRIO").parse::<u32>().unwrap() > 0);
    }
    let calls = words(AGENT, "SystemCallFilter");
    assert!(set(&["@system-service", "bpf"]).is_subset(&calls), "{calls:?}");
    // With PrivateDevices there would be no TUN.
    assert!(!text(AGENT).contains("PrivateDevices=yes") && text(AGENT).contains("DeviceAllow=/dev/net/tun rw"));
}

#[test]
fn gates_are_pinned_where_they_outlive_their_agent() {
    assert_eq!(value(MOUNT, "Mount", "Type"), "bpf");
    let place = value(MOUNT, "Mount", "Where");
    // systemd wants the unit's name to be its place.
    assert_eq!(format!("{}.mount", place.trim_start_matches('/').replace('/', "-")), MOUNT);
    for key in ["Requires", "After"] {
        assert!(value(AGENT, "Unit", key).split(' ').any(|unit| unit == MOUNT), "{key}");
    }
    // The folder around it stays as well, or it could not be cleared away with something mounted in
    // it.
    for unit in [CONTROLLER, AGENT] {
        assert_eq!(value(unit, "Service", "RuntimeDirectoryPreserve"), "yes");
    }
}

#[test]
fn systemd_reads_them() {
    let version = Command::new("systemd-analyze").arg("--version").output();
    let Ok(version) = version else {
        // Their keys are checked by the other tests.
        return eprintln!("skipped: there is no systemd-analyze here");
    };
    assert!(version.status.success());
    let dir = std::env::temp_dir().join(format!("tp-units-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir(&dir).unwrap();
    let result = std::panic::catch_unwind(|| {
        for unit in [CONTROLLER, AGENT, MOUNT] {
            // It looks for the program, too.
            let program = env!("CARGO_BIN_EXE_timeplane-live");
            let text =
                text(unit).replace("/usr/bin/timeplane-live", program).replace("/usr/bin/timeplane-lab", program);
            std::fs::write(dir.join(unit), text).unwrap();
        }
        std::fs::write(dir.join("broken.service"), text(CONTROLLER).replace("Type=notify", "Typ=notify")).unwrap();
        let verify = |unit: &str| {
            let output = Command::new("systemd-analyze")
                .args(["verify", "--man=no", "--generators=no", "--recursive-errors=one"])
                .arg(dir.join(unit))
                .env("SYSTEMD_UNIT_PATH", format!("{}:/usr/lib/systemd/system", dir.display()))
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        // Other units of the machine are none of our business.
        let ours = |said: String| {
            said.lines().filter(|line| line.contains(dir.to_str().unwrap())).collect::<Vec<_>>().join("\n")
        };
        assert!(ours(verify("broken.service")).contains("Typ"), "it tells what it does not know");
        for unit in [CONTROLLER, AGENT, MOUNT] {
            assert_eq!(ours(verify(unit)), "", "{unit}");
        }
    });
    std::fs::remove_dir_all(&dir).unwrap();
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
