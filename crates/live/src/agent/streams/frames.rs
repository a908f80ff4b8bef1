//! The bytes that frames take on the wire, with Ethernet's preamble, FCS and inter-frame gap.
//!
//! Sealed frames have a tag, so less room for their payload.

use timeplane_model::Framing;

/// Sizes of frames with a header and a tag of given lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameSizes {
    /// Bytes of header and tag behind Ethernet's header. Ethernet carries them as payload.
    overhead: u64,
}

impl FrameSizes {
    /// Frames with this many bytes besides their payload, Ethernet's header included.
    pub(super) fn new(besides: usize) -> Self {
        Self { overhead: besides as u64 - 14 }
    }

    pub(super) fn overhead(self) -> u64 {
        self.overhead
    }

    /// Bytes on the wire of a frame with this payload.
    pub(super) fn wire(self, payload: u64) -> u64 {
        u64::from(Framing::Ethernet.wire((self.overhead + payload) as u32))
    }

    /// Bytes on the wire of a number of payload bytes, in as few frames as possible.
    pub(super) fn wire_of_all(self, bytes: u64, max_payload: u64) -> u64 {
        let rest = bytes % max_payload;
        bytes / max_payload * self.wire(max_payload) + if rest > 0 { self.wire(rest) } else { 0 }
    }

    /// The largest payload whose frame takes at most this many bytes on the wire; `None` if not
    /// even an empty frame fits.
    pub(super) fn payload_within(self, wire: u64) -> Option<u64> {
        Framing::Ethernet.payload_within(wire).checked_sub(self.overhead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_ethernet_makes_them() {
        let plain = FrameSizes::new(52);
        assert_eq!([0, 8, 9, 1462].map(|n| plain.wire(n)), [84, 84, 85, 1538]);
        assert_eq!([83, 84, 1538].map(|n| plain.payload_within(n)), [None, Some(8), Some(1462)]);
        assert_eq!(plain.wire_of_all(3 * 1462 + 1, 1462), 3 * 1538 + 84);
        assert_eq!(plain.wire_of_all(0, 1462), 0);
        let sealed = FrameSizes::new(60);
        assert_eq!([0, 1, 1454].map(|n| sealed.wire(n)), [84, 85, 1538]);
        assert_eq!([83, 84, 1538].map(|n| sealed.payload_within(n)), [None, Some(0), Some(1454)]);
    }
}
