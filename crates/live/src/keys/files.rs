//! Files of keys: written completely or not at all.
//!
//! Private files are unreadable for others from the first byte on.

use super::KeyError;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Mode of a certificate, which everyone may read.
pub const PUBLIC: u32 = 0o644;
/// Mode of a private key.
pub const PRIVATE: u32 = 0o600;

pub(super) fn error(path: &Path) -> impl FnOnce(std::io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::File { path, source }
}

/// Creates a folder that only its owner can read, unless it exists.
pub(crate) fn folder(dir: &Path) -> Result<(), KeyError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(error(dir))
}

/// Writes a file completely or not at all.
pub fn write(path: &Path, mode: u32, text: &str, replace: bool) -> Result<(), KeyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let result = write_beside(&beside, mode, text).and_then(|()| {
        if replace {
            return std::fs::rename(&beside, path).map_err(error(path));
        }
        // A link fails if the file exists, while a rename would replace it.
        match std::fs::hard_link(&beside, path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(KeyError::Exists { path: path.to_owned() }),
            other => other.map_err(error(path)),
        }
    });
    // The temporary file is gone already if it was renamed.
    let _ = std::fs::remove_file(&beside);
    result
}

fn write_beside(path: &Path, mode: u32, text: &str) -> Result<(), KeyError> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(error(path))?;
    // Sets the mode regardless of the umask.
    file.set_permissions(std::fs::Permissions::from_mode(mode)).map_err(error(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(error(path))
}

/// Reads a text file. For a private key, checks that others cannot read it.
pub(crate) fn read(path: &Path, private: bool) -> Result<String, KeyError> {
    use std::io::Read;
    // Longer than any valid chain of certificates.
    const MOST: u64 = 1 << 20;
    let file = File::open(path).map_err(error(path))?;
    let mode = file.metadata().map_err(error(path))?.permissions().mode() & 0o7777;
    // A group may read it, as systemd passes credentials to services this way.
    if private && mode & 0o037 != 0 {
        return Err(KeyError::Mode { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => content(path, "no text; PEM is expected"),
        _ => error(path)(e),
    })?;
    Ok(text)
}

pub(super) fn content(path: &Path, what: impl Into<String>) -> KeyError {
    KeyError::Content { path: path.to_owned(), what: what.into() }
}
