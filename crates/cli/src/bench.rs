//! `bench`: how fast the engine is on this machine.

use crate::fail::Failure;
use crate::output::rough;
use crate::{BenchArgs, output};
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use std::sync::Arc;
use timeplane_model::Duration;
use timeplane_sim::bench::{self, Measured};
use timeplane_sim::endpoints::Carrier;

/// The size that others are compared with.
const REFERENCE_HOSTS: u32 = 120;

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let measured = measure(args.quick)?;
    if args.json {
        let one = |m: &Measured| {
            let mut json = serde_json::to_value(m).expect("numbers and names are JSON");
            json["ns_per_hop"] = ns_per_hop(m).into();
            json["relative_speed"] = relative(m, &measured).into();
            json
        };
        return output::json(&json!({ "measured": measured.iter().map(one).collect::<Vec<Value>>() }));
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty();
    table.set_header(["", "hosts", "flows", "packet-hops", "hops per CPU s", "ns per hop", "relative", "peak memory"]);
    for m in &measured {
        table.add_row([
            m.name.clone(),
            m.hosts.to_string(),
            rough(m.flows as f64),
            rough(m.packet_hops as f64),
            rough(m.packet_hops_per_cpu_s),
            format!("{:.0}", ns_per_hop(m)),
            relative(m, &measured).map_or("-".to_owned(), |r| format!("{r:.2}")),
            format!("{:.0} MB", m.peak_rss_kb as f64 / 1e3),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|l| format!("{}\n", l.trim_end())).collect();
    output::text(&lines.concat())?;
    output::text(&format!(
        "\nA packet-hop is a packet that crosses one link. One core, CPU time of the event loop.\n\
         relative: speed over that of the same transport with {} hosts. peak memory: of the process so far.\n",
        reference(&measured)
    ))
}

fn ns_per_hop(m: &Measured) -> f64 {
    1e9 / m.packet_hops_per_cpu_s
}

/// Hosts of the rows that others are compared with: 128 where they are there.
fn reference(all: &[Measured]) -> u32 {
    let near = |m: &&Measured| m.hosts.abs_diff(128);
    all.iter().min_by_key(near).map_or(REFERENCE_HOSTS, |m| m.hosts)
}

/// Speed over that of the same kind of row with the reference's number of hosts.
fn relative(m: &Measured, all: &[Measured]) -> Option<f64> {
    let kind = |m: &Measured| m.name.split(' ').next().unwrap_or_default().to_owned();
    let same = all.iter().find(|other| other.hosts == reference(all) && kind(other) == kind(m))?;
    Some(m.packet_hops_per_cpu_s / same.packet_hops_per_cpu_s)
}

/// Open loop and TCP over leaf-spines that grow, load 0.6.
fn measure(quick: bool) -> Result<Vec<Measured>, Failure> {
    let mut all = Vec::new();
    // Packet-hops of each row stay about the same.
    let sizes: &[(u32, u32, u32, i64)] =
        if quick { &[(4, 30, 3, 200)] } else { &[(4, 32, 3, 2000), (16, 32, 3, 500), (64, 32, 3, 125)] };
    for &(leaves, per_leaf, spines, ms) in sizes {
        let fabric = Arc::new(bench::leaf_spine(leaves, per_leaf, spines).map_err(Failure::failed)?);
        let source = bench::uniform(&fabric, 0.6).map_err(Failure::failed)?;
        let arrivals = bench::first(&source, 1, Duration::from_ms(ms));
        for (name, carrier) in [("datagrams", Carrier::Datagrams), ("tcp", bench::tcp())] {
            all.push(bench::carry(name, &fabric, &arrivals, carrier, 0));
        }
    }
    Ok(all)
}
