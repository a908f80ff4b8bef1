//! Hosts that pause: packets leave when arithmetic says, packets of the other kind pass, and none
//! is lost.

use crate::common::{Ran, flow_list, run};

/// Line time of a full frame (1538 B) at 10 Gb/s, in ps.
const LINE: i64 = 1_230_400;
const US: i64 = 1_000_000;
/// Application bytes of a full datagram.
const PAYLOAD: u64 = 1472;
/// Propagation of each of the two links from host to host.
const PROPAGATION: i64 = 5 * US;

fn two_hosts(file: &str, rest: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 2 }}
        rate = "10 Gb/s"
        propagation = "5 us"
        [workload.flows]
        file = "{file}"
        {rest}
        "#
    )
}

const DATAGRAMS: &str = "[scheme.c]\ntransport.datagrams = {}\n";

/// When packets of a busy host start, if it is paused from `at` on for `closed` in each `period`.
fn starts(count: usize, [at, closed, period]: [i64; 3]) -> Vec<i64> {
    let mut free = 0;
    (0..count)
        .map(|_| {
            let since = free - at;
            let within = since.rem_euclid(period);
            let begin = if since >= 0 && within < closed { free + closed - within } else { free };
            free = begin + LINE;
            begin
        })
        .collect()
}

#[test]
fn packets_leave_at_the_picosecond_that_arithmetic_says() {
    let table = "[[pause]]\nwhat = \"data\"\nat = \"10 us\"\nclosed = \"30 us\"\nopen = \"19 us\"\n";
    let expected = starts(300, [10 * US, 30 * US, 49 * US]);
    // As flows of one packet each, with their arrivals: under a switch, a packet takes two line
    // times and propagations.
    flow_list("pause-each.csv", &[(0, 0, 1, PAYLOAD); 300]);
    for nic in ["", "nic.discipline = \"round_robin\"\n"] {
        let ran = run(&two_hosts("pause-each.csv", &format!("{table}{DATAGRAMS}{nic}")), "c", 1);
        let mut arrivals = ran.column("flows", "fct_ps");
        arrivals.sort_unstable();
        let arrives = |begin: &i64| begin + 2 * (LINE + PROPAGATION);
        assert_eq!(arrivals, expected.iter().map(arrives).collect::<Vec<_>>(), "{nic}");
    }
    // As one flow.
    flow_list("pause-one.csv", &[(0, 0, 1, 300 * PAYLOAD)]);
    let ran = run(&two_hosts("pause-one.csv", &format!("{table}{DATAGRAMS}")), "c", 1);
    assert_eq!(ran.column("flows", "fct_ps"), [expected[299] + 2 * (LINE + PROPAGATION)]);
}

#[test]
fn throughput_is_the_open_share() {
    // 100 line times in each 300; the first packet leaves 200 line times after the start.
    let table = "[[pause]]\nhosts = [0]\nwhat = \"both\"\nclosed = \"246.08 us\"\nopen = \"123.04 us\"\n";
    flow_list("pause-share.csv", &[(0, 0, 1, 100_000 * PAYLOAD)]);
    let window = "[window]\nmeasure = \"36.912 ms\"\ndrain = \"0 s\"\n";
    let delay = 2 * PROPAGATION + LINE;
    let ran = run(&two_hosts("pause-share.csv", &format!("{window}{table}{DATAGRAMS}")), "c", 1);
    // 100 periods, the last of which ends with frames that have not arrived.
    let late = delay / LINE + 1;
    assert_eq!(36_912 * US, 100 * 300 * LINE);
    assert_eq!(ran.column("flows", "received_bytes"), [(100 * 100 - late) * PAYLOAD as i64]);
    assert_eq!(ran.column("links", "busy_ps")[0], 100 * 100 * LINE);
}

#[test]
fn tables_of_one_host_add_up_and_others_send() {
    let table = "[[pause]]\nhosts = [0]\nwhat = \"data\"\nclosed = \"50 us\"\n\
                 [[pause]]\nhosts = [0]\nwhat = \"data\"\nat = \"40 us\"\nclosed = \"30 us\"\n";
    flow_list("pause-hosts.csv", &[(0, 0, 1, PAYLOAD), (0, 1, 0, PAYLOAD)]);
    let ran = run(&two_hosts("pause-hosts.csv", &format!("{table}{DATAGRAMS}")), "c", 1);
    let alone = 2 * (LINE + PROPAGATION);
    let of = |source: i64| {
        let place = ran.column("flows", "source").iter().position(|s| *s == source).expect("its flow");
        ran.column("flows", "fct_ps")[place]
    };
    assert_eq!([of(0), of(1)], [70 * US + alone, alone]);
}

/// One flow of five segments, one after the other hosts' interfaces of each kind.
fn tcp(name: &str, table: &str) -> Vec<Ran> {
    let file = format!("{name}.csv");
    flow_list(&file, &[(0, 0, 1, 5 * 1460)]);
    ["", "preset = \"rfc\", "]
        .map(|preset| {
            let scheme = format!("[scheme.c]\ntransport.tcp = {{ {preset}handshake = false }}\n");
            run(&two_hosts(&file, &format!("[record]\nrtt = true\n{table}{scheme}")), "c", 1)
        })
        .into()
}

#[test]
fn acknowledgements_alone_wait_alone() {
    let paused = "[[pause]]\nwhat = \"acknowledgements\"\nclosed = \"1 ms\"\n";
    let (with, without) = (tcp("pause-acks", paused), tcp("pause-none", ""));
    for (with, without) in with.iter().zip(&without) {
        assert_eq!(with.column("flows", "fct_ps"), without.column("flows", "fct_ps"));
        // All acknowledgements leave when the pause ends, one after the other.
        let rtt = with.column("rtt", "rtt_ps");
        let least = 1000 * US - 5 * LINE;
        assert!(rtt.iter().all(|r| (least..1030 * US).contains(r)), "{rtt:?}");
        assert!(without.column("rtt", "rtt_ps").iter().all(|r| *r < 45 * US));
        assert!(with.summary.dropped_packets.is_empty());
    }
}

#[test]
fn data_waits_and_acknowledgements_pass() {
    // Host 0 sends and acknowledges. Its data is paused, and the other host's is not.
    let table = "[[pause]]\nhosts = [0]\nwhat = \"data\"\nclosed = \"2 ms\"\n";
    for preset in ["", "preset = \"rfc\", "] {
        flow_list("pause-both-ways.csv", &[(0, 0, 1, 100 * 1460), (0, 1, 0, 100 * 1460)]);
        let scheme = format!("[scheme.c]\ntransport.tcp = {{ {preset}handshake = false }}\n");
        let fct = |table: &str| {
            let ran = run(&two_hosts("pause-both-ways.csv", &format!("{table}{scheme}")), "c", 1);
            let of = |s: i64| ran.column("flows", "source").iter().position(|x| *x == s).expect("its flow");
            [of(0), of(1)].map(|place| ran.column("flows", "fct_ps")[place])
        };
        let ([paused, other], [free, same]) = (fct(table), fct(""));
        // Without the data in front of its acknowledgements, the other flow is faster by a little.
        assert!(other <= same && other > same / 2, "{other} {same}");
        assert!((2000 * US..2000 * US + free).contains(&paused), "{paused} {free}");
    }
}

/// Random traffic of eight hosts under pauses of all kinds. The run checks that nothing is missing.
fn random(scheme: &str, seed: u64) -> Ran {
    let text = format!(
        r#"
        [fabric]
        topology.leaf_spine = {{ leaves = 2, hosts_per_leaf = 4, spines = 2 }}
        rate = "10 Gb/s"
        switch.buffer.per_port = "60 kB"
        [workload.poisson]
        load = 0.4
        sizes.cdf = "websearch"
        [window]
        measure = "5 ms"
        [[pause]]
        what = "data"
        closed = "40 us"
        open = "300 us"
        [[pause]]
        hosts = [1, 4, 6]
        what = "acknowledgements"
        at = "130 us"
        closed = "210 us"
        open = "170 us"
        [[pause]]
        hosts = [4]
        what = "both"
        at = "1 ms"
        closed = "700 us"
        [scheme.c]
        {scheme}
        "#
    );
    run(&text, "c", seed)
}

#[test]
fn pauses_lose_nothing_and_repeat() {
    for scheme in [
        "transport.datagrams = {}",
        "transport.tcp = {}",
        "transport.tcp = { preset = \"rfc\" }",
        "transport.tcp = { preset = \"rfc\" }\nnic = { discipline = \"round_robin\", burst = \"9 kB\" }",
    ] {
        for seed in 1..4 {
            let (one, other) = (random(scheme, seed), random(scheme, seed));
            let unfinished = one.nullable("flows", "fct_ps").iter().filter(|f| f.is_none()).count();
            assert!(unfinished == 0 || scheme.contains("datagrams"), "{scheme}: {unfinished}");
            for column in ["flow", "start_ps", "fct_ps", "received_bytes"] {
                assert_eq!(one.nullable("flows", column), other.nullable("flows", column), "{scheme}: {column}");
            }
            assert_eq!(one.summary.simulated_ps, other.summary.simulated_ps);
        }
    }
}

#[test]
fn pauses_that_meet_no_packet_change_nothing() {
    let never = "[[pause]]\nwhat = \"both\"\nat = \"1 s\"\nclosed = \"1 s\"\nopen = \"1 s\"\n";
    flow_list("pause-never.csv", &[(0, 0, 1, 40 * PAYLOAD), (3 * US, 0, 1, 7), (5 * US, 1, 0, 90 * PAYLOAD)]);
    for scheme in ["transport.datagrams = {}", "transport.tcp = {}", "transport.tcp = { preset = \"rfc\" }"] {
        let of = |table: &str| {
            let ran = run(&two_hosts("pause-never.csv", &format!("{table}[scheme.c]\n{scheme}\n")), "c", 1);
            (ran.column("flows", "flow"), ran.column("flows", "fct_ps"), ran.summary.simulated_ps)
        };
        assert_eq!(of(never), of(""), "{scheme}");
    }
}
