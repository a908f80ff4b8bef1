//! Round robins in the dimensions of a grid of racks.
//!
//! A rack's number, written with one digit for each dimension, is its place in the grid. The first
//! dimension is the digit of least weight.

use super::super::error::{RotorError, table, within};
use super::{RackMatching, check_racks};

/// The largest number of dimensions: more have fewer than 2 racks each.
const MOST_DIMENSIONS: u64 = 14;

/// The number of racks along each dimension: the root of the number of racks.
///
/// # Errors
/// Fails if the number of racks or of dimensions is out of range, or if the root is not an integer
/// of at least 2.
pub fn side(racks: u32, dimensions: u32) -> Result<u32, RotorError> {
    check_racks(u64::from(racks))?;
    within("dimensions", u64::from(dimensions), 1, MOST_DIMENSIONS)?;
    let power = |n: u32| (0..dimensions).fold(1u64, |p, _| p.saturating_mul(u64::from(n)));
    // The power grows with the side, so the first side that is not too small decides.
    let found = (2..=racks).find(|&n| power(n) >= u64::from(racks));
    found.filter(|&n| power(n) == u64::from(racks)).ok_or(RotorError::NoGrid { racks, dimensions })
}

/// A round robin in each dimension in turn: for n racks along each of h dimensions, h (n - 1)
/// matchings. In matching k of a dimension, counted from 1, every rack has a circuit to the one
/// whose place in this dimension is larger by k modulo n.
///
/// This is the schedule of Shale (Daniel Amir et al., "Shale: a practical, scalable oblivious
/// reconfigurable network", SIGCOMM 2024). One dimension is the round robin of Sirius and Shoal. A
/// pair of racks meets only if they differ in one dimension.
///
/// # Errors
/// Fails as [`side`] does.
pub fn grid(racks: u32, dimensions: u32) -> Result<Vec<RackMatching>, RotorError> {
    let side = side(racks, dimensions)?;
    table("matchings", &[u64::from(racks), u64::from(dimensions), u64::from(side - 1)], 2)?;
    let mut all = vec![];
    let mut weight = 1;
    for _ in 0..dimensions {
        for k in 1..side {
            let moved = |rack: u32| {
                let digit = rack / weight % side;
                rack - digit * weight + (digit + k) % side * weight
            };
            all.push(RackMatching::of((0..racks).map(|rack| moved(rack) as u16).collect()));
        }
        weight *= side;
    }
    Ok(all)
}
