//! The grants of a batch of timeslots, for all hosts at once.
//!
//! A controller that gives a timeslot to nearly every host has one message for nearly every host. A
//! batch holds the grants of all of them in one list, so that a driver in virtual time need not
//! make a message of each.

use crate::message::{Grants, Message};
use timeplane_model::{Class, Duration, Grant, HostId, Medium, PathTag, Round, Time, Trigger};

/// A timeslot of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeslot {
    /// The sender.
    pub host: HostId,
    /// The destination of the queue that may send.
    pub destination: HostId,
    /// The position of the slot in its batch, from 0.
    pub index: u32,
    /// The path of its packets; `None` if there is only one.
    pub path: Option<PathTag>,
    /// The class of the queue that may send.
    pub class: Class,
}

/// One message of [`Grants`] to each host that has a timeslot in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantBatch {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// The number of the batch.
    pub round: Round,
    /// When the first slot starts. A host that hears of it later uses none of the batch.
    pub effective: Time,
    /// The length of a slot.
    pub slot: Duration,
    /// The most packets in a slot; `None` if only the time limits them.
    pub packets: Option<u32>,
    /// In the order of hosts and slots.
    pub timeslots: Vec<Timeslot>,
}

impl GrantBatch {
    /// Adds timeslots in the order of slots; `counts` has a place for each host. A batch in which
    /// most hosts have timeslots is not sorted, but dealt out.
    pub(crate) fn add(&mut self, in_order_of_slots: &[Timeslot], counts: &mut [u32]) {
        let Some(&any) = in_order_of_slots.first() else { return };
        if in_order_of_slots.len() < counts.len() / 16 {
            self.timeslots.extend_from_slice(in_order_of_slots);
            return self.timeslots.sort_by_key(|t| t.host);
        }
        counts.fill(0);
        in_order_of_slots.iter().for_each(|t| counts[t.host.index()] += 1);
        let mut begin = 0;
        for count in counts.iter_mut() {
            begin += std::mem::replace(count, begin);
        }
        self.timeslots.resize(in_order_of_slots.len(), any);
        for timeslot in in_order_of_slots {
            let place = &mut counts[timeslot.host.index()];
            self.timeslots[*place as usize] = *timeslot;
            *place += 1;
        }
    }

    /// When a slot starts.
    pub fn start(&self, index: u32) -> Time {
        self.effective + self.slot * i64::from(index)
    }

    /// The timeslots of each host, in the order of hosts.
    pub fn by_host(&self) -> impl Iterator<Item = &[Timeslot]> {
        self.timeslots.chunk_by(|a, b| a.host == b.host)
    }

    /// The message to the host that has these timeslots.
    pub fn message(&self, timeslots: &[Timeslot]) -> Message {
        let grant = |t: &Timeslot| {
            let (start, end) = (self.start(t.index), self.start(t.index + 1));
            Grant {
                destination: t.destination,
                class: t.class,
                medium: t.path.map_or(Medium::Fabric, Medium::Path),
                rate: None,
                bytes: None,
                packets: self.packets,
                start: Trigger::At(start),
                end: Trigger::At(end),
                lease: end,
            }
        };
        let Self { epoch, round, effective, .. } = *self;
        let grants = timeslots.iter().map(grant).collect();
        Message::Grants(Grants { epoch, round, effective, grants, report_at: Time::MAX })
    }

    /// All messages with their recipients, in the order of hosts.
    pub fn messages(&self) -> impl Iterator<Item = (HostId, Message)> {
        self.by_host().map(|of| (of[0].host, self.message(of)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timeslots_are_in_the_order_of_hosts_and_slots(
            hosts in 1u32..200,
            slots in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 0..30), 1..4),
        ) {
            let one = |host: u32, index| Timeslot {
                host: HostId(host % hosts),
                destination: HostId(host),
                index,
                path: None,
                class: Class(0),
            };
            let given: Vec<_> = (0..).zip(&slots).flat_map(|(i, s)| s.iter().map(move |&h| one(h, i))).collect();
            let (epoch, round, effective, slot) = (0, Round(1), Time::ZERO, Duration::from_us(1));
            let mut batch = GrantBatch { epoch, round, effective, slot, packets: None, timeslots: Vec::new() };
            batch.add(&given, &mut vec![7; hosts as usize]);
            let mut sorted = given;
            sorted.sort_by_key(|t| (t.host, t.index));
            prop_assert_eq!(batch.timeslots, sorted);
        }
    }
}
