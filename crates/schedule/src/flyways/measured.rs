//! Links between racks that have measured their patterns.
//!
//! A pattern makes a rack's antenna point at another rack. Racks without links measure theirs in
//! rounds, without disturbing the links that are up.

use super::{Link, LinkSet, Offer};
use std::sync::Arc;

/// A set of links that offers only pairs of racks that have measured their patterns towards each
/// other (Halperin et al., SIGCOMM 2011, appendix A).
///
/// In each round a rack has one other rack to measure, so that all pairs have had their turn after
/// as many rounds as there are racks. Only racks without links measure. Two of them measure both
/// patterns if that disturbs no link, nor any other pair of the round. A rack that listens to one
/// with a link measures its own pattern only. Measurements hold forever.
///
/// What the source leaves open is this project's own: the order of the rounds, that a rack hears
/// all transmissions that it listens to, and that the controller knows how links disturb each
/// other without a measurement.
#[derive(Clone, Debug)]
pub struct Measured<L> {
    links: L,
    /// By rack and other rack: the first one's pattern towards the second is not known. `None`:
    /// all patterns are known.
    unknown: Option<Arc<Vec<bool>>>,
    rounds: u64,
}

impl<L: LinkSet + Clone> Measured<L> {
    /// All patterns are known.
    pub fn all(links: L) -> Self {
        Self { links, unknown: None, rounds: 0 }
    }

    /// No pattern is known. `links` are not up.
    pub fn none(links: L) -> Self {
        let n = links.racks();
        // Pairs that are too far apart for a link are never offered; they need no measurement.
        let wanted = |k: usize| k / n != k % n && links.offer(k / n, k % n).is_some();
        let unknown: Vec<bool> = (0..n * n).map(wanted).collect();
        Self { unknown: unknown.contains(&true).then(|| Arc::new(unknown)), links, rounds: 0 }
    }

    /// Number of pairs that could have a link and are not measured yet.
    pub fn unknown(&self) -> usize {
        let n = self.racks();
        (0..n).map(|a| (a + 1..n).filter(|&b| !self.knows(a, b)).count()).sum()
    }

    /// Number of rounds so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Racks measure for one round, in which the links `up` are in use.
    pub fn measure(&mut self, up: &[Link]) {
        let n = self.racks();
        let turn = (self.rounds % n as u64) as usize;
        self.rounds += 1;
        let Some(unknown) = &mut self.unknown else { return };
        let unknown = Arc::make_mut(unknown);
        let busy = |rack: usize| up.iter().any(|l| l.other(rack).is_some());
        let mut using = self.links.clone();
        for link in up {
            using.add(link);
        }
        // Pairs that the first ones of a round keep from measuring are first in a later pass.
        for a in 0..n {
            let b = (turn + n - a) % n;
            let (mine, yours) = (a * n + b, b * n + a);
            if !(unknown[mine] || unknown[yours]) || busy(a) {
                continue;
            }
            if busy(b) {
                unknown[mine] = false;
            } else if let Some(offer) = using.offer(a, b) {
                using.add(&offer.link(a, b));
                unknown[mine] = false;
                unknown[yours] = false;
            }
        }
        if !unknown.contains(&true) {
            self.unknown = None;
        }
    }

    fn knows(&self, a: usize, b: usize) -> bool {
        let n = self.links.racks();
        // Racks that do not exist are refused by the set.
        let known = |unknown: &Arc<Vec<bool>>| a >= n || b >= n || !(unknown[a * n + b] || unknown[b * n + a]);
        self.unknown.as_ref().is_none_or(known)
    }
}

impl<L: LinkSet + Clone> LinkSet for Measured<L> {
    fn racks(&self) -> usize {
        self.links.racks()
    }
    fn links(&self) -> Vec<(usize, Link)> {
        self.links.links()
    }
    fn offer(&self, a: usize, b: usize) -> Option<Offer> {
        self.links.offer(a, b).filter(|_| self.knows(a, b))
    }
    fn add(&mut self, link: &Link) -> Option<usize> {
        if self.knows(link.a, link.b) { self.links.add(link) } else { None }
    }
    fn remove(&mut self, number: usize) -> bool {
        self.links.remove(number)
    }
}
