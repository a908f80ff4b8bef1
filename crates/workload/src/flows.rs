//! Lists of flows in CSV and Parquet files.
//!
//! Reads lists as workloads, and writes the arrivals of a workload as a list.

use crate::cdf::LARGEST;
use crate::error::{WorkloadError, shown};
use crate::input::Input;
use crate::source::{Facts, FlowArrival, LATEST};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, UInt32Array, UInt64Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use timeplane_model::{Bytes, CoflowId, Duration, Fabric, HostId};
use timeplane_results::{check_footer, check_pages};
use timeplane_scenario::FlowList;

/// The columns of a flow list; the first four are required.
const COLUMNS: [&str; 5] = ["start_ps", "source", "destination", "size_bytes", "coflow"];
const COLUMNS_TEXT: &str = "columns `start_ps`, `source`, `destination`, `size_bytes`, in any order; beside them `coflow`, \
                            a group's number, and `flow`, which is ignored";

#[derive(Clone, Copy, Debug)]
struct Row {
    at: i64,
    bytes: u64,
    source: u32,
    destination: u32,
    /// Number of the coflow, or `NO_COFLOW`.
    coflow: u32,
}

const NO_COFLOW: u32 = u32::MAX;

/// A list of flows in order of start.
#[derive(Debug)]
pub(crate) struct FlowSource {
    rows: Vec<Row>,
    /// Coflows in the order of their first flows: name and first start.
    coflows: Vec<(u64, Duration)>,
}

/// Reads rows and checks each.
struct Reader<'a> {
    input: &'a Input,
    hosts: u32,
    rows: Vec<Row>,
    names: Vec<u64>,
    numbers: HashMap<u64, u32>,
    total: u64,
}

impl Reader<'_> {
    /// Adds a row: its numbers, if its cells are numbers, and the text of its cells for messages.
    fn push(
        &mut self,
        line: impl Fn() -> u64,
        numbers: [Option<u64>; 4],
        coflow: Option<u64>,
        found: impl Fn(usize) -> String,
    ) -> Result<(), WorkloadError> {
        let input = self.input;
        let bad = |c: usize, allowed: String| input.cell_error(line(), COLUMNS[c], found(c), allowed);
        let at = numbers[0].and_then(|s| i64::try_from(s).ok()).filter(|s| *s <= LATEST);
        let at = at.ok_or_else(|| bad(0, "whole picoseconds, from 0 to 53 days (4.6e18)".to_owned()))?;
        let hosts = u64::from(self.hosts);
        let host = |c: usize| match numbers[c] {
            Some(h) if h < hosts => Ok(h as u32),
            _ => Err(bad(c, format!("a host, 0 to {}", hosts - 1))),
        };
        let (source, destination) = (host(1)?, host(2)?);
        if source == destination {
            return Err(input.line_error(line(), format!("host {source} sends to itself"), "two different hosts"));
        }
        let bytes = numbers[3].filter(|b| (1..=LARGEST).contains(b));
        let bytes = bytes.ok_or_else(|| bad(3, "whole bytes, from 1 to 1e15".to_owned()))?;
        let total = self.total.checked_add(bytes);
        self.total =
            total.ok_or_else(|| input.line_error(line(), "more than 18 EB up to here", "less than that in all"))?;
        let coflow = match coflow {
            None => NO_COFLOW,
            Some(name) => *self.numbers.entry(name).or_insert_with(|| {
                self.names.push(name);
                self.names.len() as u32 - 1
            }),
        };
        self.rows.push(Row { at, bytes, source, destination, coflow });
        Ok(())
    }

    /// Finds [`COLUMNS`] in a header; returns their positions.
    fn columns<'h>(&self, names: impl Iterator<Item = &'h [u8]>) -> Result<[Option<usize>; 5], WorkloadError> {
        let mut places = [None; 5];
        for (i, name) in names.enumerate() {
            let name = name.trim_ascii();
            if name == b"flow" {
                continue;
            }
            let place = COLUMNS.iter().position(|c| c.as_bytes() == name);
            match place.map(|p| &mut places[p]) {
                Some(place @ None) => *place = Some(i),
                Some(_) => {
                    return Err(self.input.line_error(1, format!("the column `{}` twice", shown(name)), COLUMNS_TEXT));
                }
                None => return Err(self.input.line_error(1, format!("the column `{}`", shown(name)), COLUMNS_TEXT)),
            }
        }
        match places[..4].iter().position(Option::is_none) {
            Some(p) => Err(self.input.line_error(1, format!("no column `{}`", COLUMNS[p]), COLUMNS_TEXT)),
            None => Ok(places),
        }
    }

    fn csv(&mut self) -> Result<(), WorkloadError> {
        let input = self.input;
        let bytes = input.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&input.bytes);
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let mut record = csv::ByteRecord::new();
        let read = |reader: &mut csv::Reader<&[u8]>, record: &mut csv::ByteRecord| {
            let more = reader.read_byte_record(record);
            more.map_err(|e| input.file_error(e.to_string(), "the file must be CSV"))
        };
        if !read(&mut reader, &mut record)? {
            return Err(input.file_error("the file is empty", COLUMNS_TEXT));
        }
        let places = self.columns(record.iter())?;
        let width = record.len();
        let [Some(start), Some(source), Some(destination), Some(size), coflow] = places else {
            return Err(input.file_error("columns are missing", COLUMNS_TEXT));
        };
        while read(&mut reader, &mut record)? {
            let begin = record.position().map_or(0, csv::Position::byte) as usize;
            let line = || line_at(bytes, begin);
            if record.len() != width {
                let allowed = format!("as many as the header has, {width}");
                return Err(input.line_error(line(), format!("{} cells", record.len()), allowed));
            }
            let group =
                match coflow.map(|c| record[c].trim_ascii()) {
                    None | Some(b"") => None,
                    Some(text) => Some(whole(text).ok_or_else(|| {
                        input.cell_error(line(), COLUMNS[4], shown(text), "a whole number, or nothing")
                    })?),
                };
            let four = [start, source, destination, size];
            self.push(line, four.map(|i| whole(record[i].trim_ascii())), group, |c| shown(&record[four[c]]))?;
        }
        Ok(())
    }

    /// Reads Parquet. The Parquet library panics on some damaged files; such a panic becomes an
    /// error here.
    fn parquet(&mut self, path: &Path) -> Result<(), WorkloadError> {
        let input = self.input;
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.decode_parquet(path)));
        read.unwrap_or_else(|_| Err(input.file_error("damaged data", "the file must be Parquet")))
    }

    fn decode_parquet(&mut self, path: &Path) -> Result<(), WorkloadError> {
        let input = self.input;
        let bad = |e: &dyn std::fmt::Display| input.file_error(e.to_string(), "the file must be Parquet");
        let file = File::open(path).map_err(|source| WorkloadError::Read { path: path.to_owned(), source })?;
        check_footer(&file).map_err(|e| bad(&e))?;
        let second = file.try_clone().map_err(|e| bad(&e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(second).map_err(|e| bad(&e))?;
        let schema = builder.schema().clone();
        let places = self.columns(schema.fields().iter().map(|f| f.name().as_bytes()))?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().flatten().copied());
        check_pages(&file, builder.metadata(), |leaf| mask.leaf_included(leaf)).map_err(|e| bad(&e))?;
        let reader = builder.with_projection(mask).build().map_err(|e| bad(&e))?;
        let mut line = 0;
        for batch in reader {
            let batch = batch.map_err(|e| bad(&e))?;
            let column = |name: &'static str| {
                batch.column_by_name(name).map(|array| {
                    Integers::of(array).ok_or_else(|| {
                        let found = format!("the column `{name}` holds {}", array.data_type());
                        input.file_error(found, "whole numbers: int32, int64, uint32 or uint64")
                    })
                })
            };
            let missing = || input.file_error("columns are missing", COLUMNS_TEXT);
            let mut four = [None; 4];
            for (place, name) in four.iter_mut().zip(COLUMNS) {
                *place = Some(column(name).ok_or_else(missing)??);
            }
            let coflow = column(COLUMNS[4]).transpose()?;
            let [Some(start), Some(source), Some(destination), Some(size)] = four else { return Err(missing()) };
            let four = [start, source, destination, size];
            for row in 0..batch.num_rows() {
                line += 1;
                let group =
                    match coflow.and_then(|column| column.get(row)) {
                        None => None,
                        Some(name) => Some(u64::try_from(name).map_err(|_| {
                            input.cell_error(line, COLUMNS[4], name.to_string(), "0 or more, or nothing")
                        })?),
                    };
                let numbers = four.map(|column| column.get(row).and_then(|n| u64::try_from(n).ok()));
                self.push(
                    || line,
                    numbers,
                    group,
                    |c| four[c].get(row).map_or("nothing".to_owned(), |n| n.to_string()),
                )?;
            }
        }
        Ok(())
    }
}

/// A column of whole numbers.
#[derive(Clone, Copy)]
enum Integers<'a> {
    I32(&'a Int32Array),
    I64(&'a Int64Array),
    U32(&'a UInt32Array),
    U64(&'a UInt64Array),
}

impl<'a> Integers<'a> {
    fn of(array: &'a ArrayRef) -> Option<Self> {
        let any = array.as_any();
        None.or_else(|| any.downcast_ref().map(Self::I32))
            .or_else(|| any.downcast_ref().map(Self::I64))
            .or_else(|| any.downcast_ref().map(Self::U32))
            .or_else(|| any.downcast_ref().map(Self::U64))
    }

    fn get(self, row: usize) -> Option<i128> {
        match self {
            Self::I32(a) => a.is_valid(row).then(|| a.value(row).into()),
            Self::I64(a) => a.is_valid(row).then(|| a.value(row).into()),
            Self::U32(a) => a.is_valid(row).then(|| a.value(row).into()),
            Self::U64(a) => a.is_valid(row).then(|| a.value(row).into()),
        }
    }
}

/// The line of the first cell at or after a position. Empty lines before a record belong to the
/// record.
fn line_at(bytes: &[u8], place: usize) -> u64 {
    let rest = bytes.get(place..).unwrap_or_default();
    let empty = rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
    let before = &bytes[..place.min(bytes.len()) + empty];
    1 + before.iter().filter(|&&b| b == b'\n').count() as u64
}

/// A whole number of decimal digits only.
fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |n, b| match b {
        b'0'..=b'9' => n.checked_mul(10)?.checked_add(u64::from(b - b'0')),
        _ => None,
    })
}

impl FlowSource {
    pub(crate) fn load(spec: &FlowList, base: &Path, fabric: &Fabric) -> Result<(Self, Facts), WorkloadError> {
        let input = Input::open("workload.flows.file", &spec.file, base, None)?;
        let parquet = input.bytes.starts_with(b"PAR1").then(|| base.join(&spec.file));
        Self::parse(&input, parquet.as_deref(), fabric.hosts())
    }

    /// Reads CSV, or Parquet from the file at `parquet`.
    pub(crate) fn parse(input: &Input, parquet: Option<&Path>, hosts: u32) -> Result<(Self, Facts), WorkloadError> {
        let (rows, names, numbers) = (Vec::new(), Vec::new(), HashMap::new());
        let mut reader = Reader { input, hosts, rows, names, numbers, total: 0 };
        match parquet {
            Some(path) => reader.parquet(path)?,
            None => reader.csv()?,
        }
        let Reader { mut rows, names, total, .. } = reader;
        if rows.is_empty() {
            return Err(input.file_error("there are no flows", "at least one"));
        }
        let sorted = !rows.is_sorted_by_key(|r| r.at);
        // The sort is stable: flows with equal starts keep their listed order.
        rows.sort_by_key(|r| r.at);
        let mut renumbered = vec![NO_COFLOW; names.len()];
        let mut coflows = Vec::with_capacity(names.len());
        for row in rows.iter_mut().filter(|r| r.coflow != NO_COFLOW) {
            let number = &mut renumbered[row.coflow as usize];
            if *number == NO_COFLOW {
                *number = coflows.len() as u32;
                coflows.push((names[row.coflow as usize], Duration::from_ps(row.at)));
            }
            row.coflow = *number;
        }
        let flows = rows.len() as u64;
        let facts = Facts {
            kind: "flows",
            files: vec![input.record()],
            flows: Some(flows),
            bytes: Some(total),
            mean_flow_bytes: total as f64 / flows as f64,
            coflows: (!coflows.is_empty()).then_some(coflows.len() as u64),
            sorted,
            ..Facts::default()
        };
        Ok((Self { rows, coflows }, facts))
    }

    pub(crate) fn coflows(&self) -> &[(u64, Duration)] {
        &self.coflows
    }

    pub(crate) fn arrivals(&self) -> impl Iterator<Item = FlowArrival> + Send + '_ {
        self.rows.iter().map(|r| FlowArrival {
            at: Duration::from_ps(r.at),
            source: HostId(r.source),
            destination: HostId(r.destination),
            bytes: Bytes::new(r.bytes),
            coflow: (r.coflow != NO_COFLOW).then_some(CoflowId(r.coflow)),
        })
    }
}

/// Writes flows as a CSV file that a [`FlowList`] and other simulators can read. Its columns are
/// `start_ps,source,destination,size_bytes`, and `coflow` if there are coflows (empty for a flow
/// without one). Returns the number of flows.
///
/// Flows before the first one with a coflow are held in memory, because the columns depend on it.
/// The caller must limit the arrivals of an endless workload.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_flow_list(path: &Path, mut flows: impl Iterator<Item = FlowArrival>) -> Result<u64, WorkloadError> {
    let mut write = || -> std::io::Result<u64> {
        let mut out = BufWriter::new(File::create(path)?);
        let mut coflows = false;
        let mut held = Vec::new();
        for flow in flows.by_ref() {
            coflows = flow.coflow.is_some();
            held.push(flow);
            if coflows {
                break;
            }
        }
        let columns = if coflows { &COLUMNS[..] } else { &COLUMNS[..4] };
        writeln!(out, "{}", columns.join(","))?;
        let mut count = 0;
        for f in held.into_iter().chain(flows.by_ref()) {
            write!(out, "{},{},{},{}", f.at.as_ps(), f.source.0, f.destination.0, f.bytes.get())?;
            match f.coflow {
                Some(coflow) if coflows => writeln!(out, ",{}", coflow.0)?,
                _ if coflows => writeln!(out, ",")?,
                _ => writeln!(out)?,
            }
            count += 1;
        }
        out.flush()?;
        Ok(count)
    };
    write().map_err(|source| WorkloadError::Write { path: path.to_owned(), source })
}
