//! Hosts that have been away for too long.
//!
//! No program waits for them any longer: streams from and to them end.

use super::LiveAgent;
use crate::clock;

impl LiveAgent {
    /// Ends what waits for hosts that have been away for too long.
    pub(super) fn end_absent(&mut self) {
        let due = self.presence.due(clock::now(), self.config.give_up_after);
        if due.is_empty() {
            return;
        }
        let mut streams = Self::streams(&self.shared);
        for host in due {
            tracing::warn!("host {} has been away for {}: its streams end", host.0, self.config.give_up_after);
            streams.set_absent(host);
        }
    }
}
