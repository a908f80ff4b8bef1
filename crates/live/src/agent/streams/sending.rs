//! Building of frames: streams and IP packets to a host take turns, and frames that the gate
//! refused are sent again.

use super::peer::{Peer, Turn};
use super::types::SentItem;
use super::{Attention, Sent, Streams, StreamsConfig, Timer};
use timeplane_model::{Bytes, HostId, Time};
use timeplane_protocol::wire::{DataHeader, DataKind, MIN_FRAME};

impl Streams {
    /// The backlog of each destination that has one: bytes on the wire, in the fewest possible
    /// frames.
    pub fn backlog(&self) -> Vec<(HostId, Bytes)> {
        let sizes = self.config.sizes();
        let waiting = self.peers.iter().map(|(&host, peer)| {
            let max_payload = u64::from(self.max_payload(host));
            let of = |turn: &Turn| match turn {
                Turn::Packets => peer.packets.wire(),
                Turn::Stream(number) => {
                    self.sending.get(number).map_or(0, |s| sizes.wire_of_all(s.backlog(), max_payload))
                }
            };
            (host, Bytes::new(peer.ready.iter().map(of).sum()))
        });
        waiting.filter(|(_, bytes)| bytes.get() > 0).collect()
    }

    /// Whether there is backlog for a host. Cheap.
    pub fn waits(&self, to: HostId) -> bool {
        self.peers.get(&to).is_some_and(|p| !p.ready.is_empty())
    }

    /// Whether changes since `before` need the agent's loop: a destination without backlog has got
    /// some, or the next deadline is earlier.
    pub fn needs_loop(&self, before: Attention) -> bool {
        let is_sooner = match (self.deadline(), before.deadline) {
            (Some(now), Some(then)) => now < then,
            (now, then) => now.is_some() && then.is_none(),
        };
        is_sooner || self.has_new_backlog(before)
    }

    /// Whether a destination without backlog has got some since `before`. Controllers hear of
    /// nothing else: an earlier deadline is no change of the queues.
    pub fn has_new_backlog(&self, before: Attention) -> bool {
        self.awoken != before.awoken
    }

    /// The current state, for a later call of [`Streams::needs_loop`].
    pub fn attention(&self) -> Attention {
        Attention { awoken: self.awoken, deadline: self.deadline() }
    }

    /// Builds the next frame of a class to a host into `frame`, with at most `most_wire` bytes on
    /// the wire (preamble, FCS and inter-frame gap included). Streams and IP packets take turns; a
    /// stream's frame is shortened to fit. Returns `None`, and leaves `frame` empty, if there is no
    /// backlog or nothing fits.
    ///
    /// The frame counts as sent. Return a frame that does not leave with [`Streams::unsent`].
    pub fn next_frame(
        &mut self,
        now: Time,
        to: HostId,
        class: u16,
        most_wire: u64,
        frame: &mut Vec<u8>,
    ) -> Option<Sent> {
        self.clock = self.clock.max(now);
        frame.clear();
        let room = self.config.sizes().payload_within(most_wire).filter(|&room| room > 0)?;
        let room = room.min(u64::from(self.max_payload(to)));
        let peer = self.peers.get_mut(&to)?;
        let mut header = packet_header(&self.config, peer, class);
        frame.resize(DataHeader::BYTES, 0);
        let mut at = 0;
        let what = loop {
            let Some(&turn) = peer.ready.get(at) else {
                frame.clear();
                return None;
            };
            match turn {
                Turn::Packets => {
                    if peer.packets.first().is_some_and(|len| len as u64 > room) {
                        // The packet keeps its turn, and others go first.
                        at += 1;
                        continue;
                    }
                    peer.ready.remove(at);
                    let Some(number) = peer.packets.take(frame) else { continue };
                    if !peer.packets.is_empty() {
                        peer.ready.push_back(turn);
                    }
                    header.payload = (frame.len() - DataHeader::BYTES) as u16;
                    header.offset = peer.number_packet();
                    self.counters.packets_sent += 1;
                    self.counters.packet_bytes_sent += u64::from(header.payload);
                    break SentItem::Packet(number);
                }
                Turn::Stream(number) => {
                    peer.ready.remove(at);
                    let Some(stream) = self.sending.get_mut(&number) else { continue };
                    stream.ready = false;
                    let room = room.min(peer.reach.most(now, &stream.attempts));
                    let Some(piece) = stream.next_frame(now, room) else { continue };
                    if stream.backlog() > 0 {
                        stream.ready = true;
                        peer.ready.push_back(turn);
                    }
                    header.kind = DataKind::Stream;
                    header.payload = stream.payload(&piece);
                    (header.stream, header.port) = (number, stream.port);
                    (header.offset, header.length) = (piece.offset, stream.length);
                    stream.copy(&piece, frame);
                    self.counters.frames_sent += 1;
                    self.counters.bytes_sent += u64::from(header.payload);
                    self.counters.frames_resent += u64::from(piece.retransmission);
                    break SentItem::Stream(number, piece);
                }
            }
        };
        frame[..DataHeader::BYTES].copy_from_slice(&header.encode());
        peer.seal(frame);
        if frame.len() < MIN_FRAME {
            frame.resize(MIN_FRAME, 0);
        }
        if let SentItem::Stream(number, _) = what {
            self.set_sending_timer(number);
        }
        Some(Sent { to, what })
    }

    /// Returns a frame that the gate or the interface refused. It is sent again before all others.
    /// Return the last one of several first. An IP packet that exceeds the MTU by now is dropped.
    pub fn unsent(&mut self, sent: Sent, frame: &[u8]) {
        let Ok((header, payload)) = DataHeader::parse(frame) else { return };
        let max_payload = u64::from(self.max_payload(sent.to));
        let Some(peer) = self.peers.get_mut(&sent.to) else { return };
        self.counters.frames_refused += 1;
        let bytes = u64::from(header.payload);
        match sent.what {
            SentItem::Packet(number) => {
                self.counters.packets_sent -= 1;
                self.counters.packet_bytes_sent -= bytes;
                if bytes > max_payload {
                    self.counters.packets_dropped += 1;
                    return;
                }
                peer.packets.insert(number, payload);
                peer.ready.retain(|&t| t != Turn::Packets);
                peer.ready.push_front(Turn::Packets);
            }
            SentItem::Stream(number, piece) => {
                self.counters.frames_sent -= 1;
                self.counters.bytes_sent -= bytes;
                self.counters.frames_resent -= u64::from(piece.retransmission);
                let Some(stream) = self.sending.get_mut(&number) else { return };
                stream.unsent(piece);
                peer.forget_turn(number);
                stream.ready = stream.backlog() > 0;
                if stream.ready {
                    peer.ready.push_front(Turn::Stream(number));
                }
                self.set_sending_timer(number);
            }
        }
    }

    /// Queues a stream for its turn if it has something to send, and sets its timer.
    pub(super) fn make_ready(&mut self, number: u32) {
        let Some(stream) = self.sending.get_mut(&number) else { return };
        if !stream.ready && stream.backlog() > 0 {
            stream.ready = true;
            if let Some(peer) = self.peers.get_mut(&stream.to) {
                self.awoken += u64::from(peer.ready.is_empty());
                peer.ready.push_back(Turn::Stream(number));
            }
        } else if stream.ready && stream.backlog() == 0 {
            stream.ready = false;
            if let Some(peer) = self.peers.get_mut(&stream.to) {
                peer.forget_turn(number);
            }
        }
        self.set_sending_timer(number);
    }

    pub(super) fn set_sending_timer(&mut self, number: u32) {
        let Some(stream) = self.sending.get_mut(&number) else { return };
        let deadline = stream.deadline();
        if stream.timer != deadline {
            let key = Timer::Sending(number);
            if let Some(at) = stream.timer {
                self.timers.remove(&(at, key));
            }
            if let Some(at) = deadline {
                self.timers.insert((at, key));
            }
            stream.timer = deadline;
        }
    }
}

/// The header of an IP packet that has no number and no length yet.
fn packet_header(config: &StreamsConfig, peer: &Peer, class: u16) -> DataHeader {
    DataHeader {
        destination: peer.mac,
        source: config.mac,
        kind: DataKind::Packet,
        class,
        payload: 0,
        host: config.host,
        epoch: config.epoch,
        stream: 0,
        port: 0,
        sealed: peer.send_key.is_some(),
        offset: 0,
        length: Some(0),
    }
}
