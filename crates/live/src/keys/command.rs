//! The command `timeplane live keys`.
//!
//! It prints the files that it made.

use super::authority::DAYS;
use super::{Authority, KeyError, list};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Makes the keys by which daemons authenticate each other.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Make an authority in a folder, and certificates for these names
    ///
    /// `ca.key` stays where certificates are issued. A daemon needs ca.pem, NAME.pem and NAME.key.
    Init {
        /// The folder; it is created if missing
        dir: PathBuf,
        /// Names such as controller-0, host-0 and observer
        names: Vec<String>,
        /// Validity of the certificates
        #[command(flatten)]
        validity: Validity,
    },
    /// Show the certificates in a folder: name, serial, and when they expire
    Show {
        /// The folder that `init` created, or the keys of a daemon
        dir: PathBuf,
    },
    /// Revoke a certificate: add it to crl.pem, to be copied beside every ca.pem
    ///
    /// Revoke before you renew: a name means the certificate that is in the folder now. Daemons
    /// obey the file within a second or two and close the connections of revoked peers.
    Revoke {
        /// The folder that `init` created
        dir: PathBuf,
        /// A name such as host-3, or a serial as `show` prints it
        #[arg(value_name = "NAME|SERIAL")]
        which: String,
    },
    /// Issue certificates for these names
    Issue {
        /// The folder that `init` created
        dir: PathBuf,
        /// Names such as host-3
        #[arg(required = true)]
        names: Vec<String>,
        /// Replace existing certificates and keys
        #[arg(long)]
        force: bool,
        /// Validity of the certificates
        #[command(flatten)]
        validity: Validity,
    },
}

/// Validity of the certificates of daemons.
#[derive(Clone, Copy, Debug, Args)]
pub struct Validity {
    /// Days for which certificates are valid, 1 to 3650; a daemon refuses one that is over
    #[arg(long, default_value_t = DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

impl KeysCommand {
    /// Runs the command. Returns a line for each new file, or the list of `show`.
    ///
    /// # Errors
    /// If a file cannot be read or made. Files made before stay.
    pub fn run(&self) -> Result<String, KeyError> {
        let (authority, names, force, mut made) = match self {
            Self::Init { dir, names, validity } => {
                // Checked before any file is made.
                names.iter().try_for_each(|name| super::check_name(name))?;
                (Authority::create(dir)?.with_days(validity.days), names, false, files(dir, "ca"))
            }
            Self::Show { dir } => return list::list(dir),
            Self::Revoke { dir, which } => {
                return Ok(format!("{}\n", Authority::load(dir)?.revoke(which)?.display()));
            }
            Self::Issue { dir, names, force, validity } => {
                (Authority::load(dir)?.with_days(validity.days), names, *force, String::new())
            }
        };
        for name in names {
            if force {
                authority.renew(name)?
            } else {
                authority.issue(name)?
            }
            made += &files(authority.dir(), name);
        }
        Ok(made)
    }
}

fn files(dir: &std::path::Path, name: &str) -> String {
    let path = |extension: &str| dir.join(format!("{name}.{extension}")).display().to_string();
    format!("{}\n{}\n", path("pem"), path("key"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Identity;
    use crate::scratch::Scratch;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(subcommand)]
        keys: KeysCommand,
    }

    fn run(arguments: &[&str]) -> Result<String, String> {
        let command = Command::try_parse_from([&["keys"], arguments].concat()).map_err(|e| e.to_string())?;
        command.keys.run().map_err(|e| e.to_string())
    }

    #[test]
    fn init_issue_and_renew() {
        let scratch = Scratch::new("keys-command");
        let dir = scratch.join("keys");
        let dir = dir.to_str().unwrap();
        assert!(run(&["init", dir, "controller-0", "Host"]).unwrap_err().contains("Host"));
        assert!(!scratch.join("keys").exists());
        let files = |names: &[&str]| names.iter().map(|f| format!("{dir}/{f}\n")).collect::<String>();
        let made = run(&["init", dir, "controller-0", "host-0"]).unwrap();
        assert_eq!(
            made,
            files(&["ca.pem", "ca.key", "controller-0.pem", "controller-0.key", "host-0.pem", "host-0.key"])
        );
        assert_eq!(run(&["issue", dir, "host-1"]).unwrap(), files(&["host-1.pem", "host-1.key"]));
        assert!(run(&["init", dir]).unwrap_err().contains("exists already"));
        assert!(run(&["issue", dir]).unwrap_err().contains("NAMES"));
        assert!(run(&["issue", dir, "host-1"]).unwrap_err().contains("--force"));
        run(&["issue", "--force", dir, "host-0", "host-1"]).unwrap();
        for name in ["controller-0", "host-0", "host-1"] {
            Identity::load(dir, name).unwrap();
        }
        run(&["issue", dir, "host-2", "--days", "30"]).unwrap();
        for wrong in ["0", "3651"] {
            assert!(run(&["issue", dir, "host-3", "--days", wrong]).unwrap_err().contains("1..=3650"));
        }
    }
}
