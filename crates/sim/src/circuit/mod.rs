//! Circuit switching alongside a packet network: the circuit switch, and the multiplexers of racks.
//!
//! A controller decides which circuits are set; nothing here does.

pub(crate) mod hybrid;
pub(crate) mod multiplexer;
pub(crate) mod switch;
