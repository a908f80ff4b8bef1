//! What happens in a network that the engine has to look at before it takes the next event.
//!
//! Most packets bring no news.

use crate::network::meters::Loss;
use crate::network::packet::Packet;

/// What the engine has to look at before it continues.
#[derive(Default)]
pub struct News {
    /// Whether there is any news, or an event outside the calendar is now earlier.
    pub pending: bool,
    /// Hosts whose queues have changed.
    pub changed: Vec<u32>,
    /// Control messages of which a frame has arrived.
    pub control: Vec<u64>,
    /// Packets that interfaces have refused, with the link and the reason.
    pub(super) refused: Vec<(u32, Loss, Packet)>,
}

impl News {
    pub(crate) fn queues_changed(&mut self, host: u32) {
        self.changed.push(host);
        self.pending = true;
    }
}
