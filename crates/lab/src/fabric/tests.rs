//! Tests of fabrics in namespaces: who reaches whom, limits of ports, and removal after a crash.
//!
//! They need CAP_NET_ADMIN and CAP_SYS_ADMIN.

use super::*;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Instant;
use timeplane_live::packet_socket::{Batch, Frames, PacketSocket};

fn parameters(test: &str, hosts: u16) -> FabricParameters {
    FabricParameters { name: format!("tpf{test}{}", std::process::id()), hosts, mtu: 1500, limit: None }
}

/// The namespaces of a lab that there are.
fn namespaces(lab: &str) -> Vec<String> {
    let list = netns::ip("netns list").unwrap();
    let names = list.lines().filter_map(|l| l.split_whitespace().next());
    names.filter(|n| n.starts_with(lab)).map(str::to_owned).collect()
}

fn socket(namespace: &Namespace, ip: Ipv4Addr) -> UdpSocket {
    let socket = namespace.enter(|| UdpSocket::bind((ip, 4000)).unwrap()).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    socket
}

#[test]
fn everybody_reaches_everybody_and_nothing_else_is_on_the_links() {
    let parameters = FabricParameters { mtu: 9000, ..parameters("all", 5) };
    {
        let fabric = Fabric::start(&parameters).unwrap();
        let mut stations: Vec<_> = (0..5).map(|h| (&fabric.hosts()[usize::from(h)], host_ip(h))).collect();
        stations.push((fabric.controller(), controller_ip()));
        let sockets: Vec<_> = stations.iter().map(|&(namespace, ip)| socket(namespace, ip)).collect();
        // What host 4 hears of all this is what is sent to it: no ARP, and nothing flooded.
        let tap = fabric.hosts()[4]
            .enter(|| PacketSocket::open(INTERFACE, timeplane_live::packet_socket::ALL_ETHER_TYPES))
            .unwrap()
            .unwrap();
        for (from, sender) in sockets.iter().enumerate() {
            for (to, receiver) in sockets.iter().enumerate().filter(|&(to, _)| to != from) {
                // A datagram that fills the MTU.
                let mut datagram = [from as u8; 8972];
                datagram[1] = to as u8;
                sender.send_to(&datagram, (stations[to].1, 4000)).unwrap();
                let mut buffer = [0; 9000];
                let (length, source) = receiver.recv_from(&mut buffer).unwrap();
                assert_eq!(
                    (length, &buffer[..2], source.ip()),
                    (8972, &[from as u8, to as u8][..], stations[from].1.into())
                );
            }
        }
        let mut frames = Frames::new(9014);
        let mut heard = 0;
        while tap.receive_batch(&mut frames).unwrap() > 0 {
            assert!(frames.iter().all(|f| f[..6] == host_mac(4).0 && f.len() == 9014));
            heard += frames.iter().len();
        }
        assert_eq!(heard, 5);
        // A frame to nobody ends at the switch.
        let raw = fabric.hosts()[0].enter(|| PacketSocket::open(INTERFACE, 0x88b6)).unwrap().unwrap();
        let mut frame = [host_mac(77).0, host_mac(0).0].concat();
        frame.extend([0x88, 0xb6]);
        frame.resize(60, 0);
        raw.send(&frame).unwrap();
        assert!(!tap.wait(Duration::from_ms(50)).unwrap());
        assert_eq!(namespaces(&parameters.name).len(), 7);
    }
    assert_eq!(namespaces(&parameters.name), Vec::<String>::new());
    assert!(!std::fs::exists(format!("/run/timeplane-lab-{}.lock", parameters.name)).unwrap());
}

#[test]
fn a_limited_port_takes_its_time_holds_its_buffer_and_lets_signals_pass() {
    // 8 Mbit/s: a byte a microsecond.
    let limit = Some(PortLimit { rate: Rate::mbps(8), buffer: Bytes::new(300_000) });
    let mut fabric = Fabric::start(&FabricParameters { limit, ..parameters("rate", 2) }).unwrap();
    let [from, to] = [0, 1].map(|h| {
        let open = || PacketSocket::open(INTERFACE, timeplane_live::packet_socket::ALL_ETHER_TYPES).unwrap();
        fabric.hosts()[h].enter(open).unwrap()
    });
    // Else the sender's own buffer holds it back before the switch is full.
    from.set_send_buffer(Bytes::mb(8)).unwrap();
    to.set_receive_buffer(Bytes::mb(8)).unwrap();
    let frame = |ether_type: [u8; 2], length| {
        let mut frame = [host_mac(1).0, host_mac(0).0].concat();
        frame.extend(ether_type);
        frame.resize(length, 0);
        frame
    };
    let mut frames = Frames::new(1514);
    // The EtherTypes that arrive, until there were so many and then silence, and how long the last
    // one took.
    let mut receive = |since: Instant, least: usize| {
        let (mut all, mut last) = (vec![], since);
        while to.wait(Duration::from_ms(if all.len() < least { 10_000 } else { 200 })).unwrap() {
            to.receive_batch(&mut frames).unwrap();
            last = Instant::now();
            all.extend(frames.iter().map(|f| f[13]));
        }
        (all, (last - since).as_millis())
    };
    // Less than the buffer: all of it arrives, a byte a microsecond less the burst; and a signal,
    // sent last, does not wait.
    let start = Instant::now();
    let bulk = vec![frame([0x88, 0xb6], 1000); 200];
    assert_eq!(from.send_batch(&bulk).unwrap(), Batch { sent: 200, stop: None });
    from.send(&frame([0x88, 0xb5], 60)).unwrap();
    let (arrived, took) = receive(start, 201);
    assert_eq!(arrived.len(), 201);
    let signal = arrived.iter().position(|&t| t == 0xb5).unwrap();
    assert!(signal < 150, "signal came as number {signal}");
    assert!((190..4000).contains(&took), "{took} ms for 200 kB");
    // More than the buffer: it holds 300 frames, and gives a few away meanwhile.
    let start = Instant::now();
    assert_eq!(from.send_batch(&vec![frame([0x88, 0xb6], 1000); 2000]).unwrap().sent, 2000);
    let (arrived, _) = receive(start, 300);
    assert!((300..1500).contains(&arrived.len()), "{} of 2000", arrived.len());
    // Faster, and then without a limit.
    fabric.set_limit(1, Some(PortLimit { rate: Rate::mbps(80), buffer: Bytes::new(700_000) })).unwrap();
    let start = Instant::now();
    from.send_batch(&vec![frame([0x88, 0xb6], 1000); 600]).unwrap();
    let (arrived, took) = receive(start, 600);
    assert_eq!(arrived.len(), 600);
    assert!((50..4000).contains(&took), "{took} ms for 600 kB");
    fabric.set_limit(1, None).unwrap();
    from.send_batch(&bulk).unwrap();
    assert_eq!(receive(Instant::now(), 200).0.len(), 200);
    assert!(fabric.set_limit(2, None).is_err());
}

/// The process that the test below kills. It does nothing by itself.
#[test]
#[ignore = "is started by a_killed_lab_is_cleared_by_the_next_of_its_name"]
fn a_lab_that_is_killed() {
    let Ok(name) = std::env::var("TIMEPLANE_TEST_LAB") else { return };
    let _fabric = Fabric::start(&FabricParameters { name, ..parameters("", 2) }).unwrap();
    println!("\nrunning it");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_killed_lab_is_cleared_by_the_next_of_its_name() {
    let parameters = parameters("kill", 1);
    // Names that begin alike are another lab's.
    let bystander = Namespace::create(&format!("{}x-h0", parameters.name)).unwrap();
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fabric::tests::a_lab_that_is_killed", "--ignored", "--nocapture"])
        .env("TIMEPLANE_TEST_LAB", &parameters.name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(killed.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.into_iter().any(|line| line == "running it"));
    assert!(matches!(Fabric::start(&parameters), Err(FabricError::Running(name)) if name == parameters.name));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(namespaces(&format!("{}-", parameters.name)).len(), 4, "nobody was there to clear up");
    drop(Fabric::start(&parameters).unwrap());
    assert_eq!(namespaces(&parameters.name), [bystander.name()]);
}

#[test]
fn parameters_out_of_bounds_are_told() {
    let good = parameters("bad", 2);
    let limit = |rate, buffer| Some(PortLimit { rate: Rate::bps(rate), buffer: Bytes::new(buffer) });
    for (wrong, said) in [
        (FabricParameters { name: "a-b".into(), ..good.clone() }, "\"a-b\""),
        (FabricParameters { name: String::new(), ..good.clone() }, "lower-case"),
        (FabricParameters { hosts: 0, ..good.clone() }, "1 to 1000"),
        (FabricParameters { mtu: 70_000, ..good.clone() }, "68 to 65521"),
        (FabricParameters { limit: limit(7_999, 10_000), ..good.clone() }, "rate in bit/s is 7999"),
        (FabricParameters { limit: limit(8_000, 1_513), ..good.clone() }, "1514 (a frame of the MTU)"),
    ] {
        let error = Fabric::start(&wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(namespaces(&good.name), Vec::<String>::new());
}
