//! A shuffle in which each host sends one flow at a time.
//!
//! All hosts stay in step, so that times follow by arithmetic.

use crate::common::run;

/// Four hosts under a switch without latency, with wires of 1 us at 10 Gb/s.
fn shuffle(scheme: &str) -> crate::common::Ran {
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 4 }}
        rate = "10 Gb/s"
        propagation = "1 us"
        [workload.shuffle]
        bytes = "14720 B"
        in_turn = true
        [scheme.c]
        {scheme}
        "#
    );
    run(&text, "c", 1)
}

#[test]
fn the_next_flow_starts_when_the_last_is_over() {
    let ran = shuffle("transport.datagrams = {}");
    let (source, destination) = (ran.column("flows", "source"), ran.column("flows", "destination"));
    let (start, fct) = (ran.column("flows", "start_ps"), ran.column("flows", "fct_ps"));
    // Ten datagrams of 1538 B on the wire; the last one crosses two wires. All hosts are in step.
    let took = 11 * 1_230_400 + 2_000_000;
    for host in 0..4 {
        let own: Vec<usize> = (0..start.len()).filter(|&i| source[i] == host).collect();
        let seen: Vec<_> = own.iter().map(|&i| (start[i], destination[i], fct[i])).collect();
        let expected: Vec<_> = (0..3).map(|k| (k * took, (host + 1 + k) % 4, took)).collect();
        assert_eq!(seen, expected, "host {host}");
    }
    assert_eq!(ran.summary.simulated_ps, 3 * took);
}

#[test]
fn a_sender_waits_until_it_knows() {
    // TCP's sender knows it from the last acknowledgement, one way later than the receiver; a raw
    // sender from a report.
    for scheme in ["transport.tcp = {}", "transport.raw = {}"] {
        let ran = shuffle(scheme);
        let (source, start) = (ran.column("flows", "source"), ran.column("flows", "start_ps"));
        let fct = ran.column("flows", "fct_ps");
        assert_eq!(start.len(), 12);
        for host in 0..4 {
            let mut own: Vec<usize> = (0..start.len()).filter(|&i| source[i] == host).collect();
            own.sort_by_key(|&i| start[i]);
            let pauses: Vec<i64> = own.windows(2).map(|w| start[w[1]] - start[w[0]] - fct[w[0]]).collect();
            assert!(pauses.iter().all(|&pause| pause >= 2_000_000), "{scheme}, host {host}: {pauses:?}");
        }
    }
}
