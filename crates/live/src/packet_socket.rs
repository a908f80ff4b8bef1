//! Raw Ethernet frames of one EtherType on one interface, sent and received in batches.
//!
//! Frames pass the interface's egress programs and queue. A closed gate rejects them, and the
//! sender learns of it ([`Stop::Refused`]). `PACKET_QDISC_BYPASS` would bypass the gate and is
//! never set.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    self, AddressFamily, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockType, SockaddrLike, getsockopt, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;
use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use timeplane_model::{Bytes, Duration};

/// Maximum number of frames that one system call sends or receives.
pub const BATCH: usize = 16;

/// The EtherType of a socket that receives frames of all of them (`ETH_P_ALL`).
pub const ALL_ETHER_TYPES: u16 = 0x0003;

/// An AF_PACKET socket, bound to an interface of the network namespace it was opened in. It never
/// blocks: use [`wait`](Self::wait), or poll its descriptor. It does not receive frames that the
/// host itself sends.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

/// Result of [`PacketSocket::send_batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of frames sent, from the first on.
    pub sent: usize,
    /// Why sending stopped early, if it did.
    pub stop: Option<Stop>,
}

/// Why a frame was not sent. The caller may send it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The gate at egress, or a full queue, has dropped it (ENOBUFS). There is no notification when
    /// to retry.
    Refused,
    /// Too many of the socket's frames are in flight (EAGAIN). Poll the socket for room.
    Full,
    /// The frame is longer than the interface's MTU allows (EMSGSIZE).
    TooLong,
    /// The interface is down (ENETDOWN). The socket works again once it is up.
    Down,
    /// The interface has been removed (ENXIO, ENODEV). The socket stays useless, also if another
    /// interface gets its name.
    Gone,
}

mod option {
    use super::*;
    sockopt_impl!(
        /// Outgoing frames are not received (packet(7)).
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool);
    sockopt_impl!(
        /// Frames received and lost since it was last read (packet(7)).
        Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats);
}

impl PacketSocket {
    /// Opens a socket at `interface` in the network namespace of the calling thread. It receives
    /// frames of `ether_type` ([`ALL_ETHER_TYPES`] for all) that arrive from now on, whatever their
    /// address if the interface accepts them.
    ///
    /// # Errors
    /// If there is no such interface, or the process lacks CAP_NET_RAW.
    pub fn open(interface: &str, ether_type: u16) -> io::Result<Self> {
        let index = nix::net::if_::if_nametoindex(interface)?;
        // Without a protocol it receives nothing until it is bound, so that frames of other
        // interfaces do not enter its queue.
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket::socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        setsockopt(&fd, option::IgnoreOutgoing, &true)?;
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ether_type.to_be(),
            sll_ifindex: index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the pointer is to a complete sockaddr_ll that lives until the call returns, and
        // the length is its size.
        let address = unsafe { LinkAddr::from_raw((&raw const address).cast(), Some(size_of_val(&address) as u32)) };
        socket::bind(fd.as_raw_fd(), &address.expect("its family is AF_PACKET"))?;
        Ok(Self { fd })
    }

    /// Sets the size of the receive buffer, even beyond the system's limit. The kernel doubles it
    /// for its overhead, and charges more than a frame's length for each frame.
    ///
    /// # Errors
    /// If the process lacks CAP_NET_ADMIN.
    pub fn set_receive_buffer(&self, size: Bytes) -> io::Result<()> {
        Ok(setsockopt(&self.fd, sockopt::RcvBufForce, &buffer_size(size))?)
    }

    /// Sets the size of the send buffer, for frames in flight ([`Stop::Full`]). Across veth pairs
    /// and bridges, a frame is in flight until it leaves the last queue. A sender with a small
    /// buffer therefore never fills a switch's queue.
    ///
    /// # Errors
    /// As [`set_receive_buffer`](Self::set_receive_buffer).
    pub fn set_send_buffer(&self, size: Bytes) -> io::Result<()> {
        Ok(setsockopt(&self.fd, sockopt::SndBufForce, &buffer_size(size))?)
    }

    /// Sends one frame, from its destination address on and without FCS. Returns `None` if it was
    /// sent.
    ///
    /// # Errors
    /// If the frame is shorter than a header, or the system fails.
    pub fn send(&self, frame: &[u8]) -> io::Result<Option<Stop>> {
        Ok(self.send_batch(&[frame])?.stop)
    }

    /// Sends frames in order until one cannot be sent, with up to [`BATCH`] frames in a system
    /// call.
    ///
    /// # Errors
    /// As [`send`](Self::send), for the first frame that was not sent. Those before it were sent.
    pub fn send_batch<F: AsRef<[u8]>>(&self, frames: &[F]) -> io::Result<Batch> {
        let mut sent = 0;
        while let Some(rest) = frames.get(sent..).filter(|f| !f.is_empty()) {
            // A call that sends some frames does not tell why it stopped. The next one, which
            // starts with the first unsent frame, does.
            match self.send_some(&rest[..rest.len().min(BATCH)]) {
                Ok(some) => sent += some,
                Err(Errno::ENOBUFS) => return Ok(Batch { sent, stop: Some(Stop::Refused) }),
                Err(Errno::EAGAIN) => return Ok(Batch { sent, stop: Some(Stop::Full) }),
                Err(Errno::EMSGSIZE) => return Ok(Batch { sent, stop: Some(Stop::TooLong) }),
                Err(Errno::ENETDOWN) => return Ok(Batch { sent, stop: Some(Stop::Down) }),
                Err(Errno::ENXIO | Errno::ENODEV) => return Ok(Batch { sent, stop: Some(Stop::Gone) }),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(Batch { sent, stop: None })
    }

    fn send_some<F: AsRef<[u8]>>(&self, frames: &[F]) -> nix::Result<usize> {
        let slices: [[IoSlice<'_>; 1]; BATCH] =
            std::array::from_fn(|i| [IoSlice::new(frames.get(i).map_or(&[], |f| f.as_ref()))]);
        let mut headers = MultiHeaders::<()>::preallocate(frames.len(), None);
        let (fd, slices) = (self.fd.as_raw_fd(), &slices[..frames.len()]);
        let sent = socket::sendmmsg(fd, &mut headers, slices, [None::<()>; BATCH], [], MsgFlags::empty())?;
        Ok(sent.count())
    }

    /// Receives up to [`BATCH`] frames, replacing the content of `frames`. Returns their number; 0
    /// if none has arrived.
    ///
    /// # Errors
    /// If the interface went down since the last call (ENETDOWN), or is gone.
    pub fn receive_batch(&self, frames: &mut Frames) -> io::Result<usize> {
        frames.filled.clear();
        let mut buffers = frames.bytes.chunks_exact_mut(frames.size);
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
            std::array::from_fn(|_| [IoSliceMut::new(buffers.next().expect("a buffer each"))]);
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        let received =
            match socket::recvmmsg(self.fd.as_raw_fd(), &mut headers, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(0),
                received => received?,
            };
        for (place, message) in received.enumerate() {
            if message.flags.contains(MsgFlags::MSG_TRUNC) {
                frames.too_long += 1;
            } else {
                frames.filled.push((place, message.bytes));
            }
        }
        Ok(frames.filled.len())
    }

    /// Waits for a frame for at most `most` (forever if negative). Returns whether there is one. A
    /// signal ends the wait early.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn wait(&self, most: Duration) -> io::Result<bool> {
        self.poll(PollFlags::POLLIN, most)
    }

    /// Waits for room to send in the same way, after [`Stop::Full`].
    ///
    /// # Errors
    /// If a system call fails.
    pub fn wait_for_room(&self, most: Duration) -> io::Result<bool> {
        self.poll(PollFlags::POLLOUT, most)
    }

    fn poll(&self, events: PollFlags, most: Duration) -> io::Result<bool> {
        let most =
            (!most.is_negative()).then(|| TimeSpec::from(std::time::Duration::from_nanos(most.as_ps() as u64 / 1000)));
        match ppoll(&mut [PollFd::new(self.fd.as_fd(), events)], most, None) {
            Err(Errno::EINTR) => Ok(false),
            ready => Ok(ready? > 0),
        }
    }

    /// Number of frames lost since the last call as the receive buffer was full.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn lost(&self) -> io::Result<u32> {
        Ok(getsockopt(&self.fd, option::Statistics)?.tp_drops)
    }
}

/// The size as the kernel accepts it: its double must fit into 31 bits.
fn buffer_size(size: Bytes) -> usize {
    size.get().min(i32::MAX as u64 / 2) as usize
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reusable buffers for [`BATCH`] received frames. The default has room for none.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    size: usize,
    /// Buffers that hold a frame, and the frame's length.
    filled: Vec<(usize, usize)>,
    too_long: u64,
}

impl Frames {
    /// Buffers for frames of at most `longest` bytes, which is the MTU plus 14 bytes of header.
    pub fn new(longest: usize) -> Self {
        let size = longest.max(14);
        Self { bytes: vec![0; size * BATCH], size, filled: Vec::with_capacity(BATCH), too_long: 0 }
    }
    /// The frames of the last call, in order of arrival.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.filled.iter().map(|&(place, length)| &self.bytes[place * self.size..][..length])
    }
    /// Number of frames skipped so far because they were longer than a buffer.
    pub const fn too_long(&self) -> u64 {
        self.too_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::{Namespace, veth};

    /// Two namespaces, and a socket in each.
    fn pair(name: &str) -> [(Namespace, PacketSocket); 2] {
        let [a, b] = ["a", "b"].map(|end| Namespace::create(&format!("tp{name}{}{end}", std::process::id())).unwrap());
        veth((&a, "eth0", "02:00:00:00:00:01"), (&b, "eth0", "02:00:00:00:00:02")).unwrap();
        [a, b].map(|namespace| {
            let socket = namespace.enter(|| PacketSocket::open("eth0", 0x88b6).unwrap()).unwrap();
            (namespace, socket)
        })
    }

    fn frame(ether_type: u16, number: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        frame.extend(ether_type.to_be_bytes());
        frame.resize(length, number);
        frame
    }

    /// What arrives: all of it, where that is so many frames, with those that are too long.
    fn receive_all(socket: &PacketSocket, frames: &mut Frames, expected: usize) -> Vec<Vec<u8>> {
        let mut all = vec![];
        let least = |all: &[Vec<u8>], frames: &Frames| all.len() + frames.too_long() as usize >= expected;
        while socket.wait(Duration::from_ms(if least(&all, frames) { 50 } else { 10_000 })).unwrap() {
            let received = socket.receive_batch(frames).unwrap();
            assert_eq!(received, frames.iter().len());
            all.extend(frames.iter().map(<[u8]>::to_vec));
        }
        all
    }

    /// Repeats something until a frame arrives; an interface that has just come up may lose some.
    fn receive_until(socket: &PacketSocket, mut again: impl FnMut()) -> bool {
        (0..200).any(|_| {
            again();
            socket.wait(Duration::from_ms(100)).unwrap() && socket.receive_batch(&mut Frames::new(1514)).unwrap() > 0
        })
    }

    #[test]
    fn batches_arrive_whole_in_order_and_only_with_their_ether_type() {
        let [(_a, a), (_b, b)] = pair("psa");
        let sent: Vec<_> = (0..40).map(|i| frame(0x88b6, i, 60 + usize::from(i))).collect();
        assert_eq!(a.send(&frame(0x88b5, 99, 60)).unwrap(), None);
        assert_eq!(a.send_batch(&sent).unwrap(), Batch { sent: 40, stop: None });
        let mut frames = Frames::new(1514);
        assert_eq!(receive_all(&b, &mut frames, 40), sent);
        // The sender does not hear itself, and nothing was lost.
        assert_eq!(a.receive_batch(&mut frames).unwrap(), 0);
        assert_eq!((b.lost().unwrap(), frames.too_long()), (0, 0));
        assert!(!b.wait(Duration::from_ms(1)).unwrap() && b.wait_for_room(Duration::from_ms(1)).unwrap());
        assert_eq!(a.send_batch::<Vec<u8>>(&[]).unwrap(), Batch { sent: 0, stop: None });
    }

    #[test]
    fn a_full_queue_says_how_many_went() {
        let [(namespace, a), (_b, b)] = pair("psq");
        // Room for three frames of 1000 B, and 8 kbit/s: none of the others can leave while the
        // test runs.
        namespace.tc("qdisc add dev eth0 root tbf rate 8kbit burst 1600 limit 3000").unwrap();
        let sent: Vec<_> = (0..20).map(|i| frame(0x88b6, i, 1000)).collect();
        let batch = a.send_batch(&sent).unwrap();
        // One goes with the first tokens; whether a byte or two more find room is the queue's.
        assert!((3..=5).contains(&batch.sent) && batch.stop == Some(Stop::Refused), "{batch:?}");
        assert_eq!(a.send(&sent[0]).unwrap(), Some(Stop::Refused));
        assert!(b.wait(Duration::from_ms(10_000)).unwrap());
    }

    #[test]
    fn frames_that_do_not_fit_are_counted_and_errors_are_told() {
        let [(_a, a), (namespace, b)] = pair("pse");
        a.send_batch(&[frame(0x88b6, 1, 60), frame(0x88b6, 2, 61), frame(0x88b6, 3, 60)]).unwrap();
        let mut frames = Frames::new(60);
        let first = receive_all(&b, &mut frames, 3);
        assert_eq!((first.iter().map(|f| f[14]).collect::<Vec<_>>(), frames.too_long()), (vec![1, 3], 1));
        assert_eq!(a.send(&frame(0x88b6, 1, 1515)).unwrap(), Some(Stop::TooLong));
        let long = [frame(0x88b6, 1, 60), frame(0x88b6, 1, 1515), frame(0x88b6, 1, 60)];
        assert_eq!(a.send_batch(&long).unwrap(), Batch { sent: 1, stop: Some(Stop::TooLong) });
        assert!(a.send(&[0; 5]).is_err(), "no header");
        b.set_receive_buffer(Bytes::mb(8)).unwrap();
        b.set_send_buffer(Bytes::new(u64::MAX)).unwrap();
        namespace.ip("link set eth0 down").unwrap();
        assert_eq!(b.receive_batch(&mut frames).unwrap_err().raw_os_error(), Some(libc::ENETDOWN));
        assert_eq!(b.send(&frame(0x88b6, 1, 60)).unwrap(), Some(Stop::Down));
        // The same socket sends and receives once the interface is up.
        namespace.ip("link set eth0 up").unwrap();
        assert_eq!(b.send(&frame(0x88b6, 1, 60)).unwrap(), None);
        assert!(receive_until(&b, || assert_eq!(a.send(&frame(0x88b6, 9, 60)).unwrap(), None)));
        namespace.ip("link del eth0").unwrap();
        assert_eq!(b.send(&frame(0x88b6, 1, 60)).unwrap(), Some(Stop::Gone));
        assert!(PacketSocket::open("no-such-link", 0x88b6).is_err());
    }
}
