//! Grants: the rights to send that a host gets from a plan.
//!
//! A grant says which queue may send, over which medium, at what rate and when.

use crate::ids::{HostId, LinkId};
use crate::units::{Bytes, Rate, Time};

/// Traffic class of a queue at a host, besides its destination. Class 0 is all traffic that no
/// scheme separates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

/// A path through the fabric, as two bytes in a packet. At every switch, the tag selects among
/// equal candidates instead of the flow's hash. A switch with hosts uses the low byte, any other
/// switch the high byte, modulo the number of candidates. So two bytes name every path of a Clos
/// network of three layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathTag(pub u16);

impl PathTag {
    /// Candidate `first` at switches with hosts, `second` at others.
    pub const fn new(first: u8, second: u8) -> Self {
        Self(first as u16 | (second as u16) << 8)
    }
}

/// The network over which a grant sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Medium {
    /// The packet fabric, along the fabric's own routes (ECMP).
    #[default]
    Fabric,
    /// The packet fabric, along this path.
    Path(PathTag),
    /// A link that a controller has set up: an optical circuit or a 60 GHz beam.
    Link(LinkId),
}

/// The event at which a grant starts or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The host's own clock shows this time.
    At(Time),
    /// A signal with this number arrives (a PFC frame, a heartbeat).
    Signal(u32),
    /// No event: a later grant or the lease ends the grant.
    Never,
}

/// The right to send from a queue over a medium, at a rate, from a start to an end.
///
/// A timeslot is a grant of one packet's length with a path. A rate is a grant whose end is
/// [`Trigger::Never`]. A slot of a TDMA round runs at line rate between two times or two signals. A
/// circuit is a slot over another medium. No grant outlives its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Destination of the queue.
    pub destination: HostId,
    /// Class of the queue.
    pub class: Class,
    /// Network to send over.
    pub medium: Medium,
    /// Rate in wire bits per second; `None` for the line rate.
    pub rate: Option<Rate>,
    /// Maximum wire bytes; `None` if only the time limits them.
    pub bytes: Option<Bytes>,
    /// Maximum number of packets; `None` if only the time limits them.
    pub packets: Option<u32>,
    /// Start of the grant.
    pub start: Trigger,
    /// End of the grant, exclusive.
    pub end: Trigger,
    /// Latest end, by the host's own clock. So a controller that fails leaves no gate open.
    pub lease: Time,
}

impl Grant {
    /// The end, if it is known in advance: the earlier of a fixed end and the lease.
    pub fn known_end(&self) -> Option<Time> {
        match self.end {
            Trigger::At(t) => Some(t.min(self.lease)),
            Trigger::Signal(_) | Trigger::Never => None,
        }
    }
}
