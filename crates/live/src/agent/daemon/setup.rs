//! What an agent needs to start: its configuration, its sockets at the interface, and a new key.
//!
//! [`AgentError`] tells why an agent cannot run.

use crate::bpf::BpfError;
use crate::config::Late;
use crate::gate::GateConfig;
use crate::packet_socket::PacketSocket;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use timeplane_model::{Bytes, Duration, HostId};
use timeplane_protocol::wire::{
    ETHER_TYPE_DATA, ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_MAC_CONTROL, MacAddress, SignalEncoding,
};

/// Why an agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The gate cannot be attached or set.
    #[error(transparent)]
    Gate(#[from] BpfError),
    /// A socket or a system call failed.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// A controller knows a start of this host with a higher number.
    #[error("a controller knows epoch {known} of this host, which is newer")]
    Outranked {
        /// That epoch.
        known: u32,
    },
    /// The interface was removed, and is back with another address.
    #[error("interface {interface} is back with the address {now} instead of {before}: start the agent again")]
    Address {
        /// Name of the interface.
        interface: String,
        /// The address that other hosts know.
        before: MacAddress,
        /// Its address now.
        now: MacAddress,
    },
}

impl AgentError {
    pub(super) fn io(what: &str) -> impl Fn(std::io::Error) -> Self + use<> {
        let what = what.to_owned();
        move |source| Self::Io { what: what.clone(), source }
    }
}

/// Configuration of an agent.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Number of the host in the scenario.
    pub host: HostId,
    /// Number of this start, higher than that of any start before.
    pub epoch: u32,
    /// Configuration of the gate: interface, address, key, lease.
    pub gate: GateConfig,
    /// How late a signal may open the gate.
    pub late: Late,
    /// The interface's IPv4 address, if it has one.
    pub ip: Option<Ipv4Addr>,
    /// Whether to ask for real-time priority.
    pub real_time: bool,
    /// How long a host may be away before its streams end.
    pub give_up_after: Duration,
}

/// The sockets at an interface: for signals, one for all encodings of an EtherType, so that each
/// frame is received once; and for data.
pub(super) fn sockets(config: &GateConfig) -> Result<(Vec<PacketSocket>, PacketSocket), AgentError> {
    let interface = &config.interface;
    let open = |ether_type| {
        PacketSocket::open(interface, ether_type).map_err(AgentError::io(&format!("interface {interface}")))
    };
    let ether_type = |encoding: &SignalEncoding| match encoding {
        SignalEncoding::Experimental => ETHER_TYPE_EXPERIMENTAL,
        SignalEncoding::MacControl | SignalEncoding::Pfc | SignalEncoding::PlainPfc => ETHER_TYPE_MAC_CONTROL,
        SignalEncoding::Udp => super::ETHER_TYPE_IPV4,
    };
    let ether_types: BTreeSet<u16> = config.encodings.iter().map(ether_type).collect();
    let control = ether_types.into_iter().map(open).collect::<Result<_, _>>()?;
    let data = open(ETHER_TYPE_DATA)?;
    // Without the capability for larger buffers, the system's defaults remain.
    let _ = data.set_receive_buffer(Bytes::new(8 << 20));
    let _ = data.set_send_buffer(Bytes::new(4 << 20));
    Ok((control, data))
}

/// Random bytes of the system, for keys.
///
/// # Errors
/// If random bytes cannot be read.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], AgentError> {
    let mut bytes = [0; N];
    let source = |source| AgentError::Io { what: "/dev/urandom".to_owned(), source };
    let mut file = std::fs::File::open("/dev/urandom").map_err(source)?;
    std::io::Read::read_exact(&mut file, &mut bytes).map_err(source)?;
    Ok(bytes)
}
