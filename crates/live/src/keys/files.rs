//! Files of keys: written completely or not at all.
//!
//! Private files are unreadable for others from the first byte on.

use super::KeyError;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A certificate, for everybody.
pub(super) const PUBLIC: u32 = 0o644;
/// A private key.
pub const PRIVATE: u32 = 0o600;

pub(super) fn error(path: &Path) -> impl FnOnce(std::io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::File { path, source }
}

/// Makes a folder that only its owner can look into, unless there is one.
pub(super) fn folder(dir: &Path) -> Result<(), KeyError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(error(dir))
}

/// Writes a file as a whole, or not at all.
pub fn write(path: &Path, mode: u32, text: &str, replace: bool) -> Result<(), KeyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let result = write_beside(&beside, mode, text).and_then(|()| {
        if replace {
            return std::fs::rename(&beside, path).map_err(error(path));
        }
        // A link fails where something is there; a rename would replace what has come meanwhile.
        match std::fs::hard_link(&beside, path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(KeyError::Exists { path: path.to_owned() }),
            other => other.map_err(error(path)),
        }
    });
    // Gone already where it was renamed.
    let _ = std::fs::remove_file(&beside);
    result
}

fn write_beside(path: &Path, mode: u32, text: &str) -> Result<(), KeyError> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(error(path))?;
    // Whatever the umask left of it: a certificate is for everybody, a key for nobody else.
    file.set_permissions(std::fs::Permissions::from_mode(mode)).map_err(error(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(error(path))
}

/// Reads a text file; of a private key it is checked that others cannot.
pub(super) fn read(path: &Path, private: bool) -> Result<String, KeyError> {
    use std::io::Read;
    // Longer than any chain of certificates that is meant for us.
    const MOST: u64 = 1 << 20;
    let file = File::open(path).map_err(error(path))?;
    let mode = file.metadata().map_err(error(path))?.permissions().mode() & 0o7777;
    // A group may read it: systemd shows credentials to services in this way.
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
