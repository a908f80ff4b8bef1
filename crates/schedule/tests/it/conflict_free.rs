//! Tests of slots on any fabric: no link is overloaded, no pair starves, and no usable room is
//! left.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{
    Backlog, Bytes, Demand, Duration, Fabric, Framing, HostId, LinkId, LinkSpec, NodeId, PathTag, Plan, Rate,
    ScheduleEntry, Switch,
};
use timeplane_schedule::{ConflictFree, Scheduler, SlotParameters, Standing};

/// A slot carries 1000 B at 1 Gb/s.
const SLOT: u64 = 1000;
const PARAMETERS: SlotParameters =
    SlotParameters { open: Duration::from_us(8), guard: Duration::from_us(1), slots: 16, frame: Bytes::ZERO };

fn link(gbps: u64) -> LinkSpec {
    LinkSpec { rate: Rate::gbps(gbps), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 }
}

/// A graph of hosts and switches; `wires` are ends and Gb/s.
fn graph(hosts: u32, switches: u32, wires: &[(u32, u32, u64)]) -> Fabric {
    let wires: Vec<_> = wires.iter().map(|&(a, b, g)| (NodeId(a), NodeId(b), link(g))).collect();
    Fabric::new(hosts, vec![Switch::default(); switches as usize], &wires).unwrap()
}

/// Hosts 0 to 3 under two switches (4, 5), which three others (6, 7, 8) join, one of them at half
/// the rate. It is not a Clos network of unit links.
fn uneven() -> Fabric {
    let ends = [(0, 4, 2), (1, 4, 2), (2, 5, 2), (3, 5, 2)];
    let inner = [(4, 6, 2), (6, 5, 2), (4, 7, 2), (7, 5, 2), (4, 8, 1), (8, 5, 1)];
    graph(4, 5, &[&ends[..], &inner[..]].concat())
}

/// A ring of five switches with a host each, and a chord.
fn ring() -> Fabric {
    let hosts = (0..5).map(|h| (h, 5 + h, 1));
    let ring = (0..5).map(|s| (5 + s, 5 + (s + 1) % 5, 1));
    graph(5, 5, &hosts.chain(ring).chain([(5, 7, 1)]).collect::<Vec<_>>())
}

fn fabrics() -> Vec<Fabric> {
    let (one, two) = (link(1), link(2));
    vec![
        Fabric::single_switch(6, Switch::default(), one).unwrap(),
        Fabric::tree(3, 2, Switch::default(), one, one).unwrap(),
        Fabric::leaf_spine(3, 2, 2, Switch::default(), one, one).unwrap(),
        // Oversubscribed, and with fast links.
        Fabric::leaf_spine(2, 4, 2, Switch::default(), one, one).unwrap(),
        Fabric::leaf_spine(2, 4, 2, Switch::default(), one, two).unwrap(),
        Fabric::fat_tree(4, Switch::default(), one, one).unwrap(),
        uneven(),
        ring(),
    ]
}

/// Bytes per pair, and each receiver's room.
#[derive(Clone, Debug, Default)]
struct Waiting {
    bytes: BTreeMap<(u32, u32), u64>,
    room: BTreeMap<u32, u64>,
}

impl Waiting {
    fn new(bytes: impl IntoIterator<Item = ((u32, u32), u64)>) -> Self {
        let bytes = bytes.into_iter().filter(|&((i, j), b)| i != j && b > 0).collect();
        Self { bytes, room: BTreeMap::new() }
    }
    fn demand(&self, hosts: u32) -> Demand {
        let mut demand = Demand::none(hosts);
        for h in 0..hosts {
            let row = self.bytes.range((h, 0)..(h + 1, 0)).map(|(&(_, j), &b)| (HostId(j), Bytes::new(b)));
            let mut row = Backlog::of_bytes(row);
            row.room = self.room.get(&h).map(|&r| Bytes::new(r));
            demand.set_row(HostId(h), row);
        }
        demand
    }
    /// Subtracts what a slot serves, and sums its rates by link over the paths that it names.
    fn serve(&mut self, fabric: &Fabric, entry: &ScheduleEntry) -> Vec<u64> {
        let mut load = vec![0u64; fabric.links().len()];
        for t in entry.slot.transmissions() {
            let pair = (t.source.0, t.destination.0);
            let left = self.bytes.get_mut(&pair).unwrap_or_else(|| panic!("{pair:?} has no demand"));
            let rate = t.rate.unwrap_or(fabric.link(fabric.uplink(t.source)).spec.rate);
            let may = rate.bytes_in(entry.slot.open()).min(t.bytes.unwrap_or(Bytes::new(u64::MAX))).get();
            let served = may.min(*left);
            assert!(served > 0, "{t:?}");
            *left -= served;
            if *left == 0 {
                self.bytes.remove(&pair);
            }
            if let Some(room) = self.room.get_mut(&t.destination.0) {
                // Bounded receivers limit bytes: what may arrive counts, not what does.
                *room = room.checked_sub(t.bytes.expect("a limit").get()).expect("no more than the room");
            }
            assert!(t.rate.is_none() || t.bytes.is_some_and(|b| b <= rate.bytes_in(entry.slot.open())), "{t:?}");
            assert!(t.path.is_some() || fabric.is_single_path(t.source, t.destination), "{t:?}");
            let path = match t.path {
                Some(tag) => fabric.tagged_path(t.source, t.destination, tag),
                None => fabric.path(t.source, t.destination, 0),
            };
            path.iter().for_each(|l| load[l.index()] += rate.as_bps());
        }
        for (l, load) in load.iter().enumerate() {
            assert!(*load <= fabric.links()[l].spec.rate.as_bps(), "link {l} carries {load} bit/s");
        }
        load
    }
}

fn slots(plan: Plan) -> Vec<ScheduleEntry> {
    match plan {
        Plan::Slots(entries) => entries,
        Plan::Rates(_) => panic!("rates"),
    }
}

/// All paths that tags of two small digits name.
fn paths(fabric: &Fabric, from: u32, to: u32) -> BTreeSet<Vec<LinkId>> {
    let tags = (0..12u8).flat_map(|a| (0..12u8).map(move |b| PathTag::new(a, b)));
    tags.map(|tag| fabric.tagged_path(HostId(from), HostId(to), tag)).collect()
}

/// The largest number of pairs at full rate in one slot, by exhaustive search.
fn most_at_once(fabric: &Fabric, pairs: &[(u32, u32)], used: &mut Vec<u64>) -> usize {
    let Some((&(from, to), rest)) = pairs.split_first() else { return 0 };
    let mut best = most_at_once(fabric, rest, used);
    if best == pairs.len() {
        return best;
    }
    for path in paths(fabric, from, to) {
        let rate = path.iter().map(|l| fabric.link(*l).spec.rate.as_bps()).min().unwrap();
        if path.iter().all(|l| used[l.index()] + rate <= fabric.link(*l).spec.rate.as_bps()) {
            path.iter().for_each(|l| used[l.index()] += rate);
            best = best.max(1 + most_at_once(fabric, rest, used));
            path.iter().for_each(|l| used[l.index()] -= rate);
        }
    }
    best
}

#[test]
fn a_slot_written_out() {
    // Both pairs cross two leaves, each over its own spine.
    let fabric = Fabric::leaf_spine(2, 2, 2, Switch::default(), link(1), link(1)).unwrap();
    let waiting = Waiting::new([((0, 2), SLOT), ((1, 3), SLOT)]);
    let plan = slots(ConflictFree::new(PARAMETERS).plan(&waiting.demand(4), &fabric, &Standing::default()));
    let tags: Vec<_> = plan[0].slot.transmissions().iter().map(|t| (t.source.0, t.path)).collect();
    assert_eq!(plan.len(), 1);
    let spine = |s| Some(PathTag::new(s, 0));
    assert!(tags == [(0, spine(0)), (1, spine(1))] || tags == [(0, spine(1)), (1, spine(0))], "{tags:?}");
}

/// "A 10 G sender to ten 1 G receivers" in one slot, and back.
#[test]
fn a_fast_host_serves_ten_slow_ones_at_once() {
    let wires: Vec<_> = (0..11).map(|h| (h, 11, if h == 0 { 10 } else { 1 })).collect();
    let fabric = graph(11, 1, &wires);
    for out in [true, false] {
        let pair = |h| if out { (0, h) } else { (h, 0) };
        let mut waiting = Waiting::new((1..11).map(|h| (pair(h), 3 * SLOT)));
        let plan = slots(ConflictFree::new(PARAMETERS).plan(&waiting.demand(11), &fabric, &Standing::default()));
        assert_eq!(plan.len(), 3);
        for entry in &plan {
            let load = waiting.serve(&fabric, entry);
            let busy = if out { fabric.uplink(HostId(0)) } else { fabric.downlink(HostId(0)) };
            assert_eq!(load[busy.index()], Rate::gbps(10).as_bps());
        }
        assert!(waiting.bytes.is_empty());
    }
}

#[test]
fn small_senders_share_a_slot() {
    let fabric = Fabric::single_switch(9, Switch::default(), link(1)).unwrap();
    // Eight pairs with an eighth of a slot each, towards one receiver, fit one slot.
    let mut waiting = Waiting::new((1..9).map(|h| ((h, 0), SLOT / 8)));
    let plan = slots(ConflictFree::new(PARAMETERS).plan(&waiting.demand(9), &fabric, &Standing::default()));
    assert_eq!(plan.len(), 1);
    assert_eq!(plan[0].slot.transmissions().len(), 8);
    waiting.serve(&fabric, &plan[0]);
    assert!(waiting.bytes.is_empty());
}

/// Compares with all conflict-free sets. Each pair of the largest set shares a link with a chosen
/// pair. A chosen pair blocks at most as many pairs as its path has links, six in a fat tree.
/// Mostly, a slot is nearly as full as possible.
#[test]
fn slots_are_nearly_as_full_as_can_be() {
    let mut dice = 1u64;
    let mut draw = move |n: u64| {
        dice = timeplane_model::mix64(dice);
        dice % n
    };
    let (mut found, mut most) = (0, 0);
    for fabric in fabrics() {
        for _ in 0..12 {
            let hosts = u64::from(fabric.hosts());
            let pairs: BTreeSet<(u32, u32)> =
                (0..7).map(|_| (draw(hosts) as u32, draw(hosts) as u32)).filter(|(i, j)| i != j).collect();
            let waiting = Waiting::new(pairs.iter().map(|&p| (p, 100 * SLOT)));
            let mut scheduler = ConflictFree::new(PARAMETERS);
            let plan = slots(scheduler.plan(&waiting.demand(fabric.hosts()), &fabric, &Standing::default()));
            let pairs: Vec<_> = pairs.into_iter().collect();
            let best = most_at_once(&fabric, &pairs, &mut vec![0; fabric.links().len()]);
            for entry in plan {
                let has = entry.slot.transmissions().len();
                assert!(6 * has >= best, "{has} of {best} of {pairs:?}");
                (found, most) = (found + has, most + best);
            }
        }
    }
    println!("{found} pairs of {most} that fit at most");
    assert!(found as f64 >= 0.85 * most as f64, "{found} of {most}");
}

/// A shuffle takes little longer than its busiest link: a bound for any schedule.
#[test]
fn a_shuffle_stays_near_its_bound() {
    for (name, fabric) in
        ["switch", "tree", "leaf-spine", "oversubscribed", "fast links", "fat tree"].iter().zip(fabrics())
    {
        let n = fabric.hosts();
        let all = (0..n).flat_map(|i| (0..n).map(move |j| ((i, j), 10 * SLOT)));
        let mut waiting = Waiting::new(all);
        let demand = waiting.bytes.keys().map(|&(i, j)| (HostId(i), HostId(j), 10.0 * SLOT as f64));
        let bound = fabric.utilization(demand).bottleneck().1 / PARAMETERS.open.as_secs_f64();
        let mut scheduler = ConflictFree::new(PARAMETERS);
        let mut taken = 0;
        while !waiting.bytes.is_empty() {
            for entry in slots(scheduler.plan(&waiting.demand(n), &fabric, &Standing::default())) {
                waiting.serve(&fabric, &entry);
                taken += 1;
            }
        }
        println!("{name}: {taken} slots, no fewer than {bound:.0}");
        assert!(f64::from(taken) <= 1.05 * bound + 2.0, "{name}: {taken} of {bound}");
    }
}

fn any_waiting() -> impl Strategy<Value = Vec<((u32, u32), u64)>> {
    proptest::collection::vec(((0u32..16, 0u32..16), 1u64..20 * SLOT), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_demand_is_served_and_no_link_overloaded(which in 0usize..8, bytes in any_waiting(), room in proptest::collection::btree_map(0u32..16, 0u64..30 * SLOT, 0..3)) {
        let fabric = fabrics().swap_remove(which);
        let n = fabric.hosts();
        let bytes: BTreeMap<_, u64> = bytes.into_iter().map(|((i, j), b)| ((i % n, j % n), b)).collect();
        let mut waiting = Waiting::new(bytes);
        let mut scheduler = ConflictFree::new(PARAMETERS);
        // First with bounded receivers, then after they have drained.
        waiting.room = room.into_iter().filter(|(h, _)| *h < n).collect();
        for _ in 0..2 {
            for entry in slots(scheduler.plan(&waiting.demand(n), &fabric, &Standing::default())) {
                waiting.serve(&fabric, &entry);
            }
        }
        waiting.room.clear();
        let mut rounds = 0;
        while !waiting.bytes.is_empty() {
            let plan = slots(scheduler.plan(&waiting.demand(n), &fabric, &Standing::default()));
            prop_assert!(!plan.is_empty() && plan.len() <= 16);
            for entry in plan {
                prop_assert!(!entry.slot.transmissions().is_empty());
                waiting.serve(&fabric, &entry);
            }
            rounds += 1;
            prop_assert!(rounds < 200);
        }
    }

    /// No backlogged pair waits longer than the bound, whatever demand others have.
    #[test]
    fn nobody_waits_longer_than_the_bound(which in 0usize..8, bytes in any_waiting()) {
        let fabric = fabrics().swap_remove(which);
        let n = fabric.hosts();
        let pairs: BTreeMap<(u32, u32), u64> = bytes.into_iter().map(|((i, j), b)| ((i % n, j % n), b)).filter(|((i, j), _)| i != j).collect();
        prop_assume!(!pairs.is_empty());
        let degree = |h: u32, out: bool| pairs.keys().filter(|(i, j)| if out { *i == h } else { *j == h }).count() as u64;
        let mut scheduler = ConflictFree::new(PARAMETERS);
        let mut last: BTreeMap<(u32, u32), u64> = pairs.keys().map(|p| (*p, 0)).collect();
        let mut now = 0;
        for _ in 0..20 {
            // Demand stays the same and exceeds what a plan's 16 slots carry, also on links that
            // are twice as fast: a pair without remaining demand does not wait.
            let waiting = Waiting::new(pairs.iter().map(|(p, b)| (*p, b + 16 * 2 * SLOT)));
            for entry in slots(scheduler.plan(&waiting.demand(n), &fabric, &Standing::default())) {
                now += 1;
                for t in entry.slot.transmissions() {
                    last.insert((t.source.0, t.destination.0), now);
                }
                for (&(i, j), &served) in &last {
                    let d = degree(i, true).max(degree(j, false));
                    let bound = ConflictFree::LONGEST_WAIT * d + pairs.len() as u64;
                    prop_assert!(now - served <= bound, "{i} -> {j} waits for {} slots, at most {bound}", now - served);
                }
            }
        }
    }

    /// No pair is left out of a slot in which one of its paths is entirely idle.
    #[test]
    fn slots_are_maximal(which in 0usize..8, bytes in any_waiting()) {
        let fabric = fabrics().swap_remove(which);
        let n = fabric.hosts();
        let bytes: BTreeMap<_, u64> = bytes.into_iter().map(|((i, j), b)| ((i % n, j % n), b)).collect();
        let mut waiting = Waiting::new(bytes);
        let mut scheduler = ConflictFree::new(PARAMETERS);
        for entry in slots(scheduler.plan(&waiting.demand(n), &fabric, &Standing::default())) {
            let before: Vec<_> = waiting.bytes.keys().copied().collect();
            let load = waiting.serve(&fabric, &entry);
            let inside: BTreeSet<_> = entry.slot.transmissions().iter().map(|t| (t.source.0, t.destination.0)).collect();
            for (i, j) in before.into_iter().filter(|p| !inside.contains(p)) {
                let idle = paths(&fabric, i, j).into_iter().find(|path| path.iter().all(|l| load[l.index()] == 0));
                prop_assert!(idle.is_none(), "{i} -> {j} could go over {idle:?}");
            }
        }
    }
}
