//! The medium against closed formulas: airtime, Bianchi's fixed point, and the loss of a packet
//! that is hit in part.
//!
//! Back-offs and losses are drawn, so ratios have tolerances.

use super::*;
use crate::hosts::discipline::{Discipline, Limit, QueueState};
use proptest::prelude::*;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::BTreeSet;
use timeplane_radio::{
    Access as FormulaAccess, Db, Dbm, FLYWAYS_DRAFT, IEEE_802_11AD_2012, bit_error_rate_of_ratio, packet_success,
    required_sinr,
};

fn stream(n: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(n)
}

/// A queue without a bound.
fn queue() -> QueueState {
    QueueState::new(Discipline::DropTail { limit: Limit::Packets(u64::MAX) }, 10_040)
}

fn offered(packet: u32, bytes: u32) -> Offered {
    Offered { packet, bytes, acknowledgement: false, ecn_capable: false }
}

fn at_us(us: i64) -> SimTime {
    SimTime::ZERO + Duration::from_us(us)
}

const NOISE: Dbm = Dbm::new(-81.0);

/// Stations that hear each other at this level, with links between these stations at this rate.
fn medium(mac: MacParameters, access: Access, n: u32, level: Dbm, mcs: u8, ends: &[(u32, u32)]) -> Medium {
    let powers = (0..n * n).map(|i| if i / n == i % n { 0.0 } else { level.milliwatts().get() }).collect();
    let spec = MediumSpec {
        mac,
        access,
        retries: 7,
        noise: NOISE.milliwatts(),
        senses: Dbm::new(-68.0).milliwatts(),
        channels: vec![0; n as usize],
        powers,
    };
    let mcs = Mcs::numbered(mcs).unwrap();
    let links =
        ends.iter().zip(100..).map(|(&(a, b), i)| AirLink::new(a, b, Way::Coded(mcs), queue(), stream(i))).collect();
    Medium::new(spec, links, (0..u64::from(n)).map(stream).collect())
}

/// Keeps links full of packets of `bytes` until `end`: the packets that arrived, by link.
fn saturate(medium: &mut Medium, bytes: u32, end: SimTime) -> Vec<u64> {
    let links = medium.links().len();
    let (mut arrived, mut next) = (vec![0; links], 0);
    let mut fill = |medium: &mut Medium, now| {
        for l in 0..links as u32 {
            while medium.links()[l as usize].queued().0 < 400 {
                medium.offer(now, l, offered(next, bytes));
                next += 1;
            }
        }
    };
    fill(medium, SimTime::ZERO);
    while let Some(now) = medium.deadline().filter(|&t| t < end) {
        let outcomes: Vec<_> = medium.step(now).collect();
        for outcome in outcomes {
            if let Outcome::Arrived { link, .. } = outcome {
                arrived[link as usize] += 1;
            }
        }
        fill(medium, now);
    }
    arrived
}

#[test]
fn one_sender_gets_what_airtime_leaves() {
    for (mac, mcs, bytes) in [(FLYWAYS_DRAFT, 24, 10_040), (FLYWAYS_DRAFT, 13, 10_040), (IEEE_802_11AD_2012, 24, 1_500)]
    {
        for (access, formula) in [
            (Access::NoBackoff, FormulaAccess::NoBackoff),
            (Access::Dcf, FormulaAccess::Dcf),
            (Access::Token, FormulaAccess::BackToBack),
        ] {
            let mut m = medium(mac, access, 2, Dbm::new(-40.0), mcs, &[(0, 1)]);
            let arrived = saturate(&mut m, bytes, at_us(200_000))[0];
            let goodput = arrived as f64 * f64::from(bytes - 40) * 8.0 / 0.2;
            let rate = Mcs::numbered(mcs).unwrap();
            let expected = timeplane_radio::tcp_goodput(&mac, rate, timeplane_radio::AckPath::Wire, formula);
            let ratio = goodput / expected.as_bps() as f64;
            // Back-offs are drawn. The rest is the frame that the end cuts.
            assert!((0.994..1.006).contains(&ratio), "SIFS {} {access:?} MCS {mcs}: {ratio}", mac.sifs);
            assert_eq!(m.counts().unanswered, 0);
        }
    }
}

/// The probabilities that one of `n` saturated stations sends in a slot, and that it collides
/// (Bianchi, IEEE JSAC 18(3), 2000, equations 7 and 9).
fn bianchi(n: u32, w: f64, stages: i32) -> (f64, f64) {
    let sends = |p: f64| 2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(stages)));
    let collides = |tau: f64| 1.0 - (1.0 - tau).powi(n as i32 - 1);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = 0.5 * (low + high);
        // `p = 0.5` is a gap of the formula, not of the curve.
        let p = if (p - 0.5_f64).abs() < 1e-12 { 0.5 + 1e-9 } else { p };
        if collides(sends(p)) > p { low = p } else { high = p }
    }
    (sends(low), low)
}

#[test]
fn saturated_stations_meet_bianchi() {
    let mac = IEEE_802_11AD_2012;
    for n in [5, 10, 20] {
        let ends: Vec<_> = (0..n).map(|s| (s, n)).collect();
        let mut m = medium(mac, Access::Dcf, n + 1, Dbm::new(-40.0), 24, &ends);
        m.spec.retries = u32::MAX;
        let end = 3.0;
        let arrived: u64 = saturate(&mut m, 1_500, SimTime::ZERO + Duration::from_secs_f64(end)).iter().sum();
        let (tau, _) = bianchi(n, 16.0, 6);
        let some = 1.0 - (1.0 - tau).powi(n as i32);
        let alone = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1) / some;
        // The slot of the formula after a frame starts with AIFS.
        let mcs = Mcs::numbered(24).unwrap();
        let packets = mac.fill(mcs, core::iter::repeat_n(Bytes::new(1_500), 1_000)) as f64;
        let psdu = mac.psdu(core::iter::repeat_n(Bytes::new(1_500), packets as usize));
        let busy = (mac.exchange(mcs, psdu) + mac.aifs()).as_secs_f64();
        let slot = mac.slot.as_secs_f64();
        let expected = some * alone * packets / ((1.0 - some) * slot + some * busy);
        let ratio = arrived as f64 / end / expected;
        // In Bianchi's model stations freeze one slot longer, and no first slot after a frame
        // belongs to its sender alone.
        assert!((0.97..1.03).contains(&ratio), "{n} stations: {ratio}");
        let collided = m.counts().unanswered as f64 / m.counts().frames as f64;
        let (_, p) = bianchi(n, 16.0, 6);
        assert!((collided - p).abs() < 0.04, "{n} stations: {collided} of frames collide, the formula has {p}");
    }
}

#[test]
fn a_packet_hit_in_part_is_lost_with_the_probability_of_the_formula() {
    // Link 0 -> 1. Station 2 is heard by 1 but not by 0. It sends to 3 all the time, and starts in
    // the middle of 0's frames.
    let mac = MacParameters {
        aggregation: timeplane_radio::Aggregation { max_packets: Some(1), ..FLYWAYS_DRAFT.aggregation },
        ..FLYWAYS_DRAFT
    };
    let mcs = Mcs::numbered(17).unwrap();
    let (signal, noise) = (Dbm::new(-50.0), NOISE);
    let needed = required_sinr(mcs, noise).unwrap();
    // So loud that the part which is hit has a bit error rate of about 2e-5.
    let excess = Db::new(-1.5);
    let others = (signal - needed - excess).milliwatts().get();
    let interference = others - noise.milliwatts().get();
    let mut powers = vec![0.0; 16];
    let mut set = |from: usize, to: usize, mw: f64| powers[from * 4 + to] = mw;
    set(0, 1, signal.milliwatts().get());
    set(1, 0, signal.milliwatts().get());
    set(2, 1, interference);
    set(2, 3, signal.milliwatts().get());
    set(3, 2, signal.milliwatts().get());
    let spec = MediumSpec {
        mac,
        access: Access::NoBackoff,
        retries: 0,
        noise: noise.milliwatts(),
        senses: Dbm::new(-60.0).milliwatts(),
        channels: vec![0; 4],
        powers,
    };
    let links = vec![
        AirLink::new(0, 1, Way::Coded(mcs), queue(), stream(7)),
        AirLink::new(2, 3, Way::Coded(mcs), queue(), stream(8)),
    ];
    let mut m = Medium::new(spec, links, (0..4).map(stream).collect());
    let (rounds, bytes, late) = (100_000_u32, 4_000_u32, Duration::from_us(9));
    let (mut lost, mut met) = (0_u32, 0);
    for round in 0..rounds {
        let now = at_us(100 * i64::from(round) + 50);
        m.offer(now, 0, offered(2 * round, bytes));
        let mut second = false;
        while let Some(t) = m.deadline() {
            if !second && t > now + late {
                second = true;
                m.offer(now + late, 1, offered(2 * round + 1, bytes));
                continue;
            }
            lost += m.step(t).filter(|o| matches!(o, Outcome::Lost { link: 0, .. })).count() as u32;
        }
        met = m.counts().met;
    }
    assert_eq!(met, u64::from(rounds), "each packet is hit once");
    let psdu = mac.psdu([Bytes::new(u64::from(bytes))]);
    let before = mac.timing.bits_by(mcs, psdu, late);
    let bits = 8 * psdu.get();
    let formula = 1.0 - packet_success([(before, signal - noise - needed), (bits - before, excess)]);
    assert!((0.1..0.9).contains(&formula), "a probability worth measuring, not {formula}");
    let measured = f64::from(lost) / f64::from(rounds);
    let deviation = (formula * (1.0 - formula) / f64::from(rounds)).sqrt();
    assert!((measured - formula).abs() < 4.0 * deviation, "{measured} lost, the formula has {formula} +- {deviation}");
    assert!(bit_error_rate_of_ratio(excess.ratio()) > 1e-6);
}

#[test]
fn packets_come_once_and_in_order_whatever_is_lost() {
    // At 1.5 dB below sensitivity many packets of a frame are wrong, and some answers.
    for (mac, access) in [
        (IEEE_802_11AD_2012, Access::Dcf),
        (IEEE_802_11AD_2012, Access::Token),
        (FLYWAYS_DRAFT, Access::Dcf),
        (FLYWAYS_DRAFT, Access::DcfWithoutCollisions),
        (IEEE_802_11AD_2012, Access::NoBackoff),
    ] {
        let level = Mcs::numbered(24).unwrap().sensitivity().unwrap()
            - Db::new(if mac.aggregation.packets_are_checked { 1.0 } else { 0.0 });
        let mut m = medium(mac, access, 2, level, 24, &[(0, 1), (1, 0)]);
        let (mut out, mut lost) = (vec![Vec::new(), Vec::new()], BTreeSet::new());
        for packet in 0..3_000 {
            m.offer(SimTime::ZERO, packet % 2, offered(packet, 1_500));
        }
        let mut steps = 0;
        while let Some(now) = m.deadline() {
            for outcome in m.step(now) {
                match outcome {
                    Outcome::Arrived { link, packet } => out[link as usize].push(packet),
                    Outcome::Lost { packet, .. } => assert!(lost.insert(packet)),
                    Outcome::Marked { .. } | Outcome::Returned { .. } => panic!("nothing marks or is down"),
                }
            }
            steps += 1;
            assert!(steps < 1_000_000, "it comes to an end");
        }
        for (link, got) in out.iter().enumerate() {
            assert!(got.is_sorted_by(|a, b| a < b), "{access:?}: in order, once");
            assert!(got.iter().all(|p| p % 2 == link as u32 && !lost.contains(p)));
        }
        assert_eq!(out[0].len() + out[1].len() + lost.len(), 3_000);
        assert!(m.links().iter().all(|l| l.queued() == (0, 0) && l.packets().count() == 0));
        if mac.aggregation.packets_are_checked {
            assert!(lost.len() < 300, "{access:?}: retries repair, {} lost", lost.len());
        }
    }
}

#[test]
fn without_retransmission_what_is_wrong_is_lost() {
    let mcs = Mcs::numbered(24).unwrap();
    let mut m = medium(IEEE_802_11AD_2012, Access::NoBackoff, 2, mcs.sensitivity().unwrap(), 24, &[(0, 1)]);
    m.spec.retries = 0;
    for packet in 0..100_000 {
        m.offer(SimTime::ZERO, 0, offered(packet, 4_096));
    }
    let mut lost = 0;
    while let Some(now) = m.deadline() {
        lost += m.step(now).filter(|o| matches!(o, Outcome::Lost { .. })).count();
    }
    // 3e-7 per bit, for a packet with its headers, and for all 63 of a frame whose answer does not
    // matter.
    let octets = IEEE_802_11AD_2012.in_frame(Bytes::new(4_096)).get() as f64;
    let expected = 1.0 - (1.0 - 3e-7_f64).powf(8.0 * octets);
    let measured = lost as f64 / 1e5;
    assert!((measured - expected).abs() < 4.0 * (expected / 1e5).sqrt(), "{measured} against {expected}");
}

#[test]
fn ends_of_a_link_take_turns() {
    for access in [Access::Token, Access::NoBackoff] {
        let mut m = medium(IEEE_802_11AD_2012, access, 2, Dbm::new(-40.0), 24, &[(0, 1), (1, 0)]);
        let arrived = saturate(&mut m, 1_500, at_us(100_000));
        let (a, b) = (arrived[0] as f64, arrived[1] as f64);
        assert!((a / b - 1.0).abs() < 0.02, "{access:?}: {arrived:?}");
        assert_eq!(m.counts().met, 0);
        let spacing = if access == Access::Token { IEEE_802_11AD_2012.sifs } else { IEEE_802_11AD_2012.aifs() };
        let mac = IEEE_802_11AD_2012;
        let mcs = Mcs::numbered(24).unwrap();
        let n = mac.fill(mcs, core::iter::repeat_n(Bytes::new(1_500), 1_000));
        let cycle = spacing + mac.exchange(mcs, mac.psdu(core::iter::repeat_n(Bytes::new(1_500), n)));
        let expected = 0.1 / cycle.as_secs_f64() * n as f64;
        assert!(((a + b) / expected - 1.0).abs() < 0.01, "{access:?}: {} against {expected}", a + b);
    }
}

#[test]
fn a_trace_sends_at_its_rate_and_not_without_one() {
    use timeplane_model::Rate;
    let quality = |mbps, packet_error| {
        let mcs = Mcs::numbered(12).unwrap();
        Some(Quality { level: Dbm::new(-60.0), mcs, rate: Rate::mbps(mbps), packet_error, packet: 8_140 })
    };
    let states =
        vec![(SimTime::ZERO, quality(1_500, 0.0)), (at_us(100_000), None), (at_us(200_000), quality(125, 0.25))];
    let mut m = medium(FLYWAYS_DRAFT, Access::Planned, 2, Dbm::new(-40.0), 24, &[]);
    m = Medium::new(
        MediumSpec { retries: 0, powers: vec![0.0; 4], ..m.spec },
        vec![AirLink::new(0, 1, Way::LinkTrace(LinkTrace::new(states)), queue(), stream(3))],
        (0..2).map(stream).collect(),
    );
    for packet in 0..20_000 {
        m.offer(SimTime::ZERO, 0, offered(packet, 8_140));
    }
    let (mut by, mut lost) = ([0; 3], 0);
    while let Some(now) = m.deadline().filter(|&t| t < at_us(1_200_000)) {
        for outcome in m.step(now) {
            match outcome {
                Outcome::Arrived { .. } => by[((now.as_ps() / 100_000_000_000) as usize).min(2)] += 1,
                Outcome::Lost { .. } => lost += 1,
                Outcome::Marked { .. } | Outcome::Returned { .. } => panic!("nothing marks or is down"),
            }
        }
    }
    // 8140 B last 43.41 us at 1.5 Gb/s and 520.96 us at 125 Mb/s.
    assert_eq!(by[0], (0.1_f64 / 43.413_333e-6) as i32);
    assert!(by[1] <= 1, "only what was in the air, not {}", by[1]);
    let sent = by[2] + lost;
    assert!((1_918..=1_921).contains(&sent), "{sent} in a second at 125 Mb/s");
    assert!((f64::from(lost) / f64::from(sent) - 0.25).abs() < 0.04, "{lost} of {sent}");
}

/// What happens to a medium of six stations, with their links to each other.
#[derive(Clone, Debug)]
enum Move {
    /// An antenna turns: others hear it at these levels in dBm, and it hears them.
    Point(u32, Vec<i8>, Vec<i8>),
    Down(u32),
    /// A link that was down is set up to a station.
    Up(u32, u32),
    Offer(u32),
    /// Time passes, in us.
    Wait(i64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let levels = || prop::collection::vec(-100i8..-40, 6);
    let one = prop_oneof![
        2 => (0u32..6, levels(), levels()).prop_map(|(s, by, of)| Move::Point(s, by, of)),
        2 => (0u32..8).prop_map(Move::Down),
        4 => (0u32..8, 0u32..6).prop_map(|(l, to)| Move::Up(l, to)),
        4 => (0u32..8).prop_map(Move::Offer),
        3 => (0i64..60).prop_map(Move::Wait),
    ];
    prop::collection::vec(one, 1..60)
}

proptest! {
    #[test]
    fn the_kept_sets_of_listeners_are_those_of_the_beams(moves in moves(), which in 0usize..4) {
        let access = [Access::Dcf, Access::DcfWithoutCollisions, Access::NoBackoff, Access::Token][which];
        // Two stations have two links each.
        let ends = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4), (0, 2), (3, 5)];
        let mut m = medium(FLYWAYS_DRAFT, access, 6, Dbm::new(-60.0), 20, &ends);
        m.spec.retries = 1;
        prop_assert_eq!(&m.hearing, &m.hearing_anew());
        let (mut now, mut packet) = (SimTime::ZERO, 0);
        for step in moves {
            let milliwatts = |levels: &[i8]| levels.iter().map(|&l| Dbm::new(l.into()).milliwatts().get()).collect();
            match step {
                Move::Point(s, by, of) => {
                    let (by, of): (Vec<f64>, Vec<f64>) = (milliwatts(&by), milliwatts(&of));
                    m.point(s, &by, &of);
                }
                Move::Down(l) => m.take_down(l),
                Move::Up(l, to) => {
                    m.take_down(l);
                    if m.links()[l as usize].from != to {
                        m.set_up(now, l, to, Mcs::numbered(13).unwrap());
                    }
                }
                Move::Offer(l) => {
                    m.offer(now, l, offered(packet, 9_000));
                    packet += 1;
                }
                Move::Wait(us) => {
                    let end = now + Duration::from_us(us);
                    while let Some(at) = m.deadline().filter(|&at| at <= end) {
                        m.step(at).for_each(drop);
                        prop_assert_eq!(&m.hearing, &m.hearing_anew());
                    }
                    now = end;
                }
            }
            prop_assert_eq!(&m.hearing, &m.hearing_anew());
        }
    }
}
