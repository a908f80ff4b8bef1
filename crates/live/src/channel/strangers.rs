//! Unauthenticated connections of a server: which ones it takes, and which ones it keeps.
//!
//! Anybody can connect, so their number is limited, and also what one source may have of it. A
//! source that connects too often is refused before its handshake costs anything. Where places are
//! short, the source that holds most of them loses one. Sources of peers that have authenticated
//! before lose theirs last, so a host that restarts gets in among strangers with many addresses.

use super::Timing;
use crate::tokens::Tokens;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use timeplane_model::Time;

/// Whose connections are counted together: an IPv4 address, or a network of IPv6.
///
/// Whoever has one address of IPv6 usually has its whole /64. Link-local addresses are all in one
/// /64, so each of them counts for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source(IpAddr);

impl Source {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) if !v6.is_unicast_link_local() => {
                Self(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into())
            }
            other => Self(other),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V6(v6) if !v6.is_unicast_link_local() => write!(f, "{v6}/64"),
            other => write!(f, "{other}"),
        }
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Unknown,
    /// It has proved a name.
    Authenticated,
    Ended,
}

/// What becomes of a new connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission<T> {
    /// Its source connects too often.
    TooOften {
        /// Whether it is the first one since the source was quiet.
        first: bool,
    },
    /// It may authenticate. `instead_of` has to go.
    Admitted { instead_of: Option<T> },
}

/// Maximum number of sources that are remembered for the peers that have authenticated from them.
const KNOWN: usize = 4096;
/// Number of rates from which on those of silent sources are dropped.
const RATES: usize = 1024;

/// The unauthenticated connections of a server.
#[derive(Debug)]
pub(super) struct Strangers<T> {
    /// In the order of their arrival.
    held: VecDeque<(Source, T)>,
    /// How many of them are of a source.
    counts: BTreeMap<Source, usize>,
    /// Sources of peers that have authenticated, and when one did last.
    known: BTreeMap<Source, Time>,
    rates: BTreeMap<Source, Rate>,
    /// Number of rates at which silent sources are dropped next.
    prune_at: usize,
    timing: Timing,
}

#[derive(Debug)]
struct Rate {
    tokens: Tokens,
    refused: bool,
}

impl<T> Strangers<T> {
    pub(super) fn new(timing: Timing) -> Self {
        Self {
            held: VecDeque::new(),
            counts: BTreeMap::new(),
            known: BTreeMap::new(),
            rates: BTreeMap::new(),
            prune_at: RATES,
            timing,
        }
    }

    /// Decides about a new connection of a source. If it is admitted, [`add`](Self::add) follows.
    pub(super) fn admit(&mut self, now: Time, source: Source, progress: impl Fn(&T) -> Progress) -> Admission<T> {
        if self.rates.len() >= self.prune_at {
            self.rates.retain(|_, rate| !rate.tokens.is_full(now));
            self.prune_at = RATES.max(2 * self.rates.len());
        }
        let new = || Rate { tokens: Tokens::new(self.timing.connects), refused: false };
        let rate = self.rates.entry(source).or_insert_with(new);
        if rate.tokens.is_full(now) {
            rate.refused = false;
        }
        if !rate.tokens.take(now) {
            return Admission::TooOften { first: !std::mem::replace(&mut rate.refused, true) };
        }
        self.settle(now, progress);
        Admission::Admitted { instead_of: self.make_room(source) }
    }

    /// Adds an admitted connection.
    pub(super) fn add(&mut self, source: Source, connection: T) {
        *self.counts.entry(source).or_default() += 1;
        self.held.push_back((source, connection));
    }

    /// Forgets connections that are strangers no longer.
    fn settle(&mut self, now: Time, progress: impl Fn(&T) -> Progress) {
        let Self { held, counts, known, .. } = self;
        held.retain(|(source, connection)| {
            let progress = progress(connection);
            if progress == Progress::Authenticated {
                known.insert(*source, now);
            }
            if progress != Progress::Unknown {
                forget(counts, *source);
            }
            progress == Progress::Unknown
        });
        while known.len() > KNOWN
            && let Some(source) = known.iter().min_by_key(|k| k.1).map(|k| *k.0)
        {
            known.remove(&source);
        }
    }

    /// Takes out a connection if one of this source has no room otherwise.
    fn make_room(&mut self, source: Source) -> Option<T> {
        let of = |source: &Source| self.counts.get(source).copied().unwrap_or(0);
        let places = self.timing.strangers.max(1);
        let victim = if of(&source) >= self.timing.strangers_per_source.clamp(1, places) {
            self.held.iter().position(|(held, _)| *held == source)
        } else if self.held.len() >= places {
            let ranks = self.held.iter().enumerate();
            let rank = |at: usize, held: &Source| (!self.known.contains_key(held), of(held), Reverse(at));
            ranks.max_by_key(|(at, (held, _))| rank(*at, held)).map(|(at, _)| at)
        } else {
            None
        };
        let (source, connection) = self.held.remove(victim?)?;
        forget(&mut self.counts, source);
        Some(connection)
    }
}

fn forget(counts: &mut BTreeMap<Source, usize>, source: Source) {
    if let Some(count) = counts.get_mut(&source) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Allowance;
    use std::collections::BTreeSet;
    use timeplane_model::Duration;

    fn source(text: &str) -> Source {
        Source::of(text.parse().unwrap())
    }

    fn numbered(i: u32) -> Source {
        Source::of(IpAddr::V4((0x0a00_0000 + i).into()))
    }

    /// What becomes of numbered connections.
    struct Run {
        strangers: Strangers<u32>,
        next: u32,
        evicted: Vec<u32>,
        refused: Vec<u32>,
        authenticated: BTreeSet<u32>,
    }

    impl Run {
        fn new(timing: Timing) -> Self {
            let (evicted, refused, authenticated) = (Vec::new(), Vec::new(), BTreeSet::new());
            Self { strangers: Strangers::new(timing), next: 0, evicted, refused, authenticated }
        }
        fn connect(&mut self, now: Time, source: Source) -> u32 {
            let number = self.next;
            self.next += 1;
            let progress = |n: &u32| match self.authenticated.contains(n) {
                true => Progress::Authenticated,
                false => Progress::Unknown,
            };
            match self.strangers.admit(now, source, progress) {
                Admission::TooOften { .. } => self.refused.push(number),
                Admission::Admitted { instead_of } => {
                    self.evicted.extend(instead_of);
                    self.strangers.add(source, number);
                }
            }
            assert_eq!(self.strangers.counts.values().sum::<usize>(), self.strangers.held.len());
            number
        }
    }

    #[test]
    fn a_flood_of_one_source_evicts_nobody_else() {
        let mut run = Run::new(Timing::default());
        let stranger = source("10.0.0.66");
        let at = |us: i64| Time::ZERO + Duration::from_us(us);
        let mut honest = Vec::new();
        // 24,000 connections a second for five seconds. A host joins every 10 ms, and takes 100 ms.
        for i in 0..120_000_i64 {
            let now = at(i * 42);
            if i % 240 == 0 {
                honest.push(run.connect(now, numbered(1000 + i as u32)));
                if let Some(done) = honest.len().checked_sub(10) {
                    run.authenticated.insert(honest[done]);
                }
            }
            run.connect(now, stranger);
        }
        let lost = |of: &[u32]| honest.iter().filter(|h| of.contains(h)).count();
        assert_eq!((honest.len(), lost(&run.evicted), lost(&run.refused)), (500, 0, 0));
        // The burst, and then the rate. It never holds more than its part.
        let connects = Timing::default().connects;
        let most = u64::from(connects.burst) + 6 * u64::from(connects.per_second);
        assert!(run.refused.len() as u64 >= 120_000 - most, "{}", run.refused.len());
        assert_eq!(run.strangers.counts[&stranger], Timing::default().strangers_per_source);
        assert!(run.strangers.held.len() <= Timing::default().strangers);
    }

    #[test]
    fn who_holds_most_loses_and_known_sources_lose_last() {
        let connects = Allowance { per_second: 1000, burst: 1000 };
        let mut run = Run::new(Timing { strangers: 8, strangers_per_source: 4, connects, ..Timing::default() });
        let now = Time::ZERO;
        // A host that was here before.
        let known = numbered(1);
        let before = run.connect(now, known);
        run.authenticated.insert(before);
        // It connects twice, and slower strangers take the other places.
        let restarted = [run.connect(now, known), run.connect(now, known)];
        let first = run.connect(now, numbered(2));
        let many = [run.connect(now, numbered(3)), run.connect(now, numbered(3))];
        (4..7).for_each(|n| _ = run.connect(now, numbered(n)));
        assert_eq!((run.evicted.clone(), run.strangers.held.len()), (vec![], 8));
        // The one with two places loses the older one; then it is the oldest.
        run.connect(now, numbered(9));
        assert_eq!(run.evicted, [many[0]]);
        run.connect(now, numbered(10));
        assert_eq!(run.evicted, [many[0], first]);
        // Thousands of addresses, a connection each, leave the known one its two.
        (100..5000).for_each(|n| _ = run.connect(now, numbered(n)));
        assert!(restarted.iter().all(|r| !run.evicted.contains(r)), "the restarted host keeps its places");
        assert_eq!(run.strangers.held.len(), 8);
        // A source has at most its part, and then loses its own oldest.
        let own: Vec<u32> = (0..6).map(|_| run.connect(now, known)).collect();
        assert_eq!(run.strangers.counts[&known], 4);
        assert!(run.evicted.ends_with(&[restarted[0], restarted[1], own[0], own[1]]), "{:?}", run.evicted);
    }

    #[test]
    fn addresses_of_one_network_are_one_source() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:10.0.0.1"), source("10.0.0.1"));
        assert_ne!(source("10.0.0.1"), source("10.0.0.2"));
        assert_ne!(source("fe80::1"), source("fe80::2"));
        let shown = ["2001:db8::5", "::ffff:10.0.0.1", "fe80::1"].map(|text| source(text).to_string());
        assert_eq!(shown, ["2001:db8::/64", "10.0.0.1", "fe80::1"]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut run = Run::new(Timing::default());
        for n in 0..300_000_u32 {
            let now = Time::ZERO + Duration::from_us(42 * i64::from(n));
            let number = run.connect(now, numbered(n));
            run.authenticated.clear();
            run.authenticated.insert(number);
        }
        assert!(run.strangers.rates.len() <= 2 * RATES, "{}", run.strangers.rates.len());
        assert!(run.strangers.known.len() <= KNOWN, "{}", run.strangers.known.len());
        assert!(run.evicted.is_empty() && run.refused.is_empty());
    }
}
