//! Places whose frames are written down: the names of `record.capture`.

use crate::{PlanSpec, Scenario, Scheme};
use core::fmt;
use core::str::FromStr;

/// Where frames are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturePoint {
    /// At a host: all that it sends and receives, control messages among it.
    Host(u32),
    /// On a link: one direction of a wire, or of the air.
    Link(u32),
    /// At a controller: all control messages that it sends and receives. 0 is the first, then come a standby and relays, where there are any.
    Controller(u32),
}

impl CapturePoint {
    /// The words that name a kind of place.
    pub const WORDS: [&'static str; 3] = ["host", "link", "controller"];

    /// The file that its frames are written to, in the folder of a run.
    pub fn file_name(&self) -> String {
        format!("{}.pcapng", self.to_string().replace(' ', "-"))
    }
    /// Its word and its number.
    pub const fn parts(&self) -> (&'static str, u32) {
        match *self {
            Self::Host(n) => ("host", n),
            Self::Link(n) => ("link", n),
            Self::Controller(n) => ("controller", n),
        }
    }
    /// How many places of its kind there are under a scheme, before the fabric is built; `seen` is the scenario as the scheme sees it.
    pub fn count(&self, seen: &Scenario, scheme: &Scheme) -> u128 {
        match self {
            Self::Host(_) => seen.fabric.hosts(),
            Self::Link(_) => {
                // Those of the air that take no wire's place come after all wires.
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

/// A text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place: a word and a number are, as `host 3`, `link 5` or `controller 0`")]
pub struct CapturePointError(String);

impl FromStr for CapturePoint {
    type Err = CapturePointError;
    /// A word and a number with one space between them.
    fn from_str(text: &str) -> Result<Self, CapturePointError> {
        let wrong = || CapturePointError(text.to_owned());
        let (word, number) = text.split_once(' ').ok_or_else(wrong)?;
        // No sign, no zeros before it: a place has one name.
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
