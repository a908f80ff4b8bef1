//! Messages between access points, a proxy, and TCP senders.
//!
//! A report on a link has a header of kind 10, its sequence, and its time; flag 1 marks an outage.
//! Then, big-endian:
//!
//! | length | field |
//! | --- | --- |
//! | 4 | link |
//! | 7 | rate in bit/s; zero in an outage, and only there |
//! | 1 | MCS; zero in an outage |
//! | 2 + 2 | transmit and receive beam |
//! | 4 | level in hundredths of a dBm, two's complement |
//! | 8 | bytes that wait |
//! | 4 | packets that wait |
//! | 8 | packets dropped since the access point's start |
//!
//! A window has a header of kind 11, its sequence, and no time; with flag 1 a rate follows.
//!
//! | length | field |
//! | --- | --- |
//! | 4 | flow |
//! | 8 | window in bytes |
//! | 7 | rate in bit/s, where there is one |

use super::bytes::Reader;
use super::control::{LINK_REPORT, STEER};
use super::datagram::{Body, Header, within};
use super::error::{EncodeError, WireError};
use crate::proxy::{LinkReport, LinkSample, LinkUse, QueueSample, Steer};
use timeplane_model::{Bytes, FlowId, LinkId, Rate, Time};

/// Flag of a report from a link in an outage, which has no rate.
pub(super) const NO_RATE: u8 = 1;
/// Flag of a window with a rate.
pub(super) const PACED: u8 = 1;

/// Rates have seven bytes.
const SEVEN: u64 = (1 << 56) - 1;

pub(super) fn encode_report(report: &LinkReport) -> Result<Vec<Vec<u8>>, EncodeError> {
    let LinkReport { epoch, sequence, taken_at, link, sample, queue } = report;
    let (rate, mcs) = match sample.uses {
        None => (0, 0),
        Some(LinkUse { rate: Rate::ZERO, .. }) => return Err(EncodeError::Zero { what: "a rate" }),
        Some(LinkUse { rate, mcs }) => (within("a rate", rate.as_bps(), SEVEN)?, mcs),
    };
    let mut body = Body::default();
    body.put(u64::from(link.0), 4);
    body.put(rate, 7);
    body.put(u64::from(mcs), 1);
    body.put(u64::from(sample.beams.0), 2);
    body.put(u64::from(sample.beams.1), 2);
    body.put(u64::from(sample.level_cdbm as u32), 4);
    body.put(queue.bytes.get(), 8);
    body.put(u64::from(queue.packets), 4);
    body.put(queue.drops, 8);
    body.end();
    let flags = if sample.uses.is_none() { NO_RATE } else { 0 };
    body.datagrams(Header { flags, ..Header::new(LINK_REPORT, *epoch, *sequence, *taken_at) })
}

pub(super) fn decode_report(header: &Header, body: &[u8]) -> Result<LinkReport, WireError> {
    let mut r = Reader::new(body);
    let link = LinkId(r.u32()?);
    let uses = if header.flags & NO_RATE != 0 {
        r.zeros(8)?;
        None
    } else {
        let at = r.at();
        match Rate::bps(r.number(7)?) {
            Rate::ZERO => return Err(WireError::Value { at, what: "a rate of zero without the flag for no rate" }),
            rate => Some(LinkUse { rate, mcs: r.u8()? }),
        }
    };
    let sample = LinkSample { uses, beams: (r.u16()?, r.u16()?), level_cdbm: r.u32()? as i32 };
    let queue = QueueSample { bytes: Bytes::new(r.u64()?), packets: r.u32()?, drops: r.u64()? };
    r.end()?;
    Ok(LinkReport { epoch: header.epoch, sequence: header.number, taken_at: header.time, link, sample, queue })
}

pub(super) fn encode_steer(steer: &Steer) -> Result<Vec<Vec<u8>>, EncodeError> {
    let Steer { epoch, sequence, flow, window, rate } = steer;
    let mut body = Body::default();
    body.put(u64::from(flow.0), 4);
    body.put(window.get(), 8);
    if let Some(rate) = rate {
        body.put(within("a rate", rate.as_bps(), SEVEN)?, 7);
    }
    body.end();
    let flags = if rate.is_some() { PACED } else { 0 };
    body.datagrams(Header { flags, ..Header::new(STEER, *epoch, *sequence, Time::ZERO) })
}

pub(super) fn decode_steer(header: &Header, body: &[u8]) -> Result<Steer, WireError> {
    let mut r = Reader::new(body);
    let (flow, window) = (FlowId(r.u32()?), Bytes::new(r.u64()?));
    let rate = if header.flags & PACED != 0 { Some(Rate::bps(r.number(7)?)) } else { None };
    r.end()?;
    Ok(Steer { epoch: header.epoch, sequence: header.number, flow, window, rate })
}
