//! Everything that agents say over UDP.

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

/// What travels in datagrams behind a [`Header`].
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Between a controller and a host, or a peer.
    Message(Message),
    /// From a REACToR to its host: the coming period.
    Schedule(PeriodSchedule),
    /// From a REACToR to its host: a period begins.
    Heartbeat(Heartbeat),
    /// From a controller to a host: what its classes stand for.
    ClassNames(ClassNames),
    /// From an access point to a proxy: what its link does.
    LinkReport(LinkReport),
    /// From a proxy to a sender of TCP: its window.
    Steer(Steer),
}

impl Control {
    /// As payloads of UDP datagrams, none over 1472 B.
    ///
    /// # Errors
    /// Where a number does not fit its field, items are out of order, or there are more than 32 768 datagrams.
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
    /// Bytes on the wire, with UDP, IPv4 and Ethernet framing; what [`Message::wire_bytes`] is for messages.
    ///
    /// # Errors
    /// As of [`encode`](Self::encode).
    pub fn wire_bytes(&self) -> Result<u32, EncodeError> {
        let frame = |datagram: &Vec<u8>| Framing::Ethernet.wire(28 + datagram.len() as u32);
        Ok(self.encode()?.iter().map(frame).sum())
    }
    /// Whether there is such a kind, with such flags.
    pub(super) fn known(header: &Header) -> Result<(), WireError> {
        let flags = match header.kind {
            REPORT => message::ROOM | message::BURSTS | message::OBEYS,
            LINK_REPORT => proxy::OUTAGE,
            STEER => proxy::PACED,
            GRANTS | RATES | SCHEDULE | HEARTBEAT | CLASS_NAMES | LEADS | PART | GATHERED | FLYWAYS => 0,
            found => return Err(WireError::Kind { found }),
        };
        if header.flags & !flags != 0 {
            return Err(WireError::Reserved { at: 1 });
        }
        // The time of rates and flyways is their lease, which their first 8 bytes hold; gathered reports have a time each; a window holds from
        // when it comes.
        if matches!(header.kind, RATES | LEADS | GATHERED | STEER | FLYWAYS) && header.time != Time::ZERO {
            return Err(WireError::Reserved { at: 16 });
        }
        Ok(())
    }
    /// From a header and all that its parts carry.
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
    /// As payloads of UDP datagrams, in the layout of [`wire_bytes`](Self::wire_bytes).
    ///
    /// # Errors
    /// Where a number does not fit its field, items are out of order, a report's bursts do not add up to its bytes, or there are more
    /// than 32 768 datagrams.
    pub fn encode(&self) -> Result<Vec<Vec<u8>>, EncodeError> {
        message::encode(self)
    }
}
