//! Integration tests of `timeplane-protocol`, in one binary.

mod batch;
mod central;
mod common;
mod flyway_controller;
mod flyways;
mod proxy;
mod relays;
mod signals;
mod slots;
mod standby;
mod wire_capture;
mod wire_frames;
mod wire_messages;
mod wire_proxy;
mod wire_reactor;
