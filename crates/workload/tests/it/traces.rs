//! Tests of coflow traces, flow lists and shuffles.

use crate::common::{file, load, trace};
use arrow_array::RecordBatch;
use arrow_array::{ArrayRef, Int32Array, Int64Array, UInt64Array};
use std::collections::BTreeSet;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration};
use timeplane_scenario::{CoflowTrace, FlowList, PacketMix, Pattern, Shuffle, Sizes, Workload};
use timeplane_workload::{CoflowStart, FlowArrival, Source, write_flow_list};

fn coflows(spec: CoflowTrace) -> Source {
    load(&Workload::Coflows(spec), 150).unwrap()
}

fn list(name: &str, hosts: u32) -> Source {
    load(&Workload::Flows(FlowList { file: name.to_owned() }), hosts).unwrap()
}

#[test]
fn facebooks_hour_has_its_known_size() {
    let source = coflows(trace("fb2010"));
    let facts = source.facts();
    assert_eq!(facts.coflows.unwrap() + facts.coflows_in_rack, 526);
    assert_eq!(facts.coflows_in_rack, 3);
    assert_eq!(facts.flows.unwrap() + facts.flows_in_rack, 706_397);
    assert_eq!(facts.flows_in_rack, 4_911);
    assert_eq!(facts.bytes.unwrap() + facts.bytes_in_rack, 35_533_534_000_000);
    assert_eq!(facts.bytes_in_rack, 243_936_000_000);
    assert!(!facts.sorted && !source.is_endless());
    let mut racks = BTreeSet::new();
    let (mut count, mut bytes, mut last) = (0, 0, Duration::ZERO);
    for f in source.arrivals(1) {
        assert!(f.at >= last && f.source != f.destination);
        last = f.at;
        racks.extend([f.source, f.destination]);
        count += 1;
        bytes += f.bytes.get();
    }
    assert_eq!((count, bytes), (facts.flows.unwrap(), facts.bytes.unwrap()));
    assert!(racks.iter().all(|r| r.0 < 150));
    assert_eq!(last, Duration::from_ms(3_629_235));
    let demand = source.demand().unwrap();
    assert_eq!(demand.iter().map(|d| d.3).sum::<u64>(), count);
    assert_eq!(demand.iter().map(|d| d.2.get()).sum::<u64>(), bytes);
    assert!(demand.is_sorted_by_key(|d| (d.0, d.1)));
    // The trace's first line: `1 0 1 1 22#65:1.0`.
    let first = source.arrivals(1).next().unwrap();
    assert_eq!((first.source.0, first.destination.0, first.bytes), (22, 65, Bytes::mb(1)));
    let starts = source.coflows(1);
    assert_eq!((starts[0].name, starts[1].at), (1, Duration::from_ms(10_833)));
}

#[test]
fn small_coflows_alone_keep_their_times_and_jitter() {
    let jitter = Duration::from_us(100);
    let small = coflows(CoflowTrace { max_flows: Some(300), jitter, ..trace("fb2010") });
    let facts = small.facts();
    // 434 coflows of 98 GB, of which 3 coflows and 0.9 GB stay inside a rack.
    assert_eq!((facts.coflows, facts.coflows_in_rack, facts.coflows_too_large), (Some(431), 3, 92));
    assert_eq!((facts.bytes, facts.bytes_in_rack), (Some(97_044_000_000), 884_000_000));
    let all = coflows(CoflowTrace { jitter, ..trace("fb2010") });
    let flows = |s: &Source, seed| -> Vec<(u64, FlowArrival)> {
        let starts = s.coflows(seed);
        let named = |f: FlowArrival| (starts[f.coflow.unwrap().index()].name, FlowArrival { coflow: None, ..f });
        s.arrivals(seed).map(named).collect()
    };
    let (small_flows, all_flows) = (flows(&small, 1), flows(&all, 1));
    let names: BTreeSet<u64> = small_flows.iter().map(|f| f.0).collect();
    let chosen: Vec<_> = all_flows.into_iter().filter(|f| names.contains(&f.0)).collect();
    assert_eq!(small_flows, chosen);
    assert!(small_flows.is_sorted_by_key(|f| f.1.at));
    assert_ne!(small_flows, flows(&small, 2));
    let starts = small.coflows(1);
    for f in small.arrivals(1) {
        let late = f.at - starts[f.coflow.unwrap().index()].at;
        assert!(!late.is_negative() && late < jitter);
    }
    let quick = coflows(CoflowTrace { max_flows: Some(300), time_scale: 0.001, byte_scale: 1e-7, ..trace("fb2010") });
    assert_eq!(quick.coflows(1)[1].at, Duration::from_us(10_833));
    assert!(quick.arrivals(1).any(|f| f.bytes == Bytes::new(1)));
}

fn names(source: &Source) -> Vec<u64> {
    source.coflows(1).iter().map(|c| c.name).collect()
}

#[test]
fn seeds_draw_blocks_of_a_trace() {
    let jitter = Duration::from_us(100);
    let whole = coflows(CoflowTrace { max_flows: Some(300), ..trace("fb2010") });
    let spec = CoflowTrace { max_flows: Some(300), jitter, blocks: Some(60), ..trace("fb2010") };
    let drawn = coflows(spec.clone());
    assert_eq!((drawn.facts(), drawn.demand()), (whole.facts(), whole.demand()));
    let whole = whole.coflows(1);
    let last = whole.last().unwrap().at.as_ps() + 1;
    let block = (last as u64).div_ceil(60) as i64;
    let (mut coflows_of_all, mut bytes_of_all) = (0.0, 0.0);
    for seed in 1..=200 {
        let starts = drawn.coflows(seed);
        assert!(starts.is_sorted_by_key(|c| c.at) && starts == drawn.coflows(seed));
        assert!(starts.last().unwrap().at.as_ps() < 60 * block);
        // Each block of time has exactly the coflows of one block of the trace, at the same places.
        for place in 0..60 {
            let within = |all: &[CoflowStart], place: i64| -> Vec<(u64, i64)> {
                let of = |c: &&CoflowStart| c.at.as_ps() / block == place;
                all.iter().filter(of).map(|c| (c.name, c.at.as_ps() % block)).collect()
            };
            let found = within(&starts, place);
            assert!((0..60).any(|from| within(&whole, from) == found), "seed {seed}, block {place}");
        }
        coflows_of_all += starts.len() as f64;
        bytes_of_all += drawn.arrivals(seed).map(|f| f.bytes.get() as f64).sum::<f64>();
        // Flows come within the jitter after their coflow. Copies of a coflow have starts of their
        // own.
        assert!(drawn.arrivals(seed).all(|f| {
            let late = f.at - starts[f.coflow.unwrap().index()].at;
            !late.is_negative() && late < jitter
        }));
    }
    // A draw has the trace's coflows and bytes in the mean: 431 and 97 GB. Standard errors of 200
    // draws are 1 % and 3 %.
    assert!((coflows_of_all / 200.0 / 431.0 - 1.0).abs() < 0.04, "{}", coflows_of_all / 200.0);
    assert!((bytes_of_all / 200.0 / 97e9 - 1.0).abs() < 0.12, "{}", bytes_of_all / 200.0);
    assert_ne!(drawn.coflows(1), drawn.coflows(2));
    let late = |source: &Source, name: u64| -> Vec<i64> {
        let starts = source.coflows(1);
        let of = |f: &FlowArrival| starts[f.coflow.unwrap().index()].name == name;
        let mut late: Vec<_> =
            source.arrivals(1).filter(of).map(|f| (f.at - starts[f.coflow.unwrap().index()].at).as_ps()).collect();
        late.sort_unstable();
        late
    };
    let starts = drawn.coflows(1);
    let twice = starts.iter().find(|c| starts.iter().filter(|d| d.name == c.name).count() > 1).unwrap().name;
    let late = late(&drawn, twice);
    assert!(late.windows(2).all(|pair| pair[0] != pair[1]), "{late:?}");
}

#[test]
fn how_many_blocks_a_trace_has() {
    let spread = |n: u64| (0..n).map(|i| format!("{i} {} 1 1 0#1:1.0\n", i * 10)).collect::<String>();
    for (n, blocks) in [(1, 1), (2, 1), (3, 2), (8, 4), (27, 9), (1_000, 100)] {
        let name = format!("blocks-{n}.txt");
        file(&name, spread(n));
        let of = |blocks| load(&Workload::Coflows(CoflowTrace { blocks, ..trace(&name) }), 2).unwrap();
        let (default, stated) = (of(None), of(Some(blocks)));
        assert!((1..20).all(|seed| default.coflows(seed) == stated.coflows(seed)), "{n}");
        assert!((1..20).all(|seed| !default.coflows(seed).is_empty()));
        let draws: BTreeSet<Vec<u64>> = (1..20).map(|s| default.coflows(s).iter().map(|c| c.name).collect()).collect();
        assert_eq!(draws.len() > 1, blocks > 1, "{n}");
    }
    // All at once: nothing to cut.
    let once = load(&Workload::Coflows(CoflowTrace { blocks: None, time_scale: 0.0, ..trace("blocks-27.txt") }), 2);
    assert_eq!(once.unwrap().coflows(3).len(), 27);
}

#[test]
fn both_layouts_of_a_trace_are_read() {
    file("ours.txt", "7\t5\t2\t2\t0,1#1:1.0,2:0.000003\n3\t2.5\t1\t1\t2#0:4\n");
    file("benchmark.txt", "3 2\r\n7 5 2 0 1 2 1:1.0 2:0.000003\r\n\r\n3 2.5 1 2 1 0:4\r\n");
    for name in ["ours.txt", "benchmark.txt"] {
        let source = load(&Workload::Coflows(trace(name)), 3).unwrap();
        assert!(source.facts().sorted);
        assert_eq!((source.facts().flows, source.facts().flows_in_rack, source.coflows(1).len()), (Some(4), 1, 2));
        let flows: Vec<_> = source
            .arrivals(1)
            .map(|f| (f.at.as_ps() / 1_000_000, f.source.0, f.destination.0, f.bytes.get(), f.coflow.unwrap().0))
            .collect();
        // Coflow 3 is first. In coflow 7, mapper 1 shares rack 1 with a reducer, and 3 bytes are
        // split into 2 and 1.
        let expected =
            [(2_500, 2, 0, 4_000_000, 0), (5_000, 0, 1, 500_000, 1), (5_000, 1, 2, 1, 1), (5_000, 0, 2, 2, 1)];
        assert_eq!(flows, expected);
        assert_eq!(names(&source), [3, 7]);
    }
}

#[test]
fn exported_flows_come_back() {
    let poisson = crate::common::poisson(0.5, Pattern::Uniform, Sizes::Cdf("datamining".into()), PacketMix::Mtu);
    let trace = CoflowTrace { max_flows: Some(20), jitter: Duration::from_ms(2), ..trace("fb2010") };
    for (name, workload) in [("poisson.csv", poisson), ("coflows.csv", Workload::Coflows(trace))] {
        let source = load(&workload, 150).unwrap();
        let flows: Vec<_> = source.arrivals(4).take(3_000).collect();
        let path = crate::common::file(name, "");
        let written = write_flow_list(&path, flows.iter().copied()).unwrap();
        assert_eq!(written, flows.len() as u64);
        let back = list(name, 150);
        let starts = back.coflows(9);
        let name = |f: FlowArrival| f.coflow.map(|c| starts[c.index()].name);
        assert!(back.arrivals(9).zip(&flows).all(|(b, f)| {
            (b.at, b.source, b.destination, b.bytes, name(b))
                == (f.at, f.source, f.destination, f.bytes, f.coflow.map(|c| c.0.into()))
        }));
        assert_eq!(back.facts().flows, Some(written));
    }
}

#[test]
fn flow_lists_are_sorted_and_columns_go_by_name() {
    file(
        "list.csv",
        "\u{feff}flow,size_bytes, coflow ,destination,source,start_ps\r\n9,10,77,1,0,500\n8,20,,2,1,100\n7,30,55,0,1,100\n\n6,40,77,2,0,100\n",
    );
    let source = list("list.csv", 3);
    assert!(source.facts().sorted && source.facts().coflows == Some(2));
    let flows: Vec<_> = source
        .arrivals(1)
        .map(|f| (f.at.as_ps(), f.source.0, f.destination.0, f.bytes.get(), f.coflow.map(|c| c.0)))
        .collect();
    assert_eq!(
        flows,
        [(100, 1, 2, 20, None), (100, 1, 0, 30, Some(0)), (100, 0, 2, 40, Some(1)), (500, 0, 1, 10, Some(1))]
    );
    assert_eq!(names(&source), [55, 77]);
    assert_eq!(source.coflows(1)[1].at, Duration::from_ps(100));
}

#[test]
fn parquet_says_the_same_as_csv() {
    let columns: [(&str, ArrayRef); 6] = [
        ("size_bytes", Arc::new(UInt64Array::from(vec![10, 20, 30]))),
        ("flow", Arc::new(UInt64Array::from(vec![0, 1, 2]))),
        ("destination", Arc::new(Int32Array::from(vec![1, 2, 0]))),
        ("source", Arc::new(Int64Array::from(vec![0, 1, 2]))),
        ("coflow", Arc::new(Int64Array::from(vec![Some(4), None, Some(3)]))),
        ("start_ps", Arc::new(Int64Array::from(vec![5, 6, 7]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = file("list.parquet", "");
    let out = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(out, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file("same.csv", "start_ps,source,destination,size_bytes,coflow\n5,0,1,10,4\n6,1,2,20,\n7,2,0,30,3\n");
    let (a, b) = (list("list.parquet", 3), list("same.csv", 3));
    assert!(a.arrivals(0).eq(b.arrivals(0)) && a.arrivals(0).count() == 3);
    assert_eq!(names(&a), [4, 3]);
    let error = load(&Workload::Flows(FlowList { file: "list.parquet".into() }), 2).unwrap_err().to_string();
    assert!(error.ends_with("list.parquet:2: column `destination` is `2`: a host, 0 to 1"), "{error}");
}

#[test]
fn a_shuffle_has_every_pair_once() {
    for jitter in [Duration::ZERO, Duration::from_us(5)] {
        let source = load(&Workload::Shuffle(Shuffle { bytes: Bytes::kb(1), jitter, in_turn: false }), 7).unwrap();
        let flows: Vec<_> = source.arrivals(3).collect();
        assert!(flows.is_sorted_by_key(|f| f.at));
        assert!(flows.iter().all(|f| f.at < jitter || f.at == Duration::ZERO));
        let pairs: BTreeSet<_> = flows.iter().map(|f| (f.source, f.destination)).collect();
        assert_eq!((flows.len(), pairs.len(), source.facts().flows), (42, 42, Some(42)));
        assert_eq!(source.demand().unwrap().len(), 42);
        if jitter == Duration::ZERO {
            // Every seven flows are a permutation.
            let permutation =
                flows.chunks(7).all(|step| step.iter().map(|f| f.destination).collect::<BTreeSet<_>>().len() == 7);
            assert!(permutation);
        }
    }
}

/// `cargo test --release -p timeplane-workload -- --ignored --nocapture`
#[test]
#[ignore = "takes times"]
fn a_million_flows_load_in_half_a_second() {
    let source =
        load(&crate::common::poisson(0.5, Pattern::Uniform, Sizes::Cdf("datamining".into()), PacketMix::Mtu), 150)
            .unwrap();
    let path = file("million.csv", "");
    let begin = std::time::Instant::now();
    write_flow_list(&path, source.arrivals(1).take(1_000_000)).unwrap();
    println!("drawn and written in {:?}", begin.elapsed());
    let begin = std::time::Instant::now();
    assert_eq!(list("million.csv", 150).facts().flows, Some(1_000_000));
    println!("loaded in {:?}", begin.elapsed());
    assert!(begin.elapsed().as_millis() < 500);
}
