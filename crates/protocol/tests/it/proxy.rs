//! Tests of the proxy in virtual time: lost, late, doubled or overtaken reports, restarts of either
//! side, timers, outages.

use proptest::prelude::*;
use std::collections::BTreeMap;
use timeplane_model::{Bytes, Duration, FlowId, LinkId, Rate, Time};
use timeplane_protocol::{
    Freshness, LinkReport, LinkReporter, LinkReporterConfig, LinkSample, LinkUse, LinkView, Predicted, PredictedConfig,
    Proactive, ProactiveConfig, ProxyInput, ProxyPolicy, QueueSample, RateLadder, ReporterInput, Steer, WindowPolicy,
    WindowProxy, WindowProxyConfig,
};

const FLOW: FlowId = FlowId(4);
const LINK: LinkId = LinkId(9);

fn ms(t: i64) -> Time {
    Time::from_ps(t * 1_000_000_000)
}

fn report(epoch: u32, sequence: u64, mbps: u64) -> LinkReport {
    let uses = (mbps > 0).then_some(LinkUse { rate: Rate::mbps(mbps), mcs: 1 });
    let sample = LinkSample { uses, beams: (3, 3), level_cdbm: -7000 };
    LinkReport { epoch, sequence, taken_at: ms(0), link: LINK, sample, queue: QueueSample::default() }
}

fn proactive() -> ProxyPolicy {
    ProxyPolicy::Proactive(ProactiveConfig::default())
}

/// A proxy with one flow, driven to a time before each input.
struct Rig {
    proxy: WindowProxy,
    sequence: u64,
    said: Vec<(i64, Steer)>,
}

impl Rig {
    fn new(policy: ProxyPolicy) -> Self {
        let proxy = WindowProxy::new(WindowProxyConfig {
            policy,
            silence: Duration::from_secs(60),
            ..WindowProxyConfig::default()
        });
        let mut rig = Self { proxy, sequence: 0, said: Vec::new() };
        rig.input(0, ProxyInput::Join { flow: FLOW, link: LINK });
        rig
    }
    /// Runs timers up to this time.
    fn run(&mut self, until: i64) {
        let mut calls = 0;
        while let Some(at) = self.proxy.deadline().filter(|&at| at <= ms(until)) {
            let mut out = Vec::new();
            self.proxy.handle(at, ProxyInput::Due, &mut out);
            self.said.extend(out.into_iter().map(|s| (at.as_ps() / 1_000_000_000, s)));
            calls += 1;
            assert!(calls < 10_000 && self.proxy.deadline().is_none_or(|next| next > at), "deadlines move on");
        }
    }
    fn input(&mut self, at: i64, input: ProxyInput) {
        self.run(at);
        let mut out = Vec::new();
        self.proxy.handle(ms(at), input, &mut out);
        self.said.extend(out.into_iter().map(|s| (at, s)));
    }
    fn report(&mut self, at: i64, mbps: u64) {
        self.sequence += 1;
        self.input(at, ProxyInput::Report(report(1, self.sequence, mbps)));
    }
    /// The window in kB after all events up to this time.
    fn window(&mut self, at: i64) -> u64 {
        self.run(at);
        self.said.last().map_or(u64::MAX, |s| s.1.window.get() / 1000)
    }
    /// Changes of the window: time and kB.
    fn changes(&self) -> Vec<(i64, u64)> {
        let mut all: Vec<(i64, u64)> = self.said.iter().map(|s| (s.0, s.1.window.get() / 1000)).collect();
        all.dedup_by_key(|s| s.1);
        all
    }
}

#[test]
fn reactive_is_rate_times_the_least_round_trip() {
    let mut rig = Rig::new(ProxyPolicy::Reactive {});
    assert_eq!(rig.said, []);
    rig.report(10, 1500);
    // 1.5 Gb/s x 40 ms before any round trip; then 42 ms and 41 ms. A longer round trip, or zero,
    // changes nothing.
    for (at, rtt) in [(11, 42), (12, 41), (13, 300), (14, 0), (15, -7)] {
        rig.input(at, ProxyInput::Rtt { flow: FLOW, rtt: Duration::from_ms(rtt) });
    }
    rig.report(20, 125);
    rig.report(30, 0);
    rig.report(40, 500);
    assert_eq!(rig.changes(), [(10, 7500), (11, 7875), (12, 7687), (20, 640), (30, 0), (40, 2562)]);
    assert_eq!(rig.said.last().unwrap().1.rate, Some(Rate::mbps(500)));
    assert_eq!(rig.said[4].1.rate, Some(Rate::ZERO));
    // Messages are repeated every 100 ms, with a new sequence.
    let before = rig.said.len();
    rig.run(340);
    let repeats: Vec<i64> = rig.said[before..].iter().map(|s| s.0).collect();
    assert_eq!(repeats, [140, 240, 340]);
    assert!(rig.said.windows(2).all(|w| w[0].1.sequence < w[1].1.sequence));
    assert_eq!(rig.proxy.counters().repeats, 3);
}

#[test]
fn reports_lost_late_doubled_and_of_a_restarted_access_point() {
    let mut rig = Rig::new(ProxyPolicy::Reactive {});
    let mut at = 0;
    let mut hear = |epoch, sequence, mbps| {
        at += 1;
        rig.input(at, ProxyInput::Report(report(epoch, sequence, mbps)));
        rig.window(at) / 5
    };
    assert_eq!(hear(2, 1, 1000), 1000);
    // The third report overtakes the second, which is dropped when it arrives; the third is
    // repeated.
    assert_eq!([hear(2, 3, 500), hear(2, 2, 250), hear(2, 3, 250)], [500; 3]);
    // After a restart numbers start again. Messages of the predecessor arrive late.
    assert_eq!([hear(3, 1, 750), hear(2, 4, 125), hear(2, u64::MAX, 0), hear(3, 2, 125)], [750, 750, 750, 125]);
    let counters = rig.proxy.counters();
    assert_eq!((counters.reports, counters.stale), (4, 4));
}

#[test]
fn an_access_point_that_falls_silent_stops_nobody_for_ever() {
    for policy in ProxyPolicy::all() {
        let proxy = WindowProxy::new(WindowProxyConfig { policy, ..WindowProxyConfig::default() });
        let mut rig = Rig { proxy, sequence: 0, said: Vec::new() };
        rig.input(0, ProxyInput::Join { flow: FLOW, link: LINK });
        rig.report(0, 1000);
        rig.report(500, 0);
        // A second after the last report the slowest rate applies, until there is another report.
        assert_eq!([rig.window(1499), rig.window(1500), rig.window(9000)], [0, 625, 625]);
        rig.report(9000, 0);
        assert_eq!([rig.window(9000), rig.window(9999), rig.window(10_000)], [0, 0, 625]);
        assert!(rig.proxy.deadline().is_some_and(|at| at > ms(10_000)));
    }
}

#[test]
fn a_proxy_restarts() {
    let mut old = Rig::new(proactive());
    old.report(0, 1500);
    old.report(10, 125);
    let config = WindowProxyConfig { epoch: 2, policy: proactive(), ..WindowProxyConfig::default() };
    let mut new = Rig { proxy: WindowProxy::new(config), sequence: 40, said: Vec::new() };
    // It knows neither links nor the flow, and sends nothing without knowing them.
    new.report(100, 1000);
    assert_eq!((new.said.len(), new.proxy.deadline()), (0, None));
    new.input(110, ProxyInput::Join { flow: FLOW, link: LINK });
    assert_eq!(new.changes(), [(110, 5000)]);
    // The new proxy's first message is newer for a sender than the old one's last.
    let mut newest = Freshness::default();
    for (_, s) in &old.said {
        assert!(newest.accept(s.epoch, s.sequence));
    }
    assert!(newest.accept(new.said[0].1.epoch, new.said[0].1.sequence));
    assert!(!newest.accept(old.said[1].1.epoch, 99));
}

#[test]
fn proactive_holds_until_the_timer_ends_and_grows_back() {
    let mut rig = Rig::new(proactive());
    rig.report(0, 1500);
    // One usable rate down is no fast fall, and neither are two within more than 150 ms.
    rig.report(1000, 1250);
    rig.report(1151, 1000);
    assert_eq!(rig.changes(), [(0, 7500), (1000, 6250), (1151, 5000)]);
    // 812.5 Mb/s within 150 ms of 1250 are two rates. The rate recovers at once, but the window is
    // held for 0.8 s.
    rig.report(1200, 812);
    rig.report(1210, 1500);
    let held = rig.changes();
    assert_eq!(held[3..], [(1200, 5000 / 8)]);
    assert_eq!([rig.window(1999), rig.window(2000), rig.window(2039), rig.window(2040)], [625, 625, 625, 1250]);
    rig.run(3000);
    // One rate per 40 ms: 125, 250, 312.5, 375, 500, 625, 750, 812.5, 1000, 1250, 1500 Mb/s, the
    // ten steps from 2.0 s on.
    let grown: Vec<(i64, u64)> = [1250, 1562, 1875, 2500, 3125, 3750, 4062, 5000, 6250, 7500]
        .iter()
        .zip(1..)
        .map(|(&w, i)| (2000 + 40 * i, w))
        .collect();
    assert_eq!(rig.changes()[4..], grown);
}

#[test]
fn what_counts_as_a_fall_and_what_follows_are_parameters() {
    let config = ProactiveConfig {
        window: Duration::from_ms(50),
        drop: 1,
        ttr: Duration::from_ms(300),
        growth: Duration::from_ms(10),
    };
    let mut rig = Rig::new(ProxyPolicy::Proactive(config));
    rig.report(0, 500);
    rig.report(100, 375);
    rig.run(1000);
    assert_eq!(rig.changes(), [(0, 2500), (100, 625), (410, 1250), (420, 1562), (430, 1875)]);
}

#[test]
fn a_channel_that_is_still_bad_stays_conservative() {
    let mut rig = Rig::new(proactive());
    rig.report(0, 1500);
    rig.report(100, 125);
    // At its slowest rate at 0.9 s, and checked again every 150 ms: better from 1.0 s on, noticed
    // at 1.05 s.
    rig.report(1000, 500);
    assert_eq!([rig.window(1049), rig.window(1090), rig.window(1130)], [625, 1250, 1562]);
    // Another fast fall during growth: the policy starts over.
    rig.report(1140, 250);
    assert_eq!([rig.window(1140), rig.window(1939), rig.window(1980)], [625, 625, 1250]);
}

#[test]
fn nothing_is_allowed_without_a_rate() {
    let mut rig = Rig::new(proactive());
    rig.report(0, 1500);
    rig.report(100, 0);
    // 0.8 s are long over; the outage is not.
    assert_eq!([rig.window(100), rig.window(5_000)], [0, 0]);
    rig.report(5_000, 1500);
    assert_eq!(rig.window(5_000), 625);
    rig.run(8_000);
    assert_eq!(rig.window(8_000), 7500);
    // An outage without a fast fall: no timer, and the same growth.
    let mut slow = Rig::new(proactive());
    slow.report(0, 250);
    slow.report(1000, 125);
    slow.report(2000, 0);
    slow.report(3000, 312);
    slow.run(3040);
    assert_eq!(slow.changes(), [(0, 1250), (1000, 625), (2000, 0), (3000, 625), (3040, 1560)]);
}

#[test]
fn falls_are_counted_over_usable_rates() {
    let ladder = RateLadder::default();
    // MCS 4 is the rung below MCS 6, as MCS 5 is never chosen; between rungs the lower one counts.
    let rung = |mbps| ladder.rung(Rate::mbps(mbps));
    assert_eq!(
        [rung(0), rung(124), rung(125), rung(375), rung(406), rung(500), rung(1500), rung(9000)],
        [0, 0, 1, 4, 4, 5, 11, 11]
    );
    assert_eq!([ladder.rate(0), ladder.rate(1), ladder.rate(99)], [Rate::ZERO, Rate::mbps(125), Rate::mbps(1500)]);
    assert_eq!(RateLadder::new([Rate::ZERO]), None);
    let two = RateLadder::new([Rate::mbps(2), Rate::mbps(1), Rate::mbps(2)]).unwrap();
    assert_eq!((two.lowest(), two.rung(Rate::mbps(3))), (Rate::mbps(1), 2));
    let mut rig = Rig::new(proactive());
    rig.report(0, 500);
    rig.report(10, 375);
    assert_eq!(rig.window(10), 1875);
}

#[test]
fn flows_share_a_link_and_links_are_their_own() {
    let mut rig = Rig::new(ProxyPolicy::Reactive {});
    rig.report(0, 1000);
    let other = ProxyInput::Join { flow: FlowId(5), link: LINK };
    rig.input(10, other);
    // Joining twice has no further effect.
    rig.input(11, other);
    rig.input(12, ProxyInput::Join { flow: FlowId(6), link: LinkId(1) });
    let last =
        |rig: &Rig, flow| rig.said.iter().rev().find(|s| s.1.flow == FlowId(flow)).map(|s| s.1.window.get() / 1000);
    assert_eq!((last(&rig, 4), last(&rig, 5), last(&rig, 6)), (Some(2500), Some(2500), None));
    rig.input(20, ProxyInput::Leave { flow: FLOW });
    rig.input(20, ProxyInput::Leave { flow: FLOW });
    assert_eq!((last(&rig, 4), last(&rig, 5)), (Some(2500), Some(5000)));
    // Without flows nothing is due, whatever timers links have.
    let mut rig = Rig::new(proactive());
    rig.report(0, 1000);
    rig.report(10, 125);
    assert!(rig.proxy.deadline().is_some());
    rig.input(20, ProxyInput::Leave { flow: FLOW });
    assert_eq!(rig.proxy.deadline(), None);
    rig.report(5_000, 1000);
    rig.input(6_000, ProxyInput::Join { flow: FLOW, link: LINK });
    assert_eq!(rig.said.last().unwrap().1.rate, Some(Rate::gbps(1)));
}

#[test]
fn an_access_point_reports_changes_and_keeps_alive() {
    let config = LinkReporterConfig { link: LINK, epoch: 7, keep_alive: Duration::from_ms(100) };
    let mut reporter = LinkReporter::new(config);
    let sample = |mbps, level_cdbm| {
        let uses = (mbps > 0).then_some(LinkUse { rate: Rate::mbps(mbps), mcs: 2 });
        ReporterInput::Link(LinkSample { uses, beams: (1, 2), level_cdbm })
    };
    let mut out = Vec::new();
    let queue = QueueSample { bytes: Bytes::kb(9), packets: 3, drops: 1 };
    reporter.handle(ms(0), ReporterInput::Queue(queue), &mut out);
    reporter.handle(ms(1), ReporterInput::Due, &mut out);
    assert_eq!((out.len(), reporter.deadline()), (0, None));
    // A change of level alone causes no report; a change of rate, an outage and its end do.
    for (at, input) in
        [(10, sample(250, -8000)), (20, sample(250, -7990)), (30, sample(0, -9000)), (50, sample(250, -8000))]
    {
        reporter.handle(ms(at), input, &mut out);
    }
    let taken: Vec<(i64, u64)> = out.iter().map(|r| (r.taken_at.as_ps() / 1_000_000_000, r.sequence)).collect();
    assert_eq!(taken, [(10, 1), (30, 2), (50, 3)]);
    assert_eq!((out[0].queue, out[0].epoch, out[0].link, out[1].sample.uses), (queue, 7, LINK, None));
    assert_eq!(reporter.deadline(), Some(ms(150)));
    // Called early it waits; called late it does not catch up.
    reporter.handle(ms(149), ReporterInput::Due, &mut out);
    assert_eq!(out.len(), 3);
    reporter.handle(ms(370), ReporterInput::Due, &mut out);
    assert_eq!((out.len(), reporter.deadline()), (4, Some(ms(470))));
}

#[test]
fn policies_answer_as_in_the_offline_evaluation() {
    let table = include_str!("../../../../data/proxy/predicted.csv");
    let ladder = RateLadder::default();
    let config = PredictedConfig { boldness: 0.75 };
    let mut policy = Predicted::new(config, ladder.clone());
    let mut careful = proactive().build(&ladder);
    let (mut ahead, mut at_zero) = (0, 0);
    for line in table.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|c| c.parse().unwrap()).collect();
        let [time, level, bps, expected, proactive_bps] = cells[..] else { panic!("{line}") };
        let rate = Rate::bps(bps as u64);
        let now = ms(time as i64);
        let view = LinkView { rate, rung: ladder.rung(rate), level_dbm: level * 0.01 };
        policy.report(now, view);
        careful.report(now, view);
        assert_eq!(careful.allowed(now), Rate::bps(proactive_bps as u64), "{line}");
        let bold = expected + config.boldness;
        // If the sum is close to a whole number, its last digits decide.
        if (bold - bold.round()).abs() > 1e-5 {
            let rung = if bold < 1.0 { 1 } else { bold as usize };
            assert_eq!(policy.allowed(now), rate.min(ladder.rate(rung)), "{line}");
        }
        ahead += i32::from(policy.allowed(now) < rate);
        at_zero += i32::from(rate == Rate::ZERO);
        assert!(policy.allowed(now) > Rate::ZERO || rate == Rate::ZERO);
    }
    assert!(ahead > 10 && at_zero > 10, "{ahead} {at_zero}");
}

/// Messages in flight by arrival time, then by order of sending.
type Wire<T> = BTreeMap<(i64, usize), T>;

/// Sends over a wire that loses, delays and doubles by a cyclic list of fates: 0 loses, others
/// delay by milliseconds, 7 doubles.
fn send<T: Copy>(wire: &mut Wire<T>, now: i64, message: T, fates: &[u8], count: &mut usize) {
    let fate = fates[*count % fates.len()];
    *count += 1;
    if fate > 0 {
        wire.insert((now + i64::from(fate), *count), message);
    }
    if fate == 7 {
        wire.insert((now + 19, *count), message);
    }
}

proptest! {
    /// From the access point over a proxy to a sender, with messages lost, late, doubled and
    /// overtaken. Once messages arrive again, the sender has the window of the current rate after
    /// at most a keep-alive and a repetition.
    #[test]
    fn what_is_lost_heals(changes in prop::collection::vec((1..90i64, 0..12usize), 1..20), fates in prop::collection::vec(prop_oneof![2 => Just(0u8), 3 => 1..20u8], 1..40)) {
        let ladder = RateLadder::default();
        let config = LinkReporterConfig { link: LINK, epoch: 1, keep_alive: Duration::from_ms(50) };
        let mut reporter = LinkReporter::new(config);
        let mut proxy = WindowProxy::new(WindowProxyConfig::default());
        proxy.handle(ms(0), ProxyInput::Join { flow: FLOW, link: LINK }, &mut Vec::new());
        let (mut up, mut down): (Wire<LinkReport>, Wire<Steer>) = Default::default();
        let (mut newest, mut window, mut count) = (Freshness::default(), None, 0);
        let mut at = 0;
        let times: Vec<(i64, usize)> = changes.iter().map(|&(wait, rung)| { at += wait; (at, rung) }).collect();
        // From 40 ms after the last change on, everything arrives after a millisecond. Earlier
        // messages arrive within 20 ms.
        for now in 0..=at + 40 + 50 + 100 + 25 {
            let fates = if now > at + 40 { &[1][..] } else { &fates[..] };
            let mut reports = Vec::new();
            for &(_, rung) in times.iter().filter(|t| t.0 == now) {
                let uses = (rung > 0).then_some(LinkUse { rate: ladder.rate(rung), mcs: 0 });
                let sample = LinkSample { uses, beams: (0, 0), level_cdbm: 0 };
                reporter.handle(ms(now), ReporterInput::Link(sample), &mut reports);
            }
            reporter.handle(ms(now), ReporterInput::Due, &mut reports);
            for report in reports {
                send(&mut up, now, report, fates, &mut count);
            }
            let mut steers = Vec::new();
            while let Some(report) = up.first_entry().filter(|e| e.key().0 <= now).map(|e| e.remove()) {
                proxy.handle(ms(now), ProxyInput::Report(report), &mut steers);
            }
            proxy.handle(ms(now), ProxyInput::Due, &mut steers);
            for steer in steers {
                send(&mut down, now, steer, fates, &mut count);
            }
            while let Some(steer) = down.first_entry().filter(|e| e.key().0 <= now).map(|e| e.remove()) {
                if newest.accept(steer.epoch, steer.sequence) {
                    window = Some(steer.window);
                }
            }
        }
        let rate = ladder.rate(times[times.len() - 1].1);
        prop_assert_eq!(window, Some(rate.bytes_in(Duration::from_ms(40))));
    }

    /// For any reports at any times, no policy allows more than the rate reported last, or anything
    /// in an outage, or less than the slowest rate otherwise. If the channel stays good, the whole
    /// rate returns.
    #[test]
    fn policies_keep_their_bounds(steps in prop::collection::vec((0..400i64, 0..12usize, -10_000..-5_000i32), 1..60)) {
        let ladder = RateLadder::default();
        let mut all: Vec<Box<dyn WindowPolicy>> = ProxyPolicy::all().iter().map(|p| p.build(&ladder)).collect();
        all.push(Box::new(Proactive::new(ProactiveConfig { drop: 1, ..ProactiveConfig::default() }, ladder.clone())));
        for (i, policy) in all.iter_mut().enumerate() {
            let mut now = 0;
            for &(wait, rung, level) in &steps {
                now += wait;
                let rate = ladder.rate(rung);
                policy.report(ms(now), LinkView { rate, rung, level_dbm: f64::from(level) * 0.01 });
                let allowed = policy.allowed(ms(now));
                prop_assert!(allowed <= rate && (allowed > Rate::ZERO) == (rung > 0));
                prop_assert!(rung == 0 || allowed >= ladder.lowest());
                prop_assert!(policy.deadline().is_none_or(|at| at > ms(now)));
            }
            let fast = LinkView { rate: ladder.rate(11), rung: 11, level_dbm: -60.0 };
            for _ in 0..300 {
                now += 10;
                policy.report(ms(now), fast);
            }
            // The predictor does not guarantee this.
            if ProxyPolicy::all().get(i).is_none_or(|p| p.name() != "predicted") {
                prop_assert_eq!(policy.allowed(ms(now)), fast.rate);
            }
        }
    }
}
