//! Watches a switch's ports for frames outside of their slots, and measures how fast hosts obey
//! signals.
//!
//! At each port it sees the signals that the controller sends to the host, and the gated data
//! frames that the host sends (streams and IP packets with a class). Each data frame is one of
//! these:
//!
//! - **correct**: its class is the one that the last signal opened, and the hold is not over;
//! - a **reaction**: its class was the last one open at the port, and no port's next slot has
//!   opened yet. The frame was in flight, or the host still reacts. Guard times are for these
//!   frames;
//! - a **violation**: its class is not open, and the next slot has opened at some port, or the host
//!   never got that class. This rule does not fit plans in which slots of some hosts start while
//!   others continue.
//!
//! Slots are those of the network. The number of a signal is the controller's clock, so a signal
//! counts from when it left the controller, however late it passes its port: the fastest signal of
//! all ports says how late ([`Fastest`](crate::lateness::Fastest)). A host that obeys a late signal
//! thus sends in a foreign slot.
//!
//! An observer reads signals in every encoding. Without keys, it recognizes the controller by its
//! MAC address, and ignores signals older than the newest, as hosts do. With a host's key, a signal
//! with a wrong tag only counts as forged. Plain PFC has neither number nor hold: it is always the
//! newest, and is in force until the next one. An observer needs CAP_BPF, CAP_NET_ADMIN and
//! CAP_PERFMON. It works at the ports of any Linux switch.

mod histogram;
mod report;

pub use histogram::{Histogram, Latency};
pub use report::{FEW, IGNORES_ABOVE, ObserverReport, PortReport};

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

/// Why an observer cannot work.
#[derive(Debug, thiserror::Error)]
pub enum ObserverError {
    /// The programs or their maps failed.
    #[error("the observer's BPF programs: {0}")]
    Bpf(#[from] libbpf_rs::Error),
    /// The programs cannot be attached to an interface.
    #[error("the observer at {interface}: {source}")]
    Attach {
        /// Name of the interface.
        interface: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// There are no ports, too many, or one is named twice.
    #[error("interfaces of an observer: found {0}, expected 1 to {MOST_PORTS}, each once")]
    Interfaces(String),
}

/// Programs at the ports of a switch. Dropping the value removes them.
#[derive(Debug)]
pub struct Observer {
    ports: Vec<(u32, String)>,
    states: MapHandle,
    reaction: MapHandle,
    first_frame: MapHandle,
    spread: MapHandle,
    lateness: MapHandle,
    violations: MapHandle,
    keys: MapHandle,
    _links: Vec<Link>,
}

/// Counters of all ports since the observer was attached.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Counters of each port, in the order of [`Observer::attach`].
    pub ports: Vec<PortCounters>,
    /// Time from a closing signal or the end of a hold to the last frame of the closed slot. Slots
    /// without later frames are not included.
    pub reaction: Histogram,
    /// Time from an opening signal to the first frame of the slot.
    pub first_frame: Histogram,
    /// Time from the first opening signal of a slot, at any port, to each of its other ones:
    /// Practical TDMA, section 3.2.3. Signals belong to a slot if half of their hold is longer than
    /// that. Plain PFC has no hold, and is not included.
    pub spread: Histogram,
    /// How much longer signals took to their ports than the fastest one. Plain PFC has no time, and
    /// is not included.
    pub lateness: Histogram,
    /// Violations that did not fit into the log.
    pub unlogged: u64,
}

/// Counters of one port. [`PortReport`] documents them.
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
    /// Total length of slots that have ended.
    pub open: Duration,
    pub signals: u64,
    pub stale_signals: u64,
    pub other_signals: u64,
    pub forged_signals: u64,
    pub violator: Option<MacAddress>,
}

/// A frame that arrived after another host's slot had started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Arrival time, by the monotonic clock.
    pub time: Time,
    /// Name of the interface that it arrived at.
    pub interface: String,
    /// Class of the frame.
    pub class: u16,
    /// The class that was open at the port, if any.
    pub open: Option<u16>,
    /// Length of the frame with Ethernet's header.
    pub length: Bytes,
    /// Source address of the frame.
    pub source: MacAddress,
}

// SAFETY: the type consists of integers and arrays of integers.
unsafe impl Plain for types::port {}
// SAFETY: as above.
unsafe impl Plain for types::violation {}

impl Observer {
    /// Watches these interfaces of the calling thread's network namespace. They are a switch's
    /// ports towards hosts; the controller with this MAC address gives the slots.
    ///
    /// # Errors
    /// If an interface does not exist, one is named twice, or the kernel refuses the programs.
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
        // Links keep the programs alive, and handles keep the maps alive. The object can go.
        Ok(Self {
            ports,
            states: MapHandle::try_from(&skel.maps.ports)?,
            reaction: MapHandle::try_from(&skel.maps.reaction)?,
            first_frame: MapHandle::try_from(&skel.maps.first_frame)?,
            spread: MapHandle::try_from(&skel.maps.spread)?,
            lateness: MapHandle::try_from(&skel.maps.lateness_of)?,
            violations: MapHandle::try_from(&skel.maps.violations)?,
            keys: MapHandle::try_from(&skel.maps.keys)?,
            _links: links,
        })
    }

    /// Sets the key that verifies signals to the host at one of the ports. The host's agent makes a
    /// new one at every start.
    ///
    /// # Errors
    /// If the interface is not watched.
    pub fn set_key(&self, interface: &str, key: SignalKey) -> Result<(), ObserverError> {
        let port = self.ports.iter().find(|p| p.1 == interface).ok_or_else(|| ObserverError::Attach {
            interface: interface.to_owned(),
            source: std::io::Error::new(std::io::ErrorKind::NotFound, "it is not watched"),
        })?;
        Ok(self.keys.update(&port.0.to_ne_bytes(), &kernel_key(&key), MapFlags::ANY)?)
    }

    /// The current counters.
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
            // The programs would count these with the next signal: the end of the last slot, and
            // the last frame after it.
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
        let [first_frame, spread, lateness] = [&self.first_frame, &self.spread, &self.lateness].map(histogram);
        Ok(Counters { ports, reaction, first_frame: first_frame?, spread: spread?, lateness: lateness?, unlogged })
    }

    /// The violations since the last call, in order. The log holds about 6000;
    /// [`Counters::unlogged`] counts those that did not fit.
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

    /// The counters, their sums, and the ports whose hosts ignore their slots.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn report(&self) -> Result<ObserverReport, ObserverError> {
        Ok(ObserverReport::of(&self.counters()?))
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
