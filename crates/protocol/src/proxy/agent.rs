//! The proxy: computes windows for TCP senders from link reports and round trips.
//!
//! See [`WindowProxy`].

use super::ladder::RateLadder;
use super::policy::{LinkView, ProxyPolicy, WindowPolicy};
use super::report::{Freshness, LinkReport, Steer};
use std::collections::BTreeMap;
use timeplane_model::{Bytes, Duration, FlowId, LinkId, Rate, Time};

/// Configuration of a [`WindowProxy`].
#[derive(Clone, Debug, PartialEq)]
pub struct WindowProxyConfig {
    /// Counts the proxy's starts: senders prefer messages of the higher epoch.
    pub epoch: u32,
    /// What it does with reports.
    pub policy: ProxyPolicy,
    /// The rates that links can have.
    pub ladder: RateLadder,
    /// T of a flow without a measured round trip; above 0. Default 40 ms, twice the delay between
    /// proxy and access point.
    pub base_rtt: Duration,
    /// Also tells senders a rate: the one that the window is computed for.
    pub pace: bool,
    /// Repeats a flow's message after this time, to make good for lost ones; above 0.
    pub repeat: Duration,
    /// A link without reports for this long is assumed to have its slowest rate. The loss of an
    /// access point's agent then neither stops a sender for good nor lets it flood the link. Must
    /// exceed 0 and several keep-alives.
    pub silence: Duration,
}

impl Default for WindowProxyConfig {
    /// The reactive policy on the paper's link: 40 ms, paced, repeated every 100 ms, silent after 1
    /// s.
    fn default() -> Self {
        Self {
            epoch: 1,
            policy: ProxyPolicy::Reactive {},
            ladder: RateLadder::default(),
            base_rtt: Duration::from_ms(40),
            pace: true,
            repeat: Duration::from_ms(100),
            silence: Duration::from_secs(1),
        }
    }
}

/// A timer, a report, a measurement or a change of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyInput {
    /// The deadline has passed.
    Due,
    /// A report arrived.
    Report(LinkReport),
    /// A round trip of a flow was measured. Values of 0 or less are ignored.
    Rtt {
        /// The number of the flow.
        flow: FlowId,
        /// The measured time.
        rtt: Duration,
    },
    /// A flow uses a link from now on. Flows of a link share its rate equally.
    Join {
        /// The number of the flow.
        flow: FlowId,
        /// The number of the link.
        link: LinkId,
    },
    /// A flow has ended.
    Leave {
        /// The number of the flow.
        flow: FlowId,
    },
}

/// Counts since a proxy's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowProxyCounters {
    /// Reports newer than all before.
    pub reports: u64,
    /// Reports that were late, doubled, or of a replaced agent.
    pub stale: u64,
    /// Messages to senders.
    pub steers: u64,
    /// Messages that repeat the last one.
    pub repeats: u64,
}

/// Steers senders: C = R T. R is the part of the link's rate that the policy allows, and T the
/// least round trip of the flow so far, which no queue has lengthened.
///
/// A flow gets its first message after the first report on its link, and one at each change of
/// window or rate. A proxy that restarts knows no round trip and no link until it hears of them
/// again. An access point that restarts has a higher epoch.
#[derive(Debug)]
pub struct WindowProxy {
    config: WindowProxyConfig,
    links: BTreeMap<LinkId, Link>,
    flows: BTreeMap<FlowId, Flow>,
    sequence: u64,
    counters: WindowProxyCounters,
}

#[derive(Debug)]
struct Link {
    newest: Freshness,
    policy: Box<dyn WindowPolicy>,
    /// Flows over the link.
    flows: u64,
    /// When the newest report arrived.
    heard: Option<Time>,
    /// Whether its silence has been handled.
    silent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    link: LinkId,
    rtt: Option<Duration>,
    /// The newest message and its time.
    told: Option<(Bytes, Option<Rate>, Time)>,
}

impl WindowProxy {
    /// A proxy that knows no link and no flow.
    ///
    /// # Panics
    ///
    /// If the base round trip, the repetition or the silence is not above 0, or parameters of the
    /// policy are impossible.
    pub fn new(config: WindowProxyConfig) -> Self {
        let spans = [config.base_rtt, config.repeat, config.silence];
        assert!(spans.iter().all(|&s| s > Duration::ZERO), "round trips, repetitions and silences take time");
        let (links, flows) = (BTreeMap::new(), BTreeMap::new());
        Self { config, links, flows, sequence: 0, counters: WindowProxyCounters::default() }
    }

    /// Counts since the start.
    pub fn counters(&self) -> WindowProxyCounters {
        self.counters
    }

    /// When the next call is due if no input comes before; never without flows.
    pub fn deadline(&self) -> Option<Time> {
        let told = self.flows.values().filter_map(|f| f.told);
        let repeats = told.map(|(.., at)| at.saturating_add(self.config.repeat));
        // Timers of links without flows can wait.
        let used = self.links.values().filter(|l| l.flows > 0);
        let silences = used.clone().filter(|l| !l.silent).filter_map(|l| l.heard);
        let silences = silences.map(|at| at.saturating_add(self.config.silence));
        repeats.chain(silences).chain(used.filter_map(|l| l.policy.deadline())).min()
    }

    /// Handles one input at `now` and appends messages to senders.
    pub fn handle(&mut self, now: Time, input: ProxyInput, out: &mut Vec<Steer>) {
        match input {
            ProxyInput::Due => {}
            ProxyInput::Report(report) => self.report(now, report),
            ProxyInput::Rtt { flow, rtt } => {
                if let Some(flow) = self.flows.get_mut(&flow).filter(|_| rtt > Duration::ZERO) {
                    flow.rtt = Some(flow.rtt.map_or(rtt, |least| least.min(rtt)));
                }
            }
            ProxyInput::Join { flow, link } => {
                let rtt = self.leave(flow).filter(|old| old.link == link).and_then(|old| old.rtt);
                self.link(link).flows += 1;
                self.flows.insert(flow, Flow { link, rtt, told: None });
            }
            ProxyInput::Leave { flow } => {
                self.leave(flow);
            }
        }
        self.tell(now, out);
    }

    fn link(&mut self, link: LinkId) -> &mut Link {
        let WindowProxyConfig { policy, ladder, .. } = &self.config;
        self.links.entry(link).or_insert_with(|| Link {
            newest: Freshness::default(),
            policy: policy.build(ladder),
            flows: 0,
            heard: None,
            silent: false,
        })
    }

    fn leave(&mut self, flow: FlowId) -> Option<Flow> {
        let flow = self.flows.remove(&flow)?;
        self.link(flow.link).flows -= 1;
        Some(flow)
    }

    fn report(&mut self, now: Time, report: LinkReport) {
        let rate = report.sample.uses.map_or(Rate::ZERO, |u| u.rate);
        let rung = self.config.ladder.rung(rate);
        let level_dbm = f64::from(report.sample.level_cdbm) * 0.01;
        let link = self.link(report.link);
        let fresh = link.newest.accept(report.epoch, report.sequence);
        if fresh {
            link.heard = Some(now);
            link.silent = false;
            link.policy.report(now, LinkView { rate, rung, level_dbm });
            self.counters.reports += 1;
        } else {
            self.counters.stale += 1;
        }
    }

    /// Sends what has changed, or was sent too long ago.
    fn tell(&mut self, now: Time, out: &mut Vec<Steer>) {
        let mut allowed = BTreeMap::new();
        for (&id, link) in &mut self.links {
            let Some(heard) = link.heard else { continue };
            // Timers of the policy expire in any case.
            let mut rate = link.policy.allowed(now);
            link.silent |= heard.saturating_add(self.config.silence) <= now;
            if link.silent {
                rate = self.config.ladder.lowest();
            }
            allowed.insert(id, Rate::bps(rate.as_bps() / link.flows.max(1)));
        }
        for (&id, flow) in &mut self.flows {
            let Some(&rate) = allowed.get(&flow.link) else { continue };
            let window = rate.bytes_in(flow.rtt.unwrap_or(self.config.base_rtt));
            let rate = self.config.pace.then_some(rate);
            let same = flow.told.is_some_and(|(w, r, _)| (w, r) == (window, rate));
            if same && flow.told.is_some_and(|(.., at)| now < at.saturating_add(self.config.repeat)) {
                continue;
            }
            self.sequence += 1;
            self.counters.steers += 1;
            self.counters.repeats += u64::from(same);
            flow.told = Some((window, rate, now));
            out.push(Steer { epoch: self.config.epoch, sequence: self.sequence, flow: id, window, rate });
        }
    }
}
