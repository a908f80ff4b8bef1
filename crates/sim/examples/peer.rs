//! One list of flows through this simulator, as the programs of `benches/peers` take it through
//! others.
//!
//! `peer write NETWORK FLOWS LIST.csv` draws a list of FLOWS flows: Poisson arrivals at load 0.6,
//! exponential sizes of 46 kB on average, uniform pairs. `peer run NETWORK LIST.csv FCT.csv`
//! simulates it with datagrams, and `peer tcp NETWORK LIST.csv FCT.csv` with TCP. Both write when
//! each flow completed and print one line of JSON. NETWORK is `leaf-spine:LEAVESxHOSTSxSPINES` or
//! `tree:EDGESxHOSTS`: hosts at 1 Gb/s, links between switches at 10 Gb/s, 1 us each.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, Framing, LinkSpec, Rate, Switch};
use timeplane_results::Recorder;
use timeplane_scenario::{FlowList, Workload};
use timeplane_sim::bench;
use timeplane_sim::engine::Pulse;
use timeplane_sim::hosts::endpoints::Transport;
use timeplane_transport::TcpConfig;
use timeplane_workload::Source;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", network, flows, list] => write(&fabric(network)?, flows.parse()?, list),
        ["run", network, list, completions] => run(&fabric(network)?, list, completions, Transport::Datagrams),
        ["tcp", network, list, completions] => run(&fabric(network)?, list, completions, tcp()),
        _ => Err("peer write NETWORK FLOWS LIST.csv | peer run|tcp NETWORK LIST.csv FCT.csv".into()),
    }
}

/// The TCP of the benchmark, with the handshake that the others cannot leave out.
fn tcp() -> Transport {
    match bench::tcp() {
        Transport::Tcp(config) => Transport::Tcp(TcpConfig { handshake: true, ..config }),
        other => other,
    }
}

fn fabric(network: &str) -> Outcome<Arc<Fabric>> {
    let (shape, numbers) = network.split_once(':').ok_or("a network is SHAPE:NUMBERS")?;
    let numbers = numbers.split('x').map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    let spec = |rate| LinkSpec { rate, propagation: Duration::from_us(1), framing: Framing::Ppp, bit_error: 0.0 };
    let (link, uplink) = (spec(Rate::gbps(1)), spec(Rate::gbps(10)));
    Ok(Arc::new(match (shape, &numbers[..]) {
        ("leaf-spine", &[leaves, hosts, spines]) => {
            Fabric::leaf_spine(leaves, hosts, spines, Switch::default(), link, uplink)?
        }
        ("tree", &[edges, hosts]) => Fabric::tree(edges, hosts, Switch::default(), link, uplink)?,
        _ => return Err(format!("{network} is neither leaf-spine:AxBxC nor tree:AxB").into()),
    }))
}

/// The peer reads exactly these columns.
fn write(fabric: &Arc<Fabric>, flows: usize, list: &str) -> Outcome<()> {
    let mut out = BufWriter::new(File::create(list)?);
    writeln!(out, "start_ps,source,destination,size_bytes")?;
    for f in bench::uniform(fabric, 0.6)?.arrivals(1).take(flows) {
        writeln!(out, "{},{},{},{}", f.at.as_ps(), f.source.0, f.destination.0, f.bytes.get())?;
    }
    Ok(out.flush()?)
}

fn run(fabric: &Arc<Fabric>, list: &str, completions: &str, transport: Transport) -> Outcome<()> {
    let workload = Workload::Flows(FlowList { file: list.to_owned() });
    let source = Source::load(&workload, Path::new("."), fabric, Bytes::new(u64::from(bench::MTU)))?;
    let arrivals: Vec<_> = source.arrivals(1).collect();
    let mut engine = bench::engine(fabric, &arrivals, transport, 0, Recorder::memory());
    let before = bench::cpu();
    engine.run(&Pulse::default());
    let cpu_s = bench::cpu() - before;
    let packet_hops = engine.network.meters.hops;
    let packets = engine.ends.ledger.sent.0;
    let tables = engine.ends.ledger.recorder.finish()?;
    let mut fct = vec![None; arrivals.len()];
    for batch in &tables.get("flows").ok_or("no flows")?.batches {
        let column = |name| batch.column_by_name(name).expect("a column of flows");
        let (flow, time) = (column("flow").as_primitive::<UInt32Type>(), column("fct_ps").as_primitive::<Int64Type>());
        for (flow, time) in flow.iter().zip(time) {
            fct[flow.expect("not null") as usize] = time;
        }
    }
    let mut out = BufWriter::new(File::create(completions)?);
    writeln!(out, "flow,fct_ps")?;
    for (flow, time) in fct.iter().enumerate() {
        writeln!(out, "{flow},{}", time.ok_or_else(|| format!("flow {flow} did not complete"))?)?;
    }
    out.flush()?;
    println!(
        r#"{{"engine":"timeplane","packet_hops":{packet_hops},"cpu_s":{cpu_s:.6},"packet_hops_per_cpu_s":{:.0},"peak_rss_kb":{},"flows":{},"packets":{packets}}}"#,
        packet_hops as f64 / cpu_s,
        bench::peak_rss_kb(),
        arrivals.len(),
    );
    Ok(())
}
