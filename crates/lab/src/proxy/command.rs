//! `timeplane live lab` for a scenario of the proxy.
//!
//! After the comparison it prints a table of policies, goodput and round trips.

use super::answers::{self, Options};
use crate::answers::Outcome;
use crate::arguments::{ScenarioArgs, width};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;
use std::sync::Arc;
use timeplane_experiment::{ExitCode, say};
use timeplane_live::proxy::Actuator;
use timeplane_scenario::Loaded;

/// Runs a scenario in the lab of the proxy and prints the comparison; returns the exit code.
pub fn proxy(args: &ScenarioArgs, loaded: &Loaded) -> ExitCode {
    let (actuator, why) = Actuator::best();
    if let Some(why) = why {
        say!("{why}; using the send buffer's size instead");
    }
    let options = Options {
        results: args.results.clone(),
        name: args.lab_name(loaded),
        schemes: args.scheme.clone(),
        actuator: Arc::new(actuator),
    };
    args.answer(loaded, |cancel, tell| answers::run(loaded, &options, cancel, tell), &table, &[])
}

/// One line for each run: the policy, the used share of the link's capacity, and round trips.
fn table(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width().min(u16::MAX.into()) as u16);
    let columns = ["", "policy", "goodput", "share", "RTT p50", "p99", "over base p50", "p99", "no room", "sent again"];
    table.set_header(columns);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let number = |live: &Value, key: &str| live[key].as_f64().unwrap_or(f64::NAN);
    for (run, live) in &outcome.live {
        let ms = |key| format!("{:.1} ms", number(live, key) / 1e3);
        let count = |key: &str| live[key].as_u64().unwrap_or(0).to_string();
        table.add_row([
            run.label(),
            live["policy"].as_str().unwrap_or_default().to_owned(),
            format!("{:.2} Mb/s", number(live, "goodput_bps") / 1e6),
            format!("{:.1} %", 100.0 * number(live, "goodput_share")),
            ms("rtt_p50_us"),
            ms("rtt_p99_us"),
            ms("over_base_p50_us"),
            ms("over_base_p99_us"),
            count("no_room_packets"),
            count("sent_again"),
        ]);
    }
    let lines: Vec<String> = table.lines().map(|l| format!("{}\n", l.trim_end())).collect();
    lines.concat()
}
