//! PFC with 11 bits of class.
//!
//! The layout is our own, as the paper gives none.

use super::bytes::Reader;
use super::error::{EncodeError, WireError};
use super::ethernet::{self, ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_MAC_CONTROL, MIN_FRAME, MacAddress};
use super::quanta::Quanta;
use timeplane_model::Duration;

/// The opcode of an [`ExtendedPfcFrame`]. It is our choice: table 31A-1 of IEEE 802.3 reserves it,
/// and stations drop unknown opcodes.
pub const OPCODE_EXTENDED_PFC: u16 = 0x010b;

/// A traffic class of one sender, with 11 bits. Its meaning is between this sender and the
/// controller, so every link has its own names ("Practical TDMA for datacenter Ethernet", section
/// 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PfcClass(u16);

impl PfcClass {
    /// The number of classes.
    pub const COUNT: u16 = 1 << 11;

    /// The class of this number; `None` from [`COUNT`](Self::COUNT) on.
    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number)) } else { None }
    }
    /// The number of this class.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// The EtherType of an [`ExtendedPfcFrame`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignalEtherType {
    /// 0x88B5, for local experiments: switches forward it like data. Agents use it among
    /// themselves.
    #[default]
    Experimental,
    /// 0x8808, as PFC. Interfaces and switches may act on it, or drop it before software sees it.
    MacControl,
}

impl SignalEtherType {
    /// Number in the Ethernet header.
    pub const fn number(self) -> u16 {
        match self {
            Self::Experimental => ETHER_TYPE_EXPERIMENTAL,
            Self::MacControl => ETHER_TYPE_MAC_CONTROL,
        }
    }
}

/// A PFC frame with an 11-bit class field, which TDMA needs beyond eight destinations.
///
/// The paper gives only the 11 bits; the layout is our own:
///
/// | byte | length | field |
/// | --- | --- | --- |
/// | 0 | 6 | destination |
/// | 6 | 6 | source |
/// | 12 | 2 | EtherType 0x88B5, or 0x8808 |
/// | 14 | 2 | opcode 0x010B |
/// | 16 | 1 | version: 1 |
/// | 17 | 1 | bit 7: the time at 18 counts; bit 6: the hold at 48 does; bits 0 to 2: how many classes are named, at most 4; others zero |
/// | 18 | 2 | time in quanta for all classes that are not named; zero where it does not count |
/// | 20 | 4 | epoch of the controller |
/// | 24 | 4 | number of the signal, its lower half |
/// | 28 | 16 | four times: class (5 bits zero, 11 bits class) and time in quanta; zero where none is named |
/// | 44 | 4 | number of the signal, its upper half |
/// | 48 | 8 | hold in picoseconds, with bit 63 zero; zero where it does not count |
/// | 56 | 4 | zero |
///
/// As in PFC, a time of zero opens a class, and other times pause it. Four classes are enough: one
/// is open for the slot or circuit, one for a packet network, and earlier ones may be paused by
/// name. The hold bounds how long opened classes may send. Pause times only end pauses, and a
/// controller that fails must not leave a gate open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedPfcFrame {
    /// The sender's address.
    pub source: MacAddress,
    /// The station's own address, or [`MAC_CONTROL_ADDRESS`](super::MAC_CONTROL_ADDRESS), which no
    /// bridge forwards.
    pub destination: MacAddress,
    /// The EtherType to use.
    pub ether_type: SignalEtherType,
    /// Counts the starts of the controller; frames of a lower epoch are void.
    pub epoch: u32,
    /// Counts the frames of an epoch; older ones are dropped.
    pub signal: u64,
    /// The time for all classes without a name; `None` leaves them as they are.
    pub others: Option<Quanta>,
    classes: Vec<(PfcClass, Quanta)>,
    hold: Option<Duration>,
}

/// The position of the first named class.
const CLASSES_AT: usize = 28;
/// The position of the upper half of the signal's number.
const HIGH_AT: usize = 44;
const VERSION: u8 = 1;
const OTHERS: u8 = 0x80;
const HOLDS: u8 = 0x40;

impl ExtendedPfcFrame {
    /// The most named classes of a frame.
    pub const MOST: usize = 4;

    /// A frame for one station, under the experimental EtherType, about named classes and perhaps
    /// all `others`.
    ///
    /// # Errors
    ///
    /// If more than [`MOST`](Self::MOST) classes are named, or one twice.
    pub fn new(
        source: MacAddress,
        destination: MacAddress,
        (epoch, signal): (u32, u64),
        others: Option<Quanta>,
        classes: Vec<(PfcClass, Quanta)>,
    ) -> Result<Self, EncodeError> {
        if classes.len() > Self::MOST {
            let (value, most) = (classes.len() as u64, Self::MOST as u64);
            return Err(EncodeError::Range { what: "a number of classes", value, most });
        }
        if let Some(index) = first_twice(&classes) {
            return Err(EncodeError::Disordered { what: "class", index });
        }
        Ok(Self {
            source,
            destination,
            ether_type: SignalEtherType::default(),
            epoch,
            signal,
            others,
            classes,
            hold: None,
        })
    }
    /// Pauses everything for `time` except one class: the signal that starts a slot. Without a
    /// class, it ends one.
    pub fn all_but(
        source: MacAddress,
        destination: MacAddress,
        numbers: (u32, u64),
        open: Option<PfcClass>,
        time: Quanta,
    ) -> Self {
        let classes = open.into_iter().map(|c| (c, Quanta::ZERO)).collect();
        Self::new(source, destination, numbers, Some(time), classes).expect("one class at most")
    }
    /// Sets the longest time that opened classes may send.
    ///
    /// # Errors
    ///
    /// If it is negative.
    pub fn holding(self, hold: Duration) -> Result<Self, EncodeError> {
        if hold.is_negative() {
            let (value, most) = (hold.as_ps() as u64, i64::MAX as u64);
            return Err(EncodeError::Range { what: "hold", value, most });
        }
        Ok(Self { hold: Some(hold), ..self })
    }
    /// The longest time that opened classes may send, if set.
    pub const fn hold(&self) -> Option<Duration> {
        self.hold
    }
    /// The named classes with their times.
    pub fn classes(&self) -> &[(PfcClass, Quanta)] {
        &self.classes
    }
    /// The effect on a class: zero opens it, other times pause it, `None` leaves it as it is.
    pub fn time(&self, class: PfcClass) -> Option<Quanta> {
        self.classes.iter().find(|c| c.0 == class).map(|c| c.1).or(self.others)
    }
    /// Encodes the frame without FCS.
    pub fn encode(&self) -> [u8; MIN_FRAME] {
        let mut frame = [0; MIN_FRAME];
        frame[..14].copy_from_slice(&ethernet::header(self.destination, self.source, self.ether_type.number()));
        frame[14..16].copy_from_slice(&OPCODE_EXTENDED_PFC.to_be_bytes());
        frame[16] = VERSION;
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        frame[17] = self.classes.len() as u8 | flag(self.others.is_some(), OTHERS) | flag(self.hold.is_some(), HOLDS);
        frame[18..20].copy_from_slice(&self.others.unwrap_or_default().0.to_be_bytes());
        frame[20..24].copy_from_slice(&self.epoch.to_be_bytes());
        let signal = self.signal.to_be_bytes();
        frame[24..28].copy_from_slice(&signal[4..]);
        frame[44..48].copy_from_slice(&signal[..4]);
        frame[48..56].copy_from_slice(&self.hold.unwrap_or_default().as_ps().to_be_bytes());
        for (i, (class, time)) in self.classes.iter().enumerate() {
            frame[CLASSES_AT + 4 * i..][..2].copy_from_slice(&class.0.to_be_bytes());
            frame[CLASSES_AT + 4 * i + 2..][..2].copy_from_slice(&time.0.to_be_bytes());
        }
        frame
    }
    /// Parses a frame that `station` received, under either EtherType.
    ///
    /// # Errors
    ///
    /// If it is shorter than 60 B, has another EtherType, opcode, station or version, has reserved
    /// bits set, or names more than four classes or one twice.
    pub fn parse(frame: &[u8], station: MacAddress) -> Result<Self, WireError> {
        let ether_type = match frame.get(12..14) {
            Some([0x88, 0x08]) => SignalEtherType::MacControl,
            _ => SignalEtherType::Experimental,
        };
        let mut r = Reader::new(frame);
        let (destination, source) = ethernet::read_control_header(&mut r, frame.len(), station, ether_type.number())?;
        match r.u16()? {
            OPCODE_EXTENDED_PFC => {}
            found => return Err(WireError::Opcode { found }),
        }
        match r.u8()? {
            VERSION => {}
            found => return Err(WireError::Version { found }),
        }
        let flags = r.u8()?;
        if flags & !(OTHERS | HOLDS | 7) != 0 {
            return Err(WireError::Reserved { at: 17 });
        }
        let named = usize::from(flags & 7);
        if named > Self::MOST {
            return Err(WireError::Value { at: 17, what: "more than 4 classes" });
        }
        let others = if flags & OTHERS != 0 {
            Some(Quanta(r.u16()?))
        } else {
            r.zeros(2)?;
            None
        };
        let (epoch, low) = (r.u32()?, r.u32()?);
        let mut classes = Vec::with_capacity(named);
        for i in 0..named {
            let class = PfcClass::new(r.u16()?).ok_or(WireError::Reserved { at: CLASSES_AT + 4 * i })?;
            classes.push((class, Quanta(r.u16()?)));
        }
        if let Some(i) = first_twice(&classes) {
            return Err(WireError::Disordered { at: CLASSES_AT + 4 * i });
        }
        r.zeros(HIGH_AT - r.at())?;
        let signal = u64::from(r.u32()?) << 32 | u64::from(low);
        let hold = if flags & HOLDS != 0 {
            let ps = r.i64()?;
            if ps < 0 {
                return Err(WireError::Reserved { at: HIGH_AT + 4 });
            }
            Some(Duration::from_ps(ps))
        } else {
            r.zeros(8)?;
            None
        };
        r.zeros(MIN_FRAME - r.at())?;
        Ok(Self { source, destination, ether_type, epoch, signal, others, classes, hold })
    }
}

/// The first class that repeats an earlier one.
fn first_twice(classes: &[(PfcClass, Quanta)]) -> Option<usize> {
    (1..classes.len()).find(|&i| classes[..i].iter().any(|c| c.0 == classes[i].0))
}
