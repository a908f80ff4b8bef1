//! The page: what is text, packed tables, and the viewer's scripts and styles in one file.

use crate::answer::answer;
use crate::html::{escape, json};
use crate::pack::Packed;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use timeplane_results::{Comparison, Folder};

/// Modules of the viewer, each after those that it imports.
const MODULES: &[(&str, &str)] = &[
    ("format.js", include_str!("../../../viewer/format.js")),
    ("colours.js", include_str!("../../../viewer/colours.js")),
    ("decode.js", include_str!("../../../viewer/decode.js")),
    ("table.js", include_str!("../../../viewer/table.js")),
    ("lanes.js", include_str!("../../../viewer/lanes.js")),
    ("lines.js", include_str!("../../../viewer/lines.js")),
    ("heat.js", include_str!("../../../viewer/heat.js")),
    ("gantt.js", include_str!("../../../viewer/gantt.js")),
    ("topology.js", include_str!("../../../viewer/topology.js")),
    ("drops.js", include_str!("../../../viewer/drops.js")),
    ("page.js", include_str!("../../../viewer/page.js")),
];
const STYLE: &str = include_str!("../../../viewer/page.css");
const UPLOT: &str = include_str!("../../../viewer/vendor/uplot-1.6.32/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../../viewer/vendor/uplot-1.6.32/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../../viewer/vendor/uplot-1.6.32/LICENSE");

/// Version of the program that makes the page.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All modules as one: without their imports, whose names are in the same scope now.
fn script() -> String {
    let mut script = String::new();
    for (_, module) in MODULES {
        for line in module.lines().filter(|line| !line.starts_with("import ")) {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
    }
    script
}

/// A source of the policy: this text and nothing else.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Writes the page.
pub fn page(
    folders: &[Folder],
    comparison: &Comparison,
    charts: &Value,
    tables: &[Packed],
    left_out: &[String],
) -> String {
    let names: Vec<&str> = folders.iter().map(|f| f.manifest.name.as_str()).collect();
    let title = escape(&names.join(" | "));
    // MIT asks for its text where the library is.
    let uplot = format!("/*\n{}\n*/\n{UPLOT}", UPLOT_LICENCE.trim());
    let script = script();
    let policy = format!(
        "default-src 'none'; script-src {} {}; style-src {} {}; base-uri 'none'; form-action 'none'",
        hash(&uplot),
        hash(&script),
        hash(UPLOT_STYLE),
        hash(STYLE),
    );
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"timeplane {VERSION}\">\n\
         <title>{title} - timeplane</title>\n<style>{UPLOT_STYLE}</style>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    );
    let _ = write!(
        html,
        "<header><h1>{title}</h1><button id=\"theme\" type=\"button\" hidden>Dark</button></header>\n<main>\n"
    );
    for folder in folders {
        if let Some(question) = folder.manifest.scenario["description"].as_str() {
            let _ = writeln!(html, "<p class=\"question\">{}</p>", escape(question.trim()));
        }
    }
    let _ = write!(html, "<section id=\"answer\"><h2>Answer</h2>\n{}", answer(comparison));
    for folder in folders {
        let (planned, complete) = (folder.manifest.runs.len(), folder.runs.len());
        if complete < planned {
            let name = escape(&folder.name);
            let _ = writeln!(
                html,
                "<p class=\"warning\">{name}: {complete} of {planned} runs are complete; the rest is not in here.</p>"
            );
        }
    }
    for text in left_out {
        let _ = writeln!(html, "<p class=\"warning\">Not all is in here. {}.</p>", escape(text));
    }
    html += "</section>\n";
    html += "<p id=\"state\" class=\"warning\" role=\"status\">Charts need JavaScript. Where this line stays although it is on, the file is not \
             whole: copy it again, or make it again with the command at its end.</p>\n<div id=\"charts\"></div>\n";
    folders.iter().for_each(|folder| origin(&mut html, folder));
    let _ =
        write!(html, "</main>\n<footer>timeplane {VERSION}. Charts of distributions: uPlot 1.6.32, MIT.</footer>\n");
    let _ = writeln!(html, "<script type=\"application/json\" id=\"data\">{}</script>", json(charts));
    for (i, table) in tables.iter().enumerate() {
        let head = escape(&table.head.to_string());
        let _ =
            writeln!(html, "<script type=\"text/plain\" id=\"table-{i}\" data-head=\"{head}\">{}</script>", table.data);
    }
    let _ = write!(html, "<script>{uplot}</script>\n<script type=\"module\">{script}</script>\n</body>\n</html>\n");
    html
}

/// What a folder was made from, and by which command.
fn origin(html: &mut String, folder: &Folder) {
    let manifest = &folder.manifest;
    let name = escape(&folder.name);
    let _ = writeln!(html, "<section class=\"origin\"><h2>How {name} was made</h2>");
    let mut version = format!("By timeplane {}", escape(&manifest.version));
    if manifest.version != VERSION {
        let _ =
            write!(version, "; this page by {VERSION}. The same command with another version may give other numbers");
    }
    let seeds: Vec<String> = manifest.seeds.iter().map(u64::to_string).collect();
    let _ = writeln!(html, "<p>{version}. Seeds: {}.</p>", escape(&seeds.join(", ")));
    // What the lab keeps of a run beside its tables.
    let live = folder.runs.iter().any(|run| run.directory.join("live.json").is_file());
    let scenario = if live { manifest.name.trim_end_matches("-live") } else { &manifest.name };
    let verb = if live { "live lab" } else { "run" };
    match &manifest.source {
        Some(source) => {
            let set = manifest
                .set
                .iter()
                .fold(String::new(), |text, (key, value)| text + " --set " + &quoted(&format!("{key}={value}")));
            let command = format!("timeplane {verb} {}{set}", quoted(&format!("{scenario}.toml")));
            let _ = write!(
                html,
                "<pre class=\"command\">{}</pre>\n<details><summary>{}</summary><pre>{}</pre></details>\n",
                escape(&command),
                escape(&format!("{scenario}.toml")),
                escape(source)
            );
        }
        None => {
            let text = "The scenario came from Python, as the manifest has it: <code>timeplane.Scenario.from_dict(manifest[\"scenario\"]).run()</code>.";
            let _ = writeln!(html, "<p>{text}</p>");
        }
    }
    let text = serde_json::to_string_pretty(manifest).expect("a manifest is JSON");
    let _ = writeln!(html, "<details><summary>manifest.json</summary><pre>{}</pre></details></section>", escape(&text));
}

/// An argument for a POSIX shell.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Names that a line at the left margin declares.
    fn declared(line: &str) -> Option<&str> {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let words = ["const ", "let ", "function ", "class ", "async function "];
        let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().filter(|n| !n.is_empty())
    }

    #[test]
    fn modules_share_a_scope_without_a_clash() {
        let mut names = BTreeSet::new();
        let mut files = BTreeSet::new();
        for (file, module) in MODULES {
            for line in module.lines() {
                if let Some(import) = line.strip_prefix("import ") {
                    let from = import.rsplit_once("from \"./").and_then(|(_, f)| f.strip_suffix("\";"));
                    let from =
                        from.unwrap_or_else(|| panic!("{file}: an import has one line and ends in a name: {line}"));
                    assert!(files.contains(from), "{file} imports {from}, which has to come before it");
                } else if let Some(name) = declared(line) {
                    assert!(names.insert(name), "{file} declares `{name}` once more");
                }
            }
            files.insert(*file);
        }
        assert!(names.len() > MODULES.len());
    }

    #[test]
    fn no_script_ends_before_its_end() {
        for text in [UPLOT, UPLOT_LICENCE, &script(), STYLE, UPLOT_STYLE] {
            let text = text.to_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--") && !text.contains("</style"));
        }
        assert!(!UPLOT_LICENCE.contains("*/"));
    }

    #[test]
    fn nothing_of_the_page_is_fetched() {
        for (file, module) in MODULES {
            let found =
                ["fetch(", "XMLHttpRequest", "import(", "eval(", "innerHTML"].iter().find(|n| module.contains(*n));
            assert_eq!(found, None, "{file}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !UPLOT_STYLE.contains("url("));
    }

    #[test]
    fn arguments_survive_a_shell() {
        assert_eq!(quoted("control.slots.slot=100us,300us"), "control.slots.slot=100us,300us");
        assert_eq!(quoted("fabric.rate=10 Gb/s"), "'fabric.rate=10 Gb/s'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
