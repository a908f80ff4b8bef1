//! Measures how good circuit schedules are, and how long they take to compute: `cargo run --release
//! -p timeplane-schedule --example circuits`.
//!
//! Circuits have 100 Gb/s and the packet switch 10 Gb/s; dark time is 20 us, and open time at least
//! 20 us. All matrices are scaled such that the busiest port needs 3 ms of a circuit. There are two
//! measurements:
//!
//! - Schedules without a window. `finish` is the time until the last byte over its lower bound
//!   (longest row or column over both rates, without dark time). Packets carry meanwhile what
//!   circuits leave.
//! - Schedules in a window of 3 ms with at most 75 configurations. `share in 3 ms` is the share of
//!   the demand that circuits carry.
//!
//! All ports stop when the switch is reconfigured, except for Sunflow, which needs a switch of
//! which only the moved ports stop. Its number of configurations is unlimited, and its dark time is
//! the time in which any circuit is dark. Computation times are those of schedules without a
//! window: medians on one thread.

#[path = "../tests/it/matrices.rs"]
mod matrices;

use std::time::{Duration as Wall, Instant};
use timeplane_model::{Demand, Duration, Named, Rate};
use timeplane_schedule::circuits::{CircuitAlgorithm, CircuitParameters, Retune, evaluate};

const PARAMETERS: CircuitParameters = CircuitParameters {
    circuit: Rate::gbps(100),
    packet: Rate::gbps(10),
    dark: Duration::from_us(20),
    retune: Retune::AllStop,
    least_open: Duration::from_us(20),
    window: Duration::from_ms(3),
    most: 75,
};
/// Maximum number of repetitions, and their maximum total time.
const REPETITIONS: usize = 25;
const PATIENCE: Wall = Wall::from_secs(2);

const PROJECTOR: &str = include_str!("../../../data/matrices/projector_tors_128_probabilities.txt");
const FB2010: &str = include_str!("../../../data/coflow/fb2010.txt");

fn main() {
    let (rate, time) = (PARAMETERS.circuit, PARAMETERS.window);
    let published = |hosts, noise| matrices::published(hosts, rate, time, noise, 0);
    table("Published kind, 64 ports, no noise", &published(64, 0.0));
    table("Published kind, 64 ports, noise of 0.3 %", &published(64, 0.003));
    table("Published kind, 128 ports, noise of 0.3 %", &published(128, 0.003));
    table("Uniform, 64 ports", &scaled(64, &[1.0; 64 * 64]));
    table("ProjecToR, 128 racks", &scaled(128, &projector()));
    table("FB2010, 150 racks, all coflows of the hour", &scaled(150, &fb2010()));
    spread();
}

/// Scales shares of pairs, given row by row, to bytes that keep the busiest port busy for the
/// window.
fn scaled(hosts: usize, weights: &[f64]) -> Demand {
    let row = |i: usize| (0..hosts).filter(|&j| j != i).map(|j| weights[i * hosts + j]).sum::<f64>();
    let column = |j: usize| (0..hosts).filter(|&i| j != i).map(|i| weights[i * hosts + j]).sum::<f64>();
    let busiest = (0..hosts).map(|p| row(p).max(column(p))).fold(0.0, f64::max);
    let line = PARAMETERS.circuit.bytes_in(PARAMETERS.window).get() as f64;
    matrices::demand(hosts, &weights.iter().map(|w| (w / busiest * line) as u64).collect::<Vec<_>>())
}

/// Reads lines of pair, source, destination, share.
fn projector() -> Vec<f64> {
    let mut weights = vec![0.0; 128 * 128];
    for line in PROJECTOR.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        let at = |c: usize| cells[c].trim().parse::<usize>().expect("a rack");
        weights[at(1) * 128 + at(2)] += cells[3].trim().parse::<f64>().expect("a share");
    }
    weights
}

/// Reads lines of id, arrival, mappers, reducers, then `rack,rack,...#rack:MB,rack:MB,...`. A
/// reducer's megabytes are shared by the mappers; racks are numbered from 1.
fn fb2010() -> Vec<f64> {
    let mut weights = vec![0.0; 150 * 150];
    for line in FB2010.lines() {
        let Some((mappers, reducers)) = line.rsplit('\t').next().and_then(|flows| flows.split_once('#')) else {
            continue;
        };
        let rack = |text: &str| text.trim().parse::<usize>().expect("a rack");
        let mappers: Vec<usize> = mappers.split(',').map(rack).collect();
        for reducer in reducers.split(',') {
            let (to, megabytes) = reducer.split_once(':').expect("a rack and its megabytes");
            let each = megabytes.trim().parse::<f64>().expect("megabytes") / mappers.len() as f64;
            for from in &mappers {
                weights[from % 150 * 150 + rack(to) % 150] += each;
            }
        }
    }
    weights
}

fn table(title: &str, demand: &Demand) {
    println!("\n{title}");
    println!(
        "{:<18} {:>7} {:>9} {:>15} {:>9} {:>13} {:>12}",
        "algorithm", "finish", "circuits", "configurations", "dark, us", "share in 3 ms", "time, us"
    );
    for &algorithm in CircuitAlgorithm::all() {
        let (name, mut scheduler) = (algorithm.name(), algorithm.build());
        // Each setup of a circuit at another time makes another configuration.
        let moved = CircuitParameters { retune: Retune::Moved, most: u32::MAX, ..PARAMETERS };
        let parameters = if algorithm == CircuitAlgorithm::Sunflow { moved } else { PARAMETERS };
        let (mut times, mut plan) = (vec![], vec![]);
        let begin = Instant::now();
        while times.len() < REPETITIONS && (times.is_empty() || begin.elapsed() < PATIENCE) {
            let start = Instant::now();
            plan = scheduler.finish(demand, &parameters, None).expect("a schedule");
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let all = evaluate(demand, &parameters, None, &plan).expect("an evaluation");
        let plan = scheduler.plan(demand, &parameters, None).expect("a schedule");
        let window = evaluate(demand, &parameters, None, &plan).expect("an evaluation");
        println!(
            "{name:<18} {:>7.3} {:>7.1} % {:>15} {:>9.0} {:>11.1} % {:>12.0}",
            all.over_bound().unwrap_or(f64::INFINITY),
            100.0 * all.share(),
            all.configurations,
            all.dark.as_secs_f64() * 1e6,
            100.0 * window.share(),
            times[times.len() / 2].as_secs_f64() * 1e6
        );
    }
}

/// Runs both kinds of Solstice on many matrices of the published kind.
fn spread() {
    println!("\nFinish over bound on 200 matrices of the published kind, noise of 0.3 %");
    println!("{:<18} {:>6} {:>7} {:>7} {:>7}", "algorithm", "ports", "least", "median", "most");
    for hosts in [64, 128] {
        for algorithm in [CircuitAlgorithm::Solstice, CircuitAlgorithm::SolsticeRefined] {
            let (name, mut solstice) = (algorithm.name(), algorithm.build());
            let mut over: Vec<f64> = (0..200)
                .map(|seed| {
                    let demand = matrices::published(hosts, PARAMETERS.circuit, PARAMETERS.window, 0.003, seed);
                    let plan = solstice.finish(&demand, &PARAMETERS, None).expect("a schedule");
                    let all = evaluate(&demand, &PARAMETERS, None, &plan).expect("an evaluation");
                    all.over_bound().unwrap_or(f64::INFINITY)
                })
                .collect();
            over.sort_unstable_by(f64::total_cmp);
            println!("{name:<18} {hosts:>6} {:>7.3} {:>7.3} {:>7.3}", over[0], over[100], over[199]);
        }
    }
}
