//! The compiled programs of `bpf/`.
//!
//! Those of the daemons are in `timeplane_live::bpf`.

/// Drops a share of the signals.
pub(crate) const LOSS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/loss.o"));

/// Loses, doubles and diverts shares of all frames.
pub(crate) const DISTURB: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/disturb.o"));

/// XDP program that is an optical circuit switch.
pub mod circuit {
    include!(concat!(env!("OUT_DIR"), "/circuit.skel.rs"));
}
