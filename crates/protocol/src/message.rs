//! Messages between agents.
//!
//! Most messages describe a state rather than a change, so the newest one makes up for all that
//! were lost.

use crate::wire::{coflow_items, long_times};
use timeplane_model::{Backlog, Bytes, Class, Duration, Framing, Grant, HostId, Medium, Rate, Round, Time};

/// A message between agents.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Host to controller: the backlog.
    Report(Box<BacklogReport>),
    /// Controller to host: what it may send, and when to report next.
    Grants(Grants),
    /// Controller to host: the rates of its queues.
    Rates(Rates),
    /// Controller to host: the class that may send from now on.
    Pfc(Pfc),
    /// Controller to rack: its links, and the shares of its traffic that use links.
    Flyways(RackFlyways),
    /// Controller to peers: it leads.
    Heartbeat(Heartbeat),
    /// Controller to relay: a round's grants for its hosts.
    Part(Part),
    /// Relay to controller: reports of its hosts.
    Gathered(Gathered),
}

/// A relay's part of a round, to pass on to its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Counts the starts of the controller; a higher epoch replaces a lower one.
    pub epoch: u32,
    /// The round, which is passed on once.
    pub round: Round,
    /// When the round starts, by the clock that controllers share.
    pub effective: Time,
    /// When hosts report next.
    pub report_at: Time,
    /// Grants by host, each host's in the order of starts.
    pub grants: Vec<(HostId, Grant)>,
}

/// Reports of different hosts that a relay has gathered.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered {
    /// Counts the starts of the relay.
    pub epoch: u32,
    /// Counts its messages.
    pub sequence: u64,
    /// In the order of hosts, with backlogs by destination instead of by flow.
    pub reports: Vec<(HostId, BacklogReport)>,
}

/// A controller's message to its peers that it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Counts the starts of controllers.
    pub epoch: u32,
    /// The round that hosts are told of at the same time.
    pub round: Round,
}

/// A round in a report: 1 to 255 over and over, in a single byte. 0 stands for none.
pub fn short_round(round: Round) -> u8 {
    1 + (round.0 % 255) as u8
}

/// The whole backlog of a host at one moment. It is a state, not a change: the newest report
/// replaces all earlier ones, so lost, doubled or late reports do no lasting harm.
#[derive(Clone, Debug, PartialEq)]
pub struct BacklogReport {
    /// Counts the starts of the host's agent; reports of a higher epoch are newer.
    pub epoch: u32,
    /// Counts the reports of an epoch.
    pub sequence: u64,
    /// When the backlog was read, by the host's clock.
    pub taken_at: Time,
    /// The highest epoch of a controller that the host knows. A controller of a lower epoch must
    /// not lead.
    pub obeys: u32,
    /// The newest round of that controller that the host knows, by [`short_round`]; 0 if it knows
    /// none. A follower sees by it that a controller which it does not hear still plans.
    pub heard: u8,
    /// The backlog at that time.
    pub backlog: Backlog,
}

/// A host's part of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants {
    /// Counts the starts of the controller. A higher epoch replaces grants of a lower one that have
    /// not started.
    pub epoch: u32,
    /// The round, which is applied once.
    pub round: Round,
    /// When the round starts. A host that receives this later applies none of it.
    pub effective: Time,
    /// Grants in the order of starts; none outlives the round.
    pub grants: Vec<Grant>,
    /// When the host reports next, by its own clock; at once if that is past.
    pub report_at: Time,
}

/// All rates of a host. They are a state, not a change: a queue without a rate may not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// Counts the messages of rates; older ones are dropped.
    pub round: Round,
    /// When the rates end, by the host's clock, unless newer ones come. A controller that fails
    /// opens no gate for good.
    pub lease: Time,
    /// Rates on the wire in the order of destination and class, each pair at most once, none zero.
    pub rates: Vec<(HostId, Class, Rate)>,
}

/// All links of a rack, and the shares of its traffic that use links. They are a state, not a
/// change: links that are not listed are down, and the rest of the traffic uses wires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RackFlyways {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// Counts the plans; older ones are dropped.
    pub round: Round,
    /// When links and shares end, by the rack's clock, unless newer ones come. A controller that
    /// fails leaves no link up for good.
    pub lease: Time,
    /// In the order of peer and channel, each pair at most once.
    pub links: Vec<RackLink>,
    /// In the order of [`RackShare::place`], each at most once. Shares of a destination add up to
    /// the whole at most.
    pub shares: Vec<RackShare>,
}

/// A radio link or circuit between this rack and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackLink {
    /// The rack at the other end.
    pub peer: HostId,
    /// The link's channel, or its number among several.
    pub channel: u32,
    /// Its rate; not zero.
    pub rate: Rate,
    /// When it starts, by the rack's clock.
    pub up: Time,
}

/// A share of a rack's traffic that uses a link of this rack, or, over wires, of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackShare {
    /// The destination of the traffic.
    pub destination: HostId,
    /// Where the link starts: this rack, or the rack that traffic reaches by wire first.
    pub start: HostId,
    /// Where the link ends: the destination, or the rack from which traffic continues by wire.
    pub end: HostId,
    /// The link's channel.
    pub channel: u32,
    /// Millionths of the traffic to the destination; not zero.
    pub ppm: u32,
}

impl RackShare {
    /// The order of shares: destination, start, end, channel.
    pub fn place(&self) -> (HostId, HostId, HostId, u32) {
        (self.destination, self.start, self.end, self.channel)
    }
}

/// A priority flow control frame with an 11-bit class: IEEE 802.1Qbb with the wider class field of
/// Practical TDMA, section 3. As in that paper, it pauses every class under signals except one.
///
/// It tells a state, not a change: the next frame makes good for a lost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// Counts the frames to this host; older ones are dropped. Controllers of real hosts count in
    /// nanoseconds of their clock: the number is the time at which a frame leaves, and gates refuse
    /// late ones.
    pub sequence: u64,
    /// The class that may send: that of a grant which [starts by this
    /// signal](timeplane_model::Trigger::Signal), or else the number of a destination. `None`
    /// pauses all.
    pub open: Option<u16>,
    /// How long the gate may stay open, like the pause time of an ordinary frame. A controller that
    /// fails opens no gate for good.
    pub hold: Duration,
}

impl Pfc {
    /// The number of classes with 11 bits.
    pub const CLASSES: u16 = 1 << 11;
    /// Bytes on the wire: the smallest Ethernet frame with preamble and interframe space.
    pub const WIRE_BYTES: u32 = 84;
}

impl Message {
    /// Bytes on the wire, with Ethernet framing, as UDP over IPv4.
    ///
    /// - Each datagram: Ethernet 38 (preamble 8, header 14, FCS 4, interframe space 12), IPv4 20,
    ///   UDP 8, and a [header](crate::wire::Header) of 24: version 1, kind and flags 1, part 2,
    ///   epoch 4, sequence or round 8, time 8 (when the backlog was read, when the round starts,
    ///   zero for rates). No frame is under 84 bytes and no IP packet over 1500. The rest goes into
    ///   more datagrams.
    /// - A report: 8 for the room (flag 1), 4 for the controller's epoch unless it is zero (flag
    ///   4). Per destination 12 (destination 4, of which bit 31 marks arrived bytes; bytes 8), and
    ///   8 for the bytes that ever arrived. With bursts (flag 2), 24 per burst instead (destination
    ///   4, class 1, packets 4, bytes 7, time 8); bytes by destination are their sums. With coflows
    ///   (flag 8), 16 per part instead (destination 4; coflow 4, or 2^32 - 1 for none; bytes 8).
    /// - Grants: 8 for the time of the next report. Per grant 24: destination 4, of which bit 30
    ///   marks a path and bit 31 a link; class 1; flags 1, with two bits each for the kinds of
    ///   start and end and one for each optional field; path 2; start 8, in picoseconds after the
    ///   round's, or the number of a signal; end 4, after the start, or a signal's number; lease 4,
    ///   after the end. Optional fields: 8 for a rate, 8 for a limit of bytes, 4 for one of
    ///   packets, 4 for a link, and 8 each for an end and a lease more than 4.29 ms after the time
    ///   that they count from.
    /// - Rates: 8 for the lease; 12 each (destination 4, class 1, rate 7).
    /// - A rack's flyways: 8 for the lease. Per link 23 (peer 4, of which bit 31 marks a link;
    ///   channel 4; rate 7; start 8), then per share 20 (destination, start, end, channel,
    ///   millionths: 4 each).
    /// - A relay's part: 8 for the time of the next report; per grant 4 for its host, and the grant
    ///   as above.
    /// - Gathered reports: per host 28 (host 4, of which bit 31 marks a room and bit 30 a nonzero
    ///   epoch of the controller; epoch 4; sequence 8; time of reading 8; number of destinations
    ///   4), 8 for the room, 4 for the controller's epoch, then destinations as in a report.
    /// - A PFC frame is a smallest frame instead of a datagram, see [`Pfc::encode`].
    pub fn wire_bytes(&self) -> u32 {
        let mut sum = 0;
        self.each_frame(|frame| sum += frame);
        sum
    }

    /// Most wire bytes of this many grants of at most `grant` bytes each, which are made of
    /// [`size`].
    pub fn most_of_grants(count: u64, grant: u32) -> Bytes {
        most(size::NEXT_REPORT, count, grant)
    }

    /// Wire bytes of this many rates.
    pub fn most_of_rates(count: u64) -> Bytes {
        most(size::LEASE, count, size::RATE_ITEM)
    }

    /// Calls this with the bytes on the wire of each of its frames.
    pub fn each_frame(&self, mut frame: impl FnMut(u32)) {
        let optional = |present: bool, bytes: u32| if present { bytes } else { 0 };
        let entry = |e: &timeplane_model::BacklogEntry| size::ENTRY + optional(e.arrived.is_some(), size::ARRIVED);
        let grant = |g: &Grant, effective: Time| {
            size::GRANT
                + optional(g.rate.is_some(), size::RATE)
                + optional(g.bytes.is_some(), size::LIMIT)
                + optional(g.packets.is_some(), size::PACKETS)
                + optional(matches!(g.medium, Medium::Link(_)), size::LINK)
                + size::LONG_TIME * long_times(g, effective)
        };
        let head = |r: &BacklogReport| {
            optional(r.backlog.room.is_some(), size::ROOM) + optional(r.obeys > 0, size::OBEYED_EPOCH)
        };
        let entries = |b: &Backlog, frames: &mut Datagrams<_>| b.entries().iter().for_each(|e| frames.item(entry(e)));
        let mut frames = Datagrams { content: 0, frame: &mut frame };
        match self {
            Self::Report(r) => {
                let b = &r.backlog;
                frames.content = head(r);
                match (b.bursts.len(), b.coflows().len()) {
                    (0, 0) => entries(b, &mut frames),
                    (0, _) => frames.items(coflow_items(b).len(), size::COFLOW_PART),
                    (bursts, _) => frames.items(bursts, size::BURST),
                }
            }
            Self::Rates(r) => {
                frames.content = size::LEASE;
                frames.items(r.rates.len(), size::RATE_ITEM);
            }
            Self::Flyways(f) => {
                frames.content = size::LEASE;
                frames.items(f.links.len(), size::FLYWAY);
                frames.items(f.shares.len(), size::SHARE);
            }
            Self::Pfc(_) => return frame(Pfc::WIRE_BYTES),
            Self::Heartbeat(_) => {}
            Self::Grants(g) => {
                frames.content = size::NEXT_REPORT;
                g.grants.iter().for_each(|one| frames.item(grant(one, g.effective)));
            }
            Self::Part(p) => {
                frames.content = size::NEXT_REPORT;
                p.grants.iter().for_each(|(_, one)| frames.item(size::HOST + grant(one, p.effective)));
            }
            Self::Gathered(g) => {
                for (_, r) in &g.reports {
                    frames.item(size::GATHERED + head(r));
                    entries(&r.backlog, &mut frames);
                }
            }
        }
        frames.end();
    }
}

/// The datagrams of a message, one after the other.
struct Datagrams<'a, F> {
    /// Bytes after the header of the one that is not full yet.
    content: u32,
    /// Called with the bytes on the wire of each.
    frame: &'a mut F,
}

impl<F: FnMut(u32)> Datagrams<'_, F> {
    /// Items are never split.
    fn item(&mut self, bytes: u32) {
        if self.content + bytes > ROOM {
            (self.frame)(datagram(self.content));
            self.content = 0;
        }
        self.content += bytes;
    }

    /// Items of the same size, a datagram at a time.
    fn items(&mut self, count: usize, bytes: u32) {
        let mut left = count as u32;
        loop {
            let fit = ROOM.saturating_sub(self.content) / bytes;
            if left <= fit {
                self.content += left * bytes;
                return;
            }
            (self.frame)(datagram(self.content + fit * bytes));
            self.content = 0;
            left -= fit;
        }
    }

    fn end(self) {
        (self.frame)(datagram(self.content));
    }
}

/// Bytes of the parts of a message, as [`Message::wire_bytes`] lists them.
pub mod size {
    /// In a report, a destination with its bytes.
    pub(super) const ENTRY: u32 = 12;
    /// The bytes that ever arrived for a destination.
    pub(super) const ARRIVED: u32 = 8;
    /// A burst of a report.
    pub(super) const BURST: u32 = 24;
    /// The part of a coflow in a report.
    pub(super) const COFLOW_PART: u32 = 16;
    /// The room that a host has for what comes.
    pub(super) const ROOM: u32 = 8;
    /// The epoch of the controller that a host obeys.
    pub(super) const OBEYED_EPOCH: u32 = 4;
    /// What stands before each report that a relay has gathered.
    pub(super) const GATHERED: u32 = 28;
    /// Before grants, the time of the next report.
    pub(super) const NEXT_REPORT: u32 = 8;
    /// Before rates and flyways, the time for which they hold.
    pub(super) const LEASE: u32 = 8;
    /// A rate with its destination.
    pub(super) const RATE_ITEM: u32 = 12;
    /// A flyway.
    pub(super) const FLYWAY: u32 = 23;
    /// A share of a flyway.
    pub(super) const SHARE: u32 = 20;
    /// A grant without optional fields.
    pub const GRANT: u32 = 24;
    /// The rate of a grant.
    pub const RATE: u32 = 8;
    /// The limit of a grant in bytes.
    pub const LIMIT: u32 = 8;
    /// The limit of a grant in packets.
    pub const PACKETS: u32 = 4;
    /// The link of a grant.
    pub const LINK: u32 = 4;
    /// An end or a lease of a grant that is more than 4.29 ms after the time it counts from.
    pub(super) const LONG_TIME: u32 = 8;
    /// For relays, the host of a grant.
    pub const HOST: u32 = 4;

    /// [`LONG_TIME`] if times may lie this far apart.
    pub fn long(apart: timeplane_model::Duration) -> u32 {
        if apart.as_ps() > i64::from(u32::MAX) { LONG_TIME } else { 0 }
    }
}

/// Most wire bytes of a message of `items` items of at most `bytes` each, after `fixed` bytes.
fn most(fixed: u32, items: u64, bytes: u32) -> Bytes {
    let fit = (ROOM.saturating_sub(fixed) / bytes.max(1)).max(1);
    let datagrams = items.div_ceil(fit.into()).max(1);
    Bytes::new(datagrams * u64::from(datagram(0)) + u64::from(fixed) + items * u64::from(bytes))
}

/// Bytes that a datagram has for what follows its header.
const ROOM: u32 = 1500 - 28 - HEADER;
/// Bytes of a [header](crate::wire::Header).
const HEADER: u32 = 24;

/// Bytes on the wire of a datagram with this much behind its header.
fn datagram(content: u32) -> u32 {
    Framing::Ethernet.wire(28 + HEADER + content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(destinations: u32) -> Message {
        let backlog = Backlog::of_bytes((0..destinations).map(|d| (HostId(d), Bytes::new(1))));
        Message::Report(Box::new(BacklogReport {
            epoch: 0,
            sequence: 0,
            taken_at: Time::ZERO,
            obeys: 0,
            heard: 0,
            backlog,
        }))
    }

    #[test]
    fn control_messages_count_their_frames() {
        // 38 + 28 + 24, and 12 for each destination.
        assert_eq!(report(0).wire_bytes(), 90);
        assert_eq!(report(23).wire_bytes(), 90 + 23 * 12);
        // 120 entries fill a datagram: 24 + 1440 of 1472.
        assert_eq!(report(120).wire_bytes(), 90 + 120 * 12);
        assert_eq!(report(121).wire_bytes(), 2 * 90 + 121 * 12);
        let mut frames = Vec::new();
        report(121).each_frame(|frame| frames.push(frame));
        assert_eq!(frames, [1530, 102]);
        for items in [0, 23, 120, 121, 240, 241] {
            let (most, is) = (most(0, items, size::ENTRY).get(), u64::from(report(items as u32).wire_bytes()));
            assert_eq!(most, is, "{items} destinations");
        }
        let grant = Grant {
            destination: HostId(0),
            class: timeplane_model::Class(0),
            medium: Medium::Link(timeplane_model::LinkId(3)),
            rate: Some(timeplane_model::Rate::gbps(1)),
            bytes: Some(Bytes::new(1)),
            packets: Some(1),
            start: timeplane_model::Trigger::At(Time::ZERO),
            end: timeplane_model::Trigger::At(Time::ZERO),
            lease: Time::ZERO,
        };
        let options = size::RATE + size::LIMIT + size::PACKETS + size::LINK;
        for apart in [Duration::from_us(1), Duration::from_ms(4), Duration::from_ms(5)] {
            let end = timeplane_model::Trigger::At(Time::ZERO + apart);
            let all = vec![Grant { end, lease: Time::ZERO + apart, ..grant }; 100];
            let none = vec![Grant { rate: None, bytes: None, packets: None, medium: Medium::Fabric, ..all[0] }; 100];
            for (grants, one) in [(all, size::GRANT + options), (none, size::GRANT)] {
                let most = Message::most_of_grants(100, one + size::long(apart)).get();
                let (epoch, round, time) = (0, Round(0), Time::ZERO);
                let message = Message::Grants(Grants { epoch, round, effective: time, grants, report_at: time });
                assert_eq!(u64::from(message.wire_bytes()), most, "{apart}");
            }
        }
        let none = Grants { epoch: 0, round: Round(0), effective: Time::ZERO, grants: vec![], report_at: Time::ZERO };
        assert_eq!(Message::Grants(none).wire_bytes(), 98);
    }
}
