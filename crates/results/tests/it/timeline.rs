//! Timelines of random tables, read by the tests' own reader of protocol buffers: they have every
//! transmission once, and slices of a track never overlap.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use timeplane_model::Duration;
use timeplane_results::timeline::{TimelineCounts, TimelineRun, write_timeline};
use timeplane_results::{AirRow, QueueRow, Recorder, SlotRow};

/// The fields of a message: number, and a number or bytes.
#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let (first, rest) = bytes.split_first().expect("a whole number");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(value.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        all.push((key >> 3, value));
    }
    all
}

fn bytes(message: &[(u64, Value)], field: u64) -> Option<Vec<u8>> {
    message.iter().find_map(|(f, v)| match v {
        Value::Bytes(b) if *f == field => Some(b.clone()),
        _ => None,
    })
}

fn number(message: &[(u64, Value)], field: u64) -> Option<u64> {
    message.iter().find_map(|(f, v)| match v {
        Value::Number(n) if *f == field => Some(*n),
        _ => None,
    })
}

fn text(message: &[(u64, Value)], field: u64) -> String {
    String::from_utf8(bytes(message, field).unwrap_or_default()).expect("UTF-8")
}

/// A slice: start, end, name, and values in their order.
type Slice = (u64, u64, String, Vec<i64>);

/// Slices and counters by the names of tracks, the outermost first.
#[derive(Default)]
struct Read {
    slices: BTreeMap<Vec<String>, Vec<Slice>>,
    counters: BTreeMap<Vec<String>, Vec<(u64, i64)>>,
}

fn read(trace: &[u8]) -> Read {
    let mut tracks = BTreeMap::<u64, Vec<String>>::new();
    let mut open = BTreeMap::<u64, (u64, String, Vec<i64>)>::new();
    let mut out = Read::default();
    for (field, packet) in fields(trace) {
        let Value::Bytes(packet) = packet else { panic!("a packet is a message") };
        assert_eq!(field, 1);
        let packet = fields(&packet);
        if let Some(track) = bytes(&packet, 60) {
            let track = fields(&track);
            let mut names = number(&track, 5).map_or(Vec::new(), |parent| tracks[&parent].clone());
            names.push(bytes(&track, 3).map_or_else(|| text(&track, 2), |process| text(&fields(&process), 6)));
            assert!(tracks.insert(number(&track, 1).expect("a track has a number"), names).is_none());
        } else if let Some(event) = bytes(&packet, 11) {
            let (event, at) = (fields(&event), number(&packet, 8).expect("an event has a time"));
            let track = number(&event, 11).expect("an event has a track");
            match number(&event, 9) {
                Some(1) => {
                    let values = event.iter().filter(|(f, _)| *f == 4).map(|(_, v)| match v {
                        Value::Bytes(b) => number(&fields(b), 4).expect("a number") as i64,
                        Value::Number(_) => panic!("a value is a message"),
                    });
                    let begins = (at, text(&event, 23), values.collect());
                    assert!(open.insert(track, begins).is_none(), "slices of a track do not overlap");
                }
                Some(2) => {
                    let (begin, name, values) = open.remove(&track).expect("it has begun");
                    let slices = out.slices.entry(tracks[&track].clone()).or_default();
                    assert!(begin <= at && slices.last().is_none_or(|last| last.1 <= begin));
                    slices.push((begin, at, name, values));
                }
                Some(4) => {
                    let value = number(&event, 30).expect("a counter has a value") as i64;
                    out.counters.entry(tracks[&track].clone()).or_default().push((at, value));
                }
                other => panic!("event {other:?}"),
            }
        }
    }
    assert!(open.is_empty());
    out
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("timeline-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder that can be written to");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn timeline(rows: &[SlotRow], queues: &[QueueRow]) -> (TimelineCounts, Read) {
    timeline_of(|recorder| {
        rows.iter().for_each(|row| recorder.slot(row));
        queues.iter().for_each(|row| recorder.queue(row));
    })
}

fn timeline_of(record: impl FnOnce(&mut Recorder)) -> (TimelineCounts, Read) {
    let folder = Folder::new();
    let mut recorder = Recorder::files(&folder.0).unwrap();
    record(&mut recorder);
    recorder.finish().unwrap();
    let run = TimelineRun {
        folder: folder.0.clone(),
        name: "it".to_owned(),
        circuits: false,
        queues_every: Some(Duration::from_us(10)),
        tcp_every: None,
        end: Duration::from_ms(1),
    };
    let path = folder.0.join("out");
    let counts = write_timeline(&path, &[run]).unwrap();
    (counts, read(&std::fs::read(path).unwrap()))
}

#[test]
fn a_queue_without_a_row_is_empty() {
    let row = |us: i64, queue_bytes| QueueRow {
        time_ps: us * 1_000_000 + 7,
        link: 4,
        node: 9,
        queue_bytes,
        queue_packets: 1,
        waiting_bytes: 0,
    };
    let (counts, read) = timeline(&[], &[row(10, 5), row(20, 6), row(50, 7)]);
    assert_eq!(counts, TimelineCounts { queues: 3, ..TimelineCounts::default() });
    let points = vec![(10_000, 5), (20_000, 6), (30_000, 0), (50_000, 7), (60_000, 0)];
    let track = ["it", "queues", "link 4"].map(str::to_owned).to_vec();
    assert_eq!(read.counters, BTreeMap::from([(track, points)]));
    assert!(read.slices.is_empty());
}

#[test]
fn a_state_of_an_air_link_lasts_until_the_next_one_or_the_end() {
    let row = |us: i64, link, to, state, mcs, rate_bps, carried_bytes| AirRow {
        time_ps: us * 1_000_000,
        link,
        from: 20,
        to,
        state,
        mcs,
        rate_bps,
        lost_ppm: None,
        airtime_ps: 5_000_000,
        carried_bytes,
    };
    let (counts, read) = timeline_of(|recorder| {
        recorder.air(&row(0, 7, None, "down", None, 0, 0));
        recorder.air(&row(10, 7, Some(21), "pointing", Some(24), 0, 0));
        recorder.air(&row(110, 7, Some(21), "used", Some(24), 6_756_750_000, 9000));
        recorder.air(&row(0, 8, Some(22), "used", Some(13), 693_000_000, 100));
    });
    assert_eq!(counts, TimelineCounts { air: 4, ..TimelineCounts::default() });
    let track = |name: &str| ["it", "air links", name].map(str::to_owned).to_vec();
    let of = |name: &str| -> Vec<(u64, u64, &str)> {
        read.slices[&track(name)].iter().map(|s| (s.0, s.1, s.2.as_str())).collect()
    };
    assert_eq!(
        of("link 7, from node 20"),
        [(0, 10_000, "down"), (10_000, 110_000, "pointing to node 21"), (110_000, 1_000_000, "MCS 24 to node 21")]
    );
    assert_eq!(of("link 8, from node 20"), [(0, 1_000_000, "MCS 13 to node 22")]);
    assert!(read.slices[&track("link 7, from node 20")][2].3.contains(&9000));
}

#[test]
fn times_of_a_damaged_table_do_not_overflow() {
    let slot = SlotRow {
        round: 0,
        slot: 0,
        start_ps: i64::MAX,
        open_ps: i64::MAX,
        gap_ps: i64::MAX,
        source: 0,
        destination: 1,
        granted_bytes: u64::MAX,
        sent_bytes: None,
    };
    let queue = QueueRow { time_ps: i64::MAX, link: 0, node: 0, queue_bytes: 1, queue_packets: 1, waiting_bytes: 0 };
    let (counts, read) = timeline(&[slot], &[queue]);
    assert_eq!((counts.slots, counts.queues), (1, 1));
    let latest = (i64::MAX / 1000) as u64;
    assert!(read.slices.values().flatten().all(|slice| (slice.0, slice.1) == (latest, latest)), "{:?}", read.slices);
}

#[test]
fn a_table_of_another_version_is_refused_by_name() {
    let folder = Folder::new();
    let mut recorder = Recorder::files(&folder.0).unwrap();
    recorder.queue(&QueueRow { time_ps: 0, link: 0, node: 0, queue_bytes: 1, queue_packets: 1, waiting_bytes: 0 });
    recorder.finish().unwrap();
    std::fs::rename(folder.0.join("queues.parquet"), folder.0.join("slots.parquet")).unwrap();
    let run = TimelineRun {
        folder: folder.0.clone(),
        name: String::new(),
        circuits: false,
        queues_every: None,
        tcp_every: None,
        end: Duration::from_ms(1),
    };
    let error = write_timeline(&folder.0.join("out"), &[run]).unwrap_err().to_string();
    assert!(error.contains("slots.parquet") && error.contains("`round`"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_transmission_is_a_slice(
        slots in proptest::collection::vec(
            (0u64..4, 0u32..6, 0i64..3_000_000, 0i64..2_000_000, 0i64..500_000, (0u32..4, 0u32..4), any::<u32>(), any::<Option<u32>>()), 0..60,
        ),
    ) {
        let row = |&(round, slot, start_ps, open_ps, gap_ps, (source, destination), granted, sent): &_| SlotRow {
            round, slot, start_ps, open_ps, gap_ps, source, destination,
            granted_bytes: u64::from(granted), sent_bytes: Option::<u32>::map(sent, u64::from),
        };
        let rows: Vec<SlotRow> = slots.iter().map(row).collect();
        let (counts, read) = timeline(&rows, &[]);
        prop_assert_eq!(counts, TimelineCounts { slots: rows.len() as u64, ..TimelineCounts::default() });
        let mut found: Vec<(String, Slice)> = Vec::new();
        for (track, slices) in read.slices.iter().filter(|(track, _)| track.len() == 3) {
            prop_assert_eq!(&track[..2], ["it", "slots"]);
            let host = track[2].split(" (").next().unwrap();
            found.extend(slices.iter().map(|s| (host.to_owned(), s.clone())));
        }
        let mut expected: Vec<(String, Slice)> = rows.iter().map(|r| {
            let mut values = vec![
                r.round as i64, r.slot.into(), r.source.into(), r.destination.into(), r.start_ps, r.open_ps, r.granted_bytes as i64,
            ];
            values.extend(r.sent_bytes.map(|s| s as i64));
            let (begin, end) = (r.start_ps / 1000, (r.start_ps + r.open_ps) / 1000);
            (format!("host {}", r.source), (begin as u64, end as u64, format!("to {}", r.destination), values))
        }).collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
