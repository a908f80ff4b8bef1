//! A switch with a host at each port: network namespaces joined by a Linux bridge.
//!
//! `NAME-sw` has the bridge and its ports: `p0`, `p1` and so on for hosts, and `pm` for the
//! controller. `NAME-h0`, `NAME-h1` and so on are the hosts and `NAME-m` is the controller, each
//! with one interface `eth0`. All addresses are set statically. The switch neither learns nor
//! floods, so every frame on a link was sent on purpose.

use super::left_over::{self, Lock};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use timeplane_live::netns::{self, Namespace, NetError};
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_protocol::wire::{ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_MAC_CONTROL, MacAddress};

/// The most hosts: a bridge has 1023 ports.
pub const MOST_HOSTS: u16 = 1000;
/// The interface of every host and of the controller.
pub const INTERFACE: &str = "eth0";
/// The switch's port towards the controller.
pub const CONTROLLER_PORT: &str = "pm";
/// The bridge itself.
const BRIDGE: &str = "br0";

/// What a fabric is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricParameters {
    /// Name of the lab: 1 to 32 lower-case letters and digits, the first one a letter. It is the
    /// prefix of the namespaces' names.
    pub name: String,
    /// Number of hosts: 1 to [`MOST_HOSTS`].
    pub hosts: u16,
    /// MTU of every link, in bytes without Ethernet's header: 68 to 65 521.
    pub mtu: u32,
    /// Limit of every port towards a host; `None` for as fast as the machine.
    pub limit: Option<PortLimit>,
}

/// The rate of a port towards its host, and the size of its queue. Control frames (EtherTypes
/// 0x88B5 and 0x8808) have priority, and are neither delayed nor dropped: a signal behind the data
/// that it governs would be late by the length of the queue.
///
/// Frames in this queue still count against the send buffer of their socket. A socket with the
/// usual 200 kB blocks
/// ([`PacketSocket::set_send_buffer`](timeplane_live::packet_socket::PacketSocket::set_send_buffer))
/// before a larger queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortLimit {
    /// Rate of frames with their header, without preamble, FCS and inter-frame gap: 8 kbit/s to 100
    /// Gbit/s. A busy machine may not reach it: with eight processes on two cores, 10 and 100
    /// Mbit/s were exact, and 500 Mbit/s gave 270.
    pub rate: Rate,
    /// Size of the queue, in bytes of frames with their header: from one frame of the MTU to 1 GB.
    /// Frames that do not fit are dropped.
    pub buffer: Bytes,
}

/// Why a fabric cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum FabricError {
    /// A parameter is out of bounds.
    #[error("{what} is {found}: expected {allowed}")]
    Parameter {
        /// Name of the parameter.
        what: &'static str,
        /// The invalid value.
        found: String,
        /// The allowed values.
        allowed: String,
    },
    /// Another process has a lab of this name.
    #[error("a lab named {0} is running: stop it, or choose another name")]
    Running(String),
    /// The lock file of the lab cannot be opened or locked.
    #[error("{}: {source}", path.display())]
    Lock {
        /// Path of the lock file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// A namespace or a link could not be made.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl FabricParameters {
    fn check(&self) -> Result<(), FabricError> {
        let error = |what, found: String, allowed: String| Err(FabricError::Parameter { what, found, allowed });
        left_over::check_name(&self.name)?;
        if !(1..=MOST_HOSTS).contains(&self.hosts) {
            return error("the number of hosts", self.hosts.to_string(), format!("1 to {MOST_HOSTS}"));
        }
        // A veth's MTU is limited by the 16 bits of a frame's length.
        if !(68..=65_521).contains(&self.mtu) {
            return error("the MTU", self.mtu.to_string(), "68 to 65521".into());
        }
        self.limit.map_or(Ok(()), |limit| limit.check(self.mtu))
    }
}

impl PortLimit {
    fn check(&self, mtu: u32) -> Result<(), FabricError> {
        let (rate, buffer, frame) = (self.rate.as_bps(), self.buffer.get(), u64::from(mtu) + 14);
        let error = |what, found: u64, allowed| Err(FabricError::Parameter { what, found: found.to_string(), allowed });
        if !(8_000..=100_000_000_000).contains(&rate) {
            return error("a port's rate in bit/s", rate, "8000 to 100000000000".into());
        }
        if !(frame..=1_000_000_000).contains(&buffer) {
            return error("a port's buffer in bytes", buffer, format!("{frame} (a frame of the MTU) to 1000000000"));
        }
        Ok(())
    }
    /// The burst after a pause. Half a millisecond compensates for late timers of the kernel; less
    /// than two frames would lower the rate permanently.
    fn burst(&self, mtu: u32) -> u64 {
        self.rate.bytes_in(Duration::from_us(500)).get().max(2 * (u64::from(mtu) + 14))
    }
}

/// The MAC address of a host.
pub fn host_mac(host: u16) -> MacAddress {
    station_mac(0, host)
}
/// The MAC address of the controller.
pub fn controller_mac() -> MacAddress {
    station_mac(1, 0)
}
fn station_mac(kind: u8, number: u16) -> MacAddress {
    let [high, low] = number.to_be_bytes();
    MacAddress([0x02, 0x74, 0x70, kind, high, low])
}
/// The address of a host, in 10.116.0.0/16.
pub fn host_ip(host: u16) -> Ipv4Addr {
    // Neither .0 nor .255, which some programs treat as addresses of the network itself.
    Ipv4Addr::new(10, 116, (host / 250) as u8, (host % 250) as u8 + 1)
}
/// The address of the controller, in the same network.
pub fn controller_ip() -> Ipv4Addr {
    Ipv4Addr::new(10, 116, 255, 1)
}
/// The switch's port towards a host.
pub fn host_port(host: u16) -> String {
    format!("p{host}")
}

/// A running fabric. Dropping it removes its namespaces and links.
#[derive(Debug)]
pub struct Fabric {
    parameters: FabricParameters,
    limits: Vec<Option<PortLimit>>,
    hosts: Vec<Namespace>,
    controller: Namespace,
    switch: Namespace,
    // Dropped last: the name is free once no namespace has it.
    _lock: Lock,
}

impl Fabric {
    /// Creates a fabric after removing what a killed lab of the same name has left. Needs
    /// CAP_NET_ADMIN and CAP_SYS_ADMIN.
    ///
    /// # Errors
    /// If a parameter is out of bounds, a lab of this name runs, or the system refuses an
    /// operation. Nothing is left behind.
    pub fn start(parameters: &FabricParameters) -> Result<Self, FabricError> {
        parameters.check()?;
        let name = &parameters.name;
        let lock = left_over::begin(name, is_ours)?;
        let switch = Namespace::create(&format!("{name}-sw"))?;
        let controller = Namespace::create(&format!("{name}-m"))?;
        let hosts = (0..parameters.hosts).map(|h| Namespace::create(&format!("{name}-h{h}")));
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        let limits = vec![None; hosts.len()];
        let mut fabric = Self { parameters: parameters.clone(), limits, hosts, controller, switch, _lock: lock };
        fabric.connect()?;
        for host in 0..parameters.hosts {
            fabric.set_limit(host, parameters.limit)?;
        }
        Ok(fabric)
    }

    /// Connects every station: its namespace, its port, its addresses, and the port's own MAC
    /// address, to which no frame is sent.
    fn stations(&self) -> impl Iterator<Item = (&Namespace, String, MacAddress, Ipv4Addr, MacAddress)> {
        let host = |(h, n): (u16, _)| (n, host_port(h), host_mac(h), host_ip(h), station_mac(2, h));
        let controller =
            (&self.controller, CONTROLLER_PORT.to_owned(), controller_mac(), controller_ip(), station_mac(3, 0));
        (0..).zip(&self.hosts).map(host).chain([controller])
    }

    fn connect(&self) -> Result<(), NetError> {
        let (switch, mtu) = (self.switch.name(), self.parameters.mtu);
        let (mut links, mut ports, mut table) = (String::new(), String::new(), String::new());
        let _ = writeln!(
            ports,
            "link add {BRIDGE} type bridge stp_state 0 mcast_snooping 0 ageing_time 0 forward_delay 0\nlink set {BRIDGE} mtu {mtu} up"
        );
        // The switch's programs would count a super-frame as one frame, and it may exceed a slot.
        let plain = format!("gso_max_segs 1 gro_max_size {}", (mtu + 14).max(1514));
        for (station, port, mac, _, own) in self.stations() {
            let at = station.name();
            let _ = writeln!(
                links,
                "link add {INTERFACE} address {mac} mtu {mtu} netns {at} type veth peer name {port} address {own} mtu {mtu} netns {switch}"
            );
            let _ = writeln!(ports, "link set {port} {plain}\nlink set {port} master {BRIDGE}\nlink set {port} up");
            let _ =
                writeln!(table, "link set dev {port} learning off flood off\nfdb add {mac} dev {port} master static");
        }
        netns::batch("ip", None, &links)?;
        netns::batch("ip", Some(switch), &ports)?;
        netns::batch("bridge", Some(switch), &table)?;
        for (station, _, mine, ip, _) in self.stations() {
            let mut lines =
                format!("link set {INTERFACE} {plain}\nlink set {INTERFACE} up\naddr add {ip}/16 dev {INTERFACE}\n");
            for (_, _, mac, ip, _) in self.stations().filter(|s| s.2 != mine) {
                let _ = writeln!(lines, "neigh add {ip} lladdr {mac} dev {INTERFACE} nud permanent");
            }
            netns::batch("ip", Some(station.name()), &lines)?;
        }
        // The bridge forwards to a port only after a kernel worker has noticed its carrier.
        let forwards = || {
            let ports = netns::bridge(&format!("-n {switch} link show"))?;
            Ok(ports.lines().filter(|l| l.contains("state forwarding")).count() == self.hosts.len() + 1)
        };
        netns::until(forwards, &format!("a port of {switch}"))
    }

    /// Changes the rate at which the switch sends to a host. Queued frames stay if there is a limit
    /// before and after the change.
    ///
    /// # Errors
    /// If the limit is out of bounds, or the host does not exist.
    pub fn set_limit(&mut self, host: u16, limit: Option<PortLimit>) -> Result<(), FabricError> {
        let Some(&before) = self.limits.get(usize::from(host)) else {
            let allowed = format!("0 to {}", self.hosts.len() - 1);
            return Err(FabricError::Parameter { what: "the host", found: host.to_string(), allowed });
        };
        let port = host_port(host);
        match (before, limit) {
            (None, None) => {}
            (Some(_), None) => {
                self.switch.tc(&format!("qdisc del dev {port} root"))?;
            }
            (before, Some(limit)) => {
                limit.check(self.parameters.mtu)?;
                let rate = limit.rate.as_bps();
                let (burst, buffer) = (limit.burst(self.parameters.mtu), limit.buffer.get());
                let verb = if before.is_some() { "change" } else { "add" };
                let mut lines = String::new();
                if before.is_none() {
                    let _ = writeln!(lines, "qdisc add dev {port} root handle 1: htb default 2");
                    let _ = writeln!(
                        lines,
                        "class add dev {port} parent 1: classid 1:1 htb rate 100gbit burst 1mb quantum 60000"
                    );
                }
                // A token bucket with a queue of its own. The plain one (tbf) would delay control
                // frames too.
                let _ = writeln!(
                    lines,
                    "class {verb} dev {port} parent 1: classid 1:2 htb rate {rate}bit burst {burst} cburst {burst} quantum 60000"
                );
                let _ = writeln!(lines, "qdisc {verb} dev {port} parent 1:2 handle 2: bfifo limit {buffer}");
                if before.is_none() {
                    for (prio, ether_type) in [(1, ETHER_TYPE_EXPERIMENTAL), (2, ETHER_TYPE_MAC_CONTROL)] {
                        let _ = writeln!(
                            lines,
                            "filter add dev {port} parent 1: protocol {ether_type:#x} prio {prio} u32 match u32 0 0 flowid 1:1"
                        );
                    }
                }
                netns::batch("tc", Some(self.switch.name()), &lines)?;
            }
        }
        self.limits[usize::from(host)] = limit;
        Ok(())
    }

    /// The parameters that the fabric was created with.
    pub fn parameters(&self) -> &FabricParameters {
        &self.parameters
    }
    /// The hosts' namespaces, by number.
    pub fn hosts(&self) -> &[Namespace] {
        &self.hosts
    }
    /// The controller's namespace.
    pub fn controller(&self) -> &Namespace {
        &self.controller
    }
    /// The switch's namespace.
    pub fn switch(&self) -> &Namespace {
        &self.switch
    }
    /// The switch's ports towards the hosts, by number.
    pub fn ports(&self) -> Vec<String> {
        (0..self.parameters.hosts).map(host_port).collect()
    }
}

/// Returns the part of a namespace's name after the lab's name and a dash, if the namespace belongs
/// to a lab of this name.
fn is_ours(rest: &str) -> bool {
    matches!(rest, "sw" | "m") || rest.strip_prefix('h').is_some_and(|n| n.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests;
