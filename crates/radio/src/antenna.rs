//! Antennas: how strongly one sends to, and hears from, a direction.

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

/// An antenna's gain over the isotropic one (dBi), by the direction relative to where it points.
///
/// The same for sending and receiving. Antennas are turned as a whole: a steered array's pattern does not widen towards its
/// sides.
#[derive(Clone, Debug, PartialEq)]
pub enum Antenna {
    /// 0 dBi everywhere.
    Isotropic,
    /// The same gain in a cone, and a smaller one beside it.
    Cone(Cone),
    /// A pyramidal horn.
    Horn(Horn),
    /// A planar array of patches.
    PatchArray(PatchArray),
    /// Measured gains by azimuth.
    Table(PatternTable),
}

impl Antenna {
    /// The gain towards a direction as [`Direction::seen_from`] gives it: relative to the boresight.
    pub fn gain(&self, off: Direction) -> Db {
        match self {
            Self::Isotropic => Db::ZERO,
            Self::Cone(a) => a.gain(off),
            Self::Horn(a) => a.gain(off),
            Self::PatchArray(a) => a.gain(off),
            Self::Table(a) => a.gain(off.azimuth),
        }
    }

    /// The gain straight ahead; a table's largest gain may lie beside it.
    pub fn ahead(&self) -> Db {
        self.gain(Direction::level(Angle::ZERO))
    }
}

/// Why there is no such antenna.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AntennaError {
    /// A beam as wide as this is none.
    #[error("a beam of {found}: {allowed}")]
    Beamwidth {
        /// The width at half power.
        found: Angle,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A gain that no such antenna has.
    #[error("a gain of {found}: {allowed}")]
    Gain {
        /// The gain.
        found: Db,
        /// What is allowed.
        allowed: String,
    },
    /// A number of elements that does not give the beam.
    #[error("{elements} elements in a row for a beam of {beamwidth}: {allowed}")]
    Elements {
        /// How many.
        elements: u32,
        /// The width at half power.
        beamwidth: Angle,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A share that is none.
    #[error("{found} of the power goes beside the beam: at least 0 and below 1")]
    Share {
        /// The share.
        found: f64,
    },
}

/// How far nulls and the back lie below the gain: 35 dB, and so deep that what goes there is at most 3 % of the power.
fn floor_below(directivity: Db) -> Db {
    Db::new(-35.0).min(Db::new(-15.0) - directivity)
}

/// Checks a gain from a data sheet against what an antenna without losses has: nothing radiates more, and below a thousandth
/// it is no antenna.
fn checked(gain: Option<Db>, lossless: Db) -> Result<Db, AntennaError> {
    const LEAST: Db = Db::new(-30.0);
    match gain {
        None => Ok(lossless),
        // The formulas are good for half a decibel.
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
