//! Standard PAUSE frames and priority-based flow control.
//!
//! Both are MAC control frames, which bridges do not forward.

use super::bytes::Reader;
use super::error::WireError;
use super::ethernet::{self, ETHER_TYPE_MAC_CONTROL, MAC_CONTROL_ADDRESS, MIN_FRAME, MacAddress};
use super::extended::{ExtendedPfcFrame, OPCODE_EXTENDED_PFC};
use super::quanta::Quanta;

/// The opcode of PAUSE (IEEE 802.3, annex 31B).
pub const OPCODE_PAUSE: u16 = 0x0001;

/// The opcode of priority-based flow control (IEEE 802.3, annex 31D; 802.1Qbb, now 802.1Q clause
/// 36).
pub const OPCODE_PFC: u16 = 0x0101;

/// An 802.3x PAUSE frame: the other end of the link stops sending for a time.
///
/// | byte | length | field |
/// | --- | --- | --- |
/// | 0 | 6 | destination |
/// | 6 | 6 | source |
/// | 12 | 2 | EtherType 0x8808 |
/// | 14 | 2 | opcode 0x0001 |
/// | 16 | 2 | pause time in quanta of 512 bit times |
/// | 18 | 42 | zero; not looked at when read |
///
/// It has 60 B without FCS. Bytes after that are ignored, as captures may have the FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrame {
    /// The sender's address.
    pub source: MacAddress,
    /// [`MAC_CONTROL_ADDRESS`], which bridges do not forward, or the station's own address, which a
    /// controller several switches away uses.
    pub destination: MacAddress,
    /// The length of the pause; zero ends one.
    pub time: Quanta,
}

impl PauseFrame {
    /// A frame for the other end of the link.
    pub const fn new(source: MacAddress, time: Quanta) -> Self {
        Self { source, destination: MAC_CONTROL_ADDRESS, time }
    }
    /// Encodes the frame without FCS.
    pub fn encode(&self) -> [u8; MIN_FRAME] {
        let parameters = self.time.0.to_be_bytes();
        control_frame(self.destination, self.source, OPCODE_PAUSE, &parameters)
    }
    /// Parses a frame that `station` received.
    ///
    /// # Errors
    ///
    /// If it is shorter than 60 B, or has another EtherType, opcode or station.
    pub fn parse(frame: &[u8], station: MacAddress) -> Result<Self, WireError> {
        match ControlFrame::parse(frame, station)? {
            ControlFrame::Pause(pause) => Ok(pause),
            other => Err(WireError::Opcode { found: other.opcode() }),
        }
    }
}

/// An 802.1Qbb PFC frame: the other end of the link stops sending some of its eight classes for a
/// time each.
///
/// | byte | length | field |
/// | --- | --- | --- |
/// | 0 | 6 | destination |
/// | 6 | 6 | source |
/// | 12 | 2 | EtherType 0x8808 |
/// | 14 | 2 | opcode 0x0101 |
/// | 16 | 2 | class-enable vector: bit n (1 << n) says that time n counts; the upper byte is zero, not looked at when read |
/// | 18 | 16 | eight times in quanta, class 0 first; zero, not looked at when read, where the class is not enabled |
/// | 34 | 26 | zero; not looked at when read |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcFrame {
    /// The sender's address.
    pub source: MacAddress,
    /// As in a [`PauseFrame`]; the standard allows [`MAC_CONTROL_ADDRESS`] only.
    pub destination: MacAddress,
    /// The pause of each class from now on; zero opens it, `None` leaves it as it is.
    pub times: [Option<Quanta>; 8],
}

impl PfcFrame {
    /// A frame for the other end of the link.
    pub const fn new(source: MacAddress, times: [Option<Quanta>; 8]) -> Self {
        Self { source, destination: MAC_CONTROL_ADDRESS, times }
    }
    /// Pauses everything for `time`, except the classes of `open` (bit n is class n): the signal
    /// that starts a slot of TDMA. Without an open class, it ends one ("Practical TDMA for
    /// datacenter Ethernet", section 5.1).
    pub fn all_but(source: MacAddress, open: u8, time: Quanta) -> Self {
        let times = core::array::from_fn(|n| Some(if open >> n & 1 == 1 { Quanta::ZERO } else { time }));
        Self::new(source, times)
    }
    /// Encodes the frame without FCS.
    pub fn encode(&self) -> [u8; MIN_FRAME] {
        let mut parameters = [0; 18];
        for (n, time) in self.times.iter().enumerate() {
            let Some(time) = time else { continue };
            parameters[1] |= 1 << n;
            parameters[2 + 2 * n..][..2].copy_from_slice(&time.0.to_be_bytes());
        }
        control_frame(self.destination, self.source, OPCODE_PFC, &parameters)
    }
    /// Parses a frame that `station` received.
    ///
    /// # Errors
    ///
    /// If it is shorter than 60 B, or has another EtherType, opcode or station.
    pub fn parse(frame: &[u8], station: MacAddress) -> Result<Self, WireError> {
        match ControlFrame::parse(frame, station)? {
            ControlFrame::Pfc(pfc) => Ok(pfc),
            other => Err(WireError::Opcode { found: other.opcode() }),
        }
    }
}

/// A known MAC control frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlFrame {
    /// An 802.3x PAUSE frame.
    Pause(PauseFrame),
    /// An 802.1Qbb PFC frame.
    Pfc(PfcFrame),
    /// Our extension with 11 bits of class.
    Extended(ExtendedPfcFrame),
}

impl ControlFrame {
    /// Parses a frame with EtherType 0x8808 that `station` received.
    ///
    /// # Errors
    ///
    /// If it is shorter than 60 B, has another EtherType, opcode or station, or is an invalid
    /// extended frame.
    pub fn parse(frame: &[u8], station: MacAddress) -> Result<Self, WireError> {
        let mut r = Reader::new(frame);
        let (destination, source) =
            ethernet::read_control_header(&mut r, frame.len(), station, ETHER_TYPE_MAC_CONTROL)?;
        match r.u16()? {
            OPCODE_PAUSE => Ok(Self::Pause(PauseFrame { source, destination, time: Quanta(r.u16()?) })),
            OPCODE_PFC => {
                let enabled = r.u16()?;
                let mut times = [None; 8];
                for (n, time) in times.iter_mut().enumerate() {
                    let quanta = Quanta(r.u16()?);
                    *time = (enabled >> n & 1 == 1).then_some(quanta);
                }
                Ok(Self::Pfc(PfcFrame { source, destination, times }))
            }
            OPCODE_EXTENDED_PFC => ExtendedPfcFrame::parse(frame, station).map(Self::Extended),
            found => Err(WireError::Opcode { found }),
        }
    }
    /// The name of the frame's kind.
    pub const fn opcode(&self) -> u16 {
        match self {
            Self::Pause(_) => OPCODE_PAUSE,
            Self::Pfc(_) => OPCODE_PFC,
            Self::Extended(_) => OPCODE_EXTENDED_PFC,
        }
    }
}

/// A MAC control frame, padded with zeros.
fn control_frame(destination: MacAddress, source: MacAddress, opcode: u16, parameters: &[u8]) -> [u8; MIN_FRAME] {
    let mut frame = [0; MIN_FRAME];
    frame[..14].copy_from_slice(&ethernet::header(destination, source, ETHER_TYPE_MAC_CONTROL));
    frame[14..16].copy_from_slice(&opcode.to_be_bytes());
    frame[16..16 + parameters.len()].copy_from_slice(parameters);
    frame
}
