//! Strangers on the network of running daemons: their frames are counted, and change nothing.

use crate::common::{HOSTS, Lab, Traffic, pairs, until};
use rustls::pki_types::{ServerName, pem::PemObject};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::{CONTROLLER_PORT, controller_ip, host_mac};
use timeplane_live::agent::Snapshot;
use timeplane_live::channel::{Client, Event, Record};
use timeplane_live::gate::GateCounters;
use timeplane_live::keys::{Authority, Identity};
use timeplane_live::netns::{Namespace, bridge, veth};
use timeplane_live::notes::{Hello, Note};
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_model::{Duration, HostId};
use timeplane_protocol::Pfc;
use timeplane_protocol::wire::{DataHeader, DataKind, MacAddress, PORT, SignalEncoding, SignalKey};

const STRANGER: MacAddress = MacAddress([2, 0, 0, 0, 9, 9]);
/// Frames of a kind that are sent to a host at a time.
const BATCH: usize = 16;

/// Who hears at the controller's port what it says: signals, each once, by host.
struct Heard {
    stop: Arc<AtomicBool>,
    by_host: Arc<Mutex<BTreeMap<u16, BTreeSet<Vec<u8>>>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Heard {
    fn listen(lab: &Lab) -> Self {
        let socket =
            lab.hosts.fabric().switch().enter(|| PacketSocket::open(CONTROLLER_PORT, ALL_ETHER_TYPES).unwrap());
        let socket = socket.unwrap();
        let (stop, by_host) = (Arc::<AtomicBool>::default(), Arc::<Mutex<BTreeMap<u16, BTreeSet<Vec<u8>>>>>::default());
        let (stopped, kept) = (Arc::clone(&stop), Arc::clone(&by_host));
        let thread = std::thread::spawn(move || {
            let mut frames = Frames::new(1514);
            while !stopped.load(Relaxed) {
                let _ = socket.wait(Duration::from_ms(20));
                while socket.receive_batch(&mut frames).unwrap_or(0) > 0 {
                    let mut kept = kept.lock().unwrap();
                    for frame in frames.iter().filter(|f| f[12..14] == [0x88, 0xb5]) {
                        let host = (0..HOSTS as u16).find(|&h| frame[..6] == host_mac(h).0);
                        kept.entry(host.expect("a host's address")).or_default().insert(frame.to_vec());
                    }
                }
            }
            assert_eq!(socket.lost().unwrap(), 0, "it hears everything");
        });
        Self { stop, by_host, thread: Some(thread) }
    }
    fn count(&self, host: u16) -> u64 {
        self.by_host.lock().unwrap().get(&host).map_or(0, |s| s.len() as u64)
    }
    /// Some of a host's, the last ones said.
    fn last(&self, host: u16) -> Vec<Vec<u8>> {
        let all = self.by_host.lock().unwrap();
        // By epoch and number, which follow the opcode and its vectors; the high half of the number
        // is zero.
        let mut all: Vec<Vec<u8>> = all[&host].iter().cloned().collect();
        all.sort_by_key(|f| f[20..28].to_vec());
        all.split_off(all.len() - BATCH)
    }
    fn end(mut self) {
        self.stop.store(true, Relaxed);
        self.thread.take().map_or(Ok(()), |t| t.join()).unwrap();
    }
}

/// How a kind of frame shows in a host's counters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    Forged,
    Stale,
    Malformed,
    Unwanted,
    OtherStation,
    /// By the agent: frames of streams that are none.
    Data,
    /// By nobody: the kernel has no use for it.
    Nowhere,
}

fn gate(c: &GateCounters) -> [(Shows, u64); 5] {
    [
        (Shows::Forged, c.forged),
        (Shows::Stale, c.stale),
        (Shows::Malformed, c.malformed),
        (Shows::Unwanted, c.unwanted),
        (Shows::OtherStation, c.other_station),
    ]
}

/// Bytes that are the same in every run.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 24
}

fn random(ether_type: u16, count: usize) -> Vec<Vec<u8>> {
    let mut state = u64::from(ether_type);
    let mut frame = |_| {
        let mut frame = [&host_mac(0).0[..], &STRANGER.0, &ether_type.to_be_bytes()].concat();
        let length = 60 + noise(&mut state) as usize % 1400;
        frame.extend((14..length).map(|_| noise(&mut state) as u8));
        // No opcode of a signal: those are other kinds here.
        frame[14] = 0xee;
        frame
    };
    (0..count).map(&mut frame).collect()
}

fn data(mac: MacAddress, host: u32, epoch: u32, kind: DataKind) -> Vec<u8> {
    let header = DataHeader {
        destination: host_mac(0),
        source: mac,
        kind,
        class: 0,
        payload: 64,
        host: HostId(host),
        epoch,
        stream: 1,
        port: 1,
        sealed: false,
        offset: 0,
        length: Some(64),
    };
    [&header.encode()[..], &[0x5a; 64]].concat()
}

/// What a stranger sends to host 0, a batch of each kind.
fn kinds(now: &[Vec<u8>], before: &[Vec<u8>], to_others: &[Vec<u8>]) -> Vec<(&'static str, Shows, Vec<Vec<u8>>)> {
    let me = host_mac(0);
    let sealed = |encoding, at: u64| {
        let pfc = Pfc { epoch: u32::MAX, sequence: at, open: Some(1), hold: Duration::from_secs(1) };
        pfc.seal(encoding, &SignalKey([9; 16]), STRANGER, me).unwrap()
    };
    let many = |encoding| (1..=BATCH as u64).map(|at| sealed(encoding, at)).collect::<Vec<_>>();
    let changed = |frames: &[Vec<u8>], change: &dyn Fn(&mut Vec<u8>)| {
        let mut frames = frames.to_vec();
        frames.iter_mut().for_each(change);
        frames
    };
    let open_all = |mut frame: Vec<u8>| {
        frame[18..34].fill(0);
        frame
    };
    let forged_data = [
        data(STRANGER, 1, u32::MAX, DataKind::Stream),
        data(host_mac(1), 1, 0, DataKind::Stream),
        data(host_mac(1), 77, 5, DataKind::Repair),
        data(host_mac(2), 2, 0, DataKind::Packet),
    ];
    vec![
        ("of another sender", Shows::Stale, changed(now, &|f| f[6..12].copy_from_slice(&STRANGER.0))),
        ("replayed", Shows::Stale, now.to_vec()),
        ("of an old epoch", Shows::Stale, before.to_vec()),
        ("with a wrong key", Shows::Forged, many(SignalEncoding::Experimental)),
        ("with a changed bit", Shows::Forged, changed(now, &|f| f[50] ^= 1)),
        ("truncated", Shows::Malformed, changed(now, &|f| f.truncate(60))),
        ("for other stations", Shows::OtherStation, to_others.to_vec()),
        ("as MAC control", Shows::Unwanted, many(SignalEncoding::MacControl)),
        ("plain PFC", Shows::Unwanted, many(SignalEncoding::PlainPfc)),
        ("sealed PFC", Shows::Unwanted, many(SignalEncoding::Pfc)),
        ("plain PFC that opens all", Shows::Malformed, vec![open_all(sealed(SignalEncoding::PlainPfc, 0)); BATCH]),
        ("random 0x88b5", Shows::Nowhere, random(0x88b5, BATCH)),
        ("random 0x88b6", Shows::Data, random(0x88b6, BATCH)),
        ("random 0x8808", Shows::Nowhere, random(0x8808, BATCH)),
        ("random 0x0800", Shows::Nowhere, random(0x0800, BATCH)),
        ("forged data", Shows::Data, forged_data.iter().cycle().take(BATCH).cloned().collect()),
    ]
}

/// A station at the switch that is no host of the lab. Its namespace is named like one of the
/// lab's, so that it goes with what a killed lab has left.
struct Stranger {
    socket: PacketSocket,
    _namespace: Namespace,
}

impl Stranger {
    fn join(lab: &Lab) -> Self {
        let fabric = lab.hosts.fabric();
        let namespace = Namespace::create(&format!("{}-h{HOSTS}", fabric.parameters().name)).unwrap();
        let switch = fabric.switch();
        veth((&namespace, "eth0", &STRANGER.to_string()), (switch, "px", "02:00:00:00:09:0a")).unwrap();
        switch.ip("link set px master br0").unwrap();
        // As those of the lab: what it says it is moves nobody to its port.
        bridge(&format!("-n {} link set dev px learning off flood off", switch.name())).unwrap();
        until("the stranger's port forwards", Wait::from_secs(10), || {
            let port = bridge(&format!("-n {} link show dev px", switch.name())).unwrap();
            port.contains("state forwarding")
        });
        let socket = namespace.enter(|| PacketSocket::open("eth0", ALL_ETHER_TYPES).unwrap()).unwrap();
        Self { socket, _namespace: namespace }
    }
}

/// How many frames a second strangers send at the most, and how many altogether: three seconds
/// of them. A machine that is slower takes longer.
const FLOOD_RATE: f64 = 100_000.0;
const FLOOD: u64 = 300_000;

/// Sends frames of those kinds that `chosen` picks; how many of each kind.
fn flood(
    place: &str,
    socket: &PacketSocket,
    kinds: &[(&'static str, Shows, Vec<Vec<u8>>)],
    chosen: impl Fn(Shows) -> bool,
) -> Vec<u64> {
    let (began, mut sent, mut by_kind) = (Instant::now(), 0u64, vec![0u64; kinds.len()]);
    while sent < FLOOD {
        assert!(began.elapsed() < Wait::from_secs(120), "{place}: {sent} frames in two minutes");
        for ((_, _, frames), count) in kinds.iter().zip(&mut by_kind).filter(|((_, shows, _), _)| chosen(*shows)) {
            let batch = socket.send_batch(frames).unwrap();
            *count += batch.sent as u64;
            sent += batch.sent as u64;
        }
        while sent as f64 > began.elapsed().as_secs_f64() * FLOOD_RATE {
            std::thread::sleep(Wait::from_micros(500));
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{place}: {sent} frames in {seconds:.1} s, {:.0} a second", sent as f64 / seconds);
    by_kind
}

/// What host 0 has counted since `before`, of so many frames of each kind.
fn counted(lab: &Lab, before: &Snapshot, kinds: &[(&'static str, Shows, Vec<Vec<u8>>)], by_kind: &[u64]) -> Snapshot {
    let now = lab.settled(0);
    for (was, is) in gate(&before.gate).into_iter().zip(gate(&now.gate)) {
        let of = kinds.iter().zip(by_kind).filter(|(k, _)| k.1 == is.0).map(|(_, n)| n).sum::<u64>();
        println!("{:?}: {} of {of} counted", is.0, is.1 - was.1);
        // Where a queue was full in between, the kernel has dropped some before anybody could see
        // them.
        assert!((of.min(1)..=of).contains(&(is.1 - was.1)), "{:?}: {} of {of}", is.0, is.1 - was.1);
    }
    now
}

#[test]
fn a_flood_of_what_no_controller_says_is_counted_and_opens_nothing() {
    let _turn = crate::turn();
    let mut lab = Lab::start("str", 1, |_| {});
    // Of a controller that has been replaced.
    let (earlier, traffic) = (Heard::listen(&lab), Traffic::start(&lab, 1, &pairs(), 60_000));
    until("the first controller says something", Wait::from_secs(20), || earlier.count(0) > 2 * BATCH as u64);
    let before = earlier.last(0);
    lab.hosts.kill_controller(0);
    earlier.end();
    lab.hosts.start_controller(0).unwrap();
    let heard = Heard::listen(&lab);
    let others_heard = || (1..HOSTS as u16).all(|h| heard.count(h) > BATCH as u64);
    until("the second says more", Wait::from_secs(30), || heard.count(0) > 2 * BATCH as u64 && others_heard());
    let streams = traffic.streams();
    let to_others: Vec<Vec<u8>> = heard
        .last(1)
        .iter()
        .cloned()
        .map(|mut f| {
            f[6..12].copy_from_slice(&STRANGER.0);
            f
        })
        .collect();
    let kinds = kinds(&heard.last(0), &before, &to_others);
    let socket = lab.hosts.fabric().switch().enter(|| PacketSocket::open("p0", ALL_ETHER_TYPES).unwrap()).unwrap();

    // A few of each, so that none finds a queue full: every one is accounted for.
    let epochs: Vec<u32> = (0..HOSTS as usize).map(|h| lab.settled(h).epoch).collect();
    let first = lab.settled(0);
    for (_, _, frames) in &kinds {
        assert_eq!(socket.send_batch(frames).unwrap().sent, BATCH);
        std::thread::sleep(Wait::from_millis(2));
    }
    let second = lab.settled(0);
    let expected = |shows: Shows| kinds.iter().filter(|k| k.1 == shows).map(|k| k.2.len() as u64).sum::<u64>();
    for (was, is) in gate(&first.gate).into_iter().zip(gate(&second.gate)) {
        assert_eq!(is.1 - was.1, expected(is.0), "{:?}", is.0);
    }
    let refused = |s: &Snapshot| {
        let of = |name: &str| s.streams[name].as_u64().unwrap_or_else(|| panic!("{name} in {}", s.streams));
        let refused = ["frames_malformed", "frames_foreign", "frames_stale", "frames_unsealed", "frames_forged"];
        refused.map(of).iter().sum::<u64>()
    };
    assert!(refused(&second) - refused(&first) >= expected(Shows::Data), "{}", second.streams);
    assert!(second.agent["refused_signals"] - first.agent["refused_signals"] >= BATCH as u64);

    // From where a broken switch would say it, and from a station of the same network that nobody
    // has asked in.
    let all = flood("the switch's port", &socket, &kinds, |_| true);
    let third = counted(&lab, &second, &kinds, &all);
    let stranger = Stranger::join(&lab);
    // The switch takes those for other stations elsewhere.
    let all = flood("a stranger's port", &stranger.socket, &kinds, |shows| shows != Shows::OtherStation);
    let fourth = counted(&lab, &third, &kinds, &all);

    // Nothing was obeyed but what the controller has said; what programs send arrives, also in
    // streams that begin now.
    let said = heard.count(0);
    println!("obeyed {} of {said} that the controller has said", fourth.gate.obeyed - first.gate.obeyed);
    assert!(fourth.gate.obeyed - first.gate.obeyed <= said);
    assert!(third.gate.obeyed > second.gate.obeyed && fourth.gate.obeyed > third.gate.obeyed, "slots go on");
    let same = |host: usize, before: u32| lab.settled(host).epoch == before;
    assert!((0..HOSTS as usize).all(|h| same(h, epochs[h])), "every agent is the one that it was");
    assert_eq!(lab.violations(), 0);
    assert!(traffic.streams() > streams, "streams were delivered meanwhile");
    println!("{} streams delivered", traffic.stop());
    lab.exchange(2, Wait::from_secs(20));
    heard.end();
    assert_eq!(lab.violations(), 0);
}

/// Whether a server lets a client with this certificate say something, as rustls has it.
fn handshake(address: SocketAddr, config: Arc<ClientConfig>) -> std::io::Result<usize> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Wait::from_secs(10)))?;
    let name = ServerName::try_from("controller-0").unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream);
    stream.read(&mut [0; 16])
}

#[test]
fn strangers_at_the_demand_channel_are_refused_and_counted() {
    let _turn = crate::turn();
    let mut lab = Lab::start("sch", 1, |p| p.status = true);
    let traffic = Traffic::start(&lab, 1, &pairs(), 60_000);
    let address = SocketAddr::from((controller_ip(), PORT));
    let (keys, folder) = (lab.folder.join("keys"), lab.folder.join("others"));
    let others = Authority::create(&folder).unwrap();
    others.issue("host-1").unwrap();
    let builder = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(PemObject::from_pem_file(keys.join("ca.pem")).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        builder.with_root_certificates(roots)
    };
    let chain = vec![PemObject::from_pem_file(folder.join("host-1.pem")).unwrap()];
    let key = PemObject::from_pem_file(folder.join("host-1.key")).unwrap();
    let foreign = Arc::new(builder().with_client_auth_cert(chain, key).unwrap());
    let nobody = Arc::new(builder().with_no_client_auth());
    let at_host = &lab.hosts.fabric().hosts()[2];
    let before = lab.hosts.metrics(0).unwrap();
    at_host
        .enter(|| {
            for round in 0..10 {
                let garbage = random(0x0800, 4).concat();
                let mut stream = TcpStream::connect(address).unwrap();
                // It may be refused before it has said it all.
                let _ = stream.write_all(&garbage[..(round * 500).min(garbage.len())]);
                let _ = stream.shutdown(Shutdown::Write);
                assert!(handshake(address, Arc::clone(&foreign)).is_err(), "a certificate of another authority");
                assert!(handshake(address, Arc::clone(&nobody)).is_err(), "no certificate");
            }
        })
        .unwrap();
    let since = |name: &str| {
        let now = lab.hosts.metrics(0).unwrap();
        now[name] - before[name]
    };
    until("strangers are counted", Wait::from_secs(10), || since("channel_refused") == 30.0);

    // A host with a good certificate that speaks for another one, and for one that there is not.
    Authority::load(&keys).unwrap().issue("host-9").unwrap();
    let identity = Identity::load(&keys, "host-9").unwrap();
    let (tell, told) = mpsc::channel();
    let client =
        at_host.enter(|| Client::start(address, "controller-0", &identity, move |e| drop(tell.send(e)))).unwrap();
    let client = client.unwrap();
    let next = || told.recv_timeout(Wait::from_secs(10)).expect("the controller answers");
    assert!(matches!(next(), Event::Joined { .. }));
    for (host, why) in [(0, "the certificate of `host-9` is not valid for host 0"), (9, "unknown host 9")] {
        let mac = host_mac(2).to_string();
        let hello =
            Note::Hello(Hello { host, epoch: u32::MAX, mac, ip: None, key: "00".repeat(16), secret: None, mtu: None });
        client.send(Record::Note(serde_json::to_value(hello).unwrap())).unwrap();
        let Event::Note { note, .. } = next() else { panic!("no note") };
        let Ok(Note::Refused(text)) = serde_json::from_value(note) else { panic!("not refused") };
        assert!(text.contains(why), "{text}");
    }
    // It knows nothing but how to say hello: no note, and no report of somebody else's queues.
    client.send(Record::Note(serde_json::json!({"refused": "you"}))).unwrap();
    assert!(matches!(next(), Event::Note { .. }));
    assert_eq!(since("controller_refused"), 3.0);
    assert_eq!((since("controller_joined"), since("controller_left")), (0.0, 0.0), "no host has lost its place");
    drop(client);
    let streams = traffic.streams();
    until("streams are delivered", Wait::from_secs(20), || traffic.streams() > streams);
    traffic.stop();
    lab.exchange(2, Wait::from_secs(20));
    assert_eq!(lab.violations(), 0);
}
