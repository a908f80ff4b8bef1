//! The proxy: reports and round trips in, windows out.

use super::ladder::RateLadder;
use super::policy::{LinkView, ProxyPolicy, WindowPolicy};
use super::report::{Freshness, LinkReport, Steer};
use std::collections::BTreeMap;
use timeplane_model::{Bytes, Duration, FlowId, LinkId, Rate, Time};

/// What a proxy is told at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowProxyConfig {
    /// Counts its starts, so that senders know its messages from those before.
    pub epoch: u32,
    /// What it does with reports.
    pub policy: ProxyPolicy,
    /// The rates that links can have.
    pub ladder: RateLadder,
    /// T of a flow until a round trip of it has been measured; above 0. 40 ms: twice the wire between proxy and access point.
    pub base_rtt: Duration,
    /// Whether senders are told how fast to send, too: the rate that the window is meant for.
    pub pace: bool,
    /// What was said to a flow is said again this long after it was said last, so that a lost message heals; above 0.
    pub repeat: Duration,
    /// A link that has not been reported on for so long is taken to have its slowest rate, so that the loss of an access point's agent neither
    /// stops a sender for ever nor lets it flood the link; above 0, and longer than several keep-alives.
    pub silence: Duration,
}

impl Default for WindowProxyConfig {
    /// The reactive policy on the paper's link: 40 ms, paced, repeated every 100 ms, silent after 1 s.
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

/// What a proxy is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyInput {
    /// Its deadline has come.
    Due,
    /// A report came in.
    Report(LinkReport),
    /// A round trip of a flow was measured. What is not above 0 is no round trip.
    Rtt {
        /// Which flow.
        flow: FlowId,
        /// How long.
        rtt: Duration,
    },
    /// A flow's packets go over a link from now on. Flows of a link share its rate equally.
    Join {
        /// Which flow.
        flow: FlowId,
        /// Over which link.
        link: LinkId,
    },
    /// A flow is over.
    Leave {
        /// Which one.
        flow: FlowId,
    },
}

/// What a proxy has counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowProxyCounters {
    /// Reports that were newer than all before.
    pub reports: u64,
    /// Reports that were not: late, doubled, or of an access point's agent that has been replaced.
    pub stale: u64,
    /// Messages to senders.
    pub steers: u64,
    /// Of them, those that said what had been said before.
    pub repeats: u64,
}

/// Steers senders: C = R T, with R what the policy allows of the link's rate, and T the least round trip of the flow so far, which no
/// queue has lengthened.
///
/// A flow hears nothing before its link has been reported on, then at once whenever its window or rate changes. A proxy that restarts knows no
/// round trip and no link until it is told again; an access point that restarts is known by its higher epoch.
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
    /// Flows over it.
    flows: u64,
    /// When it was reported on last.
    heard: Option<Time>,
    /// Whether that was noticed to be too long ago.
    silent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    link: LinkId,
    rtt: Option<Duration>,
    /// What it was told last, and when.
    told: Option<(Bytes, Option<Rate>, Time)>,
}

impl WindowProxy {
    /// A proxy that knows no link and no flow.
    ///
    /// # Panics
    /// Where the base round trip, the repetition or the silence is not above 0, or parameters of the policy are impossible.
    pub fn new(config: WindowProxyConfig) -> Self {
        let spans = [config.base_rtt, config.repeat, config.silence];
        assert!(spans.iter().all(|&s| s > Duration::ZERO), "round trips, repetitions and silences take time");
        let (links, flows) = (BTreeMap::new(), BTreeMap::new());
        Self { config, links, flows, sequence: 0, counters: WindowProxyCounters::default() }
    }

    /// What it has counted.
    pub fn counters(&self) -> WindowProxyCounters {
        self.counters
    }

    /// When it wants to be called next if nothing comes in before; never where there are no flows.
    pub fn deadline(&self) -> Option<Time> {
        let told = self.flows.values().filter_map(|f| f.told);
        let repeats = told.map(|(.., at)| at.saturating_add(self.config.repeat));
        // Timers of a link that nobody uses can wait for somebody.
        let used = self.links.values().filter(|l| l.flows > 0);
        let silences = used.clone().filter(|l| !l.silent).filter_map(|l| l.heard);
        let silences = silences.map(|at| at.saturating_add(self.config.silence));
        repeats.chain(silences).chain(used.filter_map(|l| l.policy.deadline())).min()
    }

    /// Takes one input at `now`, and appends what senders are to be told.
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

    /// Says what has changed, or was said too long ago.
    fn tell(&mut self, now: Time, out: &mut Vec<Steer>) {
        let mut allowed = BTreeMap::new();
        for (&id, link) in &mut self.links {
            let Some(heard) = link.heard else { continue };
            // Timers of the policy run out in any case.
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
