//! Reports, grants and rates, in the layout of [`Message::wire_bytes`].
//!
//! Short forms are mandatory: a value that fits one is never encoded in a longer form.

use super::bytes::Reader;
use super::control::{FLYWAYS, GATHERED, GRANTS, LEADS, PART, RATES, REPORT};
use super::datagram::{Body, Header, within};
use super::error::{EncodeError, WireError};
use super::flyways;
use super::relay;
use crate::message::{BacklogReport, Grants, Heartbeat, Message, Rates};
use timeplane_model::{
    Backlog, BacklogEntry, Burst, Bytes, Class, CoflowBacklog, CoflowId, Grant, HostId, LinkId, Medium, PathTag, Rate,
    Round, Time, Trigger,
};

/// Flag of a report: it starts with the room of the receive buffer.
pub(super) const ROOM: u8 = 1;
/// Flag of a report: its items are bursts.
pub(super) const BURSTS: u8 = 2;
/// Flag of a report: its items are parts of coflows.
pub(super) const COFLOWS: u8 = 8;
/// Flag of a report: the epoch of the host's controller follows.
pub(super) const OBEYS: u8 = 4;

/// Hosts have 30 bits, as two bits describe the item.
pub(super) const HOST: u32 = (1 << 30) - 1;
/// The entry has the bytes that ever arrived.
const ARRIVED: u32 = 1 << 31;
/// The medium of a grant.
const PATH: u32 = 1 << 30;
const LINK: u32 = 1 << 31;
/// A burst's bytes, rates, and sequences of reports have 7 bytes.
pub(super) const SEVEN: u64 = (1 << 56) - 1;
/// The coflow of bytes that belong to none.
const NO_COFLOW: u32 = u32::MAX;
/// The most bytes of a report, so that the sum over 65 536 hosts fits 64 bits.
const TOTAL: u64 = (1 << 48) - 1;

/// The error for more than that.
const TOO_MUCH: &str = "more bytes in all than 2^48 - 1";

/// Flags of a grant: kinds of start and end, and its optional fields, in this order.
const START: u8 = 0b11;
const END: u8 = 0b1100;
const WITH_RATE: u8 = 0x10;
const WITH_BYTES: u8 = 0x20;
const WITH_PACKETS: u8 = 0x40;
const LONG_LEASE: u8 = 0x80;
/// Kinds of starts and ends: a time (of an end: shortly after the start), a signal, never, or an
/// end long after its start.
const AT: u8 = 0;
const SIGNAL: u8 = 1;
const NEVER: u8 = 2;
const LONG_AT: u8 = 3;

pub(super) fn encode(message: &Message) -> Result<Vec<Vec<u8>>, EncodeError> {
    match message {
        Message::Report(r) => encode_report(r),
        Message::Grants(g) => encode_grants(g),
        Message::Rates(r) => encode_rates(r),
        Message::Flyways(f) => flyways::encode(f),
        Message::Pfc(_) => Err(EncodeError::NoDatagram),
        Message::Part(p) => relay::encode_part(p),
        Message::Gathered(g) => relay::encode_gathered(g),
        Message::Heartbeat(h) => Body::default().datagrams(Header::new(LEADS, h.epoch, h.round.0, Time::ZERO)),
    }
}

pub(super) fn decode(header: &Header, body: &[u8]) -> Result<Message, WireError> {
    let mut r = Reader::new(body);
    match header.kind {
        REPORT => decode_report(header, &mut r).map(|report| Message::Report(Box::new(report))),
        GRANTS => decode_grants(header, &mut r).map(Message::Grants),
        RATES => decode_rates(header, &mut r).map(Message::Rates),
        FLYWAYS => flyways::decode(header, &mut r).map(Message::Flyways),
        PART => relay::decode_part(header, &mut r).map(Message::Part),
        GATHERED => relay::decode_gathered(header, &mut r).map(Message::Gathered),
        LEADS if !r.is_empty() => Err(WireError::Reserved { at: 24 }),
        LEADS => Ok(Message::Heartbeat(Heartbeat { epoch: header.epoch, round: Round(header.number) })),
        found => Err(WireError::Kind { found }),
    }
}

pub(super) fn host(h: HostId) -> Result<u64, EncodeError> {
    within("host number", u64::from(h.0), u64::from(HOST))
}

fn encode_report(report: &BacklogReport) -> Result<Vec<Vec<u8>>, EncodeError> {
    let BacklogReport { epoch, taken_at, obeys, backlog, .. } = report;
    let mut header = Header::new(REPORT, *epoch, number_of(report)?, *taken_at);
    let mut body = Body::default();
    if let Some(room) = backlog.room {
        header.flags |= ROOM;
        body.put(room.get(), 8);
    }
    if *obeys > 0 {
        header.flags |= OBEYS;
        body.put(u64::from(*obeys), 4);
    }
    body.end();
    check_total(backlog)?;
    if !backlog.bursts.is_empty() {
        header.flags |= BURSTS;
        let queue = |b: &Burst| (b.destination, b.class);
        if let Some(i) = (1..backlog.bursts.len()).find(|&i| queue(&backlog.bursts[i]) < queue(&backlog.bursts[i - 1]))
        {
            return Err(EncodeError::Disordered { what: "burst", index: i });
        }
        for b in &backlog.bursts {
            body.put(host(b.destination)?, 4);
            body.put(u64::from(b.class.0), 1);
            body.put(u64::from(b.packets), 4);
            body.put(within("a burst", b.bytes.get(), SEVEN)?, 7);
            body.put(b.arrived.as_ps() as u64, 8);
            body.end();
        }
        if entries_of(&backlog.bursts).as_deref() != Some(backlog.entries()) {
            return Err(EncodeError::NotTheSums);
        }
    } else if !backlog.coflows().is_empty() {
        header.flags |= COFLOWS;
        if backlog.entries().iter().any(|e| e.arrived.is_some()) {
            return Err(EncodeError::NotTheSums);
        }
        for (destination, coflow, bytes) in coflow_items(backlog) {
            body.put(host(destination)?, 4);
            body.put(
                coflow.map_or(Ok(NO_COFLOW.into()), |c| within("a coflow", c.0.into(), (NO_COFLOW - 1).into()))?,
                4,
            );
            body.put(bytes.get(), 8);
            body.end();
        }
    } else {
        encode_entries(backlog, &mut body)?;
    }
    body.datagrams(header)
}

/// The number of a report: its sequence, and above it the newest round that the host knows.
pub(super) fn number_of(report: &BacklogReport) -> Result<u64, EncodeError> {
    let sequence = within("the sequence of a report", report.sequence, SEVEN)?;
    Ok(sequence | u64::from(report.heard) << 56)
}

/// The sequence and the round in the number of a report.
pub(super) fn sequence_of(number: u64) -> (u64, u8) {
    (number & SEVEN, (number >> 56) as u8)
}

/// The parts of a backlog: for each destination its coflows, then bytes of none, if there are any.
pub(crate) fn coflow_items(backlog: &Backlog) -> Vec<(HostId, Option<CoflowId>, Bytes)> {
    let mut items = Vec::new();
    let mut parts = backlog.coflows().iter().peekable();
    for e in backlog.entries() {
        let mut rest = e.bytes;
        while let Some(part) = parts.next_if(|p| p.destination == e.destination) {
            rest = rest.saturating_sub(part.bytes);
            items.push((e.destination, Some(part.coflow), part.bytes));
        }
        if rest > Bytes::ZERO {
            items.push((e.destination, None, rest));
        }
    }
    items
}

/// The backlog of coflows, whose bytes by destination are sums.
fn decode_coflows(r: &mut Reader<'_>) -> Result<Backlog, WireError> {
    let start = r.at();
    let mut total = 0u64;
    let (mut entries, mut parts) = (Vec::new(), Vec::new());
    let mut last = None;
    while !r.is_empty() {
        let at = r.at();
        let (destination, coflow) = (known_host(r.u32()?, at)?, r.u32()?);
        let bytes = Bytes::new(r.u64()?);
        if last.replace((destination, coflow)).is_some_and(|last| last >= (destination, coflow)) {
            return Err(WireError::Disordered { at });
        }
        if bytes == Bytes::ZERO {
            return Err(WireError::Value { at: at + 8, what: "a part of no bytes" });
        }
        let sum = total.checked_add(bytes.get()).filter(|&t| t <= TOTAL);
        total = sum.ok_or(WireError::Value { at: start, what: TOO_MUCH })?;
        entries.push(BacklogEntry { destination, bytes, arrived: None });
        if coflow != NO_COFLOW {
            parts.push(CoflowBacklog { destination, coflow: CoflowId(coflow), bytes });
        }
    }
    if parts.is_empty() {
        return Err(WireError::Value { at: start, what: "no coflows" });
    }
    Ok(Backlog::new(entries).with_coflows(parts))
}

/// At most the number that a controller can add up.
pub(super) fn check_total(backlog: &Backlog) -> Result<(), EncodeError> {
    let total = backlog.entries().iter().fold(0u64, |sum, e| sum.saturating_add(e.bytes.get()));
    within("a backlog", total, TOTAL).map(drop)
}

/// Bytes by destination, one item each.
pub(super) fn encode_entries(backlog: &Backlog, body: &mut Body) -> Result<(), EncodeError> {
    for e in backlog.entries() {
        let flag = if e.arrived.is_some() { u64::from(ARRIVED) } else { 0 };
        body.put(host(e.destination)? | flag, 4);
        body.put(e.bytes.get(), 8);
        if let Some(arrived) = e.arrived {
            body.put(arrived.get(), 8);
        }
        body.end();
    }
    Ok(())
}

/// Bytes by destination: this many, or the whole rest.
pub(super) fn decode_entries(r: &mut Reader<'_>, count: Option<u32>) -> Result<Vec<BacklogEntry>, WireError> {
    let too_much = WireError::Value { at: r.at(), what: TOO_MUCH };
    let mut entries: Vec<BacklogEntry> = Vec::new();
    let mut total = 0u64;
    while count.map_or(!r.is_empty(), |count| entries.len() < count as usize) {
        let at = r.at();
        let word = r.u32()?;
        let destination = known_host(word & !ARRIVED, at)?;
        let bytes = Bytes::new(r.u64()?);
        let arrived = if word & ARRIVED != 0 { Some(Bytes::new(r.u64()?)) } else { None };
        if entries.last().is_some_and(|e| e.destination >= destination) {
            return Err(WireError::Disordered { at });
        }
        if bytes == Bytes::ZERO {
            return Err(WireError::Value { at: at + 4, what: "an entry of no bytes" });
        }
        total = total.checked_add(bytes.get()).filter(|&t| t <= TOTAL).ok_or(too_much.clone())?;
        entries.push(BacklogEntry { destination, bytes, arrived });
    }
    Ok(entries)
}

/// Bytes by destination, from bursts in that order; `None` if they exceed a report's maximum.
fn entries_of(bursts: &[Burst]) -> Option<Vec<BacklogEntry>> {
    let mut entries: Vec<BacklogEntry> = Vec::new();
    let mut total = 0u64;
    for b in bursts.iter().filter(|b| b.bytes > Bytes::ZERO) {
        total = total.checked_add(b.bytes.get()).filter(|&t| t <= TOTAL)?;
        match entries.last_mut() {
            Some(e) if e.destination == b.destination => e.bytes += b.bytes,
            _ => entries.push(BacklogEntry { destination: b.destination, bytes: b.bytes, arrived: None }),
        }
    }
    Some(entries)
}

fn decode_report(header: &Header, r: &mut Reader<'_>) -> Result<BacklogReport, WireError> {
    if header.flags & (BURSTS | COFLOWS) == BURSTS | COFLOWS {
        return Err(WireError::Value { at: 1, what: "both bursts and coflows" });
    }
    let room = if header.flags & ROOM != 0 { Some(Bytes::new(r.u64()?)) } else { None };
    let obeys = if header.flags & OBEYS != 0 { told_epoch(r)? } else { 0 };
    let too_much = WireError::Value { at: r.at(), what: TOO_MUCH };
    let mut bursts: Vec<Burst> = Vec::new();
    let mut backlog = if header.flags & BURSTS != 0 {
        if r.is_empty() {
            return Err(WireError::Value { at: r.at(), what: "no bursts" });
        }
        while !r.is_empty() {
            let at = r.at();
            let destination = known_host(r.u32()?, at)?;
            let class = Class(r.u8()?);
            let (packets, bytes) = (r.u32()?, Bytes::new(r.number(7)?));
            let arrived = Time::from_ps(r.i64()?);
            if bursts.last().is_some_and(|b| (b.destination, b.class) > (destination, class)) {
                return Err(WireError::Disordered { at });
            }
            bursts.push(Burst { destination, class, arrived, packets, bytes });
        }
        Backlog::new(entries_of(&bursts).ok_or(too_much)?)
    } else if header.flags & COFLOWS != 0 {
        decode_coflows(r)?
    } else {
        Backlog::new(decode_entries(r, None)?)
    };
    (backlog.bursts, backlog.room) = (bursts, room);
    let (sequence, heard) = sequence_of(header.number);
    Ok(BacklogReport { epoch: header.epoch, sequence, taken_at: header.time, obeys, heard, backlog })
}

/// The epoch of a host's controller; the first epoch is not encoded.
pub(super) fn told_epoch(r: &mut Reader<'_>) -> Result<u32, WireError> {
    let at = r.at();
    match r.u32()? {
        0 => Err(WireError::Value { at, what: "an epoch of zero, which is not told" }),
        epoch => Ok(epoch),
    }
}

pub(super) fn known_host(number: u32, at: usize) -> Result<HostId, WireError> {
    if number <= HOST { Ok(HostId(number)) } else { Err(WireError::Reserved { at }) }
}

/// The time from which a grant's short times count: its start, or the round's if a signal starts
/// it.
fn base(start: Trigger, effective: Time) -> Time {
    match start {
        Trigger::At(t) => t,
        Trigger::Signal(_) | Trigger::Never => effective,
    }
}

/// The time from which a grant's short lease counts: a known end, or else the time for ends.
fn lease_base(start: Trigger, end: Trigger, effective: Time) -> Time {
    match end {
        Trigger::At(t) => t,
        Trigger::Signal(_) | Trigger::Never => base(start, effective),
    }
}

/// `to` in picoseconds after `from`, with four bytes.
fn short(from: Time, to: Time) -> Option<u32> {
    to.as_ps().checked_sub(from.as_ps()).and_then(|ps| u32::try_from(ps).ok())
}

/// How many of a grant's end and lease need 8 bytes, as they are more than 4.29 ms after their
/// reference.
pub(crate) fn long_times(grant: &Grant, effective: Time) -> u32 {
    let Grant { start, end, lease, .. } = *grant;
    let long_end = matches!(end, Trigger::At(t) if short(base(start, effective), t).is_none());
    let long_lease = short(lease_base(start, end, effective), lease).is_none();
    u32::from(long_end) + u32::from(long_lease)
}

fn encode_grants(message: &Grants) -> Result<Vec<Vec<u8>>, EncodeError> {
    let Grants { epoch, round, effective, grants, report_at } = message;
    let mut body = Body::default();
    body.put(report_at.as_ps() as u64, 8);
    body.end();
    for grant in grants {
        encode_grant(grant, *effective, &mut body)?;
        body.end();
    }
    body.datagrams(Header::new(GRANTS, *epoch, round.0, *effective))
}

pub(super) fn encode_grant(grant: &Grant, effective: Time, body: &mut Body) -> Result<(), EncodeError> {
    let Grant { destination, class, medium, rate, bytes, packets, start, end, lease } = *grant;
    let (medium_bits, path, link) = match medium {
        Medium::Fabric => (0, 0, None),
        Medium::Path(tag) => (PATH, tag.0, None),
        Medium::Link(link) => (LINK, 0, Some(link)),
    };
    let (start_kind, start_field) = match start {
        // All 64 bits are used, so that a difference that overflows is restored.
        Trigger::At(t) => (AT, t.as_ps().wrapping_sub(effective.as_ps()) as u64),
        Trigger::Signal(number) => (SIGNAL, u64::from(number)),
        Trigger::Never => (NEVER, 0),
    };
    let (end_kind, end_field, long_end) = match end {
        Trigger::At(t) => match short(base(start, effective), t) {
            Some(after) => (AT, after, None),
            None => (LONG_AT, 0, Some(t)),
        },
        Trigger::Signal(number) => (SIGNAL, number, None),
        Trigger::Never => (NEVER, 0, None),
    };
    let short_lease = short(lease_base(start, end, effective), lease);
    let flag = |bit: u8, set: bool| if set { bit } else { 0 };
    let flags = start_kind
        | end_kind << 2
        | flag(WITH_RATE, rate.is_some())
        | flag(WITH_BYTES, bytes.is_some())
        | flag(WITH_PACKETS, packets.is_some())
        | flag(LONG_LEASE, short_lease.is_none());
    body.put(host(destination)? | u64::from(medium_bits), 4);
    body.put(u64::from(class.0), 1);
    body.put(u64::from(flags), 1);
    body.put(u64::from(path), 2);
    body.put(start_field, 8);
    body.put(u64::from(end_field), 4);
    body.put(u64::from(short_lease.unwrap_or(0)), 4);
    let optional = [
        (rate.map(Rate::as_bps), 8),
        (bytes.map(Bytes::get), 8),
        (packets.map(u64::from), 4),
        (link.map(|l| u64::from(l.0)), 4),
        (long_end.map(|t| t.as_ps() as u64), 8),
        (short_lease.is_none().then_some(lease.as_ps() as u64), 8),
    ];
    for (number, length) in optional {
        if let Some(number) = number {
            body.put(number, length);
        }
    }
    Ok(())
}

fn decode_grants(header: &Header, r: &mut Reader<'_>) -> Result<Grants, WireError> {
    let report_at = Time::from_ps(r.i64()?);
    let mut grants = Vec::new();
    while !r.is_empty() {
        grants.push(decode_grant(header.time, r)?);
    }
    Ok(Grants { epoch: header.epoch, round: Round(header.number), effective: header.time, grants, report_at })
}

pub(super) fn decode_grant(effective: Time, r: &mut Reader<'_>) -> Result<Grant, WireError> {
    let at = r.at();
    let word = r.u32()?;
    let destination = HostId(word & HOST);
    let class = Class(r.u8()?);
    let flags = r.u8()?;
    let has = |bit: u8| flags & bit != 0;
    let path = r.u16()?;
    let (start_field, end_field, lease_field) = (r.u64()?, r.u32()?, r.u32()?);
    let rate = if has(WITH_RATE) { Some(Rate::bps(r.u64()?)) } else { None };
    let bytes = if has(WITH_BYTES) { Some(Bytes::new(r.u64()?)) } else { None };
    let packets = if has(WITH_PACKETS) { Some(r.u32()?) } else { None };
    let medium = match word & !HOST {
        PATH => Medium::Path(PathTag(path)),
        _ if path != 0 => return Err(WireError::Reserved { at: at + 6 }),
        0 => Medium::Fabric,
        LINK => Medium::Link(LinkId(r.u32()?)),
        _ => return Err(WireError::Value { at, what: "a medium that is both a path and a link" }),
    };
    let start = match (flags & START, start_field) {
        (AT, ps) => Trigger::At(Time::from_ps(effective.as_ps().wrapping_add(ps as i64))),
        (SIGNAL, number) => Trigger::Signal(u32::try_from(number).map_err(|_| WireError::Reserved { at: at + 8 })?),
        (NEVER, 0) => Trigger::Never,
        (NEVER, _) => return Err(WireError::Reserved { at: at + 8 }),
        _ => return Err(WireError::Value { at: at + 5, what: "no such kind of begin" }),
    };
    let after = |from: Time, ps: u32, field: usize| {
        let sum = from.as_ps().checked_add(i64::from(ps));
        sum.map(Time::from_ps).ok_or(WireError::Value { at: at + field, what: "a time beyond what can be named" })
    };
    let end = match ((flags & END) >> 2, end_field) {
        (AT, ps) => Trigger::At(after(base(start, effective), ps, 16)?),
        (SIGNAL, number) => Trigger::Signal(number),
        (_, 1..) => return Err(WireError::Reserved { at: at + 16 }),
        (NEVER, _) => Trigger::Never,
        (_, _) => {
            let (field, end) = (r.at(), Time::from_ps(r.i64()?));
            // A value with two encodings must use the shorter one.
            if short(base(start, effective), end).is_some() {
                return Err(WireError::Value { at: field, what: "a time of 8 bytes that fits 4" });
            }
            Trigger::At(end)
        }
    };
    let lease = if !has(LONG_LEASE) {
        after(lease_base(start, end, effective), lease_field, 20)?
    } else if lease_field == 0 {
        let (field, lease) = (r.at(), Time::from_ps(r.i64()?));
        if short(lease_base(start, end, effective), lease).is_some() {
            return Err(WireError::Value { at: field, what: "a time of 8 bytes that fits 4" });
        }
        lease
    } else {
        return Err(WireError::Reserved { at: at + 20 });
    };
    Ok(Grant { destination, class, medium, rate, bytes, packets, start, end, lease })
}

fn encode_rates(message: &Rates) -> Result<Vec<Vec<u8>>, EncodeError> {
    let Rates { epoch, round, lease, rates } = message;
    let mut body = Body::default();
    body.put(lease.as_ps() as u64, 8);
    body.end();
    for (index, &(destination, class, rate)) in rates.iter().enumerate() {
        if index > 0 && (rates[index - 1].0, rates[index - 1].1) >= (destination, class) {
            return Err(EncodeError::Disordered { what: "rate", index });
        }
        if rate == Rate::ZERO {
            return Err(EncodeError::Zero { what: "a rate" });
        }
        body.put(host(destination)?, 4);
        body.put(u64::from(class.0), 1);
        body.put(within("a rate", rate.as_bps(), SEVEN)?, 7);
        body.end();
    }
    body.datagrams(Header::new(RATES, *epoch, round.0, Time::ZERO))
}

fn decode_rates(header: &Header, r: &mut Reader<'_>) -> Result<Rates, WireError> {
    let lease = Time::from_ps(r.i64()?);
    let mut rates: Vec<(HostId, Class, Rate)> = Vec::new();
    while !r.is_empty() {
        let at = r.at();
        let (destination, class) = (known_host(r.u32()?, at)?, Class(r.u8()?));
        let rate = Rate::bps(r.number(7)?);
        if rates.last().is_some_and(|last| (last.0, last.1) >= (destination, class)) {
            return Err(WireError::Disordered { at });
        }
        if rate == Rate::ZERO {
            return Err(WireError::Value { at: at + 5, what: "a rate of zero" });
        }
        rates.push((destination, class, rate));
    }
    Ok(Rates { epoch: header.epoch, round: Round(header.number), lease, rates })
}
