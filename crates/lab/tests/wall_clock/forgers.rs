//! Forgers on the network of running daemons. Stations without keys send frames in the name of
//! hosts, and record frames and send them again. A host with a good certificate invents epochs.
//! True bytes arrive, and the daemons count what they refuse.

use crate::common::{Lab, Traffic, pairs, until};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::{controller_ip, host_mac, host_port};
use timeplane_live::agent::Snapshot;
use timeplane_live::channel::{Client, Event, Record};
use timeplane_live::clock;
use timeplane_live::keys::Identity;
use timeplane_live::notes::{Hello, Note};
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_model::{Backlog, Duration};
use timeplane_protocol::wire::{Control, DataHeader, DataKind, ETHER_TYPE_DATA, PORT, PairKey, UNGATED, encode_repair};
use timeplane_protocol::{BacklogReport, Message};

/// A socket at a host's port of the switch. It hears frames before the bridge takes them, which
/// needs all EtherTypes.
fn at_port(lab: &Lab, host: u16) -> PacketSocket {
    let open = || PacketSocket::open(&host_port(host), ALL_ETHER_TYPES).unwrap();
    lab.hosts.fabric().switch().enter(open).unwrap()
}

/// Frames of streams and repairs from host 1 to host 0, as they pass the switch from now on.
fn record(lab: &Lab) -> Vec<Vec<u8>> {
    let socket = at_port(lab, 1);
    let (mut recorded, mut frames, began) = (Vec::new(), Frames::new(1514), Instant::now());
    let of = |recorded: &[Vec<u8>], kind: DataKind| {
        let is = |f: &&Vec<u8>| DataHeader::parse(f).is_ok_and(|(h, _)| h.kind == kind);
        recorded.iter().filter(is).count()
    };
    while of(&recorded, DataKind::Stream) < 40 || of(&recorded, DataKind::Repair) < 4 {
        assert!(began.elapsed() < Wait::from_secs(30), "{} frames", recorded.len());
        let _ = socket.wait(Duration::from_ms(20));
        while socket.receive_batch(&mut frames).unwrap() > 0 {
            let is_data = |f: &&[u8]| f[12..14] == ETHER_TYPE_DATA.to_be_bytes();
            let ours = frames.iter().filter(is_data);
            let ours = ours.filter(|f| f[..6] == host_mac(0).0 && f[6..12] == host_mac(1).0);
            recorded.extend(ours.map(<[u8]>::to_vec));
        }
    }
    recorded
}

fn with_tag(header: DataHeader, payload: &[u8]) -> Vec<u8> {
    let mut frame =
        [&DataHeader { sealed: true, payload: payload.len() as u16, ..header }.encode()[..], payload].concat();
    PairKey([0x5a; 16]).seal(&mut frame);
    frame
}

fn without_tag(header: DataHeader, payload: &[u8]) -> Vec<u8> {
    [&DataHeader { sealed: false, payload: payload.len() as u16, ..header }.encode()[..], payload].concat()
}

/// What a forger can make of the recorded frames, without a tag and with a wrong one.
fn forged(recorded: &[Vec<u8>]) -> [Vec<Vec<u8>>; 2] {
    let parse = |f: &Vec<u8>| DataHeader::parse(f).unwrap().0;
    let stream = recorded.iter().map(parse).rfind(|h| h.kind == DataKind::Stream).unwrap();
    let repair = recorded.iter().map(parse).rfind(|h| h.kind == DataKind::Repair).unwrap();
    let newest = u64::from(u32::MAX);
    let all = [
        // A newer agent: with it, host 0 would be deaf to the true one.
        (DataHeader { epoch: u32::MAX, length: None, ..stream }, vec![0; 29]),
        (DataHeader { epoch: u32::MAX, offset: newest, class: UNGATED, ..repair }, vec![0; 8]),
        // Bytes into a stream, at its start and where it is.
        (DataHeader { offset: 0, ..stream }, vec![0xee; 16]),
        (stream, vec![0xee; 16]),
        // An acknowledgement of a stream that host 0 sends, and its end.
        (DataHeader { offset: repair.offset + (1 << 40), ..repair }, encode_repair(60_017, std::iter::empty())),
        (DataHeader { offset: repair.offset + (1 << 40), ..repair }, encode_repair(u64::MAX, std::iter::empty())),
        (DataHeader { kind: DataKind::Packet, stream: 0, port: 0, length: Some(0), ..stream }, vec![0x45; 40]),
    ];
    let mut frames =
        [without_tag, with_tag].map(|make| all.iter().map(|(h, payload)| make(*h, payload)).collect::<Vec<_>>());
    frames[0][1].resize(68, 0);
    assert_eq!((frames[0][0].len(), frames[1][1].len()), (81, 68));
    frames
}

fn count(snapshot: &Snapshot, name: &str) -> u64 {
    snapshot.agent[name]
}

#[test]
fn forged_and_recorded_frames_between_hosts_have_no_effect() {
    let _turn = crate::turn();
    let mut lab = Lab::start("for", 1, |_| {});
    let traffic = Traffic::start(&lab, 1, &pairs(), 60_000);
    let to_host_0 = at_port(&lab, 0);
    let recorded = record(&lab);
    let before = lab.settled(0);
    let mut sent = [0; 2];
    // Between the true frames of streams that run meanwhile, and new ones.
    for _ in 0..10 {
        let newest = record(&lab);
        for (frames, sent) in forged(&newest).iter().zip(&mut sent) {
            *sent += to_host_0.send_batch(frames).unwrap().sent as u64;
        }
        for frames in recorded.chunks(16).chain(newest.chunks(16)).take(8) {
            to_host_0.send_batch(frames).unwrap();
        }
    }
    let streams = traffic.streams();
    until("streams go on", Wait::from_secs(30), || traffic.streams() > streams + 2 * pairs().len());
    let after = lab.settled(0);
    let counted = ["refused_unsealed", "refused_forged"].map(|name| count(&after, name) - count(&before, name));
    assert_eq!(counted, sent);
    let duplicate = |s: &Snapshot| s.streams["frames_duplicate"].as_u64().unwrap();
    assert!(duplicate(&after) > duplicate(&before), "recorded frames are duplicates: {}", after.streams);
    assert_eq!((after.epoch, count(&after, "refused_stale")), (before.epoch, count(&before, "refused_stale")));
    // Every stream that is said to be delivered has arrived, byte by byte, and once.
    println!("{} streams delivered, {sent:?} frames forged", traffic.stop());
    lab.exchange(2, Wait::from_secs(20));
    assert_eq!(lab.violations(), 0);
    let log = lab.hosts.log("host-0");
    assert!(log.contains("refused frames between hosts"), "{log}");
    assert!(log.matches("refused frames between hosts").count() < 60, "not a line a frame");
}

/// Joins a controller as host 2, with its certificate, and sends a report that only a liar sends.
/// Returns why the channel ended.
fn lie(lab: &Lab, place: u32, epoch: u32, report: BacklogReport) -> String {
    let identity = Identity::load(lab.folder.join("keys"), "host-2").unwrap();
    let address = SocketAddr::from((controller_ip(), PORT + place as u16));
    let (tell, told) = mpsc::channel();
    let name = format!("controller-{place}");
    let start = || Client::start(address, &name, &identity, move |e| drop(tell.send(e)));
    let client = lab.hosts.fabric().hosts()[2].enter(start).unwrap().unwrap();
    let next = || told.recv_timeout(Wait::from_secs(10)).expect("the controller answers");
    assert!(matches!(next(), Event::Joined { .. }));
    let (mac, key, secret) = (host_mac(2).to_string(), "00".repeat(16), Some("00".repeat(32)));
    let hello = Note::Hello(Hello { host: 2, epoch, mac, ip: None, key, secret, mtu: None });
    client.send(Record::Note(serde_json::to_value(hello).unwrap())).unwrap();
    let Event::Note { note, .. } = next() else { panic!("no note") };
    assert!(matches!(serde_json::from_value(note), Ok(Note::Welcome(_))), "it joins");
    let control = Control::Message(Message::Report(Box::new(report)));
    client.send(Record::Control { sent_at: clock::now(), control }).unwrap();
    loop {
        match next() {
            Event::Left { why, .. } => return why,
            // Plans for it, until then.
            Event::Note { .. } | Event::Control { .. } => {}
            Event::Joined { .. } => panic!("it has not left"),
        }
    }
}

#[test]
fn a_host_that_invents_epochs_is_disconnected_and_a_standby_still_leads() {
    let _turn = crate::turn();
    let mut lab = Lab::start("inv", 2, |p| p.status = true);
    let epoch = lab.settled(2).epoch;
    lab.hosts.kill_agent(2);
    let left = |place: usize| lab.hosts.metrics(place).unwrap()["controller_left"] >= 1.0;
    until("controllers know that it is gone", Wait::from_secs(10), || left(0) && left(1));
    for place in 0..2 {
        let refused = lab.hosts.metrics(place as usize).unwrap()["controller_refused"];
        for (of, obeys) in [(epoch, u32::MAX), (epoch, u32::MAX - 2), (u32::MAX, 0)] {
            let backlog = Backlog::default();
            let report = BacklogReport { epoch: of, sequence: 1, taken_at: clock::now(), obeys, heard: 0, backlog };
            let why = lie(&lab, place, epoch, report);
            assert!(!why.is_empty());
        }
        assert_eq!(lab.hosts.metrics(place as usize).unwrap()["controller_refused"], refused + 3.0);
        let log = lab.hosts.log(&format!("controller-{place}"));
        assert!(log.contains("closing the channel of host 2"), "{log}");
    }
    // The other hosts go on, also with the controller after this one.
    let two = [(0, 1), (1, 0)];
    let traffic = Traffic::start(&lab, 1, &two, 30_000);
    until("streams of others", Wait::from_secs(20), || traffic.pairs_done() == two.len());
    lab.hosts.kill_controller(0);
    let streams = traffic.streams();
    until("a standby leads", Wait::from_secs(20), || traffic.streams() > streams + 4);
    traffic.stop();
    // So does the host's true agent, once it has joined.
    lab.hosts.start_agent(2).unwrap();
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(2, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
}

#[test]
fn seals_are_switched_off_everywhere_or_nowhere() {
    let _turn = crate::turn();
    let mut lab = Lab::start("sea", 1, |_| {});
    let switch_off = |lab: &Lab, name: &str| {
        let file = lab.hosts.folder(name).join("config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("seal = \"none\"\n{text}")).unwrap();
    };
    lab.hosts.stop_agent(2);
    switch_off(&lab, "host-2");
    lab.hosts.start_agent(2).unwrap();
    let refused = "refuses this host: `seal` of host 2 is \"none\": expected \"siphash\"";
    until("host 2 is told why", Wait::from_secs(20), || lab.hosts.log("host-2").contains(refused));
    // And with all others.
    for host in 0..2 {
        lab.hosts.stop_agent(host);
        switch_off(&lab, &format!("host-{host}"));
    }
    lab.hosts.stop_controller(0);
    switch_off(&lab, "controller-0");
    lab.hosts.start_controller(0).unwrap();
    (0..2).for_each(|host| lab.hosts.start_agent(host).unwrap());
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(1, Wait::from_secs(30));
    let shown = lab.settled(0);
    assert_eq!((count(&shown, "refused_unsealed"), count(&shown, "refused_sealed")), (0, 0));
    assert!(lab.hosts.log("host-0").contains("everybody on the network can forge frames"));
    assert_eq!(lab.violations(), 0);
}
