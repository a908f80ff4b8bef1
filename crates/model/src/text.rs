//! Quantities as text: `"20 us"`, `"100 Gb/s"`, `"46 kB"`.
//!
//! A quantity is one number, at most one space, and one unit.

use crate::units::{Bytes, Duration, Rate};
use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;

/// The text is not a quantity.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnitError {
    /// The number is missing or malformed.
    #[error("`{text}` does not start with a number: write it like `{example}`")]
    Number {
        /// The text in question.
        text: String,
        /// A valid example.
        example: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("`{text}` has {found}: allowed are {allowed}")]
    Unit {
        /// The text in question.
        text: String,
        /// The unit in the text.
        found: String,
        /// Valid units.
        allowed: &'static str,
    },
    /// The quantity is clear, but written in another way.
    #[error("write `{text}` as `{meant}`")]
    Spelling {
        /// The text in question.
        text: String,
        /// The same quantity as it is written here.
        meant: String,
    },
    /// The number does not fit the type.
    #[error("`{text}` is out of range: {range}")]
    Range {
        /// The text in question.
        text: String,
        /// Valid range.
        range: &'static str,
    },
}

struct Family {
    units: &'static [(&'static str, u64)],
    /// What other programs write for the end of a unit, in lower case, the longest first.
    endings: &'static [(&'static str, &'static str)],
    allowed: &'static str,
    example: &'static str,
    range: &'static str,
}

/// Parses `text` into the family's base unit, exactly if the decimal is representable.
fn parse(text: &str, family: &Family) -> Result<i128, UnitError> {
    let t = text.trim();
    let end = t.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+'))).unwrap_or(t.len());
    let (number, unit) = (t[..end].replace('_', ""), t[end..].trim());
    let bad_number = || UnitError::Number { text: text.to_owned(), example: family.example };
    let out_of_range = || UnitError::Range { text: text.to_owned(), range: family.range };
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(&number)),
    };
    let misspelt = || meant(t, family).map(|meant| UnitError::Spelling { text: text.to_owned(), meant });
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return Err(bad_number());
    }
    let Some(&(_, factor)) = family.units.iter().find(|(name, _)| *name == unit) else {
        if let Some(error) = misspelt() {
            return Err(error);
        }
        let found = if unit.is_empty() { "no unit".to_owned() } else { format!("the unit `{unit}`") };
        return Err(UnitError::Unit { text: text.to_owned(), found, allowed: family.allowed });
    };
    if whole.len() > 20 || fraction.len() > 15 {
        return Err(out_of_range());
    }
    let factor = i128::from(factor);
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad_number())? };
    let scale = 10i128.pow(fraction.len() as u32);
    let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| bad_number())? };
    let value = whole * factor + (fraction * factor + scale / 2) / scale;
    Ok(if negative { -value } else { value })
}

/// The quantity that a text with an exponent or with another program's unit means: `10 Gb/s` for
/// `10Gbps`, `1 MB` for `1e6 B`.
fn meant(text: &str, family: &Family) -> Option<String> {
    let mut end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let mut number = text[..end].to_owned();
    // An exponent is a letter and digits.
    let exponent = text[end..].strip_prefix(['e', 'E']).map(|rest| {
        let digits = rest.trim_start_matches(['+', '-']);
        &rest[..rest.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len()]
    });
    if let Some(exponent) = exponent.filter(|e| e.ends_with(|c: char| c.is_ascii_digit())) {
        end += 1 + exponent.len();
        let value: f64 = text[..end].parse().ok().filter(|v| (0.0..1e15).contains(v))?;
        number = value.to_string();
    }
    let given = text[end..].trim();
    // A number alone can be anything, and a small b is a bit to some.
    if given.is_empty() || (family.example == BYTES.example && given.ends_with('b')) {
        return None;
    }
    let known = |name: &str| family.units.iter().find(|(unit, _)| *unit == name);
    let unit = known(given).or_else(|| {
        let lower = given.to_lowercase();
        let (prefix, ending) =
            family.endings.iter().find_map(|(theirs, ours)| Some((lower.strip_suffix(theirs)?, *ours)))?;
        let prefix = prefix.trim_end();
        // One letter before the ending; of ours, only `M`, `G` and `T` are capital.
        known(&format!("{prefix}{ending}")).or_else(|| known(&format!("{}{ending}", prefix.to_uppercase())))
    })?;
    number.parse::<f64>().is_ok().then(|| format!("{number} {}", unit.0))
}

const DURATION: Family = Family {
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    endings: &[
        ("microseconds", "us"),
        ("milliseconds", "ms"),
        ("nanoseconds", "ns"),
        ("seconds", "s"),
        ("minutes", "min"),
        ("second", "s"),
        ("hours", "h"),
        ("secs", "s"),
        ("sec", "s"),
        ("hr", "h"),
        ("\u{3bc}s", "us"),
    ],
    allowed: "ps, ns, us, ms, s, min, h",
    example: "20 us",
    range: "a duration is at most 106 days",
};
const RATE: Family = Family {
    units: &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)],
    endings: &[
        ("bits/sec", "b/s"),
        ("bit/sec", "b/s"),
        ("bits/s", "b/s"),
        ("bit/s", "b/s"),
        ("b/sec", "b/s"),
        ("bps", "b/s"),
        ("bit", "b/s"),
        ("", "b/s"),
    ],
    allowed: "b/s, kb/s, Mb/s, Gb/s, Tb/s (bits per second)",
    example: "10 Gb/s",
    range: "a rate is positive and at most 18,000,000 Tb/s",
};
const BYTES: Family = Family {
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    endings: &[("bytes", "B"), ("byte", "B"), ("b", "B"), ("", "B")],
    allowed: "B, kB, MB, GB, TB, KiB, MiB, GiB",
    example: "46 kB",
    range: "a size is not negative and at most 18,000,000 TB",
};

impl FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let ps = parse(text, &DURATION)?;
        i64::try_from(ps)
            .map(Duration::from_ps)
            .map_err(|_| UnitError::Range { text: text.to_owned(), range: DURATION.range })
    }
}
impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bps = parse(text, &RATE)?;
        match u64::try_from(bps) {
            Ok(b) if b > 0 => Ok(Rate::bps(b)),
            _ => Err(UnitError::Range { text: text.to_owned(), range: RATE.range }),
        }
    }
}
impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let b = parse(text, &BYTES)?;
        u64::try_from(b).map(Bytes::new).map_err(|_| UnitError::Range { text: text.to_owned(), range: BYTES.range })
    }
}

/// Writes `value` in the largest unit that keeps it whole.
fn write(f: &mut fmt::Formatter<'_>, value: i128, units: &[(&str, u64)]) -> fmt::Result {
    let whole = units.iter().rev().find(|(_, k)| value != 0 && value % i128::from(*k) == 0);
    let (name, factor) = whole.unwrap_or(&units[0]);
    write!(f, "{} {name}", value / i128::from(*factor))
}

/// In the largest unit of which it is at least one, exactly: `1.5 ms`, `12.304 us`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64, usize); 5] = [
            ("s", 1_000_000_000_000, 12),
            ("ms", 1_000_000_000, 9),
            ("us", 1_000_000, 6),
            ("ns", 1_000, 3),
            ("ps", 1, 0),
        ];
        let (sign, ps) = (if self.as_ps() < 0 { "-" } else { "" }, self.as_ps().unsigned_abs());
        let (name, factor, digits) = UNITS.into_iter().find(|unit| ps >= unit.1).unwrap_or(UNITS[4]);
        write!(f, "{sign}{}", ps / factor)?;
        if !ps.is_multiple_of(factor) {
            let fraction = format!("{:0digits$}", ps % factor);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        write!(f, " {name}")
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, i128::from(self.as_bps()), RATE.units)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, i128::from(self.get()), &BYTES.units[..5])
    }
}

/// serde and JSON Schema of one quantity: a string with a unit, both ways.
macro_rules! as_text {
    ($type:ty, $name:literal, $description:literal, $example:literal, $pattern:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <Cow<'de, str>>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": $description,
                    "pattern": $pattern,
                    "examples": [$example],
                })
            }
        }
    };
}
as_text!(
    Duration,
    "Duration",
    "A span of time: a number and one of ps, ns, us, ms, s, min, h.",
    "20 us",
    r"^-?[0-9_.]+ ?(ps|ns|us|µs|ms|s|min|h)$"
);
as_text!(
    Rate,
    "Rate",
    "Bits per second: a number and one of b/s, kb/s, Mb/s, Gb/s, Tb/s.",
    "10 Gb/s",
    r"^[0-9_.]+ ?(b|kb|Mb|Gb|Tb)/s$"
);
as_text!(
    Bytes,
    "Bytes",
    "A count of octets: a number and one of B, kB, MB, GB, TB, KiB, MiB, GiB.",
    "46 kB",
    r"^[0-9_.]+ ?(B|kB|MB|GB|TB|KiB|MiB|GiB)$"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!("20 us".parse(), Ok(Duration::from_us(20)));
        assert_eq!("0.5ns".parse(), Ok(Duration::from_ps(500)));
        assert_eq!("-3 us".parse(), Ok(Duration::from_us(-3)));
        assert_eq!("1.5 Gb/s".parse(), Ok(Rate::mbps(1500)));
        assert_eq!("46 kB".parse(), Ok(Bytes::kb(46)));
        assert_eq!("1 KiB".parse(), Ok(Bytes::new(1024)));
        assert_eq!("1_000 B".parse(), Ok(Bytes::new(1000)));
    }

    #[test]
    fn durations_have_the_unit_that_a_person_would_choose() {
        let shown = [
            (0, "0 ps"),
            (999, "999 ps"),
            (1_000, "1 ns"),
            (12_304_000, "12.304 us"),
            (1_500_000_000, "1.5 ms"),
            (-30_000_000, "-30 us"),
            (90_000_000_000_000, "90 s"),
            (1_000_000_000_001, "1.000000000001 s"),
            (i64::MIN, "-9223372.036854775808 s"),
        ];
        for (ps, text) in shown {
            assert_eq!(Duration::from_ps(ps).to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |e: Result<Rate, UnitError>| e.unwrap_err().to_string();
        assert_eq!(
            error("100 GB/s".parse()),
            "`100 GB/s` has the unit `GB/s`: allowed are b/s, kb/s, Mb/s, Gb/s, Tb/s (bits per second)"
        );
        // A unit in bytes is not taken for one in bits, nor a number without a unit for anything.
        assert_eq!(error("fast".parse()), "`fast` does not start with a number: write it like `10 Gb/s`");
        assert_eq!(error("0 Gb/s".parse()), "`0 Gb/s` is out of range: a rate is positive and at most 18,000,000 Tb/s");
        assert!("-1 B".parse::<Bytes>().is_err());
        assert!("20".parse::<Duration>().unwrap_err().to_string().contains("no unit"));
        assert!("1e3 us".parse::<Duration>().is_err());
        assert!("999999999999 h".parse::<Duration>().is_err());
    }

    #[test]
    fn other_spellings_are_answered_with_ours() {
        let rates = [
            ("10Gbps", "10 Gb/s"),
            ("10 Gbit/s", "10 Gb/s"),
            ("10G", "10 Gb/s"),
            ("10gbps", "10 Gb/s"),
            ("2.5 Mbits/sec", "2.5 Mb/s"),
            ("100 Kbps", "100 kb/s"),
            ("1e10 b/s", "10000000000 b/s"),
            ("1e1 Gbps", "10 Gb/s"),
        ];
        for (text, meant) in rates {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert_eq!(error, format!("write `{text}` as `{meant}`"));
            assert!(meant.parse::<Rate>().is_ok(), "{meant}");
        }
        for (text, meant) in
            [("1e6 B", "1000000 B"), ("10 KB", "10 kB"), ("5 mB", "5 MB"), ("7 bytes", "7 B"), ("3k", "3 kB")]
        {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert_eq!(error, format!("write `{text}` as `{meant}`"));
            assert!(meant.parse::<Bytes>().is_ok(), "{meant}");
        }
        for (text, meant) in [("1e3 us", "1000 us"), ("20 usec", "20 us"), ("2 seconds", "2 s"), ("3 \u{3bc}s", "3 us")]
        {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert_eq!(error, format!("write `{text}` as `{meant}`"));
            assert!(meant.parse::<Duration>().is_ok(), "{meant}");
        }
        assert!(matches!("10 Kb".parse::<Bytes>(), Err(UnitError::Unit { .. })));
        for text in ["10 GB/s", "10", "1e", "10 apples", "G", "1e400 b/s"] {
            assert!(!matches!(text.parse::<Rate>(), Ok(_) | Err(UnitError::Spelling { .. })), "{text}");
        }
    }

    proptest! {
        #[test]
        fn display_parses_back(ps in any::<i64>(), bps in 1u64.., b in any::<u64>()) {
            prop_assert_eq!(Duration::from_ps(ps).to_string().parse(), Ok(Duration::from_ps(ps)));
            prop_assert_eq!(Rate::bps(bps).to_string().parse(), Ok(Rate::bps(bps)));
            prop_assert_eq!(Bytes::new(b).to_string().parse(), Ok(Bytes::new(b)));
        }

        #[test]
        fn any_text_is_answered_without_a_panic(text in ".{0,40}") {
            let _ = (text.parse::<Duration>(), text.parse::<Rate>(), text.parse::<Bytes>());
        }
    }
}
