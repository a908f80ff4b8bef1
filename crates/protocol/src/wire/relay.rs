//! Messages between a controller and its relays.
//!
//! The layout is that of [`Message::wire_bytes`](crate::Message::wire_bytes).

use super::bytes::Reader;
use super::control::{GATHERED, PART};
use super::datagram::{Body, Header};
use super::error::{EncodeError, WireError};
use super::message::{
    HOST, check_total, decode_entries, decode_grant, encode_entries, encode_grant, host, known_host, number_of,
    sequence_of, told_epoch,
};
use crate::message::{BacklogReport, Gathered, Part};
use timeplane_model::{Backlog, Bytes, HostId, Round, Time};

/// A gathered report with a room, and with the epoch of a controller.
const ROOM: u32 = 1 << 31;
const OBEYS: u32 = 1 << 30;

pub(super) fn encode_part(part: &Part) -> Result<Vec<Vec<u8>>, EncodeError> {
    let Part { epoch, round, effective, report_at, grants } = part;
    let mut body = Body::default();
    body.put(report_at.as_ps() as u64, 8);
    body.end();
    for (index, (of, grant)) in grants.iter().enumerate() {
        if index > 0 && grants[index - 1].0 > *of {
            return Err(EncodeError::Disordered { what: "grant", index });
        }
        body.put(host(*of)?, 4);
        encode_grant(grant, *effective, &mut body)?;
        body.end();
    }
    body.datagrams(Header::new(PART, *epoch, round.0, *effective))
}

pub(super) fn decode_part(header: &Header, r: &mut Reader<'_>) -> Result<Part, WireError> {
    let report_at = Time::from_ps(r.i64()?);
    let mut grants: Vec<(HostId, _)> = Vec::new();
    while !r.is_empty() {
        let at = r.at();
        let of = known_host(r.u32()?, at)?;
        if grants.last().is_some_and(|(before, _)| *before > of) {
            return Err(WireError::Disordered { at });
        }
        grants.push((of, decode_grant(header.time, r)?));
    }
    Ok(Part { epoch: header.epoch, round: Round(header.number), effective: header.time, report_at, grants })
}

pub(super) fn encode_gathered(gathered: &Gathered) -> Result<Vec<Vec<u8>>, EncodeError> {
    let Gathered { epoch, sequence, reports } = gathered;
    let mut body = Body::default();
    // The first report has no predecessor.
    body.end();
    for (index, (of, report)) in reports.iter().enumerate() {
        if index > 0 && reports[index - 1].0 >= *of {
            return Err(EncodeError::Disordered { what: "report", index });
        }
        let BacklogReport { backlog, obeys, .. } = report;
        if !backlog.bursts.is_empty() || !backlog.coflows().is_empty() {
            return Err(EncodeError::NotTheSums);
        }
        check_total(backlog)?;
        let flag = |bit: u32, set: bool| if set { u64::from(bit) } else { 0 };
        body.put(host(*of)? | flag(ROOM, backlog.room.is_some()) | flag(OBEYS, *obeys > 0), 4);
        body.put(u64::from(report.epoch), 4);
        body.put(number_of(report)?, 8);
        body.put(report.taken_at.as_ps() as u64, 8);
        body.put(backlog.entries().len() as u64, 4);
        if let Some(room) = backlog.room {
            body.put(room.get(), 8);
        }
        if *obeys > 0 {
            body.put(u64::from(*obeys), 4);
        }
        body.end();
        encode_entries(backlog, &mut body)?;
    }
    body.datagrams(Header::new(GATHERED, *epoch, *sequence, Time::ZERO))
}

pub(super) fn decode_gathered(header: &Header, r: &mut Reader<'_>) -> Result<Gathered, WireError> {
    let mut reports: Vec<(HostId, BacklogReport)> = Vec::new();
    while !r.is_empty() {
        let at = r.at();
        let word = r.u32()?;
        let of = HostId(word & HOST);
        if reports.last().is_some_and(|(before, _)| *before >= of) {
            return Err(WireError::Disordered { at });
        }
        let (epoch, (sequence, heard), taken_at) = (r.u32()?, sequence_of(r.u64()?), Time::from_ps(r.i64()?));
        let count = r.u32()?;
        let room = if word & ROOM != 0 { Some(Bytes::new(r.u64()?)) } else { None };
        let obeys = if word & OBEYS != 0 { told_epoch(r)? } else { 0 };
        let mut backlog = Backlog::new(decode_entries(r, Some(count))?);
        backlog.room = room;
        reports.push((of, BacklogReport { epoch, sequence, taken_at, obeys, heard, backlog }));
    }
    Ok(Gathered { epoch: header.epoch, sequence: header.number, reports })
}
