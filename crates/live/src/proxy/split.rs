//! A relay that terminates TCP connections on the wired side and opens new ones towards the radio.
//!
//! The proxy can thereby steer the senders of the radio side.

use super::actuator::Actuator;
use super::connections::{Connections, Halves, SplitCounters};
use super::sockets::original_destination;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use timeplane_model::{Bytes, Duration};

/// Whoever waits for room looks so often whether the connection is still there.
const LOOK: std::time::Duration = std::time::Duration::from_millis(200);

/// Where connections go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// All to this address.
    Fixed(SocketAddr),
    /// Each to where it was meant to go before netfilter has turned it to this process: REDIRECT,
    /// or TPROXY where the listener is transparent. One that came here by itself is refused.
    Original,
}

/// How connections are split.
#[derive(Clone, Copy, Debug)]
pub struct SplitConfig {
    /// Where connections go.
    pub target: Target,
    /// Bytes that are read at a time in each direction: 64 KiB.
    pub buffer: Bytes,
    /// Bytes that the radio's side has from us and has not sent yet, about, while it is not
    /// steered: 128 KiB. A steered one has a window of them, 32 KiB to 1 MiB. What is more waits at
    /// who sent it: its window closes.
    pub unsent: Bytes,
    /// Connections at a time: 256. Each takes two threads.
    pub most: usize,
    /// How long a connection to the target may take to be made: 10 s.
    pub patience: Duration,
}

impl SplitConfig {
    /// The defaults above, for connections that all go to one address.
    pub fn to(target: SocketAddr) -> Self {
        Self::towards(Target::Fixed(target))
    }

    /// The defaults above.
    pub fn towards(target: Target) -> Self {
        let (buffer, unsent) = (Bytes::new(64 << 10), Bytes::new(128 << 10));
        Self { target, buffer, unsent, most: 256, patience: Duration::from_secs(10) }
    }
}

/// A relay at work. When dropped, it takes no connections any more and resets those that are open.
#[derive(Debug)]
pub struct SplitProxy {
    connections: Arc<Connections>,
    listener: Arc<TcpListener>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SplitProxy {
    /// Starts it on the calling thread's network namespace. The sockets of the radio's side are the
    /// actuator's from their begin.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(listener: TcpListener, config: SplitConfig, actuator: Arc<Actuator>) -> io::Result<Self> {
        let (connections, listener) = (Arc::new(Connections::default()), Arc::new(listener));
        let stop = Arc::new(AtomicBool::new(false));
        let relay = Relay {
            connections: connections.clone(),
            listener: listener.clone(),
            stop: stop.clone(),
            config,
            actuator,
        };
        let thread = std::thread::Builder::new().name("split".to_owned()).spawn(move || relay.accept())?;
        Ok(Self { connections, listener, stop, thread: Some(thread) })
    }

    /// The list of split connections.
    pub fn connections(&self) -> Arc<Connections> {
        self.connections.clone()
    }

    /// What it has counted.
    pub fn counters(&self) -> SplitCounters {
        self.connections.counters()
    }
}

impl Drop for SplitProxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes who accepts.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        for halves in self.connections.open().values() {
            halves.reset();
        }
        if let Some(thread) = self.thread.take() {
            // Nobody is left to be told of its panic.
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Relay {
    connections: Arc<Connections>,
    listener: Arc<TcpListener>,
    stop: Arc<AtomicBool>,
    config: SplitConfig,
    actuator: Arc<Actuator>,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Relay {
    fn accept(self) {
        let mut threads: BTreeMap<u32, JoinHandle<()>> = BTreeMap::new();
        let mut number = 0_u32;
        while !self.stop.load(Ordering::Relaxed) {
            let wired = match self.listener.accept() {
                Ok((wired, _)) => wired,
                // Out of descriptors, or a peer that has gone already: the next one may do better.
                Err(_) if !self.stop.load(Ordering::Relaxed) => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                    continue;
                }
                Err(_) => break,
            };
            count(&self.connections.tallies.accepted);
            threads.retain(|_, thread| !thread.is_finished());
            if threads.len() >= self.config.most {
                count(&self.connections.tallies.too_many);
                let _ = SockRef::from(&wired).set_linger(Some(std::time::Duration::ZERO));
                continue;
            }
            let (relay, this) = (self.clone(), number);
            let name = format!("split {this}");
            let spawned = std::thread::Builder::new().name(name).spawn(move || relay.carry(this, wired));
            match spawned {
                Ok(thread) => drop(threads.insert(this, thread)),
                Err(_) => count(&self.connections.tallies.too_many),
            }
            number = number.wrapping_add(1);
        }
        for thread in threads.into_values() {
            let _ = thread.join();
        }
    }

    /// A connection to the target whose window is the actuator's.
    fn connect(&self, wired: &TcpStream) -> io::Result<TcpStream> {
        let target = match self.config.target {
            Target::Fixed(target) => target,
            Target::Original => original_destination(wired, self.listener.local_addr()?)?,
        };
        let socket = Socket::new(Domain::for_address(target), Type::STREAM, Some(Protocol::TCP))?;
        self.actuator.adopt(&socket)?;
        socket.connect_timeout(&target.into(), super::clock::wall(self.config.patience))?;
        Ok(TcpStream::from(socket))
    }

    fn carry(self, number: u32, wired: TcpStream) {
        let tallies = &self.connections.tallies;
        let ready = |radio: TcpStream| {
            for half in [&wired, &radio] {
                half.set_nodelay(true)?;
                half.set_write_timeout(Some(LOOK))?;
            }
            Ok(radio)
        };
        let radio = match self.connect(&wired).and_then(ready) {
            Ok(radio) => radio,
            Err(_) => {
                count(&tallies.unreachable);
                let _ = SockRef::from(&wired).set_linger(Some(std::time::Duration::ZERO));
                return;
            }
        };
        let unsent = u32::try_from(self.config.unsent.get()).unwrap_or(u32::MAX);
        let halves = Arc::new(Halves::new(wired, radio, unsent));
        // Where the kernel takes no bound, its own buffers are one.
        let _ = halves.bound_unsent(None);
        self.connections.insert(number, halves.clone());
        // Who was told to end before the connection was listed has not been seen.
        if self.stop.load(Ordering::Relaxed) {
            halves.reset();
        }
        let size = usize::try_from(self.config.buffer.get()).unwrap_or(usize::MAX).clamp(1 << 10, 1 << 24);
        let (up, down) = std::thread::scope(|scope| {
            let back = scope.spawn(|| pump(&halves, &halves.radio, &halves.wired, size, &tallies.from_radio));
            let there = pump(&halves, &halves.wired, &halves.radio, size, &tallies.to_radio);
            (there, back.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
        });
        count(if up.is_ok() && down.is_ok() { &tallies.finished } else { &tallies.broken });
        self.connections.remove(number);
    }
}

/// Copies from one half to the other until there is no more, and says so there. An error ends both
/// directions.
fn pump(halves: &Halves, from: &TcpStream, to: &TcpStream, size: usize, bytes: &AtomicU64) -> io::Result<()> {
    let copy = || {
        let mut from = from;
        let mut buffer = vec![0; size];
        loop {
            let length = match from.read(&mut buffer) {
                Ok(0) if halves.is_broken() => return Err(io::ErrorKind::ConnectionAborted.into()),
                Ok(0) => return to.shutdown(Shutdown::Write),
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            write(halves, to, &buffer[..length], bytes)?;
        }
    };
    let done = copy();
    if done.is_err() {
        halves.reset();
    }
    done
}

/// Writes all of it, unless the connection breaks meanwhile.
fn write(halves: &Halves, mut to: &TcpStream, mut rest: &[u8], bytes: &AtomicU64) -> io::Result<()> {
    while !rest.is_empty() {
        match to.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => {
                rest = &rest[length..];
                bytes.fetch_add(length as u64, Ordering::Relaxed);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // It waits on, as long as there is somebody to wait for.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && !halves.is_broken() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(target: SocketAddr, change: impl FnOnce(&mut SplitConfig)) -> (SplitProxy, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = SplitConfig::to(target);
        change(&mut config);
        (SplitProxy::start(listener, config, Arc::new(Actuator::None)).unwrap(), address)
    }

    fn eventually(what: impl Fn() -> bool) {
        for _ in 0..3000 {
            if what() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("it did not happen in 30 s");
    }

    #[test]
    fn each_side_may_end_before_the_other() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let (proxy, address) = start(target.local_addr().unwrap(), |_| {});
        let mut client = TcpStream::connect(address).unwrap();
        let (mut server, _) = target.accept().unwrap();
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"question");
        // The other direction is still open.
        server.write_all(b"an answer").unwrap();
        drop(server);
        heard.clear();
        client.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"an answer");
        eventually(|| proxy.counters().finished == 1);
        let SplitCounters { accepted, broken, to_radio, from_radio, .. } = proxy.counters();
        assert_eq!((accepted, broken, to_radio, from_radio), (1, 0, 8, 9));
        assert!(proxy.connections().open().is_empty());
    }

    #[test]
    fn who_reads_nothing_stops_who_sends() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let (proxy, address) = start(target.local_addr().unwrap(), |_| {});
        let client = TcpStream::connect(address).unwrap();
        let (mut server, _) = target.accept().unwrap();
        client.set_nonblocking(true).unwrap();
        // Far more than all buffers on the way can have.
        let (mut sent, chunk) = (0_u64, vec![7; 1 << 16]);
        let mut still = 0;
        while sent < 1 << 30 && still < 50 {
            match (&client).write(&chunk) {
                Ok(length) => (sent, still) = (sent + length as u64, 0),
                Err(_) => {
                    still += 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
            }
        }
        assert!(sent < 1 << 28, "{sent} B were taken from a sender whom nobody reads");
        client.shutdown(Shutdown::Write).unwrap();
        let received = std::io::copy(&mut server, &mut std::io::sink()).unwrap();
        assert_eq!(received, sent);
        eventually(|| proxy.counters().to_radio == sent);
    }

    #[test]
    fn an_error_on_one_side_is_one_on_the_other() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let (proxy, address) = start(target.local_addr().unwrap(), |_| {});
        let mut client = TcpStream::connect(address).unwrap();
        let (mut server, _) = target.accept().unwrap();
        // Something has to get through first: a target that resets at once may count as one that
        // was not reached.
        client.write_all(b"x").unwrap();
        server.read_exact(&mut [0]).unwrap();
        SockRef::from(&server).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(server);
        let end = client.read(&mut [0; 9]);
        assert_eq!(end.map_err(|e| e.kind()), Err(io::ErrorKind::ConnectionReset), "not an end as if all had come");
        eventually(|| proxy.counters().broken == 1);
    }

    #[test]
    fn what_cannot_be_carried_is_refused_and_counted() {
        // A port that was just free has no listener.
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (proxy, address) = start(nobody, |_| {});
        assert!(TcpStream::connect(address).unwrap().read(&mut [0; 9]).is_err());
        eventually(|| proxy.counters().unreachable == 1);
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let (proxy, address) = start(target.local_addr().unwrap(), |config| config.most = 1);
        let _first = TcpStream::connect(address).unwrap();
        let _there = target.accept().unwrap();
        assert!(TcpStream::connect(address).unwrap().read(&mut [0; 9]).is_err());
        eventually(|| proxy.counters().too_many == 1);
        // Whoever ends the relay ends its connections.
        let mut first = _first;
        drop(proxy);
        assert!(first.read(&mut [0; 9]).is_err());
        assert!(TcpStream::connect(address).is_err());
    }
}
