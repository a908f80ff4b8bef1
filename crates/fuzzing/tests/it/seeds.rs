//! Valid inputs from the repository, and folders with the files that they name.
//!
//! Large traces are replaced by short ones: an input that takes a tenth of a second leaves no time
//! for others.

use std::path::{Path, PathBuf};

pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A file of the repository.
pub fn file(name: &str) -> Vec<u8> {
    read(&repository().join(name))
}

/// The first lines of a file of the repository.
pub fn head(name: &str, lines: usize) -> Vec<u8> {
    let all = file(name);
    all.split_inclusive(|b| *b == b'\n').take(lines).flatten().copied().collect()
}

/// What a folder holds, by name.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    all.sort();
    all
}

/// The files of a folder of the repository with this extension, by name.
pub fn files_of(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut all = entries(&repository().join(folder));
    all.retain(|p| p.extension().is_some_and(|e| e == extension));
    all
}

/// A trace of three coflows among eight racks.
pub const COFLOWS: &str = "8 3\n1\t0\t2\t2\t0,1#2:10.0,3:5.5\n2\t7\t1\t1\t4#5:1.0\n9\t40\t3\t2\t0,6,7#1:3.0,2:30.0\n";

/// Copies the files that scenarios name to a folder.
pub fn copy_inputs(folder: &Path) {
    for path in files_of("scenarios", "csv") {
        timeplane_fuzzing::put(&folder.join(path.file_name().unwrap_or_default()), &read(&path));
    }
    timeplane_fuzzing::put(&folder.join("coflows.txt"), COFLOWS.as_bytes());
}

/// The scenarios of the repository, with short inputs.
pub fn scenarios() -> Vec<Vec<u8>> {
    let folders = ["scenarios", "crates/scenario/tests/files", "crates/cli/templates"];
    let mut texts: Vec<String> = folders
        .iter()
        .flat_map(|folder| files_of(folder, "toml"))
        .map(|path| String::from_utf8(read(&path)).unwrap_or_default())
        .collect();
    texts.extend(MORE.iter().map(|text| (*text).to_owned()));
    let whole = |text: &String| text.contains("[fabric") && text.contains("[workload") && text.contains("[scheme");
    texts.retain(whole);
    // Scenarios of 150 racks take too long.
    texts.iter().map(|text| short(text)).filter(|text| !text.contains("150")).map(String::into_bytes).collect()
}

/// The text without comments, and with short inputs.
fn short(text: &str) -> String {
    let kept = text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    let text = kept.collect::<Vec<_>>().join("\n") + "\n";
    let text = text
        .replace("file = \"fb2010\"", "file = \"coflows.txt\"")
        .replace("hosts_per_leaf = 30", "hosts_per_leaf = 2");
    text.replace("leaves = 5,", "leaves = 4,").replace("hosts = 150", "hosts = 8")
}

/// A scenario that records much.
pub fn recorded() -> String {
    MORE[0].to_owned()
}

/// Keys that no scenario of the repository has.
const MORE: &[&str] = &[
    r#"
seed = 7
seeds = 2
[fabric]
topology.leaf_spine = { leaves = 2, hosts_per_leaf = 2, spines = 2 }
rate = "10 Gb/s"
propagation = "1 us"
[workload.poisson]
load = 0.3
sizes.fixed = "20 kB"
pattern.incast.receiver = 0
[window]
warmup = "10 us"
measure = "100 us"
drain = "1 ms"
[record]
queues_every = "10 us"
tcp_every = "10 us"
received_every = "10 us"
latency = true
rtt = true
round_trips = true
capture = ["host 0", "link 1"]
[[failure]]
element = { wire = 5 }
at = "20 us"
until = "60 us"
[[change]]
wires = { wire = 1 }
at = "30 us"
rates = ["1 Gb/s"]
[scheme.cubic]
transport.tcp = { congestion = "cubic", preset = "datacenter" }
[scheme.packets]
transport.tcp = { congestion = "new_reno" }
ecmp = "packet"
[[check]]
metric = "fct_mean"
scheme = "cubic"
at_most = "1 s"
"#,
    r#"
[fabric]
topology.leaf_spine = { leaves = 2, hosts_per_leaf = 2, spines = 2 }
rate = "10 Gb/s"
[workload.shuffle]
bytes = "20 kB"
[scheme.ndp]
transport.ndp = { window = 12, queue = 4, headers = 30, rto = "1 ms", spray = "hash" }
"#,
    r#"
[fabric]
rate = "10 Gb/s"
[fabric.topology.rotor]
racks = 8
hosts_per_rack = 2
switches = 3
slice = "50 us"
dark = "2 us"
stepping = "staggered"
matchings.random = { factor = 2, seed = 3 }
[workload.shuffle]
bytes = "20 kB"
[scheme.opera]
transport.ndp = {}
[scheme.opera.rotor]
routing.shortest = { paths = 5, settled = true }
bulk = { above = "10 kB", by = "size", routing.rotor_lb = {} }
late = "bounce"
queue = "100 kB"
[scheme.ucmp]
transport.datagrams = {}
rotor.routing.ucmp = { hops = 3, alpha = 0.7, buckets = ["1 kB", "10 kB"] }
[scheme.shale]
transport.datagrams = {}
rotor.routing.shale.dimensions = 3
[scheme.mine]
transport.datagrams = {}
rotor.routing.own = { name = "mine", depth = 3 }
"#,
    r#"
[fabric]
topology.fat_tree = { k = 4, hosts_per_edge = 2 }
rate = "10 Gb/s"
[workload.poisson]
load = 0.3
sizes.cdf_points = "datamining"
[window]
measure = "1 ms"
[scheme.clos]
transport.ndp = {}
[scheme.expander]
transport.datagrams = {}
fabric.topology.expander = { hosts = 16, hosts_per_rack = 3, uplinks = 3, seed = 5 }
[scheme.opera]
transport.ndp = {}
rotor.routing.disjoint = { paths = 2, settled = false }
rotor.bulk = { above = "15 MB", also = "20 kB", routing.rotor_lb = { relay = "off", share = "equal", void_packets = true } }
fabric.topology.rotor = { racks = 8, hosts_per_rack = 2, switches = 2, slice = "50 us" }
"#,
];
