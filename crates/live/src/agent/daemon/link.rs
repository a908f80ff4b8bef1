//! The agent's interface. An agent outlives an interface that goes down, gets another MTU, or is
//! removed and made again: frames wait, and leave once it is back.

use super::LiveAgent;
use super::setup::{AgentError, random_bytes, sockets};
use crate::bpf::interface_index;
use crate::clock;
use crate::gate::{Gate, release};
use crate::packet_socket::Stop;
use nix::libc;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::{MacAddress, SignalKey};

/// How often the agent looks at its interface, and tries again where frames do not leave.
const LOOK: Duration = Duration::from_ms(200);
/// The largest packet of agents, in bytes without Ethernet's header.
const LARGEST: u32 = 1500;

/// What the agent knows of its interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    index: i32,
    mtu: u32,
    /// Why frames do not leave; the log says it once.
    trouble: Option<Stop>,
    looked_at: Time,
    /// No frame is sent before.
    pub(super) retry_at: Time,
}

impl Interface {
    pub(super) fn new(index: i32, mtu: u32) -> Self {
        Self { index, mtu, trouble: None, looked_at: Time::ZERO, retry_at: Time::ZERO }
    }

    /// The largest packet that it takes and the agent uses, in bytes.
    pub(super) fn mtu(&self) -> u32 {
        self.mtu
    }
}

impl LiveAgent {
    /// Where its gate is pinned, if it outlives the agent.
    pub fn pinned(&self) -> Option<PathBuf> {
        self.config.gate.pin.as_ref().map(|(root, name)| root.join(name))
    }

    fn name(&self) -> &str {
        &self.config.gate.interface
    }

    /// Looks at the interface from time to time.
    pub(super) fn look_at_interface(&mut self) -> Result<(), AgentError> {
        let now = clock::now();
        if now - self.interface.looked_at < LOOK {
            return Ok(());
        }
        self.interface.looked_at = now;
        match interface_index(self.name()) {
            Err(_) => self.hinder(now, Stop::Gone),
            Ok(index) if index != self.interface.index => match self.reattach(index) {
                Ok(()) => tracing::info!("interface {} is back: gated again", self.name()),
                Err(e @ AgentError::Address { .. }) => return Err(e),
                // It may go again at once, or not be ready.
                Err(e) => tracing::warn!("interface {}: {e}", self.name()),
            },
            Ok(_) => {}
        }
        self.look_at_mtu();
        Ok(())
    }

    /// Cuts frames to the interface's MTU. Returns whether it has changed.
    fn look_at_mtu(&mut self) -> bool {
        let Ok(mtu) = usable_mtu(self.name()) else { return false };
        if mtu == self.interface.mtu {
            return false;
        }
        tracing::info!("interface {}: frames of {mtu} B instead of {} B", self.name(), self.interface.mtu);
        self.interface.mtu = mtu;
        let mut streams = Self::streams(&self.shared);
        streams.set_mtu(mtu);
        let payload = streams.config().max_payload();
        drop(streams);
        if let Some(told) = &mut self.on_mtu {
            told(payload);
        }
        // Other hosts hear of it, as nobody tells them that their frames are too long.
        for controller in 0..self.controllers.len() {
            self.greet(controller);
        }
        true
    }

    /// Handles an interface that takes no frames. Returns when to try again.
    pub(super) fn hindered(&mut self, stop: Stop) -> Time {
        let now = clock::now();
        if stop == Stop::TooLong && self.look_at_mtu() {
            return now;
        }
        self.hinder(now, stop);
        self.interface.retry_at
    }

    fn hinder(&mut self, now: Time, stop: Stop) {
        self.interface.retry_at = now.saturating_add(LOOK);
        if self.interface.trouble != Some(stop) {
            self.interface.trouble = Some(stop);
            let what = match stop {
                Stop::Down => "is down",
                Stop::Gone => "has been removed",
                Stop::TooLong => "takes no frames of 576 B",
                Stop::Refused | Stop::Full => "is busy",
            };
            tracing::warn!("interface {} {what}: frames wait", self.name());
        }
    }

    /// Handles frames that have left.
    pub(super) fn unhindered(&mut self) {
        if self.interface.trouble.take().is_some() {
            tracing::info!("interface {} takes frames again", self.name());
        }
    }

    /// Whether an error of a socket only says that the interface went down.
    pub(super) fn survives(&mut self, error: &std::io::Error) -> bool {
        let is_down = error.raw_os_error() == Some(libc::ENETDOWN);
        if is_down {
            self.hinder(clock::now(), Stop::Down);
        }
        is_down
    }

    /// Gates an interface that was removed and made again. The key is new, as the new gate does not
    /// know which signals the one before has obeyed.
    fn reattach(&mut self, index: i32) -> Result<(), AgentError> {
        let (before, now) = (self.config.gate.mac, mac_of(self.name())?);
        if now != before {
            return Err(AgentError::Address { interface: self.name().to_owned(), before, now });
        }
        let mut config = self.config.gate.clone();
        config.key = SignalKey(random_bytes()?);
        if let Some((root, name)) = &mut config.pin {
            // Its programs have gone with the interface; another gate there has another name.
            let _ = release(&root.join(&*name));
            let pin = crate::daemons::pin_of(&config.interface);
            (*root, *name) = pin.map_err(|e| AgentError::io("the gate's folder")(std::io::Error::other(e)))?;
        }
        let (control, data) = sockets(&config)?;
        self.gate = Gate::attach(&config)?;
        (self.control, self.data, self.config.gate) = (control, data, config);
        self.interface.index = index;
        for controller in 0..self.controllers.len() {
            self.greet(controller);
        }
        Ok(())
    }
}

mod ioctl {
    nix::ioctl_readwrite_bad!(interface_mtu, nix::libc::SIOCGIFMTU, nix::libc::ifreq);
}

/// The largest packet of agents at an interface of this thread's network namespace: its MTU, but at
/// most 1500 B.
///
/// # Errors
/// If there is no such interface.
pub fn usable_mtu(interface: &str) -> std::io::Result<u32> {
    Ok(mtu_of(interface)?.min(LARGEST))
}

/// The MTU of an interface of this thread's network namespace.
fn mtu_of(interface: &str) -> std::io::Result<u32> {
    let socket = socket::socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    let mut request = libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_mtu: 0 } };
    // SAFETY: the request is complete, its name ends with a zero, and it lives until the call
    // returns.
    unsafe { ioctl::interface_mtu(socket.as_raw_fd(), &raw mut request)? };
    // SAFETY: a call that succeeds has written the MTU.
    Ok(unsafe { request.ifr_ifru.ifru_mtu }.max(0) as u32)
}

/// The MAC address of an interface of this thread's network namespace.
///
/// # Errors
/// If there is no such interface, or it has no MAC address.
pub fn mac_of(interface: &str) -> Result<MacAddress, AgentError> {
    let failed = AgentError::io(&format!("the address of {interface}"));
    let all = match nix::ifaddrs::getifaddrs() {
        Ok(all) => all,
        Err(e) => return Err(failed(e.into())),
    };
    let mac = all.filter(|a| a.interface_name == interface).find_map(|a| a.address?.as_link_addr()?.addr());
    mac.map(MacAddress).ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))
}

/// The first IPv4 address of an interface of this thread's network namespace.
///
/// # Errors
/// If the interfaces cannot be listed.
pub fn ip_of(interface: &str) -> Result<Option<Ipv4Addr>, AgentError> {
    let failed = AgentError::io(&format!("the address of {interface}"));
    let mut all = nix::ifaddrs::getifaddrs().map_err(|e| failed(e.into()))?.filter(|a| a.interface_name == interface);
    Ok(all.find_map(|a| Some(a.address?.as_sockaddr_in()?.ip())))
}
