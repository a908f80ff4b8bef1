//! Measures how long it takes to fill 160 racks with flyways, greedily over all 25,440 ordered
//! pairs on three channels: `cargo run --release -p timeplane-radio --example feasibility`.

use std::time::Instant;
use timeplane_model::{Named, Rate, mix64};
use timeplane_radio::{
    AntennaName, Coupling, FLYWAYS_NOISE, Field, FlywayRules, Flyways, Layout, LinkBudget, Mcs, Rack, Reception,
    bundled,
};

fn main() {
    let layout = Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default()).expect("a layout");
    let n = layout.racks();
    let mut candidates: Vec<_> = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
    candidates.sort_by_key(|&(a, b)| mix64((a * n + b) as u64));
    println!("{} racks, {} candidates, 3 channels", n, candidates.len());
    println!(
        "{:>12} {:>7} {:>6} {:>9} {:>10} {:>10} {:>11} {:>12}",
        "antenna", "radios", "links", "Gb/s", "field ms", "fill ms", "offers", "ns an offer"
    );
    for measured in AntennaName::all() {
        let start = Instant::now();
        let (name, antenna) = (measured.name(), measured.antenna());
        let field = Field::new(&layout, antenna, &LinkBudget::default());
        let field_ms = start.elapsed().as_secs_f64() * 1e3;
        for radios in [1, 2, 3] {
            let rules = FlywayRules { radios, ..FlywayRules::default() };
            let start = Instant::now();
            let mut ways = Flyways::new(&field, rules);
            ways.fill(candidates.iter().copied(), Rate::ZERO);
            let fill_ms = start.elapsed().as_secs_f64() * 1e3;
            let total: f64 = ways.iter().map(|(_, w)| w.mcs.rate().as_bps() as f64 / 1e9).sum();
            let links = ways.iter().count();
            // A controller that checks every candidate again before each choice: half of the links
            // are up.
            let half: Vec<_> = ways.iter().map(|(id, _)| id).step_by(2).collect();
            for id in half {
                ways.remove(id);
            }
            let start = Instant::now();
            let mut found = 0;
            for &(a, b) in &candidates {
                found += (0..3).filter(|&c| ways.offer(a, b, c).is_ok()).count();
            }
            let ns = start.elapsed().as_secs_f64() * 1e9 / (3 * candidates.len()) as f64;
            println!(
                "{name:>12} {radios:>7} {links:>6} {total:>9.1} {field_ms:>10.1} {fill_ms:>10.1} {found:>11} {ns:>12.0}"
            );
        }
        packets(name, &field);
    }
}

/// Measures judging a packet in two parts with 160 radios, half of which send at a time.
fn packets(name: &str, field: &Field) {
    let n = field.places();
    let radios: Vec<_> = (0..n).map(|r| (r, (r + 37) % n)).collect();
    let coupling = Coupling::new(field, &radios);
    let mut sends: Vec<bool> = (0..n).map(|r| r % 2 == 0).collect();
    let mcs = Mcs::ofdm().next().expect("a rate");
    let noise = FLYWAYS_NOISE.milliwatts();
    let (start, mut sum, packets) = (Instant::now(), 0.0, 1_000_000);
    for i in 0..packets {
        let (at, from) = (i % n, (i + 37) % n);
        let mut reception = Reception::new(mcs, FLYWAYS_NOISE).expect("a sensitivity");
        for _ in 0..2 {
            sends[i * 31 % n] ^= true;
            reception.part(6_000, coupling.power(at, from), coupling.heard(at, &sends, from) + noise);
        }
        sum += reception.success();
    }
    let ns = start.elapsed().as_secs_f64() * 1e9 / packets as f64;
    println!(
        "{name:>12}: {ns:.0} ns for a packet's SINR and success in two parts, {n} radios ({:.3})",
        sum / packets as f64
    );
}
