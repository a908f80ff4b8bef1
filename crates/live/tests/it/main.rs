//! Integration tests of the daemons' parts: the gate in the kernel, agents, parsers, and systemd's
//! units.

mod agents;
mod fuzz;
mod gate;
mod release;
mod units;
