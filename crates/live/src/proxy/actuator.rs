//! Sets the window of a sender: by a congestion control in BPF, or by the size of the send buffer.
//!
//! The latter works without BPF and is less exact.

use super::sockets::{TcpInfo, set_pacing, unlock_send_buffer};
use super::window::{WindowControl, WindowError};
use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::os::fd::AsFd;
use timeplane_model::{Bytes, Rate};

/// What a sender is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Bytes that may be under way. The kernel knows no window of nothing: one segment at least.
    pub window: Bytes,
    /// How fast they may leave, in bits of the link's packets; none: as fast as the kernel likes.
    pub rate: Option<Rate>,
    /// Whether the window also holds after a loss has made it smaller; otherwise it is followed
    /// once. Only [`Actuator::Bpf`] can tell.
    pub hold: bool,
    /// When it stops to hold, in nanoseconds of CLOCK_MONOTONIC, even if nobody releases the
    /// sender. Only [`Actuator::Bpf`] sees to it.
    pub until: u64,
}

/// How windows are set. Whichever it is, what is lost is the kernel's to find and repair.
#[derive(Debug)]
pub enum Actuator {
    /// A congestion control in the kernel whose window is set by socket.
    Bpf(WindowControl),
    /// The send buffer's size, where BPF is missing: what is not in the buffer cannot be under way.
    /// Coarser: the kernel counts the memory of packets and not their bytes, and has a least size
    /// of some kilobytes.
    SendBuffer,
    /// None: the kernel's own congestion control.
    None,
}

impl Actuator {
    /// The best one that this machine has, and why it is not BPF where it is not.
    pub fn best() -> (Self, Option<WindowError>) {
        match WindowControl::load() {
            Ok(scheme) => (Self::Bpf(scheme), None),
            Err(why) => (Self::SendBuffer, Some(why)),
        }
    }

    /// Its name: `bpf`, `send_buffer` or `none`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bpf(_) => "bpf",
            Self::SendBuffer => "send_buffer",
            Self::None => "none",
        }
    }

    /// Prepares a socket; until it is steered it is the kernel's own.
    ///
    /// # Errors
    /// If it is no socket of TCP.
    pub fn adopt(&self, socket: &impl AsFd) -> io::Result<()> {
        match self {
            Self::Bpf(scheme) => scheme.adopt(socket),
            Self::SendBuffer | Self::None => Ok(()),
        }
    }

    /// Tells a sender what to do, until it is told otherwise or released. `info` is what the kernel
    /// knows of it.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn steer(&self, socket: &impl AsFd, order: Order, info: &TcpInfo) -> io::Result<()> {
        match self {
            Self::Bpf(scheme) => scheme.steer(socket, order)?,
            Self::SendBuffer => {
                // The kernel takes twice of what it is told, for what memory costs beside bytes.
                // Half as much again is for what has not been sent.
                let bytes = order.window.get().saturating_add(order.window.get() / 2);
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).clamp(1, i32::MAX as usize / 2);
                // Beyond the system's limit where the process may.
                setsockopt(socket, sockopt::SndBufForce, &bytes)
                    .or_else(|_| setsockopt(socket, sockopt::SndBuf, &bytes))?;
            }
            Self::None => return Ok(()),
        }
        match order.rate {
            // A packet paced by nothing would have the next one wait for ever, also once there is a
            // rate again.
            Some(Rate::ZERO) => Ok(()),
            rate => set_pacing(socket, rate.map(|rate| payload(rate, info))),
        }
    }

    /// Gives a sender back to the kernel's own scheme, which goes on from the window that it has.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn release(&self, socket: &impl AsFd) -> io::Result<()> {
        match self {
            Self::Bpf(scheme) => scheme.release(socket)?,
            Self::SendBuffer => unlock_send_buffer(socket)?,
            Self::None => return Ok(()),
        }
        set_pacing(socket, None)
    }
}

/// What a rate of packets is as one of their payload, which the kernel paces by.
fn payload(rate: Rate, info: &TcpInfo) -> Rate {
    let (mss, packet) = (info.mss.get(), info.path_mtu.get());
    if mss == 0 || mss >= packet {
        return rate;
    }
    // Without payload there is no rate; this is one bit in ten seconds at the least.
    Rate::bps(u64::try_from(u128::from(rate.as_bps()) * u128::from(mss) / u128::from(packet)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn pacing_leaves_room_for_headers() {
        let info = TcpInfo { mss: Bytes::new(1448), path_mtu: Bytes::new(1500), ..TcpInfo::default() };
        assert_eq!(payload(Rate::mbps(150), &info), Rate::bps(144_800_000));
        assert_eq!(payload(Rate::mbps(150), &TcpInfo::default()), Rate::mbps(150));
    }

    #[test]
    fn the_send_buffer_is_set_and_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(&here).unwrap();
        let order = Order { window: Bytes::new(50_000), rate: Some(Rate::mbps(10)), hold: true, until: u64::MAX };
        Actuator::SendBuffer.adopt(&here).unwrap();
        Actuator::SendBuffer.steer(&here, order, &info).unwrap();
        let size = || socket2::SockRef::from(&here).send_buffer_size().unwrap();
        assert_eq!(size(), 150_000);
        Actuator::SendBuffer.steer(&here, Order { window: Bytes::ZERO, ..order }, &info).unwrap();
        assert!(size() < 10_000, "{} B", size());
        Actuator::SendBuffer.release(&here).unwrap();
    }
}
