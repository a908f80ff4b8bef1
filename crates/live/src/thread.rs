//! Threads for work that is not time-critical.
//!
//! Each runs a small tokio runtime until it is stopped.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::Notify;

/// Work on a thread of its own. Dropping the value ends the work and waits for the thread.
#[derive(Debug)]
pub struct Background {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the work. `name` is the name of the thread, at most 15 bytes.
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
        // If the thread itself drops the value, it cannot wait for itself. It ends at its next
        // await.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic on the thread has been reported already.
            let _ = thread.join();
        }
    }
}
