//! Numbers for people: three significant digits, with the unit that makes the number shortest.
//! Tables, reports and the terminal use them; files keep full precision.

/// What a number measures, which decides its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Picoseconds.
    Time,
    /// Bit/s.
    Rate,
    /// A number of bytes.
    Bytes,
    /// A number of things.
    Count,
    /// A ratio, without a unit.
    Ratio,
}

impl Quantity {
    /// Units in ascending order; each is a thousand times the previous one.
    const fn units(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["ps", "ns", "us", "ms", "s"],
            Self::Rate => &["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"],
            Self::Bytes => &["B", "kB", "MB", "GB", "TB"],
            Self::Count | Self::Ratio => &[""],
        }
    }

    /// The divisor for this value, and the unit of the result.
    fn scale(self, value: f64) -> (f64, &'static str) {
        let units = self.units();
        let mut factor = 1.0;
        let mut at = 0;
        while at + 1 < units.len() && value.abs() >= 999.5 * factor {
            factor *= 1000.0;
            at += 1;
        }
        (factor, units[at])
    }

    /// Formats a value: `12.3 us`, or `12.3 ± 0.4 us` with a half-width. Both numbers have the same
    /// decimals.
    pub fn show(self, value: f64, half_width: Option<f64>) -> String {
        let (factor, unit) = self.scale(value);
        let whole = self == Self::Count && value.fract() == 0.0 && half_width.unwrap_or(0.0) == 0.0;
        let decimals = if whole { 0 } else { decimals(value / factor) };
        let half_width = half_width.map(|h| h / factor);
        with_half_width(value / factor, half_width, visible(decimals, half_width), unit, false)
    }

    /// Formats a difference: as [`show`](Self::show), with a sign.
    pub fn show_difference(self, value: f64, half_width: Option<f64>) -> String {
        let (factor, unit) = self.scale(value);
        let half_width = half_width.map(|h| h / factor);
        with_half_width(value / factor, half_width, visible(decimals(value / factor), half_width), unit, true)
    }
}

/// Formats a relative difference in percent: `-12.3 ± 1.1 %` for -0.123 and 0.011.
pub fn show_relative(value: f64, half_width: Option<f64>) -> String {
    let decimals = if value.abs() >= 9.995 { 0 } else { 1 };
    with_half_width(100.0 * value, half_width.map(|h| 100.0 * h), decimals, "%", true)
}

/// What the last decimal counts, by the number of decimals. [`visible`] adds up to two to the four
/// of [`decimals`].
const UNIT_OF_DECIMAL: [f64; 7] = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];

/// The number of decimals with which a value has three digits, 4 at most.
fn decimals(value: f64) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // 9.996 is written 10.0, not 10.00.
    let rounded = value.abs() * 1.000_500_1;
    [100.0, 10.0, 1.0, 0.1].iter().position(|&least| rounded >= least).unwrap_or(4)
}

/// Adds up to two decimals if they make the half-width visible.
fn visible(decimals: usize, half_width: Option<f64>) -> usize {
    let shows = |decimals: &usize| half_width.is_some_and(|h| h >= 0.5 * UNIT_OF_DECIMAL[*decimals]);
    (decimals..=decimals + 2).find(shows).unwrap_or(decimals)
}

fn with_half_width(value: f64, half_width: Option<f64>, decimals: usize, unit: &str, sign: bool) -> String {
    // No "-0.0".
    let value = if value.abs() < 0.5 * UNIT_OF_DECIMAL[decimals] { 0.0 } else { value };
    let mut text = if sign && value != 0.0 { format!("{value:+.decimals$}") } else { format!("{value:.decimals$}") };
    if let Some(h) = half_width {
        text += &format!(" ± {h:.decimals$}");
    }
    if !unit.is_empty() {
        text.push(' ');
        text += unit;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_the_unit_in_which_they_are_short() {
        let time = |ps| Quantity::Time.show(ps, None);
        assert_eq!(time(12_345_678.0), "12.3 us");
        assert_eq!(time(4.56e12), "4.56 s");
        assert_eq!(time(123_456.0e12), "123456 s");
        assert_eq!(time(999_600.0), "1.00 us");
        assert_eq!(time(9_996.0), "10.0 ns");
        assert_eq!(time(999_400.0), "999 ns");
        assert_eq!(time(0.0), "0 ps");
        assert_eq!(Quantity::Time.show(12_345_678.0, Some(400_000.0)), "12.3 ± 0.4 us");
        assert_eq!(Quantity::Time.show(123.4e6, Some(0.04e6)), "123.40 ± 0.04 us");
        assert_eq!(Quantity::Rate.show(9.413e9, None), "9.41 Gb/s");
        assert_eq!(Quantity::Count.show(1234.0, None), "1234");
        assert_eq!(Quantity::Count.show(3.0, Some(1.5)), "3.00 ± 1.50");
        assert_eq!(Quantity::Ratio.show(0.98512, None), "0.985");
        assert_eq!(show_relative(-0.1234, Some(0.011)), "-12.3 ± 1.1 %");
        assert_eq!(show_relative(23.4, None), "+2340 %");
        assert_eq!(show_relative(-0.0, Some(0.0)), "0.0 ± 0.0 %");
        assert_eq!(Quantity::Count.show_difference(-12.0, None), "-12.0");
    }
}
