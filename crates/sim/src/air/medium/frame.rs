//! Frames in the air, and the power of everything else at their receivers.
//!
//! A frame collects the bit errors of its parts as the interference changes. It does not know the
//! queues of links.

use super::MediumSpec;
use crate::engine::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use timeplane_model::Duration;
use timeplane_radio::{Mcs, PhyTiming, all_right, bit_error_rate_of_ratio, required_sinr};

/// Above this power ratio over what a rate needs, no bit of any frame is wrong: the bit error rate
/// is below 1e-16.
const CLEAN: f64 = 2.75;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Packets of a link.
    Data { link: u32 },
    /// The answer to a frame of a link.
    Answer { link: u32 },
}

/// A part of a frame in which bits may be wrong.
#[derive(Clone, Copy, Debug)]
struct Noisy {
    from: SimTime,
    to: SimTime,
    bit_errors: f64,
}

/// A frame from start to end.
#[derive(Debug)]
pub(super) struct Frame {
    pub content: Content,
    pub to: u32,
    begin: SimTime,
    end: SimTime,
    /// Rate and octets; `None` if frames neither disturb nor are disturbed.
    coded: Option<(Mcs, u32)>,
    overhead: Duration,
    /// Whether the receiver missed its start.
    missed: bool,
    met: bool,
    signal: f64,
    /// The SINR at the sensitivity of the rate.
    required: f64,
    /// The bit error rate since `since`.
    bit_errors: f64,
    since: SimTime,
    noisy: Vec<Noisy>,
}

impl Frame {
    /// How long it was in the air.
    pub fn length(&self) -> Duration {
        self.end - self.begin
    }

    /// Whether another frame reached its receiver after its start.
    pub fn was_met(&self) -> bool {
        self.met
    }

    /// The probability that the octets from `first` up to, not including, `last` are all right.
    pub fn success(&self, first: u32, last: u32) -> f64 {
        let Some((_, psdu)) = self.coded else { return 1.0 };
        if self.missed {
            return 0.0;
        }
        let body = (self.end - self.begin - self.overhead).as_ps() as f64;
        let time_of = |octet: u32| self.overhead.as_ps() as f64 + body * f64::from(octet) / f64::from(psdu.max(1));
        let (a, b) = (time_of(first), time_of(last));
        let bits = 8.0 * f64::from(last - first);
        self.noisy
            .iter()
            .map(|part| {
                let (from, to) = ((part.from - self.begin).as_ps() as f64, (part.to - self.begin).as_ps() as f64);
                let hit = (to.min(b) - from.max(a)).max(0.0) / (b - a).max(1.0);
                all_right(part.bit_errors, bits * hit)
            })
            .product()
    }

    /// Draws whether the whole frame is received without errors.
    pub fn is_received(&self, stream: &mut Xoshiro256PlusPlus) -> bool {
        let octets = self.coded.map_or(0, |c| c.1);
        happens(self.success(0, octets), stream)
    }

    /// The interference changes at `now`.
    fn turn(&mut self, now: SimTime, others: f64) {
        if self.bit_errors > 0.0 && self.since < now {
            self.noisy.push(Noisy { from: self.since, to: now, bit_errors: self.bit_errors });
        }
        let ratio = self.signal / others / self.required;
        self.bit_errors = if ratio >= CLEAN { 0.0 } else { bit_error_rate_of_ratio(ratio) };
        self.since = now;
    }
}

/// Draws whether an event with this probability happens. A certain event draws no number.
pub(super) fn happens(probability: f64, stream: &mut Xoshiro256PlusPlus) -> bool {
    if probability >= 1.0 || probability <= 0.0 {
        return probability >= 1.0;
    }
    ((stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64) < probability
}

/// All frames in the air.
#[derive(Debug)]
pub(super) struct Frames {
    n: usize,
    channels: Vec<u32>,
    noise: f64,
    /// Power in mW by sender, then by receiver: 0 for other channels.
    powers: Vec<f64>,
    timing: PhyTiming,
    /// The SINR that the start of a frame needs to be detected: that at the sensitivity of MCS 1,
    /// the lowest rate with this preamble.
    begins: f64,
    /// By sender.
    sending: Vec<Option<Frame>>,
    /// The stations that send, by number.
    active: Vec<u32>,
    /// By receiver: the power of all senders on its channel, in mW.
    heard: Vec<f64>,
    /// Memory of frames that are over, to be reused.
    spare: Vec<Vec<Noisy>>,
}

impl Frames {
    /// Takes the powers of `spec`: from now on antennas may turn.
    pub fn new(spec: &mut MediumSpec) -> Self {
        let n = spec.channels.len();
        let mut powers = std::mem::take(&mut spec.powers);
        for (i, power) in powers.iter_mut().enumerate() {
            if spec.channels[i / n] != spec.channels[i % n] || i / n == i % n {
                *power = 0.0;
            }
        }
        let noise = spec.noise.get();
        let lowest = Mcs::single_carrier().next().and_then(|m| required_sinr(m, spec.noise.dbm()));
        Self {
            n,
            channels: spec.channels.clone(),
            noise,
            powers,
            timing: spec.mac.timing,
            begins: lowest.map_or(0.0, |r| r.ratio()),
            sending: (0..n).map(|_| None).collect(),
            active: Vec::new(),
            heard: vec![0.0; n],
            spare: Vec::new(),
        }
    }

    /// The power at which a station hears another one on its channel, in mW.
    pub fn power(&self, from: u32, to: u32) -> f64 {
        self.powers[from as usize * self.n + to as usize]
    }

    /// A station points elsewhere. Others hear its frame in the air as it points now; the frame is
    /// received as it was.
    pub fn point(&mut self, station: u32, heard_by: &[f64], hears: &[f64]) {
        let (n, s) = (self.n, station as usize);
        for other in (0..n).filter(|&o| o != s && self.channels[o] == self.channels[s]) {
            self.powers[s * n + other] = heard_by[other];
            self.powers[other * n + s] = hears[other];
        }
        // Summed anew: the power taken off at a frame's end must be the power that counts for it.
        for (r, heard) in self.heard.iter_mut().enumerate() {
            *heard = self.active.iter().map(|&a| self.powers[a as usize * n + r]).sum();
        }
    }

    fn others(&self, from: u32, to: u32) -> f64 {
        if self.sending[to as usize].is_some() {
            // A sender hears nothing.
            return f64::INFINITY;
        }
        let own = self.powers[from as usize * self.n + to as usize];
        self.noise + (self.heard[to as usize] - own).max(0.0)
    }

    /// A frame starts. Whether its receiver sends, or hears a frame of another pair.
    pub fn begin(
        &mut self,
        now: SimTime,
        from: u32,
        to: u32,
        content: Content,
        coded: Option<(Mcs, u32)>,
        length: Duration,
    ) -> bool {
        let mut frame = Frame {
            content,
            to,
            begin: now,
            end: now + length,
            coded,
            overhead: coded.map_or(Duration::ZERO, |(mcs, _)| self.timing.overhead(mcs)),
            missed: false,
            met: false,
            signal: self.powers[from as usize * self.n + to as usize],
            required: 1.0,
            bit_errors: 0.0,
            since: now,
            noisy: self.spare.pop().unwrap_or_default(),
        };
        let Some((mcs, _)) = coded else {
            self.sending[from as usize] = Some(frame);
            return false;
        };
        frame.required =
            required_sinr(mcs, timeplane_radio::Milliwatts::new(self.noise).dbm()).map_or(0.0, |r| r.ratio());
        self.sending[from as usize] = Some(frame);
        self.hear(now, from, 1.0);
        let met = self.sending[to as usize].is_some()
            || self.active.iter().any(|&a| self.powers[a as usize * self.n + to as usize] > self.noise);
        let place = self.active.partition_point(|&a| a < from);
        self.active.insert(place, from);
        let others = self.others(from, to);
        let begins = self.begins;
        if let Some(frame) = &mut self.sending[from as usize] {
            frame.turn(now, others);
            frame.missed = frame.signal < others * begins;
        }
        met
    }

    /// A station's frame ends, with all the interference that it met.
    pub fn end(&mut self, now: SimTime, from: u32) -> Frame {
        let mut frame = self.sending[from as usize].take().expect("a frame that ends has begun");
        if frame.coded.is_some() {
            frame.turn(now, f64::INFINITY);
            self.active.retain(|&a| a != from);
            self.hear(now, from, -1.0);
        }
        frame
    }

    /// Adds the power of a station to what others hear, or takes it off.
    fn hear(&mut self, now: SimTime, from: u32, sign: f64) {
        let row = &self.powers[from as usize * self.n..][..self.n];
        if self.active.is_empty() {
            // No power remains from stations that stopped.
            self.heard.fill(0.0);
        }
        if sign > 0.0 || !self.active.is_empty() {
            for (heard, power) in self.heard.iter_mut().zip(row) {
                *heard += sign * power;
            }
        }
        for i in 0..self.active.len() {
            let other = self.active[i];
            if other == from || self.channels[other as usize] != self.channels[from as usize] {
                continue;
            }
            let Some(frame) = &self.sending[other as usize] else { continue };
            let to = frame.to;
            let others = self.others(other, to);
            let loud = to == from || self.powers[from as usize * self.n + to as usize] > self.noise;
            if let Some(frame) = &mut self.sending[other as usize] {
                frame.turn(now, others);
                frame.met |= sign > 0.0 && loud;
            }
        }
    }

    /// Keeps the memory of a frame that is over.
    pub fn keep(&mut self, mut frame: Frame) {
        frame.noisy.clear();
        self.spare.push(frame.noisy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::medium::Access;
    use timeplane_radio::{FLYWAYS_DRAFT, Milliwatts};

    #[test]
    fn what_a_turned_antenna_was_heard_with_is_forgotten() {
        let n = 4;
        let powers: Vec<f64> = (0..n * n).map(|i| i as f64 * 1e-6).collect();
        let mut spec = MediumSpec {
            mac: FLYWAYS_DRAFT,
            access: Access::Token,
            retries: 0,
            noise: Milliwatts::new(1e-8),
            senses: Milliwatts::new(1e-7),
            channels: vec![0; n],
            powers: powers.clone(),
        };
        let mut frames = Frames::new(&mut spec);
        let at = |us: i64| SimTime::ZERO + Duration::from_us(us);
        let coded = Some((Mcs::ofdm().next().unwrap(), 100));
        for (from, to) in [(0, 1), (2, 3)] {
            frames.begin(at(0), from, to, Content::Data { link: from }, coded, Duration::from_us(10));
        }
        // It is pointed elsewhere while its frame is in the air: others hear it a thousand times as
        // loud.
        frames.point(0, &[1.0, 1e-3, 2e-3, 3e-3], &[0.0; 4]);
        assert_eq!(frames.heard[1], 1e-3 + powers[2 * n + 1]);
        frames.end(at(10), 0);
        let left = frames.heard[1] / powers[2 * n + 1];
        assert!((left - 1.0).abs() < 1e-9, "only the other one is left: {left}");
    }
}
