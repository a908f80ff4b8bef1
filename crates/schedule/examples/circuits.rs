//! How good circuit schedules are, and how long they take to compute: `cargo run --release --example circuits`.
//!
//! Each matrix is scheduled to its end, beside a packet switch of a tenth of the rate. Finish: time until the last byte, over the lower
//! bound (longest row or column over both rates, no dark time). Share: bytes on circuits. Times are medians, on one core.

#[path = "../tests/support/matrices.rs"]
mod matrices;

use std::time::Instant;
use timeplane_model::{Demand, Duration, Rate};
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

fn main() {
    for noise in [0.0, 0.003] {
        for hosts in [64, 128, 256] {
            for seed in 0..3 {
                let d = matrices::published(hosts, PARAMETERS.circuit, PARAMETERS.window, noise, seed);
                table(&format!("published {hosts} noise {noise} seed {seed}"), &d);
            }
        }
    }
}

fn table(name: &str, demand: &Demand) {
    println!("{name}");
    for algorithm in CircuitAlgorithm::ALL {
        let mut scheduler = algorithm.build();
        let mut ns = vec![];
        let mut plan = vec![];
        for _ in 0..9 {
            let start = Instant::now();
            plan = scheduler.finish(demand, &PARAMETERS, None).unwrap();
            ns.push(start.elapsed().as_nanos());
        }
        ns.sort_unstable();
        let e = evaluate(demand, &PARAMETERS, None, &plan).unwrap();
        println!(
            "  {:>12} {:>6.3} {:>6.1} % {:>5} {:>10.1} us  end {} dark {}",
            algorithm.name(),
            e.over_bound().unwrap_or(f64::NAN),
            100.0 * e.share(),
            e.configurations,
            ns[ns.len() / 2] as f64 / 1e3,
            e.circuits_end,
            e.dark
        );
    }
}
