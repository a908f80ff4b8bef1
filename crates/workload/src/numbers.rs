//! Random numbers and elementary functions that are the same on every machine.
//!
//! They use integers and IEEE operations only. `f64::ln` and `f64::exp` depend on the platform.

use rand::Rng;

/// Uniform in `[0, 1)`, a multiple of 2⁻⁵³.
#[inline]
pub(crate) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Uniform in `0..n`; 0 if `n` is 0. The bias, at most n / 2⁶⁴, is too small to detect in any run.
#[inline]
pub(crate) fn below(rng: &mut impl Rng, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// Exponential with mean 1; at most 37.5.
#[inline]
pub(crate) fn exponential(rng: &mut impl Rng) -> f64 {
    // In (0, 1], and symmetric around the middle of its steps.
    let u = ((rng.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
    -ln(u)
}

/// The natural logarithm of a positive normal number; relative error below 1e-15, absolute below
/// 1e-15 near 1.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0, "{x}");
    const MANTISSA: u64 = (1 << 52) - 1;
    // x = m 2^e with m in [1/sqrt 2, sqrt 2).
    let bits = x.to_bits();
    let mut e = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits((bits & MANTISSA) | (1023 << 52));
    if m >= std::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    // ln m = 2 artanh s, |s| < 0.1716.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut sum = 0.0;
    for k in (1..=10).rev() {
        sum = (sum + 1.0 / f64::from(2 * k + 1)) * z;
    }
    e as f64 * std::f64::consts::LN_2 + 2.0 * s * (1.0 + sum)
}

/// `1 - exp(-x)` for `x >= 0`, without cancellation for small `x`; relative error below 1e-14.
pub(crate) fn one_minus_exp(x: f64) -> f64 {
    debug_assert!(x >= 0.0, "{x}");
    if x > 40.0 {
        return 1.0;
    }
    // Halve until the series converges fast, then double: 1 - e^-2y = f (2 - f) with f = 1 - e^-y.
    let mut y = x;
    let mut halvings = 0;
    while y > 0.125 {
        y *= 0.5;
        halvings += 1;
    }
    let mut f = 0.0;
    for k in (1..=10).rev() {
        f = y / f64::from(k) * (1.0 - f);
    }
    for _ in 0..halvings {
        f *= 2.0 - f;
    }
    f
}

/// `exp(-x)` for `x >= 0`; relative error below 1e-14 while it is above 1e-300.
pub(crate) fn exp_minus(x: f64) -> f64 {
    debug_assert!(x >= 0.0, "{x}");
    if x > 700.0 {
        return 0.0;
    }
    let mut y = x;
    let mut halvings = 0;
    while y > 0.125 {
        y *= 0.5;
        halvings += 1;
    }
    let mut e = 1.0 - one_minus_exp(y);
    for _ in 0..halvings {
        e *= e;
    }
    e
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Streams;

    #[test]
    fn functions_agree_with_the_platforms() {
        let mut rng = Streams::new(3).fast("test", 0, "");
        for _ in 0..100_000 {
            let u = unit(&mut rng) + 1e-17;
            assert!((ln(u) - u.ln()).abs() <= 1e-15 * u.ln().abs().max(1.0), "{u}");
            let x = u * 60.0;
            assert!((one_minus_exp(x) / -(-x).exp_m1() - 1.0).abs() < 1e-13, "{x}");
            assert!((exp_minus(x) / (-x).exp() - 1.0).abs() < 1e-12, "{x}");
            let tiny = u * 1e-9;
            assert!((one_minus_exp(tiny) / -(-tiny).exp_m1() - 1.0).abs() < 1e-14, "{tiny}");
        }
        assert_eq!(ln(1.0), 0.0);
        assert_eq!((one_minus_exp(0.0), exp_minus(0.0)), (0.0, 1.0));
    }
}
