//! The access point's side: what is worth a report.

use super::report::{LinkReport, LinkSample, QueueSample};
use timeplane_model::{Duration, LinkId, Time};

/// What the agent of an access point is told at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkReporterConfig {
    /// Which link it reports on.
    pub link: LinkId,
    /// Counts its starts.
    pub epoch: u32,
    /// It reports at the latest this long after its last report, so that a lost one heals; above 0. A predictor lives of reports between
    /// the changes: 10 ms for one, 100 ms will do otherwise.
    pub keep_alive: Duration,
}

/// What the agent of an access point is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReporterInput {
    /// Its deadline has come.
    Due,
    /// Beams, rate or level were looked at.
    Link(LinkSample),
    /// What waits now; goes with the next report, and causes none.
    Queue(QueueSample),
}

/// Reports on a link whenever the bandwidth-delay product changes, which it does with the rate, and now and then otherwise.
///
/// Before it is told of its link for the first time it says nothing.
#[derive(Clone, Debug)]
pub struct LinkReporter {
    config: LinkReporterConfig,
    sequence: u64,
    sample: Option<LinkSample>,
    queue: QueueSample,
    sent: Option<Time>,
}

impl LinkReporter {
    /// An agent that knows nothing.
    ///
    /// # Panics
    /// Where the keep-alive is not above 0.
    pub fn new(config: LinkReporterConfig) -> Self {
        assert!(config.keep_alive > Duration::ZERO, "a keep-alive takes time");
        Self { config, sequence: 0, sample: None, queue: QueueSample::default(), sent: None }
    }

    /// When it reports next if nothing changes.
    pub fn deadline(&self) -> Option<Time> {
        self.sent.map(|at| at.saturating_add(self.config.keep_alive))
    }

    /// Takes one input at `now`, and appends the reports that are to be sent.
    pub fn handle(&mut self, now: Time, input: ReporterInput, out: &mut Vec<LinkReport>) {
        let mut due = self.deadline().is_some_and(|at| at <= now);
        match input {
            ReporterInput::Due => {}
            ReporterInput::Queue(queue) => self.queue = queue,
            ReporterInput::Link(sample) => {
                due |= self.sample.is_none_or(|s| s.uses.map(|u| u.rate) != sample.uses.map(|u| u.rate));
                self.sample = Some(sample);
            }
        }
        let (Some(sample), true) = (self.sample, due) else { return };
        self.sequence += 1;
        self.sent = Some(now);
        let LinkReporterConfig { link, epoch, .. } = self.config;
        out.push(LinkReport { epoch, sequence: self.sequence, taken_at: now, link, sample, queue: self.queue });
    }
}
