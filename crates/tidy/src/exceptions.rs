//! The list of files that a rule does not cover yet. It only shrinks: the test fails for a file that
//! is listed and conforms, as it does for a file that is not listed and does not.
//!
//! Each line of `exceptions.txt` names a rule and a file, or the two crates of an arrow. Lines that
//! begin with `#` are comments.

use std::collections::BTreeSet;

/// A rule's name and a file's path.
pub type Exception = (String, String);

/// Reads a list of exceptions.
///
/// # Panics
/// If a line is not a rule and a path.
pub fn parse(text: &str) -> BTreeSet<Exception> {
    let lines = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.map(|l| l.split_once(' ').unwrap_or_else(|| panic!("`{l}`: expected a rule and a path"))).map(owned).collect()
}

fn owned((rule, path): (&str, &str)) -> Exception {
    (rule.to_owned(), path.to_owned())
}

/// The listed files that conform now.
pub fn stale(listed: &BTreeSet<Exception>, found: &BTreeSet<Exception>) -> Vec<Exception> {
    listed.difference(found).cloned().collect()
}

/// The list's text without the stale lines.
pub fn shrink(text: &str, stale: &[Exception]) -> String {
    let keep = |line: &&str| !line.split_once(' ').is_some_and(|entry| stale.contains(&owned(entry)));
    text.lines().filter(keep).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Why.\nlong-line a.md\nlong-file b.rs\n";

    #[test]
    fn a_listed_file_that_conforms_is_stale() {
        let found = parse("long-line a.md\n");
        assert_eq!(stale(&parse(LIST), &found), [("long-file".to_owned(), "b.rs".to_owned())]);
    }

    #[test]
    fn shrinking_removes_stale_lines_only() {
        let stale = [("long-file".to_owned(), "b.rs".to_owned())];
        assert_eq!(shrink(LIST, &stale), "# Why.\nlong-line a.md\n");
    }
}
