//! NDP: receivers ask for packets, and switches cut what finds a full queue down to its header
//! (Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017).
//!
//! A sender starts without a handshake and sends its [window](NdpConfig::window) at line rate over
//! all paths. Switches hold few packets. A packet that finds a queue full is cut down to its
//! header, which goes before all data. So a receiver learns of everything that was sent, and
//! answers each packet at once: with an acknowledgement, or with a negative one for a header. For
//! each packet it also owes a pull. A host sends the pulls of all its flows from one
//! [`PullPacer`], one in each time that a full packet takes on its link. A pull lets a sender send
//! one packet: repetitions first, then new data.
//!
//! A driver owns an [`NdpSender`] and an [`NdpReceiver`] for each flow and a [`PullPacer`] for each
//! host, and
//!
//! 1. calls [`NdpSender::poll`] until it returns none: at the start, and after each call to the
//!    sender that takes `&mut self`,
//! 2. carries data to [`NdpReceiver::on_data`], or to [`NdpReceiver::on_header`] if it was cut, and
//!    the [`NdpAnswer`] to the sender,
//! 3. lets a flow join the pacer of its host when its receiver starts to owe pulls, lets it join
//!    again after each pull while it still owes some, and lets it leave when it is complete,
//! 4. carries the counter of [`NdpReceiver::take_pull`] to [`NdpSender::on_pull`],
//! 5. calls `on_timeout` of either side at its `deadline`.
//!
//! # Departures from the paper
//!
//! - A receiver knows the length of a flow. So it owes no pull that its sender cannot use, which
//!   would keep other flows of the host waiting. In the paper, it drops these pulls when the last
//!   packet arrives.
//! - A pull that is lost while no other follows is repeated by the receiver after the timeout. The
//!   paper does not say what happens then.
//! - Headers that find their queue full are lost, and repaired by the timeout. Returning them to
//!   the sender is not supported.
//! - A receiver gives no flow priority over others.

mod pacer;
mod paths;
mod receiver;
mod sender;

pub use pacer::PullPacer;
pub use paths::{Spray, path_in_turn};
pub use receiver::{NdpAnswer, NdpArrival, NdpReceiver};
pub use sender::{NdpPacket, NdpSender};

use timeplane_model::Duration;

/// Bytes of the header of each packet, without the framing of links: IPv4 (20), UDP (8), and 18 for
/// the kind, the offset or the counter, and the length of the flow.
///
/// It is all that is left of a packet that was cut. With the header and the check sequence of
/// Ethernet these are the 64 B of the paper, and 84 B on the wire.
pub const NDP_HEADER: u32 = 46;

/// Packets of the high priority that go in a row while data waits: the 10:1 of the paper's switches
/// (section 3.1). Strict priority would let an incast's headers keep all data waiting.
pub const HEADERS_PER_DATA: u32 = 10;

/// What sender and receiver of a flow agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdpConfig {
    /// Application bytes of a full packet; at least 1.
    pub payload: u32,
    /// Packets that a sender sends before it hears of its receiver; at least 1.
    pub window: u32,
    /// How long a sender waits for an answer to a packet before it repeats it. It doubles with each
    /// timeout in a row, up to 64 times.
    pub rto: Duration,
}

impl NdpConfig {
    /// The number of packets of a flow of `bytes`.
    pub fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.payload.max(1)))
    }

    /// The timeout after `backoff` others in a row.
    fn timeout(&self, backoff: u8) -> Duration {
        self.rto.max(Duration::from_ps(1)) * (1 << backoff.min(6))
    }
}
