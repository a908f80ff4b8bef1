//! Schedule files of OpenOptics: text in, schedule or error out.
//!
//! A row is a slice, and has an integer for each uplink of each rack: first all uplinks of rack 0,
//! then those of rack 1, and so on. The integer is the rack at the other end, or -1 for no circuit.
//! Integers are separated by blanks or tabs. What follows a `#` is a comment, and empty lines do
//! not count. This is the format that `from_schedule` of OpenOptics reads (MPI-INF, "OpenOptics",
//! `OpticalTopo`).

use super::error::{MOST_RACKS, MOST_SLICES, MOST_UPLINKS, RotorError, within};
use super::matchings::RackMatching;
use super::schedule::RotorSchedule;
use timeplane_model::printable_line;

/// An entry is quoted up to this many characters.
const QUOTED: usize = 20;

/// A reason why a text is not a schedule. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleFileError {
    /// The text has no row.
    #[error("no row with integers: expected one for each slice")]
    Empty,
    /// The first row does not have the same number of uplinks for each rack.
    #[error("line {line}: {found} entries: expected {uplinks} for each rack")]
    Uplinks {
        /// Line of the first row.
        line: usize,
        /// Number of its entries.
        found: usize,
        /// Uplinks of a rack.
        uplinks: u32,
    },
    /// A row has another number of entries than the first one.
    #[error("line {line}: {found} entries: expected {expected} as in the first row")]
    Entries {
        /// Line of the row.
        line: usize,
        /// Number of its entries.
        found: usize,
        /// Number of entries of the first row.
        expected: usize,
    },
    /// There are too few or too many racks, or too many slices.
    #[error("line {line}: {error}")]
    Number {
        /// The first line that breaks the limit.
        line: usize,
        /// The limit.
        error: RotorError,
    },
    /// An entry is not a rack.
    #[error("line {line}, column {column}: `{found}`: expected a rack from 0 to {last}, or -1 for no circuit")]
    Entry {
        /// Line of the entry.
        line: usize,
        /// Column of its first character.
        column: usize,
        /// The entry, or its first characters.
        found: String,
        /// Number of the last rack.
        last: u32,
    },
    /// Two racks lead to one port.
    #[error(
        "line {line}, column {column}: racks {first} and {second} both lead to rack {destination} by uplink {uplink}: expected one circuit on a port in a slice"
    )]
    SharedPort {
        /// Line of the second entry.
        line: usize,
        /// Column of its first character.
        column: usize,
        /// Uplink of all three racks.
        uplink: u32,
        /// Rack at the end of both circuits.
        destination: u32,
        /// The rack of the first entry.
        first: u32,
        /// The rack of the second entry.
        second: u32,
    },
    /// The schedule is impossible or too large.
    #[error(transparent)]
    Schedule(#[from] RotorError),
}

/// Reads a schedule file for racks with this many uplinks. The length of the rows gives the number
/// of racks. Uplink p of every rack leads to rotor switch p, so a circuit ends at the same uplink
/// as it starts. An entry with the number of its own rack means no circuit, as -1 does.
///
/// # Errors
/// Names the first line and column with an error. No text makes it panic.
pub fn parse_schedule(text: &str, uplinks: u32) -> Result<RotorSchedule, ScheduleFileError> {
    within("uplinks", u64::from(uplinks), 1, u64::from(MOST_UPLINKS))?;
    let mut slices: Vec<Vec<RackMatching>> = vec![];
    let mut expected = None;
    for (line, row) in (1..).zip(text.lines()) {
        let entries = entries(row);
        if entries.is_empty() {
            continue;
        }
        let found = entries.len();
        if found != *expected.get_or_insert(found) {
            return Err(ScheduleFileError::Entries { line, found, expected: expected.unwrap_or(found) });
        }
        if !found.is_multiple_of(uplinks as usize) {
            return Err(ScheduleFileError::Uplinks { line, found, uplinks });
        }
        let racks = (found / uplinks as usize) as u64;
        let place = |error| ScheduleFileError::Number { line, error };
        within("racks", racks, 2, u64::from(MOST_RACKS)).map_err(place)?;
        within("slices", slices.len() as u64 + 1, 1, u64::from(MOST_SLICES)).map_err(place)?;
        slices.push(slice(line, &entries, racks as u32, uplinks)?);
    }
    if slices.is_empty() {
        return Err(ScheduleFileError::Empty);
    }
    Ok(RotorSchedule::new(&slices)?)
}

/// The entries of a row, each with its column.
fn entries(row: &str) -> Vec<(usize, &str)> {
    let row = row.split('#').next().unwrap_or("");
    let mut entries = vec![];
    let (mut column, mut first) = (1, None);
    for (at, c) in row.char_indices() {
        match (c.is_whitespace(), first) {
            (false, None) => first = Some((column, at)),
            (true, Some((column, begin))) => {
                entries.push((column, &row[begin..at]));
                first = None;
            }
            _ => {}
        }
        column += 1;
    }
    entries.extend(first.map(|(column, begin)| (column, &row[begin..])));
    entries
}

/// The matchings of a row, one for each uplink.
fn slice(
    line: usize,
    entries: &[(usize, &str)],
    racks: u32,
    uplinks: u32,
) -> Result<Vec<RackMatching>, ScheduleFileError> {
    let mut to = vec![vec![None; racks as usize]; uplinks as usize];
    for (place, &(column, entry)) in (0..).zip(entries) {
        let (rack, uplink) = (place / uplinks, place % uplinks);
        to[uplink as usize][rack as usize] = match entry.parse::<i64>() {
            Ok(-1) => None,
            Ok(number) if (0..i64::from(racks)).contains(&number) => Some(number as u32),
            _ => {
                let found = printable_line(&entry.chars().take(QUOTED).collect::<String>()).to_string();
                return Err(ScheduleFileError::Entry { line, column, found, last: racks - 1 });
            }
        };
    }
    let mut matchings = Vec::with_capacity(to.len());
    for (uplink, to) in (0..).zip(&to) {
        matchings.push(RackMatching::new(to).map_err(|error| match error {
            RotorError::SharedPort { destination, first, second } => {
                let (column, _) = entries[(second * uplinks + uplink) as usize];
                ScheduleFileError::SharedPort { line, column, uplink, destination, first, second }
            }
            other => other.into(),
        })?);
    }
    Ok(matchings)
}
