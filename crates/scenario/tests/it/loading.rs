//! Files, sweeps, overrides, fabrics and the canonical form.

use proptest::prelude::*;
use std::collections::BTreeSet;
use timeplane_scenario::{Algorithms, Loaded, Point, Scenario, Topology, schema, split_override};

const GOOD: &str = include_str!("../files/load_sweep.toml");
const SLOTS: &str = include_str!("../files/slots_shuffle.toml");

fn points(text: &str, overrides: &[&str]) -> Vec<Point> {
    let overrides: Vec<_> = overrides.iter().map(|o| split_override(o).unwrap()).collect();
    Loaded::from_str(text, "a.toml", ".", &overrides).unwrap_or_else(|e| panic!("{e}")).points().unwrap()
}

#[test]
fn a_file_knows_its_folder_and_its_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files");
    let sweep = Loaded::from_file(format!("{folder}/load_sweep.toml"), &[]).unwrap();
    assert_eq!(sweep.name(), "load_sweep");
    assert_eq!(sweep.base.to_str(), Some(folder));
    assert_eq!(sweep.scenario.scheme.keys().collect::<Vec<_>>(), ["dctcp", "cubic"], "in the order of the file");
    let place = sweep.locate("workload.poisson.load").unwrap();
    assert_eq!((place.line, place.column), (Some(16), Some(8)));
    assert_eq!(Loaded::from_file(format!("{folder}/slots_shuffle.toml"), &[]).unwrap().name(), "slots-shuffle");
    let missing = Loaded::from_file("nowhere/a.toml", &[]).unwrap_err().to_string();
    assert!(missing.starts_with("nowhere/a.toml: cannot read the file: "), "{missing}");
}

#[test]
fn a_check_changes_no_run() {
    let checked = format!(
        "{GOOD}\n[[check]]\nmetric = \"completion\"\nscheme = \"cubic\"\nat_least = 1\nrelative_to = \"dctcp\"\n"
    );
    let (with, without) = (points(&checked, &[]), points(GOOD, &[]));
    assert_eq!(with[0].scenario.check.len(), 1);
    assert_eq!(with[0].run_json("cubic", 1), without[0].run_json("cubic", 1));
    // The canonical form has it, and reads as the same.
    let json = with[0].scenario.to_json();
    assert_eq!(json["check"][0]["at_least"], 1.0);
    assert_eq!(Loaded::from_json(&json, ".", &[]).unwrap().scenario, with[0].scenario);
}

#[test]
fn failures_are_part_of_a_run_and_nothing_else_of_one_without() {
    let failing = "[[failure]]\nelement = { between = [1, 12] }\nat = \"1 ms\"\nuntil = \"2 ms\"\n\
                   [[failure]]\nelement = \"controller\"\nat = \"3 ms\"\ndetection = \"0 s\"\n";
    let (with, without) = (points(&format!("{GOOD}\n{failing}"), &[]), points(GOOD, &[]));
    let run = with[0].run_json("cubic", 1).unwrap();
    let written = r#"[{"element":{"between":[1,12]},"at":"1 ms","until":"2 ms","detection":"1 ms"},{"element":"controller","at":"3 ms","detection":"0 ps"}]"#;
    assert_eq!(run["failure"].to_string(), written);
    assert_eq!(without[0].run_json("cubic", 1).unwrap().get("failure"), None);
    assert_eq!(Loaded::from_json(&with[0].scenario.to_json(), ".", &[]).unwrap().scenario, with[0].scenario);
}

#[test]
fn a_sweep_is_a_grid_in_the_order_of_the_file() {
    let text = format!("{GOOD}\"scheme.cubic.transport.tcp.min_rto\" = [\"10 ms\", \"200 ms\"]\n");
    let grid = points(&text, &[]);
    let labels: Vec<String> = grid.iter().map(|p| serde_json::to_string(&p.values).unwrap()).collect();
    insta::assert_snapshot!(labels.join("\n"), @r#"
    {"workload.poisson.load":0.2,"scheme.cubic.transport.tcp.min_rto":"10 ms"}
    {"workload.poisson.load":0.2,"scheme.cubic.transport.tcp.min_rto":"200 ms"}
    {"workload.poisson.load":0.5,"scheme.cubic.transport.tcp.min_rto":"10 ms"}
    {"workload.poisson.load":0.5,"scheme.cubic.transport.tcp.min_rto":"200 ms"}
    {"workload.poisson.load":0.8,"scheme.cubic.transport.tcp.min_rto":"10 ms"}
    {"workload.poisson.load":0.8,"scheme.cubic.transport.tcp.min_rto":"200 ms"}
    "#);
    assert!(grid.iter().all(|p| p.scenario.sweep.is_empty()));
    // The other scheme is the same run in both: its key does not change.
    assert_eq!(grid[0].run_json("dctcp", 1), grid[1].run_json("dctcp", 1));
    assert_ne!(grid[0].run_json("cubic", 1), grid[1].run_json("cubic", 1));
    assert_ne!(grid[0].run_json("cubic", 1), grid[0].run_json("cubic", 2));
    assert_eq!(grid[0].run_json("none", 1), None);
}

#[test]
fn keys_with_commas_between_them_change_together() {
    let both = "\"workload.poisson.load, fabric.rate\" = [[0.2, \"10 Gb/s\"], [0.5, \"40 Gb/s\"]]";
    let text = GOOD.replace("\"workload.poisson.load\" = [0.2, 0.5, 0.8]", both);
    let grid = points(&format!("{text}\n\"scheme.cubic.transport.tcp.min_rto\" = [\"10 ms\", \"200 ms\"]\n"), &[]);
    let labels: Vec<String> = grid.iter().map(|p| serde_json::to_string(&p.values).unwrap()).collect();
    insta::assert_snapshot!(labels.join("\n"), @r#"
    {"workload.poisson.load":0.2,"fabric.rate":"10 Gb/s","scheme.cubic.transport.tcp.min_rto":"10 ms"}
    {"workload.poisson.load":0.2,"fabric.rate":"10 Gb/s","scheme.cubic.transport.tcp.min_rto":"200 ms"}
    {"workload.poisson.load":0.5,"fabric.rate":"40 Gb/s","scheme.cubic.transport.tcp.min_rto":"10 ms"}
    {"workload.poisson.load":0.5,"fabric.rate":"40 Gb/s","scheme.cubic.transport.tcp.min_rto":"200 ms"}
    "#);
    assert_eq!(grid[3].scenario.fabric.rate.to_string(), "40 Gb/s");
}

#[test]
fn keys_of_a_sweep_may_stand_without_quotes() {
    assert_eq!(points(&GOOD.replace("\"workload.poisson.load\"", "workload.poisson.load"), &[]), points(GOOD, &[]));
}

#[test]
fn a_swept_key_need_not_stand_elsewhere() {
    assert_eq!(points(&GOOD.replace("load = 0.5\n", ""), &[]), points(GOOD, &[]));
}

#[test]
fn one_value_overrides_and_several_sweep() {
    assert_eq!(points(GOOD, &["workload.poisson.load=0.3"]).len(), 1);
    let p = points(GOOD, &["fabric.rate=1 Gb/s, 40 Gb/s", "workload.poisson.load=0.1,0.2", "seeds=2"]);
    assert_eq!(p.len(), 4);
    assert_eq!(p[3].scenario.fabric.rate.to_string(), "40 Gb/s");
    assert_eq!(p[3].scenario.seeds, 2);
    assert_eq!(p[0].values.keys().collect::<Vec<_>>(), ["workload.poisson.load", "fabric.rate"]);
    // Texts that look like numbers stay texts where a text is due.
    assert_eq!(points(SLOTS, &["name=2024"])[0].scenario.name.as_deref(), Some("2024"));
    // A key of another alternative chooses it.
    let p = points(SLOTS, &["fabric.topology.fat_tree.k=4,8"]);
    assert_eq!(p.iter().map(|p| p.scenario.fabric.hosts()).collect::<Vec<_>>(), [16, 128]);
    let p = points(GOOD, &["workload.poisson.pattern.incast.receiver=3"]);
    assert!(matches!(p[0].scenario.fabric.topology, Topology::LeafSpine { .. }));
    // Whole tables are values, too.
    let p = points(GOOD, &["workload.poisson.pattern=uniform,{ stride = { by = 4 } }"]);
    assert_eq!(p.len(), 3 * 2);
}

#[test]
fn settings_split_outside_of_brackets_only() {
    let split = |s: &str| split_override(s).map(|(k, v)| format!("{k}: {}", v.join(" | ")));
    assert_eq!(split("a.b=1,2").unwrap(), "a.b: 1 | 2");
    assert_eq!(split("a={b = 1, c = [2, 3]},\"x,y\"").unwrap(), "a: {b = 1, c = [2, 3]} | \"x,y\"");
    assert_eq!(split("a=b=c").unwrap(), "a: b=c");
    for bad in ["a", "=1", "a=", "a=1,,2"] {
        assert!(split(bad).is_err(), "{bad}");
    }
}

#[test]
fn fabrics_are_built_as_written() {
    let build = |topology: &str| {
        let p = points(SLOTS, &[&format!("fabric.topology={topology}"), "fabric.uplink_rate=40 Gb/s"]);
        let spec = &p[0].scenario.fabric;
        let fabric = spec.build().unwrap();
        assert_eq!(u128::from(fabric.hosts()), spec.hosts());
        let fast = fabric.links().iter().filter(|l| l.spec.rate.as_bps() == 40_000_000_000).count();
        format!("{} hosts, {} switches, {} links, {fast} fast", fabric.hosts(), fabric.switches(), fabric.links().len())
    };
    assert_eq!(build("{ single_switch = { hosts = 5 } }"), "5 hosts, 1 switches, 10 links, 0 fast");
    assert_eq!(
        build("{ leaf_spine = { leaves = 2, hosts_per_leaf = 3, spines = 4 } }"),
        "6 hosts, 6 switches, 28 links, 16 fast"
    );
    assert_eq!(build("{ tree = { edges = 3, hosts_per_edge = 2 } }"), "6 hosts, 4 switches, 18 links, 6 fast");
    assert_eq!(build("{ fat_tree = { k = 4 } }"), "16 hosts, 20 switches, 96 links, 64 fast");
    assert_eq!(build("{ fat_tree = { k = 4, hosts_per_edge = 3 } }"), "24 hosts, 14 switches, 80 links, 32 fast");
    assert_eq!(
        build("{ expander = { hosts = 11, hosts_per_rack = 2, uplinks = 3, seed = 5 } }"),
        "11 hosts, 6 switches, 40 links, 18 fast"
    );
    let graph = "{ graph = { hosts = 2, switches = 2, links = [{ nodes = [0, 2] }, { nodes = [1, 3], rate = \"1 Gb/s\" }, { nodes = [2, 3] }] } }";
    assert_eq!(build(graph), "2 hosts, 2 switches, 6 links, 2 fast");
}

/// A scheme with a network of its own.
fn with_own(keys: &str) -> String {
    GOOD.replace("ecmp = \"packet\"", &format!("[scheme.cubic.fabric]\n{keys}"))
}

#[test]
fn a_control_replaces_keys_of_its_fabric_one_by_one() {
    let text = with_own("rate = \"40 Gb/s\"\nswitch.ecn = \"50 kB\"");
    let point = points(&text, &[]).remove(0);
    let own = point.scenario.seen_by("cubic").unwrap();
    let mut expected = point.scenario.clone();
    expected.fabric.rate = "40 Gb/s".parse().unwrap();
    expected.fabric.switch.ecn = Some("50 kB".parse().unwrap());
    assert_eq!(*own, expected, "the topology and the buffer are the scenario's");
    assert_eq!(*point.scenario.seen_by("dctcp").unwrap(), point.scenario);
    assert!(point.scenario.seen_by("cubi").is_none());
    // Every key that a fabric has can be replaced.
    let whole = with_own(
        r#"topology.single_switch.hosts = 8
        rate = "1 Gb/s"
        uplink_rate = "2 Gb/s"
        propagation = "3 us"
        framing = "ppp"
        mtu = "4 kB"
        bit_error = 5e-9
        [scheme.cubic.fabric.switch]
        latency = "6 us"
        forwarding = "cut_through"
        buffer = "unbounded"
        ecn = "7 kB"
        pfc = { pause_at = "80 kB", resume_at = "8 kB" }"#,
    );
    let point = points(&whole, &[]).remove(0);
    let own = serde_json::to_value(&point.scenario.scheme["cubic"].fabric).unwrap();
    let seen = serde_json::to_value(&point.scenario.seen_by("cubic").unwrap().fabric).unwrap();
    assert_eq!(own, seen);
}

#[test]
fn a_run_depends_on_both_fabrics_and_those_without_their_own_on_one() {
    let run = |text: &str, overrides: &[&str], scheme: &str| {
        points(text, overrides)[0].run_json(scheme, 1).expect("a scheme").to_string()
    };
    let own = with_own("rate = \"40 Gb/s\"");
    assert_ne!(run(&own, &[], "cubic"), run(&with_own("rate = \"1 Gb/s\""), &[], "cubic"));
    assert_ne!(run(&own, &[], "cubic"), run(&own, &["fabric.rate=20 Gb/s"], "cubic"));
    assert_eq!(run(&own, &[], "dctcp"), run(GOOD, &[], "dctcp"));
    // A sweep over a key of one scheme asks the other once.
    let swept = points(&own, &["workload.poisson.load=0.5", "scheme.cubic.fabric.rate=1 Gb/s,20 Gb/s,40 Gb/s"]);
    let keys = |scheme: &str| swept.iter().map(|p| p.run_json(scheme, 1).unwrap().to_string()).collect::<BTreeSet<_>>();
    assert_eq!((keys("cubic").len(), keys("dctcp").len()), (3, 1));
}

#[test]
fn the_canonical_form_is_a_scenario_again() {
    let own = with_own("topology.single_switch.hosts = 8\nswitch.buffer = \"unbounded\"");
    for text in [GOOD, SLOTS, &own] {
        let first = Loaded::from_str(text, "a.toml", ".", &[]).unwrap();
        let json = first.scenario.to_json();
        let again = Loaded::from_json(&json, ".", &[]).unwrap();
        assert_eq!(first.scenario, again.scenario);
        assert_eq!(first.points().unwrap(), again.points().unwrap());
        let toml = toml::to_string(&first.scenario).unwrap();
        let again: Scenario = toml::from_str(&toml).unwrap();
        assert_eq!(again.to_json(), json);
        assert_eq!(Loaded::from_str(&toml, "b.toml", ".", &[]).unwrap().scenario, first.scenario);
    }
}

#[test]
fn the_schema_describes_every_key() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["title"], "timeplane scenario");
    let mut bare = vec![];
    fn walk(value: &serde_json::Value, at: &str, bare: &mut Vec<String>) {
        if let Some(properties) = value["properties"].as_object() {
            for (key, inner) in properties {
                let described = |v: &serde_json::Value| v["description"].is_string();
                if !described(inner) && !described(value) {
                    bare.push(format!("{at}.{key}"));
                }
            }
        }
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(k, v)| walk(v, &format!("{at}.{k}"), bare)),
            serde_json::Value::Array(list) => list.iter().for_each(|v| walk(v, at, bare)),
            _ => {}
        }
    }
    walk(&schema, "", &mut bare);
    assert!(bare.is_empty(), "keys without a description: {bare:?}");
}

/// Reads, and where that succeeds does all that can be done without running.
fn never_panics(text: &str) {
    if let Ok(loaded) = Loaded::from_str(text, "a.toml", ".", &[]) {
        let _ = loaded.validate(&Algorithms::built_in());
        for point in loaded.points().into_iter().flatten() {
            point.scenario.to_json();
        }
    }
}

const PIECES: [&str; 24] = [
    "0",
    "-1",
    "1e400",
    "nan",
    "\"\"",
    "\"1 us\"",
    "\"-9 h\"",
    "\"99999999999 TB\"",
    "[]",
    "{}",
    "true",
    "4294967295",
    "18446744073709551615",
    "1979-05-27",
    "[[scheme]]",
    "[sweep]",
    "\n",
    "=",
    ".",
    "a.b",
    "{ tcp = {} }",
    "\"uniform\"",
    "\u{e9}",
    "'",
];

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        never_panics(&text);
    }

    #[test]
    fn any_change_of_a_good_file_is_answered(
        slots in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, prop::sample::select(&PIECES[..])), 1..4),
    ) {
        let mut text: Vec<char> = if slots { SLOTS } else { GOOD }.chars().collect();
        for (at, remove, insert) in edits {
            let at = at.index(text.len());
            let end = (at + remove).min(text.len());
            text.splice(at..end, insert.chars());
        }
        never_panics(&text.into_iter().collect::<String>());
    }

    /// Replaces the value of one line, so that the text stays TOML and reaches the checks behind
    /// the parser.
    #[test]
    fn any_value_is_answered(
        slots in any::<bool>(), line in any::<prop::sample::Index>(), piece in prop::sample::select(&PIECES[..]),
    ) {
        let text = if slots { SLOTS } else { GOOD };
        let lines: Vec<&str> = text.lines().collect();
        let at = line.index(lines.len());
        let changed = lines.iter().enumerate().map(|(i, l)| match l.split_once(" = ") {
            Some((key, _)) if i == at => format!("{key} = {piece}\n"),
            _ => format!("{l}\n"),
        });
        never_panics(&changed.collect::<String>());
    }

    #[test]
    fn any_setting_is_answered(
        key in prop::sample::select(&[
            "fabric", "fabric.topology", "fabric.topology.graph.links", "fabric.topology.fat_tree.k", "scheme", "scheme.dctcp",
            "scheme.x", "workload", "workload.poisson.pattern", "workload.poisson.load", "seeds", "seed", "sweep", "", ".",
            "fabric.switch.buffer.shared.alpha", "window.measure", "scheme.dctcp.nic.burst", "a..b",
        ][..]),
        values in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..4),
    ) {
        let set = [(key.to_owned(), values.into_iter().map(str::to_owned).collect())];
        if let Ok(loaded) = Loaded::from_str(GOOD, "a.toml", ".", &set) {
            let _ = loaded.validate(&Algorithms::built_in());
        }
    }
}
