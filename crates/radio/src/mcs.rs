//! Rates of IEEE 802.11ad: modulation, code, bits per block, sensitivity.
//!
//! Rates are data bits over the duration of a block or symbol.

use crate::decibel::Dbm;
use crate::space::Frequency;
use core::fmt;
use core::str::FromStr;
use timeplane_model::Rate;

/// A physical layer of 802.11ad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phy {
    /// Spread 32 times, for beacons, sector sweeps and control frames.
    Control,
    /// Single carrier: blocks of 448 symbols and 64 symbols of guard.
    SingleCarrier,
    /// Low-power single carrier: blocks of seven times 56 symbols and 8 of guard, with Reed-Solomon
    /// and block codes.
    LowPower,
    /// OFDM: 336 data carriers in symbols of 242.4 ns.
    Ofdm,
}

/// How bits become symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// π/2-DBPSK.
    Dbpsk,
    /// π/2-BPSK.
    Bpsk,
    /// QPSK with each bit on two carriers: one bit per carrier.
    Sqpsk,
    /// QPSK; π/2-QPSK on the single carrier.
    Qpsk,
    /// 16-QAM.
    Qam16,
    /// 64-QAM.
    Qam64,
}

impl Modulation {
    /// Coded bits per symbol, or per carrier.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Dbpsk | Self::Bpsk | Self::Sqpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
        }
    }
}

/// Data bits over coded bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRate {
    /// Data bits.
    pub data: u64,
    /// Coded bits.
    pub coded: u64,
}

impl fmt::Display for CodeRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.data, self.coded)
    }
}

/// A modulation and coding scheme of IEEE 802.11ad: 0 to 31, and the extended single carrier of
/// 802.11-2016 (9.1, 12.1 to 12.6).
///
/// The order is that of [`Mcs::all`], not of rates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mcs(u8);

/// Unknown name of an MCS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no MCS {0}: 0 to 31, 9.1, 12.1 to 12.6")]
pub struct NoSuchMcs(String);

struct Row {
    name: &'static str,
    phy: Phy,
    modulation: Modulation,
    code: (u64, u64),
    /// Number of times that each coded bit is sent.
    repetition: u64,
    /// dBm; `None` without a public source.
    sensitivity: Option<i8>,
}

const fn row(
    name: &'static str,
    phy: Phy,
    modulation: Modulation,
    data: u64,
    coded: u64,
    repetition: u64,
    sensitivity: i8,
) -> Row {
    let sensitivity = if sensitivity == 0 { None } else { Some(sensitivity) };
    Row { name, phy, modulation, code: (data, coded), repetition, sensitivity }
}

use Modulation::{Bpsk, Dbpsk, Qam16, Qam64, Qpsk, Sqpsk};
use Phy::{Control, LowPower, Ofdm, SingleCarrier as Sc};

/// IEEE 802.11ad-2012, clause 21, as public descriptions cite it. The draft that flyways used has
/// -67 dBm at MCS 2.
#[rustfmt::skip]
const TABLE: [Row; 39] = [
    row("0", Control, Dbpsk, 1, 2, 1, -78),
    row("1", Sc, Bpsk, 1, 2, 2, -68),
    row("2", Sc, Bpsk, 1, 2, 1, -66),
    row("3", Sc, Bpsk, 5, 8, 1, -65),
    row("4", Sc, Bpsk, 3, 4, 1, -64),
    row("5", Sc, Bpsk, 13, 16, 1, -62),
    row("6", Sc, Qpsk, 1, 2, 1, -63),
    row("7", Sc, Qpsk, 5, 8, 1, -62),
    row("8", Sc, Qpsk, 3, 4, 1, -61),
    row("9", Sc, Qpsk, 13, 16, 1, -59),
    row("10", Sc, Qam16, 1, 2, 1, -55),
    row("11", Sc, Qam16, 5, 8, 1, -54),
    row("12", Sc, Qam16, 3, 4, 1, -53),
    row("13", Ofdm, Sqpsk, 1, 2, 1, -66),
    row("14", Ofdm, Sqpsk, 5, 8, 1, -64),
    row("15", Ofdm, Qpsk, 1, 2, 1, -63),
    row("16", Ofdm, Qpsk, 5, 8, 1, -62),
    row("17", Ofdm, Qpsk, 3, 4, 1, -60),
    row("18", Ofdm, Qam16, 1, 2, 1, -58),
    row("19", Ofdm, Qam16, 5, 8, 1, -56),
    row("20", Ofdm, Qam16, 3, 4, 1, -54),
    row("21", Ofdm, Qam16, 13, 16, 1, -53),
    row("22", Ofdm, Qam64, 5, 8, 1, -51),
    row("23", Ofdm, Qam64, 3, 4, 1, -49),
    row("24", Ofdm, Qam64, 13, 16, 1, -47),
    // Reed-Solomon (224, 208), 13/14, with an inner code of 8/16, 8/12, 8/9 or none.
    row("25", LowPower, Bpsk, 13, 28, 1, -64),
    row("26", LowPower, Bpsk, 13, 21, 1, -60),
    row("27", LowPower, Bpsk, 52, 63, 1, -57),
    row("28", LowPower, Qpsk, 13, 28, 1, -57),
    row("29", LowPower, Qpsk, 13, 21, 1, -57),
    row("30", LowPower, Qpsk, 52, 63, 1, -57),
    row("31", LowPower, Qpsk, 13, 14, 1, -57),
    // 802.11-2016. One public source lists 6390 Mb/s for 12.4, a typing error.
    row("9.1", Sc, Qpsk, 7, 8, 1, 0),
    row("12.1", Sc, Qam16, 13, 16, 1, 0),
    row("12.2", Sc, Qam16, 7, 8, 1, 0),
    row("12.3", Sc, Qam64, 5, 8, 1, 0),
    row("12.4", Sc, Qam64, 3, 4, 1, 0),
    row("12.5", Sc, Qam64, 13, 16, 1, 0),
    row("12.6", Sc, Qam64, 7, 8, 1, 0),
];

impl Mcs {
    /// All MCS: 0 to 31, then the extended ones.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..TABLE.len() as u8).map(Self)
    }

    /// MCS 13 to 24: the rates of flyways.
    pub fn ofdm() -> impl DoubleEndedIterator<Item = Self> + Clone {
        Self::all().filter(|m| m.phy() == Phy::Ofdm)
    }

    /// MCS 1 to 12: the rates of the proxy.
    pub fn single_carrier() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (1..=12).map(Self)
    }

    /// MCS by number, 0 to 31.
    ///
    /// # Errors
    /// If there is none.
    pub fn numbered(number: u8) -> Result<Self, NoSuchMcs> {
        if number <= 31 { Ok(Self(number)) } else { Err(NoSuchMcs(number.to_string())) }
    }

    /// MCS by number, for valid constants of this crate.
    pub(crate) const fn constant(number: u8) -> Self {
        assert!(number <= 31, "no such MCS");
        Self(number)
    }

    fn row(self) -> &'static Row {
        &TABLE[usize::from(self.0)]
    }

    /// Number as the standard writes it, such as `12.3`.
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// Physical layer that the MCS belongs to.
    pub fn phy(self) -> Phy {
        self.row().phy
    }
    /// Mapping of bits to symbols.
    pub fn modulation(self) -> Modulation {
        self.row().modulation
    }
    /// Rate of its code, without repetition.
    pub fn code(self) -> CodeRate {
        CodeRate { data: self.row().code.0, coded: self.row().code.1 }
    }
    /// Number of times that each coded bit is sent: two for MCS 1.
    pub fn repetition(self) -> u64 {
        self.row().repetition
    }

    /// Power at which 99 % of packets of 4096 B arrive, with a noise figure of 10 dB and an
    /// implementation loss of 5 dB.
    ///
    /// `None` without a public source (extended single carrier).
    pub fn sensitivity(self) -> Option<Dbm> {
        self.row().sensitivity.map(|s| Dbm::new(f64::from(s)))
    }

    /// Coded bits per block of the single carrier or OFDM symbol, with repetitions; `None` for the
    /// control PHY, which has no blocks.
    pub fn coded_bits(self) -> Option<u64> {
        let places = match self.phy() {
            Phy::Control => return None,
            Phy::SingleCarrier => 448,
            Phy::LowPower => 392,
            Phy::Ofdm => 336,
        };
        Some(places * self.modulation().bits())
    }

    /// Data bits per block or symbol as a fraction, because low-power ones are not whole; `None`
    /// for the control PHY.
    pub fn data_bits(self) -> Option<(u64, u64)> {
        let (code, repetition) = (self.code(), self.repetition());
        self.coded_bits().map(|bits| (bits * code.data, code.coded * repetition))
    }

    /// Data bits per symbol and hertz as a fraction, without guards: the capacity of a bandwidth at
    /// one symbol per hertz.
    pub fn efficiency(self) -> (u64, u64) {
        let spread = if self.phy() == Phy::Control { 32 } else { 1 };
        (self.modulation().bits() * self.code().data, self.code().coded * self.repetition() * spread)
    }

    /// Rate in a channel of 2.16 GHz: data bits over the time of a block or symbol, rounded down to
    /// 1 bit/s.
    pub fn rate(self) -> Rate {
        // Blocks of 512 chips at 1.76 GHz; symbols of 640 samples at 2.64 GHz.
        let per_second = match self.phy() {
            Phy::Control => return Rate::bps(27_500_000),
            Phy::SingleCarrier | Phy::LowPower => 1_760_000_000 / 512,
            Phy::Ofdm => 2_640_000_000 / 640,
        };
        let (data, of) = self.data_bits().unwrap_or((0, 1));
        Rate::bps(per_second * data / of)
    }

    /// Rate at one symbol per hertz of a bandwidth, rounded down to 1 bit/s.
    ///
    /// MCS 1 to 12 in 500 MHz give the proxy's 125 Mb/s to 1.5 Gb/s.
    pub fn rate_in(self, bandwidth: Frequency) -> Rate {
        let (data, of) = self.efficiency();
        let bps = u128::from(bandwidth.as_hz()) * u128::from(data) / u128::from(of);
        Rate::bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

impl FromStr for Mcs {
    type Err = NoSuchMcs;
    /// MCS by name, such as `13` or `12.3`.
    fn from_str(name: &str) -> Result<Self, NoSuchMcs> {
        let found = TABLE.iter().position(|r| r.name == name);
        found.map(|i| Self(i as u8)).ok_or_else(|| NoSuchMcs(crate::error::shorten(name)))
    }
}

impl fmt::Display for Mcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl fmt::Debug for Mcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCS {}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_bits_as_in_the_standard() {
        // (name, data bits, kb/s)
        let known: [(&str, u64, u64); 39] = [
            ("0", 0, 27_500),
            ("1", 112, 385_000),
            ("2", 224, 770_000),
            ("3", 280, 962_500),
            ("4", 336, 1_155_000),
            ("5", 364, 1_251_250),
            ("6", 448, 1_540_000),
            ("7", 560, 1_925_000),
            ("8", 672, 2_310_000),
            ("9", 728, 2_502_500),
            ("10", 896, 3_080_000),
            ("11", 1120, 3_850_000),
            ("12", 1344, 4_620_000),
            ("13", 168, 693_000),
            ("14", 210, 866_250),
            ("15", 336, 1_386_000),
            ("16", 420, 1_732_500),
            ("17", 504, 2_079_000),
            ("18", 672, 2_772_000),
            ("19", 840, 3_465_000),
            ("20", 1008, 4_158_000),
            ("21", 1092, 4_504_500),
            ("22", 1260, 5_197_500),
            ("23", 1512, 6_237_000),
            ("24", 1638, 6_756_750),
            // Data bits rounded down; the standard prints 626, 834, 1112, 1251, 1668, 2224 and 2503
            // Mb/s.
            ("25", 182, 625_625),
            ("26", 242, 834_166),
            ("27", 323, 1_112_222),
            ("28", 364, 1_251_250),
            ("29", 485, 1_668_333),
            ("30", 647, 2_224_444),
            ("31", 728, 2_502_500),
            ("9.1", 784, 2_695_000),
            ("12.1", 1456, 5_005_000),
            ("12.2", 1568, 5_390_000),
            ("12.3", 1680, 5_775_000),
            ("12.4", 2016, 6_930_000),
            ("12.5", 2184, 7_507_500),
            ("12.6", 2352, 8_085_000),
        ];
        assert_eq!(Mcs::all().count(), known.len());
        for (mcs, (name, bits, kbps)) in Mcs::all().zip(known) {
            assert_eq!((mcs.name(), mcs.rate().as_bps() / 1000), (name, kbps));
            assert_eq!(mcs.data_bits().map_or(0, |(n, of)| n / of), bits, "{mcs:?}");
            assert_eq!(name.parse(), Ok(mcs));
        }
    }

    #[test]
    fn the_proxys_rates() {
        let rates: Vec<u64> = Mcs::single_carrier().map(|m| m.rate_in(Frequency::mhz(500)).as_bps() / 1000).collect();
        let known = [
            125_000, 250_000, 312_500, 375_000, 406_250, 500_000, 625_000, 750_000, 812_500, 1_000_000, 1_250_000,
            1_500_000,
        ];
        assert_eq!(rates, known);
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        assert!(Mcs::numbered(24).is_ok());
        assert_eq!(Mcs::numbered(32).unwrap_err().to_string(), "there is no MCS 32: 0 to 31, 9.1, 12.1 to 12.6");
        for name in ["", "-1", "32", "12.7", "9.10", "MCS 3", " 3"] {
            assert!(name.parse::<Mcs>().is_err(), "{name}");
        }
    }
}
