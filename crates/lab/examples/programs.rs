//! Unmodified programs under each plan, as a table: goodput and retransmissions, and the counters
//! of both hosts' gates and agents. Takes a minute; needs root.
//!
//! `cargo run --release -p timeplane-lab --example programs -- target/release/timeplane-lab [MB]`

use comfy_table::{Table, presets};
use std::path::Path;
use timeplane_lab::unmodified::{Done, Lab, PLANS};
use timeplane_live::agent::Snapshot;
use timeplane_live::daemons::Failure;

const COLUMNS: [&str; 13] = [
    "plan",
    "program",
    "bytes",
    "goodput Mb/s",
    "TCP sent again",
    "packets sent",
    "packet bytes sent",
    "packets dropped",
    "gate passed",
    "gate passed bytes",
    "gated",
    "too fast",
    "foreign or dark",
];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("expected the path of timeplane-lab and, if wanted, a number of MB")?;
    let bytes = 1_000_000 * arguments.next().map_or(Ok(10), |mb| mb.parse::<u64>())?;
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(COLUMNS);
    for plan in PLANS {
        let lab = Lab::start(Path::new(&program), &format!("tpprogs{}", std::process::id()), plan)?;
        for which in ["iperf3", "curl", "python"] {
            let before = senders(&lab)?;
            let done = match which {
                "iperf3" => lab.iperf3(bytes)?.0,
                "curl" => match lab.curl(bytes)? {
                    (done, true) => done,
                    (done, false) => return Err(format!("{plan}: the file differs: {done:?}").into()),
                },
                _ => lab.echo(bytes / 10)?,
            };
            let after = senders(&lab)?;
            table.add_row(row(plan, &done, &before, &after, violations(&lab)?));
        }
    }
    println!("{table}");
    Ok(())
}

/// The states of the two hosts between which programs run.
fn senders(lab: &Lab) -> Result<[Snapshot; 2], Failure> {
    Ok([lab.settled(0)?, lab.settled(1)?])
}

/// Frames in foreign slots, or that met no circuit; `None` under a plan that has neither.
fn violations(lab: &Lab) -> Result<Option<u64>, Failure> {
    if let Some(observer) = &lab.observer {
        return Ok(Some(observer.counters()?.ports.iter().map(|p| p.violations).sum()));
    }
    let Some(circuits) = lab.hosts.circuits() else { return Ok(None) };
    let sum = circuits.seen(lab.hosts.fabric())?.sum();
    Ok(Some(sum.dark + sum.unconnected))
}

fn row(plan: &str, done: &Done, before: &[Snapshot; 2], after: &[Snapshot; 2], foreign: Option<u64>) -> Vec<String> {
    let more = |of: &dyn Fn(&Snapshot) -> u64| {
        let sum = |hosts: &[Snapshot; 2]| hosts.iter().map(of).sum::<u64>();
        (sum(after) - sum(before)).to_string()
    };
    let streams = |name: &'static str| more(&move |s| s.streams[name].as_u64().unwrap_or(0));
    let shown = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    vec![
        plan.to_owned(),
        done.program.to_owned(),
        done.bytes.to_string(),
        format!("{:.1}", done.bytes as f64 * 8e-6 / done.seconds),
        shown(done.retransmissions),
        streams("packets_sent"),
        streams("packet_bytes_sent"),
        streams("packets_dropped"),
        more(&|s| s.gate.passed),
        more(&|s| s.gate.passed_bytes),
        more(&|s| s.gate.gated),
        more(&|s| s.gate.too_fast),
        shown(foreign),
    ]
}
