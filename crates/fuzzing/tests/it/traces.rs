//! Traces: flow lists, coflows, distributions, matrices, Chakra, SimAI, those of radios, and
//! schedules of rotor switches.
//!
//! What is accepted is also used as a run uses it: arrivals are drawn and compared with what the
//! crate promises of them.

use crate::files::{past, said};
use crate::seeds;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use timeplane_fuzzing::{Fault, Format, Outcome, Subject, Target, put};
use timeplane_model::{Bytes, Duration, Fabric, Framing, LinkSpec, Rate, Switch};
use timeplane_radio::{
    BeamTrace, ErrorTables, IperfLog, Layout, LinkTrace, Mcs, PatternTable, QdTrace, Rack, RateBySignal,
    parse_positions,
};
use timeplane_scenario::Workload;
use timeplane_schedule::rotor::parse_schedule;
use timeplane_schedule::rotor::routing::{Hoho, Position, Routing, Spread, Vlb};
use timeplane_workload::{Source, bounds};

const MEMORY: u64 = 2 << 30;

const fn text(name: &'static str, prepare: fn(&Path) -> Subject) -> Target {
    Target { name, format: Format::Text, ordinary: 1500, memory: MEMORY, prepare }
}

pub const TARGETS: &[Target] = &[
    text("flows-csv", flows_csv),
    Target { name: "flows-parquet", format: Format::Bytes, ordinary: 500, memory: MEMORY, prepare: flows_parquet },
    text("coflows", coflows),
    text("distribution", distribution),
    text("matrix", matrix),
    Target { name: "chakra", format: Format::Bytes, ordinary: 1500, memory: MEMORY, prepare: chakra },
    Target { name: "simai", format: Format::Text, ordinary: 500, memory: MEMORY, prepare: simai },
    text("beams", beams),
    text("rays", rays),
    text("positions", positions),
    text("iperf", iperf),
    text("antenna", antenna),
    text("racks", racks),
    text("rotor", rotor),
];

const MTU: Bytes = Bytes::new(1500);
/// Arrivals that are compared.
const ARRIVALS: usize = 500;

fn fabric(hosts: u32) -> Fabric {
    let link = LinkSpec {
        rate: Rate::gbps(10),
        propagation: Duration::from_us(1),
        framing: Framing::Ethernet,
        bit_error: 0.0,
    };
    Fabric::single_switch(hosts, Switch::default(), link).unwrap_or_else(|e| panic!("{e}"))
}

/// Flows are in the order of time, between two hosts of the fabric, and not empty.
fn in_order(source: &Source, fabric: &Fabric) -> Result<(), Fault> {
    let mut last = Duration::ZERO;
    let coflows = source.coflows(1);
    for f in source.arrivals(1).take(ARRIVALS) {
        let hosts = f.source != f.destination && f.source.0.max(f.destination.0) < fabric.hosts();
        if f.at < last || !hosts || f.bytes == Bytes::ZERO {
            return Err(format!("after {last}: {f:?}").into());
        }
        if f.coflow.is_some_and(|c| coflows.get(c.index()).is_none_or(|c| c.at > f.at)) {
            return Err(format!("before its coflow: {f:?}").into());
        }
        last = f.at;
    }
    Ok(())
}

/// A target of a workload that reads the file `fuzzed`. Messages with one of `first` are those of
/// the first step.
fn of_workload(
    folder: &Path,
    (name, hosts): (&str, u32),
    workload: &str,
    first: &'static [&'static str],
    seeds: Vec<Vec<u8>>,
) -> Subject {
    let workload: Workload = toml::from_str(workload).unwrap_or_else(|e| panic!("{workload}: {e}"));
    let (fabric, base, path) = (fabric(hosts), folder.to_owned(), folder.join(name));
    let check = move |input: &[u8]| {
        put(&path, input);
        let source = match Source::load(&workload, &base, &fabric, MTU) {
            Ok(source) => source,
            Err(e) => return Ok(refused(e, first)),
        };
        in_order(&source, &fabric)?;
        let _ = source.facts().to_string();
        let arrivals: Vec<_> = source.arrivals(1).take(ARRIVALS).collect();
        if !source.is_endless() {
            bounds(&fabric, &arrivals, MTU.get(), false);
        }
        Ok(Outcome::Accepted)
    };
    let words = ["source", "destination", "start_ps", "size_bytes", "coflow", "flow", "weight", "cdf", "bytes"];
    Subject { seeds, words: words.map(str::to_owned).to_vec(), check: Box::new(check) }
}

fn refused(e: impl Display, first: &[&str]) -> Outcome {
    let e = said(e);
    if first.iter().any(|f| e.contains(f)) { Outcome::Refused(e) } else { Outcome::Parsed(e) }
}

const FLOWS: &str = "\
flow,coflow,start_ps,source,destination,size_bytes
0,,0,0,1,1000
1,7,1000,2,3,25000000
2,7,1000,3,2,1
3,9,999999999999,4,1,100000000000
";

fn flows_csv(folder: &Path) -> Subject {
    let mut seeds = vec![FLOWS.as_bytes().to_vec()];
    seeds.extend(["scenarios/cells-flows.csv", "scenarios/lab_circuits-flows.csv"].map(seeds::file));
    let first = &[":1:", "no column", "the file is empty", "must be CSV"];
    of_workload(folder, ("fuzzed.csv", 8), "flows.file = \"fuzzed.csv\"", first, seeds)
}

fn flows_parquet(folder: &Path) -> Subject {
    let first = &["must be Parquet"];
    of_workload(folder, ("fuzzed.parquet", 8), "flows.file = \"fuzzed.parquet\"", first, crate::parquet::flow_lists())
}

fn coflows(folder: &Path) -> Subject {
    let seeds = vec![seeds::COFLOWS.as_bytes().to_vec()];
    let workload = "coflows = { file = \"fuzzed.txt\", jitter = \"1 ms\", max_flows = 1000 }";
    of_workload(folder, ("fuzzed.txt", 8), workload, &[":1:", "UTF-8"], seeds)
}

fn distribution(folder: &Path) -> Subject {
    let files = ["data/cdf/websearch.csv", "data/cdf/datamining.csv", "data/cdf/FB_Hadoop_Inter_Rack_FlowCDF.csv"];
    let workload = "poisson = { load = 0.5, sizes.cdf = \"fuzzed.csv\" }";
    of_workload(folder, ("fuzzed.csv", 8), workload, &[":1:", "UTF-8"], files.map(seeds::file).to_vec())
}

fn matrix(folder: &Path) -> Subject {
    let pairs = "#tor_pair_id,src,dst,pdf_num_bytes\n1,0,3,0.18\n2,3,0,1.0e-7\n3,7,1,0.5\n";
    let seeds = vec![seeds::file("scenarios/hybrid-matrix.csv"), pairs.as_bytes().to_vec()];
    let workload = "poisson = { load = 0.5, sizes.fixed = \"1 kB\", pattern.matrix.file = \"fuzzed.csv\" }";
    of_workload(folder, ("fuzzed.csv", 8), workload, &[":1:", "no column", "the file is empty", "UTF-8"], seeds)
}

/// A message of protobuf: fields with a varint or with bytes.
fn message(fields: &[(u64, Result<u64, &[u8]>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let varint = |out: &mut Vec<u8>, mut n: u64| {
        while n > 127 {
            out.push(n as u8 | 128);
            n >>= 7;
        }
        out.push(n as u8);
    };
    for (tag, value) in fields {
        match value {
            Ok(number) => {
                varint(&mut out, tag << 3);
                varint(&mut out, *number);
            }
            Err(bytes) => {
                varint(&mut out, tag << 3 | 2);
                varint(&mut out, bytes.len() as u64);
                out.extend_from_slice(bytes);
            }
        }
    }
    out
}

/// The file of a rank: a computation, an all-reduce, and a message in each direction.
fn rank(other: u64, (sends, receives): (u64, u64)) -> Vec<u8> {
    let attribute = |name: &str, n: u64| message(&[(1, Err(name.as_bytes())), (9, Ok(n))]);
    let node = |id: u64, kind: u64, waits: &[u64], attributes: &[(&str, u64)]| {
        let attributes: Vec<Vec<u8>> = attributes.iter().map(|(name, n)| attribute(name, *n)).collect();
        let mut fields = vec![(1, Ok(id)), (2, Err(&b"node"[..])), (3, Ok(kind)), (7, Ok(5))];
        fields.extend(waits.iter().map(|w| (5, Ok(*w))));
        fields.extend(attributes.iter().map(|a| (10, Err(&a[..]))));
        message(&fields)
    };
    let messages = [
        message(&[(1, Err(b"0.0.4"))]),
        node(1, 4, &[], &[]),
        node(2, 7, &[1], &[("comm_type", 0), ("comm_size", 1 << 20)]),
        node(3, 5, &[1], &[("comm_size", 1000), ("comm_dst", other), ("comm_tag", sends)]),
        node(4, 6, &[2], &[("comm_size", 1000), ("comm_src", other), ("comm_tag", receives)]),
    ];
    messages.iter().flat_map(|m| message(&[(0, Err(m))])[1..].to_vec()).collect()
}

fn chakra(folder: &Path) -> Subject {
    put(&folder.join("fuzzed.1.et"), &rank(0, (6, 5)));
    let first = &["messages of protobuf", "the file is empty"];
    of_workload(folder, ("fuzzed.0.et", 2), "chakra.prefix = \"fuzzed\"", first, vec![rank(1, (5, 6))])
}

fn simai(folder: &Path) -> Subject {
    let head = |name| {
        let lines = String::from_utf8(seeds::head(name, 9)).unwrap_or_default();
        let mut lines: Vec<&str> = lines.lines().collect();
        lines[1] = "7";
        (lines.join("\n") + "\n").into_bytes()
    };
    let files = ["data/collectives/simai/gpt_13b.txt", "data/collectives/simai/llama_7b.txt"];
    let workload = "simai = { file = \"fuzzed.txt\", across = [\"grad_norm\", \"layernorm\"] }";
    let mut subject = of_workload(folder, ("fuzzed.txt", 16), workload, &[":1:", "UTF-8"], files.map(head).to_vec());
    let words = ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", "BROADCAST", "NONE", "ALLREDUCE_EP", "ep: 2"];
    subject.words.extend(words.map(str::to_owned));
    subject
}

/// A target of a parser of text.
fn of_text(
    seeds: Vec<Vec<u8>>,
    words: &[&str],
    first: &'static [&'static str],
    mut parse: impl FnMut(&str) -> Result<Outcome, String> + 'static,
) -> Subject {
    let check = move |input: &[u8]| match std::str::from_utf8(input) {
        Ok(text) => Ok(parse(text).unwrap_or_else(|e| refused(e, first))),
        Err(_) => Ok(Outcome::Refused("no UTF-8".to_owned())),
    };
    Subject { seeds, words: words.iter().map(|w| (*w).to_owned()).collect(), check: Box::new(check) }
}

/// Messages of the first step of a table with a header.
const HEADER: &[&str] = &[":1:", "no column", "empty"];

fn beams(_: &Path) -> Subject {
    let files = ["cells-coming", "cells-leaving", "cells-parked", "proxy_live-beams"];
    let seeds = files.map(|f| seeds::file(&format!("scenarios/{f}.csv"))).to_vec();
    let spec: timeplane_scenario::LinkTraceSpec = toml::from_str("beams = \"x\"").unwrap_or_else(|e| panic!("{e}"));
    let rates = RateBySignal::new(ErrorTables::bundled(), spec.parameters(), Mcs::single_carrier());
    of_text(seeds, &["time_s", "tx_deg", "rx_deg", "power_dbm", "-60"], HEADER, move |text| {
        let trace = BeamTrace::parse("fuzzed.csv", text).map_err(|e| e.to_string())?;
        // As it is written, it is read again.
        let again = BeamTrace::parse("again.csv", &trace.to_csv());
        assert!(again.is_ok(), "{again:?}: {}", trace.to_csv());
        Ok(past(LinkTrace::repeating(&trace, &rates, spec.rules(), Duration::from_ms(50))))
    })
}

fn rays(_: &Path) -> Subject {
    let rays = concat!(
        r#"{"TX":0,"RX":1,"PAA_TX":0,"PAA_RX":0,"Delay":[[3.6e-8,3.8e-8],[3.6e-8,3.9e-8]],"#,
        r#""Gain":[[-83.5,-98.6],[-84,-99.9]],"Phase":[[0,3.14],[0,3.14]],"AODEL":[[90,89.5],[91,92]],"#,
        r#""AODAZ":[[180,181],[182,183]],"AOAEL":[[90,90],[91,91]],"AOAAZ":[[0,1],[359,2]]}"#,
        "\n",
    );
    of_text(vec![rays.into()], &["\"Delay\"", "\"Gain\"", "\"TX\"", "[[1e-8]]"], &["column 1:", "column 0:"], |text| {
        let trace = QdTrace::parse("fuzzed.json", text).map_err(|e| e.to_string())?;
        let _ = trace.between(0, 1);
        Ok(Outcome::Accepted)
    })
}

fn positions(_: &Path) -> Subject {
    let seeds = ["0", "1"].map(|n| seeds::file(&format!("data/radio/nist-datacenter/NodePosition{n}.dat")));
    of_text(seeds.to_vec(), &["1e4", "-1e4"], &[":1:"], |text| {
        parse_positions("fuzzed.dat", text).map(|_| Outcome::Accepted).map_err(|e| e.to_string())
    })
}

fn iperf(_: &Path) -> Subject {
    let files = ["ControlIperf3", "OutsideIperf1Person"].map(|f| format!("data/radio/mikrotik/{f}.txt"));
    let mut seeds: Vec<Vec<u8>> = files.iter().map(|f| seeds::head(f, 30)).collect();
    let whole = "[  6][RX-S]   0.00-1.00   sec  52.3 MBytes   439 Mbits/sec\n[  6][RX-S]   0.00-1.00   sec  52.3 MBytes   439 Mbits/sec   receiver\n";
    seeds.push(whole.as_bytes().to_vec());
    of_text(seeds, &["sec", "MBytes", "Gbits/sec", "[SUM]", "[RX-S]", "receiver", "KBytes"], &[":1:"], |text| {
        let log = IperfLog::parse("fuzzed.txt", text).map_err(|e| e.to_string())?;
        let times = [Duration::ZERO, Duration::from_ms(1), Duration::MAX];
        for (stream, at) in log.streams.iter().flat_map(|stream| times.map(|at| (stream, at))) {
            let _ = stream.rate_at(at);
        }
        Ok(Outcome::Accepted)
    })
}

fn antenna(_: &Path) -> Subject {
    let seeds = ["antenna_measured", "antenna_geofencing"].map(|f| seeds::file(&format!("data/radio/{f}.csv")));
    of_text(seeds.to_vec(), &["azimuth_deg", "narrow_beam_dBi", "-180"], HEADER, |text| {
        let gains = [None, Some("narrow_beam")].map(|name| {
            let table = PatternTable::parse("fuzzed.csv", text, name)?;
            Ok::<_, timeplane_radio::InputError>(table.gain(timeplane_radio::Angle::degrees(17.0)))
        });
        match gains {
            [Err(e), Err(_)] => Err(e.to_string()),
            _ => Ok(Outcome::Accepted),
        }
    })
}

fn racks(_: &Path) -> Subject {
    let seeds = vec![seeds::head("data/radio/racks_160.csv", 12)];
    of_text(seeds, &["rack", "x_ft", "y_ft"], HEADER, |text| {
        let layout = Layout::parse("fuzzed.csv", text, Rack::default()).map_err(|e| e.to_string())?;
        if layout.racks() > 1 {
            let _ = (layout.distance(0, 1), layout.azimuth(0, 1), layout.boxes());
        }
        Ok(Outcome::Accepted)
    })
}

/// Circuits have one rack at each end, and paths end at their destination.
fn rotor(_: &Path) -> Subject {
    let seeds = ["1 0 3 2\n2 3 0 1 # pairs\n3 2 1 0\n", "1 2\t2 0\t0 1\n-1 1\t-1 0\t-1 -1\n"];
    of_text(seeds.map(Into::into).to_vec(), &["-1", "16384", "0 "], &["line 1:", "line 1,", "no row"], |text| {
        let read = parse_schedule(text, 1).or_else(|_| parse_schedule(text, 2));
        let schedule = Arc::new(read.map_err(|e| e.to_string())?);
        let (racks, slices) = (schedule.racks(), schedule.slices());
        for (slice, uplink) in (0..slices).flat_map(|s| (0..schedule.uplinks()).map(move |p| (s, p))) {
            let mut ends: Vec<u32> = (0..racks).filter_map(|r| schedule.destination(slice, r, uplink)).collect();
            let circuits = ends.len();
            ends.sort_unstable();
            ends.dedup();
            assert_eq!(ends.len(), circuits, "circuits of uplink {uplink} in slice {slice} share a port");
        }
        // The table of a large schedule takes long.
        if racks * slices <= 1000 {
            let routing = Hoho::new(&schedule, 2).map_err(|e| e.to_string())?;
            let mut packet = Position { destination: racks - 1, ..Position::default() };
            for _ in 0..2 {
                let Some(hop) = routing.next_hop(&packet) else { break };
                (packet.rack, packet.progress) = (hop.rack, hop.progress);
                packet.slice += hop.wait;
            }
            assert!(packet.rack == packet.destination || packet.rack == 0, "a path ends at rack {}", packet.rack);
        }
        Ok(past(Vlb::new(&schedule, Spread::Random)))
    })
}
