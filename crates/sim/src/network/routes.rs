//! Routes of a fabric in the form that the event loop needs: few loads and little memory.
//!
//! A table answers which link a switch takes towards a host. It does not know links that are added
//! to the fabric later.

use crate::network::packet::{Ahead, LAST, UNKNOWN};
use timeplane_model::{Candidates, Fabric, HostId, LinkId, NodeId, PathTag, ecmp_index};

/// The links after the first one that packets with this hash take from one host to another.
pub(crate) fn ahead(fabric: &Fabric, from: HostId, to: HostId, hash: u32) -> Ahead {
    let mut ahead = UNKNOWN;
    let mut last = fabric.uplink(from);
    for link in &mut ahead {
        let at = fabric.link(last).to;
        if at == to.node() {
            break;
        }
        last = match fabric.packet_path(from, to) {
            Some(tag) => fabric.tagged_link(at, to, tag),
            None => fabric.next_link(at, to, hash),
        };
        *link = last.0;
    }
    ahead
}

/// The link that each switch takes towards a host.
///
/// Each switch has a row with its links towards the switches that have hosts. A row whose entries
/// are all equal, as on the way up a tree, is stored once. The table of a large fabric then fits
/// into the cache.
#[derive(Debug)]
pub(crate) struct Routes {
    hosts: u32,
    /// By host: the number of its switch among those that have hosts, and the link that ends at it.
    attached: Vec<(u32, u32)>,
    rows: Vec<Row>,
    table: Vec<Set>,
    links: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The switch's own number among those that have hosts, or `NONE`.
    own: u32,
    /// The start of the row in the table.
    start: u32,
    /// All ones, or zero if the row is one entry.
    mask: u32,
}

/// Equal-cost links: `count` links from `start` on. Where there is none, one link `LAST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set {
    start: u32,
    count: u32,
}

const NONE: u32 = u32::MAX;

impl Routes {
    pub fn new(fabric: &Fabric) -> Self {
        let hosts = fabric.hosts();
        let switches = fabric.switches() as u32;
        // One host of each switch that has some, and the numbers of these switches.
        let mut ends: Vec<HostId> = Vec::new();
        let mut numbers = vec![NONE; switches as usize];
        let attached = (0..hosts).map(|h| {
            let downlink = fabric.downlink(HostId(h));
            let downlink = if fabric.is_dead(downlink) { LAST } else { downlink.0 };
            let Some(over) = fabric.link(fabric.uplink(HostId(h))).to.0.checked_sub(hosts) else {
                return (NONE, downlink);
            };
            let number = &mut numbers[over as usize];
            if *number == NONE {
                *number = ends.len() as u32;
                ends.push(HostId(h));
            }
            (*number, downlink)
        });
        let attached = attached.collect();
        let (mut rows, mut table, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for s in 0..switches {
            let start = table.len();
            // A switch never asks for the path to itself.
            let mut last: Option<(&[LinkId], Set)> = None;
            let mut mask = 0;
            for &end in &ends {
                let set = match (fabric.candidates(NodeId(hosts + s), end), last) {
                    (Candidates::Set(new), Some((old, set))) if new == old => set,
                    (Candidates::Set(new), _) => {
                        if last.is_some() {
                            mask = NONE;
                        }
                        let set = Set { start: links.len() as u32, count: new.len().max(1) as u32 };
                        if new.is_empty() {
                            links.push(LAST);
                        }
                        links.extend(new.iter().map(|l| l.0));
                        last = Some((new, set));
                        set
                    }
                    (Candidates::Host(_), last) => last.map_or(Set { start: 0, count: 1 }, |l| l.1),
                };
                table.push(set);
            }
            rows.push(Row { own: numbers[s as usize], start: start as u32, mask });
            if mask == 0 {
                table.truncate(start);
                table.push(last.map_or(Set { start: 0, count: 1 }, |l| l.1));
            }
        }
        Self { hosts, attached, rows, table, links }
    }

    /// The next link, or `LAST` if there is no route.
    pub fn next(&self, switch: u32, destination: u32, hash: u32) -> u32 {
        self.choose(switch, destination, |_, set| ecmp_index(hash, self.hosts + switch, set.count))
    }

    /// The link that [`Fabric::tagged_link`] finds, or `LAST` if there is no route.
    pub fn tagged(&self, switch: u32, destination: u32, tag: PathTag) -> u32 {
        self.choose(switch, destination, |row, set| {
            let shift = if row.own == NONE { 8 } else { 0 };
            u32::from(tag.0 >> shift & 0xff) % set.count
        })
    }

    #[inline(always)]
    fn choose(&self, switch: u32, destination: u32, index: impl FnOnce(Row, Set) -> u32) -> u32 {
        let (over, down) = self.attached[destination as usize];
        let row = self.rows[switch as usize];
        if over == row.own {
            return down;
        }
        let set = self.table[(row.start + (over & row.mask)) as usize];
        self.links[(set.start + index(row, set)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Duration, Framing, LinkSpec, Rate, Switch};

    #[test]
    fn routes_are_the_fabrics() {
        let spec =
            LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ppp, bit_error: 0.0 };
        let switch = Switch::default;
        for fabric in [
            Fabric::single_switch(3, switch(), spec).unwrap(),
            Fabric::leaf_spine(4, 3, 2, switch(), spec, spec).unwrap(),
            Fabric::fat_tree(4, switch(), spec, spec).unwrap(),
            // Without the uplinks of an edge switch and the link of one host, and without a spine
            // and one more link.
            Fabric::fat_tree(4, switch(), spec, spec).unwrap().without([6, 32, 34].map(LinkId)),
            Fabric::leaf_spine(4, 3, 2, switch(), spec, spec).unwrap().without([24, 28, 32, 36, 30].map(LinkId)),
        ] {
            let routes = Routes::new(&fabric);
            for s in 0..fabric.switches() as u32 {
                for h in 0..fabric.hosts() {
                    for hash in [0, 5, 0x1234_0a0b, 1 << 30, 3 << 30, u32::MAX] {
                        let at = NodeId(fabric.hosts() + s);
                        let none = fabric.candidates(at, HostId(h)) == Candidates::Set(&[]);
                        let expected = if none { LAST } else { fabric.next_link(at, HostId(h), hash).0 };
                        assert_eq!(routes.next(s, h, hash), expected, "{s} {h} {hash}");
                        let tag = PathTag((hash >> 7) as u16 ^ hash as u16);
                        let expected = if none { LAST } else { fabric.tagged_link(at, HostId(h), tag).0 };
                        assert_eq!(routes.tagged(s, h, tag), expected, "{s} {h} {tag:?}");
                    }
                }
            }
        }
    }
}
