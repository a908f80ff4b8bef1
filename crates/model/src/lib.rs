//! The vocabulary of timeplane: units, ids, fabrics, demand, matchings, slots, schedules, plans and
//! grants.
//!
//! Values of these types are valid by construction: a [`Matching`] that exists shares no port, a
//! [`Slot`] that exists overloads no link, a [`Fabric`] that exists is connected. Nothing here
//! reads a clock, opens a file or draws a number that a seed does not determine.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod clos;
mod demand;
mod expander;
mod fabric;
mod grant;
mod hash;
mod hybrid;
mod ids;
mod names;
mod parts;
mod plan;
mod printable;
mod rotor;
mod text;
mod topology;
mod units;

pub use clos::{Clos, ClosError, Layer};
pub use demand::{Backlog, BacklogEntry, Burst, CoflowBacklog, Demand};
pub use fabric::{
    Buffer, CUT_THROUGH_HEADER, Candidates, Fabric, FabricError, Forwarding, Framing, Link, LinkSpec, Node, Pfc,
    Switch, Utilization,
};
pub use grant::{Class, Grant, Medium, PathTag, Trigger};
pub use hash::{ecmp_index, flow_hash, mix64};
pub use hybrid::Hybrid;
pub use ids::{CoflowId, FlowId, HostId, LinkId, NodeId};
pub use names::{Named, UnknownName, nearest};
pub use plan::{
    Matching, MatchingError, Plan, RateMatrix, Round, Schedule, ScheduleEntry, Slot, SlotError, Transmission,
};
pub use printable::{is_unsafe, printable, printable_json, printable_line};
pub use text::UnitError;
pub use units::{Bytes, Duration, Rate, Time};
