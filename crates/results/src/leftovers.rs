//! What killed processes leave in a results folder: runs in progress, finished runs that did not
//! get their final names yet, and temporary files.

use crate::digests::{self, CheckedRuns};
use crate::error::ResultsError;
use crate::store::{KEY_LENGTH, PARTIAL, PartialRun, place};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that are replaced in one step, by this crate and by reports. They are written under
/// another name first.
const REPLACED: [&str; 4] = ["manifest.json", "summary.parquet", "summary.csv", REPORT];
const REPORT: &str = "report.html";

/// Gives finished runs their final names, and removes other partial runs and temporary files. With
/// the lock, no other process has partial runs. Without locks in the file system, what belongs to
/// living processes stays.
pub(crate) fn tidy(dir: &Path, locked: bool, checked: &CheckedRuns) -> Result<(), ResultsError> {
    remove_temporary(dir, locked)?;
    let runs = dir.join("runs");
    let mut finished = Vec::new();
    for path in paths(&runs)? {
        let Some((key, pid)) = path.file_name().and_then(|n| n.to_str()).and_then(of_partial) else { continue };
        if !locked && is_alive(pid) {
            continue;
        }
        if digests::verify(&path, key, true).is_ok() {
            let key = key.to_owned();
            finished.push(PartialRun::at(path, &runs, &key, checked));
        } else {
            fs::remove_dir_all(&path).map_err(|e| ResultsError::io("remove", &path, e))?;
        }
    }
    place(finished)
}

/// Removes temporary files of processes that are gone. Whoever holds the lock is the only one who
/// writes them, except for reports.
fn remove_temporary(dir: &Path, locked: bool) -> Result<(), ResultsError> {
    for path in paths(dir)? {
        let Some((replaced, pid)) = path.file_name().and_then(|n| n.to_str()).and_then(of_temporary) else { continue };
        if !is_alive(pid) || locked && replaced != REPORT {
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(ResultsError::io("remove", &path, e)),
                _ => {}
            }
        }
    }
    Ok(())
}

fn paths(dir: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let entries = fs::read_dir(dir).and_then(|entries| entries.map(|e| Ok(e?.path())).collect());
    entries.map_err(|e| ResultsError::io("read", dir, e))
}

/// Key and pid in the name of a partial run, `.partial-KEY-PID.N`.
fn of_partial(name: &str) -> Option<(&str, u32)> {
    let (key, rest) = name.strip_prefix(PARTIAL)?.rsplit_once('-')?;
    let (pid, _) = rest.split_once('.')?;
    let is_key = key.len() == KEY_LENGTH && key.bytes().all(|b| b.is_ascii_hexdigit());
    if is_key { Some((key, pid.parse().ok()?)) } else { None }
}

/// The file that a temporary one was to become, `NAME.PID.tmp` or `NAME.PID-THREAD.tmp`, and the
/// pid.
fn of_temporary(name: &str) -> Option<(&'static str, u32)> {
    let of = |replaced: &&'static str| Some((*replaced, name.strip_prefix(replaced)?.strip_prefix('.')?));
    let (replaced, rest) = REPLACED.iter().find_map(of)?;
    let pid = rest.strip_suffix(".tmp")?.split('-').next()?;
    Some((replaced, pid.parse().ok()?))
}

/// Whether a process lives on this machine; `true` if unknown.
pub(crate) fn is_alive(pid: u32) -> bool {
    !cfg!(target_os = "linux") || Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_crate_are_tidied_up() {
        assert_eq!(of_temporary("manifest.json.12-ThreadId(3).tmp"), Some(("manifest.json", 12)));
        assert_eq!(of_temporary("report.html.345.tmp"), Some((REPORT, 345)));
        for other in ["notes.12.tmp", "manifest.json", "manifest.json.tmp", "manifest.json.x.tmp", "summary.csv.7.bak"]
        {
            assert_eq!(of_temporary(other), None, "{other}");
        }
        assert_eq!(of_partial(".partial-00000000000000aa-7.0"), Some(("00000000000000aa", 7)));
        for other in
            ["00000000000000aa", ".partial-notes", ".partial-zzzzzzzzzzzzzzzz-1.0", ".partial-00000000000000aa-7"]
        {
            assert_eq!(of_partial(other), None, "{other}");
        }
    }
}
