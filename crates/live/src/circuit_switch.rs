//! An optical circuit switch of BPF: frames of circuits go from port to port by a permutation, and nowhere while it is retuned.
//!
//! Circuit frames are data frames whose class is 1024 and the number of a destination, 1024 to 2047. An XDP program at each port sends them out
//! of the port that it is connected to, without a queue; where they are addressed to does not matter, as light does not read. Everything else goes
//! on to the bridge that the ports belong to, which is the packet switch beside it, with the rates and buffers of its ports.
//!
//! What it needs, measured on Linux 6.18 with veth ports:
//! - A veth takes redirected frames only while its **peer** polls (NAPI), which it does with an XDP program or with GRO switched on. Otherwise all
//!   of 21,272 frames were lost, without a trace at the port; with GRO none was. GRO suffices ([`prepare_receiver`]), so that hosts' interfaces
//!   stay free for other programs.
//! - An XDP program that does not say that it takes frames in pieces (`xdp.frags`) is refused from an MTU of some 3500 bytes on. This one says so;
//!   full frames were whole up to an MTU of 65,000.
//! - A sender sees no loss: what is dark, unconnected or too fast for the output's ring (256 frames at a veth) is gone.
//! - Frames of circuits never reach the tc programs at the ports: an [`Observer`](crate::observer::Observer) there does not see them.

use crate::bpf::circuit::{CircuitSkelBuilder, types};
use crate::plain::{self, Plain};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use nix::libc;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use timeplane_model::{Duration, Matching, Time};

/// The most ports.
pub const MOST_PORTS: usize = 1024;
/// The class of circuit frames to destination 0.
pub const FIRST_CLASS: u16 = 1024;
/// In place of an output's number, as in `bpf/circuit.bpf.c`.
const UNCONNECTED: u64 = u32::MAX as u64;

/// Which ports are dark while the switch is retuned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Darkens {
    /// Inputs that get another output; circuits that stay carry on.
    #[default]
    Moved,
    /// All of them.
    All,
}

/// Why there is no switch, or not the permutation asked for.
#[derive(Debug, thiserror::Error)]
pub enum CircuitError {
    /// The program or its maps.
    #[error("the circuit switch's BPF program: {0}")]
    Bpf(#[from] libbpf_rs::Error),
    /// An interface.
    #[error("the circuit switch at {interface}: {source}")]
    Attach {
        /// Its name.
        interface: String,
        /// What the system says.
        source: io::Error,
    },
    /// No ports, too many, or one twice.
    #[error("a circuit switch has 1 to {MOST_PORTS} interfaces, each once; there are {0}")]
    Interfaces(String),
    /// Not an output for each input.
    #[error("{found} outputs for a circuit switch of {ports} ports")]
    Outputs {
        /// How many there are.
        found: usize,
        /// How many there should be.
        ports: usize,
    },
    /// An output is no port, or that of two inputs.
    #[error("output {0} is that of two inputs, or no port")]
    Output(usize),
}

/// A switch; dropped, its ports are ordinary ones.
#[derive(Debug)]
pub struct CircuitSwitch {
    ports: Vec<String>,
    outputs: Vec<Option<usize>>,
    dark: Duration,
    darkens: Darkens,
    circuits: MapHandle,
    counted: MapHandle,
    _links: Vec<Link>,
}

/// What came in at a port since the switch was attached. `frames` is the sum of `forwarded`, `dark` and `unconnected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CircuitCounters {
    /// Circuit frames.
    pub frames: u64,
    /// Their bytes, with Ethernet's header.
    pub bytes: u64,
    /// Handed to the output.
    pub forwarded: u64,
    /// Lost, since the port was being retuned.
    pub dark: u64,
    /// Lost, since the port had no output.
    pub unconnected: u64,
    /// Other frames, which went on to the packet switch.
    pub passed: u64,
}

// SAFETY: integers.
unsafe impl Plain for types::counters {}

impl CircuitSwitch {
    /// Makes one of these interfaces of the calling thread's network namespace. Nothing is connected yet. A retune takes `dark` (0 or more, to the
    /// nanosecond).
    ///
    /// # Errors
    /// Where there is no such interface, one is named twice or has another XDP program, or the kernel refuses the program.
    pub fn attach<S: AsRef<str>>(interfaces: &[S], dark: Duration, darkens: Darkens) -> Result<Self, CircuitError> {
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
        let skel = CircuitSkelBuilder::default().open(&mut storage)?.load()?;
        let mut links = Vec::with_capacity(ports.len());
        for (number, (index, interface)) in (0_u32..).zip(indices.iter().zip(&ports)) {
            write(&skel.maps.circuits, number, UNCONNECTED, 0)?;
            let (number, index_bytes) = (number.to_ne_bytes(), index.to_ne_bytes());
            skel.maps.outputs.update(&number, &index_bytes, MapFlags::ANY)?;
            skel.maps.numbers.update(&index_bytes, &number, MapFlags::ANY)?;
            let link = skel.progs.circuit_switch.attach_xdp(*index as i32);
            links
                .push(link.map_err(|e| CircuitError::Attach { interface: interface.clone(), source: with_cause(&e) })?);
        }
        // Links and handles keep all of it; the object itself has done its work.
        Ok(Self {
            outputs: vec![None; ports.len()],
            ports,
            dark: if dark.is_negative() { Duration::default() } else { dark },
            darkens,
            circuits: MapHandle::try_from(&skel.maps.circuits)?,
            counted: MapHandle::try_from(&skel.maps.counted)?,
            _links: links,
        })
    }

    /// Connects each input (by its place among the interfaces) to this output, or to none. Ports that change, or all ([`Darkens`]), are dark from
    /// now on and lit together; when, by the monotonic clock. A retune during another begins anew for the ports that it concerns.
    ///
    /// # Errors
    /// Where there is not an output for each port, or an output is none or that of two inputs; nothing has changed then.
    pub fn retune(&mut self, outputs: &[Option<usize>]) -> Result<Time, CircuitError> {
        let ports = self.ports.len();
        if outputs.len() != ports {
            return Err(CircuitError::Outputs { found: outputs.len(), ports });
        }
        let mut taken = vec![false; ports];
        for &output in outputs.iter().flatten() {
            if taken.get(output).is_none_or(|t| *t) {
                return Err(CircuitError::Output(output));
            }
            taken[output] = true;
        }
        let code = |output: Option<usize>| output.map_or(UNCONNECTED, |o| o as u64);
        let concerned: Vec<usize> =
            (0..ports).filter(|&p| self.darkens == Darkens::All || self.outputs[p] != outputs[p]).collect();
        // All are dark before the first is given its new output: no two inputs ever shine at one.
        for &port in &concerned {
            write(&self.circuits, port as u32, code(self.outputs[port]), u64::MAX)?;
        }
        let lit_at = now_ns()?.saturating_add(self.dark.as_ps() as u64 / 1000);
        for &port in &concerned {
            write(&self.circuits, port as u32, code(outputs[port]), lit_at)?;
        }
        self.outputs.copy_from_slice(outputs);
        Ok(Time::from_ps(i64::try_from(lit_at).unwrap_or(i64::MAX).saturating_mul(1000)))
    }

    /// The same by a matching, whose hosts are the ports.
    ///
    /// # Errors
    /// As [`retune`](Self::retune).
    pub fn connect(&mut self, matching: &Matching) -> Result<Time, CircuitError> {
        let outputs: Vec<_> = matching.outputs().iter().map(|o| o.map(|o| o.index())).collect();
        self.retune(&outputs)
    }

    /// The output of each input, as last asked for.
    pub fn outputs(&self) -> &[Option<usize>] {
        &self.outputs
    }

    /// What came in, port by port.
    ///
    /// # Errors
    /// Of the system only.
    pub fn counters(&self) -> Result<Vec<CircuitCounters>, CircuitError> {
        let port = |number: usize| {
            let cpus = self.counted.lookup_percpu(&(number as u32).to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
            let cpus = cpus.iter().filter_map(|bytes| plain::read::<types::counters>(bytes));
            Ok(cpus.fold(CircuitCounters::default(), |sum, c| CircuitCounters {
                frames: sum.frames + c.frames,
                bytes: sum.bytes + c.bytes,
                forwarded: sum.forwarded + c.forwarded,
                dark: sum.dark + c.dark,
                unconnected: sum.unconnected + c.unconnected,
                passed: sum.passed + c.passed,
            }))
        };
        (0..self.ports.len()).map(port).collect()
    }

    /// How long a port is dark when it is retuned.
    pub fn dark(&self) -> Duration {
        self.dark
    }
}

/// Writes a circuit; the output is there before the time, in the order in which the program reads them.
fn write(circuits: &impl MapCore, port: u32, output: u64, lit_at: u64) -> Result<(), libbpf_rs::Error> {
    let value = [output.to_ne_bytes(), lit_at.to_ne_bytes()].concat();
    circuits.update(&port.to_ne_bytes(), &value, MapFlags::ANY)
}

/// As libbpf says it, with what the system said.
fn with_cause(error: &libbpf_rs::Error) -> io::Error {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    io::Error::other(text)
}

fn now_ns() -> Result<u64, libbpf_rs::Error> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    let now = now.map_err(|e| libbpf_rs::Error::from_raw_os_error(e as i32))?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

nix::ioctl_write_ptr_bad!(
    /// Sets a property of an interface (ethtool).
    siocethtool,
    libc::SIOCETHTOOL,
    libc::ifreq
);

/// Switches GRO on at an interface of the calling thread's network namespace: a veth whose peer is at a port of a circuit switch receives nothing
/// without it. Frames stay as they are, since GRO joins no frames of EtherTypes that it does not know.
///
/// # Errors
/// Where there is no such interface, it has no GRO, or the process lacks CAP_NET_ADMIN.
pub fn prepare_receiver(interface: &str) -> io::Result<()> {
    /// `struct ethtool_value` of the kernel's interface.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    const ETHTOOL_SGRO: u32 = 0x2c;
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    let mut value = Value { command: ETHTOOL_SGRO, data: 1 };
    // Also tells a name that is too long.
    nix::net::if_::if_nametoindex(interface)?;
    let mut name = [0; libc::IFNAMSIZ];
    name.iter_mut().zip(interface.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    let request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() } };
    // SAFETY: the request and the value that it points to live until the call is over, and are what this command takes.
    unsafe { siocethtool(socket.as_raw_fd(), &raw const request) }?;
    Ok(())
}

#[cfg(test)]
mod tests;
