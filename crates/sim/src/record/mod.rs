//! Records of a run: flows, latencies, collisions, grants and captured frames.
//!
//! Recording never changes a run.

pub mod capture;
pub mod collisions;
pub(crate) mod grants;
pub mod latency;
pub mod ledger;
pub mod round_trips;
