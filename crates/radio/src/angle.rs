//! Angles and directions.
//!
//! Angles are in degrees and wrap around.

use crate::math::{atan2_degrees, sin_cos_degrees};
use crate::space::{Point, Vector};
use core::fmt;
use core::ops::{Add, Neg, Sub};

/// An angle in (-180°, 180°]; sums wrap around.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Angle(f64);

impl Angle {
    /// The angle 0°.
    pub const ZERO: Self = Self(0.0);

    /// Wraps `degrees`.
    ///
    /// # Panics
    /// If `degrees` is not finite.
    pub fn degrees(degrees: f64) -> Self {
        assert!(degrees.is_finite(), "an angle is finite");
        // The remainder is exact, so whole degrees stay whole; most sums need none.
        let r = if degrees.abs() < 360.0 { degrees } else { degrees % 360.0 };
        Self(if r > 180.0 {
            r - 360.0
        } else if r <= -180.0 {
            r + 360.0
        } else {
            r
        })
    }
    /// Degrees in (-180, 180].
    pub const fn as_degrees(self) -> f64 {
        self.0
    }
    /// Sine and cosine.
    pub fn sin_cos(self) -> (f64, f64) {
        sin_cos_degrees(self.0)
    }
    /// Absolute value.
    pub fn abs(self) -> Self {
        Self(self.0.abs())
    }
}

impl Add for Angle {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::degrees(self.0 + o.0)
    }
}
impl Sub for Angle {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::degrees(self.0 - o.0)
    }
}
impl Neg for Angle {
    type Output = Self;
    fn neg(self) -> Self {
        Self::degrees(-self.0)
    }
}
impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}°", f.precision().unwrap_or(2), self.0)
    }
}
impl fmt::Debug for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}°", self.0)
    }
}

/// A direction: azimuth counter-clockwise from the x axis, elevation above the horizon (-90° to
/// 90°).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Direction {
    /// Angle in the horizontal plane.
    pub azimuth: Angle,
    /// Angle above the horizontal plane.
    pub elevation: Angle,
}

impl Direction {
    /// A direction in the horizontal plane.
    pub const fn level(azimuth: Angle) -> Self {
        Self { azimuth, elevation: Angle::ZERO }
    }

    /// From one point to another; straight ahead (0°, 0°) for equal points.
    pub fn between(from: Point, to: Point) -> Self {
        Self::of(to - from)
    }

    /// Direction of a vector; straight ahead for the zero vector.
    pub fn of(v: Vector) -> Self {
        let ground = (v.x * v.x + v.y * v.y).sqrt();
        // `+ 0.0` turns -0 into 0, so that nothing lies at -180° for the sign of a zero.
        Self {
            azimuth: Angle::degrees(atan2_degrees(v.y + 0.0, v.x + 0.0)),
            elevation: Angle::degrees(atan2_degrees(v.z + 0.0, ground)),
        }
    }

    /// The unit vector.
    pub fn unit(self) -> Vector {
        let ((sin_a, cos_a), (sin_e, cos_e)) = (self.azimuth.sin_cos(), self.elevation.sin_cos());
        Vector { x: cos_a * cos_e, y: sin_a * cos_e, z: sin_e }
    }

    /// This direction relative to an antenna that points at `boresight` (turned about the vertical
    /// axis, then tilted).
    ///
    /// In the horizontal plane this is exactly the difference of the azimuths.
    pub fn seen_from(self, boresight: Self) -> Self {
        if boresight.elevation == Angle::ZERO {
            return Self { azimuth: self.azimuth - boresight.azimuth, elevation: self.elevation };
        }
        let v = Self { azimuth: self.azimuth - boresight.azimuth, elevation: self.elevation }.unit();
        let (sin, cos) = boresight.elevation.sin_cos();
        Self::of(Vector { x: v.x * cos + v.z * sin, y: v.y, z: v.z * cos - v.x * sin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn angles_wrap() {
        for (from, to) in [(180.0, 180.0), (-180.0, 180.0), (181.0, -179.0), (720.5, 0.5), (-190.0, 170.0), (0.0, 0.0)]
        {
            assert_eq!(Angle::degrees(from).as_degrees(), to);
        }
        assert_eq!((Angle::degrees(170.0) + Angle::degrees(20.0)).as_degrees(), -170.0);
    }

    #[test]
    fn directions_of_axes() {
        let o = Point::ORIGIN;
        for (x, y, z, azimuth, elevation) in [
            (1.0, 0.0, 0.0, 0.0, 0.0),
            (0.0, 2.0, 0.0, 90.0, 0.0),
            (-1.0, -0.0, 0.0, 180.0, 0.0),
            (0.0, -1.0, 0.0, -90.0, 0.0),
            (1.0, 1.0, 2f64.sqrt(), 45.0, 45.0),
        ] {
            let d = Direction::between(o, Point { x, y, z });
            assert!((d.azimuth.as_degrees() - azimuth).abs() < 1e-12, "{d:?}");
            assert!((d.elevation.as_degrees() - elevation).abs() < 1e-12, "{d:?}");
        }
    }

    proptest! {
        #[test]
        fn the_boresight_is_straight_ahead_and_turning_keeps_angles(
            a in -180.0..180.0f64, e in -89.0..89.0f64, b in -180.0..180.0f64, g in -89.0..89.0f64,
        ) {
            let boresight = Direction { azimuth: Angle::degrees(a), elevation: Angle::degrees(e) };
            let ahead = boresight.seen_from(boresight);
            prop_assert!(ahead.azimuth.as_degrees().abs() < 1e-9 && ahead.elevation.as_degrees().abs() < 1e-9);
            let other = Direction { azimuth: Angle::degrees(b), elevation: Angle::degrees(g) };
            let (u, v) = (boresight.unit(), other.unit());
            let cos = u.x * v.x + u.y * v.y + u.z * v.z;
            // An antenna that points along x sees the angle between the two as the x of the other.
            prop_assert!((other.seen_from(boresight).unit().x - cos).abs() < 1e-12);
        }
    }
}
