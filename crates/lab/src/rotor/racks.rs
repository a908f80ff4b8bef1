//! Racks of a lab: a thread for each, which sends and receives frames at its host's interface.
//!
//! A host's datagrams come to its rack at the host's rate. The receiver compares every byte with a
//! pattern that depends on the flow and the position.

use super::network::{MTU, RotorNetwork};
use crate::fabric::host_mac;
use crate::flows::DATAGRAM_HEADER;
use crate::workload::pattern;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use timeplane_live::packet_socket::{BATCH, Frames, PacketSocket};
use timeplane_live::{clock, timed};
use timeplane_model::{Bytes, Duration, Time, mix64};
use timeplane_protocol::wire::HopHeader;
use timeplane_protocol::{NextPacket, Rack, RackConfig, RackCounts, RackPacket};
use timeplane_workload::FlowArrival;

/// How much time of an uplink a rack makes up for if it is woken late. The switch has no rate of
/// its own.
const CATCH_UP: Duration = Duration::from_us(500);
/// The longest sleep: a rack looks whether the run has ended.
const LOOK: Duration = Duration::from_ms(20);

/// A flow and its progress.
#[derive(Debug)]
pub(super) struct Flow {
    pub arrival: FlowArrival,
    /// Bytes that its receiver has got.
    pub received: AtomicU64,
    /// When the last of them came, in ps since the start of the run; negative before that.
    finished: AtomicI64,
}

impl Flow {
    pub fn new(arrival: FlowArrival) -> Self {
        Self { arrival, received: AtomicU64::new(0), finished: AtomicI64::new(-1) }
    }

    /// When its last byte came, since the start of the run.
    pub fn finished(&self) -> Option<Duration> {
        Some(self.finished.load(Relaxed)).filter(|ps| *ps >= 0).map(Duration::from_ps)
    }
}

/// State shared by all racks of a run.
#[derive(Debug)]
pub(super) struct Common {
    /// The start of the run, and of the first slice.
    pub begin: Time,
    /// The window in which received bytes are counted by host.
    pub window: Range<Duration>,
    pub flows: Vec<Flow>,
    /// Received bytes by host, inside the window.
    pub received: Vec<AtomicU64>,
    /// All received bytes.
    pub moved: AtomicU64,
    pub ended: AtomicBool,
}

/// What became of a rack's datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RackReport {
    /// Queues of the rack.
    pub counts: RackCounts,
    /// Datagrams of its host that came to the rack, and their bytes with IP and UDP headers.
    pub began: u64,
    pub began_bytes: u64,
    /// Datagrams that came to their destination, and their bytes.
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Circuits that these have crossed.
    pub hops: u64,
    /// Frames that were sent over its circuits, and their bytes.
    pub sent: u64,
    pub sent_bytes: u64,
    /// Frames for another rack, which a switch that had turned led here.
    pub misled: u64,
    /// Frames that are none of this run, or whose bytes are wrong.
    pub wrong: u64,
    /// Frames that the socket lost, as the rack did not read in time.
    pub overrun: u64,
    /// Frames that the interface refused.
    pub refused: u64,
    /// Wake-ups for a circuit, those later than the switch turns, and the longest delay.
    pub wakes: u64,
    pub late_wakes: u64,
    pub longest: Duration,
    /// Whether it has real-time priority.
    pub real_time: bool,
}

/// A datagram: who sends it, and its bytes if they came from elsewhere.
#[derive(Clone, Debug)]
struct Datagram {
    from: u16,
    flow: u32,
    offset: u64,
    hops: u16,
    length: u16,
    bytes: Option<Box<[u8]>>,
}

/// A rack, its host and their socket.
pub(super) struct Host {
    number: u16,
    socket: PacketSocket,
    common: Arc<Common>,
    network: RotorNetwork,
    rack: Rack<Datagram>,
    /// Numbers of the host's flows, in the order of arrival; of the first, the bytes that have
    /// begun.
    flows: VecDeque<u32>,
    begun: u64,
    /// When the host's interface is free.
    free_at: Time,
    report: RackReport,
}

impl Host {
    /// The rack of a host, whose socket is `socket`.
    pub fn new(number: u16, socket: PacketSocket, common: &Arc<Common>, network: &RotorNetwork) -> Self {
        let config = RackConfig {
            rack: number.into(),
            rate: network.uplink_rate,
            catch_up: CATCH_UP,
            late: network.late,
            queue: network.queue,
            in_turn: network.in_turn,
        };
        let own = |(_, flow): &(u32, &Flow)| flow.arrival.source.0 == u32::from(number);
        Self {
            number,
            socket,
            rack: Rack::new(config, Arc::clone(&network.cycle), Arc::clone(&network.routing)),
            flows: (0..).zip(&common.flows).filter(own).map(|(flow, _)| flow).collect(),
            begun: 0,
            free_at: Time::ZERO,
            common: Arc::clone(common),
            network: network.clone(),
            report: RackReport::default(),
        }
    }

    /// The time of the rack: since the start of the run.
    fn now(&self) -> Time {
        Time::ZERO + (clock::now() - self.common.begin)
    }

    /// Sends and receives until the run has ended, with real-time priority if it is wanted and
    /// allowed.
    ///
    /// # Errors
    /// If the interface fails.
    pub fn run(mut self, real_time: bool) -> std::io::Result<RackReport> {
        self.report.real_time = real_time && timed::real_time();
        let mut frames = Frames::new(MTU as usize + 14);
        let mut due: Option<Time> = None;
        while !self.common.ended.load(Relaxed) {
            let now = self.now();
            if let Some(due) = due.filter(|due| *due <= now) {
                self.report.wakes += 1;
                self.report.late_wakes += u64::from(now - due > self.network.margin);
                self.report.longest = self.report.longest.max(now - due);
            }
            while self.socket.receive_batch(&mut frames)? > 0 {
                frames.iter().for_each(|frame| self.take(frame));
            }
            let next_own = self.begin();
            self.send()?;
            let now = self.now();
            due = self.rack.due(now);
            let until = [due, next_own].into_iter().flatten().fold(now + LOOK, Time::min);
            self.socket.wait((until - self.now()).max(Duration::ZERO))?;
        }
        self.report.overrun = self.socket.lost()?.into();
        self.report.counts = self.rack.counts();
        Ok(self.report)
    }

    /// Brings the host's datagrams to the rack that have left the host by now. Returns when the
    /// next one will have.
    fn begin(&mut self) -> Option<Time> {
        loop {
            let number = *self.flows.front()?;
            let arrival = self.common.flows[number as usize].arrival;
            let most = u64::from(MTU) - DATAGRAM_HEADER;
            let length = (arrival.bytes.get() - self.begun).min(most);
            let wire = self.network.framing.wire((length + DATAGRAM_HEADER) as u32);
            let start = self.free_at.max(Time::ZERO + arrival.at);
            let there = start + self.network.rate.time_for(Bytes::new(wire.into()));
            let now = self.now();
            if there > now {
                return Some(there);
            }
            self.free_at = there;
            let datagram = Datagram {
                from: self.number,
                flow: number,
                offset: self.begun,
                hops: 0,
                length: length as u16,
                bytes: None,
            };
            self.report.began += 1;
            self.report.began_bytes += length + DATAGRAM_HEADER;
            self.begun += length;
            if self.begun >= arrival.bytes.get() {
                self.flows.pop_front();
                self.begun = 0;
            }
            self.admit(now, arrival.destination.0, 0, datagram);
        }
    }

    fn admit(&mut self, now: Time, destination: u32, progress: u16, content: Datagram) {
        let packet = RackPacket {
            destination,
            wire: self.network.framing.wire(u32::from(content.length) + DATAGRAM_HEADER as u32),
            progress,
            draw: mix64(u64::from(content.flow) << 40 ^ content.offset),
            age: Bytes::new(content.offset),
            content,
        };
        self.rack.admit(now, packet);
    }

    /// Sends what the circuit of now has room for.
    fn send(&mut self) -> std::io::Result<()> {
        let mut packets = Vec::with_capacity(BATCH);
        let mut batch: Vec<Vec<u8>> = Vec::with_capacity(BATCH);
        let mut slice = 0;
        loop {
            let now = self.now();
            let next = self.rack.next(now, 0);
            let is_more = matches!(next, NextPacket::Send { .. });
            if let NextPacket::Send { to, progress, packet } = next {
                if packets.is_empty() {
                    slice = self.network.cycle.slice_at(now);
                }
                batch.push(self.frame(to, progress, &packet));
                packets.push(packet);
            }
            if batch.is_empty() {
                return Ok(());
            }
            if batch.len() < BATCH && is_more {
                continue;
            }
            let now = self.now();
            if self.network.cycle.slice_at(now) > slice {
                // The machine has stopped this thread, and the circuit is over.
                packets.drain(..).for_each(|packet| self.rack.has_missed(now, packet));
                return Ok(());
            }
            packets.clear();
            let sent = self.socket.send_batch(&batch)?.sent;
            self.report.sent += sent as u64;
            self.report.sent_bytes += batch[..sent].iter().map(|f| f.len() as u64).sum::<u64>();
            self.report.refused += (batch.len() - sent) as u64;
            batch.clear();
            if !is_more {
                return Ok(());
            }
        }
    }

    fn frame(&self, to: u32, progress: u16, packet: &RackPacket<Datagram>) -> Vec<u8> {
        let datagram = &packet.content;
        let header = HopHeader {
            destination: host_mac(to as u16),
            source: host_mac(self.number),
            payload: datagram.length,
            from: datagram.from,
            to: packet.destination as u16,
            next: to as u16,
            progress,
            flow: datagram.flow,
            offset: datagram.offset,
            hops: datagram.hops + 1,
        };
        let mut frame = header.encode().to_vec();
        match &datagram.bytes {
            Some(bytes) => frame.extend_from_slice(bytes),
            None => {
                frame.resize(HopHeader::BYTES + usize::from(datagram.length), 0);
                pattern(datagram.flow, datagram.offset, &mut frame[HopHeader::BYTES..]);
            }
        }
        frame
    }

    /// Takes a frame: for the host, or on its way.
    fn take(&mut self, frame: &[u8]) {
        let Ok((header, payload)) = HopHeader::parse(frame) else {
            self.report.wrong += 1;
            return;
        };
        if header.next != self.number {
            self.report.misled += 1;
            return;
        }
        let now = self.now();
        if header.to != self.number {
            let HopHeader { from, flow, offset, hops, payload: length, .. } = header;
            let datagram = Datagram { from, flow, offset, hops, length, bytes: Some(payload.into()) };
            return self.admit(now, header.to.into(), header.progress, datagram);
        }
        let length = payload.len() as u64;
        let flow = self.common.flows.get(header.flow as usize).filter(|flow| {
            let FlowArrival { source, destination, bytes, .. } = flow.arrival;
            let ends = (source.0, destination.0) == (header.from.into(), header.to.into());
            ends && header.offset.checked_add(length).is_some_and(|end| end <= bytes.get())
        });
        let mut right = vec![0; payload.len()];
        pattern(header.flow, header.offset, &mut right);
        let Some(flow) = flow.filter(|_| right == payload) else {
            self.report.wrong += 1;
            return;
        };
        self.report.delivered += 1;
        self.report.delivered_bytes += length + DATAGRAM_HEADER;
        self.report.hops += u64::from(header.hops);
        let since = now - Time::ZERO;
        if flow.received.fetch_add(length, Relaxed) + length == flow.arrival.bytes.get() {
            flow.finished.store(since.as_ps(), Relaxed);
        }
        self.common.moved.fetch_add(length, Relaxed);
        if self.common.window.contains(&since) {
            self.common.received[usize::from(self.number)].fetch_add(length, Relaxed);
        }
    }
}
