//! Measures how fast timeslots are allocated: `cargo run --release --example allocator`.
//!
//! The workload is that of Fastpass's own benchmark. Requests arrive at each source by a Poisson
//! process, for a uniformly random other node, with exponential sizes of 10 slots on average. A
//! batch serves what has arrived before it starts.

use std::time::Instant;
use timeplane_model::mix64;
use timeplane_schedule::{Allocation, Allocator};

const MEAN: f64 = 10.0;
/// Batches to fill the queues, timed batches, and repetitions. The fastest repetition of each batch
/// counts, because others use the machine, too.
const WARM_UP: u32 = 100;
const TIMED: u32 = 400;
const REPETITIONS: u32 = 7;

fn main() {
    println!(
        "{:>6} {:>6} {:>6} {:>10} {:>10} {:>12} {:>12} {:>12} {:>14} {:>8}",
        "nodes", "load", "batch", "M alloc/s", "1 - 99 %", "ns/alloc", "us/slot", "fill", "pairs waiting", "maximal"
    );
    for (nodes, load, batch) in
        [(256, 0.9, 64), (256, 0.9, 16), (1024, 0.9, 64), (1024, 0.9, 16), (256, 0.5, 64), (256, 0.99, 64)]
    {
        let mut sum = run(nodes, load, batch);
        for _ in 1..REPETITIONS {
            for (best, (seconds, _)) in sum.batches.iter_mut().zip(run(nodes, load, batch).batches) {
                best.0 = best.0.min(seconds);
            }
        }
        let seconds: f64 = sum.batches.iter().map(|b| b.0).sum();
        let allocations = sum.batches.iter().map(|b| b.1).sum::<usize>() as f64;
        let mut speeds: Vec<f64> = sum.batches.iter().map(|&(seconds, n)| n as f64 / seconds / 1e6).collect();
        speeds.sort_by(f64::total_cmp);
        let spread = format!("{:.0} - {:.0}", speeds[speeds.len() / 100], speeds[speeds.len() * 99 / 100]);
        let slots = f64::from(TIMED * batch);
        println!(
            "{nodes:>6} {:>4.0} % {batch:>6} {:>10.1} {:>10} {:>12.1} {:>12.2} {:>10.1} % {:>14.0} {:>8}",
            load * 100.0,
            allocations / seconds / 1e6,
            spread,
            seconds * 1e9 / allocations,
            seconds * 1e6 / slots,
            100.0 * allocations / (slots * f64::from(nodes)),
            sum.waiting as f64 / f64::from(TIMED),
            if sum.maximal { "yes" } else { "NO" },
        );
    }
}

#[derive(Default)]
struct Sum {
    /// Seconds and allocations by batch.
    batches: Vec<(f64, usize)>,
    waiting: usize,
    maximal: bool,
}

/// Times requests and allocation, but neither random draws nor checks.
fn run(nodes: u32, load: f64, batch: u32) -> Sum {
    let mut allocator = Allocator::new(nodes as usize, batch);
    let mut sum = Sum { maximal: true, ..Sum::default() };
    let (mut out, mut requests) = (Vec::new(), Vec::new());
    let mut draw = Draw { dice: 0 };
    let mut next = 0.0;
    let (mut at_source, mut at_destination) = (vec![0u64; nodes as usize], vec![0u64; nodes as usize]);
    for b in 0..WARM_UP + TIMED {
        requests.clear();
        while next < f64::from(b * batch) {
            let source = draw.below(nodes);
            let destination = (source + 1 + draw.below(nodes - 1)) % nodes;
            let slots = draw.exponential(MEAN).round() as u32;
            requests.push((source as u16, destination as u16, slots));
            next += draw.exponential(MEAN / load / f64::from(nodes));
        }
        let start = Instant::now();
        for &(source, destination, slots) in &requests {
            allocator.request(source, destination, slots);
        }
        allocator.allocate_batch(&mut out);
        if b >= WARM_UP {
            sum.batches.push((start.elapsed().as_secs_f64(), out.len()));
            sum.waiting += allocator.waiting().count();
            sum.maximal &= is_maximal(&allocator, &out, &mut at_source, &mut at_destination);
        }
    }
    sum
}

/// Whether no waiting pair has both ends free in a slot, and no node is used twice.
fn is_maximal(allocator: &Allocator, out: &[Allocation], source: &mut [u64], destination: &mut [u64]) -> bool {
    let all = u64::MAX >> (64 - allocator.slots());
    source.fill(all);
    destination.fill(all);
    for a in out {
        let bit = 1 << a.slot;
        if source[usize::from(a.source)] & destination[usize::from(a.destination)] & bit == 0 {
            return false;
        }
        source[usize::from(a.source)] ^= bit;
        destination[usize::from(a.destination)] ^= bit;
    }
    allocator.waiting().all(|(s, d, _)| source[usize::from(s)] & destination[usize::from(d)] == 0)
}

struct Draw {
    dice: u64,
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.dice += 1;
        mix64(self.dice)
    }
    fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }
    fn exponential(&mut self, mean: f64) -> f64 {
        let u = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -u.ln() * mean
    }
}
