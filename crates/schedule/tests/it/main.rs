//! Integration tests of `timeplane-schedule`, in one binary.

mod allocator;
mod circuits;
mod coloring;
mod conflict_free;
mod cover;
mod flyways;
mod matrices;
mod rates;
mod rotor_file;
mod rotor_lb;
mod rotor_routing;
mod rotor_schedule;
mod solstice;
mod sunflow;
mod timeslots;
mod weighted_round_robin;
