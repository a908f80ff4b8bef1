//! All racks of a rotor network under RotorLB, slice by slice.
//!
//! Circuits of a rack are served in the order of the racks at their ends. All bytes that are
//! relayed in a slice arrive after it.

use super::Rack;
use crate::rotor::RotorSchedule;

/// The racks of a network with their queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The racks, by number.
    pub racks: Vec<Rack>,
}

/// Bytes that circuits have carried in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceTotals {
    /// Bytes that came to their destination directly.
    pub direct: u64,
    /// Bytes that came to their destination on their second hop.
    pub relayed: u64,
    /// Bytes on their first of two hops.
    pub spread: u64,
}

impl SliceTotals {
    /// Bytes that have reached their destination.
    pub fn delivered(&self) -> u64 {
        self.direct + self.relayed
    }
}

impl Network {
    /// A network with this demand, by source and destination. Bytes of a rack for itself stay where
    /// they are.
    ///
    /// # Panics
    /// If the demand is not square.
    pub fn new(demand: Vec<Vec<u64>>) -> Self {
        let racks = demand.len();
        assert!(demand.iter().all(|row| row.len() == racks), "a demand of {racks} racks is not square");
        let rack = |local| Rack { local, ..Rack::new(racks) };
        Self { racks: demand.into_iter().map(rack).collect() }
    }

    /// Runs all steps of a slice, in which every circuit carries up to `link_slot` bytes.
    ///
    /// # Panics
    /// If the schedule is of another number of racks.
    pub fn step(&mut self, schedule: &RotorSchedule, slice: u32, link_slot: u64) -> SliceTotals {
        assert_eq!(schedule.racks() as usize, self.racks.len(), "racks of the schedule");
        let mut totals = SliceTotals::default();
        let circuits = |rack: usize| {
            let mut to: Vec<usize> = schedule.circuits(slice, rack as u32).map(|(_, to)| to as usize).collect();
            to.sort_unstable();
            to
        };
        // Per receiver, its senders in order with the offers that they make.
        let mut offers = vec![(vec![], vec![]); self.racks.len()];
        for (from, rack) in self.racks.iter_mut().enumerate() {
            let mut room = |rack: &mut Rack, to: usize| {
                let sent = rack.send(to, link_slot);
                totals.direct += sent.direct;
                totals.relayed += sent.relayed;
                (to, link_slot - sent.direct - sent.relayed)
            };
            let rooms: Vec<_> = circuits(from).into_iter().map(|to| room(rack, to)).collect();
            for (to, room) in rooms {
                let (senders, offers): &mut (Vec<usize>, Vec<_>) = &mut offers[to];
                senders.push(from);
                offers.push(rack.offer(room));
            }
        }
        // Receivers in order, so that a sender serves those with smaller numbers first.
        let mut arrived = vec![];
        for (to, (senders, offers)) in offers.into_iter().enumerate() {
            let accepted = self.racks[to].accept(&offers, link_slot);
            arrived.extend(senders.into_iter().zip(accepted).map(|(from, accepted)| (from, to, accepted)));
        }
        // What is accepted depends on the queues before anything is relayed.
        for (from, _, accepted) in &mut arrived {
            *accepted = self.racks[*from].send_accepted(accepted);
        }
        for (_, to, bytes) in arrived {
            totals.spread += bytes.iter().sum::<u64>();
            self.racks[to].receive(&bytes);
        }
        totals
    }
}
