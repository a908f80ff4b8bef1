//! Integration tests of `timeplane-scenario`, in one binary.

mod cells;
mod circuits;
mod host_messages;
mod loading;
mod messages;
mod names;
mod ndp;
mod presets;
mod rotor;
mod tcp;
