//! Interference between planned links: packet errors by SINR, for as long as others send.
//!
//! Only stations whose links have traces interfere here. Frames with a fixed rate are in `frame`.

use super::link::Quality;
use crate::engine::time::SimTime;
use std::sync::Arc;
use timeplane_radio::{Milliwatts, RateBySignal, all_right};

/// Powers between stations whose links have traces, and the packets in the air.
///
/// A packet is lost as if each of its code words had the SINR of its moment: against noise and all
/// others on the channel. The level of the link itself is that of the packet's start.
#[derive(Debug)]
pub struct Interference {
    n: usize,
    /// Power in mW by sender, then by receiver.
    powers: Vec<f64>,
    /// By link: how its errors follow from its levels; `None` without a trace.
    errors: Vec<Option<Arc<RateBySignal>>>,
    /// By sender: its packet in the air.
    sending: Vec<Option<Planned>>,
}

/// A packet in the air.
#[derive(Debug)]
struct Planned {
    link: u32,
    to: u32,
    quality: Quality,
    /// Its bytes relative to the packets of the error rates.
    share: f64,
    begin: SimTime,
    since: SimTime,
    /// Power of others since then, in mW.
    others: f64,
    /// Spans of time with the power of others, in mW.
    parts: Vec<(SimTime, SimTime, f64)>,
}

impl Interference {
    /// No station sends yet. Powers in mW by sender, then by receiver; 0 if it hears nothing.
    ///
    /// # Panics
    ///
    /// If `powers` is not a square.
    pub fn new(powers: Vec<f64>, errors: Vec<Option<Arc<RateBySignal>>>) -> Self {
        let n = powers.len().isqrt();
        assert_eq!(n * n, powers.len(), "a power for each pair of stations");
        Self { n, powers, errors, sending: (0..n).map(|_| None).collect() }
    }

    /// The power of all senders at a station, without the one that it listens to.
    fn others(&self, from: u32, to: u32) -> f64 {
        let senders = (0..self.n).filter(|&s| s != from as usize && s != to as usize && self.sending[s].is_some());
        // In the order of stations, so that the sum does not depend on who started first.
        senders.map(|s| self.powers[s * self.n + to as usize]).sum()
    }

    /// A station started or stopped: the interference of others changes.
    fn turn(&mut self, now: SimTime, station: u32) {
        for s in 0..self.n as u32 {
            let Some(to) = self.sending[s as usize].as_ref().map(|p| p.to) else { continue };
            if s == station || self.powers[station as usize * self.n + to as usize] == 0.0 {
                continue;
            }
            let others = self.others(s, to);
            if let Some(packet) = &mut self.sending[s as usize] {
                packet.turn(now, others);
            }
        }
    }

    /// A station starts a packet of `bytes` on a link of this quality.
    pub(super) fn begin(&mut self, now: SimTime, link: u32, [from, to]: [u32; 2], quality: Quality, bytes: u32) {
        let others = self.others(from, to);
        let share = f64::from(bytes) / f64::from(quality.packet.max(1));
        let packet = Planned { link, to, quality, share, begin: now, since: now, others, parts: Vec::new() };
        self.sending[from as usize] = Some(packet);
        self.turn(now, from);
    }

    /// A station's packet ends: the probability that it is intact, if any other station disturbed
    /// it.
    pub(super) fn end(&mut self, now: SimTime, from: u32) -> Option<f64> {
        let mut packet = self.sending[from as usize].take()?;
        self.turn(now, from);
        packet.turn(now, 0.0);
        if packet.parts.iter().all(|p| p.2 == 0.0) {
            return None;
        }
        let errors = self.errors[packet.link as usize].as_ref()?;
        let length = (now - packet.begin).as_ps().max(1) as f64;
        let Quality { mcs, level, packet_error, .. } = packet.quality;
        let part = |&(from, to, others): &(SimTime, SimTime, f64)| {
            let share = packet.share * (to - from).as_ps() as f64 / length;
            let wrong = match others {
                0.0 => packet_error,
                _ => errors.packet_error_among(mcs, level, Milliwatts::new(others)).unwrap_or(1.0),
            };
            all_right(wrong, share)
        };
        Some(packet.parts.iter().map(part).product())
    }
}

impl Planned {
    fn turn(&mut self, now: SimTime, others: f64) {
        if self.since < now {
            self.parts.push((self.since, now, self.others));
            self.since = now;
        }
        self.others = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Duration, Rate};
    use timeplane_radio::{Dbm, ErrorTables, LinkParameters, Mcs};

    fn us(us: i64) -> SimTime {
        SimTime::ZERO + Duration::from_us(us)
    }

    #[test]
    fn each_part_of_a_packet_counts_with_what_was_sent_beside_it() {
        let errors = RateBySignal::new(ErrorTables::bundled(), LinkParameters::default(), Mcs::single_carrier());
        let level = Dbm::new(-66.0);
        let link = errors.at(level).unwrap();
        let quality =
            Quality { level, mcs: link.mcs, rate: Rate::gbps(1), packet_error: link.packet_error, packet: 8_140 };
        // Station 1 hears 2 with one power and 4 with another. Stations 3 and 5 hear only their
        // senders.
        let [x, y] = [Dbm::new(-88.0).milliwatts(), Dbm::new(-90.0).milliwatts()];
        let mut powers = vec![0.0; 36];
        (powers[2 * 6 + 1], powers[4 * 6 + 1]) = (x.get(), y.get());
        let among = |others: f64| errors.packet_error_among(link.mcs, level, Milliwatts::new(others)).unwrap();
        let known = Some(Arc::new(errors.clone()));
        let mut air = Interference::new(powers, vec![known.clone(), known.clone(), known]);
        // A packet of half the size in 100 us: from 20 to 60 against one sender, from 50 to the end
        // against the other.
        air.begin(us(0), 0, [0, 1], quality, 4_070);
        air.begin(us(20), 1, [2, 3], quality, 8_140);
        air.begin(us(50), 2, [4, 5], quality, 8_140);
        assert_eq!(air.end(us(60), 2), None, "nobody is heard where this one arrives");
        let found = air.end(us(100), 0).unwrap();
        let parts =
            [(0.2, link.packet_error), (0.3, among(x.get())), (0.1, among(x.get() + y.get())), (0.4, among(y.get()))];
        let expected: f64 = parts.iter().map(|&(share, p)| (1.0 - p).powf(0.5 * share)).product();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, {expected} expected");
        assert!(expected < 0.99, "{expected}: the others matter");
        assert_eq!(air.end(us(200), 4), None);
    }
}
