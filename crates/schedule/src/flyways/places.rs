//! Numbers of the places that carry traffic: wires first, then links.
//!
//! A way lists the numbers of the places that a pair's traffic passes.

use super::{Bottleneck, Duplex, Link, Wired};

/// Places on a way: at most four wires and a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    at: [u32; 6],
    length: usize,
}

impl Way {
    fn push(&mut self, place: usize) {
        self.at[self.length] = place as u32;
        self.length += 1;
    }
    pub(super) fn places(&self) -> &[u32] {
        &self.at[..self.length]
    }
    pub(super) fn has(&self, place: u32) -> bool {
        self.places().contains(&place)
    }
}

/// Numbers the wires of a tree: uplinks, downlinks, wires to the core, wires from it. Links follow
/// with two numbers each.
#[derive(Clone, Debug)]
pub(super) struct Places {
    racks: usize,
    aggregation: Vec<usize>,
    aggregations: usize,
}

impl Places {
    pub(super) fn new(wired: &Wired) -> Self {
        let aggregation = (0..wired.racks).map(|r| wired.aggregation(r)).collect();
        Self { racks: wired.racks, aggregation, aggregations: wired.aggregations() }
    }
    /// Number of wires.
    pub(super) fn wires(&self) -> usize {
        2 * (self.racks + self.aggregations)
    }
    pub(super) fn number(&self, wire: Bottleneck) -> usize {
        match wire {
            Bottleneck::Uplink(rack) => rack,
            Bottleneck::Downlink(rack) => self.racks + rack,
            Bottleneck::ToCore(group) => 2 * self.racks + group,
            Bottleneck::FromCore(group) => 2 * self.racks + self.aggregations + group,
        }
    }
    pub(super) fn wire(&self, number: usize) -> Bottleneck {
        let (n, g) = (self.racks, self.aggregations);
        match number {
            k if k < n => Bottleneck::Uplink(k),
            k if k < 2 * n => Bottleneck::Downlink(k - n),
            k if k < 2 * n + g => Bottleneck::ToCore(k - 2 * n),
            k => Bottleneck::FromCore(k - 2 * n - g),
        }
    }
    /// The place by which a link sends from one of its ends.
    pub(super) fn link(&self, slot: usize, link: &Link, from: usize) -> usize {
        let back = link.duplex == Duplex::Full && from == link.b;
        self.wires() + 2 * slot + usize::from(back)
    }

    fn wire_to(&self, way: &mut Way, from: usize, to: usize) {
        way.push(self.number(Bottleneck::Uplink(from)));
        let (here, there) = (self.aggregation[from], self.aggregation[to]);
        if here != there {
            way.push(self.number(Bottleneck::ToCore(here)));
            way.push(self.number(Bottleneck::FromCore(there)));
        }
        way.push(self.number(Bottleneck::Downlink(to)));
    }

    /// The way over wires only.
    pub(super) fn wired(&self, from: usize, to: usize) -> Way {
        let mut way = Way::default();
        self.wire_to(&mut way, from, to);
        way
    }

    /// The way over a link: direct, or in transit with one more hop. `None` if the link ends at
    /// neither rack.
    pub(super) fn over(&self, slot: usize, link: &Link, from: usize, to: usize) -> Option<Way> {
        let mut way = Way::default();
        if let Some(on) = link.other(from) {
            way.push(self.link(slot, link, from));
            if on != to {
                self.wire_to(&mut way, on, to);
            }
        } else {
            let by = link.other(to)?;
            self.wire_to(&mut way, from, by);
            way.push(self.link(slot, link, by));
        }
        Some(way)
    }
}
