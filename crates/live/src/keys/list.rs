//! The list of a folder's certificates that `timeplane live keys show` prints.
//!
//! It needs no private key, so it also shows what a daemon has.

use super::authority::{DAY, now};
use super::{KeyError, files, identity, revocation};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A line for each certificate in a folder of keys: name, serial, the day on which it expires, and
/// its state. Authorities come first.
///
/// # Errors
/// If the folder or a certificate cannot be read.
pub(super) fn list(dir: &Path) -> Result<String, KeyError> {
    let mut text = format!("{:<16} {:<40} {:<10} {}\n", "NAME", "SERIAL", "EXPIRES", "STATE");
    for path in paths(dir)? {
        let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        // A daemon's chain may have more; its own certificate comes first.
        let most = if name == "ca" { usize::MAX } else { 1 };
        for der in identity::certificates(&path)?.iter().take(most) {
            let (_, read) = x509_parser::parse_x509_certificate(der)
                .map_err(|e| files::content(&path, format!("no certificate: {e}")))?;
            let serial: String = read.raw_serial().iter().map(|b| format!("{b:02x}")).collect();
            let until = read.validity().not_after;
            let day = until.to_datetime().date();
            let state = match until.timestamp() - i64::try_from(now()).unwrap_or(i64::MAX) {
                _ if revocation::is_revoked(dir, der)? => "revoked".to_owned(),
                left if left <= 0 => "expired".to_owned(),
                left => format!("{} days left", left / DAY as i64),
            };
            // A text takes everything.
            let _ = writeln!(text, "{name:<16} {serial:<40} {day:<10} {state}");
        }
    }
    Ok(text)
}

/// Files with certificates: the authority's first, then by name.
fn paths(dir: &Path) -> Result<Vec<PathBuf>, KeyError> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(files::error(dir))? {
        let path = entry.map_err(files::error(dir))?.path();
        let certificate = path.extension().is_some_and(|e| e == "pem");
        if certificate && path.file_name().is_some_and(|n| n != revocation::FILE) {
            paths.push(path);
        }
    }
    paths.sort_by_key(|p| (p.file_stem().is_some_and(|n| n != "ca"), p.clone()));
    Ok(paths)
}
