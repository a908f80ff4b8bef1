//! The receiving side: answers to packets and headers, and the pulls that a flow owes.
//!
//! It keeps neither payload nor a clock, and does not know other flows of its host.

use crate::ndp::NdpConfig;
use crate::{Range, RangeSet};
use timeplane_model::Time;

/// What a receiver answers to a packet at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NdpAnswer {
    /// It has the packet.
    Ack,
    /// It has only the header.
    Nack,
}

/// What follows from an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdpArrival {
    /// Bytes that had not arrived before.
    pub new: u64,
    /// The answer to send at once.
    pub answer: NdpAnswer,
}

/// Receives one flow with NDP.
#[derive(Clone, Debug)]
pub struct NdpReceiver {
    config: NdpConfig,
    bytes: u64,
    arrived: RangeSet,
    arrived_bytes: u64,
    /// Pulls to send.
    owed: u64,
    /// Pulls sent.
    pulls: u64,
    /// Pulls sent or owed that the sender can use at most: its packets without the window, and one
    /// for each that was cut.
    useful: u64,
    /// Pulls that would have been owed if the sender could use any number.
    unused: u64,
    /// When it last heard of the sender or sent a pull.
    heard: Time,
    backoff: u8,
    sent: u32,
}

impl NdpReceiver {
    /// A receiver for a flow of `bytes`.
    pub fn new(config: &NdpConfig, bytes: u64) -> Self {
        Self {
            config: *config,
            bytes,
            arrived: RangeSet::new(),
            arrived_bytes: 0,
            owed: 0,
            pulls: 0,
            useful: config.packets(bytes).saturating_sub(u64::from(config.window.max(1))),
            unused: 0,
            heard: Time::ZERO,
            backoff: 0,
            sent: 0,
        }
    }

    /// A packet arrives as a whole.
    pub fn on_data(&mut self, now: Time, offset: u64, len: u32) -> NdpArrival {
        let end = offset.saturating_add(u64::from(len)).min(self.bytes);
        let mut new = 0;
        self.arrived.insert(Range { start: offset, end }, |added| new += added.len());
        self.arrived_bytes += new;
        self.heard(now);
        NdpArrival { new, answer: NdpAnswer::Ack }
    }

    /// Only the header of a packet arrives. If the packet has already arrived, the sender learns
    /// that.
    pub fn on_header(&mut self, now: Time, offset: u64) -> NdpArrival {
        let answer = match self.arrived.containing(offset) {
            Some(_) => NdpAnswer::Ack,
            None => {
                self.useful += 1;
                NdpAnswer::Nack
            }
        };
        self.heard(now);
        NdpArrival { new: 0, answer }
    }

    /// Owes a pull for a packet that has arrived, if the sender can use it now or later.
    fn heard(&mut self, now: Time) {
        self.heard = now;
        self.backoff = 0;
        if self.is_complete() {
            self.owed = 0;
            return;
        }
        self.unused += 1;
        let more = self.unused.min(self.useful.saturating_sub(self.pulls + self.owed));
        self.owed += more;
        self.unused -= more;
    }

    /// Whether it owes pulls.
    pub fn owes_pulls(&self) -> bool {
        self.owed > 0
    }

    /// Takes a pull that is owed: the counter to send.
    pub fn take_pull(&mut self, now: Time) -> Option<u64> {
        self.owed = self.owed.checked_sub(1)?;
        self.pulls += 1;
        self.heard = now;
        Some(self.pulls)
    }

    /// When to call [`on_timeout`](Self::on_timeout): after the timeout without news of the sender,
    /// if it has pulled and waits for more. It is twice the sender's, which repairs what is lost on
    /// the way there.
    pub fn deadline(&self) -> Option<Time> {
        let waits = self.pulls > 0 && self.owed == 0 && !self.is_complete();
        waits.then(|| self.heard.saturating_add(self.config.timeout(self.backoff) * 2))
    }

    /// Repeats the last pull, which may have been lost: its counter. `None` before the deadline.
    pub fn on_timeout(&mut self, now: Time) -> Option<u64> {
        self.deadline().filter(|&at| at <= now)?;
        self.heard = now;
        self.backoff = (self.backoff + 1).min(6);
        Some(self.pulls)
    }

    /// Counts a packet that is sent to the sender: its number, modulo 2^32.
    pub fn count_sent(&mut self) -> u32 {
        let number = self.sent;
        self.sent = self.sent.wrapping_add(1);
        number
    }

    /// Whether all bytes have arrived.
    pub fn is_complete(&self) -> bool {
        self.arrived_bytes == self.bytes
    }
    /// Bytes that have arrived, each counted once.
    pub fn received(&self) -> u64 {
        self.arrived_bytes
    }
    /// Pulls sent, without repetitions.
    pub fn pulls(&self) -> u64 {
        self.pulls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::Duration;

    const CONFIG: NdpConfig = NdpConfig { payload: 1_000, window: 3, rto: Duration::from_ms(1) };

    fn at(us: i64) -> Time {
        Time::ZERO.saturating_add(Duration::from_us(us))
    }

    fn pulls(receiver: &mut NdpReceiver, us: i64) -> Vec<u64> {
        std::iter::from_fn(|| receiver.take_pull(at(us))).collect()
    }

    #[test]
    fn each_packet_is_answered_and_owes_a_pull_that_is_of_use() {
        let mut receiver = NdpReceiver::new(&CONFIG, 5_000);
        let whole = |new| NdpArrival { new, answer: NdpAnswer::Ack };
        let cut = NdpArrival { new: 0, answer: NdpAnswer::Nack };
        assert_eq!(receiver.on_data(at(0), 0, 1_000), whole(1_000));
        assert_eq!(receiver.on_header(at(1), 1_000), cut);
        assert_eq!(receiver.on_data(at(2), 2_000, 1_000), whole(1_000));
        assert_eq!(pulls(&mut receiver, 2), [1, 2, 3], "two new packets and a repetition");
        // All that the sender has left to send is pulled.
        assert_eq!(receiver.on_data(at(3), 1_000, 1_000), whole(1_000));
        assert_eq!(receiver.on_data(at(4), 3_000, 1_000), whole(1_000));
        assert!(!receiver.owes_pulls());
        // The last one is cut, so the sender can use one more.
        assert_eq!(receiver.on_header(at(5), 4_000), cut);
        assert_eq!(pulls(&mut receiver, 5), [4]);
        assert_eq!(receiver.on_data(at(6), 4_000, 1_000), whole(1_000));
        assert!(receiver.is_complete() && receiver.deadline().is_none());
        // A late repetition.
        assert_eq!(receiver.on_header(at(7), 4_000), whole(0));
        assert_eq!(receiver.on_data(at(7), 4_000, 1_000), whole(0));
        assert!(!receiver.owes_pulls() && receiver.received() == 5_000);
    }

    #[test]
    fn a_flow_that_fits_the_window_pulls_only_what_was_cut() {
        let mut receiver = NdpReceiver::new(&CONFIG, 2_500);
        receiver.on_data(at(0), 0, 1_000);
        assert!(!receiver.owes_pulls());
        receiver.on_header(at(1), 2_000);
        assert_eq!(pulls(&mut receiver, 1), [1]);
    }

    #[test]
    fn the_last_pull_is_repeated_when_nothing_follows() {
        let mut receiver = NdpReceiver::new(&CONFIG, 9_000);
        receiver.on_data(at(0), 0, 1_000);
        assert_eq!(receiver.deadline(), None, "it owes a pull");
        assert_eq!(pulls(&mut receiver, 10), [1]);
        assert_eq!((receiver.deadline(), receiver.on_timeout(at(2_009))), (Some(at(2_010)), None));
        assert_eq!(receiver.on_timeout(at(2_010)), Some(1));
        assert_eq!(receiver.deadline(), Some(at(6_010)), "twice as long");
        receiver.on_data(at(2_100), 1_000, 1_000);
        assert_eq!(pulls(&mut receiver, 2_100), [2]);
        assert_eq!(receiver.deadline(), Some(at(4_100)));
    }
}
