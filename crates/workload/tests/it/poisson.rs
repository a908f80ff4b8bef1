//! Tests of generators: loads, moments, patterns, determinism.

use crate::common::{MTU, load, poisson};
use std::collections::BTreeMap;
use std::path::Path;
use timeplane_model::{Bytes, Duration, Fabric, Framing, HostId, LinkSpec, NodeId, Rate, Switch};
use timeplane_scenario::{PacketMix, Pattern, Sizes};
use timeplane_workload::{FlowArrival, PacketSizer, Source, Streams};

const GBPS: f64 = 10.0;

/// Wire bytes of a flow on Ethernet, packet by packet.
fn wire(mix: &PacketMix, bytes: u64, seed: u64) -> u64 {
    let mut sizer = PacketSizer::new(mix, MTU, 28, seed);
    let (mut left, mut total) = (bytes, 0);
    while left > 0 {
        let payload = sizer.next(left);
        assert!(payload >= 1 && u64::from(payload) <= left);
        left -= u64::from(payload);
        total += u64::from(Framing::Ethernet.wire(payload + 28));
    }
    total
}

/// Loads of each host's links, out and in, over the first `n` flows.
fn loads(source: &Source, mix: &PacketMix, seed: u64, n: usize, hosts: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut out, mut inn) = (vec![0.0; hosts], vec![0.0; hosts]);
    let mut end = 0.0;
    for (i, flow) in source.arrivals(seed).take(n).enumerate() {
        let bits = 8.0 * wire(mix, flow.bytes.get(), i as u64) as f64;
        out[flow.source.index()] += bits;
        inn[flow.destination.index()] += bits;
        end = flow.at.as_secs_f64();
    }
    for x in out.iter_mut().chain(&mut inn) {
        *x /= end * GBPS * 1e9;
    }
    (out, inn)
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[test]
fn load_comes_out_as_asked_for_each_pattern() {
    // 200,000 flows: the standard error is 0.22 % of arrivals and as much of exponential sizes.
    let n = 200_000;
    let sizes = || Sizes::Exponential(Bytes::new(5_000));
    for pattern in [Pattern::Uniform, Pattern::Permutation, Pattern::Stride { by: 3 }, Pattern::AllToAll] {
        let source = load(&poisson(0.6, pattern.clone(), sizes(), PacketMix::Mtu), 8).unwrap();
        let (out, inn) = loads(&source, &PacketMix::Mtu, 5, n, 8);
        assert!((mean(&inn) - 0.6).abs() < 0.006, "{pattern:?} {inn:?}");
        // All hosts are alike: 0.6 within 5 standard errors of 25,000 flows.
        assert!(out.iter().chain(&inn).all(|l| (l - 0.6).abs() < 0.6 * 5.0 * 0.009), "{pattern:?} {out:?} {inn:?}");
    }
    let incast = poisson(0.6, Pattern::Incast { receiver: 2 }, sizes(), PacketMix::Mtu);
    let (out, inn) = loads(&load(&incast, 8).unwrap(), &PacketMix::Mtu, 5, n, 8);
    assert!((inn[2] - 0.6).abs() < 0.006, "{inn:?}");
    assert!(inn.iter().enumerate().all(|(h, l)| h == 2 || *l == 0.0) && out[2] == 0.0);
    assert!(out.iter().enumerate().all(|(h, l)| h == 2 || (l - 0.6 / 7.0).abs() < 0.6 / 7.0 * 0.05), "{out:?}");
}

#[test]
fn the_most_loaded_link_of_a_matrix_has_the_load() {
    crate::common::file("loads.csv", "destination,weight,source\n1,2,0\n2,1,0\n2,5,1\n3,0,0\n2,1,3\n2,1,3\n");
    // Host 2 receives 8 of 10 flows.
    let workload = poisson(
        0.5,
        Pattern::Matrix { file: "loads.csv".into(), more_racks: None },
        Sizes::Fixed(Bytes::kb(3)),
        PacketMix::Mtu,
    );
    let source = load(&workload, 5).unwrap();
    let (out, inn) = loads(&source, &PacketMix::Mtu, 1, 200_000, 5);
    for (found, share) in out.iter().chain(&inn).zip([3.0, 5.0, 0.0, 2.0, 0.0, 0.0, 2.0, 8.0, 0.0, 0.0]) {
        assert!((found - 0.5 * share / 8.0).abs() <= 0.01 * share / 8.0, "{out:?} {inn:?}");
    }
    let projector = poisson(
        0.7,
        Pattern::Matrix { file: "projector".into(), more_racks: None },
        Sizes::Fixed(Bytes::kb(3)),
        PacketMix::Mtu,
    );
    let (out, inn) = loads(&load(&projector, 128).unwrap(), &PacketMix::Mtu, 1, 300_000, 128);
    let most = out.iter().chain(&inn).fold(0.0, |a: f64, b| a.max(*b));
    assert!((most - 0.7).abs() < 0.01, "{most}");
}

#[test]
fn load_comes_out_as_asked_for_each_packet_mix_and_size() {
    let mixes = [
        PacketMix::Mtu,
        PacketMix::Fixed(Bytes::new(300)),
        PacketMix::Bimodal,
        PacketMix::FacebookWeb,
        PacketMix::Alternating,
        PacketMix::Single,
    ];
    for mix in mixes {
        for sizes in [Sizes::Fixed(Bytes::new(40)), Sizes::Fixed(Bytes::kb(20)), Sizes::Exponential(Bytes::kb(4))] {
            let source = load(&poisson(0.3, Pattern::Uniform, sizes.clone(), mix.clone()), 4).unwrap();
            // Arrivals are tested elsewhere. Comparing only the mean flow on the wire has less
            // variance.
            let n = 100_000;
            let flows = source.arrivals(9).take(n).enumerate();
            let (mut total, mut squares) = (0.0, 0.0);
            for (i, flow) in flows {
                let bytes = wire(&mix, flow.bytes.get(), Streams::new(1).number("flow", i as u64, "packets")) as f64;
                total += bytes;
                squares += bytes * bytes;
            }
            let measured = total / n as f64;
            let error = ((squares / n as f64 - measured * measured).max(0.0) / n as f64).sqrt();
            let expected = source.facts().mean_wire_bytes.unwrap();
            let within = 4.5 * error + 1e-4 * measured;
            assert!(
                (measured - expected).abs() < within,
                "{mix:?} {sizes:?}: {measured} ± {error}, expected {expected}"
            );
            let rate = 0.3 * 4.0 * GBPS * 1e9 / (8.0 * expected);
            assert!((source.facts().arrivals_per_second.unwrap() / rate - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn long_flows_of_random_packets_have_the_renewal_rate() {
    for mix in [PacketMix::Bimodal, PacketMix::FacebookWeb] {
        for bytes in [3_000_000u64, 900_000] {
            let workload = poisson(0.3, Pattern::Uniform, Sizes::Fixed(Bytes::new(bytes)), mix.clone());
            let expected = load(&workload, 4).unwrap().facts().mean_wire_bytes.unwrap();
            let n = 2_000;
            let measured = (0..n).map(|seed| wire(&mix, bytes, seed * 7919)).sum::<u64>() as f64 / n as f64;
            assert!((measured / expected - 1.0).abs() < 5e-4, "{mix:?} {bytes}: {measured}, expected {expected}");
        }
    }
}

#[test]
fn wire_bytes_of_an_empirical_distribution() {
    // Independent of the library's sums: full packets and the rest, over a fine grid of quantiles.
    for (name, mean) in [("websearch", 1.490e6), ("datamining", 5.037e6), ("fb_hadoop", 3.424e6)] {
        let source = load(&poisson(0.5, Pattern::Uniform, Sizes::Cdf(name.into()), PacketMix::Mtu), 4).unwrap();
        let facts = source.facts();
        assert!((facts.mean_flow_bytes / mean - 1.0).abs() < 5e-4, "{name}: {}", facts.mean_flow_bytes);
        assert!(facts.files[0].file.contains(".csv (bundled)") && facts.files[0].blake3.len() == 64);
        let (_, text) = (name, timeplane_workload::bundled(name).unwrap().text);
        let points: Vec<(f64, f64)> = text
            .lines()
            .map(|l| l.split_once(',').unwrap())
            .map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()))
            .collect();
        let mut expected = 0.0;
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let steps = 100_000;
            for i in 0..steps {
                let x = (x0 + (x1 - x0) * (i as f64 + 0.5) / steps as f64).round() as u64;
                let rest = x % 1472;
                let last = if rest == 0 { 0 } else { (rest + 66).max(84) };
                expected += (y1 - y0) / steps as f64 * (x / 1472 * 1538 + last) as f64;
            }
        }
        let found = facts.mean_wire_bytes.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-5, "{name}: {found}, expected {expected}");
    }
}

/// Of a CDF's points alone, each has the probability by which the CDF rises to it.
#[test]
fn sizes_at_the_points_of_a_distribution() {
    let text = timeplane_workload::bundled("datamining").unwrap().text;
    let points: Vec<(f64, f64)> =
        text.lines().filter_map(|l| l.split_once(',')).map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).collect();
    let shares: Vec<f64> =
        (0..points.len()).map(|i| points[i].1 - if i == 0 { 0.0 } else { points[i - 1].1 }).collect();
    let mean: f64 = points.iter().zip(&shares).map(|(p, share)| p.0.max(1.0) * share).sum();
    let source =
        load(&poisson(0.5, Pattern::Uniform, Sizes::CdfPoints("datamining".into()), PacketMix::Mtu), 16).unwrap();
    assert!((source.facts().mean_flow_bytes / mean - 1.0).abs() < 1e-6, "{} {mean}", source.facts().mean_flow_bytes);
    let mut count = vec![0u32; points.len()];
    let drawn = 40_000u32;
    for flow in source.arrivals(3).take(drawn as usize) {
        let bytes = flow.bytes.get() as f64;
        let at = points.iter().position(|p| p.0.round().max(1.0) == bytes).expect("a size of a point");
        count[at] += 1;
    }
    for (n, share) in count.iter().zip(&shares) {
        let (expected, sigma) = (share * f64::from(drawn), (share * (1.0 - share) * f64::from(drawn)).sqrt());
        assert!((f64::from(*n) - expected).abs() <= 5.0 * sigma + 1e-9, "{n}, expected {expected} +- {sigma}");
    }
}

#[test]
fn arrivals_are_poisson_and_pairs_uniform() {
    let source = load(&poisson(0.5, Pattern::Uniform, Sizes::Fixed(Bytes::kb(1)), PacketMix::Mtu), 8).unwrap();
    let n = 200_000usize;
    let flows: Vec<FlowArrival> = source.arrivals(3).take(n).collect();
    assert!(flows.is_sorted_by_key(|f| f.at));
    let mean = 1.0 / source.facts().arrivals_per_second.unwrap();
    let mut intervals: Vec<f64> = flows.windows(2).map(|w| (w[1].at - w[0].at).as_secs_f64() / mean).collect();
    let average = intervals.iter().sum::<f64>() / intervals.len() as f64;
    assert!((average - 1.0).abs() < 4.0 / (n as f64).sqrt(), "{average}");
    // Kolmogorov-Smirnov test at 0.1 %; intervals of 500 ns are rounded to picoseconds.
    intervals.sort_by(f64::total_cmp);
    let count = intervals.len() as f64;
    let distance =
        intervals.iter().enumerate().map(|(i, g)| ((1.0 - (-g).exp()) - i as f64 / count).abs()).fold(0.0, f64::max);
    assert!(distance < 1.95 / count.sqrt(), "{distance}");

    let mut pairs: BTreeMap<(HostId, HostId), f64> = BTreeMap::new();
    for f in &flows {
        assert_ne!(f.source, f.destination);
        *pairs.entry((f.source, f.destination)).or_default() += 1.0;
    }
    let expected = n as f64 / 56.0;
    let chi_square: f64 = pairs.values().map(|c| (c - expected).powi(2) / expected).sum();
    // 55 degrees of freedom: mean 55, standard deviation 10.5.
    assert!(pairs.len() == 56 && chi_square < 105.0, "{chi_square}");
}

#[test]
fn sizes_follow_their_laws() {
    let sizes = |law: Sizes| -> Vec<f64> {
        let source = load(&poisson(0.5, Pattern::Uniform, law, PacketMix::Mtu), 4).unwrap();
        let mut sizes: Vec<f64> = source.arrivals(11).take(100_000).map(|f| f.bytes.get() as f64).collect();
        sizes.sort_by(f64::total_cmp);
        sizes
    };
    let distance = |sizes: &[f64], cdf: &dyn Fn(f64) -> f64| {
        let n = sizes.len() as f64;
        sizes.iter().enumerate().map(|(i, s)| (cdf(*s) - i as f64 / n).abs()).fold(0.0, f64::max)
    };
    let bound = 1.95 / 100_000f64.sqrt();
    let exponential = sizes(Sizes::Exponential(Bytes::mb(1)));
    assert!(distance(&exponential, &|s| 1.0 - (-s / 1e6).exp()) < bound);
    let search = sizes(Sizes::Cdf("websearch".into()));
    let points: Vec<(f64, f64)> = timeplane_workload::bundled("websearch")
        .unwrap()
        .text
        .lines()
        .map(|l| l.split_once(',').unwrap())
        .map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()))
        .collect();
    let cdf = |s: f64| {
        let i = points.partition_point(|p| p.0 < s).clamp(1, points.len() - 1);
        let ((x0, y0), (x1, y1)) = (points[i - 1], points[i]);
        y0 + (y1 - y0) * (s - x0) / (x1 - x0)
    };
    assert!(distance(&search, &cdf) < bound);
    assert!(sizes(Sizes::Exponential(Bytes::new(1))).iter().all(|s| *s >= 1.0));
}

#[test]
fn patterns_are_what_they_say() {
    let flows = |pattern, seed: u64| -> Vec<(u32, u32)> {
        let source = load(&poisson(0.5, pattern, Sizes::Fixed(Bytes::kb(1)), PacketMix::Mtu), 6).unwrap();
        source.arrivals(seed).take(2_000).map(|f| (f.source.0, f.destination.0)).collect()
    };
    assert!(flows(Pattern::Stride { by: 8 }, 1).iter().all(|(s, d)| *d == (s + 2) % 6));
    // All to all: each host's successive flows go to successive hosts.
    for h in 0..6 {
        let to: Vec<u32> = flows(Pattern::AllToAll, 1).iter().filter(|(s, _)| *s == h).map(|(_, d)| *d).collect();
        assert!(to.iter().enumerate().all(|(i, d)| *d == (h + 1 + i as u32 % 5) % 6), "{to:?}");
    }
    let mut drawn = BTreeMap::new();
    for seed in 0..40 {
        let partners: BTreeMap<u32, u32> = flows(Pattern::Permutation, seed).into_iter().collect();
        let mut receivers: Vec<u32> = partners.values().copied().collect();
        receivers.sort_unstable();
        assert_eq!(receivers, [0, 1, 2, 3, 4, 5]);
        assert!(partners.iter().all(|(s, d)| s != d));
        assert!(flows(Pattern::Permutation, seed).iter().all(|(s, d)| partners[s] == *d));
        drawn.insert(partners.into_values().collect::<Vec<_>>(), ());
    }
    assert!(drawn.len() > 20, "265 derangements, {} different ones of 40", drawn.len());
}

#[test]
fn links_of_different_rates_share_the_load_by_their_sum() {
    let link = |gbps| LinkSpec {
        rate: Rate::gbps(gbps),
        propagation: Duration::ZERO,
        framing: Framing::Ethernet,
        bit_error: 0.0,
    };
    let wires: Vec<_> = [10, 40, 100].iter().zip(0..).map(|(&r, h)| (NodeId(h), NodeId(3), link(r))).collect();
    let fabric = Fabric::new(3, vec![Switch::default()], &wires).unwrap();
    let load = |pattern| {
        let w = poisson(0.5, pattern, Sizes::Fixed(Bytes::new(1472)), PacketMix::Mtu);
        Source::load(&w, Path::new("."), &fabric, MTU).unwrap().facts().arrivals_per_second.unwrap() * 1538.0 * 8e-9
    };
    assert!((load(Pattern::Uniform) - 75.0).abs() < 1e-9);
    assert!((load(Pattern::Incast { receiver: 1 }) - 20.0).abs() < 1e-9);
}

#[test]
fn the_same_seed_gives_the_same_flows_and_each_choice_its_own_stream() {
    let draw = |load_, pattern, sizes, seed: u64| -> Vec<FlowArrival> {
        load(&poisson(load_, pattern, sizes, PacketMix::Mtu), 6).unwrap().arrivals(seed).take(500).collect()
    };
    let search = || Sizes::Cdf("websearch".into());
    let a = draw(0.5, Pattern::Uniform, search(), 1);
    assert_eq!(a, draw(0.5, Pattern::Uniform, search(), 1));
    assert_ne!(a, draw(0.5, Pattern::Uniform, search(), 2));
    // Another load: the same pairs and sizes, with scaled times.
    let b = draw(0.25, Pattern::Uniform, search(), 1);
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((a.source, a.destination, a.bytes), (b.source, b.destination, b.bytes));
        assert!((2 * a.at.as_ps()).abs_diff(b.at.as_ps()) <= 3);
    }
    // Another pattern: the same times and sizes. Other sizes: the same pairs.
    let c = draw(0.5, Pattern::Stride { by: 1 }, search(), 1);
    assert!(a.iter().zip(&c).all(|(a, c)| (a.at, a.bytes) == (c.at, c.bytes)));
    let d = draw(0.5, Pattern::Uniform, Sizes::Fixed(Bytes::kb(1)), 1);
    assert!(a.iter().zip(&d).all(|(a, d)| (a.source, a.destination) == (d.source, d.destination)));
}

#[test]
fn flows_never_change() {
    let source = load(&poisson(0.5, Pattern::Uniform, Sizes::Cdf("websearch".into()), PacketMix::Mtu), 8).unwrap();
    let flows = source.arrivals(1).take(4);
    let golden: Vec<_> = flows.map(|f| (f.at.as_ps(), f.source.0, f.destination.0, f.bytes.get())).collect();
    let expected = [
        (259_193_383, 3, 1, 3_843_485),
        (904_774_196, 7, 6, 37_739),
        (1_508_580_485, 7, 1, 42_075),
        (1_578_254_099, 1, 3, 27_334),
    ];
    assert_eq!(golden, expected);
    let sizes = |mix| {
        let mut sizer = PacketSizer::new(&mix, MTU, 28, 42);
        [0; 8].map(|_| sizer.next(1_000_000))
    };
    assert_eq!(sizes(PacketMix::Bimodal), [1472, 12, 12, 12, 12, 1472, 12, 1472]);
    assert_eq!(sizes(PacketMix::FacebookWeb), [375, 89, 20, 18, 27, 1472, 42, 958]);
}

#[test]
fn packets_have_their_sizes() {
    assert!(size_of::<PacketSizer>() <= 32);
    let sizer = |mix, mtu| PacketSizer::new(&mix, Bytes::new(mtu), 28, 7);
    assert_eq!(sizer(PacketMix::Mtu, 9000).next(100_000), 8972);
    assert_eq!(sizer(PacketMix::Fixed(Bytes::new(300)), 1500).next(100_000), 272);
    assert_eq!(sizer(PacketMix::Fixed(Bytes::new(20)), 1500).next(100_000), 1);
    assert_eq!(sizer(PacketMix::Fixed(Bytes::kb(9)), 1500).next(100_000), 1472);
    assert_eq!(sizer(PacketMix::Single, 1500).next(100_000), 100_000);
    assert_eq!(sizer(PacketMix::Mtu, 1500).next(3), 3);
    assert_eq!(sizer(PacketMix::Mtu, 1500).next(0), 0);
    let mut turns = sizer(PacketMix::Alternating, 1500);
    assert_eq!([0; 5].map(|_| turns.next(1_500)), [1472, 12, 1472, 12, 1472]);
    assert_eq!([3, 2, 0].map(|left| turns.next(left)), [3, 2, 0]);
    let mut bimodal = sizer(PacketMix::Bimodal, 1500);
    let small = (0..100_000).filter(|_| bimodal.next(1 << 40) == 12).count();
    assert!(small.abs_diff(40_000) < 700, "{small}");
    let mut web = sizer(PacketMix::FacebookWeb, 1500);
    let mut sizes: Vec<u32> = (0..100_000).map(|_| web.next(1 << 40) + 28).collect();
    sizes.sort_unstable();
    assert!(sizes[0] == 40 && sizes[99_999] == 1500 && sizes[50_000].abs_diff(150) <= 8, "{}", sizes[50_000]);
    let full = sizes.iter().filter(|s| **s == 1500).count();
    assert!(full.abs_diff(15_000) < 500, "{full}");
    let mean = sizes.iter().sum::<u32>() as f64 / 1e5;
    assert!((mean - 561.0).abs() < 8.0, "{mean}");
    let mut short = sizer(PacketMix::FacebookWeb, 576);
    assert!((0..1000).all(|_| short.next(1 << 40) <= 548));
}
