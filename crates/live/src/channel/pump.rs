//! An authenticated connection: it moves records in both directions, and sends pings.
//!
//! A silent connection is closed. A server reads no more of a peer than its allowance: the rest
//! waits in the peer's system, and costs the server nothing.

use super::counters::Counting;
use super::outbox::{Next, Outbox};
use super::record::{Decoder, Incoming, PINGED};
use super::{Timing, wait};
use crate::clock;
use crate::tokens::Tokens;
use std::io;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::{Control, Reassembler};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// What comes in.
pub(super) enum Received {
    /// A first record, of whatever kind: the other side has taken us.
    Alive,
    Note(serde_json::Value),
    Control {
        sent_at: Time,
        control: Control,
    },
    /// The peer has begun to send more than it may. What it sends is read later.
    TooMuch,
}

/// How much a server reads of a peer.
#[derive(Debug)]
pub(super) struct Limits {
    notes: Tokens,
    others: Tokens,
    /// Whether the peer has had to wait since it kept to its allowance.
    slowed: bool,
}

/// The longest note that a server reads, in bytes. Notes to servers are short, and JSON takes many
/// times its length.
const LONGEST_NOTE: usize = 16 << 10;
/// Bytes of a note, and of other records, that a token is for.
const NOTE_TOKEN: usize = 1 << 10;
const RECORD_TOKEN: usize = 4 << 10;
/// Timers are no finer than a millisecond, so peers wait for several records at once.
const SHORTEST_WAIT: Duration = Duration::from_ms(10);

impl Limits {
    pub(super) fn of(timing: &Timing) -> Self {
        Self { notes: Tokens::new(timing.notes), others: Tokens::new(timing.messages), slowed: false }
    }

    /// Charges for a record that has been read. Returns how long the next one has to wait.
    fn charge(&mut self, now: Time, is_note: bool, length: usize) -> Option<Duration> {
        if self.notes.is_full(now) && self.others.is_full(now) {
            self.slowed = false;
        }
        let (tokens, each) = match is_note {
            true => (&mut self.notes, NOTE_TOKEN),
            false => (&mut self.others, RECORD_TOKEN),
        };
        (0..=length / each).for_each(|_| tokens.borrow(now));
        Some(tokens.ready() - now).filter(|wait| *wait > SHORTEST_WAIT)
    }
}

/// Read at a time.
const CHUNK: usize = 16 << 10;

/// Runs until the connection ends; why.
pub(super) async fn pump<S: AsyncRead + AsyncWrite>(
    stream: S,
    outbox: &Outbox,
    timing: &Timing,
    counting: &Counting,
    limits: Option<Limits>,
    hear: impl FnMut(Received),
) -> String {
    let (reader, writer) = split(stream);
    tokio::select! {
        why = read(reader, outbox, timing, counting, limits, hear) => why,
        why = write(writer, outbox, timing, counting) => why,
    }
}

async fn read<S: AsyncRead>(
    mut reader: ReadHalf<S>,
    outbox: &Outbox,
    timing: &Timing,
    counting: &Counting,
    mut limits: Option<Limits>,
    mut hear: impl FnMut(Received),
) -> String {
    let mut decoder = limits.as_ref().map_or_else(Decoder::default, |_| Decoder::with_notes_up_to(LONGEST_NOTE));
    let mut reassembler = Reassembler::default();
    let mut chunk = vec![0; CHUNK];
    let mut alive = false;
    loop {
        loop {
            let charged;
            let heard = match decoder.next() {
                Ok(None) => break,
                Ok(Some((incoming, length))) => {
                    charged = (matches!(incoming, Incoming::Note(_)), length);
                    // Nothing comes of a peer that has been told to go, or has been replaced.
                    if outbox.is_closed() {
                        return std::future::pending().await;
                    }
                    if !std::mem::replace(&mut alive, true) {
                        hear(Received::Alive);
                    }
                    match incoming {
                        Incoming::Ping => None,
                        Incoming::Note(note) => Some(Received::Note(note)),
                        Incoming::Part { sent_at, datagram } => match reassembler.push(datagram) {
                            Ok(control) => control.map(|control| Received::Control { sent_at, control }),
                            Err(e) => {
                                tracing::debug!("malformed message in the channel: {e}");
                                Counting::count(&counting.malformed);
                                None
                            }
                        },
                    }
                }
                Err(e) => {
                    Counting::count(&counting.broken);
                    return e.to_string();
                }
            };
            if let Some(heard) = heard {
                Counting::count(&counting.received);
                hear(heard);
            }
            let Some(limits) = &mut limits else { continue };
            if let Some(pause) = limits.charge(clock::now(), charged.0, charged.1) {
                Counting::count(&counting.slowed);
                if !std::mem::replace(&mut limits.slowed, true) {
                    hear(Received::TooMuch);
                }
                sleep(wait(pause)).await;
            }
        }
        match timeout(wait(timing.silence), reader.read(&mut chunk)).await {
            Ok(Ok(0)) => return "it has closed the connection".to_owned(),
            Ok(Ok(n)) => decoder.push(&chunk[..n]),
            Ok(Err(e)) => return broken_off(&e),
            Err(_) => {
                Counting::count(&counting.silent);
                return format!("nothing was heard of it for {:?}", wait(timing.silence));
            }
        }
    }
}

async fn write<S: AsyncWrite>(
    mut writer: WriteHalf<S>,
    outbox: &Outbox,
    timing: &Timing,
    counting: &Counting,
) -> String {
    let mut ping = interval(wait(timing.ping).max(std::time::Duration::from_millis(1)));
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let next = tokio::select! {
            biased;
            next = outbox.next() => next,
            // The first is due at once, and tells a client that it has been taken.
            _ = ping.tick() => Next::Write(PINGED.to_vec(), 0),
        };
        let (bytes, records) = match next {
            Next::Write(bytes, records) => (bytes, records),
            Next::Closed(why) => {
                // So that the other side hears of the end; it does not matter if it cannot.
                let _ = timeout(wait(timing.silence), writer.shutdown()).await;
                return why;
            }
        };
        let written = tokio::select! {
            written = write_all(&mut writer, &bytes, timing) => written,
            why = outbox.cut_off() => return why,
        };
        match written {
            Ok(()) => {
                counting.sent.fetch_add(records, std::sync::atomic::Ordering::Relaxed);
            }
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                Counting::count(&counting.silent);
                return format!("it has taken nothing for {:?}", wait(timing.silence));
            }
            Err(e) => return broken_off(&e),
        }
    }
}

/// As long as some of it is taken now and then, it goes on.
async fn write_all<S: AsyncWrite>(writer: &mut WriteHalf<S>, mut bytes: &[u8], timing: &Timing) -> io::Result<()> {
    let silence = wait(timing.silence);
    while !bytes.is_empty() {
        match timeout(silence, writer.write(bytes)).await?? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n => bytes = &bytes[n..],
        }
    }
    timeout(silence, writer.flush()).await?
}

fn broken_off(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => "the connection broke off".to_owned(),
        _ => format!("the connection broke off: {e}"),
    }
}
