//! Received frames and their effects: delivers data to streams, answers with reports, and runs the
//! timers of repair.

use super::incoming::{FrameOutcome, Receiving};
use super::listening::Port;
use super::peer::{Ending, Peer};
use super::{Answer, FLOOR, IncomingId, MAX_INCOMING, PATIENCE, PeerHost, StreamId, Streams, Timer};
use timeplane_model::{Duration, HostId, Time};
use timeplane_protocol::wire::{
    DataHeader, DataKind, GIVEN_UP, MIN_FRAME, PairKey, UNGATED, WireError, encode_repair, parse_repair,
};
use timeplane_transport::MAX_MISSING;

impl Streams {
    /// Handles a received frame. Data of streams is taken; an IP packet is returned with the host
    /// that sent it.
    ///
    /// Some frames are only counted: frames for other addresses, frames of unknown hosts or from
    /// wrong addresses, frames without the right tag, frames of other agents than those that the
    /// controllers name, and IP packets that have arrived before.
    ///
    /// # Errors
    /// If it is not a valid data frame. Nothing changes then.
    pub fn received<'f>(&mut self, now: Time, frame: &'f [u8]) -> Result<Option<(HostId, &'f [u8])>, WireError> {
        self.clock = self.clock.max(now);
        let malformed = &mut self.counters.frames_malformed;
        let (header, payload) = DataHeader::parse(frame).inspect_err(|_| *malformed += 1)?;
        let is_known = self.peers.get(&header.host).is_some_and(|p| p.mac == header.source);
        if header.destination != self.config.mac || !is_known {
            self.counters.frames_foreign += 1;
            return Ok(None);
        }
        let host = header.host;
        if !self.is_genuine(frame, &header) {
            return Ok(None);
        }
        if header.kind == DataKind::Repair {
            let malformed = &mut self.counters.frames_malformed;
            let (contiguous, missing) = parse_repair(payload).inspect_err(|_| *malformed += 1)?;
            let (number, epoch) = ((header.offset >> 32) as u32, header.offset as u32);
            if self.is_current(host, epoch) {
                self.counters.reports_received += 1;
                self.on_repair(now, (epoch, number), &header, contiguous, &missing);
            }
            return Ok(None);
        }
        if !self.is_current(host, header.epoch) {
            return Ok(None);
        }
        if header.kind == DataKind::Packet {
            // A number without a tag proves nothing, and a high one would silence its host.
            let is_new = |peer: &mut Peer| peer.receive_key.is_none() || peer.repeats.is_new(header.offset);
            if !self.peers.get_mut(&host).is_some_and(is_new) {
                self.counters.frames_repeated += 1;
                return Ok(None);
            }
            self.counters.packets_received += 1;
            self.counters.packet_bytes_received += payload.len() as u64;
            return Ok(Some((host, payload)));
        }
        self.counters.frames_received += 1;
        self.on_stream(now, &header, payload);
        Ok(None)
    }

    /// Whether the host that a frame names has sent it to this one, if hosts seal their frames.
    fn is_genuine(&mut self, frame: &[u8], header: &DataHeader) -> bool {
        let of_host = || self.peers.get(&header.host).is_some_and(|peer| peer.has_sealed(frame, header));
        let refused = match (self.config.secret.is_some(), header.sealed) {
            (false, false) => return true,
            (false, true) => &mut self.counters.frames_sealed,
            (true, false) => &mut self.counters.frames_unsealed,
            (true, true) if of_host() => return true,
            (true, true) => &mut self.counters.frames_forged,
        };
        *refused += 1;
        false
    }

    /// Whether a frame comes from the agent of a host that controllers name. No frame changes
    /// which one this is.
    fn is_current(&mut self, host: HostId, epoch: u32) -> bool {
        let is_current = self.peers.get(&host).is_some_and(|peer| peer.epoch == epoch);
        self.counters.frames_stale += u64::from(!is_current);
        is_current
    }

    /// Takes what a controller says about a host. Its streams and packets stay, if it was known
    /// before with the same epoch. A higher epoch is that of a new agent, which breaks the streams
    /// of the former one.
    ///
    /// A lower epoch is that of a controller which does not know yet of the newest agent. It
    /// changes nothing. Returns the known epoch in this case.
    pub fn set_peer(&mut self, host: HostId, told: PeerHost) -> Option<u32> {
        let receive_key = self.config.secret.map(|secret| secret.key_of(host, self.config.host));
        let sizes = self.config.sizes();
        let peer = self.peers.entry(host).or_insert_with(|| Peer::new(&told, receive_key, sizes));
        if told.epoch < peer.epoch {
            return Some(peer.epoch);
        }
        (peer.mac, peer.send_key) = (told.mac, told.key);
        peer.mtu = told.mtu.unwrap_or(u32::MAX);
        let most = self.config.payload_within(peer.mtu.min(self.config.mtu)) as usize;
        self.counters.packets_dropped += peer.packets.drop_longer(most);
        if told.epoch > peer.epoch {
            peer.epoch = told.epoch;
            self.on_new_agent(host, told.epoch);
        }
        self.set_present(host);
        None
    }

    /// Handles a new agent of a host.
    fn on_new_agent(&mut self, host: HostId, epoch: u32) {
        if let Some(peer) = self.peers.get_mut(&host) {
            peer.ended = Default::default();
            peer.repeats = Default::default();
        }
        let old = IncomingId { host, epoch: 0, stream: 0 }..IncomingId { host, epoch, stream: 0 };
        let broken: Vec<IncomingId> = self.receiving.range(old).map(|(&id, _)| id).collect();
        for id in broken {
            self.remove_receiving(id);
            self.counters.streams_broken += 1;
        }
        let to_host: Vec<u32> = self.sending.iter().filter(|(_, s)| s.to == host).map(|(&n, _)| n).collect();
        for number in to_host {
            self.with_sending(number, |s| s.on_epoch(epoch));
        }
    }

    /// Changes an outgoing stream, and updates its turn, its timer and the counters.
    pub(super) fn with_sending(&mut self, number: u32, change: impl FnOnce(&mut super::outgoing::Sending)) {
        let Some(stream) = self.sending.get_mut(&number) else { return };
        let (was_given_up, was_complete) = (stream.is_given_up(), stream.is_complete());
        let acknowledged = stream.acknowledged_bytes();
        change(stream);
        let is_over = stream.is_given_up() || stream.is_complete();
        self.watching.progress(StreamId(number), stream.acknowledged_bytes() > acknowledged, is_over);
        self.counters.streams_given_up += u64::from(stream.is_given_up() && !was_given_up);
        self.counters.streams_delivered += u64::from(stream.is_complete() && !was_complete);
        self.make_ready(number);
    }

    /// `report` is the epoch of the sending agent, and the repair's number there.
    fn on_repair(
        &mut self,
        now: Time,
        report: (u32, u32),
        header: &DataHeader,
        contiguous: u64,
        missing: &[(u64, u64)],
    ) {
        let (host, number, epoch) = (header.host, header.stream, report.0);
        if contiguous == GIVEN_UP && header.length == Some(0) {
            // A stream of the other host.
            let id = IncomingId { host, epoch: header.epoch, stream: number };
            if header.epoch != epoch {
                return;
            }
            let is_complete = self.receiving.get(&id).map(Receiving::is_complete);
            if is_complete == Some(false) {
                self.counters.streams_broken += 1;
            }
            if is_complete != Some(true) {
                self.end(id, Ending::GivenUp);
            }
            self.answer(host, header.epoch, number, Answer::Unwanted);
            return;
        }
        let is_ours = header.epoch == self.config.epoch && self.sending.get(&number).is_some_and(|s| s.to == host);
        if contiguous == GIVEN_UP {
            if is_ours {
                self.with_sending(number, |s| s.give_up());
            } else if header.epoch == self.config.epoch {
                self.forget_farewell(host, number);
            }
        } else if is_ours {
            let mut stuck = None;
            self.with_sending(number, |s| {
                let before = s.acknowledged_bytes();
                s.on_report(now, report, contiguous, missing);
                let bytes = s.acknowledged_bytes() - before;
                stuck = (bytes > 0).then(|| s.attempts.succeeded(now, bytes));
            });
            if let (Some(stuck), Some(peer)) = (stuck, self.peers.get_mut(&host)) {
                peer.reach.progress(now, stuck);
                self.counters.streams_shortened += u64::from(stuck);
            }
        } else {
            self.answer(host, header.epoch, number, Answer::Abandoned);
        }
    }

    fn on_stream(&mut self, now: Time, header: &DataHeader, payload: &[u8]) {
        let id = IncomingId { host: header.host, epoch: header.epoch, stream: header.stream };
        if !self.receiving.contains_key(&id) && !self.admit(now, id, header) {
            return;
        }
        let Some(stream) = self.receiving.get_mut(&id) else { return };
        let port = self.ports.get_mut(&stream.port).filter(|p| p.is_open());
        if port.is_none() && !stream.accepted {
            stream.on_unheard(header);
            self.counters.frames_unheard += 1;
            self.set_receiving_timer(id);
            return;
        }
        let taken = if stream.port == header.port {
            // Where memory is short, each stream still has room for its next bytes.
            let most = if self.pool.used() < self.config.memory.get() { u64::MAX } else { 2 * FLOOR };
            stream.on_frame(now, header, payload, most)
        } else {
            FrameOutcome::Contradiction
        };
        match taken {
            FrameOutcome::New(bytes) => {
                self.counters.bytes_received += bytes;
                if !stream.begun && stream.is_started() {
                    stream.begun = true;
                    stream.patience = None;
                    if let Some(port) = port {
                        port.offer(id);
                        self.watching.offer(port.listeners(stream.port));
                    }
                }
                if stream.is_readable() {
                    self.watching.readable(id);
                }
            }
            FrameOutcome::Duplicate => self.counters.frames_duplicate += 1,
            FrameOutcome::Beyond => self.counters.frames_beyond += 1,
            FrameOutcome::Contradiction => self.counters.frames_malformed += 1,
        }
        self.set_receiving_timer(id);
    }

    /// Handles a frame of a stream that is not open. Returns whether the frame opens it.
    fn admit(&mut self, now: Time, id: IncomingId, header: &DataHeader) -> bool {
        let Some(peer) = self.peers.get_mut(&id.host) else { return false };
        match (peer.ended.get(id.stream), header.length) {
            (Some(Ending::Complete), Some(length)) => {
                self.counters.frames_duplicate += 1;
                self.answer(id.host, id.epoch, id.stream, Answer::Complete(length));
                return false;
            }
            (Some(Ending::Complete), None) => {
                self.counters.frames_duplicate += 1;
                return false;
            }
            (Some(Ending::GivenUp), _) => {
                self.answer(id.host, id.epoch, id.stream, Answer::Unwanted);
                return false;
            }
            (None, _) if peer.incoming >= MAX_INCOMING => {
                self.counters.frames_crowded += 1;
                return false;
            }
            (None, _) => {}
        }
        peer.incoming += 1;
        let patience = now.saturating_add(PATIENCE);
        let buffer = self.config.send_buffer.get();
        self.receiving.insert(id, Receiving::new(header.port, buffer, &self.config.raw, patience, &self.pool));
        true
    }

    /// When to call [`Streams::due`] next; may be in the past.
    pub fn deadline(&self) -> Option<Time> {
        if !self.answers.is_empty() {
            return Some(self.clock);
        }
        self.timers.first().map(|&(at, _)| at)
    }

    /// Handles timers that are due. Adds frames to `out` that are to be sent at once, as no gate
    /// stops them.
    pub fn due(&mut self, now: Time, out: &mut Vec<Vec<u8>>) {
        self.clock = self.clock.max(now);
        while let Some(&(at, timer)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Sending(number) => {
                    if let Some(stream) = self.sending.get_mut(&number) {
                        stream.timer = None;
                    }
                    self.with_sending(number, |s| s.on_timeout(now));
                }
                Timer::Receiving(id) => self.receiver_due(now, id, out),
                Timer::Farewell(number) => self.farewell_due(now, number, out),
            }
        }
        for ((host, epoch, stream), answer) in std::mem::take(&mut self.answers) {
            let (contiguous, length) = match answer {
                Answer::Complete(length) => (length + 1, None),
                Answer::Unwanted => (GIVEN_UP, None),
                Answer::Abandoned => (GIVEN_UP, Some(0)),
            };
            self.repair(host, epoch, stream, 0, length, contiguous, &[], out);
        }
    }

    fn receiver_due(&mut self, now: Time, id: IncomingId, out: &mut Vec<Vec<u8>>) {
        let most = (self.max_payload(id.host) as usize - 8) / 16;
        let Some(stream) = self.receiving.get_mut(&id) else { return };
        stream.timer = None;
        let is_heard = self.ports.get(&stream.port).is_some_and(Port::is_open);
        if stream.patience.is_some_and(|at| at <= now) {
            if is_heard {
                // Its first byte never arrived. If the sender continues, the stream starts anew.
                self.remove_receiving(id);
            } else {
                self.counters.streams_refused += 1;
                self.end(id, Ending::GivenUp);
                self.answer(id.host, id.epoch, id.stream, Answer::Unwanted);
            }
            return;
        }
        if (is_heard || stream.accepted) && stream.deadline().is_some_and(|at| at <= now) {
            let (contiguous, missing) = stream.report(now, most.min(MAX_MISSING));
            let port = stream.port;
            self.counters.reports_sent += 1;
            self.repair(id.host, id.epoch, id.stream, port, None, contiguous, &missing, out);
        }
        self.set_receiving_timer(id);
    }

    fn farewell_due(&mut self, now: Time, number: u32, out: &mut Vec<Vec<u8>>) {
        let Some(farewell) = self.farewells.get_mut(&number) else { return };
        let said = super::FAREWELLS - farewell.left;
        farewell.left -= 1;
        let (to, left) = (farewell.to, farewell.left);
        let pause = self.config.raw.resend_timeout.max(Duration::from_ms(1)) * (1 << said);
        farewell.timer = Some(now.saturating_add(pause)).filter(|_| left > 0);
        match farewell.timer {
            Some(at) => {
                self.timers.insert((at, Timer::Farewell(number)));
            }
            None => {
                self.farewells.remove(&number);
            }
        }
        self.repair(to, self.config.epoch, number, 0, Some(0), GIVEN_UP, &[], out);
    }

    /// Handles the receiver's confirmation that a stream was given up.
    fn forget_farewell(&mut self, host: HostId, number: u32) {
        if self.farewells.get(&number).is_some_and(|f| f.to == host)
            && let Some(at) = self.farewells.remove(&number).and_then(|f| f.timer)
        {
            self.timers.remove(&(at, Timer::Farewell(number)));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of the frame")]
    fn repair(
        &mut self,
        to: HostId,
        epoch: u32,
        stream: u32,
        port: u16,
        length: Option<u64>,
        contiguous: u64,
        missing: &[(u64, u64)],
        out: &mut Vec<Vec<u8>>,
    ) {
        let Some(peer) = self.peers.get(&to) else { return };
        let payload = encode_repair(contiguous, missing.iter().copied());
        self.next_repair = self.next_repair.wrapping_add(1);
        let header = DataHeader {
            destination: peer.mac,
            source: self.config.mac,
            kind: DataKind::Repair,
            class: UNGATED,
            payload: payload.len() as u16,
            host: self.config.host,
            epoch,
            stream,
            port,
            sealed: peer.send_key.is_some(),
            offset: u64::from(self.next_repair) << 32 | u64::from(self.config.epoch),
            length,
        };
        let mut frame = Vec::with_capacity(DataHeader::BYTES + payload.len() + PairKey::TAG);
        frame.extend_from_slice(&header.encode());
        frame.extend_from_slice(&payload);
        peer.seal(&mut frame);
        debug_assert_eq!(self.config.sizes().wire(payload.len() as u64), frame.len() as u64 + 24);
        debug_assert!(frame.len() >= MIN_FRAME);
        out.push(frame);
    }
}
