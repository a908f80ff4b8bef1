//! Joint feasibility of flyways: 60 GHz links between racks (Halperin et al., SIGCOMM 2011).
//!
//! Links are planned so that none disturbs another.

use crate::decibel::{Db, Dbm, Milliwatts};
use crate::field::Field;
use crate::mcs::Mcs;
use crate::propagation::FLYWAYS_NOISE;
use core::ops::Deref;
use timeplane_model::Rate;

/// The rules of a set of flyways; by default the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct FlywayRules {
    /// Noise in every channel: -81 dBm. Sensitivities already include implementation loss and noise
    /// figure.
    pub noise: Dbm,
    /// Subtracted from signals, not from interference: 3 dB.
    pub signal_margin: Db,
    /// Number of channels: 3. They do not disturb each other.
    pub channels: usize,
    /// Radios per rack: 1. Each serves one flyway; radios of a rack use different channels.
    pub radios: usize,
    /// Available rates: OFDM. A rate without a sensitivity is never chosen.
    pub rates: Vec<Mcs>,
    /// Margin of the SINR above a rate's sensitivity: 0 dB in flyways, 1.6 dB for bit errors of
    /// 1e-9.
    pub headroom: Db,
}

impl Default for FlywayRules {
    fn default() -> Self {
        Self {
            noise: FLYWAYS_NOISE,
            signal_margin: Db::new(3.0),
            channels: 3,
            radios: 1,
            rates: Mcs::ofdm().collect(),
            headroom: Db::ZERO,
        }
    }
}

/// A link between two racks. Data may flow in both directions, with acknowledgments in the opposite
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flyway {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Number of the channel, from 0.
    pub channel: usize,
    /// Rate that both ends sustain whatever others send.
    pub mcs: Mcs,
}

/// Why a flyway cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A rack or a channel does not exist.
    #[error("there is no such rack or channel")]
    Unknown,
    /// Both ends are the same rack.
    #[error("both ends are rack {0}")]
    OneRack(usize),
    /// All radios of a rack are in use.
    #[error("rack {0} has no radio left")]
    NoRadio(usize),
    /// A radio of the rack is on this channel.
    #[error("rack {0} uses the channel already")]
    OwnChannel(usize),
    /// The SINR is too low for the requested rate, or for any.
    #[error("the signal is too weak")]
    Weak,
    /// Another flyway would lose its rate.
    #[error("flyway {0} would lose its rate")]
    Disturbs(usize),
}

/// A set of jointly feasible flyways, updated as they come and go.
///
/// A link is feasible if both ends have enough SINR. The signal less its margin is compared with
/// noise plus the power of *both* ends of every other link on the channel, with their antennas
/// pointed at each other. Their ratio must reach the rate's sensitivity over noise, plus the
/// headroom.
///
/// Each link keeps the power that it hears, so an offer looks twice at the links of its channel.
/// Links only add interference: a refused link stays refused until another is removed.
#[derive(Clone, Debug)]
pub struct Flyways<F> {
    field: F,
    rules: FlywayRules,
    /// (SINR as a ratio, rate), fastest first; among equal rates, the least demanding first.
    ladder: Vec<(f64, Mcs)>,
    /// The rules' noise in mW.
    noise: f64,
    /// What the margin leaves of a signal.
    margin: f64,
    links: Vec<Link>,
    /// Radios in use, by rack.
    used: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    id: usize,
    way: Flyway,
    /// Power from all other links of its channel, mW.
    heard: Heard,
    /// Highest noise and interference, at either end, that its rate tolerates, mW.
    bears: f64,
}

/// Power in mW at the ends of a link that point at each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Heard {
    a: f64,
    b: f64,
}

impl Heard {
    fn at_worse_end(self) -> f64 {
        self.a.max(self.b)
    }
}

/// What a feasible link would be.
struct Found {
    mcs: Mcs,
    bears: f64,
    heard: Heard,
}

impl<F: Deref<Target = Field>> Flyways<F> {
    /// No flyways yet.
    pub fn new(field: F, rules: FlywayRules) -> Self {
        let n = field.places();
        let mut ladder: Vec<(f64, Mcs)> = rules
            .rates
            .iter()
            .filter_map(|&m| Some(((m.sensitivity()? - rules.noise + rules.headroom).ratio(), m)))
            .collect();
        ladder.sort_by(|x, y| y.1.rate().cmp(&x.1.rate()).then(x.0.total_cmp(&y.0)));
        let (noise, margin) = (rules.noise.milliwatts().get(), (-rules.signal_margin).ratio());
        Self { field, rules, ladder, noise, margin, links: Vec::new(), used: vec![0; n] }
    }

    /// The current flyways with their numbers, in the order of their addition.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Flyway)> + '_ {
        self.links.iter().map(|l| (l.id, l.way))
    }

    /// Unused radios of a rack.
    pub fn radios_left(&self, rack: usize) -> usize {
        self.rules.radios - self.used[rack]
    }

    fn signal(&self, a: usize, b: usize) -> f64 {
        self.field.power(a, b, b, a).get() * self.margin
    }

    /// Power in mW from both ends of a link between `a` and `b` at a rack pointed at `to`.
    fn both_ends(&self, a: usize, b: usize, at: usize, to: usize) -> f64 {
        self.field.power(a, b, at, to).get() + self.field.power(b, a, at, to).get()
    }

    fn on_channel(&self, channel: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |l| l.way.channel == channel)
    }

    /// Power at two racks pointed at each other, from all links of a channel with other ends. The
    /// sums are in the order in which links were added, so they depend on nothing else.
    fn heard(&self, a: usize, b: usize, channel: usize) -> Heard {
        let at = |at: usize, to: usize| {
            let others = self.on_channel(channel).map(|l| l.way).filter(|w| w.a != at && w.b != at);
            others.fold(0.0, |sum, w| sum + self.both_ends(w.a, w.b, at, to))
        };
        Heard { a: at(a, b), b: at(b, a) }
    }

    /// Fastest rate of a flyway on a channel that leaves all others their rates. The flyway is not
    /// added.
    ///
    /// # Errors
    /// The reason if there is none.
    pub fn offer(&self, a: usize, b: usize, channel: usize) -> Result<Mcs, Refusal> {
        self.try_link(a, b, channel, None).map(|found| found.mcs)
    }

    fn try_link(&self, a: usize, b: usize, channel: usize, only: Option<Mcs>) -> Result<Found, Refusal> {
        let n = self.field.places();
        if a >= n || b >= n || channel >= self.rules.channels {
            return Err(Refusal::Unknown);
        }
        if a == b {
            return Err(Refusal::OneRack(a));
        }
        for end in [a, b] {
            if self.used[end] >= self.rules.radios {
                return Err(Refusal::NoRadio(end));
            }
        }
        if self.rules.radios > 1
            && let Some(end) =
                [a, b].into_iter().find(|&e| self.on_channel(channel).any(|l| l.way.a == e || l.way.b == e))
        {
            return Err(Refusal::OwnChannel(end));
        }
        let signal = self.signal(a, b);
        let heard = self.heard(a, b, channel);
        let worse = heard.at_worse_end() + self.noise;
        let wanted = |m: Mcs| only.is_none_or(|o| o == m);
        let Some(&(ratio, mcs)) = self.ladder.iter().find(|l| wanted(l.1) && worse * l.0 <= signal) else {
            return Err(Refusal::Weak);
        };
        for l in self.on_channel(channel) {
            // Summed in the order of `put`, so that offers hold to the last digit.
            let then = self.with(l, a, b);
            if then.a + self.noise > l.bears || then.b + self.noise > l.bears {
                return Err(Refusal::Disturbs(l.id));
            }
        }
        Ok(Found { mcs, bears: signal / ratio, heard })
    }

    /// What a link hears if one between `a` and `b` joins its channel.
    fn with(&self, link: &Link, a: usize, b: usize) -> Heard {
        let Flyway { a: c, b: d, .. } = link.way;
        Heard { a: link.heard.a + self.both_ends(a, b, c, d), b: link.heard.b + self.both_ends(a, b, d, c) }
    }

    /// The channel with the fastest offer; the lowest number among equal ones.
    ///
    /// # Errors
    /// The last channel's reason if there is none.
    pub fn best(&self, a: usize, b: usize) -> Result<(usize, Mcs), Refusal> {
        let mut best: Result<(usize, Mcs), Refusal> = Err(Refusal::Unknown);
        for channel in 0..self.rules.channels {
            match (self.offer(a, b, channel), &best) {
                (Ok(mcs), Ok((_, than))) if mcs.rate() <= than.rate() => {}
                (Ok(mcs), _) => best = Ok((channel, mcs)),
                (Err(why), Err(_)) => best = Err(why),
                (Err(_), Ok(_)) => {}
            }
        }
        best
    }

    /// Adds a flyway at its fastest rate and returns its number.
    ///
    /// # Errors
    /// The reason if it cannot be added; nothing has changed then.
    pub fn add(&mut self, a: usize, b: usize, channel: usize) -> Result<(usize, Mcs), Refusal> {
        let found = self.try_link(a, b, channel, None)?;
        let mcs = found.mcs;
        Ok((self.put(a, b, channel, found), mcs))
    }

    /// Adds a flyway at a given rate and returns its number. A rate below the fastest tolerates
    /// more interference from later flyways.
    ///
    /// # Errors
    /// The reason if it cannot be added; nothing has changed then. A rate outside the rules' rates
    /// is [`Refusal::Weak`].
    pub fn add_at(&mut self, a: usize, b: usize, channel: usize, mcs: Mcs) -> Result<usize, Refusal> {
        let found = self.try_link(a, b, channel, Some(mcs))?;
        Ok(self.put(a, b, channel, found))
    }

    fn put(&mut self, a: usize, b: usize, channel: usize, found: Found) -> usize {
        let Found { mcs, bears, heard } = found;
        let id = self.links.last().map_or(0, |l| l.id + 1);
        for i in 0..self.links.len() {
            if self.links[i].way.channel == channel {
                self.links[i].heard = self.with(&self.links[i], a, b);
            }
        }
        // The rate satisfied `worse * ratio <= signal`; keep that despite rounding.
        let bears = bears.max(heard.at_worse_end() + self.noise);
        self.links.push(Link { id, way: Flyway { a, b, channel, mcs }, heard, bears });
        for end in [a, b] {
            self.used[end] += 1;
        }
        id
    }

    /// Removes a flyway; false if the number is unknown. The others keep their rates, though faster
    /// ones may be possible.
    pub fn remove(&mut self, id: usize) -> bool {
        let Some(i) = self.links.iter().position(|l| l.id == id) else { return false };
        let gone = self.links.remove(i).way;
        for end in [gone.a, gone.b] {
            self.used[end] -= 1;
        }
        // Subtracting powers would leave rounding errors.
        for i in 0..self.links.len() {
            let Flyway { a, b, channel, .. } = self.links[i].way;
            if channel == gone.channel {
                self.links[i].heard = self.heard(a, b, channel);
            }
        }
        true
    }

    /// Adds candidates in order, each on its best channel, if feasible and at least this fast;
    /// returns their numbers.
    pub fn fill(&mut self, candidates: impl IntoIterator<Item = (usize, usize)>, least: Rate) -> Vec<usize> {
        let mut added = Vec::new();
        for (a, b) in candidates {
            if let Ok((channel, mcs)) = self.best(a, b)
                && mcs.rate() >= least
                && let Ok((id, _)) = self.add(a, b, channel)
            {
                added.push(id);
            }
        }
        added
    }

    /// SINR of a flyway at its worse end, with all others sending; `None` if the number is unknown.
    pub fn sinr(&self, id: usize) -> Option<Db> {
        let link = self.links.iter().find(|l| l.id == id)?;
        let others = Milliwatts::new(link.heard.at_worse_end() + self.noise);
        Some(Milliwatts::new(self.signal(link.way.a, link.way.b)).dbm() - others.dbm())
    }
}

/// The first infeasible flyway in a list, by the definition alone, with its missing SINR.
///
/// `None` if all are feasible, to a billionth.
///
/// # Panics
/// If a rack does not exist.
pub fn first_infeasible(field: &Field, rules: &FlywayRules, ways: &[Flyway]) -> Option<(usize, Db)> {
    for (i, way) in ways.iter().enumerate() {
        let Some(sensitivity) = way.mcs.sensitivity() else { return Some((i, Db::new(f64::INFINITY))) };
        let required = sensitivity - rules.noise + rules.headroom;
        for (at, to) in [(way.a, way.b), (way.b, way.a)] {
            let signal = field.power(to, at, at, to).dbm() - rules.signal_margin;
            let others = ways.iter().enumerate().filter(|&(j, o)| j != i && o.channel == way.channel);
            let heard: Milliwatts =
                others.flat_map(|(_, o)| [field.power(o.a, o.b, at, to), field.power(o.b, o.a, at, to)]).sum();
            let lacks = required - (signal - (rules.noise.milliwatts() + heard).dbm());
            if lacks > Db::new(1e-9) {
                return Some((i, lacks));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled::AntennaName;
    use crate::layout::Layout;
    use crate::propagation::LinkBudget;
    use proptest::prelude::*;

    proptest! {
        /// What links keep is what their field says now, to the last digit.
        #[test]
        fn links_hear_the_links_that_are_up(
            steps in prop::collection::vec((0usize..12, 0usize..12, 0usize..2, 0usize..20), 1..40),
        ) {
            let middles: Vec<_> = (0..12).map(|i| (f64::from(i % 4) * 1.7, f64::from(i / 4) * 2.9)).collect();
            let layout = Layout::new(Default::default(), &middles).unwrap();
            let field = Field::new(&layout, AntennaName::NarrowBeam.antenna(), &LinkBudget::default());
            let rules = FlywayRules { channels: 2, radios: 2, ..FlywayRules::default() };
            let mut ways = Flyways::new(&field, rules);
            for (a, b, channel, id) in steps {
                // One step in two removes, if it finds the link.
                if id % 2 == 0 {
                    ways.remove(id / 2);
                } else {
                    // Slow links bear others.
                    let _ = ways.add_at(a, b, channel, Mcs::constant(13));
                }
                for l in &ways.links {
                    let Flyway { a, b, channel, .. } = l.way;
                    prop_assert_eq!(l.heard, ways.heard(a, b, channel));
                }
            }
        }
    }
}
