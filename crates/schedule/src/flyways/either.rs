//! Two sets of links side by side.

use super::{Link, LinkSet, Offer};

/// Links of two kinds between the same racks, such as flyways and circuits: a pair gets the faster offer, the first kind's of equal ones.
///
/// Channels of the second kind are [`Either::SECOND`] higher than its own, numbers of links are its own ones.
#[derive(Clone, Debug)]
pub struct Either<A, B> {
    first: A,
    second: B,
    /// Numbers in the set, by our own.
    up: Vec<(usize, usize, Link)>,
}

impl<A: LinkSet, B: LinkSet> Either<A, B> {
    /// Where channels of the second kind begin.
    pub const SECOND: usize = 1 << 16;

    /// Both without links; none where they are not for as many racks.
    pub fn new(first: A, second: B) -> Option<Self> {
        let empty = first.links().is_empty() && second.links().is_empty();
        (empty && first.racks() == second.racks()).then_some(Self { first, second, up: Vec::new() })
    }
    /// The first kind.
    pub fn first(&self) -> &A {
        &self.first
    }
    /// The second kind.
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
