//! Messages to the user: progress, warnings and errors. They go to stderr, because stdout is for
//! answers. Messages may quote files, so control characters in them are escaped.

/// Writes a line to stderr, as `eprintln!` does, made [printable](crate::printable). Where stderr
/// is closed or full, the line is lost and the program goes on: results do not depend on who reads
/// the messages.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        drop(writeln!(std::io::stderr(), "{}", $crate::printable(&format!($($argument)*))));
    }};
}
