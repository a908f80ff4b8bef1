//! Tests of a proxy's reports and windows as bytes, written by hand, and of invalid ones.

use timeplane_model::{Bytes, FlowId, LinkId, Rate, Time};
use timeplane_protocol::wire::{Control, EncodeError, Reassembler, WireError};
use timeplane_protocol::{LinkReport, LinkSample, LinkUse, QueueSample, Steer};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|p| u8::from_str_radix(core::str::from_utf8(p).unwrap(), 16).unwrap()).collect()
}

/// 1 Gb/s by MCS 10 over beams 3 and 4 at -71.36 dBm; 81,400 B in ten packets wait.
fn report() -> LinkReport {
    let uses = Some(LinkUse { rate: Rate::gbps(1), mcs: 10 });
    let sample = LinkSample { uses, beams: (3, 4), level_cdbm: -7136 };
    let queue = QueueSample { bytes: Bytes::new(81_400), packets: 10, drops: 2 };
    LinkReport { epoch: 1, sequence: 300, taken_at: Time::from_ps(3), link: LinkId(5), sample, queue }
}

fn read(hex: &str) -> Result<Option<Control>, WireError> {
    Reassembler::default().push(&bytes(hex))
}

const REPORT: &str = "01 0a 8000 00000001 000000000000012c 0000000000000003
    00000005 0000003b9aca00 0a 0003 0004 ffffe420 0000000000013df8 0000000a 0000000000000002";

#[test]
fn a_report_is_as_documented() {
    let control = Control::LinkReport(report());
    assert_eq!(control.encode(), Ok(vec![bytes(REPORT)]));
    assert_eq!(read(REPORT), Ok(Some(control)));
    let mut out = report();
    out.sample.uses = None;
    let silent = REPORT.replace("01 0a 80", "01 1a 80").replace("0000003b9aca00 0a", "00000000000000 00");
    assert_eq!(Control::LinkReport(out).encode(), Ok(vec![bytes(&silent)]));
    assert_eq!(read(&silent), Ok(Some(Control::LinkReport(out))));
}

#[test]
fn a_window_is_as_documented() {
    let steer = Steer { epoch: 1, sequence: 17, flow: FlowId(6), window: Bytes::mb(5), rate: Some(Rate::gbps(1)) };
    let golden = "01 1b 8000 00000001 0000000000000011 0000000000000000 00000006 00000000004c4b40 0000003b9aca00";
    assert_eq!(Control::Steer(steer).encode(), Ok(vec![bytes(golden)]));
    assert_eq!(read(golden), Ok(Some(Control::Steer(steer))));
    let free = Steer { rate: None, ..steer };
    let golden = "01 0b 8000 00000001 0000000000000011 0000000000000000 00000006 00000000004c4b40";
    assert_eq!(Control::Steer(free).encode(), Ok(vec![bytes(golden)]));
    assert_eq!(read(golden), Ok(Some(Control::Steer(free))));
    // Ethernet 38, IPv4 and UDP 28, header 24, and 12 of its own.
    assert_eq!(Control::Steer(free).wire_bytes(), Ok(102));
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |from: &str, to: &str| {
        let text = REPORT.replacen(from, to, 1);
        assert_ne!(text, REPORT);
        read(&text).unwrap_err()
    };
    let zero = WireError::Value { at: 4, what: "a rate of zero without the flag for no rate" };
    assert_eq!(with("0000003b9aca00 0a", "00000000000000 0a"), zero);
    // An outage with a rate, one with an MCS, another flag, a byte too much or too few.
    assert_eq!(with("01 0a 80", "01 1a 80"), WireError::Reserved { at: 7 });
    let silent = REPORT.replace("01 0a 80", "01 1a 80").replace("0000003b9aca00 0a", "00000000000000 0a");
    assert_eq!(read(&silent), Err(WireError::Reserved { at: 11 }));
    assert_eq!(with("01 0a 80", "01 2a 80"), WireError::Reserved { at: 1 });
    assert_eq!(with("0000000000000002", "000000000000000200"), WireError::Surplus { bytes: 1 });
    assert_eq!(with("0000000000000002", "00000000000002"), WireError::Truncated { have: 39, need: 40 });
    let timed = "01 0b 8000 00000001 0000000000000011 0000000000000001 00000006 00000000004c4b40";
    assert_eq!(read(timed), Err(WireError::Reserved { at: 16 }));
    // Values that cannot be encoded.
    let mut fast = report();
    fast.sample.uses = Some(LinkUse { rate: Rate::bps(1 << 56), mcs: 1 });
    let most = (1 << 56) - 1;
    assert_eq!(Control::LinkReport(fast).encode(), Err(EncodeError::Range { what: "a rate", value: 1 << 56, most }));
    fast.sample.uses = Some(LinkUse { rate: Rate::ZERO, mcs: 1 });
    assert_eq!(Control::LinkReport(fast).encode(), Err(EncodeError::Zero { what: "a rate" }));
}
