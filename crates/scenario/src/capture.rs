//! Capture points: the values of `record.capture`, such as `host 3`, `link 5` or `controller 0`.
//! The text of a capture point is also the name of its pcapng file.

use crate::{PlanSpec, Scenario, Scheme};
use core::fmt;
use core::str::FromStr;

/// Where frames are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturePoint {
    /// A host: all frames that it sends and receives, including control messages.
    Host(u32),
    /// A link: one direction of a wire or of an air link.
    Link(u32),
    /// A controller: all control messages that it sends and receives. 0 is the first controller;
    /// the standby and relays follow.
    Controller(u32),
}

impl CapturePoint {
    /// First words of the kinds of capture points.
    pub const WORDS: [&'static str; 3] = ["host", "link", "controller"];

    /// Name of the file for its frames, in the folder of a run.
    pub fn file_name(&self) -> String {
        format!("{}.pcapng", self.to_string().replace(' ', "-"))
    }
    /// The first word and the number.
    pub const fn parts(&self) -> (&'static str, u32) {
        match *self {
            Self::Host(n) => ("host", n),
            Self::Link(n) => ("link", n),
            Self::Controller(n) => ("controller", n),
        }
    }
    /// Number of capture points of this kind under a scheme, before the fabric is built; `seen` is
    /// the scenario as the scheme sees it.
    pub fn count(&self, seen: &Scenario, scheme: &Scheme) -> u128 {
        match self {
            Self::Host(_) => seen.fabric.hosts(),
            Self::Link(_) => {
                // Air links that do not replace a wire follow all wires.
                let beside = seen.fabric.radio.iter().flat_map(|r| &r.link).filter(|l| l.share.is_some()).count();
                let flyways = match &scheme.plan {
                    Some(PlanSpec::Flyways(f)) => seen.fabric.hosts() * u128::from(f.channels),
                    _ => 0,
                };
                2 * (seen.fabric.wires() + beside as u128) + flyways
            }
            Self::Controller(_) => match &scheme.plan {
                None => 0,
                Some(PlanSpec::Tdma(slots)) => {
                    1 + u128::from(slots.standby.is_some()) + slots.controllers.map_or(0, |m| u128::from(m.count))
                }
                Some(_) => 1,
            },
        }
    }
}

impl fmt::Display for CapturePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, number) = self.parts();
        write!(f, "{word} {number}")
    }
}

/// A text that is not a capture point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid capture point `{0}`: expected `host N`, `link N` or `controller N`")]
pub struct CapturePointError(String);

impl FromStr for CapturePoint {
    type Err = CapturePointError;
    /// Parses a word and a number, separated by one space.
    fn from_str(text: &str) -> Result<Self, CapturePointError> {
        let wrong = || CapturePointError(text.to_owned());
        let (word, number) = text.split_once(' ').ok_or_else(wrong)?;
        // Neither signs nor leading zeros: a capture point has one name.
        let number = number.parse::<u32>().ok().filter(|n| n.to_string() == number).ok_or_else(wrong)?;
        match word {
            "host" => Ok(Self::Host(number)),
            "link" => Ok(Self::Link(number)),
            "controller" => Ok(Self::Controller(number)),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_name() {
        for point in [CapturePoint::Host(0), CapturePoint::Link(4_000_000_000), CapturePoint::Controller(1)] {
            assert_eq!(point.to_string().parse(), Ok(point));
        }
        assert_eq!(CapturePoint::Link(5).file_name(), "link-5.pcapng");
        for text in ["", "host", "host 03", "host +3", "host  3", "Host 3", "host 3 ", "link 4294967296", "wire 1"] {
            assert!(text.parse::<CapturePoint>().is_err(), "{text}");
        }
    }
}
