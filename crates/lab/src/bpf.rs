//! The programs in `bpf/`, compiled.

/// Drops a share of the signals.
pub(crate) const LOSS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/loss.o"));

/// XDP program that is an optical circuit switch.
pub mod circuit {
    include!(concat!(env!("OUT_DIR"), "/circuit.skel.rs"));
}
