//! Interference among radios with fixed antennas: a matrix instead of angles, for a medium's hot
//! loop.
//!
//! A change of pointing needs a new matrix.

use crate::decibel::Milliwatts;
use crate::field::Field;

/// Received power between all pairs of radios.
///
/// A radio is a place and the place that its antenna points at. For two radios of one place (on
/// other channels), [`Field::power`] applies. It takes 8 octets per pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    radios: usize,
    /// mW by receiver, then sender.
    powers: Vec<f64>,
}

impl Coupling {
    /// Powers among these radios, each given as its place and its target.
    ///
    /// # Panics
    /// If a place does not exist.
    pub fn new(field: &Field, radios: &[(usize, usize)]) -> Self {
        let mut powers = Vec::with_capacity(radios.len() * radios.len());
        for (r, &(receiver, listens)) in radios.iter().enumerate() {
            powers.extend(radios.iter().enumerate().map(|(s, &(sender, aim))| match s == r {
                // A radio does not interfere with itself.
                true => 0.0,
                false => field.power(sender, aim, receiver, listens).get(),
            }));
        }
        Self { radios: radios.len(), powers }
    }

    /// How many radios there are.
    pub fn radios(&self) -> usize {
        self.radios
    }

    /// Power at `receiver` from `sender`.
    ///
    /// # Panics
    /// If one does not exist.
    pub fn power(&self, receiver: usize, sender: usize) -> Milliwatts {
        assert!(sender < self.radios, "radios exist");
        Milliwatts::new(self.powers[receiver * self.radios + sender])
    }

    /// Power at `receiver` from all radios that send, except `but` (the sender of its own packet).
    ///
    /// The sum starts anew, so that senders that stopped leave no rounding error. It has four
    /// partial sums for speed; their order depends only on the radios' numbers.
    ///
    /// # Panics
    /// If a radio does not exist or `sends` is not one flag per radio.
    pub fn heard(&self, receiver: usize, sends: &[bool], but: usize) -> Milliwatts {
        assert_eq!(sends.len(), self.radios, "a flag per radio");
        let row = &self.powers[receiver * self.radios..][..self.radios];
        let chosen = |row: &[f64], sends: &[bool]| {
            let mut sums = [0.0; 4];
            let (quads, flags) = (row.chunks_exact(4), sends.chunks_exact(4));
            let rest = quads.remainder().iter().zip(flags.remainder());
            for (quad, flags) in quads.zip(flags) {
                for ((sum, &power), &on) in sums.iter_mut().zip(quad).zip(flags) {
                    *sum += if on { power } else { 0.0 };
                }
            }
            rest.fold(
                (sums[0] + sums[1]) + (sums[2] + sums[3]),
                |sum, (&power, &on)| if on { sum + power } else { sum },
            )
        };
        let (before, after) = (but.min(self.radios), (but + 1).min(self.radios));
        Milliwatts::new(chosen(&row[..before], &sends[..before]) + chosen(&row[after..], &sends[after..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled::AntennaName;
    use crate::layout::Layout;
    use crate::propagation::LinkBudget;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_field(
            aims in prop::collection::vec(0usize..12, 12), sends in prop::collection::vec(any::<bool>(), 12),
            receiver in 0usize..12, but in 0usize..14,
        ) {
            let middles: Vec<_> = (0..12).map(|i| (f64::from(i % 4) * 1.5, f64::from(i / 4) * 2.5)).collect();
            let layout = Layout::new(Default::default(), &middles).unwrap();
            let field = Field::new(&layout, AntennaName::WideBeam.antenna(), &LinkBudget::default());
            let radios: Vec<_> = aims.into_iter().enumerate().collect();
            let coupling = Coupling::new(&field, &radios);
            let active = radios.iter().copied().filter(|r| sends[r.0] && r.0 != but && r.0 != receiver);
            let expected = field.heard(active, receiver, radios[receiver].1).get();
            let heard = coupling.heard(receiver, &sends, but).get();
            prop_assert!((heard - expected).abs() <= 1e-12 * expected);
            prop_assert_eq!(coupling.power(receiver, receiver), Milliwatts::ZERO);
            let other = (receiver + 1) % 12;
            prop_assert_eq!(coupling.power(receiver, other), field.power(other, radios[other].1, receiver, radios[receiver].1));
        }
    }
}
