//! Demand between racks as a matrix of bytes.
//!
//! A rack has no demand for itself.

use super::FlywayError;
use timeplane_model::Bytes;

/// Bytes from rack to rack. Use wire bytes if rates are those of wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    racks: usize,
    /// Bytes row by row, one row per sender.
    bytes: Vec<u64>,
}

impl Traffic {
    /// Creates a demand from a matrix row by row, one row per sender.
    ///
    /// # Errors
    /// Fails if the matrix has another shape, or if a rack has demand for itself.
    pub fn new(racks: usize, bytes: Vec<u64>) -> Result<Self, FlywayError> {
        if racks.checked_mul(racks) != Some(bytes.len()) {
            return Err(FlywayError::Shape { found: bytes.len(), racks });
        }
        match (0..racks).find(|i| bytes[i * racks + i] > 0) {
            Some(rack) => Err(FlywayError::Inside { rack, bytes: bytes[rack * racks + rack] }),
            None => Ok(Self { racks, bytes }),
        }
    }

    /// Number of racks.
    pub fn racks(&self) -> usize {
        self.racks
    }

    /// Bytes of one rack for another; zero if a rack does not exist.
    pub fn get(&self, from: usize, to: usize) -> Bytes {
        let inside = from < self.racks && to < self.racks;
        Bytes::new(if inside { self.bytes[from * self.racks + to] } else { 0 })
    }

    /// Pairs with something to send, by sender, then by receiver.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, Bytes)> + '_ {
        let place = move |(k, &b): (usize, &u64)| (b > 0).then(|| (k / self.racks, k % self.racks, Bytes::new(b)));
        self.bytes.iter().enumerate().filter_map(place)
    }

    /// The most bytes that a rack sends or receives, as a sum that cannot overflow.
    pub(super) fn busiest_rack(&self) -> f64 {
        let (mut sent, mut received) = (vec![0.0; self.racks], vec![0.0; self.racks]);
        for (i, j, b) in self.pairs() {
            sent[i] += b.get() as f64;
            received[j] += b.get() as f64;
        }
        sent.into_iter().chain(received).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_square_and_empty_on_its_diagonal() {
        assert!(matches!(Traffic::new(2, vec![0; 3]), Err(FlywayError::Shape { found: 3, racks: 2 })));
        assert!(matches!(Traffic::new(usize::MAX, vec![]), Err(FlywayError::Shape { .. })));
        assert_eq!(Traffic::new(2, vec![0, 1, 2, 3]), Err(FlywayError::Inside { rack: 1, bytes: 3 }));
        let t = Traffic::new(3, vec![0, 5, 0, 0, 0, 7, 1, 0, 0]).unwrap();
        assert_eq!(t.pairs().map(|(i, j, b)| (i, j, b.get())).collect::<Vec<_>>(), [(0, 1, 5), (1, 2, 7), (2, 0, 1)]);
        assert_eq!(t.get(3, 0), Bytes::ZERO);
        assert_eq!(t.busiest_rack(), 7.0);
    }
}
