//! Limits of rotor networks, and the errors of schedules and tables that break them.
//!
//! Every error names the value that was found and what is allowed.

use crate::OwnError;
use timeplane_model::Duration;

/// The largest number of racks.
pub const MOST_RACKS: u32 = 16_384;
/// The largest number of uplinks of a rack, which is also that of rotor switches.
pub const MOST_UPLINKS: u32 = 255;
/// The largest number of slices in a cycle.
pub const MOST_SLICES: u32 = 65_535;
/// The largest size of a table in bytes: 1 GiB.
pub const MOST_TABLE_BYTES: u64 = 1 << 30;

/// An error of a rotor schedule, or of a table that is computed from one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotorError {
    /// A number is zero, too small or too large.
    #[error("{found} {what}: expected {least} to {most}")]
    Number {
        /// What is counted.
        what: &'static str,
        /// The number that was found.
        found: u64,
        /// The smallest number allowed.
        least: u64,
        /// The largest number allowed.
        most: u64,
    },
    /// A matching is of another number of racks than the schedule, or a slice of another number of
    /// matchings than the rack has uplinks.
    #[error("slice {slice} has {found} {what}: expected {expected}")]
    Shape {
        /// Index of the slice.
        slice: u32,
        /// What is counted.
        what: &'static str,
        /// The number that was found.
        found: u64,
        /// The only number allowed.
        expected: u64,
    },
    /// A circuit leads to a rack that does not exist.
    #[error("rack {rack} has a circuit to rack {found}: expected 0 to {last}")]
    UnknownRack {
        /// Rack at the sending end.
        rack: u32,
        /// The rack that does not exist.
        found: u32,
        /// Number of the last rack.
        last: u32,
    },
    /// Two circuits of one matching end at one port.
    #[error("racks {first} and {second} both have a circuit to rack {destination}: expected one on a port in a slice")]
    SharedPort {
        /// Rack at the end of both circuits.
        destination: u32,
        /// A rack at the sending end.
        first: u32,
        /// Another rack at the sending end.
        second: u32,
    },
    /// Some racks have no circuit in the whole cycle.
    #[error(
        "rack {from} has no circuit to rack {to} in {slices} slices, the first of {pairs} such pairs: expected every pair"
    )]
    NeverMeet {
        /// Sending rack of the first such pair.
        from: u32,
        /// Receiving rack of the first such pair.
        to: u32,
        /// Number of such ordered pairs.
        pairs: u64,
        /// Slices in a cycle.
        slices: u32,
    },
    /// A slice is not longer than the dark time at its start.
    #[error("a slice of {slice} with a dark time of {dark}: expected a slice that is longer than its dark time")]
    Dark {
        /// From the start of a slice to the start of the next.
        slice: Duration,
        /// Dark time of a switch whose matching changes.
        dark: Duration,
    },
    /// The dark time is negative.
    #[error("a dark time of {found}: expected none or a positive one")]
    NegativeDark {
        /// The negative duration.
        found: Duration,
    },
    /// The racks do not form a grid.
    #[error("{racks} racks in {dimensions} dimensions: expected a number of at least 2 to the power of {dimensions}")]
    NoGrid {
        /// Number of racks.
        racks: u32,
        /// Number of dimensions.
        dimensions: u32,
    },
    /// A lift needs a factor that divides the number of racks.
    #[error("a lift of {racks} racks by {factor}: expected a divisor of the number of racks")]
    Factor {
        /// Number of racks.
        racks: u32,
        /// Number of racks that replace one of the small graph.
        factor: u32,
    },
    /// A table would be too large.
    #[error("the {what} would take {bytes} bytes: expected at most {most}")]
    Table {
        /// Name of the table.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The largest size allowed.
        most: u64,
    },
    /// A routing of a program does not lead everywhere.
    #[error("no path of at most {most} hops from rack {from} to rack {to} in slice 0: expected one for every pair")]
    NoPath {
        /// Rack at the start.
        from: u32,
        /// Rack at the end.
        to: u32,
        /// The most hops that are followed.
        most: usize,
    },
    /// A routing that a program has registered cannot be used.
    #[error(transparent)]
    Own(#[from] OwnError),
}

/// Checks that a number is in its range.
pub(super) fn within(what: &'static str, found: u64, least: u64, most: u64) -> Result<(), RotorError> {
    if (least..=most).contains(&found) { Ok(()) } else { Err(RotorError::Number { what, found, least, most }) }
}

/// Checks the size of a table with these dimensions and this entry size, and returns it in bytes.
pub(super) fn table(what: &'static str, entries: &[u64], size: u64) -> Result<u64, RotorError> {
    let bytes = entries.iter().fold(size, |bytes, &n| bytes.saturating_mul(n));
    if bytes <= MOST_TABLE_BYTES { Ok(bytes) } else { Err(RotorError::Table { what, bytes, most: MOST_TABLE_BYTES }) }
}
