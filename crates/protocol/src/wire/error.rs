//! Errors of parsers and encoders.
//!
//! They name positions and values, for logs and tests.

use super::ethernet::MacAddress;
use super::reactor::ScheduleFault;

/// Why bytes cannot be parsed. Positions count from the first byte that the parser gets. Behind a
/// datagram's header they count from the header's end, through all parts of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It is too short.
    #[error("truncated: {have} bytes, at least {need} are needed")]
    Truncated {
        /// Bytes found.
        have: usize,
        /// Bytes that its start requires at least.
        need: usize,
    },
    /// It is too long.
    #[error("{bytes} bytes too many")]
    Surplus {
        /// Bytes after the end.
        bytes: usize,
    },
    /// The frame carries another protocol.
    #[error("EtherType {found:#06x}, not {expected:#06x}")]
    EtherType {
        /// The EtherType found.
        found: u16,
        /// The EtherType expected.
        expected: u16,
    },
    /// The MAC control frame has another opcode.
    #[error("opcode {found:#06x} is not known here")]
    Opcode {
        /// The opcode found.
        found: u16,
    },
    /// The frame has another destination.
    #[error("the destination {found} is neither this station nor that of MAC control frames")]
    Destination {
        /// The address found.
        found: MacAddress,
    },
    /// A reserved byte is not zero.
    #[error("byte {at} has bits that have to be zero")]
    Reserved {
        /// Its position.
        at: usize,
    },
    /// The version differs from [`Header::VERSION`](super::Header::VERSION).
    #[error("version {found} is not known here")]
    Version {
        /// The version found.
        found: u8,
    },
    /// The datagram has an unknown kind.
    #[error("kind {found} is not known here")]
    Kind {
        /// The kind found.
        found: u8,
    },
    /// A field has an impossible value.
    #[error("byte {at}: {what}")]
    Value {
        /// The position of the field.
        at: usize,
        /// The violated rule.
        what: &'static str,
    },
    /// Items are out of order, or one is repeated.
    #[error("byte {at}: out of order, or twice")]
    Disordered {
        /// The position of the later item.
        at: usize,
    },
    /// A checksum does not match.
    #[error("the {of} checksum is {found:#06x}, the bytes give {computed:#06x}")]
    Checksum {
        /// The header's protocol.
        of: &'static str,
        /// The checksum found.
        found: u16,
        /// The checksum computed.
        computed: u16,
    },
    /// It is not sealed with this host's key.
    #[error("the tag does not fit: forged, or sealed with another key")]
    Forged,
    /// It is a fragment of an IP packet; control frames are never fragmented.
    #[error("an IP fragment")]
    Fragment,
    /// It is not UDP.
    #[error("IP protocol {found}, not 17 (UDP)")]
    Protocol {
        /// The protocol found.
        found: u8,
    },
    /// A datagram contradicts other parts of its message.
    #[error("part {part} contradicts the parts that came before")]
    Inconsistent {
        /// The part's number.
        part: u16,
    },
    /// The message exceeds the limit of the reassembler.
    #[error("a message of more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The schedule violates a rule.
    #[error(transparent)]
    Schedule(#[from] ScheduleFault),
}

/// Why a value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A number exceeds its field.
    #[error("{what} of {value}: the most is {most}")]
    Range {
        /// The name of the field.
        what: &'static str,
        /// The value found.
        value: u64,
        /// The largest possible value.
        most: u64,
    },
    /// A number is zero and must not be.
    #[error("{what} of zero")]
    Zero {
        /// The name of the field.
        what: &'static str,
    },
    /// Items are out of order, or one is repeated.
    #[error("{what} {index} is out of order, or there twice")]
    Disordered {
        /// The name of the list.
        what: &'static str,
        /// The later item's index, from 0.
        index: usize,
    },
    /// A report's bytes by destination are not the sums of its bursts, or it has coflows besides
    /// counts that know of none.
    #[error("bytes by destination are not the sums of the bursts, or have coflows that cannot be encoded")]
    NotTheSums,
    /// It is a frame of its own, see [`Pfc::encode`](crate::Pfc::encode).
    #[error("a PFC frame is no datagram")]
    NoDatagram,
    /// It needs more datagrams than can be numbered.
    #[error("{parts} datagrams: the most is {most}", most = super::MAX_PARTS)]
    Parts {
        /// How many it needs.
        parts: usize,
    },
}
