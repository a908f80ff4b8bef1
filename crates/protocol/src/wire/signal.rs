//! The signal of a controller as a frame.

use super::error::{EncodeError, WireError};
use super::ethernet::{MIN_FRAME, MacAddress};
use super::extended::{ExtendedPfcFrame, PfcClass};
use super::quanta::Quanta;
use crate::message::Pfc;

impl Pfc {
    /// As an [`ExtendedPfcFrame`] without FCS: all classes are paused but the open one, and the frame says for how long that is so.
    ///
    /// # Errors
    /// Where the class has more than 11 bits, or the hold is negative.
    pub fn encode(&self, source: MacAddress, destination: MacAddress) -> Result<[u8; MIN_FRAME], EncodeError> {
        let class = |number| {
            let most = u64::from(PfcClass::COUNT) - 1;
            PfcClass::new(number).ok_or(EncodeError::Range { what: "class", value: u64::from(number), most })
        };
        let open = self.open.map(class).transpose()?;
        // Pauses last until the next frame, however long a hold is: those of the standard's quanta end by themselves, and are sent again.
        let numbers = (self.epoch, self.sequence);
        let frame = ExtendedPfcFrame::all_but(source, destination, numbers, open, Quanta::MAX);
        Ok(frame.holding(self.hold)?.encode())
    }

    /// Reads a frame that `station` received.
    ///
    /// # Errors
    /// As [`ExtendedPfcFrame::parse`], and where it is another state than all paused but one class at most, or does not say for how long.
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
