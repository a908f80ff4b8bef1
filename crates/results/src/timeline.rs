//! A run's tables as a timeline for Perfetto: slots or circuits by sender, the schedule with its
//! guard and dark times, air links, queues, and TCP windows.
//!
//! Times in a trace are whole nanoseconds, rounded down; each slot has its picoseconds as values. A
//! timeline only draws what the tables hold.

mod air;

use crate::error::ResultsError;
use crate::perfetto::{TraceWriter, Track, Unit};
use crate::table_file::TableFile;
use crate::tables::{LinkRow, QueueRow, Row, SlotRow, TcpRow};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use timeplane_model::Duration;

/// Names of the values of slices, as viewers show them.
const VALUES: [&str; 12] = [
    "round",
    "slot",
    "source",
    "destination",
    "start_ps",
    "open_ps",
    "granted_bytes",
    "sent_bytes",
    "mcs",
    "rate_bps",
    "airtime_ps",
    "carried_bytes",
];

/// A run to draw as a timeline.
#[derive(Clone, Debug)]
pub struct TimelineRun {
    /// The folder of its tables.
    pub folder: PathBuf,
    /// Its name in the timeline, such as `slots, seed 1`.
    pub name: String,
    /// Whether its slots are circuits.
    pub circuits: bool,
    /// Interval at which queues were sampled.
    pub queues_every: Option<Duration>,
    /// Interval at which TCP senders were sampled.
    pub tcp_every: Option<Duration>,
    /// Simulated time.
    pub end: Duration,
}

/// Numbers of rows in a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineCounts {
    /// Transmissions of slots.
    pub slots: u64,
    /// States of air links.
    pub air: u64,
    /// Samples of queues.
    pub queues: u64,
    /// Samples of TCP senders.
    pub windows: u64,
}

/// Writes a timeline of runs, side by side, to a file, replacing an existing one.
///
/// # Errors
/// If a table cannot be read, or the file cannot be written.
pub fn write_timeline(path: &Path, runs: &[TimelineRun]) -> Result<TimelineCounts, ResultsError> {
    let wrong = |e| ResultsError::io("write", path, e);
    let file = File::create(path).map_err(|e| ResultsError::io("create", path, e))?;
    let mut trace = TraceWriter::new(BufWriter::new(file), &VALUES).map_err(wrong)?;
    let mut counts = TimelineCounts::default();
    for run in runs {
        let slots = Slots::read(&run.folder)?;
        let air = air::AirLinks::read(&run.folder)?;
        let queues = Samples::queues(&run.folder)?;
        let windows = Samples::windows(&run.folder)?;
        counts.slots += slots.rows.len() as u64;
        counts.air += air.len();
        counts.queues += queues.iter().map(|q| q.points.len() as u64).sum::<u64>();
        counts.windows += windows.iter().map(|w| w.points.len() as u64).sum::<u64>();
        add(&mut trace, run, &slots, &air, &queues, &windows).map_err(wrong)?;
    }
    trace.finish().map_err(wrong)?;
    Ok(counts)
}

fn add<W: Write>(
    trace: &mut TraceWriter<W>,
    run: &TimelineRun,
    slots: &Slots,
    air: &air::AirLinks,
    queues: &[Samples],
    windows: &[Samples],
) -> io::Result<()> {
    let process = trace.process(&run.name)?;
    if !slots.rows.is_empty() {
        slots.add_schedule(trace, process, run.circuits)?;
        slots.add_senders(trace, process, run.circuits)?;
    }
    air.add(trace, process, 3, run.end.as_ps())?;
    let mut counters = |rank, title: &str, all: &[Samples], every: Option<Duration>| {
        if all.is_empty() {
            return Ok(());
        }
        let group = trace.track(process, rank, title)?;
        all.iter().zip(0..).try_for_each(|(one, place)| one.add(trace, group, place, every))
    };
    counters(4, "queues", queues, run.queues_every)?;
    counters(5, "TCP", windows, run.tcp_every)
}

/// A transmission of the table of slots.
#[derive(Clone, Copy, Debug)]
struct Slot {
    round: u64,
    slot: u32,
    start: i64,
    open: i64,
    gap: i64,
    source: u32,
    destination: u32,
    granted: u64,
    sent: Option<u64>,
}

impl Slot {
    fn end(&self) -> i64 {
        self.start.saturating_add(self.open)
    }
    fn values(&self) -> Vec<(usize, i64)> {
        let mut values = vec![
            (0, self.round as i64),
            (1, self.slot.into()),
            (2, self.source.into()),
            (3, self.destination.into()),
            (4, self.start),
            (5, self.open),
            (6, self.granted as i64),
        ];
        values.extend(self.sent.map(|sent| (7, sent as i64)));
        values
    }
}

struct Slots {
    /// Sorted by start, round, slot and source.
    rows: Vec<Slot>,
}

impl Slots {
    fn read(folder: &Path) -> Result<Self, ResultsError> {
        let mut rows = Vec::new();
        read::<SlotRow>(folder, |t| {
            let [round, slot, start, open, gap, source, destination, granted] =
                ["round", "slot", "start_ps", "open_ps", "gap_ps", "source", "destination", "granted_bytes"]
                    .map(|c| t.numbers(c));
            let sent = t.nullable("sent_bytes");
            rows.extend((0..t.rows()).map(|i| Slot {
                round: round[i] as u64,
                slot: slot[i] as u32,
                start: start[i],
                open: open[i],
                gap: gap[i],
                source: source[i] as u32,
                destination: destination[i] as u32,
                granted: granted[i] as u64,
                sent: sent[i].map(|s| s as u64),
            }));
        })?;
        rows.sort_by_key(|s| (s.start, s.round, s.slot, s.source));
        Ok(Self { rows })
    }

    /// Adds the times at which slots are open, and the guard or dark times between them.
    fn add_schedule<W: Write>(&self, trace: &mut TraceWriter<W>, process: Track, circuits: bool) -> io::Result<()> {
        let mut of = BTreeMap::<(i64, u64, u32), (i64, i64, i64)>::new();
        for s in &self.rows {
            let pairs = of.entry((s.start, s.round, s.slot)).or_insert((s.open, s.gap, 0));
            pairs.0 = pairs.0.max(s.open);
            pairs.2 += 1;
        }
        let mut lanes = Lanes::new(process, 1, "schedule");
        let (category, what) = if circuits { ("circuit", "configuration") } else { ("slot", "slot") };
        // Round and end of the previous configuration.
        let mut before: Option<(u64, i64)> = None;
        for ((start, round, slot), (open, gap, pairs)) in of {
            if let Some((last, end)) = before.filter(|b| circuits && b.1 < start) {
                // Between the configurations of a period the switch is dark. Before the first
                // configuration of a period it may also have been idle.
                let name = if last == round { "dark" } else { "dark or idle" };
                lanes.slice(trace, (end, start), "dark", name, &[])?;
            }
            let name = format!("round {round} {what} {slot}: {pairs} pairs");
            let values = [(0, round as i64), (1, slot.into()), (4, start), (5, open)];
            // A table without a digest may have any numbers.
            let end = start.saturating_add(open);
            lanes.slice(trace, (start, end), category, &name, &values)?;
            if gap > 0 {
                lanes.slice(trace, (end, end.saturating_add(gap)), "guard", "guard", &[])?;
            }
            before = Some((round, before.map_or(end, |b| b.1.max(end))));
        }
        Ok(())
    }

    /// Adds every transmission, by sending host.
    fn add_senders<W: Write>(&self, trace: &mut TraceWriter<W>, process: Track, circuits: bool) -> io::Result<()> {
        let (category, title) = if circuits { ("circuit", "circuits") } else { ("slot", "slots") };
        let group = trace.track(process, 2, title)?;
        let mut by_source = BTreeMap::<u32, Vec<&Slot>>::new();
        self.rows.iter().for_each(|s| by_source.entry(s.source).or_default().push(s));
        for (source, slots) in by_source {
            let mut lanes = Lanes::new(group, source, &format!("host {source}"));
            for s in slots {
                lanes.slice(trace, (s.start, s.end()), category, &format!("to {}", s.destination), &s.values())?;
            }
        }
        Ok(())
    }
}

/// Tracks of the same name; as many as needed so that no slices overlap on one.
struct Lanes {
    parent: Track,
    rank: u32,
    name: String,
    /// Each track with the end of its last slice.
    tracks: Vec<(Track, u64)>,
}

impl Lanes {
    fn new(parent: Track, rank: u32, name: &str) -> Self {
        Self { parent, rank, name: name.to_owned(), tracks: Vec::new() }
    }

    /// Adds a slice; times are in ps. Slices have to be added in the order of their start.
    fn slice<W: Write>(
        &mut self,
        trace: &mut TraceWriter<W>,
        (begin, end): (i64, i64),
        category: &str,
        name: &str,
        values: &[(usize, i64)],
    ) -> io::Result<()> {
        let (begin, end) = (nanoseconds(begin), nanoseconds(end));
        let free = self.tracks.iter().position(|t| t.1 <= begin);
        let lane = match free {
            Some(lane) => lane,
            None => {
                let number = self.tracks.len() + 1;
                let name = if number > 1 { format!("{} ({number})", self.name) } else { self.name.clone() };
                self.tracks.push((trace.track(self.parent, self.rank, &name)?, 0));
                number - 1
            }
        };
        self.tracks[lane].1 = end;
        trace.slice(self.tracks[lane].0, (begin, end), category, name, values)
    }
}

/// Samples of one number over time.
struct Samples {
    name: String,
    unit: Unit,
    /// Time in ps and value, in the order of time.
    points: Vec<(i64, i64)>,
}

impl Samples {
    /// Reads a counter for each link that ever had a queue.
    fn queues(folder: &Path) -> Result<Vec<Self>, ResultsError> {
        let mut ends = BTreeMap::<u32, (i64, i64)>::new();
        read::<LinkRow>(folder, |t| {
            let [link, from, to] = ["link", "from", "to"].map(|c| t.numbers(c));
            ends.extend((0..t.rows()).map(|i| (link[i] as u32, (from[i], to[i]))));
        })?;
        let mut of = BTreeMap::<u32, Vec<(i64, i64)>>::new();
        read::<QueueRow>(folder, |t| {
            let [time, link, bytes] = ["time_ps", "link", "queue_bytes"].map(|c| t.numbers(c));
            (0..t.rows()).for_each(|i| of.entry(link[i] as u32).or_default().push((time[i], bytes[i])));
        })?;
        let name = |link: u32| match ends.get(&link) {
            Some((from, to)) => format!("link {link}, node {from} to {to}"),
            None => format!("link {link}"),
        };
        Ok(of.into_iter().map(|(link, points)| Self { name: name(link), unit: Unit::Bytes, points }).collect())
    }

    /// Reads the window, the bytes in flight and the smoothed round trip of each TCP sender.
    fn windows(folder: &Path) -> Result<Vec<Self>, ResultsError> {
        let mut of = BTreeMap::<(u32, u8), Vec<(i64, i64)>>::new();
        read::<TcpRow>(folder, |t| {
            let [time, flow, window, in_flight] =
                ["time_ps", "flow", "window_bytes", "in_flight_bytes"].map(|c| t.numbers(c));
            let rtt = t.nullable("smoothed_rtt_ps");
            for i in 0..t.rows() {
                let flow = flow[i] as u32;
                of.entry((flow, 0)).or_default().push((time[i], window[i]));
                of.entry((flow, 1)).or_default().push((time[i], in_flight[i]));
                if let Some(rtt) = rtt[i] {
                    of.entry((flow, 2)).or_default().push((time[i], rtt / 1000));
                }
            }
        })?;
        let counter = |((flow, which), points)| {
            let (what, unit) = match which {
                0 => ("window", Unit::Bytes),
                1 => ("in flight", Unit::Bytes),
                _ => ("smoothed round trip", Unit::Time),
            };
            Self { name: format!("flow {flow} {what}"), unit, points }
        };
        Ok(of.into_iter().map(counter).collect())
    }

    /// Adds the samples. If a sampling time has no row, the number was zero; round trips have no
    /// value then.
    fn add<W: Write>(
        &self,
        trace: &mut TraceWriter<W>,
        group: Track,
        rank: u32,
        every: Option<Duration>,
    ) -> io::Result<()> {
        let track = trace.counter(group, rank, &self.name, self.unit)?;
        for (i, &(at, value)) in self.points.iter().enumerate() {
            trace.value(track, nanoseconds(at), value)?;
            let next = self.points.get(i + 1).map_or(i64::MAX, |n| n.0);
            let every = every.filter(|_| self.unit == Unit::Bytes);
            if let Some(zero) = every.map(|every| at.saturating_add(every.as_ps())).filter(|zero| *zero < next) {
                trace.value(track, nanoseconds(zero), 0)?;
            }
        }
        Ok(())
    }
}

/// Converts to the unit of traces: whole nanoseconds from zero.
fn nanoseconds(ps: i64) -> u64 {
    (ps.max(0) / 1000) as u64
}

/// Rows of a table, column by column.
struct Columns<'a>(&'a RecordBatch);

impl Columns<'_> {
    fn rows(&self) -> usize {
        self.0.num_rows()
    }
    fn nullable(&self, name: &str) -> Vec<Option<i64>> {
        let column = self.0.column_by_name(name).expect("the table was looked at");
        let mut out = Vec::with_capacity(column.len());
        match column.data_type() {
            DataType::UInt32 => out.extend(column.as_primitive::<UInt32Type>().iter().map(|v| v.map(i64::from))),
            DataType::UInt64 => out.extend(column.as_primitive::<UInt64Type>().iter().map(|v| v.map(|v| v as i64))),
            _ => out.extend(column.as_primitive::<Int64Type>().iter()),
        }
        out
    }
    fn words(&self, name: &str) -> Vec<String> {
        let column = self.0.column_by_name(name).expect("the table was looked at");
        let words = column.as_dictionary::<Int32Type>();
        let texts = words.values().as_string::<i32>();
        // A table without a digest may have any keys.
        let word = |key: Option<i32>| {
            let place = usize::try_from(key?).ok().filter(|&k| k < texts.len())?;
            Some(texts.value(place).to_owned())
        };
        words.keys().iter().map(|key| word(key).unwrap_or_default()).collect()
    }
    fn numbers(&self, name: &str) -> Vec<i64> {
        self.nullable(name).into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// Reads a table of a run. A missing table has no rows.
fn read<R: Row>(folder: &Path, mut each: impl FnMut(&Columns<'_>)) -> Result<(), ResultsError> {
    let path = folder.join(R::TABLE).with_extension("parquet");
    let broken = |reason: String| ResultsError::BrokenRun { path: path.clone(), reason };
    let file = match TableFile::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(|e| ResultsError::io("read", &path, e))?.map_err(broken)?,
    };
    // A table of another version may have other columns.
    let known = R::schema();
    let names: Vec<&str> = known.fields().iter().map(|f| f.name().as_str()).collect();
    let places = file.places(&known, &names);
    let mut places = places.map_err(|reason| ResultsError::Column { path: path.clone(), reason })?;
    places.sort_unstable();
    for batch in file.read(&places, None).map_err(broken)? {
        each(&Columns(&batch.map_err(broken)?));
    }
    Ok(())
}
