//! Errors of scenarios with several access points, with their locations.

use std::fmt::Write;
use timeplane_scenario::{Algorithms, Loaded, QueuedSpec, ScenarioError};

/// A server, a core (2), two access points (3 and 4) and a device (5) between them.
const GOOD: &str = r#"
[fabric]
rate = "10 Gb/s"
[fabric.topology.graph]
hosts = 2
switches = 4
links = [
    { nodes = [0, 2] }, { nodes = [1, 5] }, { nodes = [2, 3] }, { nodes = [2, 4] }, { nodes = [3, 5] }, { nodes = [4, 5] },
]
[fabric.radio]
access = "planned"
handover = { hysteresis_db = 3.0, trigger = "100 ms", delay = "20 ms", queued = "forwarded" }
interference = [{ nodes = [4, 5], level_dbm = -90.0 }]
link = [
    { nodes = [3, 5], trace.beams = "a.csv" },
    { nodes = [4, 5], trace.beams = "b.csv" },
]
[workload.shuffle]
bytes = "1 MB"
[scheme.tcp.transport.tcp]
"#;

fn load(text: &str) -> Result<Loaded, ScenarioError> {
    let loaded = Loaded::from_str(text, "a.toml", ".", &[])?;
    loaded.validate(&Algorithms::built_in())?;
    Ok(loaded)
}

/// Changes to the good file, each with its answer.
fn answers(changes: &[(&str, &str)]) -> String {
    let mut answers = String::new();
    for (old, new) in changes {
        assert!(GOOD.contains(old), "{old}");
        let error = load(&GOOD.replacen(old, new, 1)).map(|_| ()).expect_err(new);
        writeln!(answers, "- {old}\n+ {new}\n{error}\n").unwrap();
    }
    answers
}

#[test]
fn handovers() {
    let loaded = load(GOOD).unwrap();
    let radio = loaded.scenario.fabric.radio.unwrap();
    assert_eq!(radio.handover.unwrap().queued, QueuedSpec::Forwarded);
    assert_eq!(radio.devices().into_iter().collect::<Vec<_>>(), [(5, vec![0, 1])]);
    let found = answers(&[
        ("hysteresis_db = 3.0", "hysteresis_db = -1.0"),
        ("\"100 ms\"", "\"-1 ms\""),
        ("\"20 ms\"", "\"2 h\""),
        ("\"forwarded\"", "\"forward\""),
        ("hysteresis_db", "hysterisis_db"),
        ("{ nodes = [4, 5], trace", "{ nodes = [5, 4], trace"),
        ("{ nodes = [4, 5], trace.beams = \"b.csv\" }", "{ nodes = [4, 5], mcs = 12 }"),
        ("{ nodes = [4, 5], trace", "{ nodes = [3, 5], trace"),
        ("{ nodes = [2, 4] }, ", ""),
        ("{ nodes = [2, 4] }, ", "{ nodes = [2, 4] }, { nodes = [2, 5] }, "),
        ("{ nodes = [4, 5] },\n", "{ nodes = [4, 5] }, { nodes = [4, 5] },\n"),
    ]);
    insta::assert_snapshot!(found);
}

#[test]
fn interference() {
    let found = answers(&[
        ("level_dbm = -90.0", "level_dbm = 90.0"),
        ("interference = [{ nodes = [4, 5]", "interference = [{ nodes = [4, 4]"),
        ("interference = [{ nodes = [4, 5]", "interference = [{ nodes = [2, 5]"),
        ("interference = [{ nodes = [4, 5]", "interference = [{ nodes = [5, 4], level_dbm = -80.0 }, { nodes = [4, 5]"),
        ("[4, 5], level_dbm = -90.0 }]\nlink = [\n    {", "[4, 3], level_dbm = -90.0 }]\nlink = [\n    { channel = 2,"),
        ("level_dbm = -90.0", "level = -90.0"),
    ]);
    insta::assert_snapshot!(found);
}
