//! Which flyways may be up at the same time: 60 GHz links between racks, planned not to disturb each other (Halperin et al., SIGCOMM
//! 2011).

use crate::decibel::{Db, Dbm, Milliwatts};
use crate::field::Field;
use crate::mcs::Mcs;
use crate::propagation::FLYWAYS_NOISE;
use core::ops::Deref;
use timeplane_model::Rate;

/// The rules of a set of flyways; by default the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct FlywayRules {
    /// Noise in every channel, over which sensitivities stand: -81 dBm. Implementation loss and noise figure are in the sensitivities
    /// already.
    pub noise: Dbm,
    /// Taken off signals, never off interference: 3 dB.
    pub signal_margin: Db,
    /// Channels in use: 3. They do not disturb each other.
    pub channels: usize,
    /// Radios of a rack, each good for one flyway: 1. Those of one rack use different channels.
    pub radios: usize,
    /// The rates to choose from: OFDM. A rate without a sensitivity is never chosen.
    pub rates: Vec<Mcs>,
    /// How far the SINR must be above a rate's sensitivity: 0 dB by the rule of flyways, 1.6 dB for bit errors of 1e-9.
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

/// A link between two racks. Data may go either way, and acknowledgements go the other: it is the same link for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flyway {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// From 0.
    pub channel: usize,
    /// The rate that both ends keep whatever others send.
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
    /// Not even the slowest rate has its SINR, or not the one asked for.
    #[error("the signal is too weak")]
    Weak,
    /// Another flyway would lose its rate.
    #[error("flyway {0} would lose its rate")]
    Disturbs(usize),
}

/// A set of flyways that are feasible together, kept so as they come and go.
///
/// Feasible: at both ends of every link, the signal less its margin is at least the rate's sensitivity over the noise (and the
/// headroom) above the sum of noise and the power of *both* ends of every other link on the channel, whose antennas point at
/// each other. What adding a link does to all earlier ones is known from sums that are kept up: an offer looks at the links on its
/// channel once, and at nothing else. Links only ever add interference, so that what is refused stays refused until one is removed.
/// 8 n² octets per channel.
#[derive(Clone, Debug)]
pub struct Flyways<F> {
    field: F,
    rules: FlywayRules,
    /// (SINR as a ratio, rate), fastest first, of equal ones the less demanding first.
    ladder: Vec<(f64, Mcs)>,
    links: Vec<Link>,
    /// Per channel: mW that a rack would hear from all links there, by where its antenna points: `v n + w`.
    heard: Vec<Vec<f64>>,
    /// Radios in use, by rack.
    used: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    id: usize,
    way: Flyway,
    /// The most noise and interference at either end that its rate bears, mW.
    bears: f64,
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
        let heard = vec![vec![0.0; n * n]; rules.channels];
        Self { field, rules, ladder, links: Vec::new(), heard, used: vec![0; n] }
    }

    /// The flyways that are up, with their numbers, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Flyway)> + '_ {
        self.links.iter().map(|l| (l.id, l.way))
    }

    /// Radios that a rack has left.
    pub fn radios_left(&self, rack: usize) -> usize {
        self.rules.radios - self.used[rack]
    }

    fn signal(&self, a: usize, b: usize) -> f64 {
        let signal = self.field.power(a, b, b, a).get();
        signal * (-self.rules.signal_margin).ratio()
    }

    /// What both ends of a link between `a` and `b` send to a rack that listens to `to`, mW.
    fn both_ends(&self, a: usize, b: usize, at: usize, to: usize) -> f64 {
        self.field.power(a, b, at, to).get() + self.field.power(b, a, at, to).get()
    }

    /// The fastest rate of a flyway between two racks on a channel that leaves all others theirs; the flyway is not added.
    ///
    /// # Errors
    /// Why there is none.
    pub fn offer(&self, a: usize, b: usize, channel: usize) -> Result<Mcs, Refusal> {
        self.try_link(a, b, channel, None).map(|(mcs, _)| mcs)
    }

    fn try_link(&self, a: usize, b: usize, channel: usize, only: Option<Mcs>) -> Result<(Mcs, f64), Refusal> {
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
        let heard = &self.heard[channel];
        let noise = self.rules.noise.milliwatts().get();
        let signal = self.signal(a, b);
        let worse = heard[a * n + b].max(heard[b * n + a]) + noise;
        let on_channel = || self.links.iter().filter(|l| l.way.channel == channel);
        if self.rules.radios > 1
            && let Some(end) = [a, b].into_iter().find(|&e| on_channel().any(|l| l.way.a == e || l.way.b == e))
        {
            return Err(Refusal::OwnChannel(end));
        }
        let wanted = |m: Mcs| only.is_none_or(|o| o == m);
        let Some(&(ratio, mcs)) = self.ladder.iter().find(|l| wanted(l.1) && worse * l.0 <= signal) else {
            return Err(Refusal::Weak);
        };
        for l in on_channel() {
            let Flyway { a: c, b: d, .. } = l.way;
            // Summed as `add` will, so that what was promised holds to the last digit.
            let then = |at: usize, to: usize| heard[at * n + to] + self.both_ends(a, b, at, to) + noise;
            if then(c, d) > l.bears || then(d, c) > l.bears {
                return Err(Refusal::Disturbs(l.id));
            }
        }
        Ok((mcs, signal / ratio))
    }

    /// The channel with the fastest offer, the lowest of equal ones.
    ///
    /// # Errors
    /// Why the last channel has none, where none has.
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

    /// Adds a flyway at the fastest rate that it gets; its number is returned.
    ///
    /// # Errors
    /// Why it cannot be added; nothing has changed then.
    pub fn add(&mut self, a: usize, b: usize, channel: usize) -> Result<(usize, Mcs), Refusal> {
        let found = self.try_link(a, b, channel, None)?;
        Ok((self.put(a, b, channel, found), found.0))
    }

    /// Adds a flyway at a rate of the rules, though it might have a faster one: it bears more from those that come after it. Its number is
    /// returned.
    ///
    /// # Errors
    /// Why it cannot be added; nothing has changed then. A rate that is not among those of the rules is [`Refusal::Weak`].
    pub fn add_at(&mut self, a: usize, b: usize, channel: usize, mcs: Mcs) -> Result<usize, Refusal> {
        let found = self.try_link(a, b, channel, Some(mcs))?;
        Ok(self.put(a, b, channel, found))
    }

    fn put(&mut self, a: usize, b: usize, channel: usize, (mcs, bears): (Mcs, f64)) -> usize {
        let id = self.links.last().map_or(0, |l| l.id + 1);
        let way = Flyway { a, b, channel, mcs };
        // A rate was found because `worse * ratio <= signal`; rounding must not take it back.
        let n = self.field.places();
        let heard = &self.heard[channel];
        let now = heard[a * n + b].max(heard[b * n + a]) + self.rules.noise.milliwatts().get();
        self.links.push(Link { id, way, bears: bears.max(now) });
        for end in [a, b] {
            self.used[end] += 1;
        }
        self.spread(way);
        id
    }

    /// Adds what a link sends to what everybody else hears.
    fn spread(&mut self, way: Flyway) {
        let Flyway { a, b, channel, .. } = way;
        let n = self.field.places();
        let mut heard = core::mem::take(&mut self.heard[channel]);
        for at in (0..n).filter(|&v| v != a && v != b) {
            for to in (0..n).filter(|&w| w != at) {
                heard[at * n + to] += self.both_ends(a, b, at, to);
            }
        }
        self.heard[channel] = heard;
    }

    /// Takes a flyway down; false where there is none of this number. The others keep their rates, though they might have more.
    pub fn remove(&mut self, id: usize) -> bool {
        let Some(i) = self.links.iter().position(|l| l.id == id) else { return false };
        let gone = self.links.remove(i).way;
        for end in [gone.a, gone.b] {
            self.used[end] -= 1;
        }
        // Taking powers off again would leave rounding behind.
        self.heard[gone.channel].fill(0.0);
        let left: Vec<Flyway> = self.links.iter().map(|l| l.way).filter(|w| w.channel == gone.channel).collect();
        for way in left {
            self.spread(way);
        }
        true
    }

    /// Adds candidates in their order, each on its best channel, as far as they are feasible and at least so fast; the numbers of those
    /// that came in.
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

    /// The SINR of a flyway at its worse end, with all others sending; none where there is none of this number.
    pub fn sinr(&self, id: usize) -> Option<Db> {
        let Flyway { a, b, channel, .. } = self.links.iter().find(|l| l.id == id)?.way;
        let n = self.field.places();
        let worse = self.heard[channel][a * n + b].max(self.heard[channel][b * n + a]);
        let others = Milliwatts::new(worse) + self.rules.noise.milliwatts();
        Some(Milliwatts::new(self.signal(a, b)).dbm() - others.dbm())
    }
}

/// Whether flyways are feasible together, by the definition and from nothing else: the first one that is not, by its place in the list,
/// with what its SINR lacks. None where all are, to a billionth.
///
/// # Panics
/// Where a rack does not exist.
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
