//! What agents say to each other.

use crate::wire::long_times;
use timeplane_model::{Backlog, Class, Duration, Framing, Grant, HostId, Medium, Rate, Round, Time};

/// A message between a controller and a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Host to controller: what waits.
    Report(Report),
    /// Controller to host: what it may send, and when to report next.
    Grants(Grants),
    /// Controller to host: how fast it may send.
    Rates(Rates),
    /// Controller to host: which class may send from now on.
    Pfc(Pfc),
    /// Controller to a rack: its links, and what of its traffic takes links.
    Flyways(RackFlyways),
    /// Controller to its peers: it is there.
    Heartbeat(Heartbeat),
    /// Controller to a relay: the round of its hosts.
    Part(Part),
    /// Relay to controller: what its hosts have reported.
    Gathered(Gathered),
}

/// A relay's part of a round: what to tell its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Counts the starts of the controller; a higher one replaces a lower one.
    pub epoch: u32,
    /// The round; each is passed on once.
    pub round: Round,
    /// When the round begins, by the clocks that controllers share.
    pub effective: Time,
    /// When the hosts are to report next.
    pub report_at: Time,
    /// What hosts may send: by host, each host's by begin.
    pub grants: Vec<(HostId, Grant)>,
}

/// Reports that a relay has gathered, of different hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered {
    /// Counts the starts of the relay.
    pub epoch: u32,
    /// Counts its messages.
    pub sequence: u64,
    /// In the order of hosts. What waits is told by destination, not flow by flow.
    pub reports: Vec<(HostId, Report)>,
}

/// A controller tells its peers that it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Counts the starts of controllers.
    pub epoch: u32,
}

/// Everything that waits at a host at one moment. A total, not a change: the newest report makes all earlier ones worthless, so that a
/// lost, doubled or late one does no lasting harm.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Counts the starts of the host's agent; a report of a higher epoch is newer.
    pub epoch: u32,
    /// Counts the reports of an epoch.
    pub sequence: u64,
    /// When the backlog was read, by the host's clock.
    pub taken_at: Time,
    /// The highest epoch of a controller that the host has heard of: a controller of a lower one is none any more.
    pub obeys: u32,
    /// What waited then.
    pub backlog: Backlog,
}

/// A host's part of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants {
    /// Counts the starts of the controller; a higher epoch replaces what a lower one granted and has not begun.
    pub epoch: u32,
    /// The round; each is applied once.
    pub round: Round,
    /// When the round begins. A host that gets this later applies none of it.
    pub effective: Time,
    /// What the host may send, by begin; none outlives the round.
    pub grants: Vec<Grant>,
    /// When the host is to report next, by its own clock; at once where that is past.
    pub report_at: Time,
}

/// All rates of a host. A total, not a change: a queue that is not named may not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// Counts the messages of rates; an older one is dropped.
    pub round: Round,
    /// Until when they hold, by the host's clock, unless newer ones come: a controller that falls silent opens no gate for good.
    pub lease: Time,
    /// In the order of destination and class, each at most once; in wire bits per second, none is zero.
    pub rates: Vec<(HostId, Class, Rate)>,
}

/// All links of a rack, and what of its traffic takes links. A total, not a change: a link that is not named is down, traffic that is not named
/// goes by wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RackFlyways {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// Counts the plans; an older one is dropped.
    pub round: Round,
    /// Until when they hold, by the rack's clock, unless newer ones come: a controller that falls silent leaves no link up for good.
    pub lease: Time,
    /// In the order of peer and channel, each at most once.
    pub links: Vec<RackLink>,
    /// In the order of [`RackShare::place`], each at most once; those of a destination are together at most the whole.
    pub shares: Vec<RackShare>,
}

/// A link of a rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackLink {
    /// The rack at its other end.
    pub peer: HostId,
    /// Its channel, or its number among several.
    pub channel: u32,
    /// What it carries; not zero.
    pub rate: Rate,
    /// From when on, by the rack's clock.
    pub up: Time,
}

/// A share of a rack's traffic that takes a link: its own one, or by wire another rack's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackShare {
    /// For whom.
    pub destination: HostId,
    /// Where the link begins: this rack, or the one that its traffic goes to by wire first.
    pub start: HostId,
    /// Where it ends: the destination, or the rack from which traffic goes on by wire.
    pub end: HostId,
    /// Which link of the two.
    pub channel: u32,
    /// Millionths of the traffic for the destination; not zero.
    pub ppm: u32,
}

impl RackShare {
    /// By what shares are ordered: destination, start, end, channel.
    pub fn place(&self) -> (HostId, HostId, HostId, u32) {
        (self.destination, self.start, self.end, self.channel)
    }
}

/// A priority flow control frame with an 11-bit class (IEEE 802.1Qbb with the wider class field of Practical TDMA, section 3), read as that paper
/// does: every class that is under signals is paused but one.
///
/// It tells a state, not a change: one that is lost is made good by the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// Counts the frames to this host; an older one is dropped.
    pub sequence: u64,
    /// The class that may send: that of a grant which [begins by this signal](timeplane_model::Trigger::Signal), or else the number of a
    /// destination. `None` pauses all.
    pub open: Option<u16>,
    /// For how long at most: what a pause time is to an ordinary frame. A controller that falls silent opens no gate for good.
    pub hold: Duration,
}

impl Pfc {
    /// Classes are numbered below this: 11 bits.
    pub const CLASSES: u16 = 1 << 11;
    /// Bytes on the wire: the smallest Ethernet frame with preamble and gap.
    pub const WIRE_BYTES: u32 = 84;
}

impl Message {
    /// Bytes on the wire, with Ethernet framing, if it went as UDP over IPv4.
    ///
    /// - Each datagram: Ethernet 38 (preamble 8, header 14, FCS 4, gap 12), IPv4 20, UDP 8, and a [header](crate::wire::Header) of 24:
    ///   version 1, kind and flags 1, part 2, epoch 4, sequence or round 8, time 8 (when the backlog was read, when the round begins,
    ///   zero of rates). No frame is under 84, no IP packet over 1500; what does not fit goes into more datagrams.
    /// - A report: 8 where it has room (flag 1); 4 for the controller's epoch where that is not zero (flag 4); per destination 12 (destination 4, of which bit 31 says that it has arrived bytes; bytes
    ///   8), and 8 for what has ever arrived; or, where it has bursts (flag 2), these instead: 24 each (destination 4, class 1, packets 4,
    ///   bytes 7, time 8). Bytes by destination are then their sums.
    /// - Grants: 8 for the time to report; per grant 24 (destination 4, of which bit 30 says path and bit 31 link; class 1; flags 1: two
    ///   bits each for the kinds of begin and end, one each for what follows; path 2; begin 8, picoseconds after the round's or the number of a
    ///   signal; end 4, after the begin or a signal's number; lease 4, after the end), and 8 for a rate, 8 for a limit of bytes, 4 for one of
    ///   packets, 4 for a link, 8 each for an end and a lease more than 4.29 ms after what they count from: after the begin (the round's, where a
    ///   signal begins it), and after the end where it is known.
    /// - Rates: 8 for the lease; 12 each (destination 4, class 1, rate 7).
    /// - A rack's flyways: 8 for the lease; per link 23 (peer 4, of which bit 31 says that it is a link; channel 4; rate 7; up 8), then per share 20
    ///   (destination, start, end, channel, millionths: 4 each).
    /// - A relay's part: 8 for the time to report; per grant 4 for its host, and the grant as above.
    /// - What a relay has gathered: per host 28 (host 4, of which bit 31 says that it has room, bit 30 that the controller's epoch is not zero; epoch 4;
    ///   sequence 8; when the backlog was read 8; number of destinations 4), 8 for its room, 4 for the controller's epoch; then its destinations as
    ///   in a report.
    /// - A PFC frame is no datagram but a smallest frame, see [`Pfc::encode`].
    pub fn wire_bytes(&self) -> u32 {
        const HEADER: u32 = 24;
        const ROOM: u32 = 1500 - 28 - HEADER;
        let optional = |present: bool, bytes: u32| if present { bytes } else { 0 };
        let entry = |e: &timeplane_model::BacklogEntry| 12 + optional(e.arrived.is_some(), 8);
        let grant = |g: &Grant, effective: Time| {
            24 + optional(g.rate.is_some(), 8)
                + optional(g.bytes.is_some(), 8)
                + optional(g.packets.is_some(), 4)
                + optional(matches!(g.medium, Medium::Link(_)), 4)
                + 8 * long_times(g, effective)
        };
        let (fixed, items): (u32, Vec<u32>) = match self {
            Self::Report(r) => {
                let items = if r.backlog.bursts.is_empty() {
                    r.backlog.entries().iter().map(entry).collect()
                } else {
                    vec![24; r.backlog.bursts.len()]
                };
                (optional(r.backlog.room.is_some(), 8) + optional(r.obeys > 0, 4), items)
            }
            Self::Rates(r) => (8, vec![12; r.rates.len()]),
            Self::Flyways(f) => (8, [vec![23; f.links.len()], vec![20; f.shares.len()]].concat()),
            Self::Pfc(_) => return Pfc::WIRE_BYTES,
            Self::Heartbeat(_) => (0, Vec::new()),
            Self::Grants(g) => (8, g.grants.iter().map(|one| grant(one, g.effective)).collect()),
            Self::Part(p) => (8, p.grants.iter().map(|(_, one)| 4 + grant(one, p.effective)).collect()),
            Self::Gathered(g) => {
                let report = |r: &Report| {
                    let head = 28 + optional(r.backlog.room.is_some(), 8) + optional(r.obeys > 0, 4);
                    [head].into_iter().chain(r.backlog.entries().iter().map(entry)).collect::<Vec<_>>()
                };
                (0, g.reports.iter().flat_map(|(_, r)| report(r)).collect())
            }
        };
        let datagram = |content: u32| Framing::Ethernet.wire(28 + HEADER + content);
        let mut content = fixed;
        let mut sent = 0;
        for item in items {
            // An item is never split.
            if content + item > ROOM {
                sent += datagram(content);
                content = 0;
            }
            content += item;
        }
        sent + datagram(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::Bytes;

    fn report(destinations: u32) -> Message {
        let backlog = Backlog::of_bytes((0..destinations).map(|d| (HostId(d), Bytes::new(1))));
        Message::Report(Report { epoch: 0, sequence: 0, taken_at: Time::ZERO, obeys: 0, backlog })
    }

    #[test]
    fn control_messages_count_their_frames() {
        // 38 + 28 + 24, and 12 for each destination.
        assert_eq!(report(0).wire_bytes(), 90);
        assert_eq!(report(23).wire_bytes(), 90 + 23 * 12);
        // 120 entries fill a datagram: 24 + 1440 of 1472.
        assert_eq!(report(120).wire_bytes(), 90 + 120 * 12);
        assert_eq!(report(121).wire_bytes(), 2 * 90 + 121 * 12);
        let none = Grants { epoch: 0, round: Round(0), effective: Time::ZERO, grants: vec![], report_at: Time::ZERO };
        assert_eq!(Message::Grants(none).wire_bytes(), 98);
    }
}
