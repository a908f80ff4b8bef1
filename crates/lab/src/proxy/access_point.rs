//! The access point in real time: it reports the state of the emulated link to a proxy.
//!
//! The agent is that of the simulator. Reports are datagrams.

use super::rate_trace::RateTrace;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use timeplane_live::proxy::Clock;
use timeplane_live::timed::real_time;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::Control;
use timeplane_protocol::{LinkReport, LinkReporter, LinkReporterConfig, QueueSample, ReporterInput};

/// Configuration of an access point's agent.
#[derive(Clone, Copy, Debug)]
pub struct AccessPointConfig {
    /// The link to report on, and the reporting interval.
    pub reporter: LinkReporterConfig,
    /// Address that reports are sent to.
    pub proxy: SocketAddr,
    /// Delay before a report is sent, which emulates the path to the proxy.
    pub delay: Duration,
}

/// The running agent of an access point. It ends when dropped.
#[derive(Debug)]
pub struct AccessPoint {
    stop: Option<Sender<()>>,
    muted: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl AccessPoint {
    /// Starts the agent. Reports leave through `socket`; `queue` returns the state of the link's
    /// queue. The link trace starts at 0 of the clock.
    ///
    /// # Errors
    /// If a thread cannot be started.
    ///
    /// # Panics
    /// If the keep-alive interval is not positive.
    pub fn start(
        socket: UdpSocket,
        config: AccessPointConfig,
        trace: Arc<RateTrace>,
        queue: impl Fn() -> QueueSample + Send + 'static,
        clock: Clock,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let (muted, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut agent = Agent {
            agent: LinkReporter::new(config.reporter),
            trace,
            next: 0,
            leaving: VecDeque::new(),
            socket,
            config,
            muted: muted.clone(),
            sent: sent.clone(),
        };
        let run = move || {
            real_time();
            loop {
                agent.due(clock.now(), &queue);
                let wait = agent.deadline().map_or(std::time::Duration::from_secs(1), |at| clock.until(at));
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("access point".to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), muted, sent, thread: Some(thread) })
    }

    /// Suspends or resumes reports, to emulate a failed access point.
    pub fn mute(&self, muted: bool) {
        self.muted.store(muted, Ordering::Relaxed);
    }

    /// Reports sent.
    pub fn reports(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for AccessPoint {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is ignored, as no caller is left.
            let _ = thread.join();
        }
    }
}

struct Agent {
    agent: LinkReporter,
    trace: Arc<RateTrace>,
    /// Index of the next phase.
    next: usize,
    /// Delayed reports and the times at which they are sent.
    leaving: VecDeque<(Time, LinkReport)>,
    socket: UdpSocket,
    config: AccessPointConfig,
    muted: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
}

impl Agent {
    fn deadline(&self) -> Option<Time> {
        let change = self.trace.phases().get(self.next).map(|p| Time::ZERO + p.at);
        let leaving = self.leaving.front().map(|l| l.0);
        change.into_iter().chain(leaving).chain(self.agent.deadline()).min()
    }

    fn due(&mut self, now: Time, queue: &impl Fn() -> QueueSample) {
        let mut reports = Vec::new();
        let before = self.next;
        while let Some(phase) = self.trace.phases().get(self.next)
            && Time::ZERO + phase.at <= now
        {
            self.next += 1;
        }
        let due = self.agent.deadline().is_some_and(|at| at <= now);
        if before < self.next || due {
            self.agent.handle(now, ReporterInput::Queue(queue()), &mut reports);
        }
        // After a late wake-up, only the newest of several changes matters.
        if before < self.next {
            let sample = self.trace.phases()[self.next - 1].sample;
            self.agent.handle(now, ReporterInput::Link(sample), &mut reports);
        }
        if self.agent.deadline().is_some_and(|at| at <= now) {
            self.agent.handle(now, ReporterInput::Due, &mut reports);
        }
        self.leaving.extend(reports.into_iter().map(|r| (now + self.config.delay, r)));
        while let Some(&(at, report)) = self.leaving.front()
            && at <= now
        {
            self.leaving.pop_front();
            if self.muted.load(Ordering::Relaxed) {
                continue;
            }
            // A report that cannot be sent counts as lost; the next one repairs that.
            for datagram in Control::LinkReport(report).encode().unwrap_or_default() {
                if self.socket.send_to(&datagram, self.config.proxy).is_ok() {
                    self.sent.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{LinkId, Rate};
    use timeplane_protocol::wire::Reassembler;

    #[test]
    fn changes_and_keep_alives_are_reported() {
        let proxy = UdpSocket::bind("127.0.0.1:0").unwrap();
        proxy.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let steps = [100, 0, 50].map(|r| (Duration::from_ms(30), Rate::mbps(r)));
        let reporter = LinkReporterConfig { link: LinkId(7), epoch: 3, keep_alive: Duration::from_ms(10) };
        let config = AccessPointConfig { reporter, proxy: proxy.local_addr().unwrap(), delay: Duration::from_ms(5) };
        let queue = || QueueSample { drops: 11, ..QueueSample::default() };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let trace = Arc::new(RateTrace::steps(&steps).unwrap());
        let clock = Clock::start();
        let point = AccessPoint::start(socket, config, trace, queue, clock).unwrap();
        let (mut rates, mut reassembler, mut last) = (Vec::new(), Reassembler::default(), None);
        while rates.len() < 3 {
            let mut buffer = [0; 2000];
            let length = proxy.recv(&mut buffer).unwrap();
            let Ok(Some(Control::LinkReport(report))) = reassembler.push(&buffer[..length]) else {
                panic!("no report")
            };
            assert_eq!((report.link, report.epoch, report.queue.drops), (LinkId(7), 3, 11));
            // Never before it is due.
            assert!(clock.now() - report.taken_at >= Duration::from_ms(5));
            assert!(last < Some(report.sequence), "in order");
            last = Some(report.sequence);
            let rate = report.sample.uses.map(|u| u.rate);
            if rates.last() != Some(&rate) {
                rates.push(rate);
            }
        }
        assert_eq!(rates, [Some(Rate::mbps(100)), None, Some(Rate::mbps(50))]);
        // It goes on when nothing changes any more.
        let mut buffer = [0; 2000];
        assert!(proxy.recv(&mut buffer).is_ok() && point.reports() >= 4);
    }
}
