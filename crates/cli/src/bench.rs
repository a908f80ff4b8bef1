//! `bench`: the speed of the simulator on this machine, as text or JSON. The measurement is in
//! `timeplane_sim::bench`.

use crate::fail::Failure;
use crate::{BenchArgs, output};
use serde_json::{Value, json};
use timeplane_sim::bench::{self, Measured};

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let measured = bench::report(args.quick);
    if args.json {
        let one = |m: &Measured| {
            let mut json = serde_json::to_value(m).expect("numbers and names are JSON");
            json["ns_per_packet_hop"] = (1e9 / m.packet_hops_per_cpu_s).into();
            json
        };
        return output::json(&json!({ "measured": measured.iter().map(one).collect::<Vec<Value>>() }));
    }
    output::text(&bench::table(&measured))?;
    output::text(
        "\n\
         A packet-hop is one packet on one link. Times are CPU times of the event loop on one core.\n\
         peak MB: of the process so far. ratio: time per hop relative to the smallest fabric.\n",
    )
}
