//! Received power between antennas that point at each other.
//!
//! Places are fixed; targets change.

use crate::angle::{Angle, Direction};
use crate::antenna::Antenna;
use crate::decibel::Milliwatts;
use crate::layout::Layout;
use crate::propagation::LinkBudget;
use std::sync::OnceLock;

/// Powers between antennas of one kind at fixed places, each pointed at another place (elevation is
/// ignored).
///
/// Up to [`Field::MOST_TABLED`] places, the gains of an antenna pointed at a place are computed
/// when one is asked for, and kept: up to 8 n³ octets, 33 MB for 160. Beyond, each power evaluates
/// two gains, and 16 n² octets remain (160 MB for 3,200). Both give the same digits.
#[derive(Clone, Debug)]
pub struct Field {
    places: usize,
    antenna: Antenna,
    /// mW between isotropic antennas, by pair.
    plain: Vec<f64>,
    azimuth: Vec<Angle>,
    /// Gains of `a` pointed at `b` towards each place, by `a n + b`. Empty if there are too many
    /// places.
    gains: Vec<OnceLock<Box<[f64]>>>,
}

impl Field {
    /// Most places with tabled gains: up to 136 MB.
    pub const MOST_TABLED: usize = 256;

    /// Powers between racks in line of sight, without the margin of signals.
    pub fn new(layout: &Layout, antenna: Antenna, budget: &LinkBudget) -> Self {
        Self::with_table(layout, antenna, budget, layout.racks() <= Self::MOST_TABLED)
    }

    fn with_table(layout: &Layout, antenna: Antenna, budget: &LinkBudget, tabled: bool) -> Self {
        let n = layout.racks();
        let pairs = || (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
        let isotropic = Antenna::Isotropic.ahead();
        let plain = pairs()
            .map(|(a, b)| budget.received(layout.distance(a, b), isotropic, isotropic).milliwatts().get())
            .collect();
        let azimuth = pairs().map(|(a, b)| layout.azimuth(a, b)).collect();
        let gains = vec![OnceLock::new(); if tabled { n * n } else { 0 }];
        Self { places: n, antenna, plain, azimuth, gains }
    }

    fn worked_out(&self, at: usize, aim: usize, towards: usize) -> f64 {
        let row = at * self.places;
        let off = self.azimuth[row + towards] - self.azimuth[row + aim];
        self.antenna.gain(Direction::level(off)).ratio()
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Gain, as a ratio, of the antenna at `at` pointed at `aim`, towards a third place.
    pub fn gain(&self, at: usize, aim: usize, towards: usize) -> f64 {
        assert!(at < self.places && aim < self.places && towards < self.places, "places exist");
        let Some(row) = self.gains.get(at * self.places + aim) else { return self.worked_out(at, aim, towards) };
        row.get_or_init(|| (0..self.places).map(|towards| self.worked_out(at, aim, towards)).collect())[towards]
    }

    /// Power at `receiver`, pointed at `listens`, from `sender`, pointed at `aim`.
    ///
    /// The path law treats two radios at one place as a wavelength apart, so they drown each other.
    ///
    /// # Panics
    /// If a place does not exist.
    pub fn power(&self, sender: usize, aim: usize, receiver: usize, listens: usize) -> Milliwatts {
        let gains = self.gain(sender, aim, receiver) * self.gain(receiver, listens, sender);
        Milliwatts::new(self.plain[sender * self.places + receiver] * gains)
    }

    /// Total power at `receiver`, pointed at `listens`, from senders given with their targets.
    ///
    /// # Panics
    /// If a place does not exist.
    pub fn heard(
        &self,
        senders: impl IntoIterator<Item = (usize, usize)>,
        receiver: usize,
        listens: usize,
    ) -> Milliwatts {
        senders.into_iter().map(|(sender, aim)| self.power(sender, aim, receiver, listens)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled::AntennaName;

    #[test]
    fn tabled_and_worked_out_are_the_same() {
        let middles: Vec<_> =
            (0..9).map(|i| (f64::from(i % 3) * 1.7, f64::from(i / 3) * 2.3 + f64::from(i) * 0.1)).collect();
        let layout = Layout::new(Default::default(), &middles).unwrap();
        let antenna = AntennaName::WideBeam.antenna();
        let field = |tabled| Field::with_table(&layout, antenna.clone(), &LinkBudget::default(), tabled);
        let (table, formula) = (field(true), field(false));
        for i in 0..9usize.pow(4) {
            let (s, a, r, l) = (i % 9, i / 9 % 9, i / 81 % 9, i / 729);
            assert_eq!(table.power(s, a, r, l), formula.power(s, a, r, l));
        }
        let senders = [(2, 3), (5, 8), (7, 0)];
        let one_by_one = senders.map(|(s, a)| formula.power(s, a, 1, 4));
        assert_eq!(table.heard(senders, 1, 4), one_by_one[0] + one_by_one[1] + one_by_one[2]);
        // By hand: 1.7 m, both 9.5 dBi ahead.
        let budget = LinkBudget::default();
        let expected = budget.received(layout.distance(0, 1), antenna.ahead(), antenna.ahead());
        assert!((table.power(0, 1, 1, 0).dbm() - expected).get().abs() < 1e-9);
    }
}
