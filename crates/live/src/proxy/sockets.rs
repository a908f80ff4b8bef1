//! Socket options that no library offers.
//!
//! They read TCP's measurements, set its pacing, and lock the send buffer's size.

use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use timeplane_model::{Bytes, Duration, Rate};

/// The kernel's own send buffer again, which an explicit size turns off; `SO_BUF_LOCK` of
/// linux/socket.h.
const SO_BUF_LOCK: libc::c_int = 72;
/// `SO_MAX_PACING_RATE` there.
const SO_MAX_PACING_RATE: libc::c_int = 47;

/// Sets an option whose value is these bytes.
fn set(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    let (fd, length) = (socket.as_fd().as_raw_fd(), value.len() as libc::socklen_t);
    // SAFETY: the descriptor is open while it is borrowed, and the kernel reads `length` bytes of a
    // slice that has as many.
    let result = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option into these bytes; how many there are.
fn get(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &mut [u8]) -> io::Result<usize> {
    let (fd, mut length) = (socket.as_fd().as_raw_fd(), value.len() as libc::socklen_t);
    // SAFETY: the descriptor is open while it is borrowed, and the kernel writes at most `length`
    // bytes into a slice that has as many.
    let result = unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &mut length) };
    if result == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// The fastest that a connection sends, by the payload of its segments; none: as fast as it likes.
///
/// # Errors
/// If the socket has no such option.
pub fn set_pacing(socket: &impl AsFd, rate: Option<Rate>) -> io::Result<()> {
    // Zero would be taken for none at some places of the kernel, and stop it at others.
    let bytes = rate.map_or(u64::MAX, |r| (r.as_bps() / 8).max(1));
    set(socket, libc::SOL_SOCKET, SO_MAX_PACING_RATE, &bytes.to_ne_bytes())
}

/// Lets the kernel size a connection's send buffer again.
///
/// # Errors
/// If the socket has no such option (before Linux 5.14).
pub fn unlock_send_buffer(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, SO_BUF_LOCK, &0_i32.to_ne_bytes())
}

/// Where a connection was meant to go before netfilter has turned it to the socket that listens at
/// `listener`.
///
/// # Errors
/// If it came there by itself.
pub fn original_destination(accepted: &TcpStream, listener: SocketAddr) -> io::Result<SocketAddr> {
    let here = accepted.local_addr()?;
    // Connection tracking knows what REDIRECT has changed. TPROXY changes nothing, also where
    // nothing is tracked.
    let before = match here {
        SocketAddr::V4(_) => getsockopt(accepted, sockopt::OriginalDst).map(|a| {
            let ip = Ipv4Addr::from(u32::from_be(a.sin_addr.s_addr));
            SocketAddr::from((ip, u16::from_be(a.sin_port)))
        }),
        SocketAddr::V6(_) => getsockopt(accepted, sockopt::Ip6tOriginalDst).map(|a| {
            let ip = Ipv6Addr::from(a.sin6_addr.s6_addr);
            SocketAddr::from((ip, u16::from_be(a.sin6_port)))
        }),
    };
    let to = before.unwrap_or(here);
    if to == here && here.port() == listener.port() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "nobody has turned this connection here"));
    }
    Ok(to)
}

/// Lets a socket take connections to addresses that are not this host's, as TPROXY gives it; before
/// it is bound. Needs CAP_NET_ADMIN.
///
/// # Errors
/// If the process may not.
pub fn set_transparent(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, sockopt::IpTransparent, &true)?)
}

/// What the kernel knows of a connection: a part of `struct tcp_info` of linux/tcp.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The smoothed round trip.
    pub srtt: Duration,
    /// The least round trip of the last five minutes; none before one was measured.
    pub least_rtt: Option<Duration>,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The largest packet of the path.
    pub path_mtu: Bytes,
    /// The congestion window, in segments.
    pub window: u32,
    /// Segments under way.
    pub in_flight: u32,
    /// Segments that were sent again.
    pub sent_again: u32,
    /// Bytes that the peer has acknowledged, and one for the SYN.
    pub acknowledged: Bytes,
    /// Bytes written that have not been sent for the first time.
    pub unsent: Bytes,
}

impl TcpInfo {
    /// What it is now.
    ///
    /// # Errors
    /// If the socket is none of TCP, or the kernel tells too little (before Linux 4.6).
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        let mut bytes = [0; 256];
        let length = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        if length < 152 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "TCP_INFO without the least round trip"));
        }
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let micros = |at: usize| Duration::from_us(i64::from(word(at)));
        let size = |at: usize| Bytes::new(u64::from(word(at)));
        let mut acknowledged = [0; 8];
        acknowledged.copy_from_slice(&bytes[120..128]);
        Ok(Self {
            srtt: micros(68),
            least_rtt: Some(word(148)).filter(|&us| us != 0 && us != u32::MAX).map(|_| micros(148)),
            mss: size(16),
            path_mtu: size(60),
            window: word(80),
            in_flight: word(24),
            sent_again: word(100),
            acknowledged: Bytes::new(u64::from_ne_bytes(acknowledged)),
            unsent: size(144),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernel_tells_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        here.write_all(&[1; 3000]).unwrap();
        let mut buffer = [0; 3000];
        there.read_exact(&mut buffer).unwrap();
        there.write_all(b"done").unwrap();
        here.read_exact(&mut buffer[..4]).unwrap();
        let info = TcpInfo::of(&here).unwrap();
        assert_eq!((info.acknowledged.get(), info.sent_again), (3001, 0));
        assert!(info.mss.get() >= 536 && info.path_mtu > info.mss && info.window > 0, "{info:?}");
        let least = info.least_rtt.expect("a round trip was measured");
        assert!(least > Duration::ZERO && least < Duration::from_secs(1), "{least}");
        set_pacing(&here, Some(Rate::mbps(8))).unwrap();
        let mut rate = [0; 8];
        get(&here, libc::SOL_SOCKET, SO_MAX_PACING_RATE, &mut rate).unwrap();
        assert_eq!(u64::from_ne_bytes(rate), 1_000_000);
        set_pacing(&here, None).unwrap();
        unlock_send_buffer(&here).unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(TcpInfo::of(&udp).is_err());
    }
}
