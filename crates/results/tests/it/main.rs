//! Integration tests of `timeplane-results`, in one binary.

mod common;
mod damage;
mod pcapng;
mod pcapng_reader;
mod store;
mod tables;
mod timeline;
