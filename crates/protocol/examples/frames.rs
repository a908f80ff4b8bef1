//! Writes one of each control frame, and of each frame of live agents, to a capture file for other
//! programs' decoders.
//!
//! Run `cargo run -p timeplane-protocol --example frames -- frames.pcap`, then `tshark -r
//! frames.pcap -V --disable-heuristic dns_udp`. Without that option tshark takes some UDP frames
//! for DNS.

use core::net::Ipv4Addr;
use std::error::Error;
use timeplane_model::{
    Backlog, Bytes, Class, Duration, FlowId, Grant, HostId, LinkId, Medium, Rate, Round, Time, Trigger,
};
use timeplane_protocol::wire::{
    Circuit, ClassNames, Configuration, Control, DataHeader, DataKind, Endpoint, EpsShare, ExtendedPfcFrame, Heartbeat,
    HopHeader, HostPeriod, HostSecret, MacAddress, PORT, PauseFrame, PeriodSchedule, PfcClass, PfcFrame, Quanta,
    SignalEncoding, SignalEtherType, SignalKey, UNGATED, UdpFrame, Via, encode_repair,
};
use timeplane_protocol::{
    BacklogReport, Gathered, Grants, LinkReport, LinkSample, LinkUse, Message, Part, Pfc, QueueSample, RackFlyways,
    RackLink, RackShare, Rates, Steer,
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: frames FILE.pcap")?;
    let all = [frames()?, live_frames()?].concat();
    std::fs::write(&path, capture(&all))?;
    println!("{} frames, {} bytes without FCS, in {path}", all.len(), all.iter().map(Vec::len).sum::<usize>());
    Ok(())
}

/// A capture file in libpcap's classic format, with frames 10 us apart.
pub fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    // Magic, version 2.4, time zone, accuracy, the longest frame, Ethernet.
    let mut file = Vec::new();
    for number in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, 1] {
        file.extend_from_slice(&u32::to_be_bytes(number));
    }
    for (i, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        for number in [0, 10 * i as u32, length, length] {
            file.extend_from_slice(&number.to_be_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// One of each frame, as on the wire.
pub fn frames() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let (controller, host) = (MacAddress([2, 0, 0, 0, 0, 0xaa]), MacAddress([2, 0, 0, 0, 0, 7]));
    let class = |number| PfcClass::new(number).ok_or("a class has 11 bits");
    let slot = Quanta::at_least(Duration::from_us(315), Rate::gbps(10)).ok_or("a slot too long for PAUSE")?;

    let mut all = Vec::new();
    all.push(PauseFrame::new(controller, Quanta::MAX).encode().to_vec());
    all.push(PauseFrame { destination: host, ..PauseFrame::new(controller, Quanta::ZERO) }.encode().to_vec());
    let mut times = [None; 8];
    (times[0], times[3], times[7]) = (Some(Quanta::MAX), Some(Quanta::ZERO), Some(Quanta(100)));
    all.push(PfcFrame::new(controller, times).encode().to_vec());
    all.push(PfcFrame::all_but(controller, 1 << 2, slot).encode().to_vec());
    let mut extended = ExtendedPfcFrame::all_but(controller, host, (1, 42), Some(class(1234)?), slot);
    all.push(extended.encode().to_vec());
    extended.ether_type = SignalEtherType::MacControl;
    all.push(extended.encode().to_vec());
    let signal = Pfc { epoch: 1, sequence: 43, open: Some(1234), hold: Duration::from_us(315) };
    all.push(signal.encode(controller, host)?.to_vec());

    let end = |mac, last| Endpoint { mac, ip: Ipv4Addr::new(10, 0, 0, last), port: PORT };
    let (up, down) = ((end(host, 7), end(controller, 170)), (end(controller, 170), end(host, 7)));
    for ((source, destination), control) in
        controls(class)?.into_iter().map(|(is_up, c)| (if is_up { up } else { down }, c))
    {
        for payload in control.encode()? {
            all.push(UdpFrame { source, destination, payload }.encode()?);
        }
    }
    Ok(all)
}

/// Frames of real networks only: a signal with its tag, data, and a datagram from rack to rack.
pub fn live_frames() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let (controller, host) = (MacAddress([2, 0, 0, 0, 0, 0xaa]), MacAddress([2, 0, 0, 0, 0, 7]));
    let signal = Pfc { epoch: 1, sequence: 44, open: Some(3), hold: Duration::from_us(315) };
    let sealed = signal.seal(SignalEncoding::Experimental, &SignalKey([7; 16]), controller, host)?;
    let data = |kind, class, payload: &[u8]| {
        let header = DataHeader {
            destination: MacAddress([2, 0, 0, 0, 0, 3]),
            source: host,
            kind,
            class,
            payload: payload.len() as u16,
            host: HostId(7),
            epoch: 2,
            stream: 5,
            port: 7,
            sealed: true,
            offset: 2880,
            length: (kind == DataKind::Stream).then_some(100_000),
        };
        let mut frame = [&header.encode()[..], payload].concat();
        HostSecret([8; 32]).key_of(HostId(7), HostId(3)).seal(&mut frame);
        frame
    };
    let payload = b"takes its second hop";
    let hop = HopHeader {
        destination: MacAddress([2, 0, 0, 0, 0, 3]),
        source: host,
        payload: payload.len() as u16,
        from: 2,
        to: 3,
        next: 3,
        progress: 1,
        flow: 12,
        offset: 2944,
        hops: 2,
    };
    Ok(vec![
        sealed,
        data(DataKind::Stream, 3, b"waits for its slot"),
        data(DataKind::Repair, UNGATED, &encode_repair(2880, [(4320, 5760)].into_iter())),
        [&hop.encode()[..], payload].concat(),
    ])
}

/// One of each message, and whether it is for the controller. The report takes two datagrams.
fn controls(class: impl Fn(u16) -> Result<PfcClass, &'static str>) -> Result<Vec<(bool, Control)>, Box<dyn Error>> {
    let us = |us: i64| Time::from_ps(us * 1_000_000);
    let backlog = Backlog::of_bytes((0..130).map(|d| (HostId(d), Bytes::kb(375))));
    let report = BacklogReport { epoch: 1, sequence: 9, taken_at: us(100), obeys: 0, heard: 0, backlog };
    let grant = Grant {
        destination: HostId(3),
        class: Class(0),
        medium: Medium::Fabric,
        rate: None,
        bytes: Some(Bytes::kb(375)),
        packets: None,
        start: Trigger::At(us(1000)),
        end: Trigger::At(us(1300)),
        lease: us(1300),
    };
    let grants = Grants { epoch: 1, round: Round(5), effective: us(1000), grants: vec![grant], report_at: us(9000) };
    let rates = Rates { epoch: 1, round: Round(5), lease: us(2000), rates: vec![(HostId(3), Class(0), Rate::gbps(4))] };
    let share = RackShare { destination: HostId(4), start: HostId(2), end: HostId(3), channel: 1, ppm: 400_000 };
    let flyways = RackFlyways {
        epoch: 1,
        round: Round(5),
        lease: us(9000),
        links: vec![RackLink { peer: HostId(3), channel: 1, rate: Rate::bps(6_756_750_000), up: us(1500) }],
        shares: vec![share],
    };
    let circuit = |destination, number| {
        let class = class(number)?;
        let circuit = Circuit { via: Via::Circuit, destination: HostId(destination), class, rate: Rate::gbps(9) };
        Ok::<_, Box<dyn Error>>(Configuration {
            duration: Duration::from_us(184),
            retunes: true,
            circuit: Some(circuit),
        })
    };
    let schedule = PeriodSchedule::new(HostPeriod {
        epoch: 1,
        period: 77,
        planned: us(1500),
        length: Duration::from_us(1500),
        dark: Duration::from_us(30),
        eps_rate: Rate::gbps(1),
        eps_class: (class(7)?, Rate::mbps(500)),
        others: Rate::mbps(100),
        configurations: vec![circuit(1, 0)?, circuit(2, 1)?],
        eps: vec![EpsShare { destination: HostId(3), class: class(2)?, rate: Rate::mbps(96) }],
    })?;
    let names = vec![(class(0)?, HostId(1)), (class(1)?, HostId(2)), (class(2)?, HostId(3))];
    let of_two = report.backlog.entries().iter().take(2).map(|e| (e.destination, e.bytes));
    let short = BacklogReport { obeys: 3, heard: 0, backlog: Backlog::of_bytes(of_two), ..report.clone() };
    let gathered = Gathered { epoch: 1, sequence: 4, reports: vec![(HostId(2), short)] };
    let part =
        Part { epoch: 1, round: Round(5), effective: us(1000), report_at: us(9000), grants: vec![(HostId(2), grant)] };
    let sample = LinkSample { uses: Some(LinkUse { rate: Rate::gbps(1), mcs: 10 }), beams: (3, 3), level_cdbm: -7136 };
    let queue = QueueSample { bytes: Bytes::new(81_400), packets: 10, drops: 0 };
    let link = LinkReport { epoch: 1, sequence: 300, taken_at: us(3_000_000), link: LinkId(1), sample, queue };
    let steer = Steer { epoch: 1, sequence: 17, flow: FlowId(0), window: Bytes::mb(5), rate: Some(Rate::gbps(1)) };
    Ok(vec![
        (true, Control::Message(Message::Report(Box::new(report)))),
        (false, Control::Message(Message::Grants(grants))),
        (false, Control::Message(Message::Rates(rates))),
        (false, Control::Schedule(schedule)),
        (false, Control::Heartbeat(Heartbeat { epoch: 1, period: 77, sent_at: us(1502) })),
        (false, Control::ClassNames(ClassNames { epoch: 1, round: Round(5), effective: us(1000), names })),
        (false, Control::Message(Message::Heartbeat(timeplane_protocol::Heartbeat { epoch: 1, round: Round(9) }))),
        (false, Control::Message(Message::Part(part))),
        (true, Control::Message(Message::Gathered(gathered))),
        (true, Control::LinkReport(link)),
        (false, Control::Steer(steer)),
        (false, Control::Message(Message::Flyways(flyways))),
    ])
}
