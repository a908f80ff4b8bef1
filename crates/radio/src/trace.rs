//! Channels that were measured or traced elsewhere: beam matrices of users, ray traces of NIST's model, logs of iperf3.

mod beams;
mod iperf;
mod qd;

pub(crate) use beams::seconds;
pub use beams::{BeamTrace, BestBeams, MatrixError};
pub use iperf::{IperfInterval, IperfLog, IperfRole, IperfStream};
pub use qd::{QdChannel, QdTrace, Ray, parse_positions, received_by_rays};
