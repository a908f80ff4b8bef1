//! Paths through a Clos network: each packet of a timeslot gets a path on which it shares no link.
//!
//! Links that are `f` times as fast as a host's stand for `f` parallel unit links. The packets of a
//! slot are the edges of a bipartite multigraph between the switches that have hosts. A proper
//! coloring with as many colors as such a switch has unit uplinks gives every packet a unit link of
//! its own (Clos, BSTJ 32(2), 1953; Koenig's theorem). For a third layer, the same is done again
//! between pods, plane by plane.

use crate::coloring::{EulerSplit, Paull};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Clos, ClosError, Fabric, HostId, PathTag};

/// Algorithm that finds paths for the packets of a timeslot. Each finds them whenever they exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathColoring {
    /// All packets at once, by halving the slot along Euler circuits.
    #[schemars(extend(
        "x-source" = "Euler partitions, Harold Gabow, 1976",
        "x-departures" = "colors up to 64 packets of a switch one by one; edges that prevent an even split come last"
    ))]
    #[default]
    EulerSplit,
    /// One packet at a time, exchanging colors along a path if none is free.
    #[schemars(extend("x-source" = "M. C. Paull, Bell System Technical Journal, 1962", "x-departures" = "none"))]
    Paull,
}

/// The paths of a fabric.
#[derive(Debug)]
pub struct ClosPaths {
    clos: Clos,
    coloring: PathColoring,
    euler: EulerSplit,
    graph: Vec<(u32, u32)>,
    colors: Vec<u16>,
    /// By edge of `graph`, the position of its packet.
    place: Vec<usize>,
}

impl ClosPaths {
    /// Prepares the paths of a fabric.
    ///
    /// # Errors
    /// Fails if its links do not stand for parallel unit links, or if it is not a Clos network.
    pub fn new(fabric: &Fabric, coloring: PathColoring) -> Result<Self, ClosError> {
        Ok(Self {
            clos: Clos::of(fabric)?,
            coloring,
            euler: EulerSplit::new(),
            graph: Vec::new(),
            colors: Vec::new(),
            place: Vec::new(),
        })
    }

    /// The Clos network of the fabric.
    pub fn clos(&self) -> &Clos {
        &self.clos
    }

    /// Assigns a path to each packet of a slot, at the same position; `None` if there is only one
    /// path.
    ///
    /// # Panics
    /// Panics if a switch would send or receive more than its [capacity](Clos::capacity) from
    /// above.
    pub fn assign(&mut self, slot: &[(HostId, HostId)], tags: &mut Vec<Option<PathTag>>) {
        tags.clear();
        tags.resize(slot.len(), None);
        let (first, second) = (self.clos.first(), self.clos.second());
        if first.choices <= 1 && second.choices <= 1 {
            return;
        }
        self.graph.clear();
        self.place.clear();
        for (i, &(source, destination)) in slot.iter().enumerate() {
            let (s, d) = (self.clos.edge(source), self.clos.edge(destination));
            if s != d {
                self.graph.push((s, d));
                self.place.push(i);
            }
        }
        self.color(self.clos.edges(), self.clos.capacity());
        for (&i, &c) in self.place.iter().zip(&self.colors) {
            tags[i] = Some(PathTag::new((u32::from(c) % first.choices) as u8, 0));
        }
        if second.choices <= 1 {
            return;
        }
        for plane in 0..first.choices as u8 {
            self.graph.clear();
            self.place.clear();
            for (i, &(source, destination)) in slot.iter().enumerate() {
                let pod = |h| self.clos.pod(self.clos.edge(h));
                let (s, d) = (pod(source), pod(destination));
                if s != d && tags[i] == Some(PathTag::new(plane, 0)) {
                    self.graph.push((s, d));
                    self.place.push(i);
                }
            }
            self.color(self.clos.pods(), second.choices * second.units);
            for (&i, &c) in self.place.iter().zip(&self.colors) {
                tags[i] = Some(PathTag::new(plane, (u32::from(c) % second.choices) as u8));
            }
        }
    }

    fn color(&mut self, nodes: usize, capacity: u32) {
        let used = match self.coloring {
            PathColoring::EulerSplit => self.euler.color(nodes, nodes, &self.graph, &mut self.colors),
            PathColoring::Paull => {
                let mut paull = Paull::new(nodes, nodes, capacity as usize);
                let edges: Vec<u32> = self
                    .graph
                    .iter()
                    .map(|&(u, v)| paull.insert(u as usize, v as usize).expect("within the capacity").edge)
                    .collect();
                self.colors.clear();
                self.colors.extend(edges.iter().map(|&e| paull.color(e).expect("it was inserted")));
                capacity as usize
            }
        };
        assert!(used <= capacity as usize, "{used} unit links are needed of {capacity}");
    }
}
