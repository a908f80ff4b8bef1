//! Durations, times, rates and byte counts: integers with their unit in the type.
//!
//! Arithmetic is exact unless a function says otherwise.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A signed span of time in picoseconds, ±106 days.
///
/// Picoseconds are exact for a bit at 1 Tb/s and for frames at usual Ethernet rates.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

impl Duration {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span, about 106 days.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }
    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns * 1_000)
    }
    /// A span of `us` microseconds.
    pub const fn from_us(us: i64) -> Self {
        Self(us * 1_000_000)
    }
    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms * 1_000_000_000)
    }
    /// A span of `s` seconds.
    pub const fn from_secs(s: i64) -> Self {
        Self(s * 1_000_000_000_000)
    }
    /// The nearest span to `s` seconds; saturates.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e12).round() as i64)
    }
    /// In picoseconds.
    pub const fn as_ps(self) -> i64 {
        self.0
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// Whether it is below zero.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
    /// The product with a real factor, rounded to the nearest picosecond; saturates.
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as i64)
    }
    /// The next duration above with three significant digits, for bounds that a person reads;
    /// saturates.
    pub const fn to_three_digits(self) -> Self {
        let mut unit = 1;
        while self.0 / unit >= 1000 {
            unit *= 10;
        }
        let over = self.0 % unit;
        Self(if over > 0 { self.0.saturating_add(unit - over) } else { self.0 })
    }
}

/// A node's own clock: picoseconds since that clock's zero.
///
/// Agents know only this time. The simulator's true time (`SimTime`) is a type of the `sim` crate
/// that agents cannot name, so that no agent is synchronized perfectly by accident.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The clock's zero.
    pub const ZERO: Self = Self(0);
    /// The last representable instant.
    pub const MAX: Self = Self(i64::MAX);

    /// The instant `ps` picoseconds after the clock's zero.
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }
    /// Picoseconds since the clock's zero.
    pub const fn as_ps(self) -> i64 {
        self.0
    }
    /// This instant plus `d`; saturates at [`Time::MAX`].
    pub const fn saturating_add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

/// Picoseconds that a byte takes at 1 b/s.
const BYTE: u64 = 8_000_000_000_000;

/// Bits per second; up to 18 Eb/s.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// No bits at all.
    pub const ZERO: Self = Self(0);

    /// `b` bit/s.
    pub const fn bps(b: u64) -> Self {
        Self(b)
    }
    /// `m` Mb/s.
    pub const fn mbps(m: u64) -> Self {
        Self(m * 1_000_000)
    }
    /// `g` Gb/s.
    pub const fn gbps(g: u64) -> Self {
        Self(g * 1_000_000_000)
    }
    /// In bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Time for `bytes` at this rate, rounded up to a picosecond.
    ///
    /// # Panics
    /// At rate zero, and if the time exceeds [`Duration::MAX`].
    pub fn time_for(self, bytes: Bytes) -> Duration {
        self.checked_time_for(bytes).expect("a transmission longer than 106 days")
    }
    /// The time to send `bytes`, as [`time_for`](Self::time_for); `None` if it exceeds
    /// [`Duration::MAX`].
    ///
    /// # Panics
    /// At rate zero.
    pub fn checked_time_for(self, bytes: Bytes) -> Option<Duration> {
        assert!(self.0 > 0, "nothing is ever sent at rate zero");
        // Dividing 64 bits is much faster, and enough for 2.3 MB.
        if let Some(bits) = bytes.0.checked_mul(BYTE) {
            return i64::try_from(bits.div_ceil(self.0)).ok().map(Duration);
        }
        let ps = (u128::from(bytes.0) * u128::from(BYTE)).div_ceil(u128::from(self.0));
        i64::try_from(ps).ok().map(Duration)
    }
    /// Whole bytes that fit into `d` at this rate; zero for a negative span.
    pub fn bytes_in(self, d: Duration) -> Bytes {
        if d.0 <= 0 {
            return Bytes(0);
        }
        // As above: enough for 184 us at 100 Gb/s.
        if let Some(bits) = (d.0 as u64).checked_mul(self.0) {
            return Bytes(bits / BYTE);
        }
        let bytes = d.0 as u128 * u128::from(self.0) / u128::from(BYTE);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
    /// The product with a real factor, rounded to the nearest bit/s.
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

/// A count of octets.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// None.
    pub const ZERO: Self = Self(0);

    /// `b` octets.
    pub const fn new(b: u64) -> Self {
        Self(b)
    }
    /// `k` thousand octets.
    pub const fn kb(k: u64) -> Self {
        Self(k * 1_000)
    }
    /// `m` million octets.
    pub const fn mb(m: u64) -> Self {
        Self(m * 1_000_000)
    }
    /// As a number.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// The smaller of the two.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, o: Self) {
        self.0 += o.0;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}
impl Neg for Duration {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Mul<i64> for Duration {
    type Output = Self;
    fn mul(self, k: i64) -> Self {
        Self(self.0 * k)
    }
}
impl Div<i64> for Duration {
    type Output = Self;
    fn div(self, k: i64) -> Self {
        Self(self.0 / k)
    }
}
impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0 + d.0)
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0 - d.0)
    }
}
impl Sub for Time {
    type Output = Duration;
    fn sub(self, o: Self) -> Duration {
        Duration(self.0 - o.0)
    }
}
impl Add for Bytes {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Self) {
        self.0 += o.0;
    }
}
impl Sub for Bytes {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Self) {
        self.0 -= o.0;
    }
}
impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, k: u64) -> Self {
        Self(self.0 * k)
    }
}
impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(it: I) -> Self {
        Self(it.map(|b| b.0).sum())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", Duration(self.0))
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn transmission_times_are_exact_and_round_up() {
        assert_eq!(Rate::gbps(300).time_for(Bytes::new(1500)), Duration::from_ps(40_000));
        assert_eq!(Rate::gbps(10).time_for(Bytes::new(1538)), Duration::from_ps(1_230_400));
        for (ps, read) in [(0, 0), (999, 999), (1_000, 1_000), (1_001, 1_010), (140_374_400, 141_000_000), (-5, -5)] {
            assert_eq!(Duration::from_ps(ps).to_three_digits(), Duration::from_ps(read), "{ps}");
        }
        assert_eq!(Duration::from_ps(i64::MAX).to_three_digits(), Duration::from_ps(i64::MAX));
        // 1 byte at 3 bit/s is 2.666... s.
        assert_eq!(Rate::bps(3).time_for(Bytes::new(1)).as_ps(), 2_666_666_666_667);
        assert_eq!(Rate::gbps(1).time_for(Bytes::ZERO), Duration::ZERO);
        // 2^63 ps are 106 days, in which 1 Gb/s carries 1.15 PB.
        assert!(Rate::gbps(1).checked_time_for(Bytes::new(1_152_000_000_000_000)).is_some());
        assert_eq!(Rate::gbps(1).checked_time_for(Bytes::new(1_153_000_000_000_000)), None);
        assert_eq!(Rate::gbps(1).checked_time_for(Bytes::new(u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn short_divisions_give_what_long_ones_do(
            rate in 1_000u64..1_000_000_000_000, bytes in 2_000_000u64..2_600_000, us in 0i64..10_000,
        ) {
            let ps = (u128::from(bytes) * u128::from(BYTE)).div_ceil(u128::from(rate));
            let time = Rate::bps(rate).time_for(Bytes::new(bytes));
            prop_assert_eq!(time.as_ps() as u128, ps, "on both sides of 2^64 / {}", BYTE);
            let span = Duration::from_us(us);
            let whole = span.as_ps() as u128 * u128::from(rate) / u128::from(BYTE);
            prop_assert_eq!(u128::from(Rate::bps(rate).bytes_in(span).get()), whole);
        }

        #[test]
        fn bytes_in_inverts_time_for(rate in 1_000u64..1_000_000_000_000, bytes in 0u64..100_000_000) {
            let (rate, bytes) = (Rate::bps(rate), Bytes::new(bytes));
            let t = rate.time_for(bytes);
            prop_assert!(rate.bytes_in(t) >= bytes);
            if bytes.get() > 0 {
                prop_assert!(rate.bytes_in(t - Duration::from_ps(1)) < bytes);
            }
        }
    }
}
