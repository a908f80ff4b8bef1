//! Links that may be added, and the trait of sets that know which ones are feasible.
//!
//! A link joins two racks on a channel at a rate.

use timeplane_model::Rate;

/// A link between two racks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Channel, or index among several equal links; the [`LinkSet`] defines its meaning.
    pub channel: usize,
    /// Rate of the link.
    pub rate: Rate,
    /// How the two directions share the rate.
    pub duplex: Duplex,
}

impl Link {
    /// The rack at the other end; `None` if `rack` is at neither end.
    pub fn other(&self, rack: usize) -> Option<usize> {
        match rack {
            r if r == self.a => Some(self.b),
            r if r == self.b => Some(self.a),
            _ => None,
        }
    }

    /// Whether both links join the same racks, on any channel.
    pub fn joins_as(&self, other: &Self) -> bool {
        (self.a, self.b) == (other.a, other.b) || (self.a, self.b) == (other.b, other.a)
    }
}

/// A link that could be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// See [`Link::channel`].
    pub channel: usize,
    /// See [`Link::rate`].
    pub rate: Rate,
    /// See [`Link::duplex`].
    pub duplex: Duplex,
}

impl Offer {
    /// The link between two racks.
    pub fn link(self, a: usize, b: usize) -> Link {
        Link { a, b, channel: self.channel, rate: self.rate, duplex: self.duplex }
    }
}

/// How the two directions of a link share its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// Both directions share the rate: a radio either sends or receives.
    Half,
    /// Each direction has the full rate: a circuit.
    Full,
}

/// A set of links that stays feasible as links are added and removed.
pub trait LinkSet {
    /// Number of racks.
    fn racks(&self) -> usize;

    /// Links that are up, with their numbers.
    fn links(&self) -> Vec<(usize, Link)>;

    /// The fastest feasible link between two racks that leaves the others' rates unchanged; `None`
    /// if there is none. Does not add the link.
    fn offer(&self, a: usize, b: usize) -> Option<Offer>;

    /// Adds exactly this link if it is feasible with all others. Returns its number.
    fn add(&mut self, link: &Link) -> Option<usize>;

    /// Removes a link; the numbers of others stay. Returns `false` if no link has this number.
    fn remove(&mut self, number: usize) -> bool;
}
