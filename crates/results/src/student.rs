//! Student's t distribution with whole degrees of freedom.
//!
//! It uses IEEE operations and `libm` only, so intervals and p-values have the same digits on every
//! machine. With x = n / (n + t²), the probability of a value above t is half of the regularized
//! incomplete beta function I_x(n/2, 1/2) (Abramowitz and Stegun, Handbook of Mathematical
//! Functions, 26.7.1 and 26.5.27).

use std::f64::consts::PI;

/// The probability of a value of at most `t`; relative error about 1e-14 below 0.
pub(crate) fn below(t: f64, freedom: usize) -> f64 {
    let tail = Tail::new(freedom);
    if t < 0.0 { tail.above(-t) } else { 1.0 - tail.above(t) }
}

/// The value that is not exceeded with probability `p`, for `0 < p < 1`.
pub(crate) fn quantile(p: f64, freedom: usize) -> f64 {
    if p < 0.5 {
        return -quantile(1.0 - p, freedom);
    }
    let (tail, above) = (Tail::new(freedom), 1.0 - p);
    let (mut low, mut high) = (0.0, 1.0);
    while tail.above(high) > above {
        low = high;
        high *= 2.0;
    }
    // Newton's method. It stays below the root, because the tail is convex, up to rounding errors.
    // The halving bounds it nevertheless.
    let mut t = low;
    for _ in 0..200 {
        let off = tail.above(t) - above;
        *(if off > 0.0 { &mut low } else { &mut high }) = t;
        let next = t + off / tail.density(t);
        let next = if next >= low && next <= high { next } else { (low + high) / 2.0 };
        if (next - t).abs() <= 4.0 * f64::EPSILON * next {
            return next;
        }
        t = next;
    }
    t
}

/// The upper tail.
struct Tail {
    freedom: usize,
    /// B(n/2, 1/2).
    beta: f64,
}

impl Tail {
    /// # Panics
    /// Without a degree of freedom.
    fn new(freedom: usize) -> Self {
        assert!(freedom > 0, "at least one degree of freedom");
        // B(1/2, 1/2) = π, B(1, 1/2) = 2, and B(a + 1, 1/2) = B(a, 1/2) a / (a + 1/2).
        let (mut twice, mut beta) = if freedom % 2 == 1 { (1, PI) } else { (2, 2.0) };
        while twice < freedom {
            beta *= twice as f64 / (twice + 1) as f64;
            twice += 2;
        }
        Self { freedom, beta }
    }

    /// The probability of a value above `t`, for `t >= 0`.
    fn above(&self, t: f64) -> f64 {
        let (a, b, n) = (self.freedom as f64 / 2.0, 0.5, self.freedom as f64);
        let (x, rest) = (1.0 / (1.0 + t * t / n), 1.0 / (1.0 + n / (t * t)));
        // x^a (1 - x)^b / B(a, b)
        let common = libm::pow(x, a) * rest.sqrt() / self.beta;
        // The series of the smaller of both sides is short: I_x(a, b) = 1 - I_(1-x)(b, a).
        if x < (a + 1.0) / (a + b + 2.0) {
            0.5 * common * series(a, b, x) / a
        } else {
            0.5 * (1.0 - common * series(b, a, rest) / b)
        }
    }

    fn density(&self, t: f64) -> f64 {
        let n = self.freedom as f64;
        libm::pow(n / (n + t * t), (n + 1.0) / 2.0) / (n.sqrt() * self.beta)
    }
}

/// The hypergeometric series F(a + b, 1; a + 1; x) of the incomplete beta function (NIST Digital
/// Library of Mathematical Functions, 8.17.8). All its terms are positive, so no digit cancels.
fn series(a: f64, b: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, 0.0);
    while term > 1e-17 * sum {
        term *= (a + b + k) / (a + 1.0 + k) * x;
        sum += term;
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of a value between -t and t, by the finite sums of Abramowitz and Stegun,
    /// 26.7.3 and 26.7.4.
    fn between(t: f64, freedom: usize) -> f64 {
        let n = freedom as f64;
        let angle = (t / n.sqrt()).atan();
        let (sin, cos) = angle.sin_cos();
        let (mut term, mut sum) = if freedom % 2 == 1 { (cos, 0.0) } else { (1.0, 0.0) };
        let mut factor = if freedom % 2 == 1 { 2.0 } else { 1.0 };
        for _ in 0..freedom / 2 {
            sum += term;
            term *= cos * cos * factor / (factor + 1.0);
            factor += 2.0;
        }
        if freedom % 2 == 1 { 2.0 / PI * (angle + sin * sum) } else { sin * sum }
    }

    #[test]
    fn probabilities_are_those_of_the_finite_sums() {
        for freedom in (1..=60).chain([99, 100, 999, 1000]) {
            for t in [0.0, 1e-9, 0.01, 0.3, 1.0, 1.9, 3.0, 8.0, 40.0] {
                let found = 1.0 - 2.0 * below(-t, freedom);
                assert!((found - between(t, freedom)).abs() < 1e-13, "{freedom}, {t}: {found}");
                assert!((below(t, freedom) + below(-t, freedom) - 1.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn far_tails_keep_their_digits() {
        for t in [0.5f64, 3.0, 50.0, 1e4, 1e9] {
            // One degree of freedom is Cauchy's distribution; two have an algebraic one.
            let one = (1.0 / t).atan() / PI;
            let root = (2.0 + t * t).sqrt();
            let two = 1.0 / (root * (root + t));
            assert!((below(-t, 1) / one - 1.0).abs() < 1e-13, "{t}");
            assert!((below(-t, 2) / two - 1.0).abs() < 1e-13, "{t}");
        }
        assert_eq!(below(f64::NEG_INFINITY, 3), 0.0);
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        for freedom in (1..=60).chain([99, 100, 999, 1000]) {
            for p in [1e-6, 0.025, 0.4, 0.5, 0.6, 0.9, 0.975, 0.995, 0.99999] {
                let found = below(quantile(p, freedom), freedom);
                assert!((found - p).abs() < 1e-13, "{freedom}, {p}: {found}");
            }
        }
    }
}
