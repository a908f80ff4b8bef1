//! Measures how many frames a second an agent's streams produce and an open gate passes: one
//! thread, frames of 1500 B, over veth.
//!
//! ```text
//! sudo cargo run --release -p timeplane-live --example gate [SECONDS]
//! ```

use std::time::Instant;
use timeplane_live::agent::{PeerHost, Streams, StreamsConfig};
use timeplane_live::clock;
use timeplane_live::gate::{Gate, GateConfig};
use timeplane_live::netns::{Namespace, veth};
use timeplane_live::packet_socket::PacketSocket;
use timeplane_model::{Duration, HostId};
use timeplane_protocol::wire::{MacAddress, SignalKey};

const BATCH: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(3), |s| s.parse())?;
    let [host, other] = ["h", "o"].map(|end| Namespace::create(&format!("tpxg{}{end}", std::process::id())));
    let (host, other) = (host?, other?);
    veth((&host, "eth0", "02:00:00:00:00:01"), (&other, "eth0", "02:00:00:00:00:02"))?;
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let config = GateConfig::new("eth0", mac, SignalKey([1; 16]));
    let gate = host.enter(|| Gate::attach(&config))??;
    let socket = host.enter(|| PacketSocket::open("eth0", 0x88b6))??;
    gate.open(1, Duration::from_secs(seconds as i64 + 60), None)?;

    let mut streams = Streams::new(StreamsConfig::new(HostId(0), mac, 1));
    streams.set_peer(HostId(1), PeerHost { mac: MacAddress([2, 0, 0, 0, 0, 2]), epoch: 1, key: None, mtu: None });
    let block = vec![7; 1 << 20];
    let mut batch: Vec<Vec<u8>> = (0..BATCH).map(|_| Vec::with_capacity(1514)).collect();
    let (mut built, mut sent, mut refused) = (0u64, 0u64, 0u64);
    let mut stream = streams.open(HostId(1), 0, None)?;
    // Nobody acknowledges: a stream whose buffer is full is given up for the next one.
    let mut fill = |streams: &mut Streams| -> Result<(), Box<dyn std::error::Error>> {
        if streams.write(stream, &block)? == 0 {
            streams.abandon(stream);
            stream = streams.open(HostId(1), 0, None)?;
            streams.write(stream, &block)?;
        }
        Ok(())
    };
    for with_gate in [false, true] {
        let began = Instant::now();
        let mut frames = 0u64;
        while began.elapsed().as_secs() < seconds {
            let now = clock::now();
            let mut count = 0;
            while count < BATCH {
                match streams.next_frame(now, HostId(1), 1, u64::MAX, &mut batch[count]) {
                    Some(_) => count += 1,
                    None => fill(&mut streams)?,
                }
            }
            frames += count as u64;
            if with_gate {
                let done = socket.send_batch(&batch)?;
                sent += done.sent as u64;
                refused += (count - done.sent) as u64;
            }
        }
        built += frames;
        let per_second = frames as f64 / began.elapsed().as_secs_f64();
        println!(
            "{:>10.0} frames/s {}",
            per_second,
            if with_gate { "built and sent through the gate" } else { "built" }
        );
    }
    let counters = gate.counters();
    println!("{built} built, {sent} sent, {refused} refused; the gate has passed {}", counters.passed);
    Ok(())
}
