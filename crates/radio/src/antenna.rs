//! Antennas: gain by direction, for sending and receiving.
//!
//! Gains come from shapes with formulas or from measured tables.

mod horn;
mod patch;
mod shapes;
mod table;

pub use horn::Horn;
pub use patch::PatchArray;
pub use shapes::Cone;
pub use table::PatternTable;

use crate::angle::{Angle, Direction};
use crate::decibel::Db;

/// An antenna's gain in dBi, by direction relative to its boresight.
///
/// The gain is the same for sending and receiving. Antennas turn as a whole: a steered array's
/// pattern does not widen towards its sides.
#[derive(Clone, Debug, PartialEq)]
pub enum Antenna {
    /// 0 dBi everywhere.
    Isotropic,
    /// A constant gain in a cone, and a smaller one outside.
    Cone(Cone),
    /// A pyramidal horn.
    Horn(Horn),
    /// A planar array of patches.
    PatchArray(PatchArray),
    /// Measured gains by azimuth.
    Table(PatternTable),
}

impl Antenna {
    /// Gain towards a direction relative to the boresight, see [`Direction::seen_from`].
    pub fn gain(&self, off: Direction) -> Db {
        match self {
            Self::Isotropic => Db::ZERO,
            Self::Cone(a) => a.gain(off),
            Self::Horn(a) => a.gain(off),
            Self::PatchArray(a) => a.gain(off),
            Self::Table(a) => a.gain(off.azimuth),
        }
    }

    /// Gain straight ahead; a table may have its largest gain elsewhere.
    pub fn ahead(&self) -> Db {
        self.gain(Direction::level(Angle::ZERO))
    }
}

/// Invalid parameters of an antenna.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AntennaError {
    /// The beam's width is out of range.
    #[error("a beam of {found}: {allowed}")]
    Beamwidth {
        /// Width at half power.
        found: Angle,
        /// Description of valid widths.
        allowed: &'static str,
    },
    /// The gain is impossible for such an antenna.
    #[error("a gain of {found}: {allowed}")]
    Gain {
        /// The gain.
        found: Db,
        /// Description of valid gains.
        allowed: String,
    },
    /// The number of elements does not give the beam.
    #[error("{elements} elements in a row for a beam of {beamwidth}: {allowed}")]
    Elements {
        /// Number of elements in a row.
        elements: u32,
        /// The width at half power.
        beamwidth: Angle,
        /// Description of valid numbers.
        allowed: &'static str,
    },
    /// The share of power outside the beam is out of range.
    #[error("{found} of the power goes beside the beam: at least 0 and below 1")]
    Share {
        /// The share.
        found: f64,
    },
}

/// Level of nulls and the back below the gain: at least 35 dB, and low enough that at most 3 % of
/// the power goes there.
fn floor_below(directivity: Db) -> Db {
    Db::new(-35.0).min(Db::new(-15.0) - directivity)
}

/// Checks a gain from a data sheet against the lossless gain: it must not exceed it, nor be below a
/// thousandth of it.
fn checked(gain: Option<Db>, lossless: Db) -> Result<Db, AntennaError> {
    const LEAST: Db = Db::new(-30.0);
    match gain {
        None => Ok(lossless),
        // The formulas are accurate to half a decibel.
        Some(g) if g >= lossless + LEAST && g <= lossless + Db::new(0.5) => Ok(g),
        Some(found) => Err(AntennaError::Gain {
            found,
            allowed: format!(
                "its beam gives at most {lossless:.1}, and one of less than {:.1} has no gain to speak of",
                lossless + LEAST
            ),
        }),
    }
}
