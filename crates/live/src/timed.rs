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

/// Sleeps until `until` by [`clock::now`](crate::clock::now), or until a descriptor is readable.
///
/// # Errors
/// If a system call fails.
pub fn wait(until: Time, readable: &[BorrowedFd<'_>]) -> io::Result<()> {
    let left = (until - crate::clock::now()).max(Duration::ZERO);
    let left = std::time::Duration::from_nanos(left.as_ps() as u64 / 1000);
    let mut polled: Vec<PollFd<'_>> = readable.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    match ppoll(&mut polled, Some(TimeSpec::from(left)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
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
    let parameters = nix::libc::sched_param { sched_priority: 2 };
    // SAFETY: the pointer is to parameters that live for the call; zero is this thread.
    unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameters) == 0 }
}
