//! Racks under rotor switches: `topology.rotor` with its matchings and slices, and
//! `scheme.NAME.rotor` with routing, classes and queues.
//!
//! The schedule follows from the topology alone, whatever the demand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration};
use timeplane_schedule::rotor::routing::RotorRouting;
use timeplane_schedule::rotor::{
    Late, RotorError, RotorSchedule, RotorTiming, ScheduleFileError, Stepping, matchings, parse_schedule,
};

/// Racks whose uplinks lead to rotor switches (RotorNet, SIGCOMM 2017; Opera, NSDI 2020).
///
/// Uplink p of every rack leads to rotor switch p. In each slice, a switch joins racks in pairs, by
/// a matching that does not depend on demand; after a cycle of slices, all matchings repeat. Slices
/// begin at the switches, and racks send as much earlier as light takes to get there. Light
/// crosses two wires from rack to rack, which is one hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotorSpec {
    /// Number of racks, at least 2.
    pub racks: u32,
    /// Hosts in each rack.
    pub hosts_per_rack: u32,
    /// Number of rotor switches, which is that of the uplinks of each rack.
    pub switches: u32,
    /// Time from the start of a slice to the start of the next.
    pub slice: Duration,
    /// Time that a switch is dark at the start of a slice in which its matching changes.
    #[serde(default)]
    pub dark: Duration,
    /// Switches that change at the start of a slice. A schedule file says it itself.
    #[serde(default)]
    pub stepping: Stepping,
    /// Matchings that the switches cycle through.
    #[serde(default)]
    pub matchings: Matchings,
}

/// Matchings of rotor switches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Matchings {
    /// The complete graph as disjoint matchings, by the circle method (RotorNet).
    #[default]
    RoundRobin,
    /// The same at random, lifted from a smaller graph (Opera).
    Random {
        /// Racks that replace one of the small graph; a divisor of the number of racks. With at
        /// least 2, a few of the matchings form a good expander.
        #[serde(default = "two")]
        factor: u32,
        /// Seed of the matchings, which does not follow that of the run.
        #[serde(default)]
        seed: u64,
    },
    /// A round robin in each dimension of a grid in turn (Shale). Racks meet if they differ in one
    /// dimension.
    Grid {
        /// Number of dimensions.
        dimensions: u32,
    },
    /// File with a row for each slice. A row has, rack by rack, the rack to which each uplink
    /// leads, or -1.
    File(String),
}

const fn two() -> u32 {
    2
}

/// Routing over rotor switches, and the queues of the racks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotorRoutingSpec {
    /// Routing of all flows, or of those that are not `bulk`.
    pub routing: RotorRouting,
    /// Large flows, which go behind others and have a routing of their own; default: all flows are
    /// of one class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<BulkSpec>,
    /// Packets that a circuit has not carried when it ends.
    #[serde(default)]
    pub late: Late,
    /// Limit of a rack's queue for one circuit, in wire bytes; a packet that does not fit is lost.
    /// Default: what the circuit carries while it is open; a packet that finds that much asks for a
    /// later slice, and is lost if all circuits of a cycle are full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Bytes>,
}

/// Large flows over rotor switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkSpec {
    /// Flows of more bytes are bulk; Opera has 15 MB.
    pub above: Bytes,
    /// Flows of exactly this many bytes are bulk too, such as those of a shuffle; only with
    /// `by = "size"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Bytes>,
    /// Whether the size of the flow counts, or the bytes that it has sent.
    #[serde(default)]
    pub by: BulkBy,
    /// Routing of bulk.
    pub routing: RotorRouting,
}

/// Bytes of a flow that make it bulk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkBy {
    /// Its size, known at the start.
    #[default]
    Size,
    /// What it has sent before a packet, so that large flows begin as small ones.
    Age,
}

/// An error of the schedule of rotor switches.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RotorSpecError {
    /// Its numbers do not make one.
    #[error(transparent)]
    Schedule(#[from] RotorError),
    /// Its file does not.
    #[error(transparent)]
    File(#[from] ScheduleFileError),
    /// Its file has other racks than the topology.
    #[error("the file has {found} racks: expected {expected}")]
    Racks {
        /// Racks of the file.
        found: u32,
        /// Racks of the topology.
        expected: u32,
    },
}

impl RotorSpec {
    /// Length of slices and dark times.
    ///
    /// # Errors
    /// Fails if the dark time is negative, or not shorter than a slice.
    pub fn timing(&self) -> Result<RotorTiming, RotorError> {
        RotorTiming::new(self.slice, self.dark)
    }

    /// The name of the schedule file, if there is one.
    pub fn file(&self) -> Option<&str> {
        match &self.matchings {
            Matchings::File(name) => Some(name),
            _ => None,
        }
    }

    /// The schedule; `text` is that of the [`file`](Self::file), if there is one.
    ///
    /// # Errors
    /// Fails if the numbers or the file make no schedule.
    pub fn schedule(&self, text: Option<&str>) -> Result<RotorSchedule, RotorSpecError> {
        let matchings = match &self.matchings {
            Matchings::RoundRobin => matchings::round_robin(self.racks)?,
            Matchings::Random { factor, seed } => matchings::random_factorization(self.racks, *factor, *seed)?,
            Matchings::Grid { dimensions } => matchings::grid(self.racks, *dimensions)?,
            Matchings::File(_) => {
                let schedule = parse_schedule(text.unwrap_or_default(), self.switches)?;
                let (found, expected) = (schedule.racks(), self.racks);
                return if found == expected { Ok(schedule) } else { Err(RotorSpecError::Racks { found, expected }) };
            }
        };
        Ok(RotorSchedule::spread(&matchings, self.switches, self.stepping)?)
    }
}

impl BulkSpec {
    /// Whether a packet is bulk if its flow has `bytes`, and has sent `age` bytes before it.
    pub fn has(&self, bytes: u64, age: u64) -> bool {
        match self.by {
            BulkBy::Size => bytes > self.above.get() || self.also.is_some_and(|size| bytes == size.get()),
            BulkBy::Age => age >= self.above.get(),
        }
    }
}

impl RotorRoutingSpec {
    /// The routings, each with whether it is that of bulk.
    pub fn routings(&self) -> impl Iterator<Item = (bool, &RotorRouting)> {
        [(false, &self.routing)].into_iter().chain(self.bulk.iter().map(|b| (true, &b.routing)))
    }
}
