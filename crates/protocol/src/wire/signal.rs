//! A controller's signal as a frame.
//!
//! It pauses all classes except one, and bounds how long that one may send.

use super::error::{EncodeError, WireError};
use super::ethernet::{MIN_FRAME, MacAddress};
use super::extended::{ExtendedPfcFrame, PfcClass};
use super::quanta::Quanta;
use crate::message::Pfc;

impl Pfc {
    /// Encodes the signal as an [`ExtendedPfcFrame`] without FCS: it pauses all classes except the
    /// open one, with the hold.
    ///
    /// # Errors
    ///
    /// If the class has more than 11 bits, or the hold is negative.
    pub fn encode(&self, source: MacAddress, destination: MacAddress) -> Result<[u8; MIN_FRAME], EncodeError> {
        let class = |number| {
            let most = u64::from(PfcClass::COUNT) - 1;
            PfcClass::new(number).ok_or(EncodeError::Range { what: "class", value: u64::from(number), most })
        };
        let open = self.open.map(class).transpose()?;
        // Pauses last until the next frame, regardless of the hold. Standard pauses end by
        // themselves and are sent again.
        let numbers = (self.epoch, self.sequence);
        let frame = ExtendedPfcFrame::all_but(source, destination, numbers, open, Quanta::MAX);
        Ok(frame.holding(self.hold)?.encode())
    }

    /// Parses a frame that `station` received.
    ///
    /// # Errors
    ///
    /// As [`ExtendedPfcFrame::parse`], and if it opens more than one class, pauses not all other
    /// ones, or has no hold.
    pub fn parse(frame: &[u8], station: MacAddress) -> Result<Self, WireError> {
        let frame = ExtendedPfcFrame::parse(frame, station)?;
        let fault = |at, what| Err(WireError::Value { at, what });
        if frame.others != Some(Quanta::MAX) {
            return fault(18, "others than all paused");
        }
        let Some(hold) = frame.hold() else { return fault(17, "no hold") };
        let open = match frame.classes() {
            [] => None,
            [(class, Quanta::ZERO)] => Some(class.get()),
            [_] => return fault(30, "a named class that is paused"),
            _ => return fault(17, "more than one open class"),
        };
        Ok(Self { epoch: frame.epoch, sequence: frame.signal, open, hold })
    }
}
