//! Prints the benchmark of the event loop.
//!
//! `speed` runs it in full, `speed quick` a tenth of it. `speed slots` runs the part with slots,
//! `speed trains` ten times as much by trains only, `speed gates` trains without agents. `speed
//! datagrams MS` runs one measurement over 120 hosts with MS milliseconds of arrivals; so do `tcp`,
//! `timeslots`, `rates`, and `many`, which is timeslots with 1,024 hosts.

use std::sync::Arc;
use timeplane_model::Duration;
use timeplane_sim::bench;
use timeplane_sim::hosts::endpoints::Transport;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rows = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => bench::report(false),
        ["quick"] => bench::report(true),
        ["slots"] => bench::slots_report(40_000_000, &["packets", "trains"]),
        ["trains"] => bench::slots_report(400_000_000, &["trains"]),
        ["gates"] => vec![bench::gates(4_000_000_000)],
        [name @ ("datagrams" | "tcp" | "timeslots" | "rates"), ms] => {
            let fabric = Arc::new(bench::leaf_spine(4, 30, 3).expect("dimensions above zero"));
            let span = Duration::from_ms(ms.parse().expect("milliseconds"));
            let plan = bench::plans().into_iter().find(|plan| plan.0 == name);
            let load = if plan.is_some() { 0.8 } else { 0.6 };
            let source = bench::uniform(&fabric, load).expect("a load below one");
            let transport = if name == "tcp" { bench::tcp() } else { Transport::Datagrams };
            vec![match plan {
                Some((name, plan)) => bench::carry_planned(name, &fabric, &source, span, &plan),
                None => bench::carry(name, &fabric, &source, span, transport),
            }]
        }
        ["many", ms] => {
            let [(name, plan), _] = bench::plans();
            vec![bench::many_hosts(name, Duration::from_ms(ms.parse().expect("milliseconds")), &plan)]
        }
        _ => panic!("usage: speed [quick | slots | trains | gates | (datagrams | tcp | timeslots | rates | many) MS]"),
    };
    print!("{}", bench::table(&rows));
}
