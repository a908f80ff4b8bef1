//! The rates that a link can have.

use timeplane_model::Rate;

/// The rates that some level of the link chooses, slowest first: its usable ones. A fall "by two" is one by two of these, not of the
/// standard's numbers: MCS 5 needs more than MCS 6, and is never chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLadder(Vec<Rate>);

impl RateLadder {
    /// A ladder; none without a rate above zero. Order and repetitions do not matter.
    pub fn new(rates: impl IntoIterator<Item = Rate>) -> Option<Self> {
        let mut rates: Vec<Rate> = rates.into_iter().filter(|r| *r > Rate::ZERO).collect();
        rates.sort_unstable();
        rates.dedup();
        (!rates.is_empty()).then_some(Self(rates))
    }

    /// How many rates are at most this one: the rung that a link stands on, from 1; 0 in an outage.
    pub fn rung(&self, rate: Rate) -> usize {
        self.0.partition_point(|&r| r <= rate)
    }

    /// The rate of a rung, the fastest beyond the last; none of rung 0.
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
