//! What the class numbers of a sender's signals and frames stand for: one numbering for all plans.
//!
//! A class has 11 bits, and is between one sender and the controller. Where there are `n` hosts:
//!
//! | class | stands for |
//! | --- | --- |
//! | 0 to `n - 1` | the host of that number, reached over packets: slots that need no grant, and all rates |
//! | from `n` on | what [grants by signal](timeplane_model::Trigger::Signal) say |
//!
//! Slots take the second range in turn; where it would be less than half of all classes, there is no first one ([`destinations`]). Circuits take `n` classes of
//! it for odd periods and `n` for even ones ([`circuit_class`]), as a period's schedule comes before the period before it is over: so
//! a frame that is named for a rate never waits for a circuit's signal, nor the other way round.
//!
//! Over which network a frame goes is no matter of its class. In a data frame it is a bit beside the class, [`CIRCUIT`]: whatever grants a
//! class names, a circuit switch takes no frame for its own that has not been sent as one.

use crate::message::Pfc;
use timeplane_model::{HostId, Round};

/// In the class field of a data frame, above the 11 bits of its class: it goes over the circuit switch.
pub const CIRCUIT: u16 = Pfc::CLASSES;

/// The most hosts that circuits and the packets beside them can name.
pub const MOST_CIRCUIT_HOSTS: u32 = Pfc::CLASSES as u32 / 3;

/// How many classes stand for destinations under slots where there are so many hosts: all hosts, where that leaves at least half of the classes for
/// grants, and none otherwise.
pub fn destinations(hosts: u32) -> u16 {
    u16::try_from(hosts).ok().filter(|&h| h <= Pfc::CLASSES / 2).unwrap_or(0)
}

/// The class of a circuit to a host in this period, among so many hosts: at most [`MOST_CIRCUIT_HOSTS`].
pub fn circuit_class(period: Round, hosts: u32, to: HostId) -> u16 {
    let base = if period.0 % 2 == 1 { hosts } else { 2 * hosts };
    (base + to.0) as u16
}

/// The classes that all circuits of so many hosts take, and the packets beside them: what an encoding of signals has to have.
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
            // The period after next is the same again.
            assert!(of(3).eq(of(1)) && of(4).eq(of(2)));
        }
        assert_eq!([1, 1024, 1025].map(destinations), [1, 1024, 0]);
    }
}
