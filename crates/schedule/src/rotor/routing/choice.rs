//! The routings over rotor switches that scenarios can name, with their parameters.
//!
//! To add one, write its file, its `mod` line and its variant here, and construct it in
//! `over_part`. A program registers its own routings in [`Algorithms`](crate::Algorithms).

use super::{
    Direct, Disjoint, Hoho, Position, Routing, Shale, Shortest, ShortestParameters, Spread, Ucmp, UcmpParameters, Vlb,
    path,
};
use crate::rotor::{RotorError, RotorSchedule};
use crate::{OwnAlgorithm, Registry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use strum::{IntoStaticStr, VariantNames};
use timeplane_model::{Bytes, Duration, Rate};

/// What routings are computed from.
#[derive(Clone, Debug)]
pub struct RoutingParameters {
    /// Circuits of a cycle. Where circuits have failed, those that are left.
    pub schedule: Arc<RotorSchedule>,
    /// Time from the start of a slice to the start of the next.
    pub slice: Duration,
    /// Rate of the circuits.
    pub rate: Rate,
    /// Whether all circuits work, so that every rack has to be reached.
    pub whole: bool,
}

/// Own routings by name.
pub type Routings = Registry<RoutingParameters, Box<dyn Routing>>;

/// Routing over rotor switches: the circuits that a packet takes, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantNames)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum RotorRouting {
    /// A packet waits for a circuit to its destination.
    Direct {},
    /// Valiant load balancing: over a rack that has a circuit now, then directly.
    Vlb {
        /// Choice of the first hop.
        #[serde(default)]
        spread: Spread,
    },
    /// RotorLB: hosts keep their packets until racks have agreed to send them directly or over one
    /// other rack.
    RotorLb {
        /// Where packets wait that go over another rack.
        #[serde(default)]
        relay: BulkRelay,
        /// What a host may send over a circuit.
        #[serde(default)]
        share: CircuitShare,
        /// Hosts pace packets by void packets: while a circuit is open over which they may send,
        /// they send void packets of the MTU in all gaps, which their rack discards and nobody
        /// counts. A packet that is not bulk waits until the void packet in transmission has left.
        /// Opera's simulated hosts do so, and those of Silo (SIGCOMM 2015).
        #[serde(default)]
        void_packets: bool,
    },
    /// The fewest hops over circuits of the present slice, as Opera sends short flows.
    Shortest {
        /// Maximum number of shortest paths between two racks; Opera's figure 7 has 1.
        #[serde(default = "one")]
        paths: u32,
        /// Leave out switches that change at the start of the slice.
        #[serde(default = "yes")]
        settled: bool,
    },
    /// Paths over circuits of the present slice that share no circuit: a shortest one, the shortest
    /// over the circuits that are left, and so on. Opera's figures 9 and 10 have five.
    Disjoint {
        /// Maximum number of paths between two racks.
        #[serde(default = "five")]
        paths: u32,
        /// Leave out switches that change at the start of the slice.
        #[serde(default = "yes")]
        settled: bool,
    },
    /// The earliest arrival over a bounded number of hops (HOHO).
    Hoho {
        /// Maximum number of hops.
        #[serde(default = "four")]
        hops: u32,
    },
    /// Uniform cost of latency and hops, by the bytes that the flow has sent (UCMP).
    Ucmp {
        /// Maximum number of hops.
        #[serde(default = "four")]
        hops: u32,
        /// Weight of latency, from 0 to 1; the rest is the weight of hops. The paper has 0.3, 0.5
        /// and 0.7.
        #[serde(default = "half")]
        alpha: f64,
        /// Upper bounds of the bytes sent, one for each bucket, in rising order.
        #[serde(default = "buckets")]
        buckets: Vec<Bytes>,
    },
    /// Random hops in all dimensions of a grid, then direct ones (Shale).
    Shale {
        /// Dimensions of the grid, as `matchings.grid` has them.
        dimensions: u32,
    },
    /// A routing that a program has registered, with its parameters.
    Own(OwnAlgorithm),
}

/// Where packets wait that go over another rack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkRelay {
    /// In the other rack's queues, as RotorNet has it.
    #[default]
    Racks,
    /// At its hosts, in turn, which send them again when they are granted a circuit. Racks need
    /// less memory, and links of hosts carry such packets too. Opera's hosts do so.
    Hosts,
    /// None do: each waits for the circuit to its destination, as in the shuffle of Opera's paper.
    Off,
}

/// What a host may send over a circuit of its rack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CircuitShare {
    /// A fair share among the hosts that have packets for it.
    #[default]
    Demand,
    /// At most the part that it has if all hosts of the rack send, whether they do or not. Hosts
    /// need not know of each other. Opera's hosts do so.
    Equal,
}

const fn one() -> u32 {
    1
}
const fn four() -> u32 {
    4
}
const fn five() -> u32 {
    5
}
const fn yes() -> bool {
    true
}
const fn half() -> f64 {
    0.5
}
fn buckets() -> Vec<Bytes> {
    vec![Bytes::kb(10), Bytes::kb(100), Bytes::mb(1), Bytes::mb(15)]
}

impl RotorRouting {
    /// The name in a scenario.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Whether hosts keep packets until their racks grant them a circuit.
    pub fn is_granted(&self) -> bool {
        matches!(self, Self::RotorLb { .. })
    }

    /// The routing of a program, if it is one.
    pub fn own(&self) -> Option<&OwnAlgorithm> {
        match self {
            Self::Own(own) => Some(own),
            _ => None,
        }
    }

    /// Computes the tables of the routing, which may be one of `own`. RotorLB has the tables of
    /// direct routing, for what racks relay. If circuits have failed, racks may not meet.
    ///
    /// # Errors
    /// Fails if a parameter is out of range, if racks never meet that have to, if a table would be
    /// too large, or if a routing of a program fails.
    pub fn build(&self, of: &RoutingParameters, own: &Routings) -> Result<Box<dyn Routing>, RotorError> {
        if !of.whole {
            return self.over_part(of, own);
        }
        match self {
            Self::Direct {} | Self::Vlb { .. } | Self::RotorLb { .. } => of.schedule.check_all_meet()?,
            Self::Shale { dimensions } => return Ok(Box::new(Shale::new(&of.schedule, *dimensions)?)),
            Self::Own(routing) => {
                let built = own.build(routing, of)?;
                check_leads_everywhere(&*built, of.schedule.racks())?;
                return Ok(built);
            }
            Self::Shortest { .. } | Self::Disjoint { .. } | Self::Hoho { .. } | Self::Ucmp { .. } => {}
        }
        self.over_part(of, own)
    }

    /// As [`build`](Self::build), without a check that racks meet.
    fn over_part(&self, of: &RoutingParameters, own: &Routings) -> Result<Box<dyn Routing>, RotorError> {
        let RoutingParameters { ref schedule, slice, rate, .. } = *of;
        Ok(match self {
            Self::Direct {} | Self::RotorLb { .. } => Box::new(Direct::new(schedule)?),
            Self::Vlb { spread } => Box::new(Vlb::over_part(schedule, *spread)?),
            Self::Shortest { paths, settled } => {
                Box::new(Shortest::new(schedule, ShortestParameters { paths: *paths, settled: *settled })?)
            }
            Self::Disjoint { paths, settled } => {
                Box::new(Disjoint::new(schedule, ShortestParameters { paths: *paths, settled: *settled })?)
            }
            Self::Hoho { hops } => Box::new(Hoho::new(schedule, *hops)?),
            Self::Ucmp { hops, alpha, buckets } => {
                let alpha_permille = (alpha.clamp(0.0, 1.0) * 1000.0).round() as u32;
                let parameters = UcmpParameters { hops: *hops, alpha_permille, buckets: buckets.clone(), rate, slice };
                Box::new(Ucmp::new(schedule, parameters)?)
            }
            Self::Shale { dimensions } => Box::new(Shale::over_part(schedule, *dimensions)?),
            Self::Own(routing) => own.build(routing, of)?,
        })
    }
}

/// The most hops of a path of a program's routing.
const MOST_HOPS: usize = 255;

/// Follows the paths of all pairs from the first slice.
fn check_leads_everywhere(routing: &dyn Routing, racks: u32) -> Result<(), RotorError> {
    for (from, to) in (0..racks).flat_map(|a| (0..racks).map(move |b| (a, b))) {
        let start = Position { rack: from, destination: to, ..Position::default() };
        if path(routing, &start, MOST_HOPS).is_none() {
            return Err(RotorError::NoPath { from, to, most: MOST_HOPS });
        }
    }
    Ok(())
}
