//! Circuit schedulers: from a demand to a sequence of matchings with times.
//!
//! A circuit switch connects every sender to at most one receiver, at line rate and without a
//! buffer. It is dark for some time when it is reconfigured. A much slower packet switch may run
//! alongside it all the time. A [`CircuitScheduler`] decides what the circuit switch does in the
//! next window. The rest of the demand goes to the packet switch or waits for the next window.
//! [`evaluate()`] measures how good a schedule is.
//!
//! Internally, demand is line time: integer picoseconds that the bytes take on a circuit, rounded
//! up for each pair. All results are deterministic.
//!
//! [`CircuitAlgorithm`] lists the schedulers by name.

mod adjust;
mod algorithm;
mod augment;
mod cover_all;
mod eclipse;
mod error;
mod evaluate;
mod gain;
mod hold;
mod lines;
mod max_weight;
mod plan;
mod round_robin;
mod slices;
mod solstice;
mod solstice_refined;
mod stuff;
mod sunflow;
mod timetable;
mod tms;
mod uptime;
mod weight;

pub use adjust::{Adjust, MOST_STEPS};
pub use algorithm::{CircuitAlgorithm, CircuitTuning};
pub use cover_all::CoverAll;
pub use eclipse::Eclipse;
pub use error::CircuitError;
pub use evaluate::{Evaluation, bound, evaluate, port_bound};
pub use hold::Hold;
pub use max_weight::MaxWeight;
pub use round_robin::RoundRobin;
pub use solstice::Solstice;
pub use solstice_refined::SolsticeRefined;
pub use sunflow::Sunflow;
pub use tms::Tms;
pub use uptime::{Uptime, uptimes};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Demand, Duration, Matching, Rate};

/// Properties of the switches and limits of a circuit schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitParameters {
    /// Line rate of a circuit; positive.
    pub circuit: Rate,
    /// Rate at which a port sends and receives through the packet switch; zero if there is none.
    pub packet: Rate,
    /// How long ports are dark when the switch is reconfigured; not negative.
    pub dark: Duration,
    /// Which ports go dark.
    pub retune: Retune,
    /// The least open time, without dark time; not negative. It applies to a configuration under
    /// [`Retune::AllStop`]. Under [`Retune::Moved`] it applies to a circuit, which may stay up for
    /// several configurations.
    pub least_open: Duration,
    /// Upper limit on the sum of all open and dark times of a plan.
    pub window: Duration,
    /// Maximum number of configurations in a plan; at least 1.
    pub most: u32,
}

/// Ports of a circuit switch that go dark when its configuration changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retune {
    /// All ports.
    #[default]
    AllStop,
    /// Only ports whose partner changes.
    Moved,
}

impl Retune {
    /// Whether the switch needs no dark time to get from one matching to the next.
    fn keeps(self, before: &Matching, next: &Matching) -> bool {
        match self {
            Self::AllStop => before == next,
            Self::Moved => next.pairs().all(|(i, j)| before.outputs().get(i.index()) == Some(&Some(j))),
        }
    }
}

/// One state of the switch: dark time first, then open.
///
/// Under [`Retune::AllStop`] no circuit carries during `dark`, which is zero if the matching stays
/// up. All circuits carry during `open`.
///
/// Under [`Retune::Moved`] a circuit that was in the previous configuration carries during `dark`
/// too. A new circuit carries [`CircuitParameters::dark`] after it first appears, even if that is
/// in a later configuration. Circuits may be set up one after the other at any time, so a
/// configuration may end before its newest circuit is up. `dark` is then how long any of its
/// circuits is still dark, and `open` may be zero. [`uptimes`] lists when each circuit carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Which sending port is connected to which receiving port; ports are hosts.
    pub matching: Matching,
    /// Dark time at the start of the configuration.
    pub dark: Duration,
    /// Open time after the dark time.
    pub open: Duration,
}

impl Configuration {
    /// Dark time plus open time.
    pub fn length(&self) -> Duration {
        self.dark + self.open
    }
}

/// A circuit scheduling algorithm.
pub trait CircuitScheduler: Send {
    /// Decides what the circuit switch does for `demand`, in wire bytes, within a window.
    /// `standing` is the matching that is up when the plan starts: a configuration that starts with
    /// it costs no dark time.
    ///
    /// The plan is empty if circuits have nothing to do. When it ends, its last configuration stays
    /// up.
    ///
    /// # Errors
    /// Fails if the parameters are impossible, or if demand and standing matching have different
    /// sizes.
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError>;

    /// Whether plans ignore the demand. Such a scheduler fills every window, also without any
    /// demand, and each plan continues the one before.
    fn is_oblivious(&self) -> bool {
        false
    }

    /// Receives the circuits of the last plan that is carried out, before the next one is computed.
    /// By default they make no difference.
    fn remember(&mut self, _circuits: &[Uptime]) {}

    /// Like [`plan`](Self::plan), without a window or a limit on configurations. The plan runs
    /// until the packet switch can have carried the rest, by its end or by the time that any
    /// schedule takes ([`bound`]). Without a packet switch it runs until nothing is left.
    ///
    /// # Errors
    /// Fails as [`plan`](Self::plan) does.
    fn finish(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        self.plan(demand, &parameters.endless(), standing)
    }
}

impl CircuitParameters {
    /// The same parameters with a window longer than any demand takes, and no limit on
    /// configurations.
    pub(crate) fn endless(&self) -> Self {
        Self { window: Duration::from_ps(1 << 61), most: u32::MAX, ..*self }
    }

    /// The fixed open time of a day-based algorithm in picoseconds: `asked`, or else nine dark
    /// times and at least one microsecond.
    pub(crate) fn day(&self, algorithm: &'static str, asked: Option<Duration>) -> Result<u64, CircuitError> {
        match asked {
            None => Ok(self.dark.as_ps().saturating_mul(9).max(1_000_000) as u64),
            Some(day) if day > Duration::ZERO => Ok(day.as_ps() as u64),
            Some(day) => {
                let found = day.to_string();
                Err(CircuitError::Parameter { algorithm, what: "day", found, allowed: "positive" })
            }
        }
    }

    /// Checks that a plan is possible under these parameters.
    ///
    /// # Errors
    /// Fails if not even one configuration is possible.
    pub fn check(&self) -> Result<(), CircuitError> {
        if self.circuit == Rate::ZERO {
            return Err(CircuitError::NoRate);
        }
        for (what, found) in [("dark time", self.dark), ("least open time", self.least_open), ("window", self.window)] {
            if found.is_negative() {
                return Err(CircuitError::Negative { what, found });
            }
        }
        if self.dark >= self.window {
            return Err(CircuitError::Dark { dark: self.dark, window: self.window });
        }
        if self.least_open > self.window - self.dark {
            return Err(CircuitError::LeastOpen { least_open: self.least_open, dark: self.dark, window: self.window });
        }
        if self.most == 0 {
            return Err(CircuitError::NoConfiguration);
        }
        Ok(())
    }

    /// Configurations for these matchings, each with its open time after the dark time that it
    /// needs. Under [`Retune::AllStop`], a matching that equals the one before needs none. Under
    /// [`Retune::Moved`], one without new circuits needs none.
    pub fn configurations(
        &self,
        matchings: impl IntoIterator<Item = (Matching, Duration)>,
        standing: Option<&Matching>,
    ) -> Vec<Configuration> {
        let mut plan: Vec<Configuration> = Vec::new();
        for (matching, open) in matchings {
            let before = plan.last().map(|c| &c.matching).or(standing);
            let stays = before.is_some_and(|before| self.retune.keeps(before, &matching));
            let dark = if stays { Duration::ZERO } else { self.dark };
            plan.push(Configuration { matching, dark, open });
        }
        plan
    }

    /// Checks that a plan, from any source, is valid for `hosts` hosts under these parameters.
    ///
    /// # Errors
    /// Names the first rule that the plan breaks.
    pub fn check_plan(
        &self,
        hosts: u32,
        plan: &[Configuration],
        standing: Option<&Matching>,
    ) -> Result<(), CircuitError> {
        uptime::check(self, hosts, plan, standing)
    }
}
