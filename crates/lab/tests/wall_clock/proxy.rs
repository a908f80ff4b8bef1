//! The proxy with kernel TCP: emulated links, windows set by BPF, acknowledgements on another wire.
//! Needs root and `/dev/net/tun`.

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration as Wall, Instant};
use timeplane_lab::proxy::{
    AccessPoint, AccessPointConfig, Direction, Emulator, Figures, LabScheme, LinkSpec, ProxyLab, RateTrace, tun,
};
use timeplane_live::acks::{AckError, AckRedirect};
use timeplane_live::netns::{Namespace, veth};
use timeplane_live::proxy::{
    Actuator, Clock, Order, SplitConfig, SplitProxy, Steering, SteeringConfig, TcpInfo, WindowControl, WindowError,
};
use timeplane_model::{Bytes, Duration, LinkId, Rate, Time};
use timeplane_protocol::wire::MacAddress;
use timeplane_protocol::{LinkReporterConfig, ProxyPolicy, QueueSample, WindowProxyConfig};

fn ms(t: i64) -> Duration {
    Duration::from_ms(t)
}

/// A name for namespaces, this test's and this process's alone.
fn name(test: &str) -> String {
    format!("tp{test}{}", std::process::id() % 1_000_000)
}

/// 10 to 200 Mb/s in steps of 500 ms, 8 s of them.
fn steps() -> RateTrace {
    let rates = [100, 200, 40, 10, 150, 60, 20, 120, 200, 30, 80, 10, 180, 50, 140, 25];
    RateTrace::steps(&rates.map(|r| (ms(500), Rate::mbps(r)))).unwrap()
}

fn one_way(rate: u64, limit: Bytes, propagation: Duration) -> Direction {
    let trace = Arc::new(RateTrace::steps(&[(ms(1), Rate::mbps(rate))]).unwrap());
    Direction { trace, limit, mark_at: None, propagation }
}

fn described(figures: &Figures) -> String {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    format!(
        "{:.1} of {:.1} Mb/s ({:.3}), round trips p50 {:.1} p99 {:.1} ms, smoothed {:.1} and {:.1} ms, {} found no room, {} sent again, p99 {:.0} us late, {:?}",
        figures.goodput.as_bps() as f64 / 1e6,
        figures.capacity.as_bps() as f64 / 1e6,
        figures.share(),
        ms(figures.rtt.p50),
        ms(figures.rtt.p99),
        ms(figures.srtt.p50),
        ms(figures.srtt.p99),
        figures.packets[0].no_room.packets,
        figures.sent_again,
        ms(figures.late) * 1e3,
        figures.steering,
    )
}

/// What always holds, however slow the machine is.
fn sound(figures: &Figures) {
    assert!(figures.intact, "bytes are missing or wrong: {:?}", figures.bytes);
    for way in &figures.packets {
        assert!(way.conserved(), "{way:?}");
        assert_eq!(way.refused.packets, 0, "{way:?}");
    }
    assert!(figures.packets[0].delivered.bytes > figures.bytes.1, "headers come on top");
}

#[test]
fn the_proxy_keeps_round_trips_short_where_cubic_fills_the_queue() {
    let _turn = crate::turn();
    let (actuator, why) = Actuator::best();
    assert!(why.is_none(), "{}", why.unwrap());
    let actuator = Arc::new(actuator);
    let lab = ProxyLab::new(&name("p"), steps(), ms(8_000));
    // The proxy is a process, and a busy machine may keep it from sending: it has three tries.
    let ratios = (0..3).map(|_| {
        let cubic = lab.run(&LabScheme::Kernel("cubic".to_owned()), &actuator).unwrap();
        eprintln!("cubic:    {}", described(&cubic));
        let reactive = lab.run(&LabScheme::Proxy(ProxyPolicy::Reactive {}), &actuator).unwrap();
        eprintln!("reactive: {}", described(&reactive));
        sound(&cubic);
        sound(&reactive);
        let steering = reactive.steering.unwrap();
        assert!(steering.reports > 16 && steering.orders > 16 && steering.failed == 0, "{steering:?}");
        // Quiet machines have a fifth and 90 %; this is what noise leaves.
        assert!(reactive.rtt.p99 * 2 <= cubic.rtt.p99, "{} against {}", reactive.rtt.p99, cubic.rtt.p99);
        assert!(reactive.rtt.p50 < cubic.rtt.p50);
        reactive.goodput.as_bps() as f64 / cubic.goodput.as_bps() as f64
    });
    assert!({ ratios }.any(|ratio| ratio >= 0.75), "the proxy carries less than three quarters");
}

#[test]
fn without_bpf_the_send_buffer_bounds_what_is_under_way() {
    let _turn = crate::turn();
    let lab = ProxyLab::new(&name("b"), steps(), ms(3_000));
    // As above, it has three tries.
    let shares = (0..3).map(|_| {
        let actuator = Arc::new(Actuator::SendBuffer);
        let figures = lab.run(&LabScheme::Proxy(ProxyPolicy::Reactive {}), &actuator).unwrap();
        eprintln!("send buffer: {}", described(&figures));
        sound(&figures);
        // 6 MB at 10 Mb/s are 4.8 s.
        assert!(figures.rtt.p99 < ms(500), "{}", figures.rtt.p99);
        figures.share()
    });
    assert!({ shares }.any(|share| share > 0.3), "it carries less than 30 %");
}

#[test]
fn an_emulated_link_delays_bounds_and_conserves() {
    let _turn = crate::turn();
    let prefix = name("e");
    let [a, b] = ["a", "b"].map(|letter| Namespace::create(&format!("{prefix}{letter}")).unwrap());
    let near = tun(&a, "air", "10.92.0.1/24", 1500).unwrap();
    let far = tun(&b, "air", "10.92.0.2/24", 1500).unwrap();
    // 100 packets of 1028 B with IP and UDP are 82 ms at 10 Mb/s, of which half find room.
    let spec = LinkSpec {
        there: one_way(10, Bytes::new(51_400), ms(30)),
        back: one_way(10, Bytes::mb(1), ms(7)),
        seed: 1,
        record_until: Time::MAX,
    };
    let emulator = Emulator::start(near, far, &spec, Clock::start()).unwrap();
    let there = b.enter(|| UdpSocket::bind("10.92.0.2:7").unwrap()).unwrap();
    let here = a.enter(|| UdpSocket::bind("10.92.0.1:7").unwrap()).unwrap();
    there.set_read_timeout(Some(Wall::from_secs(5))).unwrap();
    here.set_read_timeout(Some(Wall::from_secs(5))).unwrap();
    let begin = Instant::now();
    for i in 0..100_u8 {
        here.send_to(&[i; 1000], "10.92.0.2:7").unwrap();
    }
    let mut buffer = [0; 2000];
    let (mut last, mut received) = (None, 0);
    loop {
        let (length, from) = there.recv_from(&mut buffer).unwrap();
        assert!(begin.elapsed() >= Wall::from_millis(30));
        assert!(length == 1000 && last < Some(buffer[0]) && buffer[..1000].iter().all(|&x| x == buffer[0]));
        last = Some(buffer[0]);
        there.send_to(&buffer[..1], from).unwrap();
        here.recv(&mut buffer).unwrap();
        received += 1;
        let counters = emulator.measured()[0].counters;
        if counters.came.packets == 100 && counters.under_way.packets == 0 && counters.delivered.packets == received {
            break;
        }
    }
    let [there, back] = emulator.stop().unwrap();
    eprintln!("{:?}", there.counters);
    assert!(there.counters.conserved() && back.counters.conserved());
    assert_eq!(there.counters.came.packets, 100);
    assert!(there.counters.no_room.packets > 0 && there.counters.delivered.packets >= 50);
    assert_eq!(back.counters.delivered.packets, there.counters.delivered.packets);
    // The first one waits for nobody; the last one for as many as find room.
    assert!(there.delays.quantile(0.0).unwrap() >= ms(30) && back.delays.quantile(0.5).unwrap() >= ms(7));
    assert!(there.lateness.quantile(0.5).unwrap() < ms(20), "{:?}", there.lateness.quantile(0.5));
}

#[test]
fn windows_are_the_kernels_again_when_reports_stop() {
    let _turn = crate::turn();
    let scheme = WindowControl::load().unwrap();
    let actuator = Arc::new(Actuator::Bpf(scheme));
    let asked = || match &*actuator {
        Actuator::Bpf(scheme) => scheme.counters().unwrap(),
        _ => unreachable!("it is what was put in"),
    };
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let to = SplitConfig::to(target.local_addr().unwrap());
    let split = SplitProxy::start(listener, to, actuator.clone()).unwrap();
    let [reports, reporter] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let (proxy, access_point) = (reports.local_addr().unwrap(), reporter.local_addr().unwrap());
    let trace = Arc::new(RateTrace::steps(&[(ms(1), Rate::mbps(100))]).unwrap());
    let config = SteeringConfig {
        proxy: WindowProxyConfig { ladder: trace.ladder().clone(), pace: false, ..WindowProxyConfig::default() },
        link: LinkId(1),
        access_point,
        hold: true,
        lease: ms(300),
        look: ms(2),
    };
    let clock = Clock::start();
    let steering = Steering::start(reports, config, actuator.clone(), split.connections(), clock).unwrap();
    let reporter_config = LinkReporterConfig { link: LinkId(1), epoch: 1, keep_alive: ms(20) };
    let config = AccessPointConfig { reporter: reporter_config, proxy, delay: Duration::ZERO };
    let point = AccessPoint::start(reporter, config, trace, QueueSample::default, clock).unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let (mut device, _) = target.accept().unwrap();
    // Bytes go there and back until `what` holds.
    let mut talk = |what: &dyn Fn() -> bool| {
        let begin = Instant::now();
        let mut buffer = [0; 64];
        while !what() {
            assert!(begin.elapsed() < Wall::from_secs(10), "{:?} {:?}", steering.counters(), asked());
            client.write_all(&[1; 64]).unwrap();
            device.read_exact(&mut buffer).unwrap();
            std::thread::sleep(Wall::from_millis(1));
        }
    };
    talk(&|| asked().steered > 20);
    point.mute(true);
    talk(&|| steering.counters().released == 1);
    let before = asked().unsteered;
    talk(&|| asked().unsteered > before + 20);
    // A datagram of somebody else, and one that is no report, change nothing.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.send_to(&[1; 70], proxy).unwrap();
    talk(&|| steering.counters().foreign == 1);
    let steered = asked().steered;
    point.mute(false);
    talk(&|| asked().steered > steered + 20);
    assert_eq!(steering.counters().failed, 0);
    drop(steering);
    // Whoever ends gives back what it has taken.
    let (steered, unsteered) = (asked().steered, asked().unsteered);
    let mut buffer = [0; 64];
    for _ in 0..20 {
        client.write_all(&[1; 64]).unwrap();
        device.read_exact(&mut buffer).unwrap();
    }
    assert!(asked().steered == steered && asked().unsteered > unsteered);
}

#[test]
fn the_kernel_follows_a_window_while_it_holds() {
    let _turn = crate::turn();
    let scheme = WindowControl::load_as(&name("tpf")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (there, _) = listener.accept().unwrap();
    scheme.adopt(&here).unwrap();
    // Each byte is acknowledged before the next one leaves.
    let exchange = || {
        let mut buffer = [0];
        for _ in 0..3 {
            (&here).write_all(&[1]).unwrap();
            (&there).read_exact(&mut buffer).unwrap();
            (&there).write_all(&buffer).unwrap();
            (&here).read_exact(&mut buffer).unwrap();
        }
        TcpInfo::of(&here).unwrap().window
    };
    let own = exchange();
    assert!(own >= 10, "{own}");
    // It grows with the first bytes.
    let mss = TcpInfo::of(&here).unwrap().mss;
    let order = |window, hold, until| Order { window, rate: None, hold, until };
    let steer = |order| scheme.steer(&here, order).unwrap();
    steer(order(mss * 20 + Bytes::new(1), true, u64::MAX));
    assert_eq!(exchange(), 21);
    steer(order(mss * 3, false, u64::MAX));
    assert_eq!(exchange(), 3);
    // There is no window of nothing, and what is under way goes on.
    steer(order(Bytes::ZERO, true, u64::MAX));
    assert_eq!(exchange(), 1);
    steer(order(mss * 500, true, u64::MAX));
    assert_eq!(exchange(), 500);
    let before = scheme.counters().unwrap();
    assert!(before.steered >= 12, "{before:?}");
    // One whose time is over is none; nor is one that was taken back.
    steer(order(mss * 7, true, 0));
    assert!(exchange() >= 500);
    steer(order(mss * 7, true, u64::MAX));
    scheme.release(&here).unwrap();
    scheme.release(&here).unwrap();
    assert!(exchange() >= 500);
    let after = scheme.counters().unwrap();
    assert!(after.steered == before.steered && after.unsteered >= before.unsteered + 6, "{before:?} {after:?}");
}

/// Whether a new socket can have a congestion control of this name.
fn is_registered(name: &str) -> bool {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(name)).is_ok()
}

fn eventually(what: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        let holds = what();
        if !holds {
            std::thread::sleep(Wall::from_millis(10));
        }
        holds
    })
}

#[test]
#[ignore = "the process that another test kills"]
fn holds_a_control_until_it_is_killed() {
    let _turn = crate::turn();
    if let Ok(name) = std::env::var("TIMEPLANE_HOLDS_A_CONTROL") {
        let scheme = WindowControl::load_as(&name).unwrap();
        println!("\nregistered {}", scheme.name());
        std::thread::sleep(Wall::from_secs(60));
    }
}

/// A process that is killed, also where a test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_control_does_not_outlive_its_process() {
    let _turn = crate::turn();
    let [theirs, ours] = ["tpa", "tpb"].map(name);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "proxy::holds_a_control_until_it_is_killed", "--ignored", "--nocapture"])
        .env("TIMEPLANE_HOLDS_A_CONTROL", &theirs)
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Killed(child.unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find_map(|line| line.strip_prefix("registered ").map(str::to_owned));
    assert_eq!(said.as_ref(), Some(&theirs), "the other process registers one");
    assert!(is_registered(&theirs));
    let taken = WindowControl::load_as(&theirs).unwrap_err();
    assert!(matches!(taken, WindowError::Bpf(_)), "{taken}");
    let scheme = WindowControl::load_as(&ours).unwrap();
    drop(child);
    assert!(eventually(|| !is_registered(&theirs)), "{theirs} is still there");
    assert!(is_registered(&ours));
    drop(scheme);
    assert!(eventually(|| !is_registered(&ours)), "{ours} is still there");
    // Whoever does not care for the name gets one, also beside others.
    let two = [0, 1].map(|_| WindowControl::load().unwrap());
    assert!(two[0].name() != two[1].name() && two.iter().all(|c| is_registered(c.name())));
    let wrong = WindowControl::load_as("not-a-name").unwrap_err().to_string();
    assert!(wrong.contains("not-a-name") && wrong.contains("underscores"), "{wrong}");
}

/// Sends a megabyte from `a` to `b`, checks it, and gets an answer.
fn transfer(a: &Namespace, b: &Namespace, to: &str) {
    let listener = b.enter(|| TcpListener::bind(to).unwrap()).unwrap();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            stream.write_all(b"thanks").unwrap();
            got
        });
        let mut client = a.enter(|| TcpStream::connect(to).unwrap()).unwrap();
        client.set_read_timeout(Some(Wall::from_secs(20))).unwrap();
        client.write_all(&bytes).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "thanks");
        assert!(server.join().unwrap() == bytes, "other bytes came than were sent");
    });
}

/// Packets that came in by an interface.
fn came(namespace: &Namespace, interface: &str) -> u64 {
    let json = namespace.ip(&format!("-j -s link show dev {interface}")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
}

#[test]
fn acknowledgements_take_another_wire_and_data_do_not() {
    let _turn = crate::turn();
    let prefix = name("k");
    let [a, b] = ["a", "b"].map(|letter| Namespace::create(&format!("{prefix}{letter}")).unwrap());
    veth((&a, "data", "02:00:00:00:93:01"), (&b, "data", "02:00:00:00:93:02")).unwrap();
    veth((&a, "acks", "02:00:00:00:93:03"), (&b, "acks", "02:00:00:00:93:04")).unwrap();
    for (namespace, four, six) in [(&a, "10.93.0.1/24", "fd93::1/64"), (&b, "10.93.0.2/24", "fd93::2/64")] {
        let enable = ["-qw", "net.ipv6.conf.data.disable_ipv6=0", "net.ipv6.conf.acks.disable_ipv6=0"];
        assert!(namespace.command("sysctl").args(enable).status().unwrap().success());
        namespace.ip(&format!("addr add {four} dev data")).unwrap();
        namespace.ip(&format!("addr add {six} dev data nodad")).unwrap();
    }
    // What comes over the wire for acknowledgements has addresses of the other one.
    let next_hop: MacAddress = "02:00:00:00:93:03".parse().unwrap();
    let redirect = b.enter(|| AckRedirect::attach("data", "acks", Some(next_hop)).unwrap()).unwrap();
    for (to, least) in [("10.93.0.2:9", 20), ("[fd93::2]:9", 20)] {
        let before = (redirect.counters().unwrap(), came(&a, "acks"));
        transfer(&a, &b, to);
        let after = redirect.counters().unwrap();
        let redirected = after.redirected - before.0.redirected;
        assert!(redirected >= least, "{redirected} acknowledgements of a megabyte to {to}");
        // SYN, the answer with its payload and FIN stay.
        let passed = after.passed - before.0.passed;
        assert!((2..=20).contains(&passed), "{passed} packets stayed, to {to}");
        assert_eq!(after.failed, 0);
        // IPv6 has some words of its own to say there.
        assert!(eventually(|| came(&a, "acks") - before.1 >= redirected), "{before:?} {after:?}");
    }
    let all = redirect.counters().unwrap();
    drop(redirect);

    // The same by the command, which says what it did when it is stopped.
    let next_hop = format!("--next-hop={next_hop}");
    let mut command = b.command(env!("CARGO_BIN_EXE_timeplane-lab"));
    command.args(["acknowledgements", "data", "acks", "--every=1", "--json", &next_hop]).stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
    said.next().expect("it reports once its program is attached").unwrap();
    let before = came(&a, "acks");
    transfer(&a, &b, "10.93.0.2:9");
    kill(Pid::from_raw(i32::try_from(running.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert!(running.wait().unwrap().success());
    let said: serde_json::Value = serde_json::from_str(&said.last().unwrap().unwrap()).unwrap();
    let redirected = said["redirected"].as_u64().unwrap();
    assert!(redirected >= 20 && said["failed"] == 0, "{said}");
    assert!(eventually(|| came(&a, "acks") - before >= redirected), "{said}");
    let before = came(&a, "data");
    transfer(&a, &b, "10.93.0.2:9");
    assert!(came(&a, "data") - before >= 20, "acknowledgements are back where they were: {all:?}");
    let unknown = b.enter(|| AckRedirect::attach("data", "nowhere", None).unwrap_err().to_string()).unwrap();
    assert!(unknown.contains("nowhere"), "{unknown}");
}

#[test]
fn acknowledgements_of_an_emulated_link_come_back_by_wire() {
    let _turn = crate::turn();
    let prefix = name("w");
    let [a, b] = ["a", "b"].map(|letter| Namespace::create(&format!("{prefix}{letter}")).unwrap());
    let near = tun(&a, "air", "10.94.0.1/24", 1500).unwrap();
    let far = tun(&b, "air", "10.94.0.2/24", 1500).unwrap();
    veth((&a, "wire", "02:00:00:00:94:01"), (&b, "wire", "02:00:00:00:94:02")).unwrap();
    let way = one_way(50, Bytes::mb(2), ms(5));
    let spec = LinkSpec { there: way.clone(), back: way, seed: 1, record_until: Time::MAX };
    let emulator = Emulator::start(near, far, &spec, Clock::start()).unwrap();
    let header = b.enter(|| AckRedirect::attach("air", "wire", None).unwrap_err()).unwrap();
    assert!(matches!(header, AckError::NextHop { .. }), "{header}");
    let next_hop: MacAddress = "02:00:00:00:94:01".parse().unwrap();
    let redirect = b.enter(|| AckRedirect::attach("air", "wire", Some(next_hop)).unwrap()).unwrap();
    transfer(&a, &b, "10.94.0.2:9");
    let counters = redirect.counters().unwrap();
    drop(redirect);
    let [there, back] = emulator.measured();
    eprintln!("{counters:?} {:?} {:?}", there.counters, back.counters);
    assert!(counters.redirected >= 20 && eventually(|| came(&a, "wire") >= counters.redirected), "{counters:?}");
    assert!(back.counters.came.packets <= 20, "{:?}", back.counters);
    assert!(there.counters.delivered.bytes > 1_000_000);

    // The other way round: data by wire, and acknowledgements without their Ethernet headers
    // through the air.
    a.ip("addr add 10.95.0.1/24 dev wire").unwrap();
    b.ip("addr add 10.95.0.2/24 dev wire").unwrap();
    let redirect = b.enter(|| AckRedirect::attach("wire", "air", None).unwrap()).unwrap();
    transfer(&a, &b, "10.95.0.2:9");
    let redirected = redirect.counters().unwrap().redirected;
    assert!(redirected >= 20, "{redirected}");
    let more = || emulator.measured()[1].counters.came.packets - back.counters.came.packets;
    assert!(eventually(|| more() >= redirected), "{} of {redirected}", more());
    assert!(emulator.stop().unwrap().iter().all(|way| way.counters.conserved()));
}
