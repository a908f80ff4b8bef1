//! What forgers send: frames in the name of hosts, and reports that only a liar sends.
//!
//! A forger has no key of a pair. A liar has the certificate of a host.

use crate::fabric::{controller_ip, host_mac, host_port};
use crate::hosts::Hosts;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::{Duration as Wait, Instant};
use timeplane_live::channel::{Client, Event, Record};
use timeplane_live::clock;
use timeplane_live::daemons::Failure;
use timeplane_live::keys::Identity;
use timeplane_live::notes::{Hello, Note};
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_model::Duration;
use timeplane_protocol::wire::{
    Control, DataHeader, DataKind, ETHER_TYPE_DATA, MacAddress, PORT, PairKey, UNGATED, encode_repair,
};
use timeplane_protocol::{BacklogReport, Message};

/// A socket at a host's port of the switch. It hears frames before the bridge takes them, which
/// needs all EtherTypes. What it sends goes to the host.
///
/// # Errors
/// If it cannot be opened.
pub fn at_port(hosts: &Hosts, host: u16) -> Result<PacketSocket, Failure> {
    Ok(hosts.fabric().switch().enter(|| PacketSocket::open(&host_port(host), ALL_ETHER_TYPES))??)
}

/// Frames of streams and repairs from host 1 to host 0, as they pass the switch from now on.
///
/// # Errors
/// If there are too few for half a minute.
pub fn record(hosts: &Hosts) -> Result<Vec<Vec<u8>>, Failure> {
    let socket = at_port(hosts, 1)?;
    let (mut recorded, mut frames, began) = (Vec::new(), Frames::new(1514), Instant::now());
    let of = |recorded: &[Vec<u8>], kind: DataKind| {
        let is = |f: &&Vec<u8>| DataHeader::parse(f).is_ok_and(|(h, _)| h.kind == kind);
        recorded.iter().filter(is).count()
    };
    while of(&recorded, DataKind::Stream) < 40 || of(&recorded, DataKind::Repair) < 4 {
        if began.elapsed() > Wait::from_secs(30) {
            return Err(format!("{} frames from host 1 to host 0 in 30 s", recorded.len()).into());
        }
        let _ = socket.wait(Duration::from_ms(20));
        while socket.receive_batch(&mut frames)? > 0 {
            let is_data = |f: &&[u8]| f[12..14] == ETHER_TYPE_DATA.to_be_bytes();
            let ours = frames.iter().filter(is_data);
            let ours = ours.filter(|f| f[..6] == host_mac(0).0 && f[6..12] == host_mac(1).0);
            recorded.extend(ours.map(<[u8]>::to_vec));
        }
    }
    Ok(recorded)
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

/// What a forger can make of recorded frames, without a tag and with a wrong one; nothing where
/// there is no frame of a stream or no repair among them.
pub fn forged(recorded: &[Vec<u8>]) -> [Vec<Vec<u8>>; 2] {
    let headers = || recorded.iter().filter_map(|f| Some(DataHeader::parse(f).ok()?.0));
    let last = |kind| headers().rfind(|h| h.kind == kind);
    let (Some(stream), Some(repair)) = (last(DataKind::Stream), last(DataKind::Repair)) else {
        return [Vec::new(), Vec::new()];
    };
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
    // As long as with a tag.
    frames[0][1].resize(68, 0);
    frames
}

/// A connection to a controller with the certificate of host 2.
pub struct Liar {
    /// The connection.
    pub client: Client,
    told: mpsc::Receiver<Event>,
}

impl Liar {
    /// Connects, and says nothing yet.
    ///
    /// # Errors
    /// If the controller does not accept the certificate.
    pub fn connect(hosts: &Hosts, place: u32) -> Result<Self, Failure> {
        let identity = Identity::load(hosts.folder("keys"), "host-2")?;
        let address = SocketAddr::from((controller_ip(), PORT + place as u16));
        let (tell, told) = mpsc::channel();
        let name = format!("controller-{place}");
        let start = || Client::start(address, &name, &identity, move |e| drop(tell.send(e)));
        let client = hosts.fabric().hosts()[2].enter(start)??;
        let liar = Self { client, told };
        match liar.next()? {
            Event::Joined { .. } => Ok(liar),
            other => Err(format!("expected a connection to {name}: found {other:?}").into()),
        }
    }

    fn next(&self) -> Result<Event, Failure> {
        let none = |_| "the controller says nothing for ten seconds".into();
        self.told.recv_timeout(Wait::from_secs(10)).map_err(none)
    }

    /// Says hello with this address, and returns the answer.
    ///
    /// # Errors
    /// If there is none.
    pub fn hello(&self, epoch: u32, mac: MacAddress) -> Result<Note, Failure> {
        let (key, secret) = ("00".repeat(16), Some("00".repeat(32)));
        let hello = Note::Hello(Hello { host: 2, epoch, mac: mac.to_string(), ip: None, key, secret, mtu: None });
        self.client.send(Record::Note(serde_json::to_value(hello)?))?;
        loop {
            match self.next()? {
                Event::Note { note, .. } => return Ok(serde_json::from_value(note)?),
                Event::Left { why, .. } => return Err(why.into()),
                _ => {}
            }
        }
    }
}

/// Joins a controller as host 2, with its certificate, and sends a report that only a liar sends.
/// Returns why the channel ended; `None` if it has not within ten seconds.
///
/// # Errors
/// If the controller does not let it join.
pub fn lie(hosts: &Hosts, place: u32, epoch: u32, report: BacklogReport) -> Result<Option<String>, Failure> {
    let liar = Liar::connect(hosts, place)?;
    match liar.hello(epoch, host_mac(2))? {
        Note::Welcome(_) => {}
        other => return Err(format!("expected a welcome: found {other:?}").into()),
    }
    let control = Control::Message(Message::Report(Box::new(report)));
    liar.client.send(Record::Control { sent_at: clock::now(), control })?;
    loop {
        match liar.next() {
            Ok(Event::Left { why, .. }) => return Ok(Some(why)),
            // Plans for it, until then.
            Ok(_) => {}
            Err(_) => return Ok(None),
        }
    }
}
