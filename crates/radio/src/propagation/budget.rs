//! Free-space loss and the link budget in line of sight.
//!
//! Defaults are those of flyways.

use crate::decibel::{Db, Dbm};
use crate::math::log10;
use crate::space::{Frequency, Meters};
use core::f64::consts::PI;

/// Friis: 20 log10(4 π d / λ), as a positive loss.
///
/// This is a far-field law. Within a wavelength the loss stays at its value there, so that it never
/// amplifies.
pub fn free_space_loss(distance: Meters, carrier: Frequency) -> Db {
    let wavelengths = (distance.get() / carrier.wavelength().get()).max(1.0);
    Db::new(20.0 * log10(4.0 * PI * wavelengths))
}

/// Transmit power and margins of links; by default as in flyways (SIGCOMM 2011, appendix B).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkBudget {
    /// Power into the antenna: 10 mW.
    pub power: Dbm,
    /// Carrier for the path loss: 59.4 GHz.
    pub carrier: Frequency,
    /// Subtracted from signals, not from interference, for destructive multipath: 3 dB.
    pub signal_margin: Db,
}

impl Default for LinkBudget {
    fn default() -> Self {
        Self { power: Dbm::new(10.0), carrier: Frequency::mhz(59_400), signal_margin: Db::new(3.0) }
    }
}

impl LinkBudget {
    /// Received power at a distance in line of sight, by the gains of both antennas towards each
    /// other.
    pub fn received(&self, distance: Meters, sends: Db, hears: Db) -> Dbm {
        self.power + sends + hears - free_space_loss(distance, self.carrier)
    }

    /// Received power as a signal, less the margin.
    pub fn signal(&self, distance: Meters, sends: Db, hears: Db) -> Dbm {
        self.received(distance, sends, hears) - self.signal_margin
    }

    /// The longest distance at which a signal still has a level; `None` if even a wavelength is too
    /// far.
    pub fn range(&self, level: Dbm, sends: Db, hears: Db) -> Option<Meters> {
        let spare = self.power + sends + hears - self.signal_margin - level;
        let wavelengths = (spare.ratio()).sqrt() / (4.0 * PI);
        (wavelengths >= 1.0).then(|| Meters::new(wavelengths * self.carrier.wavelength().get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_meters_of_flyways() {
        let budget = LinkBudget::default();
        let loss = free_space_loss(Meters::new(20.0), budget.carrier);
        assert!((loss.get() - 93.944).abs() < 1e-3, "{loss}");
        let wide = Db::new(9.5);
        // Two decibels below the -66 dBm that MCS 13 needs.
        assert!((budget.signal(Meters::new(20.0), wide, wide).get() + 67.944).abs() < 1e-3);
        let range = budget.range(Dbm::new(-66.0), wide, wide).unwrap();
        assert!((budget.signal(range, wide, wide).get() + 66.0).abs() < 1e-9);
        assert!((range.get() - 15.99).abs() < 0.01, "{range}");
        assert_eq!(budget.range(Dbm::new(20.0), Db::ZERO, Db::ZERO), None);
    }

    #[test]
    fn nothing_amplifies() {
        let carrier = Frequency::mhz(60_000);
        assert!(free_space_loss(Meters::default(), carrier).get() > 21.0);
        // Six decibels for twice the distance.
        let d = |m| free_space_loss(Meters::new(m), carrier);
        assert!((d(8.0) - d(4.0) - Db::from_ratio(4.0)).get().abs() < 1e-12);
    }
}
