//! Circuit schedulers by name.

use super::{Adjust, CircuitScheduler, CoverAll, Eclipse, Hold, MaxWeight, RoundRobin, Solstice, Sunflow, Tms};
use std::str::FromStr;
use timeplane_model::Duration;

/// A circuit scheduler to build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CircuitAlgorithm {
    /// [`Solstice`].
    #[default]
    Solstice,
    /// [`Eclipse`].
    Eclipse,
    /// [`Tms`].
    Tms,
    /// [`MaxWeight`].
    MaxWeight {
        /// How long a matching is open; `None` for its own choice.
        day: Option<Duration>,
    },
    /// [`Adjust`]; with a lambda of 1, DOUBLE.
    Adjust {
        /// How fine demand is rounded; `None` for its own choice.
        lambda: Option<u32>,
    },
    /// [`Sunflow`].
    Sunflow,
    /// [`CoverAll`].
    CoverAll,
    /// [`RoundRobin`], with its own length of a day.
    RoundRobin,
    /// [`Hold`].
    Hold,
}

impl CircuitAlgorithm {
    /// One of each, with parameters of its own choice.
    pub const ALL: [Self; 9] = [
        Self::Solstice,
        Self::Eclipse,
        Self::Tms,
        Self::MaxWeight { day: None },
        Self::Adjust { lambda: None },
        Self::Sunflow,
        Self::CoverAll,
        Self::RoundRobin,
        Self::Hold,
    ];

    /// A new scheduler.
    pub fn build(&self) -> Box<dyn CircuitScheduler> {
        match *self {
            Self::Solstice => Box::new(Solstice::new()),
            Self::Eclipse => Box::new(Eclipse::new()),
            Self::Tms => Box::new(Tms::new()),
            Self::MaxWeight { day } => Box::new(MaxWeight::new(day)),
            Self::Adjust { lambda } => Box::new(Adjust::new(lambda)),
            Self::Sunflow => Box::new(Sunflow),
            Self::CoverAll => Box::new(CoverAll),
            Self::RoundRobin => Box::new(RoundRobin::new(None)),
            Self::Hold => Box::new(Hold::new()),
        }
    }
    /// Its name in scenarios and results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Solstice => Solstice::NAME,
            Self::Eclipse => Eclipse::NAME,
            Self::Tms => Tms::NAME,
            Self::MaxWeight { .. } => MaxWeight::NAME,
            Self::Adjust { .. } => Adjust::NAME,
            Self::Sunflow => Sunflow::NAME,
            Self::CoverAll => CoverAll::NAME,
            Self::RoundRobin => RoundRobin::NAME,
            Self::Hold => Hold::NAME,
        }
    }
    /// What it does, in a line.
    pub fn about(&self) -> &'static str {
        match self {
            Self::Solstice => Solstice::ABOUT,
            Self::Eclipse => Eclipse::ABOUT,
            Self::Tms => Tms::ABOUT,
            Self::MaxWeight { .. } => MaxWeight::ABOUT,
            Self::Adjust { .. } => Adjust::ABOUT,
            Self::Sunflow => Sunflow::ABOUT,
            Self::CoverAll => CoverAll::ABOUT,
            Self::RoundRobin => RoundRobin::ABOUT,
            Self::Hold => Hold::ABOUT,
        }
    }
}

/// No circuit scheduler has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no circuit scheduler is called `{name}`{}; there are: {}", nearest.map(|n| format!(", did you mean `{n}`?")).unwrap_or_default(), known.join(", "))]
pub struct UnknownCircuitAlgorithm {
    /// The name asked for.
    pub name: String,
    /// The known name most like it, where one is alike.
    pub nearest: Option<&'static str>,
    /// All known names.
    pub known: Vec<&'static str>,
}

impl FromStr for CircuitAlgorithm {
    type Err = UnknownCircuitAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownCircuitAlgorithm> {
        if let Some(algorithm) = Self::ALL.into_iter().find(|a| a.name() == name) {
            return Ok(algorithm);
        }
        let known: Vec<_> = Self::ALL.iter().map(Self::name).collect();
        let nearest = known
            .iter()
            .map(|&known| (strsim::damerau_levenshtein(known, name), known))
            // Half of the letters wrong is another word.
            .filter(|&(edits, known)| 2 * edits <= known.len().max(name.len()))
            .min()
            .map(|(_, known)| known);
        Err(UnknownCircuitAlgorithm { name: name.to_owned(), nearest, known })
    }
}
