//! Memories of inputs with virtual output queues, against arithmetic: shares of outputs, where
//! losses start, and the same times as unbounded queues where nothing competes.
//!
//! `same_as_reference.rs` compares packet by packet.

use crate::common::{Ran, assert_same, flow_list, load, run, run_by_packets, try_run};
use timeplane_scenario::Algorithms;

/// Wire bytes of a full frame, and its line time at 10 Gb/s in ps.
const FRAME: u64 = 1538;
const LINE: i64 = 1_230_400;
/// Application bytes of a full datagram.
const PAYLOAD: u64 = 1472;

/// Hosts at 10 Gb/s under one switch, the last of them at 1 Gb/s.
fn one_switch(hosts: u32, switch: &str, file: &str) -> String {
    let last = hosts - 1;
    let links: Vec<String> = (0..hosts)
        .map(|h| {
            let rate = if h == last { ", rate = \"1 Gb/s\"" } else { "" };
            format!("{{ nodes = [{h}, {hosts}]{rate} }}")
        })
        .collect();
    format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = {hosts}, switches = 1, links = [{}] }}
        rate = "10 Gb/s"
        propagation = "100 ns"
        switch = {{ {switch} }}
        [workload.flows]
        file = "{file}"
        [scheme.c]
        transport.datagrams = {{}}
        "#,
        links.join(", ")
    )
}

fn received(ran: &Ran) -> Vec<i64> {
    by_flow(ran, ran.column("flows", "received_bytes"))
}

fn times(ran: &Ran) -> Vec<i64> {
    by_flow(ran, ran.nullable("flows", "fct_ps").into_iter().map(|t| t.unwrap_or(-1)).collect())
}

fn by_flow(ran: &Ran, column: Vec<i64>) -> Vec<i64> {
    let mut rows: Vec<_> = ran.column("flows", "flow").into_iter().zip(column).collect();
    rows.sort_unstable();
    rows.into_iter().map(|r| r.1).collect()
}

fn lost(ran: &Ran) -> u64 {
    assert!(ran.summary.dropped_packets.keys().all(|why| why == "input_full"), "{:?}", ran.summary.dropped_packets);
    ran.summary.packets.dropped
}

/// A burst of `n` frames at 10 Gb/s finds an output of 1 Gb/s: while ten frames come, one leaves.
/// Frame k, counted from 0, comes at (k + 1) L. The first frame leaves at 11 L, and one each 10 L
/// from then on, so frame k finds k - floor(k / 10) frames, its own time included, in a memory of
/// `m`.
#[test]
fn loss_starts_where_the_memory_ends() {
    let kept = |n: u64, m: u64| {
        let mut leaves: Vec<u64> = Vec::new();
        for k in 0..n {
            let at = k + 1;
            if (leaves.iter().filter(|l| **l > at).count() as u64) < m {
                leaves.push(leaves.last().copied().unwrap_or(0).max(at) + 10);
            }
        }
        leaves.len() as u64
    };
    for m in [1, 2, 7, 20] {
        for n in [1, 2, 7, 8, 9, 10, 11, 12, 22, 23, 24, 60] {
            flow_list("input-burst.csv", &[(0, 0, 2, n * PAYLOAD)]);
            // One byte less than another frame holds as many.
            for memory in [m * FRAME, (m + 1) * FRAME - 1] {
                let switch = format!("buffer.per_input = \"{memory} B\"");
                let ran = run(&one_switch(3, &switch, "input-burst.csv"), "c", 1);
                assert_eq!(lost(&ran), n - kept(n, m), "{n} frames into {memory} B");
                assert!(ran.summary.packets.is_balanced() && ran.summary.bytes.is_balanced());
            }
        }
    }
    // In closed form: none of n frames is lost while n - floor((n - 1) / 10) <= m.
    assert_eq!((kept(22, 20), kept(23, 20)), (22, 22));
}

/// An input that is full of packets for a slow output still loses those for an idle one, and
/// other inputs lose nothing: memories are of inputs, not of outputs.
#[test]
fn a_full_input_loses_what_comes_over_it_only() {
    let flows = [(0, 0, 3, 35 * PAYLOAD), (0, 2, 1, 40 * PAYLOAD), (1, 0, 1, 5 * PAYLOAD)];
    flow_list("input-full.csv", &flows);
    let ran = run(&one_switch(4, "buffer.per_input = \"15380 B\"", "input-full.csv"), "c", 1);
    let received = received(&ran);
    assert!(received[0] < 20 * PAYLOAD as i64, "{received:?}");
    assert_eq!(received[1], 40 * PAYLOAD as i64);
    // Frames leave the memory at 11 L, 21 L, 31 L and 41 L. Those that come until 32 L take their
    // places, so the frames to the idle output, which come from 36 L to 40 L, find none.
    assert_eq!(received[2], 0);
    assert_eq!(
        lost(&ran) as i64 * PAYLOAD as i64,
        flows.iter().map(|f| f.3 as i64).sum::<i64>() - received.iter().sum::<i64>()
    );
}

/// Round robin of frames of one size: inputs that always have one waiting get equal shares, and
/// none gets more than it sends. After 400 frames of the output the counts are the max-min shares
/// to a frame.
#[test]
fn shares_are_max_min() {
    // Host h sends frames of the MTU to the last host, all at the start; offered in frames.
    for offered in [vec![600, 600], vec![600, 600, 600, 600, 600], vec![10, 600, 600], vec![30, 60, 90, 600, 600]] {
        let hosts = offered.len() as u32 + 1;
        let flows: Vec<_> = offered.iter().zip(0..).map(|(n, h)| (0, h, hosts - 1, n * PAYLOAD)).collect();
        flow_list("input-shares.csv", &flows);
        let mut text = one_switch(hosts, "buffer.per_input = \"10 MB\"", "input-shares.csv");
        // The output sends a frame in 10 L, from 1 L on.
        let until = 401 * 10 * LINE + 2 * 100_000;
        text += &format!("\n[window]\nmeasure = \"1 ps\"\ndrain = \"{until} ps\"\n");
        let got: Vec<u64> = received(&run(&text, "c", 1)).iter().map(|b| *b as u64 / PAYLOAD).collect();
        let mut sorted = offered.clone();
        sorted.sort_unstable();
        let (mut rest, mut level) = (400, 600);
        for (i, n) in sorted.iter().enumerate() {
            let share = rest / (sorted.len() - i) as u64;
            if *n > share {
                level = share;
                break;
            }
            rest -= n;
        }
        for (n, got) in offered.iter().zip(&got) {
            assert!(got.abs_diff((*n).min(level)) <= 1, "{offered:?} got {got:?}, level {level}");
        }
    }
}

/// If one input feeds each output and memory suffices, packets leave as from unbounded queues:
/// every time is the same.
#[test]
fn a_lone_input_is_an_unbounded_queue() {
    let flows: Vec<_> =
        (0..60).map(|i| (i * 3_700_000, (i % 2) as u32, 2 + (i % 2) as u32, 1 + 997 * i as u64)).collect();
    flow_list("input-alone.csv", &flows);
    for (latency, ecn) in [("0 s", ""), ("450 ns", ", ecn = \"5 kB\"")] {
        let [a, b] = ["buffer.per_input = \"1 MB\"", "buffer = \"unbounded\""].map(|buffer| {
            let ran =
                run(&one_switch(4, &format!("latency = \"{latency}\", {buffer}{ecn}"), "input-alone.csv"), "c", 1);
            assert_eq!(lost(&ran), 0);
            let links = ["max_queue_bytes", "busy_ps", "sent_bytes"].map(|c| ran.column("links", c));
            (times(&ran), links)
        });
        assert_eq!(a, b);
        assert!(a.1[0].iter().any(|q| *q > 20_000), "{:?}", a.1);
    }
}

/// TCP over several switches: all bytes arrive, and sent, lost and waiting packets add up when the
/// run is cut off.
#[test]
fn conservation_holds() {
    let text = |memory: &str, drain: &str| {
        format!(
            r#"
            [fabric]
            topology.leaf_spine = {{ leaves = 3, hosts_per_leaf = 3, spines = 2 }}
            rate = "10 Gb/s"
            propagation = "300 ns"
            bit_error = 1e-8
            switch = {{ buffer.per_input = "{memory}", latency = "200 ns", ecn = "30 kB" }}
            [workload.poisson]
            load = 0.8
            sizes.exponential = "90 kB"
            pattern = {{ incast = {{ receiver = 0 }} }}
            [window]
            measure = "2 ms"
            {drain}
            [record]
            queues_every = "7 us"
            latency = true
            [scheme.c]
            transport.tcp = {{ min_rto = "2 ms", congestion = "dctcp" }}
            "#
        )
    };
    for memory in ["2 kB", "20 kB", "1 MB"] {
        for drain in ["", "drain = \"10 us\""] {
            for seed in 0..4 {
                let s = run(&text(memory, drain), "c", seed).summary;
                assert!(s.packets.is_balanced() && s.bytes.is_balanced(), "{memory} {drain}");
                assert!(!drain.is_empty() || s.flows.unfinished == 0, "{memory} {drain}");
                assert_eq!(memory == "1 MB", !s.dropped_packets.contains_key("input_full"), "{memory}");
            }
        }
    }
}

/// Trains cross such switches with the same results, for the cost of one packet where memory is
/// ample, and packet by packet where it is not.
#[test]
fn trains_are_the_same() {
    let text = |topology: &str, memory: &str, latency: &str, slots: &str| {
        format!(
            r#"
            [fabric]
            topology.{topology}
            rate = "10 Gb/s"
            propagation = "500 ns"
            switch = {{ buffer.per_input = "{memory}", latency = "{latency}" }}
            [workload.poisson]
            load = 0.4
            sizes.exponential = "200 kB"
            [window]
            measure = "3 ms"
            drain = "20 ms"
            [record]
            latency = true
            [scheme.slots]
            transport.raw = {{}}
            plan.tdma = {{ slot = "100 us", {slots} }}
            "#
        )
    };
    for topology in ["single_switch = { hosts = 6 }", "tree = { edges = 3, hosts_per_edge = 3 }"] {
        for memory in ["2 kB", "5 kB", "40 kB", "640 kB"] {
            for latency in ["0 s", "2 us"] {
                for slots in [
                    "guard = \"15 us\"",
                    "guard = \"3 us\", clock_error = \"6 us\"",
                    "guard = \"15 us\", control_loss = 0.05, signals = { reaction = \"interface\" }",
                ] {
                    let text = text(topology, memory, latency, slots);
                    let (together, each) = (run(&text, "slots", 3), run_by_packets(&text, "slots", 3));
                    let times = assert_same(&text, &together, &each);
                    let quiet = slots == "guard = \"15 us\"";
                    assert!(times > 2.0 || !quiet || memory.len() < 5, "{text}: {times}");
                }
            }
        }
    }
}

/// What cannot be combined is refused before a run.
#[test]
fn refused_where_links_fail() {
    flow_list("input-refused.csv", &[(0, 0, 2, PAYLOAD)]);
    let text = one_switch(3, "buffer.per_input = \"100 kB\"", "input-refused.csv");
    let failing =
        text.replace("[scheme.c]", "[[failure]]\nelement = { wire = 0 }\nat = \"1 us\"\nuntil = \"2 us\"\n[scheme.c]");
    assert!(
        load(&text).validate(&Algorithms::built_in()).is_ok()
            && load(&failing).validate(&Algorithms::built_in()).is_err()
    );
    assert!(try_run(&text, "c", 1).is_ok());
}
