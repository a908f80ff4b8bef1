//! The two switches of a lab for plans of circuits: a circuit switch in front of the bridge, and
//! the bridge as the packet switch.
//!
//! A host is a port of both. Frames of circuits pass without a queue and without a limit, because
//! hosts pace them. The bridge sends data to a host at the rate of the packet switch. Control
//! frames, the demand channel and reports about streams are not limited, as in the simulator.

use super::fabric::{Fabric, FabricError, INTERFACE, PortLimit, controller_ip, host_port};
use super::hosts::HostsError;
use crate::circuit_switch::{CircuitCounters, CircuitSwitch, prepare_receiver};
use crate::plan::CircuitFabric;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use timeplane_live::agent::Pace;
use timeplane_live::bpf::PINS;
use timeplane_live::netns::{self, NetError};
use timeplane_model::{Bytes, Rate};
use timeplane_protocol::wire::ETHER_TYPE_DATA;

/// A running circuit switch, whose ports are those of the bridge towards the hosts.
#[derive(Debug)]
pub struct Circuits {
    switch: CircuitSwitch,
    folder: PathBuf,
}

/// Counters of both switches.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CircuitsSeen {
    /// Counters of the circuit switch's port of each host.
    pub ports: Vec<CircuitCounters>,
    /// Frames to each host that the packet switch dropped.
    pub packets_dropped: Vec<u64>,
}

impl CircuitsSeen {
    /// The sum of all ports.
    pub fn sum(&self) -> CircuitCounters {
        self.ports.iter().copied().sum()
    }
}

impl Circuits {
    /// Attaches the switch, before any daemon runs.
    ///
    /// # Errors
    /// If the system refuses an operation.
    pub fn start(fabric: &mut Fabric, of: &CircuitFabric) -> Result<Self, HostsError> {
        for host in fabric.hosts() {
            let prepared = host.enter(|| prepare_receiver(INTERFACE)).map_err(FabricError::from)?;
            let what = format!("GRO of {INTERFACE} in {}", host.name());
            prepared.map_err(|source| HostsError::Io { what, source })?;
        }
        let parameters = fabric.parameters();
        let (count, limit) = (parameters.hosts, limit(of.packet_rate, parameters.hosts, parameters.mtu));
        let mut beside = String::new();
        for host in 0..count {
            fabric.set_limit(host, Some(limit))?;
            let port = host_port(host);
            // The demand channel, and repair reports (kind 2). The kind is the second byte after
            // Ethernet's header.
            let _ = writeln!(
                beside,
                "filter add dev {port} parent 1: protocol ip prio 3 u32 match ip src {}/32 flowid 1:1\n\
                 filter add dev {port} parent 1: protocol {ETHER_TYPE_DATA:#x} prio 4 u32 match u8 2 0xff at 1 flowid 1:1",
                controller_ip()
            );
        }
        netns::batch("tc", Some(fabric.switch().name()), &beside).map_err(FabricError::from)?;
        let (ports, name) = (fabric.ports(), format!("circuits-{}", fabric.parameters().name));
        let attach = || -> Result<_, HostsError> {
            let mut switch = CircuitSwitch::attach(&ports, of.least_dark, of.darkens)?;
            switch.set_dark(of.least_dark, of.most_dark)?;
            let folder = switch.pin(Path::new(PINS), &name)?;
            Ok(Self { switch, folder })
        };
        fabric.switch().enter(attach).map_err(FabricError::from)?
    }

    /// Folder in which a controller finds the switch.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The current counters of both switches.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn seen(&self, fabric: &Fabric) -> Result<CircuitsSeen, HostsError> {
        let dropped = (0..fabric.parameters().hosts).map(|host| dropped(fabric, host));
        let packets_dropped = dropped.collect::<Result<_, _>>().map_err(FabricError::from)?;
        Ok(CircuitsSeen { ports: self.switch.counters()?, packets_dropped })
    }
}

/// The packet switch's limit towards a host. The plan's rate is in bits on the wire, while a port
/// counts frames without preamble, FCS and inter-frame gap. The queue has room for the bursts of
/// all other hosts.
fn limit(wire: Rate, hosts: u16, mtu: u32) -> PortLimit {
    let frame = u64::from(mtu) + 14;
    let rate = u128::from(wire.as_bps()) * u128::from(frame) / u128::from(frame + 24);
    let ahead = wire.bytes_in(Pace::DEPTH).get() + 2 * frame;
    PortLimit { rate: Rate::bps(rate as u64), buffer: Bytes::new(u64::from(hosts) * ahead) }
}

/// Frames that the packet switch's queue towards a host dropped.
fn dropped(fabric: &Fabric, host: u16) -> Result<u64, NetError> {
    let said = fabric.switch().tc(&format!("-s -j qdisc show dev {}", host_port(host)))?;
    let all: Vec<serde_json::Value> = serde_json::from_str(&said).unwrap_or_default();
    // The inner queue, as the outer one counts its drops again.
    Ok(all.iter().filter(|q| q["handle"] == "2:").filter_map(|q| q["drops"].as_u64()).sum())
}
