//! Sizes of data frames: bytes on the wire for a payload, and the payload for bytes on the wire.
//! All sizes include Ethernet's preamble, FCS and inter-frame gap.

use timeplane_model::Framing;
use timeplane_protocol::wire::DataHeader;

/// Bytes of a data frame's header after Ethernet's; they count as part of the packet.
pub(super) const HEADER: u64 = DataHeader::BYTES as u64 - 14;

/// Bytes on the wire of a frame with this payload.
pub(super) fn wire(payload: u64) -> u64 {
    u64::from(Framing::Ethernet.wire((HEADER + payload) as u32))
}

/// Bytes on the wire of a number of payload bytes, in as few frames as possible.
pub(super) fn wire_of_all(bytes: u64, max_payload: u64) -> u64 {
    let rest = bytes % max_payload;
    bytes / max_payload * wire(max_payload) + if rest > 0 { wire(rest) } else { 0 }
}

/// The largest payload whose frame takes at most this many bytes on the wire; `None` if not even an
/// empty frame fits.
pub(super) fn payload_within(wire: u64) -> Option<u64> {
    let packet = Framing::Ethernet.payload_within(wire);
    packet.checked_sub(HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_ethernet_makes_them() {
        assert_eq!((wire(0), wire(8), wire(9), wire(1462)), (84, 84, 85, 1538));
        assert_eq!((payload_within(83), payload_within(84), payload_within(1538)), (None, Some(8), Some(1462)));
        assert_eq!(wire_of_all(3 * 1462 + 1, 1462), 3 * 1538 + 84);
        assert_eq!(wire_of_all(0, 1462), 0);
    }
}
