//! Threads for work that is not time-critical.
//!
//! Each runs a small tokio runtime until it is stopped.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::Notify;

/// Work on a thread of its own. It ends when this is dropped, which waits for it.
#[derive(Debug)]
pub struct Background {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Begins; the name is of the thread, at most 15 bytes.
    pub fn start(name: &str, work: impl Future<Output = ()> + Send + 'static) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let body = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = stopped.notified() => {}
                    () = work => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.notify_one();
        // Where it is the thread itself that lets go, it cannot wait for itself; it ends as soon as
        // it comes to wait.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // Where a function that it called has panicked, that has been said already.
            let _ = thread.join();
        }
    }
}
