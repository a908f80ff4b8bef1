//! Times of a rotor network: how long slices are, and for how long a switch is dark.
//!
//! A switch is dark at the start of each slice in which its matching changes. It is open for the
//! rest of that slice, and for the whole of a slice in which the matching stays.

use super::error::RotorError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// What happens to packets whose circuit ends before they have left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// They ask for a new route.
    #[default]
    Reroute,
    /// They stay in their queue until the same circuit comes again.
    Bounce,
    /// They are lost.
    Lose,
}

/// Length of slices and dark times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotorTiming {
    slice: Duration,
    dark: Duration,
}

impl RotorTiming {
    /// Slices of this length, with a dark time at the start of those in which a switch changes.
    ///
    /// # Errors
    /// Fails if the dark time is negative, or not shorter than the slice.
    pub fn new(slice: Duration, dark: Duration) -> Result<Self, RotorError> {
        if dark.is_negative() {
            return Err(RotorError::NegativeDark { found: dark });
        }
        if slice <= dark {
            return Err(RotorError::Dark { slice, dark });
        }
        Ok(Self { slice, dark })
    }

    /// From the start of a slice to the start of the next; positive.
    pub fn slice(&self) -> Duration {
        self.slice
    }

    /// Dark time of a switch whose matching changes; not negative, and shorter than a slice.
    pub fn dark(&self) -> Duration {
        self.dark
    }

    /// How long a circuit carries in a slice, after the dark time if its switch changes.
    pub fn open(&self, is_changing: bool) -> Duration {
        if is_changing { self.slice - self.dark } else { self.slice }
    }

    /// The slice at a time since the start of some cycle, and the time since the start of that
    /// slice. Slices are counted on over cycles, and negative before the start.
    pub fn slice_at(&self, since_start: Duration) -> (i64, Duration) {
        let (time, slice) = (since_start.as_ps(), self.slice.as_ps());
        (time.div_euclid(slice), Duration::from_ps(time.rem_euclid(slice)))
    }
}
