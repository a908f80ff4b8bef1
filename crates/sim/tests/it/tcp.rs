//! TCP against the formulas of the literature, through the whole simulator: hosts, links, random
//! loss, queues.
//!
//! Where a formula is an approximation, its equations are also stepped through without the
//! simulator.

use std::collections::VecDeque;

use crate::common::{Ran, flow_list, run};
use timeplane_results::stats::jain;

/// Bytes of a full segment's payload, its IP packet and its frame on the wire.
const MSS: f64 = 1460.0;
const FRAME: f64 = 1538.0;

/// Two long flows, one in each direction over one wire of 100 Gb/s, on which a full frame is lost
/// with probability `p`. Nothing queues: the round trip is `rtt` seconds, and only losses limit
/// congestion windows. Returns their mean goodput in segments per second.
///
/// A bare acknowledgement of 84 B is lost 18 times as rarely as a segment, and the next one makes
/// up for it.
fn under_loss(congestion: &str, p: f64, rtt: f64, segments_per_ack: u32, segments: u64) -> (f64, Ran) {
    let bit_error = 1.0 - (1.0 - p).powf(1.0 / (8.0 * FRAME));
    let bytes = segments * MSS as u64;
    let text = format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = 2, switches = 0, links = [{{ nodes = [0, 1] }}] }}
        rate = "100 Gb/s"
        propagation = "{:.0} us"
        bit_error = {bit_error:e}
        [workload.shuffle]
        bytes = "{bytes} B"
        [scheme.tcp.transport.tcp]
        preset = "rfc"
        congestion = "{congestion}"
        delayed_ack = {{ segments = {segments_per_ack}, timeout = "1 ms" }}
        "#,
        rtt / 2.0 * 1e6
    );
    let ran = run(&text, "tcp", 1);
    let fct = ran.column("flows", "fct_ps");
    let goodput = fct.iter().map(|t| segments as f64 * 1e12 / *t as f64).sum::<f64>() / fct.len() as f64;
    (goodput, ran)
}

/// The round trip of the NewReno tests.
const RTT: f64 = 0.01;

/// `C / (RTT sqrt(p))` segments per second for random losses: C = 1.31 where each segment is
/// acknowledged, 0.93 where every second one is (Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3), 1997,
/// table 1).
fn mathis(p: f64, segments_per_ack: u32) -> f64 {
    let c = if segments_per_ack == 1 { 1.31 } else { 0.93 };
    c / (RTT * p.sqrt())
}

/// Segments per second of Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998, eq. 30) without a bound
/// on the congestion window, with a first timeout of `t0` seconds; 0 leaves out their share of
/// timeouts.
fn padhye(p: f64, segments_per_ack: u32, t0: f64) -> f64 {
    let b = f64::from(segments_per_ack);
    let timeouts = t0 * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (RTT * (2.0 * b * p / 3.0).sqrt() + timeouts)
}

/// Uniform numbers from 0 to 1 (SplitMix64).
fn uniform() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (timeplane_model::mix64(state) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Segments per round trip of NewReno as RFC 5681 (equation 3), RFC 6675 and RFC 3042 describe it,
/// over about `losses` losses and without the simulator: no bytes, no sequence numbers, no timers.
/// One step is a round trip, in which all segments under way arrive in order and let the sender
/// answer at once. A congestion window with nothing under way is a timeout of 20 round trips.
fn ideal_newreno(p: f64, segments_per_ack: usize, losses: u32) -> f64 {
    let mut draw = uniform();
    let mut window: f64 = 10.0;
    // Segments under way, and whether each is a retransmission.
    let mut wire: VecDeque<(u64, bool)> = (0..10).map(|segment| (segment, false)).collect();
    let mut next = 10;
    // Segments that the receiver lacks, with the number of later ones so far. After three the
    // sender repeats it.
    let mut holes: Vec<(u64, u32)> = Vec::new();
    let mut repeat: VecDeque<u64> = VecDeque::new();
    let mut recover = None;
    let (mut lost, mut arrived, mut rounds, mut unacknowledged) = (0, 0u64, 0u64, 0);
    while lost < losses {
        rounds += 1;
        if wire.is_empty() {
            rounds += 20;
            window = 2.0;
            repeat.clear();
            recover = Some(next);
            wire.extend(holes.iter().map(|hole| (hole.0, true)));
            holes.iter_mut().for_each(|hole| hole.1 = 3);
        }
        for left in (0..wire.len()).rev() {
            let (segment, repeated) = wire.pop_front().unwrap();
            let arrives = draw() >= p;
            if arrives {
                arrived += 1;
                unacknowledged += 1;
            } else {
                lost += 1;
                if repeated {
                    // Found by what arrives next; a second reduction (RFC 5681, section 4.3).
                    window = (window / 2.0).max(2.0);
                    wire.push_back((segment, true));
                } else {
                    holes.push((segment, 0));
                }
            }
            // The last segment of a round is acknowledged by the timer.
            let at_once = arrives && (repeated || !holes.is_empty() || unacknowledged >= segments_per_ack);
            if !at_once && (left > 0 || unacknowledged == 0) {
                continue;
            }
            unacknowledged = 0;
            let mut advances = holes.is_empty();
            if arrives && repeated {
                advances = holes[0].0 == segment;
                holes.retain(|hole| hole.0 != segment);
            } else if arrives {
                for hole in &mut holes {
                    hole.1 += 1;
                    if hole.1 == 3 {
                        repeat.push_back(hole.0);
                    }
                }
            }
            if recover.is_some_and(|end| holes.first().is_none_or(|hole| hole.0 >= end)) {
                recover = None;
            }
            if recover.is_none() {
                if advances {
                    window += 1.0 / window;
                }
                if holes.first().is_some_and(|hole| hole.1 >= 3) {
                    window = (window / 2.0).max(2.0);
                    recover = Some(next);
                    // The first one goes at once, whatever the congestion window says.
                    wire.extend(repeat.pop_front().map(|segment| (segment, true)));
                }
            }
            while (wire.len() + holes.iter().filter(|hole| hole.1 < 3).count() + 1) as f64 <= window {
                wire.push_back(repeat.pop_front().map_or_else(
                    || {
                        next += 1;
                        (next - 1, false)
                    },
                    |segment| (segment, true),
                ));
            }
        }
    }
    arrived as f64 / rounds as f64
}

/// NewReno against the law of the inverse square root, within 10 % from a loss in 10,000 to a loss
/// in 100.
///
/// The law holds for unbounded windows. At a loss in 100 the window is a dozen segments, and four
/// rules of RFCs 5681 and 6675 cost up to a tenth. There is no growth in the round trip of a
/// recovery. Only whole segments are sent. Equation 3 adds less than a segment per round trip as
/// the window grows in it. Retransmissions are not goodput. So the protocol is also stepped through
/// without the simulator, which must agree to 3 %. With an acknowledgement for two segments it must
/// agree to 5 %, as the timer of an odd segment splits windows into bursts, and each odd burst has
/// one acknowledgement more.
///
/// Padhye's equation has a timeout in every fifth loss at a loss in 100, as there a loss takes the
/// rest of its window with it. Independent losses and selective acknowledgements make timeouts
/// rare. The equation is right to 10 % without that term.
#[test]
fn newreno_follows_the_inverse_square_root_of_loss() {
    for (p, segments) in [(1e-4, 8_000_000), (1e-3, 1_600_000), (1e-2, 1_600_000)] {
        for each in [1, 2] {
            let (goodput, ran) = under_loss("new_reno", p, RTT, each, segments);
            let ideal = ideal_newreno(p, each as usize, 20_000) / RTT;
            let [law, steps, padhye, timeouts] =
                [mathis(p, each), ideal, padhye(p, each, 0.0), padhye(p, each, 0.2)].map(|e| goodput / e - 1.0);
            let lost = ran.summary.dropped_packets["bit_error"];
            println!(
                "NewReno p {p:e}, an acknowledgement for {each}: {goodput:.0} segments/s; law {:+.1} %, steps {:+.1} %, \
                 Padhye without timeouts {:+.1} %, with them {:+.1} %; {lost} losses, {} timeouts; steps against the law {:+.1} %",
                100.0 * law,
                100.0 * steps,
                100.0 * padhye,
                100.0 * timeouts,
                ran.summary.timeouts,
                100.0 * (ideal / mathis(p, each) - 1.0),
            );
            assert!(law.abs() < 0.1, "{law}");
            assert!(steps.abs() < if each == 1 { 0.03 } else { 0.05 }, "{steps}");
            assert!(padhye.abs() < 0.13, "{padhye}");
            assert!(ran.summary.timeouts * 500 <= if p < 5e-3 { 0 } else { lost });
        }
    }
}

/// The mean window of CUBIC by RFC 9438, one step per round trip: equations 1, 2 and 4 and fast
/// convergence, with `distance()` segments from one loss to the next.
fn cubic(rtt: f64, losses: u32, mut distance: impl FnMut() -> f64) -> f64 {
    let (c, beta) = (0.4, 0.7);
    let (mut window, mut w_max): (f64, f64) = (10.0, 0.0);
    let (mut all, mut rounds) = (0.0, 0.0);
    for loss in 0..losses {
        let prior = window;
        w_max = if window < w_max { window * (1.0 + beta) / 2.0 } else { window };
        window *= beta;
        let k = ((w_max - window).max(0.0) / c).cbrt();
        if w_max <= window {
            w_max = window;
        }
        let (mut left, mut t, mut reno) = (distance(), 0.0, window);
        loop {
            // The first tenth is the transient.
            if loss > losses / 10 {
                all += window.min(left);
                rounds += (left / window).min(1.0);
            }
            left -= window;
            if left <= 0.0 {
                break;
            }
            t += rtt;
            reno += if reno < prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
            window = (c * (t - k).powi(3) + w_max).min(1.5 * window).max(reno).max(window);
        }
    }
    all / rounds
}

/// CUBIC over a pipe that is never full: 250 Mb and more in flight would fit. RFC 9438 (section
/// 5.1, eq. 5) gives the mean window where one segment in `1 / p` is lost at even distances, `(C (3
/// + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4)`.
///
/// Random losses leave a larger window than that, by 15 to 20 %, as the window's growth is convex
/// in time. So the equations of the RFC are stepped through twice: at even distances they give its
/// own mean window to 5 %, and at random the simulator's to 10 %.
#[test]
fn cubic_follows_its_law() {
    let rtt: f64 = 0.1;
    for (p, segments) in [(1e-4f64, 6_000_000), (1e-5, 60_000_000)] {
        let law = (0.4f64 * (3.0 + 0.7) / (4.0 * (1.0 - 0.7))).powf(0.25) * (rtt / p).powf(0.75);
        let even = cubic(rtt, 1000, || 1.0 / p);
        let mut draw = uniform();
        let random = cubic(rtt, 100_000, || -(1.0 - draw()).ln() / p);
        let (goodput, ran) = under_loss("cubic", p, rtt, 2, segments);
        let window = goodput * rtt;
        println!(
            "CUBIC p {p:e}: {window:.0} segments; even losses: law {law:.0}, steps {even:.0}; random losses: steps {random:.0} ({:+.1} %); law {:+.1} %; {} losses",
            100.0 * (window / random - 1.0),
            100.0 * (window / law - 1.0),
            ran.summary.dropped_packets["bit_error"],
        );
        assert!((window / random - 1.0).abs() < 0.1);
        assert!((even / law - 1.0).abs() < 0.05);
        assert!((1.05..1.3).contains(&(window / law)));
    }
}

/// `hosts` hosts on links of 10 Gb/s send without end to host 0 on a link of 1 Gb/s.
///
/// With links of one rate, a flow that fills the receiver's link alone would feed its queue at
/// exactly the rate at which it drains, and lock out all others for good.
fn incast(hosts: u32, congestion: &str, receiver: &str, switch: &str, rest: &str) -> String {
    let name = format!("incast-{hosts}.csv");
    let flows: Vec<_> = (1..=hosts).map(|h| (i64::from(h) * 10_000_019, h, 0, 1_000_000_000_000)).collect();
    flow_list(&name, &flows);
    let links: Vec<String> = (1..=hosts).map(|h| format!("{{ nodes = [{h}, {}] }}", hosts + 1)).collect();
    format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = {}, switches = 1, links = [{{ nodes = [0, {}], rate = "{receiver}" }}, {}] }}
        rate = "10 Gb/s"
        propagation = "10 us"
        switch = {{ {switch} }}
        [workload.flows]
        file = "{name}"
        [scheme.tcp.transport.tcp]
        congestion = "{congestion}"
        min_rto = "10 ms"
        {rest}
        "#,
        hosts + 1,
        hosts + 1,
        links.join(", ")
    )
}

/// Two senders under DCTCP keep the queue of their common link at the marking threshold K. With
/// synchronous flows it swings between `K + N` and `K + N - A` packets, where `A = sqrt(2 N (C RTT
/// + K)) / 2` (Alizadeh et al., SIGCOMM 2010, eqs. 8, 11 and 12).
#[test]
fn dctcp_keeps_the_queue_at_its_threshold() {
    for (receiver, rate) in [("10 Gb/s", 10e9), ("1 Gb/s", 1e9)] {
        let rest = "[record]\nqueues_every = \"1 us\"\n[window]\nmeasure = \"200 ms\"\ndrain = \"0 s\"";
        let text = incast(2, "dctcp", receiver, r#"buffer.per_port = "1 MB", ecn = "100 kB""#, rest);
        let ran = run(&text, "tcp", 1);
        let (links, to) = (ran.column("links", "link"), ran.column("links", "to"));
        let port = links[to.iter().position(|n| *n == 0).unwrap()];
        let (time, link, bytes) =
            (ran.column("queues", "time_ps"), ran.column("queues", "link"), ran.column("queues", "queue_bytes"));
        // The second half of the run; an empty queue has no row.
        let sum: i64 =
            (0..time.len()).filter(|&i| time[i] >= 100_000_000_000 && link[i] == port).map(|i| bytes[i]).sum();
        let mean = sum as f64 / 100_000.0;
        // Packets, with N = 2 and four wires of 10 us per round trip.
        let k = 100e3 / FRAME;
        let swing = (2.0 * 2.0 * (rate * 40e-6 / 8.0 / FRAME + k)).sqrt() / 2.0;
        let expected = (k + 2.0 - swing / 2.0) * FRAME;
        println!(
            "DCTCP, {receiver}: queue {:.1} kB on average, K 100 kB, middle of the swing {:.1} kB ({:+.1} %)",
            mean / 1e3,
            expected / 1e3,
            100.0 * (mean / expected - 1.0)
        );
        assert!((0.8..1.2).contains(&(mean / 100e3)), "{mean}");
        assert!((mean / expected - 1.0).abs() < 0.05, "{mean} {expected}");
        assert!(ran.summary.dropped_packets.is_empty());
    }
}

/// Eight long flows into one link share it evenly: Jain's index is above 0.95. It is 0.9 if half of
/// them have twice the rate of the others.
#[test]
fn flows_share_a_link() {
    for congestion in ["new_reno", "cubic", "dctcp"] {
        let rest = "[window]\nmeasure = \"10 s\"\ndrain = \"0 s\"";
        let text = incast(8, congestion, "1 Gb/s", r#"buffer.per_port = "100 kB", ecn = "30 kB""#, rest);
        let ran = run(&text, "tcp", 1);
        let bytes: Vec<f64> = ran.column("flows", "received_bytes").iter().map(|b| *b as f64).collect();
        let index = jain(&bytes).unwrap();
        println!(
            "{congestion}: Jain's index {index:.3}, {:.0} Mb/s, {} timeouts",
            ran.summary.goodput_bps.unwrap() / 1e6,
            ran.summary.timeouts
        );
        assert!(index > 0.95, "{index} {bytes:?}");
        assert!(bytes.iter().sum::<f64>() * 8.0 / 10.0 > 0.9 * 1e9 * MSS / FRAME);
    }
}

/// One flow alone has the link: its goodput is the payload's share of full frames, which is smaller
/// with timestamps of 12 B.
#[test]
fn timestamps_take_their_share_of_the_link() {
    for (timestamps, mss) in [(false, 1460.0), (true, 1448.0)] {
        let rest = format!("timestamps = {timestamps}\n[window]\nmeasure = \"5 s\"\ndrain = \"0 s\"");
        let text = incast(1, "cubic", "1 Gb/s", r#"buffer.per_port = "300 kB""#, &rest);
        let ran = run(&text, "tcp", 1);
        let goodput = ran.column("flows", "received_bytes")[0] as f64 * 8.0 / (5.0 - 0.01);
        assert!((goodput / (1e9 * mss / FRAME) - 1.0).abs() < 0.002, "{goodput} with {mss} B of payload");
    }
}

/// Two long flows, one in each direction over a wire of 1 Gb/s and 5 ms on which a segment in a
/// hundred is lost: BBR fills it, and version 3 mostly; CUBIC does not.
#[test]
fn bbr_fills_a_wire_that_loses() {
    let bit_error = 1.0 - 0.99f64.powf(1.0 / (8.0 * FRAME));
    // Long enough that a timeout at the very end, 200 ms, counts for little.
    let shares = [("bbr", 300_000), ("bbr3", 300_000), ("cubic", 30_000)].map(|(congestion, segments)| {
        let text = format!(
            r#"
            [fabric]
            topology.graph = {{ hosts = 2, switches = 0, links = [{{ nodes = [0, 1] }}] }}
            rate = "1 Gb/s"
            propagation = "5 ms"
            bit_error = {bit_error:e}
            [workload.shuffle]
            bytes = "{} B"
            [scheme.tcp.transport.tcp]
            congestion = "{congestion}"
            "#,
            segments * MSS as u32
        );
        let ran = run(&text, "tcp", 1);
        let slowest = ran.column("flows", "fct_ps").into_iter().max().expect("two flows");
        f64::from(segments) * FRAME * 8.0 / 1e9 / (slowest as f64 / 1e12)
    });
    println!("BBR {:.3} of the wire, version 3 {:.3}, CUBIC {:.3}", shares[0], shares[1], shares[2]);
    // The other flow's acknowledgements take up to 6 % of each wire: in recovery, one of about 100
    // B for each segment.
    assert!(shares[0] > 0.8 && shares[1] > 0.6 && shares[2] < 0.3, "{shares:?}");
}

/// One flow of `segments` over a wire of 10 Gb/s and 1 ms, with round trips recorded.
fn over_a_wire(segments: u64, bit_error: f64, tcp: &str) -> Ran {
    let bytes = segments * MSS as u64;
    let name = format!("wire_{segments}_{}.csv", tcp.len());
    flow_list(&name, &[(0, 0, 1, bytes)]);
    let text = format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = 2, switches = 0, links = [{{ nodes = [0, 1] }}] }}
        rate = "10 Gb/s"
        propagation = "1 ms"
        bit_error = {bit_error:e}
        [workload.flows]
        file = "{name}"
        [record]
        rtt = true
        round_trips = true
        tcp_every = "5 ms"
        [scheme.tcp.transport.tcp]
        delayed_ack.segments = 1
        {tcp}
        "#
    );
    run(&text, "tcp", 1)
}

/// Times in ps with their counts, by reading.
fn readings(ran: &Ran, reading: &str) -> Vec<(i64, i64)> {
    let (times, packets) = (ran.column("round_trips", "rtt_ps"), ran.column("round_trips", "packets"));
    let own = ran.words("round_trips", "reading").into_iter().map(|r| r == reading);
    own.zip(times.into_iter().zip(packets)).filter_map(|(own, row)| own.then_some(row)).collect()
}

#[test]
fn three_readings_of_the_round_trip_agree_where_nothing_is_lost() {
    // One segment at a time: 1538 B there, 84 B back, and twice the wire.
    let ran = over_a_wire(20, 0.0, "receive_window = \"1500 B\"\nwindow_growth = false");
    let there = 1_000_000_000 + 1_230_400;
    let back = 1_000_000_000 + 67_200;
    for (reading, expected) in [("segment", there + back), ("acknowledgement", there + back), ("delivery", there)] {
        let rows = readings(&ran, reading);
        assert_eq!(rows.iter().map(|r| r.1).sum::<i64>(), 20, "{reading}");
        // Named by the lower end of a bin that is at most 1.6 % wide.
        assert!(rows.iter().all(|(time, _)| (0..expected * 16 / 1_000).contains(&(expected - time))), "{reading}");
    }
    let ends = ran.column("round_trips", "time_ps");
    assert!(ends.iter().rev().skip(3).all(|end| end % 5_000_000_000 == 0), "{ends:?}");
    assert!(ends.is_sorted());
}

#[test]
fn without_sack_segments_behind_a_loss_wait_and_acknowledgements_tell_of_none_of_them() {
    let ran = over_a_wire(2_000, 1e-6, "sack = false");
    let again = ran.column("flows", "retransmissions")[0];
    assert!(again > 3, "{again}");
    let count = |reading| readings(&ran, reading).iter().map(|r| r.1).sum::<i64>();
    let longest = |reading| readings(&ran, reading).iter().map(|r| r.0).max().expect("a time");
    // All that is sent is delivered. Segments that were sent again have no round trip, and an
    // acknowledgement of many segments is one.
    assert_eq!(count("delivery"), 2_000);
    assert!(count("segment") < 2_000 && count("acknowledgement") < count("segment"), "{}", count("segment"));
    // A segment behind a gap waits for a round trip and more. What waits is acknowledged together
    // with the segment that was sent again, and so has no reading of its own.
    assert!(longest("segment") > 3_900_000_000 && longest("delivery") > 2_900_000_000, "{}", longest("delivery"));
    assert!(longest("acknowledgement") < longest("segment"), "{}", longest("acknowledgement"));
    let of_rtt: i64 = ran.column("rtt", "packets").iter().sum();
    assert_eq!(count("segment"), of_rtt);
}
