//! The ECMP hash, documented so that other simulators can route the same flows over the same links.
//!
//! `flow_hash` depends only on the flow, `ecmp_index` on flow and switch. Successive switches
//! therefore choose independently (no polarization).

/// A bijective mix of 64 bits (SplitMix64's finalizer: Steele, Lea, Flood, OOPSLA 2014).
pub const fn mix64(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Hash of a flow: `mix64(mix64(source << 32 | destination) ^ label ^ salt) >> 32`.
///
/// `label` stands for the port numbers (timeplane uses the flow's number). `salt` derives from the
/// run's seed, or is 0.
pub const fn flow_hash(source: u32, destination: u32, label: u64, salt: u64) -> u32 {
    (mix64(mix64((source as u64) << 32 | destination as u64) ^ label ^ salt) >> 32) as u32
}

/// Index of the link that a switch takes among `n` equal-cost links, ordered by number:
/// `(mix64(hash ^ (node + 1) * 0x9e3779b97f4a7c15) >> 32) * n >> 32`.
#[inline]
pub const fn ecmp_index(hash: u32, node: u32, n: u32) -> u32 {
    let salted = hash as u64 ^ (node as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mix64(salted) >> 32) * n as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_gets_its_share() {
        let mut count = [0u32; 3];
        for flow in 0..30_000 {
            count[ecmp_index(flow_hash(1, 2, flow, 0), 7, 3) as usize] += 1;
        }
        // Binomial(30000, 1/3): standard deviation 82.
        assert!(count.iter().all(|&c| c.abs_diff(10_000) < 400), "{count:?}");
    }
}
