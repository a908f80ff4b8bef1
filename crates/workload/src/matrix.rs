//! Pairs of hosts with weights, read from a file.
//!
//! Poisson workloads draw their pairs from such a matrix.

use crate::error::{WorkloadError, shorten};
use crate::input::Input;
use std::collections::BTreeMap;

/// Pairs with a weight, ordered by source and destination.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub pairs: Vec<(u32, u32)>,
    /// Weights in the same order; all above 0.
    pub weights: Vec<f64>,
}

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
    pub(crate) fn parse(input: &Input, hosts: u32) -> Result<Self, WorkloadError> {
        let text = input.text()?;
        let mut lines = text.lines().enumerate().map(|(i, l)| (i as u64 + 1, l.trim())).filter(|(_, l)| !l.is_empty());
        const HEADER: &str = "the header `source,destination,weight`";
        let Some((number, header)) = lines.next() else {
            return Err(input.file_error("the file is empty", HEADER));
        };
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
        for (column, name) in
            [(Column::Source, "source"), (Column::Destination, "destination"), (Column::Weight, "weight")]
        {
            if !columns.contains(&column) {
                return Err(input.line_error(number, format!("no column `{name}`"), HEADER));
            }
        }
        let mut weights: BTreeMap<(u32, u32), f64> = BTreeMap::new();
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
                let host = |name| match cell.parse::<u32>() {
                    Ok(h) if h < hosts => Ok(h),
                    _ => Err(input.cell_error(number, name, shorten(cell), format!("a host, 0 to {}", hosts - 1))),
                };
                match column {
                    Column::Source => source = host("source")?,
                    Column::Destination => destination = host("destination")?,
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
        let (pairs, weights): (Vec<_>, Vec<_>) = weights.into_iter().unzip();
        let total: f64 = weights.iter().sum();
        if !total.is_normal() {
            return Err(input.file_error("no pair has a weight", "at least one above 0"));
        }
        Ok(Self { pairs, weights: weights.into_iter().map(|w| w / total).collect() })
    }
}
