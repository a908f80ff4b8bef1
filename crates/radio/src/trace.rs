//! Measured or traced channels: beam matrices, ray traces of NIST's model, logs of iperf3.
//!
//! Each file format has a module.

mod beams;
mod iperf;
mod qd;

pub(crate) use beams::seconds;
pub use beams::{BeamTrace, BestBeams, MatrixError};
pub use iperf::{IperfInterval, IperfLog, IperfRole, IperfStream};
pub use qd::{QdChannel, QdTrace, Ray, parse_positions, received_by_rays};
