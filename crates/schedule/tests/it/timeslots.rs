//! Tests of timeslots and their paths: maximal, valid, in the order of their metric, with no two
//! packets on one unit link.

use proptest::prelude::*;
use std::collections::BTreeMap;
use timeplane_model::{
    Burst, Bytes, Class, Duration, Fabric, Framing, HostId, LinkSpec, Named, Rate, Switch, Time, mix64,
};
use timeplane_schedule::{
    Order, OwnError, PacketSlot, PathColoring, SlotFill, SlotMetric, SlotOrder, TimeslotAllocator,
};

const UNIT: Rate = Rate::gbps(1);

fn link(units: u64) -> LinkSpec {
    let rate = Rate::gbps(units);
    LinkSpec { rate, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 }
}

fn fabrics() -> Vec<Fabric> {
    let s = Switch::default();
    vec![
        Fabric::single_switch(9, s, link(1)).unwrap(),
        Fabric::leaf_spine(3, 4, 4, s, link(1), link(1)).unwrap(),
        Fabric::leaf_spine(4, 6, 2, s, link(1), link(3)).unwrap(),
        Fabric::leaf_spine(3, 6, 3, s, link(1), link(1)).unwrap(),
        Fabric::tree(3, 4, s, link(1), link(2)).unwrap(),
        Fabric::fat_tree(4, s, link(1), link(1)).unwrap(),
    ]
}

fn burst(destination: u32, arrived: i64, packets: u32, bytes: u64) -> Burst {
    let (destination, class, arrived) = (HostId(destination), Class(0), Time::from_ps(arrived));
    Burst { destination, class, arrived, packets, bytes: Bytes::new(bytes) }
}

fn allocator(fabric: &Fabric, order: impl Into<Order>, coloring: PathColoring, fill: SlotFill) -> TimeslotAllocator {
    TimeslotAllocator::new(fabric, order, coloring, fill, Bytes::new(1538)).unwrap()
}

fn slot(allocator: &mut TimeslotAllocator, start: i64) -> Vec<PacketSlot> {
    let mut out = vec![];
    allocator.allocate(Time::from_ps(start), &mut out).unwrap();
    out
}

/// An own order that does what a built-in one does.
struct Same(SlotMetric);

impl SlotOrder for Same {
    fn keys(&mut self, _: Time, waiting: &[timeplane_schedule::Waiting], keys: &mut Vec<i64>) -> Result<(), OwnError> {
        assert!(waiting.is_sorted_by_key(|w| (w.source, w.destination, w.class)) && keys.is_empty());
        keys.extend(waiting.iter().map(|w| match self.0 {
            SlotMetric::Ocf => w.arrived.as_ps(),
            SlotMetric::Srjf => w.flow_bytes.get() as i64,
            SlotMetric::Mmf => w.first_since.as_ps(),
        }));
        Ok(())
    }
}

fn pairs(slot: &[PacketSlot]) -> Vec<(u32, u32)> {
    let mut pairs: Vec<_> = slot.iter().map(|a| (a.source.0, a.destination.0)).collect();
    pairs.sort_unstable();
    pairs
}

/// Each host is used at most once per side, and each link carries at most its number of units.
fn is_valid(fabric: &Fabric, slot: &[PacketSlot]) {
    let mut on: BTreeMap<u32, u64> = BTreeMap::new();
    for a in slot {
        let path = match a.path {
            Some(tag) => fabric.tagged_path(a.source, a.destination, tag),
            None => {
                assert!(fabric.is_single_path(a.source, a.destination), "{a:?} needs a path");
                fabric.path(a.source, a.destination, 0)
            }
        };
        for link in path {
            let packets = on.entry(link.0).or_default();
            *packets += 1;
            let units = fabric.link(link).spec.rate.as_bps() / UNIT.as_bps();
            assert!(*packets <= units, "{packets} packets on {units} unit links of {link:?}");
        }
    }
}

/// No waiting pair could be added.
fn is_maximal(fabric: &Fabric, waiting: &BTreeMap<(u32, u32), u32>, slot: &[PacketSlot]) {
    let clos = timeplane_model::Clos::of(fabric).unwrap();
    let pairs = pairs(slot);
    let edge = |h: u32| clos.edge(HostId(h));
    let crossing = |side: fn(&(u32, u32)) -> u32, e: u32| {
        pairs.iter().filter(|p| edge(p.0) != edge(p.1) && edge(side(p)) == e).count() as u32
    };
    for &(s, d) in waiting.keys() {
        let ends = pairs.iter().any(|p| p.0 == s || p.1 == d);
        let full = edge(s) != edge(d)
            && (crossing(|p| p.0, edge(s)) == clos.capacity() || crossing(|p| p.1, edge(d)) == clos.capacity());
        assert!(ends || full, "{s} -> {d} could be sent beside {pairs:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_slot_is_valid_and_maximal_and_every_packet_gets_one(
        fabric in 0usize..6,
        metric in 0usize..3,
        paull in any::<bool>(),
        demand in proptest::collection::vec((0u32..16, 0u32..16, 1u32..6, 0i64..1000), 1..60),
    ) {
        let fabric = &fabrics()[fabric];
        let coloring = if paull { PathColoring::Paull } else { PathColoring::EulerSplit };
        let mut allocator = allocator(fabric, SlotMetric::all()[metric], coloring, SlotFill::Packet);
        let mut waiting: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut bursts: BTreeMap<u32, Vec<Burst>> = BTreeMap::new();
        for (s, d, packets, arrived) in demand {
            let (s, d) = (s % fabric.hosts(), d % fabric.hosts());
            if s != d {
                *waiting.entry((s, d)).or_default() += packets;
                bursts.entry(s).or_default().push(burst(d, arrived, packets, u64::from(packets) * 1538));
            }
        }
        for (s, b) in bursts {
            allocator.set(HostId(s), Time::ZERO, b);
        }
        let mut start = 0;
        while !allocator.is_empty() {
            let slot = slot(&mut allocator, start);
            is_valid(fabric, &slot);
            is_maximal(fabric, &waiting, &slot);
            for pair in pairs(&slot) {
                let left = waiting.get_mut(&pair).expect("only who waits is served");
                *left -= 1;
                if *left == 0 {
                    waiting.remove(&pair);
                }
            }
            start += 1;
        }
        prop_assert!(waiting.is_empty());
    }
}

/// The simplest allocator: it sorts all queues for each slot.
struct Sorted {
    metric: SlotMetric,
    fill: SlotFill,
    queues: BTreeMap<Place, Waiting>,
}

/// Source, destination and class.
type Place = (u32, u32, u8);
/// Bursts as arrival, packets and bytes, and when the first packet became first.
type Waiting = (Vec<(i64, u32, u64)>, i64);

impl Sorted {
    fn set(&mut self, source: u32, now: i64, bursts: &[Burst]) {
        let (old, others) = std::mem::take(&mut self.queues).into_iter().partition(|(key, _)| key.0 == source);
        let old: BTreeMap<Place, Waiting> = old;
        self.queues = others;
        for b in bursts {
            let key = (source, b.destination.0, b.class.0);
            let since = old.get(&key).map_or(now, |known| known.1);
            let queue = self.queues.entry(key).or_insert_with(|| (vec![], since));
            queue.0.push((b.arrived.as_ps(), b.packets, b.bytes.get()));
        }
    }

    fn take(&mut self, key: Place, since: Option<i64>) {
        let Some((bursts, first_since)) = self.queues.get_mut(&key) else { return };
        *first_since = since.unwrap_or(*first_since);
        let (mut room, mut first) = (1538, true);
        while let Some((_, packets, bytes)) = bursts.first_mut() {
            let each = bytes.div_ceil(u64::from(*packets));
            let fits = each <= room;
            match self.fill {
                SlotFill::Packet | SlotFill::Packets if !first && !fits => break,
                SlotFill::Fragments if !fits => *bytes -= room,
                _ => (*bytes, *packets) = (*bytes - each.min(room).min(*bytes), *packets - 1),
            }
            room = room.saturating_sub(each);
            first = false;
            if *packets == 0 || *bytes == 0 {
                bursts.remove(0);
            }
            if room == 0 || self.fill == SlotFill::Packet {
                break;
            }
        }
        if bursts.is_empty() {
            self.queues.remove(&key);
        }
    }

    /// Source, destination and class of all that send in a slot of a network without bottlenecks.
    fn allocate(&mut self, start: i64) -> Vec<Place> {
        let rank = |(&(s, d, class), (bursts, since)): (&Place, &Waiting)| {
            let metric = match self.metric {
                SlotMetric::Ocf => bursts[0].0,
                SlotMetric::Srjf => bursts[0].2 as i64,
                SlotMetric::Mmf => *since,
            };
            (class, metric, mix64((u64::from(s) << 32 | u64::from(d)) ^ mix64(metric as u64)), s, d)
        };
        let mut ranks: Vec<_> = self.queues.iter().map(rank).collect();
        ranks.sort_unstable();
        let mut chosen: Vec<Place> = vec![];
        for (class, _, _, s, d) in ranks {
            if chosen.iter().all(|c| c.0 != s && c.1 != d) {
                chosen.push((s, d, class));
            }
        }
        chosen.iter().for_each(|&key| self.take(key, Some(start + 1)));
        chosen
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A host reports: destination, class, arrival, packets, and bytes of each.
    Report(u32, Vec<(u32, u8, i64, u32, u64)>),
    /// So many slots are allocated.
    Slots(u8),
    /// A queue is discounted.
    Discount(u32, u32, u8),
    /// Pairs towards a host are dropped.
    Drop(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let burst = (0u32..9, 0u8..2, 0i64..50, 1u32..5, 1u64..=2000);
    let step = prop_oneof![
        4 => (0u32..9, proptest::collection::vec(burst, 0..6)).prop_map(|(host, bursts)| Step::Report(host, bursts)),
        4 => (1u8..6).prop_map(Step::Slots),
        2 => (0u32..9, 0u32..9, 0u8..2).prop_map(|(s, d, class)| Step::Discount(s, d, class)),
        1 => (0u32..9).prop_map(Step::Drop),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn allocations_are_those_of_a_sort_for_each_slot(
        metric in 0usize..3,
        own in any::<bool>(),
        fill in 0usize..3,
        steps in steps(),
    ) {
        let fill = [SlotFill::Packet, SlotFill::Packets, SlotFill::Fragments][fill];
        let metric = SlotMetric::all()[metric];
        let order = if own { Order::Own(Box::new(Same(metric))) } else { metric.into() };
        let mut allocator = allocator(&fabrics()[0], order, PathColoring::EulerSplit, fill);
        let mut sorted = Sorted { metric, fill, queues: BTreeMap::new() };
        for (step, now) in steps.into_iter().zip((0..).step_by(7)) {
            match step {
                Step::Report(host, bursts) => {
                    let of = |(d, class, arrived, packets, each): (u32, u8, i64, u32, u64)| {
                        Burst { class: Class(class), ..burst(d, arrived, packets, u64::from(packets) * each) }
                    };
                    let bursts: Vec<Burst> = bursts.into_iter().filter(|b| b.0 != host).map(of).collect();
                    sorted.set(host, now, &bursts);
                    allocator.set(HostId(host), Time::from_ps(now), bursts);
                }
                Step::Slots(count) => {
                    for k in 0..i64::from(count) {
                        let of = |a: PacketSlot| (a.source.0, a.destination.0, a.class.0);
                        let is: Vec<_> = slot(&mut allocator, now + 20 + k).into_iter().map(of).collect();
                        prop_assert_eq!(is, sorted.allocate(now + 20 + k));
                    }
                }
                Step::Discount(s, d, class) => {
                    sorted.take((s, d, class), None);
                    allocator.discount(HostId(s), HostId(d), Class(class));
                }
                Step::Drop(host) => {
                    sorted.queues.retain(|key, _| key.1 != host);
                    allocator.retain(|_, d| d.0 != host);
                }
            }
            prop_assert_eq!(allocator.is_empty(), sorted.queues.is_empty());
        }
    }
}

#[test]
fn metrics_order_pairs_as_they_say() {
    let fabric = &fabrics()[0];
    // Towards host 8: host 0's packet is oldest, host 1's flow is shortest, and host 2 has waited
    // since an earlier report.
    let first = |metric| {
        let mut a = allocator(fabric, metric, PathColoring::EulerSplit, SlotFill::Packet);
        a.set(HostId(2), Time::from_ps(10), [burst(8, 10, 3, 3 * 1538)]);
        a.set(HostId(0), Time::from_ps(20), [burst(8, 5, 3, 3 * 1538)]);
        a.set(HostId(1), Time::from_ps(20), [burst(8, 20, 1, 1538)]);
        (0..4).map(|k| pairs(&slot(&mut a, 30 + k))[0].0).collect::<Vec<_>>()
    };
    assert_eq!(first(SlotMetric::Ocf), [0, 0, 0, 2]);
    assert_eq!(first(SlotMetric::Srjf)[0], 1);
    let mmf = first(SlotMetric::Mmf);
    assert_eq!(mmf[0], 2);
    let mut once = mmf[..3].to_vec();
    once.sort_unstable();
    assert_eq!(once, [0, 1, 2], "each in turn");
}

#[test]
fn small_packets_share_a_slot_where_they_may() {
    let fabric = &fabrics()[0];
    let slots = |fill, packets, bytes| {
        let mut a = allocator(fabric, SlotMetric::Ocf, PathColoring::EulerSplit, fill);
        a.set(HostId(0), Time::ZERO, [burst(1, 0, packets, bytes)]);
        let mut n = 0;
        while !a.is_empty() {
            slot(&mut a, n);
            n += 1;
        }
        n
    };
    // 36 frames of 84 B, of which 18 fit into 1538 B. Three of 1000 B take one slot each, or two
    // slots if they may be split.
    assert_eq!([SlotFill::Packet, SlotFill::Packets, SlotFill::Fragments].map(|f| slots(f, 36, 36 * 84)), [36, 2, 2]);
    assert_eq!([SlotFill::Packet, SlotFill::Packets, SlotFill::Fragments].map(|f| slots(f, 3, 3000)), [3, 3, 2]);
}

#[test]
fn classes_go_before_metrics() {
    let fabric = &fabrics()[0];
    let mut a = allocator(fabric, SlotMetric::Ocf, PathColoring::EulerSplit, SlotFill::Packet);
    a.set(HostId(0), Time::ZERO, [Burst { class: Class(1), ..burst(8, 0, 1, 1538) }]);
    a.set(HostId(1), Time::ZERO, [burst(8, 9, 1, 1538)]);
    assert_eq!(pairs(&slot(&mut a, 10)), [(1, 8)]);
    assert_eq!(pairs(&slot(&mut a, 11)), [(0, 8)]);
}

#[test]
fn what_is_granted_already_is_not_granted_again() {
    let fabric = &fabrics()[0];
    let mut a = allocator(fabric, SlotMetric::Mmf, PathColoring::EulerSplit, SlotFill::Packet);
    a.set(HostId(0), Time::ZERO, [burst(1, 0, 2, 2 * 1538)]);
    a.discount(HostId(0), HostId(1), Class(0));
    a.discount(HostId(0), HostId(2), Class(0));
    assert_eq!(slot(&mut a, 1).len(), 1);
    assert!(a.is_empty());
}
