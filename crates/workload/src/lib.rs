//! Flows, coflows and shuffles from generators and traces, and the random streams of every run.
//!
//! A [`Source`] is a loaded workload: its files are read once, checked, and shared by many runs.
//! [`Source::arrivals`] gives a run's flows in the order of their arrival. They depend on the
//! workload, the hosts, the rate and framing of their links, the MTU and the seed. They never
//! depend on the scheme under test, so all schemes are compared on the same arrivals.
//!
//! Results are the same on every machine: the code uses integers, IEEE additions, multiplications
//! and divisions, and logarithms built from these alone.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod bounds;
mod bundled;
mod cdf;
mod chakra;
mod coflows;
mod collective;
mod cuts;
mod emit;
mod error;
mod flows;
mod graph;
mod ideal;
#[expect(clippy::disallowed_methods, reason = "it reads input files")]
mod input;
mod matrix;
mod moves;
mod numbers;
mod packets;
mod poisson;
mod shuffle;
mod simai;
mod source;
mod steps;
mod streams;
mod wire;

pub use bounds::{Bounds, bounds, mean_bounds};
pub use bundled::{BUNDLED, Bundled, BundledKind, bundled};
pub use chakra::chakra_files;
pub use cuts::{FabricCut, cuts};
pub use error::WorkloadError;
pub use flows::write_flow_list;
pub use graph::{CollectiveFacts, Graph, MOST_NODES, Node, Work};
pub use ideal::IdealPath;
pub use packets::PacketSizer;
pub use source::{CoflowStart, Facts, FlowArrival, InputFile, PairDemand, Source};
pub use steps::Steps;
pub use streams::Streams;
