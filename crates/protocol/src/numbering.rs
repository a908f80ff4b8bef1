//! The numbering of classes in signals and frames, the same for all plans.
//!
//! A class has 11 bits, with a meaning between one sender and the controller. With `n` hosts:
//!
//! | class | meaning |
//! | --- | --- |
//! | 0 to `n - 1` | the host of that number: slots without grants, and rates of packets |
//! | from `n` on | as [grants by signal](timeplane_model::Trigger::Signal) say |
//!
//! Slots use the second range in turn. If it would be less than half of all classes, the first
//! range is empty ([`destinations`]). Circuits use `n` classes of the second range in odd periods
//! and another `n` in even ones ([`circuit_class`]), because a schedule arrives before the period
//! before it ends. So frames of a rate never wait for a circuit's signal, or the other way round.
//!
//! The class does not tell the network of a frame. A bit beside it in a data frame does
//! ([`CIRCUIT`]): a circuit switch forwards only frames that were sent as such.

use crate::message::Pfc;
use timeplane_model::{HostId, Round};

/// A bit above the 11 bits of the class in a data frame: the frame uses the circuit switch.
pub const CIRCUIT: u16 = Pfc::CLASSES;

/// The most hosts for which circuits and packets have enough classes.
pub const MOST_CIRCUIT_HOSTS: u32 = Pfc::CLASSES as u32 / 3;

/// How many classes are destinations in plans of slots: one for each host if that leaves at least
/// half of the classes for grants, and none otherwise.
pub fn destinations(hosts: u32) -> u16 {
    u16::try_from(hosts).ok().filter(|&h| h <= Pfc::CLASSES / 2).unwrap_or(0)
}

/// The class of a circuit to a host in this period; for at most [`MOST_CIRCUIT_HOSTS`] hosts.
pub fn circuit_class(period: Round, hosts: u32, to: HostId) -> u16 {
    let base = if period.0 % 2 == 1 { hosts } else { 2 * hosts };
    (base + to.0) as u16
}

/// How many classes an encoding of signals must have for circuits and packets of this many hosts.
pub fn circuit_classes(hosts: u32) -> u32 {
    3 * hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_class_stands_for_two_things() {
        for hosts in [1, 2, 8, MOST_CIRCUIT_HOSTS] {
            let packets = (0..hosts).map(|h| h as u16);
            let of = |period| (0..hosts).map(move |h| circuit_class(Round(period), hosts, HostId(h)));
            let all: BTreeSet<u16> = packets.chain(of(1)).chain(of(2)).collect();
            assert_eq!(all.len() as u32, circuit_classes(hosts));
            assert!(all.iter().all(|&c| c < Pfc::CLASSES && c & CIRCUIT == 0));
            // Classes repeat after two periods.
            assert!(of(3).eq(of(1)) && of(4).eq(of(2)));
        }
        assert_eq!([1, 1024, 1025].map(destinations), [1, 1024, 0]);
    }
}
