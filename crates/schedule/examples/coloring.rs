//! Measures how long choosing the paths of a timeslot takes: `cargo run --release --example
//! coloring`.
//!
//! In random slots, a share of all hosts sends, each to another host that receives from no other.
//! Racks are the vertices. Fastpass's benchmark of its path selection has 1024 hosts in 32 racks, 4
//! paths and 60 % load.

use std::time::Instant;
use timeplane_model::mix64;
use timeplane_schedule::coloring::{EulerSplit, Paull};

const SLOTS: usize = 300;
/// Passes over all slots. The fastest pass of each slot counts, because others use the machine,
/// too.
const PASSES: usize = 100;

fn main() {
    println!("ns per slot: median over {SLOTS} random slots, and percentiles 1 and 99");
    println!(
        "{:>6} {:>5} {:>6} {:>7} {:>8} {:>16}  {:>8} {:>8} {:>8}",
        "hosts", "racks", "load", "edges", "degree", "method", "colors", "median", "1 - 99 %"
    );
    for (hosts, racks, load) in [(1024, 32, 60), (1024, 32, 90), (120, 4, 80), (256, 8, 90), (8192, 256, 90)] {
        let slots: Vec<Vec<(u32, u32)>> = (0..SLOTS as u64).map(|s| draw(hosts, racks, load, s)).collect();
        let (mut euler, mut out) = (EulerSplit::new(), Vec::new());
        let n = racks as usize;
        report(hosts, racks, load, &slots, "halving, 4", |edges| {
            euler.color_within(n, n, edges, 4, &mut out);
            4
        });
        report(hosts, racks, load, &slots, "halving, 32", |edges| {
            euler.color_within(n, n, edges, 32, &mut out);
            32
        });
        report(hosts, racks, load, &slots, "fewest", |edges| euler.color(n, n, edges, &mut out));
        let mut paull = Paull::new(n, n, (hosts / racks) as usize);
        report(hosts, racks, load, &slots, "Paull", |edges| {
            paull.clear();
            let used = edges.iter().map(|&(u, v)| paull.insert(u as usize, v as usize).unwrap().color).max();
            used.map_or(0, |c| usize::from(c) + 1)
        });
    }
}

/// Edges from rack to rack, in the order of sending hosts.
fn draw(hosts: u32, racks: u32, load: u64, slot: u64) -> Vec<(u32, u32)> {
    let mut to: Vec<u32> = (0..hosts).collect();
    to.sort_by_key(|&h| mix64(slot << 32 ^ u64::from(h)));
    let sends = |h: u32| mix64(slot << 32 ^ 1 << 31 ^ u64::from(h)) % 100 < load;
    let per_rack = hosts / racks;
    (0..hosts).filter(|&h| sends(h)).map(|h| (h / per_rack, to[h as usize] / per_rack)).collect()
}

fn report(
    hosts: u32,
    racks: u32,
    load: u64,
    slots: &[Vec<(u32, u32)>],
    name: &str,
    mut color: impl FnMut(&[(u32, u32)]) -> usize,
) {
    let (mut ns, mut colors) = (vec![u128::MAX; slots.len()], 0);
    for _ in 0..PASSES {
        for (edges, best) in slots.iter().zip(&mut ns) {
            let start = Instant::now();
            let used = color(edges);
            *best = start.elapsed().as_nanos().min(*best);
            colors += used;
        }
    }
    ns.sort_unstable();
    let edges = slots.iter().map(Vec::len).sum::<usize>() as f64 / slots.len() as f64;
    let degree = slots.iter().map(|e| degree(e, racks)).sum::<u32>() as f64 / slots.len() as f64;
    let [low, median, high] = [1, 50, 99].map(|p| ns[ns.len() * p / 100]);
    let colors = colors as f64 / (PASSES * slots.len()) as f64;
    println!(
        "{hosts:>6} {racks:>5} {load:>4} % {edges:>7.0} {degree:>8.1} {name:>16}  {colors:>8.1} {median:>8} {low} - {high}"
    );
}

fn degree(edges: &[(u32, u32)], racks: u32) -> u32 {
    let mut degrees = vec![0; 2 * racks as usize];
    for &(u, v) in edges {
        degrees[u as usize] += 1;
        degrees[(racks + v) as usize] += 1;
    }
    degrees.into_iter().max().unwrap_or(0)
}
