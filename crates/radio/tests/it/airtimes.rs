//! Tests frame durations against values computed by hand, and what follows from them.

use proptest::prelude::*;
use timeplane_model::{Bytes, Duration, Named};
use timeplane_radio::{
    Access, AckPath, BLOCK_ACK_WINDOW, FLYWAYS_DRAFT, IEEE_802_11AD_2012, MAX_PSDU, MacName, Mcs, PhyTiming,
    tcp_goodput,
};

fn mcs(name: &str) -> Mcs {
    name.parse().unwrap()
}

/// Chips of 1/1.76 GHz and samples of 1/2.64 GHz, rounded up to a picosecond.
fn ps(chips: u64, samples: u64) -> Duration {
    Duration::from_ps((chips * 18_750 + samples * 12_500).div_ceil(33) as i64)
}

/// Preamble and header of the single carrier and of OFDM.
const SC: u64 = 3328 + 1024;

#[test]
fn a_frame_of_4096_octets_at_every_rate() {
    // 32,768 bits. For each: codewords, then blocks or symbols.
    for (name, chips, samples) in [
        // Control: 4090 octets behind the header are 32,720 bits, 195 codewords with 168 of parity:
        // 65,480 bits of 32 chips.
        ("0", 6400 + 1152 + 8192 + 32 * 65_480, 0),
        // 196 codewords of 168 bits are 131,712 coded bits: 294 blocks.
        ("1", SC + 512 * 294 + 64, 0),
        // 98 of 336: 65,856 / 448 = 147.
        ("2", SC + 512 * 147 + 64, 0),
        // 79 of 420 (78.02): 53,088 / 448 = 118.5.
        ("3", SC + 512 * 119 + 64, 0),
        // 66 of 504 (65.02): 44,352 / 448 = 99.
        ("4", SC + 512 * 99 + 64, 0),
        // 61 of 546 (60.01): 40,992 / 448 = 91.5.
        ("5", SC + 512 * 92 + 64, 0),
        ("6", SC + 512 * 74 + 64, 0),
        ("7", SC + 512 * 60 + 64, 0),
        ("8", SC + 512 * 50 + 64, 0),
        ("9", SC + 512 * 46 + 64, 0),
        ("10", SC + 512 * 37 + 64, 0),
        ("11", SC + 512 * 30 + 64, 0),
        ("12", SC + 512 * 25 + 64, 0),
        // 98 codewords, 65,856 bits in symbols of 336.
        ("13", 3328, 640 * (1 + 196)),
        ("14", 3328, 640 * (1 + 158)),
        ("15", 3328, 640 * (1 + 98)),
        ("16", 3328, 640 * (1 + 79)),
        ("17", 3328, 640 * (1 + 66)),
        ("18", 3328, 640 * (1 + 49)),
        ("19", 3328, 640 * (1 + 40)),
        ("20", 3328, 640 * (1 + 33)),
        // 61 codewords, 40,992 bits in symbols of 1344: 30.5.
        ("21", 3328, 640 * (1 + 31)),
        // 53,088 / 2016 = 26.3; 44,352 / 2016 = 22; 40,992 / 2016 = 20.3.
        ("22", 3328, 640 * (1 + 27)),
        ("23", 3328, 640 * (1 + 22)),
        ("24", 3328, 640 * (1 + 21)),
        // 4096 octets and 20 times 16: 35,328 bits, twice, 3/2, 9/8 or once; blocks of 392 or 784.
        ("25", SC + 512 * 181 + 64, 0),
        ("26", SC + 512 * 136 + 64, 0),
        ("27", SC + 512 * 102 + 64, 0),
        ("28", SC + 512 * 91 + 64, 0),
        ("29", SC + 512 * 68 + 64, 0),
        ("30", SC + 512 * 51 + 64, 0),
        ("31", SC + 512 * 46 + 64, 0),
        // 61 codewords of 546 in 624: 38,064 / 896 = 42.5, / 1792 = 21.2, / 2688 = 14.2.
        ("9.1", SC + 512 * 43 + 64, 0),
        ("12.1", SC + 512 * 23 + 64, 0),
        ("12.2", SC + 512 * 22 + 64, 0),
        ("12.3", SC + 512 * 20 + 64, 0),
        ("12.4", SC + 512 * 17 + 64, 0),
        ("12.5", SC + 512 * 16 + 64, 0),
        ("12.6", SC + 512 * 15 + 64, 0),
    ] {
        assert_eq!(PhyTiming::STANDARD.airtime(mcs(name), Bytes::new(4096)), ps(chips, samples), "MCS {name}");
    }
    // In figures: 49.6 us at 693 Mb/s, 7.22 us at 6.76 Gb/s.
    assert_eq!(PhyTiming::STANDARD.airtime(mcs("13"), Bytes::new(4096)), Duration::from_ps(49_648_485));
    assert_eq!(PhyTiming::STANDARD.airtime(mcs("24"), Bytes::new(4096)), Duration::from_ps(7_224_243));
}

#[test]
fn bits_by_time() {
    let (timing, m, psdu) = (PhyTiming::STANDARD, mcs("24"), Bytes::new(4096));
    let bits = |t: Duration| timing.bits_by(m, psdu, t);
    let (begin, end) = (timing.overhead(m), timing.airtime(m, psdu));
    assert_eq!((bits(Duration::from_ps(-5)), bits(Duration::ZERO), bits(begin)), (0, 0, 0));
    assert_eq!((bits(end), bits(end * 2)), (32_768, 32_768));
    assert!(bits(end - Duration::from_ps(1)) < 32_768);
    let middle = Duration::from_ps((begin.as_ps() + end.as_ps()) / 2);
    assert!(bits(middle).abs_diff(16_384) <= 1);
    assert_eq!(timing.bits_by(m, Bytes::ZERO, middle), 0);
}

#[test]
fn control_frames_take_what_was_published() {
    for (octets, name, us) in [
        // ACK.
        (14, "1", 3.09),
        (14, "13", 2.62),
        (14, "0", 13.16),
        // Block ACK, compressed and basic.
        (32, "1", 3.38),
        (32, "13", 2.62),
        (32, "0", 18.84),
        (152, "0", 51.56),
        // Sector sweep, and its feedback.
        (26, "0", 14.91),
        (28, "0", 18.26),
    ] {
        let time = PhyTiming::STANDARD.airtime(mcs(name), Bytes::new(octets)).as_secs_f64() * 1e6;
        assert!((time - us).abs() < 0.006, "{octets} octets at MCS {name}: {time} us");
    }
    assert_eq!(PhyTiming::WHOLE_NANOSECONDS.overhead(mcs("24")), Duration::from_ns(2_133));
    assert_eq!(PhyTiming::STANDARD.overhead(mcs("24")), Duration::from_ps(2_133_334));
}

#[test]
fn interframe_spaces_and_windows() {
    let (draft, final_) = (&FLYWAYS_DRAFT, &IEEE_802_11AD_2012);
    assert_eq!((draft.pifs(), final_.pifs()), (Duration::from_us(4), Duration::from_us(8)));
    assert_eq!((draft.aifs(), final_.aifs()), (Duration::from_us(10), Duration::from_us(18)));
    let windows: Vec<u32> = (0..10).map(|n| final_.contention_window(n)).collect();
    assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 1023, 1023, 1023]);
    assert_eq!(draft.contention_window(1), 7);
    assert_eq!(draft.contention_window(u32::MAX), 1023);
}

#[test]
fn sweeps() {
    let mac = &IEEE_802_11AD_2012;
    let frame = mac.airtime(mcs("0"), Bytes::new(26));
    assert_eq!(mac.sector_sweep(1), frame);
    assert_eq!(mac.sector_sweep(36), frame * 36 + Duration::from_us(35));
    assert!((mac.sector_sweep(36).as_secs_f64() - 0.57e-3).abs() < 5e-6);
    assert_eq!(mac.sector_sweep(0), Duration::ZERO);
    let feedback = mac.airtime(mcs("0"), Bytes::new(28));
    assert_eq!(
        mac.beam_training(36, 4),
        mac.sector_sweep(36) + mac.sector_sweep(4) + feedback * 2 + Duration::from_us(27)
    );
}

#[test]
fn frames_are_filled_to_their_limits() {
    let mac = &IEEE_802_11AD_2012;
    let packets = || std::iter::repeat(Bytes::new(1500));
    // 1542 octets, padded to 1544.
    assert_eq!(mac.in_frame(Bytes::new(1500)), Bytes::new(1544));
    assert_eq!(mac.psdu([Bytes::new(1500), Bytes::new(40)]), Bytes::new(1544 + 84));
    // 262,143 octets are the limit at MCS 24, 2 ms at MCS 13.
    assert_eq!(mac.fill(mcs("24"), packets().take(1000)), 169);
    let slow = mac.fill(mcs("13"), packets().take(1000));
    let time = |n| mac.airtime(mcs("13"), mac.psdu(packets().take(n)));
    assert!(time(slow) <= Duration::from_ms(2) && time(slow + 1) > Duration::from_ms(2), "{slow}");
    let mut windowed = *mac;
    windowed.aggregation.max_packets = Some(BLOCK_ACK_WINDOW);
    assert_eq!(windowed.fill(mcs("24"), packets().take(1000)), 64);
    // Limits are inclusive.
    let mut tight = *mac;
    tight.aggregation.max_psdu = mac.psdu(packets().take(7));
    assert_eq!(tight.fill(mcs("24"), packets().take(9)), 7);
    tight.aggregation.max_time = Some(tight.airtime(mcs("24"), mac.psdu(packets().take(5))));
    assert_eq!(tight.fill(mcs("24"), packets().take(9)), 5);
    // A packet that exceeds every frame is sent alone.
    assert_eq!(mac.fill(mcs("1"), [MAX_PSDU, Bytes::new(1)]), 1);
    assert_eq!(mac.fill(mcs("1"), []), 0);
    assert_eq!(FLYWAYS_DRAFT.fill(mcs("24"), std::iter::repeat_n(Bytes::new(10_040), 9)), 6);
}

/// Flyways' table 2: 693 Mb/s and 6.76 Gb/s; ACKs over the air, ACKs on the wire, and no DCF.
#[test]
fn table_2_of_flyways() {
    let cells = [(AckPath::Air, Access::Dcf), (AckPath::Wire, Access::Dcf), (AckPath::Wire, Access::NoBackoff)];
    for (name, published, arithmetic) in [
        ("13", [656.0, 672.0, 676.0], [656.0, 672.0, 676.0]),
        ("24", [4580.0, 5360.0, 5620.0], [4602.0, 5353.0, 5607.0]),
    ] {
        for (i, (acks, access)) in cells.into_iter().enumerate() {
            let goodput = tcp_goodput(&FLYWAYS_DRAFT, mcs(name), acks, access).as_bps() as f64 / 1e6;
            assert!((goodput / published[i] - 1.0).abs() < 0.005, "MCS {name}, {acks:?}, {access:?}: {goodput}");
            // Values that others have computed, in whole megabits.
            assert!((goodput - arithmetic[i]).abs() < 1.1, "MCS {name}, {acks:?}, {access:?}: {goodput}");
        }
    }
}

#[test]
fn table_2_with_the_final_standard() {
    let cells = [
        (AckPath::Air, Access::Dcf),
        (AckPath::Wire, Access::Dcf),
        (AckPath::Wire, Access::NoBackoff),
        (AckPath::Wire, Access::BackToBack),
    ];
    for (name, others) in [("13", [611.0, 636.0, 646.0, 652.0]), ("24", [4842.0, 5294.0, 5890.0, 6163.0])] {
        for (i, (acks, access)) in cells.into_iter().enumerate() {
            let goodput = tcp_goodput(&IEEE_802_11AD_2012, mcs(name), acks, access).as_bps() as f64 / 1e6;
            assert!((goodput / others[i] - 1.0).abs() < 0.005, "MCS {name}, {acks:?}, {access:?}: {goodput}");
        }
    }
    // One packet per MPDU and 64 of them: a fifth less.
    let mut windowed = IEEE_802_11AD_2012;
    windowed.aggregation.max_packets = Some(BLOCK_ACK_WINDOW);
    let goodput = tcp_goodput(&windowed, mcs("24"), AckPath::Wire, Access::Dcf).as_bps() as f64 / 1e6;
    assert!((4050.0..4250.0).contains(&goodput), "{goodput}");
}

proptest! {
    /// Longer packets take no less time, and never less than their bits at the rate.
    #[test]
    fn airtime_grows(m in 0usize..39, octets in 0u64..300_000, more in 0u64..2_000) {
        let m = Mcs::all().nth(m).unwrap();
        for timing in [PhyTiming::STANDARD, PhyTiming::WHOLE_NANOSECONDS] {
            let time = timing.airtime(m, Bytes::new(octets));
            prop_assert!(timing.airtime(m, Bytes::new(octets + more)) >= time);
            let bits = m.rate().time_for(Bytes::new(octets.saturating_sub(6)));
            // Whole nanoseconds cut OFDM symbols by 0.2 %.
            prop_assert!((time - timing.overhead(m)).as_ps() as f64 >= bits.as_ps() as f64 * 0.998);
            prop_assert!(time > timing.overhead(m) || octets <= 6);
        }
    }

    #[test]
    fn what_fills_a_frame_fits(sizes in prop::collection::vec(1u64..20_000, 0..200), m in 0usize..39, window in 1u32..80) {
        let m = Mcs::all().nth(m).unwrap();
        let sizes: Vec<Bytes> = sizes.into_iter().map(Bytes::new).collect();
        for name in MacName::all() {
            let mut mac = *name.parameters();
            mac.aggregation.max_packets = Some(window);
            let n = mac.fill(m, sizes.iter().copied());
            let fits = |n: usize| {
                let psdu = mac.psdu(sizes[..n].iter().copied());
                n <= window as usize && psdu <= mac.aggregation.max_psdu
                    && mac.aggregation.max_time.is_none_or(|t| mac.airtime(m, psdu) <= t)
            };
            prop_assert!(n <= 1 || fits(n));
            prop_assert!(n == sizes.len() || !fits(n + 1));
            prop_assert!(n >= 1 || sizes.is_empty());
        }
    }
}
