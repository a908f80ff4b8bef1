//! Circuit schedulers: demand goes in, a sequence of matchings with times comes out.
//!
//! A circuit switch joins every sender to at most one receiver, at line rate and without a buffer, and is dark for some time when it is
//! set anew. A packet switch may stand beside it: much slower, always there. A [`CircuitScheduler`] says what the circuit switch does in
//! the next window; what it leaves over is for the packet switch, or for the next window. [`evaluate()`] says how good that is.
//!
//! Inside, demand is line time: integer picoseconds that the bytes take on a circuit, rounded up pair by pair. Everything is
//! deterministic.
//!
//! [`CircuitAlgorithm`] lists them by name.

mod adjust;
mod algorithm;
mod augment;
mod cover_all;
mod eclipse;
mod error;
mod evaluate;
mod hold;
mod lines;
mod max_weight;
mod plan;
mod round_robin;
mod slices;
mod solstice;
mod stuff;
mod sunflow;
mod tms;
mod uptime;
mod weight;

pub use adjust::Adjust;
pub use algorithm::CircuitAlgorithm;
pub use cover_all::CoverAll;
pub use eclipse::Eclipse;
pub use error::CircuitError;
pub use evaluate::{Evaluation, bound, evaluate, port_bound};
pub use hold::Hold;
pub use max_weight::MaxWeight;
pub use round_robin::RoundRobin;
pub use solstice::Solstice;
pub use sunflow::Sunflow;
pub use tms::Tms;
pub use uptime::{Uptime, uptimes};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Demand, Duration, Matching, Rate};

/// What a circuit schedule is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitParameters {
    /// Line rate of a circuit; positive.
    pub circuit: Rate,
    /// What a port sends and receives by the packet switch beside it; may be zero: none.
    pub packet: Rate,
    /// How long ports are dark when the switch is set anew; not negative.
    pub dark: Duration,
    /// Which ports are.
    pub retune: Retune,
    /// The least time without dark time; not negative. It holds for a configuration under [`Retune::AllStop`], and under
    /// [`Retune::Moved`] for a circuit, which may stay up for several configurations.
    pub least_open: Duration,
    /// All open times and dark times of a plan together are at most this.
    pub window: Duration,
    /// Configurations of a plan, at most; at least 1.
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

/// One state of the switch: dark time first, then open.
///
/// Under [`Retune::AllStop`] no circuit carries during `dark`, which is zero where the matching stays up, and all of the matching do
/// during `open`. Under [`Retune::Moved`] a circuit that was in the configuration before carries during `dark` too. A new one
/// carries [`CircuitParameters::dark`] after it first appears, even if that is in a later configuration: circuits may be set up one
/// after the other at any time, so that a configuration may end before its newest circuit is up, and `dark` is how long any
/// of its circuits is still dark; its `open` may then be zero. [`uptimes`] says it circuit by circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Who is joined to whom. Ports are hosts.
    pub matching: Matching,
    /// Dark time at its beginning.
    pub dark: Duration,
    /// Open time after it.
    pub open: Duration,
}

impl Configuration {
    /// From its begin to the next one's.
    pub fn length(&self) -> Duration {
        self.dark + self.open
    }
}

/// A circuit scheduling algorithm.
pub trait CircuitScheduler: Send {
    /// Decides what the circuit switch does for `demand`, in wire bytes, within a window. `standing` is the matching that is up
    /// when the plan begins: a configuration that begins with it costs no dark time.
    ///
    /// The plan is empty where circuits have nothing to do. When it ends, its last configuration stays up.
    ///
    /// # Errors
    /// Where the parameters are impossible, or demand and standing matching are not of one size.
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError>;

    /// The same without a window or a bound on configurations: until the packet switch can have carried the rest by then, or by the
    /// time that any schedule takes ([`bound`]); without a packet switch, until nothing is left at all.
    ///
    /// # Errors
    /// As [`plan`](Self::plan) has them.
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
    /// The same with a window longer than any demand takes, and no bound on configurations.
    pub(crate) fn endless(&self) -> Self {
        Self { window: Duration::from_ps(1 << 61), most: u32::MAX, ..*self }
    }

    /// A day of a fixed length, picoseconds: the one asked for, or nine dark times and at least a microsecond.
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

    /// Whether a plan can be made for this.
    ///
    /// # Errors
    /// Where not even one configuration is possible.
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

    /// Whether a plan, of whatever origin, is one for `hosts` hosts under these parameters.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check_plan(
        &self,
        hosts: u32,
        plan: &[Configuration],
        standing: Option<&Matching>,
    ) -> Result<(), CircuitError> {
        uptime::check(self, hosts, plan, standing)
    }
}
