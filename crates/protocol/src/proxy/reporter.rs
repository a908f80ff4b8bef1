//! The agent of an access point: decides when to report on its link.
//!
//! A [`LinkReporter`] has one link; a driver carries its reports to the proxy.

use super::report::{LinkReport, LinkSample, QueueSample};
use timeplane_model::{Duration, LinkId, Time};

/// Configuration of a [`LinkReporter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkReporterConfig {
    /// The link to report on.
    pub link: LinkId,
    /// Counts the agent's starts.
    pub epoch: u32,
    /// The longest time between two reports, to make good for lost ones; above 0. A predictor needs
    /// reports between changes, about every 10 ms; otherwise 100 ms is enough.
    pub keep_alive: Duration,
}

/// An input of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReporterInput {
    /// The deadline has passed.
    Due,
    /// Beams, rate or level were measured.
    Link(LinkSample),
    /// The current queue. It is part of the next report and does not cause one.
    Queue(QueueSample),
}

/// Reports on a link whenever its rate changes, and at intervals.
///
/// It sends nothing before it has the first state of its link.
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
    ///
    /// If the keep-alive is not above 0.
    pub fn new(config: LinkReporterConfig) -> Self {
        assert!(config.keep_alive > Duration::ZERO, "a keep-alive takes time");
        Self { config, sequence: 0, sample: None, queue: QueueSample::default(), sent: None }
    }

    /// When the next report is due if nothing changes.
    pub fn deadline(&self) -> Option<Time> {
        self.sent.map(|at| at.saturating_add(self.config.keep_alive))
    }

    /// Handles one input at `now` and appends reports to send.
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
