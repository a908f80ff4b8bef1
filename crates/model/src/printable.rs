//! Text from elsewhere, made safe to print. A terminal obeys control characters: they move the
//! cursor, hide lines, change titles and colors. Bidirectional characters show a line in another
//! order than it has.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with its control characters and bidirectional characters escaped, as `\u{1b}`. Lines
/// and tabs stay.
///
/// Everything that came out of a file, or over the network, passes it on its way to a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unsafe(c) && !matches!(c, '\n' | '\t'))
}

/// The same for names and other text of one line: ends of lines and tabs are escaped as well.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// A JSON text with the same characters escaped inside of its strings, as `\u001b`: it has the same
/// value.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let unsafe_in_json = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t' | '\r');
    if !json.contains(unsafe_in_json) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        match c {
            // All of them have four digits, and JSON has them in strings only.
            c if unsafe_in_json(c) => write!(safe, "\\u{:04x}", u32::from(c)).expect("a String takes all"),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether a terminal does something else with a character than to show it.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_unsafe(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c => write!(safe, "\\u{{{:x}}}", u32::from(c)).expect("a String takes all"),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let text = "a\u{1b}[31mb\u{7}c\r\nd\u{9b}0me\u{202e}f\tg\u{7f}";
        assert_eq!(printable(text), "a\\u{1b}[31mb\\u{7}c\\r\nd\\u{9b}0me\\u{202e}f\tg\\u{7f}");
        assert_eq!(printable_line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(printable_json("{\n \"a\": \"\u{9b}\u{202e}µ\"}"), "{\n \"a\": \"\\u009b\\u202eµ\"}");
        let plain = "plain text, µs and 60 °C, 日本, 🙂";
        assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let shown = printable_line(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        }
    }
}
