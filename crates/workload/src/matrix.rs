//! Pairs of hosts with weights, read from a file.
//!
//! Poisson workloads draw their pairs from such a matrix.

use crate::error::{WorkloadError, shorten};
use crate::input::Input;
use std::collections::BTreeMap;
use timeplane_scenario::MoreRacks;

/// Pairs with a weight, ordered by source and destination.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub pairs: Vec<(u32, u32)>,
    /// Weights in the same order; all above 0.
    pub weights: Vec<f64>,
}

/// Weights by source and destination.
type Weights = BTreeMap<(u32, u32), f64>;

/// Maximum number of racks of a matrix.
const MOST_RACKS: u32 = 1 << 20;

const HEADER: &str = "the header `source,destination,weight`";

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Source,
    Destination,
    Weight,
    Ignored,
}

impl Matrix {
    /// Reads columns `source,destination,weight` with a header, in any order. Also reads
    /// `#tor_pair_id,src,dst,pdf_num_bytes`, the layout of the ProjecToR file.
    ///
    /// A matrix of more racks than `hosts` needs `more_racks`.
    pub(crate) fn parse(input: &Input, hosts: u32, more_racks: Option<MoreRacks>) -> Result<Self, WorkloadError> {
        let text = input.text()?;
        let mut lines = text.lines().enumerate().map(|(i, l)| (i as u64 + 1, l.trim())).filter(|(_, l)| !l.is_empty());
        let Some((number, header)) = lines.next() else {
            return Err(input.file_error("the file is empty", HEADER));
        };
        let columns = columns(input, number, header)?;
        let mut weights = Weights::new();
        for (number, line) in lines {
            if line.starts_with('#') {
                continue;
            }
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                let found = format!("{} cells in `{}`", cells.len(), shorten(line));
                return Err(input.line_error(number, found, format!("as many as the header has, {}", columns.len())));
            }
            let (mut source, mut destination, mut weight) = (0, 0, 0.0);
            for (&column, &cell) in columns.iter().zip(&cells) {
                let rack = |name| match cell.parse::<u32>() {
                    Ok(r) if r < MOST_RACKS => Ok(r),
                    _ => Err(input.cell_error(number, name, shorten(cell), format!("a host, 0 to {}", hosts - 1))),
                };
                match column {
                    Column::Source => source = rack("source")?,
                    Column::Destination => destination = rack("destination")?,
                    Column::Weight => {
                        weight = match cell.parse::<f64>() {
                            Ok(w) if (0.0..=1e100).contains(&w) => w,
                            _ => {
                                let allowed = "a number, 0 or more";
                                return Err(input.cell_error(number, "weight", shorten(cell), allowed));
                            }
                        }
                    }
                    Column::Ignored => {}
                }
            }
            if weight > 0.0 {
                if source == destination {
                    return Err(input.line_error(
                        number,
                        format!("host {source} sends to itself"),
                        "weight 0, or no line",
                    ));
                }
                *weights.entry((source, destination)).or_default() += weight;
            }
        }
        let weights = fit(weights, hosts, more_racks).map_err(|racks| {
            let allowed = format!(
                "at most {hosts}, one for each host, or `more_racks`: \"fold\" puts several on a host, \"busiest\" \
                 takes those with most traffic"
            );
            input.file_error(format!("{racks} racks"), allowed)
        })?;
        let (pairs, weights): (Vec<_>, Vec<_>) = weights.into_iter().unzip();
        let total: f64 = weights.iter().sum();
        if !total.is_normal() {
            return Err(input.file_error("no pair has a weight", "at least one above 0"));
        }
        Ok(Self { pairs, weights: weights.into_iter().map(|w| w / total).collect() })
    }
}

/// What the columns are, by the header in line `number`.
fn columns(input: &Input, number: u64, header: &str) -> Result<Vec<Column>, WorkloadError> {
    let mut columns = Vec::new();
    for name in header.trim_start_matches('#').split(',') {
        let column = match name.trim() {
            "source" | "src" => Column::Source,
            "destination" | "dst" => Column::Destination,
            "weight" | "pdf_num_bytes" => Column::Weight,
            "tor_pair_id" => Column::Ignored,
            other => return Err(input.line_error(number, format!("the column `{}`", shorten(other)), HEADER)),
        };
        if column != Column::Ignored && columns.contains(&column) {
            return Err(input.line_error(number, format!("the column `{}` twice", shorten(name)), HEADER));
        }
        columns.push(column);
    }
    for (column, name) in [(Column::Source, "source"), (Column::Destination, "destination"), (Column::Weight, "weight")]
    {
        if !columns.contains(&column) {
            return Err(input.line_error(number, format!("no column `{name}`"), HEADER));
        }
    }
    Ok(columns)
}

/// The weights of hosts: those of racks, if there are enough hosts. Otherwise the number of racks
/// is the error unless `more_racks` says what to do.
fn fit(racks: Weights, hosts: u32, more_racks: Option<MoreRacks>) -> Result<Weights, u32> {
    let count = racks.keys().map(|&(s, d)| s.max(d) + 1).max().unwrap_or(0);
    if count <= hosts {
        return Ok(racks);
    }
    let host: Vec<Option<u32>> = match more_racks.ok_or(count)? {
        MoreRacks::Fold => (0..count).map(|rack| Some(rack % hosts)).collect(),
        MoreRacks::Busiest => {
            let mut totals = vec![0.0; count as usize];
            for (&(source, destination), weight) in &racks {
                totals[source as usize] += weight;
                totals[destination as usize] += weight;
            }
            let mut order: Vec<usize> = (0..count as usize).collect();
            order.sort_by(|&a, &b| totals[b].total_cmp(&totals[a]));
            let mut chosen = vec![false; count as usize];
            order.iter().take(hosts as usize).for_each(|&rack| chosen[rack] = true);
            let mut next = 0..;
            chosen.into_iter().map(|chosen| if chosen { next.next() } else { None }).collect()
        }
    };
    let mut weights = Weights::new();
    for ((source, destination), weight) in racks {
        if let (Some(s), Some(d)) = (host[source as usize], host[destination as usize])
            && s != d
        {
            *weights.entry((s, d)).or_default() += weight;
        }
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights(of: &[(u32, u32, f64)]) -> Weights {
        of.iter().map(|&(s, d, w)| ((s, d), w)).collect()
    }

    #[test]
    fn more_racks_are_folded_or_chosen() {
        let racks = weights(&[(0, 1, 1.0), (2, 1, 2.0), (3, 4, 8.0), (0, 2, 16.0)]);
        assert_eq!(fit(racks.clone(), 4, None), Err(5));
        assert_eq!(fit(racks.clone(), 5, Some(MoreRacks::Fold)), Ok(racks.clone()));
        // Racks 0, 2 and 4 are host 0, racks 1 and 3 are host 1.
        assert_eq!(fit(racks.clone(), 2, Some(MoreRacks::Fold)), Ok(weights(&[(0, 1, 3.0), (1, 0, 8.0)])));
        // Racks 0 (17), 2 (18) and 3 (8, before rack 4).
        assert_eq!(fit(racks, 3, Some(MoreRacks::Busiest)), Ok(weights(&[(0, 1, 16.0)])));
    }

    proptest! {
        /// Folding keeps all weight but that within a host, and choosing never has more.
        #[test]
        fn no_weight_is_added(
            pairs in proptest::collection::vec((0u32..40, 0u32..40, 1u32..100), 1..60),
            hosts in 1u32..40,
        ) {
            let pairs = pairs.into_iter().filter(|(s, d, _)| s != d);
            let racks: Weights = pairs.map(|(s, d, w)| ((s, d), f64::from(w))).collect();
            let sum = |w: &Weights| w.values().sum::<f64>();
            let apart = |&(s, d): &(u32, u32)| s % hosts != d % hosts;
            let between: f64 = racks.iter().filter(|(pair, _)| apart(pair)).map(|(_, w)| w).sum();
            let count = racks.keys().map(|&(s, d)| s.max(d) + 1).max().unwrap_or(0);
            let folded = fit(racks.clone(), hosts, Some(MoreRacks::Fold)).unwrap();
            prop_assert_eq!(sum(&folded), if count > hosts { between } else { sum(&racks) });
            let chosen = fit(racks.clone(), hosts, Some(MoreRacks::Busiest)).unwrap();
            prop_assert!(sum(&chosen) <= sum(&racks));
            prop_assert!(chosen.keys().chain(folded.keys()).all(|&(s, d)| s < hosts && d < hosts && s != d));
        }
    }
}
