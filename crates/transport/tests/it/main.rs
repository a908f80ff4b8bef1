//! Integration tests of `timeplane-transport`, in one binary.

mod bbr;
mod bbr3;
mod delivery;
mod growth;
mod ndp;
mod path;
mod rack;
mod raw;
mod recovery;
mod reduction;
mod spurious;
mod steering;
mod supply;
mod throughput;
mod timestamps;
mod windows;
