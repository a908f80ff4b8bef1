//! Which access point a device uses over time.
//!
//! The answer is computed before the run, because levels are known then (event A3: another access
//! point is better by a hysteresis for some time). A handover closes a link, takes its queue, makes
//! switches route around all unused links, and opens the new link after the delay. Packets that
//! arrive meanwhile wait at the new access point, in either direction.

pub(crate) mod access;

use crate::engine::time::SimTime;
use timeplane_model::Duration;

/// The conditions for a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverRules {
    /// How much louder another access point must be, in hundredths of a decibel.
    pub hysteresis_cdb: i32,
    /// How long it must be louder.
    pub trigger: Duration,
    /// How long nothing is carried or compared during the handover.
    pub delay: Duration,
}

/// A change of a device's access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When the device leaves the old one.
    pub at: SimTime,
    /// When the new one carries.
    pub until: SimTime,
    /// The place of the new link among the device's links.
    pub to: usize,
}

/// A time, and the level in hundredths of a dBm from then on.
pub type Level = (SimTime, i32);

/// The first link of a device, and its handovers. `levels` holds the received levels of each link
/// in order of time; a level lasts until the next.
///
/// At the start the loudest link is used; among equals, the first. The condition of another link
/// holds while its level exceeds that of the link in use by more than the hysteresis (event A3 of
/// 3GPP TS 38.331, clause 5.5.4.4, without offsets). A handover follows once a condition has held
/// for the trigger time without a break; among several such links, to the loudest. Conditions
/// restart when a handover is done. A condition that ends at the very instant of the trigger time
/// has not held long enough.
pub fn associate(levels: &[Vec<Level>], rules: HandoverRules) -> (usize, Vec<Handover>) {
    let mut next = vec![0; levels.len()];
    let mut now = vec![i32::MIN; levels.len()];
    let mut advance = |at: SimTime, now: &mut [i32]| {
        for ((levels, next), level) in levels.iter().zip(&mut next).zip(now) {
            while let Some(&(_, l)) = levels.get(*next).filter(|l| l.0 <= at) {
                *level = l;
                *next += 1;
            }
        }
        levels.iter().zip(&next).filter_map(|(l, &n)| Some(l.get(n)?.0)).min()
    };
    let loudest =
        |among: &mut dyn Iterator<Item = usize>, now: &[i32]| among.min_by_key(|&i| (std::cmp::Reverse(now[i]), i));
    let mut at = SimTime::ZERO;
    let mut change = advance(at, &mut now);
    let first = loudest(&mut (0..levels.len()), &now).unwrap_or(0);
    let (mut used, mut handovers) = (first, Vec::new());
    let mut since: Vec<Option<SimTime>> = vec![None; levels.len()];
    loop {
        for (i, since) in since.iter_mut().enumerate() {
            let holds = i != used && i64::from(now[i]) > i64::from(now[used]) + i64::from(rules.hysteresis_cdb);
            *since = if holds { Some(since.unwrap_or(at)) } else { None };
        }
        let over = |i: &usize| since[*i].is_some_and(|s| s + rules.trigger <= at);
        if let Some(to) = loudest(&mut (0..levels.len()).filter(over), &now) {
            let until = at + rules.delay;
            handovers.push(Handover { at, until, to });
            used = to;
            since.fill(None);
            at = until;
        } else {
            let due = since.iter().flatten().map(|&s| s + rules.trigger).min();
            match change.into_iter().chain(due).min() {
                Some(next) => at = next,
                None => return (first, handovers),
            }
        }
        change = advance(at, &mut now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> SimTime {
        SimTime::ZERO + Duration::from_ms(ms)
    }

    fn levels(of: &[(i64, i32)]) -> Vec<Level> {
        of.iter().map(|&(at, level)| (ms(at), level)).collect()
    }

    const RULES: HandoverRules =
        HandoverRules { hysteresis_cdb: 300, trigger: Duration::from_ms(100), delay: Duration::from_ms(20) };

    fn to(at: i64, to: usize) -> Handover {
        Handover { at: ms(at), until: ms(at + 20), to }
    }

    #[test]
    fn the_louder_one_is_used_once_it_was_for_long_enough() {
        let a = levels(&[(0, -5_000), (500, -6_000), (900, -5_000)]);
        let b = levels(&[(0, -5_500)]);
        // It is louder by 5 dB from 500 ms on; the first one is by as much from 900 ms on.
        assert_eq!(associate(&[a, b], RULES), (0, vec![to(600, 1), to(1_000, 0)]));
    }

    #[test]
    fn the_hysteresis_itself_is_not_enough_and_a_break_begins_anew() {
        let a = levels(&[(0, -5_000)]);
        let equal = levels(&[(0, -6_000), (100, -4_700)]);
        assert_eq!(associate(&[a.clone(), equal], RULES), (0, vec![]));
        let broken = levels(&[(0, -4_000), (50, -4_800), (51, -4_000), (151, -6_000), (200, -4_600), (299, -4_699)]);
        // At the start the louder one is used at once. Then a has 100 ms less an instant, then
        // exactly 100 ms.
        assert_eq!(associate(&[a.clone(), broken.clone()], RULES).0, 1);
        let quiet = levels(&[(0, -7_000), (10, -4_000), (60, -4_800), (61, -4_000), (161, -6_000), (200, -4_600)]);
        assert_eq!(associate(&[a, quiet], RULES), (0, vec![to(300, 1)]));
    }

    #[test]
    fn nothing_is_compared_while_a_handover_lasts() {
        let rules = HandoverRules { delay: Duration::from_ms(500), trigger: Duration::ZERO, ..RULES };
        let a = levels(&[(0, -5_000), (10, -6_000), (100, -4_000)]);
        let b = levels(&[(0, -5_500)]);
        let handovers =
            vec![Handover { at: ms(10), until: ms(510), to: 1 }, Handover { at: ms(510), until: ms(1_010), to: 0 }];
        assert_eq!(associate(&[a, b], rules), (0, handovers));
    }

    #[test]
    fn of_several_the_loudest_is_taken() {
        let a = levels(&[(0, -5_000), (100, -8_000)]);
        let b = levels(&[(0, -6_000)]);
        // Both have been louder for as long.
        let c = levels(&[(0, -7_000), (150, -5_500)]);
        assert_eq!(associate(&[a.clone(), b.clone(), c], RULES), (0, vec![to(200, 2)]));
        // The third one comes later, and is compared with the second once that carries.
        let c = levels(&[(0, -9_000), (150, -5_500)]);
        assert_eq!(associate(&[a, b, c], RULES), (0, vec![to(200, 1), to(320, 2)]));
    }

    #[test]
    fn a_swing_below_the_hysteresis_moves_nobody() {
        let swing: Vec<Level> = (0..100).map(|i| (ms(i * 200), if i % 2 == 0 { -5_000 } else { -5_500 })).collect();
        let steady = levels(&[(0, -5_250)]);
        assert_eq!(associate(&[swing.clone(), steady.clone()], RULES), (0, vec![]));
        let eager = HandoverRules { hysteresis_cdb: 200, ..RULES };
        let (_, handovers) = associate(&[swing, steady], eager);
        assert_eq!(handovers.len(), 99, "each swing a handover");
    }
}
