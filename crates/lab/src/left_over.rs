//! Locks the name of a lab, and removes what a killed lab of that name left behind.
//!
//! Left-overs are namespaces, the processes in them, and gates.

use super::fabric::{FabricError, INTERFACE};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use timeplane_live::daemons;
use timeplane_live::netns::{self, Namespace, NetError};

/// Says what a lab may be called: its namespaces, files and locks are named after it.
pub(crate) fn check_name(name: &str) -> Result<(), FabricError> {
    let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if letters && name.len() <= 32 && name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    let allowed = "1 to 32 lower-case letters and digits, the first a letter".to_owned();
    Err(FabricError::Parameter { what: "the lab's name", found: format!("{name:?}"), allowed })
}

/// Takes a name, and removes what a killed lab of the same name has left: namespaces that are
/// called by the name, a dash, and something that `is_ours`, with their processes and gates.
pub(crate) fn begin(name: &str, is_ours: impl Fn(&str) -> bool) -> Result<Lock, FabricError> {
    check_name(name)?;
    let lock = Lock::take(name)?;
    let list = netns::ip("netns list")?;
    let names = list.lines().filter_map(|l| l.split_whitespace().next());
    let mut left: Vec<&str> =
        names.filter(|n| n.strip_prefix(name).and_then(|n| n.strip_prefix('-')).is_some_and(&is_ours)).collect();
    // The switch last: with it go the hosts' interfaces, by which gates are found.
    left.sort_by_key(|name| name.ends_with("-sw"));
    left.into_iter().try_for_each(remove)?;
    Ok(lock)
}

/// Removes a namespace of a lab that is no more: the processes in it are ended, and a gate goes
/// with it.
fn remove(name: &str) -> Result<(), NetError> {
    let began = Instant::now();
    loop {
        let pids = netns::ip(&format!("netns pids {name}"))?;
        let pids: Vec<i32> = pids.split_whitespace().filter_map(|p| p.parse().ok()).collect();
        if pids.is_empty() || began.elapsed() > Duration::from_secs(5) {
            break;
        }
        for pid in pids {
            // They are in a namespace of that lab's name, which nobody else enters.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // There is none where no agent was, or it ended in good order.
    let left = Namespace::of_nobody(name);
    let _ = left.enter(|| daemons::release(INTERFACE).is_ok());
    left.remove()
}

/// The file that says that a lab runs. The kernel lets go of it when its process is gone, however
/// that went.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: Flock<File>,
}

impl Lock {
    fn take(name: &str) -> Result<Self, FabricError> {
        let path = PathBuf::from(format!("/run/timeplane-lab-{name}.lock"));
        let error = |source| FabricError::Lock { path: path.clone(), source };
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(error)?;
            let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
                nix::errno::Errno::EWOULDBLOCK => FabricError::Running(name.to_owned()),
                errno => error(errno.into()),
            })?;
            // Whoever had it may have removed it in between, and then this is nobody's file.
            let own = file.metadata().map_err(error)?.ino();
            if std::fs::metadata(&path).is_ok_and(|there| there.ino() == own) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still held, so that nobody else's is removed.
        let _ = std::fs::remove_file(&self.path);
    }
}
