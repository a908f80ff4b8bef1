//! Who hears whom: the stations that keep silent while another one sends.
//!
//! Frames start and end far more often than beams move, so each station's listeners are a set that
//! is computed when a beam moves. [`Medium::hears`] defines the sets.

use super::{Access, Medium};

/// For each station, the stations that hear it, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hearing {
    listeners: Vec<Vec<u32>>,
}

impl Hearing {
    /// Those that hear a station.
    pub fn listeners(&self, sender: u32) -> &[u32] {
        &self.listeners[sender as usize]
    }

    fn set(&mut self, listener: u32, sender: u32, hears: bool) {
        let set = &mut self.listeners[sender as usize];
        match (set.binary_search(&listener), hears) {
            (Err(place), true) => set.insert(place, listener),
            (Ok(place), false) => drop(set.remove(place)),
            _ => {}
        }
    }
}

impl Medium {
    /// Whether a station keeps silent while another one sends, as beams point now.
    fn hears(&self, h: u32, s: u32) -> bool {
        if matches!(self.spec.access, Access::NoBackoff | Access::Token) {
            // A station without back-off listens only to the other end of its link: such links are
            // planned not to disturb each other.
            let joins =
                |a: u32, b: u32| self.stations[a as usize].links.iter().any(|&l| self.links[l as usize].to() == b);
            return joins(s, h) || joins(h, s);
        }
        let channels = &self.spec.channels;
        channels[h as usize] == channels[s as usize] && self.frames.power(s, h) >= self.spec.senses.get()
    }

    /// The sets by their definition.
    pub(super) fn hearing_anew(&self) -> Hearing {
        let n = self.stations.len() as u32;
        let of = |s: u32| (0..n).filter(|&h| h != s && self.hears(h, s)).collect();
        Hearing { listeners: (0..n).map(of).collect() }
    }

    /// A station's antenna or one of its links points elsewhere.
    pub(super) fn beam_moved(&mut self, station: u32) {
        let mut hearing = std::mem::take(&mut self.hearing);
        for other in (0..self.stations.len() as u32).filter(|&o| o != station) {
            hearing.set(other, station, self.hears(other, station));
            hearing.set(station, other, self.hears(station, other));
        }
        self.hearing = hearing;
    }
}
