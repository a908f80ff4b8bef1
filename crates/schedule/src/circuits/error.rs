//! What cannot be planned.

use timeplane_model::Duration;

/// Why there is no circuit schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CircuitError {
    /// A circuit without a rate.
    #[error("circuits have rate zero: they need a positive one")]
    NoRate,
    /// A time below zero.
    #[error("the {what} is {found}: it must not be negative")]
    Negative {
        /// Which.
        what: &'static str,
        /// How long.
        found: Duration,
    },
    /// The switch is dark for the whole window.
    #[error("a dark time of {dark} leaves nothing of a window of {window}")]
    Dark {
        /// Dark time.
        dark: Duration,
        /// Window.
        window: Duration,
    },
    /// Not one configuration fits.
    #[error(
        "a configuration of at least {least_open} after a dark time of {dark} does not fit into a window of {window}"
    )]
    LeastOpen {
        /// Least open time.
        least_open: Duration,
        /// Dark time.
        dark: Duration,
        /// Window.
        window: Duration,
    },
    /// No configuration is allowed.
    #[error("at most 0 configurations are allowed: a plan needs at least 1")]
    NoConfiguration,
    /// Matching and demand are of different networks.
    #[error("{what} is of {found} hosts, the demand of {hosts}")]
    Hosts {
        /// What does not fit.
        what: &'static str,
        /// Its hosts.
        found: u32,
        /// Those of the demand.
        hosts: u32,
    },
    /// More ports than the algorithms number.
    #[error("{hosts} hosts: circuits are planned for at most {most}")]
    TooManyHosts {
        /// Hosts.
        hosts: u32,
        /// At most.
        most: u32,
    },
    /// More than can be counted.
    #[error("the demand of host {host} takes longer than {longest} on a circuit")]
    TooMuch {
        /// A host that sends or receives it.
        host: u32,
        /// The longest time that is planned.
        longest: Duration,
    },
    /// The algorithm needs another kind of switch.
    #[error("`{algorithm}` sets circuits up one by one: it needs a switch of which only the moved ports go dark")]
    AllStop {
        /// Its name.
        algorithm: &'static str,
    },
    /// A parameter of the algorithm is out of range.
    #[error("the {what} of `{algorithm}` is {found}: it must be {allowed}")]
    Parameter {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        what: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// A plan is longer than its window.
    #[error("the plan takes {found}, its window is {window}")]
    TooLong {
        /// All dark and open times.
        found: Duration,
        /// The window.
        window: Duration,
    },
    /// A plan has too many configurations.
    #[error("the plan has {found} configurations: at most {most} are allowed")]
    TooMany {
        /// How many.
        found: usize,
        /// At most.
        most: u32,
    },
    /// Open for too short a time.
    #[error("configuration {index} is open for {open}: at least {least_open} is asked for")]
    TooShort {
        /// Its place in the plan, from 0.
        index: usize,
        /// How long it, or its shortest circuit, is open.
        open: Duration,
        /// At least.
        least_open: Duration,
    },
    /// The switch changes faster than it can.
    #[error("configuration {index} changes circuits with a dark time of {found}: the switch needs {dark}")]
    TooFast {
        /// Its place in the plan, from 0.
        index: usize,
        /// Its dark time.
        found: Duration,
        /// What it should be.
        dark: Duration,
    },
}
