//! Flyways: air links that a controller sets up between racks, and the traffic that takes them.
//!
//! A rack has an air link for each channel. The link is down until the controller has told both of
//! its ends the same link, with one time from which on it carries. Packets that wait for a link
//! that goes down continue by wire. A packet flies at most once, so shares of several racks never
//! send it in a circle.

use crate::air::links::AirLinks;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::network::packet::{Packet, UNKNOWN, flags};
use crate::network::wires::Wires;
use std::sync::Arc;
use timeplane_model::{HostId, mix64};
use timeplane_protocol::RackFlyways;
use timeplane_radio::{Db, Field, Mcs};

/// [`Packet::path`] of a packet that has flown.
pub(crate) const FLOWN: u16 = u16::MAX;
/// [`Packet::path`] of a packet that goes by wire to a rack and flies from there: this plus the
/// rack's number.
pub(crate) const VIA: u16 = 0x8000;

/// The flyways of a network.
pub(crate) struct FlywayLinks {
    field: Arc<Field>,
    channels: u32,
    /// By rack: what the controller told it last.
    told: Vec<RackFlyways>,
    /// By rack and channel: the rack at the other end and the rate, where the link is up.
    up: Vec<Option<(u32, Mcs)>>,
    /// By rack: its switch; by node: the rack whose switch it is.
    switches: Vec<u32>,
    racks: Vec<Option<u32>>,
    /// By rack and channel: what it does.
    does: Vec<Does>,
    history: Vec<Changed>,
}

/// What a rack's radio on a channel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Does {
    /// It has no link.
    #[default]
    Nothing,
    /// It points at another rack, by number.
    Points(u32, Mcs),
    /// Its link to another rack is up.
    Sends(u32, Mcs),
}

/// A change of what a radio does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed {
    pub at: SimTime,
    /// The air link.
    pub link: u32,
    pub does: Does,
}

/// The way of a packet from a rack's switch.
pub(crate) enum Way {
    /// By wire, on its route.
    Wire,
    /// The air link with this number in the network.
    Air(u32),
}

impl FlywayLinks {
    pub fn new(field: Arc<Field>, switches: Vec<u32>, channels: u32) -> Self {
        let racks = switches.len() as u32;
        let mut by_node = vec![None; switches.iter().max().map_or(0, |&last| last as usize + 1)];
        for (&switch, rack) in switches.iter().zip(0..) {
            by_node[switch as usize] = Some(rack);
        }
        Self {
            racks: by_node,
            switches,
            field,
            channels,
            told: vec![RackFlyways::default(); racks as usize],
            up: vec![None; (racks * channels) as usize],
            does: vec![Does::Nothing; (racks * channels) as usize],
            history: Vec::new(),
        }
    }

    fn place(&self, rack: u32, channel: u32) -> usize {
        (rack * self.channels + channel) as usize
    }

    /// What a rack wants of a channel now: the other end and the rate.
    fn wants(&self, now: SimTime, rack: u32, channel: u32) -> Option<(u32, Mcs)> {
        let told = &self.told[rack as usize];
        let now = now.on_perfect_clock();
        if now >= told.lease {
            return None;
        }
        let link = told.links.iter().find(|l| l.channel == channel && l.up <= now)?;
        let mcs = Mcs::ofdm().find(|m| m.rate() == link.rate)?;
        Some((link.peer.0, mcs))
    }

    /// What a rack was told to point at and does not use yet.
    fn awaits(&self, now: SimTime, rack: u32, channel: u32) -> Option<(u32, Mcs)> {
        let told = &self.told[rack as usize];
        let now = now.on_perfect_clock();
        let link = told.links.iter().find(|l| l.channel == channel && l.up > now && now < told.lease)?;
        Some((link.peer.0, Mcs::ofdm().find(|m| m.rate() == link.rate)?))
    }

    /// Notes what has changed of an air link.
    fn note(&mut self, air: &mut AirLinks, now: SimTime, rack: u32, channel: u32) {
        let place = self.place(rack, channel);
        let does = match (self.up[place], self.awaits(now, rack, channel)) {
            (Some((peer, mcs)), _) => Does::Sends(peer, mcs),
            (None, Some((peer, mcs))) => Does::Points(peer, mcs),
            (None, None) => Does::Nothing,
        };
        if self.does[place] != does {
            self.does[place] = does;
            self.history.push(Changed { at: now, link: place as u32, does });
            air.medium.note(now, place as u32);
        }
    }

    /// What radios did over time, by air link and in order of time. None of them has a link at
    /// first.
    pub fn history(&self) -> &[Changed] {
        &self.history
    }

    /// The switch of a rack.
    pub fn switch(&self, rack: u32) -> u32 {
        self.switches[rack as usize]
    }

    /// The link from a rack to another one on a channel, if it is up.
    fn link(&self, rack: u32, to: u32, channel: u32) -> Option<usize> {
        let place = self.place(rack, channel);
        self.up.get(place).copied().flatten().filter(|l| l.0 == to).map(|_| place)
    }

    /// Where a packet goes from a rack's switch: over which air link of the rack, or to which rack
    /// by wire first.
    fn way(&self, now: SimTime, rack: u32, to: u32, packet: &Packet) -> (Option<usize>, Option<u32>) {
        if packet.path == FLOWN || rack == to {
            return (None, None);
        }
        if packet.path >= VIA {
            if u32::from(packet.path - VIA) != rack {
                return (None, None);
            }
            return ((0..self.channels).find_map(|c| self.link(rack, to, c)), None);
        }
        let told = &self.told[rack as usize];
        if packet.path != 0 || now.on_perfect_clock() >= told.lease {
            return (None, None);
        }
        // Shares are of flows, so all packets of a flow take the same way while shares last.
        let mut place = ((mix64(u64::from(packet.hash)) >> 32) * 1_000_000) >> 32;
        let of = |s: &&timeplane_protocol::RackShare| s.destination == HostId(to);
        for share in told.shares.iter().filter(of) {
            if place < u64::from(share.ppm) {
                return match share.start.0 == rack {
                    true => (self.link(rack, share.end.0, share.channel), None),
                    false => (None, Some(share.start.0)),
                };
            }
            place -= u64::from(share.ppm);
        }
        (None, None)
    }

    /// A rack learns of its links and shares. `false` if it knows newer ones.
    pub fn tell_rack(&mut self, wires: &mut Wires, now: SimTime, rack: u32, told: RackFlyways) -> bool {
        let known = &self.told[rack as usize];
        if (told.epoch, told.round) < (known.epoch, known.round) {
            return false;
        }
        let times = told.links.iter().map(|l| l.up).chain([told.lease]);
        for at in times.map(|t| SimTime::from_ps(t.as_ps())).filter(|&t| t > now) {
            wires.calendar.push(at, EventKind::Flyways.key());
        }
        self.told[rack as usize] = told;
        true
    }

    /// Takes links down and sets them up as both of their ends agree.
    pub fn update(&mut self, wires: &mut Wires, air: &mut AirLinks, now: SimTime) {
        let (racks, channels) = (self.told.len() as u32, self.channels);
        let mut begun = Vec::new();
        for (rack, channel) in (0..racks).flat_map(|r| (0..channels).map(move |c| (r, c))) {
            let wanted = self.wants(now, rack, channel);
            let agreed = wanted.filter(|&(peer, mcs)| self.wants(now, peer, channel) == Some((rack, mcs)));
            let place = self.place(rack, channel);
            if self.up[place] != agreed {
                self.up[place] = agreed;
                air.medium.take_down(place as u32);
                begun.extend(agreed.map(|(peer, mcs)| (rack, channel, peer, mcs)));
            }
            self.note(air, now, rack, channel);
        }
        // All links that end have ended before the first one starts.
        for (rack, channel, peer, mcs) in begun {
            let (place, other) = (self.place(rack, channel), self.place(peer, channel));
            let powers = self.powers(rack, peer, channel);
            air.medium.point(place as u32, &powers.0, &powers.1);
            air.medium.set_up(now, place as u32, other as u32, mcs);
            wires.point(air.numbers[place], self.switches[rack as usize], self.switches[peer as usize]);
        }
    }

    /// The way of a packet from a rack's switch. Notes in the packet what the next switch has to
    /// know.
    pub fn choose(&self, wires: &mut Wires, air: &AirLinks, now: SimTime, switch: u32, id: u32) -> Way {
        let Some(rack) = self.racks.get(switch as usize).copied().flatten() else { return Way::Wire };
        let packet = wires.packets.get_mut(id);
        let is_ack = packet.flags & flags::ACK != 0;
        if is_ack && air.acknowledgements_by_wire {
            return Way::Wire;
        }
        match self.way(now, rack, packet.destination, packet) {
            (Some(link), _) => {
                packet.path = FLOWN;
                Way::Air(air.numbers[link])
            }
            (None, Some(first)) => {
                packet.path = VIA + first as u16;
                packet.ahead = UNKNOWN;
                Way::Wire
            }
            (None, None) => {
                if packet.path == VIA + rack as u16 {
                    // Its link is gone: it continues by wire.
                    packet.path = 0;
                    packet.ahead = UNKNOWN;
                }
                Way::Wire
            }
        }
    }

    /// The power at which all stations of its channel hear a rack that points at `peer`, and at
    /// which it hears them, in mW.
    fn powers(&self, rack: u32, peer: u32, channel: u32) -> (Vec<f64>, Vec<f64>) {
        let racks = self.told.len();
        let (mut sends, mut hears) = (vec![0.0; self.up.len()], vec![0.0; self.up.len()]);
        // The margin for destructive multipath is taken off signals, never off interference.
        let margin = Db::new(-3.0).ratio();
        for other in 0..racks as u32 {
            let place = self.place(other, channel);
            let Some((aim, _)) = self.up[place].filter(|_| other != rack) else { continue };
            let own = if other == peer { margin } else { 1.0 };
            let (a, b, aim) = (rack as usize, other as usize, aim as usize);
            sends[place] = self.field.power(a, peer as usize, b, aim).get() * own;
            hears[place] = self.field.power(b, aim, a, peer as usize).get() * own;
        }
        (sends, hears)
    }
}
