//! What control messages cost: time on ports of their own, or on the links of data.
//!
//! Delays are compared with arithmetic on the bytes of messages, and the longest ones with the
//! bound that plans reckon with.

use crate::common::{Ran, flow_list, load, run};
use proptest::prelude::*;
use proptest::sample::select;
use timeplane_scenario::PlanSpec;

/// Bytes on the wire of a report of one destination, and of a rate for one.
const REPORT: i64 = 38 + 28 + 24 + 12;
const RATES: i64 = 38 + 28 + 24 + 8 + 12;
/// Picoseconds of a byte at 1 and 10 Gb/s.
const AT_1G: i64 = 8_000;
const AT_10G: i64 = 800;

/// When the only flow has arrived, from host 0 to host 1 of three under one switch. It waits for a
/// rate, and is the only one to ask at that time.
fn fct(list: &str, control: &str) -> i64 {
    flow_list(list, &[(1_500_000_000, 0, 1, 1_000)]);
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 3 }}
        rate = "10 Gb/s"
        propagation = "1 us"
        [workload.flows]
        file = "{list}"
        [scheme.c]
        transport.datagrams = {{}}
        plan.rates = {{ control = {control} }}
        "#
    );
    run(&text, "c", 1).column("flows", "fct_ps")[0]
}

#[test]
fn a_report_and_a_rate_pass_two_ports_each() {
    let network = r#"{ network = { host_rate = "1 Gb/s", controller_rate = "10 Gb/s" } }"#;
    let expected = (REPORT + RATES) * (AT_1G + AT_10G);
    assert_eq!(fct("ports.csv", network) - fct("ports.csv", r#""unlimited""#), expected);
}

#[test]
fn in_band_a_report_and_a_rate_pass_two_links_each() {
    let expected = 2 * (REPORT + RATES) * AT_10G + 4 * 1_000_000;
    assert_eq!(fct("band.csv", "{ in_band = { controller = 2 } }") - fct("band.csv", r#""unlimited""#), expected);
    // The controller's own host needs no link.
    assert_eq!(fct("band.csv", "{ in_band = { controller = 0 } }"), fct("band.csv", r#""unlimited""#));
}

#[test]
fn ports_that_are_too_slow_make_grants_late() {
    let ran = |rate: &str| {
        let text = format!(
            r#"
            [fabric]
            topology.single_switch = {{ hosts = 8 }}
            rate = "10 Gb/s"
            [workload.poisson]
            load = 0.8
            sizes.fixed = "100 kB"
            [window]
            measure = "2 ms"
            drain = "0 s"
            [scheme.c]
            transport.raw = {{}}
            plan.timeslots = {{ control.network = {{ controller_rate = "{rate}" }} }}
            "#
        );
        run(&text, "c", 1).summary
    };
    // A grant of 122 B for each of 8 hosts in 1.23 us is 6.3 Gb/s.
    let (fast, slow) = (ran("20 Gb/s"), ran("2 Gb/s"));
    let rtt = |summary: &timeplane_results::RunSummary| summary.control_total().max_transfer_ps;
    assert!(rtt(&fast) < 20_000_000, "{}", rtt(&fast));
    assert!(rtt(&slow) > 100_000_000, "{}", rtt(&slow));
    assert!(slow.goodput_bps < fast.goodput_bps.map(|g| g * 0.7), "{:?} {:?}", slow.goodput_bps, fast.goodput_bps);
    assert!(slow.control_total().late > 0);
}

/// Hosts under two leaves with this plan and these switches.
fn leaf_spine(plan: &str, switch: &str, load: f64, extra: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.leaf_spine = {{ leaves = 2, hosts_per_leaf = 4, spines = 4 }}
        rate = "10 Gb/s"
        {switch}
        [workload.poisson]
        load = {load}
        pattern = "uniform"
        sizes.fixed = "30 kB"
        [window]
        measure = "3 ms"
        [scheme.c]
        transport.raw = {{}}
        plan.{plan}
        {extra}
        "#
    )
}

/// The longest time of a message besides its latency.
fn longest(ran: &Ran) -> i64 {
    ran.summary.control_total().max_transfer_ps
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// No message takes longer than plans reckon with, whatever the data does. Reports of timeslots
    /// and rates come at any time, so only grants of TDMA are bounded.
    #[test]
    fn plans_reckon_with_the_longest_message(
        control in select(vec![
            "{ in_band = { controller = 5 } }",
            "{ network = {} }",
            r#"{ network = { host_rate = "1 Gb/s", controller_rate = "10 Gb/s" } }"#,
        ]),
        switch in select(vec!["", r#"switch.forwarding = "cut_through""#, r#"switch.buffer.shared = { memory = "1 MB", alpha = 1.0 }"#]),
        load in 0.1..0.9,
        seed in 0u64..1000,
    ) {
        let plan = format!(r#"tdma = {{ slot = "20 us", guard = "5 us", round_slots = 8, control = {control} }}"#);
        let text = leaf_spine(&plan, switch, load, "");
        let ran = run(&text, "c", seed);
        let loaded = load_plan(&text);
        prop_assert!(longest(&ran) > 0);
        prop_assert!(longest(&ran) <= loaded, "{} > {loaded}", longest(&ran));
        prop_assert_eq!(ran.summary.control_total().late, 0);
        prop_assert_eq!(ran.summary.control_total().lost, 0);
    }
}

/// The time that the plan of `c` reckons with.
fn load_plan(text: &str) -> i64 {
    let loaded = load(text);
    let scenario = &loaded.scenario;
    let fabric = scenario.fabric.build().expect("a fabric");
    match &scenario.scheme["c"].plan {
        Some(PlanSpec::Tdma(tdma)) => tdma.transfer(&fabric, 1500).as_ps(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn in_band_data_waits_for_control_and_arrives_all_the_same() {
    for plan in ["timeslots", "rates"] {
        let of = |control: &str| run(&leaf_spine(&format!("{plan} = {{ control = {control} }}"), "", 0.5, ""), "c", 3);
        let (band, beside) = (of("{ in_band = { controller = 0 } }"), of(r#""unlimited""#));
        let bytes = |ran: &Ran| ran.column("links", "sent_bytes").iter().sum::<i64>();
        assert_eq!(band.summary.flows, beside.summary.flows, "{plan}");
        assert!(bytes(&band) > bytes(&beside), "{plan}: links carry control frames");
        assert!(longest(&band) > 0 && longest(&beside) == 0, "{plan}");
    }
}

#[test]
fn frames_in_band_are_lost_with_their_links() {
    let failure = r#"
        [[failure]]
        element = { between = [5, 9] }
        at = "500 us"
        until = "1500 us"
    "#;
    let plan = r#"tdma = { slot = "20 us", guard = "5 us", control.in_band = { controller = 5 } }"#;
    let text = leaf_spine(plan, "", 0.3, failure);
    assert!(run(&text, "c", 1).summary.control_total().lost > 0);
}
