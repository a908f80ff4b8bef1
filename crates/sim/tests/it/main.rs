//! Integration tests of the simulator, in one binary.
//! `common` runs scenarios; `reference` is the slow engine that the fast one is compared with.

mod air;
mod batch;
mod bounds;
mod capture;
mod cells;
mod central;
mod changes;
mod collectives;
mod common;
mod conservation;
mod control;
mod controllers;
mod digests;
mod fabrics;
mod failures;
mod faults;
mod flyways;
mod hosts;
mod hybrid;
mod hybrid_failures;
mod in_step;
mod in_turn;
mod input_buffer;
mod ndp;
mod ns3;
mod own_fabrics;
mod own_scheduler;
mod pauses;
#[path = "../../../results/tests/it/pcapng_reader.rs"]
mod pcapng;
mod pfc;
mod proxy;
mod pulse;
mod queueing;
mod reference;
mod same_as_reference;
mod script;
mod shared_gates;
mod slots;
mod split;
mod standby;
mod tcp;
mod tdma;
mod trains;
mod tshark;
