//! Goodput of one TCP flow over a 60 GHz link, by arithmetic.
//!
//! This is the independent check of flyways' table 2. It assumes no collision, no loss and a window
//! that never limits; each access carries one full frame. The simulator shares no code with it.

use crate::mac::MacParameters;
use crate::mcs::Mcs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Rate};

/// Path of TCP acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckPath {
    /// The air link, as for data.
    #[default]
    Air,
    /// The wires, if there are any.
    Wire,
}

/// Medium access before a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// AIFS and half of the minimum contention window.
    Dcf,
    /// AIFS: no random back-off.
    NoBackoff,
    /// SIFS: frames back to back.
    BackToBack,
}

/// IP and TCP headers, without options.
const HEADERS: Bytes = Bytes::new(40);

/// Application bytes per second of one flow in one direction, with one acknowledgment per two
/// segments.
///
/// A frame holds as much payload as fits. If a frame has one checksum over its packets
/// (`flyways-draft`), segments may be cut to fill it, as in the source: 6.65 segments of 10 kB are
/// 66,500 B. Otherwise segments are whole.
///
/// # Panics
/// If not even one octet fits.
pub fn tcp_goodput(mac: &MacParameters, mcs: Mcs, acks: AckPath, access: Access) -> Rate {
    let a = &mac.aggregation;
    let packet = mac.segment + HEADERS;
    // Segments per frame, in hundredths, because the source cuts segments to tenths.
    let hundredths = if a.packets_are_checked {
        100 * mac.fill(mcs, core::iter::repeat_n(packet, 1 << 16)) as u64
    } else {
        100 * (a.max_psdu - a.per_frame).get() / mac.in_frame(packet).get()
    };
    assert!(hundredths > 0, "nothing fits into a frame");
    let psdu =
        |of: Bytes, hundredths: u64| a.per_frame + Bytes::new((mac.in_frame(of) * hundredths).get().div_ceil(100));
    let wait = match access {
        Access::Dcf => mac.aifs() + (mac.slot * i64::from(mac.cw_min)) / 2,
        Access::NoBackoff => mac.aifs(),
        Access::BackToBack => mac.sifs,
    };
    let data = wait + mac.exchange(mcs, psdu(packet, hundredths));
    let answer = match acks {
        AckPath::Wire => Duration::ZERO,
        AckPath::Air => mac.aifs() + mac.exchange(mcs, psdu(HEADERS, hundredths.div_ceil(2))),
    };
    // bits / s = bits 10^12 / ps.
    let bits = u128::from((mac.segment * hundredths).get()) * 8 / 100;
    let cycle = u128::try_from((data + answer).as_ps()).expect("a cycle lasts");
    Rate::bps(u64::try_from(bits * 1_000_000_000_000 / cycle).unwrap_or(u64::MAX))
}
