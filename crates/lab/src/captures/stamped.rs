//! A packet socket whose frames carry the time at which the kernel has received them.
//!
//! The stamp is taken when the frame enters the interface, however late the socket is read.

use nix::cmsg_space;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration as Wait;
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, PacketSocket};
use timeplane_model::{Bytes, Duration};

/// A packet socket with time stamps.
#[derive(Debug)]
pub struct Stamped(PacketSocket);

/// Enough for a second of a saturated port of 100 Mb/s.
const BUFFER: Bytes = Bytes::mb(32);

impl Stamped {
    /// Opens a socket for all frames that enter an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// If there is no such interface, or the process lacks CAP_NET_RAW.
    pub fn open(interface: &str) -> io::Result<Self> {
        let socket = PacketSocket::open(interface, ALL_ETHER_TYPES)?;
        socket.set_receive_buffer(BUFFER)?;
        setsockopt(&socket.as_fd(), ReceiveTimestampns, &true)?;
        Ok(Self(socket))
    }

    /// The next frame, and when it was received in nanoseconds of the clock of the day; `None` if
    /// none has arrived.
    pub fn receive(&self) -> Option<(u64, Vec<u8>)> {
        let mut frame = vec![0; 2048];
        let mut control = cmsg_space!(TimeSpec);
        let mut parts = [IoSliceMut::new(&mut frame)];
        let fd = self.0.as_fd().as_raw_fd();
        let got = recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut control), MsgFlags::empty()).ok()?;
        let stamp = got.cmsgs().ok()?.find_map(|c| match c {
            ControlMessageOwned::ScmTimestampns(at) => Some(Wait::from(at)),
            _ => None,
        })?;
        let bytes = got.bytes;
        frame.truncate(bytes);
        Some((stamp.as_nanos() as u64, frame))
    }

    /// Waits for a frame, as [`PacketSocket::wait`].
    ///
    /// # Errors
    /// If a system call fails.
    pub fn wait(&self, most: Duration) -> io::Result<bool> {
        self.0.wait(most)
    }

    /// Number of frames lost since the last call as the buffer was full.
    pub fn lost(&self) -> u64 {
        self.0.lost().map_or(0, u64::from)
    }
}
