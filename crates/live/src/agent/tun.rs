//! A TUN interface, through which traffic of unmodified programs waits for slots, including the
//! kernel's TCP.
//!
//! Packets wait in the agent in front of the gate, never in a kernel queue behind a closed gate.
//! TCP tolerates slots of 20 ms this way, but stalls behind a paused token bucket.

use super::too_long::{TooLong, handle};
use super::{LiveAgent, Shared};
use crate::clock;
use crate::config::TunTable;
use crate::daemons::Failure;
use crate::service::Stop;
use crate::tokens::{Allowance, Tokens};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use timeplane_model::HostId;
use tun_rs::{DeviceBuilder, SyncDevice};

/// A TUN interface. It is removed when dropped.
#[derive(Debug)]
pub struct Tun {
    stop: Stop,
    reader: Option<JoinHandle<()>>,
}

/// The address of a host in a network: the host's number plus one.
pub fn address_of(network: Ipv4Addr, host: HostId) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(network).wrapping_add(host.0).wrapping_add(1))
}

/// The host that an IPv4 packet is for.
fn destination(packet: &[u8], network: Ipv4Addr) -> Option<HostId> {
    if packet.first()? >> 4 != 4 {
        return None;
    }
    let to = u32::from_be_bytes(packet.get(16..20)?.try_into().ok()?);
    to.checked_sub(u32::from(network))?.checked_sub(1).map(HostId)
}

/// Creates the interface in the network namespace of this thread. A thread of its own reads from
/// it, and the agent writes to it.
///
/// # Errors
/// If the interface cannot be created.
pub fn start(table: &TunTable, host: HostId, shared: Arc<Shared>, agent: &mut LiveAgent) -> Result<Tun, Failure> {
    let network = table.network;
    // With header and tag of a data frame a packet must fit a frame. The kernel's TCP makes its
    // segments as long.
    let mtu = u16::try_from(shared.lock().config().max_payload()).unwrap_or(u16::MAX);
    let device = DeviceBuilder::new()
        .name(&table.name)
        .ipv4(address_of(network, host), table.prefix, None)
        .mtu(mtu)
        .build_sync()
        .map_err(|e| format!("the TUN interface {}: {e}", table.name))?;
    device.set_nonblocking(true)?;
    let device = Arc::new(device);
    let (writer, resized) = (Arc::clone(&device), Arc::clone(&device));
    agent.on_mtu(move |payload| {
        if let Err(e) = resized.set_mtu(payload as u16) {
            tracing::warn!("the TUN interface keeps its MTU, and loses packets of more than {payload} B: {e}");
        }
    });
    agent.on_packet(move |packet| {
        // A full queue drops packets.
        let _ = writer.send(packet);
    });
    let stop = Stop::default();
    let stopped = stop.clone();
    let reader = std::thread::Builder::new().name("tp-tun".to_owned()).spawn(move || {
        if let Err(e) = read(&device, network, &shared, &stopped) {
            tracing::error!("the TUN interface failed: {e}");
        }
    })?;
    Ok(Tun { stop, reader: Some(reader) })
}

/// How often senders are told that their packets are too long.
const ANSWERS: Allowance = Allowance { per_second: 1000, burst: 100 };

/// Queues a packet for a host. One that is too long for the host's interface is fragmented, or its
/// sender gets the answer that is returned. The kernel does the same for the MTU of the TUN
/// interface, but does not know those of other hosts.
fn push(shared: &Shared, to: HostId, packet: &[u8], answers: &mut Tokens) -> Option<Vec<u8>> {
    shared.with(|streams| {
        let most = streams.max_payload(to) as usize;
        let too_long = if packet.len() > most { handle(packet, most) } else { TooLong::Dropped };
        match too_long {
            TooLong::Fragments(all) => {
                streams.count_too_long(true);
                for fragment in all {
                    streams.push_packet(to, &fragment);
                }
                None
            }
            TooLong::Answer(answer) if answers.take(clock::now()) => {
                streams.count_too_long(false);
                Some(answer)
            }
            // Where its queue is full, or no frame is as long, it is counted there.
            TooLong::Answer(_) | TooLong::Dropped => {
                streams.push_packet(to, packet);
                None
            }
        }
    })
}

fn read(device: &SyncDevice, network: Ipv4Addr, shared: &Shared, stop: &Stop) -> std::io::Result<()> {
    let mut packet = [0; 2048];
    let mut answers = Tokens::new(ANSWERS);
    // SAFETY: the device lives for as long as this function runs.
    let fd = unsafe { BorrowedFd::borrow_raw(device.as_raw_fd()) };
    while !stop.is_set() {
        match device.recv(&mut packet) {
            Ok(length) => {
                let packet = &packet[..length];
                // Multicast and IPv6 have no destination here.
                let Some(to) = destination(packet, network) else { continue };
                if let Some(answer) = push(shared, to, packet, &mut answers) {
                    // The kernel drops it if it has no room.
                    let _ = device.send(&answer);
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::from(100u8))?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

impl Drop for Tun {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(reader) = self.reader.take() {
            // The thread has logged its error already.
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_hosts_belong_to_each_other() {
        let network = Ipv4Addr::new(10, 99, 0, 0);
        for host in [0, 1, 254, 255, 1023].map(HostId) {
            let mut packet = [0; 20];
            packet[0] = 0x45;
            packet[16..20].copy_from_slice(&address_of(network, host).octets());
            assert_eq!(destination(&packet, network), Some(host));
            packet[0] = 0x65;
            assert_eq!(destination(&packet, network), None);
        }
        assert_eq!(address_of(network, HostId(255)), Ipv4Addr::new(10, 99, 1, 0));
        assert_eq!(destination(&[0x45; 12], network), None);
    }
}
