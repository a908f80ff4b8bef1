//! Flyways in the packet network: a controller hears the demand of racks, and points radios.
//!
//! One rack has most of the traffic, so that a flyway helps it.

use crate::common::{Ran, flow_list, run};

/// Sixteen racks of 10 Gb/s on uplinks of 5 Gb/s. Rack 0 has most to send, to rack 1.
fn scenario(file: &str, flyways: &str) -> String {
    format!(
        r#"
[fabric]
topology.tree = {{ edges = 16, hosts_per_edge = 1 }}
rate = "10 Gb/s"
uplink_rate = "5 Gb/s"
mtu = "9000 B"
switch = {{ buffer.per_port = "1 MB", ecn = "100 kB" }}

[workload.flows]
file = "{file}"

[scheme.wired.transport.tcp]
congestion = "dctcp"
min_rto = "10 ms"

[scheme.flyways]
transport.tcp = {{ congestion = "dctcp", min_rto = "10 ms" }}
plan.flyways = {{ {flyways} }}
"#
    )
}

fn hot(file: &str) {
    // Forty flows of 2 MB from rack 0 to rack 1, and one to each other rack.
    let hot = (0..40).map(|i| (i * 1_000_000, 0, 1, 2_000_000));
    let rest = (2..16).map(|r| (r * 1_000_000, 0, r as u32, 1_000_000));
    flow_list(file, &hot.chain(rest).collect::<Vec<_>>());
}

/// Packets over the air to the rack with this switch.
fn by_air(ran: &Ran) -> i64 {
    let (link, sent) = (ran.column("links", "link"), ran.column("links", "sent_packets"));
    // Sixteen racks and their uplinks are 32 wires, 64 links.
    link.iter().zip(sent).filter(|(l, _)| **l >= 64).map(|(_, s)| s).sum()
}

#[test]
fn a_hot_rack_gets_a_link_and_finishes_sooner() {
    hot("flyways_hot.csv");
    let text = scenario("flyways_hot.csv", "every = \"2 ms\", report_every = \"1 ms\"");
    let wired = run(&text, "wired", 1);
    let air = run(&text, "flyways", 1);
    let [a, b] = [&wired, &air].map(|r| r.summary.completion_ps.expect("all flows end") as f64);
    // 94 MB leave rack 0: 150 ms at 5 Gb/s. A link of up to 6.76 Gb/s takes the traffic to rack 1,
    // one hop more for others.
    assert!(a > 150e9, "{a}");
    assert!(b < 0.62 * a, "{b} with flyways, {a} without");
    assert_eq!(by_air(&wired), 0);
    let all = air.summary.packets.sent;
    assert!(by_air(&air) as u64 > all / 5, "{} of {all}", by_air(&air));
    // No packet of a link that goes up or down is lost.
    assert!(!air.summary.dropped_packets.contains_key("air"), "{:?}", air.summary.dropped_packets);
    assert_eq!(air.summary.flows.finished, 54);
}

/// Rows of a link are one state after another, and what they carry is what the link carried.
#[test]
fn the_table_of_air_links_shows_where_radios_point() {
    hot("flyways_table.csv");
    let keys = "every = \"2 ms\", report_every = \"1 ms\", pointing.coordinated.steering = \"300 us\"";
    let ran = run(&scenario("flyways_table.csv", keys), "flyways", 1);
    let [time, link, from, rate, airtime, carried] =
        ["time_ps", "link", "from", "rate_bps", "airtime_ps", "carried_bytes"].map(|c| ran.column("air", c));
    let (to, mcs, state) = (ran.nullable("air", "to"), ran.nullable("air", "mcs"), ran.words("air", "state"));
    let (mut used, mut pointed) = (0, 0);
    for i in 0..time.len() {
        let next = (i + 1 < time.len() && link[i + 1] == link[i]).then(|| i + 1);
        let lasts = next.map_or(ran.summary.simulated_ps, |n| time[n]) - time[i];
        assert!(lasts > 0 && (16..32).contains(&from[i]) && airtime[i] <= lasts, "row {i}");
        match state[i].as_str() {
            "down" => assert_eq!((to[i], mcs[i], rate[i]), (None, None, 0)),
            "pointing" => {
                pointed += 1;
                assert!(to[i].is_some() && mcs[i].is_some() && rate[i] == 0, "row {i}");
                // It steers for 300 us and starts, unless another plan comes first. The controller
                // sets the time before its message takes some of it.
                let starts = next.filter(|&n| state[n] == "used" && to[n] == to[i]);
                assert!(starts.is_none() || lasts >= 299_000_000, "row {i}: {lasts} ps");
            }
            other => {
                used += 1;
                assert!(other == "used" && rate[i] > 0 && to[i].is_some_and(|to| to != from[i]), "row {i}");
                assert!(airtime[i] as f64 >= carried[i] as f64 * 8e12 / rate[i] as f64, "row {i}");
            }
        }
    }
    assert!(used > 0 && pointed > 0, "{used} used, {pointed} pointed");
    let by_link =
        |of: i64, value: &[i64]| -> i64 { (0..link.len()).filter(|&i| link[i] == of).map(|i| value[i]).sum() };
    let [number, sent, busy] = ["link", "sent_bytes", "busy_ps"].map(|c| ran.column("links", c));
    for ((number, sent), busy) in number.into_iter().zip(sent).zip(busy).filter(|l| l.0.0 >= 64) {
        assert_eq!((by_link(number, &carried), by_link(number, &airtime)), (sent, busy), "link {number}");
    }
    assert!(carried.iter().sum::<i64>() > 20_000_000, "the hot rack's traffic");
}

#[test]
fn links_end_with_their_leases() {
    hot("flyways_lost.csv");
    // Nine of ten messages are lost. Racks hear late or never, and what they hear expires.
    let keys =
        "every = \"2 ms\", report_every = \"1 ms\", lease = \"5 ms\", compute_time = \"100 us\", control_loss = 0.9";
    let ran = run(&scenario("flyways_lost.csv", keys), "flyways", 3);
    assert_eq!(ran.summary.flows.finished, 54, "every byte comes all the same");
    let heard = run(&scenario("flyways_lost.csv", &keys.replace("0.9", "0.0")), "flyways", 3);
    assert!(by_air(&ran) < by_air(&heard), "{} against {}", by_air(&ran), by_air(&heard));
}

#[test]
fn training_over_the_air_costs_time_before_a_link_carries() {
    hot("flyways_trained.csv");
    let completion = |pointing: &str| {
        let keys = format!("every = \"2 ms\", report_every = \"1 ms\", pointing.{pointing}");
        run(&scenario("flyways_trained.csv", &keys), "flyways", 1).summary.completion_ps.expect("all flows end")
    };
    let steered = completion("coordinated.steering = \"100 us\"");
    // Two sweeps of 1024 sectors with their feedback take 33 ms.
    let trained = completion("trained.sectors = 1024");
    assert!(trained > steered + 10_000_000_000, "{trained} against {steered}");
}

#[test]
fn links_wait_for_measured_patterns() {
    hot("flyways_measured.csv");
    let timers = "every = \"2 ms\", report_every = \"1 ms\"";
    let ran = |keys: &str| run(&scenario("flyways_measured.csv", &format!("{timers}{keys}")), "flyways", 1);
    let completion = |ran: &Ran| ran.summary.completion_ps.expect("all flows end");
    let known = ran("");
    // Racks 0 and 1 measure each other in the second round.
    let later = ran(", measure_every = \"10 ms\"");
    assert!(by_air(&later) > 0 && completion(&later) > completion(&known) + 5_000_000_000);
    // No round ends while there is traffic.
    let never = ran(", measure_every = \"1 s\"");
    assert_eq!(by_air(&never), 0);
    assert!(completion(&never) > completion(&later));
    // Short rounds cost one plan: the first one is made before the first results arrive.
    assert!(completion(&ran(", measure_every = \"1 us\"")) <= completion(&known) + 2_000_000_000);
}

#[test]
fn racks_in_rows_are_racks_at_their_places() {
    hot("flyways_rows.csv");
    let timers = "every = \"2 ms\", report_every = \"1 ms\"";
    let ends = |places: &str| {
        let ran = run(&scenario("flyways_rows.csv", &format!("{timers}, {places}")), "flyways", 1);
        ran.column("flows", "fct_ps")
    };
    // Eight racks in a row, two rows 10 m apart.
    let places: Vec<String> = (0..16).map(|r| format!("[{}, {}]", f64::from(r % 8), 10 * (r / 8))).collect();
    let listed = ends(&format!("positions_m = [{}]", places.join(", ")));
    let rows = "rows = { racks = 8, spacing_m = 1.0, row_spacing_m = 10.0 }";
    assert_eq!(ends(rows), listed);
    // At 1 km, rack 0 does not hear rack 1. At 100 m, the link would still fill the uplink.
    assert_ne!(ends(&rows.replace("1.0,", "1000.0, block_spacing_m = 9000.0,")), listed);
}
