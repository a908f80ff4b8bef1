//! Watches a switch's ports for frames that are sent outside of their slots, and measures how fast
//! hosts obey.
//!
//! At each port it sees the signals that the controller sends to the port's host, and the data
//! frames that the host sends (stream data and IP packets of a class; what is not gated does not
//! count). A frame is one of these:
//!
//! - of the class that the last signal has open, and its hold not over: as it should be;
//! - a **reaction**: of the class that the port had open last, after its end but before any port's
//!   next opening. It was on its way, or the host still reacts; this is what guard times are for;
//! - a **violation**: of a class that is not open, after the next slot has been opened anywhere; or
//!   of a class that the host was not given at all. A network with plans in which slots of some
//!   hosts begin while others go on cannot be judged by this rule.
//!
//! Signals are read in every encoding that controllers have. An observer has no keys by itself: it
//! goes by the controller's MAC address, and drops what is older than what it has seen, as hosts
//! do. Where it is told a host's key, a signal whose tag does not fit counts as forged, and nothing
//! else. Plain PFC has neither number nor hold: it is always the newest, and lasts until the next.
//! An observer needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and works at the ports of any Linux
//! switch that hosts are connected to.

mod histogram;
mod report;

pub use histogram::{Histogram, Latency};
pub use report::{FEW, IGNORES_ABOVE, PortReport, Report};

use crate::bpf::observer::{ObserverSkelBuilder, types};
use crate::gate::kernel_key;
use crate::plain::{self, Plain};
use crate::tcx;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, RingBufferBuilder};
use std::mem::MaybeUninit;
use timeplane_model::{Bytes, Duration, Time};
use timeplane_protocol::wire::{MacAddress, PORT, SignalKey};

/// The most ports that an observer watches.
pub const MOST_PORTS: usize = 1024;

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum ObserverError {
    /// The programs or their maps.
    #[error("the observer's BPF programs: {0}")]
    Bpf(#[from] libbpf_rs::Error),
    /// An interface.
    #[error("the observer at {interface}: {source}")]
    Attach {
        /// Its name.
        interface: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// No ports, too many, or one twice.
    #[error("interfaces of an observer: found {0}, expected 1 to {MOST_PORTS}, each once")]
    Interfaces(String),
}

/// Programs at the ports of a switch; dropped, they are gone.
#[derive(Debug)]
pub struct Observer {
    ports: Vec<(u32, String)>,
    states: MapHandle,
    reaction: MapHandle,
    first_frame: MapHandle,
    violations: MapHandle,
    keys: MapHandle,
    _links: Vec<Link>,
}

/// What was counted at all ports since the observer was attached.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Port by port, in the order they were given.
    pub ports: Vec<PortCounters>,
    /// From a closing signal (or the end of a hold) to the last frame of what it closed: slots
    /// after which none came are not in it.
    pub reaction: Histogram,
    /// From an opening signal to the first frame of the slot.
    pub first_frame: Histogram,
    /// Violations that found no room in the log.
    pub unlogged: u64,
}

/// What was counted at one port. [`PortReport`] says what is what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in PortReport")]
pub struct PortCounters {
    pub interface: String,
    pub frames: u64,
    pub bytes: Bytes,
    pub violations: u64,
    pub reactions: u64,
    pub slots: u64,
    pub empty_slots: u64,
    /// How long slots lasted, all together; the one that is open counts once it has ended.
    pub open: Duration,
    pub signals: u64,
    pub stale_signals: u64,
    pub other_signals: u64,
    pub forged_signals: u64,
    pub violator: Option<MacAddress>,
}

/// A frame that came when somebody else's slot had begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When it came in, by the monotonic clock.
    pub time: Time,
    /// At which interface.
    pub interface: String,
    /// Its class.
    pub class: u16,
    /// What the host might have sent instead.
    pub open: Option<u16>,
    /// With Ethernet's header.
    pub length: Bytes,
    /// Who sent it, as the frame says.
    pub source: MacAddress,
}

// SAFETY: integers, and arrays of integers.
unsafe impl Plain for types::port {}
// SAFETY: as above.
unsafe impl Plain for types::violation {}

impl Observer {
    /// Watches these interfaces of the calling thread's network namespace: a switch's ports towards
    /// hosts, whose slots are given by the controller with this MAC address.
    ///
    /// # Errors
    /// If there is no such interface, one is named twice, or the kernel refuses the programs.
    pub fn attach<S: AsRef<str>>(interfaces: &[S], controller: MacAddress) -> Result<Self, ObserverError> {
        let mut ports: Vec<(u32, String)> = Vec::with_capacity(interfaces.len());
        for interface in interfaces.iter().map(AsRef::as_ref) {
            let index = nix::net::if_::if_nametoindex(interface)
                .map_err(|e| ObserverError::Attach { interface: interface.to_owned(), source: e.into() })?;
            if ports.iter().any(|p| p.0 == index) {
                return Err(ObserverError::Interfaces(format!("two of the name {interface}")));
            }
            ports.push((index, interface.to_owned()));
        }
        if !(1..=MOST_PORTS).contains(&ports.len()) {
            return Err(ObserverError::Interfaces(ports.len().to_string()));
        }
        let mut storage = MaybeUninit::uninit();
        let mut open = ObserverSkelBuilder::default().open(&mut storage)?;
        let constants = open.maps.rodata_data.as_deref_mut().expect("the program has constants");
        (constants.controller, constants.udp_port) = (controller.0, PORT);
        let skel = open.load()?;
        let empty = vec![0; skel.maps.ports.value_size() as usize];
        let mut links = Vec::with_capacity(2 * ports.len());
        for (index, interface) in &ports {
            skel.maps.ports.update(&index.to_ne_bytes(), &empty, MapFlags::ANY)?;
            for program in [&skel.progs.signals, &skel.progs.data] {
                let error = |source| ObserverError::Attach { interface: interface.clone(), source };
                links.push(tcx::attach(program, interface).map_err(error)?);
            }
        }
        // Links and handles keep all of it; the object itself has done its work.
        Ok(Self {
            ports,
            states: MapHandle::try_from(&skel.maps.ports)?,
            reaction: MapHandle::try_from(&skel.maps.reaction)?,
            first_frame: MapHandle::try_from(&skel.maps.first_frame)?,
            violations: MapHandle::try_from(&skel.maps.violations)?,
            keys: MapHandle::try_from(&skel.maps.keys)?,
            _links: links,
        })
    }

    /// Signals to the host at one of the ports are verified by this key from now on, which its
    /// agent makes at every start.
    ///
    /// # Errors
    /// If the interface is none of those that are watched.
    pub fn set_key(&self, interface: &str, key: SignalKey) -> Result<(), ObserverError> {
        let port = self.ports.iter().find(|p| p.1 == interface).ok_or_else(|| ObserverError::Attach {
            interface: interface.to_owned(),
            source: std::io::Error::new(std::io::ErrorKind::NotFound, "it is not watched"),
        })?;
        Ok(self.keys.update(&port.0.to_ne_bytes(), &kernel_key(&key), MapFlags::ANY)?)
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn counters(&self) -> Result<Counters, ObserverError> {
        let mut reaction = histogram(&self.reaction)?;
        let mut unlogged = 0;
        let mut ports = Vec::with_capacity(self.ports.len());
        for (index, interface) in &self.ports {
            let value = self.states.lookup(&index.to_ne_bytes(), MapFlags::LOCK)?;
            let Some(s) = value.as_deref().and_then(plain::read::<types::port>) else {
                return Err(libbpf_rs::Error::from_raw_os_error(nix::libc::ENOENT).into());
            };
            let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
                .map_err(|source| ObserverError::Attach { interface: interface.clone(), source: source.into() })?;
            let now = now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64;
            // What the programs book with the next signal: the end of the last slot, and the last
            // frame after it.
            let lapsed = s.slots > 0 && s.closed == 0 && s.closes_at <= now;
            let ended = s.slots > 0 && (s.closed != 0 || lapsed);
            if s.late_ns > 0 {
                reaction.record(Duration::from_ns(s.late_ns as i64));
            }
            unlogged += s.unlogged;
            let open_ns = s.open_ns + if lapsed { s.closes_at - s.opened_at } else { 0 };
            let [violator @ .., _, _] = s.violator;
            ports.push(PortCounters {
                interface: interface.clone(),
                frames: s.frames,
                bytes: Bytes::new(s.bytes),
                violations: s.violations,
                reactions: s.reactions,
                slots: s.slots,
                empty_slots: s.empty_slots + u64::from(ended && s.slot_bytes == 0),
                open: Duration::from_ns(open_ns as i64),
                signals: s.signals,
                stale_signals: s.stale_signals,
                other_signals: s.other_signals,
                forged_signals: s.forged_signals,
                violator: (s.violations > 0).then_some(MacAddress(violator)),
            });
        }
        Ok(Counters { ports, reaction, first_frame: histogram(&self.first_frame)?, unlogged })
    }

    /// The violations since the last call, in their order. There is room for some 6000; those that
    /// found none are in [`Counters::unlogged`].
    ///
    /// # Errors
    /// If a system call fails.
    pub fn violations(&mut self) -> Result<Vec<Violation>, ObserverError> {
        let mut found = vec![];
        let mut ring = RingBufferBuilder::new();
        ring.add(&self.violations, |record| {
            if let Some(v) = plain::read::<types::violation>(record) {
                let port = self.ports.iter().find(|p| p.0 == v.ifindex);
                found.push(Violation {
                    time: Time::from_ps(v.time_ns as i64 * 1000),
                    interface: port.map_or_else(String::new, |p| p.1.clone()),
                    class: v.class,
                    open: u16::try_from(v.open).ok(),
                    length: Bytes::new(v.length.into()),
                    source: MacAddress(v.source),
                });
            }
            0
        })?;
        ring.build()?.consume()?;
        Ok(found)
    }

    /// The counters with their sums and names of who ignores their slots.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn report(&self) -> Result<Report, ObserverError> {
        Ok(Report::of(&self.counters()?))
    }
}

fn histogram(map: &MapHandle) -> Result<Histogram, ObserverError> {
    let mut histogram = Histogram::new();
    for bucket in 0..Histogram::BUCKETS {
        let counts = map.lookup_percpu(&(bucket as u32).to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
        let count = |bytes: &Vec<u8>| bytes.first_chunk().map_or(0, |b| u64::from_ne_bytes(*b));
        histogram.add(bucket, counts.iter().map(count).sum());
    }
    Ok(histogram)
}
