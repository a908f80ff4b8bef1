//! `bench`: how fast the engine is on this machine.

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
         A packet-hop is a packet that crosses one link; one core, CPU time of the event loop.\n\
         peak MB: of the process so far. ratio: time per hop over that of the smallest fabric, as they grow.\n",
    )
}
