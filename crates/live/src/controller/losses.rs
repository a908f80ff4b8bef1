//! Artificial loss of messages to hosts, for scenarios with `control_loss`.
//!
//! Each message is lost independently.

use crate::clock;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Decides independently for each message whether to drop it. Datagrams on a real network may be
/// lost, but the demand channel loses none, so labs ask for losses.
#[derive(Debug)]
pub(super) struct Losses {
    share: f64,
    draws: Xoshiro256PlusPlus,
}

impl Losses {
    /// Drops a share from 0 to 1.
    pub(super) fn new(share: f64) -> Self {
        Self { share, draws: Xoshiro256PlusPlus::seed_from_u64(clock::monotonic_ns()) }
    }
    /// Whether to drop the next message.
    pub(super) fn loses(&mut self) -> bool {
        self.share > 0.0 && ((self.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64) < self.share
    }
}
