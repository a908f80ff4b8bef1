//! The paths between switches with hosts that a scheduler may choose from.
//!
//! Paths are looked up once for each pair of switches.

use std::collections::BTreeMap;
use timeplane_model::{Candidates, Fabric, HostId, LinkId, PathTag};

/// Maximum number of paths considered for a pair of switches.
pub(crate) const MOST_PATHS: usize = 64;

/// A path from one switch with hosts to another.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Tag that names the path; `None` if it is the only one.
    pub tag: Option<PathTag>,
    /// Links of the path without the hosts' links.
    pub links: Vec<LinkId>,
    /// Rate of the slowest of these links in bit/s.
    pub rate: u64,
}

/// Shortest paths by pair of switches, computed on demand.
#[derive(Debug)]
pub(crate) struct Choices<'a> {
    fabric: &'a Fabric,
    all: Vec<Vec<Choice>>,
    known: BTreeMap<(u32, u32), u32>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        Self { fabric, all: Vec::new(), known: BTreeMap::new() }
    }

    /// Number of the set of paths from one host's switch to another's.
    pub(crate) fn between(&mut self, from: HostId, to: HostId) -> u32 {
        let fabric = self.fabric;
        let switch = |h| fabric.link(fabric.uplink(h)).to.0;
        let next = self.all.len() as u32;
        let number = *self.known.entry((switch(from), switch(to))).or_insert(next);
        if number == next {
            self.all.push(choices(fabric, from, to));
        }
        number
    }

    pub(crate) fn of(&self, number: u32) -> &[Choice] {
        &self.all[number as usize]
    }
}

/// All paths that tags can name, each once, in the order of their tags.
fn choices(fabric: &Fabric, from: HostId, to: HostId) -> Vec<Choice> {
    let single = fabric.is_single_path(from, to);
    let mut found: Vec<Choice> = Vec::new();
    // Largest numbers of candidates seen so far: at switches with hosts, and at others.
    let (mut first, mut second) = (1u32, 1u32);
    let mut low = 0;
    while low < first && found.len() < MOST_PATHS {
        let mut high = 0;
        while high < second && found.len() < MOST_PATHS {
            let tag = PathTag::new(low as u8, high as u8);
            let path = fabric.tagged_path(from, to, tag);
            let links: Vec<LinkId> = path.iter().take(path.len() - 1).skip(1).copied().collect();
            for &link in &links {
                let at = fabric.link(link).from;
                if let Candidates::Set(set) = fabric.candidates(at, to) {
                    let most = if fabric.has_hosts(at) { &mut first } else { &mut second };
                    *most = (*most).max(set.len().min(256) as u32);
                }
            }
            if !found.iter().any(|c| c.links == links) {
                let rate = links.iter().map(|&l| fabric.link(l).spec.rate.as_bps()).min().unwrap_or(u64::MAX);
                found.push(Choice { tag: (!single).then_some(tag), links, rate });
            }
            high += 1;
        }
        low += 1;
    }
    found
}
