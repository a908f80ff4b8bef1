//! Integration tests of `timeplane-schedule`, in one binary.

mod allocator;
mod circuits;
mod colouring;
mod conflict_free;
mod flyways;
mod matrices;
mod rates;
mod timeslots;
mod weighted_round_robin;
