//! Tests that the weighted round robin is valid, maximal, optimal where theory says so, and fair.

use proptest::prelude::*;
use std::collections::BTreeMap;
use timeplane_model::{
    Backlog, Bytes, Demand, Duration, Fabric, Framing, HostId, LinkSpec, Plan, Rate, ScheduleEntry, Slot, Switch,
    Transmission,
};
use timeplane_schedule::{Scheduler, SlotParameters, Standing, WeightedRoundRobin};

/// A slot carries 1000 B at 1 Gb/s.
const SLOT: u64 = 1000;
const PARAMETERS: SlotParameters =
    SlotParameters { open: Duration::from_us(8), guard: Duration::from_us(1), slots: 16, frame: Bytes::ZERO };

fn link(rate: Rate) -> LinkSpec {
    LinkSpec { rate, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 }
}
fn one_switch(hosts: u32) -> Fabric {
    Fabric::single_switch(hosts, Switch::default(), link(Rate::gbps(1))).unwrap()
}
fn tree(edges: u32, per_edge: u32, up: Rate) -> Fabric {
    Fabric::tree(edges, per_edge, Switch::default(), link(Rate::gbps(1)), link(up)).unwrap()
}

/// Bytes by pair, and each receiver's room.
#[derive(Clone, Debug)]
struct Waiting {
    bytes: BTreeMap<(u32, u32), u64>,
    hosts: u32,
    room: BTreeMap<u32, u64>,
}

impl Waiting {
    fn new(hosts: u32, bytes: impl IntoIterator<Item = ((u32, u32), u64)>) -> Self {
        let bytes = bytes.into_iter().filter(|&((i, j), b)| i != j && b > 0).collect();
        Self { bytes, hosts, room: BTreeMap::new() }
    }
    fn demand(&self) -> Demand {
        let mut demand = Demand::none(self.hosts);
        for h in 0..self.hosts {
            let row = self.bytes.range((h, 0)..(h + 1, 0)).map(|(&(_, j), &b)| (HostId(j), Bytes::new(b)));
            let mut row = Backlog::of_bytes(row);
            row.room = self.room.get(&h).map(|&r| Bytes::new(r));
            demand.set_row(HostId(h), row);
        }
        demand
    }
    /// Subtracts what a slot serves.
    fn serve(&mut self, fabric: &Fabric, slot: &Slot) {
        for t in slot.transmissions() {
            let pair = (t.source.0, t.destination.0);
            let left = self.bytes.get_mut(&pair).unwrap_or_else(|| panic!("{pair:?} has no demand"));
            let rate = t.rate.unwrap_or(fabric.link(fabric.uplink(t.source)).spec.rate);
            let may = rate.bytes_in(slot.open()).min(t.bytes.unwrap_or(Bytes::new(u64::MAX))).get();
            *left -= may.min(*left);
            if *left == 0 {
                self.bytes.remove(&pair);
            }
        }
    }
    /// Slots that the most loaded link needs: every slot of a pair counts on all links of its path.
    fn bound(&self, fabric: &Fabric) -> u64 {
        let mut left = vec![0u64; fabric.links().len()];
        for (&(i, j), &b) in &self.bytes {
            for l in fabric.path(HostId(i), HostId(j), 0) {
                left[l.index()] += b.div_ceil(SLOT);
            }
        }
        let need = |(l, &slots): (usize, &u64)| {
            let at_once = fabric.links()[l].spec.rate.as_bps() / Rate::gbps(1).as_bps();
            slots.div_ceil(at_once.max(1))
        };
        left.iter().enumerate().map(need).max().unwrap()
    }
}

fn slots(plan: Plan) -> Vec<ScheduleEntry> {
    match plan {
        Plan::Slots(entries) => entries,
        Plan::Rates(_) => panic!("rates"),
    }
}

/// No pair with demand could be added to the slot.
fn is_maximal(waiting: &Waiting, fabric: &Fabric, slot: &Slot) -> bool {
    waiting.bytes.keys().all(|&(i, j)| {
        let one_more = Transmission { source: HostId(i), destination: HostId(j), ..slot.transmissions()[0] };
        let all = slot.transmissions().iter().copied().chain([one_more]).collect();
        Slot::new(all, slot.open(), fabric).is_err()
    })
}

/// Serves everything, round after round. Returns the number of slots.
fn drain(fabric: &Fabric, mut waiting: Waiting) -> u64 {
    let mut scheduler = WeightedRoundRobin::new(PARAMETERS);
    let mut used = 0;
    while !waiting.bytes.is_empty() {
        let entries = slots(scheduler.plan(&waiting.demand(), fabric, &Standing::default()));
        assert!(!entries.is_empty() && entries.len() <= PARAMETERS.slots as usize);
        for e in entries {
            assert!(is_maximal(&waiting, fabric, &e.slot), "{:?} of {:?}", e.slot, waiting.bytes);
            waiting.serve(fabric, &e.slot);
            used += 1;
        }
    }
    assert!(slots(scheduler.plan(&waiting.demand(), fabric, &Standing::default())).is_empty());
    used
}

fn matrix(hosts: u32, most: u64, density: f64) -> impl Strategy<Value = Waiting> {
    let cell = prop_oneof![
        (100.0 * (1.0 - density)) as u32 => Just(0u64),
        (100.0 * density) as u32 => 1..=most,
    ];
    proptest::collection::vec(cell, (hosts * hosts) as usize).prop_map(move |cells| {
        Waiting::new(hosts, cells.into_iter().enumerate().map(|(k, b)| ((k as u32 / hosts, k as u32 % hosts), b)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_switch_takes_what_its_busiest_port_takes(
        waiting in (2u32..12, 0.1f64..1.0).prop_flat_map(|(n, d)| matrix(n, 9 * SLOT, d)),
    ) {
        let fabric = one_switch(waiting.hosts);
        prop_assert_eq!(drain(&fabric, waiting.clone()), waiting.bound(&fabric));
    }

    #[test]
    fn an_oversubscribed_tree_takes_what_its_busiest_uplink_takes(waiting in matrix(12, 5 * SLOT, 0.8)) {
        // With four hosts on an uplink for one, hosts' links are never the bottleneck.
        let fabric = tree(3, 4, Rate::gbps(1));
        prop_assert_eq!(drain(&fabric, waiting.clone()), waiting.bound(&fabric));
    }

    #[test]
    fn other_trees_stay_near_the_bound(
        waiting in (0.05f64..1.0).prop_flat_map(|d| matrix(12, 5 * SLOT, d)),
        up in 1u64..5,
    ) {
        let fabric = tree(3, 4, Rate::gbps(up));
        let (used, bound) = (drain(&fabric, waiting.clone()), waiting.bound(&fabric));
        prop_assert!(used >= bound);
        // With four, the tree is non-blocking.
        let slack = if up == 4 { 0 } else { 2 + bound / 8 };
        prop_assert!(used <= bound + slack, "{used} slots of {bound}");
    }

    #[test]
    fn a_plan_keeps_to_the_room_of_receivers(
        mut waiting in matrix(6, 4 * SLOT, 0.8),
        rooms in proptest::collection::vec(0..6 * SLOT, 3),
    ) {
        waiting.room = (0..3).zip(rooms).collect();
        let fabric = one_switch(6);
        let before = waiting.clone();
        let mut scheduler = WeightedRoundRobin::new(PARAMETERS);
        let mut allowed: BTreeMap<u32, u64> = BTreeMap::new();
        let entries = slots(scheduler.plan(&waiting.demand(), &fabric, &Standing::default()));
        let over = entries.len() == PARAMETERS.slots as usize;
        for e in entries {
            for t in e.slot.transmissions() {
                *allowed.entry(t.destination.0).or_default() += t.bytes.map_or(0, Bytes::get);
            }
            waiting.serve(&fabric, &e.slot);
        }
        for (j, &room) in &waiting.room {
            let sent = allowed.get(j).copied().unwrap_or(0);
            prop_assert!(sent <= room);
            let wanted: u64 = before.bytes.iter().filter(|&(&(_, to), _)| to == *j).map(|(_, b)| b).sum();
            // The remaining room is too small for a slot, or the round is over.
            let full = room - sent < SLOT / 8 || sent == wanted;
            prop_assert!(full || over, "{sent} of {wanted} for {room}");
        }
    }

    #[test]
    fn a_backlogged_pair_is_served_within_the_stated_bound(
        tree_like in any::<bool>(),
        first in matrix(8, 40 * SLOT, 0.5),
        arrivals in proptest::collection::vec((0u32..8, 0u32..8, 1..200 * SLOT), 400),
    ) {
        let fabric = if tree_like { tree(2, 4, Rate::gbps(1)) } else { one_switch(8) };
        let mut waiting = first;
        let mut scheduler = WeightedRoundRobin::new(PARAMETERS);
        let mut arrivals = arrivals.into_iter();
        let mut since: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut now = 0u64;
        // Largest P and d so far: 56 pairs, of which 16 on the uplink of a tree.
        let mut most = 0;
        for _ in 0..40 {
            for (i, j, b) in arrivals.by_ref().take(10).filter(|(i, j, _)| i != j) {
                *waiting.bytes.entry((i, j)).or_default() += b;
            }
            for &pair in waiting.bytes.keys() {
                since.entry(pair).or_insert(now);
            }
            most = most.max(waiting.bytes.len() as u64);
            for e in slots(scheduler.plan(&waiting.demand(), &fabric, &Standing::default())) {
                now += 1;
                waiting.serve(&fabric, &e.slot);
                for t in e.slot.transmissions() {
                    since.remove(&(t.source.0, t.destination.0));
                }
                since.retain(|pair, _| waiting.bytes.contains_key(pair));
                for pair in waiting.bytes.keys() {
                    let waited = now - *since.entry(*pair).or_insert(now);
                    let at_a_link = if tree_like { 16 } else { 7 };
                    prop_assert!(waited <= 4 * at_a_link + most, "{pair:?} waited {waited} slots");
                }
            }
        }
    }
}

#[test]
fn a_shuffle_is_a_rotation() {
    for hosts in [2, 3, 24] {
        let fabric = one_switch(hosts);
        let all = (0..hosts).flat_map(|i| (0..hosts).map(move |j| ((i, j), 3 * SLOT)));
        let waiting = Waiting::new(hosts, all);
        assert_eq!(drain(&fabric, waiting), 3 * u64::from(hosts - 1));
    }
}

#[test]
fn a_shuffle_on_the_testbeds_tree_keeps_every_uplink_busy() {
    // 24 hosts, 8 to an edge switch: 128 pairs cross each uplink (Practical TDMA, figure 8: 1024 s
    // at 8 s each).
    let fabric = tree(3, 8, Rate::gbps(1));
    let all = (0..24).flat_map(|i| (0..24).map(move |j| ((i, j), 2 * SLOT)));
    assert_eq!(drain(&fabric, Waiting::new(24, all)), 256);
}

#[test]
fn shares_follow_demand() {
    // One sender, three receivers with 1, 2 and 5 parts of the demand: their slots in every round
    // have the same proportion.
    let fabric = one_switch(4);
    let waiting = Waiting::new(4, [((0, 1), 200 * SLOT), ((0, 2), 400 * SLOT), ((0, 3), 1000 * SLOT)]);
    let mut scheduler = WeightedRoundRobin::new(PARAMETERS);
    let mut waiting = waiting;
    for _ in 0..5 {
        let mut count = [0; 4];
        for e in slots(scheduler.plan(&waiting.demand(), &fabric, &Standing::default())) {
            waiting.serve(&fabric, &e.slot);
            count[e.slot.transmissions()[0].destination.index()] += 1;
        }
        assert_eq!(count, [0, 2, 4, 10]);
    }
}

#[test]
fn a_slow_receiver_gets_its_own_rate() {
    let wire = |h: u32, rate| (timeplane_model::NodeId(h), timeplane_model::NodeId(3), link(rate));
    let wires = [wire(0, Rate::gbps(10)), wire(1, Rate::gbps(1)), wire(2, Rate::gbps(10))];
    let fabric = Fabric::new(3, vec![Switch::default()], &wires).unwrap();
    let mut scheduler = WeightedRoundRobin::new(PARAMETERS);
    let waiting = Waiting::new(3, [((0, 1), 2 * SLOT), ((2, 0), 2 * SLOT)]);
    let entries = slots(scheduler.plan(&waiting.demand(), &fabric, &Standing::default()));
    let rates: Vec<_> =
        entries.iter().map(|e| e.slot.transmissions().iter().map(|t| t.rate).collect::<Vec<_>>()).collect();
    assert_eq!(rates, [vec![Some(Rate::gbps(1)), None], vec![Some(Rate::gbps(1))]]);
}

#[test]
fn several_paths_leave_only_host_links_certain() {
    let fabric = Fabric::leaf_spine(2, 4, 2, Switch::default(), link(Rate::gbps(1)), link(Rate::gbps(1))).unwrap();
    let all = (0..4).flat_map(|i| (4..8).map(move |j| ((i, j), SLOT)));
    assert_eq!(drain(&fabric, Waiting::new(8, all)), 4);
}
