//! Tests that any file either loads or fails with an error, and that a source's flows are in order.

use crate::common::{file, load, poisson, trace};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use timeplane_model::{Bytes, Duration};
use timeplane_scenario::{CoflowTrace, FlowList, PacketMix, Pattern, Sizes, Workload};
use timeplane_workload::Source;

const HOSTS: u32 = 5;

/// Each kind of workload that reads a file, with this one.
fn workloads(name: &str) -> [Workload; 4] {
    let name = name.to_owned();
    [
        Workload::Flows(FlowList { file: name.clone() }),
        Workload::Coflows(trace(&name)),
        poisson(0.5, Pattern::Uniform, Sizes::Cdf(name.clone()), PacketMix::Mtu),
        poisson(0.5, Pattern::Matrix { file: name, more_racks: None }, Sizes::Fixed(Bytes::kb(1)), PacketMix::Mtu),
    ]
}

/// Flows are ordered, between two hosts of the fabric, and not empty.
fn in_order(source: &Source) {
    let mut last = Duration::ZERO;
    let coflows = source.coflows(1);
    for f in source.arrivals(1).take(1_000) {
        assert!(f.at >= last && f.source != f.destination && f.source.0 < HOSTS && f.destination.0 < HOSTS, "{f:?}");
        assert!(f.bytes > Bytes::ZERO);
        if let Some(coflow) = f.coflow {
            assert!(coflows[coflow.index()].at <= f.at);
        }
        last = f.at;
    }
}

fn try_all(content: &[u8]) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("malformed-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let path = file(&name, content);
    for workload in workloads(&name) {
        match load(&workload, HOSTS) {
            Ok(source) => in_order(&source),
            Err(e) => assert!(e.to_string().len() < 1_000, "{e}"),
        }
    }
    std::fs::remove_file(path).unwrap();
}

/// Almost valid lines.
fn nearly() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        6 => (0u32..7).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        1 => any::<f64>().prop_map(|x| x.to_string()),
        1 => (0.0..1.0f64).prop_map(|x| x.to_string()),
    ];
    let separator =
        prop_oneof![6 => Just(","), 3 => Just("\t"), 1 => Just("#"), 1 => Just(":"), 1 => Just("\""), 1 => Just("\r")];
    let line = prop::collection::vec((number, separator), 1..7)
        .prop_map(|cells| cells.into_iter().map(|(n, s)| n + s).collect::<String>().trim_end_matches(',').to_owned());
    let header = prop_oneof![
        Just(""),
        Just("bytes,cdf\n"),
        Just("source,destination,weight\n"),
        Just("start_ps,source,destination,size_bytes\n"),
        Just("flow,coflow,start_ps,source,destination,size_bytes\n"),
        Just("5 3\n"),
    ];
    (header, prop::collection::vec(line, 0..6)).prop_map(|(h, lines)| h.to_owned() + &lines.join("\n"))
}

/// An almost valid coflow.
fn coflow() -> impl Strategy<Value = String> {
    let racks = prop::collection::vec(0u32..HOSTS + 1, 1..5);
    let reducers = prop::collection::vec((0u32..HOSTS, 0.0..3.0f64), 1..5);
    (any::<u64>(), 0.0..1e6f64, racks, reducers).prop_map(|(id, at, racks, reducers)| {
        let list = |cells: Vec<String>| cells.join(",");
        format!(
            "{id}\t{at}\t{}\t{}\t{}#{}",
            racks.len(),
            reducers.len(),
            list(racks.iter().map(u32::to_string).collect()),
            list(reducers.iter().map(|(r, mb)| format!("{r}:{mb}")).collect()),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(content in prop::collection::vec(any::<u8>(), 0..300)) {
        try_all(&content);
    }

    #[test]
    fn nearly_right_lines(content in nearly()) {
        try_all(content.as_bytes());
    }

    #[test]
    fn coflows_in_any_order(
        lines in prop::collection::vec(coflow(), 1..6),
        jitter in 0i64..2_000_000,
        scale in 0.0..2.0f64,
        max_flows in prop::option::of(0u32..12),
        blocks in prop::option::of(1u32..12),
    ) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("coflows-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let path = file(&name, lines.join("\n"));
        let jitter = Duration::from_us(jitter);
        let spec = CoflowTrace { time_scale: scale, byte_scale: scale + 1e-6, max_flows, jitter, blocks, ..trace(&name) };
        if let Ok(source) = load(&Workload::Coflows(spec), HOSTS) {
            in_order(&source);
            prop_assert!(source.arrivals(2).count() > 0);
            let demand = source.demand().unwrap();
            prop_assert_eq!(demand.iter().map(|d| d.3).sum::<u64>(), source.facts().flows.unwrap());
            prop_assert_eq!(demand.iter().map(|d| d.2.get()).sum::<u64>(), source.facts().bytes.unwrap());
            if blocks == Some(1) {
                prop_assert_eq!(source.arrivals(2).count() as u64, source.facts().flows.unwrap());
            }
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn poisson_flows_are_in_order(
        load_ in 0.001..2.0f64,
        pattern in prop_oneof![
            Just(Pattern::Uniform), Just(Pattern::Permutation), Just(Pattern::AllToAll),
            (0..HOSTS).prop_map(|receiver| Pattern::Incast { receiver }),
            (1..HOSTS).prop_map(|by| Pattern::Stride { by }),
        ],
        sizes in prop_oneof![
            (1u64..1_000_000).prop_map(|b| Sizes::Fixed(Bytes::new(b))),
            (1u64..1_000_000_000_000).prop_map(|b| Sizes::Exponential(Bytes::new(b))),
            Just(Sizes::Cdf("datamining".into())),
        ],
        packets in prop_oneof![
            Just(PacketMix::Mtu), Just(PacketMix::Single), (1u64..10_000).prop_map(|b| PacketMix::Fixed(Bytes::new(b))),
        ],
    ) {
        in_order(&load(&poisson(load_, pattern, sizes, packets), HOSTS).unwrap());
    }

    #[test]
    fn damaged_parquet(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>(), whole in any::<bool>()) {
        let mut content = parquet_file();
        for (place, byte) in damage {
            let place = place.index(content.len());
            content[place] = byte;
        }
        if !whole {
            content.truncate(cut.index(content.len()));
        }
        try_all(&content);
    }
}

fn parquet_file() -> Vec<u8> {
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let batch = arrow_array::RecordBatch::try_from_iter([
        ("start_ps", column((0..50).collect())),
        ("source", column((0..50).map(|i| i % 5).collect())),
        ("destination", column((0..50).map(|i| (i + 1) % 5).collect())),
        ("size_bytes", column((1..51).collect())),
    ])
    .unwrap();
    let mut content = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut content, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    content
}
