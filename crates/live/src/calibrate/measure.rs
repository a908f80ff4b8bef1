//! What is measured, how often, and what is told of it.
//!
//! Repetitions show how far a figure can be trusted.

use crate::observer::Histogram;
use std::fmt::Write as _;
use timeplane_model::{Duration, Time};

/// Sizes of the frames whose cost is measured: the shortest, a middle one and the longest, in bytes
/// without preamble, FCS and inter-frame gap.
pub const SIZES: [usize; 3] = [60, 512, 1514];
/// Pauses between two samples. They have no common divisor with the kernel's ticks, and let the
/// threads fall asleep.
const PAUSES: [Duration; 3] = [Duration::from_us(310), Duration::from_us(970), Duration::from_us(170)];
/// Frames that are sent together to measure the cost of one.
pub const TOGETHER: usize = 16;

/// The way of a frame from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// When it was on the wire.
    pub wire: Time,
    /// When the receiving thread had it.
    pub read: Time,
}

/// A machine with a clock, threads, an interface and a control channel.
pub trait Bench {
    /// Why a measurement fails.
    type Error;
    /// The time.
    fn now(&mut self) -> Time;
    /// Sleeps until a time, as the loops of daemons do.
    ///
    /// # Errors
    /// If the system fails.
    fn sleep_until(&mut self, time: Time) -> Result<(), Self::Error>;
    /// Opens a gate, sends the longest frame, and waits until it has been received.
    ///
    /// # Errors
    /// If the system fails, or the frame is lost.
    fn cross(&mut self) -> Result<Crossing, Self::Error>;
    /// Sends a message over the control channel, and waits for the answer of the other loop.
    ///
    /// # Errors
    /// If the channel fails.
    fn ask(&mut self) -> Result<(), Self::Error>;
    /// The CPU time of sending [`TOGETHER`] frames of a size.
    ///
    /// # Errors
    /// If the system fails.
    fn work(&mut self, bytes: usize) -> Result<Duration, Self::Error>;
}

/// A value over several repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Of all repetitions.
    pub least: Duration,
    /// Half of the repetitions have less.
    pub median: Duration,
    /// Of all repetitions.
    pub most: Duration,
}

impl Spread {
    /// # Panics
    /// If there are no values.
    fn of(mut values: Vec<Duration>) -> Self {
        values.sort_unstable();
        Self { least: values[0], median: values[values.len() / 2], most: values[values.len() - 1] }
    }
}

/// Quantiles of latencies, each over all repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// What was measured.
    pub what: String,
    /// The quantile 0.01.
    pub p1: Spread,
    /// The median.
    pub p50: Spread,
    /// The quantile 0.99.
    pub p99: Spread,
    /// The quantile 0.999. With fewer than a thousand samples it is the longest one.
    pub p999: Spread,
}

impl Quantiles {
    fn of(what: impl Into<String>, repetitions: &[Histogram]) -> Self {
        let at = |share| {
            let of = |h: &Histogram| h.quantile(share).unwrap_or_default();
            Spread::of(repetitions.iter().map(of).collect())
        };
        Self { what: what.into(), p1: at(0.01), p50: at(0.5), p99: at(0.99), p999: at(0.999) }
    }
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// How much later than asked a sleeping thread wakes up.
    pub wake: Quantiles,
    /// From the decision to open a gate until a frame is on the wire.
    pub send: Quantiles,
    /// From the wire until the receiving thread has a frame.
    pub receive: Quantiles,
    /// A message over the control channel and its answer.
    pub round_trip: Quantiles,
    /// CPU time of sending a frame, by [size](SIZES).
    pub work: Vec<Quantiles>,
    /// How often everything was measured.
    pub repetitions: u32,
    /// Samples of each kind in a repetition.
    pub samples: u32,
}

impl Latencies {
    /// All kinds, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = &Quantiles> {
        [&self.wake, &self.send, &self.receive, &self.round_trip].into_iter().chain(&self.work)
    }

    /// A table of microseconds: the median of each quantile over all repetitions, and its range.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<34} {:>26} {:>26} {:>26}\n",
            format!("us; {} x {} samples", self.repetitions, self.samples),
            "p50",
            "p99",
            "p99.9"
        );
        let us = |time: Duration| time.as_ps() as f64 / 1e6;
        let cell = |s: Spread| format!("{:.1} ({:.1} to {:.1})", us(s.median), us(s.least), us(s.most));
        for q in self.all() {
            let _ = writeln!(text, "{:<34} {:>26} {:>26} {:>26}", q.what, cell(q.p50), cell(q.p99), cell(q.p999));
        }
        text
    }
}

/// Measures everything `repetitions` times, with this many samples of each kind.
///
/// # Errors
/// If one of them cannot be measured.
pub fn measure<B: Bench>(bench: &mut B, repetitions: u32, samples: u32) -> Result<Latencies, B::Error> {
    let empty = || vec![Histogram::new(); repetitions as usize];
    let (mut wake, mut send, mut receive, mut round_trip) = (empty(), empty(), empty(), empty());
    let mut work = [const { Vec::new() }; SIZES.len()].map(|_: Vec<Histogram>| empty());
    for n in 0..repetitions as usize {
        // The kinds take turns, so that a burst of load meets all of them.
        for sample in 0..samples as usize {
            let until = bench.now().saturating_add(PAUSES[sample % PAUSES.len()]);
            bench.sleep_until(until)?;
            let decided = bench.now();
            wake[n].record(decided - until);
            let Crossing { wire, read } = bench.cross()?;
            send[n].record(wire - decided);
            receive[n].record(read - wire);
            let asked = bench.now();
            bench.ask()?;
            round_trip[n].record(bench.now() - asked);
            for (place, bytes) in SIZES.into_iter().enumerate() {
                work[place][n].record(bench.work(bytes)? / TOGETHER as i64);
            }
        }
    }
    let of_size = |(place, bytes): (usize, usize)| Quantiles::of(format!("work of a frame, {bytes} B"), &work[place]);
    Ok(Latencies {
        wake: Quantiles::of("wake-up late", &wake),
        send: Quantiles::of("gate opened to frame on the wire", &send),
        receive: Quantiles::of("frame on the wire to its reader", &receive),
        round_trip: Quantiles::of("control channel, round trip", &round_trip),
        work: SIZES.into_iter().enumerate().map(of_size).collect(),
        repetitions,
        samples,
    })
}
