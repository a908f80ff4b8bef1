//! Signals that cannot be forged, in the encodings of live agents.
//!
//! A tag over the content proves that its sender has the key. The signal's number prevents replays.
//! It is also the signal's time, as controllers of real hosts number signals by their clock: every
//! encoding with a tag has room for its 64 bits.

use super::bytes::Reader;
use super::error::{EncodeError, WireError};
use super::ethernet::{self, ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_MAC_CONTROL, MAC_CONTROL_ADDRESS, MacAddress};
use super::extended::{OPCODE_EXTENDED_PFC, PfcClass};
use super::pause::OPCODE_PFC;
use super::quanta::Quanta;
use crate::message::Pfc;
use core::fmt;
use core::hash::Hasher;
use siphasher::sip::SipHasher24;
use timeplane_model::Duration;

/// The key of a host's signals: 128 bits, known to the host and its controllers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignalKey(pub [u8; 16]);

impl fmt::Debug for SignalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignalKey(..)")
    }
}

/// The encoding of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalEncoding {
    /// An [`ExtendedPfcFrame`](super::ExtendedPfcFrame) under EtherType 0x88B5 with a tag: 68 B.
    /// Switches forward it like data.
    #[default]
    Experimental,
    /// The same under 0x8808. Interfaces and switches may act on it, or drop it before software
    /// sees it.
    MacControl,
    /// A standard [`PfcFrame`](super::PfcFrame) of eight classes, with the missing fields in its
    /// padding: epoch at 34, sequence at 38, hold in nanoseconds (6 B) at 46, tag at 52.
    Pfc,
    /// The content of the first encoding behind the EtherType, as the payload of a UDP datagram: 54
    /// B.
    Udp,
    /// A standard PFC frame without additions, for hardware that needs it. Anybody can forge,
    /// replay or double it.
    PlainPfc,
}

impl SignalEncoding {
    /// All encodings.
    pub const ALL: [Self; 5] = [Self::Experimental, Self::MacControl, Self::Pfc, Self::Udp, Self::PlainPfc];

    /// How many classes it can name, which bounds the number of destinations.
    pub const fn classes(self) -> u16 {
        match self {
            Self::Experimental | Self::MacControl | Self::Udp => PfcClass::COUNT,
            Self::Pfc | Self::PlainPfc => 8,
        }
    }
    /// Whether it proves its sender.
    pub const fn is_sealed(self) -> bool {
        !matches!(self, Self::PlainPfc)
    }
}

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// From a controller with the key.
    Sealed(Pfc),
    /// From anybody: the open class, if any.
    Plain(Option<u16>),
}

/// Bytes of the content of a sealed extended frame, from its opcode to its tag.
const SEALED: usize = 46;
/// The position of a frame's content.
const CONTENT_AT: usize = 14;
/// Positions in a standard frame's padding: epoch, sequence, hold and tag.
const PFC_NUMBERS_AT: usize = 34;
const PFC_TAG_AT: usize = 52;
/// The longest hold: 3 days.
const MOST_HOLD_NS: u64 = (1 << 48) - 1;

impl Pfc {
    /// Encodes the signal without FCS; with [`SignalEncoding::Udp`] as the datagram's payload.
    ///
    /// # Errors
    ///
    /// If the encoding cannot name the class, or the hold is negative or over three days.
    pub fn seal(
        &self,
        encoding: SignalEncoding,
        key: &SignalKey,
        source: MacAddress,
        destination: MacAddress,
    ) -> Result<Vec<u8>, EncodeError> {
        let most = u64::from(encoding.classes()) - 1;
        if let Some(value) = self.open.map(u64::from).filter(|&class| class > most) {
            return Err(EncodeError::Range { what: "class", value, most });
        }
        match encoding {
            SignalEncoding::Experimental | SignalEncoding::MacControl | SignalEncoding::Udp => {
                let mut frame = self.encode(source, destination)?.to_vec();
                if encoding == SignalEncoding::MacControl {
                    frame[12..14].copy_from_slice(&ETHER_TYPE_MAC_CONTROL.to_be_bytes());
                }
                let tag = tag(&key.0, &frame[CONTENT_AT..]);
                frame.extend_from_slice(&tag);
                if encoding == SignalEncoding::Udp {
                    frame.drain(..CONTENT_AT);
                }
                Ok(frame)
            }
            SignalEncoding::Pfc | SignalEncoding::PlainPfc => {
                let mut frame = ethernet::header(destination, source, ETHER_TYPE_MAC_CONTROL);
                frame.extend_from_slice(&OPCODE_PFC.to_be_bytes());
                frame.extend_from_slice(&0xff_u16.to_be_bytes());
                for class in 0..8 {
                    let time = if self.open == Some(class) { Quanta::ZERO } else { Quanta::MAX };
                    frame.extend_from_slice(&time.0.to_be_bytes());
                }
                if encoding == SignalEncoding::Pfc {
                    let ns = self.hold.as_ps() / 1000;
                    let ns = u64::try_from(ns).ok().filter(|&ns| ns <= MOST_HOLD_NS);
                    let ns = ns.ok_or(EncodeError::Range {
                        what: "hold in ns",
                        value: ns.unwrap_or(u64::MAX),
                        most: MOST_HOLD_NS,
                    })?;
                    frame.extend_from_slice(&self.epoch.to_be_bytes());
                    frame.extend_from_slice(&self.sequence.to_be_bytes());
                    frame.extend_from_slice(&ns.to_be_bytes()[2..]);
                    let tag = tag(&key.0, &frame[CONTENT_AT..]);
                    frame.extend_from_slice(&tag);
                }
                frame.resize(frame.len().max(ethernet::MIN_FRAME), 0);
                Ok(frame)
            }
        }
    }

    /// Parses a frame that `station` received, in any encoding except UDP. Plain frames yield
    /// [`Heard::Plain`].
    ///
    /// A standard PFC frame whose padding is zero is plain; any other one must be sealed.
    ///
    /// # Errors
    ///
    /// If it is not a signal, is for another station, or is not sealed with this key.
    pub fn unseal(frame: &[u8], station: MacAddress, key: &SignalKey) -> Result<Heard, WireError> {
        let mut r = Reader::new(frame);
        let (destination, _, ether_type) = ethernet::read_header(&mut r)?;
        let control = ether_type == ETHER_TYPE_MAC_CONTROL;
        if !control && ether_type != ETHER_TYPE_EXPERIMENTAL {
            return Err(WireError::EtherType { found: ether_type, expected: ETHER_TYPE_EXPERIMENTAL });
        }
        if destination != station && !(control && destination == MAC_CONTROL_ADDRESS) {
            return Err(WireError::Destination { found: destination });
        }
        match r.u16()? {
            OPCODE_PFC if control => unseal_standard(frame, key),
            OPCODE_EXTENDED_PFC => Self::unseal_content(&frame[CONTENT_AT..], key).map(Heard::Sealed),
            found => Err(WireError::Opcode { found }),
        }
    }

    /// Parses the payload of a datagram in [`SignalEncoding::Udp`], or a frame's content behind the
    /// EtherType.
    ///
    /// # Errors
    ///
    /// As [`unseal`](Self::unseal).
    pub fn unseal_content(content: &[u8], key: &SignalKey) -> Result<Self, WireError> {
        let need = SEALED + 8;
        let have = content.len();
        let (signed, rest) = content.split_at_checked(SEALED).ok_or(WireError::Truncated { have, need })?;
        let found = rest.get(..8).ok_or(WireError::Truncated { have, need })?;
        if !same(found, &tag(&key.0, signed)) {
            return Err(WireError::Forged);
        }
        // The tag does not cover addresses, which a datagram lacks: the parser gets empty ones.
        let nowhere = MacAddress::default();
        let mut frame = ethernet::header(nowhere, nowhere, ETHER_TYPE_EXPERIMENTAL);
        frame.extend_from_slice(signed);
        Self::parse(&frame, nowhere)
    }
}

fn unseal_standard(frame: &[u8], key: &SignalKey) -> Result<Heard, WireError> {
    let need = ethernet::MIN_FRAME;
    let whole = frame.get(..need).ok_or(WireError::Truncated { have: frame.len(), need })?;
    let mut r = Reader::new(&whole[CONTENT_AT + 2..PFC_NUMBERS_AT]);
    // A signal describes all classes, so each must have its time.
    if r.u16()? & 0xff != 0xff {
        return Err(WireError::Value { at: CONTENT_AT + 2, what: "a frame that does not name all eight classes" });
    }
    let mut open = None;
    for class in 0..8 {
        match (r.u16()?, open) {
            (0, None) => open = Some(class),
            (0, Some(_)) => return Err(WireError::Value { at: CONTENT_AT + 4, what: "more than one open class" }),
            _ => {}
        }
    }
    if whole[PFC_NUMBERS_AT..].iter().all(|&b| b == 0) {
        return Ok(Heard::Plain(open));
    }
    if !same(&whole[PFC_TAG_AT..], &tag(&key.0, &whole[CONTENT_AT..PFC_TAG_AT])) {
        return Err(WireError::Forged);
    }
    let mut r = Reader::new(&whole[PFC_NUMBERS_AT..PFC_TAG_AT]);
    let (epoch, sequence, ns) = (r.u32()?, r.u64()?, r.number(6)?);
    // 48 bits of nanoseconds are 58 bits of picoseconds.
    let hold = Duration::from_ns(ns as i64);
    Ok(Heard::Sealed(Pfc { epoch, sequence, open, hold }))
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012), with bytes in the order of the reference.
pub(super) fn tag(key: &[u8; 16], bytes: &[u8]) -> [u8; 8] {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// Compares in constant time.
pub(super) fn same(a: &[u8], b: &[u8; 8]) -> bool {
    a.len() == 8 && a.iter().zip(b).fold(0, |differs, (x, y)| differs | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: SignalKey = SignalKey([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    const CONTROLLER: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    fn heard(frame: &[u8], encoding: SignalEncoding, key: &SignalKey) -> Result<Heard, WireError> {
        match encoding {
            SignalEncoding::Udp => Pfc::unseal_content(frame, key).map(Heard::Sealed),
            _ => Pfc::unseal(frame, HOST, key),
        }
    }

    #[test]
    fn the_tag_is_that_of_the_reference() {
        // Vectors of the SipHash paper: inputs 00 01 02 .. of increasing length under the key 00 01
        // .. 0f.
        let input: Vec<u8> = (0..46).collect();
        assert_eq!(tag(&KEY.0, &input[..0]), 0x726f_db47_dd0e_0e31_u64.to_le_bytes());
        assert_eq!(tag(&KEY.0, &input[..15]), 0xa129_ca61_49be_45e5_u64.to_le_bytes());
    }

    #[test]
    fn lengths_and_places_are_as_documented() {
        let pfc = Pfc { epoch: 7, sequence: 0x0102_0304_0506, open: Some(3), hold: Duration::from_us(2) };
        let frame = |e| pfc.seal(e, &KEY, CONTROLLER, HOST).unwrap();
        assert_eq!(SignalEncoding::ALL.map(|e| frame(e).len()), [68, 68, 60, 54, 60]);
        assert_eq!(frame(SignalEncoding::Udp), frame(SignalEncoding::Experimental)[14..]);
        assert_eq!(frame(SignalEncoding::MacControl)[12..16], [0x88, 0x08, 0x01, 0x0b]);
        let standard = frame(SignalEncoding::Pfc);
        assert_eq!(standard[12..20], [0x88, 0x08, 0x01, 0x01, 0, 0xff, 0xff, 0xff]);
        assert_eq!((&standard[24..26], &standard[34..38]), (&[0, 0][..], &[0, 0, 0, 7][..]));
        assert_eq!(standard[46..52], [0, 0, 0, 0, 0x07, 0xd0]);
        assert!(frame(SignalEncoding::PlainPfc)[34..].iter().all(|&b| b == 0));
        let ninth = Pfc { open: Some(8), ..pfc };
        assert!(ninth.seal(SignalEncoding::Pfc, &KEY, CONTROLLER, HOST).is_err());
        assert!(ninth.seal(SignalEncoding::Udp, &KEY, CONTROLLER, HOST).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_unsealed_with_its_key_alone(
            epoch: u32, sequence: u64, open in proptest::option::of(0u16..2048), ns in 0i64..1 << 40, other: [u8; 16],
        ) {
            let pfc = Pfc { epoch, sequence, open, hold: Duration::from_ns(ns) };
            for encoding in SignalEncoding::ALL {
                let pfc = Pfc { open: open.map(|c| c % encoding.classes()), ..pfc };
                let frame = pfc.seal(encoding, &KEY, CONTROLLER, HOST).unwrap();
                let expected = if encoding.is_sealed() { Heard::Sealed(pfc) } else { Heard::Plain(pfc.open) };
                prop_assert_eq!(heard(&frame, encoding, &KEY), Ok(expected));
                if encoding.is_sealed() && SignalKey(other) != KEY {
                    prop_assert_eq!(heard(&frame, encoding, &SignalKey(other)), Err(WireError::Forged));
                }
            }
        }

        #[test]
        fn a_changed_bit_is_no_signal(bit in 112usize..544, which in 0usize..4, open in proptest::option::of(0u16..8)) {
            let encoding = SignalEncoding::ALL[which];
            let pfc = Pfc { epoch: 1, sequence: 2, open, hold: Duration::from_us(3) };
            let mut frame = pfc.seal(encoding, &KEY, CONTROLLER, HOST).unwrap();
            let from = if encoding == SignalEncoding::Udp { 0 } else { 112 };
            let bit = from + (bit - 112) % (frame.len() * 8 - from);
            frame[bit / 8] ^= 1 << (bit % 8);
            let result = heard(&frame, encoding, &KEY);
            prop_assert!(result.is_err(), "{:?} bit {}: {:?}", encoding, bit, result);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(Pfc::unseal_content(&bytes, &KEY).is_err());
            let mut frame = bytes;
            for ether_type in [ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_MAC_CONTROL] {
                if frame.len() > 14 {
                    frame[..6].copy_from_slice(&HOST.0);
                    frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
                }
                prop_assert!(Pfc::unseal(&frame, HOST, &KEY).is_err());
            }
        }
    }
}
