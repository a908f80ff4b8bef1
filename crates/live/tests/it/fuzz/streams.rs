//! Fuzzes the frames that a host's streams receive.
//!
//! Any station of the network can send such frames.

use super::STATION;
use super::engine::fuzz;
use timeplane_live::agent::{PeerHost, Streams, StreamsConfig};
use timeplane_model::{Duration, HostId, Time};
use timeplane_protocol::wire::MacAddress;

const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 8]);
const PORT: u16 = 5;

/// Pieces with their lengths before them, two bytes each; the last may be short.
pub fn pieces(mut input: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = input.split_first_chunk::<2>()?;
        let (piece, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
        input = rest;
        Some(piece)
    })
}

fn host(host: u32, mac: MacAddress, other: (u32, MacAddress)) -> Streams {
    let mut streams = Streams::new(StreamsConfig::new(HostId(host), mac, 3));
    streams.set_peer(HostId(other.0), PeerHost { mac: other.1, epoch: 3, key: None, mtu: None });
    streams
}

/// The one that is fuzzed: it sends a stream, and two programs listen.
fn victim() -> Streams {
    let mut streams = host(0, STATION, (1, OTHER));
    streams.listen(PORT).unwrap();
    streams.listen(PORT).unwrap();
    let stream = streams.open(HostId(1), PORT, None).unwrap();
    streams.write(stream, &[7; 5000]).unwrap();
    streams
}

fn at(ms: i64) -> Time {
    Time::ZERO.saturating_add(Duration::from_ms(ms))
}

/// All that a stream and its repairs say to the victim.
fn said() -> Vec<Vec<u8>> {
    let (mut sender, mut receiver, mut said) = (host(1, OTHER, (0, STATION)), victim(), Vec::new());
    sender.listen(PORT).unwrap();
    let first = sender.open(HostId(0), PORT, None).unwrap();
    sender.write(first, &[5; 4000]).unwrap();
    sender.finish(first);
    let second = sender.open(HostId(0), PORT, Some(100)).unwrap();
    sender.write(second, &[6; 50]).unwrap();
    sender.push_packet(HostId(0), &[0x45; 60]);
    for round in 0..40 {
        let (now, mut frame) = (at(round), Vec::new());
        while sender.next_frame(now, HostId(0), 0, u64::MAX, &mut frame).is_some() {
            let _ = receiver.received(now, &frame);
            said.push(frame.clone());
        }
        while receiver.next_frame(now, HostId(1), 1, u64::MAX, &mut frame).is_some() {
            let _ = sender.received(now, &frame);
        }
        let (mut repairs, mut answers) = (Vec::new(), Vec::new());
        sender.due(now, &mut repairs);
        receiver.due(now, &mut answers);
        repairs.iter().for_each(|r| drop(receiver.received(now, r)));
        answers.iter().for_each(|r| drop(sender.received(now, r)));
        said.extend(repairs);
        if round == 20 {
            sender.abandon(second);
        }
    }
    said
}

#[test]
fn frames_to_streams() {
    let said = said();
    assert!(said.len() > 6, "{} frames", said.len());
    let one = |f: &Vec<u8>| [&(f.len() as u16).to_be_bytes()[..], f].concat();
    let mut seeds: Vec<Vec<u8>> = said.windows(3).map(|w| w.iter().flat_map(one).collect()).collect();
    seeds.push(said.iter().flat_map(one).collect());
    fuzz("streams", seeds, 240, |input| {
        let mut streams = victim();
        let (before, mut frames, mut out) = (streams.memory().get(), 0, Vec::new());
        for (ms, frame) in (0..).zip(pieces(input)) {
            frames += 1;
            let _ = streams.received(at(ms), frame);
            if ms % 4 == 3 {
                streams.due(at(ms), &mut out);
                let mut frame = Vec::new();
                let _ = streams.next_frame(at(ms), HostId(1), 1, u64::MAX, &mut frame);
            }
        }
        streams.due(at(100_000), &mut out);
        // A byte takes a chunk of 16 KiB at most, at each end of what a frame carries.
        let most = before + frames * (64 << 10);
        if streams.memory().get() > most {
            return Err(format!("{} B for {frames} frames", streams.memory().get()));
        }
        (out.len() as u64 <= 64 * (frames + 8))
            .then_some(())
            .ok_or_else(|| format!("{} answers to {frames} frames", out.len()))
    });
}
