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

/// Checks the name of a lab, as its namespaces, files and locks are named after it.
pub(crate) fn check_name(name: &str) -> Result<(), FabricError> {
    let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if letters && name.len() <= 32 && name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    let allowed = "1 to 32 lower-case letters and digits, the first a letter".to_owned();
    Err(FabricError::Parameter { what: "the lab's name", found: format!("{name:?}"), allowed })
}

/// Locks a name, and removes left-overs of a killed lab of that name: namespaces called by the
/// name, a dash and a suffix that `is_ours` accepts, with their processes and gates.
pub(crate) fn begin(name: &str, is_ours: impl Fn(&str) -> bool) -> Result<Lock, FabricError> {
    check_name(name)?;
    let lock = Lock::take(name)?;
    let list = netns::ip("netns list")?;
    let names = list.lines().filter_map(|l| l.split_whitespace().next());
    let mut left: Vec<&str> =
        names.filter(|n| n.strip_prefix(name).and_then(|n| n.strip_prefix('-')).is_some_and(&is_ours)).collect();
    // The switch last, as the hosts' interfaces disappear with it, and gates are found by
    // interface.
    left.sort_by_key(|name| name.ends_with("-sw"));
    left.into_iter().try_for_each(remove)?;
    Ok(lock)
}

/// Removes a namespace of a dead lab, with its processes and its gate.
fn remove(name: &str) -> Result<(), NetError> {
    let began = Instant::now();
    loop {
        let pids = netns::ip(&format!("netns pids {name}"))?;
        let pids: Vec<i32> = pids.split_whitespace().filter_map(|p| p.parse().ok()).collect();
        if pids.is_empty() || began.elapsed() > Duration::from_secs(5) {
            break;
        }
        for pid in pids {
            // The processes are in a namespace of that lab, which no others enter.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // There is no gate if no agent ran, or if it ended in good order.
    let left = Namespace::of_nobody(name);
    let _ = left.enter(|| daemons::release(INTERFACE).is_ok());
    left.remove()
}

/// The lock file of a running lab. The kernel releases the lock when the process ends, for whatever
/// reason.
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
            // Its former owner may have removed the file in between; the lock is then worthless.
            let own = file.metadata().map_err(error)?.ino();
            if std::fs::metadata(&path).is_ok_and(|there| there.ino() == own) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock is still held, so no other process's file is removed.
        let _ = std::fs::remove_file(&self.path);
    }
}
