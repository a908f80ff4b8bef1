//! The order in which the packets of a flow use its equal paths.
//!
//! The paper's senders go through a list of all paths and permute it after each round (section
//! 3.1.1). The orders here follow from a seed, so no list is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::mix64;

/// Choice of the path of each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spray {
    /// The sender uses all equal paths in turn, each round in another random order.
    #[default]
    Permutation,
    /// Each packet takes a path by a hash of its own.
    Hash,
}

/// The path that the packet with this number takes, from 0 to below `paths`. Each `paths` packets
/// from a multiple of `paths` on use every path once. `seed` chooses the orders, which are affine:
/// a random start and a random stride.
pub fn path_in_turn(seed: u32, packet: u32, paths: u32) -> u32 {
    let paths = paths.max(1);
    let (round, place) = (packet / paths, packet % paths);
    let random = mix64(u64::from(seed) << 32 | u64::from(round));
    let start = (random >> 32) as u32 % paths;
    let mut stride = 1 + random as u32 % paths;
    while gcd(stride, paths) != 1 {
        stride += 1;
    }
    let turns = u64::from(place) * u64::from(stride) + u64::from(start);
    (turns % u64::from(paths)) as u32
}

const fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_round_uses_every_path_once(seed in any::<u32>(), round in 0u32..1000, paths in 1u32..300) {
            let used: BTreeSet<u32> = (0..paths).map(|p| path_in_turn(seed, round * paths + p, paths)).collect();
            prop_assert_eq!(used, (0..paths).collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn rounds_and_flows_have_different_orders() {
        let order = |seed, round: u32| (0..8).map(|p| path_in_turn(seed, round * 8 + p, 8)).collect::<Vec<_>>();
        let orders: BTreeSet<_> = (0..100).map(|i| order(7, i)).collect();
        assert!(orders.len() > 20, "of 32 affine orders: {}", orders.len());
        let flows: BTreeSet<_> = (0..100).map(|seed| order(seed, 0)).collect();
        assert!(flows.len() > 20, "of 32 affine orders: {}", flows.len());
    }
}
