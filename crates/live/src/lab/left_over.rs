//! What a lab that was killed has left: processes in its namespaces, and their gates.

use super::fabric::INTERFACE;
use crate::daemons;
use crate::netns::{self, Namespace, NetError};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Removes a namespace of a lab that is no more: the processes in it are ended, and a gate goes with it.
pub(super) fn remove(name: &str) -> Result<(), NetError> {
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
