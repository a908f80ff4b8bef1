//! Exit codes of the commands that run a scenario, the same for all drivers. Scripts tell a
//! violated check from a failed run by them.

/// What the exit code of a command says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// All runs completed and all checks passed.
    Ok = 0,
    /// A run failed, or its results could not be written.
    Failed = 1,
    /// The scenario or the command line is invalid; nothing was run.
    Configuration = 2,
    /// All runs completed and a check failed.
    CheckFailed = 3,
    /// Interrupted; completed runs are kept.
    Interrupted = 130,
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        code as Self
    }
}

impl From<ExitCode> for i32 {
    fn from(code: ExitCode) -> Self {
        code as Self
    }
}
