//! What the control loops of controller and agent share: waiting, wake-ups, and real-time priority.
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

/// What other threads tell a timed loop, which it finds when it looks.
#[derive(Debug)]
pub struct Inbox<T> {
    waiting: Mutex<VecDeque<T>>,
    wake: EventFd,
}

impl<T> Inbox<T> {
    /// Nothing waits.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn new() -> io::Result<Arc<Self>> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Arc::new(Self { waiting: Mutex::new(VecDeque::new()), wake }))
    }
    /// Adds one, and wakes the loop.
    pub fn push(&self, one: T) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(one);
        // It is full only where the loop has been woken many times already.
        let _ = self.wake.write(1);
    }
    /// Takes all.
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

/// Sleeps until `until` by [`clock::now`](crate::clock::now), or until something can be read.
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

/// Gives this thread a real-time priority (SCHED_FIFO, the lowest but one): it runs when it has to,
/// before everything that has none. Whether that was allowed: without CAP_SYS_NICE all works, with
/// wake-ups that come later.
pub fn real_time() -> bool {
    // Timers of a thread without it are 50 us late otherwise.
    let _ = nix::sys::prctl::set_timerslack(1);
    let parameters = nix::libc::sched_param { sched_priority: 2 };
    // SAFETY: it points to parameters that live for the call; zero is this thread.
    unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameters) == 0 }
}
