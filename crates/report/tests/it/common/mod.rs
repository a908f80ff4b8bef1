//! Folders of results that tests make.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use timeplane_results::{
    FORMAT, FlowRow, Folder, LinkRow, Manifest, ManifestRun, Recorder, RunFacts, SlotRow, Store, Summarizer,
};

/// A folder that is gone when the test is over.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Xorshift: the same numbers everywhere.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(0x2545_f491_4f6c_dd1d ^ seed)
    }

    /// A number from 0 up to, but not including, `below`.
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Results of one run of one scheme: slots of 100 us at 10 Gb/s. In each, all hosts send by a
/// random matching. Most slots are full, one in ten is empty, one in twenty carries the rest of a
/// backlog.
pub fn results(root: &Path, hosts: u32, slots: u32) -> Folder {
    let store = Store::open(root, "shuffle").unwrap();
    let key = "00000000000000aa";
    let about = ManifestRun { key: key.into(), scheme: "slots".into(), point: Default::default(), seed: 1 };
    let manifest = Manifest {
        format: FORMAT,
        name: "shuffle".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        program: String::new(),
        commit: None,
        source: Some("description = \"Who is first?\"\n".into()),
        set: vec![("fabric.rate".into(), "10 Gb/s".into())],
        scenario: serde_json::json!({ "description": "Who is <first>?" }),
        bounds: Vec::new(),
        seeds: vec![1],
        runs: vec![about],
    };
    store.write_manifest(&manifest).unwrap();
    let partial = store.begin(key).unwrap();
    let mut recorder = Recorder::files(partial.dir()).unwrap();
    let mut summarizer = Summarizer::new();
    let mut numbers = Numbers::new(0);
    let mut order: Vec<u32> = (0..hosts).collect();
    let (open, gap) = (100_000_000i64, 5_000_000i64);
    for slot in 0..slots {
        for i in (1..order.len()).rev() {
            order.swap(i, numbers.next(i as u64 + 1) as usize);
        }
        for (i, &source) in order.iter().enumerate() {
            let sent = match numbers.next(20) {
                0 => 84 + numbers.next(122_916),
                1 | 2 => 0,
                _ => 123_000,
            };
            recorder.slot(&SlotRow {
                round: u64::from(slot / 50),
                slot: slot % 50,
                start_ps: i64::from(slot) * (open + gap),
                open_ps: open,
                gap_ps: gap,
                source,
                destination: order[(i + 1) % order.len()],
                granted_bytes: 125_000,
                sent_bytes: Some(sent),
            });
        }
    }
    let end = i64::from(slots) * (open + gap);
    for host in 0..hosts {
        for (n, (from, to)) in [(host, hosts), (hosts, host)].into_iter().enumerate() {
            recorder.link(&LinkRow {
                link: 2 * host + n as u32,
                from,
                to,
                sent_packets: 13 + numbers.next(50_000),
                sent_bytes: numbers.next(1 << 28),
                busy_ps: end / 2 + numbers.next(end as u64 / 2) as i64,
                max_queue_bytes: numbers.next(1 << 17),
                late_packets: 0,
            });
        }
        for destination in (0..hosts).filter(|d| *d != host) {
            let row = FlowRow {
                flow: host * hosts + destination,
                coflow: None,
                source: host,
                destination,
                size_bytes: 1_000_000,
                start_ps: 0,
                fct_ps: Some(end / 2 + numbers.next(end as u64 / 2) as i64),
                acknowledged_ps: None,
                received_bytes: 1_000_000,
                ideal_ps: 800_000_000,
                measured: true,
                retransmissions: 0,
                timeouts: 0,
            };
            recorder.flow(&row);
            summarizer.flow(&row);
        }
    }
    recorder.finish().unwrap();
    let facts = RunFacts { scheme: "slots".into(), seed: 1, simulated_ps: end, ..RunFacts::default() };
    partial.commit(&summarizer.finish(facts)).unwrap();
    Folder::read(store.dir()).unwrap()
}
