//! Flow sizes from an empirical distribution.
//!
//! The distribution is read from a file of sizes and cumulative probabilities.

use crate::error::WorkloadError;
use crate::error::shorten;
use crate::input::Input;
use crate::numbers::unit;
use crate::wire::FlowWire;
use rand::Rng;

/// The largest size that a file may contain: a petabyte.
pub(crate) const LARGEST: u64 = 1_000_000_000_000_000;

/// A distribution function, linear between its points. A first point above 0 is an atom at its
/// size, and so is a step.
#[derive(Debug)]
pub(crate) struct Cdf {
    /// (bytes, cdf) in ascending order; the last cdf is 1.
    points: Vec<(f64, f64)>,
}

impl Cdf {
    pub(crate) fn parse(input: &Input) -> Result<Self, WorkloadError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (i, line) in input.text()?.lines().enumerate() {
            let (line, number) = (line.trim(), i as u64 + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let two = "two numbers, `bytes,cdf`";
            let Some((bytes, cdf)) = line.split_once(',') else {
                return Err(input.line_error(number, format!("found `{}`", shorten(line)), two));
            };
            let (bytes, cdf) = (bytes.trim(), cdf.trim());
            if points.is_empty() && (bytes, cdf) == ("bytes", "cdf") {
                continue;
            }
            let parse = |column, text: &str, most: f64, allowed: &str| match text.parse::<f64>() {
                Ok(x) if (0.0..=most).contains(&x) => Ok(x),
                _ => Err(input.cell_error(number, column, shorten(text), allowed)),
            };
            let x = parse("bytes", bytes, LARGEST as f64, "a number from 0 to 1e15")?;
            let y = parse("cdf", cdf, 1.0 + 1e-9, "a number from 0 to 1 (a share, not per cent)")?.min(1.0);
            if let Some(&(before, below)) = points.last() {
                if x < before {
                    return Err(input.cell_error(
                        number,
                        "bytes",
                        bytes,
                        format!("not below the line before ({before})"),
                    ));
                }
                if y < below {
                    return Err(input.cell_error(number, "cdf", cdf, format!("not below the line before ({below})")));
                }
            }
            points.push((x, y));
        }
        match points.last_mut() {
            Some((_, y)) if *y >= 1.0 - 1e-9 => *y = 1.0,
            Some((_, y)) => return Err(input.file_error(format!("the last cdf is {y}"), "it must be 1")),
            None => return Err(input.file_error("there are no points", "lines `bytes,cdf`, the last cdf 1")),
        }
        Ok(Self { points })
    }

    /// The distribution of the next larger point's size: all of its probability is in steps.
    pub(crate) fn in_steps(self) -> Self {
        let below = |i: usize| if i == 0 { 0.0 } else { self.points[i - 1].1 };
        let step = |(i, &(x, y)): (usize, &(f64, f64))| [(x, below(i)), (x, y)];
        Self { points: self.points.iter().enumerate().flat_map(step).collect() }
    }

    /// Segments as (from bytes, to bytes, probability); an atom is a segment of length zero.
    fn segments(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let lump = self.points.first().map(|&(x, y)| (x, x, y));
        lump.into_iter().chain(self.points.windows(2).map(|p| (p[0].0, p[1].0, p[1].1 - p[0].1)))
    }

    /// Expectation of a function of flow sizes.
    pub(crate) fn mean_of(&self, wire: &FlowWire) -> f64 {
        self.segments().filter(|s| s.2 > 0.0).map(|(a, b, p)| p * wire.mean_uniform(a, b)).sum()
    }

    /// The size below which a share `u` of flows lies, for `u` in [0, 1).
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        let i = self.points.partition_point(|&(_, y)| y <= u).min(self.points.len() - 1);
        let (x1, y1) = self.points[i];
        match i.checked_sub(1).map(|j| self.points[j]) {
            // y0 <= u < y1.
            Some((x0, y0)) => x0 + (u - y0) / (y1 - y0) * (x1 - x0),
            None => x1,
        }
    }

    /// Draws a size, rounded to the nearest byte, at least 1.
    pub(crate) fn sample(&self, rng: &mut impl Rng) -> u64 {
        ((self.quantile(unit(rng)) + 0.5) as u64).max(1)
    }
}
