//! 60 GHz radio: antennas, propagation, and the rates, errors and airtime of 802.11ad.
//!
//! From the antenna to the packet:
//!
//! 1. `antenna` gives gains by direction, from a table or a shape. `propagation` gives free space,
//!    noise, the rays of a room and bodies as screens. `layout` and `field` do so among racks.
//! 2. `mcs` has the rates. From level to loss there are two ways. `bit_errors` (flyways) compares
//!    the SINR with that at a rate's sensitivity, which includes noise figure and implementation
//!    loss. `link_to_system` (the proxy) subtracts the losses of a receiver and uses mutual
//!    information.
//! 3. `airtime`, `mac` and `training` give the durations of a frame, an access and a sweep, to the
//!    picosecond. `goodput` is an independent calculation of one TCP flow, as a check.
//! 4. `flyways` decides which links can be up together. `first_infeasible` is the definition, and
//!    the oracle of the tests.
//! 5. `trace`, `scene` and `testbed` give matrices of beams over time; `link_trace` turns them into
//!    what a link carries.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod airtime;
mod angle;
mod antenna;
mod bit_errors;
pub mod bundled;
mod coupling;
mod decibel;
mod error;
mod field;
mod flyways;
mod goodput;
mod layout;
mod link_to_system;
mod link_trace;
mod mac;
mod math;
mod mcs;
mod propagation;
mod rows;
mod scene;
mod sheet;
mod space;
mod testbed;
mod trace;
mod training;

pub use airtime::{MAX_PPDU_TIME, MAX_PSDU, PhyTiming};
pub use angle::{Angle, Direction};
pub use antenna::{Antenna, AntennaError, Cone, Horn, PatchArray, PatternTable};
pub use bit_errors::{
    BER_AT_SENSITIVITY, BER_IN_USE, Reception, all_right, bit_error_rate, bit_error_rate_of_ratio, fastest,
    packet_success, required_sinr, sinr,
};
pub use bundled::AntennaName;
pub use coupling::Coupling;
pub use decibel::{Db, Dbm, Milliwatts};
pub use error::InputError;
pub use field::Field;
pub use flyways::{Flyway, FlywayRules, Flyways, Refusal, first_infeasible};
pub use goodput::{Access, AckPath, tcp_goodput};
pub use layout::{Layout, Overlap, Rack};
pub use link_to_system::{ErrorTables, LinkParameters, LinkState, RateBySignal, codewords};
pub use link_trace::{LinkTrace, LinkTraceError, LinkTraceRules, LinkTraceState};
pub use mac::{Aggregation, BLOCK_ACK_WINDOW, FLYWAYS_DRAFT, IEEE_802_11AD_2012, MacName, MacParameters, Response};
pub use mcs::{CodeRate, Mcs, Modulation, NoSuchMcs, Phy};
pub use propagation::{
    Blocker, CHANNELS, FLYWAYS_NOISE, IMPLEMENTATION_LOSS, LinkBudget, Losses, NOISE_FIGURE, OFDM_BANDWIDTH,
    PROXY_BANDWIDTH, PROXY_IMPLEMENTATION_LOSS, Path, Room, RoomError, SC_BANDWIDTH, Surface, free_space_loss,
    received_by_paths, thermal_noise,
};
pub use rows::Rows;
pub use scene::Scene;
pub use space::{Cuboid, Frequency, Meters, Point, SPEED_OF_LIGHT, Vector};
pub use testbed::{RoomName, TESTBED_LEVEL, Testbed, Walk};
pub use trace::{
    BeamTrace, BestBeams, IperfInterval, IperfLog, IperfRole, IperfStream, MatrixError, QdChannel, QdTrace, Ray,
    parse_positions, received_by_rays,
};
