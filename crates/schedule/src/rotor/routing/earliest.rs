//! Earliest arrival under a limit on hops, over all slices of a cycle.
//!
//! The search goes backward from each destination over states of rack, slice and hops left. To wait
//! costs a slice, and a circuit of the present slice costs none.

use super::{Hop, Position};
use crate::rotor::RotorSchedule;
use crate::rotor::error::{RotorError, table, within};
use std::sync::Arc;

/// The largest number of hops.
const MOST_HOPS: u32 = 16;
/// The latency of racks without a path.
pub(super) const NEVER: u32 = u32::MAX;

/// The first step of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Slices to wait before the first hop.
    wait: u16,
    /// Uplink of the first hop.
    uplink: u8,
    /// Hops of the path; 0 if there is none.
    hops: u8,
}

/// The first step of the earliest path for each limit on hops, destination, slice and rack.
pub(super) struct Earliest {
    schedule: Arc<RotorSchedule>,
    hops: u32,
    /// By destination, then by limit from 1 on, then by slice and rack.
    steps: Vec<Step>,
}

impl Earliest {
    /// Computes paths of up to `hops` hops. `each` sees, for each destination in turn, the latency
    /// in slices by limit on hops from 0 on, and by slice and rack.
    ///
    /// # Errors
    /// Fails if the limit is out of range, or if the table would be too large.
    pub(super) fn new(
        schedule: &Arc<RotorSchedule>,
        hops: u32,
        mut each: impl FnMut(u32, &[Vec<u32>]),
    ) -> Result<Self, RotorError> {
        within("hops", u64::from(hops), 1, u64::from(MOST_HOPS))?;
        let [n, s] = [schedule.racks(), schedule.slices()].map(u64::from);
        table("table of earliest paths", &[u64::from(hops), s, n, n], size_of::<Step>() as u64)?;
        let steps = Vec::with_capacity((u64::from(hops) * s * n * n) as usize);
        let mut earliest = Self { schedule: Arc::clone(schedule), hops, steps };
        for destination in 0..schedule.racks() {
            let arrived = |state: usize| if state as u64 % n == u64::from(destination) { 0 } else { NEVER };
            let mut layers = vec![(0..(s * n) as usize).map(arrived).collect::<Vec<_>>()];
            let mut steps = vec![Step::default(); (s * n) as usize];
            for limit in 1..=hops {
                let next = earliest.layer(limit as u8, &layers[layers.len() - 1], &mut steps);
                layers.push(next);
                earliest.steps.extend_from_slice(&steps);
            }
            each(destination, &layers);
        }
        Ok(earliest)
    }

    /// The latencies with one more hop than in `fewer`. Changes the steps where it helps.
    fn layer(&self, hops: u8, fewer: &[u32], steps: &mut [Step]) -> Vec<u32> {
        let (racks, cycle) = (self.schedule.racks(), self.schedule.slices());
        let state = |slice: u32, rack: u32| (slice * racks + rack) as usize;
        let mut latencies = fewer.to_vec();
        for rack in 0..racks {
            // Waiting may lead into the next cycle, so the cycle is passed twice, from its end.
            let mut best = (NEVER, Step::default());
            for slice in (0..cycle).rev().chain((0..cycle).rev()) {
                best.0 = best.0.saturating_add(1);
                best.1.wait = best.1.wait.saturating_add(1);
                let arrival = |(uplink, to): (u32, u32)| (fewer[state(slice, to)], uplink);
                if let Some((latency, uplink)) = self.schedule.circuits(slice, rack).map(arrival).min()
                    && latency <= best.0
                    && latency != NEVER
                {
                    best = (latency, Step { wait: 0, uplink: uplink as u8, hops });
                }
                let place = state(slice, rack);
                if best.0 < latencies[place] {
                    (latencies[place], steps[place]) = best;
                }
            }
        }
        latencies
    }

    /// The packet's next hop on a path of at most `hops` hops. If no path is that short, the limit
    /// of the table applies. The hop's progress is the number of hops then left.
    pub(super) fn next_hop(&self, packet: &Position, hops: u32) -> Option<Hop> {
        let (n, s) = (self.schedule.racks(), self.schedule.slices());
        assert!(packet.rack < n && packet.destination < n, "racks {} and {} of {n}", packet.rack, packet.destination);
        if packet.rack == packet.destination {
            return None;
        }
        let slice = packet.slice % s;
        let step = |limit: u32| {
            let block = u64::from(packet.destination) * u64::from(self.hops) + u64::from(limit) - 1;
            self.steps[(block as usize * s as usize + slice as usize) * n as usize + packet.rack as usize]
        };
        let found = [hops.clamp(1, self.hops), self.hops].into_iter().map(step).find(|step| step.hops > 0)?;
        let (uplink, wait) = (u32::from(found.uplink), u32::from(found.wait));
        let rack = self.schedule.destination(slice + wait, packet.rack, uplink)?;
        Some(Hop { rack, uplink, wait, progress: u16::from(found.hops) - 1 })
    }

    /// The limit on hops.
    pub(super) fn hops(&self) -> u32 {
        self.hops
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.steps.len() * size_of::<Step>()) as u64
    }
}
