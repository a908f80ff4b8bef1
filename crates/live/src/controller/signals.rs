//! Signals to hosts: each is sealed with its host's key and leaves through the interface towards
//! it.
//!
//! Signals of one instant leave in one batch. The number of a signal is this machine's clock when
//! the signal is sealed, so that gates and observers see how late it is. Numbers of an epoch still
//! grow with every signal to a host.

use super::{ControllerCounters, ControllerError};
use crate::clock;
use crate::packet_socket::{PacketSocket, Stop};
use crate::seldom::Seldom;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Duration, HostId};
use timeplane_protocol::Pfc;
use timeplane_protocol::wire::{
    ETHER_TYPE_EXPERIMENTAL, Endpoint, MacAddress, PORT, SignalEncoding, SignalKey, UdpFrame,
};

/// An interface through which signals go out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalInterface {
    /// Name in the network namespace of the controller.
    pub name: String,
    /// Source MAC address of signals.
    pub mac: MacAddress,
    /// Source IPv4 address of signals in datagrams. Without it none can be sent.
    pub ip: Option<Ipv4Addr>,
    /// The hosts behind it. The first interface also has all hosts that no other one lists.
    pub hosts: Vec<HostId>,
}

/// Address and key of a host's signals.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalTarget {
    pub(super) mac: MacAddress,
    pub(super) ip: Option<Ipv4Addr>,
    pub(super) key: SignalKey,
}

struct SignalSocket {
    interface: SignalInterface,
    socket: PacketSocket,
    frames: Vec<Vec<u8>>,
}

/// Seals and sends signals.
pub(super) struct Signals {
    encoding: SignalEncoding,
    exits: Vec<SignalSocket>,
    /// Index of the interface, for hosts that are not behind the first one.
    behind: BTreeMap<HostId, usize>,
    counters: Arc<ControllerCounters>,
    /// Epoch and number of each host's last signal.
    last: BTreeMap<HostId, (u32, u64)>,
    /// Highest epoch of all signals.
    epoch: Option<u32>,
    opened: BTreeSet<HostId>,
    /// Limit of log lines about signals that cannot be sent.
    troubles: Seldom,
}

impl Signals {
    /// Opens the interfaces, at least one, in the network namespace of this thread.
    pub(super) fn new(
        interfaces: &[SignalInterface],
        encoding: SignalEncoding,
        counters: Arc<ControllerCounters>,
    ) -> Result<Self, ControllerError> {
        let mut exits = Vec::new();
        let mut behind = BTreeMap::new();
        for (exit, interface) in interfaces.iter().enumerate() {
            let name = &interface.name;
            if encoding == SignalEncoding::Udp && interface.ip.is_none() {
                let source = std::io::ErrorKind::AddrNotAvailable.into();
                let what = format!("interface {name} has no IPv4 address, which signals in datagrams need");
                return Err(ControllerError::Io { what, source });
            }
            let socket = PacketSocket::open(name, ETHER_TYPE_EXPERIMENTAL)
                .map_err(|source| ControllerError::Io { what: format!("interface {name}"), source })?;
            behind.extend(interface.hosts.iter().map(|host| (*host, exit)));
            exits.push(SignalSocket { interface: interface.clone(), socket, frames: Vec::new() });
        }
        Ok(Self {
            encoding,
            exits,
            behind,
            counters,
            last: BTreeMap::new(),
            epoch: None,
            opened: BTreeSet::new(),
            troubles: Seldom::default(),
        })
    }

    /// Highest epoch of the signals of this start; `None` before the first one.
    pub(super) fn epoch(&self) -> Option<u32> {
        self.epoch
    }

    /// The clock in nanoseconds, and at least one more than the last number of this epoch.
    fn number(&self, host: HostId, epoch: u32) -> u64 {
        let last = self.last.get(&host).filter(|last| last.0 == epoch).map(|last| last.1);
        clock::monotonic_ns().max(last.map_or(0, |last| last + 1))
    }

    /// Queues a signal to a host for the next [`flush`](Self::flush), with its own number. A host
    /// that has not joined gets none, but its state is recorded.
    pub(super) fn say(&mut self, host: HostId, pfc: &Pfc, target: Option<SignalTarget>) {
        let pfc = Pfc { sequence: self.number(host, pfc.epoch), ..*pfc };
        self.last.insert(host, (pfc.epoch, pfc.sequence));
        self.epoch = self.epoch.max(Some(pfc.epoch));
        if pfc.open.is_some() {
            self.opened.insert(host);
        } else {
            self.opened.remove(&host);
        }
        let Some(target) = target else { return };
        let exit = &mut self.exits[self.behind.get(&host).copied().unwrap_or(0)];
        let SignalInterface { mac, ip, .. } = exit.interface;
        let sealed = pfc.seal(self.encoding, &target.key, mac, target.mac);
        let frame = match (self.encoding, ip, target.ip) {
            (SignalEncoding::Udp, Some(ip), Some(to)) => sealed.and_then(|payload| {
                let end = |mac, ip| Endpoint { mac, ip, port: PORT };
                UdpFrame { source: end(mac, ip), destination: end(target.mac, to), payload }.encode()
            }),
            _ => sealed,
        };
        match frame {
            Ok(frame) => exit.frames.push(frame),
            Err(e) => tracing::error!("cannot make a signal for host {}: {e}", host.0),
        }
    }

    /// Closes all open slots of joined hosts, which would otherwise stay open for the rest of their
    /// hold.
    pub(super) fn close_all(&mut self, target: impl Fn(HostId) -> Option<SignalTarget>) {
        for host in self.opened.clone() {
            let (epoch, sequence) = self.last.get(&host).copied().unwrap_or_default();
            let pfc = Pfc { epoch, sequence, open: None, hold: Duration::ZERO };
            self.say(host, &pfc, target(host));
        }
        self.flush();
    }

    /// Sends the frames of one instant together.
    pub(super) fn flush(&mut self) {
        for exit in &mut self.exits {
            let mut rest = &exit.frames[..];
            while !rest.is_empty() {
                match exit.socket.send_batch(rest) {
                    Ok(batch) => {
                        self.counters.signals.fetch_add(batch.sent as u64, Relaxed);
                        // A signal that cannot be sent now would be outdated later.
                        let skip = match batch.stop {
                            None => 0,
                            Some(Stop::Refused | Stop::Full | Stop::TooLong) => 1,
                            Some(stop @ (Stop::Down | Stop::Gone)) => {
                                let name = &exit.interface.name;
                                let what = if stop == Stop::Down { "is down" } else { "has been removed" };
                                self.troubles.say(clock::now(), |more| {
                                    tracing::error!("interface {name} {what}: signals are lost{more}");
                                });
                                rest.len() - batch.sent
                            }
                        };
                        self.counters.signals_lost.fetch_add(skip as u64, Relaxed);
                        rest = &rest[(batch.sent + skip).min(rest.len())..];
                    }
                    Err(e) => {
                        self.counters.signals_lost.fetch_add(rest.len() as u64, Relaxed);
                        let name = &exit.interface.name;
                        self.troubles.say(clock::now(), |more| {
                            tracing::error!("cannot send signals through {name}: {e}{more}");
                        });
                        break;
                    }
                }
            }
            exit.frames.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::{Namespace, veth};
    use crate::packet_socket::{ALL_ETHER_TYPES, Frames};
    use timeplane_protocol::wire::{Heard, WireError};

    fn number(heard: &(Vec<u8>, Result<Heard, WireError>)) -> u64 {
        match heard.1 {
            Ok(Heard::Sealed(pfc)) => pfc.sequence,
            _ => panic!("{heard:?}"),
        }
    }

    /// Two networks behind one controller: each host hears its signals in its own, from the
    /// interface there, with the time as number, and the last word closes it.
    #[test]
    fn hosts_hear_their_signals_behind_their_interface() {
        let [controller, near, far] =
            ["m", "n", "f"].map(|end| Namespace::create(&format!("tpsi{}{end}", std::process::id())).unwrap());
        let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
        veth((&controller, "eth0", &mac(1).to_string()), (&near, "eth0", &mac(2).to_string())).unwrap();
        veth((&controller, "eth1", &mac(3).to_string()), (&far, "eth0", &mac(4).to_string())).unwrap();
        let targets = [2, 4].map(|last| SignalTarget { mac: mac(last), ip: None, key: SignalKey([last; 16]) });
        let hear = |at: &Namespace| at.enter(|| PacketSocket::open("eth0", ALL_ETHER_TYPES)).unwrap().unwrap();
        let sockets = [&near, &far].map(hear);
        let interface = |name: &str, last, hosts: &[u32]| SignalInterface {
            name: name.to_owned(),
            mac: mac(last),
            ip: None,
            hosts: hosts.iter().map(|h| HostId(*h)).collect(),
        };
        let interfaces = [interface("eth0", 1, &[]), interface("eth1", 3, &[5])];
        let counters: Arc<ControllerCounters> = Arc::default();
        let new = || Signals::new(&interfaces, SignalEncoding::Experimental, Arc::clone(&counters));
        let mut signals = controller.enter(new).unwrap().unwrap();
        // Host 2 is behind the first interface as no other one has it, host 5 behind the second;
        // host 7 is not there.
        let hosts = [HostId(2), HostId(5)];
        let target = |host| hosts.iter().position(|h| *h == host).map(|i| targets[i]);
        for host in [2, 5, 7].map(HostId) {
            let pfc = Pfc { epoch: 1, sequence: 1, open: Some(3), hold: Duration::from_ms(1) };
            signals.say(host, &pfc, target(host));
        }
        let began = clock::monotonic_ns();
        signals.flush();
        signals.close_all(target);
        let shown: BTreeMap<_, _> = counters.iter().collect();
        assert_eq!((shown["signals"], shown["signals_lost"]), (4, 0));
        for (i, socket) in sockets.iter().enumerate() {
            let mut heard = Vec::new();
            let mut frames = Frames::new(2048);
            while heard.len() < 2 && socket.wait(Duration::from_secs(5)).unwrap() {
                socket.receive_batch(&mut frames).unwrap();
                // Frames of the kernel's own may come as well.
                let of = |f: &[u8]| (f[6..12].to_vec(), Pfc::unseal(f, targets[i].mac, &targets[i].key));
                heard.extend(frames.iter().map(of).filter(|(_, signal)| signal.is_ok()));
            }
            let numbers: Vec<u64> = heard.iter().map(number).collect();
            assert!(numbers[0] <= began && numbers[1] >= began && numbers[0] > began - 60_000_000_000, "{numbers:?}");
            let said = [Some(3), None].into_iter().zip(&numbers).map(|(open, &sequence)| {
                let hold = if open.is_some() { Duration::from_ms(1) } else { Duration::ZERO };
                (interfaces[i].mac.0.to_vec(), Ok(Heard::Sealed(Pfc { epoch: 1, sequence, open, hold })))
            });
            assert_eq!(heard, said.collect::<Vec<_>>(), "{i}");
        }
    }
}
