//! Tests of the demand channel: authentication, reconnection, lost peers and full queues.
//!
//! Server and clients run on loopback; some tests speak TLS themselves to send invalid records.

use super::*;
use crate::keys::{Authority, Identity};
use crate::scratch::Scratch;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_model::{Backlog, Bytes, HostId};
use timeplane_protocol::{BacklogReport, Message};

/// Long enough for a machine that does something else; only what fails takes so long.
const PATIENCE: Wait = Wait::from_secs(30);

/// Nothing happens by itself but pings, unless a test says so.
fn timing() -> Timing {
    Timing { silence: Duration::from_secs(20), handshake: Duration::from_secs(20), ..Timing::default() }
}

struct Keys {
    dir: Scratch,
    authority: Authority,
}

impl Keys {
    fn new(name: &str) -> Self {
        let dir = Scratch::new(&format!("channel-{name}"));
        let authority = Authority::create(dir.path()).unwrap();
        Self { dir, authority }
    }
    fn of(&self, name: &str) -> Identity {
        if !self.dir.join(&format!("{name}.pem")).exists() {
            self.authority.issue(name).unwrap();
        }
        Identity::load(self.dir.path(), name).unwrap()
    }
}

struct Events(Receiver<Event>);

impl Events {
    fn new() -> (impl Fn(Event) + Send + Sync + 'static, Self) {
        let (send, receive) = channel();
        // Nobody listens any more where a test is over.
        (move |event| drop(send.send(event)), Self(receive))
    }
    fn next(&self) -> Event {
        self.0.recv_timeout(PATIENCE).expect("an event")
    }
    fn joined(&self) -> (PeerId, String) {
        match self.next() {
            Event::Joined { peer, name } => (peer, name),
            other => panic!("{other:?}"),
        }
    }
    fn note(&self) -> Value {
        match self.next() {
            Event::Note { note, .. } => note,
            other => panic!("{other:?}"),
        }
    }
    fn left(&self) -> (PeerId, String) {
        match self.next() {
            Event::Left { peer, why } => (peer, why),
            other => panic!("{other:?}"),
        }
    }
    fn nothing(&self) {
        assert_eq!(self.0.try_recv().map_err(|_| ()).map(|e| format!("{e:?}")), Err(()));
    }
}

fn start(keys: &Keys, timing: Timing) -> (Server, Events) {
    let (on_event, events) = Events::new();
    let listen = "127.0.0.1:0".parse().unwrap();
    (Server::start_with(listen, &keys.of("controller-0"), timing, on_event).unwrap(), events)
}

fn connect(server: &Server, identity: &Identity, timing: Timing) -> (Client, Events) {
    let (on_event, events) = Events::new();
    (Client::start_with(server.address(), "controller-0", identity, timing, on_event).unwrap(), events)
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Wait::from_millis(5));
    }
}

fn report(sequence: u64, destinations: u32) -> Control {
    let waits = |host| (HostId(host), Bytes::new(1 + sequence + u64::from(host)));
    let backlog = Backlog::of_bytes((0..destinations).map(waits));
    Control::Message(Message::Report(Box::new(BacklogReport {
        epoch: 1,
        sequence,
        taken_at: Time::from_ps(5),
        obeys: 0,
        heard: 0,
        backlog,
    })))
}

/// A peer that does what it likes.
type Raw = StreamOwned<ClientConnection, TcpStream>;

fn raw(server: &Server, config: Arc<ClientConfig>) -> Raw {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from("controller-0").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream)
}

#[test]
fn there_and_back() {
    let keys = Keys::new("there");
    let (server, at_server) = start(&keys, timing());
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    let (peer, name) = at_server.joined();
    assert_eq!(name, "host-3");
    assert_eq!(at_client.joined().1, "controller-0");
    assert_eq!(server.peers(), [(peer, "host-3".to_owned())]);

    client.send(Record::Note(json!({"hello": 3}))).unwrap();
    assert_eq!(at_server.note(), json!({"hello": 3}));
    server.send(peer, Record::Note(json!(["welcome"]))).unwrap();
    assert_eq!(at_client.note(), json!(["welcome"]));
    let sent = report(7, 3);
    client.send(Record::Control { sent_at: Time::from_ps(-12), control: sent.clone() }).unwrap();
    match at_server.next() {
        Event::Control { peer: from, sent_at, control } => {
            assert_eq!((from, sent_at, control), (peer, Time::from_ps(-12), sent));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(server.counters().received, 2);
    // It is counted when the system has taken it, which may be after it has come.
    until("what was sent is counted", || client.counters().sent == 2);
    assert!(matches!(server.send(PeerId(99), Record::Note(json!(1))), Err(SendError::Gone)));

    // What was said before the end is heard.
    server.send(peer, Record::Note(json!("bye"))).unwrap();
    server.close(peer);
    assert_eq!(at_client.note(), json!("bye"));
    assert_eq!(at_server.left(), (peer, "it was told to go".to_owned()));
    at_client.left();
    // And it may come back, as another.
    assert_ne!(at_server.joined().0, peer);
}

#[test]
fn of_a_thousand_reports_the_newest_comes_and_none_out_of_order() {
    let keys = Keys::new("thousand");
    let (server, at_server) = start(&keys, timing());
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    at_client.joined();
    for sequence in 0..1000 {
        client.send(Record::Control { sent_at: Time::ZERO, control: report(sequence, 4) }).unwrap();
    }
    at_server.joined();
    // Each is a state: one that waits is replaced by the next one.
    let mut next = 0;
    while next < 1000 {
        let Event::Control { control: Control::Message(Message::Report(came)), .. } = at_server.next() else {
            panic!("not a report")
        };
        assert!(came.sequence >= next, "{} after {next}", came.sequence);
        assert_eq!(Control::Message(Message::Report(came.clone())), report(came.sequence, 4));
        next = came.sequence + 1;
    }
    assert_eq!(server.counters().malformed, 0);
}

#[test]
fn messages_of_several_datagrams_are_joined() {
    let keys = Keys::new("several");
    let (server, at_server) = start(&keys, timing());
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    at_client.joined();
    at_server.joined();
    for sequence in 0..20 {
        let control = report(sequence, 1000);
        assert!(control.encode().unwrap().len() > 5);
        client.send(Record::Control { sent_at: Time::ZERO, control: control.clone() }).unwrap();
        match at_server.next() {
            Event::Control { control: come, .. } => assert_eq!(come, control),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(server.counters().received, 20);
}

#[test]
fn strangers_are_refused_and_disturb_nobody() {
    let (keys, others) = (Keys::new("strangers"), Keys::new("other-authority"));
    let (server, at_server) = start(&keys, timing());
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    at_server.joined();
    at_client.joined();

    // Of another authority: our client already does not take the server.
    let (foreign, at_foreign) = connect(&server, &others.of("host-3"), timing());
    until("the foreign client is refused", || foreign.counters().refused >= 2);
    assert!(foreign.trouble().unwrap().contains("certificate"), "{:?}", foreign.trouble());
    assert!(matches!(foreign.send(Record::Note(json!(1))), Err(SendError::Gone)));
    drop(foreign);
    at_foreign.nothing();
    until("the server has seen it", || server.counters().refused >= 2);

    // One that takes any server, and shows a certificate of another authority; and one that shows
    // none.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    let ca = std::fs::read(keys.dir.join("ca.pem")).unwrap();
    roots.add(rustls::pki_types::pem::PemObject::from_pem_slice(&ca).unwrap()).unwrap();
    let builder = || {
        let builder = ClientConfig::builder_with_provider(provider.clone());
        builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots.clone())
    };
    let read = |name: &str| std::fs::read(others.dir.join(name)).unwrap();
    let chain = vec![rustls::pki_types::pem::PemObject::from_pem_slice(&read("host-3.pem")).unwrap()];
    let key = rustls::pki_types::pem::PemObject::from_pem_slice(&read("host-3.key")).unwrap();
    let configs = [builder().with_client_auth_cert(chain, key).unwrap(), builder().with_no_client_auth()];
    for config in configs {
        let before = server.counters().refused;
        let mut stranger = raw(&server, Arc::new(config));
        let mut buffer = [0; 16];
        assert!(stranger.read(&mut buffer).is_err(), "nothing is said to a stranger");
        until("it is counted", || server.counters().refused == before + 1);
    }

    // No TLS at all.
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 100], &[0x16, 3, 1, 0xff, 0xff, 1], &[0xff; 5000]] {
        let before = server.counters().refused;
        let mut stranger = TcpStream::connect(server.address()).unwrap();
        // It may be refused before it has said it all.
        let _ = stranger.write_all(garbage);
        let _ = stranger.shutdown(std::net::Shutdown::Write);
        until("garbage is counted", || server.counters().refused == before + 1);
    }

    client.send(Record::Note(json!("still here"))).unwrap();
    assert_eq!(at_server.note(), json!("still here"));
    assert_eq!(server.counters().joined, 1);
    at_client.nothing();
}

#[test]
fn a_server_of_another_name_is_not_taken() {
    let keys = Keys::new("name");
    let (server, at_server) = start(&keys, timing());
    let (on_event, at_client) = Events::new();
    let client = Client::start_with(server.address(), "controller-1", &keys.of("host-3"), timing(), on_event).unwrap();
    until("it is refused", || client.counters().refused >= 2);
    assert!(client.trouble().unwrap().contains("not valid for name"), "{:?}", client.trouble());
    assert!(!client.is_connected());
    at_client.nothing();
    at_server.nothing();
    let (on_event, _events) = Events::new();
    let bad = Client::start(server.address(), "10.0.0.1", &keys.of("host-3"), on_event);
    assert!(matches!(bad, Err(ChannelError::Name { .. })));
}

#[test]
fn what_is_no_record_ends_the_connection_of_its_sender_alone() {
    let keys = Keys::new("broken");
    let (server, at_server) = start(&keys, timing());
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    at_server.joined();
    at_client.joined();
    let config = keys.of("host-4").client_config();
    let cases: [(&[u8], &str); 5] = [
        (&[0, 0x10, 0, 1], "record of 1048577 B"),
        (&[0xff; 4], "record of 4294967295 B"),
        (&[0, 0, 0, 1, 9], "kind 9"),
        (&[0, 0, 0, 3, 0, b'{', b'{'], "malformed note of 2 B"),
        // Truncated: the connection ends within a record.
        (&[0, 0, 0, 9, 0, b'"'], "closed the connection"),
    ];
    for (bytes, why) in cases {
        let mut peer = raw(&server, config.clone());
        peer.write_all(bytes).unwrap();
        assert_eq!(at_server.joined().1, "host-4");
        if why.contains("closed") {
            peer.conn.send_close_notify();
            peer.flush().unwrap();
            peer.sock.shutdown(std::net::Shutdown::Write).unwrap();
        }
        let (_, left) = at_server.left();
        assert!(left.contains(why), "{left}");
    }
    assert_eq!(server.counters().broken, 4);

    // A datagram that cannot be read harms nobody.
    let mut peer = raw(&server, config);
    peer.write_all(&[0, 0, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]).unwrap();
    peer.write_all(&Record::Note(json!("after it")).encode().unwrap()).unwrap();
    at_server.joined();
    assert_eq!(at_server.note(), json!("after it"));
    assert_eq!(server.counters().malformed, 1);

    client.send(Record::Note(json!("still here"))).unwrap();
    assert_eq!(at_server.note(), json!("still here"));
}

#[test]
fn strangers_that_say_nothing_keep_nobody_out() {
    let keys = Keys::new("slow");
    let (server, at_server) = start(&keys, Timing { strangers: 4, ..timing() });
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // The beginning of a handshake, and no more.
        stream.write_all(&[0x16, 3, 1]).unwrap();
        silent.push(stream);
    }
    until("all but four are gone", || server.counters().turned_away == 16);
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    assert_eq!(at_server.joined().1, "host-3");
    at_client.joined();
    drop(client);
    at_server.left();
    assert_eq!(server.counters().turned_away, 17);

    let (server, _events) = start(&keys, Timing { handshake: Duration::from_ms(50), ..timing() });
    let _silent: Vec<_> = (0..5).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    until("their time is over", || server.counters().handshakes_late == 5);
}

/// Connects from an address of loopback as fast as it can, and says nothing.
struct Flood {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl Flood {
    fn start(to: SocketAddr, from: Ipv4Addr, threads: usize) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let flood = move |stop: Arc<AtomicBool>| {
            let mut connects = 0;
            // Held for a while, so that the server cannot tell that nobody is there.
            let mut held = VecDeque::new();
            while !stop.load(Relaxed) {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
                // Its ports are free again at once.
                socket.set_linger(Some(Wait::ZERO)).unwrap();
                if socket.connect_timeout(&to.into(), PATIENCE).is_ok() {
                    connects += 1;
                    held.push_back(socket);
                    if held.len() == 400 {
                        held.drain(..200);
                    }
                }
            }
            connects
        };
        let start = |_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || flood(stop))
        };
        Self { threads: (0..threads).map(start).collect(), stop }
    }
    fn end(self) -> u64 {
        self.stop.store(true, Relaxed);
        self.threads.into_iter().map(|t| t.join().unwrap()).sum()
    }
}

#[test]
fn hosts_join_at_once_while_a_stranger_connects_as_fast_as_it_can() {
    let keys = Keys::new("flood");
    let (server, at_server) = start(&keys, timing());
    let host = keys.of("host-3");
    let flood = Flood::start(server.address(), Ipv4Addr::new(127, 0, 0, 66), 2);
    let began = Instant::now();
    until("the stranger has its share", || server.counters().connections > 300);
    let mut times = Vec::new();
    for _ in 0..25 {
        let began = Instant::now();
        let (client, at_client) = connect(&server, &host, timing());
        at_client.joined();
        times.push(began.elapsed());
        assert_eq!(at_server.joined().1, "host-3");
        let counters = client.counters();
        drop(client);
        at_server.left();
        // The first connection of each was good: none was closed for a stranger's.
        let failures = (counters.refused, counters.failed, counters.handshakes_late);
        assert_eq!((counters.connections, failures), (1, (0, 0, 0)));
    }
    let (connects, seconds) = (flood.end(), began.elapsed().as_secs() + 2);
    let counters = server.counters();
    times.sort();
    println!("{connects} connects of a stranger; joins took {:?} (median), {:?} at most", times[12], times[24]);
    println!("{} refused, {} turned away", counters.too_often, counters.turned_away);
    // Those of the stranger that broke off before a greeting count as refused.
    assert_eq!(counters.joined, 25);
    // However fast it was, no more was admitted than is allowed to it and to the hosts.
    assert!(counters.connections - counters.too_often <= 200 + 100 * seconds + 25, "{counters:?}");
}

#[test]
fn a_client_comes_back_after_the_server_does() {
    let keys = Keys::new("restart");
    let (server, at_server) = start(&keys, timing());
    let address = server.address();
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    let mut numbers = vec![at_client.joined().0];
    at_server.joined();
    drop(server);
    at_server.nothing();
    for round in 0..2 {
        assert_eq!(at_client.left().0, numbers[round]);
        assert!(matches!(client.send(Record::Note(json!(1))), Err(SendError::Gone)));
        // For a while there is nobody.
        let failed = client.counters().failed;
        until("it asks in vain", || client.counters().failed > failed);
        let (on_event, at_server) = Events::new();
        let _server = Server::start_with(address, &keys.of("controller-0"), timing(), on_event).unwrap();
        assert_eq!(at_server.joined().1, "host-3");
        numbers.push(at_client.joined().0);
        client.send(Record::Note(json!(round))).unwrap();
        assert_eq!(at_server.note(), json!(round));
    }
    numbers.dedup();
    assert_eq!(numbers.len(), 3);
    // No event after the end.
    drop(client);
    while let Ok(event) = at_client.0.try_recv() {
        assert!(matches!(event, Event::Left { .. }), "{event:?}");
    }
    assert!(matches!(at_client.0.recv_timeout(Wait::ZERO), Err(RecvTimeoutError::Disconnected)));
}

#[test]
fn who_falls_silent_is_gone_and_who_pings_stays() {
    let keys = Keys::new("silent");
    let quick = Timing { ping: Duration::from_ms(50), silence: Duration::from_secs(3), ..timing() };
    let (server, at_server) = start(&keys, quick);
    let (_client, at_client) = connect(&server, &keys.of("host-3"), Timing { silence: timing().silence, ..quick });
    let (stays, _) = at_server.joined();
    at_client.joined();
    // It does all right, and then nothing.
    let mut silent = raw(&server, keys.of("host-4").client_config());
    silent.write_all(&Record::Note(json!("last words")).encode().unwrap()).unwrap();
    let (peer, _) = at_server.joined();
    assert_ne!(peer, stays);
    assert_eq!(at_server.note(), json!("last words"));
    let (left, why) = at_server.left();
    assert!(left == peer && why.contains("nothing was heard"), "{left:?} {why}");
    assert_eq!(server.counters().silent, 1);
}

#[test]
fn who_takes_nothing_is_cut_off_and_others_are_served() {
    let keys = Keys::new("stuck");
    let (server, at_server) = start(&keys, Timing { queue: 2 << 20, ..timing() });
    let mut stuck = raw(&server, keys.of("host-4").client_config());
    while stuck.conn.is_handshaking() {
        stuck.conn.complete_io(&mut stuck.sock).unwrap();
    }
    let (peer, _) = at_server.joined();
    let (client, at_client) = connect(&server, &keys.of("host-3"), timing());
    let (well, _) = at_server.joined();
    at_client.joined();
    let long = Record::Note(json!("a".repeat(500_000)));
    // The system's buffers take some; then the queue is full.
    let error = (0..1000).find_map(|_| server.send(peer, long.clone()).err());
    assert!(matches!(error, Some(SendError::Stuck)), "{error:?}");
    server.send(well, Record::Note(json!("served"))).unwrap();
    assert_eq!(at_client.note(), json!("served"));
    client.send(Record::Note(json!("heard"))).unwrap();
    let mut seen = [at_server.next(), at_server.next()].map(|e| format!("{e:?}"));
    seen.sort();
    assert!(seen[0].contains("does not read its records") && seen[1].contains("heard"), "{seen:?}");
}

#[test]
fn the_newer_of_two_of_one_name_stays() {
    let keys = Keys::new("twice");
    let (server, at_server) = start(&keys, timing());
    let config = keys.of("host-3").client_config();
    let mut peers = Vec::new();
    let mut numbers = Vec::new();
    for i in 0..3 {
        let mut peer = raw(&server, config.clone());
        peer.write_all(&Record::Note(json!(i)).encode().unwrap()).unwrap();
        peers.push(peer);
        if i > 0 {
            let (left, why) = at_server.left();
            assert_eq!((left, why.as_str()), (numbers[i - 1], "it has connected once more"));
        }
        numbers.push(at_server.joined().0);
        assert_eq!(at_server.note(), json!(i));
    }
    assert_eq!(server.peers(), [(numbers[2], "host-3".to_owned())]);
    assert_eq!(server.counters().replaced, 2);
}

#[test]
fn a_taken_address_is_an_error() {
    let keys = Keys::new("taken");
    let (server, _events) = start(&keys, timing());
    let error = Server::start(server.address(), &keys.of("controller-0"), drop).unwrap_err().to_string();
    assert!(error.contains(&server.address().to_string()), "{error}");
}

#[test]
fn revoked_peers_are_disconnected_and_renewed_ones_return() {
    let keys = Keys::new("revoked");
    let (server, heard) = start(&keys, timing());
    let (host, other) = (keys.of("host-3"), keys.of("host-4"));
    let (client, _) = connect(&server, &host, timing());
    let (peer, name) = heard.joined();
    assert_eq!(name, "host-3");
    let (stays, _) = connect(&server, &other, timing());
    assert_eq!(heard.joined().1, "host-4");
    keys.authority.revoke("host-3").unwrap();
    let (left, why) = heard.left();
    assert_eq!(left, peer);
    assert!(why.contains("no longer accepted") && why.contains("Revoked"), "{why}");
    until("the client is refused", || server.counters().refused > 0);
    assert!(!client.is_connected());
    // The same client comes back once its files are new.
    keys.authority.renew("host-3").unwrap();
    assert_eq!(heard.joined().1, "host-3");
    assert!(stays.is_connected());
}

#[test]
fn clients_leave_a_revoked_server() {
    let keys = Keys::new("revoked-server");
    let (server, _heard) = start(&keys, timing());
    let (client, events) = connect(&server, &keys.of("host-3"), timing());
    events.joined();
    keys.authority.revoke("controller-0").unwrap();
    let (_, why) = events.left();
    assert!(why.contains("no longer accepted") && why.contains("Revoked"), "{why}");
    until("the server is refused", || client.trouble().is_some_and(|t| t.contains("Revoked")));
}
