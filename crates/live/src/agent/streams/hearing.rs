//! Received frames and their effects: delivers data to streams, answers with reports, and runs the
//! timers of repair.

use super::incoming::{FrameOutcome, Receiving};
use super::listening::Port;
use super::peer::Ending;
use super::{Answer, FLOOR, IncomingId, MAX_INCOMING, PATIENCE, Streams, Timer, frames};
use timeplane_model::{Duration, HostId, Time};
use timeplane_protocol::wire::{
    DataHeader, DataKind, GIVEN_UP, MIN_FRAME, UNGATED, WireError, encode_repair, parse_repair,
};
use timeplane_transport::MAX_MISSING;

impl Streams {
    /// Handles a received frame. Data of streams is taken; an IP packet is returned with the host
    /// that sent it.
    ///
    /// Some frames are only counted: frames for other addresses, frames of unknown hosts or from
    /// wrong addresses, and frames of agents that have been replaced.
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
        if header.kind == DataKind::Repair {
            let (contiguous, missing) = parse_repair(payload).inspect_err(|_| *malformed += 1)?;
            let Ok(epoch) = u32::try_from(header.offset) else {
                *malformed += 1;
                return Err(WireError::Value { at: 36, what: "the epoch of an agent has 32 bits" });
            };
            if self.is_current(host, epoch) {
                self.counters.reports_received += 1;
                self.on_repair(now, epoch, &header, contiguous, &missing);
            }
            return Ok(None);
        }
        if !self.is_current(host, header.epoch) {
            return Ok(None);
        }
        if header.kind == DataKind::Packet {
            self.counters.packets_received += 1;
            self.counters.packet_bytes_received += payload.len() as u64;
            return Ok(Some((host, payload)));
        }
        self.counters.frames_received += 1;
        self.on_stream(now, &header, payload);
        Ok(None)
    }

    /// Whether a frame comes from the current agent of a host. An agent with a newer epoch replaces
    /// the known one.
    fn is_current(&mut self, host: HostId, epoch: u32) -> bool {
        let Some(peer) = self.peers.get_mut(&host) else { return false };
        match peer.epoch {
            Some(known) if epoch < known => {
                self.counters.frames_stale += 1;
                return false;
            }
            Some(known) if epoch == known => return true,
            _ => peer.epoch = Some(epoch),
        }
        peer.ended = Default::default();
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
        true
    }

    /// Changes an outgoing stream, and updates its turn, its timer and the counters.
    pub(super) fn with_sending(&mut self, number: u32, change: impl FnOnce(&mut super::outgoing::Sending)) {
        let Some(stream) = self.sending.get_mut(&number) else { return };
        let (was_given_up, was_complete) = (stream.is_given_up(), stream.is_complete());
        change(stream);
        self.counters.streams_given_up += u64::from(stream.is_given_up() && !was_given_up);
        self.counters.streams_delivered += u64::from(stream.is_complete() && !was_complete);
        self.make_ready(number);
    }

    fn on_repair(&mut self, now: Time, epoch: u32, header: &DataHeader, contiguous: u64, missing: &[(u64, u64)]) {
        let (host, number) = (header.host, header.stream);
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
                s.on_report(now, epoch, contiguous, missing);
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
                    }
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
            let most = (self.config.max_payload() as usize - 8) / 16;
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
        &self,
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
            offset: u64::from(self.config.epoch),
            length,
        };
        let mut frame = Vec::with_capacity((DataHeader::BYTES + payload.len()).max(MIN_FRAME));
        frame.extend_from_slice(&header.encode());
        frame.extend_from_slice(&payload);
        debug_assert!(frame.len() >= MIN_FRAME && frames::wire(payload.len() as u64) == frame.len() as u64 + 24);
        out.push(frame);
    }
}
