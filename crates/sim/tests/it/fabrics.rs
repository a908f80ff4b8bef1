//! Switches against closed formulas: cut-through and store-and-forward latency, dynamic thresholds
//! of a shared buffer, and the balance of ECMP.
//!
//! Flows come from files, so that every queue is known.

use crate::common::{Ran, flow_list, run};

/// Bytes that a cut-through switch reads before it sends.
const HEADER: i64 = 64;

/// Completion time in ps of one packet of `bytes` from host 0 to host 1 over `switches` switches in
/// a row. Wires run at `first` Gb/s up to the first switch and at `rest` Gb/s from there, with 1 us
/// each; a switch takes 300 ns.
fn one_packet(switches: i64, forwarding: &str, bytes: i64, first: i64, rest: i64) -> i64 {
    flow_list("one.csv", &[(0, 0, 1, (bytes - 28) as u64)]);
    let mut links = vec![format!(r#"{{ nodes = [0, 2], rate = "{first} Gb/s" }}"#)];
    links.extend((1..switches).map(|s| format!("{{ nodes = [{}, {}] }}", s + 1, s + 2)));
    links.push(format!("{{ nodes = [1, {}] }}", switches + 1));
    let text = format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = 2, switches = {switches}, links = [{}] }}
        rate = "{rest} Gb/s"
        mtu = "9000 B"
        framing = "none"
        switch = {{ latency = "300 ns", forwarding = "{forwarding}" }}
        [workload.flows]
        file = "one.csv"
        [scheme.open]
        transport.datagrams = {{}}
        "#,
        links.join(", ")
    );
    let ran = run(&text, "open", 1);
    let fct = ran.column("flows", "fct_ps")[0];
    // Alone in the network, it takes the ideal time of the table.
    assert_eq!(fct, ran.column("flows", "ideal_ps")[0]);
    fct
}

/// One packet over `n` switches. `L0` and `H0` are the line times of the whole packet and of its
/// first 64 B on the first wire, `L` and `H` those on the others. There are `n + 1` wires and `n`
/// switches of fixed delay. Store-and-forward takes `L0 + n L`. Cut-through takes `H0 + L + (n - 1)
/// H`, but no less than `L0 + (n - 1) H`, as a packet cannot leave on a faster wire before it has
/// come in.
#[test]
fn latency_of_one_packet() {
    let (d, s) = (1_000_000, 300_000);
    for n in 1..=4 {
        for bytes in [64, 500, 1500, 9000] {
            for (first, rest) in [(10, 10), (1, 10), (10, 1)] {
                let ps = |bytes: i64, rate: i64| bytes * 8000 / rate;
                let fixed = (n + 1) * d + n * s;
                let stored = ps(bytes, first) + n * ps(bytes, rest) + fixed;
                assert_eq!(one_packet(n, "store_and_forward", bytes, first, rest), stored);
                let cut = one_packet(n, "cut_through", bytes, first, rest);
                let first_switch = (ps(HEADER, first) + ps(bytes, rest)).max(ps(bytes, first));
                let expected = first_switch + (n - 1) * ps(HEADER, rest) + fixed;
                assert_eq!(cut, expected, "{n} switches, {bytes} B, {first} to {rest} Gb/s");
                assert!(cut <= stored);
            }
        }
    }
}

/// The longest queue towards each of the hosts 0 and 1, in bytes.
fn longest(ran: &Ran, ports: u32) -> Vec<f64> {
    let (to, queue) = (ran.column("links", "to"), ran.column("links", "max_queue_bytes"));
    (0..ports).map(|h| queue[to.iter().position(|t| *t == i64::from(h)).unwrap()] as f64).collect()
}

/// Dynamic thresholds (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998, eq. 2): with `n` congested
/// ports, each holds `alpha / (1 + n alpha)` of the memory, and `1 / (1 + n alpha)` stays free.
#[test]
fn congested_ports_share_a_memory() {
    let memory = 1e6;
    for alpha in [0.125, 0.5, 1.0, 2.0, 8.0] {
        for ports in [1, 2, 3] {
            // Four senders each. The first one starts a little sooner, so that packets of different
            // ports alternate.
            let hosts = ports * 5;
            let flows: Vec<_> = (ports..hosts).map(|h| (i64::from(h) * 100_003, h, h % ports, 4_000_000)).collect();
            flow_list("memory.csv", &flows);
            let text = format!(
                r#"
                [fabric]
                topology.single_switch = {{ hosts = {hosts} }}
                rate = "10 Gb/s"
                framing = "none"
                switch.buffer.shared = {{ memory = "1 MB", alpha = {alpha} }}
                [workload.flows]
                file = "memory.csv"
                [record]
                queues_every = "50 us"
                [scheme.open]
                transport.datagrams = {{}}
                "#
            );
            let ran = run(&text, "open", 1);
            let expected = alpha / (1.0 + f64::from(ports) * alpha) * memory;
            // While all senders still send: from 1 ms, when the memory is full, to 3 ms.
            let (time, link) = (ran.column("queues", "time_ps"), ran.column("queues", "link"));
            let (bytes, node) = (ran.column("queues", "queue_bytes"), ran.column("queues", "node"));
            let (links, to) = (ran.column("links", "link"), ran.column("links", "to"));
            for port in 0..ports {
                let port = links[to.iter().position(|t| *t == i64::from(port)).unwrap()];
                let queue: Vec<f64> = (0..time.len())
                    .filter(|&i| {
                        link[i] == port
                            && node[i] == i64::from(hosts)
                            && (1_500_000_000..3_000_000_000).contains(&time[i])
                    })
                    .map(|i| bytes[i] as f64)
                    .collect();
                assert!(queue.len() >= 29);
                let mean = queue.iter().sum::<f64>() / queue.len() as f64;
                println!("alpha {alpha}, {ports} ports: {mean:.0} B each, expected {expected:.0}");
                // Packets do not fit in parts, and single arrivals leave room for less than one.
                assert!(
                    (mean - expected).abs() < 3000.0,
                    "alpha {alpha}, {ports} ports: {mean} B, expected {expected}"
                );
            }
            if ports == 1 {
                let most = longest(&ran, 1)[0];
                assert!((most - expected).abs() < 1500.0, "{most} {expected}");
            }
        }
    }
}

/// Packets on each of the uplinks of leaf 0.
fn uplinks(ran: &Ran, leaf: i64, hosts: i64) -> Vec<f64> {
    let (from, to, packets) =
        (ran.column("links", "from"), ran.column("links", "to"), ran.column("links", "sent_packets"));
    (0..from.len()).filter(|&i| from[i] == leaf && to[i] >= hosts).map(|i| packets[i] as f64).collect()
}

/// `n` flows (or packets, path by path) on `m` uplinks at random: the chi-square statistic of the
/// counts has `m - 1` degrees of freedom. With 7 of them it exceeds 24.3 in one of a thousand
/// cases, and is below 0.6 in one of a thousand.
#[test]
fn ecmp_balances_by_flow_and_by_packet() {
    // 16 hosts per leaf, two leaves, 8 spines. All of leaf 0 send to leaf 1, so that all packets
    // cross.
    let packets = 100;
    let flows: Vec<_> =
        (0..1600u32).map(|f| (i64::from(f) * 1_000_003, f % 16, 16 + (f / 16) % 16, packets * 1472)).collect();
    flow_list("ecmp.csv", &flows);
    let text = r#"
        [fabric]
        topology.leaf_spine = { leaves = 2, hosts_per_leaf = 16, spines = 8 }
        rate = "10 Gb/s"
        [workload.flows]
        file = "ecmp.csv"
        [scheme.flow]
        transport.datagrams = {}
        [scheme.packet]
        transport.datagrams = {}
        ecmp = "packet"
    "#;
    let chi_square = |counts: &[f64]| {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|c| (c - mean) * (c - mean) / mean).sum::<f64>()
    };
    for seed in 1..=3 {
        let by_flow = uplinks(&run(text, "flow", seed), 32, 32);
        let by_packet = uplinks(&run(text, "packet", seed), 32, 32);
        assert_eq!((by_flow.len(), by_flow.iter().sum::<f64>()), (8, 160_000.0));
        assert_eq!((by_packet.len(), by_packet.iter().sum::<f64>()), (8, 160_000.0));
        // A flow keeps its path, so counts are whole flows.
        assert!(by_flow.iter().all(|c| c % packets as f64 == 0.0), "{by_flow:?}");
        let flows: Vec<f64> = by_flow.iter().map(|c| c / packets as f64).collect();
        let spread = |c: &[f64]| c.iter().copied().fold(0.0, f64::max) / (c.iter().sum::<f64>() / 8.0);
        println!(
            "seed {seed}: by flow chi-square {:.1}, fullest {:.3} of the mean; by packet {:.1}, {:.3}",
            chi_square(&flows),
            spread(&by_flow),
            chi_square(&by_packet),
            spread(&by_packet)
        );
        for counts in [&flows, &by_packet] {
            assert!((0.6..24.3).contains(&chi_square(counts)), "{counts:?}");
        }
        assert!(spread(&by_packet) < 1.0 + (spread(&by_flow) - 1.0) / 2.0);
    }
}
