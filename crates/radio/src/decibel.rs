//! Levels: ratios in decibels, power in dBm and in milliwatts.
//!
//! They are distinct types because they add differently.

use crate::math::{exp10, log10};
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A ratio of powers in decibels: a gain (for antennas in dBi), a loss, a SINR.
///
/// Never NaN; -∞ is the ratio 0.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Db(f64);

impl Db {
    /// The ratio 1.
    pub const ZERO: Self = Self(0.0);

    /// `db` decibels.
    ///
    /// # Panics
    /// If it is NaN.
    pub const fn new(db: f64) -> Self {
        assert!(!db.is_nan(), "a level is a number");
        Self(db)
    }
    /// In decibels.
    pub const fn get(self) -> f64 {
        self.0
    }
    /// From a ratio of powers.
    ///
    /// # Panics
    /// If it is negative or NaN.
    pub fn from_ratio(ratio: f64) -> Self {
        assert!(ratio >= 0.0, "a ratio of powers is at least 0");
        Self(10.0 * log10(ratio))
    }
    /// As a ratio of powers.
    pub fn ratio(self) -> f64 {
        exp10(self.0 / 10.0)
    }
    /// The smaller of the two.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
    /// The larger of the two.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

/// A power in dBm. Never NaN; -∞ is no power.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Dbm(f64);

impl Dbm {
    /// `dbm` dBm.
    ///
    /// # Panics
    /// If it is NaN.
    pub const fn new(dbm: f64) -> Self {
        assert!(!dbm.is_nan(), "a level is a number");
        Self(dbm)
    }
    /// In dBm.
    pub const fn get(self) -> f64 {
        self.0
    }
    /// On a scale that adds.
    pub fn milliwatts(self) -> Milliwatts {
        Milliwatts(exp10(self.0 / 10.0))
    }
    /// The larger of the two.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

/// A power in milliwatts, at least 0. Noise and interference add up in this unit.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Milliwatts(f64);

impl Milliwatts {
    /// No power.
    pub const ZERO: Self = Self(0.0);

    /// `mw` milliwatts.
    ///
    /// # Panics
    /// If it is negative or NaN.
    pub const fn new(mw: f64) -> Self {
        assert!(mw >= 0.0, "a power is at least 0");
        Self(mw)
    }
    /// In milliwatts.
    pub const fn get(self) -> f64 {
        self.0
    }
    /// In dBm; -∞ for no power.
    pub fn dbm(self) -> Dbm {
        Dbm(10.0 * log10(self.0))
    }
}

impl Add for Db {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::new(self.0 + o.0)
    }
}
impl Sub for Db {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::new(self.0 - o.0)
    }
}
impl Neg for Db {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Add<Db> for Dbm {
    type Output = Self;
    fn add(self, o: Db) -> Self {
        Self::new(self.0 + o.0)
    }
}
impl Sub<Db> for Dbm {
    type Output = Self;
    fn sub(self, o: Db) -> Self {
        Self::new(self.0 - o.0)
    }
}
impl Sub for Dbm {
    type Output = Db;
    fn sub(self, o: Self) -> Db {
        Db::new(self.0 - o.0)
    }
}
impl Add for Milliwatts {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl AddAssign for Milliwatts {
    fn add_assign(&mut self, o: Self) {
        self.0 += o.0;
    }
}
impl Mul<f64> for Milliwatts {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::new(self.0 * factor)
    }
}
/// A ratio of powers.
impl Div for Milliwatts {
    type Output = f64;
    fn div(self, o: Self) -> f64 {
        self.0 / o.0
    }
}
impl core::iter::Sum for Milliwatts {
    fn sum<I: Iterator<Item = Self>>(it: I) -> Self {
        it.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*} dB", f.precision().unwrap_or(2), self.0)
    }
}
impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*} dBm", f.precision().unwrap_or(2), self.0)
    }
}
impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dB", self.0)
    }
}
impl fmt::Debug for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dBm", self.0)
    }
}
impl fmt::Debug for Milliwatts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e} mW", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_meet() {
        assert_eq!(Dbm::new(10.0).milliwatts(), Milliwatts::new(10.0));
        assert_eq!(Milliwatts::ZERO.dbm(), Dbm::new(f64::NEG_INFINITY));
        assert_eq!(Dbm::new(f64::NEG_INFINITY).milliwatts(), Milliwatts::ZERO);
        assert!((Db::from_ratio(2.0).get() - 3.0103).abs() < 1e-4);
        // Two equal powers add 3 dB; dBm do not double.
        let sum = Dbm::new(-81.0).milliwatts() + Dbm::new(-81.0).milliwatts();
        assert!((sum.dbm() - Dbm::new(-81.0) - Db::from_ratio(2.0)).get().abs() < 1e-12);
        assert_eq!(format!("{} {:.1}", Db::new(3.0), Dbm::new(-81.04)), "3.00 dB -81.0 dBm");
    }
}
