//! What a link does over time: beams and rate as an access point chooses them, losses as the channel has them.

use crate::decibel::Dbm;
use crate::link_to_system::{LinkState, RateBySignal};
use crate::trace::{BeamTrace, BestBeams, seconds};
use core::fmt::Write;
use timeplane_model::Duration;

/// How often the channel is looked at, and how often the access point looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTraceRules {
    /// The link trace has the channel at multiples of this: 1 ms.
    pub every: Duration,
    /// Beams and rate are chosen at multiples of this, from the matrix of that moment, and stay until the next one: 10 ms. In between,
    /// level and losses follow the channel.
    pub select_every: Duration,
}

impl Default for LinkTraceRules {
    fn default() -> Self {
        Self { every: Duration::from_ms(1), select_every: Duration::from_ms(10) }
    }
}

/// A link from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTraceState {
    /// From when on.
    pub at: Duration,
    /// The transmit beam, by its place in [`BeamTrace::sends`].
    pub tx: usize,
    /// The receive beam, by its place in [`BeamTrace::listens`].
    pub rx: usize,
    /// What these beams receive now.
    pub level: Dbm,
    /// The rate chosen last, with its losses at this level, which may be above the target; none in an outage.
    pub link: Option<LinkState>,
}

/// Why a link trace cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkTraceError {
    /// A step of no time.
    #[error("{what} of {found}: it must be above 0")]
    Step {
        /// Which one.
        what: &'static str,
        /// How long.
        found: Duration,
    },
    /// A length below zero.
    #[error("a link_trace of {found}: at least 0")]
    Length {
        /// The length.
        found: Duration,
    },
    /// More states than anybody reads.
    #[error("{length} in steps of {every}: at most {most} steps", most = LinkTrace::MOST)]
    TooLong {
        /// The length.
        length: Duration,
        /// The step.
        every: Duration,
    },
}

/// The states of a link in the order of time; each lasts until the next one, the last for ever.
///
/// At `t`, a multiple of [`every`](LinkTraceRules::every), let `s` be the last multiple of [`select_every`](LinkTraceRules::select_every)
/// that is not after it. The beams are the pair with the most power at `s` and the MCS is the fastest that meets the target there (Drago et
/// al., MASS 2019, section III); level and packet errors are those of these beams and this MCS at `t`. So a link whose rate is older than
/// its channel loses packets, and one that was in an outage when it was looked at stays in it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    states: Vec<LinkTraceState>,
}

impl LinkTrace {
    /// The most steps of a link trace.
    pub const MOST: i64 = 10_000_000;

    /// The link trace of a trace from 0 to `length`, both included. Steps at which nothing changes are left out.
    ///
    /// # Errors
    /// Where a step is not above 0, the length is negative, or there are more than [`MOST`](Self::MOST) steps.
    pub fn new(
        trace: &BeamTrace,
        rates: &RateBySignal,
        rules: LinkTraceRules,
        length: Duration,
    ) -> Result<Self, LinkTraceError> {
        let LinkTraceRules { every, select_every } = rules;
        for (what, found) in [("a sampling step", every), ("a selection interval", select_every)] {
            if found <= Duration::ZERO {
                return Err(LinkTraceError::Step { what, found });
            }
        }
        if length.is_negative() {
            return Err(LinkTraceError::Length { found: length });
        }
        let steps = length.as_ps() / every.as_ps();
        if steps > Self::MOST {
            return Err(LinkTraceError::TooLong { length, every });
        }
        let mut states: Vec<LinkTraceState> = Vec::new();
        let mut chosen: Option<(i64, BestBeams, Option<LinkState>)> = None;
        for step in 0..=steps {
            let at = Duration::from_ps(step * every.as_ps());
            let selection = at.as_ps() / select_every.as_ps();
            let (_, beams, link) = match chosen {
                Some(c) if c.0 == selection => c,
                _ => {
                    let best = trace.best(Duration::from_ps(selection * select_every.as_ps()));
                    *chosen.insert((selection, best, rates.at(best.level)))
                }
            };
            let level = trace.level(at, beams.tx, beams.rx);
            let link = link.and_then(|l| Some(LinkState { packet_error: rates.packet_error(l.mcs, level)?, ..l }));
            let state = LinkTraceState { at, tx: beams.tx, rx: beams.rx, level, link };
            if states.last().is_none_or(|last| LinkTraceState { at, ..*last } != state) {
                states.push(state);
            }
        }
        Ok(Self { states })
    }

    /// The link trace of a trace that begins again whenever it is over, from 0 to `length` at least. One that lasts so long is as in [`new`](Self::new),
    /// and so is one of a single matrix.
    ///
    /// # Errors
    /// As there.
    pub fn repeating(
        trace: &BeamTrace,
        rates: &RateBySignal,
        rules: LinkTraceRules,
        length: Duration,
    ) -> Result<Self, LinkTraceError> {
        let last = trace.times().last().copied().unwrap_or(Duration::ZERO);
        if last <= Duration::ZERO || last >= length {
            return Self::new(trace, rates, rules, length);
        }
        let once = Self::new(trace, rates, rules, last)?.states;
        let rounds = length.as_ps() / last.as_ps() + 1;
        // Of states, too, no more than anybody reads.
        if rounds.saturating_mul(once.len() as i64) > Self::MOST {
            return Err(LinkTraceError::TooLong { length, every: rules.every });
        }
        let round =
            |k: i64| once.iter().filter(|s| s.at < last).map(move |s| LinkTraceState { at: last * k + s.at, ..*s });
        Ok(Self { states: (0..rounds).flat_map(round).collect() })
    }

    /// All states, the first at 0.
    pub fn states(&self) -> &[LinkTraceState] {
        &self.states
    }

    /// The state at a time; before 0 the first.
    pub fn at(&self, time: Duration) -> &LinkTraceState {
        let after = self.states.partition_point(|s| s.at <= time);
        &self.states[after.saturating_sub(1)]
    }

    /// The states as a table: seconds, places of the beams from 0, level in dBm, MCS and bit/s (empty and 0 in an outage), and the
    /// probability that a packet is lost (1 in an outage).
    pub fn to_csv(&self) -> String {
        let mut text = String::from("time_s,tx,rx,level_dbm,mcs,rate_bps,packet_error\n");
        for s in &self.states {
            let (mcs, rate, lost) = s.link.map_or(("", 0, 1.0), |l| (l.mcs.name(), l.rate.as_bps(), l.packet_error));
            let (time, level) = (seconds(s.at), s.level.get());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{time},{},{},{level},{mcs},{rate},{lost}", s.tx, s.rx);
        }
        text
    }
}
