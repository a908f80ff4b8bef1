//! Measures what sealing costs: CPU time of one thread for each frame between two hosts, built and
//! taken in, with and without tags.
//!
//! ```text
//! cargo run --release -p timeplane-live --example seal [FRAMES]
//! ```
//!
//! No frame leaves the process. The two kinds take turns, so that a busy machine slows both; each
//! number is the median of the turns.

use timeplane_live::agent::{PeerHost, Read, Streams, StreamsConfig};
use timeplane_model::{Bytes, Duration, HostId, Time};
use timeplane_protocol::wire::{HostSecret, MacAddress};

const TURNS: usize = 11;
const HOSTS: [HostId; 2] = [HostId(0), HostId(1)];

fn mac(host: HostId) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, host.0 as u8])
}

fn secret(host: HostId) -> HostSecret {
    HostSecret([host.0 as u8 + 1; 32])
}

fn host(this: usize, mtu: u32, sealed: bool) -> Streams {
    let (host, other) = (HOSTS[this], HOSTS[1 - this]);
    let config = StreamsConfig {
        mtu,
        send_buffer: Bytes::new(4 << 20),
        secret: sealed.then(|| secret(host)),
        ..StreamsConfig::new(host, mac(host), 1)
    };
    let key = sealed.then(|| secret(other).key_of(host, other));
    let mut streams = Streams::new(config);
    streams.set_peer(other, PeerHost { mac: mac(other), epoch: 1, key, mtu: None });
    streams
}

/// CPU time of this thread, in ns.
fn cpu() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// CPU time in ns that a frame takes to be built, and to be taken in and read.
fn measure(mtu: u32, sealed: bool, frames: u64) -> Result<[f64; 2], Box<dyn std::error::Error>> {
    let [mut sender, mut receiver] = [0, 1].map(|this| host(this, mtu, sealed));
    let listener = receiver.listen(0)?;
    let stream = sender.open(HOSTS[1], 0, None)?;
    let (bytes, mut buffer) = (vec![7; 65_536], vec![0; 65_536]);
    let mut batch = vec![Vec::new(); 256];
    let (mut now, mut count, mut taken, mut out) = (Time::ZERO, 0, None, Vec::new());
    let (mut built, mut taken_in) = (0, 0);
    while count < frames {
        while sender.write(stream, &bytes)? > 0 {}
        let before = cpu();
        let n = batch.iter_mut().map_while(|f| sender.next_frame(now, HOSTS[1], 1, u64::MAX, f)).count();
        built += cpu() - before;
        count += n as u64;
        now += Duration::from_ms(30);
        let before = cpu();
        for frame in &batch[..n] {
            receiver.received(now, frame)?;
        }
        taken = taken.or_else(|| receiver.accept(listener));
        while taken.is_some_and(|id| matches!(receiver.read(id, &mut buffer), Read::Bytes(_))) {}
        taken_in += cpu() - before;
        receiver.due(now, &mut out);
        for report in out.drain(..) {
            sender.received(now, &report)?;
        }
    }
    assert_eq!(receiver.counters().frames_received, count, "every frame is taken in");
    Ok([built, taken_in].map(|ns| ns as f64 / count as f64))
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames: u64 = std::env::args().nth(1).map_or(Ok(100_000), |s| s.parse())?;
    println!("  MTU   ns a frame       plain  sealed   ratio");
    for mtu in [1500, 9000] {
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..TURNS {
            for (sealed, times) in [false, true].into_iter().zip(&mut times) {
                times.push(measure(mtu, sealed, frames)?);
            }
        }
        for (at, what) in ["built", "taken in"].into_iter().enumerate() {
            let [plain, sealed] = times.each_ref().map(|t| median(t.iter().map(|turn| turn[at]).collect()));
            println!("{mtu:>5}   {what:<14} {plain:>7.0} {sealed:>7.0} {:>7.2}", sealed / plain);
        }
    }
    Ok(())
}
