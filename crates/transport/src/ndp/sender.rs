//! The sending side: what leaves with the credit that its receiver gives.
//!
//! Credit is the window at the start, then one packet for each pull. A timeout gives the credit of
//! the packet that it repeats, because no pull will come for that. The sender knows neither paths
//! nor queues.
//!
//! A sender may also wait for a pull in vain: if its receiver has everything, and acknowledgements
//! were lost. This needs two losses, and pulls may take long in an incast. So it waits as long as
//! after [`MOST_BACKOFF`] timeouts, and then sends one packet.

use crate::ndp::NdpConfig;
use crate::{Range, RangeSet};
use std::collections::VecDeque;
use timeplane_model::Time;

/// A packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdpPacket {
    /// Offset of its first byte in the flow.
    pub offset: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
}

/// Timeouts in a row after which the time does not double any more.
const MOST_BACKOFF: u8 = 6;

/// A packet without an answer.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    packet: u64,
    sent: Time,
}

/// Sends one flow with NDP. Packets have the payload of the configuration; only the last one may
/// be shorter.
#[derive(Clone, Debug)]
pub struct NdpSender {
    config: NdpConfig,
    bytes: u64,
    packets: u64,
    /// The first packet that was never sent.
    next: u64,
    /// Packets that it may send now.
    credit: u64,
    /// The highest counter of a pull so far.
    pulled: u64,
    /// Packets to repeat, in the order in which their loss became known.
    resend: VecDeque<u64>,
    /// In the order in which they were sent.
    outstanding: VecDeque<Outstanding>,
    /// Numbers of packets that have arrived.
    arrived: RangeSet,
    arrived_packets: u64,
    acknowledged: u64,
    backoff: u8,
    /// When it last sent a packet or heard of its receiver.
    active: Time,
    sent: u32,
    retransmissions: u64,
    timeouts: u32,
}

impl NdpSender {
    /// A sender for a flow of `bytes`, which may send its window.
    pub fn new(config: &NdpConfig, bytes: u64) -> Self {
        Self {
            config: NdpConfig { payload: config.payload.max(1), window: config.window.max(1), ..*config },
            bytes,
            packets: config.packets(bytes),
            next: 0,
            // What a short flow leaves of the window is not for repetitions: these wait for pulls.
            credit: config.packets(bytes).min(u64::from(config.window.max(1))),
            pulled: 0,
            resend: VecDeque::new(),
            outstanding: VecDeque::new(),
            arrived: RangeSet::new(),
            arrived_packets: 0,
            acknowledged: 0,
            backoff: 0,
            active: Time::ZERO,
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
        }
    }

    /// The next packet, which leaves now; `None` without credit, or with nothing to send.
    pub fn poll(&mut self, now: Time) -> Option<NdpPacket> {
        if !self.has_packet() {
            return None;
        }
        let again = self.resend.pop_front();
        let packet = again.unwrap_or(self.next);
        if again.is_some() {
            self.retransmissions += 1;
        } else {
            self.next += 1;
        }
        self.credit -= 1;
        self.active = now;
        self.sent = self.sent.wrapping_add(1);
        self.outstanding.push_back(Outstanding { packet, sent: now });
        let offset = packet * u64::from(self.config.payload);
        Some(NdpPacket { offset, len: self.len_of(packet), retransmission: again.is_some() })
    }

    /// Whether [`poll`](Self::poll) has a packet.
    pub fn has_packet(&self) -> bool {
        self.credit > 0 && self.has_more()
    }

    /// Whether something is left to send.
    fn has_more(&self) -> bool {
        self.next < self.packets || !self.resend.is_empty()
    }

    /// The packet that starts at `offset` has arrived. Ignored if it was not sent.
    pub fn on_ack(&mut self, now: Time, offset: u64) {
        let Some(packet) = self.sent_at(offset) else { return };
        self.heard(now);
        let mut new = false;
        self.arrived.insert(Range { start: packet, end: packet + 1 }, |_| new = true);
        self.answered(packet);
        if new {
            self.arrived_packets += 1;
            self.acknowledged += u64::from(self.len_of(packet));
            // A packet that timed out may only have been late.
            self.resend.retain(|&p| p != packet);
        }
    }

    /// Only the header of the packet that starts at `offset` has arrived. Ignored if it was not
    /// sent, or is known to have arrived.
    pub fn on_nack(&mut self, now: Time, offset: u64) {
        let Some(packet) = self.sent_at(offset) else { return };
        self.heard(now);
        if self.answered(packet) && self.arrived.containing(packet).is_none() {
            self.resend.push_back(packet);
        }
    }

    /// The receiver asks for packets: `counter` is the number of pulls that it has sent. So a pull
    /// also stands for all before it that were lost, and one that was overtaken does nothing.
    pub fn on_pull(&mut self, now: Time, counter: u64) {
        if counter > self.pulled {
            self.active = now;
            self.credit = self.credit.saturating_add(counter - self.pulled);
            self.pulled = counter;
        }
    }

    fn heard(&mut self, now: Time) {
        self.active = now;
        self.backoff = 0;
    }

    /// When to call [`on_timeout`](Self::on_timeout); `None` while no packet waits for an answer or
    /// for a pull.
    pub fn deadline(&self) -> Option<Time> {
        match self.outstanding.front() {
            // An answer ends the backoff, so the timeout of older packets may be over by then.
            Some(first) => Some(first.sent.saturating_add(self.config.timeout(self.backoff)).max(self.active)),
            None if self.credit == 0 && self.has_more() => {
                Some(self.active.saturating_add(self.config.timeout(MOST_BACKOFF)))
            }
            None => None,
        }
    }

    /// Repeats the packets that have waited for an answer for the timeout, or lets one packet leave
    /// without a pull. Does nothing before the deadline.
    pub fn on_timeout(&mut self, now: Time) {
        let timeout = self.config.timeout(self.backoff);
        let before = self.timeouts;
        if self.outstanding.is_empty() && self.deadline().is_some_and(|at| at <= now) {
            self.credit = 1;
            self.timeouts = self.timeouts.saturating_add(1);
            return;
        }
        while let Some(first) = self.outstanding.front()
            && first.sent.saturating_add(timeout) <= now
        {
            self.resend.push_back(first.packet);
            self.outstanding.pop_front();
            self.credit = self.credit.saturating_add(1);
            self.timeouts = self.timeouts.saturating_add(1);
        }
        if self.timeouts > before {
            self.backoff = (self.backoff + 1).min(MOST_BACKOFF);
        }
    }

    /// Whether the receiver has everything.
    pub fn is_done(&self) -> bool {
        self.arrived_packets == self.packets
    }
    /// Application bytes that are known to have arrived.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
    /// Packets without an answer.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }
    /// Packets sent, modulo 2^32.
    pub fn sent(&self) -> u32 {
        self.sent
    }
    /// Packets sent that repeat another one.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
    /// Packets that had no answer in time.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The number of the packet that starts at `offset`, if it was sent.
    fn sent_at(&self, offset: u64) -> Option<u64> {
        let payload = u64::from(self.config.payload);
        let packet = offset / payload;
        (offset.is_multiple_of(payload) && packet < self.next).then_some(packet)
    }

    fn len_of(&self, packet: u64) -> u32 {
        let payload = u64::from(self.config.payload);
        (self.bytes - packet * payload).min(payload) as u32
    }

    /// An answer came for a packet. Whether it was waiting for one.
    fn answered(&mut self, packet: u64) -> bool {
        let place = self.outstanding.iter().position(|o| o.packet == packet);
        place.is_some_and(|place| self.outstanding.remove(place).is_some())
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

    /// Offsets of all packets that may leave.
    fn sent(sender: &mut NdpSender, us: i64) -> Vec<u64> {
        std::iter::from_fn(|| sender.poll(at(us))).map(|p| p.offset).collect()
    }

    #[test]
    fn a_window_leaves_at_once_and_then_a_packet_for_each_pull() {
        let mut sender = NdpSender::new(&CONFIG, 5_500);
        assert_eq!(sent(&mut sender, 0), [0, 1_000, 2_000]);
        sender.on_pull(at(1), 1);
        sender.on_pull(at(1), 1);
        assert_eq!(sent(&mut sender, 5), [3_000], "a counter counts once");
        // The second pull was lost, and the first one comes again behind the third.
        sender.on_pull(at(1), 3);
        sender.on_pull(at(1), 1);
        let last: Vec<_> = std::iter::from_fn(|| sender.poll(at(9))).map(|p| (p.offset, p.len)).collect();
        assert_eq!(last, [(4_000, 1_000), (5_000, 500)]);
        (0..6).for_each(|p| sender.on_ack(at(1), p * 1_000));
        assert!(sender.is_done() && sender.acknowledged() == 5_500 && sender.deadline().is_none());
    }

    #[test]
    fn what_was_cut_goes_before_new_data() {
        let mut sender = NdpSender::new(&CONFIG, 9_000);
        sent(&mut sender, 0);
        sender.on_nack(at(1), 2_000);
        sender.on_nack(at(1), 0);
        sender.on_nack(at(1), 0);
        assert_eq!(sent(&mut sender, 1), [0; 0], "no credit");
        sender.on_pull(at(1), 3);
        assert_eq!(sent(&mut sender, 2), [2_000, 0, 3_000]);
        assert_eq!((sender.retransmissions(), sender.outstanding()), (2, 4));
    }

    #[test]
    fn a_timeout_repeats_without_a_pull_and_backs_off() {
        let mut sender = NdpSender::new(&CONFIG, 2_000);
        assert_eq!(sent(&mut sender, 0), [0, 1_000]);
        sender.on_ack(at(1), 0);
        sender.on_timeout(at(999));
        assert_eq!((sender.deadline(), sent(&mut sender, 999).len()), (Some(at(1_000)), 0));
        sender.on_timeout(at(1_000));
        assert_eq!(sent(&mut sender, 1_000), [1_000]);
        assert_eq!((sender.deadline(), sender.timeouts()), (Some(at(3_000)), 1), "twice as long");
        // The first one was only late.
        sender.on_ack(at(1), 1_000);
        assert!(sender.is_done() && sender.deadline().is_none());
    }

    #[test]
    fn a_short_flow_repeats_only_what_is_pulled() {
        let mut sender = NdpSender::new(&CONFIG, 1_000);
        sent(&mut sender, 0);
        sender.on_nack(at(1), 0);
        assert_eq!(sent(&mut sender, 1), [0; 0], "two packets of the window were not used");
        sender.on_pull(at(2), 1);
        assert_eq!(sent(&mut sender, 2), [0]);
    }

    #[test]
    fn an_answer_ends_the_backoff_and_no_deadline_is_past() {
        let mut sender = NdpSender::new(&CONFIG, 3_000);
        sent(&mut sender, 0);
        for us in [1_000, 3_000] {
            sender.on_timeout(at(us));
            sent(&mut sender, us);
        }
        assert_eq!(sender.deadline(), Some(at(7_000)));
        sender.on_ack(at(5_000), 2_000);
        assert_eq!(sender.deadline(), Some(at(5_000)));
        sender.on_timeout(at(5_000));
        assert_eq!((sent(&mut sender, 5_000), sender.timeouts()), (vec![0, 1_000], 8));
    }

    /// The receiver got a repetition whose acknowledgement was lost, and pulls no more. The answer
    /// to the first transmission, which was cut, comes late.
    #[test]
    fn a_sender_does_not_wait_for_ever_for_a_pull() {
        let mut sender = NdpSender::new(&CONFIG, 1_000);
        sent(&mut sender, 0);
        sender.credit = 0;
        sender.on_nack(at(70), 0);
        assert_eq!((sent(&mut sender, 70).len(), sender.deadline()), (0, Some(at(64_070))));
        sender.on_timeout(at(64_069));
        assert_eq!(sent(&mut sender, 64_069), [0; 0]);
        sender.on_timeout(at(64_070));
        assert_eq!((sent(&mut sender, 64_070), sender.timeouts()), (vec![0], 1));
    }

    #[test]
    fn answers_to_what_was_not_sent_are_ignored() {
        let mut sender = NdpSender::new(&CONFIG, 9_000);
        sent(&mut sender, 0);
        for offset in [1, 3_000, 8_000, u64::MAX] {
            sender.on_ack(at(1), offset);
            sender.on_nack(at(1), offset);
        }
        assert_eq!((sender.acknowledged(), sender.outstanding()), (0, 3));
        sender.on_ack(at(1), 0);
        sender.on_nack(at(1), 0);
        sender.on_pull(at(1), u64::MAX);
        assert_eq!(sent(&mut sender, 1), [3_000, 4_000, 5_000, 6_000, 7_000, 8_000]);
    }
}
