//! The rate of an emulated link over time.
//!
//! A trace is a list of steps, or follows from the beams of a scenario's link as in the simulator.

use std::path::{Path, PathBuf};
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_protocol::{LinkSample, LinkUse, RateLadder};
use timeplane_radio::{BeamTrace, ErrorTables, LinkTrace, Mcs, RateBySignal, all_right};
use timeplane_scenario::{InOutage, LinkTraceSpec};

/// Properties of a link from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Start of the phase, since the start of the link trace.
    pub at: Duration,
    /// Rate of the link. At zero, packets wait.
    pub rate: Rate,
    /// Probability that a packet of [`RateTrace::packet`] is lost in the air.
    pub loss: f64,
    /// The link's state as its access point reports it.
    pub sample: LinkSample,
}

/// Why a link trace is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RateTraceError {
    /// The list of steps is empty.
    #[error("trace without steps: expected at least one")]
    Empty,
    /// A step's duration is not positive.
    #[error("step {index} of a trace lasts {found}: expected more than 0")]
    Step {
        /// Number of the step, from 0.
        index: usize,
        /// Duration of the step.
        found: Duration,
    },
    /// The scenario draws a new walk for each run, so no single one can be emulated.
    #[error("a trace with `varied = true` differs in every run: remove the key")]
    Varied,
    /// The file of beams cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// Path of the file of beams.
        file: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// The file of beams is invalid.
    #[error(transparent)]
    Beams(#[from] timeplane_radio::InputError),
    /// The room's beams are invalid.
    #[error(transparent)]
    Room(#[from] timeplane_radio::MatrixError),
    /// The link trace cannot be computed.
    #[error(transparent)]
    RateTrace(#[from] timeplane_radio::LinkTraceError),
}

/// The phases of a link in order of time, starting at 0. Each lasts until the next one, the last
/// one forever.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTrace {
    phases: Vec<Phase>,
    /// Packet size that the loss probabilities refer to.
    packet: Bytes,
    ladder: RateLadder,
}

/// Work of a link, in bits times 10^12, so that a rate of N bit/s completes N units per picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work(u128);

impl Work {
    /// Work of a number of bytes.
    pub fn of(bytes: Bytes) -> Self {
        Self(u128::from(bytes.get()) * 8_000_000_000_000)
    }
    /// Remaining work after some of it is done, at least 0.
    pub fn less(self, done: Self) -> Self {
        Self(self.0.saturating_sub(done.0))
    }
}

impl RateTrace {
    /// A link trace of rates and their durations, without losses in the air. The last rate lasts
    /// forever. At rate zero nothing is sent.
    ///
    /// # Errors
    /// If there is no step, or a step's duration is not positive.
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
            // A report names a rate by its index among those of the link trace.
            let mcs = u8::try_from(ladder.rung(rate)).unwrap_or(u8::MAX);
            let uses = (rate > Rate::ZERO).then_some(LinkUse { rate, mcs });
            let phase = Phase { at, rate, loss: 0.0, sample: LinkSample { uses, beams: (0, 0), level_cdbm: 0 } };
            at += length;
            phase
        });
        Ok(Self { phases: phases.collect(), packet: Bytes::new(1500), ladder })
    }

    /// The link trace of a simulated run's air link, at least from 0 to `length`. File names are
    /// relative to `base`.
    ///
    /// The rate and loss apply to the same packets as in the simulator, except for a packet during
    /// which the rate changes: in the simulator it keeps its first rate.
    ///
    /// # Errors
    /// If each run has another link trace, or a file cannot be read or is invalid.
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
        // In an outage, packets are sent and lost at the slowest rate, or none is sent.
        let out = if spec.in_outage == InOutage::Lose { (ladder.lowest(), 1.0) } else { (Rate::ZERO, 0.0) };
        let phases = trace.states().iter().map(|state| {
            let (rate, loss) = state.link.map_or(out, |l| (l.rate, l.packet_error));
            Phase { at: state.at, rate, loss, sample: LinkSample::from(state) }
        });
        Ok(Self { phases: phases.collect(), packet: spec.packet, ladder })
    }

    /// The same link trace until `at`, and from then on this rate without losses.
    pub fn then(mut self, at: Duration, rate: Rate) -> Self {
        let sample = self.at(at).sample;
        self.phases.retain(|p| p.at < at);
        let uses = (rate > Rate::ZERO).then_some(LinkUse { rate, mcs: sample.uses.map_or(0, |u| u.mcs) });
        self.phases.push(Phase { at, rate, loss: 0.0, sample: LinkSample { uses, ..sample } });
        self
    }

    /// The same link trace, on which this share of packets of [`packet`](Self::packet) is lost in
    /// the air.
    #[must_use]
    pub fn losing(mut self, share: f64) -> Self {
        self.phases.iter_mut().for_each(|phase| phase.loss = share);
        self
    }

    /// All phases, the first one at 0.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// The rates that the link can have.
    pub fn ladder(&self) -> &RateLadder {
        &self.ladder
    }

    /// The packet size that loss probabilities refer to.
    pub fn packet(&self) -> Bytes {
        self.packet
    }

    /// Index of the phase at a time; before 0 the first one.
    fn place(&self, time: Duration) -> usize {
        self.phases.partition_point(|p| p.at <= time).saturating_sub(1)
    }

    /// The phase at a time; before 0 the first one.
    pub fn at(&self, time: Duration) -> &Phase {
        &self.phases[self.place(time)]
    }

    /// Probability that a packet of this size is lost if its first bit leaves at `time`.
    pub fn loss(&self, time: Duration, bytes: Bytes) -> f64 {
        let share = bytes.get() as f64 / self.packet.get().max(1) as f64;
        1.0 - all_right(self.at(time).loss, share)
    }

    /// When the last bit of `bytes` leaves if the first one leaves at `start` at the earliest,
    /// rounded up to a picosecond. `None` if the link is silent forever before that.
    pub fn finish(&self, start: Duration, bytes: Bytes) -> Option<Duration> {
        self.carry(start, Work::of(bytes)).map(|(end, _)| end)
    }

    /// As [`finish`](Self::finish), with the work that the link can do in the rest of that
    /// picosecond. Passed as done for the next packet of a busy period, it avoids rounding losses.
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

    /// The bytes that the link can carry from `from` to `to`, lost ones included.
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
        // 1500 B take 12 ms at 1 Mb/s.
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
