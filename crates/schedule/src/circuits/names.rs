//! Circuit schedulers by name.

use super::{CircuitScheduler, CoverAll, RoundRobin, Solstice};
use std::str::FromStr;

/// A circuit scheduler to build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CircuitAlgorithm {
    /// [`Solstice`].
    #[default]
    Solstice,
    /// [`CoverAll`].
    CoverAll,
    /// [`RoundRobin`], with its own length of a day.
    RoundRobin,
}

impl CircuitAlgorithm {
    /// One of each, with parameters of its own choice.
    pub const ALL: [Self; 3] = [Self::Solstice, Self::CoverAll, Self::RoundRobin];

    /// A new scheduler.
    pub fn build(&self) -> Box<dyn CircuitScheduler> {
        match *self {
            Self::Solstice => Box::new(Solstice::new()),
            Self::CoverAll => Box::new(CoverAll),
            Self::RoundRobin => Box::new(RoundRobin::new(None)),
        }
    }
    /// Its name in scenarios and results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Solstice => Solstice::NAME,
            Self::CoverAll => CoverAll::NAME,
            Self::RoundRobin => RoundRobin::NAME,
        }
    }
    /// What it does, in a line.
    pub fn about(&self) -> &'static str {
        match self {
            Self::Solstice => Solstice::ABOUT,
            Self::CoverAll => CoverAll::ABOUT,
            Self::RoundRobin => RoundRobin::ABOUT,
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
