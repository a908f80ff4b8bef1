//! The Python module `timeplane._core`: Python classes over the Rust crates.
//!
//! It holds only what has to be in Rust: reading scenarios, running them without the interpreter's
//! lock, tables as Arrow streams, and algorithms written in Python. Users import the package in
//! `python/timeplane`.

mod algorithms;
mod error;
mod flyways;
mod own;
mod results;
mod run;
mod scenario;
mod sweep;
mod table;

use pyo3::prelude::*;

/// The compiled part of timeplane; use the classes of `timeplane` itself.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use crate::algorithms::{
        allocate, circuit_schedule, circuit_schedulers, color, color_one_by_one, color_within, greedy, max_min,
        proportional, scale_both, scale_down,
    };
    #[pymodule_export]
    use crate::flyways::{
        antenna_gain, beam_training, flyway_phases, flyway_policies, flyways, link_rate, published_layout, rack_rows,
    };
    #[pymodule_export]
    use crate::own::{
        BusyWire, CircuitParameters, FlywayParameters, RateFlows, RateParameters, RoutingParameters, SlotParameters,
        TimeslotParameters, WaitingPairs,
    };
    #[pymodule_export]
    use crate::results::{Comparison, Results};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::{Loaded, schema};
    #[pymodule_export]
    use crate::sweep::{Sweep, run_elsewhere, split_override};
    #[pymodule_export]
    use crate::table::Table;

    /// The version of the program.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = timeplane_experiment::VERSION;

    /// The `timeplane` command: takes the arguments with the program's name in front, returns the
    /// exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| timeplane_cli::main(arguments))
    }

    /// The text in one line, with what a terminal would obey escaped.
    #[pyfunction]
    fn printable_line(text: &str) -> String {
        timeplane_model::printable_line(text).into_owned()
    }

    /// Names of the algorithms that are built in, by the key of their plan.
    #[pyfunction]
    fn schedulers() -> Vec<(&'static str, Vec<String>)> {
        fn names<P, A>(all: &timeplane_schedule::Registry<P, A>) -> Vec<String> {
            all.names().map(str::to_owned).collect()
        }
        let all = timeplane_schedule::Algorithms::built_in();
        vec![
            ("tdma", names(&all.tdma)),
            ("timeslots", names(&all.orders)),
            ("rates", names(&all.rates)),
            ("circuits", names(&all.circuits)),
            ("flyways", names(&all.flyways)),
            ("rotor", names(&all.routings)),
        ]
    }

    /// Quantile `p` of Student's t distribution.
    #[pyfunction]
    fn t_quantile(p: f64, freedom: usize) -> PyResult<f64> {
        if freedom == 0 || !(p > 0.0 && p < 1.0) {
            return Err(pyo3::exceptions::PyValueError::new_err("p is within 0 and 1, freedom is at least 1"));
        }
        Ok(timeplane_results::stats::t_quantile(p, freedom))
    }

    /// The mean of some values and the half-width of its confidence interval. A single value has no
    /// half-width; no values give `None`.
    #[pyfunction]
    fn interval(values: Vec<f64>, level: f64) -> PyResult<Option<(f64, Option<f64>)>> {
        if !(level > 0.0 && level < 1.0) {
            return Err(pyo3::exceptions::PyValueError::new_err("a level is within 0 and 1"));
        }
        Ok(timeplane_results::stats::Interval::of(&values, level).map(|i| (i.mean, i.half_width)))
    }

    /// The p-value of two one-sided paired t-tests that `values` differ from `baseline` by less
    /// than `margin`, relative to the baseline; `None` with fewer than two pairs, or if a baseline
    /// is 0.
    #[pyfunction]
    fn equivalence(values: Vec<f64>, baseline: Vec<f64>, margin: f64) -> PyResult<Option<f64>> {
        if values.len() != baseline.len() || margin.is_nan() || margin <= 0.0 {
            return Err(pyo3::exceptions::PyValueError::new_err("values come in pairs, the margin is positive"));
        }
        Ok(timeplane_results::stats::equivalence(&values, &baseline, margin, 0.95).map(|e| e.p_value))
    }
}
