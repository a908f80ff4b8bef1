//! Interface between a controller and its plan.
//!
//! A controller knows of no scenario: the program that starts it reads one and provides a [`Plan`].

use crate::daemons::Failure;
use crate::watch::Kind;
use timeplane_model::{Duration, Fabric, Rate, Time};
use timeplane_protocol::wire::SignalEncoding;
use timeplane_protocol::{Agent, Reporting};

/// A plan that a controller carries out.
pub trait Plan: Send {
    /// Name of its scheme, for messages.
    fn scheme(&self) -> &str;
    /// All hosts and links.
    fn fabric(&self) -> &Fabric;
    /// Kind of the plan, for the page.
    fn kind(&self) -> Kind;
    /// How late the controller may be before its schedule slips.
    fn tolerance(&self) -> Duration;
    /// Longest dark time of its circuit switch; `None` without circuits.
    fn most_dark(&self) -> Option<Duration>;
    /// Whether several controllers replace each other.
    fn has_standby(&self) -> bool;
    /// Configuration of every host that joins.
    ///
    /// # Errors
    /// If the encoding has too few classes for the hosts.
    fn host(&self, encoding: SignalEncoding) -> Result<HostPlan, Failure>;
    /// Creates the protocol's agent of the `place`-th controller. The first one leads at once.
    ///
    /// After a restart, hosts may still hold grants of the previous start: the agent grants nothing
    /// until these have expired.
    ///
    /// # Errors
    /// If the plan is impossible.
    fn agent(&self, epoch: u32, start: Time, place: u32, after_restart: bool)
    -> Result<Box<dyn Agent + Send>, Failure>;
}

/// Configuration of a plan's hosts, so that they need no scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPlan {
    /// Number of hosts.
    pub hosts: u32,
    /// See [`HostConfig::fallback`](timeplane_protocol::HostConfig::fallback).
    pub fallback: Duration,
    /// When hosts report, besides the fallback.
    pub reporting: Reporting,
    /// Classes below this number are destinations; `None` if the plan sends no signals.
    pub signals: Option<u16>,
    /// How late a signal may open a gate; `None` if the plan sends no signals.
    pub late_after: Option<Duration>,
    /// Whether grants are timeslots, by the controller's clock.
    pub timeslots: bool,
    /// Rate of the hosts' links. Frames leave no faster, whatever the interface supports.
    pub rate: Rate,
}
