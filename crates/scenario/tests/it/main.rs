//! Integration tests of `timeplane-scenario`, in one binary.

mod cells;
mod loading;
mod messages;
mod names;
mod tcp;
