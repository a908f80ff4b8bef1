//! The tests' own reader gets back the captures that were written.

use crate::pcapng_reader;
use proptest::prelude::*;
use timeplane_results::pcapng::{Direction, Frame, Interface, PcapngFile, PcapngWriter};

#[test]
fn the_first_blocks_are_as_the_format_has_them() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    writer.interface(&Interface { name: "a", description: "bc", bps: None }).unwrap();
    let frame = Frame { interface: 0, at_ns: 1 << 32 | 5, bytes: &[1, 2, 3], length: 9, direction: None, comment: "" };
    writer.frame(&frame).unwrap();
    let words: Vec<u32> =
        writer.finish().unwrap().chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
    let section = [0x0a0d_0d0a, 48, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 0x0009_0004];
    assert_eq!(words[..7], section);
    // "timeplane" takes three words; no more options; the length again.
    assert_eq!(words[10..12], [0, 48]);
    assert_eq!(words[12..24], [1, 48, 1, 0, 0x0001_0002, 0x61, 0x0002_0003, 0x6362, 0x0001_0009, 9, 0, 48]);
    assert_eq!(words[24..], [6, 40, 0, 1, 5, 3, 9, 0x0003_0201, 0, 40]);
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let path = std::env::temp_dir().join("no-such-folder-of-timeplane/x.pcapng");
    let error = PcapngFile::create(&path).unwrap_err().to_string();
    assert!(error.contains("no-such-folder-of-timeplane/x.pcapng"), "{error}");
}

proptest! {
    #[test]
    fn frames_are_read_as_they_are_written(
        interfaces in proptest::collection::vec(("[a-z0-9]{1,9}", "[a-zü ]{0,20}", proptest::option::of(any::<u64>())), 1..4),
        frames in proptest::collection::vec(
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..90), 0u32..9000, "[a-zé 0-9]{0,30}", 0u8..3, any::<prop::sample::Index>()),
            0..40,
        ),
    ) {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        for (i, (name, description, bps)) in interfaces.iter().enumerate() {
            prop_assert_eq!(writer.interface(&Interface { name, description, bps: *bps }).unwrap(), i as u32);
        }
        for (at, bytes, more, comment, direction, interface) in &frames {
            let direction = [None, Some(Direction::In), Some(Direction::Out)][usize::from(*direction)];
            let (interface, length) = (interface.index(interfaces.len()) as u32, bytes.len() as u32 + more);
            writer.frame(&Frame { interface, at_ns: *at, bytes, length, direction, comment }).unwrap();
        }
        let (found, seen) = pcapng_reader::read(&writer.finish().unwrap());
        prop_assert_eq!(found.len(), interfaces.len());
        for (found, (name, description, bps)) in found.iter().zip(&interfaces) {
            prop_assert_eq!((&found.name, &found.description, found.speed), (name, description, *bps));
            prop_assert_eq!((found.link_type, found.resolution), (1, 9));
        }
        prop_assert_eq!(seen.len(), frames.len());
        for (seen, (at, bytes, more, comment, direction, interface)) in seen.iter().zip(&frames) {
            prop_assert_eq!((seen.at, &seen.bytes, seen.length), (*at, bytes, bytes.len() as u32 + more));
            prop_assert_eq!(seen.interface, interface.index(interfaces.len()) as u32);
            prop_assert_eq!(seen.comment.as_deref().unwrap_or(""), comment);
            prop_assert_eq!(seen.direction, (*direction > 0).then_some(u32::from(*direction)));
        }
    }
}
