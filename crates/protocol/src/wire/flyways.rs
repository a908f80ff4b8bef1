//! Messages from the flyway controller to racks.
//!
//! The layout is that of [`Message::wire_bytes`](crate::Message::wire_bytes).

use super::bytes::Reader;
use super::control::FLYWAYS;
use super::datagram::{Body, Header, within};
use super::error::{EncodeError, WireError};
use super::message::{SEVEN, host, known_host};
use crate::message::{RackFlyways, RackLink, RackShare};
use timeplane_model::{Rate, Round, Time};

/// An item is a link.
const LINK: u32 = 1 << 31;
/// Parts of a whole.
const WHOLE: u32 = 1_000_000;

pub(super) fn encode(message: &RackFlyways) -> Result<Vec<Vec<u8>>, EncodeError> {
    let RackFlyways { epoch, round, lease, links, shares } = message;
    let mut body = Body::default();
    body.put(lease.as_ps() as u64, 8);
    body.end();
    for (index, l) in links.iter().enumerate() {
        if index > 0 && (links[index - 1].peer, links[index - 1].channel) >= (l.peer, l.channel) {
            return Err(EncodeError::Disordered { what: "link", index });
        }
        if l.rate == Rate::ZERO {
            return Err(EncodeError::Zero { what: "a link's rate" });
        }
        body.put(host(l.peer)? | u64::from(LINK), 4);
        body.put(u64::from(l.channel), 4);
        body.put(within("a link's rate", l.rate.as_bps(), SEVEN)?, 7);
        body.put(l.up.as_ps() as u64, 8);
        body.end();
    }
    let mut total = 0;
    for (index, s) in shares.iter().enumerate() {
        let before = index.checked_sub(1).map(|i| &shares[i]);
        if before.is_some_and(|b| b.place() >= s.place()) {
            return Err(EncodeError::Disordered { what: "share", index });
        }
        if s.ppm == 0 {
            return Err(EncodeError::Zero { what: "a share" });
        }
        total = if before.is_some_and(|b| b.destination == s.destination) { total } else { 0 } + u64::from(s.ppm);
        within("shares of a destination", total, u64::from(WHOLE))?;
        body.put(host(s.destination)?, 4);
        body.put(host(s.start)?, 4);
        body.put(host(s.end)?, 4);
        body.put(u64::from(s.channel), 4);
        body.put(u64::from(s.ppm), 4);
        body.end();
    }
    body.datagrams(Header::new(FLYWAYS, *epoch, round.0, Time::ZERO))
}

pub(super) fn decode(header: &Header, r: &mut Reader<'_>) -> Result<RackFlyways, WireError> {
    let lease = Time::from_ps(r.i64()?);
    let (mut links, mut shares): (Vec<RackLink>, Vec<RackShare>) = (Vec::new(), Vec::new());
    let mut total = 0u64;
    while !r.is_empty() {
        let at = r.at();
        let first = r.u32()?;
        if first & LINK != 0 {
            let (peer, channel) = (known_host(first & !LINK, at)?, r.u32()?);
            let link = RackLink { peer, channel, rate: Rate::bps(r.number(7)?), up: Time::from_ps(r.i64()?) };
            let after = |l: &RackLink| (l.peer, l.channel) >= (peer, channel);
            // Links come before shares.
            if links.last().is_some_and(after) || !shares.is_empty() {
                return Err(WireError::Disordered { at });
            }
            if link.rate == Rate::ZERO {
                return Err(WireError::Value { at: at + 8, what: "a link's rate of zero" });
            }
            links.push(link);
            continue;
        }
        let destination = known_host(first, at)?;
        let (start, end) = (known_host(r.u32()?, at + 4)?, known_host(r.u32()?, at + 8)?);
        let share = RackShare { destination, start, end, channel: r.u32()?, ppm: r.u32()? };
        let before = shares.last();
        if before.is_some_and(|b| b.place() >= share.place()) {
            return Err(WireError::Disordered { at });
        }
        total = if before.is_some_and(|b| b.destination == destination) { total } else { 0 } + u64::from(share.ppm);
        if share.ppm == 0 || total > u64::from(WHOLE) {
            return Err(WireError::Value {
                at: at + 16,
                what: "shares of a destination are from 1 to 1,000,000 ppm in all",
            });
        }
        shares.push(share);
    }
    Ok(RackFlyways { epoch: header.epoch, round: Round(header.number), lease, links, shares })
}
