//! Computes link traces of the proxy's two rooms:
//!
//! ```text
//! cargo run -p timeplane-radio --example link_trace -- [--scene A|B] [--level DBM] [--length S]
//!     [--speed M/S] [--along SHARE] [--before M] [--angle DEG] [--extra DB] [--width M]
//!     [--height M] [--target PER] [--select MS] [--every MS] [--beams FILE] [--link_trace FILE]
//! ```
//!
//! It prints the link trace every 100 ms. `--beams` writes matrices in the format of `BeamTrace`,
//! `--link_trace` writes all states as a table.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use timeplane_model::Duration;
use timeplane_radio::{
    Angle, Db, Dbm, ErrorTables, LinkParameters, LinkTrace, LinkTraceRules, Mcs, Meters, RateBySignal, TESTBED_LEVEL,
    Testbed, Walk,
};

const OPTIONS: [&str; 15] = [
    "scene",
    "level",
    "length",
    "speed",
    "along",
    "before",
    "angle",
    "extra",
    "width",
    "height",
    "target",
    "select",
    "every",
    "beams",
    "link_trace",
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut given = BTreeMap::new();
    for pair in arguments.chunks(2) {
        let name = pair[0].trim_start_matches("--");
        if !OPTIONS.contains(&name) {
            return Err(format!("`{}` is not known: one of --{}", pair[0], OPTIONS.join(", --")).into());
        }
        given.insert(name, pair.get(1).ok_or(format!("{} needs a value", pair[0]))?.as_str());
    }
    let number = |name: &str, default: f64| match given.get(name) {
        None => Ok(default),
        Some(text) => text.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or(format!("--{name} {text}: a number")),
    };
    let within = |name: &str, default: f64, allowed: RangeInclusive<f64>| match number(name, default) {
        Ok(x) if !allowed.contains(&x) => Err(format!("--{name} {x}: from {} to {}", allowed.start(), allowed.end())),
        other => other,
    };
    let level = Dbm::new(number("level", TESTBED_LEVEL.get())?);
    let testbed = match *given.get("scene").unwrap_or(&"B") {
        "A" => Testbed::a(level),
        "B" => Testbed::b(level),
        other => return Err(format!("--scene {other}: A or B").into()),
    };
    let walk = Walk {
        along: number("along", testbed.walk.along)?,
        before: number("before", testbed.walk.before)?,
        speed: within("speed", testbed.walk.speed, 0.0..=20.0)?,
        angle: Angle::degrees(number("angle", testbed.walk.angle.as_degrees())?),
        ..testbed.walk
    };
    let extra = Db::new(within("extra", testbed.extra.get(), 0.0..=100.0)?);
    let mut testbed = testbed.walked(walk);
    testbed.extra = extra;
    let meters = |name, default: Meters| within(name, default.get(), 0.0..=10.0).map(Meters::new);
    testbed.size = (meters("width", testbed.size.0)?, meters("height", testbed.size.1)?);
    let length = Duration::from_secs_f64(within("length", 10.0, 0.0..=1000.0)?);
    let trace = testbed.trace(length)?;
    let parameters = LinkParameters { target: within("target", 0.01, 1e-6..=0.5)?, ..LinkParameters::default() };
    let rates = RateBySignal::new(ErrorTables::bundled(), parameters, Mcs::single_carrier());
    let ms = |x: f64| Duration::from_secs_f64(x * 1e-3);
    let rules = LinkTraceRules { every: ms(number("every", 1.0)?), select_every: ms(number("select", 10.0)?) };
    let link_trace = LinkTrace::new(&trace, &rates, rules, length)?;
    if let Some(path) = given.get("beams") {
        std::fs::write(path, trace.to_csv())?;
    }
    if let Some(path) = given.get("link_trace") {
        std::fs::write(path, link_trace.to_csv())?;
        return Ok(());
    }
    println!("Room {}, {:.1} with nobody in the way", testbed.name, testbed.level);
    println!("{:>6} {:>4} {:>4} {:>8} {:>4} {:>7} {:>9}", "s", "tx", "rx", "dBm", "MCS", "Mb/s", "PER");
    for step in 0..=(length.as_ps() / ms(100.0).as_ps()) {
        let at = Duration::from_ps(step * ms(100.0).as_ps());
        let s = link_trace.at(at);
        let (tx, rx) = (trace.sends()[s.tx].as_degrees(), trace.listens()[s.rx].as_degrees());
        print!("{:>6.1} {tx:>4} {rx:>4} {:>8.2}", at.as_secs_f64(), s.level.get());
        match s.link {
            Some(l) => println!(" {:>4} {:>7.1} {:>9.2e}", l.mcs.name(), l.rate.as_bps() as f64 / 1e6, l.packet_error),
            None => println!(" {:>4} {:>7} {:>9}", "-", "-", 1),
        }
    }
    Ok(())
}
