//! Tests of the agent's socket, with programs on two hosts and a thread that carries frames between
//! their agents.

use super::*;
use crate::agent::streams::{PeerHost, StreamsConfig};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use timeplane_model::{Bytes, HostId};
use timeplane_protocol::wire::MacAddress;

const BUFFER: u64 = 100_000;

/// Two agents, whose loops are one thread.
struct World {
    apis: Vec<Api>,
    shared: [Arc<Shared>; 2],
    stop: Arc<AtomicBool>,
    network: Option<JoinHandle<()>>,
    folder: PathBuf,
}

fn mac(host: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, host as u8])
}

fn peer(host: usize, epoch: u32) -> PeerHost {
    PeerHost { mac: mac(host), epoch, key: None, mtu: None }
}

impl World {
    fn new(name: &str, loss: u64) -> Self {
        let folder = std::env::temp_dir().join(format!("tp-api-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shared = [0, 1].map(|i| {
            let mut config = StreamsConfig::new(HostId(i as u32), mac(i), 1);
            config.send_buffer = Bytes::new(BUFFER);
            let mut streams = Streams::new(config);
            streams.set_peer(HostId(1 - i as u32), peer(1 - i, 1));
            Shared::new(streams).unwrap()
        });
        let apis = (0..2).map(|i| Api::start(&folder.join(i.to_string()), shared[i].clone(), 0o600).unwrap()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let (ours, stopped) = (shared.clone(), stop.clone());
        let network = Some(std::thread::spawn(move || network(&ours, loss, &stopped)));
        Self { apis, shared, stop, network, folder }
    }

    /// A connection to the agent of a host, that has asked.
    fn ask(&self, host: usize, request: &Value) -> BufReader<UnixStream> {
        let mut socket = UnixStream::connect(self.folder.join(host.to_string())).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        writeln!(socket, "{request}").unwrap();
        BufReader::new(socket)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.apis.clear();
        self.stop.store(true, Ordering::Relaxed);
        let network = self.network.take().map(JoinHandle::join);
        let left = std::fs::remove_dir(&self.folder);
        if !std::thread::panicking() {
            network.unwrap().unwrap();
            left.expect("the sockets' files are gone");
        }
    }
}

fn network(hosts: &[Arc<Shared>; 2], loss: u64, stop: &AtomicBool) {
    let (mut dice, mut frame) = (1u64, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let mut fds = [0, 1].map(|i| PollFd::new(hosts[i].wake.as_fd(), PollFlags::POLLIN));
        poll(&mut fds, 1u8).unwrap();
        let now = crate::clock::now();
        for i in 0..2 {
            let _ = hosts[i].wake.read();
            let mut out = Vec::new();
            {
                let mut streams = hosts[i].lock();
                streams.due(now, &mut out);
                while out.len() < 64 && streams.next_frame(now, HostId(1 - i as u32), 0, 1538, &mut frame).is_some() {
                    out.push(frame.clone());
                }
            }
            for frame in out {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if (dice >> 33) % 100 >= loss {
                    hosts[1 - i].lock().received(now, &frame).unwrap();
                }
            }
        }
    }
}

fn line(reader: &mut BufReader<UnixStream>) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
}

fn error(reader: &mut BufReader<UnixStream>) -> String {
    line(reader)["error"].as_str().unwrap().to_owned()
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251 + seed) as u8).collect()
}

/// Waits until it is so.
fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn programs_do_not_wait_for_a_host_that_stays_away() {
    let world = World::new("away", 100);
    let mut sending = world.ask(0, &json!({ "send": { "to": 1 } }));
    sending.get_mut().write_all(b"nobody hears it").unwrap_or_default();
    assert_eq!(line(&mut sending)["ok"]["stream"], 1);
    world.shared[0].with(|s| s.set_absent(HostId(1)));
    let why = "host 1 has left and not come back in time: its agent has ended, or reaches no controller";
    assert_eq!(error(&mut sending), why);
    assert_eq!(error(&mut world.ask(0, &json!({ "send": { "to": 1 } }))), why);
}

#[test]
fn bytes_go_from_program_to_program_over_a_lossy_network() {
    let world = World::new("transfer", 10);
    let sent = pattern(700_000, 3);
    let mut resent = 0;
    for length in [None, Some(sent.len())] {
        let mut receiver = world.ask(1, &json!({ "receive": { "port": 5 } }));
        assert_eq!(line(&mut receiver), json!({ "ok": {} }));
        let mut request = json!({ "send": { "to": 1, "port": 5 } });
        if let Some(length) = length {
            request["send"]["length"] = json!(length);
        }
        let mut sender = world.ask(0, &request);
        assert!(line(&mut sender)["ok"]["stream"].is_u64());
        let (bytes, mut writing) = (sent.clone(), sender.get_ref().try_clone().unwrap());
        let writer = std::thread::spawn(move || {
            writing.write_all(&bytes).unwrap();
            if length.is_none() {
                writing.shutdown(Shutdown::Write).unwrap();
            }
        });
        assert_eq!(line(&mut receiver), json!({ "from": 0, "length": length }));
        let mut got = Vec::new();
        receiver.read_to_end(&mut got).unwrap();
        assert!(got == sent, "{} bytes came", got.len());
        let end = line(&mut sender);
        assert_eq!((&end["delivered"], end["resent"].is_u64()), (&json!(sent.len()), true));
        resent += end["resent"].as_u64().unwrap();
        assert_eq!(sender.read(&mut [0; 9]).unwrap(), 0);
        writer.join().unwrap();
    }
    let mut status = world.ask(0, &json!({ "status": {} }));
    let status = line(&mut status);
    assert_eq!((&status["host"], &status["streams"]["streams_delivered"]), (&json!(0), &json!(2)));
    assert!(status["streams"]["frames_resent"].as_u64().unwrap() > 0 && status["backlog"].is_array());
    assert_eq!(status["streams"]["frames_resent"], resent, "each counts for its stream");
    eventually("all connections end", || world.apis.iter().all(|a| a.connections() == 0));
    for shared in &world.shared {
        assert_eq!(shared.lock().memory(), Bytes::new(0));
    }
}

#[test]
fn several_receivers_at_a_port_have_a_stream_each() {
    let world = World::new("several", 0);
    let mut receivers: Vec<_> = (0..3).map(|_| world.ask(1, &json!({ "receive": {} }))).collect();
    receivers.iter_mut().for_each(|r| assert_eq!(line(r), json!({ "ok": {} })));
    for i in 0..3u8 {
        let mut sender = world.ask(0, &json!({ "send": { "to": 1, "length": 4 } }));
        line(&mut sender);
        sender.get_mut().write_all(&[i; 4]).unwrap();
        assert_eq!(line(&mut sender)["delivered"], 4);
    }
    let mut got: Vec<Vec<u8>> = receivers
        .iter_mut()
        .map(|r| {
            assert_eq!(line(r), json!({ "from": 0, "length": 4 }));
            let mut got = Vec::new();
            r.read_to_end(&mut got).unwrap();
            got
        })
        .collect();
    got.sort();
    assert_eq!(got, [[0; 4], [1; 4], [2; 4]]);
}

#[test]
fn a_stream_that_breaks_ends_with_a_reset() {
    let world = World::new("reset", 0);
    for case in ["sender", "short", "agent"] {
        let mut receiver = world.ask(1, &json!({ "receive": {} }));
        line(&mut receiver);
        let length = (case == "short").then_some(2000);
        let mut sender = world.ask(0, &json!({ "send": { "to": 1, "length": length } }));
        line(&mut sender);
        sender.get_mut().write_all(&[9; 1000]).unwrap();
        assert_eq!(line(&mut receiver), json!({ "from": 0, "length": length }));
        let mut got = vec![0; 1000];
        receiver.read_exact(&mut got).unwrap();
        assert_eq!(got, [9; 1000]);
        match case {
            "short" => {
                sender.get_ref().shutdown(Shutdown::Write).unwrap();
                assert_eq!(error(&mut sender), "the stream ended after 1000 of 2000 bytes");
            }
            // A controller announces a new agent at the sender's host.
            "agent" => assert_eq!(world.shared[1].lock().set_peer(HostId(0), peer(0, 2)), None),
            _ => drop(sender),
        }
        let end = receiver.read(&mut [0; 9]).map_err(|e| e.kind());
        assert_eq!(end, Err(ErrorKind::ConnectionReset), "{case}");
    }
}

#[test]
fn a_receiver_that_goes_away_is_an_error_of_the_sender() {
    let world = World::new("gone", 0);
    let mut receiver = world.ask(1, &json!({ "receive": {} }));
    line(&mut receiver);
    let mut sender = world.ask(0, &json!({ "send": { "to": 1 } }));
    line(&mut sender);
    sender.get_mut().write_all(&[9; 1000]).unwrap();
    line(&mut receiver);
    drop(receiver);
    assert!(error(&mut sender).starts_with("host 1 closed the stream"));
}

#[test]
fn a_sender_whose_receiver_does_not_read_is_held_back() {
    let world = World::new("held", 0);
    let mut receiver = world.ask(1, &json!({ "receive": {} }));
    line(&mut receiver);
    let mut sender = world.ask(0, &json!({ "send": { "to": 1 } }));
    line(&mut sender);
    sender.get_ref().set_write_timeout(Some(Duration::from_millis(700))).unwrap();
    let mut written = 0;
    while let Ok(n) = sender.get_mut().write(&[4; 10_000]) {
        written += n;
        assert!(written < 5_000_000, "nobody holds it back");
    }
    // Both agents' buffers are full, and so are both sockets.
    assert!(written as u64 > 2 * BUFFER);
    sender.get_ref().shutdown(Shutdown::Write).unwrap();
    line(&mut receiver);
    let mut got = Vec::new();
    receiver.read_to_end(&mut got).unwrap();
    // Frames that found no room are sent again.
    assert_eq!((got.len(), &line(&mut sender)["delivered"]), (written, &json!(written)));
}

#[test]
fn a_sender_that_has_finished_need_not_stay() {
    let world = World::new("leaves", 20);
    let mut sender = world.ask(0, &json!({ "send": { "to": 1, "length": 50_000 } }));
    line(&mut sender);
    sender.get_mut().write_all(&pattern(50_000, 1)).unwrap();
    drop(sender);
    let mut receiver = world.ask(1, &json!({ "receive": {} }));
    line(&mut receiver);
    line(&mut receiver);
    let mut got = Vec::new();
    receiver.read_to_end(&mut got).unwrap();
    assert!(got == pattern(50_000, 1));
}

#[test]
fn wrong_requests_are_answered_in_words() {
    let world = World::new("wrong", 0);
    for (request, expected) in [
        (r#"{"send": {"to": 7}}"#, "unknown host 7"),
        (r#"{"send": {"to": 1, "speed": 3}}"#, "unknown field `speed`"),
        (r#"{"sent": {"to": 1}}"#, "unknown variant `sent`"),
        ("hello", "a request is one line such as"),
        ("", "a request is one line such as"),
        (&"x".repeat(5000), "at most 4096 bytes"),
    ] {
        let mut socket = UnixStream::connect(world.folder.join("0")).unwrap();
        // At once: the agent may close before the rest of a request that is too long.
        socket.write_all(format!("{request}\n").as_bytes()).unwrap();
        let said = error(&mut BufReader::new(socket));
        assert!(said.contains(expected), "{request}: {said}");
    }
    // More than was declared.
    let mut sender = world.ask(0, &json!({ "send": { "to": 1, "length": 3 } }));
    line(&mut sender);
    sender.get_mut().write_all(b"four").unwrap();
    assert_eq!(error(&mut sender), "4 B written to a stream that was declared with 3 B");
    // A request in pieces is one request.
    let mut socket = UnixStream::connect(world.folder.join("0")).unwrap();
    for piece in [&b"{\"sta"[..], b"tus\": {", b"}}\n"] {
        socket.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(line(&mut BufReader::new(socket))["epoch"], 1);
}

#[test]
fn the_socket_has_one_agent_and_goes_with_it() {
    let mut world = World::new("file", 0);
    let path = world.folder.join("0");
    let start = |world: &World| Api::start(&path, world.shared[0].clone(), 0o640).map_err(|e| e.kind());
    assert_eq!(start(&world).err(), Some(ErrorKind::AddrInUse));
    // A program that waits is told that its stream will not come.
    let mut receiver = world.ask(0, &json!({ "receive": {} }));
    line(&mut receiver);
    drop(world.apis.remove(0));
    assert_eq!(receiver.read(&mut [0; 9]).map_err(|e| e.kind()), Err(ErrorKind::ConnectionReset));
    assert!(!path.exists());
    // What is no socket stays; what a dead agent has left is replaced.
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(start(&world).err(), Some(ErrorKind::AlreadyExists));
    std::fs::remove_file(&path).unwrap();
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let api = start(&world).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let mut status = world.ask(0, &json!({ "status": {} }));
    assert_eq!(line(&mut status)["host"], 0);
    // Whoever has taken its place keeps it.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "mine").unwrap();
    drop(api);
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn programs_wake_the_loop_where_it_has_to_know() {
    let mut streams = Streams::new(StreamsConfig::new(HostId(0), mac(0), 1));
    streams.set_peer(HostId(1), peer(1, 1));
    let shared = Shared::new(streams).unwrap();
    let is_awake = || shared.wake.read().is_ok();
    let id = shared.with(|s| s.open(HostId(1), 0, None)).unwrap();
    assert!(!is_awake());
    shared.with(|s| s.write(id, b"first")).unwrap();
    assert!(is_awake());
    shared.with(|s| s.write(id, b"second")).unwrap();
    assert!(!is_awake());
    let mut frame = Vec::new();
    shared.lock().next_frame(crate::clock::now(), HostId(1), 0, 1538, &mut frame).unwrap();
    shared.with(|s| s.push_packet(HostId(1), b"packet"));
    assert!(is_awake());
    // A farewell is due at once.
    shared.with(|s| s.abandon(id));
    assert!(is_awake() && !is_awake());
}
