//! The parts of Perfetto's TrackEvent format that timelines need: tracks, slices on them, counters.
//!
//! Source: `perfetto_trace.proto` of the Perfetto project, and "TrackEvent" in its documentation. A
//! trace is a message whose field 1 is repeated, once for each packet, so it can be written as it
//! grows. Times are nanoseconds. The slices of a track form a stack: the caller makes sure that
//! they follow or contain each other.

use std::io::{self, Write};

/// All packets of a trace come from one writer.
const SEQUENCE: u64 = 1;
/// Packets refer to names in the first packet.
const NEEDS_STATE: u64 = 2;
const CLEARS_STATE: u64 = 1;

/// Field numbers, by message.
mod trace {
    pub const PACKET: u32 = 1;
}
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK: u32 = 60;
}
mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const ORDERING: u32 = 11;
    pub const RANK: u32 = 12;
    pub const PROCESS_ID: u32 = 1;
    pub const PROCESS_NAME: u32 = 6;
    pub const COUNTER_UNIT: u32 = 3;
    /// Children are ordered by their rank.
    pub const EXPLICIT: u64 = 3;
}
mod event {
    pub const ANNOTATION: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const TRACK: u32 = 11;
    pub const CATEGORY: u32 = 22;
    pub const NAME: u32 = 23;
    pub const COUNTER: u32 = 30;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const VALUE: u64 = 4;
    pub const ANNOTATION_NAME: u32 = 1;
    pub const ANNOTATION_INT: u32 = 4;
    pub const INTERNED_ANNOTATIONS: u32 = 3;
    pub const INTERNED_ID: u32 = 1;
    pub const INTERNED_NAME: u32 = 2;
}

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds of a delay.
    Time,
    /// Bytes of a queue or of a window.
    Bytes,
}

/// A track of the trace, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u64);

/// A protocol buffers message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }
    fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
    fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }
    fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// Writes a trace.
pub struct TraceWriter<W: Write> {
    out: W,
    tracks: u64,
    processes: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Starts an empty trace. `values` are the names of the values that slices can have.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn new(out: W, values: &[&str]) -> io::Result<Self> {
        let mut writer = Self { out, tracks: 0, processes: 0 };
        let name = |(i, name): (usize, &&str)| {
            Message::default().number(event::INTERNED_ID, i as u64 + 1).text(event::INTERNED_NAME, name)
        };
        let interned = values.iter().enumerate().map(name);
        let interned = interned.fold(Message::default(), |all, one| all.message(event::INTERNED_ANNOTATIONS, &one));
        let first = Message::default()
            .number(packet::SEQUENCE_ID, SEQUENCE)
            .number(packet::SEQUENCE_FLAGS, CLEARS_STATE)
            .message(packet::INTERNED, &interned);
        writer.packet(&first)?;
        Ok(writer)
    }

    /// Adds a group of tracks, which viewers call a process.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn process(&mut self, name: &str) -> io::Result<Track> {
        self.processes += 1;
        let process =
            Message::default().number(descriptor::PROCESS_ID, self.processes).text(descriptor::PROCESS_NAME, name);
        self.describe(
            Message::default()
                .message(descriptor::PROCESS, &process)
                .number(descriptor::ORDERING, descriptor::EXPLICIT),
        )
    }

    /// Adds a track of slices or of further tracks under another track, at position `rank`.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn track(&mut self, parent: Track, rank: u32, name: &str) -> io::Result<Track> {
        let track = Self::child(parent, rank, name).number(descriptor::ORDERING, descriptor::EXPLICIT);
        self.describe(track)
    }

    /// Adds a track for a number that changes over time.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn counter(&mut self, parent: Track, rank: u32, name: &str, unit: Unit) -> io::Result<Track> {
        let unit = match unit {
            Unit::Time => 1,
            Unit::Bytes => 3,
        };
        let counter = Message::default().number(descriptor::COUNTER_UNIT, unit);
        self.describe(Self::child(parent, rank, name).message(descriptor::COUNTER, &counter))
    }

    /// Adds a slice to a track, with values: each with the index of its name in the trace's list.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn slice(
        &mut self,
        track: Track,
        (begin, end): (u64, u64),
        category: &str,
        name: &str,
        values: &[(usize, i64)],
    ) -> io::Result<()> {
        let mut begins = Message::default()
            .number(event::TYPE, event::BEGIN)
            .number(event::TRACK, track.0)
            .text(event::CATEGORY, category)
            .text(event::NAME, name);
        for &(place, value) in values {
            let value = Message::default()
                .number(event::ANNOTATION_NAME, place as u64 + 1)
                // Protocol buffers encode negative integers as 64-bit two's complement.
                .number(event::ANNOTATION_INT, value as u64);
            begins = begins.message(event::ANNOTATION, &value);
        }
        self.event(begin, &begins)?;
        let ends = Message::default().number(event::TYPE, event::END).number(event::TRACK, track.0);
        self.event(end, &ends)
    }

    /// Sets the value of a counter from a time on.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn value(&mut self, track: Track, at: u64, value: i64) -> io::Result<()> {
        let message = Message::default()
            .number(event::TYPE, event::VALUE)
            .number(event::TRACK, track.0)
            .number(event::COUNTER, value as u64);
        self.event(at, &message)
    }

    /// Ends the trace and returns the writer.
    ///
    /// # Errors
    /// If the buffered rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn child(parent: Track, rank: u32, name: &str) -> Message {
        Message::default()
            .number(descriptor::PARENT, parent.0)
            .number(descriptor::RANK, rank.into())
            .text(descriptor::NAME, name)
    }

    fn describe(&mut self, track: Message) -> io::Result<Track> {
        self.tracks += 1;
        let track = track.number(descriptor::UUID, self.tracks);
        let packet = Message::default().number(packet::SEQUENCE_ID, SEQUENCE).message(packet::TRACK, &track);
        self.packet(&packet)?;
        Ok(Track(self.tracks))
    }

    fn event(&mut self, at: u64, event: &Message) -> io::Result<()> {
        let packet = Message::default()
            .number(packet::TIMESTAMP, at)
            .number(packet::SEQUENCE_ID, SEQUENCE)
            .number(packet::SEQUENCE_FLAGS, NEEDS_STATE)
            .message(packet::TRACK_EVENT, event);
        self.packet(&packet)
    }

    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        let all = Message::default().message(trace::PACKET, packet);
        self.out.write_all(&all.0)
    }
}
