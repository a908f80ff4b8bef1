//! Floods at the demand channel of running daemons: a stranger that connects as fast as it can, and
//! a host with a good certificate that sends as fast as it can, or claims the address of another
//! one. The others go on.

use crate::common::{Lab, Traffic, until};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use socket2::{Domain, Socket, Type};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::{controller_ip, controller_mac, host_mac};
use timeplane_live::channel::{Client, Event, Record};
use timeplane_live::clock;
use timeplane_live::keys::Identity;
use timeplane_live::notes::{Hello, Note};
use timeplane_model::{Backlog, Bytes, HostId};
use timeplane_protocol::wire::{Control, MacAddress, PORT};
use timeplane_protocol::{BacklogReport, Message};

fn controller() -> SocketAddr {
    SocketAddr::from((controller_ip(), PORT))
}

fn hello(host: u32, epoch: u32, mac: MacAddress) -> Note {
    let (mac, key, secret) = (mac.to_string(), "00".repeat(16), Some("00".repeat(32)));
    Note::Hello(Hello { host, epoch, mac, ip: None, key, secret, mtu: None })
}

/// A station without keys that connects to the controller as fast as it can.
struct Stranger {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl Stranger {
    /// In the place of a host.
    fn start(lab: &Lab, host: usize, threads: usize) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let connect = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_linger(Some(Wait::ZERO))?;
            socket.connect_timeout(&controller().into(), Wait::from_secs(5))?;
            Ok::<_, std::io::Error>(socket)
        };
        let start = |_| {
            let stop = Arc::clone(&stop);
            let work = move || {
                let (mut connects, mut held) = (0, Vec::new());
                while !stop.load(Relaxed) {
                    let Ok(socket) = connect() else { continue };
                    connects += 1;
                    held.push(socket);
                    if held.len() == 300 {
                        held.clear();
                    }
                }
                connects
            };
            // A thread keeps the namespace that it is started in.
            lab.hosts.fabric().hosts()[host].enter(|| std::thread::spawn(work)).unwrap()
        };
        Self { threads: (0..threads).map(start).collect(), stop }
    }
    fn end(self) -> u64 {
        self.stop.store(true, Relaxed);
        self.threads.into_iter().map(|t| t.join().unwrap()).sum()
    }
}

#[test]
fn agents_join_at_once_while_a_stranger_connects_as_fast_as_it_can() {
    let _turn = crate::turn();
    let mut lab = Lab::start("flo", 1, |p| p.status = true);
    let stranger = Stranger::start(&lab, 1, 2);
    let metric = |name: &str| lab.hosts.metrics(0).map_or(0.0, |m| m[name]);
    until("the stranger has its share", Wait::from_secs(30), || metric("channel_connections") > 300.0);
    let flooded = Instant::now();
    let mut times = Vec::new();
    for _ in 0..4 {
        let joined = lab.hosts.metrics(0).unwrap()["controller_joined"];
        lab.hosts.kill_agent(2);
        let began = Instant::now();
        lab.hosts.start_agent(2).unwrap();
        until("the agent has joined", Wait::from_secs(60), || {
            lab.hosts.metrics(0).is_ok_and(|m| m["controller_joined"] > joined)
        });
        times.push(began.elapsed());
    }
    let connects = stranger.end();
    let metrics = lab.hosts.metrics(0).unwrap();
    let of = |name: &str| metrics[&format!("channel_{name}")];
    println!("joins took {times:?} under {connects} connects of a stranger");
    let (late, turned_away) = (of("handshakes_late"), of("turned_away"));
    println!("too often {}, turned away {turned_away}, late {late}", of("too_often"));
    // No connection of an agent was given up: each said why it lost its first one.
    let log = lab.hosts.log("host-2");
    assert!(!log.contains("cannot connect"), "{log}");
    // However fast the stranger was, no more was admitted than is allowed to it and to the agents.
    let seconds = flooded.elapsed().as_secs_f64() + 32.0;
    assert!(of("connections") - of("too_often") <= 200.0 + 100.0 * seconds + 20.0);
    // An agent knows no other host before its controller has welcomed it.
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(1, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
}

/// A host with a good certificate that says what it likes, and does not listen.
struct Rogue(StreamOwned<ClientConnection, TcpStream>);

impl Rogue {
    fn join(lab: &Lab, host: u32) -> Self {
        let identity = Identity::load(lab.folder.join("keys"), &format!("host-{host}")).unwrap();
        let connect = || TcpStream::connect(controller()).unwrap();
        let stream = lab.hosts.fabric().hosts()[host as usize].enter(connect).unwrap();
        stream.set_write_timeout(Some(Wait::from_millis(500))).unwrap();
        let name = ServerName::try_from("controller-0").unwrap();
        Self(StreamOwned::new(ClientConnection::new(identity.client_config(), name).unwrap(), stream))
    }

    /// Writes for a while as fast as the controller reads. Returns the number of bytes, and whether
    /// the controller has closed the connection.
    fn flood(&mut self, bytes: &[u8], time: Wait) -> (u64, bool) {
        let (began, mut written) = (Instant::now(), 0);
        while began.elapsed() < time {
            match self.0.write(bytes) {
                Ok(n) => written += n as u64,
                Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
                Err(_) => return (written, true),
            }
        }
        (written, false)
    }
}

/// A record as on the wire: see `timeplane_live::channel`.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&(1 + content.len() as u32).to_be_bytes()[..], &[kind], content].concat()
}

fn note_record(note: &Note) -> Vec<u8> {
    record(0, serde_json::to_string(note).unwrap().as_bytes())
}

fn report_records(epoch: u32, sequence: u64) -> Vec<u8> {
    let backlog = Backlog::of_bytes([(HostId(0), Bytes::new(1 + sequence)), (HostId(1), Bytes::new(1))]);
    let report = BacklogReport { epoch, sequence, taken_at: clock::now(), obeys: 0, heard: 0, backlog };
    let control = Control::Message(Message::Report(Box::new(report)));
    let datagrams = control.encode().unwrap();
    datagrams.iter().flat_map(|d| record(1, &[&clock::now().as_ps().to_be_bytes()[..], d].concat())).collect()
}

#[test]
fn a_host_that_floods_the_controller_does_not_stop_the_others() {
    let _turn = crate::turn();
    let mut lab = Lab::start("fld", 1, |p| p.status = true);
    let epoch = lab.settled(2).epoch;
    lab.hosts.kill_agent(2);
    let of = |name: &str| lab.hosts.metrics(0).unwrap()[name];
    until("it has left", Wait::from_secs(20), || of("controller_left") >= 1.0);
    let traffic = Traffic::start(&lab, 1, &[(0, 1), (1, 0)], 60_000);
    let rate = |time: Wait| {
        let (streams, began) = (traffic.streams(), Instant::now());
        std::thread::sleep(time);
        (traffic.streams() - streams) as f64 / began.elapsed().as_secs_f64()
    };
    until("streams", Wait::from_secs(20), || traffic.streams() > 4);
    println!("alone: {:.0} streams/s", rate(Wait::from_secs(1)));

    let hello = note_record(&hello(2, epoch, host_mac(2)));
    let greet = hello.repeat(100);
    let reports: Vec<u8> = (1..200).flat_map(|sequence| report_records(epoch, sequence)).collect();
    let pings = record(2, &[]).repeat(2000);
    let long_note = record(0, format!("\"{}\"", "a".repeat(15_000)).as_bytes());
    for (what, bytes) in [("hellos", &greet), ("reports", &reports), ("pings", &pings), ("notes", &long_note)] {
        let before = lab.hosts.metrics(0).unwrap();
        let streams = traffic.streams();
        let began = Instant::now();
        let mut rogue = Rogue::join(&lab, 2);
        rogue.0.write_all(&hello).unwrap();
        let ((written, closed), during) = std::thread::scope(|scope| {
            let flood = scope.spawn(|| rogue.flood(bytes, Wait::from_millis(1500)));
            let during = rate(Wait::from_millis(1500));
            (flood.join().unwrap(), during)
        });
        let (seconds, after) = (began.elapsed().as_secs_f64() + 1.0, lab.hosts.metrics(0).unwrap());
        let since = |name: &str| after[name] - before[name];
        println!(
            "{what}: {written} B written, closed: {closed}; {during:.0} streams/s; joined {}, excess {}, reports {}, received {}, slowed {}",
            since("controller_joined"),
            since("controller_hellos_too_often"),
            since("controller_reports"),
            since("channel_received"),
            since("channel_slowed"),
        );
        // Whatever the machine's speed, the controller reads and does no more than is allowed.
        assert!(since("controller_joined") <= 20.0 + 2.0 * seconds, "{what}");
        // Reports of the two others come with every round.
        assert!(since("channel_received") <= 5000.0 * (seconds + 1.0) + 4000.0, "{what}");
        until("the others go on", Wait::from_secs(30), || traffic.streams() > streams + 4);
        drop(rogue);
    }
    // A busy machine may be too slow to flood with each of them.
    assert!(of("controller_hellos_too_often") > 0.0 && of("channel_slowed") >= 1.0);
    let log = lab.hosts.log("controller-0");
    assert!(log.contains("host 2 says hello too often") && log.contains("host-2 sends too much"), "{log}");
    assert!(log.lines().count() < 500, "{} lines", log.lines().count());
    traffic.stop();
    // Its true agent is welcome.
    lab.hosts.start_agent(2).unwrap();
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(2, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
}

/// A host that talks to the controller like an agent does.
struct Talker {
    client: Client,
    told: Receiver<Event>,
}

impl Talker {
    fn join(lab: &Lab, host: u32) -> Self {
        let identity = Identity::load(lab.folder.join("keys"), &format!("host-{host}")).unwrap();
        let (tell, told) = mpsc::channel();
        let start = || Client::start(controller(), "controller-0", &identity, move |e| drop(tell.send(e)));
        let client = lab.hosts.fabric().hosts()[host as usize].enter(start).unwrap().unwrap();
        let talker = Self { client, told };
        assert!(matches!(talker.next(), Event::Joined { .. }));
        talker
    }
    fn next(&self) -> Event {
        self.told.recv_timeout(Wait::from_secs(20)).expect("the controller answers")
    }
    /// Greets, and returns why that was refused.
    fn greet(&self, host: u32, epoch: u32, mac: MacAddress) -> Option<String> {
        let note = serde_json::to_value(hello(host, epoch, mac)).unwrap();
        self.client.send(Record::Note(note)).unwrap();
        loop {
            let Event::Note { note, .. } = self.next() else { continue };
            match serde_json::from_value(note) {
                Ok(Note::Refused(why)) => return Some(why),
                // The first list with this address is the answer.
                Ok(Note::Welcome(w)) if w.joined.iter().any(|j| j.host == host && j.mac == mac.to_string()) => {
                    return None;
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_host_cannot_claim_the_address_of_another_one() {
    let _turn = crate::turn();
    let mut lab = Lab::start("mac", 1, |p| p.status = true);
    let epoch = lab.settled(2).epoch;
    let left = |lab: &Lab, count: f64| {
        let left = || lab.hosts.metrics(0).unwrap()["controller_left"] >= count;
        until("it has left", Wait::from_secs(20), left);
    };
    lab.hosts.kill_agent(2);
    left(&lab, 1.0);
    let traffic = Traffic::start(&lab, 1, &[(0, 1), (1, 0)], 30_000);
    let rogue = Talker::join(&lab, 2);
    let why = rogue.greet(2, epoch, host_mac(0));
    let expected = format!("host 2 claims {}, the address of host 0, which is connected", host_mac(0));
    assert_eq!(why, Some(expected));
    let claims = [(controller_mac(), "this controller's address"), (MacAddress([0xff; 6]), "expected the address")];
    for (mac, expected) in claims {
        let why = rogue.greet(2, epoch, mac).expect("refused");
        assert!(why.contains(expected), "{why}");
    }
    // It has its own, and moves to a new interface.
    assert_eq!(rogue.greet(2, epoch, host_mac(2)), None);
    let moved = MacAddress([2, 0, 0, 0, 7, 7]);
    assert_eq!(rogue.greet(2, epoch, moved), None);
    let why = rogue.greet(2, epoch, host_mac(1)).expect("refused");
    assert!(why.contains("host 2") && why.contains("host 1"), "{why}");
    let streams = traffic.streams();
    until("the others keep their places", Wait::from_secs(20), || traffic.streams() > streams + 4);
    traffic.stop();
    assert_eq!(lab.violations(), 0);

    // The address is free once its holder has gone. The holder gets it back in the same way.
    lab.hosts.kill_agent(0);
    left(&lab, 2.0);
    assert_eq!(rogue.greet(2, epoch, host_mac(0)), None);
    lab.hosts.start_agent(0).unwrap();
    let refused = "refuses this host: host 0 claims";
    until("host 0 is told why", Wait::from_secs(20), || lab.hosts.log("host-0").contains(refused));
    drop(rogue);
    lab.hosts.start_agent(2).unwrap();
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(2, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
}
