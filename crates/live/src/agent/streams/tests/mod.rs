//! Tests of streams between two hosts. The network between them loses, duplicates, truncates and
//! delays frames.

mod attacks;
mod rules;
mod transfer;
mod waking;

use super::*;
use std::collections::BTreeMap;
use timeplane_protocol::wire::{HostSecret, MacAddress};

pub(super) const A: HostId = HostId(1);
pub(super) const B: HostId = HostId(2);
/// Epoch of the agent of `B`; that of `A` is 1.
pub(super) const B_EPOCH: u32 = 5;
/// Bytes on the wire of a full frame.
pub(super) const FULL: u64 = 1538;

pub(super) fn mac(host: HostId) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, host.0 as u8])
}

pub(super) fn secret(owner: HostId) -> HostSecret {
    HostSecret([owner.0 as u8; 32])
}

/// A host as a controller describes it to another one.
pub(super) fn peer(of: HostId, epoch: u32, reader: HostId, sealed: bool) -> PeerHost {
    PeerHost { mac: mac(of), epoch, key: sealed.then(|| secret(of).key_of(reader, of)), mtu: None }
}

/// A host that knows the other one, with the epochs of the first agents.
pub(super) fn host_of(id: HostId, epoch: u32, send_buffer: u64, sealed: bool) -> Streams {
    let config = StreamsConfig {
        send_buffer: Bytes::new(send_buffer),
        secret: sealed.then(|| secret(id)),
        // Sealed ones wrap around soon.
        first_stream: if sealed { u32::MAX - 2 } else { 1 },
        ..StreamsConfig::new(id, mac(id), epoch)
    };
    let mut streams = Streams::new(config);
    for (other, epoch) in [(A, 1), (B, B_EPOCH)] {
        if other != id {
            assert_eq!(streams.set_peer(other, peer(other, epoch, id, sealed)), None);
        }
    }
    streams
}

pub(super) fn host(id: HostId, epoch: u32, send_buffer: u64) -> Streams {
    host_of(id, epoch, send_buffer, false)
}

/// Random numbers (SplitMix64).
#[derive(Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    pub(super) fn percent(&mut self, p: u64) -> bool {
        self.below(100) < p
    }
}

/// In percent of frames, and microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    pub(super) loss: u64,
    pub(super) duplication: u64,
    pub(super) truncation: u64,
    pub(super) jitter_us: u64,
    /// Of batches, that the gate refuses a part of.
    pub(super) refusal: u64,
}

pub(super) struct World {
    pub(super) hosts: [Streams; 2],
    pub(super) now: Time,
    pub(super) dice: Dice,
    pub(super) trouble: Trouble,
    flying: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    count: u64,
    /// Frames to either host, if a test records them.
    pub(super) recorded: Option<[Vec<Vec<u8>>; 2]>,
    /// IP packets that came out, at either host.
    pub(super) packets: [Vec<Vec<u8>>; 2],
    /// The longest frame that the network carries, and how many longer ones it has dropped.
    pub(super) most: usize,
    pub(super) too_long: u64,
    /// Whether there is always room for a full frame.
    pub(super) roomy: bool,
}

impl World {
    pub(super) fn new(send_buffer: u64, trouble: Trouble, seed: u64) -> Self {
        Self::of(send_buffer, trouble, seed, false)
    }

    /// Hosts that may seal the frames between them.
    pub(super) fn of(send_buffer: u64, trouble: Trouble, seed: u64, sealed: bool) -> Self {
        let host = |id, epoch| host_of(id, epoch, send_buffer, sealed);
        Self {
            hosts: [host(A, 1), host(B, B_EPOCH)],
            now: Time::ZERO,
            dice: Dice(seed),
            trouble,
            flying: BTreeMap::new(),
            count: 0,
            recorded: None,
            packets: [Vec::new(), Vec::new()],
            most: usize::MAX,
            too_long: 0,
            roomy: false,
        }
    }

    fn fly(&mut self, to: usize, mut frame: Vec<u8>) {
        if let Some(recorded) = &mut self.recorded {
            recorded[to].push(frame.clone());
        }
        let trouble = self.trouble;
        if frame.len() > self.most {
            self.too_long += 1;
            return;
        }
        if self.dice.percent(trouble.truncation) {
            frame.truncate(self.dice.below(frame.len() as u64) as usize);
        }
        for _ in 0..1 + usize::from(self.dice.percent(trouble.duplication)) {
            if !self.dice.percent(trouble.loss) {
                let after = Duration::from_us((20 + self.dice.below(trouble.jitter_us)) as i64);
                self.count += 1;
                self.flying.insert((self.now + after, self.count), (to, frame.clone()));
            }
        }
    }

    /// A tenth of a millisecond: what has become due, a slot for each host, and what arrives
    /// meanwhile.
    pub(super) fn step(&mut self) {
        for i in 0..2 {
            let mut out = Vec::new();
            self.hosts[i].due(self.now, &mut out);
            out.into_iter().for_each(|frame| self.fly(1 - i, frame));
            let to = [A, B][1 - i];
            let mut batch = Vec::new();
            for _ in 0..self.dice.below(8) {
                let most = if !self.roomy && self.dice.percent(20) { self.dice.below(FULL) } else { FULL };
                let mut frame = Vec::new();
                let Some(sent) = self.hosts[i].next_frame(self.now, to, 7, most, &mut frame) else { continue };
                assert!(frame.len() as u64 + 24 <= most && frame.len() >= 60);
                batch.push((sent, frame));
            }
            if self.dice.percent(self.trouble.refusal) {
                let left = self.dice.below(batch.len() as u64 + 1) as usize;
                for (sent, frame) in batch.split_off(left).into_iter().rev() {
                    self.hosts[i].unsent(sent, &frame);
                }
            }
            batch.into_iter().for_each(|(_, frame)| self.fly(1 - i, frame));
        }
        self.now += Duration::from_us(100);
        while let Some(entry) = self.flying.first_entry().filter(|e| e.key().0 <= self.now) {
            let ((at, _), (to, frame)) = entry.remove_entry();
            if let Ok(Some((from, packet))) = self.hosts[to].received(at, &frame) {
                assert_eq!(from, [A, B][1 - to]);
                self.packets[to].push(packet.to_vec());
            }
        }
    }

    /// Goes on until nothing waits for anything, or the limit of steps; jumps where nothing
    /// happens.
    pub(super) fn settle(&mut self, limit: usize) {
        for _ in 0..limit {
            let waits = self.hosts.iter().any(|h| !h.backlog().is_empty());
            if self.flying.is_empty() && !waits {
                match self.hosts.iter().filter_map(Streams::deadline).min() {
                    Some(at) => self.now = self.now.max(at),
                    None => return,
                }
            }
            self.step();
        }
        panic!("it does not come to rest: {:?}", self.hosts.each_ref().map(|h| (h.deadline(), h.backlog())));
    }
}

/// The bytes that tests send.
pub(super) fn pattern(stream: u64, at: u64) -> u8 {
    (at.wrapping_mul(131) ^ (at >> 8) ^ (at >> 16) ^ stream.wrapping_mul(77)) as u8
}

pub(super) fn read_all(streams: &mut Streams, id: IncomingId) -> (Vec<u8>, Read) {
    let (mut all, mut buf) = (Vec::new(), [0; 5000]);
    loop {
        match streams.read(id, &mut buf) {
            Read::Bytes(n) => all.extend_from_slice(&buf[..n]),
            other => return (all, other),
        }
    }
}
