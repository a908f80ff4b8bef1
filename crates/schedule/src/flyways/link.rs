//! Links that may be added, and who says so.

use timeplane_model::Rate;

/// A link between two racks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Which channel, or which of several equal ones; what it means is the [`LinkSet`]'s business.
    pub channel: usize,
    /// What it carries.
    pub rate: Rate,
    /// How its directions share that.
    pub duplex: Duplex,
}

impl Link {
    /// The end that a rack is not; none where it is neither.
    pub fn other(&self, rack: usize) -> Option<usize> {
        match rack {
            r if r == self.a => Some(self.b),
            r if r == self.b => Some(self.a),
            _ => None,
        }
    }

    /// Whether it joins the same racks, on whatever channel.
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

/// How the two directions of a link go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// They share its rate: a radio sends or hears.
    Half,
    /// Each has all of it: a circuit.
    Full,
}

/// Links that are feasible together, kept so as they come and go.
pub trait LinkSet {
    /// How many racks there are.
    fn racks(&self) -> usize;

    /// The links that are up, with their numbers.
    fn links(&self) -> Vec<(usize, Link)>;

    /// The fastest link between two racks that leaves all others theirs; none where there is none. It is not added.
    fn offer(&self, a: usize, b: usize) -> Option<Offer>;

    /// Adds just this link, if it is feasible with all others; its number.
    fn add(&mut self, link: &Link) -> Option<usize>;

    /// Takes a link down; false where none has this number. Numbers of others stay.
    fn remove(&mut self, number: usize) -> bool;
}
