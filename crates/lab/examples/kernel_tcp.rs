//! TCP of the kernel over an emulated link, as an oracle for the simulator's TCP.
//!
//! It reads a question from standard input and writes the answer to standard output, both in JSON.
//! `benches/peers/tcp` asks ns-3 and the simulator the same questions. Needs root.

use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration as Wall;
use timeplane_lab::proxy::{Direction, Emulator, LinkSpec, RateTrace, tun};
use timeplane_live::netns::Namespace;
use timeplane_live::proxy::{Clock, TcpInfo, wall};
use timeplane_model::{Bytes, Duration, Rate, Time};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 92, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 92, 0, 2);
const PORT: u16 = 5001;
/// The port of flow 0 at the sender; others follow. It tells the receiver which flow it has.
const FIRST_PORT: u16 = 20_000;
const CHUNK: usize = 1 << 16;
/// How long flows of known size may take beyond the run.
const PATIENCE: Duration = Duration::from_secs(20);

/// A link and flows over it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    rate_bps: u64,
    /// Propagation delay of one way.
    delay_us: i64,
    /// Bytes of IP packets that the queue holds.
    queue_bytes: u64,
    /// ECN-capable packets that find more than this are marked.
    mark_bytes: Option<u64>,
    /// Share of packets of the MTU that are lost at random, in either direction.
    loss: f64,
    mtu: u16,
    seconds: f64,
    /// Interval of the samples of flow 0.
    sample_ms: i64,
    seed: u64,
    /// Whether hosts use timestamps (RFC 7323) and ECN.
    timestamps: bool,
    ecn: bool,
    flows: Vec<Asked>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    start_ms: f64,
    congestion: String,
    /// `None`: it sends until the run ends.
    bytes: Option<u64>,
}

#[derive(Serialize)]
struct Answer {
    flows: Vec<Flow>,
    samples: Vec<Sample>,
    /// How late the emulator handed packets over, at p99.
    late_us: f64,
    /// The mean time from interface to interface.
    delay_us: f64,
    dropped: u64,
    lost: u64,
    marked: u64,
}

#[derive(Serialize)]
struct Flow {
    /// Bytes that the receiver had at the end of the run.
    in_time: u64,
    /// From the call of `connect` to the last byte; `None` if there is none.
    fct_us: Option<f64>,
    retransmissions: u32,
}

#[derive(Serialize)]
struct Sample {
    at_us: f64,
    window: u32,
    in_flight: u32,
    srtt_us: f64,
}

fn micros(span: Duration) -> f64 {
    span.as_ps() as f64 / 1e6
}

fn main() -> Result<(), Box<dyn Error>> {
    let question: Question = serde_json::from_reader(std::io::stdin())?;
    let answer = ask(&question)?;
    serde_json::to_writer(std::io::stdout(), &answer)?;
    println!();
    Ok(())
}

/// A namespace whose TCP is limited by its congestion control alone.
fn host(name: &str, q: &Question) -> Result<Namespace, Box<dyn Error>> {
    let namespace = Namespace::create(name)?;
    let number = |is: bool| i32::from(is);
    let status = namespace
        .command("sysctl")
        .arg("-qw")
        // A receive window of 8 MB from the start, so that its growth limits nothing.
        .args(["net.ipv4.tcp_wmem=4096 16777216 67108864", "net.ipv4.tcp_rmem=4096 16777216 67108864"])
        .args(["net.ipv4.tcp_no_metrics_save=1"])
        .arg(format!("net.ipv4.tcp_timestamps={}", number(q.timestamps)))
        .arg(format!("net.ipv4.tcp_ecn={}", number(q.ecn)))
        .status()?;
    if !status.success() {
        return Err("sysctl failed".into());
    }
    Ok(namespace)
}

fn ask(q: &Question) -> Result<Answer, Box<dyn Error>> {
    let id = std::process::id();
    let (near, far) = (host(&format!("tpk{id}n"), q)?, host(&format!("tpk{id}f"), q)?);
    let (near_end, far_end) = (tun(&near, "wire", "10.92.0.1/24", q.mtu)?, tun(&far, "wire", "10.92.0.2/24", q.mtu)?);
    for namespace in [&near, &far] {
        namespace.ip("link set wire gso_max_segs 1")?;
    }
    let listener = far.enter(|| TcpListener::bind((FAR, PORT)))??;
    let rate = RateTrace::steps(&[(Duration::from_secs(1), Rate::bps(q.rate_bps))])?.losing(q.loss);
    let rate = Arc::new(rate);
    let propagation = Duration::from_us(q.delay_us);
    let way = || Direction {
        trace: rate.clone(),
        limit: Bytes::new(q.queue_bytes),
        mark_at: q.mark_bytes.map(Bytes::new),
        propagation,
    };
    let clock = Clock::start();
    let end = Time::ZERO + Duration::from_ps((q.seconds * 1e12) as i64);
    let spec = LinkSpec { there: way(), back: way(), seed: q.seed, record_until: end };
    let emulator = Emulator::start(near_end, far_end, &spec, clock)?;
    let mut samples = Vec::new();
    let flows = std::thread::scope(|scope| -> Result<Vec<Flow>, Box<dyn Error>> {
        let receivers = scope.spawn(move || receive_all(&listener, &q.flows, end, clock));
        let senders: Vec<_> = (0_u16..)
            .zip(&q.flows)
            .map(|(i, asked)| {
                let near = &near;
                scope.spawn(move || near.enter(|| send(i, asked, end, clock, (i == 0).then_some(q.sample_ms))))
            })
            .collect();
        let mut sent = Vec::new();
        for sender in senders {
            let (start, retransmissions, seen) =
                sender.join().map_err(|_| "a sender failed")??.map_err(|e| e.to_string())?;
            samples.extend(seen);
            sent.push((start, retransmissions));
        }
        let received = receivers.join().map_err(|_| "a receiver failed")?.map_err(|e| e.to_string())?;
        let flow = |((start, retransmissions), (in_time, last)): ((Time, u32), (u64, Option<Time>))| Flow {
            in_time,
            fct_us: last.map(|last| micros(last - start)),
            retransmissions,
        };
        Ok(sent.into_iter().zip(received).map(flow).collect())
    })?;
    let [there, back] = emulator.stop()?;
    Ok(Answer {
        flows,
        samples,
        late_us: there.lateness.quantile(0.99).map_or(0.0, micros),
        delay_us: there.delays.mean().map_or(0.0, micros),
        dropped: there.counters.no_room.packets + back.counters.no_room.packets,
        lost: there.counters.lost.packets + back.counters.lost.packets,
        marked: there.counters.marked.packets + back.counters.marked.packets,
    })
}

type Sent = (Time, u32, Vec<Sample>);

/// Sends one flow, and samples its state if asked to.
fn send(number: u16, asked: &Asked, end: Time, clock: Clock, every_ms: Option<i64>) -> std::io::Result<Sent> {
    let start = Time::ZERO + Duration::from_ps((asked.start_ms * 1e9) as i64);
    std::thread::sleep(clock.until(start));
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::TcpCongestion, &asked.congestion.as_str().into())?;
    socket.bind(&SocketAddr::from((NEAR, FIRST_PORT + number)).into())?;
    let begin = clock.now();
    socket.connect(&SocketAddr::from((FAR, PORT)).into())?;
    let stream: TcpStream = socket.into();
    stream.set_write_timeout(Some(Wall::from_millis(5)))?;
    let chunk = [0x55; CHUNK];
    let (mut left, mut samples, mut next) = (asked.bytes.unwrap_or(u64::MAX), Vec::new(), Time::ZERO);
    while left > 0 && (asked.bytes.is_some() || clock.now() < end) {
        let length = CHUNK.min(usize::try_from(left).unwrap_or(CHUNK));
        match (&stream).write(&chunk[..length]) {
            Ok(written) => left -= written as u64,
            Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
        if let Some(every) = every_ms
            && clock.now() >= next
        {
            let info = TcpInfo::of(&stream)?;
            let now = clock.now();
            samples.push(Sample {
                at_us: micros(now - start),
                window: info.window,
                in_flight: info.in_flight,
                srtt_us: micros(info.srtt),
            });
            next = now + Duration::from_ms(every);
        }
        if asked.bytes.is_some() && clock.now() > end + PATIENCE {
            break;
        }
    }
    stream.shutdown(Shutdown::Write)?;
    // The receiver closes when it has all.
    stream.set_read_timeout(Some(wall(PATIENCE)))?;
    if asked.bytes.is_some() {
        let _ = (&stream).read(&mut [0; 1]);
    }
    let again = TcpInfo::of(&stream)?.sent_again;
    Ok((begin, again, samples))
}

/// Receives all flows: bytes up to `end`, and when the last one came.
fn receive_all(
    listener: &TcpListener,
    flows: &[Asked],
    end: Time,
    clock: Clock,
) -> std::io::Result<Vec<(u64, Option<Time>)>> {
    std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for _ in flows {
            let (stream, peer) = listener.accept()?;
            let number = peer.port() - FIRST_PORT;
            let known = flows.get(usize::from(number)).is_some_and(|flow| flow.bytes.is_some());
            let until = if known { end + PATIENCE } else { end };
            receivers.push((number, scope.spawn(move || receive(&stream, end, until, clock))));
        }
        receivers.sort_by_key(|r| r.0);
        let joined = receivers.into_iter().map(|(_, r)| r.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        joined.collect()
    })
}

/// Receives a flow until its end or `until`. Bytes after `end` do not count.
fn receive(mut from: &TcpStream, end: Time, until: Time, clock: Clock) -> std::io::Result<(u64, Option<Time>)> {
    from.set_read_timeout(Some(Wall::from_millis(100)))?;
    let (mut buffer, mut bytes, mut in_time, mut last) = (vec![0; CHUNK], 0, 0, None);
    while clock.now() < until {
        match from.read(&mut buffer) {
            Ok(0) => return Ok((in_time, last)),
            Ok(length) => {
                let now = clock.now();
                bytes += length as u64;
                last = Some(now);
                if now <= end {
                    in_time = bytes;
                }
            }
            Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
    }
    Ok((in_time, None))
}
