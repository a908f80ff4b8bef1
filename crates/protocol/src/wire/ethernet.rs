//! Ethernet's header.
//!
//! All frames of this module start with it and end without FCS.

use super::bytes::Reader;
use super::error::WireError;
use core::fmt;
use core::str::FromStr;

/// The EtherType of MAC control frames (IEEE 802.3, clause 31).
pub const ETHER_TYPE_MAC_CONTROL: u16 = 0x8808;

/// The first of two EtherTypes for local experiments (IEEE 802).
pub const ETHER_TYPE_EXPERIMENTAL: u16 = 0x88b5;

/// The destination of PAUSE and PFC frames (IEEE 802.3, annexes 31B and 31D). Bridges never forward
/// it, so the frame stays on its link.
pub const MAC_CONTROL_ADDRESS: MacAddress = MacAddress([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

/// Bytes of the shortest frame, without FCS.
pub const MIN_FRAME: usize = 60;

/// A MAC address, in the order of the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no MAC address: six pairs of hexadecimal digits, as 02:00:00:00:00:01")]
pub struct MacAddressError(String);

impl FromStr for MacAddress {
    type Err = MacAddressError;
    /// Parses six pairs of hexadecimal digits with `:` or `-` between them.
    fn from_str(text: &str) -> Result<Self, MacAddressError> {
        let wrong = || MacAddressError(text.to_owned());
        let mut address = [0; 6];
        let mut pairs = text.split([':', '-']);
        for byte in &mut address {
            let pair = pairs.next().filter(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()));
            *byte = u8::from_str_radix(pair.ok_or_else(wrong)?, 16).map_err(|_| wrong())?;
        }
        if pairs.next().is_some() { Err(wrong()) } else { Ok(Self(address)) }
    }
}

/// Starts a frame.
pub(super) fn header(destination: MacAddress, source: MacAddress, ether_type: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(MIN_FRAME);
    frame.extend_from_slice(&destination.0);
    frame.extend_from_slice(&source.0);
    frame.extend_from_slice(&ether_type.to_be_bytes());
    frame
}

/// Returns destination, source and EtherType.
pub(super) fn read_header(r: &mut Reader<'_>) -> Result<(MacAddress, MacAddress, u16), WireError> {
    Ok((MacAddress(r.array()?), MacAddress(r.array()?), r.u16()?))
}

/// Parses the header of a control frame for `station`. Ethernet never delivers frames below
/// [`MIN_FRAME`].
pub(super) fn read_control_header(
    r: &mut Reader<'_>,
    have: usize,
    station: MacAddress,
    expected: u16,
) -> Result<(MacAddress, MacAddress), WireError> {
    if have < MIN_FRAME {
        return Err(WireError::Truncated { have, need: MIN_FRAME });
    }
    let (destination, source, found) = read_header(r)?;
    if found != expected {
        return Err(WireError::EtherType { found, expected });
    }
    if destination != MAC_CONTROL_ADDRESS && destination != station {
        return Err(WireError::Destination { found: destination });
    }
    Ok((destination, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        assert_eq!("01-80-C2-00-00-01".parse(), Ok(MAC_CONTROL_ADDRESS));
        assert_eq!(MAC_CONTROL_ADDRESS.to_string().parse(), Ok(MAC_CONTROL_ADDRESS));
        for text in [
            "",
            "01:80:c2:00:00",
            "01:80:c2:00:00:01:02",
            "+1:80:c2:00:00:01",
            "1:80:c2:00:00:001",
            "é0:80:c2:00:00:01",
        ] {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }
}
