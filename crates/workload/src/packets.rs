//! How flows are cut into packets.
//!
//! A packet mix gives fixed, alternating or random packet sizes.

use timeplane_model::{Bytes, mix64};
use timeplane_scenario::PacketMix;

/// A part of a distribution of IP packet sizes: whole numbers with equal probability, from `least`
/// to `most`.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Probability of this piece and all before it, in units of 2⁻³².
    pub below: u64,
    pub least: u32,
    pub most: u32,
}

const fn share(of: f64) -> u64 {
    (of * (1u64 << 32) as f64) as u64
}

/// 40 B with probability 0.4, otherwise 1500 B.
pub(crate) const BIMODAL: &[Piece] =
    &[Piece { below: share(0.4), least: 40, most: 40 }, Piece { below: 1 << 32, least: 1500, most: 1500 }];

/// The CDF that is linear between (40 B, 0), (150 B, 0.5) and (1500 B, 0.85) and jumps to 1 at 1500
/// B. It uses only the numbers that Roy et al. (SIGCOMM 2015) state for web servers. Its mean is
/// 561 B.
pub(crate) const FACEBOOK_WEB: &[Piece] = &[
    Piece { below: share(0.5), least: 40, most: 150 },
    Piece { below: share(0.85), least: 151, most: 1499 },
    Piece { below: 1 << 32, least: 1500, most: 1500 },
];

/// Alternating IP sizes.
pub(crate) const ALTERNATING: [u32; 2] = [1500, 40];

/// The largest payload of a single packet, so that headers and framing still fit into 32 bits.
pub(crate) const WHOLE: u32 = u32::MAX - 65_536;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Payload of each packet; [`WHOLE`] for flows in one packet.
    Even(u32),
    /// IP sizes drawn from pieces; a thin reference, because every flow has one.
    Random(&'static &'static [Piece]),
    /// Alternating IP sizes.
    Turns([u32; 2]),
}

/// Largest payload of a packet under this MTU.
pub(crate) fn largest_payload(mtu: Bytes, headers: u32) -> u32 {
    u32::try_from(mtu.get()).unwrap_or(u32::MAX).min(WHOLE).saturating_sub(headers).max(1)
}

impl Rule {
    pub(crate) fn new(mix: &PacketMix, mtu: Bytes, headers: u32) -> Self {
        match mix {
            PacketMix::Mtu => Self::Even(largest_payload(mtu, headers)),
            PacketMix::Fixed(size) => Self::Even(largest_payload(mtu.min(*size), headers)),
            PacketMix::Bimodal => Self::Random(&BIMODAL),
            PacketMix::FacebookWeb => Self::Random(&FACEBOOK_WEB),
            PacketMix::Alternating => Self::Turns(ALTERNATING),
            PacketMix::Single => Self::Even(WHOLE),
        }
    }
}

/// The sizes of one flow's successive packets. They are the same for the same seed, whatever scheme
/// sends them.
///
/// A packet's payload is its size less `headers` bytes, at least 1 B and at most what the MTU
/// allows. The last packet of a flow takes what is left. Each call draws a new size: a sender must
/// remember the size of a packet to send it again. It takes 32 bytes, without allocation.
#[derive(Clone, Copy, Debug)]
pub struct PacketSizer {
    state: u64,
    headers: u32,
    largest: u32,
    rule: Rule,
}

impl PacketSizer {
    /// Sizes by `mix` under an MTU (of IP packets), with `headers` bytes of headers inside it: 28
    /// for datagrams (IPv4 and UDP).
    ///
    /// If an MTU leaves no room besides the headers, every packet carries 1 B.
    /// [`PacketMix::Single`] ignores the MTU; flows above 4.29 GB still take several packets.
    pub fn new(mix: &PacketMix, mtu: Bytes, headers: u32, seed: u64) -> Self {
        let rule = Rule::new(mix, mtu, headers);
        // Alternating sizes are counted instead of drawn.
        let state = if matches!(rule, Rule::Turns(_)) { 0 } else { seed };
        Self { state, headers, largest: largest_payload(mtu, headers), rule }
    }

    /// Payload bytes of the next packet. It is 0 only if `remaining`, the payload that the flow has
    /// not yet sent, is 0.
    #[inline]
    pub fn next(&mut self, remaining: u64) -> u32 {
        let payload = match self.rule {
            Rule::Even(payload) => payload,
            Rule::Random(pieces) => {
                // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): upper half for the piece, lower
                // half within it.
                self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let r = mix64(self.state);
                let piece = pieces.iter().find(|p| r >> 32 < p.below).unwrap_or(&pieces[pieces.len() - 1]);
                let span = u64::from(piece.most - piece.least + 1);
                let size = piece.least + (((r & 0xffff_ffff) * span) >> 32) as u32;
                size.saturating_sub(self.headers).clamp(1, self.largest)
            }
            Rule::Turns(sizes) => {
                let size = sizes[self.state as usize];
                self.state ^= 1;
                size.saturating_sub(self.headers).clamp(1, self.largest)
            }
        };
        remaining.min(u64::from(payload)) as u32
    }
}
