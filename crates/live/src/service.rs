//! A daemon as a service: readiness, watchdog and shutdown.
//!
//! Under systemd (`Type=notify`, `WatchdogSec=`) it notifies the service manager. Without systemd
//! these messages go nowhere, and nothing else changes.

use sd_notify::NotifyState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Why a function of a service failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Signals cannot be handled, usually because the process has a handler already.
    #[error("cannot handle SIGTERM and SIGINT: {0}")]
    Signals(#[from] ctrlc::Error),
    /// The watchdog's thread cannot be started.
    #[error("cannot start the thread of the watchdog: {0}")]
    Thread(std::io::Error),
}

/// A request to stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// A request that SIGTERM, SIGINT and SIGHUP set. A second signal ends the process at once with
    /// exit code 130. As after a kill, the leases then decide about open gates.
    ///
    /// # Errors
    /// If the process has a handler already.
    pub fn on_signals() -> Result<Self, ServiceError> {
        let stop = Self::default();
        let set = stop.clone();
        ctrlc::set_handler(move || {
            if set.set() {
                std::process::exit(130);
            }
        })?;
        Ok(stop)
    }
    /// Requests the stop; returns whether it was requested before.
    pub fn set(&self) -> bool {
        let before = std::mem::replace(&mut *self.flag(), true);
        self.0.1.notify_all();
        before
    }
    /// Whether the stop was requested.
    pub fn is_set(&self) -> bool {
        *self.flag()
    }
    /// Waits for the request, at most for `most`; returns whether it came.
    pub fn wait(&self, most: Duration) -> bool {
        let waited = self.0.1.wait_timeout_while(self.flag(), most, |set| !*set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
    fn flag(&self) -> MutexGuard<'_, bool> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a control loop last iterated. Clones share the pulse; a beat is one store.
#[derive(Clone, Debug)]
pub struct Pulse {
    since: Instant,
    /// Nanoseconds from the origin to the last beat.
    last: Arc<AtomicU64>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self::new()
    }
}

impl Pulse {
    /// A pulse that beats now.
    pub fn new() -> Self {
        Self { since: Instant::now(), last: Arc::default() }
    }
    /// Records an iteration of the loop.
    pub fn beat(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }
    /// Time since the last iteration.
    pub fn age(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.last.load(Ordering::Relaxed)))
    }
    fn now(&self) -> u64 {
        // This covers 584 years.
        self.since.elapsed().as_nanos() as u64
    }
}

/// Notifies the service manager that the daemon is ready. `systemctl status` shows the text.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Sets the text that `systemctl status` shows.
pub fn status(status: &str) {
    tell(&[NotifyState::Status(status)]);
}

/// Notifies systemd that the daemon is stopping.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(states) {
        tracing::warn!("cannot notify systemd: {e}");
    }
}

/// Notifies the service manager regularly while the daemon is alive. Dropping it ends that.
#[derive(Debug)]
pub struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts a watchdog if the service manager asks for it (`WATCHDOG_USEC`). It notifies after
    /// half of that time, as sd_watchdog_enabled(3) advises, and only if `alive` returns true.
    /// `alive` should return false if the timed loop has stalled ([`Pulse::age`]), so that a
    /// hanging daemon is restarted.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub fn start(alive: impl Fn() -> bool + Send + 'static) -> Result<Option<Self>, ServiceError> {
        match sd_notify::watchdog_enabled() {
            Some(period) if !period.is_zero() => {
                Self::every(period / 2, alive, || tell(&[NotifyState::Watchdog])).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn every(
        period: Duration,
        alive: impl Fn() -> bool + Send + 'static,
        ping: impl Fn() + Send + 'static,
    ) -> Result<Self, ServiceError> {
        let (stop, stopped) = channel();
        let mut was_alive = true;
        let body = move || {
            loop {
                let is_alive = alive();
                if is_alive {
                    ping();
                } else if was_alive {
                    tracing::error!("control loop stalled; not notifying the watchdog");
                }
                was_alive = is_alive;
                if stopped.recv_timeout(period) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("tp-watchdog".to_owned()).spawn(body);
        Ok(Self { stop: Some(stop), thread: Some(thread.map_err(ServiceError::Thread)?) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of `alive` has been reported already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::os::unix::net::UnixDatagram;
    use std::process::{Child, Command};
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    const PATIENCE: Duration = Duration::from_secs(30);

    fn until(what: &str, condition: impl Fn() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_stop_wakes_who_waits() {
        let stop = Stop::default();
        assert!(!stop.wait(Duration::ZERO) && !stop.is_set());
        let waiter = std::thread::spawn({
            let stop = stop.clone();
            move || stop.wait(PATIENCE)
        });
        assert!(!stop.set());
        assert!(waiter.join().unwrap() && stop.is_set() && stop.set());
    }

    #[test]
    fn a_pulse_is_as_old_as_its_last_beat() {
        let pulse = Pulse::new();
        until("it gets older", || pulse.age() > Duration::from_millis(20));
        let before = pulse.age();
        pulse.clone().beat();
        assert!(pulse.age() < before + Duration::from_secs(1));
        assert!(pulse.last.load(Ordering::Relaxed) >= before.as_nanos() as u64);
    }

    #[test]
    fn a_watchdog_hears_of_the_living_alone() {
        let (alive, asked, pings) =
            (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let watchdog = Watchdog::every(
            Duration::from_millis(1),
            {
                let (alive, asked) = (alive.clone(), asked.clone());
                move || {
                    asked.fetch_add(1, Ordering::SeqCst);
                    alive.load(Ordering::SeqCst)
                }
            },
            {
                let pings = pings.clone();
                move || {
                    pings.fetch_add(1, Ordering::SeqCst);
                }
            },
        );
        until("it is told", || pings.load(Ordering::SeqCst) >= 3);
        alive.store(false, Ordering::SeqCst);
        // One question may have been answered before.
        let then = asked.load(Ordering::SeqCst);
        until("it is asked again", || asked.load(Ordering::SeqCst) >= then + 2);
        let told = pings.load(Ordering::SeqCst);
        until("it is asked still", || asked.load(Ordering::SeqCst) >= then + 6);
        assert_eq!(pings.load(Ordering::SeqCst), told);
        alive.store(true, Ordering::SeqCst);
        until("it is told once more", || pings.load(Ordering::SeqCst) > told);
        drop(watchdog);
        let end = asked.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(asked.load(Ordering::SeqCst), end);
    }

    /// A daemon that does nothing, which the next test runs as a process of its own.
    #[test]
    #[ignore = "a part of a_service_from_its_start_to_its_end, which sets what it needs"]
    fn a_daemon_that_does_nothing() {
        let stop = Stop::on_signals().unwrap();
        let watchdog = Watchdog::start(|| true).unwrap();
        assert!(watchdog.is_some());
        ready("does nothing");
        assert!(stop.wait(PATIENCE));
        stopping();
    }

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_service_from_its_start_to_its_end() {
        let dir = Scratch::new("service");
        let controller = UnixDatagram::bind(dir.join("notify")).unwrap();
        controller.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut daemon = Killed(
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "service::tests::a_daemon_that_does_nothing", "--ignored", "--test-threads=1"])
                .env("NOTIFY_SOCKET", dir.join("notify"))
                .env("WATCHDOG_USEC", "20000")
                .env_remove("WATCHDOG_PID")
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap(),
        );
        let (mut ready, mut pings) = (false, 0);
        let mut buffer = [0; 256];
        let mut hear = || {
            let length = controller.recv(&mut buffer).expect("a message of the daemon");
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        };
        while !ready || pings < 3 {
            let message = hear();
            ready |= message.contains("READY=1") && message.contains("STATUS=does nothing");
            pings += usize::from(message.contains("WATCHDOG=1"));
        }
        let pid = nix::unistd::Pid::from_raw(daemon.0.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        while !hear().contains("STOPPING=1") {}
        assert!(daemon.0.wait().unwrap().success());
    }
}
