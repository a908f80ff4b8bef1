//! The attacks, and how each is carried out.
//!
//! Of attacks that measure time or memory, the verdict is "holds" if the daemons reach their goal.
//! Where they have none, an attack may cost half of what it cost earlier daemons.

use super::forging::{self, Liar, at_port, forged, record};
use super::{Attack, Finding};
use crate::bed::{Bed, HOSTS, ROUND};
use crate::captures;
use crate::delay::{Delay, Held};
use crate::fabric::{controller_ip, host_ip, host_mac};
use crate::faults::{FAULTS, Rounds, list as steps};
use crate::hosts::HostsParameters;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration as Wait, Instant};
use timeplane_live::channel::Record;
use timeplane_live::clock;
use timeplane_live::daemons::Failure;
use timeplane_live::gate::Scope;
use timeplane_live::notes::{Hello, Note};
use timeplane_model::{Backlog, Duration, HostId};
use timeplane_protocol::BacklogReport;
use timeplane_protocol::wire::PORT;

const PATIENCE: Wait = Wait::from_secs(20);
/// How long hosts of the attack of an absent agent wait.
const GIVE_UP: Wait = Wait::from_secs(2);

fn as_usual(_: &mut HostsParameters) {}

const fn attack(
    name: &'static str,
    about: &'static str,
    before: &'static str,
    carry_out: fn(&mut Bed, Wait) -> Result<Finding, Failure>,
) -> Attack {
    Attack { name, about, before, is_exact: true, change: as_usual, carry_out }
}

/// In the order of the table. Names are unique.
pub const ATTACKS: &[Attack] = &[
    attack(
        "forged-epochs",
        "frames of epoch 0xffffffff in the name of a host, without keys",
        "one frame: both directions dead for ever",
        forged_epochs,
    ),
    attack(
        "forged-bytes",
        "forged acknowledgements, and bytes into a stream",
        "`delivered` for 3,000,000 B of which 0 arrived",
        forged_bytes,
    ),
    Attack {
        is_exact: false,
        ..attack(
            "no-contact",
            "two controllers that reach all hosts, but not each other",
            "145 streams/s fall to 0 to 3.5",
            no_contact,
        )
    },
    attack("agent-twice", "an agent is started twice", "the first obeys nothing any more", agent_twice),
    attack(
        "interface",
        "an interface goes down and up, its MTU from 1500 B to 1400 B and back",
        "the agent exits; what it had accepted is lost",
        interface,
    ),
    Attack {
        // On a busy machine the demand channel takes longer than these delays, which gates then
        // cannot know. Tests delay signals by more.
        is_exact: false,
        ..attack(
            "late-signals",
            "a host's signals: all 3 ms late, up to 10 ms late, 2 % of them 3 ms late",
            "7 %, 2.5 %, 0.06 % of frames foreign; the observer says 0",
            late_signals,
        )
    },
    Attack {
        change: |p| p.give_up_after = Duration::from_secs(GIVE_UP.as_secs() as i64),
        ..attack(
            "agent-away",
            "an agent dies and does not return, with `give_up_after` at 2 s",
            "programs hang for 140 s and more",
            agent_away,
        )
    },
    Attack {
        is_exact: false,
        ..attack(
            "recovery",
            "controllers and agents are killed; recovery in rounds of slots",
            "standby 4.4 rounds; controllers away for 4 s: +1.16 s; agent 142 to 179 ms",
            recovery,
        )
    },
    Attack {
        is_exact: false,
        change: |p| p.scope = Scope::All,
        ..attack(
            "allowed-port",
            "a program binds the port of controllers under `scope = \"all\"`",
            "passes a closed gate at line rate",
            allowed_port,
        )
    },
    attack(
        "liar-epochs",
        "a host with a certificate reports impossible epochs, then the leader dies",
        "no recovery after the next failover",
        liar_epochs,
    ),
    Attack {
        is_exact: false,
        ..attack(
            "liar-address",
            "a host with a certificate claims another host's MAC address",
            "accepted; the observer accuses innocents",
            liar_address,
        )
    },
    Attack {
        is_exact: false,
        ..attack(
            "liar-hellos",
            "a host with a certificate says hello without end",
            "20,000 a second stop the others",
            liar_hellos,
        )
    },
    Attack {
        is_exact: false,
        ..attack(
            "connects",
            "a stranger connects to the demand channel without end",
            "a restarted agent needs up to 12 s to join",
            connects,
        )
    },
    attack(
        "refused-scenario",
        "a controller and a lab get slots shorter than a frame",
        "accepted, though `run` refuses them",
        refused_scenario,
    ),
    Attack {
        is_exact: false,
        ..attack("status-page", "100 connections a second to the status page", "20 s a request", status_page)
    },
    Attack {
        is_exact: false,
        ..attack(
            "nobody",
            "600 programs send to a port where nobody listens",
            "716 MB in the agent, 532 MB after they are gone",
            nobody,
        )
    },
    Attack {
        is_exact: false,
        ..attack("idle", "nobody sends", "controller 12 % of a core, agents 4 to 5 % each", idle)
    },
];

/// Sends some of the forged frames to host 0 for this time; how many, and how many it has refused.
fn forge(bed: &Bed, time: Wait, of: std::ops::Range<usize>) -> Result<[u64; 2], Failure> {
    let refused = || {
        std::thread::sleep(Wait::from_millis(450));
        let shown = bed.hosts.snapshot(0).ok_or("the agent of host 0 has ended")?;
        Ok::<u64, Failure>(
            ["refused_unsealed", "refused_forged"].iter().filter_map(|name| shown.agent.get(*name)).sum(),
        )
    };
    let (socket, before, began, mut sent) = (at_port(&bed.hosts, 0)?, refused()?, Instant::now(), 0);
    while sent == 0 || began.elapsed() < time {
        for frames in forged(&record(&bed.hosts)?) {
            sent += socket.send_batch(&frames[of.clone()])?.sent as u64;
        }
        std::thread::sleep(Wait::from_millis(20));
    }
    Ok([sent, refused()? - before])
}

fn forged_epochs(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let [sent, refused] = forge(bed, time, 0..2)?;
    let both = bed.all_deliver(PATIENCE);
    let after =
        format!("{refused} of {sent} refused; streams {} both ways", if both { "go on" } else { "do not go on" });
    Ok(Finding::new(after, both && refused >= sent))
}

fn forged_bytes(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let [sent, refused] = forge(bed, time, 2..6)?;
    let both = bed.all_deliver(PATIENCE);
    let outcome = bed.traffic.check(Wait::from_secs(10));
    let after = format!("{refused} of {sent} refused; {} streams `delivered`, all read", outcome.delivered);
    Ok(Finding::new(after, both && refused >= sent))
}

/// Streams a second, for this time.
fn rate(bed: &Bed, time: Wait) -> f64 {
    let (before, began) = (bed.traffic.streams(), Instant::now());
    std::thread::sleep(time);
    (bed.traffic.streams() - before) as f64 / began.elapsed().as_secs_f64()
}

fn no_contact(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let (usual, epoch) = (rate(bed, time / 4), bed.captures.epoch());
    steps::cut_controllers(bed)?;
    let during = rate(bed, time);
    let changes = bed.captures.epoch() - epoch;
    steps::mend_controllers(bed)?;
    let both = bed.all_deliver(PATIENCE);
    let after = format!("{usual:.0} streams/s become {during:.0}; changes of the leader: {changes}");
    Ok(Finding::new(after, both && during > usual / 2.0))
}

fn agent_twice(bed: &mut Bed, _: Wait) -> Result<Finding, Failure> {
    let config = bed.hosts.folder("host-1").join("config.toml");
    let second = bed.hosts.fabric().hosts()[1].command(bed.hosts.program()).arg("agent").arg(config).output()?;
    let goes_on = bed.all_deliver(PATIENCE);
    let said = String::from_utf8_lossy(&second.stderr).lines().last().unwrap_or_default().to_owned();
    let after = format!("the second ends, the first {}", if goes_on { "goes on" } else { "does not go on" });
    let after = if said.is_empty() { "the second says nothing".into() } else { after };
    Ok(Finding::new(after, goes_on && !second.status.success()))
}

fn epoch_of(bed: &Bed, host: usize) -> Result<u32, Failure> {
    std::thread::sleep(Wait::from_millis(450));
    Ok(bed.hosts.snapshot(host).ok_or_else(|| format!("the agent of host {host} has ended"))?.epoch)
}

fn interface(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let epoch = epoch_of(bed, 1)?;
    steps::interface_down(bed)?;
    std::thread::sleep(time / 4);
    steps::interface_up(bed)?;
    let mut goes_on = bed.all_deliver(PATIENCE);
    steps::mtu_1400(bed)?;
    goes_on &= bed.all_deliver(PATIENCE);
    steps::mtu_1500(bed)?;
    goes_on &= bed.all_deliver(PATIENCE);
    let same = epoch_of(bed, 1)? == epoch;
    let after = format!(
        "{}; streams {}",
        if same { "the same agent" } else { "another agent" },
        if goes_on { "go on" } else { "stop" }
    );
    Ok(Finding::new(after, same && goes_on))
}

fn late_signals(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let delay = Delay::start(bed.hosts.fabric(), 1)?;
    let ms = Wait::from_millis;
    let (mut texts, mut held) = (Vec::new(), true);
    let frames = |bed: &Bed| Ok::<u64, Failure>(bed.observer.counters()?.ports.iter().map(|p| p.frames).sum());
    let judged = |bed: &mut Bed| bed.judged(captures::now()).1.len() as u64;
    for way in [Held::All(ms(3)), Held::UpTo(ms(10)), Held::Share(0.02, ms(3))] {
        held &= judged(bed) == 0;
        let (observed, all) = (bed.violations()?, frames(bed)?);
        delay.set(way);
        std::thread::sleep(time / 3);
        delay.set(Held::None);
        std::thread::sleep(ms(50));
        let (observed, captured) = (bed.violations()? - observed, judged(bed));
        held &= observed + captured == 0;
        texts.push(format!("{observed} / {captured} of {}", frames(bed)? - all));
    }
    let after = format!("{} frames foreign (observer / captures)", texts.join(", "));
    Ok(Finding::new(after, held && bed.all_deliver(PATIENCE)))
}

fn agent_away(bed: &mut Bed, _: Wait) -> Result<Finding, Failure> {
    let _listening = bed.hosts.client(1).receive(9)?;
    let mut sending = bed.hosts.client(0).send(HostId(1), 9, None)?;
    sending.set_timeout(Some(Wait::from_secs(200)))?;
    sending.write_all(&[2; 1000])?;
    bed.hosts.kill_agent(1);
    let killed = Instant::now();
    let told = sending.finish();
    let took = killed.elapsed().as_secs_f64();
    let after = format!(
        "told after {took:.1} s: {}",
        told.as_ref().map_or_else(ToString::to_string, |n| format!("{n} B delivered"))
    );
    bed.hosts.start_agent(1)?;
    Ok(Finding::new(after, told.is_err() && took < 30.0 && bed.all_deliver(PATIENCE)))
}

/// Kills and repairs until the time is over. The goal is a median of two rounds of slots.
fn recovery(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let mut texts = Vec::new();
    let mut held = true;
    for (name, what) in
        [("leader-killed", "standby"), ("controllers-away", "controllers away for 4 s"), ("agent-killed", "agent")]
    {
        let fault = FAULTS.iter().find(|f| f.name == name).ok_or("a fault of that name")?;
        let (began, mut recoveries) = (Instant::now(), Vec::new());
        let mut faults = Rounds::on(bed)?;
        while recoveries.is_empty() || began.elapsed() < time / 3 {
            let round = faults.run(bed, fault, recoveries.len() as u32)?;
            held &= round.is_clean();
            recoveries.push((round.silence_ms - round.usual_ms).max(0.0));
        }
        recoveries.sort_by(f64::total_cmp);
        let middle = recoveries[recoveries.len() / 2];
        let rounds = middle / ROUND.as_secs_f64() / 1e3;
        held &= rounds <= 2.0;
        texts.push(format!("{what}: {middle:.0} ms ({rounds:.1} rounds)"));
    }
    Ok(Finding::new(texts.join("; "), held))
}

fn allowed_port(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    steps::kill_controllers(bed)?;
    // The lease is half a second.
    std::thread::sleep(Wait::from_millis(800));
    let [from, to] = [0, 1].map(|h| &bed.hosts.fabric().hosts()[h]);
    let address = SocketAddr::from((host_ip(1), PORT));
    let listener = to.enter(|| TcpListener::bind(address))??;
    let received = std::thread::spawn(move || {
        let mut sum = 0u64;
        let mut buffer = vec![0; 1 << 16];
        let Ok((mut stream, _)) = listener.accept() else { return 0 };
        let _ = stream.set_read_timeout(Some(Wait::from_secs(2)));
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            sum += n as u64;
        }
        sum
    });
    let began = Instant::now();
    let connected = from.enter(|| TcpStream::connect_timeout(&address, Wait::from_millis(1500)))?;
    let passed = match connected {
        Ok(mut stream) => {
            stream.set_write_timeout(Some(Wait::from_millis(500)))?;
            while began.elapsed() < time && stream.write_all(&[0; 1 << 16]).is_ok() {}
            drop(stream);
            received.join().unwrap_or(0)
        }
        // The listener's thread ends with the process.
        Err(_) => 0,
    };
    let rate = passed as f64 * 8e-6 / began.elapsed().as_secs_f64();
    let after =
        if passed > 0 { format!("{rate:.0} Mb/s pass a closed gate") } else { "nothing passes a closed gate".into() };
    Ok(Finding::new(after, passed == 0))
}

fn liar_epochs(bed: &mut Bed, _: Wait) -> Result<Finding, Failure> {
    let epoch = epoch_of(bed, 2)?;
    bed.hosts.kill_agent(2);
    let leader = bed.leader();
    let mut closed = 0;
    for obeys in [u32::MAX, u32::MAX - 2] {
        let report =
            BacklogReport { epoch, sequence: 1, taken_at: clock::now(), obeys, heard: 0, backlog: Backlog::default() };
        closed += u32::from(forging::lie(&bed.hosts, leader as u32, epoch, report)?.is_some());
    }
    bed.hosts.start_agent(2)?;
    steps::kill_leader(bed)?;
    let leads = bed.all_deliver(PATIENCE);
    let after =
        format!("{closed} of 2 connections closed; a standby {}", if leads { "leads" } else { "does not lead" });
    Ok(Finding::new(after, closed == 2 && leads))
}

fn liar_address(bed: &mut Bed, _: Wait) -> Result<Finding, Failure> {
    let epoch = epoch_of(bed, 2)?;
    bed.hosts.kill_agent(2);
    let liar = Liar::connect(&bed.hosts, bed.leader() as u32)?;
    let answer = liar.hello(epoch, host_mac(3));
    drop(liar);
    bed.hosts.start_agent(2)?;
    let refused = !matches!(answer, Ok(Note::Welcome(_)));
    let after = if refused { "refused" } else { "accepted: frames to its host go to that address" };
    Ok(Finding::new(after.to_owned(), refused && bed.all_deliver(PATIENCE)))
}

/// Streams a second among the hosts but host 2.
fn rate_of_others(bed: &Bed, time: Wait) -> f64 {
    let count = || bed.traffic.by_pair().iter().filter(|(p, _)| p.0 != 2 && p.1 != 2).map(|(_, n)| n).sum::<u64>();
    let (before, began) = (count(), Instant::now());
    std::thread::sleep(time);
    (count() - before) as f64 / began.elapsed().as_secs_f64()
}

fn liar_hellos(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let epoch = epoch_of(bed, 2)?;
    bed.hosts.kill_agent(2);
    std::thread::sleep(Wait::from_millis(500));
    let usual = rate_of_others(bed, time / 4);
    let liar = Liar::connect(&bed.hosts, bed.leader() as u32)?;
    let (mac, key, secret) = (host_mac(2).to_string(), "00".repeat(16), Some("00".repeat(32)));
    let hello = Note::Hello(Hello { host: 2, epoch, mac, ip: None, key, secret, mtu: None });
    let hello = serde_json::to_value(hello)?;
    let (stop, said) = (AtomicBool::new(false), AtomicU64::new(0));
    let during = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                // Its queue is full now and then, or the connection was closed.
                match liar.client.send(Record::Note(hello.clone())) {
                    Ok(()) => drop(said.fetch_add(1, Relaxed)),
                    Err(_) => std::thread::sleep(Wait::from_millis(1)),
                }
            }
        });
        let during = rate_of_others(bed, time);
        stop.store(true, Relaxed);
        during
    });
    let said = said.into_inner() as f64 / time.as_secs_f64();
    drop(liar);
    bed.hosts.start_agent(2)?;
    let goes_on = bed.all_deliver(PATIENCE);
    let after = format!("{said:.0} hellos a second; {usual:.0} streams/s of others become {during:.0}");
    Ok(Finding::new(after, goes_on && during > usual / 2.0))
}

fn connects(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let stranger = bed.hosts.fabric().hosts()[3].name().to_owned();
    let joins = std::thread::scope(|scope| {
        for place in [0u16, 0, 1, 1] {
            let (stop, count, stranger) = (&stop, &count, &stranger);
            scope.spawn(move || {
                let address = SocketAddr::from((controller_ip(), PORT + place));
                // The namespace is not this value's.
                let namespace = std::mem::ManuallyDrop::new(timeplane_live::netns::Namespace::of_nobody(stranger));
                let _ = namespace.enter(|| {
                    while !stop.load(Relaxed) {
                        let Ok(stream) = TcpStream::connect_timeout(&address, Wait::from_secs(1)) else { continue };
                        // No port waits for an end that would be too slow.
                        let _ = socket2::SockRef::from(&stream).set_linger(Some(Wait::ZERO));
                        count.fetch_add(1, Relaxed);
                    }
                });
            });
        }
        let mut joins = Vec::new();
        let all = (|| {
            while joins.is_empty() || began.elapsed() < time {
                bed.hosts.kill_agent(1);
                let started = Instant::now();
                bed.hosts.start_agent(1)?;
                bed.hosts.wait_for_all()?;
                joins.push(started.elapsed().as_secs_f64());
            }
            Ok::<(), Failure>(())
        })();
        stop.store(true, Relaxed);
        all.map(|()| joins)
    })?;
    let a_second = count.into_inner() as f64 / began.elapsed().as_secs_f64();
    let longest = joins.iter().copied().fold(0.0, f64::max);
    let after = format!("{a_second:.0} a second; {} restarts, all joined within {longest:.1} s", joins.len());
    Ok(Finding::new(after, longest < 6.0 && bed.all_deliver(PATIENCE)))
}

fn refused_scenario(bed: &mut Bed, _: Wait) -> Result<Finding, Failure> {
    let folder = bed.hosts.folder("controller-0");
    let scenario = folder.with_file_name("short.toml");
    let text = std::fs::read_to_string(folder.with_file_name("scenario.toml"))?;
    std::fs::write(&scenario, text.replace("slot = \"2 ms\"", "slot = \"100 us\""))?;
    let config = folder.with_file_name("short-controller.toml");
    let text = std::fs::read_to_string(folder.join("config.toml"))?;
    std::fs::write(&config, text.replace("/scenario.toml", "/short.toml").replace("\"../keys\"", "\"keys\""))?;
    let mut refused = 0;
    for (command, file) in [("controller", &config), ("lab", &scenario)] {
        let output = bed.hosts.fabric().controller().command(bed.hosts.program()).arg(command).arg(file).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        refused += u32::from(!output.status.success() && said.contains("plan.tdma.slot"));
    }
    Ok(Finding::new(format!("refused by {refused} of 2, with the key"), refused == 2))
}

fn status_page(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let (stop, leader) = (AtomicBool::new(false), bed.leader());
    let longest = std::thread::scope(|scope| {
        let (controller, stop) = (bed.hosts.fabric().controller().name().to_owned(), &stop);
        scope.spawn(move || {
            let namespace = std::mem::ManuallyDrop::new(timeplane_live::netns::Namespace::of_nobody(&controller));
            let _ = namespace.enter(|| {
                let mut open = std::collections::VecDeque::new();
                while !stop.load(Relaxed) {
                    let page = SocketAddr::from(([127, 0, 0, 1], 9464 + leader as u16));
                    open.extend(TcpStream::connect_timeout(&page, Wait::from_secs(1)).ok());
                    // Some say nothing for a while.
                    if open.len() > 500 {
                        open.pop_front();
                    }
                    std::thread::sleep(Wait::from_millis(10));
                }
            });
        });
        let (mut longest, began) = (Ok(0.0), Instant::now());
        while began.elapsed() < time {
            std::thread::sleep(Wait::from_millis(250));
            let asked = Instant::now();
            let answer = bed.hosts.metrics(leader);
            longest = longest.and_then(|l: f64| answer.map(|_| l.max(asked.elapsed().as_secs_f64())));
        }
        stop.store(true, Relaxed);
        longest
    });
    let after =
        longest.as_ref().map_or_else(|e| format!("no answer: {e}"), |l| format!("{:.1} ms a request at most", l * 1e3));
    Ok(Finding::new(after, longest.is_ok_and(|l| l < 5.0)))
}

/// Memory of a process in MB.
fn memory(process: u32) -> Result<f64, Failure> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:")).ok_or("a process without memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1.024e-3)
}

fn nobody(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    let process = bed.hosts.process("host-0").ok_or("the agent of host 0 has ended")?;
    let agent = bed.hosts.client(0);
    let before = memory(process)?;
    let mut streams = Vec::new();
    std::thread::scope(|scope| {
        let send = || {
            let mut stream = agent.send(HostId(1), 99, None).ok()?;
            stream.set_timeout(Some(Wait::from_millis(500))).ok()?;
            // As much as it takes.
            while stream.write(&[7; 1 << 16]).is_ok_and(|n| n > 0) {}
            Some(stream)
        };
        let threads: Vec<_> = (0..600).map(|_| scope.spawn(send)).collect();
        streams.extend(threads.into_iter().filter_map(|t| t.join().ok().flatten()));
    });
    std::thread::sleep(time / 2);
    let with = memory(process)?;
    let count = streams.len();
    drop(streams);
    std::thread::sleep(time / 2 + Wait::from_secs(1));
    let without = memory(process)?;
    let after =
        format!("{before:.0} MB in the agent, {with:.0} MB with {count} streams, {without:.0} MB after they are gone");
    // Most of the memory returns.
    let returns = without - before < (with - before) / 4.0;
    Ok(Finding::new(after, with < 350.0 && returns && bed.all_deliver(PATIENCE)))
}

/// Time that a process has run, in seconds.
fn worked(process: u32) -> Result<f64, Failure> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after_name = text.rsplit_once(')').ok_or("a process without a name")?.1;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    let a_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?.ok_or("no clock ticks")?;
    Ok(ticks / a_second as f64)
}

fn idle(bed: &mut Bed, time: Wait) -> Result<Finding, Failure> {
    bed.traffic.pause();
    std::thread::sleep(Wait::from_secs(1));
    let names = [format!("controller-{}", bed.leader())].into_iter().chain((0..HOSTS).map(|h| format!("host-{h}")));
    let processes = names.map(|n| bed.hosts.process(&n).ok_or_else(|| format!("{n} has ended")));
    let processes = processes.collect::<Result<Vec<_>, _>>()?;
    let all = || processes.iter().map(|p| worked(*p)).collect::<Result<Vec<f64>, _>>();
    let (before, began) = (all()?, Instant::now());
    std::thread::sleep(time.max(Wait::from_secs(2)));
    let seconds = began.elapsed().as_secs_f64();
    let shares: Vec<f64> = all()?.iter().zip(&before).map(|(now, then)| (now - then) * 100.0 / seconds).collect();
    let (least, most) = shares[1..].iter().fold((f64::MAX, 0.0), |(a, b): (f64, f64), s| (a.min(*s), b.max(*s)));
    let after = format!("controller {:.1} % of a core, agents {least:.1} to {most:.1} % each", shares[0]);
    Ok(Finding::new(after, shares[0] < 2.0 && most < 1.0))
}
