//! The trait [`Driver`]: what a driver has to provide to run a scenario. Also the types by which a
//! run reports its progress and learns that it is to stop.
//!
//! The drivers are the simulator (`sim`) and the lab (`lab`), both in crates above this one. An
//! experiment takes either and knows neither.

use crate::planned::PlannedRun;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use timeplane_model::Fabric;
use timeplane_results::RunSummary;
use timeplane_scenario::{Loaded, Point};
use timeplane_workload::Source;

/// Runs one run of a scenario at a time. It keeps no state between runs.
pub trait Driver {
    /// Data that the driver adds to a prepared point; `()` for none.
    type Setup;
    /// The error of a rejected scenario or of a failed run.
    type Error: std::error::Error + Send + 'static;

    /// Suffix of the results folder's name, after the scenario's name.
    fn suffix(&self) -> &'static str {
        ""
    }

    /// Settings of the driver that a run's result depends on, with a name: part of the run's key.
    fn settings(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// Prepares a point of the scenario. Everything that can be rejected is rejected here, before
    /// anything runs.
    ///
    /// # Errors
    /// If the driver does not support the point.
    fn prepare(&self, loaded: &Loaded, point: &Prepared) -> Result<Self::Setup, Self::Error>;

    /// Selects the runs that the driver supports, in their order; all of them by default. Report
    /// what is left out with [`Progress::LeftOut`].
    ///
    /// # Errors
    /// If a run is invalid, or none is left.
    fn select(
        &self,
        _loaded: &Loaded,
        _points: &[(Prepared, Self::Setup)],
        runs: Vec<PlannedRun>,
        _tell: &dyn Fn(Progress<'_>),
    ) -> Result<Vec<PlannedRun>, Self::Error> {
        Ok(runs)
    }

    /// Runs one run and writes its tables and other files to `folder`. `None` if it was cancelled.
    ///
    /// # Errors
    /// If the run fails or its files cannot be written.
    fn run(
        &self,
        point: &(Prepared, Self::Setup),
        run: &PlannedRun,
        folder: &Path,
        watch: &Watch<'_>,
    ) -> Result<Option<RunSummary>, Self::Error>;
}

/// A point that is ready to run: its fabric is built and its workload's files are read.
pub struct Prepared {
    /// The scenario's name.
    pub name: String,
    /// The point with its scenario.
    pub point: Point,
    /// The fabric that the workload is made for. A scheme may have its own.
    pub fabric: Arc<Fabric>,
    /// The workload.
    pub source: Source,
    /// The folder that file names in the scenario are relative to.
    pub base: PathBuf,
}

/// A report of a run in progress. Runs are numbered in the order of the plan.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The driver does not support a scheme or a table. The text gives the reason.
    LeftOut(&'a str),
    /// A line for the user.
    Note(&'a str),
    /// A run starts.
    Started {
        /// Its number.
        run: usize,
        /// Its point, scheme and seed. See [`PlannedRun::label`].
        label: &'a str,
    },
    /// A run is in progress; comes a few times a second.
    Tick {
        /// Its number.
        run: usize,
        /// The completed share, 0 to 1.
        fraction: f64,
        /// Events handled so far; 0 outside the simulator.
        events: u64,
    },
    /// How long all runs still take; comes about twice a second once that is known. Runs one after
    /// the other on the calling thread have no such report.
    Left {
        /// In seconds of wall time.
        seconds: f64,
    },
    /// A run is complete.
    Finished {
        /// Its number.
        run: usize,
        /// Whether it was complete before.
        cached: bool,
        /// Events handled; 0 outside the simulator.
        events: u64,
    },
}

/// Counters of a run in progress, read by another thread, and its request to stop.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Set by the other thread to stop the run early.
    pub cancel: AtomicBool,
    /// Events handled so far.
    pub events: AtomicU64,
    /// Simulated time so far, in ps.
    pub now_ps: AtomicU64,
    /// New application bytes at their receivers.
    pub bytes: AtomicU64,
}

/// The channel by which a run reports its progress and learns that it is to stop.
pub struct Watch<'a> {
    pub(crate) run: usize,
    pub(crate) pulse: &'a Pulse,
    pub(crate) tell: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Watch<'_> {
    /// Counters that the run updates; [`Progress::Tick`] follows from them.
    pub fn pulse(&self) -> &Pulse {
        self.pulse
    }

    /// Whether the run is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.pulse.cancel.load(Ordering::Relaxed)
    }

    /// Reports the completed share of a run that does not count events.
    pub fn fraction(&self, fraction: f64) {
        (self.tell)(Progress::Tick { run: self.run, fraction, events: 0 });
    }

    /// Shows a line to the user.
    pub fn note(&self, line: &str) {
        (self.tell)(Progress::Note(line));
    }
}
