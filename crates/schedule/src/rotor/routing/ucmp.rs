//! Uniform-cost multi-path routing (UCMP): latency against hops, by the age of a flow.
//!
//! Young flows take the path that arrives soonest. Old ones take few hops, as each hop uses
//! capacity for all the bytes that may still come.

use super::earliest::{Earliest, NEVER};
use super::{Hop, Position, Routing};
use crate::rotor::RotorSchedule;
use crate::rotor::error::{RotorError, table, within};
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Rate};

/// The largest number of buckets.
const MOST_BUCKETS: u64 = 255;

/// What a path costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UcmpParameters {
    /// Maximum number of hops, from 1 to 16.
    pub hops: u32,
    /// Weight of latency in thousandths, up to 1000; the rest is the weight of hops. The paper has
    /// 300, 500 and 700.
    pub alpha_permille: u32,
    /// Bounds of the buckets of a flow's age, in rising order, from 1 to 255 of them. A flow is in
    /// the first bucket whose bound is above the bytes that it has sent, or else in the last one.
    pub buckets: Vec<Bytes>,
    /// Line rate of a circuit, which turns a bucket's bytes into time; positive.
    pub rate: Rate,
    /// Length of a slice; positive.
    pub slice: Duration,
}

impl UcmpParameters {
    fn check(&self) -> Result<(), RotorError> {
        within("thousandths of weight", u64::from(self.alpha_permille), 0, 1000)?;
        within("buckets", self.buckets.len() as u64, 1, MOST_BUCKETS)?;
        let rising = self.buckets.windows(2).take_while(|pair| pair[0] < pair[1]).count() as u64 + 1;
        within("buckets in rising order", rising, self.buckets.len() as u64, MOST_BUCKETS)?;
        within("bit/s of a circuit", self.rate.as_bps(), 1, u64::MAX)?;
        within("picoseconds of a slice", self.slice.as_ps().max(0) as u64, 1, i64::MAX as u64)
    }

    /// Cost of a path in thousandths of a picosecond: alpha x latency + (1 - alpha) x hops x
    /// bucket. Latency is the time of the slices that the path waits; a bucket is the time that its
    /// bound takes on a circuit.
    ///
    /// # Panics
    /// If the bucket does not exist, or at rate zero.
    pub fn cost(&self, slices: u32, hops: u32, bucket: usize) -> u128 {
        let time = |d: Duration| d.as_ps().max(0) as u128;
        // A bucket beyond all times costs more than any latency.
        let bucket = self.rate.checked_time_for(self.buckets[bucket]).map_or(i64::MAX as u128, time);
        let latency = u128::from(slices) * time(self.slice);
        u128::from(self.alpha_permille) * latency
            + u128::from(1000 - self.alpha_permille.min(1000)) * u128::from(hops) * bucket
    }

    /// The bucket of a flow of this age, in bytes sent.
    fn bucket(&self, age: Bytes) -> usize {
        self.buckets.partition_point(|&bound| bound <= age).min(self.buckets.len() - 1)
    }
}

/// For each number of hops the path that arrives soonest, and of these the one of least cost.
///
/// Ties go to fewer hops. The source decides by the flow's [`Position::age`]; the hops left travel
/// with the packet. A late packet that cannot arrive with those left may take as many as the limit.
///
/// Source: Jialong Li et al., "Uniform-cost multi-path routing for reconfigurable data center
/// networks", SIGCOMM 2024. In contrast to its program, latency counts slices only, without the
/// time of the hops themselves.
pub struct Ucmp {
    earliest: Earliest,
    parameters: UcmpParameters,
    /// By destination, bucket, slice and rack: the hops of the chosen path; 0 without one.
    chosen: Vec<u8>,
    racks: u32,
    slices: u32,
}

impl Ucmp {
    /// Computes the paths of all buckets.
    ///
    /// # Errors
    /// Fails if a parameter is out of range, or if a table would be too large.
    pub fn new(schedule: &Arc<RotorSchedule>, parameters: UcmpParameters) -> Result<Self, RotorError> {
        parameters.check()?;
        let (racks, slices) = (schedule.racks(), schedule.slices());
        let [n, s, b] = [racks, slices, parameters.buckets.len() as u32].map(u64::from);
        table("table of buckets", &[b, s, n, n], 1)?;
        let mut chosen = Vec::with_capacity((b * s * n * n) as usize);
        let earliest = Earliest::new(schedule, parameters.hops, |_, layers| {
            for bucket in 0..parameters.buckets.len() {
                let best = |state: usize| {
                    let cost = |hops: u32| parameters.cost(layers[hops as usize][state], hops, bucket);
                    let reachable = (1..=parameters.hops).filter(|&hops| layers[hops as usize][state] != NEVER);
                    reachable.min_by_key(|&hops| cost(hops)).unwrap_or(0) as u8
                };
                chosen.extend((0..layers[0].len()).map(best));
            }
        })?;
        Ok(Self { earliest, parameters, chosen, racks, slices })
    }

    /// Hops of the path that a flow of this age takes from a source; `None` without a path.
    fn hops(&self, packet: &Position) -> Option<u32> {
        let bucket = self.parameters.bucket(packet.age);
        let block = packet.destination as usize * self.parameters.buckets.len() + bucket;
        let slice = block * self.slices as usize + (packet.slice % self.slices) as usize;
        let hops = self.chosen.get(slice * self.racks as usize + packet.rack as usize)?;
        Some(u32::from(*hops)).filter(|&hops| hops > 0)
    }
}

impl Routing for Ucmp {
    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        let hops = match packet.progress {
            0 => self.hops(packet)?,
            left => u32::from(left),
        };
        self.earliest.next_hop(packet, hops)
    }

    fn table_bytes(&self) -> u64 {
        self.earliest.bytes() + self.chosen.len() as u64
    }
}
