//! Integration tests of `timeplane-protocol`, in one binary.

mod central;
mod common;
mod deputies;
mod flyway_manager;
mod flyways;
mod proxy;
mod signals;
mod slots;
mod standby;
mod wire_capture;
mod wire_frames;
mod wire_messages;
mod wire_proxy;
mod wire_reactor;
