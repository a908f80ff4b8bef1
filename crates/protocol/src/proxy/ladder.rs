//! The usable rates of a link.
//!
//! Policies count in rungs, the positions of rates on this ladder.

use timeplane_model::Rate;

/// The rates that a link selects at some level, slowest first. Policies count falls in these, not
/// in the standard's numbers: MCS 5 needs a higher level than MCS 6 and is never selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLadder(Vec<Rate>);

impl RateLadder {
    /// A ladder of these rates in any order; `None` without a rate above zero.
    pub fn new(rates: impl IntoIterator<Item = Rate>) -> Option<Self> {
        let mut rates: Vec<Rate> = rates.into_iter().filter(|r| *r > Rate::ZERO).collect();
        rates.sort_unstable();
        rates.dedup();
        (!rates.is_empty()).then_some(Self(rates))
    }

    /// How many rates are at most this one: the link's rung, from 1; 0 in an outage.
    pub fn rung(&self, rate: Rate) -> usize {
        self.0.partition_point(|&r| r <= rate)
    }

    /// The rate of a rung, the fastest one beyond the last rung; zero for rung 0.
    pub fn rate(&self, rung: usize) -> Rate {
        rung.checked_sub(1).map_or(Rate::ZERO, |i| self.0[i.min(self.0.len() - 1)])
    }

    /// The slowest rate.
    pub fn lowest(&self) -> Rate {
        self.0[0]
    }
}

impl Default for RateLadder {
    /// 802.11ad MCS 1 to 4 and 6 to 12 in 500 MHz, 125 to 1500 Mb/s: the rates of the proxy's link.
    fn default() -> Self {
        let kbps =
            [125_000, 250_000, 312_500, 375_000, 500_000, 625_000, 750_000, 812_500, 1_000_000, 1_250_000, 1_500_000];
        Self(kbps.map(|k| Rate::bps(k * 1000)).to_vec())
    }
}
