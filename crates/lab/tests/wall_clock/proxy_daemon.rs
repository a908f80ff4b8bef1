//! `timeplane live proxy` at an edge between two hosts: redirected connections reach their original
//! destination. Needs root and nft.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration as Wait, Instant};
use timeplane_lab::proxy::{AccessPoint, AccessPointConfig, RateTrace};
use timeplane_live::netns::{Namespace, veth};
use timeplane_live::proxy::Clock;
use timeplane_model::{Duration, LinkId, Rate};
use timeplane_protocol::{LinkReporterConfig, QueueSample};

const PROGRAM: &str = env!("CARGO_BIN_EXE_timeplane-lab");
const PATIENCE: Wait = Wait::from_secs(20);

/// A client, an edge that forwards, and a server behind it.
struct Edge {
    client: Namespace,
    edge: Namespace,
    server: Namespace,
}

impl Edge {
    fn new(test: &str) -> Self {
        let prefix = format!("tpd{test}{}", std::process::id());
        let [client, edge, server] = ["c", "e", "s"].map(|l| Namespace::create(&format!("{prefix}{l}")).unwrap());
        veth((&client, "eth0", "02:00:00:00:96:01"), (&edge, "wire", "02:00:00:00:96:02")).unwrap();
        veth((&edge, "radio", "02:00:00:00:96:03"), (&server, "eth0", "02:00:00:00:96:04")).unwrap();
        for (namespace, device, address) in [
            (&client, "eth0", "10.96.0.1"),
            (&edge, "wire", "10.96.0.2"),
            (&edge, "radio", "10.97.0.1"),
            (&server, "eth0", "10.97.0.2"),
        ] {
            namespace.ip(&format!("addr add {address}/24 dev {device}")).unwrap();
        }
        client.ip("route add default via 10.96.0.2").unwrap();
        server.ip("route add default via 10.97.0.1").unwrap();
        let forward = edge.command("sysctl").args(["-qw", "net.ipv4.ip_forward=1"]).status().unwrap();
        assert!(forward.success());
        Self { client, edge, server }
    }
    fn nft(&self, rules: &str) {
        let mut nft =
            self.edge.command("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("nft: install.sh");
        nft.stdin.take().unwrap().write_all(rules.as_bytes()).unwrap();
        assert!(nft.wait().unwrap().success(), "{rules}");
    }
    fn proxy(&self, arguments: &[&str]) -> Proxy {
        let mut command = self.edge.command(PROGRAM);
        command.args(["proxy", "--listen", "0.0.0.0:5001", "--every", "1"]).args(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // Whether it listens is read, not tried: a connection that tries could be handed on to the
        // server late, and be taken there for the one that the test opens.
        let began = Instant::now();
        while !self.edge.enter(|| listens(5001)).unwrap() {
            assert!(began.elapsed() < PATIENCE, "it does not listen");
            std::thread::sleep(Wait::from_millis(20));
        }
        Proxy(child)
    }
    /// Sends bytes from the client to the server and back through whatever is between them; who the
    /// server took it for.
    fn exchange(&self, port: u16) -> IpAddr {
        let to = SocketAddr::from(([10, 97, 0, 2], port));
        let listener = self.server.enter(|| TcpListener::bind(to).unwrap()).unwrap();
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let server = std::thread::spawn(move || {
            let (mut stream, from) = listener.accept().unwrap();
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            stream.write_all(&got).unwrap();
            from.ip()
        });
        let mut stream = self.client.enter(|| TcpStream::connect(to).unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), to, "the client knows nothing of it");
        stream.write_all(&bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        assert!(back == bytes, "{} bytes came back", back.len());
        server.join().unwrap()
    }
}

/// Whether something listens at a TCP port in the namespace of this thread: state 0A (listen) in
/// the kernel's table, which has the local address as its second column and the state as its
/// fourth.
fn listens(port: u16) -> bool {
    let sockets = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    sockets.lines().skip(1).any(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        columns[1].ends_with(&format!(":{port:04X}")) && columns[3] == "0A"
    })
}

/// The program; it is killed where a test fails.
struct Proxy(Child);

impl Proxy {
    /// Waits until it says, as it does once a second, that so many connections have finished: both
    /// ends know it before the proxy does. Then tells it to end; what it has counted.
    fn end_after(mut self, finished: u64) -> serde_json::Value {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        let counted = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let began = Instant::now();
        while counted(&lines.next().expect("it counts"))["finished"].as_u64() < Some(finished) {
            assert!(began.elapsed() < PATIENCE, "{finished} connections do not finish");
        }
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
        let last = lines.last().expect("it counts at its end");
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
        counted(&last)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const TO_THE_EDGE: &str = "10.97.0.1";

#[test]
fn what_is_turned_to_it_goes_where_it_was_meant_to_go() {
    let _turn = crate::turn();
    let edge = Edge::new("r");
    assert_eq!(edge.exchange(7000).to_string(), "10.96.0.1", "without a proxy the edge forwards");
    let proxy = edge.proxy(&["--original-destination"]);
    edge.nft("table ip turn { chain in { type nat hook prerouting priority dstnat; iifname wire tcp dport 7000-7001 redirect to :5001; }; }");
    for port in [7000, 7001] {
        assert_eq!(edge.exchange(port).to_string(), TO_THE_EDGE, "the proxy's own connection");
    }
    assert_eq!(edge.exchange(7002).to_string(), "10.96.0.1", "others pass");
    // Who comes by himself is meant for nobody: there is no loop.
    let mut direct = edge.client.enter(|| TcpStream::connect("10.96.0.2:5001").unwrap()).unwrap();
    direct.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(direct.read(&mut [0]).is_err(), "a reset");
    let counted = proxy.end_after(2);
    assert_eq!(
        (&counted["finished"], &counted["unreachable"], &counted["accepted"]),
        (&2.into(), &1.into(), &3.into())
    );
    assert_eq!((&counted["bytes_to_radio"], &counted["bytes_from_radio"]), (&2_000_000.into(), &2_000_000.into()));
}

#[test]
fn what_tproxy_gives_it_goes_where_it_was_meant_to_go() {
    let _turn = crate::turn();
    let edge = Edge::new("t");
    let proxy = edge.proxy(&["--original-destination", "--transparent"]);
    edge.edge.ip("rule add fwmark 1 lookup 100").unwrap();
    edge.edge.ip("route add local 0.0.0.0/0 dev lo table 100").unwrap();
    edge.nft(
        "table ip turn { chain in { type filter hook prerouting priority mangle; iifname wire tcp dport 7000 tproxy to :5001 meta mark set 1 accept; }; }",
    );
    assert_eq!(edge.exchange(7000).to_string(), TO_THE_EDGE);
    assert_eq!(proxy.end_after(1)["finished"], 1);
}

#[test]
fn windows_towards_the_radio_follow_reports() {
    let _turn = crate::turn();
    let edge = Edge::new("w");
    let (reports, access_point) = ("127.0.0.1:6001", "127.0.0.1:6002");
    let policy =
        ["--policy", "reactive", "--reports", reports, "--access-point", access_point, "--rates", "50 Mb/s,100 Mb/s"];
    let proxy = edge.proxy(&[&["--to", "10.97.0.2:7000"][..], &policy[..]].concat());
    let trace = Arc::new(RateTrace::steps(&[(Duration::from_ms(100), Rate::mbps(100))]).unwrap());
    let socket = edge.edge.enter(|| std::net::UdpSocket::bind(access_point).unwrap()).unwrap();
    let reporter = LinkReporterConfig { link: LinkId(0), epoch: 1, keep_alive: Duration::from_ms(20) };
    let config = AccessPointConfig { reporter, proxy: reports.parse().unwrap(), delay: Duration::ZERO };
    let point = AccessPoint::start(socket, config, trace, QueueSample::default, Clock::start()).unwrap();
    let listener = edge.server.enter(|| TcpListener::bind("10.97.0.2:7000").unwrap()).unwrap();
    let mut client = edge.client.enter(|| TcpStream::connect("10.96.0.2:5001").unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    // It is open for as long as reports take to be heard.
    let began = Instant::now();
    while point.reports() < 10 {
        assert!(began.elapsed() < PATIENCE);
        client.write_all(&[7; 100]).unwrap();
        server.read_exact(&mut [0; 100]).unwrap();
        std::thread::sleep(Wait::from_millis(10));
    }
    let counted = proxy.end_after(0);
    let number = |key: &str| counted[key].as_u64().unwrap_or_else(|| panic!("{key} in {counted}"));
    assert!(number("reports") >= 5 && number("orders") >= 1 && number("orders_failed") == 0, "{counted}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let _turn = crate::turn();
    for (arguments, said) in [
        (&["proxy", "--listen", "127.0.0.1:0"][..], "--to <ADDRESS>"),
        (&["proxy"], "--listen <ADDRESS>"),
        (
            &["proxy", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--policy", "best"],
            "expected one of reactive, proactive, predicted",
        ),
    ] {
        let out = Command::new(PROGRAM).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && stderr.contains(said), "{stderr}");
    }
}
