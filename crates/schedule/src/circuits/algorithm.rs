//! The circuit schedulers that scenarios can name.
//!
//! To add one, write its file, its `mod` line and its variant here, and construct it in
//! `build_with`.

use super::{
    Adjust, CircuitScheduler, CoverAll, Eclipse, Hold, MaxWeight, RoundRobin, Solstice, SolsticeRefined, Sunflow, Tms,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Duration, Named};

/// Algorithm that schedules the circuits. All keep to the period, the least open time and the limit
/// on configurations, and circuits that stay up cost no dark time.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    VariantArray,
    IntoStaticStr,
    EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CircuitAlgorithm {
    /// Long configurations first; the packet switch takes the rest.
    #[schemars(extend(
        "x-source" = "Solstice, He Liu et al., CoNEXT 2015",
        "x-departures" = "stretches slices shorter than `least_open` and stuffs the rest again"
    ))]
    Solstice,
    /// As `solstice`, with the longest configurations that exist.
    #[default]
    #[schemars(extend(
        "x-source" = "Solstice, He Liu et al., CoNEXT 2015",
        "x-departures" = "takes the longest slice, not any above the threshold; leaves demands below half a dark time \
                          to the packet switch"
    ))]
    SolsticeRefined,
    /// Repeatedly the configuration that carries the most per unit of time.
    #[schemars(extend(
        "x-source" = "Eclipse, Shaileshh Bojja Venkatakrishnan et al., SIGMETRICS 2016",
        "x-departures" = "searches open times by bounds, to 0.1 %, not by bisection; stops when packets can carry the \
                          rest"
    ))]
    Eclipse,
    /// A doubly stochastic matrix as a sum of matchings.
    #[schemars(extend(
        "x-source" = "Mordia, George Porter et al., SIGCOMM 2013",
        "x-departures" = "counts pairs without demand as 1/1000 of the mean; chooses the number of matchings itself"
    ))]
    Tms,
    /// The matching of the largest demand, for days of fixed length (`day`).
    #[schemars(extend(
        "x-source" = "Helios, Nathan Farrington et al., and c-Through, Guohui Wang et al., SIGCOMM 2010",
        "x-departures" = "takes the reported backlog as demand, without estimating it; each direction has its own \
                          circuit"
    ))]
    MaxWeight,
    /// Demand in coarse steps (`granularity`), colored.
    #[schemars(extend(
        "x-source" = "ADJUST, Xin Li and Mounir Hamdi, JSAC 2003",
        "x-departures" = "joins equal matchings, cuts each to its largest demand, takes those that carry most first; \
                          stops when packets can carry the rest"
    ))]
    Adjust,
    /// Demand in steps of its longest line over the number of ports, colored.
    #[schemars(extend(
        "x-source" = "DOUBLE, Brian Towles and William Dally, ToN 2003",
        "x-departures" = "joins equal matchings, cuts each to its largest demand, takes those that carry most first; \
                          stops when packets can carry the rest"
    ))]
    Double,
    /// Short coflows first, one uninterrupted circuit for each demand; requires `retune` to be
    /// `moved`.
    #[schemars(extend(
        "x-source" = "Sunflow, Xin Sunny Huang et al., CoNEXT 2016",
        "x-departures" = "plans once a period, not at arrivals; leaves the smallest demands to the packet switch; a \
                          host sends a pair's coflows in order of arrival"
    ))]
    Sunflow,
    /// A circuit for every demand that the packet switch cannot carry.
    #[schemars(extend(
        "x-source" = "REACToR, He Liu et al., NSDI 2014, section 5.4",
        "x-departures" = "the paper implies the rule only; choice and order of matchings are ours"
    ))]
    CoverAll,
    /// As `cover_all`, without configurations that cost more than they carry.
    #[schemars(extend(
        "x-source" = "REACToR, He Liu et al., NSDI 2014, section 5.4",
        "x-departures" = "the paper gives every demand beyond the packet switch a circuit; here the least demands wait \
                          if circuits and packets then carry more in the period"
    ))]
    CoverMost,
    /// All matchings in turn, whatever the demand, each for a `day`.
    #[schemars(extend(
        "x-source" = "RotorNet, William Mellette et al., SIGCOMM 2017",
        "x-departures" = "one switch has all matchings; traffic takes no detour over a third rack"
    ))]
    RoundRobin,
    /// One matching until it does not serve some demand; for senders that wait for each other.
    #[schemars(extend("x-source" = "timeplane", "x-departures" = "none"))]
    Hold,
}

/// Parameters that some algorithms have; each has a default of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CircuitTuning {
    /// How long each matching is open, for algorithms that [have days](CircuitAlgorithm::has_day).
    /// Default: nine dark times and at least a microsecond.
    pub day: Option<Duration>,
    /// Steps of a line's demand over the number of ports, for algorithms that [have
    /// steps](CircuitAlgorithm::has_granularity). Default: the number with the least bound on the
    /// length of the schedule.
    pub granularity: Option<u32>,
    /// How often the demand of a pair counts that had a circuit, for algorithms that [have
    /// hysteresis](CircuitAlgorithm::has_hysteresis). Default: once.
    pub hysteresis: Option<f64>,
    /// Another order of matchings in each round, for algorithms that [have
    /// rounds](CircuitAlgorithm::has_rounds).
    pub reorder: bool,
}

impl CircuitAlgorithm {
    /// Makes a scheduler with its default parameters.
    pub fn build(self) -> Box<dyn CircuitScheduler> {
        self.build_with(CircuitTuning::default())
    }

    /// Makes a scheduler. Parameters that it does not have are ignored.
    pub fn build_with(self, tuning: CircuitTuning) -> Box<dyn CircuitScheduler> {
        match self {
            Self::Solstice => Box::new(Solstice::new()),
            Self::SolsticeRefined => Box::new(SolsticeRefined::new()),
            Self::Eclipse => Box::new(Eclipse::new()),
            Self::Tms => Box::new(Tms::new()),
            Self::MaxWeight => Box::new(MaxWeight::new(tuning.day)),
            Self::Adjust => Box::new(Adjust::new(tuning.granularity)),
            Self::Double => Box::new(Adjust::double()),
            Self::Sunflow => Box::new(Sunflow),
            Self::CoverAll => Box::new(CoverAll::new().with_hysteresis(tuning.hysteresis.unwrap_or(1.0))),
            Self::CoverMost => Box::new(CoverAll::most().with_hysteresis(tuning.hysteresis.unwrap_or(1.0))),
            Self::RoundRobin => Box::new(RoundRobin::new(tuning.day).reordered(tuning.reorder)),
            Self::Hold => Box::new(Hold::new()),
        }
    }

    /// Whether its matchings are open for [a day](CircuitTuning::day).
    pub fn has_day(self) -> bool {
        matches!(self, Self::MaxWeight | Self::RoundRobin)
    }

    /// Whether it has [hysteresis](CircuitTuning::hysteresis).
    pub fn has_hysteresis(self) -> bool {
        matches!(self, Self::CoverAll | Self::CoverMost)
    }

    /// Whether it serves all matchings [in rounds](CircuitTuning::reorder).
    pub fn has_rounds(self) -> bool {
        self == Self::RoundRobin
    }

    /// Whether it has [a granularity](CircuitTuning::granularity).
    pub fn has_granularity(self) -> bool {
        self == Self::Adjust
    }

    /// Whether it orders [coflows](timeplane_model::Backlog::coflows), so that hosts should report
    /// them.
    pub fn orders_coflows(self) -> bool {
        self == Self::Sunflow
    }
}

impl Named for CircuitAlgorithm {
    const KIND: &'static str = "circuit scheduler";
}
