//! The TCP stream of an experiment: sends as fast as the socket accepts, and measures what arrives.
//!
//! The receiver knows the pattern of the bytes and compares all of them.

use super::delays::Delays;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use timeplane_live::proxy::Clock;
use timeplane_live::proxy::TcpInfo;
use timeplane_model::{Duration, Time};

/// Bytes per write.
const CHUNK: usize = 1 << 16;
/// Period of the pattern in bytes. It is odd and prime, so that any shift is detected.
const PERIOD: usize = 65_521;
/// How often a waiting thread checks the time.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// The pattern of the stream, which repeats. It is more than one period long, so that each chunk is
/// contiguous.
fn pattern() -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut byte = || {
        // xorshift32 (Marsaglia, 2003).
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    let one: Vec<u8> = (0..PERIOD).map(|_| byte()).collect();
    [&one[..], &one[..], &one[..]].concat()
}

/// Result of the sender.
pub(super) struct Sent {
    pub bytes: u64,
}

/// Sends until `end` or until `goes_on` returns `false`, and then closes the stream.
pub(super) fn send(mut to: &TcpStream, end: Time, clock: Clock, goes_on: &dyn Fn(Time) -> bool) -> io::Result<Sent> {
    to.set_write_timeout(Some(LOOK))?;
    let pattern = pattern();
    let mut bytes = 0_u64;
    while clock.now() < end && goes_on(clock.now()) {
        let from = (bytes % PERIOD as u64) as usize;
        match to.write(&pattern[from..from + CHUNK]) {
            Ok(length) => bytes += length as u64,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
    }
    to.shutdown(Shutdown::Write)?;
    Ok(Sent { bytes })
}

/// Result of the receiver.
pub(super) struct Received {
    /// Received bytes.
    pub bytes: u64,
    /// Bytes received up to `end`.
    pub in_time: u64,
    /// Whether a byte differs from the pattern.
    pub wrong: bool,
    /// Whether the stream ended in time.
    pub whole: bool,
}

/// Receives until the stream ends, `patience` has passed, or the run is given up. Counts bytes up
/// to `end` separately.
pub(super) fn receive(
    mut from: &TcpStream,
    end: Time,
    patience: Time,
    clock: Clock,
    given_up: &AtomicBool,
) -> io::Result<Received> {
    from.set_read_timeout(Some(LOOK))?;
    let pattern = pattern();
    let mut buffer = vec![0; CHUNK];
    let mut received = Received { bytes: 0, in_time: 0, wrong: false, whole: false };
    while clock.now() < patience && !given_up.load(Ordering::Relaxed) {
        match from.read(&mut buffer) {
            Ok(0) => {
                received.whole = true;
                break;
            }
            Ok(length) => {
                let at = (received.bytes % PERIOD as u64) as usize;
                received.wrong |= buffer[..length] != pattern[at..at + length];
                received.bytes += length as u64;
                if clock.now() <= end {
                    received.in_time = received.bytes;
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(received)
}

/// Samples a sender's smoothed round-trip time every `every` until `end`, or until the run is given
/// up. Returns the samples and the number of retransmissions.
pub(super) fn watch(
    sender: &TcpStream,
    every: Duration,
    end: Time,
    clock: Clock,
    given_up: &AtomicBool,
) -> io::Result<(Delays, u32)> {
    let (mut delays, mut again) = (Delays::default(), 0);
    while clock.now() < end && !given_up.load(Ordering::Relaxed) {
        let info = TcpInfo::of(sender)?;
        if info.srtt > Duration::ZERO {
            delays.add(info.srtt);
        }
        again = info.sent_again;
        std::thread::sleep(timeplane_live::proxy::wall(every));
    }
    Ok((delays, again))
}
