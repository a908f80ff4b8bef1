//! Labs of real daemons and kernel TCP. Every test here waits for the wall clock, makes network
//! namespaces or starts processes, so they take turns: each begins with [`turn`].
//!
//! Turns keep the figures of one test free of another test's load. They also keep a test from
//! running a program that another one still has open for writing in a forked child ("text file
//! busy").

mod agents;
mod allowed;
mod attacks;
mod calibrate;
mod circuits;
mod common;
mod encodings;
mod epochs;
mod faults;
mod floods;
mod forgers;
mod init;
mod interfaces;
mod late;
mod mtu;
mod observer;
mod programs;
mod proxy;
mod proxy_daemon;
mod proxy_scenario;
mod rates;
mod recovery;
mod rotor;
mod scenarios;
mod strangers;
mod timeslots;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test runs; the next one begins when the guard is dropped.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
