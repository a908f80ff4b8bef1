//! Every kind of invalid input has a message with its location, the problem and the expected value.
//! The snapshots show each change to a valid file with its message.

use std::fmt::Write;
use timeplane_scenario::{Algorithms, Loaded, ScenarioError};

pub const GOOD: &str = include_str!("../files/load_sweep.toml");
pub const SLOTS: &str = include_str!("../files/slots_shuffle.toml");

pub fn load(text: &str, overrides: &[(&str, &str)]) -> Result<Vec<String>, ScenarioError> {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, values)| timeplane_scenario::split_override(&format!("{key}={values}")).unwrap())
        .collect();
    let loaded = Loaded::from_str(text, "a.toml", ".", &overrides)?;
    Ok(loaded.validate(&Algorithms::built_in())?.iter().map(ToString::to_string).collect())
}

/// Changes to a good file, each with its answer.
#[derive(Default)]
pub struct Answers(pub String);

impl Answers {
    /// The error of a good file with one piece of it exchanged.
    #[track_caller]
    pub fn with(&mut self, text: &str, old: &str, new: &str) {
        assert!(text.contains(old), "{old}");
        let error = load(&text.replacen(old, new, 1), &[]).expect_err(new);
        writeln!(self.0, "- {}\n+ {}\n{error}\n", old.trim_end(), new.trim_end()).unwrap();
    }
    /// The error of a good file with these settings.
    #[track_caller]
    pub fn set(&mut self, text: &str, overrides: &[(&str, &str)]) {
        let error = load(text, overrides).expect_err("a refusal");
        self.0 += &overrides.iter().map(|(k, v)| format!("--set {k}={v}\n")).collect::<String>();
        writeln!(self.0, "{error}\n").unwrap();
    }
    /// The warnings of a good file with these settings.
    #[track_caller]
    pub fn warns(&mut self, text: &str, overrides: &[(&str, &str)]) {
        self.0 += &load(text, overrides).unwrap().iter().map(|w| format!("{w}\n\n")).collect::<String>();
    }
}

#[test]
fn good_files_pass() {
    assert_eq!(load(GOOD, &[]).unwrap(), [""; 0]);
    assert_eq!(load(SLOTS, &[]).unwrap(), [""; 0]);
}

#[test]
fn syntax() {
    let mut a = Answers::default();
    a.with(GOOD, "seeds = 3", "seeds = ");
    a.with(GOOD, "seeds = 3", "seeds = 3\nseeds = 4");
    insta::assert_snapshot!(a.0);
}

#[test]
fn unknown_keys() {
    let mut a = Answers::default();
    a.with(GOOD, "[window]", "[windows]");
    a.with(GOOD, "rate = ", "rte = ");
    a.with(GOOD, "hosts_per_leaf", "host_per_leaf");
    a.with(GOOD, "topology.leaf_spine", "topology.leaf_spin");
    a.with(GOOD, "\"cubic\"", "\"qubic\"");
    a.with(GOOD, "buffer.per_port", "buffer.per_prot");
    a.with(GOOD, "min_rto", "min_rtt");
    a.with(GOOD, "ecmp", "zebra");
    a.with(SLOTS, "alpha = 1.0", "alpha = 1.0, beta = 2");
    a.with(SLOTS, "guard", "gaurd");
    insta::assert_snapshot!(a.0);
}

#[test]
fn failures() {
    let mut a = Answers::default();
    let mut one = |failure: &str| a.with(SLOTS, "[scheme", &format!("[[failure]]\n{failure}\n[scheme"));
    one("element = { wire = 99 }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { switch = 1 }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { host = 1000 }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { between = [0, 1] }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { between = [0, 999] }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { between = [0] }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { links = 3 }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = \"controllers\"\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = \"standby\"\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { relay = 0 }\nat = \"1 ms\"\nuntil = \"2 ms\"");
    one("element = { host = 1 }\nat = \"-1 ms\"\nuntil = \"2 ms\"");
    one("element = { host = 1 }\nat = \"2 ms\"\nuntil = \"2 ms\"\ndetection = \"1 h\"");
    one("element = { host = 1 }\nat = \"2 ms\"");
    one("element = { host = 1 }");
    a.with(GOOD, "[window]", "[[failure]]\nelement = \"controller\"\nat = \"1 ms\"\nuntil = \"2 ms\"\n[window]");
    insta::assert_snapshot!(a.0);
}

#[test]
fn changes() {
    let mut a = Answers::default();
    let mut one = |change: &str| a.with(SLOTS, "[scheme", &format!("[[change]]\n{change}\n[scheme"));
    one("wires = { wire = 99 }\nat = \"1 ms\"\nrates = [\"1 Gb/s\"]");
    one("wires = { between = [0, 1] }\nat = \"1 ms\"\nrates = [\"1 Gb/s\"]");
    one("wires = { between = [0, 999] }\nat = \"1 ms\"\nrates = [\"1 Gb/s\"]");
    one("wires = \"some\"\nat = \"1 ms\"\nrates = [\"1 Gb/s\"]");
    one("wires = \"all\"\nat = \"-1 ms\"\nrates = [\"1 Gb/s\"]\nnotice = \"1 h\"");
    one("wires = \"all\"\nat = \"1 ms\"\nrates = [\"1 b/s\", \"100 Gb/s\"]");
    one("wires = \"all\"\nat = \"1 ms\"\nrates = []\nevery = \"1 ns\"");
    one("wires = \"all\"\nrates = [\"1 Gb/s\"]");
    let change = "[[change]]\nwires = \"all\"\nat = \"1 ms\"\nrates = [\"1 Gb/s\"]\n[window]";
    let changing = GOOD.replacen("[window]", change, 1);
    let plain = "buffer.per_port = \"300 kB\"";
    a.with(&changing, plain, "pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\" }");
    a.with(&changing, plain, "forwarding = \"cut_through\"");
    a.with(&changing, "[scheme.cubic]", "[scheme.cubic]\nplan.rates = {}");
    assert_eq!(load(&changing, &[]).unwrap(), [""; 0]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn priority_flow_control() {
    let mut a = Answers::default();
    let plain = "buffer.per_port = \"300 kB\"";
    let one = |a: &mut Answers, switch: &str| a.with(GOOD, plain, switch);
    one(&mut a, "pfc = { pause_at = \"1 kB\", resume_at = \"0 B\" }");
    one(&mut a, "pfc = { pause_at = \"20 kB\", resume_at = \"19 kB\" }");
    one(&mut a, "pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\", reaction = \"-1 ns\" }");
    one(&mut a, "pfc = { pause_at = \"20 kB\" }");
    let pfc = "pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\" }";
    one(&mut a, &format!("forwarding = \"cut_through\"\nbuffer.per_port = \"1 MB\"\n{pfc}"));
    let failing =
        GOOD.replacen("[window]", "[[failure]]\nelement = { host = 1 }\nat = \"1 ms\"\nuntil = \"2 ms\"\n[window]", 1);
    a.with(&failing, plain, pfc);
    let good = GOOD.replacen(plain, pfc, 1);
    assert_eq!(load(&good, &[]).unwrap(), [""; 0]);
    a.warns(&good, &[("fabric.switch.pfc.headroom", "5 kB")]);
    let ring = "{ expander = { hosts = 8, hosts_per_rack = 2, uplinks = 2 } }";
    a.warns(&good, &[("fabric.topology", ring)]);
    a.warns(&good, &[("scheme.cubic.fabric.topology", ring)]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn memories_of_inputs() {
    let mut a = Answers::default();
    let plain = "buffer.per_port = \"300 kB\"";
    let own = "buffer.per_input = \"640 kB\"";
    a.with(GOOD, plain, "buffer.per_input = \"1 kB\"");
    a.with(GOOD, plain, &format!("forwarding = \"cut_through\"\n{own}"));
    a.with(GOOD, plain, &format!("pfc = {{ pause_at = \"20 kB\", resume_at = \"10 kB\" }}\n{own}"));
    a.with(GOOD, plain, "buffer = { per_input = \"640 kB\", per_port = \"300 kB\" }");
    let failure = "[[failure]]\nelement = { host = 1 }\nat = \"1 ms\"\nuntil = \"2 ms\"\n[window]";
    a.with(&GOOD.replacen("[window]", failure, 1), plain, own);
    let change = "[[change]]\nwires = \"all\"\nat = \"1 ms\"\nrates = [\"1 Gb/s\"]\n[window]";
    a.with(&GOOD.replacen("[window]", change, 1), plain, own);
    let good = GOOD.replacen(plain, own, 1);
    assert_eq!(load(&good, &[]).unwrap(), [""; 0]);
    a.with(&good, "[scheme.cubic]", "[scheme.cubic]\nfabric.switch.forwarding = \"cut_through\"");
    let memory = ("fabric.switch.buffer", "{ per_input = \"640 kB\" }");
    a.set(SLOTS, &[memory, ("scheme.slots.plan.tdma.control", "{ in_band = { controller = 0 } }")]);
    a.set(FLYWAYS, &[memory]);
    let hybrid = "{ hybrid = { tors = 8, hosts_per_tor = 2, packet_rate = \"1 Gb/s\", dark.fixed = \"10 us\" } }";
    a.set(SLOTS, &[memory, ("fabric.topology", hybrid)]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn missing_keys() {
    let mut a = Answers::default();
    a.with(GOOD, "rate = \"10 Gb/s\"\n", "");
    a.with(GOOD, "sizes.exponential = \"100 kB\"\n", "");
    a.with(GOOD, "transport.tcp = { congestion = \"dctcp\", min_rto = \"10 ms\" }\n", "");
    a.with(GOOD, ", spines = 2", "");
    insta::assert_snapshot!(a.0);
}

#[test]
fn types_and_units() {
    let mut a = Answers::default();
    a.with(GOOD, "\"10 Gb/s\"", "\"10 GB/s\"");
    a.with(GOOD, "\"10 Gb/s\"", "\"0 Gb/s\"");
    a.with(GOOD, "\"1 us\"", "1e-6");
    a.with(GOOD, "\"1 ms\"", "\"1\"");
    a.with(GOOD, "seeds = 3", "seeds = \"3\"");
    a.with(GOOD, "seeds = 3", "seeds = -3");
    a.with(GOOD, "seeds = 3", "seeds = 4294967296");
    a.with(GOOD, "load = 0.5", "load = \"high\"");
    a.with(GOOD, "load = 0.5", "load = inf");
    a.with(GOOD, "seeds = 3", "seeds = 1979-05-27");
    a.with(GOOD, "[window]\nwarmup = \"1 ms\"\nmeasure = \"10 ms\"\n", "");
    a.with(GOOD, "sizes.exponential = \"100 kB\"", "sizes = \"fixed\"");
    a.with(GOOD, "sizes.exponential = \"100 kB\"", "sizes = { fixed = \"1 kB\", exponential = \"1 kB\" }");
    a.with(GOOD, "sizes.exponential = \"100 kB\"", "sizes = {}");
    a.with(GOOD, "sizes.exponential = \"100 kB\"", "sizes = 100");
    a.with(SLOTS, "transport.raw = {}", "transport = \"datagrams\"");
    a.with(GOOD, "buffer.per_port = \"300 kB\"", "buffer = { unbounded = true }");
    insta::assert_snapshot!(a.0);
}

#[test]
fn values() {
    let mut a = Answers::default();
    a.with(GOOD, "seeds = 3", "seeds = 0");
    a.with(GOOD, "load = 0.5", "load = 0.5\npattern.incast = { receiver = 8 }");
    a.with(GOOD, "load = 0.5", "load = 0.5\npattern.stride = { by = 16 }");
    a.with(GOOD, "0.8]", "80]");
    a.with(GOOD, "0.8]", "-0.5]");
    a.with(GOOD, "\"1 us\"", "\"-1 us\"");
    a.with(GOOD, "\"1 us\"", "\"1 us\"\nmtu = \"9 MB\"");
    a.with(GOOD, "\"1 us\"", "\"1 us\"\nbit_error = 1.0");
    a.with(GOOD, "\"300 kB\"", "\"1500 B\"");
    a.with(GOOD, "measure = \"10 ms\"", "measure = \"0 s\"");
    a.with(GOOD, "measure = \"10 ms\"", "measure = \"1000 h\"");
    a.with(SLOTS, "alpha = 1.0", "alpha = 0.0");
    a.with(SLOTS, "alpha = 1.0", "alpha = 0.0001");
    a.with(SLOTS, "\"300 us\"", "\"1 us\"");
    a.with(SLOTS, "\"15 us\"", "\"-15 us\"");
    a.with(SLOTS, "\"15 us\"", "\"15 us\"\ncontrol_loss = 1");
    a.with(SLOTS, "\"15 us\"", "\"15 us\"\nround_slots = 0");
    a.with(SLOTS, "\"weighted_round_robin\"", "\"weighted_roundrobin\"");
    a.with(SLOTS, "\"slots-shuffle\"", "\"../slots\"");
    a.with(SLOTS, "bytes = \"1 MB\"", "bytes = \"0 B\"");
    insta::assert_snapshot!(a.0);
}

#[test]
fn topologies() {
    let mut a = Answers::default();
    let mut to = |new: &str| a.with(SLOTS, "topology.single_switch = { hosts = 8 }", new);
    to("topology.single_switch = { hosts = 1 }");
    to("topology.single_switch = { hosts = 1000000 }");
    to("topology.fat_tree = { k = 3 }");
    to("topology.fat_tree = { k = 4000000000 }");
    to("topology.fat_tree = { k = 4, hosts_per_edge = 4 }");
    to("topology.expander = { hosts = 8, hosts_per_rack = 0, uplinks = 2 }");
    to("topology.expander = { hosts = 8, hosts_per_rack = 2, uplinks = 4 }");
    to("topology.expander = { hosts = 10, hosts_per_rack = 2, uplinks = 3 }");
    to("topology.expander = { hosts = 8, hosts_per_rack = 2, uplinks = 1 }");
    to("topology.expander = { hosts = 4096, hosts_per_rack = 1, uplinks = 480 }");
    to("topology.expander = { hosts = 4000000000, hosts_per_rack = 2, uplinks = 4 }");
    to("topology.leaf_spine = { leaves = 0, hosts_per_leaf = 2, spines = 2 }");
    to("topology.leaf_spine = { leaves = 4000000000, hosts_per_leaf = 4000000000, spines = 2 }");
    to("topology.graph = { hosts = 2, switches = 1, links = [{ nodes = [0, 2] }, { nodes = [1, 7] }] }");
    to("topology.graph = { hosts = 2, switches = 1, links = [{ nodes = [0, 2] }] }");
    to(
        "topology.graph = { hosts = 4, switches = 2, links = [\n  { nodes = [0, 4] },\n  { nodes = [1, 4] },\n  { nodes = [2, 5] },\n  { nodes = [3, 5] },\n] }",
    );
    to("topology.graph = { hosts = 2, switches = 1, links = [{ nodes = [0, 2, 1] }] }");
    insta::assert_snapshot!(a.0);
}

const PACKETS: &str = r#"[fabric]
topology.single_switch = { hosts = 8 }
rate = "1 Gb/s"
[workload.poisson]
load = 0.5
sizes.exponential = "46 kB"
[window]
measure = "10 ms"
[record]
latency = true
[scheme.syn]
transport.datagrams = {}
plan.timeslots = { metric = "srjf", phase = "12 us" }
[scheme.asy]
transport.datagrams = {}
plan.rates = { depth = 2 }
"#;

#[test]
fn timeslots_and_rates() {
    let mut a = Answers::default();
    assert_eq!(load(PACKETS, &[]).unwrap(), [""; 0]);
    a.with(PACKETS, "\"12 us\"", "\"-1 us\"");
    a.with(PACKETS, "\"12 us\"", "\"2 min\"");
    a.with(PACKETS, "phase = \"12 us\"", "flow_order = \"arival\"");
    a.with(PACKETS, "depth = 2", "depth = 0");
    a.with(PACKETS, "depth = 2", "depth = 70000");
    a.with(PACKETS, "latency = true", "latency = true\nlatency_from = \"switch\"");
    a.with(PACKETS, "latency = true", "latency_from = \"first_switch\"");
    insta::assert_snapshot!(a.0);
}

#[test]
fn values_that_do_not_go_together() {
    let mut a = Answers::default();
    a.with(GOOD, "ecn = \"100 kB\"\n", "");
    a.with(GOOD, "measure = \"10 ms\"\n", "");
    a.with(GOOD, "load = 0.5", "load = 0.5\npackets = \"bimodal\"");
    a.with(GOOD, "sizes.exponential = \"100 kB\"", "sizes.cdf = \"nowhere.csv\"");
    a.set("[fabric]\ntopology.single_switch.hosts = 2\nrate = \"1 Gb/s\"\n[workload.shuffle]\nbytes = \"1 B\"\n[scheme]\n", &[]);
    let single = GOOD.replace("load = 0.5", "load = 0.5\npackets = \"single\"").replace("ecn", "#");
    a.set(&single, &[("scheme.dctcp.transport", "{ raw = {} }"), ("scheme.cubic.transport", "{ datagrams = {} }")]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn fabrics_of_controls() {
    let mut a = Answers::default();
    let end = "ecmp = \"packet\"\n";
    let own = |keys: &str| format!("{end}{keys}\n");
    let good = GOOD.replace(end, &own("fabric = { topology.single_switch.hosts = 8, rate = \"40 Gb/s\" }"));
    assert_eq!(load(&good, &[]).unwrap(), [""; 0]);
    for wrong in [
        "fabric.topology.single_switch.hosts = 16",
        "fabric.topology.fat_tree.k = 3",
        "fabric.topology = { single_switch.hosts = 8, fat_tree.k = 2 }",
        "fabric.rte = \"40 Gb/s\"",
        "fabric.switch.bufer = \"unbounded\"",
        "fabric.rate = \"40\"",
        "fabric.rate = \"1 b/s\"",
        "fabric.switch.buffer.per_port = \"1 kB\"",
        "fabric.mtu = \"65535 B\"\nfabric.switch.buffer.per_port = \"60 kB\"",
        "fabric.switch.forwarding = \"cut_through\"\nfabric.switch.pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\" }",
        "transport.raw.header = \"200 B\"\nfabric.mtu = \"100 B\"",
        "plan.circuits = { period = \"3 ms\", dark = \"40 us\", least_open = \"130 us\" }\nfabric.rate = \"40 Gb/s\"",
    ] {
        let transport = "transport.tcp = { congestion = \"cubic\", min_rto = \"10 ms\" }\n";
        let text = if wrong.contains("transport") { GOOD.replace(transport, "") } else { GOOD.to_owned() };
        a.with(&text, end, &own(wrong));
    }
    // Each scheme is checked by itself: keys of another scheme do not count for it, but the
    // workload and the failures are those of all schemes.
    a.with(GOOD, "ecn = \"100 kB\"\n", "[scheme.cubic.fabric.switch]\necn = \"100 kB\"\n");
    let mix = GOOD.replace("load = 0.5", "load = 0.5\npackets.fixed = \"1 kB\"").replace("tcp = {", "raw = {} #");
    a.with(&mix, end, &own("fabric.mtu = \"900 B\""));
    let failing = "[[failure]]\nelement.switch = 3\nat = \"1 ms\"\nuntil = \"2 ms\"\n[window]";
    a.with(&GOOD.replace("[window]", failing), end, &own("fabric.topology.single_switch.hosts = 8"));
    let changing = "[[change]]\nwires = \"all\"\nat = \"1 ms\"\nrates = [\"5 Gb/s\"]\n[window]";
    a.with(&GOOD.replace("[window]", changing), end, &own("fabric.rate = \"4 Gb/s\""));
    // What is wrong for all is said once.
    a.with(&GOOD.replace("\"1 us\"", "\"-1 us\""), end, &own("fabric.rate = \"4 Gb/s\""));
    a.set(GOOD, &[("scheme.cubic.fabric.topology.leaf_spine", "{ leaves = 2, hosts_per_leaf = 8, spines = 2 }")]);
    a.set(GOOD, &[("scheme.cubic.fabric.rate", "1 Gb/s,0 Gb/s")]);
    a.warns(&good, &[("scheme.cubic.fabric.uplink_rate", "1 Gb/s")]);
    insta::assert_snapshot!(a.0);
}

/// A ring among twelve hosts.
const RING: &str = r#"
[fabric]
topology.single_switch.hosts = 12
rate = "10 Gb/s"
[workload.collective]
operation = "all_reduce"
algorithm = "ring"
bytes = "1 MB"
[scheme.c]
transport.raw = {}
"#;

#[test]
fn collectives() {
    assert_eq!(load(RING, &[]).unwrap(), [""; 0]);
    let mut a = Answers::default();
    a.with(RING, "\"all_reduce\"", "\"all_reduces\"");
    a.with(RING, "\"ring\"", "\"halving_doubling\"");
    a.with(RING, "\"all_reduce\"\nalgorithm = \"ring\"", "\"all_to_all\"\nalgorithm = \"tree\"");
    a.with(RING, "1 MB\"", "1 MB\"\ngroup = 5");
    a.with(RING, "1 MB\"", "1 MB\"\nstride = 5");
    a.with(RING, "1 MB\"", "1 MB\"\ngroup = 1\nsteps = 0");
    a.with(RING, "[scheme", "[window]\ndrain = \"1 ms\"\n[scheme");
    let trace = "operation = \"all_reduce\"\nalgorithm = \"ring\"\nbytes = \"1 MB\"";
    let chakra = RING.replace("workload.collective", "workload.chakra").replace(trace, "prefix = \"trace\"");
    a.with(&chakra, "\"trace\"", "\"\"\nranks = 13\ntime_scale = 0.0");
    a.with(&chakra, "\"trace\"", "\"trace\"\nalgorithms.all_to_all = \"tree\"");
    let simai = RING.replace("workload.collective", "workload.simai").replace(trace, "file = \"gpt_13b\"");
    a.with(&simai, "\"gpt_13b\"", "\"none.txt\"\nlayers = 0");
    a.with(&simai, "\"gpt_13b\"", "\"gpt_13b\"\nalgorithms = { all_reduce = \"rings\" }");
    insta::assert_snapshot!(a.0);
}

#[test]
fn checks() {
    let good = format!("{GOOD}\n[[check]]\nmetric = \"fct_p99\"\nscheme = \"dctcp\"\nat_most = \"5 ms\"\n");
    assert_eq!(load(&good, &[("check.0.at_most", "2 s")]).unwrap(), [""; 0]);
    for right in ["0", "3", "0.01"] {
        assert_eq!(load(&good, &[("check.0.allow_unfinished", right)]).unwrap(), [""; 0]);
    }
    let mut a = Answers::default();
    a.with(&good, "scheme = \"dctcp\"", "scheme = \"dctp\"");
    a.with(&good, "at_most = \"5 ms\"", "");
    a.with(&good, "at_most = \"5 ms\"", "at_most = \"5 mss\"");
    a.with(&good, "at_most = \"5 ms\"", "at_most = true");
    a.with(&good, "at_most = \"5 ms\"", "at_most = 0.5\nrelative_to = \"dctcp\"");
    a.with(&good, "at_most = \"5 ms\"", "at_most = \"5 ms\"\nrelative_to = \"cubic\"");
    a.with(&good, "at_most = \"5 ms\"", "at_most = 1\nrelative_to = \"cubic\"\nrelative_to_bound = true");
    a.with(&good, "at_most = \"5 ms\"", "at_most = \"5 ms\"\nat_least = \"6 ms\"");
    for wrong in ["-1", "1.5", "true", "\"1 %\""] {
        a.with(&good, "at_most = \"5 ms\"", &format!("at_most = \"5 ms\"\nallow_unfinished = {wrong}"));
    }
    a.set(&good, &[("check.0.at_most", "1 ms,2 ms")]);
    a.set(&good, &[("check.1.at_most", "1 ms")]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn sweeps() {
    let mut a = Answers::default();
    a.with(GOOD, "\"workload.poisson.load\"", "\"workload.poisson.laod\"");
    a.with(GOOD, "\"workload.poisson.load\"", "\"scheme.dctp.ecmp\"");
    a.with(GOOD, "\"workload.poisson.load\"", "seeds");
    a.with(GOOD, "[0.2, 0.5, 0.8]", "[0.2, \"half\", 0.8]");
    a.with(GOOD, "[0.2, 0.5, 0.8]", "[]");
    a.with(GOOD, "[0.2, 0.5, 0.8]", "[0.2, 0.5, 0.2]");
    a.with(GOOD, "[0.2, 0.5, 0.8]", "0.2");
    a.with(GOOD, "\"workload.poisson.load\" = [0.2, 0.5, 0.8]", "\"fabric.rate\" = [\"1 Gb/s\", \"1 Gb\"]");
    let mut together = |what: &str| a.with(GOOD, "\"workload.poisson.load\" = [0.2, 0.5, 0.8]", what);
    together("\"workload.poisson.load, fabric.rate\" = [[0.2, \"1 Gb/s\"], [0.5]]");
    together("\"workload.poisson.load, fabric.rat\" = [[0.2, \"1 Gb/s\"]]");
    together("\"workload.poisson.load, fabric.rate\" = [[0.2, \"1 GB\"]]");
    together("\"workload.poisson.load, fabric.rate\" = [[0.2, \"1 Gb/s\"]]\n\"fabric.rate\" = [\"2 Gb/s\"]");
    insta::assert_snapshot!(a.0);
}

#[test]
fn overrides() {
    let mut a = Answers::default();
    a.set(GOOD, &[("fabric.rat", "10 Gb/s")]);
    a.set(GOOD, &[("fabric.rate", "10 GB/s")]);
    a.set(GOOD, &[("workload.poisson.load", "0.2,lots")]);
    a.set(GOOD, &[("sweep.x", "1")]);
    a.set(GOOD, &[("scheme.dctcp.transport.raw.header", "9 MB")]);
    a.set(GOOD, &[("fabric.topology.leaf_spine.spines", "0,1")]);
    a.set(GOOD, &[("fabric.topology.leaf_spine.leaves.x", "0")]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn doubts_are_warnings() {
    let mut a = Answers::default();
    a.warns(GOOD, &[("workload.poisson.load", "1.2")]);
    a.warns(SLOTS, &[("scheme.slots.plan.tdma.clock_error", "10 us")]);
    a.warns(SLOTS, &[("scheme.slots.plan.tdma.round_slots", "1"), ("scheme.slots.plan.tdma.slot", "50 us")]);
    let tcp = |key: &str| format!("scheme.cubic.transport.tcp.{key}");
    a.warns(GOOD, &[(&tcp("congestion"), "bbr"), (&tcp("hystart"), "true")]);
    a.warns(GOOD, &[(&tcp("congestion"), "new_reno"), (&tcp("w_max_from_cwnd"), "true")]);
    a.warns(GOOD, &[(&tcp("congestion"), "bbr"), (&tcp("limited_growth"), "true"), (&tcp("prr"), "true")]);
    a.warns(GOOD, &[(&tcp("congestion"), "bbr"), (&tcp("ecn"), "true")]);
    a.warns(GOOD, &[(&tcp("congestion"), "bbr3"), (&tcp("prr"), "true")]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn slots_by_signals() {
    let mut a = Answers::default();
    let keys = |keys: &str| format!("\"15 us\"\n{keys}");
    for wrong in [
        "signals = { reaction = \"interfce\" }",
        "signals = { hold = \"0 s\" }",
        "signals = { frame_gap = \"-1 us\" }",
        "signals = { frame_gap = \"50 us\" }",
        "signals = { reaction = { times = { off_least = \"2 us\", off_most = \"1 us\", on_least = \"0 s\", on_most = \"1 us\" } } }",
        "signals = { reaction = { times = { off_least = \"0 s\", off_most = \"1 us\", on_least = \"0 s\", on_most = \"300 us\" } } }",
        "clock_drift = -1.0",
        "clock_drift = 5000.0",
        "resync = \"0 s\"",
        "receive = { buffer = \"1 kB\", drain = \"1 Gb/s\" }",
        "receive = { buffer = \"1 MB\", drain = \"1 b/s\" }",
        "receive = { buffer = \"1 MB\" }",
        "background = { rate = \"10 Gb/s\", below = \"10 kB\" }",
        "background = { rate = \"1 Gb/s\", below = \"0 B\" }",
    ] {
        a.with(SLOTS, "\"15 us\"", &keys(wrong));
    }
    let at = |key: &str| format!("scheme.slots.plan.tdma.{key}");
    let even =
        "{ times = { off_least = \"100 us\", off_most = \"200 us\", on_least = \"100 us\", on_most = \"200 us\" } }";
    a.warns(SLOTS, &[(&at("signals.reaction"), even)]);
    a.warns(SLOTS, &[(&at("signals.hold"), "100 us")]);
    a.warns(SLOTS, &[(&at("clock_drift"), "50")]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn several_controllers() {
    let mut a = Answers::default();
    for wrong in [
        "standby = { takeover = \"5 ms\" }",
        "standby = { takeover = \"0 s\" }",
        "standby = { latency = \"-1 us\" }",
        "standby = { latency = \"1 min\" }",
        "standby = { detection = \"30 ms\" }",
        "standby = true",
    ] {
        a.with(SLOTS, "\"15 us\"", &format!("\"15 us\"\n{wrong}"));
    }
    for wrong in [
        "controllers = { count = 0 }",
        "controllers = { count = 1000 }",
        "controllers = { clock_error = \"1 us\" }",
        "controllers = { count = 2, clock_error = \"-1 us\" }",
        "controllers = { count = 2, latency = \"1 h\" }",
        "controllers = { count = 2, loss = 1.5 }",
        "controllers = 2",
    ] {
        a.with(SLOTS, "\"15 us\"", &format!("\"15 us\"\n{wrong}"));
    }
    let two = SLOTS.replace("\"15 us\"", "\"15 us\"\ncontrollers = { count = 2 }");
    let third = "[[failure]]\nelement = { relay = 2 }\nat = \"1 ms\"\nuntil = \"2 ms\"\n[scheme";
    a.with(&two, "[scheme", third);
    let at = |key: &str| format!("scheme.slots.plan.tdma.{key}");
    let clocks = "{ count = 2, clock_error = \"10 us\" }";
    a.warns(SLOTS, &[(&at("controllers"), clocks), (&at("signals"), "{}")]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn control_messages() {
    let mut a = Answers::default();
    for wrong in [
        "control = \"ideal\"",
        "control.network = { rate = \"1 Gb/s\" }",
        "control.network = { host_rate = \"1 b/s\" }",
        "control.in_band = {}",
        "control.in_band = { controller = 8 }",
        "control.in_band = { controller = 0 }\nsignals = {}",
        "control.in_band = { controller = 0 }\nstandby = {}",
        "control.in_band = { controller = 0 }\ncontrollers = { count = 2 }",
    ] {
        a.with(SLOTS, "\"15 us\"", &format!("\"15 us\"\n{wrong}"));
    }
    let at = |key: &str| format!("scheme.slots.plan.tdma.{key}");
    let pfc = "{ pause_at = \"46 kB\", resume_at = \"40 kB\" }";
    a.set(SLOTS, &[("fabric.switch.pfc", pfc), (&at("control"), "{ in_band = { controller = 0 } }")]);
    let timeslots = SLOTS.replace(
        "[scheme.slots.plan.tdma]\nslot = \"300 us\"       # 243 frames of 1538 B\nguard = \"15 us\"\nscheduler = \"weighted_round_robin\"",
        "[scheme.slots.plan.timeslots]\ncontrol.network = { controller_rate = \"2 Gb/s\" }",
    );
    a.set(&timeslots, &[]);
    a.with(&timeslots, "{ controller_rate = \"2 Gb/s\" }", "{}\nahead = \"100 ns\"");
    insta::assert_snapshot!(a.0);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let mut a = Answers::default();
    let text = GOOD.replace("10 Gb/s", "10 Gbps").replace("seeds", "seds").replace("measure", "mesure");
    a.set(&text, &[]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn json_has_no_lines() {
    let mut json = Loaded::from_str(GOOD, "a.toml", ".", &[]).unwrap().scenario.to_json();
    json["fabric"]["rate"] = "fast".into();
    json["extra"] = 1.into();
    let error = Loaded::from_json(&json, ".", &[]).unwrap_err().to_string();
    insta::assert_snapshot!(error);
}

/// A server, an access point, a device, and a proxy.
pub const RADIO: &str = r#"
[fabric]
rate = "10 Gb/s"
topology.graph = { hosts = 2, switches = 2, links = [{ nodes = [0, 2] }, { nodes = [1, 3] }, { nodes = [2, 3] }] }
radio = { access = "planned", retries = 0, link = [{ nodes = [2, 3], trace = { room = "b" } }] }
[workload.shuffle]
bytes = "1 MB"
[scheme.it]
transport.tcp = {}
proxy = { policy.reactive = {}, report_delay = "20 ms" }
"#;

#[test]
fn radios() {
    let mut a = Answers::default();
    assert_eq!(load(RADIO, &[]).unwrap(), [""; 0]);
    let link = "{ nodes = [2, 3], trace = { room = \"b\" } }";
    for wrong in [
        "{ nodes = [2, 3], mcs = 32, signal_dbm = -40.0 }",
        "{ nodes = [2, 3], mcs = 24 }",
        "{ nodes = [2, 3], signal_dbm = 300.0 }",
        "{ nodes = [2, 3], signal_dbm = -40.0, distance_m = 3.0 }",
        "{ nodes = [2, 3], distance_m = 20.0 }",
        "{ nodes = [2, 3], distance_m = -3.0 }",
        "{ nodes = [2, 2], signal_dbm = -40.0 }",
        "{ nodes = [1, 3], signal_dbm = -40.0 }",
        "{ nodes = [2, 4], signal_dbm = -40.0 }",
        "{ nodes = [2, 3], signal_dbm = -40.0, share = 1.5 }",
        "{ nodes = [2, 3], trace = {} }",
        "{ nodes = [2, 3], trace = { room = \"c\" } }",
        "{ nodes = [2, 3], trace = { room = \"a\", beams = \"b.csv\" } }",
        "{ nodes = [2, 3], trace = { room = \"a\", target = 0.0 } }",
        "{ nodes = [2, 3], trace = { room = \"a\", every = \"0 s\" } }",
        "{ nodes = [2, 3], trace = { room = \"a\", level_dbm = nan } }",
        "{ nodes = [2, 3], trace = { room = \"a\", body_loss_db = 61.0 } }",
        "{ nodes = [2, 3], trace = { beams = \"b.csv\", body_loss_db = 15.0 } }",
        "{ nodes = [2, 3], trace = { room = \"a\", in_outage = \"drop\" } }",
        "{ nodes = [2, 3], mcs = 12, trace = { room = \"a\" } }",
    ] {
        a.with(RADIO, link, wrong);
    }
    let wires = "switches = 2, links = [{ nodes = [0, 2] }, { nodes = [1, 3] }, { nodes = [2, 3] }]";
    a.with(RADIO, wires, &wires.replace("2, links", "3, links").replace("[2, 3]", "[2, 4] }, { nodes = [4, 3]"));
    a.with(RADIO, "access = \"planned\"", "access = \"dfc\"");
    a.with(RADIO, "access = \"planned\"", "access = \"dcf\"");
    a.with(RADIO, "retries = 0", "retries = 0, antenna = \"narow_beam\"");
    a.with(RADIO, "retries = 0", "retries = 0, queue.drop_tail.packets = 0");
    a.with(RADIO, "retries = 0", "retries = 0, senses_dbm = 20.0");
    a.with(RADIO, "\"20 ms\"", "\"-20 ms\"");
    a.with(RADIO, "policy.reactive = {}", "policy.reactve = {}");
    a.with(RADIO, "policy.reactive = {}", "policy.proactive.drop = 0");
    a.with(RADIO, "policy.reactive = {}", "policy.reactive = {}, split_at = 2");
    a.with(RADIO, "transport.tcp = {}", "transport.datagrams = {}");
    a.with(RADIO, "trace = { room = \"b\" }", "signal_dbm = -40.0");
    a.with(RADIO, "transport.tcp = {}", "transport.tcp = {}\nplan.rates = {}");
    insta::assert_snapshot!(a.0);
}

/// Four racks of a host each, on uplinks of half their rate.
const FLYWAYS: &str = r#"
[fabric]
topology.tree = { edges = 4, hosts_per_edge = 1 }
rate = "10 Gb/s"
uplink_rate = "5 Gb/s"
[workload.shuffle]
bytes = "1 MB"
[scheme.it]
transport.tcp = {}
plan.flyways = { radios = 1 }
"#;

#[test]
fn flyways() {
    let mut a = Answers::default();
    assert_eq!(load(FLYWAYS, &[]).unwrap(), [""; 0]);
    for wrong in [
        "radios = 0",
        "radios = 4",
        "channels = 5",
        "access = \"planned\"",
        "every = \"0 s\"",
        "lease = \"2 ms\"",
        "measure_every = \"0 s\"",
        "policy = \"gredy\"",
        "pointing.trained.sectors = 0",
        "positions_m = [[0.0, 0.0]]",
        "positions_m = [[0.0, 0.0], [0.1, 0.0], [5.0, 0.0], [9.0, 0.0]]",
        "positions_m = [[0.0, 0.0], [1e9, 0.0], [5.0, 0.0], [9.0, 0.0]]",
        "rows = { racks = 0 }",
        "rows.spacing_m = 0.5",
        "rows = { racks = 20 }",
        "rows.row_spacing_m = nan",
        "rows = {}, positions_m = [[0.0, 0.0]]",
    ] {
        a.with(FLYWAYS, "radios = 1", wrong);
    }
    a.with(FLYWAYS, "tree = { edges = 4, hosts_per_edge = 1 }", "tree = { edges = 2, hosts_per_edge = 2 }");
    a.with(FLYWAYS, "tree = { edges = 4, hosts_per_edge = 1 }", "tree = { edges = 161, hosts_per_edge = 1 }");
    insta::assert_snapshot!(a.0);
}

#[test]
fn own_algorithms() {
    let mut a = Answers::default();
    let scheduler = "scheduler = \"weighted_round_robin\"";
    for wrong in [
        "scheduler = \"weighted\"",
        "scheduler = { name = \"weighted_round_robin\", depth = 3 }",
        "scheduler = { depth = 3 }",
        "scheduler = { name = 3 }",
        "scheduler = 3",
        "scheduler = { name = \"mine\", since = [{ day = 2026-01-01 }] }",
        "scheduler = { name = \"mine\", depth = inf }",
    ] {
        a.with(SLOTS, scheduler, wrong);
    }
    let at = |key: &str| format!("scheme.slots.plan.tdma.scheduler{key}");
    a.set(SLOTS, &[(&at(".depth"), "3")]);
    a.set(SLOTS, &[(&at(".name"), "mine"), (&at(".depth"), "3,4")]);
    for plan in ["timeslots.metric = \"oc\"", "rates.normalizer = \"maxmin\"", "flyways.policy = { name = \"gredy\" }"]
    {
        let text = SLOTS.split("[scheme.slots.plan").next().unwrap();
        a.with(&format!("{text}# here\n"), "# here", &format!("[scheme.slots.plan]\n{plan}"));
    }
    insta::assert_snapshot!(a.0);
}

#[test]
fn parameters_of_own_algorithms_are_swept() {
    let mut algorithms = Algorithms::built_in();
    algorithms.tdma.register("mine", |_, _| unreachable!("it is only checked"));
    let key = "scheme.slots.plan.tdma.scheduler";
    let set = |values: &[(&str, &[&str])]| {
        let values = values.iter().map(|(k, v)| (format!("{key}{k}"), v.iter().map(|&v| v.to_owned()).collect()));
        let loaded = Loaded::from_str(SLOTS, "a.toml", ".", &values.collect::<Vec<_>>()).unwrap();
        loaded.validate(&algorithms).unwrap();
        let own = |point: &timeplane_scenario::Point| {
            let plan = point.scenario.scheme["slots"].plan.as_ref().unwrap();
            plan.own_algorithm().map(|(_, own)| serde_json::to_string(&own.parameters).unwrap())
        };
        loaded.points().unwrap().iter().map(own).collect::<Vec<_>>()
    };
    let with = |text: &str| Some(text.to_owned());
    assert_eq!(set(&[("", &["mine"])]), [with("{}")]);
    assert_eq!(set(&[("", &["mine", "conflict_free"])]), [with("{}"), None]);
    assert_eq!(set(&[("", &["{ name = 'mine', depth = 3 }"])]), [with(r#"{"depth":3}"#)]);
    let swept = set(&[("", &["mine"]), (".depth", &["3", "4"]), (".weight", &["fast"])]);
    assert_eq!(swept, [with(r#"{"weight":"fast","depth":3}"#), with(r#"{"weight":"fast","depth":4}"#)]);
}
