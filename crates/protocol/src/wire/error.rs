//! What is wrong with bytes that came in, or with a value that should go out.

use super::ethernet::MacAddress;
use super::reactor::ScheduleFault;

/// Why bytes are not what a parser reads. Places count from the first byte given to it; in what comes after a datagram's header, from the
/// end of that header, with the parts of a message one after the other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It ends too early.
    #[error("truncated: {have} bytes, at least {need} are needed")]
    Truncated {
        /// Bytes there are.
        have: usize,
        /// Bytes that what was read so far asks for, at least.
        need: usize,
    },
    /// It goes on after its end.
    #[error("{bytes} bytes too many")]
    Surplus {
        /// Bytes after the end.
        bytes: usize,
    },
    /// The frame carries another protocol.
    #[error("EtherType {found:#06x}, not {expected:#06x}")]
    EtherType {
        /// What it says.
        found: u16,
        /// What was looked for.
        expected: u16,
    },
    /// A MAC control frame of another kind.
    #[error("opcode {found:#06x} is not known here")]
    Opcode {
        /// What it says.
        found: u16,
    },
    /// The frame is for somebody else.
    #[error("the destination {found} is neither this station nor that of MAC control frames")]
    Destination {
        /// What it says.
        found: MacAddress,
    },
    /// A byte that has to be zero is not.
    #[error("byte {at} has bits that have to be zero")]
    Reserved {
        /// The byte.
        at: usize,
    },
    /// Of another version than [`Header::VERSION`](super::Header::VERSION).
    #[error("version {found} is not known here")]
    Version {
        /// What it says.
        found: u8,
    },
    /// A datagram of a kind that is not known.
    #[error("kind {found} is not known here")]
    Kind {
        /// What it says.
        found: u8,
    },
    /// A field holds what it cannot mean.
    #[error("byte {at}: {what}")]
    Value {
        /// Where the field begins.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// Items are not in their order, or one comes twice.
    #[error("byte {at}: out of order, or twice")]
    Disordered {
        /// Where the later item begins.
        at: usize,
    },
    /// A checksum does not match.
    #[error("the {of} checksum is {found:#06x}, the bytes give {computed:#06x}")]
    Checksum {
        /// Of which header.
        of: &'static str,
        /// What it says.
        found: u16,
        /// What it should say.
        computed: u16,
    },
    /// Not sealed with this host's key.
    #[error("the tag does not fit: forged, or sealed with another key")]
    Forged,
    /// A part of an IP packet: control frames are never fragmented.
    #[error("an IP fragment")]
    Fragment,
    /// No UDP.
    #[error("IP protocol {found}, not 17 (UDP)")]
    Protocol {
        /// What it says.
        found: u8,
    },
    /// A datagram does not fit the others of its message.
    #[error("part {part} contradicts the parts that came before")]
    Inconsistent {
        /// Its number.
        part: u16,
    },
    /// A message is longer than a reassembler may hold.
    #[error("a message of more than {limit} bytes")]
    TooLong {
        /// The most.
        limit: usize,
    },
    /// A schedule that breaks a rule.
    #[error(transparent)]
    Schedule(#[from] ScheduleFault),
}

/// Why a value has no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A number is larger than its field.
    #[error("{what} of {value}: the most is {most}")]
    Range {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// The most.
        most: u64,
    },
    /// A number that may not be zero is.
    #[error("{what} of zero")]
    Zero {
        /// Which number.
        what: &'static str,
    },
    /// Items are not in their order, or one is there twice.
    #[error("{what} {index} is out of order, or there twice")]
    Disordered {
        /// Which items.
        what: &'static str,
        /// The later one, counted from 0.
        index: usize,
    },
    /// A report's bytes by destination are not the sums of its bursts, which are what it sends.
    #[error("bytes by destination are not the sums of the bursts")]
    NotTheSums,
    /// It is a frame of its own, see [`Pfc::encode`](crate::Pfc::encode).
    #[error("a PFC frame is no datagram")]
    NoDatagram,
    /// It takes more datagrams than can be numbered.
    #[error("{parts} datagrams: the most is {most}", most = super::MAX_PARTS)]
    Parts {
        /// How many it would take.
        parts: usize,
    },
}
