//! A policy whose window shrinks ahead of deeper falls.
//!
//! A fast fall of the rate announces more of them.

use super::ladder::RateLadder;
use super::policy::{LinkView, WindowPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use timeplane_model::{Duration, Rate, Time};

/// Definition of a fast fall and the reaction to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProactiveConfig {
    /// Time over which falls are detected.
    pub window: Duration,
    /// Number of usable rates by which the rate has to fall.
    pub drop: u32,
    /// Time for which the window of the slowest rate holds after a fast fall.
    pub ttr: Duration,
    /// Time per usable rate on the way back; the default is the proxy's round trip.
    pub growth: Duration,
}

impl Default for ProactiveConfig {
    fn default() -> Self {
        Self { window: Duration::from_ms(150), drop: 2, ttr: Duration::from_ms(800), growth: Duration::from_ms(40) }
    }
}

/// Conservative after a fast fall (section III-A of the paper, "proactive policy").
///
/// If the rate falls by [`drop`](ProactiveConfig::drop) or more within
/// [`window`](ProactiveConfig::window), or into an outage, the slowest rate is allowed until
/// [`ttr`](ProactiveConfig::ttr) is over, even if the channel recovers before. The paper leaves
/// open what a bad channel is at that time. Here it is out, at its slowest rate, or has fallen fast
/// again; it is checked again every `window`. The way back from any outage is one usable rate per
/// [`growth`](ProactiveConfig::growth), from the slowest one on. Nothing is allowed in an outage.
#[derive(Clone, Debug)]
pub struct Proactive {
    config: ProactiveConfig,
    ladder: RateLadder,
    rate: Rate,
    /// Rungs with their starts, oldest first. The first one may have started before the window.
    past: VecDeque<(Time, usize)>,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Following,
    /// The slowest rate is allowed until this time at least.
    Conservative(Time),
    /// The highest allowed rung, and when the next one is allowed.
    Growing(usize, Time),
}

impl Proactive {
    /// A policy that has received nothing.
    ///
    /// # Panics
    ///
    /// If window or growth is not above 0, or the timer is negative.
    pub fn new(config: ProactiveConfig, ladder: RateLadder) -> Self {
        assert!(config.window > Duration::ZERO && config.growth > Duration::ZERO, "windows and steps take time");
        assert!(!config.ttr.is_negative(), "a timer ends after it begins");
        Self { config, ladder, rate: Rate::ZERO, past: VecDeque::new(), mode: Mode::Following }
    }

    fn rung(&self) -> usize {
        self.past.back().map_or(0, |p| p.1)
    }

    /// Whether the rung is that far below another one of the last window.
    fn falls(&mut self, now: Time) -> bool {
        let begin = now.saturating_add(-self.config.window);
        while self.past.get(1).is_some_and(|p| p.0 <= begin) {
            self.past.pop_front();
        }
        let highest = self.past.iter().map(|p| p.1).max().unwrap_or(0);
        highest >= self.rung() + self.config.drop.max(1) as usize
    }
}

impl WindowPolicy for Proactive {
    fn report(&mut self, now: Time, link: LinkView) {
        // Timers that expired before this report used the state of that time.
        self.allowed(now);
        self.rate = link.rate;
        let before = self.past.back().map(|p| p.1);
        if before != Some(link.rung) {
            self.past.push_back((now, link.rung));
        }
        let falls = self.falls(now);
        match self.mode {
            Mode::Conservative(_) => {}
            _ if falls => {
                self.mode = Mode::Conservative(now.saturating_add(self.config.ttr));
            }
            _ if before == Some(0) && link.rung > 0 => {
                self.mode = Mode::Growing(1, now.saturating_add(self.config.growth));
            }
            _ => {}
        }
    }

    fn allowed(&mut self, now: Time) -> Rate {
        while let Some(at) = self.deadline().filter(|&at| at <= now) {
            let bad = self.rung() <= 1 || self.falls(at);
            self.mode = match self.mode {
                Mode::Conservative(_) if bad => Mode::Conservative(at.saturating_add(self.config.window)),
                Mode::Conservative(_) => Mode::Growing(1, at.saturating_add(self.config.growth)),
                Mode::Growing(rung, _) if rung + 1 >= self.rung() => Mode::Following,
                Mode::Growing(rung, _) => Mode::Growing(rung + 1, at.saturating_add(self.config.growth)),
                Mode::Following => break,
            };
        }
        let most = match self.mode {
            Mode::Following => self.rate,
            Mode::Conservative(_) => self.ladder.lowest(),
            Mode::Growing(rung, _) => self.ladder.rate(rung),
        };
        self.rate.min(most)
    }

    fn deadline(&self) -> Option<Time> {
        match self.mode {
            Mode::Following => None,
            Mode::Conservative(at) | Mode::Growing(_, at) => Some(at),
        }
    }
}
