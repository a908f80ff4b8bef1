//! Tests of the capture file of `examples/frames.rs`: one of each control frame, read back by our
//! parsers.

#[allow(dead_code)]
#[path = "../../examples/frames.rs"]
mod example;

use timeplane_protocol::Pfc;
use timeplane_protocol::wire::{Control, ControlFrame, ExtendedPfcFrame, MacAddress, PORT, Reassembler, UdpFrame};

/// The frames of a capture file in libpcap's classic format.
fn read(file: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!([word(0), word(4), word(20)], [0xa1b2_c3d4, 0x0002_0004, 1]);
    let (mut frames, mut at) = (vec![], 24);
    while at < file.len() {
        let length = word(at + 8) as usize;
        assert_eq!(word(at + 12) as usize, length);
        frames.push(file[at + 16..at + 16 + length].to_vec());
        at += 16 + length;
    }
    frames
}

#[test]
fn the_capture_has_one_of_each() {
    let path = std::env::temp_dir().join(format!("timeplane-frames-{}.pcap", std::process::id()));
    std::fs::write(&path, example::capture(&example::frames().unwrap())).unwrap();
    let frames = read(&std::fs::read(&path).unwrap());
    std::fs::remove_file(&path).unwrap();

    let host = MacAddress([2, 0, 0, 0, 0, 7]);
    let mut reassembler = Reassembler::default();
    let mut kinds = vec![];
    for frame in &frames {
        assert!(frame.len() >= 60 && frame.len() <= 1514);
        kinds.push(
            match (ControlFrame::parse(frame, host), ExtendedPfcFrame::parse(frame, host), UdpFrame::parse(frame)) {
                (Ok(control), ..) => format!("{:#06x}", control.opcode()),
                (_, Ok(_), _) => if Pfc::parse(frame, host).is_ok() { "signal" } else { "extended" }.to_owned(),
                (_, _, Ok(udp)) => {
                    assert_eq!((udp.source.port, udp.destination.port), (PORT, PORT));
                    match reassembler.push(&udp.payload).unwrap() {
                        None => "part".to_owned(),
                        Some(Control::Message(m)) => format!("{m:?}").split('(').next().unwrap().to_owned(),
                        Some(Control::Schedule(_)) => "schedule".to_owned(),
                        Some(Control::Heartbeat(_)) => "heartbeat".to_owned(),
                        Some(Control::ClassNames(_)) => "names".to_owned(),
                        Some(Control::LinkReport(_)) => "link".to_owned(),
                        Some(Control::Steer(_)) => "steer".to_owned(),
                    }
                }
                other => panic!("{other:?}"),
            },
        );
    }
    let expected = "0x0001 0x0001 0x0101 0x0101 extended 0x010b signal part Report Grants Rates schedule heartbeat names \
                    Heartbeat Part Gathered link steer Flyways";
    assert_eq!(kinds.join(" "), expected);
}
