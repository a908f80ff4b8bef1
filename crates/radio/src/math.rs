//! Elementary functions with the same digits on every machine.
//!
//! `f64::sin`, `powf` and similar ones are the platform's and differ in the last digit. These use
//! `libm`, plain Rust with IEEE operations only. Square roots do not need it: IEEE 754 rounds them
//! correctly everywhere.

/// Degrees in a radian.
const DEGREES: f64 = 180.0 / core::f64::consts::PI;

/// 10 to the power `x`.
pub(crate) fn exp10(x: f64) -> f64 {
    libm::exp10(x)
}

/// Decimal logarithm; -∞ at 0.
pub(crate) fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// Sine and cosine of an angle in degrees.
pub(crate) fn sin_cos_degrees(x: f64) -> (f64, f64) {
    libm::sincos(x / DEGREES)
}

/// The angle of (x, y) in degrees, in [-180, 180].
pub(crate) fn atan2_degrees(y: f64, x: f64) -> f64 {
    libm::atan2(y, x) * DEGREES
}

/// Arc tangent in radians.
pub(crate) fn atan(x: f64) -> f64 {
    libm::atan(x)
}

/// Sine and cosine of an angle in radians.
pub(crate) fn sin_cos(x: f64) -> (f64, f64) {
    libm::sincos(x)
}

/// The upper tail of the standard normal distribution.
pub(crate) fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2)
}

/// e to the power `x`.
pub(crate) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm of `1 + x`; -∞ at -1.
pub(crate) fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// `(1 - p)^n` without cancellation for small `p`.
pub(crate) fn all_of(p: f64, n: f64) -> f64 {
    if n == 0.0 { 1.0 } else { exp(n * ln_1p(-p)) }
}

/// `1 - (1 - p)^n` without cancellation for small `p`.
pub(crate) fn any_of(p: f64, n: f64) -> f64 {
    if n == 0.0 { 0.0 } else { -libm::expm1(n * ln_1p(-p)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of `libm` that moves the last digit changes results.
    #[test]
    fn digits_are_pinned() {
        let bits = |x: f64| x.to_bits();
        assert_eq!(bits(exp10(-0.37)), 0x3fdb_4d14_2e99_5c49);
        assert_eq!(bits(log10(0.0421)), 0xbff6_02f0_c6ee_84fc);
        assert_eq!(bits(q(4.5)), 0x3ecc_8072_8dd3_b026);
    }

    #[test]
    fn tails_keep_their_digits() {
        assert!((q(0.0) - 0.5).abs() < 1e-16);
        // Abramowitz and Stegun, table 26.2: Q(5) = 2.866515719e-7.
        assert!((q(5.0) / 2.866_515_719e-7 - 1.0).abs() < 1e-9);
        assert!((any_of(1e-18, 1e3) / 1e-15 - 1.0).abs() < 1e-12);
        assert_eq!(all_of(1.0, 5.0), 0.0);
        assert_eq!(all_of(1.0, 0.0), 1.0);
    }
}
