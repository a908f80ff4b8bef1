//! Attacks on running daemons: what they did before, and what they do now, as a table. At length it
//! takes seven minutes. Needs root and nft.
//!
//! ```sh
//! cargo build --release -p timeplane-lab
//! cargo run --release -p timeplane-lab --example attacks
//! ```

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use timeplane_lab::attacks::{ATTACKS, Attack, Finding, table};
use timeplane_lab::bed;
use timeplane_live::daemons::Failure;
use timeplane_live::service::Stop;

#[derive(Debug, Parser)]
#[command(about = "Attack running daemons and print what each attack does", max_term_width = 100)]
struct Arguments {
    /// Run only the attacks whose names contain one of these
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// List the attacks and exit
    #[arg(long)]
    list: bool,
    /// Seconds that each attack lasts
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Write the table to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The program timeplane-lab; by default the one that was built with this one
    #[arg(long)]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Failure> {
    let arguments = Arguments::parse();
    if arguments.list {
        ATTACKS.iter().for_each(|a| println!("{:20} {}", a.name, a.about));
        return Ok(ExitCode::SUCCESS);
    }
    let program = bed::program(arguments.program)?;
    let chosen = |a: &&Attack| arguments.only.is_empty() || arguments.only.iter().any(|name| a.name.contains(name));
    let attacks: Vec<&Attack> = ATTACKS.iter().filter(chosen).collect();
    if attacks.is_empty() {
        let names: Vec<&str> = ATTACKS.iter().map(|a| a.name).collect();
        return Err(format!("no attack has a name with {:?}: expected {}", arguments.only, names.join(", ")).into());
    }
    let time = Duration::try_from_secs_f64(arguments.seconds)
        .map_err(|e| format!("--seconds {}: {e}: expected a number from 0 on", arguments.seconds))?;
    let stop = Stop::on_signals()?;
    let mut findings: Vec<(&Attack, Finding)> = Vec::new();
    for attack in attacks {
        eprintln!("{}: {}", attack.name, attack.about);
        let finding = attack.run(&program, &format!("tpattack{}", std::process::id()), time);
        if stop.is_set() {
            break;
        }
        let failed = |e: Failure| Finding { after: e.to_string(), held: false, machine_was_late: false };
        findings.push((attack, finding.unwrap_or_else(failed)));
    }
    println!("{}", table(&findings));
    if let Some(path) = arguments.json {
        let value = |(attack, finding): &(&Attack, Finding)| {
            serde_json::json!({
                "attack": attack.name, "about": attack.about, "before": attack.before,
                "after": finding.after, "held": finding.held, "machine_was_late": finding.machine_was_late,
            })
        };
        let all: Vec<serde_json::Value> = findings.iter().map(value).collect();
        std::fs::write(path, serde_json::to_string_pretty(&all)? + "\n")?;
    }
    Ok(ExitCode::from(u8::from(!findings.iter().all(|f| f.1.held))))
}
