//! Tests of PAUSE, PFC, extended PFC and UDP frames: bytes from the standards' field tables, round
//! trips, and parsers on arbitrary bytes.

use core::net::Ipv4Addr;
use proptest::prelude::*;
use timeplane_model::Duration;
use timeplane_protocol::wire::{
    ControlFrame, EncodeError, Endpoint, ExtendedPfcFrame, MAC_CONTROL_ADDRESS, MacAddress, PauseFrame, PfcClass,
    PfcFrame, Quanta, SignalEtherType, UdpFrame, WireError,
};
use timeplane_protocol::{Message, Pfc};

const CONTROLLER: MacAddress = MacAddress([0x02, 0, 0, 0, 0, 0xaa]);
const HOST: MacAddress = MacAddress([0x02, 0, 0, 0, 0, 0x07]);

/// Bytes from hexadecimal digits, padded with zeros to a frame.
fn frame(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    let mut bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

fn class(number: u16) -> PfcClass {
    PfcClass::new(number).unwrap()
}

#[test]
fn pause_is_annex_31b() {
    let golden = frame("0180c2000001 0200000000aa 8808 0001 1809");
    let pause = PauseFrame::new(CONTROLLER, Quanta(6153));
    assert_eq!(pause.encode().as_slice(), golden);
    assert_eq!(PauseFrame::parse(&golden, HOST), Ok(pause));
    // To one station, as a controller several switches away sends it.
    let routed = PauseFrame { destination: HOST, time: Quanta::ZERO, ..pause };
    assert_eq!(routed.encode().as_slice(), frame("020000000007 0200000000aa 8808 0001 0000"));
    assert_eq!(PauseFrame::parse(&routed.encode(), HOST), Ok(routed));
    // A receiver ignores padding and an FCS that the capture kept.
    let mut padded = frame("0180c2000001 0200000000aa 8808 0001 1809 dead");
    padded.extend([1, 2, 3, 4]);
    assert_eq!(PauseFrame::parse(&padded, HOST), Ok(pause));
}

#[test]
fn pfc_is_annex_31d() {
    // Classes 0, 3 and 7: vector 0x0089; class 3 is opened.
    let golden = frame("0180c2000001 0200000000aa 8808 0101 0089 ffff 0000 0000 0000 0000 0000 0000 0064");
    let mut times = [None; 8];
    (times[0], times[3], times[7]) = (Some(Quanta::MAX), Some(Quanta::ZERO), Some(Quanta(100)));
    let pfc = PfcFrame::new(CONTROLLER, times);
    assert_eq!(pfc.encode().as_slice(), golden);
    assert_eq!(PfcFrame::parse(&golden, HOST), Ok(pfc));
    // The vector's upper byte, and times of disabled classes, are ignored.
    let loose = frame("0180c2000001 0200000000aa 8808 0101 ff89 ffff 0001 0002 0000 0003 0004 0005 0064");
    assert_eq!(PfcFrame::parse(&loose, HOST), Ok(pfc));
    // TDMA: all classes pause except one.
    let slot = frame("0180c2000001 0200000000aa 8808 0101 00ff 1809 1809 0000 1809 1809 1809 1809 1809");
    assert_eq!(PfcFrame::all_but(CONTROLLER, 1 << 2, Quanta(6153)).encode().as_slice(), slot);
}

#[test]
fn extended_pfc_is_as_documented() {
    let golden = frame("020000000007 0200000000aa 88b5 010b 01 82 1809 00000003 00010002 07ff 0000 0005 0064");
    let classes = vec![(class(2047), Quanta::ZERO), (class(5), Quanta(100))];
    let extended = ExtendedPfcFrame::new(CONTROLLER, HOST, (3, 0x1_0002), Some(Quanta(6153)), classes).unwrap();
    assert_eq!(extended.encode().as_slice(), golden);
    assert_eq!(ExtendedPfcFrame::parse(&golden, HOST).as_ref(), Ok(&extended));
    let times = [2047, 5, 6].map(|c| extended.time(class(c)));
    assert_eq!(times, [Some(Quanta::ZERO), Some(Quanta(100)), Some(Quanta(6153))]);
    // As a MAC control frame it is identified by its opcode; the other EtherType is not MAC
    // control.
    let mut control = extended;
    (control.ether_type, control.destination, control.others) =
        (SignalEtherType::MacControl, MAC_CONTROL_ADDRESS, None);
    let bytes = control.encode();
    assert_eq!(
        bytes.as_slice(),
        frame("0180c2000001 0200000000aa 8808 010b 01 02 0000 00000003 00010002 07ff 0000 0005 0064")
    );
    assert_eq!(ControlFrame::parse(&bytes, HOST), Ok(ControlFrame::Extended(control)));
    assert_eq!(ControlFrame::parse(&golden, HOST), Err(WireError::EtherType { found: 0x88b5, expected: 0x8808 }));
    // The end of a slot names no class.
    let mute = ExtendedPfcFrame::all_but(CONTROLLER, HOST, (0, 1), None, Quanta::MAX);
    assert_eq!(mute.encode().as_slice(), frame("020000000007 0200000000aa 88b5 010b 01 80 ffff 00000000 00000001"));
}

#[test]
fn a_signal_is_an_extended_pfc_frame() {
    let hold = Duration::from_ps(0x0102_0304_0506);
    let signal = Pfc { epoch: 3, sequence: 0x7_0001_0002, open: Some(2047), hold };
    let golden = frame(
        "020000000007 0200000000aa 88b5 010b 01 c1 ffff 00000003 00010002 07ff 0000 00000000 00000000 00000000 \
         00000007 0000010203040506",
    );
    assert_eq!(signal.encode(CONTROLLER, HOST).unwrap().as_slice(), golden);
    assert_eq!(Pfc::parse(&golden, HOST), Ok(signal));
    // Preamble, FCS and interframe space are added on the wire, as the simulation counts.
    assert_eq!(golden.len() as u32 + 24, Message::Pfc(signal).wire_bytes());
    let wide = Pfc { open: Some(2048), ..signal };
    assert_eq!(wide.encode(CONTROLLER, HOST), Err(EncodeError::Range { what: "class", value: 2048, most: 2047 }));
    let negative = Pfc { hold: -Duration::from_ps(1), ..signal };
    assert!(matches!(negative.encode(CONTROLLER, HOST), Err(EncodeError::Range { what: "hold", .. })));
    // Other extended frames are not signals: one without a hold, one that leaves other classes as
    // they are, and one that names a paused class, or two.
    let with = |others, classes: &[(u16, u16)], hold: Option<Duration>| {
        let classes = classes.iter().map(|&(c, time)| (class(c), Quanta(time))).collect();
        let frame = ExtendedPfcFrame::new(CONTROLLER, HOST, (0, 0), others, classes).unwrap();
        let frame = if let Some(hold) = hold { frame.holding(hold).unwrap() } else { frame };
        assert_eq!(ExtendedPfcFrame::parse(&frame.encode(), HOST).as_ref(), Ok(&frame));
        Pfc::parse(&frame.encode(), HOST)
    };
    let (all, hold) = (Some(Quanta::MAX), Some(hold));
    assert!(with(all, &[(1, 0)], hold).is_ok() && with(all, &[], hold).is_ok());
    assert_eq!(with(all, &[], None), Err(WireError::Value { at: 17, what: "no hold" }));
    assert_eq!(with(None, &[], hold), Err(WireError::Value { at: 18, what: "others than all paused" }));
    assert_eq!(with(all, &[(1, 1)], hold), Err(WireError::Value { at: 30, what: "a named class that is paused" }));
    assert_eq!(with(all, &[(1, 0), (2, 0)], hold), Err(WireError::Value { at: 17, what: "more than one open class" }));
    assert_eq!(Pfc::parse(&golden, CONTROLLER), Err(WireError::Destination { found: HOST }));
}

#[test]
fn a_frame_names_four_classes_once_each() {
    let new = |numbers: &[u16]| {
        ExtendedPfcFrame::new(
            CONTROLLER,
            HOST,
            (0, 0),
            None,
            numbers.iter().map(|&c| (class(c), Quanta::ZERO)).collect(),
        )
    };
    assert!(new(&[4, 3, 2, 1]).is_ok());
    assert_eq!(new(&[1, 2, 3, 4, 5]), Err(EncodeError::Range { what: "a number of classes", value: 5, most: 4 }));
    assert_eq!(new(&[1, 2, 1]), Err(EncodeError::Disordered { what: "class", index: 2 }));
    assert_eq!(PfcClass::new(2048), None);
}

#[test]
fn foreign_frames_say_what_they_are() {
    let good = PauseFrame::new(CONTROLLER, Quanta(1)).encode();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        ControlFrame::parse(&changed, HOST)
    };
    for have in 0..60 {
        assert_eq!(ControlFrame::parse(&good[..have], HOST), Err(WireError::Truncated { have, need: 60 }));
    }
    assert_eq!(with(12, &[0x08, 0x00]), Err(WireError::EtherType { found: 0x0800, expected: 0x8808 }));
    assert_eq!(with(14, &[0, 2]), Err(WireError::Opcode { found: 2 }));
    assert_eq!(with(0, &[0xff; 6]), Err(WireError::Destination { found: MacAddress([0xff; 6]) }));
    assert_eq!(with(0, &CONTROLLER.0), Err(WireError::Destination { found: CONTROLLER }));
    // A valid frame of another kind than the one expected.
    assert_eq!(PfcFrame::parse(&good, HOST), Err(WireError::Opcode { found: 0x0001 }));
    let pfc = PfcFrame::new(CONTROLLER, [None; 8]).encode();
    assert_eq!(PauseFrame::parse(&pfc, HOST), Err(WireError::Opcode { found: 0x0101 }));
}

#[test]
fn bits_of_ours_that_mean_nothing_are_refused() {
    let good = ExtendedPfcFrame::all_but(CONTROLLER, HOST, (0, 0), Some(class(1)), Quanta(9)).encode();
    let with = |at: usize, byte: u8| {
        let mut changed = good;
        changed[at] = byte;
        ExtendedPfcFrame::parse(&changed, HOST)
    };
    assert_eq!(with(15, 0x01), Err(WireError::Opcode { found: 0x0101 }));
    assert_eq!(with(16, 2), Err(WireError::Version { found: 2 }));
    assert_eq!(with(17, 0x88), Err(WireError::Reserved { at: 17 }));
    assert_eq!(with(17, 0x85), Err(WireError::Value { at: 17, what: "more than 4 classes" }));
    // A time for other classes without its flag.
    assert_eq!(with(17, 0x01), Err(WireError::Reserved { at: 19 }));
    // Class 0x0801: the upper five bits are zero.
    assert_eq!(with(28, 0x08), Err(WireError::Reserved { at: 28 }));
    // A second class beyond the count, and bytes after all fields.
    assert_eq!(with(33, 1), Err(WireError::Reserved { at: 33 }));
    assert_eq!(with(59, 1), Err(WireError::Reserved { at: 59 }));
    // A hold without its flag, and a negative hold.
    assert_eq!(with(55, 1), Err(WireError::Reserved { at: 55 }));
    let mut held = Pfc { epoch: 0, sequence: 0, open: None, hold: Duration::ZERO }.encode(CONTROLLER, HOST).unwrap();
    held[48] = 0x80;
    assert_eq!(ExtendedPfcFrame::parse(&held, HOST), Err(WireError::Reserved { at: 48 }));
}

#[test]
fn udp_is_rfc_791_and_768() {
    let end = |mac, last, port| Endpoint { mac, ip: Ipv4Addr::new(10, 0, 0, last), port };
    let (source, destination) = (end(CONTROLLER, 1, 51_208), end(HOST, 7, 0x1234));
    let udp = UdpFrame { source, destination, payload: b"abc".to_vec() };
    // Sums by hand. IPv4: 4500 + 001f + 0000 + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0007 = d938,
    // complement 26c7. UDP: 0a00 + 0001 + 0a00 + 0007 + 0011 + 000b + c808 + 1234 + 000b + 6162 +
    // 6300 = 1b2cd, folded b2ce, complement 4d31.
    let golden = frame(
        "020000000007 0200000000aa 0800 4500 001f 0000 4000 4011 26c7 0a000001 0a000007 c808 1234 000b 4d31 616263",
    );
    assert_eq!(udp.encode().unwrap(), golden);
    assert_eq!(UdpFrame::parse(&golden), Ok(udp.clone()));
    let with = |at: usize, byte: u8| {
        let mut changed = golden.clone();
        changed[at] = byte;
        UdpFrame::parse(&changed)
    };
    assert_eq!(with(13, 0x06), Err(WireError::EtherType { found: 0x0806, expected: 0x0800 }));
    assert_eq!(with(14, 0x65), Err(WireError::Version { found: 6 }));
    assert!(matches!(with(14, 0x44), Err(WireError::Value { at: 14, .. })));
    assert_eq!(with(16, 1), Err(WireError::Truncated { have: 60, need: 14 + 0x11f }));
    assert!(matches!(with(22, 63), Err(WireError::Checksum { of: "IPv4", found: 0x26c7, computed: 0x27c7 })));
    assert!(matches!(with(44, b'd'), Err(WireError::Checksum { of: "UDP", found: 0x4d31, .. })));
    // With corrected checksums: a fragment, and TCP.
    let both = |at: usize, byte: u8, sum: u16| {
        let mut changed = golden.clone();
        changed[at] = byte;
        changed[24..26].copy_from_slice(&sum.to_be_bytes());
        UdpFrame::parse(&changed)
    };
    assert_eq!(both(20, 0x20, 0x46c7), Err(WireError::Fragment));
    assert_eq!(both(23, 6, 0x26d2), Err(WireError::Protocol { found: 6 }));
    // A checksum of zero means that there is none.
    let mut without = golden.clone();
    without[40..42].fill(0);
    assert_eq!(UdpFrame::parse(&without), Ok(udp.clone()));
    // A sum that comes out as zero is sent as ffff.
    let with_zeros = UdpFrame { payload: vec![0, 0], ..udp.clone() }.encode().unwrap();
    let zero_sum = UdpFrame { payload: with_zeros[40..42].to_vec(), ..udp.clone() };
    let bytes = zero_sum.encode().unwrap();
    assert_eq!(bytes[40..42], [0xff, 0xff]);
    assert_eq!(UdpFrame::parse(&bytes), Ok(zero_sum));
    let long = UdpFrame { payload: vec![0; 1473], ..udp };
    assert_eq!(long.encode(), Err(EncodeError::Range { what: "a payload", value: 1473, most: 1472 }));
}

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

/// Destination of a frame, and the receiving station.
fn destination() -> impl Strategy<Value = (MacAddress, MacAddress)> {
    (mac(), any::<bool>()).prop_map(|(station, own)| (if own { station } else { MAC_CONTROL_ADDRESS }, station))
}

fn quanta() -> impl Strategy<Value = Quanta> {
    any::<u16>().prop_map(Quanta)
}

fn extended() -> impl Strategy<Value = (ExtendedPfcFrame, MacAddress)> {
    let named = prop::collection::btree_map(0u16..2048, any::<u16>(), 0..5);
    let rest = (any::<bool>(), any::<(u32, u64)>(), prop::option::of(quanta()), prop::option::of(0..=i64::MAX));
    (destination(), mac(), named, rest).prop_map(
        |((destination, station), source, named, (mac, numbers, others, hold))| {
            let classes = named.into_iter().map(|(c, t)| (class(c), Quanta(t))).collect();
            let ether_type = if mac { SignalEtherType::MacControl } else { SignalEtherType::Experimental };
            let mut frame = ExtendedPfcFrame::new(source, destination, numbers, others, classes).unwrap();
            frame.ether_type = ether_type;
            if let Some(hold) = hold {
                frame = frame.holding(Duration::from_ps(hold)).unwrap();
            }
            (frame, station)
        },
    )
}

fn udp() -> impl Strategy<Value = UdpFrame> {
    let end =
        || (mac(), any::<[u8; 4]>(), any::<u16>()).prop_map(|(mac, ip, port)| Endpoint { mac, ip: ip.into(), port });
    (end(), end(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(source, destination, payload)| UdpFrame {
        source,
        destination,
        payload,
    })
}

/// Runs all parsers, none of which may panic.
fn parse_all(bytes: &[u8], station: MacAddress) {
    let _ = PauseFrame::parse(bytes, station);
    let _ = PfcFrame::parse(bytes, station);
    let _ = ControlFrame::parse(bytes, station);
    let _ = ExtendedPfcFrame::parse(bytes, station);
    let _ = Pfc::parse(bytes, station);
    let _ = UdpFrame::parse(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn standard_frames_come_back(
        (destination, station) in destination(), source in mac(), time in quanta(),
        times: [Option<u16>; 8],
    ) {
        let pause = PauseFrame { source, destination, time };
        prop_assert_eq!(PauseFrame::parse(&pause.encode(), station), Ok(pause));
        let pfc = PfcFrame { source, destination, times: times.map(|t| t.map(Quanta)) };
        prop_assert_eq!(PfcFrame::parse(&pfc.encode(), station), Ok(pfc));
        prop_assert_eq!(ControlFrame::parse(&pfc.encode(), station), Ok(ControlFrame::Pfc(pfc)));
    }

    /// In an extended frame every bit matters: changed bytes give another frame, and a parsed frame
    /// encodes to the same bytes.
    #[test]
    fn extended_frames_come_back((frame, station) in extended(), bit in 0usize..480) {
        let mut bytes = frame.encode();
        prop_assert_eq!(ExtendedPfcFrame::parse(&bytes, station), Ok(frame.clone()));
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = ExtendedPfcFrame::parse(&bytes, station) {
            prop_assert_ne!(&other, &frame);
            prop_assert_eq!(other.encode(), bytes);
        }
    }

    /// With a flipped bit after its addresses it is another signal, or none.
    #[test]
    fn signals_come_back(
        (epoch, sequence) in any::<(u32, u64)>(), open in prop::option::of(0u16..2048), hold in 0..=i64::MAX,
        source in mac(), bit in 12 * 8usize..480,
    ) {
        let signal = Pfc { epoch, sequence, open, hold: Duration::from_ps(hold) };
        let mut bytes = signal.encode(source, HOST).unwrap();
        prop_assert_eq!(Pfc::parse(&bytes, HOST), Ok(signal));
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_ne!(Pfc::parse(&bytes, HOST), Ok(signal));
    }

    /// A flipped bit of the IPv4 header or the datagram is always detected.
    #[test]
    fn udp_frames_come_back(udp in udp(), flip: prop::sample::Index) {
        let mut bytes = udp.encode().unwrap();
        prop_assert_eq!(UdpFrame::parse(&bytes), Ok(udp.clone()));
        let covered = 14..14 + 28 + udp.payload.len();
        let bit = 8 * covered.start + flip.index(8 * covered.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let read = UdpFrame::parse(&bytes);
        // One flip makes a UDP checksum zero, which means that there is none: the datagram stays
        // the same.
        prop_assert!(read.is_err() || read.as_ref() == Ok(&udp), "{:?}", read);
    }

    #[test]
    fn parsers_take_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..120), station in mac()) {
        parse_all(&bytes, station);
        // Arbitrary bytes after a valid start.
        for opcode in [[0, 1], [1, 1], [1, 0x0b], [0xff, 0xfe]] {
            for ether_type in [[0x88, 0x08], [0x88, 0xb5], [0x08, 0x00]] {
                let head = [&station.0[..], &station.0, &ether_type, &opcode];
                parse_all(&[&head.concat(), &bytes[..]].concat(), station);
            }
        }
        let ip = [&station.0[..], &station.0, &[8, 0, 0x45, 0]].concat();
        parse_all(&[&ip, &bytes[..]].concat(), station);
    }

    #[test]
    fn parsers_take_cut_and_broken_frames(
        (frame, station) in extended(), udp in udp(), cut: prop::sample::Index,
        flips in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let pause = PauseFrame::new(station, Quanta(7)).encode().to_vec();
        let pfc = PfcFrame::all_but(station, 5, Quanta(7)).encode().to_vec();
        for mut bytes in [pause, pfc, frame.encode().to_vec(), udp.encode().unwrap()] {
            for flip in &flips {
                let bit = flip.index(8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            parse_all(&bytes, station);
            if bytes.len() < 60 {
                let have = bytes.len();
                prop_assert_eq!(ControlFrame::parse(&bytes, station), Err(WireError::Truncated { have, need: 60 }));
            }
        }
    }
}
