//! Errors of circuit scheduling: impossible parameters, unsuitable demand, invalid plans.
//!
//! Every error names the value that was found and the limit that it breaks.

use crate::OwnError;
use timeplane_model::Duration;

/// A reason why there is no circuit schedule, or why a schedule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CircuitError {
    /// The rate of circuits is zero.
    #[error("circuits have rate zero: they need a positive one")]
    NoRate,
    /// A duration is negative.
    #[error("the {what} is {found}: it must not be negative")]
    Negative {
        /// Name of the parameter.
        what: &'static str,
        /// The negative duration.
        found: Duration,
    },
    /// The switch is dark for the whole window.
    #[error("a dark time of {dark} leaves nothing of a window of {window}")]
    Dark {
        /// Dark time of a reconfiguration.
        dark: Duration,
        /// Length of the window.
        window: Duration,
    },
    /// Not one configuration fits into the window.
    #[error(
        "a configuration of at least {least_open} after a dark time of {dark} does not fit into a window of {window}"
    )]
    LeastOpen {
        /// Least open time of a configuration.
        least_open: Duration,
        /// Dark time of a reconfiguration.
        dark: Duration,
        /// Length of the window.
        window: Duration,
    },
    /// The limit on configurations is zero.
    #[error("at most 0 configurations are allowed: a plan needs at least 1")]
    NoConfiguration,
    /// Matching and demand have different numbers of hosts.
    #[error("{what} is of {found} hosts, the demand of {hosts}")]
    Hosts {
        /// The object that does not fit.
        what: &'static str,
        /// Number of hosts of the object.
        found: u32,
        /// Number of hosts of the demand.
        hosts: u32,
    },
    /// There are more hosts than the algorithms support.
    #[error("{hosts} hosts: circuits are planned for at most {most}")]
    TooManyHosts {
        /// Number of hosts of the demand.
        hosts: u32,
        /// The largest supported number.
        most: u32,
    },
    /// The demand of a host takes longer than the algorithms can count.
    #[error("the demand of host {host} takes longer than {longest} on a circuit")]
    TooMuch {
        /// The host that sends or receives the demand.
        host: u32,
        /// The longest supported time.
        longest: Duration,
    },
    /// The algorithm needs a switch of which only the moved ports go dark.
    #[error("`{algorithm}` sets circuits up one by one: it needs a switch of which only the moved ports go dark")]
    AllStop {
        /// Name of the algorithm in scenarios.
        algorithm: &'static str,
    },
    /// A parameter of the algorithm is out of range.
    #[error("the {what} of `{algorithm}` is {found}: it must be {allowed}")]
    Parameter {
        /// Name of the algorithm in scenarios.
        algorithm: &'static str,
        /// Name of the parameter.
        what: &'static str,
        /// The value as text.
        found: String,
        /// The range of valid values.
        allowed: &'static str,
    },
    /// A plan is longer than its window.
    #[error("the plan takes {found}, its window is {window}")]
    TooLong {
        /// Sum of all dark and open times.
        found: Duration,
        /// Length of the window.
        window: Duration,
    },
    /// A plan has too many configurations.
    #[error("the plan has {found} configurations: at most {most} are allowed")]
    TooMany {
        /// Number of configurations in the plan.
        found: usize,
        /// The largest number allowed.
        most: u32,
    },
    /// A configuration or circuit is open for less than the least open time.
    #[error("configuration {index} is open for {open}: at least {least_open} is asked for")]
    TooShort {
        /// Index of the configuration in the plan, from 0.
        index: usize,
        /// Open time of the configuration, or of its shortest circuit.
        open: Duration,
        /// The least open time required.
        least_open: Duration,
    },
    /// The switch changes without enough dark time.
    #[error("configuration {index} changes circuits with a dark time of {found}: the switch needs {dark}")]
    TooFast {
        /// Index of the configuration in the plan, from 0.
        index: usize,
        /// Dark time of the configuration.
        found: Duration,
        /// The dark time required.
        dark: Duration,
    },
    /// An own algorithm has no valid plan.
    #[error(transparent)]
    Own(#[from] OwnError),
}
