//! `new`: a commented scenario to start from.

use crate::fail::Failure;
use crate::{NewArgs, output};
use clap::builder::PossibleValue;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// A scenario to start from. It needs no file beside its own.
#[derive(Debug)]
pub struct Template {
    pub name: &'static str,
    pub about: &'static str,
    /// What it consists of, in this order; several templates share parts. `@FILE` and `@RESULTS` stand for its file and its results.
    parts: &'static [&'static str],
}

macro_rules! parts {
    ($($file:literal),+) => { &[$(include_str!(concat!("../templates/", $file))),+] };
}

/// All templates; the first one is the default.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "slots",
        about: "exclusive slots against DCTCP, random flows on one switch",
        parts: parts![
            "slots.toml",
            "shared/packets.toml",
            "shared/poisson.toml",
            "shared/dctcp.toml",
            "slots.scheme.toml",
            "shared/more.toml"
        ],
    },
    Template {
        name: "tdma",
        about: "slots opened and closed by pause frames against TCP, a shuffle with shallow buffers",
        parts: parts![
            "tdma.toml",
            "shared/packets.toml",
            "tdma.workload.toml",
            "shared/dctcp.toml",
            "tdma.scheme.toml"
        ],
    },
    Template {
        name: "timeslots",
        about: "a time and a path for every packet, by a central arbiter",
        parts: parts![
            "timeslots.toml",
            "shared/packets.toml",
            "shared/poisson.toml",
            "shared/dctcp.toml",
            "timeslots.scheme.toml",
            "shared/more.toml"
        ],
    },
    Template {
        name: "rates",
        about: "a rate for every pair, by a central controller",
        parts: parts![
            "rates.toml",
            "shared/packets.toml",
            "shared/poisson.toml",
            "shared/dctcp.toml",
            "rates.scheme.toml",
            "shared/more.toml"
        ],
    },
    Template {
        name: "circuits",
        about: "an optical circuit switch beside a slower packet switch",
        parts: parts!["circuits.toml"],
    },
    Template { name: "flyways", about: "60 GHz radios on racks with slow uplinks", parts: parts!["flyways.toml"] },
    Template {
        name: "proxy",
        about: "TCP over a 60 GHz link, alone and steered by a proxy",
        parts: parts!["proxy.toml"],
    },
    Template {
        name: "training",
        about: "a ring all-reduce over packets, slots and circuits against the formula",
        parts: parts!["../../../scenarios/allreduce.toml"],
    },
    Template {
        name: "lab",
        about: "a small shuffle that real daemons run as well: `timeplane live lab`",
        parts: parts!["../../../scenarios/lab.toml"],
    },
];

impl Template {
    /// The scenario as it is written to `file`.
    pub fn text(&self, file: &Path) -> String {
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
        // A scenario of the repository names itself by its place there.
        let own = format!("scenarios/{}.toml", self.name);
        let file = word(&file.to_string_lossy());
        let text = self.parts.join("\n");
        text.replace(&own, &file).replace("@FILE", &file).replace("@RESULTS", &word(&format!("results/{name}")))
    }
}

/// A word as a shell takes it, in a comment, which ends where the line does.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,=@:".contains(c);
    if text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace(char::is_control, "?").replace('\'', r"'\''"))
}

/// How the command line names templates: for help, completion and the nearest right name.
pub fn names() -> Vec<PossibleValue> {
    TEMPLATES.iter().map(|t| PossibleValue::new(t.name).help(t.about)).collect()
}

pub fn new(args: &NewArgs) -> Result<(), Failure> {
    if args.list {
        return list(args.json);
    }
    let template = TEMPLATES.iter().find(|t| t.name == args.template).expect("the command line knows their names");
    if args.file.as_os_str() == "-" {
        return output::text(&template.text(Path::new("scenario.toml")));
    }
    let file = &args.file;
    let text = template.text(file);
    write(file, &text, args.force)?;
    let shown = word(&file.to_string_lossy());
    output::text(&format!("{}: {}\n", file.display(), template.about))?;
    eprintln!("it is yours to change; `timeplane run {shown}` runs it");
    Ok(())
}

/// Writes a file that is not there, unless it may be replaced.
fn write(path: &Path, text: &str, replace: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!replace).create(replace).truncate(replace);
    let opened = options.open(path);
    let written = opened.and_then(|mut file| {
        // Half a scenario is not left behind.
        file.write_all(text.as_bytes()).inspect_err(|_| drop(std::fs::remove_file(path)))
    });
    written.map_err(|e| {
        let path = path.display();
        match e.kind() {
            io::ErrorKind::AlreadyExists => Failure::configuration(format!(
                "{path} is there already, and stays as it is: name another file, or replace it with --force"
            )),
            io::ErrorKind::NotFound => {
                Failure::configuration(format!("{path} cannot be written: there is no such folder"))
            }
            _ => Failure::failed(format!("{path} cannot be written: {e}")),
        }
    })
}

fn list(json: bool) -> Result<(), Failure> {
    if json {
        let one = |t: &Template| json!({ "name": t.name, "about": t.about });
        return output::json(&TEMPLATES.iter().map(one).collect::<Value>());
    }
    let longest = TEMPLATES.iter().map(|t| t.name.len()).max().unwrap_or(0);
    let line = |t: &Template| format!("{:longest$}  {}\n", t.name, t.about);
    output::text(&TEMPLATES.iter().map(line).collect::<String>())
}
