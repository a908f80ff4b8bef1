//! Circuit switching beside a packet network: the switch, and the multiplexers of racks.
//! Which circuits are set is decided elsewhere, by a controller.

pub(crate) mod hybrid;
pub(crate) mod multiplexer;
pub(crate) mod switch;
