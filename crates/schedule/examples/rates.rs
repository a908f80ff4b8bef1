//! Measures how long rates take to compute: `cargo run --release --example rates`.
//!
//! In matrices, each host offers rates to a number of random others. Flows are between random pairs
//! of hosts in a leaf-spine network with racks of 30 or 32 hosts. One flow ends and another starts
//! between two computations.

use std::hint::black_box;
use std::time::Instant;
use timeplane_model::mix64;
use timeplane_schedule::rates::{
    Flows, Hosts, MaxMin, Offered, Proportional, max_min, max_min_hosts, scale_both, scale_down,
};

const REPETITIONS: u64 = 300;

fn main() {
    println!("us per computation: median of {REPETITIONS}, percentiles 1 and 99");
    println!("{:>6} {:>8} {:<34} {:>10} {:>20}  notes", "hosts", "entries", "method", "median", "1 - 99 %");
    for (hosts, peers) in [(120, 8), (120, 119), (1024, 8), (1024, 128)] {
        matrices(hosts, peers);
    }
    for (leaves, per_leaf, spines, flows) in [(4, 30, 3, 1000), (32, 32, 4, 8192)] {
        links(LeafSpine { leaves, per_leaf, spines }, flows);
    }
}

fn matrices(n: u32, peers: u32) {
    let hosts = Hosts::equal(n as usize);
    let draw = |seed: u64| -> Vec<Offered> {
        let offers = |(i, k)| {
            let dice = mix64(seed << 40 ^ u64::from(i) << 20 ^ u64::from(k));
            let other = if peers == n - 1 { k } else { (dice % u64::from(n - 1)) as u32 };
            Offered { source: i, destination: (i + 1 + other) % n, rate: 1.0 }
        };
        (0..n).flat_map(|i| (0..peers).map(move |k| (i, k))).map(offers).collect()
    };
    let inputs: Vec<Vec<Offered>> = (0..16).map(draw).collect();
    let of = |r: u64| &inputs[r as usize % 16];
    let entries = inputs[0].len();
    for tolerance in [0.01, 0.001] {
        let scaled = inputs.iter().map(|o| scale_both(&hosts, o, tolerance, 1000));
        let (total, rounds) = scaled.fold((0.0, 0), |(t, r), s| (t + s.total / s.bound / 16.0, r + s.rounds));
        let notes = format!("{:.1} rounds, {:.2} % of the bound", f64::from(rounds) / 16.0, 100.0 * total);
        report(n, entries, &format!("scale_both, tolerance {tolerance}"), &notes, |r| {
            black_box(scale_both(&hosts, of(r), tolerance, 1000));
        });
    }
    report(n, entries, "scale_down", "", |r| {
        black_box(scale_down(&hosts, of(r)));
    });
    report(n, entries, "max_min_hosts", "", |r| {
        black_box(max_min_hosts(&hosts, of(r)));
    });
}

fn links(network: LeafSpine, flows: u32) {
    let hosts = network.leaves * network.per_leaf;
    let paths: Vec<Vec<u32>> = (0..flows + REPETITIONS as u32).map(|f| network.path(f)).collect();
    let all = |from: usize| {
        let mut all = Flows::new();
        for path in &paths[from..from + flows as usize] {
            all.push(path, 1.0, f64::INFINITY);
        }
        all
    };
    let entries = flows as usize;
    report(hosts, entries, "max_min, from nothing", "", |r| {
        let input = all(r as usize);
        black_box(max_min(&network.capacity(), &input));
    });
    let mut kept = MaxMin::new(network.capacity());
    let mut names: Vec<u32> = paths[..entries].iter().map(|path| kept.add(path, 1.0, f64::INFINITY)).collect();
    report(hosts, entries, "MaxMin, a flow changed", "", |r| {
        let oldest = r as usize % entries;
        kept.remove(names[oldest]);
        names[oldest] = kept.add(&paths[entries + r as usize], 1.0, f64::INFINITY);
        black_box(kept.rates());
    });
    let mut proportional = Proportional::new(network.capacity());
    let mut rates = Vec::new();
    proportional.rates(&all(0), 1000, &mut rates);
    let inputs: Vec<Flows> = (0..REPETITIONS as usize).map(all).collect();
    for iterations in [1, 10] {
        let off = proportional.rates(&inputs[0], 200, &mut rates);
        let mut last = 0.0;
        let name = format!("Proportional, a flow changed, {iterations} it.");
        let times = time(|r| last = proportional.rates(&inputs[r as usize], iterations, &mut rates));
        print(hosts, entries, &name, &times, &format!("links off by {:.2} % ({off:.1e} settled)", 100.0 * last));
    }
}

fn report(hosts: u32, entries: usize, name: &str, notes: &str, compute: impl FnMut(u64)) {
    print(hosts, entries, name, &time(compute), notes);
}

fn time(mut compute: impl FnMut(u64)) -> Vec<f64> {
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|r| {
            let start = Instant::now();
            compute(r);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn print(hosts: u32, entries: usize, name: &str, times: &[f64], notes: &str) {
    let [low, median, high] = [1, 50, 99].map(|p| times[times.len() * p / 100]);
    println!("{hosts:>6} {entries:>8} {name:<34} {median:>10.1} {:>20}  {notes}", format!("{low:.1} - {high:.1}"));
}

/// Links are numbered: host links up, host links down, leaf to spine, spine to leaf.
struct LeafSpine {
    leaves: u32,
    per_leaf: u32,
    spines: u32,
}

impl LeafSpine {
    fn capacity(&self) -> Vec<f64> {
        let hosts = vec![1.0; 2 * (self.leaves * self.per_leaf) as usize];
        let up = f64::from(self.per_leaf) / f64::from(self.spines);
        [hosts, vec![up; 2 * (self.leaves * self.spines) as usize]].concat()
    }
    fn path(&self, flow: u32) -> Vec<u32> {
        let hosts = self.leaves * self.per_leaf;
        let dice = mix64(u64::from(flow));
        let source = (dice % u64::from(hosts)) as u32;
        let destination = (source + 1 + ((dice >> 20) % u64::from(hosts - 1)) as u32) % hosts;
        let (from, to) = (source / self.per_leaf, destination / self.per_leaf);
        let spine = ((dice >> 40) % u64::from(self.spines)) as u32;
        let inner = 2 * hosts;
        if from == to {
            return vec![source, hosts + destination];
        }
        let up = inner + from * self.spines + spine;
        let down = inner + (self.leaves + to) * self.spines + spine;
        vec![source, up, down, hosts + destination]
    }
}
