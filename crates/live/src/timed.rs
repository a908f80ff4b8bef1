//! Waiting, wake-ups and real-time priority for the control loops of controller and agent.
//!
//! Deadlines are times of CLOCK_MONOTONIC.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use timeplane_model::{Duration, Time};

/// A queue of messages from other threads to a timed loop.
#[derive(Debug)]
pub struct Inbox<T> {
    waiting: Mutex<VecDeque<T>>,
    wake: EventFd,
}

impl<T> Inbox<T> {
    /// An empty queue.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn new() -> io::Result<Arc<Self>> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Arc::new(Self { waiting: Mutex::new(VecDeque::new()), wake }))
    }
    /// Adds a message, and wakes the loop.
    pub fn push(&self, one: T) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(one);
        // The counter is full only if the loop was woken many times already.
        let _ = self.wake.write(1);
    }
    /// Removes and returns all messages.
    pub fn drain(&self) -> VecDeque<T> {
        let _ = self.wake.read();
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> AsFd for Inbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Which of the descriptors of a [`wait`] are readable, or have an error to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readable(u64);

impl Readable {
    /// All of them may be.
    pub const ANY: Self = Self(u64::MAX);

    /// Whether the descriptor at a place may be read.
    pub fn has(self, place: usize) -> bool {
        place >= 64 || self.0 >> place & 1 == 1
    }
}

/// Sleeps until `until` by [`clock::now`](crate::clock::now), or until a descriptor is readable.
/// Only looks if that time has passed.
///
/// # Errors
/// If a system call fails.
pub fn wait(until: Time, readable: &[BorrowedFd<'_>]) -> io::Result<Readable> {
    let left = (until - crate::clock::now()).max(Duration::ZERO);
    let left = std::time::Duration::from_nanos(left.as_ps() as u64 / 1000);
    let mut polled: Vec<PollFd<'_>> = readable.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    match ppoll(&mut polled, Some(TimeSpec::from(left)), None) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(Readable::ANY),
        Err(errno) => return Err(errno.into()),
    }
    let bit = |(place, fd): (usize, &PollFd<'_>)| u64::from(fd.any() != Some(false)) << place;
    Ok(Readable(polled.iter().take(64).enumerate().map(bit).fold(0, |all, one| all | one)))
}

/// Spins until `until` by [`clock::now`](crate::clock::now), if that is at most `most` away: the
/// end of a wait, for which a wake-up would be too late.
pub fn spin(until: Time, most: Duration) {
    if until - crate::clock::now() > most {
        return;
    }
    while crate::clock::now() < until {
        std::hint::spin_loop();
    }
}

/// Gives this thread a real-time priority (SCHED_FIFO, the second lowest), so that it runs before
/// all threads without one. Returns whether that was allowed. Without CAP_SYS_NICE everything
/// works, but wake-ups are later.
pub fn real_time() -> bool {
    // Without this, timers of a thread without real-time priority are 50 us late.
    let _ = nix::sys::prctl::set_timerslack(1);
    schedule(nix::libc::SCHED_FIFO, 2)
}

/// Gives this thread, and those that it starts from now on, the lowest real-time priority
/// (SCHED_FIFO). Returns whether that was allowed.
///
/// It is for threads that share a lock with a loop, or carry its messages. A thread without
/// priority that holds the lock may wait for a core behind everything else on the machine, and the
/// loop with it.
pub fn real_time_helpers() -> bool {
    schedule(nix::libc::SCHED_FIFO, 1)
}

/// Takes real-time priority from this thread, and so from those that it starts from now on.
pub fn no_real_time() -> bool {
    schedule(nix::libc::SCHED_OTHER, 0)
}

fn schedule(policy: i32, priority: i32) -> bool {
    let parameters = nix::libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to parameters that live for the call; zero is this thread.
    unsafe { nix::libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_helpers_have_their_priority_until_it_is_taken() {
        // SAFETY: zero is this thread.
        let policy = || unsafe { nix::libc::sched_getscheduler(0) };
        let of_new = move || std::thread::spawn(policy).join().unwrap();
        let helper = move || {
            // Without CAP_SYS_NICE there is none to have.
            let allowed = real_time_helpers();
            assert!(!allowed || of_new() == nix::libc::SCHED_FIFO);
            assert!(no_real_time() && of_new() == nix::libc::SCHED_OTHER);
        };
        std::thread::spawn(helper).join().unwrap();
    }

    #[test]
    fn a_wait_tells_which_descriptors_are_readable() {
        let (one, other) = (Inbox::<u32>::new().unwrap(), Inbox::new().unwrap());
        other.push(7);
        let both = [one.as_fd(), other.as_fd()];
        let found = wait(crate::clock::now() + Duration::from_secs(60), &both).unwrap();
        assert_eq!((found.has(0), found.has(1)), (false, true));
        assert_eq!(other.drain(), [7]);
        // Time has passed, and nothing is readable.
        let found = wait(crate::clock::now(), &both).unwrap();
        assert_eq!((found.has(0), found.has(1)), (false, false));
        assert!(Readable::ANY.has(0) && Readable::ANY.has(63) && found.has(64));
    }
}
