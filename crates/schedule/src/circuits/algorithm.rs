//! The circuit schedulers that scenarios can name.
//!
//! To add one, write its file, its `mod` line and its variant here, and construct it in `build`.

use super::{Adjust, CircuitScheduler, CoverAll, Eclipse, Hold, MaxWeight, RoundRobin, Solstice, Sunflow, Tms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::Named;

/// Algorithm that schedules the circuits.
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
    /// Long configurations first; the packet switch takes the rest (CoNEXT 2015).
    #[default]
    Solstice,
    /// Repeatedly the configuration that carries the most per unit of time (SIGMETRICS 2016).
    Eclipse,
    /// A doubly stochastic matrix as a sum of matchings (Mordia, SIGCOMM 2013).
    Tms,
    /// The matching of the largest demand, for days of fixed length (Helios, SIGCOMM 2010).
    MaxWeight,
    /// Demand in coarse steps, colored (ADJUST, JSAC 2003).
    Adjust,
    /// One uninterrupted circuit for each demand; requires `retune` to be `moved` (CoNEXT 2016).
    Sunflow,
    /// A circuit for every demand that the packet switch cannot carry.
    CoverAll,
    /// All matchings in turn, whatever the demand.
    RoundRobin,
    /// One matching until it does not serve some demand; for senders that wait for each other.
    Hold,
}

impl CircuitAlgorithm {
    /// Makes a scheduler with its default parameters.
    pub fn build(self) -> Box<dyn CircuitScheduler> {
        match self {
            Self::Solstice => Box::new(Solstice::new()),
            Self::Eclipse => Box::new(Eclipse::new()),
            Self::Tms => Box::new(Tms::new()),
            Self::MaxWeight => Box::new(MaxWeight::new(None)),
            Self::Adjust => Box::new(Adjust::new(None)),
            Self::Sunflow => Box::new(Sunflow),
            Self::CoverAll => Box::new(CoverAll),
            Self::RoundRobin => Box::new(RoundRobin::new(None)),
            Self::Hold => Box::new(Hold::new()),
        }
    }
}

impl Named for CircuitAlgorithm {
    const KIND: &'static str = "circuit scheduler";
}
