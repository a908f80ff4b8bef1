//! TCP over the air: table 2 of the flyways paper from frames on a medium, and the guarantees of
//! air links.
//!
//! Hosts exchange data through one radio link each, so that only the air is measured.

use crate::common::{Ran, flow_list, run};
use timeplane_model::Bytes;
use timeplane_radio::{
    Access, AckPath, Db, FLYWAYS_DRAFT, IEEE_802_11AD_2012, MacParameters, Mcs, all_right, bit_error_rate, tcp_goodput,
};

/// Two hosts, each with a radio and a wire to the other. `radio` describes the air between them.
///
/// Hosts are their own racks. The wires between a host and its radio take no time, so only the air
/// is measured.
fn link(mac: &str, access: &str, acks: &str, mcs: u8, mss: u32, seconds: f64) -> String {
    // Tests run in parallel, so each run has a file of its own.
    let file = format!("air_{mac}_{access}_{acks}_{mcs}.csv");
    flow_list(&file, &[(0, 0, 1, 4_000_000_000)]);
    format!(
        r#"
[fabric]
rate = "1 Tb/s"
uplink_rate = "10 Gb/s"
propagation = "100 ns"
mtu = "{mtu} B"
topology.graph = {{ hosts = 2, switches = 2, links = [{{ nodes = [0, 2] }}, {{ nodes = [1, 3] }}, {{ nodes = [2, 3] }}] }}

[fabric.radio]
mac = "{mac}"
access = "{access}"
acknowledgements = "{acks}"
antenna = "narrow_beam"
link = [{{ nodes = [2, 3], share = 1.0, mcs = {mcs}, distance_m = 20.0 }}]

[workload.flows]
file = "{file}"

[window]
warmup = "20 ms"
measure = "{seconds} s"
drain = "0 s"

[scheme.tcp.transport.tcp]
preset = "rfc"
initial_window = 32
min_rto = "10 ms"
receive_window = "4 MB"
"#,
        mtu = mss + 40,
    )
}

fn goodput(ran: &Ran) -> f64 {
    ran.summary.goodput_bps.expect("something was received") / 1e6
}

/// Table 2 of flyways (SIGCOMM 2011) in Mb/s: acknowledgements on the air, on the wire, and without
/// DCF, at 693 and 6756.75 Mb/s.
const TABLE_2: [(u8, [f64; 3]); 2] = [(13, [656.0, 672.0, 676.0]), (24, [4580.0, 5360.0, 5620.0])];

const COLUMNS: [(&str, &str, AckPath, Access); 3] = [
    ("dcf_without_collisions", "air", AckPath::Air, Access::Dcf),
    ("dcf", "wire", AckPath::Wire, Access::Dcf),
    ("no_backoff", "wire", AckPath::Wire, Access::NoBackoff),
];

#[test]
fn table_2_of_flyways_comes_out_of_frames_and_tcp() {
    for (mcs, published) in TABLE_2 {
        for ((access, acks, path, formula), published) in COLUMNS.into_iter().zip(published) {
            let ran = run(&link("flyways-draft", access, acks, mcs, 10_000, 0.5), "tcp", 1);
            let measured = goodput(&ran);
            let arithmetic =
                tcp_goodput(&FLYWAYS_DRAFT, Mcs::numbered(mcs).unwrap(), path, formula).as_bps() as f64 / 1e6;
            println!(
                "MCS {mcs} {access} acks on {acks}: {measured:.0}, published {published}, arithmetic {arithmetic:.0}"
            );
            assert!(
                (measured / published - 1.0).abs() < 0.025,
                "MCS {mcs} {access}: {measured}, published {published}"
            );
            assert!(
                (measured / arithmetic - 1.0).abs() < 0.02,
                "MCS {mcs} {access}: {measured}, arithmetic {arithmetic}"
            );
            assert_eq!((ran.summary.retransmissions, ran.summary.timeouts), (0, 0));
        }
    }
}

#[test]
fn with_collisions_the_first_column_falls() {
    for (mcs, published) in TABLE_2 {
        let ran = run(&link("flyways-draft", "dcf", "air", mcs, 10_000, 0.5), "tcp", 1);
        println!("MCS {mcs}: {:.0} with collisions, published {}", goodput(&ran), published[0]);
        assert!(goodput(&ran) < 0.95 * published[0]);
    }
}

#[test]
fn the_standard_s_constants_agree_with_their_arithmetic() {
    let mac: &MacParameters = &IEEE_802_11AD_2012;
    for mcs in [13, 24] {
        for (access, acks, path, formula) in COLUMNS {
            let ran = run(&link("11ad-2012", access, acks, mcs, 1_460, 0.3), "tcp", 1);
            let measured = goodput(&ran);
            let arithmetic = tcp_goodput(mac, Mcs::numbered(mcs).unwrap(), path, formula).as_bps() as f64 / 1e6;
            println!("MCS {mcs} {access} acks on {acks}: {measured:.0}, arithmetic {arithmetic:.0}");
            assert!(
                (measured / arithmetic - 1.0).abs() < 0.03,
                "MCS {mcs} {access}: {measured}, arithmetic {arithmetic}"
            );
        }
    }
}

#[test]
fn shares_are_of_flows_and_transit_goes_on_by_wire() {
    // Three racks with one host each. The air takes half of the flows from rack 4 to rack 5; all
    // others go by the root.
    let flows: Vec<_> = (0..400).flat_map(|i| [(i * 1_000_000, 0, 1, 20_000), (i * 1_000_000, 0, 2, 20_000)]).collect();
    flow_list("air_shares.csv", &flows);
    let text = r#"
fabric.rate = "10 Gb/s"
fabric.topology.tree = { edges = 3, hosts_per_edge = 1 }
fabric.radio = { access = "token", link = [{ nodes = [3, 4], share = 0.5, signal_dbm = -45.0 }] }
workload.flows.file = "air_shares.csv"
scheme.datagrams.transport.datagrams = {}
scheme.tcp.transport.tcp.preset = "rfc"
"#;
    for scheme in ["datagrams", "tcp"] {
        let ran = run(text, scheme, 1);
        let (from, to) = (ran.column("links", "from"), ran.column("links", "to"));
        let sent = ran.column("links", "sent_packets");
        let over = |a, b| {
            let of = |i: &usize| (from[*i], to[*i]) == (a, b);
            (0..sent.len()).filter(of).map(|i| sent[i]).sum::<i64>()
        };
        // With TCP, a SYN in addition to the data.
        let per_flow = if scheme == "tcp" { 1 + 14 } else { 14 };
        let by_air = over(3, 4);
        assert_eq!(by_air % per_flow, 0, "{scheme}: flows are not torn apart");
        assert!((140..260).contains(&(by_air / per_flow)), "{scheme}: {} of 400 flows", by_air / per_flow);
        assert_eq!(by_air + over(6, 4), 400 * per_flow, "{scheme}: the others go by the root");
        assert_eq!(over(6, 5), 400 * per_flow, "{scheme}: whose rack has no air link too");
        assert_eq!(ran.summary.flows.finished, 800);
    }
}

#[test]
fn a_full_queue_and_a_weak_link_lose_packets_with_a_reason() {
    flow_list("air_losses.csv", &[(0, 0, 1, 3_000_000)]);
    let text = |radio: &str| {
        format!(
            r#"
fabric.rate = "10 Gb/s"
fabric.topology.graph = {{ hosts = 2, switches = 2, links = [{{ nodes = [0, 2] }}, {{ nodes = [1, 3] }}, {{ nodes = [2, 3] }}] }}
fabric.radio = {{ {radio} }}
workload.flows.file = "air_losses.csv"
scheme.datagrams.transport.datagrams = {{}}
"#
        )
    };
    let sent = 3_000_000_u64.div_ceil(1_472);
    let full = run(
        &text("queue.drop_tail.packets = 100, link = [{ nodes = [2, 3], mcs = 13, signal_dbm = -45.0 }]"),
        "datagrams",
        1,
    );
    let dropped = full.summary.dropped_packets["buffer_full"];
    assert!(dropped > sent / 2 && full.summary.packets.delivered == sent - dropped, "{dropped} of {sent}");
    // At 3 dB below the sensitivity of MCS 24, nine of ten packets of 1500 B are wrong. Each is
    // sent three times.
    let weak = run(&text("retries = 2, link = [{ nodes = [2, 3], mcs = 24, signal_dbm = -50.0 }]"), "datagrams", 1);
    let bits = 8.0 * IEEE_802_11AD_2012.in_frame(Bytes::new(1_500)).get() as f64;
    let wrong = 1.0 - all_right(bit_error_rate(Db::new(-3.0)), bits);
    let lost = weak.summary.dropped_packets["air"] as f64 / sent as f64;
    assert!((lost - wrong.powi(3)).abs() < 0.04, "{lost} lost, by the formula {}", wrong.powi(3));
    assert_eq!(weak.summary.packets.delivered + weak.summary.dropped_packets["air"], sent);
}

/// Two hosts under two switches, with an air link in place of the wire between them.
fn in_place(file: &str, radio: &str, transport: &str) -> String {
    format!(
        r#"
fabric.rate = "10 Gb/s"
fabric.propagation = "100 ns"
fabric.topology.graph = {{ hosts = 2, switches = 2, links = [{{ nodes = [0, 2] }}, {{ nodes = [1, 3] }}, {{ nodes = [2, 3] }}] }}
fabric.radio = {{ {radio} }}
workload.flows.file = "{file}"
scheme.s.transport.{transport}
"#
    )
}

#[test]
fn a_lone_flow_over_a_planned_air_link_takes_its_ideal_time() {
    flow_list("air_ideal.csv", &[(0, 0, 1, 1_472_000)]);
    let radio = "access = \"planned\", link = [{ nodes = [2, 3], mcs = 13 }]";
    let ran = run(&in_place("air_ideal.csv", radio, "datagrams = {}"), "s", 1);
    let [fct, ideal] = ["fct_ps", "ideal_ps"].map(|c| ran.column("flows", c)[0] as f64);
    // A thousand packets of 1500 B at 693 Mb/s take 17.3 ms.
    assert!((ideal / 17.316e9 - 1.0).abs() < 0.002, "{ideal}");
    assert!((0.999_99..1.002).contains(&(fct / ideal)), "{fct} against {ideal}");
}

#[test]
fn the_table_of_air_links_has_their_airtime_and_what_they_carried() {
    flow_list("air_table.csv", &[(0, 0, 1, 1_472_000)]);
    let radio = "access = \"planned\", link = [{ nodes = [2, 3], mcs = 13 }]";
    let planned = run(&in_place("air_table.csv", radio, "datagrams = {}"), "s", 1);
    assert_eq!((planned.column("air", "from"), planned.column("air", "to")), (vec![2, 3], vec![3, 2]));
    assert_eq!(planned.column("air", "rate_bps"), [693_000_000; 2]);
    assert_eq!(planned.column("air", "carried_bytes"), [1_500_000, 0]);
    assert_eq!(planned.column("air", "lost_ppm"), [0, 0]);
    // Bits over the rate, each packet's time rounded up to a picosecond.
    let airtime = planned.column("air", "airtime_ps");
    let line = 1_500_000.0 * 8e12 / 693e6;
    assert!((0.0..=1_000.0).contains(&(airtime[0] as f64 - line)) && airtime[1] == 0, "{airtime:?}, {line}");

    // Frames of two stations share the time with answers and back-off.
    let radio = "link = [{ nodes = [2, 3], mcs = 13, signal_dbm = -45.0 }]";
    let tcp = run(&in_place("air_table.csv", radio, "tcp = { preset = \"rfc\", min_rto = \"10 ms\" }"), "s", 1);
    assert_eq!(tcp.nullable("air", "lost_ppm"), [None, None]);
    let (airtime, carried) = (tcp.column("air", "airtime_ps"), tcp.column("air", "carried_bytes"));
    assert!(airtime.iter().sum::<i64>() < tcp.summary.simulated_ps, "{airtime:?} of {}", tcp.summary.simulated_ps);
    for (airtime, carried) in airtime.iter().zip(&carried) {
        assert!(*airtime as f64 > *carried as f64 * 8e12 / 693e6, "{airtime} for {carried} B");
    }
    let links: Vec<usize> = tcp.column("air", "link").iter().map(|l| *l as usize).collect();
    let of_links = |column: &str| -> Vec<i64> { links.iter().map(|l| tcp.column("links", column)[*l]).collect() };
    assert_eq!((of_links("busy_ps"), of_links("sent_bytes")), (airtime, carried));
}
