//! Balancing of shares: moves each pair's traffic to where it makes the busiest place less busy.
//!
//! With real-valued shares this is a linear program. It is not solved as one, because the planner
//! balances again for every link that it tries. Instead, the sum of a power of all places' times is
//! reduced, pair by pair, by exact line searches. That sum is convex, and pairs do not restrict
//! each other, so this descent leads to its minimum. The higher the power, the nearer the result is
//! to the least maximum. Powers rise in steps, because a high power alone makes slow progress
//! between places that are equally busy.

use super::fluid::Fluid;
use super::places::Way;

/// Powers of a full balance in order, with the number of rounds over all pairs for each.
const POWERS: [u32; 4] = [4, 16, 64, 256];
const ROUNDS: usize = 12;
/// Power of a quick balance during a trial.
pub(super) const TRIAL_POWER: u32 = 64;
/// Number of halvings of a line search.
const HALVINGS: usize = 24;
/// Relative difference below which prices count as equal.
const EQUAL: f64 = 1e-3;

impl Fluid {
    /// Moves shares from their current state until little changes. The result is never slower.
    pub(super) fn balance(&mut self) {
        let mut best = (self.busiest(), self.clone());
        for power in POWERS {
            self.rounds(power, ROUNDS, None);
            let now = self.busiest();
            if now <= best.0 {
                best = (now, self.clone());
            }
        }
        *self = best.1;
    }

    /// Runs a few rounds at a high power, over all pairs or over those that can use one link.
    pub(super) fn rounds(&mut self, power: u32, rounds: usize, only: Option<usize>) {
        let racks = only.and_then(|slot| self.links[slot]).map(|l| (l.a, l.b));
        let touched = |k: &usize| {
            let (from, to) = (self.pairs[*k].from, self.pairs[*k].to);
            let ends = |(a, b)| from == a || from == b || to == a || to == b;
            racks.map_or(!self.at[from].is_empty() || !self.at[to].is_empty(), ends)
        };
        let pairs: Vec<usize> = (0..self.pairs.len()).filter(touched).collect();
        let mut before = self.soft(power);
        for _ in 0..rounds {
            let mut prices = Prices::of(self, power);
            let mut moved = false;
            for &k in &pairs {
                moved |= self.relieve(k, &mut prices);
            }
            let now = self.soft(power);
            if !moved || now > before * (1.0 - 1e-5) {
                break;
            }
            before = now;
        }
    }

    /// The power mean of all times without its division: slightly more than the longest time.
    pub(super) fn soft(&self, power: u32) -> f64 {
        let most = self.busiest();
        if most == 0.0 {
            return 0.0;
        }
        let sum: f64 = (0..self.load.len()).map(|p| to_power(self.takes(p) / most, power)).sum();
        // A series expansion of the root near 1 would do, but a few Newton steps are as simple, and
        // exact.
        let mut root = 1.0 + (sum - 1.0) / f64::from(power);
        for _ in 0..40 {
            let step = (root - sum / to_power(root, power - 1)) / f64::from(power);
            root -= step;
            if step.abs() < 1e-14 {
                break;
            }
        }
        most * root
    }

    /// Moves a pair's bytes from its most expensive way to the cheapest one. Returns whether any
    /// moved.
    fn relieve(&mut self, k: usize, prices: &mut Prices) -> bool {
        let pair = &self.pairs[k];
        let (here, there) = (&self.at[pair.from], &self.at[pair.to]);
        let slots = here.iter().chain(there.iter().filter(|s| !here.contains(s)));
        let (mut cheapest, mut dearest): (Option<Choice>, Option<Choice>) = (None, None);
        for slot in core::iter::once(None).chain(slots.map(|&s| Some(s))) {
            let Some(way) = self.way(pair, slot) else { continue };
            let price = prices.way(&way);
            let bytes = match slot {
                None => pair.by_wire,
                Some(s) => pair.over.iter().find(|(o, _)| *o == s).map_or(0.0, |&(_, bytes)| bytes),
            };
            let choice = Choice { slot, way, price, bytes };
            if bytes > 0.0 && dearest.as_ref().is_none_or(|d| price > d.price) {
                dearest = Some(choice.clone());
            }
            if cheapest.as_ref().is_none_or(|c| price < c.price) {
                cheapest = Some(choice);
            }
        }
        let (Some(from), Some(to)) = (dearest, cheapest) else { return false };
        if from.slot == to.slot || from.price <= to.price * (1.0 + EQUAL) {
            return false;
        }
        let bytes = self.until_equal(&from, &to, prices);
        if bytes <= 1e-9 * self.pairs[k].bytes {
            return false;
        }
        self.shift(k, from.slot, to.slot, bytes);
        for &p in from.way.places().iter().chain(to.way.places()) {
            prices.refresh(self, p as usize);
        }
        true
    }

    /// Bytes to move until both ways cost the same, at most all of them.
    fn until_equal(&self, from: &Choice, to: &Choice, prices: &Prices) -> f64 {
        let falls = |moved: f64| {
            let off = from.way.places().iter().filter(|&&p| !to.way.has(p));
            let on = to.way.places().iter().filter(|&&p| !from.way.has(p));
            let relieved: f64 = off.map(|&p| prices.at(self, p as usize, -moved)).sum();
            let burdened: f64 = on.map(|&p| prices.at(self, p as usize, moved)).sum();
            relieved > burdened
        };
        if falls(from.bytes) {
            return from.bytes;
        }
        let (mut low, mut high) = (0.0, from.bytes);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if falls(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// A way that a pair may take.
#[derive(Clone)]
struct Choice {
    slot: Option<usize>,
    way: Way,
    price: f64,
    /// Bytes of the pair that take the way.
    bytes: f64,
}

/// `x^n` by squaring. The products and their order are fixed, which those of `f64::powi` are not.
fn to_power(x: f64, n: u32) -> f64 {
    let (mut power, mut square, mut left) = (1.0, x, n);
    while left > 0 {
        if left & 1 == 1 {
            power *= square;
        }
        square *= square;
        left >>= 1;
    }
    power
}

/// Cost of one more byte by place: the slope of the sum of powers.
struct Prices {
    power: u32,
    /// Number of seconds that count as 1.
    unit: f64,
    price: Vec<f64>,
}

impl Prices {
    fn of(fluid: &Fluid, power: u32) -> Self {
        let unit = fluid.busiest().max(f64::MIN_POSITIVE);
        let mut prices = Self { power, unit, price: vec![0.0; fluid.load.len()] };
        (0..prices.price.len()).for_each(|p| prices.refresh(fluid, p));
        prices
    }
    fn at(&self, fluid: &Fluid, place: usize, more: f64) -> f64 {
        let time = fluid.setup[place] + (fluid.load[place] + more).max(0.0) / fluid.rate[place];
        // Limited, so that sums of prices stay finite.
        to_power((time / self.unit).min(10.0), self.power - 1) / fluid.rate[place]
    }
    fn refresh(&mut self, fluid: &Fluid, place: usize) {
        self.price[place] = self.at(fluid, place, 0.0);
    }
    fn way(&self, way: &Way) -> f64 {
        way.places().iter().map(|&p| self.price[p as usize]).sum()
    }
}
