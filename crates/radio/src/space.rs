//! Points, boxes, lengths and frequencies.
//!
//! Coordinates are in meters.

use core::fmt;
use core::ops::{Add, Sub};

/// Speed of light in a vacuum, m/s (exact by definition).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// A length in meters.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Meters(f64);

impl Meters {
    /// `m` meters.
    ///
    /// # Panics
    /// If it is negative or not finite.
    pub const fn new(m: f64) -> Self {
        assert!(m >= 0.0 && m.is_finite(), "a length is finite and at least 0");
        Self(m)
    }
    /// In meters.
    pub const fn get(self) -> f64 {
        self.0
    }
}
impl fmt::Display for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*} m", f.precision().unwrap_or(2), self.0)
    }
}
impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", self.0)
    }
}

/// A frequency or a bandwidth in whole hertz, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frequency(u64);

impl Frequency {
    /// `hz` hertz.
    ///
    /// # Panics
    /// If it is zero.
    pub const fn hz(hz: u64) -> Self {
        assert!(hz > 0, "a frequency is above 0");
        Self(hz)
    }
    /// `mhz` megahertz.
    pub const fn mhz(mhz: u64) -> Self {
        Self::hz(mhz * 1_000_000)
    }
    /// In hertz.
    pub const fn as_hz(self) -> u64 {
        self.0
    }
    /// Wavelength in a vacuum, 0.03 % above that in air.
    pub fn wavelength(self) -> Meters {
        Meters::new(SPEED_OF_LIGHT / self.0 as f64)
    }
}
impl fmt::Debug for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.0)
    }
}

/// A point in meters; z is the height above the floor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Meters along x.
    pub x: f64,
    /// Meters along y.
    pub y: f64,
    /// Meters above the floor.
    pub z: f64,
}

/// A difference of points in meters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector {
    /// Meters along x.
    pub x: f64,
    /// Meters along y.
    pub y: f64,
    /// Meters upwards.
    pub z: f64,
}

impl Point {
    /// The intersection of the axes.
    pub const ORIGIN: Self = Self { x: 0.0, y: 0.0, z: 0.0 };

    /// A point.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// Distance to another point.
    ///
    /// # Panics
    /// If a coordinate is not finite.
    pub fn distance(self, other: Self) -> Meters {
        let v = other - self;
        Meters::new((v.x * v.x + v.y * v.y + v.z * v.z).sqrt())
    }

    /// Whether all coordinates are finite.
    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.z.is_finite()
    }

    /// Coordinate number 0, 1 or 2.
    pub(crate) fn along(self, axis: usize) -> f64 {
        [self.x, self.y, self.z][axis]
    }

    /// With this coordinate replaced.
    pub(crate) fn with(self, axis: usize, to: f64) -> Self {
        let mut c = [self.x, self.y, self.z];
        c[axis] = to;
        Self::new(c[0], c[1], c[2])
    }

    /// The point at share `t` of the way to another.
    pub(crate) fn towards(self, to: Self, t: f64) -> Self {
        let v = to - self;
        Self::new(self.x + t * v.x, self.y + t * v.y, self.z + t * v.z)
    }
}

impl Sub for Point {
    type Output = Vector;
    fn sub(self, o: Self) -> Vector {
        Vector { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }
}
impl Add<Vector> for Point {
    type Output = Self;
    fn add(self, v: Vector) -> Self {
        Self::new(self.x + v.x, self.y + v.y, self.z + v.z)
    }
}

/// An axis-aligned box with a nonempty inside, from its lowest to its highest corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    low: Point,
    high: Point,
}

impl Cuboid {
    /// Box between two corners; `None` if it is flat, inverted or not finite.
    pub fn new(low: Point, high: Point) -> Option<Self> {
        let solid = (0..3).all(|axis| low.along(axis) < high.along(axis));
        (low.is_finite() && high.is_finite() && solid).then_some(Self { low, high })
    }
    /// The lowest corner.
    pub fn low(&self) -> Point {
        self.low
    }
    /// The highest corner.
    pub fn high(&self) -> Point {
        self.high
    }
    /// Whether a point is inside or on the surface.
    pub fn contains(&self, p: Point) -> bool {
        (0..3).all(|axis| (self.low.along(axis)..=self.high.along(axis)).contains(&p.along(axis)))
    }
    /// Whether a line segment passes through the inside, deeper than a micrometer.
    ///
    /// Rays that touch the surface, such as reflected ones, pass.
    pub fn stops(&self, from: Point, to: Point) -> bool {
        const SKIN: f64 = 1e-6;
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for axis in 0..3 {
            let (p, d) = (from.along(axis), to.along(axis) - from.along(axis));
            let (low, high) = (self.low.along(axis) + SKIN, self.high.along(axis) - SKIN);
            if d == 0.0 {
                if p <= low || p >= high {
                    return false;
                }
                continue;
            }
            let (a, b) = ((low - p) / d, (high - p) / d);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        enter < leave
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn waves_of_60_ghz_are_5_mm_long() {
        assert!((Frequency::mhz(60_000).wavelength().get() - 0.004_996_54).abs() < 1e-8);
    }

    #[test]
    fn flat_and_infinite_boxes_are_none() {
        let p = Point::new(1.0, 1.0, 1.0);
        assert!(Cuboid::new(Point::ORIGIN, p).is_some());
        assert!(Cuboid::new(p, Point::ORIGIN).is_none());
        assert!(Cuboid::new(Point::ORIGIN, p.with(2, 0.0)).is_none());
        assert!(Cuboid::new(Point::ORIGIN, p.with(1, f64::INFINITY)).is_none());
        assert!(Cuboid::new(Point::ORIGIN, p.with(0, f64::NAN)).is_none());
    }

    proptest! {
        /// Compares with points on the line.
        #[test]
        fn a_box_stops_what_goes_through(
            c in prop::array::uniform6(-3.0..3.0f64), corner in prop::array::uniform3(-2.0..1.0f64),
        ) {
            let low = Point::new(corner[0], corner[1], corner[2]);
            let cuboid = Cuboid::new(low, low + Vector { x: 1.0, y: 1.0, z: 1.0 }).unwrap();
            let (from, to) = (Point::new(c[0], c[1], c[2]), Point::new(c[3], c[4], c[5]));
            let deep = |p: Point, skin: f64| (0..3).all(|i| {
                p.along(i) > cuboid.low().along(i) + skin && p.along(i) < cuboid.high().along(i) - skin
            });
            let at = |i: u32| from.towards(to, f64::from(i) / 4000.0);
            let found = (0..=4000).any(|i| deep(at(i), 1e-5));
            // Steps are below 3 mm, so deeper intrusions are found.
            let none_near = (0..=4000).all(|i| !deep(at(i), -4e-3));
            if found { prop_assert!(cuboid.stops(from, to)); }
            if none_near { prop_assert!(!cuboid.stops(from, to)); }
        }
    }
}
