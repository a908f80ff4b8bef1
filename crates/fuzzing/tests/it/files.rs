//! Outcomes of parsers from their results.
//!
//! The first line of a message tells outcomes apart.

use std::fmt::Display;
use timeplane_fuzzing::Outcome;

/// The first line of a message.
pub fn said(error: impl Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Accepted, or refused at a later step.
pub fn past<T, E: Display>(result: Result<T, E>) -> Outcome {
    match result {
        Ok(_) => Outcome::Accepted,
        Err(e) => Outcome::Parsed(said(e)),
    }
}
