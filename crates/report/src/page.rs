//! Puts the page together: texts as HTML, packed tables as JSON, and the viewer's scripts and
//! styles, all in one file.

use crate::answer::answer;
use crate::html::{escape, json};
use crate::pack::Packed;
use serde_json::Value;
use std::fmt::Write;
use timeplane_experiment::Comparison;
use timeplane_results::Folder;
use timeplane_viewer::{REPORT, STYLE, UPLOT, UPLOT_LICENCE, UPLOT_STYLE, script, source};

/// The version of the program, which the page shows.
const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    // The MIT license requires its text to accompany the library.
    let uplot = format!("/*\n{}\n*/\n{UPLOT}", UPLOT_LICENCE.trim());
    let script = script(REPORT);
    let policy = format!(
        "default-src 'none'; script-src {} {}; style-src {} {}; base-uri 'none'; form-action 'none'",
        source(&uplot),
        source(&script),
        source(UPLOT_STYLE),
        source(STYLE),
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

/// The scenario of a folder and the command that ran it.
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
    // Files that the lab writes in addition to the tables of a run.
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

/// Quotes an argument for a POSIX shell.
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

    #[test]
    fn arguments_survive_a_shell() {
        assert_eq!(quoted("scheme.slots.slot=100us,300us"), "scheme.slots.slot=100us,300us");
        assert_eq!(quoted("fabric.rate=10 Gb/s"), "'fabric.rate=10 Gb/s'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
