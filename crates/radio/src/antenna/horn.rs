//! Pyramidal horns, from their beamwidths.
//!
//! The pattern follows from the field in the horn's aperture.

use super::{AntennaError, checked, floor_below};
use crate::angle::{Angle, Direction};
use crate::decibel::Db;
use crate::math::sin_cos;
use core::f64::consts::PI;

/// A pyramidal horn: the field of its aperture is even in the E plane and a half cosine in the H
/// plane.
///
/// The pattern is given in direction cosines (Balanis, *Antenna Theory*, ch. 12, TE10 aperture in a
/// ground plane, without the slow factors of obliquity). It is `sin(v)/v` in the E plane with side
/// lobes of -13 dB, and `cos(u) / (1 - (2u/π)²)` in the H plane with -23 dB. The apertures follow
/// from the beamwidths, and so does the directivity `32 k_E k_H / π³`. Nulls and the back are
/// filled to 35 dB below the gain or less, -15 dBi without losses: a real horn's edges diffract
/// that much.
///
/// The polarization is vertical, so the H plane is that of the azimuth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horn {
    k_azimuth: f64,
    k_elevation: f64,
    gain: Db,
    /// Level of nulls and the back, relative to the gain.
    floor: Db,
}

/// Argument at which `sin(v)/v` is 1/√2.
const HALF_EVEN: f64 = 1.391_557_378_251_509_6;
/// Argument at which `cos(u) / (1 - (2u/π)²)` is 1/√2.
const HALF_COSINE: f64 = 1.867_621_510_577_968;

impl Horn {
    /// A horn by its widths at half power in the H plane (azimuth) and the E plane (elevation),
    /// with its measured gain. Without a gain, the horn has no losses.
    ///
    /// # Errors
    /// If a width is not above 0° and at most 90°, or if the gain is above the directivity or 30 dB
    /// below it.
    pub fn new(azimuth: Angle, elevation: Angle, gain: Option<Db>) -> Result<Self, AntennaError> {
        let k = |half: f64, width: Angle| {
            if width <= Angle::ZERO || width > Angle::degrees(90.0) {
                return Err(AntennaError::Beamwidth { found: width, allowed: "above 0° and at most 90° for a horn" });
            }
            Ok(half / Angle::degrees(width.as_degrees() / 2.0).sin_cos().0)
        };
        let (k_azimuth, k_elevation) = (k(HALF_COSINE, azimuth)?, k(HALF_EVEN, elevation)?);
        let directivity = Db::from_ratio(32.0 * k_azimuth * k_elevation / (PI * PI * PI));
        Ok(Self { k_azimuth, k_elevation, gain: checked(gain, directivity)?, floor: floor_below(directivity) })
    }

    /// Gain towards a direction relative to the boresight.
    pub fn gain(&self, off: Direction) -> Db {
        let to = off.unit();
        if to.x <= 0.0 {
            return self.gain + self.floor;
        }
        let v = self.k_elevation * to.z;
        let even = if v.abs() < 1e-6 { 1.0 } else { sin_cos(v).0 / v };
        let u = self.k_azimuth * to.y;
        let pole = 1.0 - (2.0 * u / PI) * (2.0 * u / PI);
        // At u = π/2 both cosine and divisor vanish; the limit is π/4.
        let cosine = if pole.abs() < 1e-6 { PI / 4.0 } else { sin_cos(u).1 / pole };
        let field = even * cosine;
        self.gain + Db::from_ratio(field * field).max(self.floor)
    }
}
