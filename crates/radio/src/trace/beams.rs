//! Received power by pair of beams, over time.
//!
//! Traces come from files or are computed matrix by matrix.

use crate::angle::Angle;
use crate::decibel::Dbm;
use crate::error::{InputError, shorten, shown};
use crate::sheet::Sheet;
use core::fmt::Write;
use core::ops::RangeInclusive;
use timeplane_model::Duration;

/// Matrices of received power per pair of transmit and receive beams, measured at some times and
/// linear in decibels between them.
///
/// The file is a table with a header and a line per time and pair of beams:
///
/// ```text
/// time_s,tx_deg,rx_deg,power_dbm
/// 0,-10,-10,-80.1
/// 0,-10,0,-74.5
/// ...
/// 0.1,-10,-10,-80.3
/// ```
///
/// - `time_s`: seconds, from 0 to 1e6, never falling; lines with equal times are adjacent.
///   Intervals between times may differ.
/// - `tx_deg`, `rx_deg`: pointing of the beams, degrees from -180 to 180. Each time has every pair
///   of the first time's beams once, in any order.
/// - `power_dbm`: from -200 to 60.
///
/// Lines that start with `#` are comments. A file of SNR values is rejected, because it does not
/// state the noise.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamTrace {
    sends: Vec<Angle>,
    listens: Vec<Angle>,
    times: Vec<Duration>,
    /// Levels in dBm by time, then transmit beam, then receive beam.
    levels: Vec<f64>,
}

/// The pair of beams with the most power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestBeams {
    /// Transmit beam, as index into [`BeamTrace::sends`].
    pub tx: usize,
    /// Receive beam, as index into [`BeamTrace::listens`].
    pub rx: usize,
    /// Received level.
    pub level: Dbm,
}

/// Why a matrix cannot be appended.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The number of pairs differs.
    #[error("{found} levels for {pairs} pairs of beams")]
    Size {
        /// Number of levels in the matrix.
        found: usize,
        /// Number of pairs of beams.
        pairs: usize,
    },
    /// The time is not after the last matrix, or is before 0.
    #[error("a matrix at {at}, not after the one before it")]
    Order {
        /// Time of the matrix.
        at: Duration,
    },
    /// A level is out of range.
    #[error("a level of {found}: from -200 to 60 dBm")]
    Level {
        /// The level in the matrix.
        found: Dbm,
    },
}

impl BeamTrace {
    /// Valid levels in dBm.
    pub const LEVELS_DBM: RangeInclusive<f64> = -200.0..=60.0;

    /// A trace of these beams with one matrix, at time 0: levels by transmit beam, then by receive
    /// beam.
    ///
    /// # Errors
    /// If the number of levels is wrong or zero, or if a level is out of range.
    pub fn new(sends: Vec<Angle>, listens: Vec<Angle>, first: &[Dbm]) -> Result<Self, MatrixError> {
        let mut trace = Self { sends, listens, times: Vec::new(), levels: Vec::new() };
        trace.push(Duration::ZERO, first)?;
        Ok(trace)
    }

    /// Appends a matrix at a later time.
    ///
    /// # Errors
    /// If the number of levels is wrong, if a level is out of range, or if the time is not after
    /// the last one.
    pub fn push(&mut self, at: Duration, levels: &[Dbm]) -> Result<(), MatrixError> {
        let pairs = self.sends.len() * self.listens.len();
        if levels.len() != pairs || pairs == 0 {
            return Err(MatrixError::Size { found: levels.len(), pairs });
        }
        if at.is_negative() || self.times.last().is_some_and(|&last| at <= last) {
            return Err(MatrixError::Order { at });
        }
        if let Some(&found) = levels.iter().find(|l| !Self::LEVELS_DBM.contains(&l.get())) {
            return Err(MatrixError::Level { found });
        }
        self.times.push(at);
        self.levels.extend(levels.iter().map(|l| l.get()));
        Ok(())
    }

    /// Parses a trace.
    ///
    /// # Errors
    /// If a cell is not a number or out of range, if times fall, or if a matrix lacks a pair or has
    /// one twice.
    pub fn parse(file: &str, text: &str) -> Result<Self, InputError> {
        let sheet = Sheet::read(file, text)?;
        let time = sheet.column("time_s")?;
        let (tx, rx, power) = (sheet.column("tx_deg")?, sheet.column("rx_deg")?, sheet.column("power_dbm")?);
        let rows = sheet.rows();
        let mut numbers = Vec::with_capacity(rows.len());
        for row in rows {
            let t = sheet.number(row, &time, 0.0..=1e6, "seconds from 0 to 1e6")?;
            // Decimals are read exactly, to a picosecond. Numbers with an exponent have the
            // precision of a double.
            let t = format!("{} s", sheet.text(row, &time)).parse().unwrap_or(Duration::from_secs_f64(t));
            let degrees = |column| sheet.number(row, column, -180.0..=180.0, "degrees from -180 to 180");
            let (s, l) = (Angle::degrees(degrees(&tx)?), Angle::degrees(degrees(&rx)?));
            numbers.push((t, s, l, sheet.number(row, &power, Self::LEVELS_DBM, "dBm from -200 to 60")?));
        }
        // The first time determines the beams.
        let first = numbers.iter().take_while(|n| n.0 == numbers[0].0);
        let beams = |of: fn(&(Duration, Angle, Angle, f64)) -> Angle| {
            let mut all: Vec<Angle> = first.clone().map(of).collect();
            all.sort_by(|a, b| a.as_degrees().total_cmp(&b.as_degrees()));
            all.dedup();
            all
        };
        let (sends, listens) = (beams(|n| n.1), beams(|n| n.2));
        let place = |all: &[Angle], a: Angle| all.binary_search_by(|b| b.as_degrees().total_cmp(&a.as_degrees())).ok();
        let pairs = sends.len() * listens.len();
        let mut trace = Self { sends, listens, times: Vec::new(), levels: Vec::new() };
        let mut matrix = vec![f64::NAN; pairs];
        for (i, &(t, s, l, level)) in numbers.iter().enumerate() {
            let row = &rows[i];
            let Some(s) = place(&trace.sends, s) else {
                return Err(sheet.cell(row, &tx, "a beam of the first time"));
            };
            let Some(l) = place(&trace.listens, l) else {
                return Err(sheet.cell(row, &rx, "a beam of the first time"));
            };
            let cell = &mut matrix[s * trace.listens.len() + l];
            if !cell.is_nan() {
                return Err(sheet.line(row, "this pair of beams twice", "each pair once per time"));
            }
            *cell = level;
            if numbers.get(i + 1).is_some_and(|next| next.0 == t) {
                continue;
            }
            // This is the last line of this time.
            if let Some(hole) = matrix.iter().position(|x| x.is_nan()) {
                let (s, l) = (trace.sends[hole / trace.listens.len()], trace.listens[hole % trace.listens.len()]);
                let found = format!(
                    "no power from {} to {} at {} s",
                    shown(s.as_degrees()),
                    shown(l.as_degrees()),
                    shorten(sheet.text(row, &time))
                );
                return Err(sheet.line(row, found, "every pair of beams at every time"));
            }
            if trace.times.last().is_some_and(|&last| t <= last) {
                return Err(sheet.cell(row, &time, "times that never fall, with all lines of a time together"));
            }
            trace.times.push(t);
            trace.levels.extend_from_slice(&matrix);
            matrix.fill(f64::NAN);
        }
        Ok(trace)
    }

    /// The trace as a file that [`BeamTrace::parse`] reads without loss.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("time_s,tx_deg,rx_deg,power_dbm\n");
        for (k, at) in self.times.iter().enumerate() {
            let time = seconds(*at);
            for (i, s) in self.sends.iter().enumerate() {
                for (j, l) in self.listens.iter().enumerate() {
                    let level = self.levels[(k * self.sends.len() + i) * self.listens.len() + j];
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{time},{},{},{level}", s.as_degrees(), l.as_degrees());
                }
            }
        }
        text
    }

    /// Pointing of the transmit beams.
    pub fn sends(&self) -> &[Angle] {
        &self.sends
    }

    /// Pointing of the receive beams.
    pub fn listens(&self) -> &[Angle] {
        &self.listens
    }

    /// Times of the matrices.
    pub fn times(&self) -> &[Duration] {
        &self.times
    }

    /// The matrices before and after a time, and the share of the interval that has passed.
    fn around(&self, at: Duration) -> (usize, usize, f64) {
        let after = self.times.partition_point(|&t| t <= at);
        let last = self.times.len() - 1;
        match (after.checked_sub(1), after <= last) {
            (None, _) => (0, 0, 0.0),
            (Some(_), false) => (last, last, 0.0),
            (Some(before), true) => {
                let (t0, t1) = (self.times[before], self.times[after]);
                (before, after, (at - t0).as_ps() as f64 / (t1 - t0).as_ps() as f64)
            }
        }
    }

    fn between(&self, (before, after, share): (usize, usize, f64), pair: usize) -> f64 {
        let pairs = self.sends.len() * self.listens.len();
        let (a, b) = (self.levels[before * pairs + pair], self.levels[after * pairs + pair]);
        a + share * (b - a)
    }

    /// Power at a time by a pair of beams. Before the first matrix and after the last one, their
    /// levels apply.
    ///
    /// # Panics
    /// If a beam does not exist.
    pub fn level(&self, at: Duration, tx: usize, rx: usize) -> Dbm {
        assert!(tx < self.sends.len() && rx < self.listens.len(), "beams exist");
        Dbm::new(self.between(self.around(at), tx * self.listens.len() + rx))
    }

    /// The pair of beams with the most power at a time; among equal ones the first, by transmit
    /// beam.
    pub fn best(&self, at: Duration) -> BestBeams {
        let around = self.around(at);
        let (mut best, mut level) = (0, f64::NEG_INFINITY);
        for pair in 0..self.sends.len() * self.listens.len() {
            let here = self.between(around, pair);
            if here > level {
                (best, level) = (pair, here);
            }
        }
        BestBeams { tx: best / self.listens.len(), rx: best % self.listens.len(), level: Dbm::new(level) }
    }
}

/// A time for a table: seconds to the last picosecond; not negative.
pub(crate) fn seconds(at: Duration) -> String {
    let (whole, rest) = (at.as_ps() / 1_000_000_000_000, at.as_ps() % 1_000_000_000_000);
    let text = format!("{whole}.{rest:012}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
