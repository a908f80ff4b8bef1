//! All messages of agents over UDP.
//!
//! [`Control`] is their union, with the layout of their datagrams.

use super::classes::ClassNames;
use super::datagram::Header;
use super::error::{EncodeError, WireError};
use super::message;
use super::proxy;
use super::reactor::{Heartbeat, PeriodSchedule};
use crate::message::Message;
use crate::proxy::{LinkReport, Steer};
use timeplane_model::{Framing, Time};

pub(super) const REPORT: u8 = 1;
pub(super) const GRANTS: u8 = 2;
pub(super) const RATES: u8 = 3;
pub(super) const SCHEDULE: u8 = 4;
pub(super) const HEARTBEAT: u8 = 5;
pub(super) const CLASS_NAMES: u8 = 6;
pub(super) const LEADS: u8 = 7;
pub(super) const PART: u8 = 8;
pub(super) const GATHERED: u8 = 9;
pub(super) const LINK_REPORT: u8 = 10;
pub(super) const STEER: u8 = 11;
pub(super) const FLYWAYS: u8 = 12;

/// The content of datagrams behind a [`Header`].
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A message between a controller and a host or a peer.
    Message(Message),
    /// The coming period, from a REACToR to its host.
    Schedule(PeriodSchedule),
    /// The start of a period, from a REACToR to its host.
    Heartbeat(Heartbeat),
    /// The names of a host's classes, from a controller.
    ClassNames(ClassNames),
    /// The state of a link, from an access point to a proxy.
    LinkReport(LinkReport),
    /// A window, from a proxy to a TCP sender.
    Steer(Steer),
}

impl Control {
    /// Encodes the payloads of UDP datagrams of at most 1472 B.
    ///
    /// # Errors
    ///
    /// If a number exceeds its field, items are out of order, or there are more than 32 768
    /// datagrams.
    pub fn encode(&self) -> Result<Vec<Vec<u8>>, EncodeError> {
        match self {
            Self::Message(m) => message::encode(m),
            Self::Schedule(s) => s.encode(),
            Self::Heartbeat(h) => Ok(vec![h.encode()]),
            Self::ClassNames(c) => c.encode(),
            Self::LinkReport(r) => proxy::encode_report(r),
            Self::Steer(s) => proxy::encode_steer(s),
        }
    }
    /// Bytes on the wire with UDP, IPv4 and Ethernet framing, like [`Message::wire_bytes`].
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn wire_bytes(&self) -> Result<u32, EncodeError> {
        let frame = |datagram: &Vec<u8>| Framing::Ethernet.wire(28 + datagram.len() as u32);
        Ok(self.encode()?.iter().map(frame).sum())
    }
    /// Whether this kind exists with these flags.
    pub(super) fn known(header: &Header) -> Result<(), WireError> {
        let flags = match header.kind {
            REPORT => message::ROOM | message::BURSTS | message::OBEYS | message::COFLOWS,
            LINK_REPORT => proxy::NO_RATE,
            STEER => proxy::PACED,
            GRANTS | RATES | SCHEDULE | HEARTBEAT | CLASS_NAMES | LEADS | PART | GATHERED | FLYWAYS => 0,
            found => return Err(WireError::Kind { found }),
        };
        if header.flags & !flags != 0 {
            return Err(WireError::Reserved { at: 1 });
        }
        // Rates and flyways have their lease in the first 8 bytes. Gathered reports have a time
        // each. A window holds from its arrival.
        if matches!(header.kind, RATES | LEADS | GATHERED | STEER | FLYWAYS) && header.time != Time::ZERO {
            return Err(WireError::Reserved { at: 16 });
        }
        Ok(())
    }
    /// Decodes a header and the content of all parts.
    pub(super) fn decode(header: &Header, body: &[u8]) -> Result<Self, WireError> {
        match header.kind {
            REPORT | GRANTS | RATES | LEADS | PART | GATHERED | FLYWAYS => {
                message::decode(header, body).map(Self::Message)
            }
            SCHEDULE => PeriodSchedule::decode(header, body).map(Self::Schedule),
            HEARTBEAT => Heartbeat::decode(header, body).map(Self::Heartbeat),
            CLASS_NAMES => ClassNames::decode(header, body).map(Self::ClassNames),
            LINK_REPORT => proxy::decode_report(header, body).map(Self::LinkReport),
            STEER => proxy::decode_steer(header, body).map(Self::Steer),
            found => Err(WireError::Kind { found }),
        }
    }
}

impl Message {
    /// Encodes the payloads of UDP datagrams in the layout of [`wire_bytes`](Self::wire_bytes).
    ///
    /// # Errors
    ///
    /// If a number exceeds its field, items are out of order, a report's bursts do not add up to
    /// its bytes, or there are more than 32 768 datagrams.
    pub fn encode(&self) -> Result<Vec<Vec<u8>>, EncodeError> {
        message::encode(self)
    }
}
