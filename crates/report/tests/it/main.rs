//! Integration tests of `timeplane-report`, in one binary.

mod common;
mod pack;
mod page;
