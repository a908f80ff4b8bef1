//! The names of a host's classes as a message.
//!
//! A controller sends them to hosts whose frames have classes of their own.

use super::bytes::Reader;
use super::control::CLASS_NAMES;
use super::datagram::{Body, Header};
use super::error::{EncodeError, WireError};
use super::extended::PfcClass;
use timeplane_model::{HostId, Round, Time};

/// The destination of each PFC class of a host, from a round on. It is a state, not a change:
/// classes that are not listed have no destination.
///
/// Header: kind 6, the round, and its start. Then 8 bytes for each: class 2 (5 bits zero, 11 bits
/// class), zero 2, destination 4, in the order of classes. Papers leave open how hosts learn
/// this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassNames {
    /// Counts the starts of the controller.
    pub epoch: u32,
    /// The first round with these names.
    pub round: Round,
    /// When that round starts, by the controller's clock.
    pub effective: Time,
    /// In the order of classes, each class and each destination at most once.
    pub names: Vec<(PfcClass, HostId)>,
}

impl ClassNames {
    pub(super) fn encode(&self) -> Result<Vec<Vec<u8>>, EncodeError> {
        let mut body = Body::default();
        body.end();
        for (class, destination) in &self.names {
            body.put(u64::from(class.get()), 2);
            body.put(0, 2);
            body.put(u64::from(destination.0), 4);
            body.end();
        }
        if let Some(index) = first_fault(&self.names) {
            return Err(EncodeError::Disordered { what: "class", index });
        }
        body.datagrams(Header::new(CLASS_NAMES, self.epoch, self.round.0, self.effective))
    }

    pub(super) fn decode(header: &Header, body: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let mut names = Vec::new();
        while !r.is_empty() {
            let at = r.at();
            let class = PfcClass::new(r.u16()?).ok_or(WireError::Reserved { at })?;
            r.zeros(2)?;
            names.push((class, HostId(r.u32()?)));
        }
        if let Some(index) = first_fault(&names) {
            return Err(WireError::Disordered { at: 8 * index });
        }
        Ok(Self { epoch: header.epoch, round: Round(header.number), effective: header.time, names })
    }
}

/// The first name whose class is not above the one before, or whose destination is named already.
fn first_fault(names: &[(PfcClass, HostId)]) -> Option<usize> {
    let mut seen = std::collections::BTreeSet::new();
    (0..names.len()).find(|&i| (i > 0 && names[i - 1].0 >= names[i].0) || !seen.insert(names[i].1))
}
