//! What tests share.
#![allow(dead_code, missing_docs)]

use indexmap::IndexMap;
use std::path::{Path, PathBuf};
use timeplane_results::{
    AirRow, CoflowRow, CollectiveRow, ControlRow, DropRow, FlowRow, LatencyRow, LinkRow, QueueRow, RateRow,
    ReceivedRow, Recorder, RoundTripsRow, RttRow, RunFacts, RunSummary, SignalRow, SlotRow, StepRow, Summarizer, Tally,
    TcpRow, WindowSummary,
};

/// A folder that is removed at the end of the test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Numbers that look random and are always the same.
pub fn mix(i: u64) -> u64 {
    let x = (i.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}

pub fn flow(i: u32) -> FlowRow {
    let x = mix(u64::from(i));
    FlowRow {
        flow: i,
        coflow: i.is_multiple_of(3).then_some(i / 3),
        source: (x % 16) as u32,
        destination: (x / 16 % 16) as u32,
        size_bytes: 1 + x % 1_000_000,
        start_ps: i64::from(i) * 1_000_003,
        fct_ps: (i % 10 != 9).then_some(1_000_000 + (x % 50_000_000) as i64),
        acknowledged_ps: (i % 10 != 9).then_some(1_500_000 + (x % 50_000_000) as i64),
        received_bytes: x % 1_000_000,
        ideal_ps: 1_000_000,
        measured: !i.is_multiple_of(5),
        retransmissions: (x % 4) as u32,
        timeouts: 0,
    }
}

/// Writes `n` flows and a few rows of every other table.
pub fn record(recorder: &mut Recorder, n: u32) {
    for i in 0..n {
        recorder.flow(&flow(i));
    }
    for i in 0..7 {
        let k = u64::from(i);
        recorder.coflow(&CoflowRow {
            coflow: i,
            name: 1000 + k,
            flows: 3,
            size_bytes: 1 << 40,
            start_ps: -1,
            cct_ps: (i > 2).then_some(i64::from(i)),
            finished_flows: i,
            measured: true,
        });
        recorder.queue(&QueueRow {
            time_ps: i64::MAX - i64::from(i),
            link: i,
            node: i,
            queue_bytes: k,
            queue_packets: 1,
            waiting_bytes: k / 2,
        });
        recorder.step(&StepRow { step: i, start_ps: i64::from(i), step_ps: (i > 0).then_some(9), ideal_ps: 8 });
        recorder.collective(&CollectiveRow {
            step: 0,
            coflow: i,
            kind: if i % 2 == 0 { "all_reduce" } else { "all_gather" },
            algorithm: "ring",
            ranks: 8,
            size_bytes: k,
            flows: 112,
            sent_bytes: 14 * k,
            start_ps: i64::from(i),
            collective_ps: (i > 0).then_some(7),
            ideal_ps: 6,
        });
        recorder.received(&ReceivedRow { time_ps: i64::from(i), host: i, received_bytes: k });
        recorder.tcp(&TcpRow {
            time_ps: i64::from(i),
            flow: i,
            window_bytes: k,
            in_flight_bytes: k,
            acknowledged_bytes: 2 * k,
            smoothed_rtt_ps: (i > 0).then_some(40),
            longest_rtt_ps: (i > 1).then_some(50),
            retransmissions: k,
            timeouts: i,
        });
        let state = ["used", "outage"][i as usize % 2];
        recorder.air(&AirRow {
            time_ps: 1,
            link: i,
            from: i,
            to: (i > 0).then_some(i + 1),
            state,
            mcs: (i > 0).then_some(12),
            rate_bps: k,
            lost_ppm: (i > 1).then_some(7),
            airtime_ps: i64::from(i),
            carried_bytes: k,
        });
        recorder.rtt(&RttRow { rtt_ps: i64::from(i), packets: k });
        let reading = ["segment", "delivery"][i as usize % 2];
        recorder.round_trips(&RoundTripsRow { time_ps: 1, reading, rtt_ps: i64::from(i), packets: k });
        let reason = ["queue full", "bit error"][i as usize % 2];
        recorder.drop(&DropRow { link: i, node: i, reason, packets: k, bytes: 1500 * k });
        let kind = ["report", "grants"][i as usize % 2];
        recorder.control(&ControlRow {
            kind,
            sender: (i > 0).then_some(i),
            messages: 5,
            bytes: 420,
            lost: 1,
            late: 2,
            max_transfer_ps: 7_000,
        });
        recorder.signal(&SignalRow { time_ps: 1, host: i, destination: 4, opens: i > 2, reaction_ps: 7 });
        recorder.rate(&RateRow { time_ps: 1, source: i, destination: 4, rate_bps: k });
        recorder.slot(&SlotRow {
            round: k,
            slot: i,
            start_ps: 1,
            open_ps: 2,
            gap_ps: 3,
            source: 4,
            destination: 5,
            granted_bytes: 6,
            sent_bytes: Some(7),
        });
        recorder.latency(&LatencyRow { latency_ps: i64::from(i), packets: k });
        recorder.link(&LinkRow {
            link: i,
            from: 1,
            to: 2,
            sent_packets: u64::MAX,
            sent_bytes: 3,
            busy_ps: 4,
            max_queue_bytes: 5,
            late_packets: 0,
        });
    }
}

pub fn facts(scheme: &str, point: &[(&str, &str)], seed: u64) -> RunFacts {
    RunFacts {
        network_latency_ps: None,
        rtt_ps: None,
        scheme: scheme.to_owned(),
        point: point.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<IndexMap<_, _>>(),
        seed,
        window: WindowSummary {
            warmup_ps: 10_000_000_000,
            measure_ps: Some(100_000_000_000),
            drain_ps: Some(50_000_000_000),
        },
        received_ps: 100_000_000_000,
        received_bytes: vec![1_000_000; 16],
        packets: Tally { sent: 10, delivered: 7, dropped: 2, in_flight: 1 },
        bytes: Tally { sent: 15_380, delivered: 10_766, dropped: 3_076, in_flight: 1_538 },
        simulated_ps: 160_000_000_000,
        collisions: None,
        packet_hops: 40,
        events: 123,
    }
}

/// A run of `scheme` with 200 flows, `factor` times as slow as others.
pub fn summary(scheme: &str, point: &[(&str, &str)], seed: u64, factor: f64) -> RunSummary {
    let mut summarizer = Summarizer::new();
    for i in 0..200 {
        let mut row = flow(i + 1000 * seed as u32);
        row.fct_ps = row.fct_ps.or(Some(7_000_000)).map(|ps| (ps as f64 * factor) as i64);
        summarizer.flow(&row);
    }
    summarizer.drop(&DropRow { link: 0, node: 0, reason: "queue full", packets: 2, bytes: 3_076 });
    summarizer.control(&ControlRow {
        kind: "report",
        sender: None,
        messages: 5,
        bytes: 420,
        lost: 1,
        late: 2,
        max_transfer_ps: 7_000,
    });
    summarizer.finish(facts(scheme, point, seed))
}
