//! An optical circuit switch in BPF: it forwards frames of circuits from port to port by a
//! permutation, and drops them while it is retuned.
//!
//! Circuit frames are data frames with the bit [`CIRCUIT`](timeplane_protocol::numbering::CIRCUIT)
//! next to their class. An XDP program at each port sends them to the connected port, without a
//! queue and whatever their address. All other frames pass to the bridge that the ports belong to.
//! The bridge is the packet switch, with the rates and buffers of its ports.
//!
//! A [`Tuner`] sets the switch. Another process of the machine, such as a controller, can set a
//! switch that is [pinned](CircuitSwitch::pin). The switch alone decides how long its ports stay
//! dark. A [rotor switch](CircuitSwitch::rotor) turns by itself, by the machine's clock.
//!
//! Requirements, measured on Linux 6.18 with veth ports:
//! - A veth takes redirected frames only while its **peer** polls (NAPI): it needs an XDP program
//!   or GRO. Without either, all of 21,272 frames were lost and no counter of the port showed it;
//!   with GRO none was. [`prepare_receiver`] enables GRO, so that hosts' interfaces stay free for
//!   other programs.
//! - From an MTU of about 3500 B, the kernel rejects XDP programs that do not declare `xdp.frags`.
//!   This one does; frames arrived whole up to an MTU of 65,000 B.
//! - A sender sees no loss. Frames are dropped at dark or unconnected ports, and when they exceed
//!   the ring of the output (256 frames at a veth).
//! - Frames of circuits never reach the tc programs of the ports: an
//!   [`Observer`](timeplane_live::observer::Observer) there does not see them.

use crate::bpf::circuit::{CircuitSkelBuilder, types};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use nix::libc;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use timeplane_live::bpf::{self, BpfError};
use timeplane_live::plain::{self, Plain};
use timeplane_live::tuner::{self, CircuitError, Darkens, MOST_PORTS, Settings, Tuner};
use timeplane_model::{Duration, Matching, Time};
use timeplane_schedule::rotor::Cycle;

/// A bit of a step's output, as in `bpf/circuit.bpf.c`: the switch is dark when the step starts.
/// The largest number without this bit stands for no port.
const CHANGES: u32 = 1 << 31;

/// A circuit switch. Dropping it makes its ports ordinary ones.
#[derive(Debug)]
pub struct CircuitSwitch {
    tuner: Tuner,
    counted: MapHandle,
    /// The folder in which the switch is pinned.
    pinned: Option<PathBuf>,
    _links: Vec<Link>,
}

/// Counters of a port's incoming frames since the switch was attached. `frames` is the sum of
/// `forwarded`, `dark` and `unconnected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CircuitCounters {
    /// Circuit frames.
    pub frames: u64,
    /// Bytes of these frames, with Ethernet's header.
    pub bytes: u64,
    /// Frames handed to the output.
    pub forwarded: u64,
    /// Frames dropped because the port was dark.
    pub dark: u64,
    /// Frames dropped because the port had no output.
    pub unconnected: u64,
    /// Other frames, which passed to the packet switch.
    pub passed: u64,
    /// Bytes of `dark` frames, with Ethernet's header.
    pub dark_bytes: u64,
    /// Bytes of `unconnected` frames, with Ethernet's header.
    pub unconnected_bytes: u64,
}

impl std::iter::Sum for CircuitCounters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            frames: a.frames + b.frames,
            bytes: a.bytes + b.bytes,
            forwarded: a.forwarded + b.forwarded,
            dark: a.dark + b.dark,
            unconnected: a.unconnected + b.unconnected,
            passed: a.passed + b.passed,
            dark_bytes: a.dark_bytes + b.dark_bytes,
            unconnected_bytes: a.unconnected_bytes + b.unconnected_bytes,
        })
    }
}

// SAFETY: the type consists of integers.
unsafe impl Plain for types::counters {}

impl CircuitSwitch {
    /// Makes a switch of these interfaces of the calling thread's network namespace. No ports are
    /// connected yet. Retuned ports are dark for `dark` (at least 0, rounded to the nanosecond).
    ///
    /// # Errors
    /// If an interface does not exist, is named twice or has another XDP program, or the kernel
    /// refuses the program.
    pub fn attach<S: AsRef<str>>(interfaces: &[S], dark: Duration, darkens: Darkens) -> Result<Self, CircuitError> {
        Self::load(interfaces, Settings::new(dark, dark, darkens, interfaces.len()), None)
    }

    /// Makes a rotor switch of such interfaces, one for each rack of a cycle in order. Frames that
    /// come in a slice cross it by the matching of that slice, or are dropped while it is dark.
    /// `start` is when the first slice begins; before, no port is connected. Times are those of the
    /// monotonic clock, rounded to the nanosecond. The wires have no length: the cycle's
    /// propagation does not count.
    ///
    /// # Errors
    /// As [`attach`](Self::attach), or if the cycle has another number of racks, or more than one
    /// uplink for each.
    pub fn rotor<S: AsRef<str>>(interfaces: &[S], cycle: &Cycle, start: Time) -> Result<Self, CircuitError> {
        let (schedule, timing) = (cycle.schedule(), cycle.timing());
        let ports = interfaces.len();
        if (schedule.racks() as usize, schedule.uplinks()) != (ports, 1) {
            let (racks, uplinks) = (schedule.racks(), schedule.uplinks());
            return Err(CircuitError::Interfaces(format!(
                "{ports} for {racks} racks with uplinks to {uplinks} switches"
            )));
        }
        let step = |slice: u32, rack: u32| {
            let changes = if cycle.is_changing(slice.into(), 0) { CHANGES } else { 0 };
            changes | schedule.destination(slice, rack, 0).unwrap_or(CHANGES - 1)
        };
        let steps: Vec<u32> =
            (0..schedule.slices()).flat_map(|slice| (0..schedule.racks()).map(move |rack| step(slice, rack))).collect();
        let ns = |ps: i64| u64::try_from(ps / 1000).unwrap_or(0);
        let rotor = types::rotor {
            start: ns(start.as_ps()),
            slice: ns(timing.slice().as_ps()),
            dark: ns(timing.dark().as_ps()),
            steps: schedule.slices().into(),
            ports: ports as u64,
        };
        let dark = timing.dark();
        Self::load(interfaces, Settings::new(dark, dark, Darkens::All, ports), Some((rotor, &steps)))
    }

    fn load<S: AsRef<str>>(
        interfaces: &[S],
        settings: Settings,
        rotor: Option<(types::rotor, &[u32])>,
    ) -> Result<Self, CircuitError> {
        let ports: Vec<String> = interfaces.iter().map(|i| i.as_ref().to_owned()).collect();
        if !(1..=MOST_PORTS).contains(&ports.len()) {
            return Err(CircuitError::Interfaces(ports.len().to_string()));
        }
        let mut indices: Vec<u32> = Vec::with_capacity(ports.len());
        for interface in &ports {
            let index = nix::net::if_::if_nametoindex(interface.as_str())
                .map_err(|e| CircuitError::Attach { interface: interface.clone(), source: e.into() })?;
            if indices.contains(&index) {
                return Err(CircuitError::Interfaces(format!("two of the name {interface}")));
            }
            indices.push(index);
        }
        let mut storage = MaybeUninit::uninit();
        let mut open = CircuitSkelBuilder::default().open(&mut storage)?;
        if let Some((_, steps)) = rotor {
            open.maps.steps.set_max_entries(steps.len() as u32)?;
        }
        let skel = open.load()?;
        if let Some((rotor, steps)) = rotor {
            for (place, step) in (0_u32..).zip(steps) {
                skel.maps.steps.update(&place.to_ne_bytes(), &step.to_ne_bytes(), MapFlags::ANY)?;
            }
            let value = [rotor.start, rotor.slice, rotor.dark, rotor.steps, rotor.ports].map(u64::to_ne_bytes).concat();
            skel.maps.rotor.update(&[0; 4], &value, MapFlags::ANY)?;
        }
        let mut links = Vec::with_capacity(ports.len());
        for (number, (index, interface)) in (0_u32..).zip(indices.iter().zip(&ports)) {
            tuner::write(&skel.maps.circuits, number, tuner::UNCONNECTED, 0)?;
            let (number, index_bytes) = (number.to_ne_bytes(), index.to_ne_bytes());
            skel.maps.outputs.update(&number, &index_bytes, MapFlags::ANY)?;
            skel.maps.numbers.update(&index_bytes, &number, MapFlags::ANY)?;
            let link = skel.progs.circuit_switch.attach_xdp(*index as i32);
            links
                .push(link.map_err(|e| CircuitError::Attach { interface: interface.clone(), source: with_cause(&e) })?);
        }
        // Links keep the programs alive, and handles keep the maps alive. The object can go.
        let (circuits, settings_map) =
            (MapHandle::try_from(&skel.maps.circuits)?, MapHandle::try_from(&skel.maps.settings)?);
        Ok(Self {
            tuner: Tuner::first(circuits, settings_map, settings)?,
            counted: MapHandle::try_from(&skel.maps.counted)?,
            pinned: None,
            _links: links,
        })
    }

    /// Pins the switch in a folder of a BPF file system, so that other processes of this machine
    /// find it. The file system is mounted at `root` if there is none. The folder is removed with
    /// the switch; left-overs of a killed one are replaced.
    ///
    /// # Errors
    /// If the file system cannot be mounted, or the folder cannot be written.
    pub fn pin(&mut self, root: &Path, name: &str) -> Result<PathBuf, BpfError> {
        let folder = bpf::pin_folder(root, name)?;
        tuner::remove(&folder);
        self.pinned = Some(folder.clone());
        self.tuner.pin(&folder)?;
        Ok(folder)
    }

    /// From the next retune on, dark times are uniformly distributed between these two, rounded to
    /// the nanosecond and at least 0.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn set_dark(&self, least: Duration, most: Duration) -> Result<(), CircuitError> {
        let old = self.tuner.settings()?;
        self.tuner.write_settings(&Settings::new(least, most, old.darkens(), old.ports()))
    }

    /// See [`Tuner::retune`].
    ///
    /// # Errors
    /// As [`Tuner::retune`].
    pub fn retune(&mut self, outputs: &[Option<usize>]) -> Result<Time, CircuitError> {
        self.tuner.retune(outputs)
    }

    /// See [`Tuner::connect`].
    ///
    /// # Errors
    /// As [`Tuner::connect`].
    pub fn connect(&mut self, matching: &Matching) -> Result<Time, CircuitError> {
        self.tuner.connect(matching)
    }

    /// The output of each input, as it was last set.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn outputs(&self) -> Result<Vec<Option<usize>>, CircuitError> {
        self.tuner.outputs()
    }

    /// Counters of each port.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn counters(&self) -> Result<Vec<CircuitCounters>, CircuitError> {
        let port = |number: usize| {
            let cpus = self.counted.lookup_percpu(&(number as u32).to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
            let cpus = cpus.iter().filter_map(|bytes| plain::read::<types::counters>(bytes));
            Ok(cpus
                .map(|c| CircuitCounters {
                    frames: c.frames,
                    bytes: c.bytes,
                    forwarded: c.forwarded,
                    dark: c.dark,
                    unconnected: c.unconnected,
                    passed: c.passed,
                    dark_bytes: c.dark_bytes,
                    unconnected_bytes: c.unconnected_bytes,
                })
                .sum())
        };
        (0..self.tuner.settings()?.ports()).map(port).collect()
    }
}

impl Drop for CircuitSwitch {
    fn drop(&mut self) {
        if let Some(folder) = &self.pinned {
            tuner::remove(folder);
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Converts an error of libbpf, with the system's message.
fn with_cause(error: &libbpf_rs::Error) -> io::Error {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    io::Error::other(text)
}

nix::ioctl_write_ptr_bad!(
    /// Sets a property of an interface (ethtool).
    siocethtool,
    libc::SIOCETHTOOL,
    libc::ifreq
);

/// Enables GRO at an interface of the calling thread's network namespace. Without it, a veth whose
/// peer is a port of a circuit switch receives nothing. Frames are unchanged, as GRO does not merge
/// frames of EtherTypes that it does not know.
///
/// # Errors
/// If the interface does not exist or does not support GRO, or the process lacks CAP_NET_ADMIN.
pub fn prepare_receiver(interface: &str) -> io::Result<()> {
    /// `struct ethtool_value` of linux/ethtool.h.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    const ETHTOOL_SGRO: u32 = 0x2c;
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    let mut value = Value { command: ETHTOOL_SGRO, data: 1 };
    // Also rejects a name that is too long.
    nix::net::if_::if_nametoindex(interface)?;
    let mut name = [0; libc::IFNAMSIZ];
    name.iter_mut().zip(interface.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    let request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() } };
    // SAFETY: the request and the value that it points to live until the call returns, and have the
    // types that this command expects.
    unsafe { siocethtool(socket.as_raw_fd(), &raw const request) }?;
    Ok(())
}

#[cfg(test)]
mod tests;
