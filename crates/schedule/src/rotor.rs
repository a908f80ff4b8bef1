//! Networks of rotor switches: circuits that cycle through fixed matchings of racks.
//!
//! Every rack has the same number of uplinks, and each uplink leads to one rotor switch. In each
//! slice of time a switch shows a matching of the racks. After a cycle of slices all of them
//! repeat, whatever the demand. A [`RotorSchedule`] is such a cycle. [`matchings`] generates the
//! matchings, and [`parse_schedule`] reads them from a file. Switches step together (RotorNet) or
//! one after the other (Opera), see [`Stepping`]. A [`Cycle`] is a schedule in time. [`routing`]
//! sends packets over the circuits, and [`lb`] is RotorLB.
//!
//! Racks, uplinks and slices are numbered from 0. Nothing here reads a clock. The same arguments
//! and the same seed give the same schedule on every machine.

mod cycle;
mod error;
mod file;
pub mod lb;
pub mod matchings;
mod numbers;
pub mod routing;
mod schedule;
mod timing;

pub use cycle::{Cycle, Hold};
pub use error::{MOST_RACKS, MOST_SLICES, MOST_TABLE_BYTES, MOST_UPLINKS, RotorError};
pub use file::{ScheduleFileError, parse_schedule};
pub use matchings::RackMatching;
pub use schedule::{RotorSchedule, Stepping};
pub use timing::{Late, RotorTiming};
