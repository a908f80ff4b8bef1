//! Messages about plans of circuits and their fabrics. The snapshot shows each change to a valid
//! file with its message.

use crate::messages::{Answers, load};

const CIRCUITS: &str = r#"[fabric]
topology.hybrid = { tors = 8, hosts_per_tor = 2, packet_rate = "1 Gb/s", dark.fixed = "10 us" }
rate = "10 Gb/s"
[workload.shuffle]
bytes = "1 MB"
[scheme.it]
transport.raw = {}
plan.circuits = { period = "3 ms", dark = "40 us", least_open = "130 us" }
"#;

#[test]
fn circuits() {
    let mut a = Answers::default();
    // 17 configurations of 170 us fit into 3 ms; a frame takes 1,230.4 ns.
    assert_eq!(load(CIRCUITS, &[("scheme.it.plan.circuits.configurations", "17")]).unwrap(), [""; 0]);
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", configurations = 18 }");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", configurations = 0 }");
    a.with(CIRCUITS, "\"3 ms\"", "\"169 us\"");
    assert_eq!(load(&CIRCUITS.replace("130 us", "1230400 ps"), &[]).unwrap(), [""; 0]);
    a.with(CIRCUITS, "\"130 us\"", "\"1230399 ps\"");
    a.with(CIRCUITS, "\"130 us\"", "\"0 us\"");
    a.with(CIRCUITS, "dark = \"40 us\"", "dark = \"2871 us\"");
    a.with(CIRCUITS, "dark = \"40 us\"", "dark = \"-1 us\"");
    a.with(CIRCUITS, "period = \"3 ms\"", "period = \"0 s\"");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", acknowledgements = 1.5 }");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", unreported = nan }");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"sunflow\" }");
    // Parameters of schedulers: limits, and schedulers without them.
    for scheduler in ["max_weight", "round_robin", "tms"] {
        a.with(CIRCUITS, "\"130 us\" }", &format!("\"130 us\", scheduler = \"{scheduler}\", day = \"129 us\" }}"));
    }
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"max_weight\", day = \"2961 us\" }");
    let day = CIRCUITS.replace("\"130 us\" }", "\"130 us\", scheduler = \"max_weight\", day = \"2960 us\" }");
    assert_eq!(load(&day, &[]).unwrap(), [""; 0]);
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"adjust\", granularity = 0 }");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"adjust\", granularity = 2049 }");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"double\", granularity = 2 }");
    for more in ["scheduler = \"cover_all\", hysteresis = 0.5", "scheduler = \"cover_most\", hysteresis = nan"] {
        a.with(CIRCUITS, "\"130 us\" }", &format!("\"130 us\", {more} }}"));
    }
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"tms\", hysteresis = 2.0 }");
    a.with(CIRCUITS, "\"130 us\" }", "\"130 us\", scheduler = \"cover_all\", reorder = true }");
    a.with(CIRCUITS, "tors = 8", "tors = 1");
    a.with(CIRCUITS, "tors = 8", "tors = 513");
    a.with(
        CIRCUITS,
        "hybrid = { tors = 8, hosts_per_tor = 2, packet_rate = \"1 Gb/s\", dark.fixed = \"10 us\" }",
        "single_switch.hosts = 8",
    );
    a.with(CIRCUITS, "dark.fixed = \"10 us\"", "dark.between = { least = \"2 us\", most = \"1 us\" }");
    // Rates of packets that leave a circuit no frame in a period. Of 10 Gb/s it needs 4.1 Mb/s; by
    // default 1.02 times the packet switch's rate is kept.
    let rate = |rate: &str| CIRCUITS.replace("packet_rate = \"1 Gb/s\"", &format!("packet_rate = \"{rate}\""));
    assert_eq!(load(&rate("9.799 Gb/s"), &[]).unwrap(), [""; 0]);
    for wrong in ["9.8 Gb/s", "10 Gb/s", "100 Gb/s"] {
        a.with(CIRCUITS, "packet_rate = \"1 Gb/s\"", &format!("packet_rate = \"{wrong}\""));
    }
    a.with(&rate("100 Gb/s"), "\"130 us\" }", "\"130 us\", unreported = 0.5 }");
    a.with(&rate("19.6 Gb/s"), "dark.fixed", "packet_uplinks = 1, dark.fixed");
    assert_eq!(load(&rate("19.5 Gb/s").replace("dark.fixed", "packet_uplinks = 1, dark.fixed"), &[]).unwrap().len(), 1);
    for right in ["limits = false", "packets = false", "unreported = 0.0"] {
        let text = rate("100 Gb/s").replace("\"130 us\" }", &format!("\"130 us\", {right} }}"));
        assert!(load(&text, &[]).unwrap()[0].contains("as fast as a host's link"), "{right}");
    }
    // A dark time that hosts and switch keep to, and one that they do not.
    a.warns(CIRCUITS, &[("scheme.it.plan.circuits.dark", "15 us")]);
    insta::assert_snapshot!(a.0);
}
