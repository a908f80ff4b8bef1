//! The agent of the proxy in real time: it reads reports and round trips, and sets windows.
//!
//! The agent itself is that of the simulator.

use super::actuator::{Actuator, Order};
use super::clock::Clock;
use super::connections::{Connections, Halves};
use super::sockets::TcpInfo;
use crate::timed::real_time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use timeplane_model::{Duration, FlowId, LinkId, Time};
use timeplane_protocol::wire::{Control, Reassembler};
use timeplane_protocol::{ProxyInput, Steer, WindowProxy, WindowProxyConfig};

/// How connections are steered.
#[derive(Clone, Debug)]
pub struct SteeringConfig {
    /// The agent's. Its [`silence`](WindowProxyConfig::silence) should be shorter than the lease.
    pub proxy: WindowProxyConfig,
    /// The link that all connections go over.
    pub link: LinkId,
    /// Address of the access point. Datagrams from elsewhere are rejected.
    pub access_point: SocketAddr,
    /// After a loss recovery the window is again what the agent said last.
    pub hold: bool,
    /// So long after the last report, windows are the kernel's again, even if this process stands
    /// still; longer than the agent's [`repeat`](WindowProxyConfig::repeat). 3 s.
    pub lease: Duration,
    /// How often connections are looked at: who is new, who is gone, and their least round trips. 2
    /// ms.
    pub look: Duration,
}

/// Counters of reports and orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SteeringCounters {
    /// Reports newer than all before.
    pub reports: u64,
    /// Bytes of these reports on a wire, with UDP, IPv4 and Ethernet framing.
    pub report_bytes: u64,
    /// Reports that were not newer.
    pub stale: u64,
    /// Datagrams that were no reports, or came from elsewhere.
    pub foreign: u64,
    /// Orders that were applied.
    pub orders: u64,
    /// Orders that failed, usually because the connection had closed.
    pub failed: u64,
    /// How often connections were given back to the kernel as reports had stopped.
    pub released: u64,
}

/// The running agent. Dropping it returns all windows to the kernel.
#[derive(Debug)]
pub struct Steering {
    stop: Arc<AtomicBool>,
    counters: Arc<Mutex<SteeringCounters>>,
    thread: Option<JoinHandle<()>>,
}

impl Steering {
    /// Starts it. Reports come in by `reports`.
    ///
    /// # Errors
    /// If a thread cannot be started, or the socket fails.
    ///
    /// # Panics
    /// Where the agent's numbers are impossible, see [`WindowProxy::new`].
    pub fn start(
        reports: UdpSocket,
        config: SteeringConfig,
        actuator: Arc<Actuator>,
        connections: Arc<Connections>,
        clock: Clock,
    ) -> io::Result<Self> {
        reports.set_nonblocking(true)?;
        let (stop, counters) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(SteeringCounters::default())));
        let mut agent = Agent {
            agent: WindowProxy::new(config.proxy.clone()),
            flows: BTreeMap::new(),
            heard: None,
            looked: None,
            reassembler: Reassembler::default(),
            counted: SteeringCounters::default(),
            reports,
            config,
            actuator,
            connections,
            clock,
        };
        let (stopped, shared) = (stop.clone(), counters.clone());
        let run = move || {
            real_time();
            while !stopped.load(Ordering::Relaxed) {
                agent.wait();
                agent.work();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = agent.counted;
            }
            agent.release();
        };
        let thread = std::thread::Builder::new().name("steering".to_owned()).spawn(run)?;
        Ok(Self { stop, counters, thread: Some(thread) })
    }

    /// The current counters.
    pub fn counters(&self) -> SteeringCounters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Nobody is left to be told of its panic.
            let _ = thread.join();
        }
    }
}

/// A connection that the agent knows.
struct Flow {
    halves: Arc<Halves>,
    /// What the kernel knew of it when it was looked at last.
    info: TcpInfo,
    /// The least round trip that the agent has been told.
    told: Option<Duration>,
    /// An order is in force.
    steered: bool,
}

struct Agent {
    agent: WindowProxy,
    flows: BTreeMap<u32, Flow>,
    /// When the last report came that was newer than all before; none where windows are the
    /// kernel's.
    heard: Option<Time>,
    /// When connections were looked at.
    looked: Option<Time>,
    reassembler: Reassembler,
    counted: SteeringCounters,
    reports: UdpSocket,
    config: SteeringConfig,
    actuator: Arc<Actuator>,
    connections: Arc<Connections>,
    clock: Clock,
}

impl Agent {
    /// Until a report comes, or something else is due.
    fn wait(&self) {
        let look = self.looked.map_or(Time::ZERO, |at| at.saturating_add(self.config.look));
        let lease = self.heard.map(|at| at.saturating_add(self.config.lease));
        let due = self.agent.deadline().into_iter().chain(lease).fold(look, Time::min);
        let mut waits = [PollFd::new(self.reports.as_fd(), PollFlags::POLLIN)];
        // An error comes up again when reports are read.
        let _ = ppoll(&mut waits, Some(TimeSpec::from_duration(self.clock.until(due))), None);
    }

    fn work(&mut self) {
        let mut steers = Vec::new();
        self.look(&mut steers);
        self.hear(&mut steers);
        let now = self.clock.now();
        if self.agent.deadline().is_some_and(|at| at <= now) {
            self.agent.handle(now, ProxyInput::Due, &mut steers);
        }
        if self.heard.is_some_and(|at| at.saturating_add(self.config.lease) <= now) {
            self.release();
            self.counted.released += 1;
        }
        // Who has heard nothing for so long has nothing to say.
        if let Some(heard) = self.heard {
            let until = self.clock.kernel(heard.saturating_add(self.config.lease));
            steers.into_iter().for_each(|s| self.obey(s, until));
        }
    }

    /// Takes the reports that have come, a batch at most.
    fn hear(&mut self, steers: &mut Vec<Steer>) {
        let mut buffer = [0; 2048];
        for _ in 0..64 {
            let Ok((length, from)) = self.reports.recv_from(&mut buffer) else { return };
            if from != self.config.access_point {
                self.counted.foreign += 1;
                continue;
            }
            match self.reassembler.push(&buffer[..length]) {
                Ok(Some(Control::LinkReport(report))) if report.link == self.config.link => {
                    let bytes = Control::LinkReport(report).wire_bytes().unwrap_or(0);
                    let (now, before) = (self.clock.now(), self.agent.counters().reports);
                    self.agent.handle(now, ProxyInput::Report(report), steers);
                    if self.agent.counters().reports > before {
                        self.heard = Some(now);
                        self.counted.reports += 1;
                        self.counted.report_bytes += u64::from(bytes);
                    } else {
                        self.counted.stale += 1;
                    }
                }
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => self.counted.foreign += 1,
            }
        }
    }

    /// Looks at connections, if it is time to.
    fn look(&mut self, steers: &mut Vec<Steer>) {
        let now = self.clock.now();
        if self.looked.is_some_and(|at| now < at.saturating_add(self.config.look)) {
            return;
        }
        self.looked = Some(now);
        let open = self.connections.open();
        let mut inputs = Vec::new();
        self.flows.retain(|number, _| {
            let there = open.contains_key(number);
            if !there {
                inputs.push(ProxyInput::Leave { flow: FlowId(*number) });
            }
            there
        });
        for (number, halves) in open {
            let id = FlowId(number);
            let flow = self.flows.entry(number).or_insert_with(|| {
                inputs.push(ProxyInput::Join { flow: id, link: self.config.link });
                Flow { halves, info: TcpInfo::default(), told: None, steered: false }
            });
            let Ok(info) = TcpInfo::of(&flow.halves.radio) else { continue };
            flow.info = info;
            if let Some(rtt) = info.least_rtt.filter(|&rtt| flow.told.is_none_or(|told| rtt < told)) {
                flow.told = Some(rtt);
                inputs.push(ProxyInput::Rtt { flow: id, rtt });
            }
        }
        inputs.into_iter().for_each(|input| self.agent.handle(now, input, steers));
    }

    fn obey(&mut self, steer: Steer, until: u64) {
        let Some(flow) = self.flows.get_mut(&steer.flow.0) else { return };
        let order = Order { window: steer.window, rate: steer.rate, hold: self.config.hold, until };
        let steered = self.actuator.steer(&flow.halves.radio, order, &flow.info);
        match steered.and_then(|()| flow.halves.bound_unsent(Some(order.window))) {
            Ok(()) => {
                flow.steered = true;
                self.counted.orders += 1;
            }
            Err(_) => self.counted.failed += 1,
        }
    }

    /// Gives all windows back.
    fn release(&mut self) {
        self.heard = None;
        for flow in self.flows.values_mut().filter(|f| f.steered) {
            flow.steered = false;
            let released = self.actuator.release(&flow.halves.radio);
            if released.and_then(|()| flow.halves.bound_unsent(None)).is_err() {
                self.counted.failed += 1;
            }
        }
    }
}
