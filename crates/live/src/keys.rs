//! Identities of daemons: a private certificate authority, a certificate for each daemon, and
//! mutual TLS.
//!
//! A folder of keys holds `ca.pem` and `ca.key`, and `NAME.pem` and `NAME.key` for every daemon. A
//! daemon needs `ca.pem` and its own two files. Keep `ca.key` where certificates are issued. A
//! certificate contains only a name, and its owner may act under that name and no other.
//!
//! Certificates are valid for 397 days ([`VALIDITY`]) unless asked otherwise. If a key leaks,
//! revoke its certificate: `crl.pem`, beside `ca.pem`, lists those that daemons refuse. To replace
//! the authority, let `ca.pem` hold the old one and the new one until all certificates are new.

mod authority;
mod command;
pub mod files;
mod identity;
mod list;
mod revocation;
mod warning;

pub use authority::{Authority, VALIDITY};
pub use command::KeysCommand;
pub use identity::{Identity, peer_name};
pub use warning::ExpiryWarning;

use std::path::PathBuf;
use std::str::FromStr;
use timeplane_model::HostId;

/// Why keys or certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file cannot be read or written.
    #[error("{}: {source}{}", path.display(), advice(source, path))]
    File {
        /// The key or certificate.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// A file exists that would be overwritten.
    #[error("{} exists already; use --force to replace it", path.display())]
    Exists {
        /// The existing file.
        path: PathBuf,
    },
    /// An authority exists already.
    #[error(
        "{} exists already: a new authority would invalidate all certificates of the folder; choose another folder", path.display()
    )]
    AuthorityExists {
        /// Path of the authority's key.
        path: PathBuf,
    },
    /// A file's content is invalid.
    #[error("{}: {what}", path.display())]
    Content {
        /// The invalid file.
        path: PathBuf,
        /// What is wrong with the content.
        what: String,
    },
    /// Other users can read or write a private key.
    #[error("{}: mode {mode:04o} lets other users read a private key; run `chmod 600` on it", path.display())]
    Mode {
        /// The private key.
        path: PathBuf,
        /// Permission bits of the file, the lower twelve.
        mode: u32,
    },
    /// The name is not valid for a daemon.
    #[error(
        "{name:?} is no name of a daemon: 1 to 63 of a-z, 0-9 and -, the first a letter, the last no -, and not `ca`; usual are controller-0, host-3 and \
         observer"
    )]
    Name {
        /// The invalid name.
        name: String,
    },
    /// A key or certificate cannot be made.
    #[error("cannot make a {what}: {message}")]
    Make {
        /// Key or certificate.
        what: &'static str,
        /// Message of the library.
        message: String,
    },
    /// TLS cannot be configured with them.
    #[error("{what}")]
    Tls {
        /// What is wrong.
        what: String,
    },
}

/// Advice about a missing file.
fn advice(source: &std::io::Error, path: &std::path::Path) -> String {
    let is_ours = path.extension().is_some_and(|e| e == "pem" || e == "key");
    if source.kind() != std::io::ErrorKind::NotFound || !is_ours {
        return String::new();
    }
    let dir = path.parent().map(|p| p.display().to_string()).unwrap_or_default();
    match path.file_stem().and_then(|s| s.to_str()) {
        Some("ca") => format!("; `timeplane live keys init {dir}` makes an authority"),
        Some(name) => {
            format!("; `timeplane live keys issue {dir} {name}` makes it, where the authority's ca.key is")
        }
        None => String::new(),
    }
}

/// Checks that a name is valid for a daemon: a DNS label in lower case, which is also a safe file
/// name.
///
/// # Errors
/// If the name is invalid.
pub fn check_name(name: &str) -> Result<(), KeyError> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = (1..=63).contains(&name.len())
        && name.chars().all(inside)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name != "ca";
    if good { Ok(()) } else { Err(KeyError::Name { name: name.to_owned() }) }
}

/// Role of a daemon, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// `controller-N`.
    Controller(u32),
    /// `host-N`.
    Host(HostId),
    /// The daemon at a switch that judges slots, named `observer`.
    Observer,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Controller(number) => write!(f, "controller-{number}"),
            Self::Host(host) => write!(f, "host-{}", host.0),
            Self::Observer => f.write_str("observer"),
        }
    }
}

impl FromStr for Role {
    type Err = KeyError;
    /// Only the form that [`Display`](std::fmt::Display) writes is accepted, so that a host has one
    /// name: `host-03` is invalid.
    fn from_str(name: &str) -> Result<Self, KeyError> {
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok());
        let role = match (name, number("controller-"), number("host-")) {
            ("observer", _, _) => Some(Self::Observer),
            (_, Some(controller), _) => Some(Self::Controller(controller)),
            (_, _, Some(host)) => Some(Self::Host(HostId(host))),
            _ => None,
        };
        role.filter(|role| role.to_string() == name).ok_or_else(|| KeyError::Name { name: name.to_owned() })
    }
}

#[cfg(test)]
mod changes;
#[cfg(test)]
mod tests;
