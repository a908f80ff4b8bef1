//! Integration tests of the daemons' parts: the gate in the kernel, parsers, and systemd's units.

mod fuzz;
mod gate;
mod units;
