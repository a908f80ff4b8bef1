//! RotorLB: load balancing over two hops, where racks agree on what goes over others.
//!
//! A rack has two queues for each destination: local bytes of its own hosts, and relayed bytes that
//! it has accepted from others. In each slice, every circuit carries at most a link-slot of bytes
//! (line rate times open time). The racks go through four steps:
//!
//! 1. [`Rack::send`]: relayed bytes go to their destination.
//! 2. [`Rack::send`]: local bytes follow directly, as far as the circuit has room.
//! 3. [`Rack::offer`]: the rack offers its other local bytes to each rack that it is connected to,
//!    up to the room left. [`Rack::accept`]: that rack accepts, for each destination, what still
//!    fits into a link-slot on top of its own queues, in fair shares among destinations and racks.
//! 4. [`Rack::send_accepted`]: accepted bytes go to the other rack, which relays them later.
//!
//! Each step needs one rack's queues only, so racks may run it as agents that exchange offers.
//! [`Network::step`] runs all of them at once. Amounts are integers, so no byte is lost.
//!
//! Source: William Mellette et al., "RotorNet: a scalable, low-complexity, optical datacenter
//! network", SIGCOMM 2017, and the rack-level model that its authors published.

mod fair;
mod network;

pub use fair::fair_share;
pub use network::{Network, SliceTotals};

/// Bytes that wait at one rack, by destination rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rack {
    /// Bytes from this rack's hosts.
    pub local: Vec<u64>,
    /// Bytes from other racks that this rack has accepted.
    pub relayed: Vec<u64>,
}

/// What a rack has sent over one circuit to the circuit's end, where it is consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes that came over two hops.
    pub relayed: u64,
    /// Bytes that came directly.
    pub direct: u64,
}

/// What a rack would send over another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Local bytes, by destination.
    pub bytes: Vec<u64>,
    /// What the circuit can still carry in this slice.
    pub room: u64,
}

impl Rack {
    /// A rack of a network of this size with empty queues.
    pub fn new(racks: usize) -> Self {
        Self { local: vec![0; racks], relayed: vec![0; racks] }
    }

    /// Bytes in all queues.
    pub fn backlog(&self) -> u64 {
        self.local.iter().chain(&self.relayed).sum()
    }

    /// Steps 1 and 2 over a circuit to `neighbor` that carries `room` bytes. What the answer leaves
    /// of the room may carry bytes to other racks.
    ///
    /// # Panics
    /// If the neighbor does not exist.
    pub fn send(&mut self, neighbor: usize, room: u64) -> Sent {
        let relayed = self.relayed[neighbor].min(room);
        let direct = self.local[neighbor].min(room - relayed);
        self.relayed[neighbor] -= relayed;
        self.local[neighbor] -= direct;
        Sent { relayed, direct }
    }

    /// Step 3 at the sender: all local bytes, over a circuit with this room left.
    pub fn offer(&self, room: u64) -> Offer {
        Offer { bytes: self.local.clone(), room }
    }

    /// Step 3 at the receiver: what it accepts of each offer, by offer and destination.
    ///
    /// For each destination, the rack has space for a `link_slot` minus what it holds already. Each
    /// sender's room is shared fairly over the destinations that it offers. Then each destination's
    /// space is shared fairly over the senders. What is left is shared in the same way, until
    /// nothing moves. That takes one more round than there are destinations at most.
    ///
    /// # Panics
    /// If offers are of another number of racks.
    pub fn accept(&self, offers: &[Offer], link_slot: u64) -> Vec<Vec<u64>> {
        let racks = self.local.len();
        let mut space: Vec<u64> = self
            .local
            .iter()
            .zip(&self.relayed)
            .map(|(local, relayed)| link_slot.saturating_sub(local.saturating_add(*relayed)))
            .collect();
        let mut left: Vec<Offer> = offers.to_vec();
        let mut accepted = vec![vec![0; racks]; offers.len()];
        let mut shares = vec![vec![0; racks]; offers.len()];
        let (mut wants, mut gets) = (vec![0; offers.len()], vec![]);
        loop {
            let mut moved = false;
            for (offer, share) in left.iter_mut().zip(&mut shares) {
                for (bytes, _) in offer.bytes.iter_mut().zip(&space).filter(|(_, space)| **space == 0) {
                    *bytes = 0;
                }
                fair_share(&offer.bytes, offer.room, share);
            }
            for destination in (0..racks).filter(|&k| shares.iter().any(|share| share[k] > 0)) {
                moved = true;
                wants.iter_mut().zip(&shares).for_each(|(want, share)| *want = share[destination]);
                fair_share(&wants, space[destination], &mut gets);
                for ((offer, accepted), &bytes) in left.iter_mut().zip(&mut accepted).zip(&gets) {
                    offer.bytes[destination] -= bytes;
                    offer.room -= bytes;
                    accepted[destination] += bytes;
                    space[destination] -= bytes;
                }
            }
            if !moved {
                return accepted;
            }
        }
    }

    /// Step 4 at the sender: what it sends of the accepted bytes, by destination. Several receivers
    /// may have accepted the same bytes; the first one gets them.
    ///
    /// # Panics
    /// If the accepted bytes are of another number of racks.
    pub fn send_accepted(&mut self, accepted: &[u64]) -> Vec<u64> {
        assert_eq!(accepted.len(), self.local.len(), "racks of accepted bytes");
        let send = |(local, accepted): (&mut u64, &u64)| {
            let bytes = (*accepted).min(*local);
            *local -= bytes;
            bytes
        };
        self.local.iter_mut().zip(accepted).map(send).collect()
    }

    /// Step 4 at the receiver: takes bytes to relay.
    ///
    /// # Panics
    /// If the bytes are of another number of racks.
    pub fn receive(&mut self, bytes: &[u64]) {
        assert_eq!(bytes.len(), self.relayed.len(), "racks of received bytes");
        self.relayed.iter_mut().zip(bytes).for_each(|(relayed, bytes)| *relayed += bytes);
    }
}
