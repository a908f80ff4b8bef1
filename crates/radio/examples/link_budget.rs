//! Prints the range of each rate with each antenna, and the received power at a few distances:
//! `cargo run -p timeplane-radio --example link_budget`.
//!
//! The budget is 10 mW at 59.4 GHz with a margin of 3 dB for multipath, and both antennas point at
//! each other.

use timeplane_model::Named;
use timeplane_radio::{Angle, Antenna, AntennaName, Cone, Db, Horn, LinkBudget, Mcs, Meters, PatchArray};

fn main() {
    let deg = Angle::degrees;
    let mut antennas = vec![("isotropic", Antenna::Isotropic)];
    for name in AntennaName::all() {
        antennas.push((name.name(), name.antenna()));
    }
    antennas.push(("cone 30°", Antenna::Cone(Cone::new(deg(30.0), 0.1).expect("a cone"))));
    let horn = Horn::new(deg(15.0), deg(14.0), Some(Db::new(20.0))).expect("a horn");
    antennas.push(("horn 20 dBi", Antenna::Horn(horn)));
    let patch = PatchArray::new((8, deg(11.0)), (4, deg(24.0)), Some(Db::new(17.0))).expect("an array");
    antennas.push(("patch 17 dBi", Antenna::PatchArray(patch)));
    let budget = LinkBudget::default();

    println!("Range in meters by rate");
    print!("{:>4} {:>9} {:>6}", "MCS", "Mb/s", "dBm");
    antennas.iter().for_each(|(name, _)| print!(" {name:>12}"));
    println!();
    print!("{:>21}", "dBi ahead");
    antennas.iter().for_each(|(_, a)| print!(" {:>12.1}", a.ahead().get()));
    println!();
    for mcs in Mcs::single_carrier().chain(Mcs::ofdm()) {
        let Some(sensitivity) = mcs.sensitivity() else { continue };
        print!("{:>4} {:>9.2} {:>6}", mcs.name(), mcs.rate().as_bps() as f64 / 1e6, sensitivity.get());
        for (_, a) in &antennas {
            let range = budget.range(sensitivity, a.ahead(), a.ahead()).map_or(0.0, Meters::get);
            print!(" {range:>12.2}");
        }
        println!();
    }

    println!("\nSignal in dBm, and the fastest OFDM rate in Mb/s, by distance");
    print!("{:>21}", "m");
    antennas.iter().for_each(|(name, _)| print!(" {name:>16}"));
    println!();
    for m in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0] {
        print!("{m:>21}");
        for (_, a) in &antennas {
            let signal = budget.signal(Meters::new(m), a.ahead(), a.ahead());
            let fits = Mcs::ofdm().filter(|mcs| mcs.sensitivity().is_some_and(|s| signal >= s));
            let rate = fits.map(|mcs| mcs.rate().as_bps()).max();
            let rate = rate.map_or("-".to_owned(), |r| format!("{:.0}", r as f64 / 1e6));
            print!(" {:>9.1} {rate:>6}", signal.get());
        }
        println!();
    }
}
