//! The cost of SINR: senders that all hear each other on one channel, against the same senders on a
//! channel each.
//!
//! `cargo run --release -p timeplane-sim --example air [SENDERS]` prints the CPU time per packet of
//! both, in one run, one after the other, and the difference.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::error::Error;
use timeplane_model::Duration;
use timeplane_radio::{Dbm, FLYWAYS_DRAFT, FLYWAYS_NOISE, Mcs};
use timeplane_sim::SimTime;
use timeplane_sim::air::medium::{Access, AirLink, Medium, MediumSpec, Offered, Outcome, Way};
use timeplane_sim::bench::cpu;
use timeplane_sim::hosts::discipline::{Discipline, Limit, QueueState};

/// Senders that do not wait for each other, each with a receiver of its own.
fn medium(senders: u32, one_channel: bool) -> Result<Medium, Box<dyn Error>> {
    let n = 2 * senders;
    let mcs = Mcs::numbered(24)?;
    let power = |from: u32, to: u32| match (from / 2 == to / 2, from == to) {
        (_, true) => 0.0,
        (true, _) => Dbm::new(-40.0).milliwatts().get(),
        // Together they are below the noise: nothing is lost, and everything is computed.
        _ => Dbm::new(-110.0).milliwatts().get(),
    };
    let spec = MediumSpec {
        mac: FLYWAYS_DRAFT,
        access: Access::NoBackoff,
        retries: 7,
        noise: FLYWAYS_NOISE.milliwatts(),
        senses: Dbm::new(-68.0).milliwatts(),
        channels: (0..n).map(|s| if one_channel { 0 } else { s / 2 }).collect(),
        powers: (0..n * n).map(|i| power(i / n, i % n)).collect(),
    };
    let stream = |s: u32| Xoshiro256PlusPlus::seed_from_u64(u64::from(s));
    let queue = || QueueState::new(Discipline::DropTail { limit: Limit::Packets(u64::MAX) }, 10_040);
    let links = (0..senders).map(|s| AirLink::new(2 * s, 2 * s + 1, Way::Coded(mcs), queue(), stream(s))).collect();
    Ok(Medium::new(spec, links, (0..n).map(stream).collect()))
}

/// CPU time per packet, in microseconds.
fn measure(senders: u32, one_channel: bool, packets: u32) -> Result<f64, Box<dyn Error>> {
    let mut medium = medium(senders, one_channel)?;
    let offered = |packet| Offered { packet, bytes: 10_040, acknowledgement: false, ecn_capable: false };
    // Senders that all start at once would end at once too, so they start one after the other.
    for packet in 0..32 * senders {
        let sender = packet / 32;
        let at = SimTime::ZERO + Duration::from_ns(731) * i64::from(sender);
        medium.offer(at, sender, offered(packet));
    }
    let begin = cpu();
    let mut arrived = 0;
    while let Some(now) = medium.deadline().filter(|_| arrived < packets) {
        let outcomes: Vec<Outcome> = medium.step(now).collect();
        for outcome in outcomes {
            if let Outcome::Arrived { link, packet } = outcome {
                arrived += 1;
                medium.offer(now, link, offered(packet));
            }
        }
    }
    Ok((cpu() - begin) * 1e6 / f64::from(arrived))
}

fn main() -> Result<(), Box<dyn Error>> {
    let senders = std::env::args().nth(1).map_or(Ok(160), |text| text.parse::<u32>())?;
    println!("{:>10} {:>14} {:>14} {:>10}", "packets", "apart us", "together us", "adds us");
    for round in 0..3 {
        let packets = 400_000;
        let (apart, together) = (measure(senders, false, packets)?, measure(senders, true, packets)?);
        println!("{packets:>10} {apart:>14.3} {together:>14.3} {:>10.3}", together - apart);
        if round == 2 {
            println!("of {senders} senders at once, in frames of up to seven packets of 10,040 B");
        }
    }
    Ok(())
}
