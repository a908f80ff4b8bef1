//! The text of the page. It contains nothing about the network, which arrives in events.
//!
//! A content security policy allows its own scripts and styles only.

use std::sync::LazyLock;
use timeplane_viewer::{LIVE, STYLE, script, source};

const VERSION: &str = env!("CARGO_PKG_VERSION");

static SCRIPT: LazyLock<String> = LazyLock::new(|| script(LIVE));

/// What a browser may do with it: run its own script and style, ask where it came from, and nothing
/// else. The empty picture is the icon's, which browsers ask for otherwise.
pub(crate) static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        source(&SCRIPT),
        source(STYLE)
    )
});

static HTML: LazyLock<String> = LazyLock::new(|| {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"timeplane {VERSION}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>timeplane live</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1 id=\"title\">timeplane live</h1><button id=\"theme\" type=\"button\" hidden>Dark</button></header>\n<main>\n\
         <p id=\"state\" class=\"warning\" role=\"status\">This page needs JavaScript: it shows what the controller tells it.</p>\n\
         <p id=\"heard\" class=\"quiet\"></p>\n<div id=\"token\"></div>\n\
         <div id=\"silent\" role=\"status\" aria-live=\"polite\"></div>\n\
         <div id=\"charts\"></div>\n</main>\n<footer>timeplane {VERSION}</footer>\n\
         <script type=\"module\">{}</script>\n</body>\n</html>\n",
        *SCRIPT
    )
});

/// The page, the same for everybody.
pub(crate) fn html() -> &'static str {
    &HTML
}
