//! Timeslots on real interfaces: each packet leaves in its timeslot, by a thread of its agent, and
//! no two packets meet at a receiver.

use crate::common::{Lab, Traffic, pairs, until};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration as Wait;
use timeplane_lab::captures::Stamped;
use timeplane_lab::fabric::{host_mac, host_port};
use timeplane_model::Duration;
use timeplane_protocol::wire::{DataHeader, DataKind};

const HOSTS: u16 = 3;
const SLOT: Wait = Wait::from_millis(5);
/// The time of a frame of 1538 B at 50 Mb/s.
const FRAME: Wait = Wait::from_nanos(246_080);

fn scenario(slot: &str, more: &str) -> String {
    format!(
        r#"
[fabric]
topology.single_switch = {{ hosts = {HOSTS} }}
rate = "50 Mb/s"
[workload.shuffle]
bytes = "1 kB"
[scheme.slots]
transport.raw = {{}}
[scheme.slots.plan.timeslots]
slot = "{slot}"
batch = 4
ahead = "30 ms"
control_latency = "2 ms"
compute_time = "100 us"
report_every = "20 ms"
{more}
"#
    )
}

/// A frame that a host has sent: when it came to the switch, by the kernel, from whom and to whom.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Wait,
    from: u16,
    to: u16,
}

/// Writes down when frames of streams come to the switch.
struct Stamps {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Seen>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Stamps {
    fn start(lab: &Lab) -> Self {
        let (stop, seen) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<Seen>>>::default());
        let at_port = |from: u16| {
            let open = || Stamped::open(&host_port(from)).unwrap();
            let socket = lab.hosts.fabric().switch().enter(open).unwrap();
            let (stop, seen) = (Arc::clone(&stop), Arc::clone(&seen));
            std::thread::spawn(move || {
                while !stop.load(Relaxed) && socket.wait(Duration::from_ms(20)).is_ok() {
                    while let Some((at, frame)) = socket.receive() {
                        let at = Wait::from_nanos(at);
                        let Ok((header, _)) = DataHeader::parse(&frame) else { continue };
                        let to = (0..HOSTS).find(|h| host_mac(*h) == header.destination);
                        if let (DataKind::Stream, Some(to)) = (header.kind, to) {
                            seen.lock().unwrap().push(Seen { at, from, to });
                        }
                    }
                }
            })
        };
        let threads = (0..HOSTS).map(at_port).collect();
        Self { stop, seen, threads }
    }

    /// In the order of time.
    fn end(self) -> Vec<Seen> {
        self.stop.store(true, Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut seen = self.seen.lock().unwrap().clone();
        seen.sort_by_key(|s| s.at);
        seen
    }
}

/// The least time between two frames that follow each other at a station, and how many are closer
/// than a frame's time, of all.
fn distances(seen: &[Seen], of: impl Fn(&Seen) -> u16) -> (Wait, usize, usize) {
    let distances = (0..HOSTS).flat_map(|station| {
        let times: Vec<Wait> = seen.iter().filter(|s| of(s) == station).map(|s| s.at).collect();
        times.windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>()
    });
    let distances: Vec<Wait> = distances.collect();
    let close = distances.iter().filter(|distance| **distance < FRAME - FRAME / 10).count();
    (distances.iter().min().copied().unwrap_or_default(), close, distances.len())
}

fn start(name: &str, slot: &str, real_time: bool) -> Lab {
    Lab::start(name, 1, |p| {
        std::fs::write(&p.scenario, scenario(slot, "")).unwrap();
        p.real_time = real_time;
    })
}

#[test]
fn packets_leave_in_their_timeslots_and_never_meet() {
    let _turn = crate::turn();
    let lab = start("tsl", &format!("{} ms", SLOT.as_millis()), false);
    let stamps = Stamps::start(&lab);
    let traffic = Traffic::start(&lab, 1, &pairs(), 15_000);
    until("streams of all pairs", Wait::from_secs(60), || {
        traffic.pairs_done() == pairs().len() && traffic.streams() >= 5 * pairs().len()
    });
    let streams = traffic.stop();
    let seen = stamps.end();
    let (sent, arrived) = (distances(&seen, |s| s.from), distances(&seen, |s| s.to));
    println!("{streams} streams in {} frames, least distances {sent:?} and {arrived:?}", seen.len());
    let changes = (0..HOSTS).map(|to| {
        let from: Vec<u16> = seen.iter().filter(|s| s.to == to).map(|s| s.from).collect();
        from.windows(2).filter(|w| w[0] != w[1]).count()
    });
    let changes: usize = changes.sum();
    assert!(seen.len() > 300 && changes > 10, "{} frames, {changes} times another sender", seen.len());
    assert_eq!((sent.1, arrived.1), (0, 0), "frames that meet");
    for host in 0..HOSTS.into() {
        let s = lab.settled(host);
        assert!(s.agent["timeslots"] >= s.gate.passed && s.gate.passed > 0, "{s:?}");
        println!(
            "host {host}: {} timeslots, {} frames, {} grants late, {} refused, clock within {} us",
            s.agent["timeslots"],
            s.gate.passed,
            s.agent["late"],
            s.gate.gated,
            s.agent["clock_error_ns"] / 1000
        );
    }
}

#[test]
#[ignore = "takes a minute, and needs an idle machine: it prints figures"]
fn figures_of_timeslots() {
    let _turn = crate::turn();
    for slot in ["1750 us", "2 ms", "3 ms", "5 ms"] {
        let lab = start("tsf", slot, true);
        let stamps = Stamps::start(&lab);
        let traffic = Traffic::start(&lab, 1, &pairs(), 60_000);
        std::thread::sleep(Wait::from_secs(10));
        let streams = traffic.stop();
        let seen = stamps.end();
        let (sent, arrived) = (distances(&seen, |s| s.from), distances(&seen, |s| s.to));
        println!("slots of {slot}: {streams} streams, {} frames", seen.len());
        println!("  least distance, closer than a frame, all: senders {sent:?}, receivers {arrived:?}");
        for host in 0..HOSTS.into() {
            let s = lab.settled(host);
            let (slots, late, clock) = (s.agent["timeslots"], s.agent["late"], s.agent["clock_error_ns"] / 1000);
            println!(
                "  host {host}: {slots} timeslots, {} frames, {late} late, clock within {clock} us",
                s.gate.passed
            );
        }
    }
}
