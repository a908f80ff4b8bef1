//! This machine as a [`Bench`]: two namespaces joined by a veth pair, with the gate, the sockets,
//! the control channel and the waits of the daemons.
//!
//! The receiver stamps frames where they arrive in the kernel, so that the times before and after
//! the wire are told apart.

use super::measure::{Bench, Crossing, TOGETHER};
use crate::channel::{Client, Event, Record, Server};
use crate::clock;
use crate::daemons::Failure;
use crate::gate::{Gate, GateConfig};
use crate::keys::{Authority, Identity};
use crate::netns::{Namespace, veth};
use crate::packet_socket::PacketSocket;
use crate::timed::{self, Inbox};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration as Wait;
use timeplane_model::{Backlog, Bytes, Duration, HostId, Rate, Time};
use timeplane_protocol::wire::{
    Control, DataHeader, DataKind, ETHER_TYPE_DATA, ETHER_TYPE_EXPERIMENTAL, MacAddress, SignalKey,
};
use timeplane_protocol::{BacklogReport, Message};

/// Addresses of both ends.
const ENDS: [MacAddress; 2] = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
/// Length of the longest frame.
const LONGEST: usize = 1514;
/// Class of the gate that is opened.
const CLASS: u16 = 1;
/// A lost frame or answer is one that takes longer.
const PATIENCE: Wait = Wait::from_secs(5);
/// Destinations of a report.
const REPORTED: u32 = 16;

/// How to measure.
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Whether to ask for real-time priority, as daemons do.
    pub real_time: bool,
    /// An interface whose sending times count, in place of that of the veth pair.
    pub interface: Option<String>,
}

/// Both hosts, connected by a veth pair and by a control channel.
pub struct Machine {
    gate: Gate,
    data: PacketSocket,
    frame: Vec<u8>,
    bulk: PacketSocket,
    /// The interface whose sending times count, and a frame to its own address.
    outside: Option<(PacketSocket, Vec<u8>)>,
    crossed: Receiver<std::io::Result<Crossing>>,
    client: Client,
    answers: Arc<Inbox<Event>>,
    sequence: u64,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    _server: Arc<Server>,
}

impl Machine {
    /// Makes the namespaces, calls `f` with the machine on a thread with the priority of daemons,
    /// and removes them.
    ///
    /// # Errors
    /// If one of its parts cannot be made.
    pub fn enter<T: Send>(config: &MachineConfig, f: impl FnOnce(&mut Self) -> T + Send) -> Result<T, Failure> {
        let outside = config.interface.as_deref().map(outside).transpose()?;
        let name = format!("tpcal{}", std::process::id());
        let [a, b] = [Namespace::create(&format!("{name}a"))?, Namespace::create(&format!("{name}b"))?];
        veth((&a, "eth0", &ENDS[0].to_string()), (&b, "eth0", &ENDS[1].to_string()))?;
        a.ip("addr add 10.98.0.1/24 dev eth0")?;
        b.ip("addr add 10.98.0.2/24 dev eth0")?;
        let keys = Keys(std::env::temp_dir().join(&name));
        let authority = Authority::create(&keys.0)?;
        let mut identities = Vec::new();
        for name in ["controller-0", "host-0"] {
            authority.issue(name)?;
            identities.push(Identity::load(&keys.0, name)?);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let real_time = config.real_time;
        let far = b.enter(|| far_end(&identities[0], real_time, &stop)).map_err(Failure::from)??;
        a.enter(move || {
            if real_time {
                timed::real_time();
            }
            let mut machine = Self::new(&identities[1], outside, far, stop)?;
            machine.warm_up()?;
            Ok(f(&mut machine))
        })?
    }

    /// The near end, in the namespace of this thread.
    fn new(
        identity: &Identity,
        outside: Option<(PacketSocket, Vec<u8>)>,
        far: FarEnd,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let config = GateConfig::new("eth0", ENDS[0], SignalKey([0; 16]));
        let answers = Inbox::new()?;
        let come = Arc::clone(&answers);
        let client = Client::start(far.server.address(), "controller-0", identity, move |event| come.push(event))?;
        let machine = Self {
            gate: Gate::attach(&config)?,
            data: PacketSocket::open("eth0", ETHER_TYPE_DATA)?,
            frame: data_frame(),
            bulk: PacketSocket::open("eth0", ETHER_TYPE_EXPERIMENTAL)?,
            outside,
            crossed: far.crossed,
            client,
            answers,
            sequence: 0,
            stop,
            threads: far.threads,
            _server: far.server,
        };
        machine.next_event(|event| matches!(event, Event::Joined { .. }))?;
        Ok(machine)
    }

    /// The kernel stamps frames only some time after it was asked to.
    fn warm_up(&mut self) -> Result<(), Failure> {
        for _ in 0..20 {
            self.cross()?;
            self.ask()?;
            std::thread::sleep(Wait::from_millis(2));
        }
        Ok(())
    }

    fn next_event(&self, is_it: impl Fn(&Event) -> bool) -> Result<(), Failure> {
        let until = clock::now().saturating_add(Duration::from_ms(PATIENCE.as_millis() as i64));
        while clock::now() < until {
            timed::wait(until, &[self.answers.as_fd()])?;
            if self.answers.drain().iter().any(&is_it) {
                return Ok(());
            }
        }
        let why = self.client.trouble().map(|why| format!(": {why}")).unwrap_or_default();
        Err(format!("no answer over the control channel within {} s{why}", PATIENCE.as_secs()).into())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // A panic on the thread has been reported already.
            let _ = thread.join();
        }
    }
}

impl Bench for Machine {
    type Error = Failure;

    fn now(&mut self) -> Time {
        clock::now()
    }

    fn sleep_until(&mut self, time: Time) -> Result<(), Failure> {
        // Answers that nobody waits for end a sleep early.
        while clock::now() < time {
            timed::wait(time, &[self.answers.as_fd()])?;
            self.answers.drain();
        }
        Ok(())
    }

    fn cross(&mut self) -> Result<Crossing, Failure> {
        let began = clock::now();
        self.gate.open(CLASS, Duration::from_ms(100), Some(Rate::gbps(100)))?;
        let outside = match &self.outside {
            Some((socket, frame)) => {
                socket.send(frame)?;
                Some(clock::now() - began)
            }
            None => None,
        };
        if let Some(stop) = self.data.send(&self.frame)? {
            return Err(format!("the veth pair did not take a frame: {stop:?}").into());
        }
        let lost = |_| format!("a frame was lost: none came within {} s", PATIENCE.as_secs());
        let Crossing { wire, read } = self.crossed.recv_timeout(PATIENCE).map_err(lost)??;
        self.gate.close(CLASS)?;
        let after = (read - wire).max(Duration::ZERO);
        let wire = began.saturating_add(outside.unwrap_or(wire - began));
        Ok(Crossing { wire, read: wire.saturating_add(after) })
    }

    fn ask(&mut self) -> Result<(), Failure> {
        self.sequence += 1;
        self.client.send(report(self.sequence))?;
        self.next_event(|event| matches!(event, Event::Control { .. }))
    }

    fn work(&mut self, bytes: usize) -> Result<Duration, Failure> {
        let mut frame = frame_header(ENDS[1], ENDS[0], ETHER_TYPE_EXPERIMENTAL);
        frame.resize(bytes.max(frame.len()), 0);
        let frames = vec![frame; TOGETHER];
        let before = cpu_time()?;
        self.bulk.send_batch(&frames)?;
        Ok(cpu_time()? - before)
    }
}

/// The folder of keys that hold for one call. It is removed when dropped.
struct Keys(PathBuf);

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// CPU time of this thread.
fn cpu_time() -> Result<Duration, Failure> {
    Ok(Duration::from_ns(nanoseconds(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?)))
}

/// Picoseconds of the clock of the day would have no room.
fn nanoseconds(time: TimeSpec) -> i64 {
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

fn frame_header(destination: MacAddress, source: MacAddress, ether_type: u16) -> Vec<u8> {
    [&destination.0[..], &source.0, &ether_type.to_be_bytes()].concat()
}

/// The longest frame of a stream, with a class that the gate knows.
fn data_frame() -> Vec<u8> {
    let header = DataHeader {
        destination: ENDS[1],
        source: ENDS[0],
        kind: DataKind::Packet,
        class: CLASS,
        payload: (LONGEST - DataHeader::BYTES) as u16,
        host: HostId(0),
        epoch: 1,
        stream: 0,
        port: 0,
        sealed: false,
        offset: 0,
        length: Some(0),
    };
    let mut frame = header.encode().to_vec();
    frame.resize(LONGEST, 7);
    frame
}

/// A socket at an interface of the calling thread's namespace, and a frame to its own address,
/// which no switch forwards.
fn outside(interface: &str) -> Result<(PacketSocket, Vec<u8>), Failure> {
    let mac = crate::agent::mac_of(interface)?;
    let socket =
        PacketSocket::open(interface, ETHER_TYPE_EXPERIMENTAL).map_err(|e| format!("interface {interface}: {e}"))?;
    let mut frame = frame_header(mac, mac, ETHER_TYPE_EXPERIMENTAL);
    frame.resize(LONGEST, 0);
    Ok((socket, frame))
}

/// A report as hosts send them.
fn report(sequence: u64) -> Record {
    let backlog = Backlog::of_bytes((0..REPORTED).map(|host| (HostId(host), Bytes::new(1 + sequence))));
    let report = BacklogReport { epoch: 1, sequence, taken_at: Time::ZERO, obeys: 0, heard: 0, backlog };
    Record::Control { sent_at: clock::now(), control: Control::Message(Message::Report(Box::new(report))) }
}

/// The other end: its server, and the frames that have come.
struct FarEnd {
    server: Arc<Server>,
    crossed: Receiver<std::io::Result<Crossing>>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts the far end in the namespace of this thread: a loop that reads frames, as an agent's, and
/// one that answers messages, as a controller's.
fn far_end(identity: &Identity, real_time: bool, stop: &Arc<AtomicBool>) -> Result<FarEnd, Failure> {
    let inbox = Inbox::new()?;
    let come = Arc::clone(&inbox);
    let server = Arc::new(Server::start("10.98.0.2:0".parse()?, identity, move |event| come.push(event))?);
    let socket = PacketSocket::open("eth0", ETHER_TYPE_DATA)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    let (tell, crossed) = channel();
    let daemon = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let body = move || {
            if real_time {
                timed::real_time();
            }
            work();
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(body)
    };
    let (stopped, stopped_too, answering) = (Arc::clone(stop), Arc::clone(stop), Arc::clone(&server));
    let threads = vec![
        daemon("calibrate-read", Box::new(move || read_all(&socket, &tell, &stopped)))?,
        daemon("calibrate-tell", Box::new(move || answer_all(&inbox, &answering, &stopped_too)))?,
    ];
    Ok(FarEnd { server, crossed, threads })
}

/// How often the threads of the far end look whether they are to stop.
const LOOK: Duration = Duration::from_ms(50);

fn read_all(socket: &PacketSocket, tell: &Sender<std::io::Result<Crossing>>, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        let read = match socket.wait(LOOK) {
            Ok(false) => continue,
            Ok(true) => read_one(socket),
            Err(e) => Err(e),
        };
        let over = read.is_err();
        if tell.send(read).is_err() || over {
            return;
        }
    }
}

/// Reads a frame, and when it arrived in the kernel, by the monotonic clock.
fn read_one(socket: &PacketSocket) -> std::io::Result<Crossing> {
    let mut frame = [0; LONGEST];
    let mut buffers = [IoSliceMut::new(&mut frame)];
    let mut space = nix::cmsg_space!(TimeSpec);
    let message = recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut buffers, Some(&mut space), MsgFlags::MSG_DONTWAIT)?;
    let read = clock::now();
    let stamp = message.cmsgs()?.find_map(|c| match c {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(nanoseconds(stamp)),
        _ => None,
    });
    // The kernel stamps by the clock of the day.
    let day = nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME)?);
    let age = stamp.map_or(Duration::ZERO, |stamp| Duration::from_ns(day - stamp)) - (clock::now() - read);
    Ok(Crossing { wire: read.saturating_add(age.max(Duration::ZERO) * -1), read })
}

fn answer_all(inbox: &Inbox<Event>, server: &Server, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        let until = clock::now().saturating_add(LOOK);
        if timed::wait(until, &[inbox.as_fd()]).is_err() {
            return;
        }
        for event in inbox.drain() {
            if let Event::Control { peer, sent_at, control } = event {
                // A peer that is gone needs no answer.
                let _ = server.send(peer, Record::Control { sent_at, control });
            }
        }
    }
}
