//! Logs of iperf3: the throughput of a real link, second by second.
//!
//! Only the text format of iperf3 is read.

use crate::error::{InputError, shorten};
use timeplane_model::{Bytes, Duration, Rate};

/// Role of the host that wrote the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IperfRole {
    /// The host received (`RX`).
    Receives,
    /// The host sent (`TX`).
    Sends,
}

/// An interval of a stream, from one line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IperfInterval {
    /// Start, from the start of the test.
    pub begin: Duration,
    /// End, from the start of the test.
    pub end: Duration,
    /// Application bytes, as exact as the log's three digits.
    pub transferred: Bytes,
    /// Application bits per second, as exact as the log's three digits.
    pub rate: Rate,
}

/// One stream of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IperfStream {
    /// Number of the stream in the log.
    pub id: u32,
    /// Role of the host that wrote the log; `None` if the log does not state it.
    pub role: Option<IperfRole>,
    /// Consecutive intervals from time 0.
    pub intervals: Vec<IperfInterval>,
    /// Total of the test, if the log has it.
    pub total: Option<IperfInterval>,
}

/// The streams of a log, in order of appearance.
///
/// Lines such as `[  6][RX-S]   1.00-2.00   sec  76.3 MBytes   640 Mbits/sec` and totals, which end
/// with `sender` or `receiver`, are read. The role in brackets may be missing, and columns after
/// the rate are ignored. Prefixes of bytes are powers of 1024 and those of bits are powers of 1000,
/// as iperf3 writes them. Other lines of iperf3 are skipped; any other line is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IperfLog {
    /// All streams with at least one interval.
    pub streams: Vec<IperfStream>,
}

impl IperfLog {
    /// Parses a log.
    ///
    /// # Errors
    /// If a line is not iperf3's, if an interval does not start where the last one ends, or if
    /// there are no intervals.
    pub fn parse(file: &str, text: &str) -> Result<Self, InputError> {
        let mut streams: Vec<IperfStream> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let number = i as u64 + 1;
            let wrong = |allowed: &str| InputError::line(file, number, shorten(line), allowed);
            if is_prose(line) {
                continue;
            }
            let parsed = IntervalLine::parse(line).ok_or_else(|| {
                wrong("a line of iperf3, such as `[  6][RX-S]   1.00-2.00   sec  76.3 MBytes   640 Mbits/sec`")
            })?;
            let IntervalLine { id, role, interval, is_total } = parsed;
            // Another test in the same log starts new streams.
            let open = streams.iter_mut().rev().find(|s| s.id == id && s.role == role && s.total.is_none());
            if is_total {
                let stream = open.ok_or_else(|| wrong("a total after its intervals"))?;
                if interval.begin != Duration::ZERO {
                    return Err(wrong("a total from the begin of its test"));
                }
                stream.total = Some(interval);
                continue;
            }
            let expected = open.as_ref().and_then(|s| s.intervals.last()).map_or(Duration::ZERO, |l| l.end);
            if interval.begin != expected || interval.end <= interval.begin {
                return Err(wrong("intervals that begin where the last one ended"));
            }
            match open {
                Some(stream) => stream.intervals.push(interval),
                None => streams.push(IperfStream { id, role, intervals: vec![interval], total: None }),
            }
        }
        if streams.is_empty() {
            return Err(InputError::file(file, "there are no intervals", "a test that has run"));
        }
        Ok(Self { streams })
    }
}

impl IperfStream {
    /// Rate at a time; `None` before the start and from the end on.
    pub fn rate_at(&self, at: Duration) -> Option<Rate> {
        let i = self.intervals.partition_point(|x| x.end <= at);
        self.intervals.get(i).filter(|x| x.begin <= at).map(|x| x.rate)
    }
}

/// Whether a line of iperf3 has no relevant numbers.
fn is_prose(line: &str) -> bool {
    let line = line.trim();
    const BEGINS: [&str; 8] = [
        "Server listening",
        "Accepted connection",
        "Connecting to host",
        "Reverse mode",
        "iperf3:",
        "iperf Done",
        "[ ID]",
        "[SUM]",
    ];
    line.bytes().all(|b| matches!(b, b'-' | b' '))
        || BEGINS.iter().any(|b| line.starts_with(b))
        || line.starts_with('[') && line.contains("] local ")
}

struct IntervalLine {
    id: u32,
    role: Option<IperfRole>,
    interval: IperfInterval,
    is_total: bool,
}

impl IntervalLine {
    fn parse(line: &str) -> Option<Self> {
        let (id, mut rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let mut role = None;
        if let Some(bracket) = rest.strip_prefix('[') {
            let (name, after) = bracket.split_once(']')?;
            role = Some(match name {
                "RX-S" | "RX-C" => IperfRole::Receives,
                "TX-S" | "TX-C" => IperfRole::Sends,
                _ => return None,
            });
            rest = after;
        }
        let mut words = rest.split_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        if words.next()? != "sec" {
            return None;
        }
        let seconds = |text: &str| Some(Duration::from_secs_f64(number(text, 1e6)?));
        let transferred = number(words.next()?, 1e6)? * prefix(words.next()?.strip_suffix("Bytes")?, 1024.0)?;
        let rate = number(words.next()?, 1e6)? * prefix(words.next()?.strip_suffix("bits/sec")?, 1000.0)?;
        let interval = IperfInterval {
            begin: seconds(begin)?,
            end: seconds(end)?,
            transferred: Bytes::new(transferred.round() as u64),
            rate: Rate::bps(rate.round() as u64),
        };
        let is_total = matches!(words.next_back(), Some("sender" | "receiver"));
        Some(Self { id: id.trim().parse().ok()?, role, interval, is_total })
    }
}

/// A number of digits and a decimal point, from 0 to `most`.
fn number(text: &str, most: f64) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse::<f64>().ok().filter(|x| plain && (0.0..=most).contains(x))
}

fn prefix(name: &str, step: f64) -> Option<f64> {
    Some(match name {
        "" => 1.0,
        "K" => step,
        "M" => step * step,
        "G" => step * step * step,
        "T" => step * step * step * step,
        _ => return None,
    })
}
