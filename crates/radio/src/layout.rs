//! Racks on a floor, and the positions of their antennas.
//!
//! Racks have one size and must not overlap.

use crate::angle::Angle;
use crate::error::InputError;
use crate::sheet::Sheet;
use crate::space::{Cuboid, Meters, Point, Vector};

/// Size of a rack. Its antenna is in the middle of its top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rack {
    /// Along x: 24 in by default.
    pub width: Meters,
    /// Along y: 48 in by default.
    pub depth: Meters,
    /// 2 m by default.
    pub height: Meters,
}

impl Default for Rack {
    fn default() -> Self {
        Self { width: Meters::new(0.6096), depth: Meters::new(1.2192), height: Meters::new(2.0) }
    }
}

/// Two racks overlap by a millimeter or more. Touching is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rack {second} stands inside rack {first}")]
pub struct Overlap {
    /// The earlier rack.
    pub first: usize,
    /// The rack that overlaps it.
    pub second: usize,
}

/// Racks of one size without overlaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    rack: Rack,
    /// Antenna positions: the middle of each rack's top.
    antennas: Vec<Point>,
}

/// Overlaps below this length are rounding errors.
const TOUCH: f64 = 1e-3;

impl Layout {
    /// Most racks in a file.
    pub const MOST_RACKS: usize = 10_000;
    /// Largest distance of a rack from the origin, meters.
    pub const FARTHEST_M: f64 = 10_000.0;

    /// Racks by the middle (x, y) of their footprints, in meters.
    ///
    /// # Errors
    /// If racks overlap.
    ///
    /// # Panics
    /// If a coordinate is not finite.
    pub fn new(rack: Rack, middles: &[(f64, f64)]) -> Result<Self, Overlap> {
        let antennas: Vec<Point> = middles.iter().map(|&(x, y)| Point::new(x, y, rack.height.get())).collect();
        assert!(antennas.iter().all(|p| p.is_finite()), "racks stand somewhere");
        for (second, p) in antennas.iter().enumerate() {
            let inside = |q: &Point| {
                (p.x - q.x).abs() < rack.width.get() - TOUCH && (p.y - q.y).abs() < rack.depth.get() - TOUCH
            };
            if let Some(first) = antennas[..second].iter().position(inside) {
                return Err(Overlap { first, second });
            }
        }
        Ok(Self { rack, antennas })
    }

    /// Racks from a table.
    ///
    /// The columns are `rack` (0, 1, 2, ... in order), and `x_m` and `y_m` or `x_ft` and `y_ft` for
    /// the middle of each footprint. A table has at most 10,000 racks within 10 km.
    ///
    /// # Errors
    /// If a cell is not a number or out of range, numbers are out of order, or racks overlap.
    pub fn parse(file: &str, text: &str, rack: Rack) -> Result<Self, InputError> {
        let sheet = Sheet::read(file, text)?;
        let number = sheet.column("rack")?;
        let (x, y, meters) = match (sheet.find("x_ft"), sheet.find("y_ft")) {
            (Some(x), Some(y)) => (x, y, 0.3048),
            _ => (sheet.column("x_m")?, sheet.column("y_m")?, 1.0),
        };
        if sheet.rows().len() > Self::MOST_RACKS {
            let found = format!("{} racks", sheet.rows().len());
            return Err(InputError::file(file, found, format!("at most {}", Self::MOST_RACKS)));
        }
        let most = Self::FARTHEST_M / meters;
        let mut middles = Vec::new();
        for (i, row) in sheet.rows().iter().enumerate() {
            if sheet.integer(row, &number, u64::MAX, "a number")? != i as u64 {
                return Err(sheet.cell(row, &number, format!("{i}: racks are numbered in order from 0")));
            }
            let at = |column| Ok(meters * sheet.number(row, column, -most..=most, "a length of at most 10 km")?);
            middles.push((at(&x)?, at(&y)?));
        }
        Self::new(rack, &middles).map_err(|e| {
            let (first, second) = (&sheet.rows()[e.first], &sheet.rows()[e.second]);
            sheet.line(
                second,
                e.to_string(),
                format!("racks that touch at most (rack {} is in line {})", e.first, first.line),
            )
        })
    }

    /// Number of racks.
    pub fn racks(&self) -> usize {
        self.antennas.len()
    }

    /// Antenna position of each rack.
    pub fn antennas(&self) -> &[Point] {
        &self.antennas
    }

    /// Distance between two antennas.
    pub fn distance(&self, from: usize, to: usize) -> Meters {
        self.antennas[from].distance(self.antennas[to])
    }

    /// Direction from one antenna to another, in the horizontal plane.
    pub fn azimuth(&self, from: usize, to: usize) -> Angle {
        crate::angle::Direction::between(self.antennas[from], self.antennas[to]).azimuth
    }

    /// Angle at the antenna of `at` between two other antennas; 0° if they are in line.
    pub fn angle(&self, at: usize, one: usize, other: usize) -> Angle {
        (self.azimuth(at, one) - self.azimuth(at, other)).abs()
    }

    /// The racks as boxes, for rays.
    pub fn boxes(&self) -> Vec<Cuboid> {
        let Rack { width, depth, height } = self.rack;
        let half = Vector { x: width.get() / 2.0, y: depth.get() / 2.0, z: 0.0 };
        let of = |p: &Point| {
            let low = Point::new(p.x - half.x, p.y - half.y, p.z - height.get());
            Cuboid::new(low, *p + half)
        };
        self.antennas.iter().filter_map(of).collect()
    }
}
