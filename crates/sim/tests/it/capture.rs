//! Captures of simulated runs: they change nothing, hold every frame once, and name its flow and
//! slot.
//!
//! A reader that shares no code with the writer compares them with the tables of the run.

use crate::pcapng::Frame;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use timeplane_results::RunSummary;

/// A run in a folder of its own, which is removed with it.
struct Kept {
    folder: PathBuf,
    summary: RunSummary,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Kept {
    /// Runs the scheme `it` with one seed, and writes its tables.
    fn run(name: &str, text: &str, seed: u64) -> Self {
        let folder = crate::common::folder().join(format!("capture-{name}-{}", std::process::id()));
        let summary = crate::common::run_in(&folder, text, "it", seed);
        Self { folder, summary }
    }

    fn files(&self, ending: &str) -> BTreeMap<String, Vec<u8>> {
        let all = std::fs::read_dir(&self.folder).expect("its folder").map(|e| e.expect("an entry").path());
        let of = all.filter(|p| p.extension().is_some_and(|e| e == ending));
        of.map(|p| (name(&p), std::fs::read(&p).expect("a file"))).collect()
    }

    fn capture(&self, name: &str) -> Vec<Frame> {
        crate::pcapng::read(&std::fs::read(self.folder.join(name)).expect("a capture")).1
    }

    /// The summary without the amount of work.
    fn numbers(&self) -> serde_json::Value {
        let mut summary = serde_json::to_value(&self.summary).expect("a summary is JSON");
        summary.as_object_mut().expect("with keys").remove("events").expect("it counts events");
        summary
    }

    /// Columns of a table, by rows.
    fn rows<const N: usize>(&self, table: &str, columns: [&str; N]) -> Vec<[i64; N]> {
        use arrow_array::cast::AsArray;
        use arrow_array::types::Int64Type;
        use arrow_schema::DataType;
        let file = std::fs::File::open(self.folder.join(table).with_extension("parquet")).expect("a table");
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
        let mut rows = Vec::new();
        for batch in reader.build().expect("Parquet") {
            let batch = batch.expect("rows");
            let columns = columns.map(|c| {
                let column = batch.column_by_name(c).expect("a column");
                arrow_cast::cast(column, &DataType::Int64).expect("numbers")
            });
            rows.extend((0..batch.num_rows()).map(|i| {
                let value = |c: usize| columns[c].as_primitive::<Int64Type>().value(i);
                core::array::from_fn(value)
            }));
        }
        rows
    }
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Runs with and without a capture of these points, and asserts that nothing else differs.
fn same(name: &str, text: &str, seed: u64, places: &[String]) -> Kept {
    let without = Kept::run(&format!("{name}-without"), text, seed);
    let list = places.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", ");
    let captured = if text.contains("[record]") {
        text.replace("[record]", &format!("[record]\ncapture = [{list}]"))
    } else {
        format!("{text}\n[record]\ncapture = [{list}]\n")
    };
    let with = Kept::run(&format!("{name}-with"), &captured, seed);
    assert_eq!(with.numbers(), without.numbers(), "{captured}");
    let (a, b) = (with.files("parquet"), without.files("parquet"));
    assert!(a.len() > 5 && a == b, "tables differ: {:?}\n{captured}", a.keys());
    assert_eq!(with.files("pcapng").len(), places.len());
    assert!(without.files("pcapng").is_empty());
    with
}

/// The number after a word of a comment.
fn number(frame: &Frame, word: &str) -> Option<i64> {
    let comment = frame.comment.as_deref().expect("every frame has a comment");
    let mut words = comment.split([' ', ',', ':']).filter(|w| !w.is_empty());
    words.find(|w| *w == word)?;
    words.next()?.parse().ok()
}

/// The picosecond of a frame, at the end of its comment.
fn picosecond(frame: &Frame) -> i64 {
    let comment = frame.comment.as_deref().expect("every frame has a comment");
    let text = comment.strip_suffix(" ps").and_then(|c| c.rsplit(' ').next()).expect("it ends with the picosecond");
    let ps: i64 = text.parse().expect("a number");
    assert_eq!(frame.at as i64, ps / 1000, "nanoseconds are picoseconds rounded down");
    ps
}

/// Ethernet adds preamble, check sequence and interframe gap to the length in a capture.
const BESIDE: u32 = 24;

/// Asserts that a link's capture matches its row in the table of links, in order, with no two
/// frames at the same time.
fn check_link(kept: &Kept, link: i64, bps: i64) {
    let frames = kept.capture(&format!("link-{link}.pcapng"));
    let rows = kept.rows("links", ["link", "sent_packets", "sent_bytes"]);
    let row = rows.iter().find(|r| r[0] == link).expect("its row");
    let bytes: u32 = frames.iter().map(|f| f.length + BESIDE).sum();
    assert_eq!([frames.len() as i64, i64::from(bytes)], row[1..], "link {link}");
    let mut free = 0;
    for frame in &frames {
        let at = picosecond(frame);
        assert!(at >= free, "link {link}: {at} ps is before {free} ps, when it is free: {frame:?}");
        free = at + i64::from(frame.length + BESIDE) * 8_000_000_000 / (bps / 1000);
    }
}

fn all(word: &str, numbers: impl Iterator<Item = i64>) -> Vec<String> {
    numbers.map(|n| format!("{word} {n}")).collect()
}

const SLOTS: &str = r#"
[fabric]
topology.single_switch = { hosts = 4 }
rate = "10 Gb/s"
[workload.shuffle]
bytes = "400 kB"
[scheme.it]
transport.raw = {}
plan.tdma = { slot = "100 us", guard = "15 us", signals = { reaction = "immediate" } }
"#;

/// Every frame that a host sends is in the slot that its comment names. The bytes of a slot match
/// the table of slots.
#[test]
fn frames_name_their_slots() {
    // Gates by the clock: with signals a slot can end later.
    let text = SLOTS.replace(", signals = { reaction = \"immediate\" }", "");
    let kept = same("slots", &text, 1, &["host 0".to_owned(), "link 0".to_owned(), "controller 0".to_owned()]);
    let mut slots = BTreeMap::new();
    for [round, slot, start, open, source, destination, sent] in
        kept.rows("slots", ["round", "slot", "start_ps", "open_ps", "source", "destination", "sent_bytes"])
    {
        if source == 0 {
            slots.insert((round, slot), (start, open, destination, sent));
        }
    }
    let frames: Vec<Frame> =
        kept.capture("host-0.pcapng").into_iter().filter(|f| f.interface == 0 && f.direction == Some(2)).collect();
    let rate: i64 = 10_000_000_000;
    let mut sent = BTreeMap::<(i64, i64), i64>::new();
    for frame in &frames {
        let slot = (number(frame, "round").expect("a round"), number(frame, "slot").expect("a slot"));
        let &(start, open, destination, _) = slots.get(&slot).expect("a slot that was planned");
        let at = picosecond(frame);
        assert!(at >= start && at < start + open, "{frame:?} in a slot from {start} for {open}");
        assert_eq!(frame.bytes[..6], [2, 0, 0, 0, 0, destination as u8]);
        *sent.entry(slot).or_default() += i64::from(frame.length + BESIDE);
    }
    let of_table: BTreeMap<_, _> = slots.iter().filter(|s| s.1.3 > 0).map(|(slot, s)| (*slot, s.3)).collect();
    assert_eq!(sent, of_table);
    assert!(sent.len() > 3, "{sent:?}");
    check_link(&kept, 0, rate);
    // The frames of a host are those of its link.
    let link = kept.capture("link-0.pcapng");
    let without_direction = |f: &Frame| (f.at, f.bytes.clone(), f.length, f.comment.clone());
    assert!(frames.iter().map(without_direction).eq(link.iter().map(without_direction)));
}

/// Messages of agents appear at their sender and at their receiver, as often as the table of
/// control messages counts them.
#[test]
fn messages_are_counted_at_both_ends() {
    let kept = same("messages", SLOTS, 2, &["host 1".to_owned(), "controller 0".to_owned()]);
    let host = kept.capture("host-1.pcapng");
    let controller = kept.capture("controller-0.pcapng");
    let address = [2, 0, 0, 0, 0, 1];
    let agent: Vec<&Frame> = host.iter().filter(|f| f.interface == 1 && f.bytes[12..14] != [0x88, 0xb6]).collect();
    let of_host = |f: &&Frame, at: usize| f.bytes[at..at + 6] == address;
    let to_host: Vec<&Frame> = controller.iter().filter(|f| of_host(f, 0)).collect();
    let from_host: Vec<&Frame> = controller.iter().filter(|f| of_host(f, 6)).collect();
    let toward = |frames: &[&Frame], direction| -> Vec<Frame> {
        frames.iter().filter(|f| f.direction == Some(direction)).map(|f| (*f).clone()).collect()
    };
    for (sent, heard) in [(toward(&agent, 2), toward(&from_host, 1)), (toward(&to_host, 2), toward(&agent, 1))] {
        assert!(heard.len() > 1, "{}", heard.len());
        let mut under_way = sent.clone();
        for frame in &heard {
            let place = under_way.iter().position(|f| f.bytes == frame.bytes).expect("what is heard was said");
            assert!(picosecond(&under_way.remove(place)) < picosecond(frame));
        }
        // The run ends while the last ones are under way.
        let end = kept.summary.simulated_ps;
        assert!(under_way.iter().all(|f| picosecond(f) > end - 100_000_000), "{under_way:?}");
    }
    let bytes = |frames: &[&Frame]| frames.iter().map(|f| i64::from(f.length + BESIDE)).sum::<i64>();
    let reported: i64 = kept
        .rows("control", ["messages", "bytes"])
        .iter()
        .zip(kept_words(&kept))
        .filter(|(_, (kind, sender))| kind == "report" && *sender == Some(1))
        .map(|(row, _)| row[1])
        .sum();
    let out: Vec<&Frame> = agent.iter().copied().filter(|f| f.direction == Some(2)).collect();
    assert_eq!(bytes(&out), reported);
    assert!(to_host.iter().any(|f| f.bytes[12..14] == [0x88, 0xb5]), "signals are among them");
}

/// Kind and sender of each row of control messages.
fn kept_words(kept: &Kept) -> Vec<(String, Option<i64>)> {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt32Type;
    use arrow_schema::DataType;
    let file = std::fs::File::open(kept.folder.join("control.parquet")).expect("a table");
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let mut rows = Vec::new();
    for batch in reader.build().expect("Parquet") {
        let batch = batch.expect("rows");
        let kinds = arrow_cast::cast(batch.column_by_name("kind").expect("a column"), &DataType::Utf8).expect("text");
        let senders = batch.column_by_name("sender").expect("a column").as_primitive::<UInt32Type>().clone();
        rows.extend((0..batch.num_rows()).map(|i| {
            let sender = senders.is_valid(i).then(|| i64::from(senders.value(i)));
            (kinds.as_string::<i32>().value(i).to_owned(), sender)
        }));
    }
    rows
}

/// Wires that fail and change: a frame that was cut had started, and a packet that never left is
/// missing.
#[test]
fn what_fails_is_seen_as_far_as_it_went() {
    let text = r#"
[fabric]
topology.leaf_spine = { leaves = 2, hosts_per_leaf = 2, spines = 2 }
rate = "1 Gb/s"
switch.buffer.per_port = "60 kB"
[workload.poisson]
load = 0.7
sizes.exponential = "40 kB"
[window]
measure = "20 ms"
drain = "5 ms"
[[failure]]
element.wire = 1
at = "3 ms"
until = "6 ms"
[[failure]]
element.switch = 1
at = "9 ms"
until = "11 ms"
[[change]]
wires.wire = 0
at = "5 ms"
rates = ["900 Mb/s"]
[scheme.it]
transport.tcp = { min_rto = "2 ms" }
"#;
    let links: Vec<i64> = (0..16).collect();
    let kept = same("failures", text, 3, &all("link", links.iter().copied()));
    let rows = kept.rows("links", ["link", "sent_packets"]);
    let lost: i64 = kept.rows("drops", ["packets"]).iter().map(|r| r[0]).sum();
    let (mut cut, mut queued) = (0, 0);
    for link in links {
        let frames = kept.capture(&format!("link-{link}.pcapng"));
        let sent = rows.iter().find(|r| r[0] == link).expect("its row")[1];
        let more = frames.len() as i64 - sent;
        // A link counts packets that have left or will leave. For the packet that was leaving there
        // is a frame at each of the two failures.
        assert!(more <= 2, "link {link}: {} frames, {sent} sent", frames.len());
        cut += more.max(0);
        queued += (-more).max(0);
        assert!(frames.windows(2).all(|w| picosecond(&w[0]) < picosecond(&w[1])), "link {link}");
    }
    // Packets that wait for their turn when the run ends have not left.
    let in_flight = kept.summary.packets.in_flight as i64;
    assert!(lost > 0 && cut > 0 && queued <= in_flight, "{lost} lost, {cut} cut, {queued} of {in_flight} queued");
}

/// Pauses of a switch are frames of their links, as many as the table of control messages says.
#[test]
fn pauses_are_frames() {
    let text = r#"
[fabric]
topology.single_switch = { hosts = 5 }
rate = "10 Gb/s"
switch.pfc = { pause_at = "30 kB", resume_at = "15 kB" }
[workload.poisson]
load = 0.9
pattern.incast = { receiver = 0 }
sizes.fixed = "200 kB"
[window]
measure = "2 ms"
[scheme.it]
transport.datagrams = {}
"#;
    let kept = same("pauses", text, 1, &all("host", 0..5));
    let pauses: usize = (0..5)
        .map(|h| {
            let frames = kept.capture(&format!("host-{h}.pcapng"));
            frames.iter().filter(|f| f.bytes[12..16] == [0x88, 0x08, 0x01, 0x01]).count()
        })
        .sum();
    let counted = kept.rows("control", ["messages"]);
    assert_eq!(counted.len(), 1, "pauses alone");
    assert_eq!(pauses as i64, counted[0][0]);
    assert!(pauses > 4, "{pauses}");
}

const SINGLE: &str = "topology.single_switch = { hosts = 4 }";
const LEAVES: &str = "topology.leaf_spine = { leaves = 2, hosts_per_leaf = 2, spines = 2 }";

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// For any scheme: a capture changes nothing, and the capture of each link matches its row in
    /// the table of links.
    #[test]
    fn a_capture_changes_nothing_and_misses_nothing(
        topology in prop::sample::select(vec![SINGLE, LEAVES]),
        fabric in prop::sample::select(vec![
            "", r#"switch.forwarding = "cut_through""#, r#"switch.buffer.per_port = "40 kB""#,
            r#"switch.buffer.shared = { memory = "60 kB", alpha = 1.0 }"#, r#"propagation = "30 us""#, "bit_error = 1e-6",
        ]),
        scheme in prop::sample::select(vec![
            "transport.datagrams = {}", "transport.raw = {}", "transport.tcp = {}",
            "transport.tcp = { handshake = true, sack = true }", "transport.tcp = { timestamps = true }",
            "transport.raw = {}\nplan.tdma = { slot = \"100 us\", guard = \"15 us\" }",
            "transport.datagrams = {}\nplan.tdma = { slot = \"80 us\", guard = \"20 us\", clock_error = \"30 us\" }",
            "transport.tcp = {}\nplan.tdma = { slot = \"100 us\", guard = \"15 us\" }",
            "transport.raw = {}\nplan.timeslots = {}",
            "transport.datagrams = {}\nplan.rates = {}",
        ]),
        load in prop::sample::select(vec![0.2, 0.7]),
        seed in 0u64..1000,
    ) {
        let text = format!(
            "[fabric]\n{topology}\nrate = \"10 Gb/s\"\n{fabric}\n[workload.poisson]\nload = {load}\nsizes.exponential = \"30 kB\"\n\
             [window]\nmeasure = \"1 ms\"\ndrain = \"2 ms\"\n[scheme.it]\n{scheme}\n"
        );
        let links = if topology == SINGLE { 8 } else { 16 };
        let kept = same("any", &text, seed, &all("link", 0..links));
        let rows = kept.rows("links", ["link", "sent_packets"]);
        // A run that ends at a given time has packets in flight, some of which were to leave later.
        let mut in_flight = kept.summary.packets.in_flight as i64;
        for [link, sent] in rows {
            let frames = kept.capture(&format!("link-{link}.pcapng"));
            let missing = sent - frames.len() as i64;
            in_flight -= missing;
            prop_assert!(missing >= 0 && in_flight >= 0, "link {}: {} frames, {} sent\n{}", link, frames.len(), sent, text);
            prop_assert!(frames.windows(2).all(|w| picosecond(&w[0]) < picosecond(&w[1])), "link {}\n{}", link, text);
        }
    }
}
