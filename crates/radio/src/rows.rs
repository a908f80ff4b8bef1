//! Racks in rows: the layout of a data-center floor from five numbers.
//! Scenarios with many racks need no list of positions.

use crate::layout::Rack;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Racks in straight rows with aisles between them, in the order of the racks: along a row, then
/// the rows of a block, then the next block along the rows.
///
/// The defaults are those of the 160 racks of Halperin et al., SIGCOMM 2011.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rows {
    /// Racks side by side in a row of a block.
    pub racks: u32,
    /// Distance from rack to rack in a row, in meters; at least 0.6096, the width of a rack.
    pub spacing_m: f64,
    /// Rows of a block, one behind the other.
    pub rows: u32,
    /// Distance from row to row in meters; at least 1.2192, the depth of a rack.
    pub row_spacing_m: f64,
    /// Distance from block to block in meters; at least the width of a row.
    pub block_spacing_m: f64,
}

impl Default for Rows {
    fn default() -> Self {
        Self { racks: 10, spacing_m: 0.6096, rows: 6, row_spacing_m: 3.048, block_spacing_m: 9.144 }
    }
}

impl Rows {
    /// Most racks in a row, and most rows in a block.
    pub const MOST: u32 = 10_000;

    /// The middles (x, y) of the first racks' footprints, in meters.
    pub fn middles(&self, racks: u32) -> Vec<(f64, f64)> {
        let row = self.racks.max(1);
        (0..racks)
            .map(|rack| {
                let (column, row) = (rack % row, rack / row);
                let (row, block) = (row % self.rows.max(1), row / self.rows.max(1));
                let x = f64::from(block) * self.block_spacing_m + f64::from(column) * self.spacing_m;
                (x, f64::from(row) * self.row_spacing_m)
            })
            .collect()
    }

    /// Width of a row: from the first rack's left side to the last one's right side, in meters.
    pub fn width_m(&self) -> f64 {
        f64::from(self.racks.saturating_sub(1)) * self.spacing_m + Rack::default().width.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled;
    use crate::layout::Layout;

    #[test]
    fn the_defaults_are_the_published_places() {
        let published = Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default()).unwrap();
        // In millimeters; the source orders its clumps otherwise.
        let millimeters = |p: (f64, f64)| ((p.0 * 1e3).round() as i64, (p.1 * 1e3).round() as i64);
        let mut expected: Vec<_> = published.antennas().iter().map(|p| millimeters((p.x, p.y))).collect();
        let mut found: Vec<_> = Rows::default().middles(160).into_iter().map(millimeters).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn racks_follow_rows_then_blocks() {
        let rows = Rows { racks: 2, spacing_m: 1.0, rows: 2, row_spacing_m: 3.0, block_spacing_m: 10.0 };
        let expected = [(0.0, 0.0), (1.0, 0.0), (0.0, 3.0), (1.0, 3.0), (10.0, 0.0), (11.0, 0.0), (10.0, 3.0)];
        assert_eq!(rows.middles(7), expected);
        assert!((rows.width_m() - 1.6096).abs() < 1e-12);
        assert!(Layout::new(Rack::default(), &rows.middles(400)).is_ok());
    }
}
