//! With `scope = "all"` the gate holds all traffic except what keeps a host reachable: SSH and ARP
//! pass, whatever the daemons do.

use crate::common::{Lab, Traffic, pairs, until};
use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, libc, sockopt_impl};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::host_ip;
use timeplane_live::gate::{SafeState, Scope};
use timeplane_live::netns::Namespace;

mod option {
    use super::*;
    sockopt_impl!(
        /// What the kernel knows of a connection (tcp(7)).
        TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, libc::tcp_info);
}

/// Takes connections at a port of a host and says back what they say, until the test ends. Returns
/// the connections so far.
fn echo(host: &Namespace, port: u16) -> Arc<Mutex<Vec<TcpStream>>> {
    let listener = host.enter(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap()).unwrap();
    let taken = Arc::<Mutex<Vec<TcpStream>>>::default();
    let taken_by_thread = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            taken_by_thread.lock().unwrap().push(stream.try_clone().unwrap());
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.set_nodelay(true);
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..n]).is_err() {
                        return;
                    }
                }
                let _ = stream.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    taken
}

/// A connection as somebody has it who types: a byte every 2 ms, and its echo.
struct Typing {
    stream: TcpStream,
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    writer: Option<std::thread::JoinHandle<()>>,
    reader: Option<std::thread::JoinHandle<(u64, Wait)>>,
}

impl Typing {
    fn start(host: &Namespace, to: SocketAddr) -> Self {
        let stream = host.enter(|| TcpStream::connect_timeout(&to, Wait::from_secs(5)).unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Wait::from_secs(10))).unwrap();
        let (stop, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (mut out, mut back) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&sent));
        let writer = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                out.write_all(&[count.load(Relaxed) as u8]).unwrap();
                count.fetch_add(1, Relaxed);
                std::thread::sleep(Wait::from_millis(2));
            }
            out.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let reader = std::thread::spawn(move || {
            let (mut read, mut longest, mut last, mut buffer) = (0u64, Wait::ZERO, Instant::now(), [0; 4096]);
            loop {
                let n = back.read(&mut buffer).expect("an echo within ten seconds");
                if n == 0 {
                    return (read, longest);
                }
                for byte in &buffer[..n] {
                    assert_eq!(*byte, read as u8, "byte {read}");
                    read += 1;
                }
                longest = longest.max(last.elapsed());
                last = Instant::now();
            }
        });
        Self { stream, stop, sent, writer: Some(writer), reader: Some(reader) }
    }
    fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }
    /// How many bytes there were, and the longest silence. The connection stays.
    fn end(mut self) -> (u64, Wait, TcpStream) {
        self.stop.store(true, Relaxed);
        self.writer.take().map_or(Ok(()), |w| w.join()).unwrap();
        let (read, longest) = self.reader.take().map(|r| r.join().unwrap()).unwrap();
        assert_eq!(read, self.sent(), "every byte came back");
        (read, longest, self.stream)
    }
}

/// How many segments an end has sent again, and how many of them had arrived already, as the other
/// end says (RFC 2883).
fn sent_again(end: &TcpStream) -> (u32, u32) {
    let info = getsockopt(end, option::TcpInfo).unwrap();
    (info.tcpi_total_retrans, info.tcpi_dsack_dups)
}

/// Whether a connection to the port that is not allowed comes about.
fn gets_through(host: &Namespace, to: SocketAddr, within: Wait) -> bool {
    host.enter(|| TcpStream::connect_timeout(&to, within).is_ok()).unwrap()
}

/// Whether ARP finds a host of whom nothing is known any more.
fn arp(lab: &Lab, from: usize, to: u16) -> bool {
    let (host, ip) = (&lab.hosts.fabric().hosts()[from], host_ip(to));
    host.ip(&format!("neigh del {ip} dev eth0")).unwrap();
    // Whatever asks for an address; what it wants to send then is stopped.
    host.enter(|| std::net::UdpSocket::bind("0.0.0.0:0").unwrap().send_to(&[0], (ip, 9)).unwrap()).unwrap();
    let found = || host.ip(&format!("neigh show {ip} dev eth0")).unwrap().contains("lladdr");
    let began = Instant::now();
    while !found() && began.elapsed() < Wait::from_secs(5) {
        std::thread::sleep(Wait::from_millis(5));
    }
    found()
}

#[test]
fn ssh_and_arp_never_stop_where_all_other_traffic_waits() {
    let _turn = crate::turn();
    let mut lab = Lab::start("all", 1, |p| {
        p.scope = Scope::All;
        p.safe = SafeState::Closed;
    });
    let to = |host: u16, port: u16| SocketAddr::from((host_ip(host), port));
    let echoing = echo(&lab.hosts.fabric().hosts()[1], 22);
    echo(&lab.hosts.fabric().hosts()[1], 8080);
    let typing = Typing::start(&lab.hosts.fabric().hosts()[0], to(1, 22));
    let typed = |most: u64, what: &str| {
        let from = typing.sent();
        until(what, Wait::from_secs(20), || typing.sent() >= from + most);
    };
    // From another host, so that what is sent again without an end is counted there.
    let stopped = |lab: &Lab, what: &str| {
        let host = &lab.hosts.fabric().hosts()[2];
        assert!(!gets_through(host, to(1, 8080), Wait::from_millis(600)), "{what}: port 8080 is not allowed");
        assert!(arp(lab, 2, 0) && arp(lab, 0, 2), "{what}: ARP");
    };

    let traffic = Traffic::start(&lab, 1, &pairs(), 60_000);
    typed(400, "typing while slots run");
    stopped(&lab, "slots");
    assert!(traffic.stop() > 0, "streams are delivered in their slots");
    let gated = lab.settled(2).gate;
    assert!(gated.gated > 0 && lab.settled(0).gate.allowed > 0, "{gated:?}");

    lab.hosts.kill_controller(0);
    // The lease is half a second.
    std::thread::sleep(Wait::from_millis(700));
    typed(400, "typing without a controller");
    stopped(&lab, "after the lease");

    for host in 0..3 {
        lab.hosts.kill_agent(host);
    }
    typed(400, "typing without agents");
    stopped(&lab, "without agents");
    let (bytes, longest, typed) = typing.end();
    println!("{bytes} bytes and their echoes, longest silence {longest:?}");
    // A busy machine is late, and TCP sends again what has arrived. What a gate stops has not.
    for (end, at) in [(typed, "typing"), (echoing.lock().unwrap()[0].try_clone().unwrap(), "echoing")] {
        until("all that was sent again had arrived", Wait::from_secs(10), || {
            let (again, arrived) = sent_again(&end);
            again <= arrived
        });
        println!("{at}: segments sent again, and those of them that had arrived: {:?}", sent_again(&end));
    }

    // What agents have left behind is taken away.
    for host in lab.hosts.fabric().hosts() {
        let released = host.command(env!("CARGO_BIN_EXE_timeplane-lab")).args(["release", "eth0"]).output().unwrap();
        assert!(released.status.success(), "{}", String::from_utf8_lossy(&released.stderr));
    }
    assert!(gets_through(&lab.hosts.fabric().hosts()[2], to(1, 8080), Wait::from_secs(10)), "released");
    let again =
        lab.hosts.fabric().hosts()[2].command(env!("CARGO_BIN_EXE_timeplane-lab")).args(["release", "eth0"]).output();
    assert!(!again.unwrap().status.success(), "there is nothing left to release");
}
