//! The lab of rotor switches: racks that send datagrams over circuits which take turns.
//!
//! Each host of the lab is a rack, and a port of one rotor switch. The switch turns by the
//! machine's clock ([`CircuitSwitch::rotor`](crate::circuit_switch::CircuitSwitch::rotor)), and the
//! racks follow the same clock. They have the simulator's schedule, routing and rules for queues:
//! a rack is a [`Rack`](timeplane_protocol::Rack). Datagrams that take several hops are queued at
//! racks between, whose copies are the bytes that came.
//!
//! A rack plans as the scenario says. The switch turns later, by a quarter of the planned dark
//! time, and is dark for half of it: racks may be late by the quarter, and no frame is lost.
//!
//! Frames have no seal, and hosts' clocks are one.

pub mod answers;
pub mod command;
pub mod network;
mod racks;
mod tables;
