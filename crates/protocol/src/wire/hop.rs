//! Frames of datagrams that go from rack to rack over rotor switches.
//!
//! They are data frames on circuits ([`CIRCUIT`](crate::numbering::CIRCUIT)), so that a circuit
//! switch tells them from others, and have no seal: they are for labs.

use super::bytes::Reader;
use super::data::{DataHeader, ETHER_TYPE_DATA};
use super::error::WireError;
use super::ethernet::MacAddress;
use crate::numbering::CIRCUIT;

/// The header of such a frame, with Ethernet's.
///
/// | byte | length | field |
/// | --- | --- | --- |
/// | 0 | 6 | destination of this hop |
/// | 6 | 6 | source of this hop |
/// | 12 | 2 | EtherType 0x88B6 |
/// | 14 | 1 | version: 1, as in [`DataHeader`] |
/// | 15 | 1 | kind: 4 |
/// | 16 | 2 | 0x0800: it takes a circuit |
/// | 18 | 2 | bytes of the payload |
/// | 20 | 2 | the rack where the datagram began |
/// | 22 | 2 | the rack where it goes |
/// | 24 | 2 | the rack at the other end of this circuit |
/// | 26 | 2 | progress: what this hop hands on to the next |
/// | 28 | 4 | number of the flow |
/// | 32 | 8 | offset of the payload in the flow |
/// | 40 | 2 | hops, with this one |
///
/// Without Ethernet's header it has the 28 bytes of IPv4's and UDP's. Frames may be padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopHeader {
    /// The MAC address of the rack at the other end of this circuit.
    pub destination: MacAddress,
    /// The MAC address of the rack that sends over this circuit.
    pub source: MacAddress,
    /// Bytes behind the header.
    pub payload: u16,
    /// The rack where the datagram began.
    pub from: u16,
    /// The rack where it goes.
    pub to: u16,
    /// The rack at the other end of this circuit.
    pub next: u16,
    /// What this hop hands on to the next.
    pub progress: u16,
    /// Number of the flow.
    pub flow: u32,
    /// Offset of the payload in the flow.
    pub offset: u64,
    /// Hops, with this one.
    pub hops: u16,
}

impl HopHeader {
    /// Bytes with Ethernet's header.
    pub const BYTES: usize = 42;
    /// The value of the field of kinds ([`DataKind`](super::DataKind) has the others).
    pub const KIND: u8 = 4;

    /// Encodes the header; the payload follows.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut frame = [0; Self::BYTES];
        frame[..6].copy_from_slice(&self.destination.0);
        frame[6..12].copy_from_slice(&self.source.0);
        frame[12..14].copy_from_slice(&ETHER_TYPE_DATA.to_be_bytes());
        frame[14] = DataHeader::VERSION;
        frame[15] = Self::KIND;
        frame[16..18].copy_from_slice(&CIRCUIT.to_be_bytes());
        frame[18..20].copy_from_slice(&self.payload.to_be_bytes());
        frame[20..22].copy_from_slice(&self.from.to_be_bytes());
        frame[22..24].copy_from_slice(&self.to.to_be_bytes());
        frame[24..26].copy_from_slice(&self.next.to_be_bytes());
        frame[26..28].copy_from_slice(&self.progress.to_be_bytes());
        frame[28..32].copy_from_slice(&self.flow.to_be_bytes());
        frame[32..40].copy_from_slice(&self.offset.to_be_bytes());
        frame[40..42].copy_from_slice(&self.hops.to_be_bytes());
        frame
    }

    /// Parses a frame and returns its payload without padding.
    ///
    /// # Errors
    ///
    /// If it is truncated, or has another EtherType, version, kind or class.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut r = Reader::new(frame);
        let (destination, source, kind) = DataHeader::read_start(&mut r)?;
        if kind != Self::KIND {
            return Err(WireError::Kind { found: kind });
        }
        if r.u16()? != CIRCUIT {
            return Err(WireError::Value { at: 16, what: "no circuit" });
        }
        let (payload, from, to, next) = (r.u16()?, r.u16()?, r.u16()?, r.u16()?);
        let (progress, flow, offset, hops) = (r.u16()?, r.u32()?, r.u64()?, r.u16()?);
        let bytes = r.slice(usize::from(payload))?;
        Ok((Self { destination, source, payload, from, to, next, progress, flow, offset, hops }, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_read_as_they_are_written(
            (from, to, next, progress, flow, offset, hops) in any::<(u16, u16, u16, u16, u32, u64, u16)>(),
            (destination, source) in any::<([u8; 6], [u8; 6])>(),
            payload in proptest::collection::vec(any::<u8>(), 0..100),
            padding in 0usize..50,
        ) {
            let (destination, source) = (MacAddress(destination), MacAddress(source));
            let length = payload.len() as u16;
            let header = HopHeader { destination, source, payload: length, from, to, next, progress, flow, offset, hops };
            let mut frame = header.encode().to_vec();
            frame.extend(&payload);
            let least = frame.len();
            frame.extend(vec![0; padding]);
            prop_assert_eq!(HopHeader::parse(&frame), Ok((header, &payload[..])));
            prop_assert!(HopHeader::parse(&frame[..least - 1]).is_err());
            prop_assert!(DataHeader::parse(&frame).is_err());
        }

        #[test]
        fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120), changed in 0usize..42, value: u8) {
            let _ = HopHeader::parse(&bytes);
            let [destination, source] = [MacAddress([1; 6]), MacAddress([2; 6])];
            let header = HopHeader {
                destination, source, payload: 9, from: 1, to: 2, next: 3, progress: 4, flow: 5, offset: 6, hops: 1,
            };
            let mut frame = header.encode().to_vec();
            frame.extend([7; 9]);
            frame[changed] = value;
            if let Ok((read, payload)) = HopHeader::parse(&frame) {
                prop_assert_eq!(&frame[..HopHeader::BYTES], &read.encode()[..]);
                prop_assert_eq!(payload.len(), usize::from(read.payload));
            }
        }
    }
}
