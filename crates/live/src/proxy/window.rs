//! A congestion control whose window is set by socket: `bpf/window.bpf.c`, loaded and registered.
//!
//! It needs BTF and struct_ops.

use super::actuator::Order;
use crate::bpf::window::WindowSkelBuilder;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle};
use nix::sys::socket::{setsockopt, sockopt};
use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// What the kernel has of a name.
const LONGEST: usize = 15;
/// What the first scheme of a machine is called.
const NAME: &str = "timeplane";
/// Schemes of one machine at most.
const MOST: usize = 64;

/// Why there is no such congestion control.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The kernel refuses the program.
    #[error("congestion control in BPF: {0}; it needs Linux 6.6 with BTF, CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN")]
    Bpf(#[from] libbpf_rs::Error),
    /// The kernel takes no such name.
    #[error("a congestion control called \"{found}\": 1 to 15 letters, digits, dots and underscores are allowed")]
    Name {
        /// The name.
        found: String,
    },
    /// All names are taken.
    #[error("{MOST} processes have registered a congestion control `{NAME}` already")]
    Names,
}

/// How often the scheme was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounters {
    /// Acknowledgements of sockets with an order in force.
    pub steered: u64,
    /// Acknowledgements of others, which NewReno answered.
    pub unsteered: u64,
}

/// A congestion control of the kernel whose window is set by socket. Sockets without an order grow
/// and shrink as with NewReno, and so does every socket when it has lost something.
///
/// It is registered as `timeplane`, or `timeplane_1` and so on where others are, until it is
/// dropped or the process ends, in whatever way: a link's descriptor is all that holds it. Sockets
/// that have it keep it until they are closed; without a process to give orders they are NewReno's
/// once the last order has run out.
#[derive(Debug)]
pub struct WindowControl {
    name: String,
    orders: MapHandle,
    counters: MapHandle,
    /// Holds the registration.
    _link: Link,
}

impl WindowControl {
    /// Loads and registers it.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn load() -> Result<Self, WindowError> {
        for number in 0..MOST {
            let name = if number == 0 { NAME.to_owned() } else { format!("{NAME}_{number}") };
            match Self::load_as(&name) {
                Err(WindowError::Bpf(e)) if e.kind() == ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(WindowError::Names)
    }

    /// Loads it and registers it by this name.
    ///
    /// # Errors
    /// If the kernel refuses it, or has one of that name.
    pub fn load_as(name: &str) -> Result<Self, WindowError> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'.' || c == b'_';
        if !(1..=LONGEST).contains(&name.len()) || !name.bytes().all(allowed) {
            return Err(WindowError::Name { found: name.to_owned() });
        }
        let mut object = MaybeUninit::uninit();
        let mut open = WindowSkelBuilder::default().open(&mut object)?;
        let field = &mut open.struct_ops.timeplane_mut().name;
        field.fill(0);
        // The last place stays 0: it ends the name.
        let places = field.iter_mut().take(LONGEST);
        places.zip(name.bytes()).for_each(|(place, byte)| *place = byte as _);
        let mut skeleton = open.load()?;
        let link = skeleton.maps.timeplane.attach_struct_ops()?;
        let orders = MapHandle::try_from(&skeleton.maps.orders)?;
        let counters = MapHandle::try_from(&skeleton.maps.bss)?;
        // The link holds the programs, the handles their maps: no need for what loaded them.
        Ok(Self { name: name.to_owned(), orders, counters, _link: link })
    }

    /// What it is called in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it the congestion control of a socket.
    ///
    /// # Errors
    /// If it is no socket of TCP.
    pub fn adopt(&self, socket: &impl AsFd) -> io::Result<()> {
        Ok(setsockopt(socket, sockopt::TcpCongestion, &OsString::from(&self.name))?)
    }

    /// Sets a socket's window. It is followed with the next acknowledgement.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn steer(&self, socket: &impl AsFd, order: Order) -> io::Result<()> {
        // As `struct order` of the program has it.
        let mut value = [0; 24];
        value[..8].copy_from_slice(&order.window.get().to_ne_bytes());
        value[8..16].copy_from_slice(&order.until.to_ne_bytes());
        value[16..20].copy_from_slice(&u32::from(order.hold).to_ne_bytes());
        let key = socket.as_fd().as_raw_fd().to_ne_bytes();
        self.orders.update(&key, &value, MapFlags::ANY).map_err(io::Error::other)
    }

    /// Takes a socket's order back.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn release(&self, socket: &impl AsFd) -> io::Result<()> {
        let key = socket.as_fd().as_raw_fd().to_ne_bytes();
        match self.orders.delete(&key) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(io::Error::other(e)),
            _ => Ok(()),
        }
    }

    /// How often it was asked, over all its sockets.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn counters(&self) -> Result<WindowCounters, WindowError> {
        let bytes = self.counters.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let mut next = || words.next().unwrap_or(0);
        Ok(WindowCounters { steered: next(), unsteered: next() })
    }
}
