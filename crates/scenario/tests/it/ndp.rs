//! Errors of `transport.ndp` with their locations, and what NDP is refused with.
//! They are readable golden texts, as those of all other keys.

use crate::messages::{Answers, RADIO, load};

const NDP: &str = r#"
[fabric]
topology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 2 }
rate = "10 Gb/s"
[workload.shuffle]
bytes = "1 MB"
[scheme.pulled]
transport.ndp = {}
"#;

const WAYS: &str = "[fabric]\ntopology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 2 }\n";

#[test]
fn ndp() {
    let mut a = Answers::default();
    assert_eq!(load(NDP, &[]).unwrap(), [""; 0]);
    for wrong in [
        "{ windows = 8 }",
        "{ window = 0, queue = 0, headers = 0, rto = \"0 s\" }",
        "{ window = 10001, queue = 20000, headers = 1000001, rto = \"1 h\" }",
        "{ queue = \"8 kB\" }",
        "{ spray = \"hashes\" }",
    ] {
        a.with(NDP, "transport.ndp = {}", &format!("transport.ndp = {wrong}"));
    }
    a.with(NDP, "transport.ndp = {}", "transport.ndp = {}\nplan.tdma = {}");
    a.with(NDP, "transport.ndp = {}", "transport.ndp = {}\nplan.rates = {}");
    for switch in [
        "forwarding = \"cut_through\"",
        "buffer.per_input = \"640 kB\"",
        "pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\" }",
    ] {
        a.with(NDP, WAYS, &format!("{WAYS}switch.{switch}\n"));
    }
    let change = "[[change]]\nwires = { wire = 1 }\nat = \"30 us\"\nrates = [\"1 Gb/s\"]\n[scheme.pulled]";
    a.with(NDP, "[scheme.pulled]", change);
    a.with(
        RADIO,
        "transport.tcp = {}\nproxy = { policy.reactive = {}, report_delay = \"20 ms\" }",
        "transport.ndp = {}",
    );
    a.with(
        NDP,
        "[workload.shuffle]\nbytes = \"1 MB\"",
        "[workload.poisson]\nload = 0.5\nsizes.fixed = \"9 kB\"\npackets = \"bimodal\"\n[window]\nmeasure = \"1 ms\"",
    );
    // Other switches than NDP's may mark and have small buffers, and other schemes may be refused.
    let buffers =
        NDP.replacen(WAYS, &format!("{WAYS}switch = {{ ecn = \"30 kB\", buffer.per_port = \"90 kB\" }}\n"), 1);
    assert_eq!(load(&buffers, &[]).unwrap(), [""; 0]);
    a.warns(NDP, &[("scheme.pulled.ecmp", "\"packet\"")]);
    a.warns(NDP, &[("scheme.pulled.transport.ndp.rto", "\"15 us\"")]);
    insta::assert_snapshot!(a.0);
}
