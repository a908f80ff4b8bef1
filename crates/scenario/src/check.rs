//! The `[[check]]` tables: bounds on results, for scripts and CI. The crate `experiment` evaluates
//! them after the runs; a violated bound gives exit code 3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use timeplane_model::{Bytes, Duration, Rate};

/// A bound on a result, at every point of the sweep. It does not change the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Metric with or without its unit, such as `completion` or `fct_p99`; `timeplane list results`
    /// lists all.
    pub metric: String,
    /// Scheme whose mean over seeds is checked.
    pub scheme: String,
    /// Upper bound of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Limit>,
    /// Lower bound of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Limit>,
    /// Check the ratio to the mean of this scheme instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<String>,
    /// Check the ratio to the theoretical bound for `[fabric]` instead.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub relative_to_bound: bool,
    /// Flows that may be unfinished in all runs of a point, under this scheme and under that of
    /// `relative_to`: a number, or below 1 a share of the measured flows. The check fails if there
    /// are more. For metrics of coflows, coflows count instead. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_unfinished: Option<f64>,
}

impl Check {
    /// Whether a ratio is checked; ratios have no unit.
    pub const fn is_relative(&self) -> bool {
        self.relative_to.is_some() || self.relative_to_bound
    }

    /// How many of `measured` flows or coflows may be unfinished.
    pub fn unfinished_of(&self, measured: u64) -> u64 {
        match self.allow_unfinished {
            None => 0,
            Some(share) if share < 1.0 => (share * measured as f64).floor() as u64,
            Some(number) => number as u64,
        }
    }
}

/// A number, or a quantity with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    /// A ratio or a count.
    Number(f64),
    /// A duration.
    Time(Duration),
    /// A rate in bit/s.
    Rate(Rate),
    /// A number of bytes.
    Size(Bytes),
}

impl Limit {
    /// The value in the unit of the results: ps, bit/s or bytes.
    pub fn value(self) -> f64 {
        match self {
            Self::Number(x) => x,
            Self::Time(d) => d.as_ps() as f64,
            Self::Rate(r) => r.as_bps() as f64,
            Self::Size(b) => b.get() as f64,
        }
    }

    /// Suffix of the names of the metrics that have this unit.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Number(_) => "",
            Self::Time(_) => "_ps",
            Self::Rate(_) => "_bps",
            Self::Size(_) => "_bytes",
        }
    }

    /// Whether a text is a quantity of any kind.
    pub(crate) fn reads(text: &str) -> bool {
        text.parse::<Duration>().is_ok() || text.parse::<Rate>().is_ok() || text.parse::<Bytes>().is_ok()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => x.fmt(f),
            Self::Time(d) => d.fmt(f),
            Self::Rate(r) => r.fmt(f),
            Self::Size(b) => b.fmt(f),
        }
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["number", "string"],
            "description": "A number, or a quantity with its unit, as \"1.3 s\", \"9 Gb/s\" or \"1 MB\"."
        })
    }
}
