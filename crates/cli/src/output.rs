//! Output on stdout: texts, JSON, and the numbers in them. Progress, warnings and errors go to
//! stderr instead. Texts and JSON may quote files, so control characters in them are escaped.

use crate::fail::Failure;
use std::io::{self, IsTerminal, Write};
use timeplane_model::{printable, printable_json};

/// Prints a text for people.
pub fn text(text: &str) -> Result<(), Failure> {
    write(&printable(text))
}

/// Prints a text for programs: as it is, unless people see it.
pub fn data(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { write(&printable(text)) } else { write(text) }
}

/// A closed pipe is not an error.
fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(format!("cannot write to stdout: {e}"))),
        _ => Ok(()),
    }
}

pub fn json(value: &serde_json::Value) -> Result<(), Failure> {
    write(&printable_json(&format!("{value:#}\n")))
}

/// Columns of the terminal; 120 if stdout is not one.
pub fn width() -> usize {
    // comfy-table asks the terminal for its size.
    let detected = comfy_table::Table::new().width().filter(|_| io::stdout().is_terminal());
    detected.map_or(120, usize::from)
}

/// A number with its noun in singular or plural: `1 run`, `2,000 runs`.
pub fn count(n: impl Into<u128>, word: &str) -> String {
    let n: u128 = n.into();
    let mut digits = n.to_string();
    for at in (1..digits.len()).rev().filter(|at| (digits.len() - at).is_multiple_of(3)).collect::<Vec<_>>() {
        digits.insert(at, ',');
    }
    let plural = if word.ends_with("ch") { "es" } else { "s" };
    format!("{digits} {word}{}", if n == 1 { "" } else { plural })
}

/// A large number with two digits or more: `3.4 M`.
pub fn rough(n: f64) -> String {
    match n {
        n if n >= 1e12 => format!("{:.1} T", n / 1e12),
        n if n >= 1e9 => format!("{:.1} G", n / 1e9),
        n if n >= 1e6 => format!("{:.1} M", n / 1e6),
        n if n >= 1e3 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(1u32, "run"), "1 run");
        assert_eq!(count(1_234_567u32, "frame"), "1,234,567 frames");
        assert_eq!(count(100u32, "host"), "100 hosts");
        assert_eq!(count(1000u32, "host"), "1,000 hosts");
        assert_eq!(
            (count(1u32, "switch"), count(151u32, "switch")),
            ("1 switch".to_owned(), "151 switches".to_owned())
        );
        assert_eq!(rough(999.0), "999");
        assert_eq!(rough(3_400_000.0), "3.4 M");
    }
}
