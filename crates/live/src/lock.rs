//! A file that one process at a time holds, so that a daemon that is started twice notices before
//! it changes anything.

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a file cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{path} is held by {}", by(.process))]
    Held {
        /// The file.
        path: PathBuf,
        /// The other process, as far as it is known.
        process: Option<u32>,
    },
    /// The file cannot be made or locked.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
}

fn by(process: &Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

/// A held file. It is removed when dropped; the system lets go of it if the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
    path: PathBuf,
}

impl Lock {
    /// Makes the file, and its folder, and holds it. Its content is the number of the process.
    ///
    /// # Errors
    /// If another process holds it, or the file cannot be made.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::File { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        loop {
            let flags = nix::libc::O_NOFOLLOW;
            let open = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(flags)
                .open(path);
            let mut file = match Flock::lock(open.map_err(failed)?, FlockArg::LockExclusiveNonblock) {
                Ok(file) => file,
                Err((mut file, Errno::EWOULDBLOCK)) => {
                    let mut text = String::new();
                    let process = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                    return Err(LockError::Held { path: path.to_owned(), process });
                }
                Err((_, Errno::EINTR)) => continue,
                Err((_, errno)) => return Err(failed(errno.into())),
            };
            // The holder before may have removed the file after it was opened here.
            let is_there = std::fs::symlink_metadata(path)
                .is_ok_and(|there| file.metadata().is_ok_and(|m| m.ino() == there.ino()));
            if is_there {
                file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
                return Ok(Self { _file: file, path: path.to_owned() });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before it is let go of: afterwards it may be another one's.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_no_file_afterwards() {
        let folder = std::env::temp_dir().join(format!("tp-lock-{}", std::process::id()));
        let path = folder.join("agent.lock");
        let held = Lock::take(&path).unwrap();
        let error = Lock::take(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{} is held by process {}", path.display(), std::process::id()));
        drop(held);
        assert!(!path.exists());
        // One that a dead process has left.
        std::fs::write(&path, "1\n").unwrap();
        let held = Lock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        drop(held);
        std::fs::remove_dir(&folder).unwrap();
    }
}
