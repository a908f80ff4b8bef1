//! Interfaces that get another MTU below programs that know nothing of it: the kernel's TCP and UDP
//! over the TUN interfaces of two hosts.

use crate::common::place::PROGRAM;
use crate::common::until;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration as Wait;
use timeplane_lab::unmodified::Lab;
use timeplane_live::netns::Namespace;

/// Echoes a connection, and says of each datagram how long it was.
const SERVER: &str = "import socket, threading\n\
    def udp():\n    \
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 7001))\n    \
        while True:\n        \
            d, a = s.recvfrom(4000); s.sendto(str(len(d)).encode(), a)\n\
    threading.Thread(target=udp, daemon=True).start()\n\
    c, _ = socket.create_server(('', 7000)).accept()\n\
    for d in iter(lambda: c.recv(65536), b''): c.sendall(d)";

/// Does what it reads, a line each, and prints a line:
/// - `echo N`: N bytes over its one connection and back; how many were right, and the MSS.
/// - `probe N`: datagrams of N bytes that forbid fragments until the kernel refuses one; its MTU.
/// - `send MODE N`: a datagram of N bytes, again and again until it has arrived; its length there.
const CLIENT: &str = "import os, socket, sys, threading, time\n\
    to = sys.argv[1]\n\
    c = socket.create_connection((to, 7000), 60)\n\
    def datagrams(mode):\n    \
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    \
        s.setsockopt(socket.IPPROTO_IP, 10, mode); s.connect((to, 7001)); s.settimeout(0.1)\n    \
        return s\n\
    def echo(n):\n    \
        sent, back = os.urandom(n), bytearray()\n    \
        threading.Thread(target=c.sendall, args=(sent,)).start()\n    \
        while len(back) < n: back += c.recv(65536) or sys.exit('closed')\n    \
        return sum(a == b for a, b in zip(sent, back)), c.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)\n\
    def probe(n):\n    \
        s = datagrams(2)\n    \
        for _ in range(300):\n        \
            try: s.send(bytes(n))\n        \
            except OSError as e:\n            \
                if e.errno == 90: return (s.getsockopt(socket.IPPROTO_IP, 14),)\n        \
            time.sleep(0.05)\n    \
        return (0,)\n\
    def send(mode, n):\n    \
        s = datagrams(mode)\n    \
        for _ in range(300):\n        \
            try: s.send(bytes(n)); return (int(s.recv(100)),)\n        \
            except TimeoutError: pass\n    \
        return (0,)\n\
    for line in sys.stdin:\n    \
        what, *n = line.split()\n    \
        print(*globals()[what](*map(int, n)), flush=True)";

/// A process that answers each line with one.
struct Asked {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Asked {
    fn ask(&mut self, line: &str) -> Vec<u64> {
        writeln!(self.to, "{line}").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        println!("{line}: {}", answer.trim());
        answer.split_whitespace().map(|n| n.parse().unwrap()).collect()
    }
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `IP_PMTUDISC_INTERFACE`: the kernel looks at the interface's MTU alone, and allows fragments.
const MAY_FRAGMENT: u32 = 4;
/// `IP_PMTUDISC_PROBE`: no fragments, and whatever the kernel knows of the path.
const WHOLE: u32 = 3;

#[test]
fn programs_keep_up_with_mtus_that_change() {
    let _turn = crate::turn();
    let mut lab = Lab::start(Path::new(PROGRAM), &format!("tpmtu{}", std::process::id()), "rates").unwrap();
    let hosts = [0, 1].map(|h: usize| Namespace::of_nobody(lab.hosts.fabric().hosts()[h].name()));
    let interface = |host: usize, mtu: u32| drop(hosts[host].ip(&format!("link set eth0 mtu {mtu}")).unwrap());
    let tun = |host: usize| -> u32 {
        let shown = hosts[host].ip("-o link show tp0").unwrap();
        let mut words = shown.split_whitespace().skip_while(|w| *w != "mtu");
        words.nth(1).unwrap().parse().unwrap()
    };
    let count = |lab: &Lab, what: &str| lab.settled(0).unwrap().streams[what].as_u64().unwrap();
    // Header and tag of a frame take 46 B of each packet, IP and TCP with timestamps 52 B.
    assert_eq!((tun(0), tun(1)), (1454, 1454));
    let mut server = hosts[1].command("python3");
    let server = server.args(["-c", SERVER]).stdin(Stdio::null()).spawn().unwrap();
    let _server = Ended(server);
    std::thread::sleep(Wait::from_millis(500));
    let mut client = hosts[0].command("python3");
    let client = client.args(["-c", CLIENT, "10.99.0.2"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = client.spawn().unwrap();
    let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
    let mut client = Asked { process, to, from };
    assert_eq!(client.ask("echo 200000"), [200_000, 1402]);
    assert_eq!(client.ask(&format!("send {WHOLE} 1426")), [1426]);
    assert_eq!((count(&lab, "packets_too_long"), count(&lab, "packets_fragmented")), (0, 0));

    // Another host's interface takes less. Nothing here has changed but what its agent has told.
    interface(1, 1400);
    until("the other TUN interface follows", Wait::from_secs(20), || tun(1) == 1354);
    assert_eq!(client.ask("probe 1426"), [1354], "the kernel knows what fits");
    assert_eq!(client.ask(&format!("send {MAY_FRAGMENT} 1426")), [1426], "whole, from fragments");
    assert_eq!(client.ask("echo 200000"), [200_000, 1302], "on the same connection");
    assert_eq!(tun(0), 1454);
    assert!(count(&lab, "packets_too_long") > 0 && count(&lab, "packets_fragmented") > 0);

    // This host's own interface takes still less.
    interface(0, 1300);
    until("the TUN interface follows", Wait::from_secs(20), || tun(0) == 1254);
    assert_eq!(client.ask("probe 1240"), [1254]);
    assert_eq!(client.ask("echo 200000"), [200_000, 1202], "on the same connection");

    // All is as before. What the kernel has learned of the path may stay for ten minutes.
    interface(0, 1500);
    interface(1, 1500);
    until("the TUN interfaces follow", Wait::from_secs(20), || (tun(0), tun(1)) == (1454, 1454));
    let again = count(&lab, "packets_too_long");
    assert_eq!(client.ask(&format!("send {WHOLE} 1426")), [1426]);
    assert_eq!(client.ask("echo 200000")[0], 200_000);
    assert_eq!(count(&lab, "packets_too_long"), again);
    drop(Ended(client.process));

    // An agent that starts at a short interface has a short TUN interface at once.
    interface(0, 1400);
    lab.hosts.stop_agent(0);
    lab.hosts.start_agent(0).unwrap();
    assert_eq!(tun(0), 1354);
}
