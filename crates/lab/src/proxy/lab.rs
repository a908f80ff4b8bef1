//! TCP over a link trace in namespaces: a server, a proxy at the edge, an emulated 60 GHz link and
//! a device.
//!
//! ```text
//! server - veth - edge (proxy) - TUN - emulated link - TUN - device
//! ```

use super::access_point::{AccessPoint, AccessPointConfig};
use super::delays::Delays;
use super::emulator::{Direction, Emulator, EmulatorError, LinkSpec, Measured, tun};
use super::fifo::Count;
use super::rate_trace::RateTrace;
use super::stream::{Received, Sent, receive, send, watch};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timeplane_live::netns::{Namespace, NetError, veth};
use timeplane_live::proxy::Actuator;
use timeplane_live::proxy::Clock;
use timeplane_live::proxy::Halves;
use timeplane_live::proxy::{SplitConfig, SplitProxy};
use timeplane_live::proxy::{Steering, SteeringConfig, SteeringCounters};
use timeplane_model::{Bytes, Duration, LinkId, Rate, Time};
use timeplane_protocol::{LinkReporterConfig, ProxyPolicy, QueueSample, WindowProxyConfig};
use tun_rs::SyncDevice;

/// Addresses inside the namespaces; nothing outside can see them.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 90, 0, 1);
const EDGE: Ipv4Addr = Ipv4Addr::new(10, 90, 0, 2);
const DEVICE: Ipv4Addr = Ipv4Addr::new(10, 91, 0, 2);
const PORT: u16 = 5001;
/// Rate at which the link drains after the end; slow enough for any machine's emulator.
const DRAIN: Rate = Rate::mbps(300);
/// Maximum time of draining.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sampling interval of round-trip times.
const WATCH: Duration = Duration::from_ms(5);

/// What controls the congestion windows.
#[derive(Clone, Debug, PartialEq)]
pub enum LabScheme {
    /// The kernel: one connection from the server to the device, with this congestion control
    /// (`cubic`, `bbr`, `reno`).
    Kernel(String),
    /// The proxy: connections are split at the edge, and the proxy steers those to the device.
    Proxy(ProxyPolicy),
}

/// Parameters of an experiment. Experiments are independent if their `name`s differ: namespaces are
/// called `name` and a letter.
#[derive(Clone, Debug)]
pub struct ProxyLab {
    /// Prefix of the namespaces' names.
    pub name: String,
    /// Rate and loss of the link to the device over time.
    pub trace: RateTrace,
    /// Duration for which the server sends.
    pub duration: Duration,
    /// One-way propagation delay between edge and device.
    pub propagation: Duration,
    /// Size of the access point's queue, in bytes.
    pub queue: Bytes,
    /// Rate of the link from the device to the edge.
    pub back: Rate,
    /// MTU of the link.
    pub mtu: u16,
    /// Delay of reports from the access point to the proxy.
    pub report_delay: Duration,
    /// Maximum interval between two reports of the access point.
    pub report_every: Duration,
    /// Whether the proxy also paces its senders.
    pub pace: bool,
    /// Seed of the losses in the air.
    pub seed: u64,
}

impl ProxyLab {
    /// Defaults: a round-trip time of 20 ms, a queue of 6 MB, packets of 1500 B, 400 Mb/s from the
    /// device, and reports without delay at least every 10 ms.
    pub fn new(name: &str, trace: RateTrace, duration: Duration) -> Self {
        Self {
            name: name.to_owned(),
            trace,
            duration,
            propagation: Duration::from_ms(10),
            queue: Bytes::mb(6),
            back: Rate::mbps(400),
            mtu: 1500,
            report_delay: Duration::ZERO,
            report_every: Duration::from_ms(10),
            pace: true,
            seed: 1,
        }
    }
}

/// Statistics of round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub most: Duration,
    /// Number of samples.
    pub count: u64,
}

impl RoundTrips {
    fn of(delays: &Delays, more: Duration) -> Self {
        let at = |share| delays.quantile(share).map_or(Duration::ZERO, |d| d + more);
        Self { p50: at(0.5), p99: at(0.99), most: at(1.0), count: delays.count() }
    }
}

/// Results of an experiment.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Goodput of the device's application while the server sent.
    pub goodput: Rate,
    /// Capacity of the link in that time, headers included.
    pub capacity: Rate,
    /// Round-trip times of the link's packets: their measured delay through the queue and the air,
    /// plus the propagation delay back.
    pub rtt: RoundTrips,
    /// Smoothed round-trip time of the link's sender, sampled every 5 ms.
    pub srtt: RoundTrips,
    /// Segments that the link's sender retransmitted.
    pub sent_again: u32,
    /// Lateness of the emulator's packets at p99.
    pub late: Duration,
    /// Outcomes of packets to the device and from the device.
    pub packets: [super::emulator::Counters; 2],
    /// Bytes that the server's application wrote, and bytes that the device's application read.
    pub bytes: (u64, u64),
    /// Bytes that the device's application had read when the server ended.
    pub in_time: Bytes,
    /// Whether all bytes arrived, in order and unchanged.
    pub intact: bool,
    /// Counters of the proxy; `None` without one.
    pub steering: Option<SteeringCounters>,
    /// Delays of packets to the device: queueing, transmission and propagation.
    pub delays: Delays,
}

impl Figures {
    /// Goodput as a share of the link's capacity.
    pub fn share(&self) -> f64 {
        self.goodput.as_bps() as f64 / self.capacity.as_bps().max(1) as f64
    }
}

/// Why an experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum ProxyLabError {
    /// A namespace or a link cannot be created.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The emulated link failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// A socket or a thread failed.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: &'static str,
        /// The system's message.
        source: io::Error,
    },
    /// The duration is not positive.
    #[error("duration of the lab {found}: expected more than 0")]
    Duration {
        /// The configured duration.
        found: Duration,
    },
}

/// Adds the failed operation to an error.
fn at(what: &'static str) -> impl Fn(io::Error) -> ProxyLabError {
    move |source| ProxyLabError::Io { what, source }
}

/// The namespaces of an experiment, with the wire between server and edge.
struct Hosts {
    server: Namespace,
    edge: Namespace,
    device: Namespace,
}

impl Hosts {
    fn make(name: &str) -> Result<Self, ProxyLabError> {
        let make = |letter: &str| Namespace::create(&format!("{name}{letter}"));
        let (server, edge, device) = (make("s")?, make("e")?, make("d")?);
        veth((&server, "wire", "02:00:00:00:90:01"), (&edge, "wire", "02:00:00:00:90:02"))?;
        // Packets of the wire are not measured, so super-frames may save CPU time.
        for namespace in [&server, &edge] {
            namespace.ip("link set wire gso_max_segs 64")?;
        }
        server.ip(&format!("addr add {SERVER}/24 dev wire"))?;
        edge.ip(&format!("addr add {EDGE}/24 dev wire"))?;
        server.ip(&format!("route add default via {EDGE}"))?;
        for namespace in [&server, &edge, &device] {
            // Buffers for the window of a connection that fills the access point's queue.
            let status = namespace
                .command("sysctl")
                .args(["-qw", "net.ipv4.ip_forward=1"])
                .args(["net.ipv4.tcp_wmem=4096 16384 67108864", "net.ipv4.tcp_rmem=4096 131072 67108864"])
                .status();
            if !status.map_err(at("sysctl"))?.success() {
                return Err(at("sysctl")(io::Error::other("TCP's buffers could not be sized")));
            }
        }
        Ok(Self { server, edge, device })
    }

    /// Creates the two ends of the link, at the edge and at the device.
    fn link_ends(&self, mtu: u16) -> Result<(SyncDevice, SyncDevice), ProxyLabError> {
        let near = tun(&self.edge, "air", "10.91.0.1/24", mtu)?;
        let far = tun(&self.device, "air", &format!("{DEVICE}/24"), mtu)?;
        self.device.ip("route add default dev air")?;
        // The kernel paces packets, not bundles of a millisecond that would wait for each other at
        // the link.
        self.edge.ip("link set air gso_max_segs 1")?;
        Ok((near, far))
    }
}

/// The parts of the proxy at the edge. They are dropped in this order.
struct Edge {
    steering: Steering,
    _access_point: AccessPoint,
    split: SplitProxy,
}

impl ProxyLab {
    /// Runs the experiment: while the server sends, and until all bytes have arrived, but at most
    /// 30 s longer.
    ///
    /// # Errors
    /// If namespaces, interfaces or sockets cannot be created. Needs CAP_NET_ADMIN and
    /// CAP_SYS_ADMIN.
    pub fn run(&self, scheme: &LabScheme, actuator: &Arc<Actuator>) -> Result<Figures, ProxyLabError> {
        let figures = self.run_while(scheme, actuator, &|_| true)?;
        Ok(figures.expect("it has been told to go on all the while"))
    }

    /// Runs the experiment as [`run`](Self::run) does, and calls `goes_on` with the completed
    /// share, 0 to 1. Returns `None` if `goes_on` has returned `false`, which cancels the run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_while(
        &self,
        scheme: &LabScheme,
        actuator: &Arc<Actuator>,
        goes_on: &dyn Fn(f64) -> bool,
    ) -> Result<Option<Figures>, ProxyLabError> {
        if self.duration <= Duration::ZERO {
            return Err(ProxyLabError::Duration { found: self.duration });
        }
        let hosts = Hosts::make(&self.name)?;
        let (near, far) = hosts.link_ends(self.mtu)?;
        let listener = hosts.device.enter(|| TcpListener::bind((DEVICE, PORT)))?.map_err(at("the device's socket"))?;

        let end = Time::ZERO + self.duration;
        let trace = Arc::new(self.trace.clone().then(self.duration, DRAIN));
        let back = Arc::new(RateTrace::steps(&[(Duration::from_secs(1), self.back)]).expect("a step of a second"));
        let direction = |trace: &Arc<RateTrace>| Direction {
            trace: trace.clone(),
            limit: self.queue,
            mark_at: None,
            propagation: self.propagation,
        };
        let (there, back) = (direction(&trace), direction(&back));
        let clock = Clock::start();
        let spec = LinkSpec { there, back, seed: self.seed, record_until: end };
        let emulator = Emulator::start(near, far, &spec, clock)?;

        let edge = match scheme {
            LabScheme::Kernel(_) => None,
            LabScheme::Proxy(policy) => Some(self.edge(&hosts, *policy, actuator, &trace, &emulator, clock)?),
        };
        let server = hosts.server.enter(|| connect(scheme)).map_err(ProxyLabError::from)?;
        let server = server.map_err(at("the server's connection"))?;
        // The timeout applies to `accept` as well.
        let patience = timeplane_live::proxy::wall(PATIENCE);
        SockRef::from(&listener).set_read_timeout(Some(patience)).map_err(at("the device's socket"))?;
        let (device, _) = listener.accept().map_err(at("the device's connection"))?;
        // The socket that sends over the link.
        let sender = match &edge {
            Some(edge) => radio_side(&edge.split).and_then(|halves| halves.radio.try_clone()),
            None => server.try_clone(),
        };
        let sender = sender.map_err(at("the sender's socket"))?;
        let given_up = AtomicBool::new(false);
        let share = |now: Time| (now - Time::ZERO).as_ps() as f64 / self.duration.as_ps() as f64;
        let (sent, received, watched) = std::thread::scope(|scope| {
            let received = scope.spawn(|| receive(&device, end, end + PATIENCE, clock, &given_up));
            let watched = scope.spawn(|| watch(&sender, WATCH, end, clock, &given_up));
            let sent = send(&server, end, clock, &|now| {
                let goes_on = goes_on(share(now));
                given_up.store(!goes_on, Ordering::Relaxed);
                goes_on
            });
            (sent, received.join(), watched.join())
        });
        if given_up.into_inner() {
            return Ok(None);
        }
        let sent = sent.map_err(at("the server"))?;
        let received = received.unwrap_or_else(|p| std::panic::resume_unwind(p)).map_err(at("the device"))?;
        let watched = watched.unwrap_or_else(|p| std::panic::resume_unwind(p)).map_err(at("the sender"))?;
        let steering = edge.as_ref().map(|e| e.steering.counters());
        drop(edge);
        Ok(Some(self.figures(&sent, &received, watched, steering, emulator.stop()?)))
    }

    /// The figures of a completed run: `srtt` and `sent_again` are the sender's, `there` and `back`
    /// the emulated link's.
    fn figures(
        &self,
        sent: &Sent,
        received: &Received,
        (srtt, sent_again): (Delays, u32),
        steering: Option<SteeringCounters>,
        [there, back]: [Measured; 2],
    ) -> Figures {
        let Measured { counters, delays, lateness } = there;
        let per_second = |bytes: u64| Rate::bps((bytes as f64 * 8.0 / self.duration.as_secs_f64()).round() as u64);
        Figures {
            goodput: per_second(received.in_time),
            capacity: per_second(self.trace.capacity(Duration::ZERO, self.duration).get()),
            rtt: RoundTrips::of(&delays, self.propagation),
            srtt: RoundTrips::of(&srtt, Duration::ZERO),
            sent_again,
            late: lateness.quantile(0.99).unwrap_or_default(),
            packets: [counters, back.counters],
            bytes: (sent.bytes, received.bytes),
            in_time: Bytes::new(received.in_time),
            intact: received.whole && !received.wrong && received.bytes == sent.bytes,
            steering,
            delays,
        }
    }

    /// Starts the proxy at the edge.
    fn edge(
        &self,
        hosts: &Hosts,
        policy: ProxyPolicy,
        actuator: &Arc<Actuator>,
        trace: &Arc<RateTrace>,
        emulator: &Emulator,
        clock: Clock,
    ) -> Result<Edge, ProxyLabError> {
        let link = LinkId(0);
        let sockets = || -> io::Result<_> {
            let local = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
            Ok((TcpListener::bind((EDGE, PORT))?, local()?, local()?))
        };
        let (listener, reports, reporter) = hosts.edge.enter(sockets)?.map_err(at("the proxy's sockets"))?;
        let address = |socket: &UdpSocket| socket.local_addr().map_err(at("the proxy's sockets"));
        let (proxy, access_point) = (address(&reports)?, address(&reporter)?);
        let target = SocketAddr::from((DEVICE, PORT));
        let split = || SplitProxy::start(listener, SplitConfig::to(target), actuator.clone());
        let split = hosts.edge.enter(split)?.map_err(at("the proxy"))?;
        let config = SteeringConfig {
            proxy: WindowProxyConfig {
                policy,
                ladder: trace.ladder().clone(),
                base_rtt: self.propagation * 2,
                pace: self.pace,
                ..WindowProxyConfig::default()
            },
            link,
            access_point,
            hold: true,
            lease: Duration::from_secs(3),
            look: Duration::from_ms(2),
        };
        let steering = Steering::start(reports, config, actuator.clone(), split.connections(), clock);
        let steering = steering.map_err(at("the proxy's agent"))?;
        let queue = emulator.queue();
        let sample = move || {
            let (Count { packets, bytes }, drops) = queue();
            QueueSample { bytes: Bytes::new(bytes), packets: u32::try_from(packets).unwrap_or(u32::MAX), drops }
        };
        let keep_alive = self.report_every;
        let config = AccessPointConfig {
            reporter: LinkReporterConfig { link, epoch: 1, keep_alive },
            proxy,
            delay: self.report_delay,
        };
        let access_point = AccessPoint::start(reporter, config, trace.clone(), sample, clock);
        Ok(Edge { steering, _access_point: access_point.map_err(at("the access point's agent"))?, split })
    }
}

/// Waits for the split connection, which is listed soon after the device has accepted it.
fn radio_side(split: &SplitProxy) -> io::Result<Arc<Halves>> {
    for _ in 0..500 {
        if let Some(halves) = split.connections().open().into_values().next() {
            return Ok(halves);
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "the proxy lists no connection"))
}

/// Connects the server to the device, or to the proxy.
fn connect(scheme: &LabScheme) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let to = match scheme {
        LabScheme::Kernel(name) => {
            setsockopt(&socket, sockopt::TcpCongestion, &name.into())?;
            DEVICE
        }
        LabScheme::Proxy(_) => EDGE,
    };
    socket.connect_timeout(&SocketAddr::from((to, PORT)).into(), std::time::Duration::from_secs(10))?;
    Ok(socket.into())
}
