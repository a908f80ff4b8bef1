//! Idealized antennas, defined by the shape of their beam.
//!
//! They conserve power but follow from no physical aperture.

use super::AntennaError;
use crate::angle::{Angle, Direction};
use crate::decibel::Db;

/// A flat-topped beam: one gain in a cone and another in the rest of the sphere, with all power
/// accounted for.
///
/// A share `beside` of the power is spread evenly outside the cone, the rest evenly inside. By the
/// area of a spherical cap, the gains are `(1 - beside) 2 / (1 - cos(w/2))` and `beside 2 / (1 +
/// cos(w/2))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    cos_half: f64,
    inside: Db,
    outside: Db,
}

impl Cone {
    /// A beam of this width from edge to edge, with a share of the power outside it.
    ///
    /// # Errors
    /// If the width is not above 0°, or if the share is not in [0, 1).
    pub fn new(beamwidth: Angle, beside: f64) -> Result<Self, AntennaError> {
        if beamwidth <= Angle::ZERO {
            return Err(AntennaError::Beamwidth { found: beamwidth, allowed: "above 0° and at most 180°" });
        }
        if !(0.0..1.0).contains(&beside) {
            return Err(AntennaError::Share { found: beside });
        }
        let cos_half = Angle::degrees(beamwidth.as_degrees() / 2.0).sin_cos().1;
        // 1 - cos of a small angle loses digits; 2 sin² of half the angle does not.
        let sin_quarter = Angle::degrees(beamwidth.as_degrees() / 4.0).sin_cos().0;
        Ok(Self {
            cos_half,
            inside: Db::from_ratio((1.0 - beside) / (sin_quarter * sin_quarter)),
            outside: Db::from_ratio(2.0 * beside / (1.0 + cos_half)),
        })
    }

    /// Gain towards a direction relative to the boresight; -∞ outside a beam that contains all
    /// power.
    pub fn gain(&self, off: Direction) -> Db {
        if off.unit().x >= self.cos_half { self.inside } else { self.outside }
    }
}
