//! NDP through the whole simulator: hosts, ports that trim, pulls and paths.
//!
//! The paper has packets of 9 kB. With these, answers and pulls take 2 % of a link; with 1500 B
//! they take 11 %, as each is a frame of its own.

use crate::common::{Ran, flow_list, run, try_run};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// Wire bytes and payload of a full packet of 9000 B.
const FRAME: f64 = 9_038.0;
const PAYLOAD: u64 = 8_954;

fn fct_us(ran: &Ran) -> Vec<f64> {
    ran.column("flows", "fct_ps").iter().map(|&ps| ps as f64 / 1e6).collect()
}

fn longest(ran: &Ran) -> f64 {
    fct_us(ran).into_iter().fold(0.0, f64::max)
}

/// `senders` flows of `bytes` to host 0 of a leaf-spine fabric of 10 Gb/s, all at once.
fn incast(senders: u32, bytes: u64, schemes: &str) -> String {
    let list = format!("ndp-incast-{senders}-{bytes}.csv");
    flow_list(&list, &(1..=senders).map(|host| (0, host, 0, bytes)).collect::<Vec<_>>());
    format!(
        r#"
        [fabric]
        topology.leaf_spine = {{ leaves = 4, hosts_per_leaf = 16, spines = 16 }}
        rate = "10 Gb/s"
        propagation = "200 ns"
        mtu = "9000 B"
        switch = {{ latency = "500 ns", buffer.per_port = "72304 B" }}
        [workload.flows]
        file = "{list}"
        {schemes}
        "#
    )
}

/// The last of N flows to one host ends when the host's link has carried all of them, plus a few
/// percent: headers of trimmed packets, and the time until the first packet arrives. All packets
/// are full, as a pull takes the time of a full one.
#[test]
fn an_incast_takes_as_long_as_the_link_of_its_receiver() {
    for (senders, packets) in [(8, 50), (40, 50), (60, 15), (60, 2)] {
        let bytes = packets * PAYLOAD;
        let ran = run(&incast(senders, bytes, "[scheme.ndp]\ntransport.ndp = {}"), "ndp", 1);
        let line_us = f64::from(senders) * packets as f64 * FRAME * 8.0 / 10_000.0;
        let last = longest(&ran);
        let trimmed = ran.summary.trimmed_packets.unwrap_or(0);
        println!(
            "{senders} senders of {bytes} B: {last:.1} us, {:.4} of the link's {line_us:.1} us; {trimmed} trimmed, \
             {} repeated of {}",
            last / line_us,
            ran.summary.retransmissions,
            ran.summary.packets.sent,
        );
        // The first packet arrives after four links, and a pulled one a round trip later.
        assert!(last >= line_us && last < 1.02 * line_us + 60.0, "{last} us, {line_us} us of line time");
        assert_eq!((ran.summary.timeouts, ran.summary.packets.dropped), (0, 0));
        assert!(trimmed > 0 && ran.summary.retransmissions == trimmed, "each trimmed packet is sent once more");
    }
}

/// The paper's comparison (section 6.1): with NDP the last flow of an incast ends close to the
/// optimum, and TCP loses tails of windows in full queues and waits for timeouts.
#[test]
fn tcp_suffers_from_an_incast_and_ndp_does_not() {
    let schemes = "[scheme.ndp]\ntransport.ndp = {}\n[scheme.tcp]\ntransport.tcp = {}\n";
    let text = incast(60, 135_000, schemes);
    let (ndp, tcp) = (run(&text, "ndp", 1), run(&text, "tcp", 1));
    println!("last flow: NDP {:.0} us, TCP {:.0} us", longest(&ndp), longest(&tcp));
    assert!(tcp.summary.timeouts > 0 && ndp.summary.timeouts == 0);
    assert!(longest(&tcp) > 3.0 * longest(&ndp));
}

/// Behind a window that waits in its host, an acknowledgement is late unless it goes first, and
/// another flow is late unless flows take turns.
#[test]
fn hosts_send_in_the_order_of_their_discipline() {
    let packet = (PAYLOAD as i64 + 84) * 800;
    // Host 0 sends a window of 20 packets. A packet comes to it, and later another one has to go.
    // The first turn of a flow has ten packets.
    flow_list("ndp-discipline.csv", &[(0, 0, 1, 20 * PAYLOAD), (packet, 2, 0, 1_000), (12 * packet, 0, 3, 1_000)]);
    let nic = |name: &str| format!("[scheme.{name}]\ntransport.ndp.window = 20\nnic.discipline = \"{name}\"\n");
    let text = "[fabric]\ntopology.single_switch.hosts = 4\nrate = \"10 Gb/s\"\npropagation = \"200 ns\"\n\
                mtu = \"9000 B\"\n[workload.flows]\nfile = \"ndp-discipline.csv\"\n"
        .to_owned()
        + &["fifo", "control_first", "fair_queue"].map(nic).concat();
    for (name, acknowledged_late, sent_late) in
        [("fifo", true, true), ("control_first", false, true), ("fair_queue", false, false)]
    {
        let ran = run(&text, name, 1);
        let [flow, fct, acknowledged] = ["flow", "fct_ps", "acknowledged_ps"].map(|c| ran.column("flows", c));
        let of = |column: &[i64], number| column[flow.iter().position(|&f| f == number).expect("a flow")];
        let (way_back, way) = (of(&acknowledged, 1) - of(&fct, 1), of(&fct, 2));
        println!("{name}: an acknowledgement takes {way_back} ps, a packet {way} ps");
        for (time, late) in [(way_back, acknowledged_late), (way, sent_late)] {
            assert!(if late { time > 6 * packet } else { time < 4 * packet }, "{name}: {time} ps");
        }
    }
}

/// Each host sends to one in another rack, and each receives from one: with equal paths used evenly
/// no link is overloaded. The paper has 92 % of the line rate with queues of 8 packets.
#[test]
fn a_permutation_has_nine_tenths_of_the_line_rate() {
    let (hosts, rack, bytes) = (64, 8, 9_000_000);
    // Hosts of a rack send to different racks, but for two.
    let to = |host: u32| (host + rack * (1 + host % rack % 7)) % hosts;
    let flows: Vec<_> = (0..hosts).map(|h| (0, h, to(h), bytes)).collect();
    let mut receivers: Vec<_> = flows.iter().map(|f| f.2).collect();
    receivers.sort_unstable();
    assert_eq!(receivers, (0..hosts).collect::<Vec<_>>(), "a permutation");
    flow_list("ndp-permutation.csv", &flows);
    let text = r#"
        [fabric]
        topology.leaf_spine = { leaves = 8, hosts_per_leaf = 8, spines = 8 }
        rate = "10 Gb/s"
        propagation = "200 ns"
        mtu = "9000 B"
        switch.latency = "500 ns"
        [workload.flows]
        file = "ndp-permutation.csv"
        [scheme.ndp]
        transport.ndp = {}
        [scheme.hash]
        transport.ndp.spray = "hash"
    "#;
    let share = |ran: &Ran| {
        let each = fct_us(ran).into_iter().map(|us| bytes as f64 * 8.0 / us / 10_000.0);
        let (sum, least) = each.fold((0.0, f64::MAX), |(sum, least), share| (sum + share, share.min(least)));
        (sum / f64::from(hosts), least)
    };
    let (ndp, hash) = (run(text, "ndp", 1), run(text, "hash", 1));
    for (name, ran) in [("permutation", &ndp), ("hash", &hash)] {
        let (mean, least) = share(ran);
        println!(
            "{name}: mean {:.1} %, least {:.1} % of the line rate; {} of {} packets trimmed",
            100.0 * mean,
            100.0 * least,
            ran.summary.trimmed_packets.unwrap_or(0),
            ran.summary.packets.sent
        );
        assert_eq!((ran.summary.timeouts, ran.summary.packets.dropped), (0, 0));
    }
    assert!(share(&ndp).1 > 0.9 && share(&ndp).0 > share(&hash).0, "{:?} {:?}", share(&ndp), share(&hash));
}

/// A flow that meets no other takes its ideal time, with the window and with pulls.
#[test]
fn a_lone_flow_takes_its_ideal_time() {
    for (mtu, bytes) in [(1500, 1), (1500, 20_000), (9000, 200_000), (9000, 3_000_000)] {
        flow_list("ndp-alone.csv", &[(1_000_000, 0, 5, bytes), (9_000_000_000, 6, 7, bytes)]);
        let text = format!(
            r#"
            [fabric]
            topology.leaf_spine = {{ leaves = 4, hosts_per_leaf = 2, spines = 3 }}
            rate = "10 Gb/s"
            propagation = "1 us"
            mtu = "{mtu} B"
            switch.latency = "300 ns"
            [workload.flows]
            file = "ndp-alone.csv"
            [scheme.ndp]
            transport.ndp = {{}}
            "#
        );
        let ran = run(&text, "ndp", 1);
        let (fct, ideal) = (ran.column("flows", "fct_ps"), ran.column("flows", "ideal_ps"));
        if bytes <= 268_000 {
            assert_eq!(fct, ideal, "{bytes} B, in one window");
            // The last acknowledgement, of 84 B, finds all links idle.
            let back = |links: i64| links * (67_200 + 1_000_000) + (links - 1) * 300_000;
            let known = ran.column("flows", "acknowledged_ps");
            assert_eq!(known, [fct[0] + back(4), fct[1] + back(2)], "{bytes} B");
        }
        // Beyond the window, pulls come at the pace of the link, behind acknowledgements.
        assert!(fct.iter().zip(&ideal).all(|(f, i)| f >= i && *f as f64 <= 1.001 * *i as f64), "{fct:?} {ideal:?}");
        assert_eq!((ran.summary.trimmed_packets, ran.summary.retransmissions), (None, 0));
    }
}

/// Flows to one host share its link, packet by packet.
#[test]
fn flows_to_one_host_share_its_link() {
    let ran = run(&incast(10, 2_000_000, "[scheme.ndp]\ntransport.ndp = {}"), "ndp", 1);
    let fct = fct_us(&ran);
    let (first, last) = (fct.iter().copied().fold(f64::MAX, f64::min), longest(&ran));
    println!("first {first:.0} us, last {last:.0} us");
    assert!(first > 0.9 * last, "{fct:?}");
}

/// Trimmed bytes are in the books: what was sent is delivered or cut off, and the table of drops
/// says where.
#[test]
fn what_is_cut_off_is_counted_on_its_link() {
    let ran = run(&incast(40, 450_000, "[scheme.ndp]\ntransport.ndp = {}"), "ndp", 1);
    let (links, packets, bytes) =
        (ran.column("drops", "link"), ran.column("drops", "packets"), ran.column("drops", "bytes"));
    assert!(ran.words("drops", "reason").iter().all(|reason| reason == "trimmed"));
    let s = &ran.summary;
    assert_eq!(packets.iter().sum::<i64>() as u64, s.trimmed_packets.expect("some"));
    assert_eq!(bytes.iter().sum::<i64>() as u64, s.bytes.dropped);
    assert_eq!((s.packets.sent, s.packets.dropped), (s.packets.delivered, 0));
    // Mostly in front of the receiver: the link from its leaf to host 0.
    let (to, link) = (ran.column("links", "to"), ran.column("links", "link"));
    let down = link[to.iter().position(|&node| node == 0).expect("a link to host 0")];
    let there: i64 = (0..links.len()).filter(|&i| links[i] == down).map(|i| packets[i]).sum();
    assert!(2 * there > packets.iter().sum(), "{there} of {packets:?}");
}

/// Bit errors lose data, headers, answers and pulls. Timeouts of both sides repair that, and every
/// byte arrives.
#[test]
fn timeouts_repair_what_is_lost() {
    let text = r#"
        [fabric]
        topology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 2 }
        rate = "10 Gb/s"
        bit_error = 2e-6
        [workload.shuffle]
        bytes = "300 kB"
        [scheme.ndp]
        transport.ndp = {}
    "#;
    let ran = run(text, "ndp", 1);
    assert!(ran.summary.timeouts > 0 && ran.summary.dropped_packets["bit_error"] > 0);
    assert_eq!(ran.summary.flows.unfinished, 0);
    assert_eq!(ran.column("flows", "received_bytes"), ran.column("flows", "size_bytes"));
}

/// Headers that find their queue full are lost.
#[test]
fn a_full_queue_of_headers_loses_them() {
    let schemes = "[scheme.ndp]\ntransport.ndp = { headers = 20 }";
    let ran = run(&incast(60, 135_000, schemes), "ndp", 1);
    assert!(ran.summary.dropped_packets["buffer_full"] > 0 && ran.summary.timeouts > 0);
    assert_eq!(ran.summary.flows.unfinished, 0);
}

/// A wire of a spine fails for a while, before switches know and after. A host fails and returns.
#[test]
fn flows_outlast_failures() {
    let text = r#"
        [fabric]
        topology.leaf_spine = { leaves = 3, hosts_per_leaf = 4, spines = 2 }
        rate = "10 Gb/s"
        [workload.shuffle]
        bytes = "400 kB"
        [[failure]]
        element.between = [12, 15]
        at = "300 us"
        until = "2 ms"
        detection = "200 us"
        [[failure]]
        element.switch = 4
        at = "1500 us"
        until = "1800 us"
        detection = "50 us"
        [[failure]]
        element.host = 2
        at = "1 ms"
        until = "3 ms"
        detection = "1 ms"
        [scheme.ndp]
        transport.ndp = {}
    "#;
    let ran = run(text, "ndp", 1);
    let reasons: Vec<_> = ran.summary.dropped_packets.keys().map(String::as_str).collect();
    assert!(["link_down", "switch_down", "host_down"].iter().all(|r| reasons.contains(r)), "{reasons:?}");
    assert_eq!(ran.summary.flows.unfinished, 0);
    assert!(ran.summary.timeouts > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]
    /// A run with lost packets or bytes fails by itself. The same seed gives the same tables.
    #[test]
    fn random_runs_keep_their_books(
        shape in select(vec![
            "topology.single_switch = { hosts = 6 }",
            "topology.leaf_spine = { leaves = 3, hosts_per_leaf = 2, spines = 2 }",
            "topology.tree = { edges = 3, hosts_per_edge = 2 }",
            "topology.fat_tree = { k = 4 }",
        ]),
        (rate, uplink) in (select(vec!["1 Gb/s", "7 Gb/s"]), select(vec!["2 Gb/s", "10 Gb/s"])),
        propagation in select(vec!["0 s", "3 us"]),
        framing in select(vec!["ethernet", "ethernet_frame", "ppp", "none"]),
        mtu in select(vec![576, 1500, 9000]),
        bit_error in select(vec!["0.0", "1e-6"]),
        latency in select(vec!["0 s", "2 us"]),
        (window, queue, headers) in (1u32..40, 1u32..12, select(vec![1u32, 10, 1125])),
        spray in select(vec!["permutation", "hash"]),
        nic in select(vec!["", "nic.discipline = \"fifo\"", "nic.discipline = \"round_robin\"", "nic.burst = \"16 kB\""]),
        bytes in select(vec![1u64, 1_454, 30_000]),
        failure in select(vec!["", "[[failure]]\nelement.wire = 1\nat = \"100 us\"\nuntil = \"400 us\"\n",
            "[[failure]]\nelement.switch = 0\nat = \"50 us\"\nuntil = \"90 us\"\ndetection = \"10 us\"\n"]),
        drain in select(vec!["", "[window]\ndrain = \"200 us\"\n"]),
        seed in 0u64..1000,
    ) {
        let text = format!(
            "[fabric]\n{shape}\nrate = \"{rate}\"\nuplink_rate = \"{uplink}\"\npropagation = \"{propagation}\"\n\
             framing = \"{framing}\"\nmtu = \"{mtu} B\"\nbit_error = {bit_error}\nswitch.latency = \"{latency}\"\n\
             [workload.shuffle]\nbytes = \"{bytes} B\"\njitter = \"20 us\"\n{drain}{failure}\
             [record]\nqueues_every = \"200 us\"\nlatency = true\n\
             [scheme.ndp]\n{nic}\n\
             transport.ndp = {{ window = {window}, queue = {queue}, headers = {headers}, spray = \"{spray}\" }}\n"
        );
        let text = if shape.contains("single") { text.replace(&format!("uplink_rate = \"{uplink}\"\n"), "") } else { text };
        let once = || try_run(&text, "ndp", seed).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")));
        let (ran, again) = (once()?, once()?);
        let s = &ran.summary;
        prop_assert!(s.packets.is_balanced() && s.bytes.is_balanced());
        prop_assert_eq!(s.dropped_packets.values().sum::<u64>(), s.packets.dropped);
        if drain.is_empty() {
            prop_assert_eq!(s.flows.unfinished, 0, "{}", text);
        }
        let (fct, ideal) = (ran.nullable("flows", "fct_ps"), ran.column("flows", "ideal_ps"));
        // No flow is faster than alone, but where several paths are faster than one of them.
        let one_path = rate == "1 Gb/s" || uplink == "10 Gb/s";
        prop_assert!(!one_path || fct.iter().zip(&ideal).all(|(f, i)| f.is_none_or(|f| f >= *i)), "{}", text);
        let known = ran.nullable("flows", "acknowledged_ps");
        let later = |(k, f): (&Option<i64>, &Option<i64>)| k.is_none_or(|k| f.is_some_and(|f| f < k));
        prop_assert!(known.iter().zip(&fct).all(later), "no sender knows before its receiver\n{}", text);
        prop_assert_eq!(
            serde_json::to_string(&ran.summary).unwrap(),
            serde_json::to_string(&again.summary).unwrap()
        );
        for (a, b) in ran.tables.iter().zip(again.tables.iter()) {
            prop_assert_eq!(&a.batches, &b.batches, "{}\n{}", a.name, text);
        }
    }
}
