//! Ray traces of NIST's quasi-deterministic channel realization (`qdOutput.json`), and its node
//! positions.
//!
//! Both are text files with one record per line.

use crate::angle::{Angle, Direction};
use crate::antenna::Antenna;
use crate::decibel::{Db, Dbm, Milliwatts};
use crate::error::{InputError, shorten, shown};
use crate::space::Point;
use core::ops::RangeInclusive;
use serde::Deserialize;
use timeplane_model::Duration;

/// A ray from one antenna to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Propagation delay, to the nearest picosecond (0.3 mm). The traces use a speed of light of
    /// 3e8 m/s.
    pub delay: Duration,
    /// Path gain between isotropic antennas, at most 0 dB.
    pub gain: Db,
    /// Phase shift by reflections, radians.
    pub phase: f64,
    /// Direction in which the ray leaves the sender.
    pub departure: Direction,
    /// Direction from which the ray reaches the receiver.
    pub arrival: Direction,
}

/// All rays between two antennas, by time step.
#[derive(Clone, Debug, PartialEq)]
pub struct QdChannel {
    /// Number of the sending node.
    pub sender: u32,
    /// Number of the receiving node.
    pub receiver: u32,
    /// Number of the sender's array.
    pub sender_array: u32,
    /// Number of the receiver's array.
    pub receiver_array: u32,
    /// Rays by time step. A step without rays transmits nothing.
    pub steps: Vec<Vec<Ray>>,
}

/// A file of channels, with one JSON object per line. It has `TX`, `RX`, `PAA_TX` and `PAA_RX`, and
/// lists of time steps of lists of rays: `Delay` (s), `Gain` (dB), `Phase` (rad), `AODEL`, `AODAZ`,
/// `AOAEL` and `AOAAZ` (degrees; elevations from the zenith).
#[derive(Clone, Debug, PartialEq)]
pub struct QdTrace {
    channels: Vec<QdChannel>,
}

/// A time step with one ray is written as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    Rays(Vec<f64>),
    Ray(f64),
}

impl Step {
    fn rays(&self) -> &[f64] {
        match self {
            Self::Rays(all) => all,
            Self::Ray(one) => core::slice::from_ref(one),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "TX")]
    tx: u32,
    #[serde(rename = "RX")]
    rx: u32,
    #[serde(rename = "PAA_TX")]
    paa_tx: u32,
    #[serde(rename = "PAA_RX")]
    paa_rx: u32,
    #[serde(rename = "Delay")]
    delay: Vec<Step>,
    #[serde(rename = "Gain")]
    gain: Vec<Step>,
    #[serde(rename = "Phase")]
    phase: Vec<Step>,
    #[serde(rename = "AODEL")]
    departure_zenith: Vec<Step>,
    #[serde(rename = "AODAZ")]
    departure_azimuth: Vec<Step>,
    #[serde(rename = "AOAEL")]
    arrival_zenith: Vec<Step>,
    #[serde(rename = "AOAAZ")]
    arrival_azimuth: Vec<Step>,
}

impl QdTrace {
    /// Parses a file of channels.
    ///
    /// # Errors
    /// If a line is not such an object, if lists have different lengths, if a number is out of
    /// range, or if a pair of arrays appears twice.
    pub fn parse(file: &str, text: &str) -> Result<Self, InputError> {
        let mut channels: Vec<QdChannel> = Vec::new();
        for (i, content) in text.lines().enumerate() {
            let number = i as u64 + 1;
            if content.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(content).map_err(|e| {
                let found = format!("column {}: {}", e.column(), shorten(&e.to_string()));
                InputError::line(file, number, found, "a JSON object as qd-realization writes it")
            })?;
            let channel = line.channel(file, number)?;
            let names = |c: &QdChannel| (c.sender, c.receiver, c.sender_array, c.receiver_array);
            if channels.iter().any(|c| names(c) == names(&channel)) {
                let found = format!("arrays of {} and {} for the second time", channel.sender, channel.receiver);
                return Err(InputError::line(file, number, found, "each pair of arrays once"));
            }
            channels.push(channel);
        }
        if channels.is_empty() {
            return Err(InputError::file(file, "there are no channels", "at least one line"));
        }
        Ok(Self { channels })
    }

    /// All channels, in the order of the file.
    pub fn channels(&self) -> &[QdChannel] {
        &self.channels
    }

    /// The channel between the first arrays of two nodes.
    pub fn between(&self, sender: u32, receiver: u32) -> Option<&QdChannel> {
        self.channels
            .iter()
            .find(|c| (c.sender, c.receiver, c.sender_array, c.receiver_array) == (sender, receiver, 0, 0))
    }
}

impl Line {
    fn channel(&self, file: &str, line: u64) -> Result<QdChannel, InputError> {
        let lists: [(&str, &[Step], RangeInclusive<f64>, &str); 7] = [
            ("Delay", &self.delay, 0.0..=1e-3, "seconds from 0 to 1e-3"),
            ("Gain", &self.gain, -1000.0..=0.0, "decibels from -1000 to 0: a path never amplifies"),
            ("Phase", &self.phase, -1e6..=1e6, "radians"),
            ("AODEL", &self.departure_zenith, 0.0..=180.0, "degrees from the zenith, 0 to 180"),
            ("AODAZ", &self.departure_azimuth, -360.0..=360.0, "degrees from -360 to 360"),
            ("AOAEL", &self.arrival_zenith, 0.0..=180.0, "degrees from the zenith, 0 to 180"),
            ("AOAAZ", &self.arrival_azimuth, -360.0..=360.0, "degrees from -360 to 360"),
        ];
        for (name, steps, bounds, allowed) in &lists {
            if steps.len() != self.delay.len() {
                let found = format!("{name} has {} time steps", steps.len());
                return Err(InputError::line(file, line, found, format!("{}, as Delay has", self.delay.len())));
            }
            for (s, (step, delays)) in steps.iter().zip(&self.delay).enumerate() {
                let (rays, expected) = (step.rays(), delays.rays().len());
                if rays.len() != expected {
                    let found = format!("{name}[{s}] has {} rays", rays.len());
                    return Err(InputError::line(file, line, found, format!("{expected}, as Delay has")));
                }
                if let Some(r) = rays.iter().position(|x| !bounds.contains(x)) {
                    return Err(InputError::Cell {
                        file: file.to_owned(),
                        line,
                        column: format!("{name}[{s}][{r}]"),
                        found: shown(rays[r]),
                        allowed: (*allowed).to_owned(),
                    });
                }
            }
        }
        let direction = |azimuth: f64, zenith: f64| Direction {
            azimuth: Angle::degrees(azimuth),
            elevation: Angle::degrees(90.0 - zenith),
        };
        let ray = |s: usize, r: usize| {
            let of = |steps: &[Step]| steps[s].rays()[r];
            Ray {
                delay: Duration::from_secs_f64(of(&self.delay)),
                gain: Db::new(of(&self.gain)),
                phase: of(&self.phase),
                departure: direction(of(&self.departure_azimuth), of(&self.departure_zenith)),
                arrival: direction(of(&self.arrival_azimuth), of(&self.arrival_zenith)),
            }
        };
        let steps = (0..self.delay.len()).map(|s| (0..self.delay[s].rays().len()).map(|r| ray(s, r)).collect());
        Ok(QdChannel {
            sender: self.tx,
            receiver: self.rx,
            sender_array: self.paa_tx,
            receiver_array: self.paa_rx,
            steps: steps.collect(),
        })
    }
}

/// Positions of a node: one line `x,y,z` in meters per time step (`NodePosition*.dat`). Empty lines
/// are skipped.
///
/// # Errors
/// If a line is not three numbers of at most 10 km, or if there is no position.
pub fn parse_positions(file: &str, text: &str) -> Result<Vec<Point>, InputError> {
    let mut points = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let meters = |cell: &str| cell.trim().parse::<f64>().ok().filter(|m| (-1e4..=1e4).contains(m));
        let numbers: Option<Vec<f64>> = line.split(',').map(meters).collect();
        match numbers.as_deref() {
            Some(&[x, y, z]) => points.push(Point::new(x, y, z)),
            _ => {
                let allowed = "three numbers `x,y,z`, meters from -1e4 to 1e4";
                return Err(InputError::line(file, i as u64 + 1, shorten(line), allowed));
            }
        }
    }
    if points.is_empty() {
        return Err(InputError::file(file, "there are no positions", "lines `x,y,z`"));
    }
    Ok(points)
}

/// Power received over all rays, given both antennas and their pointing. Powers add, as in
/// [`crate::received_by_paths`]; the phases of rays are not used.
pub fn received_by_rays(
    rays: &[Ray],
    power: Dbm,
    (sender, aim): (&Antenna, Direction),
    (receiver, listens): (&Antenna, Direction),
) -> Milliwatts {
    let one = |r: &Ray| {
        let gains = sender.gain(r.departure.seen_from(aim)) + receiver.gain(r.arrival.seen_from(listens));
        (power + gains + r.gain).milliwatts()
    };
    rays.iter().map(one).sum()
}
