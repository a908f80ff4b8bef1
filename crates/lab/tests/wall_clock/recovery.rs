//! Recovery when a controller or an agent dies, or signals are lost or forged: guarantees hold, and
//! the test prints how long recovery takes.

use crate::common::{GUARD, HOSTS, Lab, SLOT, Traffic, pairs, until};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::{CONTROLLER_PORT, controller_mac, host_mac, host_port};
use timeplane_lab::loss::Loss;
use timeplane_live::clock;
use timeplane_live::gate::SafeState;
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_model::{Duration, HostId};

/// What was seen at the switch, and when.
#[derive(Clone, Copy, Debug)]
enum Seen {
    Signal { host: u16, epoch: u32, opens: bool },
    Data { host: u16 },
}

/// Writes down what passes the switch's ports.
struct Timeline {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<(Instant, Seen)>>>,
}

impl Timeline {
    fn start(lab: &Lab) -> Self {
        let (stop, seen) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<(Instant, Seen)>>>::default());
        for port in (0..HOSTS as u16).map(Some).chain([None]) {
            let name = port.map_or_else(|| CONTROLLER_PORT.to_owned(), host_port);
            let open = || PacketSocket::open(&name, ALL_ETHER_TYPES).unwrap();
            let socket = lab.hosts.fabric().switch().enter(open).unwrap();
            let (stop, seen) = (Arc::clone(&stop), Arc::clone(&seen));
            std::thread::spawn(move || {
                let mut frames = Frames::new(1514);
                // The socket ends with its namespace, at the latest.
                while !stop.load(Relaxed) && socket.wait(Duration::from_ms(20)).is_ok() {
                    let Ok(1..) = socket.receive_batch(&mut frames) else { continue };
                    let now = Instant::now();
                    seen.lock().unwrap().extend(frames.iter().filter_map(|f| Some((now, parse(f, port)?))));
                }
            });
        }
        Self { stop, seen }
    }

    fn epoch(&self) -> u32 {
        let epoch = |s: &(Instant, Seen)| if let Seen::Signal { epoch, .. } = s.1 { epoch } else { 0 };
        self.seen.lock().unwrap().iter().map(epoch).max().unwrap_or(0)
    }

    /// When a controller with another epoch first opened a slot, and when its first frame came.
    fn first_slot(&self, since: Instant, before: u32) -> Option<(Wait, Wait)> {
        let seen = self.seen.lock().unwrap();
        let (opened, host) = seen.iter().find_map(|(at, seen)| match *seen {
            Seen::Signal { host, epoch, opens: true } if *at > since && epoch != before => Some((*at, host)),
            _ => None,
        })?;
        let frame =
            seen.iter().find(|(at, seen)| *at >= opened && matches!(seen, Seen::Data { host: h } if *h == host))?;
        Some((opened - since, frame.0 - since))
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

/// A signal at the controller's port, or a frame with a class at a host's.
fn parse(frame: &[u8], port: Option<u16>) -> Option<Seen> {
    match (port, &frame[12..14]) {
        (None, [0x88, 0xb5]) if frame.len() >= 68 => Some(Seen::Signal {
            host: (0..HOSTS as u16).find(|&h| frame[..6] == host_mac(h).0)?,
            epoch: u32::from_be_bytes(frame[20..24].try_into().ok()?),
            opens: frame[17] & 0x3f > 0,
        }),
        (Some(host), [0x88, 0xb6]) if frame[16..18] != [0xff, 0xff] => Some(Seen::Data { host }),
        _ => None,
    }
}

/// Traffic of all pairs that has begun.
fn begun(lab: &Lab) -> Traffic {
    let traffic = Traffic::start(lab, 1, &pairs(), 60_000);
    until("traffic begins", Wait::from_secs(20), || traffic.pairs_done() == pairs().len());
    traffic
}

fn goes_on(traffic: &Traffic) {
    let before = traffic.streams();
    until("streams are delivered", Wait::from_secs(30), || traffic.streams() > before + 12);
}

#[test]
fn a_standby_leads_soon_and_no_byte_is_lost() {
    let _turn = crate::turn();
    let mut lab = Lab::start("rsb", 2, |_| {});
    let (timeline, traffic) = (Timeline::start(&lab), begun(&lab));
    // The standby leads already where the first one was too slow to be heard. The epochs of a
    // controller tell which one it is.
    let (before, killed) = (timeline.epoch(), Instant::now());
    let leader = before as usize % 2;
    lab.hosts.kill_controller(leader);
    until("the standby leads", Wait::from_secs(20), || timeline.first_slot(killed, before).is_some());
    let (opened, frame) = timeline.first_slot(killed, before).unwrap();
    println!("a standby: first slot {opened:?} after the kill, its first frame {frame:?}");
    goes_on(&traffic);
    println!("{} streams delivered", traffic.stop());
    assert_eq!(lab.violations(), 0);
    lab.hosts.start_controller(leader).unwrap();
    lab.exchange(2, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
}

#[test]
fn closed_gates_wait_for_a_controller_to_come_back() {
    let _turn = crate::turn();
    let mut lab = Lab::start("rcl", 1, |_| {});
    let (timeline, traffic) = (Timeline::start(&lab), begun(&lab));
    let before = timeline.epoch();
    lab.hosts.kill_controller(0);
    // The longest hold is 15 ms, and the lease half a second.
    std::thread::sleep(Wait::from_millis(200));
    let silent = lab.frames();
    std::thread::sleep(Wait::from_millis(800));
    assert_eq!(lab.frames(), silent, "nobody sends without a controller, also after the lease");
    let again = Instant::now();
    lab.hosts.start_controller(0).unwrap();
    until("slots go on", Wait::from_secs(30), || timeline.first_slot(again, before).is_some());
    let (opened, frame) = timeline.first_slot(again, before).unwrap();
    println!("no standby: first slot {opened:?} after the controller was started again, its first frame {frame:?}");
    goes_on(&traffic);
    traffic.stop();
    assert_eq!(lab.violations(), 0);
}

#[test]
fn open_gates_send_plainly_until_a_controller_is_back() {
    let _turn = crate::turn();
    let mut lab = Lab::start("rop", 1, |p| p.safe = SafeState::Open);
    rules(&mut lab, 100);
    let traffic = begun(&lab);
    let killed = Instant::now();
    lab.hosts.kill_controller(0);
    std::thread::sleep(Wait::from_millis(100));
    let silent = lab.frames();
    until("plain sending", Wait::from_secs(20), || lab.frames() > silent);
    println!("no controller: plain sending {:?} after the kill, with a lease of 500 ms", killed.elapsed());
    goes_on(&traffic);
    println!("{} streams delivered", traffic.stop());
    let without = unscheduled(&lab);
    assert!(without > 0);
    lab.hosts.start_controller(0).unwrap();
    lab.hosts.wait_for_all().unwrap();
    rules(&mut lab, 200);
}

/// Frames that hosts have sent outside of slots because they heard no controller.
fn unscheduled(lab: &Lab) -> u64 {
    (0..HOSTS as usize).map(|h| lab.settled(h).gate.unscheduled).sum()
}

/// Waits until a controller is heard, so that a stream of each pair goes by slots alone, and none
/// in a foreign one. Where a busy machine keeps the controller from sending for longer than its
/// lease, that takes a few.
fn rules(lab: &mut Lab, port: u16) {
    let rule = |port| {
        let before = (unscheduled(lab), lab.violations());
        lab.exchange(port, Wait::from_secs(30));
        (unscheduled(lab), lab.violations()) == before
    };
    assert!((port..port + 10).any(rule), "no streams by slots alone");
}

#[test]
fn a_killed_agent_gets_no_slot_and_its_programs_an_error() {
    let _turn = crate::turn();
    let mut lab = Lab::start("rag", 1, |_| {});
    let among_others = [(0, 2), (2, 0), (1, 0), (1, 2)];
    let traffic = Traffic::start(&lab, 1, &among_others, 60_000);
    until("traffic begins", Wait::from_secs(20), || traffic.pairs_done() == among_others.len());
    // A program that sends to the host, one that sends from it and waits, and one that listens
    // there.
    let (to_it, at_it) = (lab.hosts.client(0), lab.hosts.client(1));
    let mut sending = to_it.send(HostId(1), 9, None).unwrap();
    sending.set_timeout(Some(Wait::from_secs(60))).unwrap();
    sending.write_all(b"before it dies").unwrap();
    let mut listening = at_it.receive(8).unwrap();
    listening.set_timeout(Some(Wait::from_secs(20))).unwrap();
    lab.hosts.kill_agent(1);
    let killed = (clock::now(), Instant::now());
    let heard = listening.read(&mut [0; 16]);
    let kind = heard.unwrap_err().kind();
    assert!(!matches!(kind, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{kind:?}");
    until("programs on it end", Wait::from_secs(10), || traffic.has_ended(1));
    println!("programs on a killed agent know after {:?}: {:?}", killed.1.elapsed(), traffic.errors(1));
    assert_eq!(traffic.errors(1).len(), 2);
    assert!(lab.hosts.client(1).send(HostId(0), 1, None).is_err(), "there is no agent");
    let streams = traffic.streams();
    until("others send for long", Wait::from_secs(40), || traffic.streams() > streams + 60);
    traffic.stop_but_for(&[1]);
    // A controller that ends writes down what it has planned.
    lab.hosts.stop_controller(0);
    let planned = planned(&lab);
    let with_it =
        |round: u64| planned.iter().filter(|p| p.0 == round).any(|p| p.2.iter().any(|&(a, b)| a == 1 || b == 1));
    assert!(planned.iter().any(|p| with_it(p.0)), "it had slots while it lived");
    // The controller's clock is never ahead of the machine's, so that this round is planned after
    // the kill.
    let first = planned.iter().find(|p| p.1 >= killed.0.as_ps()).expect("rounds go on").0;
    let after: Vec<u64> = planned.iter().map(|p| p.0).filter(|r| *r >= first + 2).collect();
    assert!(after.len() > 4, "{} slots of others", after.len());
    let last_with_it = planned.iter().map(|p| p.0).filter(|r| with_it(*r)).max().unwrap();
    println!("killed before round {first}, planned last in round {last_with_it} of {}", planned.last().unwrap().0);
    assert!(last_with_it < first + 2);

    lab.hosts.start_controller(0).unwrap();
    lab.hosts.start_agent(1).unwrap();
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(2, Wait::from_secs(30));
    // What the former agent had not read is nobody's; its sender is told, and does not wait for
    // ever.
    assert!(sending.finish().is_err(), "a stream to an agent that has died");
    assert_eq!(lab.violations(), 0);
}

/// The host at the other end of a stream may never come back. The time is stated, and no program
/// hangs for longer.
#[test]
fn programs_do_not_wait_for_an_agent_that_stays_away() {
    let _turn = crate::turn();
    let mut lab = Lab::start("rst", 1, |p| p.give_up_after = Duration::from_ms(1_000));
    let (here, away) = (lab.hosts.client(0), lab.hosts.client(1));
    let receiving = std::thread::spawn(move || {
        let mut stream = here.receive(8).unwrap();
        stream.set_timeout(Some(Wait::from_secs(60))).unwrap();
        stream.read_to_end(&mut Vec::new())
    });
    let mut never_ended = away.send(HostId(0), 8, None).unwrap();
    never_ended.write_all(&[1; 1000]).unwrap();
    until("a program has the stream", Wait::from_secs(20), || {
        lab.hosts.snapshot(0).is_some_and(|s| s.streams["streams_accepted"] == 1)
    });
    // A program listens there, so that only its agent's death ends the stream.
    let _listening = lab.hosts.client(1).receive(9).unwrap();
    let here = lab.hosts.client(0);
    let mut sending = here.send(HostId(1), 9, None).unwrap();
    sending.set_timeout(Some(Wait::from_secs(60))).unwrap();
    sending.write_all(&[2; 1000]).unwrap();
    lab.hosts.kill_agent(1);
    let error = sending.finish().unwrap_err().to_string();
    assert!(error.contains("host 1 has left and not come back in time"), "{error}");
    let kind = receiving.join().unwrap().unwrap_err().kind();
    assert!(!matches!(kind, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{kind:?}");
    let error = here.send(HostId(1), 9, None).unwrap_err().to_string();
    assert!(error.contains("host 1 has left"), "{error}");
    // All is well again when it is back.
    lab.hosts.start_agent(1).unwrap();
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(1, Wait::from_secs(30));
}

/// A slot that has pairs: round, begin in picoseconds of the controller's clock, pairs.
type PlannedSlot = (u64, i64, Vec<(u32, u32)>);

fn planned(lab: &Lab) -> Vec<PlannedSlot> {
    let text = std::fs::read_to_string(lab.hosts.folder("controller-0").join("slots.jsonl")).unwrap();
    let slot = |line: &str| {
        let slot: serde_json::Value = serde_json::from_str(line).unwrap();
        let pairs: Vec<(u32, u32)> = serde_json::from_value(slot["pairs"].clone()).unwrap();
        (slot["round"].as_u64().unwrap(), slot["start_ps"].as_i64().unwrap(), pairs)
    };
    text.lines().map(slot).filter(|s| !s.2.is_empty()).collect()
}

/// Signals that are disturbed, each in four ways.
const DISTURBED: usize = 200;

#[test]
fn lost_doubled_late_cut_and_forged_signals_are_counted_and_cost_no_byte() {
    let _turn = crate::turn();
    let mut lab = Lab::start("rdi", 1, |_| {});
    let ports = lab.hosts.fabric().ports();
    let loss = lab.hosts.fabric().switch().enter(|| Loss::attach(&ports).unwrap()).unwrap();
    let counted = |lab: &Lab| {
        let mut sum = [0; 4];
        for host in 0..HOSTS as usize {
            let gate = lab.settled(host).gate;
            let of = [gate.obeyed, gate.stale, gate.malformed, gate.forged];
            sum.iter_mut().zip(of).for_each(|(s, c)| *s += c);
        }
        sum
    };
    let before = counted(&lab);
    let traffic = begun(&lab);
    let open = |port: &str| PacketSocket::open(port, ALL_ETHER_TYPES).unwrap();
    let (heard, says) = lab
        .hosts
        .fabric()
        .switch()
        .enter(|| (open(CONTROLLER_PORT), (0..HOSTS as u16).map(|h| open(&host_port(h))).collect::<Vec<_>>()))
        .unwrap();
    let (mut frames, mut disturbed, mut late) = (Frames::new(1514), 0, Vec::<(Instant, usize, Vec<u8>)>::new());
    let began = Instant::now();
    while disturbed < DISTURBED || !late.is_empty() {
        assert!(began.elapsed() < Wait::from_secs(60), "{disturbed} signals");
        let _ = heard.wait(Duration::from_ms(2));
        heard.receive_batch(&mut frames).unwrap();
        for frame in frames.iter().filter(|f| f[6..12] == controller_mac().0 && f[12..14] == [0x88, 0xb5]) {
            if disturbed == DISTURBED {
                break;
            }
            disturbed += 1;
            let host = (0..HOSTS as u16).position(|h| frame[..6] == host_mac(h).0).unwrap();
            let mut forged = frame.to_vec();
            // Its number, so that it would be the newest; and its sender, since an observer has no
            // key.
            forged[25] ^= 0x40;
            forged[6..12].copy_from_slice(&[2, 0, 0, 0, 9, 9]);
            for copy in [frame, &frame[..60], &forged] {
                assert_eq!(says[host].send(copy).unwrap(), None);
            }
            // After some others.
            late.push((Instant::now() + (SLOT + GUARD) * 4, host, frame.to_vec()));
        }
        late.retain(|(at, host, frame)| {
            let due = Instant::now() >= *at;
            if due {
                assert_eq!(says[*host].send(frame).unwrap(), None);
            }
            !due
        });
    }
    let n = DISTURBED as u64;
    // A frame that was sent is in the other end's hands a little later.
    let (mut after, patience) = (counted(&lab), Instant::now() + Wait::from_secs(5));
    while (1..4).any(|i| after[i] - before[i] < [0, 2 * n, n, n][i]) && Instant::now() < patience {
        std::thread::sleep(Wait::from_millis(5));
        after = counted(&lab);
    }
    let [obeyed, stale, malformed, forged] = [0, 1, 2, 3].map(|i| after[i] - before[i]);
    println!("of {n} signals: {stale} stale, {malformed} malformed, {forged} forged; {obeyed} obeyed in all");
    assert_eq!((stale, malformed, forged), (2 * n, n, n), "doubled and late, cut, forged");
    assert_eq!(lab.violations(), 0);

    loss.set(0.3).unwrap();
    goes_on(&traffic);
    traffic.stop();
    lab.exchange(2, Wait::from_secs(60));
    let obeyed = counted(&lab)[0] - before[0];
    let (lost, passed) = loss.counts();
    println!("{lost} signals lost, {passed} not, {obeyed} obeyed");
    assert!(lost > 0 && obeyed <= passed, "{lost} lost, {passed} passed, {obeyed} obeyed");
    assert_eq!(lab.violations(), 0);
}
