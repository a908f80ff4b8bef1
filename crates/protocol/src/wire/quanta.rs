//! Times of PAUSE frames.
//!
//! Conversions round so that nothing is sent too early.

use timeplane_model::{Bytes, Duration, Rate};

/// A pause time in units of 512 bit times of the link, with 16 bits (IEEE 802.3, annex 31B). Zero
/// ends a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quanta(pub u16);

impl Quanta {
    /// Ends a pause at once.
    pub const ZERO: Self = Self(0);
    /// The longest pause: 3.355 ms at 10 Gb/s.
    pub const MAX: Self = Self(u16::MAX);
    /// Bytes that a link carries in one quantum.
    pub const BYTES: u64 = 512 / 8;

    /// The duration on a link of `rate`, rounded up to a picosecond; [`Duration::MAX`] if it is too
    /// long, as at rate zero.
    pub fn duration(self, rate: Rate) -> Duration {
        if self.0 == 0 {
            return Duration::ZERO;
        }
        let bits = u128::from(self.0) * 512;
        let ps = (bits * 1_000_000_000_000).checked_div(u128::from(rate.as_bps()));
        let exact = ps.is_some_and(|ps| ps * u128::from(rate.as_bps()) == bits * 1_000_000_000_000);
        let up = ps.and_then(|ps| i64::try_from(ps + u128::from(!exact)).ok());
        up.map_or(Duration::MAX, Duration::from_ps)
    }

    /// The shortest pause of at least `d` on a link of `rate`. Zero for a `d` that is not positive;
    /// `None` if even [`MAX`](Self::MAX) is shorter.
    pub fn at_least(d: Duration, rate: Rate) -> Option<Self> {
        if d <= Duration::ZERO {
            return Some(Self::ZERO);
        }
        let bits = d.as_ps() as u128 * u128::from(rate.as_bps());
        // At rate zero, any pause lasts forever.
        let quanta = bits.div_ceil(512 * 1_000_000_000_000).max(1);
        u16::try_from(quanta).ok().map(Self)
    }

    /// The longest pause of at most `d` on a link of `rate`; at most [`MAX`](Self::MAX).
    pub fn at_most(d: Duration, rate: Rate) -> Self {
        let quanta = rate.bytes_in(d).get() / Self::BYTES;
        Self(u16::try_from(quanta).unwrap_or(u16::MAX))
    }

    /// Bytes that a link carries during the pause.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.0 as u64 * Self::BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pause_is_at_most_3_4_ms_at_10_gbps() {
        let ten = Rate::gbps(10);
        // A quantum is 51.2 ns.
        assert_eq!(Quanta(1).duration(ten), Duration::from_ps(51_200));
        assert_eq!(Quanta::MAX.duration(ten), Duration::from_ns(3_355_392));
        assert_eq!(Quanta::at_least(Duration::from_ns(3_355_392), ten), Some(Quanta::MAX));
        assert_eq!(Quanta::at_least(Duration::from_ps(3_355_392_001), ten), None);
        // A slot of 300 us and its guard of 15.
        assert_eq!(Quanta::at_least(Duration::from_us(315), ten), Some(Quanta(6153)));
        assert_eq!(Quanta::at_most(Duration::from_us(315), ten), Quanta(6152));
        assert_eq!(Quanta::MAX.duration(Rate::gbps(100)), Duration::from_ps(335_539_200));
    }

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(Quanta::ZERO.duration(Rate::ZERO), Duration::ZERO);
        assert_eq!(Quanta(1).duration(Rate::ZERO), Duration::MAX);
        assert_eq!(Quanta::MAX.duration(Rate::bps(1)), Duration::MAX);
        assert_eq!(Quanta::at_least(Duration::MAX, Rate::ZERO), Some(Quanta(1)));
        assert_eq!(Quanta::at_least(Duration::MAX, Rate::bps(u64::MAX)), None);
        assert_eq!(Quanta::at_least(Duration::from_ps(-1), Rate::gbps(1)), Some(Quanta::ZERO));
        assert_eq!(Quanta::at_most(Duration::MAX, Rate::bps(u64::MAX)), Quanta::MAX);
        assert_eq!(Quanta(2).bytes(), Bytes::new(128));
    }

    proptest! {
        #[test]
        fn rounding_keeps_its_side(ps in 0i64..10_000_000_000, bps in 1u64..2_000_000_000_000) {
            let (d, rate) = (Duration::from_ps(ps), Rate::bps(bps));
            let below = Quanta::at_most(d, rate);
            prop_assert!(below.duration(rate) <= d);
            match Quanta::at_least(d, rate) {
                Some(q) => {
                    prop_assert!(q.duration(rate) >= d);
                    prop_assert!(q.0 == 0 || Quanta(q.0 - 1).duration(rate) <= d);
                    prop_assert!(q == below || q.0 == below.0 + 1);
                }
                None => prop_assert!(Quanta::MAX.duration(rate) <= d),
            }
        }

        #[test]
        fn a_pause_is_found_again(quanta: u16, gbps in 1u64..1000) {
            // The duration is rounded up by less than one picosecond.
            let d = Quanta(quanta).duration(Rate::gbps(gbps));
            prop_assert_eq!(Quanta::at_most(d, Rate::gbps(gbps)), Quanta(quanta));
        }
    }
}
