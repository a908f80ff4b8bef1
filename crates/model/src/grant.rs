//! What a host gets of a plan.

use crate::ids::{HostId, LinkId};
use crate::units::{Bytes, Rate, Time};

/// A queue's traffic class at a host, beside its destination. Class 0 is all that no control
/// separates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

/// A path through the fabric, as two bytes in a packet: at every switch the tag picks among the
/// equal candidates instead of the flow's hash. A switch that has hosts takes the low byte, any
/// other the high byte, modulo the number of candidates: so two bytes name every path of a Clos
/// network of three layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathTag(pub u16);

impl PathTag {
    /// Candidate `first` at switches with hosts, `second` at others.
    pub const fn new(first: u8, second: u8) -> Self {
        Self(first as u16 | (second as u16) << 8)
    }
}

/// Over what a grant sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Medium {
    /// The packet fabric, by its own routes (ECMP).
    #[default]
    Fabric,
    /// The packet fabric, by this path.
    Path(PathTag),
    /// A link that a controller set up: an optical circuit or a 60 GHz beam.
    Link(LinkId),
}

/// When a grant begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// When the host's own clock shows this time.
    At(Time),
    /// When a signal of this number comes in (a PFC frame, a heartbeat).
    Signal(u32),
    /// Never: an end that a later grant or the lease sets.
    Never,
}

/// The right to send: which queue, over what, how fast, from when to when.
///
/// A timeslot is one packet long with a path; a rate is a grant whose end is [`Trigger::Never`]; a
/// slot of a TDMA round runs at line rate between two times or two signals; a circuit is a slot
/// over another medium. None outlives its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The queue: to whom.
    pub destination: HostId,
    /// The queue: which class.
    pub class: Class,
    /// Over what.
    pub medium: Medium,
    /// How fast, in wire bits per second; `None` is line rate.
    pub rate: Option<Rate>,
    /// The most wire bytes that may be sent; `None` is what the time allows.
    pub bytes: Option<Bytes>,
    /// The most packets that may be sent; `None` is what the time allows.
    pub packets: Option<u32>,
    /// When it begins.
    pub start: Trigger,
    /// When it ends; the instant itself is outside.
    pub end: Trigger,
    /// When it ends at the latest, by the host's own clock: a controller that falls silent opens no
    /// gate for good.
    pub lease: Time,
}

impl Grant {
    /// The end, where it is known before it comes: the earlier of a set end and the lease.
    pub fn known_end(&self) -> Option<Time> {
        match self.end {
            Trigger::At(t) => Some(t.min(self.lease)),
            Trigger::Signal(_) | Trigger::Never => None,
        }
    }
}
