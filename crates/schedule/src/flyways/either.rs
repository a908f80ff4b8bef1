//! A set of links of two kinds, such as flyways and circuits.
//!
//! It presents two sets as one to the planner.

use super::{Link, LinkSet, Offer};

/// Links of two kinds between the same racks. A pair of racks gets the faster of two offers, or the
/// first kind's if both are equal.
///
/// Channels of the second kind are shifted up by [`Either::SECOND`]. Link numbers are this set's
/// own.
#[derive(Clone, Debug)]
pub struct Either<A, B> {
    first: A,
    second: B,
    /// Numbers of links in the two sets, by this set's own numbers.
    up: Vec<(usize, usize, Link)>,
}

impl<A: LinkSet, B: LinkSet> Either<A, B> {
    /// First channel of the second kind.
    pub const SECOND: usize = 1 << 16;

    /// Combines two empty sets. Returns `None` if they have different numbers of racks.
    pub fn new(first: A, second: B) -> Option<Self> {
        let empty = first.links().is_empty() && second.links().is_empty();
        (empty && first.racks() == second.racks()).then_some(Self { first, second, up: Vec::new() })
    }
    /// The set of the first kind.
    pub fn first(&self) -> &A {
        &self.first
    }
    /// The set of the second kind.
    pub fn second(&self) -> &B {
        &self.second
    }
}

impl<A: LinkSet, B: LinkSet> LinkSet for Either<A, B> {
    fn racks(&self) -> usize {
        self.first.racks()
    }
    fn links(&self) -> Vec<(usize, Link)> {
        self.up.iter().map(|&(number, _, link)| (number, link)).collect()
    }
    fn offer(&self, a: usize, b: usize) -> Option<Offer> {
        let second = self.second.offer(a, b).map(|o| Offer { channel: o.channel + Self::SECOND, ..o });
        match (self.first.offer(a, b), second) {
            (Some(one), Some(other)) if other.rate > one.rate => Some(other),
            (one, other) => one.or(other),
        }
    }
    fn add(&mut self, link: &Link) -> Option<usize> {
        let inner = match link.channel.checked_sub(Self::SECOND) {
            None => self.first.add(link)?,
            Some(channel) => self.second.add(&Link { channel, ..*link })?,
        };
        let number = self.up.last().map_or(0, |(n, ..)| n + 1);
        self.up.push((number, inner, *link));
        Some(number)
    }
    fn remove(&mut self, number: usize) -> bool {
        let Some(at) = self.up.iter().position(|(n, ..)| *n == number) else { return false };
        let (_, inner, link) = self.up.remove(at);
        if link.channel < Self::SECOND { self.first.remove(inner) } else { self.second.remove(inner) }
    }
}
