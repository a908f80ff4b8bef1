//! A UDP datagram over IPv4 in an Ethernet frame.
//!
//! Parsing checks lengths and checksums.

use super::bytes::Reader;
use super::error::{EncodeError, WireError};
use super::ethernet::{self, MIN_FRAME, MacAddress};
use core::net::Ipv4Addr;

const ETHER_TYPE_IPV4: u16 = 0x0800;
const UDP: u8 = 17;
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// An end of a UDP conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The MAC address.
    pub mac: MacAddress,
    /// The IPv4 address.
    pub ip: Ipv4Addr,
    /// The UDP port.
    pub port: u16,
}

/// A datagram with the headers of Ethernet, IPv4 (RFC 791) and UDP (RFC 768): 42 B.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpFrame {
    /// The sending end.
    pub source: Endpoint,
    /// The receiving end.
    pub destination: Endpoint,
    /// Up to 1472 bytes.
    pub payload: Vec<u8>,
}

impl UdpFrame {
    /// Encodes the frame without FCS; never fragmented, with 64 hops to live.
    ///
    /// # Errors
    ///
    /// If the payload exceeds 1472 B, and thus the packet 1500 B.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        const MOST: usize = 1500 - IPV4_HEADER - UDP_HEADER;
        if self.payload.len() > MOST {
            let (value, most) = (self.payload.len() as u64, MOST as u64);
            return Err(EncodeError::Range { what: "a payload", value, most });
        }
        let udp_length = (UDP_HEADER + self.payload.len()) as u16;
        let mut udp = Vec::with_capacity(usize::from(udp_length));
        for number in [self.source.port, self.destination.port, udp_length, 0] {
            udp.extend_from_slice(&number.to_be_bytes());
        }
        udp.extend_from_slice(&self.payload);
        // A sum of zero would mean that there is none.
        let sum = match checksum(&[&pseudo(self.source.ip, self.destination.ip, udp_length), &udp]) {
            0 => u16::MAX,
            sum => sum,
        };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());

        let mut ip = [0; IPV4_HEADER];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(IPV4_HEADER as u16 + udp_length).to_be_bytes());
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = UDP;
        ip[12..16].copy_from_slice(&self.source.ip.octets());
        ip[16..20].copy_from_slice(&self.destination.ip.octets());
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());

        let mut frame = ethernet::header(self.destination.mac, self.source.mac, ETHER_TYPE_IPV4);
        frame.extend_from_slice(&ip);
        frame.extend_from_slice(&udp);
        frame.resize(frame.len().max(MIN_FRAME), 0);
        Ok(frame)
    }

    /// Parses a frame for any address, which the caller checks. Skips options of IPv4 and ignores
    /// padding.
    ///
    /// # Errors
    ///
    /// If it is truncated, not IPv4 or not UDP, a fragment, or has a wrong checksum.
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(frame);
        let (destination, source, found) = ethernet::read_header(&mut r)?;
        if found != ETHER_TYPE_IPV4 {
            return Err(WireError::EtherType { found, expected: ETHER_TYPE_IPV4 });
        }
        let from = r.at();
        let first = r.u8()?;
        let header = usize::from(first & 0xf) * 4;
        if first >> 4 != 4 {
            return Err(WireError::Version { found: first >> 4 });
        }
        if header < IPV4_HEADER {
            return Err(WireError::Value { at: from, what: "an IPv4 header of less than 20 bytes" });
        }
        r.u8()?;
        let total = usize::from(r.u16()?);
        if total < header + UDP_HEADER {
            return Err(WireError::Value { at: from + 2, what: "an IPv4 packet too short for UDP" });
        }
        let packet = Reader::new(&frame[from..])
            .slice(total)
            .map_err(|_| WireError::Truncated { have: frame.len(), need: from + total })?;
        r.u16()?;
        let fragment = r.u16()?;
        r.u8()?;
        let protocol = r.u8()?;
        let found = r.u16()?;
        let (source_ip, destination_ip) = (Ipv4Addr::from(r.array::<4>()?), Ipv4Addr::from(r.array::<4>()?));
        let (header, udp) = packet.split_at(header);
        check("IPv4", found, &[&header[..10], &header[12..]])?;
        // More fragments follow, or it is not the first one.
        if fragment & 0x3fff != 0 {
            return Err(WireError::Fragment);
        }
        if protocol != UDP {
            return Err(WireError::Protocol { found: protocol });
        }
        let mut r = Reader::new(udp);
        let (from_port, to_port, length, found) = (r.u16()?, r.u16()?, r.u16()?, r.u16()?);
        let udp = match usize::from(length) {
            n if n < UDP_HEADER || n > udp.len() => {
                return Err(WireError::Value { at: from + header.len() + 4, what: "a UDP length beyond its packet" });
            }
            n => &udp[..n],
        };
        // Zero: the sender computed none.
        if found != 0 {
            let pseudo = pseudo(source_ip, destination_ip, length);
            match check("UDP", found, &[&pseudo, &udp[..6], &udp[8..]]) {
                Err(WireError::Checksum { computed: 0, .. }) if found == u16::MAX => {}
                other => other?,
            }
        }
        Ok(Self {
            source: Endpoint { mac: source, ip: source_ip, port: from_port },
            destination: Endpoint { mac: destination, ip: destination_ip, port: to_port },
            payload: udp[UDP_HEADER..].to_vec(),
        })
    }
}

/// The pseudo-header, which UDP's checksum covers besides the datagram.
fn pseudo(source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&source.octets());
    bytes[4..8].copy_from_slice(&destination.octets());
    bytes[9] = UDP;
    bytes[10..].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The Internet checksum (RFC 1071). All parts except the last one have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|p| p.chunks(2));
    let sum: u64 = words.map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

fn check(of: &'static str, found: u16, parts: &[&[u8]]) -> Result<(), WireError> {
    let computed = checksum(parts);
    if computed == found { Ok(()) } else { Err(WireError::Checksum { of, found, computed }) }
}
