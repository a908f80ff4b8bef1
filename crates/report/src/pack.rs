//! Packs tables as text in a page: columns of integers with few bytes each, in one gzip stream as
//! base64.
//!
//! A column is `base + scale * n` with `n >= 0`: `base` is its smallest value, `scale` the greatest
//! common divisor of the differences from it. What is stored is `n` or, if that is shorter, the
//! zigzag encoding of its difference from the previous row. Numbers are written as planes: first
//! all lowest bytes, then all second bytes, and so on, because bytes of equal weight compress well
//! together. A nullable column starts with another plane: 1 for a value, 0 for none (`n` is 0
//! then). The streams of all columns are concatenated. `viewer/decode.js` unpacks them; [`unpack`]
//! does the same in Rust.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::{self, Read, Write};

/// A column to be packed.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name with the unit, as in the table of the results.
    pub name: String,
    /// One number per row; `None` is a missing value.
    pub values: Vec<Option<i64>>,
    /// The words, if the values are indices of words; otherwise empty.
    pub words: Vec<String>,
}

impl Column {
    /// A column of numbers without missing values.
    pub fn new(name: &str, values: impl IntoIterator<Item = i64>) -> Self {
        Self::nullable(name, values.into_iter().map(Some))
    }

    /// A column of numbers with missing values.
    pub fn nullable(name: &str, values: impl IntoIterator<Item = Option<i64>>) -> Self {
        Self { name: name.to_owned(), values: values.into_iter().collect(), words: Vec::new() }
    }

    /// A column of words, which are numbered in the order of their first appearance.
    pub fn words(name: &str, values: &[String]) -> Self {
        let mut words: Vec<String> = Vec::new();
        let number = |word: &String| {
            let at = words.iter().position(|w| w == word).unwrap_or_else(|| {
                words.push(word.clone());
                words.len() - 1
            });
            Some(at as i64)
        };
        let values = values.iter().map(number).collect();
        Self { name: name.to_owned(), values, words }
    }

    /// The unit at the end of the name; empty if there is none.
    pub fn unit(&self) -> &'static str {
        let units = [("_ps", "ps"), ("_bytes", "B"), ("_bps", "b/s"), ("_packets", "packets"), ("_ppm", "ppm")];
        units.into_iter().find(|(end, _)| self.name.ends_with(end)).map_or("", |(_, unit)| unit)
    }
}

/// A table in a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The columns and their encodings, for `viewer/decode.js`.
    pub head: Value,
    /// The compressed bytes as base64.
    pub data: String,
}

/// The encoding of a column's `n`, see the module.
struct Stream {
    delta: bool,
    width: usize,
    bytes: Vec<u8>,
}

/// Packs columns of one length.
///
/// # Panics
/// If the lengths differ.
pub fn pack(columns: &[Column]) -> Packed {
    let rows = columns.first().map_or(0, |c| c.values.len());
    let mut heads = Vec::with_capacity(columns.len());
    let mut all = Vec::new();
    for column in columns {
        assert_eq!(column.values.len(), rows, "columns of one length");
        let known = || column.values.iter().flatten().copied();
        let base = known().min().unwrap_or(0);
        let above = |v: i64| v.abs_diff(base);
        let scale = known().map(above).fold(0, divisor).max(1);
        let nullable = column.values.iter().any(Option::is_none);
        if nullable {
            all.extend(column.values.iter().map(|v| u8::from(v.is_some())));
        }
        let numbers: Vec<u64> = column.values.iter().map(|v| v.map_or(0, |v| above(v) / scale)).collect();
        let stream = shorter(&numbers);
        let mut head = json!({
            "name": column.name,
            "unit": column.unit(),
            "base": base,
            "scale": scale,
            "nullable": nullable,
            "delta": stream.delta,
            "width": stream.width,
        });
        if !column.words.is_empty() {
            head["words"] = json!(column.words);
        }
        heads.push(head);
        all.extend(stream.bytes);
    }
    Packed { head: json!({ "rows": rows, "columns": heads }), data: STANDARD.encode(gzip(&all, Compression::best())) }
}

/// Greatest common divisor; of 0 and `b`, `b`.
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Encodes the numbers or their differences, whichever a fast compression makes shorter.
/// Differences are used only if their sums fit a double exactly, because the page adds in doubles.
fn shorter(numbers: &[u64]) -> Stream {
    let plain = stream(numbers, false);
    if plain.width == 0 || numbers.iter().any(|&n| n >= 1 << 52) {
        return plain;
    }
    let mut before = 0i64;
    let mut zigzag = |&n: &u64| {
        let step = n as i64 - before;
        before = n as i64;
        ((step << 1) ^ (step >> 63)) as u64
    };
    let steps: Vec<u64> = numbers.iter().map(&mut zigzag).collect();
    let delta = stream(&steps, true);
    let cost = |s: &Stream| gzip(&s.bytes, Compression::fast()).len();
    if cost(&delta) < cost(&plain) { delta } else { plain }
}

fn stream(numbers: &[u64], delta: bool) -> Stream {
    let most = numbers.iter().copied().max().unwrap_or(0);
    let width = (u64::BITS - most.leading_zeros()).div_ceil(8) as usize;
    let mut bytes = Vec::with_capacity(width * numbers.len());
    for plane in 0..width {
        bytes.extend(numbers.iter().map(|n| (n >> (8 * plane)) as u8));
    }
    Stream { delta, width, bytes }
}

fn gzip(bytes: &[u8], level: Compression) -> Vec<u8> {
    // The header has no time and no name, so the same table gives the same text.
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

/// Unpacks a table as a page does.
///
/// # Errors
/// If the data or the head do not come from [`pack`].
pub fn unpack(packed: &Packed) -> io::Result<Vec<Column>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let text = STANDARD.decode(&packed.data).map_err(|e| wrong(&e.to_string()))?;
    let mut bytes = Vec::new();
    GzDecoder::new(&text[..]).read_to_end(&mut bytes)?;
    let rows = packed.head["rows"].as_u64().ok_or_else(|| wrong("no rows"))? as usize;
    let mut at = 0;
    let mut columns = Vec::new();
    for head in packed.head["columns"].as_array().ok_or_else(|| wrong("no columns"))? {
        let number = |key: &str| head[key].as_u64().ok_or_else(|| wrong(key));
        let truth = |key: &str| head[key].as_bool().ok_or_else(|| wrong(key));
        let (scale, width) = (number("scale")?, number("width")? as usize);
        let (nullable, delta) = (truth("nullable")?, truth("delta")?);
        let base = head["base"].as_i64().ok_or_else(|| wrong("base"))?;
        let mut planes = |count: usize| {
            at += count * rows;
            bytes.get(at - count * rows..at).ok_or_else(|| wrong("too short"))
        };
        let known = planes(usize::from(nullable))?;
        let planes = planes(width)?;
        let mut before = 0i64;
        let values = (0..rows).map(|row| {
            let mut n = (0..width).map(|plane| u64::from(planes[plane * rows + row]) << (8 * plane)).sum::<u64>();
            if delta {
                before += (n >> 1) as i64 ^ -((n & 1) as i64);
                n = before as u64;
            }
            (!nullable || known[row] != 0).then(|| base.wrapping_add_unsigned(n.wrapping_mul(scale)))
        });
        let words = head["words"]
            .as_array()
            .map_or(Vec::new(), |words| words.iter().map(|w| w.as_str().unwrap_or_default().to_owned()).collect());
        let name = head["name"].as_str().unwrap_or_default().to_owned();
        columns.push(Column { name, values: values.collect(), words });
    }
    Ok(columns)
}
