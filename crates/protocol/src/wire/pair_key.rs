//! Tags of frames between hosts: who sent a frame, and that nobody has changed it.
//!
//! Each host makes a [`HostSecret`] and tells it to its controllers alone. From it follows one
//! [`PairKey`] for each host that sends to this one: the host computes them, and the controller
//! tells each sender its own. Nobody can compute the secret, or another sender's key, from a key.

use super::data::DataHeader;
use super::sealed::{same, tag};
use core::fmt;
use timeplane_model::HostId;

/// What a host makes at its start, and tells its controllers: 256 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HostSecret(pub [u8; 32]);

/// The key of the frames from one host to another: 128 bits, known to these two and to their
/// controllers. The other direction has another key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PairKey(pub [u8; 16]);

impl fmt::Debug for HostSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostSecret(..)")
    }
}

impl fmt::Debug for PairKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairKey(..)")
    }
}

/// What keys of pairs are derived for, so that another use of a secret has other keys.
const PURPOSE: &[u8] = b"timeplane: frames between two hosts";

impl HostSecret {
    /// Derives, by keyed BLAKE3, the key of frames from `sender` to `owner`, the host that has made
    /// the secret.
    pub fn key_of(&self, sender: HostId, owner: HostId) -> PairKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(PURPOSE).update(&sender.0.to_be_bytes()).update(&owner.0.to_be_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        PairKey(key)
    }
}

impl PairKey {
    /// Bytes of a tag.
    ///
    /// A forger needs 2^63 frames on average, which take 2,000 years at 100 Gb/s.
    pub const TAG: usize = 8;

    /// SipHash-2-4, as for signals: a MAC without nonces, for half the time of HMAC-SHA-256 and a
    /// sixth of that of keyed BLAKE3 at 1500 B.
    fn tag(&self, bytes: &[u8]) -> [u8; Self::TAG] {
        tag(&self.0, bytes)
    }

    /// Appends the tag to a frame whose header says that it is [sealed](DataHeader::sealed). It
    /// covers all bytes of the frame, Ethernet's header included.
    pub fn seal(&self, frame: &mut Vec<u8>) {
        let tag = self.tag(frame);
        frame.extend_from_slice(&tag);
    }

    /// Whether a sealed frame has the tag of this key. `header` is the frame's, as it was parsed.
    pub fn fits(&self, frame: &[u8], header: &DataHeader) -> bool {
        let signed = DataHeader::BYTES + usize::from(header.payload);
        let found = frame.get(signed..signed + Self::TAG);
        header.sealed && found.is_some_and(|found| same(found, &self.tag(&frame[..signed])))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DataKind, MacAddress};
    use super::*;
    use proptest::prelude::*;

    const SECRET: HostSecret = HostSecret([7; 32]);

    fn sealed(key: &PairKey, payload: &[u8], padding: usize) -> Vec<u8> {
        let header = DataHeader {
            destination: MacAddress([1; 6]),
            source: MacAddress([2; 6]),
            kind: DataKind::Stream,
            class: 3,
            payload: payload.len() as u16,
            host: HostId(2),
            epoch: 9,
            stream: 4,
            port: 5,
            sealed: true,
            offset: 77,
            length: None,
        };
        let mut frame = [&header.encode()[..], payload].concat();
        key.seal(&mut frame);
        frame.resize(frame.len() + padding, 0);
        frame
    }

    fn fits(key: &PairKey, frame: &[u8]) -> bool {
        DataHeader::parse(frame).is_ok_and(|(header, _)| key.fits(frame, &header))
    }

    #[test]
    fn every_pair_and_direction_has_its_own_key() {
        let mut keys: Vec<[u8; 16]> = Vec::new();
        for secret in [SECRET, HostSecret([8; 32])] {
            for (sender, owner) in [(0, 1), (1, 0), (2, 0), (0, 2), (1, 2), (2, 1), (0, 0x0100_0000)] {
                keys.push(secret.key_of(HostId(sender), HostId(owner)).0);
            }
        }
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
        assert!(keys.iter().all(|key| !SECRET.0.starts_with(key)));
        assert_eq!(format!("{SECRET:?} {:?}", PairKey([1; 16])), "HostSecret(..) PairKey(..)");
    }

    proptest! {
        #[test]
        fn a_frame_fits_its_key_alone_and_no_bit_can_change(
            payload in proptest::collection::vec(any::<u8>(), 0..200), padding in 0usize..9, other: [u8; 16], bit: u16,
        ) {
            let key = SECRET.key_of(HostId(2), HostId(1));
            let mut frame = sealed(&key, &payload, padding);
            prop_assert!(fits(&key, &frame));
            prop_assert!(!fits(&PairKey(other), &frame));
            let signed = DataHeader::BYTES + payload.len() + PairKey::TAG;
            let bit = usize::from(bit) % (8 * signed);
            frame[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!fits(&key, &frame), "bit {}", bit);
            frame[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!fits(&key, &frame[..signed - 1]));
        }
    }
}
