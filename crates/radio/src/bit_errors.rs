//! Bit errors by SINR, calibrated at the sensitivity, and the rate that keeps them rare.
//!
//! This is the method of flyways (SIGCOMM 2011, appendix B).

use crate::decibel::{Db, Dbm, Milliwatts};
use crate::math::{all_of, exp, ln_1p, q};
use crate::mcs::Mcs;

/// Bit error rate at a rate's sensitivity: 1 % loss of 4096 B packets.
pub const BER_AT_SENSITIVITY: f64 = 3e-7;
/// Highest bit error rate at which a rate is used (flyways' auto-rate).
pub const BER_IN_USE: f64 = 1e-9;

/// Argument at which the normal distribution's upper tail is [`BER_AT_SENSITIVITY`].
const AT_SENSITIVITY: f64 = 4.991_217_139_907_697;

/// Signal over noise and interference.
///
/// # Panics
/// If there is neither noise nor interference.
pub fn sinr(signal: Dbm, noise: Dbm, interference: Milliwatts) -> Db {
    let other = noise.milliwatts() + interference;
    assert!(other > Milliwatts::ZERO, "there is always noise");
    signal - other.dbm()
}

/// SINR at a rate's sensitivity without interference; `None` without a sensitivity.
///
/// Sensitivities include noise figure and implementation loss. This value is therefore far above a
/// decoder's SNR: 15 dB for MCS 13 over flyways' -81 dBm. Compare a SINR with it directly and
/// subtract no losses.
pub fn required_sinr(mcs: Mcs, noise: Dbm) -> Option<Db> {
    mcs.sensitivity().map(|s| s - noise)
}

/// Bit error rate for a SINR that exceeds the one at the sensitivity by `excess`: Q(4.9912 ·
/// 10^(excess/20)).
///
/// This is BPSK's textbook curve shifted to 3e-7 at 0 dB. After the shift, the curves of QPSK and
/// QAM are practically equal.
pub fn bit_error_rate(excess: Db) -> f64 {
    bit_error_rate_of_ratio(excess.ratio())
}

/// The bit error rate from the ratio of the SINR to that at the sensitivity. Takes no logarithm,
/// for hot loops.
///
/// # Panics
/// If the ratio is negative or NaN.
pub fn bit_error_rate_of_ratio(ratio: f64) -> f64 {
    assert!(ratio >= 0.0, "a ratio of powers is at least 0");
    q(AT_SENSITIVITY * ratio.sqrt())
}

/// Probability that a packet arrives if its parts had different SINR: `Π (1 - BER_i)^bits_i`.
///
/// Each part is its number of bits and the excess of its SINR over that at the sensitivity.
pub fn packet_success(parts: impl IntoIterator<Item = (u64, Db)>) -> f64 {
    parts.into_iter().map(|(bits, excess)| all_of(bit_error_rate(excess), bits as f64)).product()
}

/// Probability that `bits` bits are all correct, `(1 - BER)^bits`. Bits may be fractional.
pub fn all_right(bit_error_rate: f64, bits: f64) -> f64 {
    all_of(bit_error_rate, bits)
}

/// A packet being received, part by part as interferers come and go.
///
/// The product is the same as in [`packet_success`], but takes powers in milliwatts. It needs one
/// logarithm of a bit error rate per part and none of a SINR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reception {
    /// SINR at the rate's sensitivity, as a ratio.
    required: f64,
    /// Natural logarithm of the success probability so far.
    log: f64,
}

impl Reception {
    /// Starts with nothing received; `None` for a rate without a sensitivity.
    pub fn new(mcs: Mcs, noise: Dbm) -> Option<Self> {
        Some(Self { required: required_sinr(mcs, noise)?.ratio(), log: 0.0 })
    }

    /// Adds `bits` received at a signal power against a power of noise and interference.
    ///
    /// # Panics
    /// If there is neither noise nor interference.
    pub fn part(&mut self, bits: u64, signal: Milliwatts, others: Milliwatts) {
        assert!(others > Milliwatts::ZERO, "there is always noise");
        if bits > 0 {
            self.log += bits as f64 * ln_1p(-bit_error_rate_of_ratio(signal / others / self.required));
        }
    }

    /// Probability that all bits so far are correct.
    pub fn success(&self) -> f64 {
        exp(self.log)
    }
}

/// The fastest rate whose bit error rate is at most [`BER_IN_USE`] at this SINR; `None` if there is
/// none.
///
/// Rates without a sensitivity do not count; among equal rates the first wins.
pub fn fastest(rates: impl IntoIterator<Item = Mcs>, sinr: Db, noise: Dbm) -> Option<Mcs> {
    let good = |m: &Mcs| required_sinr(*m, noise).is_some_and(|r| bit_error_rate(sinr - r) <= BER_IN_USE);
    rates.into_iter().filter(good).reduce(|a, b| if b.rate() > a.rate() { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagation::FLYWAYS_NOISE;
    use proptest::prelude::*;

    #[test]
    fn one_packet_of_a_hundred_is_lost_at_every_sensitivity() {
        for mcs in Mcs::all() {
            let Some(sensitivity) = mcs.sensitivity() else { continue };
            let sinr = sinr(sensitivity, FLYWAYS_NOISE, Milliwatts::ZERO);
            let excess = sinr - required_sinr(mcs, FLYWAYS_NOISE).unwrap();
            assert!((bit_error_rate(excess) / 3e-7 - 1.0).abs() < 1e-9, "{mcs:?}");
            let loss = 1.0 - packet_success([(4096 * 8, excess)]);
            assert!((loss - 0.01).abs() < 3e-4, "{mcs:?}: {loss}");
        }
        assert_eq!(Mcs::all().filter(|m| m.sensitivity().is_none()).count(), 7);
    }

    #[test]
    fn parts_multiply() {
        let (good, bad) = (Db::new(10.0), Db::new(-1.5));
        let whole = packet_success([(65_120, good), (1_000, bad), (0, Db::new(-30.0))]);
        let expected = (1.0 - bit_error_rate(bad)).powi(1_000) * (1.0 - bit_error_rate(good)).powi(65_120);
        assert!((whole - expected).abs() < 1e-12 && whole < 0.999 && whole > 0.9, "{whole}");
        assert_eq!(packet_success([]), 1.0);
        // The same in milliwatts.
        let mcs = Mcs::constant(20);
        let noise = FLYWAYS_NOISE;
        let mut reception = Reception::new(mcs, noise).unwrap();
        assert_eq!(reception.success(), 1.0);
        for (bits, excess) in [(65_120, good), (1_000, bad), (0, Db::new(-30.0))] {
            let signal = (mcs.sensitivity().unwrap() + excess).milliwatts();
            reception.part(bits, signal, noise.milliwatts());
        }
        assert!((reception.success() - whole).abs() < 1e-10);
        // Half a bit of pure noise is a coin toss.
        assert!((packet_success([(1, Db::new(f64::NEG_INFINITY))]) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn rates_by_sinr() {
        // 1.6 dB above the sensitivity: -64.4 dBm for MCS 13, -45.4 dBm for MCS 24.
        for (signal, rate) in
            [(-64.3, Some("13")), (-64.5, None), (-45.3, Some("24")), (-45.5, Some("23")), (0.0, Some("24"))]
        {
            let sinr = sinr(Dbm::new(signal), FLYWAYS_NOISE, Milliwatts::ZERO);
            assert_eq!(fastest(Mcs::ofdm(), sinr, FLYWAYS_NOISE).map(Mcs::name), rate, "{signal}");
        }
        // MCS 5 needs more than MCS 6 and is slower.
        for level in -700..-400 {
            let sinr = Db::new(f64::from(level) * 0.1 + 81.0);
            assert_ne!(fastest(Mcs::single_carrier(), sinr, FLYWAYS_NOISE).map(Mcs::name), Some("5"));
        }
    }

    proptest! {
        #[test]
        fn more_signal_never_hurts(a in -40.0..60.0f64, b in 0.0..20.0f64, bits in 0u64..10_000_000) {
            let (low, high) = (Db::new(a), Db::new(a + b));
            prop_assert!(bit_error_rate(high) <= bit_error_rate(low) && bit_error_rate(low) <= 0.5);
            prop_assert!((bit_error_rate(low) - bit_error_rate_of_ratio(low.ratio())).abs() == 0.0);
            prop_assert!(packet_success([(bits, high)]) >= packet_success([(bits, low)]));
            let rate = |sinr| fastest(Mcs::all(), sinr, FLYWAYS_NOISE).map(|m| m.rate());
            prop_assert!(rate(high) >= rate(low));
        }
    }
}
