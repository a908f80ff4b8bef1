//! Thermal noise and losses of receivers.
//!
//! Values of the standard, of flyways and of the proxy differ, so each has its own constant.

use crate::decibel::{Db, Dbm, Milliwatts};
use crate::space::Frequency;

/// Boltzmann's constant, J/K (exact by the definition of the kelvin).
const BOLTZMANN: f64 = 1.380_649e-23;

/// Center frequencies of channels 1 to 4 of 802.11ad. Flyways uses three of them, with one carrier
/// for the path loss.
pub const CHANNELS: [Frequency; 4] =
    [Frequency::mhz(58_320), Frequency::mhz(60_480), Frequency::mhz(62_640), Frequency::mhz(64_800)];

/// Occupied bandwidth of an 802.11ad OFDM signal: 355 subcarriers 5.15625 MHz apart.
pub const OFDM_BANDWIDTH: Frequency = Frequency::hz(1_830_468_750);
/// Chip rate of the 802.11ad single carrier.
pub const SC_BANDWIDTH: Frequency = Frequency::mhz(1_760);
/// Bandwidth of the proxy's 60 GHz link (Drago et al., MASS 2019, section IV).
pub const PROXY_BANDWIDTH: Frequency = Frequency::mhz(500);

/// Noise power in flyways, to which interference adds (SIGCOMM 2011, appendix B: about -81 dBm).
pub const FLYWAYS_NOISE: Dbm = Dbm::new(-81.0);

/// Noise figure of a receiver, as the sensitivities of IEEE 802.11ad assume.
pub const NOISE_FIGURE: Db = Db::new(10.0);
/// Implementation loss, as the sensitivities of IEEE 802.11ad assume. Sensitivities include this
/// and the noise figure: do not subtract them again when comparing with a sensitivity.
pub const IMPLEMENTATION_LOSS: Db = Db::new(5.0);
/// Difference between SNR and modulation error ratio in the proxy's testbed: Δ, noise figure and
/// demodulation together.
pub const PROXY_IMPLEMENTATION_LOSS: Db = Db::new(6.5);

/// Thermal noise, k T B, at a temperature in kelvin.
///
/// # Panics
/// If the temperature is negative or not finite.
pub fn thermal_noise(bandwidth: Frequency, kelvin: f64) -> Dbm {
    Milliwatts::new(1e3 * BOLTZMANN * kelvin * bandwidth.as_hz() as f64).dbm()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_of_the_channels_in_use() {
        for (bandwidth, kelvin, dbm) in [
            (Frequency::mhz(2_160), 290.0, -80.63),
            (SC_BANDWIDTH, 290.0, -81.52),
            (OFDM_BANDWIDTH, 290.0, -81.35),
            // The paper prints -87.01.
            (PROXY_BANDWIDTH, 300.0, -86.84),
        ] {
            assert!((thermal_noise(bandwidth, kelvin).get() - dbm).abs() < 0.005, "{bandwidth:?}");
        }
    }
}
