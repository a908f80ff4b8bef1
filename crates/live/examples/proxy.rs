//! One scenario in both worlds: the simulator, and kernel TCP over an emulated link with the proxy in user space and BPF.
//!
//! ```text
//! sudo cargo run -p timeplane-live --example proxy [scenarios/proxy_live.toml] [key=value ...]
//! ```
//!
//! Takes as long as the scenario's window for each control. It makes namespaces that begin with `tpxl`, and takes them away.

use indexmap::IndexMap;
use std::error::Error;
use std::sync::Arc;
use timeplane_live::proxy::{Actuator, Experiment};
use timeplane_results::{Recorder, RunSummary};
use timeplane_scenario::{Loaded, split_override};
use timeplane_schedule::Schedulers;
use timeplane_sim::engine::Pulse;
use timeplane_sim::run::{RunSpec, simulate};
use timeplane_workload::Source;

/// The simulator's figures of a control.
fn simulated(loaded: &Loaded, control: &str) -> Result<RunSummary, Box<dyn Error>> {
    let scenario = &loaded.scenario;
    let fabric = Arc::new(scenario.fabric.build()?);
    let source = Source::load(&scenario.workload, &loaded.base, &fabric, scenario.fabric.mtu)?;
    let spec = RunSpec { scenario, control, point: IndexMap::new(), seed: scenario.seed, base: &loaded.base };
    Ok(simulate(&spec, &fabric, &source, &Schedulers::built_in(), Recorder::memory(), &Pulse::default())?.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let file = arguments.next_if(|a| !a.contains('=')).unwrap_or_else(|| "scenarios/proxy_live.toml".to_owned());
    let overrides = arguments.map(|a| split_override(&a)).collect::<Result<Vec<_>, _>>()?;
    let loaded = Loaded::from_file(&file, &overrides)?;
    let (actuator, why) = Actuator::best();
    if let Some(why) = why {
        eprintln!("{why}; the send buffer's size it is");
    }
    let actuator = Arc::new(actuator);
    let prefix = format!("tpxl{}", std::process::id() % 100_000);
    println!(
        "{:10} {:>9} | {:>8} {:>6} {:>8} {:>8} {:>7} {:>7} | {:>8} {:>6} {:>8} {:>8} {:>7}",
        "",
        "capacity",
        "sim",
        "share",
        "rtt p50",
        "p99 ms",
        "max",
        "drops",
        "live",
        "share",
        "rtt p50",
        "p99 ms",
        "drops"
    );
    for experiment in Experiment::all(&loaded.scenario, &loaded.base, &prefix)? {
        let sim = simulated(&loaded, &experiment.name)?;
        let live = experiment.lab.run(&experiment.control, &actuator)?;
        let (capacity, goodput) = (live.capacity.as_bps() as f64 / 1e6, sim.goodput_bps.unwrap_or(0.0) / 1e6);
        let rtt = sim.rtt_ps.map_or([0.0; 3], |r| [r.p50, r.p99, r.max]).map(|ps| ps / 1e9);
        let ms = |d: timeplane_model::Duration| d.as_secs_f64() * 1e3;
        let drops = live.packets[0].no_room.packets + live.packets[0].lost.packets;
        let lost = live.packets[0].lost.packets;
        println!(
            "{:10} {capacity:9.2} | {goodput:8.2} {:6.3} {:8.2} {:8.2} {:7.1} {:7} | {:8.2} {:6.3} {:8.2} {:8.2} {drops:7}",
            experiment.name,
            goodput / capacity,
            rtt[0],
            rtt[1],
            rtt[2],
            sim.packets.dropped,
            live.goodput.as_bps() as f64 / 1e6,
            live.share(),
            ms(live.rtt.p50),
            ms(live.rtt.p99),
        );
        println!(
            "{:10} live: longest {:.1} ms, smoothed p50 {:.2} p99 {:.2} ms; {lost} lost in the air, {} sent again; p99 handed over {:.0} us late; {}; {}",
            "",
            ms(live.rtt.most),
            ms(live.srtt.p50),
            ms(live.srtt.p99),
            live.sent_again,
            ms(live.late) * 1e3,
            if live.intact { "all bytes came unchanged" } else { "BYTES ARE MISSING OR WRONG" },
            live.steering.map_or("no proxy".to_owned(), |s| format!("{} reports, {} orders", s.reports, s.orders)),
        );
    }
    Ok(())
}
