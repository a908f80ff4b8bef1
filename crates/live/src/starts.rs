//! The numbers of a daemon's starts, its epochs.
//!
//! Peers drop what has a lower epoch than they know, so an epoch must be higher than all before,
//! also after a reboot, and after a time in which the clock was wrong.

use std::io;
use std::path::{Path, PathBuf};

/// Start of 2024, from which epochs count the seconds: without any file, a start is newer than all
/// before as long as the clock is right.
const BEGIN: u64 = 1_704_067_200;
/// Epochs from here on are refused, so that numbers are left for the next starts.
const END: u32 = 1 << 31;

/// Files that keep the epoch of a daemon.
#[derive(Clone, Debug)]
pub struct Starts {
    /// The highest of these counts.
    files: Vec<PathBuf>,
}

impl Starts {
    /// The epoch of a daemon is kept in its folder of runtime files, which is lost with a reboot,
    /// and in a folder of state. The latter is for several daemons of this machine, of which each
    /// has a name. By default it is the one that systemd gives (`StateDirectory=`).
    pub fn new(runtime: &Path, state: Option<&Path>, name: &str) -> Self {
        let given = std::env::var_os("STATE_DIRECTORY");
        // Of several folders, the first one.
        let given = given.and_then(|all| std::env::split_paths(&all).next());
        let state = state.map(Path::to_owned).or(given);
        let files = std::iter::once(runtime.join("epoch")).chain(state.map(|s| s.join(format!("{name}.epoch"))));
        Self { files: files.collect() }
    }

    /// A number that is higher than at any start before, and whether there was one.
    ///
    /// # Errors
    /// If a file cannot be read or written, or no numbers are left.
    pub fn next(&self) -> io::Result<(u32, bool)> {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs().saturating_sub(BEGIN);
        let least = u32::try_from(since).ok().filter(|e| *e < END).ok_or_else(|| {
            let years = since / (365 * 86_400);
            io::Error::other(format!("the clock is {years} years after 2024: expected less than 68, set the clock"))
        })?;
        let before = self.newest()?;
        let epoch = before.map_or(least, |b| least.max(b.saturating_add(1)));
        self.keep(epoch)?;
        Ok((epoch, before.is_some()))
    }

    /// A number that is higher than `known` too, which others tell of an earlier start.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn above(&self, known: u32) -> io::Result<u32> {
        let epoch = self.newest()?.unwrap_or(0).max(known).saturating_add(1);
        self.keep(epoch)?;
        Ok(epoch)
    }

    fn newest(&self) -> io::Result<Option<u32>> {
        let mut newest = None;
        for file in &self.files {
            match std::fs::read_to_string(file) {
                // A torn file of a full disk counts as none: the others, the clock and peers tell
                // too.
                Ok(text) => newest = newest.max(text.trim().parse().ok()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(named(file, e)),
            }
        }
        Ok(newest)
    }

    fn keep(&self, epoch: u32) -> io::Result<()> {
        if epoch >= END {
            let files: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
            return Err(io::Error::other(format!(
                "epoch {epoch} is too high: expected less than {END}. Stop all daemons of this network, remove {}, and \
                 start them again",
                files.join(" and ")
            )));
        }
        for file in &self.files {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(|e| named(folder, e))?;
            }
            // Whole or not at all.
            let beside = file.with_extension("new");
            let written = std::fs::write(&beside, format!("{epoch}\n")).and_then(|()| std::fs::rename(&beside, file));
            written.map_err(|e| named(file, e))?;
        }
        Ok(())
    }
}

fn named(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn numbers_grow_even_if_a_folder_is_lost() {
        let folder = Scratch::new("starts");
        let (runtime, state) = (folder.join("run"), folder.join("state"));
        let of = |name: &str| Starts::new(&runtime, Some(&state), name);
        let (first, known) = of("host-1").next().unwrap();
        assert!(!known && first > 80_000_000);
        assert_eq!(of("host-1").next().unwrap(), (first + 1, true));
        // A clock that was two years ahead once.
        let ahead = of("host-1").above(first + 2 * 365 * 86_400).unwrap();
        assert_eq!(ahead, first + 2 * 365 * 86_400 + 1);
        // A reboot empties the folder of runtime files.
        std::fs::remove_dir_all(&runtime).unwrap();
        assert_eq!(of("host-1").next().unwrap(), (ahead + 1, true));
        std::fs::remove_dir_all(&state).unwrap();
        assert_eq!(of("host-1").next().unwrap(), (ahead + 2, true));
        // Others have their own numbers.
        std::fs::remove_dir_all(&runtime).unwrap();
        assert!(!of("host-2").next().unwrap().1);
        assert!(runtime.join("epoch").exists() && state.join("host-2.epoch").exists());
    }

    #[test]
    fn numbers_do_not_run_out_in_silence() {
        let folder = Scratch::new("ends");
        let starts = Starts::new(folder.path(), None, "controller-0");
        let e = starts.above(END - 1).unwrap_err().to_string();
        assert!(e.contains("too high") && e.contains("epoch"), "{e}");
        assert_eq!(starts.above(END - 2).unwrap(), END - 1);
        assert!(starts.next().is_err() && starts.above(u32::MAX).is_err());
    }
}
