//! The files of `viewer/` for the pages of timeplane: one script per page, the styles, and the
//! content security policy's sources.
//!
//! There are two pages: the report, a file that loads nothing, and the page of a controller at
//! work, which makes requests to that controller only.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Modules of a page: name and text, each after those that it imports.
pub type Modules = &'static [(&'static str, &'static str)];

/// A file of `viewer/`.
macro_rules! module {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../viewer/", $name)))
    };
}

/// Modules of the report.
pub const REPORT: Modules = &[
    module!("format.js"),
    module!("frame.js"),
    module!("colors.js"),
    module!("decode.js"),
    module!("table.js"),
    module!("theme.js"),
    module!("lanes.js"),
    module!("lines.js"),
    module!("metrics.js"),
    module!("heat.js"),
    module!("gantt.js"),
    module!("topology.js"),
    module!("drops.js"),
    module!("page.js"),
];
/// Modules of the page of a controller at work.
pub const LIVE: Modules = &[
    module!("format.js"),
    module!("frame.js"),
    module!("colors.js"),
    module!("table.js"),
    module!("theme.js"),
    module!("lanes.js"),
    module!("heat.js"),
    module!("gantt.js"),
    module!("matrix.js"),
    module!("rolling.js"),
    module!("stream.js"),
    module!("live.js"),
];
/// Styles of both pages.
pub const STYLE: &str = include_str!("../../../viewer/page.css");
/// uPlot, which draws the report's lines.
pub const UPLOT: &str = include_str!("../../../viewer/vendor/uplot-1.6.32/uPlot.iife.min.js");
/// Its styles.
pub const UPLOT_STYLE: &str = include_str!("../../../viewer/vendor/uplot-1.6.32/uPlot.min.css");
/// Its licence, MIT, which asks for its text where the library is.
pub const UPLOT_LICENCE: &str = include_str!("../../../viewer/vendor/uplot-1.6.32/LICENSE");

/// All modules as one script, without imports, as all names share its scope, and without lines of
/// comments, as every page carries it.
pub fn script(modules: Modules) -> String {
    let mut script = String::new();
    for (_, module) in modules {
        let mut in_comment = false;
        for line in module.lines().filter(|line| !line.starts_with("import ")) {
            let text = line.trim_start();
            in_comment |= text.starts_with("/*");
            let is_comment = in_comment || text.starts_with("//");
            in_comment &= !text.contains("*/");
            if is_comment {
                continue;
            }
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
    }
    script
}

/// A source of a page's policy: a script or a style of this text and nothing else.
pub fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
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
        for modules in [REPORT, LIVE] {
            let mut names = BTreeSet::new();
            let mut files = BTreeSet::new();
            for (file, module) in modules {
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
            assert!(names.len() > modules.len());
        }
    }

    #[test]
    fn scripts_have_all_lines_of_code_and_no_lines_of_comments() {
        let modules: Modules = &[(
            "a.js",
            "import { b } from \"./b.js\";\n// One.\n/**\n * Two.\n */\nexport const a = 1; // c\n\n  /* Three. */\n  a * b;\n",
        )];
        assert_eq!(script(modules), "const a = 1; // c\n\n  a * b;\n");
    }

    #[test]
    fn no_script_ends_before_its_end() {
        for text in [UPLOT, UPLOT_LICENCE, &script(REPORT), &script(LIVE), STYLE, UPLOT_STYLE] {
            let text = text.to_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--") && !text.contains("</style"));
        }
        assert!(!UPLOT_LICENCE.contains("*/"));
    }

    /// The report asks for nothing, the page of a controller in one place.
    #[test]
    fn pages_fetch_nothing_but_the_events_of_their_controller() {
        for (file, module) in REPORT.iter().chain(LIVE) {
            let all = ["fetch(", "XMLHttpRequest", "EventSource", "WebSocket", "import(", "eval(", "innerHTML"];
            let found: Vec<&str> = all.into_iter().filter(|n| module.contains(n)).collect();
            let allowed: &[&str] = if *file == "stream.js" { &["fetch("] } else { &[] };
            assert_eq!(found, allowed, "{file}");
        }
        let fetches: usize = LIVE.iter().map(|m| m.1.matches("fetch(").count()).sum();
        assert_eq!(fetches, 1);
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !UPLOT_STYLE.contains("url("));
    }
}
