//! The planning algorithms as functions over numpy arrays; `timeplane.algorithms` documents them.
//! Arguments are checked here, so the algorithms never panic on input from Python.

use numpy::ndarray::{Array2, ArrayView2};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::str::FromStr;
use timeplane_model::{Backlog, Bytes, Demand, Duration, HostId, Matching, Named, Rate};
use timeplane_schedule::circuits::{
    CircuitAlgorithm, CircuitError, CircuitParameters, CircuitTuning, Retune, evaluate,
};
use timeplane_schedule::coloring::{EulerSplit, Paull};
use timeplane_schedule::rates::{self, Flows, Hosts, Offered, Proportional};
use timeplane_schedule::{Allocation, Allocator, Greedy};

pub(crate) fn invalid(what: impl Display) -> PyErr {
    PyValueError::new_err(what.to_string())
}

/// Pairs of numbers, each below its bound.
fn pairs(array: ArrayView2<'_, u32>, left: usize, right: usize) -> PyResult<Vec<(u32, u32)>> {
    if array.ncols() != 2 {
        return Err(invalid(format_args!("{} columns where pairs have 2", array.ncols())));
    }
    let all: Vec<_> = array.rows().into_iter().map(|row| (row[0], row[1])).collect();
    match all.iter().find(|&&(u, v)| u as usize >= left || v as usize >= right) {
        Some((u, v)) => Err(invalid(format_args!("the pair {u}, {v} is not below {left}, {right}"))),
        None => Ok(all),
    }
}

/// Colors the edges with the fewest colors; returns the colors and their number.
#[pyfunction]
pub(crate) fn color<'py>(
    py: Python<'py>,
    left: usize,
    right: usize,
    edges: PyReadonlyArray2<'py, u32>,
) -> PyResult<(Bound<'py, PyArray1<u16>>, usize)> {
    let edges = pairs(edges.as_array(), left, right)?;
    let mut degrees = vec![0u32; left + right];
    for &(u, v) in &edges {
        degrees[u as usize] += 1;
        degrees[left + v as usize] += 1;
    }
    if degrees.iter().any(|&d| d > 1 << 15) {
        return Err(invalid("a vertex has more than 32768 edges"));
    }
    let mut out = Vec::new();
    let number = EulerSplit::new().color(left, right, &edges, &mut out);
    Ok((PyArray1::from_vec(py, out), number))
}

/// Colors the edges evenly with `colors` colors, a power of two.
#[pyfunction]
pub(crate) fn color_within<'py>(
    py: Python<'py>,
    left: usize,
    right: usize,
    edges: PyReadonlyArray2<'py, u32>,
    colors: usize,
) -> PyResult<Bound<'py, PyArray1<u16>>> {
    if !colors.is_power_of_two() || colors > 1 << 15 {
        return Err(invalid(format_args!("{colors} colors: a power of two up to 32768")));
    }
    let edges = pairs(edges.as_array(), left, right)?;
    let mut out = Vec::new();
    EulerSplit::new().color_within(left, right, &edges, colors, &mut out);
    Ok(PyArray1::from_vec(py, out))
}

/// For each edge, its color and its number of moved edges.
type Colored<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<usize>>);

/// Colors edges one after the other; returns the final colors (-1: no color was free) and the
/// number of other edges that each one moved.
#[pyfunction]
pub(crate) fn color_one_by_one<'py>(
    py: Python<'py>,
    left: usize,
    right: usize,
    edges: PyReadonlyArray2<'py, u32>,
    colors: usize,
) -> PyResult<Colored<'py>> {
    if colors > usize::from(u16::MAX) {
        return Err(invalid(format_args!("{colors} colors: at most 65535")));
    }
    let edges = pairs(edges.as_array(), left, right)?;
    let mut paull = Paull::new(left, right, colors);
    let inserted: Vec<_> = edges.iter().map(|&(u, v)| paull.insert(u as usize, v as usize)).collect();
    let color = |e: u32| i32::from(paull.color(e).expect("edges are not removed"));
    let of: Vec<i32> = inserted.iter().map(|new| new.map_or(-1, |new| color(new.edge))).collect();
    let moved = inserted.iter().map(|new| new.map_or(0, |new| new.moved)).collect();
    Ok((PyArray1::from_vec(py, of), PyArray1::from_vec(py, moved)))
}

/// Checks the arguments of allocations; returns pairs with their wanted numbers of slots.
fn wants(
    nodes: usize,
    pairs_of: ArrayView2<'_, u32>,
    wanted: &PyReadonlyArray1<'_, u32>,
    slots: u32,
) -> PyResult<Vec<(u16, u16, u32)>> {
    if nodes > usize::from(u16::MAX) || !(1..=64).contains(&slots) {
        return Err(invalid(format_args!("{nodes} nodes, {slots} slots: at most 65535 nodes, 1 to 64 slots")));
    }
    let all = pairs(pairs_of, nodes, nodes)?;
    let wanted = wanted.as_array();
    if wanted.len() != all.len() {
        return Err(invalid(format_args!("{} pairs want {} numbers of slots", all.len(), wanted.len())));
    }
    Ok(all.into_iter().zip(wanted).map(|((s, d), &n)| (s as u16, d as u16, n)).collect())
}

/// Rows of (slot, source, destination).
fn table<'py>(py: Python<'py>, allocations: &[(usize, Allocation)]) -> Bound<'py, PyArray2<i64>> {
    let mut rows = Array2::zeros((allocations.len(), 3));
    for (mut row, (slot, a)) in rows.rows_mut().into_iter().zip(allocations) {
        row[0] = *slot as i64;
        row[1] = i64::from(a.source);
        row[2] = i64::from(a.destination);
    }
    PyArray2::from_owned_array(py, rows)
}

/// Greedy maximal matchings, in the order of the pairs.
#[pyfunction]
pub(crate) fn greedy<'py>(
    py: Python<'py>,
    nodes: usize,
    pairs: PyReadonlyArray2<'py, u32>,
    wanted: PyReadonlyArray1<'py, u32>,
    slots: u32,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let wants = wants(nodes, pairs.as_array(), &wanted, slots)?;
    let mut out = Vec::new();
    Greedy::new(nodes, slots).allocate(wants, &mut out);
    Ok(table(py, &out.into_iter().map(|a| (usize::from(a.slot), a)).collect::<Vec<_>>()))
}

/// Allocates batches of timeslots, least recently served pairs first. Slots are numbered across
/// batches.
#[pyfunction]
pub(crate) fn allocate<'py>(
    py: Python<'py>,
    nodes: usize,
    pairs: PyReadonlyArray2<'py, u32>,
    wanted: PyReadonlyArray1<'py, u32>,
    slots: u32,
    batches: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let wants = wants(nodes, pairs.as_array(), &wanted, slots)?;
    let mut allocator = Allocator::new(nodes, slots);
    let mut asked = std::collections::BTreeMap::<_, u64>::new();
    for (source, destination, n) in wants {
        let sum = asked.entry((source, destination)).or_default();
        *sum += u64::from(n);
        if *sum >= 1 << 31 {
            return Err(invalid(format_args!("{source} -> {destination} wants {sum} slots: less than 2^31 fit")));
        }
        allocator.request(source, destination, n);
    }
    let (mut all, mut out) = (Vec::new(), Vec::new());
    for batch in 0..batches {
        allocator.allocate_batch(&mut out);
        all.extend(out.iter().map(|&a| (batch * slots as usize + usize::from(a.slot), a)));
    }
    Ok(table(py, &all))
}

fn capacities(of: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
    let all = of.as_array().to_vec();
    match all.iter().find(|c| !(c.is_finite() && **c >= 0.0)) {
        Some(c) => Err(invalid(format_args!("a capacity of {c}: finite and not negative"))),
        None => Ok(all),
    }
}

/// The hosts' capacities, and the positive entries of a matrix.
fn matrix(
    offered: ArrayView2<'_, f64>,
    send: &PyReadonlyArray1<'_, f64>,
    receive: &PyReadonlyArray1<'_, f64>,
) -> PyResult<(Hosts, Vec<Offered>)> {
    let (send, receive) = (capacities(send)?, capacities(receive)?);
    let n = send.len();
    if offered.dim() != (n, n) || receive.len() != n {
        let (rows, columns) = offered.dim();
        let of = receive.len();
        return Err(invalid(format_args!("a {rows} x {columns} matrix, {n} hosts that send and {of} that receive")));
    }
    if let Some(rate) = offered.iter().find(|r| !(r.is_finite() && **r >= 0.0)) {
        return Err(invalid(format_args!("a rate of {rate}: finite and not negative")));
    }
    let positive = offered.indexed_iter().filter(|(_, rate)| **rate > 0.0);
    let entry = |((i, j), &rate): ((usize, usize), &f64)| Offered { source: i as u32, destination: j as u32, rate };
    Ok((Hosts::new(send, receive), positive.map(entry).collect()))
}

fn dense<'py>(py: Python<'py>, n: usize, offered: &[Offered], rates: &[f64]) -> Bound<'py, PyArray2<f64>> {
    let mut all = Array2::zeros((n, n));
    for (o, &rate) in offered.iter().zip(rates) {
        all[(o.source as usize, o.destination as usize)] = rate;
    }
    PyArray2::from_owned_array(py, all)
}

/// Scales rates up and down; returns the rates, their bound and the number of rounds.
#[pyfunction]
pub(crate) fn scale_both<'py>(
    py: Python<'py>,
    offered: PyReadonlyArray2<'py, f64>,
    send: PyReadonlyArray1<'py, f64>,
    receive: PyReadonlyArray1<'py, f64>,
    tolerance: f64,
    rounds: u32,
) -> PyResult<(Bound<'py, PyArray2<f64>>, f64, u32)> {
    let (hosts, offered) = matrix(offered.as_array(), &send, &receive)?;
    let scaled = py.detach(|| rates::scale_both(&hosts, &offered, tolerance, rounds));
    Ok((dense(py, hosts.len(), &offered, &scaled.rates), scaled.bound, scaled.rounds))
}

/// Scales rates down only.
#[pyfunction]
pub(crate) fn scale_down<'py>(
    py: Python<'py>,
    offered: PyReadonlyArray2<'py, f64>,
    send: PyReadonlyArray1<'py, f64>,
    receive: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (hosts, offered) = matrix(offered.as_array(), &send, &receive)?;
    Ok(dense(py, hosts.len(), &offered, &rates::scale_down(&hosts, &offered)))
}

/// Builds flows: `links` are those of all flows in order, `hops` the number of links of each flow.
fn flows(
    capacity: &[f64],
    links: &PyReadonlyArray1<'_, u32>,
    hops: &PyReadonlyArray1<'_, u32>,
    weight: &PyReadonlyArray1<'_, f64>,
    demand: &PyReadonlyArray1<'_, f64>,
) -> PyResult<Flows> {
    let (links, hops) = (links.as_array().to_vec(), hops.as_array());
    let (weight, demand) = (weight.as_array(), demand.as_array());
    if weight.len() != hops.len() || demand.len() != hops.len() {
        let (flows, weights, demands) = (hops.len(), weight.len(), demand.len());
        return Err(invalid(format_args!("{flows} flows, {weights} weights, {demands} demands")));
    }
    let (mut flows, mut at) = (Flows::new(), 0);
    for ((&hops, &weight), &demand) in hops.iter().zip(weight).zip(demand) {
        let path = links.get(at..at + hops as usize).ok_or_else(|| invalid("fewer links than hops"))?;
        at += hops as usize;
        let mut sorted = path.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|two| two[0] == two[1]) || sorted.last().is_some_and(|&l| l as usize >= capacity.len())
        {
            return Err(invalid(format_args!("a path over {path:?}: each of {} links at most once", capacity.len())));
        }
        if !(weight > 0.0 && weight.is_finite() && demand >= 0.0) || (path.is_empty() && demand.is_infinite()) {
            return Err(invalid(format_args!("a flow over {hops} links of weight {weight} and demand {demand}")));
        }
        flows.push(path, weight, demand);
    }
    Ok(flows)
}

/// Max-min fair rates.
#[pyfunction]
pub(crate) fn max_min<'py>(
    py: Python<'py>,
    capacity: PyReadonlyArray1<'py, f64>,
    links: PyReadonlyArray1<'py, u32>,
    hops: PyReadonlyArray1<'py, u32>,
    weight: PyReadonlyArray1<'py, f64>,
    demand: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let capacity = capacities(&capacity)?;
    let flows = flows(&capacity, &links, &hops, &weight, &demand)?;
    Ok(PyArray1::from_vec(py, py.detach(|| rates::max_min(&capacity, &flows))))
}

/// Proportionally fair rates from initial prices; returns the rates and the largest relative error
/// of a link.
#[pyfunction]
pub(crate) fn proportional<'py>(
    py: Python<'py>,
    capacity: PyReadonlyArray1<'py, f64>,
    links: PyReadonlyArray1<'py, u32>,
    hops: PyReadonlyArray1<'py, u32>,
    weight: PyReadonlyArray1<'py, f64>,
    demand: PyReadonlyArray1<'py, f64>,
    iterations: u32,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    let capacity = capacities(&capacity)?;
    if capacity.contains(&0.0) {
        return Err(invalid("a capacity of 0: prices need positive ones"));
    }
    let flows = flows(&capacity, &links, &hops, &weight, &demand)?;
    let mut rates = Vec::new();
    let off = py.detach(|| Proportional::new(capacity).rates(&flows, iterations, &mut rates));
    Ok((PyArray1::from_vec(py, rates), off))
}

/// A value with its unit as text, or a number of seconds or bits per second.
#[derive(FromPyObject)]
pub(crate) enum Value {
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Number(f64),
}

impl Value {
    /// Parses a text, or converts a finite number from 0 to `most` by `number`.
    fn read<T: FromStr<Err: Display>>(self, name: &str, most: f64, number: fn(f64) -> T) -> PyResult<T> {
        match self {
            Self::Text(text) => text.parse().map_err(|e| invalid(format_args!("{name}: {e}"))),
            Self::Number(n) if n.is_finite() && n >= 0.0 && n < most => Ok(number(n)),
            Self::Number(n) => Err(invalid(format_args!("{name}: {n} is not from 0 to {most:e}"))),
        }
    }
    pub(crate) fn duration(self, name: &str) -> PyResult<Duration> {
        self.read(name, 9e6, Duration::from_secs_f64)
    }
    pub(crate) fn rate(self, name: &str) -> PyResult<Rate> {
        self.read(name, 1e19, |bps| Rate::bps(bps.round() as u64))
    }
}

/// Destinations by host, -1 for none.
fn matching(outputs: PyReadonlyArray1<'_, i64>) -> PyResult<Matching> {
    let output = |&o: &i64| match u32::try_from(o) {
        Ok(o) => Ok(Some(HostId(o))),
        Err(_) if o == -1 => Ok(None),
        Err(_) => Err(invalid(format_args!("{o} is no host: -1 stands for none"))),
    };
    let outputs = outputs.as_array().iter().map(output).collect::<PyResult<_>>()?;
    Matching::new(outputs).map_err(invalid)
}

/// Matchings, dark times and open times; then finish time, bound and served share.
type Schedule<'py> =
    (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Option<f64>, f64, f64);

/// Computes a circuit schedule and evaluates it.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are the fields of one struct, and keywords in Python.
pub(crate) fn circuit_schedule<'py>(
    py: Python<'py>,
    demand: PyReadonlyArray2<'py, u64>,
    algorithm: &str,
    circuit: Value,
    packet: Value,
    dark: Value,
    least_open: Value,
    window: Option<Value>,
    most: u32,
    moved: bool,
    standing: Option<PyReadonlyArray1<'py, i64>>,
    day: Option<Value>,
    granularity: Option<u32>,
) -> PyResult<Schedule<'py>> {
    let bytes = demand.as_array();
    let (n, columns) = bytes.dim();
    if n != columns || u32::try_from(n).is_err() {
        return Err(invalid(format_args!("a {n} x {columns} matrix: as many rows as columns")));
    }
    let mut demand = Demand::none(n as u32);
    for (i, row) in bytes.rows().into_iter().enumerate() {
        if row[i] > 0 {
            return Err(invalid(format_args!("host {i} has {} bytes for itself", row[i])));
        }
        let row = row.iter().enumerate().map(|(j, &b)| (HostId(j as u32), Bytes::new(b)));
        demand.set_row(HostId(i as u32), Backlog::of_bytes(row));
    }
    let algorithm = CircuitAlgorithm::named(algorithm).map_err(invalid)?;
    let name = algorithm.name();
    if day.is_some() && !algorithm.has_day() {
        return Err(invalid(format_args!("day is for max_weight and round_robin, not for {name}")));
    }
    if granularity.is_some() && !algorithm.has_granularity() {
        return Err(invalid(format_args!("granularity is for adjust, not for {name}")));
    }
    let day = day.map(|day| day.duration("day")).transpose()?;
    let mut scheduler = algorithm.build_with(CircuitTuning { day, granularity, ..CircuitTuning::default() });
    let finish = window.is_none();
    let parameters = CircuitParameters {
        circuit: circuit.rate("circuit")?,
        packet: packet.rate("packet")?,
        dark: dark.duration("dark")?,
        retune: if moved { Retune::Moved } else { Retune::AllStop },
        least_open: least_open.duration("least_open")?,
        // Ignored by schedules without a window.
        window: window.map_or(Ok(Duration::from_secs(1_000_000)), |w| w.duration("window"))?,
        most,
    };
    let standing = standing.map(matching).transpose()?;
    let (plan, evaluation) = py
        .detach(|| {
            let plan = if finish {
                scheduler.finish(&demand, &parameters, standing.as_ref())
            } else {
                scheduler.plan(&demand, &parameters, standing.as_ref())
            }?;
            let evaluation = evaluate(&demand, &parameters, standing.as_ref(), &plan)?;
            Ok::<_, CircuitError>((plan, evaluation))
        })
        .map_err(invalid)?;
    let mut matchings = Array2::from_elem((plan.len(), n), -1);
    for (mut row, configuration) in matchings.rows_mut().into_iter().zip(&plan) {
        for (i, j) in configuration.matching.pairs() {
            row[i.index()] = i64::from(j.0);
        }
    }
    // Division gives the double nearest to the decimal number: 20 us is exactly `2e-5`.
    let seconds = |d: Duration| d.as_ps() as f64 / 1e12;
    let dark = plan.iter().map(|c| seconds(c.dark)).collect();
    let open = plan.iter().map(|c| seconds(c.open)).collect();
    Ok((
        PyArray2::from_owned_array(py, matchings),
        PyArray1::from_vec(py, dark),
        PyArray1::from_vec(py, open),
        evaluation.finish.map(seconds),
        seconds(evaluation.bound),
        evaluation.share(),
    ))
}

/// Names of the circuit schedulers.
#[pyfunction]
pub(crate) fn circuit_schedulers() -> Vec<&'static str> {
    CircuitAlgorithm::all().iter().map(|a| a.name()).collect()
}
