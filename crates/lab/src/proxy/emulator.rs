//! An emulated link between two TUN interfaces: a packet that enters one of them leaves the other
//! when it would have crossed a link that follows a trace.
//!
//! TUN without offloads has no super-frames: every packet from the kernel is one packet of the
//! link. Up to 500 Mb/s, packets are late by 20 us in the median and by 45 to 240 us at p99,
//! measured on two shared cores.

use super::delays::Delays;
use super::fifo::{Count, Fate, Fifo};
use super::rate_trace::RateTrace;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use timeplane_live::netns::{Namespace, NetError};
use timeplane_live::proxy::Clock;
use timeplane_live::timed::real_time;
use timeplane_model::{Bytes, Duration, Time};
use tun_rs::{DeviceBuilder, SyncDevice};

/// The largest packet that a TUN interface can have.
const LARGEST: usize = 65_535;
/// Packets that a TUN interface keeps until they are read: what comes at 500 Mb/s while the
/// emulator is not run for 200 ms.
const UNREAD: u32 = 10_000;
/// Packets that are read before those that are due are looked at again.
const BATCH: usize = 32;
/// How often a waiting thread checks whether it is to end.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// Why an interface or an emulator could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The namespace cannot be entered, or `ip` failed in it.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The interface cannot be created.
    #[error("TUN interface {name}: {source}; it needs /dev/net/tun and CAP_NET_ADMIN")]
    Tun {
        /// Name of the interface.
        name: String,
        /// The system's message.
        source: io::Error,
    },
    /// A thread cannot be started, or an interface fails.
    #[error("emulated link: {0}")]
    Io(#[from] io::Error),
}

/// Creates a TUN interface in a namespace, sets its address and prefix (`10.0.0.1/24`), and brings
/// it up. It is removed when the value is dropped.
///
/// # Errors
/// If the name is taken or longer than 15 characters, the address is invalid, or permissions are
/// missing.
pub fn tun(namespace: &Namespace, name: &str, address: &str, mtu: u16) -> Result<SyncDevice, EmulatorError> {
    let make = || DeviceBuilder::new().name(name).mtu(mtu).tx_queue_len(UNREAD).enable(false).build_sync();
    let device = namespace.enter(make)?.map_err(|source| EmulatorError::Tun { name: name.to_owned(), source })?;
    namespace.ip(&format!("addr add {address} dev {name}"))?;
    namespace.ip(&format!("link set {name} up"))?;
    device.set_nonblocking(true)?;
    Ok(device)
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The link's rate and loss over time.
    pub trace: Arc<RateTrace>,
    /// Bytes that its queue holds, the packet in transmission included.
    pub limit: Bytes,
    /// A packet that finds at least this many bytes in the queue is marked, if it is ECN-capable
    /// (RFC 3168). `None` for a link that does not mark.
    pub mark_at: Option<Bytes>,
    /// Propagation delay, from the last bit sent to the last bit received.
    pub propagation: Duration,
}

/// A link between a near and a far interface.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Direction from the near to the far interface.
    pub there: Direction,
    /// Direction from the far to the near interface.
    pub back: Direction,
    /// Seed of the losses in the air.
    pub seed: u64,
    /// Delays are recorded for packets that are delivered up to this time of the emulator's clock.
    pub record_until: Time,
}

/// Outcomes of packets in one direction. `came = no_room + lost + refused + delivered + under_way`,
/// both in packets and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Read from the interface.
    pub came: Count,
    /// Found no room in the queue.
    pub no_room: Count,
    /// Lost in the air.
    pub lost: Count,
    /// Marked; they also count as what became of them.
    pub marked: Count,
    /// Not taken by the interface at the other end.
    pub refused: Count,
    /// Given to the interface at the other end.
    pub delivered: Count,
    /// In the queue, in the air, or waiting forever.
    pub under_way: Count,
}

impl Counters {
    /// Whether every packet is counted exactly once.
    pub fn conserved(&self) -> bool {
        self.came == self.no_room + self.lost + self.refused + self.delivered + self.under_way
    }
}

/// One direction at work.
#[derive(Debug)]
struct Lane {
    fifo: Fifo,
    mark_at: Option<Bytes>,
    counters: Counters,
    delays: Delays,
    lateness: Delays,
}

fn locked(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    // A thread that panicked has not left the lane inconsistent: counts are added one by one.
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running emulated link. It ends when it is dropped.
#[derive(Debug)]
pub struct Emulator {
    lanes: [Arc<Mutex<Lane>>; 2],
    clock: Clock,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// Measurements of one direction.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Outcomes of packets.
    pub counters: Counters,
    /// Delays of delivered packets from interface to interface: queueing, transmission and
    /// propagation.
    pub delays: Delays,
    /// How late packets were handed over.
    pub lateness: Delays,
}

impl Emulator {
    /// Starts an emulated link between two interfaces made by [`tun`]. The link trace starts at 0
    /// of the clock.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(near: SyncDevice, far: SyncDevice, spec: &LinkSpec, clock: Clock) -> Result<Self, EmulatorError> {
        let (near, far) = (Arc::new(near), Arc::new(far));
        let stop = Arc::new(AtomicBool::new(false));
        let lane = |direction: &Direction, seed| {
            let fifo = Fifo::new(direction.trace.clone(), direction.limit, seed);
            let counters = Counters::default();
            let (delays, lateness) = (Delays::default(), Delays::default());
            Arc::new(Mutex::new(Lane { fifo, mark_at: direction.mark_at, counters, delays, lateness }))
        };
        let lanes = [lane(&spec.there, spec.seed), lane(&spec.back, !spec.seed)];
        let mut emulator = Self { lanes, clock, stop, threads: Vec::new() };
        let ways = [("there", &near, &far, spec.there.propagation), ("back", &far, &near, spec.back.propagation)];
        for (lane, (name, from, to, propagation)) in emulator.lanes.clone().into_iter().zip(ways) {
            let carrier = Carrier {
                from: from.clone(),
                to: to.clone(),
                lane,
                propagation,
                clock,
                stop: emulator.stop.clone(),
                record_until: spec.record_until,
                flying: VecDeque::new(),
                spare: Vec::new(),
            };
            let thread = std::thread::Builder::new().name(format!("link {name}"));
            emulator.threads.push(thread.spawn(move || carrier.run())?);
        }
        Ok(emulator)
    }

    /// A function that returns the queue towards the far interface, and how many packets it has
    /// dropped.
    pub fn queue(&self) -> impl Fn() -> (Count, u64) + Send + use<> {
        let (lane, clock) = (self.lanes[0].clone(), self.clock);
        move || {
            let mut lane = locked(&lane);
            (lane.fifo.waiting(clock.now() - Time::ZERO), lane.counters.no_room.packets)
        }
    }

    /// The measurements so far, of both directions.
    pub fn measured(&self) -> [Measured; 2] {
        self.lanes.each_ref().map(|lane| {
            let lane = locked(lane);
            let (delays, lateness) = (lane.delays.clone(), lane.lateness.clone());
            Measured { counters: lane.counters, delays, lateness }
        })
    }

    /// Ends the link and returns the measurements. Packets in flight are lost.
    ///
    /// # Errors
    /// If an interface failed while the link ran.
    pub fn stop(mut self) -> Result<[Measured; 2], EmulatorError> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(self.measured())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The result is lost, as no caller is left.
            let _ = thread.join();
        }
    }
}

/// Marks an IPv4 packet as having met congestion (RFC 3168, section 5), with its checksum (RFC
/// 1624, equation 3). Returns whether it is ECN-capable.
fn mark(packet: &mut [u8]) -> bool {
    let [version, tos, ..] = *packet else { return false };
    if version >> 4 != 4 || packet.len() < 20 || tos & 3 == 0 {
        return false;
    }
    packet[1] = tos | 3;
    let word = |tos: u8| u32::from(u16::from_be_bytes([version, tos]));
    let checksum = u32::from(u16::from_be_bytes([packet[10], packet[11]]));
    let sum = (!checksum & 0xffff) + (!word(tos) & 0xffff) + word(tos | 3);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
    true
}

/// A packet in flight.
struct Flying {
    /// When the packet is handed over; `None` for never.
    due: Option<Time>,
    came: Time,
    lost: bool,
    packet: Vec<u8>,
}

/// The thread that carries packets in one direction.
struct Carrier {
    from: Arc<SyncDevice>,
    to: Arc<SyncDevice>,
    lane: Arc<Mutex<Lane>>,
    propagation: Duration,
    clock: Clock,
    stop: Arc<AtomicBool>,
    record_until: Time,
    /// Packets in the order of arrival, which is also the order of delivery.
    flying: VecDeque<Flying>,
    /// Buffers of earlier packets, for reuse.
    spare: Vec<Vec<u8>>,
}

impl Carrier {
    fn run(mut self) -> io::Result<()> {
        // Without real-time priority it may be late; the lateness is measured.
        real_time();
        let mut buffer = vec![0; LARGEST];
        while !self.stop.load(Ordering::Relaxed) {
            self.hand_over();
            if self.take(&mut buffer)? {
                // More packets may wait.
                continue;
            }
            let next = self.flying.front().and_then(|f| f.due);
            let wait = next.map_or(LOOK, |due| self.clock.until(due).min(LOOK));
            let mut waits = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut waits, Some(TimeSpec::from_duration(wait)), None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Reads at most a batch of packets. Returns whether the batch was full.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            let length = match self.from.recv(buffer) {
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let now = self.clock.now();
            let mut lane = locked(&self.lane);
            lane.counters.came.add(length);
            let since = now - Time::ZERO;
            let marks = lane.mark_at.is_some_and(|at| lane.fifo.waiting(since).bytes >= at.get());
            let fate = lane.fifo.offer(since, length as u32);
            if marks && !matches!(fate, Fate::NoRoom) && mark(&mut buffer[..length]) {
                lane.counters.marked.add(length);
            }
            let (due, lost) = match fate {
                Fate::NoRoom => {
                    lane.counters.no_room.add(length);
                    continue;
                }
                Fate::Departs(at) => (Some(Time::ZERO + at + self.propagation), false),
                Fate::Lost(at) => (Some(Time::ZERO + at + self.propagation), true),
                Fate::Stays => (None, false),
            };
            lane.counters.under_way.add(length);
            drop(lane);
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.clear();
            packet.extend_from_slice(&buffer[..length]);
            self.flying.push_back(Flying { due, came: now, lost, packet });
        }
        Ok(true)
    }

    /// Hands over packets that are due.
    fn hand_over(&mut self) {
        while let Some(due) = self.flying.front().and_then(|f| f.due)
            && due <= self.clock.now()
            && let Some(gone) = self.flying.pop_front()
        {
            let length = gone.packet.len();
            let sent = !gone.lost && self.to.send(&gone.packet).is_ok();
            let now = self.clock.now();
            let mut lane = locked(&self.lane);
            let counters = &mut lane.counters;
            counters.under_way.packets -= 1;
            counters.under_way.bytes -= length as u64;
            match (gone.lost, sent) {
                (true, _) => counters.lost.add(length),
                // An interface that is down refuses packets.
                (false, false) => counters.refused.add(length),
                (false, true) => counters.delivered.add(length),
            }
            if sent && now <= self.record_until {
                lane.delays.add(now - gone.came);
                lane.lateness.add(now - due);
            }
            drop(lane);
            self.spare.push(gone.packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ones' complement sum of an IPv4 header, which is 0xffff where its checksum is right.
    fn sum(header: &[u8]) -> u32 {
        let sum: u32 = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn a_marked_packet_is_ce_and_has_a_right_checksum() {
        for (tos, marks) in [(0x00, false), (0x01, true), (0x02, true), (0x03, true), (0xb9, true), (0xb8, false)] {
            for id in 0..=u16::MAX {
                let [high, low] = id.to_be_bytes();
                let mut packet = [0x45, tos, 0, 40, high, low, 0x40, 0, 64, 6, 0, 0, 10, 90, 0, 1, 10, 91, 0, 2];
                let checksum = (!sum(&packet) as u16).to_be_bytes();
                packet[10..12].copy_from_slice(&checksum);
                let before = packet;
                assert_eq!(mark(&mut packet), marks);
                assert_eq!(sum(&packet), 0xffff, "{before:?} {packet:?}");
                assert_eq!(packet[1], if marks { tos | 3 } else { tos });
            }
        }
        assert!(!mark(&mut [0x60, 0x20, 0, 0]) && !mark(&mut []) && !mark(&mut [0x45, 2]));
    }
}
