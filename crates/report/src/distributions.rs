//! Distributions of completion times and slowdowns of measured flows and coflows, by scheme and
//! seed.

use crate::ReportError;
use crate::pack::Column;
use crate::tables::Book;
use indexmap::IndexMap;
use serde_json::{Value, json};
use timeplane_results::stats::{Interval, LEVEL, percentile, t_quantile};
use timeplane_results::{CoflowRow, Columns, CompleteRun, FlowRow, Row};

/// The number of points on the time axis of a distribution, on a logarithmic scale.
const PLACES: usize = 240;

/// Times of one run.
struct Times {
    seed: u64,
    /// Completion times of finished flows or coflows, ascending.
    finished: Vec<i64>,
    /// Number of measured flows or coflows, finished or not.
    measured: usize,
}

/// Distributions of flow and coflow completion times, one for each kind and point that has any. A
/// table has the times (`time_ps`) and for every run how many were over by then. Bands are
/// intervals over seeds, with the factors `t` by number of seeds.
pub fn completion(book: &mut Book<'_>) -> Result<Value, ReportError> {
    let mut all = Vec::new();
    for point in 0..book.point_count() {
        all.extend(distribution::<FlowRow>(book, point, "fct", "fct_ps")?);
        all.extend(distribution::<CoflowRow>(book, point, "cct", "cct_ps")?);
    }
    let seeds = (0..book.point_count()).flat_map(|p| book.at(p).into_values().map(|runs| runs.len())).max();
    let factors: Vec<f64> = (2..=seeds.unwrap_or(1)).map(|n| t_quantile(0.5 + LEVEL / 2.0, n - 1)).collect();
    Ok(json!({ "all": all, "t": factors }))
}

fn times<R: Row>(run: &CompleteRun, column: &str) -> Result<Times, ReportError> {
    let mut times = Times { seed: run.about.seed, finished: Vec::new(), measured: 0 };
    if let Some(columns) = Columns::read::<R>(run, &[column, "measured"], None)? {
        for (time, measured) in columns.nullable(column).into_iter().zip(columns.numbers("measured")) {
            if measured != 0 {
                times.measured += 1;
                times.finished.extend(time);
            }
        }
    }
    times.finished.sort_unstable();
    Ok(times)
}

fn distribution<R: Row>(
    book: &mut Book<'_>,
    point: usize,
    kind: &str,
    column: &str,
) -> Result<Option<Value>, ReportError> {
    let mut schemes: IndexMap<&str, Vec<Times>> = IndexMap::new();
    for (scheme, runs) in book.at(point) {
        let each = runs.into_iter().map(|run| times::<R>(run, column)).collect::<Result<Vec<_>, _>>()?;
        if each.iter().any(|t| !t.finished.is_empty()) {
            schemes.insert(scheme, each);
        }
    }
    let every = || schemes.values().flatten().flat_map(|t| [t.finished.first(), t.finished.last()]).flatten().copied();
    let (Some(least), Some(most)) = (every().min(), every().max()) else { return Ok(None) };
    let axis = axis(least, most);
    let mut columns = vec![Column::new("time_ps", axis.iter().copied())];
    let mut lines = Vec::new();
    for (scheme, each) in &schemes {
        let first = columns.len();
        for times in each {
            let by_then = axis.iter().map(|x| times.finished.partition_point(|t| t <= x) as i64);
            columns.push(Column::new(&format!("{scheme}, seed {}", times.seed), by_then));
        }
        lines.push(json!({
            "scheme": scheme,
            "first": first,
            "measured": each.iter().map(|t| t.measured).collect::<Vec<_>>(),
            "finished": each.iter().map(|t| t.finished.len()).collect::<Vec<_>>(),
        }));
    }
    let table = book.add(&columns);
    Ok(Some(json!({ "kind": kind, "point": point, "table": table, "lines": lines })))
}

/// Times from `least` to `most`, inclusive, ascending.
fn axis(least: i64, most: i64) -> Vec<i64> {
    let (from, to) = (libm::log(least.max(1) as f64), libm::log(most.max(1) as f64));
    let place = |i: usize| libm::exp(from + (to - from) * i as f64 / (PLACES - 1) as f64).round() as i64;
    let mut axis: Vec<i64> = (0..PLACES).map(place).map(|x| x.clamp(least, most)).collect();
    // The ends are exact, without rounding errors.
    axis[0] = least;
    axis[PLACES - 1] = most;
    axis.dedup();
    axis
}

/// Slowdown of measured flows that finished, by size: in each third of a decade of bytes the median
/// and the 99th percentile, means over seeds with half of their intervals.
pub fn slowdown(book: &mut Book<'_>) -> Result<Value, ReportError> {
    let mut all = Vec::new();
    for point in 0..book.point_count() {
        let mut lines = Vec::new();
        for (scheme, runs) in book.at(point) {
            let mut bins: std::collections::BTreeMap<i64, Vec<Vec<f64>>> = Default::default();
            for (nth, run) in runs.iter().enumerate() {
                let names = ["size_bytes", "fct_ps", "ideal_ps", "measured"];
                let Some(columns) = Columns::read::<FlowRow>(run, &names, None)? else { continue };
                let rest = columns.numbers("ideal_ps").into_iter().zip(columns.numbers("measured"));
                let flows = columns.numbers("size_bytes").into_iter().zip(columns.nullable("fct_ps"));
                for ((size, fct), (ideal, measured)) in flows.zip(rest) {
                    if let Some(fct) = fct.filter(|_| measured != 0 && ideal > 0) {
                        let bin = bins.entry(lower_edge(size)).or_insert_with(|| vec![Vec::new(); runs.len()]);
                        bin[nth].push(fct as f64 / ideal as f64);
                    }
                }
            }
            let bin = |(edge, mut seeds): (i64, Vec<Vec<f64>>)| {
                seeds.iter_mut().for_each(|s| s.sort_unstable_by(f64::total_cmp));
                let flows: usize = seeds.iter().map(Vec::len).sum();
                let of = |p: f64| {
                    let values: Vec<f64> = seeds.iter().filter_map(|s| percentile(s, p)).collect();
                    let interval = Interval::of(&values, LEVEL);
                    json!([interval.map(|i| i.mean), interval.and_then(|i| i.half_width)])
                };
                json!({ "from_bytes": edge, "flows": flows, "p50": of(50.0), "p99": of(99.0) })
            };
            if !bins.is_empty() {
                lines.push(json!({ "scheme": scheme, "bins": bins.into_iter().map(bin).collect::<Vec<_>>() }));
            }
        }
        if !lines.is_empty() {
            all.push(json!({ "point": point, "lines": lines }));
        }
    }
    Ok(all.into())
}

/// Lower edge of the third of a decade that contains a size: 1, 2 or 5 times a power of ten; 0 for
/// size 0.
fn lower_edge(size: i64) -> i64 {
    let mut decade = 1i64;
    while size / 10 >= decade {
        decade *= 10;
    }
    [5, 2, 1].into_iter().map(|digit| digit * decade).find(|edge| *edge <= size).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_thirds_of_decades() {
        assert_eq!(
            [0, 1, 4, 5, 19, 20, 999, 1000, 2_000_000].map(lower_edge),
            [0, 1, 2, 5, 10, 20, 500, 1000, 2_000_000]
        );
        assert_eq!(lower_edge(i64::MAX), 5_000_000_000_000_000_000);
    }

    #[test]
    fn an_axis_begins_and_ends_where_times_do() {
        let axis = axis(1_000, 7_654_321_987);
        assert_eq!((axis[0], axis[axis.len() - 1], axis.len()), (1_000, 7_654_321_987, PLACES));
        assert!(axis.is_sorted());
        assert_eq!(super::axis(5, 5), [5]);
    }
}
