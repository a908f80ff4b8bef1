//! The rate of an emulated link over time.
//!
//! A trace is a list of steps, or follows from the beams of a scenario's link as in the simulator.

use std::path::{Path, PathBuf};
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_protocol::{LinkSample, LinkUse, RateLadder};
use timeplane_radio::{BeamTrace, ErrorTables, LinkTrace, Mcs, RateBySignal, all_right};
use timeplane_scenario::{InOutage, LinkTraceSpec};

/// A link from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// From when on, counted from the link trace's begin.
    pub at: Duration,
    /// How fast it sends; zero: it does not, and packets wait.
    pub rate: Rate,
    /// The probability that a packet of [`Link trace::packet`] is lost in the air.
    pub loss: f64,
    /// What its access point knows of it.
    pub sample: LinkSample,
}

/// Why there is no link trace.
#[derive(Debug, thiserror::Error)]
pub enum RateTraceError {
    /// No step at all.
    #[error("trace without steps: expected at least one")]
    Empty,
    /// A step that takes no time, or less.
    #[error("step {index} of a trace lasts {found}: expected more than 0")]
    Step {
        /// Which one, from 0.
        index: usize,
        /// How long.
        found: Duration,
    },
    /// Every walk of a simulated run is another one, and none is the one to emulate.
    #[error("a trace with `varied = true` differs in every run: remove the key")]
    Varied,
    /// The file of beams cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// The file of beams is none.
    #[error(transparent)]
    Beams(#[from] timeplane_radio::InputError),
    /// The room's beams make no sense.
    #[error(transparent)]
    Room(#[from] timeplane_radio::MatrixError),
    /// The link trace cannot be computed.
    #[error(transparent)]
    RateTrace(#[from] timeplane_radio::LinkTraceError),
}

/// The phases of a link in the order of time, from 0 on; each lasts until the next one, the last
/// for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTrace {
    phases: Vec<Phase>,
    /// The size of packets that losses are of.
    packet: Bytes,
    ladder: RateLadder,
}

/// What a link has to carry, in bits times 10^12: a rate does its bits per second in every
/// picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work(u128);

impl Work {
    /// That of so many bytes.
    pub fn of(bytes: Bytes) -> Self {
        Self(u128::from(bytes.get()) * 8_000_000_000_000)
    }
    /// What is left of it when so much of it is done; nothing where that is more.
    pub fn less(self, done: Self) -> Self {
        Self(self.0.saturating_sub(done.0))
    }
}

impl RateTrace {
    /// A link trace of rates and how long each lasts; the last one for ever. At rate zero nothing
    /// is sent. Nothing is lost in the air.
    ///
    /// # Errors
    /// If there is no step, or one takes no time.
    pub fn steps(steps: &[(Duration, Rate)]) -> Result<Self, RateTraceError> {
        if let Some((index, found)) = steps.iter().map(|s| s.0).enumerate().find(|s| s.1 <= Duration::ZERO) {
            return Err(RateTraceError::Step { index, found });
        }
        if steps.is_empty() {
            return Err(RateTraceError::Empty);
        }
        let ladder = RateLadder::new(steps.iter().map(|s| s.1)).unwrap_or_default();
        let mut at = Duration::ZERO;
        let phases = steps.iter().map(|&(length, rate)| {
            // A report has a number for the rate: its place among those of the link trace.
            let mcs = u8::try_from(ladder.rung(rate)).unwrap_or(u8::MAX);
            let uses = (rate > Rate::ZERO).then_some(LinkUse { rate, mcs });
            let phase = Phase { at, rate, loss: 0.0, sample: LinkSample { uses, beams: (0, 0), level_cdbm: 0 } };
            at += length;
            phase
        });
        Ok(Self { phases: phases.collect(), packet: Bytes::new(1500), ladder })
    }

    /// The link trace that a simulated run's air link of this description follows, from 0 to
    /// `length` at least. Files are looked up in `base`.
    ///
    /// What is slow or lossy is so for the same packets as in the simulator, but for the one during
    /// which the rate changes: there it keeps the rate with which it began.
    ///
    /// # Errors
    /// If each run has another link trace, or a file cannot be read or makes no sense.
    pub fn from_spec(spec: &LinkTraceSpec, base: &Path, length: Duration) -> Result<Self, RateTraceError> {
        if spec.varied {
            return Err(RateTraceError::Varied);
        }
        let trace = match (spec.testbed(), &spec.beams) {
            (Some(testbed), _) => testbed.trace(length)?,
            (None, file) => {
                let name = file.as_deref().unwrap_or_default();
                let path = base.join(name);
                match std::fs::read_to_string(&path) {
                    Ok(text) => BeamTrace::parse(name, &text)?,
                    Err(source) => return Err(RateTraceError::File { file: path, source }),
                }
            }
        };
        let parameters = spec.parameters();
        let rates = RateBySignal::new(ErrorTables::bundled(), parameters, Mcs::single_carrier());
        let trace = LinkTrace::repeating(&trace, &rates, spec.rules(), length)?;
        let ladder = RateLadder::new(rates.ladder().map(|(mcs, _)| parameters.rate(mcs))).unwrap_or_default();
        // What is sent into an outage is lost at the slowest rate; or nothing is sent.
        let out = if spec.in_outage == InOutage::Lose { (ladder.lowest(), 1.0) } else { (Rate::ZERO, 0.0) };
        let phases = trace.states().iter().map(|state| {
            let (rate, loss) = state.link.map_or(out, |l| (l.rate, l.packet_error));
            Phase { at: state.at, rate, loss, sample: LinkSample::from(state) }
        });
        Ok(Self { phases: phases.collect(), packet: spec.packet, ladder })
    }

    /// The same until `at`, and then this rate for ever, without losses.
    pub fn then(mut self, at: Duration, rate: Rate) -> Self {
        let sample = self.at(at).sample;
        self.phases.retain(|p| p.at < at);
        let uses = (rate > Rate::ZERO).then_some(LinkUse { rate, mcs: sample.uses.map_or(0, |u| u.mcs) });
        self.phases.push(Phase { at, rate, loss: 0.0, sample: LinkSample { uses, ..sample } });
        self
    }

    /// All phases, the first at 0.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// The rates that the link can have.
    pub fn ladder(&self) -> &RateLadder {
        &self.ladder
    }

    /// The packets that losses are of.
    pub fn packet(&self) -> Bytes {
        self.packet
    }

    /// The place of the phase at a time; before 0 the first.
    fn place(&self, time: Duration) -> usize {
        self.phases.partition_point(|p| p.at <= time).saturating_sub(1)
    }

    /// The phase at a time; before 0 the first.
    pub fn at(&self, time: Duration) -> &Phase {
        &self.phases[self.place(time)]
    }

    /// The probability that a packet of this size whose first bit leaves at `time` is lost: that
    /// any of it is.
    pub fn loss(&self, time: Duration, bytes: Bytes) -> f64 {
        let share = bytes.get() as f64 / self.packet.get().max(1) as f64;
        1.0 - all_right(self.at(time).loss, share)
    }

    /// When the last bit has left of `bytes` whose first bit leaves at `start` at the earliest,
    /// rounded up to a picosecond; none where the link is silent for ever before.
    pub fn finish(&self, start: Duration, bytes: Bytes) -> Option<Duration> {
        self.carry(start, Work::of(bytes)).map(|(end, _)| end)
    }

    /// As [`finish`](Self::finish), with what the link can carry on top until that picosecond is
    /// over. Who hands it back as done for the work that comes next without a gap loses nothing by
    /// the rounding.
    pub fn carry(&self, start: Duration, work: Work) -> Option<(Duration, Work)> {
        let Work(mut left) = work;
        let mut now = start;
        for (i, phase) in self.phases.iter().enumerate().skip(self.place(start)) {
            let rate = u128::from(phase.rate.as_bps());
            let end = self.phases.get(i + 1).map(|p| p.at);
            let most = end.map(|end| rate * (end - now).as_ps().max(0) as u128);
            if left == 0 {
                return Some((now, Work(0)));
            }
            if let (Some(most), Some(end)) = (most.filter(|&m| m < left), end) {
                left -= most;
                now = end;
                continue;
            }
            let ps = (rate > 0).then(|| left.div_ceil(rate))?;
            return i64::try_from(ps).ok().map(|whole| (now + Duration::from_ps(whole), Work(ps * rate - left)));
        }
        None
    }

    /// The bytes that it can carry from `from` to `to`, losses included.
    pub fn capacity(&self, from: Duration, to: Duration) -> Bytes {
        let mut bits = 0_u128;
        for (i, phase) in self.phases.iter().enumerate() {
            let end = self.phases.get(i + 1).map_or(to, |p| p.at.min(to));
            let span = end - phase.at.max(from).min(end);
            bits += u128::from(phase.rate.as_bps()) * span.as_ps() as u128;
        }
        Bytes::new(u64::try_from(bits / 8_000_000_000_000).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(t: i64) -> Duration {
        Duration::from_ms(t)
    }

    #[test]
    fn a_packet_takes_the_rates_that_it_meets() {
        // 1500 B are 12 ms at 1 Mb/s.
        let trace = RateTrace::steps(&[(ms(6), Rate::mbps(1)), (ms(10), Rate::ZERO), (ms(1), Rate::mbps(2))]).unwrap();
        let packet = Bytes::new(1500);
        // Half of it before the outage, the other half at twice the rate.
        assert_eq!(trace.finish(ms(0), packet), Some(ms(19)));
        assert_eq!(trace.finish(ms(7), packet), Some(ms(22)));
        assert_eq!(trace.finish(ms(100), packet), Some(ms(106)));
        assert_eq!(trace.finish(ms(6), Bytes::ZERO), Some(ms(6)));
        assert_eq!(trace.capacity(ms(0), ms(17)), Bytes::new(1000));
        let silent = RateTrace::steps(&[(ms(6), Rate::mbps(1)), (ms(1), Rate::ZERO)]).unwrap();
        assert_eq!(silent.finish(ms(0), packet), None);
        assert_eq!(silent.finish(ms(0), Bytes::new(750)), Some(ms(6)));
        assert_eq!(silent.then(ms(6), Rate::mbps(1)).finish(ms(0), packet), Some(ms(12)));
    }

    #[test]
    fn wrong_traces_are_refused() {
        assert!(matches!(RateTrace::steps(&[]), Err(RateTraceError::Empty)));
        let none = RateTrace::steps(&[(ms(1), Rate::mbps(1)), (Duration::ZERO, Rate::mbps(1))]).unwrap_err();
        assert!(none.to_string().contains("step 1"), "{none}");
    }

    proptest! {
        #[test]
        fn what_has_left_is_what_the_trace_carries(
            steps in prop::collection::vec((1_i64..50, 0_u64..200), 1..20),
            start in 0_i64..100_000,
            bytes in 1_u64..2_000_000,
        ) {
            let steps: Vec<_> = steps.into_iter().map(|(t, r)| (ms(t), Rate::mbps(r))).collect();
            let trace = RateTrace::steps(&steps).unwrap();
            let start = Duration::from_us(start);
            let sent = |to| trace.capacity(start, to);
            match trace.finish(start, Bytes::new(bytes)) {
                Some(end) => {
                    prop_assert!(sent(end) >= Bytes::new(bytes));
                    // A picosecond, and the bit that a rounding down may hide, earlier it has not.
                    prop_assert!(sent(end - Duration::from_ns(1)) <= Bytes::new(bytes));
                }
                None => prop_assert!(sent(Duration::from_secs(1_000)) < Bytes::new(bytes)),
            }
        }
    }
}
