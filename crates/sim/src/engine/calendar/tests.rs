//! The calendar against a binary heap: the same events in the same order.
//! Times are drawn so that days become longer and shorter during a test.

use super::*;
use proptest::prelude::*;

const END: Event = Event::NEVER;

#[test]
fn networks_sort() {
    // What sorts all zeros and ones sorts everything.
    for count in 0..=ROOM as u32 {
        for bits in 0..1u64 << count {
            let mut entries = [NOTHING; ROOM];
            for (i, e) in entries.iter_mut().enumerate().take(count as usize) {
                *e = bits >> i & 1;
            }
            let sorted = in_order(&entries, count);
            assert!(sorted.is_sorted() && sorted[count as usize..].iter().all(|&e| e == NOTHING), "{sorted:?}");
            assert_eq!(sorted[..count as usize].iter().sum::<u64>(), u64::from(bits.count_ones()));
        }
    }
}

/// Operations on the calendar and on a binary heap side by side: pops, and pushes at or after the
/// last pop.
fn same_as_heap(steps: &[(u8, i64)], stretch: impl Fn(usize) -> i64) {
    let mut calendar = Calendar::default();
    let mut heap = BinaryHeap::new();
    let mut now = 0;
    for (i, &(op, ahead)) in steps.iter().enumerate() {
        if op % 3 == 0 {
            let expected = heap.pop().map(|Reverse(e): Reverse<Event>| e);
            assert_eq!(calendar.pop_before(END), expected, "step {i}");
            now = expected.map_or(now, |e| e.at.0);
        } else {
            let phase = Phase::ALL[usize::from(op) % Phase::ALL.len()];
            // An arrival's slot is not kept.
            let slot = if phase == Phase::Arrive { 0 } else { i as u32 };
            let key = Key::new(phase, u32::from(op), slot);
            let at = SimTime(now + ahead * stretch(i));
            calendar.push(at, key);
            heap.push(Reverse(Event { at, key }));
        }
    }
    while let Some(Reverse(e)) = heap.pop() {
        assert_eq!(calendar.pop_before(END), Some(e));
    }
    assert!(calendar.is_empty() && calendar.pop_before(END).is_none());
}

proptest! {
    #[test]
    fn pops_like_a_heap(steps in prop::collection::vec((any::<u8>(), 0i64..5_000_000), 1..2_000)) {
        same_as_heap(&steps, |_| 1);
    }
}

#[test]
fn pops_like_a_heap_while_time_scales_change() {
    // Long enough for several adaptations; distances between 1 ps and 1 s.
    let mut x = 7u64;
    let steps: Vec<(u8, i64)> = (0..400_000)
        .map(|i| {
            x = timeplane_model::mix64(x.wrapping_add(0x9e37_79b9_7f4a_7c15));
            // Thirds are pops: let the queue fill, then drain.
            let op = if (i / 50_000) % 2 == 1 { (x % 9) as u8 / 2 } else { (x % 251) as u8 };
            (op, (x >> 40) as i64)
        })
        .collect();
    same_as_heap(&steps, |i| [1, 1_000, 1, 60_000][i / 100_000]);
}

#[test]
fn pops_like_a_heap_as_links_use_it() {
    // Each event brings the next of its link; some links wait long; a bound stops the loop now and
    // then.
    let (mut calendar, mut heap) = (Calendar::default(), BinaryHeap::new());
    let mut x = 3u64;
    let mut draw = |below: i64| {
        x = timeplane_model::mix64(x.wrapping_add(0x9e37_79b9_7f4a_7c15));
        (x >> 20) as i64 % below
    };
    let push = |c: &mut Calendar, h: &mut BinaryHeap<_>, at: i64, link| {
        let event = Event { at: SimTime(at), key: EventKind::Arrival { link }.key() };
        c.push(event.at, event.key);
        h.push(Reverse(event));
    };
    for link in 0..300 {
        push(&mut calendar, &mut heap, draw(2_000_000), link);
    }
    for i in 0..300_000 {
        let Reverse(expected) = heap.pop().unwrap();
        if draw(8) == 0 {
            assert_eq!(calendar.peek(), Some(expected));
            assert_eq!(calendar.pop_before(expected), None);
        }
        assert_eq!(calendar.pop_before(END), Some(expected), "step {i}");
        let scale = [1, 100, 1, 10_000][i / 75_000];
        let ahead = if draw(50) == 0 { draw(1_000_000_000) } else { 1_000 + draw(12_000) * scale };
        push(&mut calendar, &mut heap, expected.at.0 + ahead, expected.key.element());
        // Now and then another link loses what it waits for, and waits for something else.
        if draw(10) == 0 {
            let mut other = None;
            let link = draw(300) as u32;
            heap.retain(|Reverse(e): &Reverse<Event>| {
                let is_it = e.key.element() == link;
                other = if is_it { Some(e.at) } else { other };
                !is_it
            });
            let at = other.expect("each link waits for something");
            assert!(!calendar.remove_arrival(at + timeplane_model::Duration::from_ps(1), link));
            assert!(calendar.remove_arrival(at, link) && !calendar.remove_arrival(at, link));
            push(&mut calendar, &mut heap, expected.at.0 + draw(20_000) * scale, link);
        }
    }
}

proptest! {
    /// Hosts act at few instants, one after the other, and some are stragglers.
    #[test]
    fn pops_like_a_heap_where_hosts_act_in_step(
        steps in prop::collection::vec((0u8..12, 0i64..4, 0u32..30, 1i64..100_000_000), 1..1_500),
    ) {
        let (mut calendar, mut heap, mut now) = (Calendar::default(), BinaryHeap::new(), 0);
        for (what, instant, host, period) in steps {
            if what == 0 {
                for _ in 0..host {
                    let expected = heap.pop().map(|Reverse(e): Reverse<Event>| e);
                    let bound = expected.unwrap_or(END);
                    prop_assert_eq!(calendar.peek(), expected);
                    prop_assert_eq!(calendar.pop_before(bound), None);
                    prop_assert_eq!(calendar.pop_before(END), expected);
                    now = expected.map_or(now, |e| e.at.0);
                }
                continue;
            }
            let at = SimTime(now / period * period + instant * period).max(SimTime(now));
            let mut push = |kind: EventKind| {
                calendar.push(at, kind.key());
                heap.push(Reverse(Event { at, key: kind.key() }));
            };
            match what {
                1..=3 => (0..host).for_each(|node| push(EventKind::AgentDue { node })),
                4..=6 => (0..host).for_each(|sender| push(EventKind::Serve { sender })),
                7 => push(EventKind::AgentDue { node: host }),
                8 => push(EventKind::Serve { sender: host }),
                9 => push(EventKind::QueuesChanged { host }),
                10 => push(EventKind::Timer { flow: host, key: 1 }),
                _ => push(EventKind::Arrival { link: host }),
            }
            prop_assert_eq!(calendar.len(), heap.len());
        }
        while let Some(Reverse(e)) = heap.pop() {
            prop_assert_eq!(calendar.pop_before(END), Some(e));
        }
        prop_assert!(calendar.is_empty() && calendar.pop_before(END).is_none());
    }
}
