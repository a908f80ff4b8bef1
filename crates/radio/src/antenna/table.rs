//! Measured antenna patterns over the full circle.
//!
//! They are read from a table of gains by azimuth.

use crate::angle::Angle;
use crate::decibel::Db;
use crate::error::{InputError, shorten, shown};
use crate::sheet::Sheet;

/// Gains by azimuth over 360°, interpolated linearly in decibels between the given angles.
/// Elevation is ignored: measured patterns of flat antennas are cuts through one plane (flyways,
/// SIGCOMM 2011, appendix B).
///
/// The file is a table with a header. The first column is `azimuth_deg`: angles from -180 to 360
/// that rise from line to line over at most a full circle. Each further column `NAME_dBi` has the
/// gains of an antenna NAME. Lines that start with `#` are comments.
///
/// ```text
/// azimuth_deg,narrow_beam_dBi,wide_beam_dBi
/// -150,-15.8,-15.5
/// -120,-14.8,-14.2
/// ...
/// 180,-16.8,-16.8
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PatternTable {
    /// (degrees in (-180, 180], dBi) by ascending angle.
    points: Vec<(f64, f64)>,
}

impl PatternTable {
    /// Largest step between neighboring angles in degrees: interpolation over a larger one would
    /// invent a pattern.
    pub const WIDEST_STEP_DEG: f64 = 45.0;
    /// Valid gains in dBi.
    pub const GAINS_DBI: core::ops::RangeInclusive<f64> = -100.0..=80.0;

    /// The pattern of one antenna of a table. `antenna` may be `None` if there is only one.
    ///
    /// # Errors
    /// If a cell is not a number or out of range, if angles do not rise or are too far apart, if
    /// there is no gain, or if there is no such antenna.
    pub fn parse(file: &str, text: &str, antenna: Option<&str>) -> Result<Self, InputError> {
        let sheet = Sheet::read(file, text)?;
        let azimuth = sheet.column("azimuth_deg")?;
        let names: Vec<&str> = sheet.names().filter_map(|n| n.strip_suffix("_dBi")).collect();
        let list = || names.iter().map(|n| shorten(n)).collect::<Vec<_>>().join(", ");
        let column = match (antenna, &names[..]) {
            (_, []) => {
                return Err(InputError::line(file, 1, "no column has gains", "at least one `NAME_dBi`"));
            }
            (Some(name), _) => match sheet.find(&format!("{name}_dBi")) {
                Some(column) => column,
                None => {
                    let found = format!("there is no antenna `{}`", shorten(name));
                    return Err(InputError::line(file, 1, found, format!("it has {}", list())));
                }
            },
            (None, [only]) => sheet.column(&format!("{only}_dBi"))?,
            (None, _) => {
                let found = format!("there are {} antennas", names.len());
                return Err(InputError::line(file, 1, found, format!("name one of {}", list())));
            }
        };
        let mut given: Vec<(f64, f64)> = Vec::new();
        let uncovered = |from: f64, to: f64| format!("no gain from {}° to {}°", shown(from), shown(to));
        let narrow = format!("neighbors at most {}° apart, all round", Self::WIDEST_STEP_DEG);
        for row in sheet.rows() {
            let angle = sheet.number(row, &azimuth, -180.0..=360.0, "degrees from -180 to 360")?;
            let gain = sheet.number(row, &column, Self::GAINS_DBI, "a gain in dBi from -100 to 80")?;
            if let Some(&(before, _)) = given.last() {
                if angle <= before {
                    return Err(sheet.cell(
                        row,
                        &azimuth,
                        format!("above that of the line before ({})", shown(before)),
                    ));
                }
                if angle - before > Self::WIDEST_STEP_DEG {
                    return Err(sheet.line(row, uncovered(before, angle), narrow));
                }
                let (first, first_gain) = given[0];
                if angle - first > 360.0 {
                    return Err(sheet.cell(
                        row,
                        &azimuth,
                        format!("within a circle from the first ({})", shown(first)),
                    ));
                }
                if angle - first == 360.0 {
                    // The first angle is given again to close the circle.
                    if gain != first_gain {
                        return Err(sheet.cell(
                            row,
                            &column,
                            format!("as at {}°, the same angle ({})", shown(first), shown(first_gain)),
                        ));
                    }
                    continue;
                }
            }
            given.push((angle, gain));
        }
        // A sheet has at least one row.
        let (first, last) = (given[0].0, given[given.len() - 1].0);
        if first + 360.0 - last > Self::WIDEST_STEP_DEG {
            let row = &sheet.rows()[sheet.rows().len() - 1];
            return Err(sheet.line(row, uncovered(last, first + 360.0), narrow));
        }
        let mut points: Vec<_> = given.iter().map(|&(a, g)| (Angle::degrees(a).as_degrees(), g)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Self { points })
    }

    /// Gain at an azimuth relative to the boresight.
    pub fn gain(&self, azimuth: Angle) -> Db {
        let at = azimuth.as_degrees();
        let after = self.points.partition_point(|&(a, _)| a < at);
        let n = self.points.len();
        let (a1, g1) = match self.points.get(after) {
            Some(&p) => p,
            None => (self.points[0].0 + 360.0, self.points[0].1),
        };
        if a1 == at {
            return Db::new(g1);
        }
        let (a0, g0) = match after.checked_sub(1) {
            Some(before) => self.points[before],
            None => (self.points[n - 1].0 - 360.0, self.points[n - 1].1),
        };
        Db::new(g0 + (at - a0) / (a1 - a0) * (g1 - g0))
    }
}
