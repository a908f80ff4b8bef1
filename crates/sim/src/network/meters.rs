//! What a network counts: hops, losses, collisions and latencies.
//!
//! Meters never change what happens. They know packets and links by number only.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::packet::Packet;
use crate::record::collisions::Collisions;
use crate::record::latency::Latencies;
use std::collections::BTreeMap;

/// The reason of a packet's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// The output queue was full.
    BufferFull,
    /// A bit was wrong on arrival.
    BitError,
    /// No circuit led to its destination, or the circuit went dark while it crossed.
    CircuitDark,
    /// The rack's multiplexer already held as much of its input as it may.
    MultiplexerFull,
    /// Its wire failed while it was queued or in flight, or was down when it came.
    LinkDown,
    /// Its switch failed while it was there, or was down when it came.
    SwitchDown,
    /// Its host failed while it was there, or was down when it came or was to leave.
    HostDown,
    /// A switch knew no route to its destination.
    NoRoute,
    /// A switch with priority flow control or memories of inputs had no room at the packet's input.
    InputFull,
    /// The receive buffer of its destination was full.
    ReceiveBuffer,
    /// The radio link gave up after all retries failed.
    Air,
    /// The queue discipline dropped it to keep delays short.
    Shed,
    /// It was queued at an access point that its device left.
    Handover,
    /// The circuit of a rotor switch that it waited for ended.
    Late,
    /// It lost only its payload: its header went on, as its data queue was full.
    Trimmed,
}

impl Loss {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::BitError => "bit_error",
            Self::CircuitDark => "circuit_dark",
            Self::MultiplexerFull => "multiplexer_full",
            Self::LinkDown => "link_down",
            Self::SwitchDown => "switch_down",
            Self::HostDown => "host_down",
            Self::NoRoute => "no_route",
            Self::InputFull => "input_full",
            Self::ReceiveBuffer => "receive_buffer",
            Self::Air => "air",
            Self::Shed => "aqm",
            Self::Handover => "handover",
            Self::Late => "late",
            Self::Trimmed => "trimmed",
        }
    }
}

/// Counters of a network.
#[derive(Default)]
pub struct Meters {
    /// Packets and bytes lost, by link and reason.
    pub losses: BTreeMap<(u32, Loss), (u64, u64)>,
    /// Packets that crossed a link, counted once for each link.
    pub hops: u64,
    /// Packets and bytes that are booked to arrive after the end of the run.
    pub beyond: (u64, u64),
    /// Packets that meet although a plan keeps them apart.
    pub collisions: Option<Box<Collisions>>,
    /// The latency of each packet, if recorded.
    pub latencies: Option<Latencies>,
    /// The control messages of which frames were lost since this was last read.
    pub lost_control: Vec<u64>,
    /// Frames of control messages in band: sent, arrived and lost.
    pub control_frames: [u64; 3],
}

impl Meters {
    /// Counts a lost packet and returns it to its flow's books.
    pub(crate) fn lose(&mut self, link: u32, reason: Loss, packet: Packet, ends: &mut Endpoints) {
        if let Some(number) = packet.control_message() {
            return self.lose_control(number);
        }
        let count = self.losses.entry((link, reason)).or_default();
        count.0 += 1;
        count.1 += u64::from(packet.bytes);
        ends.lost(packet);
    }

    /// Counts a packet that lost `bytes` of payload and went on.
    pub(crate) fn trimmed(&mut self, link: u32, bytes: u32) {
        let count = self.losses.entry((link, Loss::Trimmed)).or_default();
        count.0 += 1;
        count.1 += u64::from(bytes);
    }

    /// Counts a lost frame of the control message with this number.
    pub(crate) fn lose_control(&mut self, number: u64) {
        self.control_frames[2] += 1;
        self.lost_control.push(number);
    }

    /// Packets lost on a link for a reason.
    pub(crate) fn lost(&self, link: u32, reason: Loss) -> u64 {
        self.losses.get(&(link, reason)).map_or(0, |l| l.0)
    }

    /// The packet with this number arrived whole.
    #[inline(always)]
    pub(crate) fn note_latency(&mut self, id: u32, at: SimTime) {
        if let Some(latencies) = &mut self.latencies {
            latencies.end(id, at);
        }
    }
}
