//! Simulated packets as bytes: Ethernet, IPv4, UDP and TCP headers, and the header of the agents'
//! data frames.
//!
//! Payloads have no content in the simulator. Frames end where the payload starts, and checksums
//! are those of a payload of zeros. Every packet gets an Ethernet header, whatever the fabric's
//! framing.

use crate::hosts::endpoints::{AckOptions, DATAGRAM_HEADER, NACK, PULL, Transport};
use crate::hosts::flow::Flow;
use crate::network::packet::{Packet, flags};
use core::net::Ipv4Addr;
use timeplane_model::HostId;
use timeplane_protocol::wire::{DataHeader, DataKind, Endpoint, MIN_FRAME, MacAddress, PORT, UNGATED, encode_repair};
use timeplane_transport::RepairReport;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP_PROTOCOL: u8 = 6;
const UDP_PROTOCOL: u8 = 17;

/// The first of the ports that are never assigned (RFC 6335), which flows use.
const FIRST_PORT: u32 = 49_152;
/// The number of these ports, without that of agents.
const PORTS: u32 = (1 << 16) - FIRST_PORT - 1;

/// The part of a frame that has content.
pub struct Captured {
    /// The first bytes, without preamble.
    pub bytes: Vec<u8>,
    /// The full length, without preamble and check sequence.
    pub length: u32,
}

/// The IPv4 address of a host: 10.0.0.0 plus its number.
pub fn host_ip(host: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | host & 0x00ff_ffff)
}

/// The locally administered address of a host. Other nodes differ in the second byte.
pub fn host_mac(host: u32) -> MacAddress {
    mac(0, host)
}

/// The address of a switch, by node number.
pub fn switch_mac(node: u32) -> MacAddress {
    mac(0xf2, node)
}

fn mac(kind: u8, number: u32) -> MacAddress {
    let [a, b, c, d] = number.to_be_bytes();
    MacAddress([2, kind, a, b, c, d])
}

/// The endpoint of a host's agent.
pub fn host_agent(host: u32) -> Endpoint {
    Endpoint { mac: host_mac(host), ip: host_ip(host), port: PORT }
}

/// The endpoint of a controller: the first, then a standby and relays.
pub fn controller(number: u32) -> Endpoint {
    Endpoint { mac: mac(0xf1, number), ip: Ipv4Addr::from(0x0aff_0001 + number), port: PORT }
}

/// The endpoint of a proxy.
pub fn proxy() -> Endpoint {
    Endpoint { mac: mac(0xf3, 0), ip: Ipv4Addr::new(10, 254, 0, 1), port: PORT }
}

/// The ports of a flow at its source and its destination. They are unique among 268 million flows.
pub fn ports(flow: u32) -> (u16, u16) {
    let port = |n: u32| {
        let port = FIRST_PORT + n % PORTS;
        // The port of agents is left out.
        (if port >= u32::from(PORT) { port + 1 } else { port }) as u16
    };
    (port(flow), port(flow / PORTS))
}

/// A packet of a flow. `gated` says that gates are in front of hosts' queues.
pub fn frame(packet: &Packet, flow: &Flow, options: &AckOptions, transport: &Transport, gated: bool) -> Captured {
    let forth = packet.flags & flags::ACK == 0;
    let (from, to) =
        if forth { (flow.sender.source, flow.destination) } else { (flow.destination, flow.sender.source) };
    let length = (ETHERNET as u32).saturating_add(packet.bytes).max(MIN_FRAME as u32);
    let bytes = match transport {
        Transport::Raw { header, .. } => {
            let header = DataHeader {
                destination: host_mac(to),
                source: host_mac(from),
                kind: DataKind::Stream,
                class: u16::try_from(to).ok().filter(|_| gated).unwrap_or(UNGATED),
                payload: packet.bytes.saturating_sub(*header) as u16,
                host: HostId(from),
                epoch: 0,
                stream: flow.number,
                port: 0,
                sealed: false,
                offset: packet.seq,
                length: Some(flow.bytes),
            };
            header.encode().to_vec()
        }
        Transport::Datagrams => {
            let payload = packet.bytes - DATAGRAM_HEADER;
            ip_frame(packet, from, to, UDP_PROTOCOL, &udp(flow.number, payload), 6)
        }
        Transport::Ndp { .. } => {
            let udp = udp(flow.number, packet.bytes - DATAGRAM_HEADER);
            let ndp = [&udp[..], &ndp(packet, flow.bytes)].concat();
            ip_frame(packet, from, to, UDP_PROTOCOL, &ndp, 6)
        }
        Transport::Tcp(_) => ip_frame(packet, from, to, TCP_PROTOCOL, &tcp(packet, flow.number, forth, options), 16),
    };
    Captured { bytes, length }
}

/// A repair report of a raw flow, whose receiver is `from`.
pub fn repair(from: u32, to: u32, flow: u32, report: &RepairReport) -> Captured {
    let payload = encode_repair(report.contiguous, report.missing.iter().map(|r| (r.start, r.end)));
    let header = DataHeader {
        destination: host_mac(to),
        source: host_mac(from),
        kind: DataKind::Repair,
        class: UNGATED,
        payload: payload.len() as u16,
        host: HostId(from),
        epoch: 0,
        stream: flow,
        port: 0,
        sealed: false,
        offset: 0,
        length: None,
    };
    whole([&header.encode()[..], &payload].concat())
}

/// A frame whose bytes are all known.
pub fn whole(mut bytes: Vec<u8>) -> Captured {
    bytes.resize(bytes.len().max(MIN_FRAME), 0);
    Captured { length: bytes.len() as u32, bytes }
}

/// Ethernet and IPv4 headers before a transport header with its checksum at `checksum_at`.
fn ip_frame(packet: &Packet, from: u32, to: u32, protocol: u8, transport: &[u8], checksum_at: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(ETHERNET + IPV4 + transport.len());
    frame.extend_from_slice(&host_mac(to).0);
    frame.extend_from_slice(&host_mac(from).0);
    frame.extend_from_slice(&0x0800u16.to_be_bytes());
    let mut ip = [0; IPV4];
    ip[0] = 0x45;
    // ECN (RFC 3168): marked, or ECN-capable.
    ip[1] = match packet.flags {
        f if f & flags::CE != 0 => 0b11,
        f if f & flags::ECT != 0 => 0b10,
        _ => 0,
    };
    // A packet that is too long for an IPv4 header has length zero, as before segmentation offload.
    ip[2..4].copy_from_slice(&u16::try_from(packet.bytes).unwrap_or(0).to_be_bytes());
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&host_ip(from).octets());
    ip[16..20].copy_from_slice(&host_ip(to).octets());
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut transport = transport.to_vec();
    let length = packet.bytes.saturating_sub(IPV4 as u32);
    let pseudo = [&ip[12..20], &[0, protocol], &(length as u16).to_be_bytes()].concat();
    let sum = match checksum(&[&pseudo, &transport]) {
        // In UDP a zero means no checksum.
        0 if protocol == UDP_PROTOCOL => u16::MAX,
        sum => sum,
    };
    transport[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(&transport);
    frame
}

/// A UDP header (RFC 768) without its checksum.
fn udp(flow: u32, payload: u32) -> Vec<u8> {
    let (source, destination) = ports(flow);
    // A datagram that is too long for the field has length zero (RFC 2675).
    let length = u16::try_from(payload.saturating_add(8)).unwrap_or(0);
    [source, destination, length, 0].iter().flat_map(|n| n.to_be_bytes()).collect()
}

/// The 18 bytes of NDP behind a UDP header, big-endian: the kind (0 data, 1 header of data that was
/// cut, 2 acknowledgement, 3 negative acknowledgement, 4 pull), a zero, the offset of the data or
/// the counter of the pull, and the length of the flow.
fn ndp(packet: &Packet, length: u64) -> Vec<u8> {
    let kind = match packet.flags & (NACK | PULL | flags::CE) {
        0 => 0,
        flags::CE => 1,
        NACK => 3,
        PULL => 4,
        _ => 2,
    };
    [&[kind, 0][..], &packet.seq.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// A TCP header (RFC 9293) without its checksum. Sequence numbers start at zero; the first byte has
/// number one. The window is the largest one, as no header field is simulated, and timestamps that
/// nobody reads are zero: those of acknowledgements, and echoes in data.
fn tcp(packet: &Packet, flow: u32, forth: bool, carried: &AckOptions) -> Vec<u8> {
    let [syn_bit, ack_bit, ece_bit, cwr_bit] = [0x02, 0x10, 0x40, 0x80u8];
    let (a, b) = ports(flow);
    let (source, destination) = if forth { (a, b) } else { (b, a) };
    let is = |bit: u16| packet.flags & bit != 0;
    let syn = is(flags::SYN);
    let number = |offset: u64| (offset as u32).wrapping_add(1);
    let (sequence, acknowledged) = match (forth, syn) {
        (true, true) => (0, 0),
        (true, false) => (number(packet.seq), 1),
        (false, true) => (0, 1),
        (false, false) => (1, number(packet.seq)),
    };
    let mut options = Vec::new();
    let (timestamp, echo) = (packet.timestamp(), carried.timestamp_echo);
    if timestamp.is_some() || echo.is_some() {
        // RFC 7323, appendix A.
        options.extend_from_slice(&[1, 1, 8, 10]);
        options.extend_from_slice(&timestamp.unwrap_or(0).to_be_bytes());
        options.extend_from_slice(&echo.unwrap_or(0).to_be_bytes());
    }
    let sacks = &carried.sacks;
    if !sacks.is_empty() {
        // RFC 2018, after two no-operations, as common senders write it.
        options.extend_from_slice(&[1, 1, 5, 2 + 8 * sacks.len() as u8]);
        for block in sacks.iter() {
            options.extend_from_slice(&number(block.start).to_be_bytes());
            options.extend_from_slice(&number(block.end).to_be_bytes());
        }
    }
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let bits =
        bit(syn, syn_bit) | bit(!(forth && syn), ack_bit) | bit(is(flags::ECE), ece_bit) | bit(is(flags::CWR), cwr_bit);
    let mut header = Vec::with_capacity(20 + options.len());
    header.extend_from_slice(&source.to_be_bytes());
    header.extend_from_slice(&destination.to_be_bytes());
    header.extend_from_slice(&u32::to_be_bytes(sequence));
    header.extend_from_slice(&u32::to_be_bytes(acknowledged));
    header.extend_from_slice(&[((20 + options.len()) as u8 / 4) << 4, bits]);
    header.extend_from_slice(&u16::MAX.to_be_bytes());
    header.extend_from_slice(&[0; 4]);
    header.extend_from_slice(&options);
    header
}

/// The Internet checksum (RFC 1071). All parts but the last have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|p| p.chunks(2));
    let sum: u64 = words.map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ports_are_of_one_flow_and_never_those_of_agents() {
        let mut seen = BTreeSet::new();
        for flow in (0..40_000).chain(100_000_000..100_040_000) {
            let (a, b) = ports(flow);
            assert!(a >= 49_152 && b >= 49_152 && a != PORT && b != PORT, "{flow}");
            assert!(seen.insert((a, b)), "{flow}");
        }
    }

    #[test]
    fn addresses_name_hosts_and_controllers() {
        assert_eq!(host_ip(3).to_string(), "10.0.0.3");
        assert_eq!(host_ip(131_071).to_string(), "10.1.255.255");
        assert_eq!(controller(0).ip.to_string(), "10.255.0.1");
        assert_eq!(host_mac(258).to_string(), "02:00:00:00:01:02");
    }
}
