//! Hosts that stay away: their streams end, so that no program waits for ever.
//!
//! The agent's loop knows from controllers which hosts are there.

use super::peer::{Ending, Turn};
use super::{IncomingId, StreamError, Streams, Timer};
use timeplane_model::HostId;

impl Streams {
    /// Ends what waits for a host that stays away: streams from and to it break, and packets to it
    /// are dropped. New ones are refused until [`Streams::set_peer`] names the host again. Bytes of
    /// streams that have arrived completely can still be read.
    pub fn set_absent(&mut self, host: HostId) {
        let Some(peer) = self.peers.get_mut(&host) else { return };
        peer.absent = true;
        peer.ready.retain(|turn| *turn != Turn::Packets);
        self.counters.packets_dropped += peer.packets.clear();
        let sent: Vec<u32> = self.sending.iter().filter(|(_, s)| s.to == host).map(|(&n, _)| n).collect();
        for number in sent {
            self.with_sending(number, |s| s.give_up());
        }
        // Farewells wait until somebody can hear them.
        for (&number, farewell) in self.farewells.iter_mut().filter(|(_, f)| f.to == host) {
            if let Some(at) = farewell.timer.take() {
                self.timers.remove(&(at, Timer::Farewell(number)));
            }
        }
        let received = self.receiving.iter().filter(|(id, r)| id.host == host && !r.is_complete());
        let received: Vec<IncomingId> = received.map(|(&id, _)| id).collect();
        for id in received {
            self.counters.streams_broken += 1;
            self.end(id, Ending::GivenUp);
        }
    }

    /// Handles the return of a host: it is told of the streams that were given up meanwhile, in
    /// case its agent has lived on.
    pub(super) fn set_present(&mut self, host: HostId) {
        let Some(peer) = self.peers.get_mut(&host).filter(|p| p.absent) else { return };
        peer.absent = false;
        for (&number, farewell) in self.farewells.iter_mut().filter(|(_, f)| f.to == host && f.timer.is_none()) {
            farewell.timer = Some(self.clock);
            self.timers.insert((self.clock, Timer::Farewell(number)));
        }
    }

    /// Whether a host stays away, as [`Streams::set_absent`] has told.
    pub(super) fn is_absent(&self, host: HostId) -> bool {
        self.peers.get(&host).is_some_and(|p| p.absent)
    }

    /// Why a stream to a host has been given up.
    pub fn given_up(&self, host: HostId) -> StreamError {
        if self.is_absent(host) { StreamError::Absent { host } } else { StreamError::GivenUp { host } }
    }
}
