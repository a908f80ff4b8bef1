//! How late the machine wakes a thread with the priority of the daemons.
//!
//! Recovery on a busy machine includes such delays. A table of recovery shows them beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use timeplane_live::{clock, timed};
use timeplane_model::Duration;

/// A thread that sleeps for a millisecond at a time. Dropping the value ends it.
#[derive(Debug)]
pub struct Lag {
    stop: Arc<AtomicBool>,
    worst_ns: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Lag {
    /// Starts the thread, with real-time priority if the system allows it.
    pub fn start() -> Self {
        let (stop, worst_ns) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stopped, worst) = (Arc::clone(&stop), Arc::clone(&worst_ns));
        let thread = std::thread::spawn(move || {
            timed::real_time();
            while !stopped.load(Relaxed) {
                let until = clock::now().saturating_add(Duration::from_ms(1));
                if timed::wait(until, &[]).is_err() {
                    return;
                }
                worst.fetch_max((clock::now() - until).as_ps().max(0) as u64 / 1000, Relaxed);
            }
        });
        Self { stop, worst_ns, thread: Some(thread) }
    }

    /// The longest delay since the last call.
    pub fn take(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.worst_ns.swap(0, Relaxed))
    }
}

impl Drop for Lag {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It cannot panic.
            let _ = thread.join();
        }
    }
}
