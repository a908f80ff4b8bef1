//! An authenticated connection: it moves records in both directions, and sends pings.
//!
//! A silent connection is closed.

use super::counters::Counting;
use super::outbox::{Next, Outbox};
use super::record::{Decoder, Incoming, PINGED};
use super::{Timing, wait};
use std::io;
use timeplane_model::Time;
use timeplane_protocol::wire::{Control, Reassembler};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// What comes in.
pub(super) enum Received {
    /// A first record, of whatever kind: the other side has taken us.
    Alive,
    Note(serde_json::Value),
    Control {
        sent_at: Time,
        control: Control,
    },
}

/// Read at a time.
const CHUNK: usize = 16 << 10;

/// Runs until the connection ends; why.
pub(super) async fn pump<S: AsyncRead + AsyncWrite>(
    stream: S,
    outbox: &Outbox,
    timing: &Timing,
    counting: &Counting,
    hear: impl FnMut(Received),
) -> String {
    let (reader, writer) = split(stream);
    tokio::select! {
        why = read(reader, outbox, timing, counting, hear) => why,
        why = write(writer, outbox, timing, counting) => why,
    }
}

async fn read<S: AsyncRead>(
    mut reader: ReadHalf<S>,
    outbox: &Outbox,
    timing: &Timing,
    counting: &Counting,
    mut hear: impl FnMut(Received),
) -> String {
    let (mut decoder, mut reassembler) = (Decoder::default(), Reassembler::default());
    let mut chunk = vec![0; CHUNK];
    let mut alive = false;
    loop {
        loop {
            let heard = match decoder.next() {
                Ok(None) => break,
                Ok(Some(incoming)) => {
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
