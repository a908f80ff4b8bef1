//! Airtime of 802.11ad frames.
//!
//! Lengths are sums of chips and samples, exact and rounded once.

use crate::link_to_system::codewords;
use crate::mcs::{Mcs, Phy};
use timeplane_model::{Bytes, Duration};

/// The largest PSDU and A-MPDU of 802.11ad, 2^18 - 1 octets.
pub const MAX_PSDU: Bytes = Bytes::new(262_143);
/// The longest PPDU of 802.11ad.
pub const MAX_PPDU_TIME: Duration = Duration::from_ms(2);

/// Time in 1/33 ps, which chips of 1/1.76 GHz and samples of 1/2.64 GHz are multiples of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks(u64);

impl Ticks {
    const fn chips(n: u64) -> Self {
        Self(n * 18_750)
    }
    const fn samples(n: u64) -> Self {
        Self(n * 12_500)
    }
    const fn ns(n: u64) -> Self {
        Self(n * 33_000)
    }
}

/// Durations of a frame's parts.
///
/// Times are exact sums of chips and samples. They are rounded up to a picosecond once, at the end
/// of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhyTiming {
    /// Short training and channel estimation of single carrier and OFDM.
    preamble: Ticks,
    single_carrier_header: Ticks,
    ofdm_header: Ticks,
    ofdm_symbol: Ticks,
    control_preamble: Ticks,
    /// Header with the first 6 octets of the PSDU, which share the header's codeword.
    control_header: Ticks,
}

impl PhyTiming {
    /// IEEE 802.11ad-2012, clause 21: preamble 2176 + 1152 chips (1890.9 ns), header of the single
    /// carrier 1024 chips (581.8 ns), OFDM symbols and header of 640 samples (242.4 ns), control
    /// preamble 6400 + 1152 chips (4290.9 ns) and header 8192 chips (4654.5 ns).
    pub const STANDARD: Self = Self {
        preamble: Ticks::chips(2176 + 1152),
        single_carrier_header: Ticks::chips(1024),
        ofdm_header: Ticks::samples(640),
        ofdm_symbol: Ticks::samples(640),
        control_preamble: Ticks::chips(6400 + 1152),
        control_header: Ticks::chips(8192),
    };
    /// The same in whole nanoseconds, as in simulators of the draft: 1891, 582, 242, 4291 and 4654
    /// ns, and OFDM symbols of 242 ns.
    pub const WHOLE_NANOSECONDS: Self = Self {
        preamble: Ticks::ns(1891),
        single_carrier_header: Ticks::ns(582),
        ofdm_header: Ticks::ns(242),
        ofdm_symbol: Ticks::ns(242),
        control_preamble: Ticks::ns(4291),
        control_header: Ticks::ns(4654),
    };

    /// Duration of preamble and header.
    pub fn overhead(&self, mcs: Mcs) -> Duration {
        to_duration(self.before(mcs))
    }

    /// A frame from its first chip to its last, with a PSDU of so many octets.
    ///
    /// - Single carrier: `N_CW = ⌈8 L / (672 R)⌉` codewords (168 data bits each in MCS 1; 624 coded
    ///   bits each at rate 7/8), blocks `⌈672 N_CW / N_CBPB⌉` of 512 chips, and 64 chips of guard.
    /// - OFDM: symbols `⌈672 N_CW / N_CBPS⌉`.
    /// - Control: the header's codeword holds 6 octets; the rest takes 8 bits an octet and 168 bits
    ///   of parity for every 168 data bits or less, and each bit 32 chips.
    /// - Low power (MCS 25 to 31): 16 octets of Reed-Solomon for every 208 or less, then the inner
    ///   code, blocks of 392 symbols. Ours, from the code rates: the standard's rules for a last,
    ///   shorter block were not at hand.
    ///
    /// # Panics
    /// Where it takes longer than 106 days.
    pub fn airtime(&self, mcs: Mcs, psdu: Bytes) -> Duration {
        to_duration(self.before(mcs) + self.payload(mcs, psdu))
    }

    /// Number of PSDU bits sent by `elapsed` after a frame's start.
    ///
    /// It is zero during preamble and header, then grows linearly to all bits at the frame's end.
    /// Interferers that come or go during a frame hit these bits.
    pub fn bits_by(&self, mcs: Mcs, psdu: Bytes, elapsed: Duration) -> u64 {
        let bits = 8 * psdu.get();
        let (begin, end) = (self.overhead(mcs).as_ps(), self.airtime(mcs, psdu).as_ps());
        if elapsed.as_ps() >= end {
            return bits;
        }
        let span = (elapsed.as_ps() - begin).max(0) as u128;
        // Less than `bits`, because the span is shorter than the whole.
        (u128::from(bits) * span / (end - begin).max(1) as u128) as u64
    }

    fn before(&self, mcs: Mcs) -> u128 {
        let parts = match mcs.phy() {
            Phy::Control => (self.control_preamble, self.control_header),
            Phy::SingleCarrier | Phy::LowPower => (self.preamble, self.single_carrier_header),
            Phy::Ofdm => (self.preamble, self.ofdm_header),
        };
        u128::from(parts.0.0 + parts.1.0)
    }

    fn payload(&self, mcs: Mcs, psdu: Bytes) -> u128 {
        let chips = |n: u128| n * u128::from(Ticks::chips(1).0);
        let octets = u128::from(psdu.get());
        let code = mcs.code();
        let Some(places) = mcs.coded_bits() else {
            let bits = 8 * octets.saturating_sub(6);
            return chips(32 * (bits + 168 * bits.div_ceil(168)));
        };
        let coded = match mcs.phy() {
            Phy::LowPower => {
                let outer = 8 * (octets + 16 * octets.div_ceil(208).max(1));
                // The code rate is 13/14 of Reed-Solomon times that of the inner code.
                outer * 13 * u128::from(code.coded) / (14 * u128::from(code.data))
            }
            _ if code.data == 7 => 624 * u128::from(codewords(mcs, psdu)),
            _ => 672 * u128::from(codewords(mcs, psdu)),
        };
        let blocks = coded.div_ceil(u128::from(places));
        match mcs.phy() {
            Phy::Ofdm => blocks * u128::from(self.ofdm_symbol.0),
            _ => chips(512 * blocks + 64),
        }
    }
}

fn to_duration(ticks: u128) -> Duration {
    Duration::from_ps(i64::try_from(ticks.div_ceil(33)).expect("a frame longer than 106 days"))
}
