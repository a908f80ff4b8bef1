//! A link's state over time: beams and rate as the access point selects them, losses as the channel
//! has them.
//!
//! The access point samples the channel less often than the channel changes.

use crate::decibel::Dbm;
use crate::link_to_system::{LinkState, RateBySignal};
use crate::trace::{BeamTrace, BestBeams, seconds};
use core::fmt::Write;
use timeplane_model::Duration;

/// Sampling intervals of the channel and of the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTraceRules {
    /// Sampling interval of the channel: 1 ms.
    pub every: Duration,
    /// Interval at which beams and rate are selected: 10 ms. They stay until the next selection,
    /// while level and losses follow the channel.
    pub select_every: Duration,
}

impl Default for LinkTraceRules {
    fn default() -> Self {
        Self { every: Duration::from_ms(1), select_every: Duration::from_ms(10) }
    }
}

/// State of a link from `at` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTraceState {
    /// Start of the state.
    pub at: Duration,
    /// Transmit beam, as index into [`BeamTrace::sends`].
    pub tx: usize,
    /// Receive beam, as index into [`BeamTrace::listens`].
    pub rx: usize,
    /// Received level of these beams.
    pub level: Dbm,
    /// Rate selected last, with its losses at this level, which may exceed the target; `None` in an
    /// outage.
    pub link: Option<LinkState>,
}

/// Why a link trace cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkTraceError {
    /// An interval is not above zero.
    #[error("{what} of {found}: it must be above 0")]
    Step {
        /// Name of the interval.
        what: &'static str,
        /// The invalid interval.
        found: Duration,
    },
    /// The length of the trace is negative.
    #[error("a link_trace of {found}: at least 0")]
    Length {
        /// The negative length.
        found: Duration,
    },
    /// There are too many states.
    #[error("{length} in steps of {every}: at most {most} steps", most = LinkTrace::MOST)]
    TooLong {
        /// Length of the trace.
        length: Duration,
        /// Interval between states.
        every: Duration,
    },
}

/// States of a link in order of time; each lasts until the next one, the last forever.
///
/// At `t`, a multiple of [`every`](LinkTraceRules::every), let `s` be the last multiple of
/// [`select_every`](LinkTraceRules::select_every) up to `t`. The beams are the pair with the most
/// power at `s`. The MCS is the fastest that meets the target there (Drago et al., MASS 2019,
/// section III). Level and packet errors are those of these beams and this MCS at `t`. A link whose
/// rate is older than its channel therefore loses packets. A link in an outage at `s` stays in it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    states: Vec<LinkTraceState>,
}

impl LinkTrace {
    /// Most steps of a link trace.
    pub const MOST: i64 = 10_000_000;

    /// Link trace from 0 to `length`, both included, without steps that change nothing.
    ///
    /// # Errors
    /// If a step is not above 0, the length is negative, or there are more than
    /// [`MOST`](Self::MOST) steps.
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

    /// Link trace of a repeated trace, from 0 to at least `length`.
    ///
    /// Traces of that length, and single matrices, give the result of [`new`](Self::new).
    ///
    /// # Errors
    /// As for [`new`](Self::new).
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
        // States are limited as well.
        if rounds.saturating_mul(once.len() as i64) > Self::MOST {
            return Err(LinkTraceError::TooLong { length, every: rules.every });
        }
        let round =
            |k: i64| once.iter().filter(|s| s.at < last).map(move |s| LinkTraceState { at: last * k + s.at, ..*s });
        Ok(Self { states: (0..rounds).flat_map(round).collect() })
    }

    /// All states; the first is at 0.
    pub fn states(&self) -> &[LinkTraceState] {
        &self.states
    }

    /// State at a time; the first state before 0.
    pub fn at(&self, time: Duration) -> &LinkTraceState {
        let after = self.states.partition_point(|s| s.at <= time);
        &self.states[after.saturating_sub(1)]
    }

    /// States as CSV: seconds, beam indices, level in dBm, MCS and bit/s (empty and 0 in an
    /// outage), and the probability that a packet is lost (1 in an outage).
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
