//! TCP over a 60 GHz link that is blocked by a walker: alone, and steered by a proxy that learns of
//! the link's rate.
//!
//! Round trips and goodput are compared with arithmetic on the link trace.

use crate::common::{Ran, flow_list, run, try_run};

/// A server, an access point 20 ms away, and a device. `link` is the trace of its air link, `queue`
/// the discipline of its access point, `more` the schemes.
fn scenario(link: &str, queue: &str, more: &str) -> String {
    flow_list("proxy_bulk.csv", &[(0, 0, 1, 100_000_000_000)]);
    format!(
        r#"
[fabric]
rate = "10 Gb/s"
propagation = "20 ms"
mtu = "8180 B"
framing = "none"
[fabric.topology.graph]
hosts = 3
switches = 2
links = [
    {{ nodes = [0, 3] }},
    {{ nodes = [1, 4], rate = "1 Tb/s", propagation = "0 s" }},
    {{ nodes = [2, 3] }},
    {{ nodes = [3, 4], rate = "1.5 Gb/s", propagation = "12 ns" }},
]
[fabric.radio]
access = "planned"
retries = 0
queue.{queue}
link = [{{ nodes = [3, 4], trace = {{ {link} }} }}]
[workload.flows]
file = "proxy_bulk.csv"
[window]
measure = "10 s"
drain = "0 s"
[record]
rtt = true
tcp_every = "10 ms"
[scheme.cubic.transport.tcp]
preset = "rfc"
min_rto = "1 s"
delayed_ack.segments = 1
{more}
"#
    )
}

fn scheme(name: &str, keys: &str) -> String {
    let tcp = "transport.tcp = { preset = \"rfc\", min_rto = \"1 s\", delayed_ack.segments = 1 }";
    format!("[scheme.{name}]\n{tcp}\nproxy = {{ report_delay = \"20 ms\", {keys} }}\n")
}

fn goodput(ran: &Ran) -> f64 {
    ran.summary.goodput_bps.expect("something came") / 1e6
}

/// The longest round trip, in ms.
fn longest(ran: &Ran) -> f64 {
    ran.summary.rtt_ps.expect("round trips").max / 1e9
}

const ROOM_B: &str = "room = \"b\"";

#[test]
fn where_cubic_fills_the_queue_the_reactive_policy_does_not() {
    let more = scheme("reactive", "policy.reactive = {}");
    let text = scenario(ROOM_B, "drop_tail.packets = 1000", &more);
    let (cubic, reactive) = (run(&text, "cubic", 1), run(&text, "reactive", 1));
    // 1000 packets at 125 Mb/s are a queue of half a second, at 312.5 Mb/s one of 0.2 s. The wires
    // alone take 40 ms.
    assert!(longest(&cubic) > 200.0, "{} ms", longest(&cubic));
    let median = reactive.summary.rtt_ps.unwrap().p50 / 1e9;
    assert!((39.0..42.0).contains(&median), "{median} ms");
    assert!(goodput(&reactive) > 1.3 * goodput(&cubic), "{} against {}", goodput(&reactive), goodput(&cubic));
    // A flow that loses an outage's worth of packets waits for its timer.
    assert!(cubic.column("tcp", "timeouts").into_iter().max() >= Some(1));
    for ran in [&cubic, &reactive] {
        let mcs = ran.nullable("air", "mcs");
        assert!(mcs.contains(&None) && mcs.contains(&Some(12)), "no rate and the fastest rate: {mcs:?}");
    }
}

#[test]
fn proactive_waits_less_at_the_top_and_gets_less() {
    let more = [
        scheme("reactive", "policy.reactive = {}"),
        scheme("proactive", "policy.proactive = {}"),
        scheme("predicted", "policy.predicted = { boldness = 0.75 }"),
    ];
    let text = scenario("room = \"b\", varied = true", "drop_tail.packets = 1000", &more.concat());
    let mean = |name: &str, of: fn(&Ran) -> f64| (1..=5).map(|seed| of(&run(&text, name, seed))).sum::<f64>() / 5.0;
    let [reactive, proactive] = ["reactive", "proactive"].map(|n| mean(n, goodput));
    assert!(proactive < reactive && proactive > 0.7 * reactive, "{proactive} against {reactive}");
    let top = |ran: &Ran| ran.summary.rtt_p99999_ps.unwrap() / 1e9;
    let [reactive, proactive] = ["reactive", "proactive"].map(|n| mean(n, top));
    assert!(proactive <= reactive, "{proactive} ms against {reactive}");
}

#[test]
fn the_window_is_the_bandwidth_delay_product() {
    let ran =
        run(&scenario(ROOM_B, "drop_tail.packets = 1000", &scheme("reactive", "policy.reactive = {}")), "reactive", 1);
    let (time, window) = (ran.column("tcp", "time_ps"), ran.column("tcp", "window_bytes"));
    let at = |second: f64| window[time.iter().position(|&t| t as f64 >= second * 1e12).unwrap()] as f64;
    // 1.5 Gb/s times 40 ms, and the time of a packet at the access point.
    assert!((at(2.0) / 7.5e6 - 1.0).abs() < 0.01, "{}", at(2.0));
}

#[test]
fn a_split_connection_counts_bytes_once() {
    let more = [scheme("steered", "policy.reactive = {}"), scheme("split", "policy.reactive = {}, split_at = 2")];
    let text = scenario(ROOM_B, "drop_tail.packets = 1000", &more.concat());
    let (steered, split) = (run(&text, "steered", 1), run(&text, "split", 1));
    let ratio = goodput(&split) / goodput(&steered);
    assert!((0.85..1.15).contains(&ratio), "{} split, {} steered", goodput(&split), goodput(&steered));
    assert_eq!(split.column("flows", "flow").len(), 2);
    assert_eq!(split.summary.flows.measured, 1, "the first half is no flow of the workload");
}

#[test]
fn lost_messages_heal() {
    let more = [
        scheme("reactive", "policy.reactive = {}"),
        scheme("lossy", "policy.reactive = {}, loss = 0.3"),
        scheme("late", "policy.reactive = {}, report_delay = \"200 ms\"").replacen("report_delay = \"20 ms\", ", "", 1),
    ];
    let text = scenario(ROOM_B, "drop_tail.packets = 1000", &more.concat());
    let [sound, lossy, late] = ["reactive", "lossy", "late"].map(|n| run(&text, n, 2));
    assert!(goodput(&lossy) > 0.95 * goodput(&sound), "{} of {}", goodput(&lossy), goodput(&sound));
    let lost = lossy.summary.control_messages["link_report"].lost as f64;
    let all = lossy.summary.control_messages["link_report"].messages as f64;
    assert!((0.25..0.35).contains(&(lost / all)), "{lost} of {all}");
    // On the way down, a rate that is heard of 0.2 s late is that of a better link.
    assert!(longest(&late) > longest(&sound), "{} against {}", longest(&late), longest(&sound));
}

#[test]
fn marks_and_controlled_delay_keep_the_queue_short() {
    let longest_queue = |queue: &str, tcp: &str| {
        let more = format!("[scheme.other.transport.tcp]\npreset = \"rfc\"\nmin_rto = \"1 s\"\n{tcp}\n");
        let ran = run(&scenario(ROOM_B, queue, &more), "other", 1);
        let p50 = ran.summary.rtt_ps.unwrap().p50 / 1e9;
        (p50, ran.summary.dropped_packets.clone())
    };
    let (marked, _) = longest_queue("ecn = { mark_at = 100, packets = 1000 }", "congestion = \"dctcp\"");
    assert!(marked < 46.0, "{marked} ms: 100 packets are 4.3 ms at 1.5 Gb/s");
    let (_, dropped) = longest_queue("codel = { packets = 1000 }", "congestion = \"cubic\"");
    assert!(dropped.contains_key("aqm"), "{dropped:?}");
}

#[test]
fn a_run_ends_even_if_its_link_never_has_a_rate() {
    let never = "room = \"b\", level_dbm = -110.0";
    let text = scenario(never, "drop_tail.packets = 1000", &scheme("reactive", "policy.reactive = {}"));
    for name in ["cubic", "reactive"] {
        let ran = run(&text, name, 1);
        assert_eq!(ran.summary.packets.delivered, 0, "{name}");
        assert_eq!(ran.nullable("air", "mcs"), [None, None], "{name}: no rate in either direction, from start to end");
        assert_eq!(ran.summary.flows.unfinished, 1);
    }
    // Without an end the run would last for ever, which is reported before it starts.
    let endless = text.replace("measure = \"10 s\"", "").replace("drain = \"0 s\"", "");
    let Err(error) = try_run(&endless, "cubic", 1) else { panic!("it came to an end") };
    assert!(error.to_string().contains("no rate ever meets the target"), "{error}");
}
