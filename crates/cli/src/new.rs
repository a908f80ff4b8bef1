//! `new`: a commented scenario to start from. Templates are put together from parts in
//! `crates/cli/templates`.

use crate::fail::Failure;
use crate::{NewArgs, output};
use clap::builder::PossibleValue;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use timeplane_experiment::say;

/// A scenario to start from. It names no other file.
#[derive(Debug)]
pub struct Template {
    pub name: &'static str,
    pub about: &'static str,
    /// Its parts, in order; templates share parts. `@FILE` and `@RESULTS` are replaced by its file
    /// and its results folder.
    parts: &'static [&'static str],
}

macro_rules! parts {
    ($($file:literal),+) => { &[$(include_str!(concat!("../templates/", $file))),+] };
}

/// The first template is the default.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "slots",
        about: "exclusive slots compared with DCTCP, random flows on one switch",
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
        about: "slots opened and closed by pause frames compared with TCP, a shuffle with shallow buffers",
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
        about: "a time and a path for every packet, from a central controller",
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
        about: "a rate for every pair of hosts, from a central controller",
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
        about: "an optical circuit switch alongside a slower packet switch",
        parts: parts!["circuits.toml"],
    },
    Template {
        name: "rotor",
        about: "rotor switches that join racks in turn, several routings compared with a Clos",
        parts: parts!["rotor.toml"],
    },
    Template { name: "flyways", about: "60 GHz radios on racks with slow uplinks", parts: parts!["flyways.toml"] },
    Template {
        name: "proxy",
        about: "TCP over a 60 GHz link, alone and steered by a proxy",
        parts: parts!["proxy.toml"],
    },
    Template {
        name: "training",
        about: "a ring all-reduce over packets, slots and circuits compared with its formula",
        parts: parts!["../../../scenarios/allreduce.toml"],
    },
    Template {
        name: "lab",
        about: "a small shuffle that real daemons can run, too: `timeplane live lab`",
        parts: parts!["../../../scenarios/lab.toml"],
    },
];

impl Template {
    /// The text of the scenario for `file`.
    pub fn text(&self, file: &Path) -> String {
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
        // A scenario of the repository has its path there in its comments.
        let own = format!("scenarios/{}.toml", self.name);
        let file = word(&file.to_string_lossy());
        // Editors complete and check keys by the schema that this line names.
        let text = format!("#:schema timeplane.schema.json\n{}", self.parts.join("\n"));
        text.replace(&own, &file).replace("@FILE", &file).replace("@RESULTS", &word(&format!("results/{name}")))
    }
}

/// A word quoted for a shell, in a comment: without line breaks.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,=@:".contains(c);
    if text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace(char::is_control, "?").replace('\'', r"'\''"))
}

/// The templates for the command line: help, completion and suggestions.
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
    say!("Edit the file, then run `timeplane run {shown}`");
    say!("Editors complete and check its keys after `timeplane schema > timeplane.schema.json` in its folder");
    Ok(())
}

/// Writes a new file, or replaces an existing one if `replace` is set.
pub(crate) fn write(path: &Path, text: &str, replace: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!replace).create(replace).truncate(replace);
    let opened = options.open(path);
    let written = opened.and_then(|mut file| {
        // Remove an incomplete file.
        file.write_all(text.as_bytes()).inspect_err(|_| drop(std::fs::remove_file(path)))
    });
    written.map_err(|e| {
        let path = path.display();
        match e.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::configuration(format!("{path} exists already: name another file, or replace it with --force"))
            }
            io::ErrorKind::NotFound => {
                Failure::configuration(format!("cannot write {path}: its folder does not exist"))
            }
            _ => Failure::failed(format!("cannot write {path}: {e}")),
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
