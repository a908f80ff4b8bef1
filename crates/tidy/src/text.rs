//! Rules for the text of a file, each a function from the text to the lines that break it.
//!
//! Lines are counted from 1 and measured in characters. A rule sees one file at a time; [`check`]
//! chooses the rules by the file's path.

/// A line may have this many characters in Markdown and in comments.
pub const COLUMNS: usize = 100;
/// A file of code may have this many lines.
pub const FILE_LINES: usize = 700;
/// A function may have this many lines, from `fn` to its closing brace.
pub const FUNCTION_LINES: usize = 80;
/// A module's doc has at least this many lines.
pub const MODULE_DOC_LINES: usize = 2;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name, as the list of exceptions has it.
    pub rule: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// What was found and what is expected.
    pub message: String,
}

/// Applies all rules that hold for files of this path.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let extension = path.rsplit_once('.').map_or("", |(_, e)| e);
    let mut found = long_lines(extension, text);
    if ["rs", "py", "pyi", "js"].contains(&extension) {
        found.extend(long_file(text));
    }
    // The rules' own words stand in the tests of this crate.
    if !path.starts_with("crates/tidy/") {
        found.extend(old_words(path, extension, text));
        found.extend(british_spelling(extension, text));
    }
    if extension == "rs" {
        found.extend(empty_docs(text));
        if path.starts_with("crates/") && path.contains("/src/") {
            found.extend(module_doc(text));
            found.extend(long_functions(text));
        }
    }
    found
}

/// What begins a comment in files of this extension.
fn comment_marks(extension: &str) -> &'static [&'static str] {
    match extension {
        "rs" => &["//"],
        "js" | "c" | "h" | "cc" | "css" => &["//", "/*", "* "],
        "py" | "pyi" | "toml" | "sh" | "yml" | "service" => &["#"],
        _ => &[],
    }
}

/// Finds lines of more than [`COLUMNS`] characters in Markdown and in comments that have a line of
/// their own. Tables, blocks of code, and the targets of links do not count.
fn long_lines(extension: &str, text: &str) -> Vec<Finding> {
    let marks = comment_marks(extension);
    let mut fenced = false;
    let mut found = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        let prose = line.trim_start();
        let prose = match extension {
            "md" => prose,
            _ if marks.iter().any(|mark| prose.starts_with(mark)) => {
                prose.trim_start_matches(['/', '!', '#', '*', ' '])
            }
            _ => {
                fenced = false;
                continue;
            }
        };
        if prose.starts_with("```") || prose.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let columns = line.chars().count();
        if columns > COLUMNS && !fenced && !prose.starts_with('|') && without_links(line).chars().count() > COLUMNS {
            let message = format!("{columns} columns: expected at most {COLUMNS}");
            found.push(Finding { rule: "long-line", line: number, message });
        }
    }
    found
}

/// The line without the targets of its links, and without bare addresses.
fn without_links(line: &str) -> String {
    let mut rest = line;
    let mut kept = String::new();
    while let Some(begin) = rest.find("](").map(|i| i + 2).into_iter().chain(rest.find("http")).min() {
        kept.push_str(&rest[..begin]);
        rest = &rest[begin..];
        rest = &rest[rest.find([' ', ')', '>']).unwrap_or(rest.len())..];
    }
    kept + rest
}

fn long_file(text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    let message = format!("{lines} lines: expected at most {FILE_LINES}");
    (lines > FILE_LINES).then_some(Finding { rule: "long-file", line: FILE_LINES + 1, message })
}

fn module_doc(text: &str) -> Option<Finding> {
    let lines = text.lines().filter(|l| l.starts_with("//!") && l.len() > 4).count();
    let message = format!("a module doc of {lines} lines: expected at least {MODULE_DOC_LINES}");
    (lines < MODULE_DOC_LINES).then_some(Finding { rule: "module-doc", line: 1, message })
}

/// Finds functions of more than [`FUNCTION_LINES`] lines, by the indentation that rustfmt gives them.
fn long_functions(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = vec![];
    for (first, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        let Some(name) = function_name(head) else { continue };
        let indent = &line[..line.len() - head.len()];
        let (close, parameters) = (format!("{indent}}}"), format!("{indent})"));
        // A declaration without a body ends after its parameters.
        let ends_at = |l: &str| l == close || l.ends_with(';') && (l.starts_with(&close) || l.starts_with(&parameters));
        let end = lines[first..].iter().position(|l| ends_at(l));
        let count = end.map_or(0, |end| end + 1);
        if count > FUNCTION_LINES {
            let message = format!("`{name}` of {count} lines: expected at most {FUNCTION_LINES}");
            found.push(Finding { rule: "long-function", line: first + 1, message });
        }
    }
    found
}

/// The name of the function that a line declares with a body to follow.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let plain = |c: char| c.is_ascii_lowercase() || matches!(c, ' ' | '(' | ')' | '"' | ':');
    let name = after.split(['(', '<']).next()?;
    let declared = before.chars().all(plain) && !line.ends_with(['}', ';']) && !name.contains(' ');
    (declared && !name.is_empty()).then_some(name)
}

/// Finds doc comments of one line that repeat the name of their item or have no noun at all.
fn empty_docs(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_doc = |i: usize| lines.get(i).is_some_and(|l| l.starts_with("///"));
    let mut found = vec![];
    for (i, line) in lines.iter().enumerate() {
        if !is_doc(i) || i > 0 && is_doc(i - 1) || is_doc(i + 1) {
            continue;
        }
        let item = lines[i + 1..].iter().find(|l| !l.starts_with('#')).unwrap_or(&"");
        let item = item.split([':', '(', '=', '{', ';', ',']).next().unwrap_or("");
        let names: Vec<String> = words(item).collect();
        let says = words(&line[3..]).any(|word| !FILLERS.contains(&word.as_str()) && !names.contains(&word));
        if !says {
            let message = format!(
                "doc comment `{}`: expected what its item's name does not say, or no comment",
                line[3..].trim()
            );
            found.push(Finding { rule: "empty-doc", line: i + 1, message });
        }
    }
    found
}

/// Words that say nothing by themselves.
const FILLERS: [&str; 27] = [
    "a", "all", "an", "and", "are", "as", "for", "how", "is", "it", "its", "of", "one", "s", "that", "the", "their",
    "them", "these", "this", "to", "what", "when", "where", "which", "who", "why",
];

/// The words of a text in lower case; names are split at underscores and capitals.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric() {
            words.last_mut().expect("never empty").push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// Replaced words and their replacements.
fn replaced_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("../words.txt").lines().filter_map(|line| line.split_once(' ')).filter(|(old, _)| *old != "#")
}

/// Types whose names said nothing of their role.
const OLD_TYPES: [&str; 11] =
    ["Asker", "Back", "Carrier", "Cut", "Ends", "OneError", "Over", "Report", "Setting", "Tells", "Then"];

/// Finds replaced words in the path and in names of code; replaced keys in scenarios.
fn old_words(path: &str, extension: &str, text: &str) -> Vec<Finding> {
    let mut found = vec![];
    let mut push = |line, message| found.push(Finding { rule: "old-word", line, message });
    let old = |word: &str| replaced_words().find(|(old, _)| *old == word);
    for (word, new) in words(path).filter_map(|word| old(&word)) {
        push(1, format!("file name with `{word}`: expected `{new}`"));
    }
    if !["rs", "py", "pyi", "js", "toml"].contains(&extension) {
        return found;
    }
    for (number, line) in (1..).zip(text.lines()) {
        let mark = comment_marks(extension)[0];
        let code = line.split(mark).next().unwrap_or("");
        if let Some((word, new)) = words(code).find_map(|word| old(&word)) {
            push(number, format!("name with `{word}`: expected `{new}`"));
        }
        let mut tokens = code.split_whitespace().skip_while(|t| !["struct", "enum", "trait", "type"].contains(t));
        if let Some(name) = tokens.nth(1).map(|t| t.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(""))
            && OLD_TYPES.contains(&name)
        {
            push(number, format!("type `{name}`: expected a noun for its role"));
        }
        if code.trim_start().starts_with("[control.") {
            push(number, "table `[control.NAME]`: expected `[scheme.NAME]`".to_owned());
        }
    }
    found
}

/// Beginnings of words in British spelling, with the American one.
const BRITISH: [(&str, &str); 22] = [
    ("analyse", "analyze"),
    ("behaviour", "behavior"),
    ("centre", "center"),
    ("colour", "color"),
    ("favour", "favor"),
    ("initialis", "initializ"),
    ("kilometre", "kilometer"),
    ("labelled", "labeled"),
    ("maximis", "maximiz"),
    ("metres", "meters"),
    ("minimis", "minimiz"),
    ("modelled", "modeled"),
    ("neighbour", "neighbor"),
    ("normalis", "normaliz"),
    ("optimise", "optimize"),
    ("organisa", "organiza"),
    ("quantis", "quantiz"),
    ("recognis", "recogniz"),
    ("serialis", "serializ"),
    ("summaris", "summariz"),
    ("synchronis", "synchroniz"),
    ("utilis", "utiliz"),
];

/// Finds British spelling, in prose and in names.
fn british_spelling(extension: &str, text: &str) -> Vec<Finding> {
    if !["rs", "py", "pyi", "js", "toml", "md"].contains(&extension) {
        return vec![];
    }
    let spelling = |word: String| BRITISH.iter().find(|(british, _)| word.starts_with(british));
    let finding = |(line, text): (usize, &str)| {
        let (british, american) = words(text).find_map(spelling)?;
        let message = format!("`{british}..`: expected American spelling, `{american}..`");
        Some(Finding { rule: "spelling", line, message })
    };
    (1..).zip(text.lines()).filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(path, text).into_iter().map(|f| f.rule).collect()
    }

    fn src(text: &str) -> Vec<&'static str> {
        rules("crates/x/src/x.rs", &format!("//! One.\n//! Two.\n{text}"))
    }

    #[test]
    fn a_long_line_fails_in_markdown_and_in_comments() {
        let long = "word ".repeat(21);
        assert_eq!(rules("README.md", &long), ["long-line"]);
        assert_eq!(src(&format!("// {long}\n")), ["long-line"]);
        assert_eq!(src(&format!("/// {long}\nfn a() {{}}\n")), ["long-line"]);
        assert_eq!(rules("a.py", &format!("    # {long}\n")), ["long-line"]);
        assert_eq!(rules("README.md", &"w".repeat(COLUMNS)), [] as [&str; 0]);
    }

    #[test]
    fn tables_blocks_of_code_and_links_may_be_long() {
        let long = "word ".repeat(21);
        assert_eq!(rules("README.md", &format!("| {long} |\n")), [] as [&str; 0]);
        assert_eq!(rules("README.md", &format!("```\n{long}\n```\n")), [] as [&str; 0]);
        assert_eq!(rules("README.md", &format!("[text](docs/{}.md)\n", "a".repeat(100))), [] as [&str; 0]);
        assert_eq!(rules("README.md", &format!("<https://{}>\n", "a".repeat(100))), [] as [&str; 0]);
        assert_eq!(rules("README.md", &format!("```\n```\n{long}\n")), ["long-line"]);
        assert_eq!(rules("README.md", &format!("[text](a.md) {long}\n")), ["long-line"]);
    }

    #[test]
    fn an_old_word_fails_in_names_of_code_and_of_files() {
        assert_eq!(src("struct SlotManager;\n"), ["old-word"]);
        assert_eq!(src("let slot_manager = 1;\n"), ["old-word"]);
        assert_eq!(rules("scenarios/a.toml", "[control.dctcp]\n"), ["old-word"]);
        assert_eq!(rules("crates/x/tests/it/deputies.rs", ""), ["old-word"]);
        assert_eq!(src("pub enum Then {\n"), ["old-word"]);
        assert_eq!(src("fn controller() {} // of course\n"), [] as [&str; 0]);
    }

    #[test]
    fn an_empty_doc_comment_fails() {
        assert_eq!(src("/// Its name.\npub name: String,\n"), ["empty-doc"]);
        assert_eq!(src("/// Why.\npub reason: String,\n"), ["empty-doc"]);
        assert_eq!(src("/// The link's rate.\n#[serde(default)]\nlink_rate: Rate,\n"), ["empty-doc"]);
        assert_eq!(src("/// Bits per second on the wire.\nlink_rate: Rate,\n"), [] as [&str; 0]);
        assert_eq!(src("/// Its name,\n/// in lower case.\npub name: String,\n"), [] as [&str; 0]);
    }

    #[test]
    fn a_module_without_an_essay_fails() {
        assert_eq!(rules("crates/x/src/x.rs", "//! One line.\n"), ["module-doc"]);
        assert_eq!(rules("crates/x/tests/it/x.rs", ""), [] as [&str; 0]);
    }

    #[test]
    fn a_long_file_and_a_long_function_fail() {
        assert_eq!(src(&"let a = 1;\n".repeat(FILE_LINES)), ["long-file"]);
        let body = "    a();\n".repeat(FUNCTION_LINES - 1);
        assert_eq!(src(&format!("pub fn f() {{\n{body}}}\n")), ["long-function"]);
        let body = "    a();\n".repeat(FUNCTION_LINES - 2);
        assert_eq!(src(&format!("pub fn f() {{\n{body}}}\n")), [] as [&str; 0]);
    }

    #[test]
    fn british_spelling_fails_in_prose_and_in_names() {
        assert_eq!(rules("README.md", "The colours of links\n"), ["spelling"]);
        assert_eq!(src("struct FlowSummariser;\n"), ["spelling"]);
        assert_eq!(rules("README.md", "The colors of links\n"), [] as [&str; 0]);
    }
}
