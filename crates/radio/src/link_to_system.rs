//! Codeword and packet errors from the received level, and the rate that meets a target.
//!
//! The method is mean mutual information per coded bit (MMIB), as in the proxy (Drago et al., MASS
//! 2019, section IV).

use crate::bundled;
use crate::decibel::{Db, Dbm, Milliwatts};
use crate::error::InputError;
use crate::math::{any_of, q};
use crate::mcs::Mcs;
use crate::propagation::{PROXY_BANDWIDTH, PROXY_IMPLEMENTATION_LOSS, thermal_noise};
use crate::sheet::Sheet;
use crate::space::Frequency;
use timeplane_model::{Bytes, Rate};

/// Mutual information per modulation, and the resulting loss of codewords.
///
/// A codeword of LDPC(672) is lost with `1/2 [1 - erf((MMIB - X1) / (√2 X2))]`. The proxy's tables
/// are not public; the bundled ones come from our own decoder simulation. They reproduce the
/// standard's OFDM sensitivities within 1.3 dB. Their rows of single-carrier 16-QAM (MCS 10 to 12)
/// are 1.7 to 3.3 dB pessimistic.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorTables {
    /// Es/N0 of the first row and the step between rows, dB.
    first: f64,
    step: f64,
    /// Mutual information per coded bit at 1, 2, 4 and 6 bits per symbol.
    curves: Vec<[f64; 4]>,
    /// (MCS, X1, X2), in order of the MCS.
    fits: Vec<(Mcs, f64, f64)>,
}

impl ErrorTables {
    /// The bundled tables.
    pub fn bundled() -> Self {
        let parsed = Self::parse(("mmib_curves.csv", bundled::MMIB_CURVES), ("mmib_fits.csv", bundled::MMIB_FITS));
        parsed.expect("the bundled tables are whole")
    }

    /// Tables from two files, each given by name and text.
    ///
    /// The curves have the columns `snr_db`, `bpsk`, `qpsk`, `qam16` and `qam64`: Es/N0 in equal
    /// steps, and nondecreasing mutual information per coded bit, from 0 to 1. The fits have `mcs`,
    /// `x1` and `x2`, one line per MCS.
    ///
    /// # Errors
    /// If a cell is not a number or out of range, steps differ, a curve falls, or an MCS is unknown
    /// or repeated.
    pub fn parse(curves: (&str, &str), fits: (&str, &str)) -> Result<Self, InputError> {
        let sheet = Sheet::read(curves.0, curves.1)?;
        let snr = sheet.column("snr_db")?;
        let columns = [sheet.column("bpsk")?, sheet.column("qpsk")?, sheet.column("qam16")?, sheet.column("qam64")?];
        let (mut levels, mut values): (Vec<f64>, Vec<[f64; 4]>) = (Vec::new(), Vec::new());
        for row in sheet.rows() {
            let level = sheet.number(row, &snr, -100.0..=100.0, "decibels from -100 to 100")?;
            let expected = match levels[..] {
                [] => level,
                [first] if level > first => level,
                [first, second, ..] => first + levels.len() as f64 * (second - first),
                [_] => f64::NAN,
            };
            if (level - expected).abs() >= 1e-6 || expected.is_nan() {
                return Err(sheet.cell(row, &snr, "levels that rise in equal steps"));
            }
            let mut bits = [0.0; 4];
            for (bit, column) in bits.iter_mut().zip(&columns) {
                *bit = sheet.number(row, column, 0.0..=1.0, "bits from 0 to 1 per coded bit")?;
            }
            if let Some(before) = values.last()
                && let Some(i) = (0..4).find(|&i| bits[i] < before[i])
            {
                return Err(sheet.cell(row, &columns[i], "not below the line before"));
            }
            levels.push(level);
            values.push(bits);
        }
        let [first, second, ..] = levels[..] else {
            return Err(InputError::file(curves.0, "there is one level", "at least two"));
        };
        let sheet = Sheet::read(fits.0, fits.1)?;
        let (name, x1, x2) = (sheet.column("mcs")?, sheet.column("x1")?, sheet.column("x2")?);
        let mut fits: Vec<(Mcs, f64, f64)> = Vec::new();
        for row in sheet.rows() {
            let mcs: Mcs = sheet
                .text(row, &name)
                .parse()
                .map_err(|_| sheet.cell(row, &name, "an MCS: 0 to 31, 9.1, 12.1 to 12.6"))?;
            if fits.iter().any(|f| f.0 == mcs) {
                return Err(sheet.cell(row, &name, "each MCS once"));
            }
            let x1 = sheet.number(row, &x1, 0.0..=1.0, "bits from 0 to 1")?;
            let x2 = sheet.number(row, &x2, 1e-6..=1.0, "bits above 0 and at most 1")?;
            fits.push((mcs, x1, x2));
        }
        fits.sort_by_key(|f| f.0);
        Ok(Self { first, step: second - first, curves: values, fits })
    }

    /// Mutual information per coded bit, interpolated linearly and constant beyond the table.
    fn information(&self, bits: u64, esn0: Db) -> f64 {
        let curve = match bits {
            1 => 0,
            2 => 1,
            4 => 2,
            _ => 3,
        };
        let last = self.curves.len() - 1;
        let at = ((esn0.get() - self.first) / self.step).clamp(0.0, last as f64);
        let below = (at as usize).min(last - 1);
        let (low, high) = (self.curves[below][curve], self.curves[below + 1][curve]);
        low + (at - below as f64) * (high - low)
    }

    /// Rates with a fit.
    pub fn rates(&self) -> impl Iterator<Item = Mcs> + '_ {
        self.fits.iter().map(|f| f.0)
    }

    /// Probability that a codeword is lost at this Es/N0 (after all receiver losses); `None`
    /// without a fit.
    pub fn codeword_error(&self, mcs: Mcs, esn0: Db) -> Option<f64> {
        let &(_, x1, x2) = self.fits.iter().find(|f| f.0 == mcs)?;
        // 1/2 erfc(x / √2) is the normal distribution's upper tail.
        Some(q((self.information(mcs.modulation().bits(), esn0) - x1) / x2))
    }

    /// Probability that a packet is lost, which takes one lost codeword.
    pub fn packet_error(&self, mcs: Mcs, esn0: Db, packet: Bytes) -> Option<f64> {
        Some(any_of(self.codeword_error(mcs, esn0)?, codewords(mcs, packet) as f64))
    }

    /// Lowest Es/N0 with at most this loss of packets of this size, to a thousandth of a decibel.
    ///
    /// `None` without a fit, or if no level suffices.
    pub fn required(&self, mcs: Mcs, packet: Bytes, target: f64) -> Option<Db> {
        let good = |esn0: f64| self.packet_error(mcs, Db::new(esn0), packet).is_some_and(|p| p <= target);
        let (mut low, mut high) = (self.first, self.first + self.step * (self.curves.len() - 1) as f64);
        if !good(high) {
            return None;
        }
        if good(low) {
            return Some(Db::new(low));
        }
        while high - low > 1e-3 {
            let middle = 0.5 * (low + high);
            if good(middle) { high = middle } else { low = middle }
        }
        Some(Db::new(high))
    }
}

/// LDPC codewords of a packet: 672 R data bits each, half of that if bits are sent twice; at least
/// one.
pub fn codewords(mcs: Mcs, packet: Bytes) -> u64 {
    let code = mcs.code();
    // The code of rate 7/8 is shortened from 672 bits to 624.
    let word = if code.data == 7 { 624 } else { 672 };
    let bits = word * code.data / code.coded / mcs.repetition();
    (packet.get().saturating_mul(8)).div_ceil(bits).max(1)
}

/// Parameters of a link whose rate follows its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkParameters {
    /// Bandwidth, one symbol per hertz: 500 MHz.
    pub bandwidth: Frequency,
    /// Noise: thermal at 300 K.
    pub noise: Dbm,
    /// Δ between SNR and modulation error ratio: 6.5 dB.
    pub loss: Db,
    /// Packet size: 8140 B.
    pub packet: Bytes,
    /// Allowed packet loss: 1 %.
    pub target: f64,
    /// Share of the rate that its bandwidth allows: 1. Lower values scale all rates, for links that
    /// stand in for slower ones.
    pub rate_factor: f64,
}

impl LinkParameters {
    /// Bits per second of an MCS on this link.
    pub fn rate(&self, mcs: Mcs) -> Rate {
        let rate = mcs.rate_in(self.bandwidth);
        if self.rate_factor == 1.0 { rate } else { rate.scale(self.rate_factor) }
    }
}

impl Default for LinkParameters {
    /// The proxy's parameters.
    fn default() -> Self {
        Self {
            bandwidth: PROXY_BANDWIDTH,
            noise: thermal_noise(PROXY_BANDWIDTH, 300.0),
            loss: PROXY_IMPLEMENTATION_LOSS,
            packet: Bytes::new(8140),
            target: 0.01,
            rate_factor: 1.0,
        }
    }
}

/// State of a link at a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// The rate in use.
    pub mcs: Mcs,
    /// Its bits per second in the link's bandwidth.
    pub rate: Rate,
    /// Probability that a packet is lost; at most the target at a level that selects this rate.
    pub packet_error: f64,
}

/// Rate by level, by thresholds that are computed once.
#[derive(Clone, Debug)]
pub struct RateBySignal {
    tables: ErrorTables,
    parameters: LinkParameters,
    /// (lowest level, MCS, rate), fastest first; only rates that some level selects.
    steps: Vec<(Dbm, Mcs, Rate)>,
}

impl RateBySignal {
    /// Thresholds of these rates; rates without a fit are ignored.
    pub fn new(tables: ErrorTables, parameters: LinkParameters, rates: impl IntoIterator<Item = Mcs>) -> Self {
        let LinkParameters { noise, loss, packet, target, .. } = parameters;
        let mut steps: Vec<(Dbm, Mcs, Rate)> = rates
            .into_iter()
            .filter_map(|m| Some((noise + loss + tables.required(m, packet, target)?, m, parameters.rate(m))))
            .collect();
        steps.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.get().total_cmp(&b.0.get())));
        // A rate that needs more than a faster one is never selected (MCS 5, because of MCS 6).
        let mut least = Dbm::new(f64::INFINITY);
        steps.retain(|s| {
            let used = s.0 < least;
            if used {
                least = s.0;
            }
            used
        });
        Self { tables, parameters, steps }
    }

    /// Rates that some level selects, slowest first, with their lowest levels. A fall "by two"
    /// counts these.
    pub fn ladder(&self) -> impl Iterator<Item = (Mcs, Dbm)> + '_ {
        self.steps.iter().rev().map(|s| (s.1, s.0))
    }

    /// Fastest rate that meets the target at this level, with its losses; `None` in an outage.
    pub fn at(&self, level: Dbm) -> Option<LinkState> {
        let &(_, mcs, rate) = self.steps.iter().find(|s| level >= s.0)?;
        Some(LinkState { mcs, rate, packet_error: self.packet_error(mcs, level)? })
    }

    /// Losses of any rate at a level, for the time until a sender learns of the level.
    pub fn packet_error(&self, mcs: Mcs, level: Dbm) -> Option<f64> {
        let LinkParameters { noise, loss, packet, .. } = self.parameters;
        self.tables.packet_error(mcs, (level - noise) - loss, packet)
    }

    /// Losses with interference, which counts as noise. Receiver losses are subtracted from the
    /// SINR.
    pub fn packet_error_among(&self, mcs: Mcs, level: Dbm, others: Milliwatts) -> Option<f64> {
        let noise = self.parameters.noise;
        let both = Milliwatts::new(noise.milliwatts().get() + others.get()).dbm();
        self.packet_error(mcs, level - (both - noise))
    }
}
