//! Planar arrays of patches, from their beamwidths.
//!
//! The pattern is that of one patch times the factors of both rows.

use super::{AntennaError, checked, floor_below};
use crate::angle::{Angle, Direction};
use crate::decibel::Db;
use crate::math::sin_cos;
use core::f64::consts::PI;

/// A rectangular array of equal patches that are fed equally.
///
/// The power pattern is `cos θ` of an element (a patch over a ground plane: 6 dBi) times the array
/// factors of both planes. A factor is `(sin(N π d s) / (N sin(π d s)))²` with s the direction
/// cosine and d the spacing in wavelengths (Balanis, *Antenna Theory*, ch. 6). The spacing follows
/// from the beamwidth and is at most one wavelength. The directivity is that of the aperture, `4π
/// A/λ²`. Nulls and the back are filled to 35 dB below the gain or less, -15 dBi without losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchArray {
    azimuth: Row,
    elevation: Row,
    gain: Db,
    /// Level of nulls and the back, relative to the gain.
    floor: Db,
}

/// Elements in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    elements: f64,
    /// Distance between neighbors in wavelengths.
    spacing: f64,
}

impl PatchArray {
    /// An array by the number of elements and the width at half power in both planes, with its
    /// measured gain. Without a gain, the array has no losses.
    ///
    /// # Errors
    /// If a row has less than 2 or more than 1024 elements, if a width is not above 0° and at most
    /// 90°, if no spacing of up to a wavelength gives that width, or if the gain is above the
    /// directivity or 30 dB below it.
    pub fn new(azimuth: (u32, Angle), elevation: (u32, Angle), gain: Option<Db>) -> Result<Self, AntennaError> {
        let (azimuth, elevation) = (Row::new(azimuth)?, Row::new(elevation)?);
        let area = azimuth.elements * azimuth.spacing * elevation.elements * elevation.spacing;
        let directivity = Db::from_ratio(4.0 * PI * area);
        Ok(Self { azimuth, elevation, gain: checked(gain, directivity)?, floor: floor_below(directivity) })
    }

    /// Distance between neighbors in wavelengths, in azimuth and in elevation.
    pub fn spacing(&self) -> (f64, f64) {
        (self.azimuth.spacing, self.elevation.spacing)
    }

    /// Gain towards a direction relative to the boresight.
    pub fn gain(&self, off: Direction) -> Db {
        let to = off.unit();
        if to.x <= 0.0 {
            return self.gain + self.floor;
        }
        let power = to.x * self.azimuth.factor(to.y) * self.elevation.factor(to.z);
        self.gain + Db::from_ratio(power).max(self.floor)
    }
}

impl Row {
    fn new((elements, beamwidth): (u32, Angle)) -> Result<Self, AntennaError> {
        let wrong = |allowed| AntennaError::Elements { elements, beamwidth, allowed };
        if beamwidth <= Angle::ZERO || beamwidth > Angle::degrees(90.0) {
            let allowed = "above 0° and at most 90° for an array";
            return Err(AntennaError::Beamwidth { found: beamwidth, allowed });
        }
        if !(2..=1024).contains(&elements) {
            return Err(wrong("2 to 1024"));
        }
        let (sin, cos) = Angle::degrees(beamwidth.as_degrees() / 2.0).sin_cos();
        let row = |spacing| Self { elements: f64::from(elements), spacing };
        // Up to the first null, the power at the beam's edge falls with the spacing. The widest
        // spacing considered is a wavelength, beyond which a second main lobe appears at the side.
        let null = 1.0 / (f64::from(elements) * sin);
        let (mut low, mut high) = (0.0, null.min(1.0));
        if cos * row(high).factor(sin) > 0.5 {
            return Err(wrong("so few have no beam so narrow, unless they are more than a wavelength apart"));
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if cos * row(middle).factor(sin) > 0.5 { low = middle } else { high = middle }
        }
        Ok(row(high))
    }

    /// Square of the array factor at a direction cosine; 1 at the boresight.
    fn factor(&self, s: f64) -> f64 {
        let phase = PI * self.spacing * s;
        let below = self.elements * sin_cos(phase).0;
        if below.abs() < 1e-9 {
            return 1.0;
        }
        let field = sin_cos(self.elements * phase).0 / below;
        field * field
    }
}
