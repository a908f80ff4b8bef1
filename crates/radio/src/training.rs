//! Beam training over the air: sector-level sweeps of 802.11ad.
//!
//! Durations follow from the MAC's parameters.

use crate::mac::MacParameters;
use crate::mcs::Mcs;
use timeplane_model::{Bytes, Duration};

/// Octets of a sector sweep frame.
const SSW: Bytes = Bytes::new(26);
/// Octets of the feedback, and of its acknowledgment.
const SSW_FEEDBACK: Bytes = Bytes::new(28);

impl MacParameters {
    /// Duration of one side's sweep: one frame per sector at the control rate, SBIFS apart. 36
    /// sectors take 0.57 ms; zero sectors take no time.
    pub fn sector_sweep(&self, sectors: u32) -> Duration {
        if sectors == 0 {
            return Duration::ZERO;
        }
        let frame = self.airtime(Mcs::constant(0), SSW);
        frame * i64::from(sectors) + self.sbifs * (i64::from(sectors) - 1)
    }

    /// Duration of both sweeps, the feedback and its acknowledgment, MBIFS apart. Afterwards each
    /// side knows its best sector.
    pub fn beam_training(&self, initiator: u32, responder: u32) -> Duration {
        let feedback = self.airtime(Mcs::constant(0), SSW_FEEDBACK);
        self.sector_sweep(initiator) + self.sector_sweep(responder) + feedback * 2 + self.mbifs * 3
    }
}
