//! What circuits and packets carry together in a window, by the number of configurations.
//! Each configuration costs dark time, so fewer of them can carry more.

use super::cover_all::Group;
use super::lines::{Lines, NONE};
use super::plan::Builder;

/// What the packet switch can do for demands without a circuit, by port.
pub(super) struct Gain<'a> {
    /// Demands of the configurations.
    circuits: &'a Lines,
    /// What ports still can send and receive through the packet switch.
    room: [Vec<u64>; 2],
}

impl<'a> Gain<'a> {
    /// `all` has the sums of all demands by sender and by receiver, those of `circuits` included.
    /// The packet switch has a `budget` for each port.
    pub(super) fn new(all: [&Vec<u64>; 2], circuits: &'a Lines, budget: u64) -> Self {
        let with = [&circuits.rows, &circuits.columns];
        let room = |side: usize| all[side].iter().zip(with[side]).map(|(a, c)| budget.saturating_sub(a - c)).collect();
        Self { circuits, room: [room(0), room(1)] }
    }

    /// How many groups of `order`, from its start, carry the most in the empty `plan`, together
    /// with packets; the largest number if several do. Groups come with their open times, the
    /// longest first. The first one of all saves `saved` of the dark times.
    pub(super) fn best(&self, groups: &[Group], order: &[usize], plan: &Builder<'_>, saved: u64) -> usize {
        let mut kept = vec![false; groups.len()];
        let sizes: Vec<Sizes> = groups.iter().map(|g| Sizes::of(g, self.circuits)).collect();
        let mut left = [self.circuits.rows.clone(), self.circuits.columns.clone()];
        let mut best = (self.by_packets(&left), 0);
        for (count, &group) in (1u64..).zip(order) {
            kept[group] = true;
            for (i, &j) in groups[group].outputs.iter().enumerate().filter(|(_, j)| **j != NONE) {
                let time = self.circuits.at_pair(i, j as usize);
                left[0][i] -= time;
                left[1][j as usize] -= time;
            }
            let window = plan.room() + if kept[0] { saved } else { 0 };
            let Some(mut room) = window.checked_sub(plan.dark() * count) else { continue };
            if room < plan.least() * count {
                continue;
            }
            let (mut carried, mut more) = (self.by_packets(&left), count);
            for at in (0..groups.len()).rev().filter(|&at| kept[at]) {
                let open = groups[at].open.min(room / more);
                (room, more) = (room - open, more - 1);
                carried += sizes[at].up_to(open);
            }
            best = best.max((carried, count as usize));
        }
        best.1
    }

    /// What the packet switch carries of demands with these sums by sender and by receiver: at most
    /// what either side has room for.
    fn by_packets(&self, left: &[Vec<u64>; 2]) -> u128 {
        let of = |side: usize| left[side].iter().zip(&self.room[side]).map(|(l, r)| u128::from(*l.min(r))).sum();
        let [sent, received]: [u128; 2] = [of(0), of(1)];
        sent.min(received)
    }
}

/// The demands of a configuration in order, and their running sums.
struct Sizes {
    times: Vec<u64>,
    sums: Vec<u128>,
}

impl Sizes {
    fn of(group: &Group, circuits: &Lines) -> Self {
        let pairs = group.outputs.iter().enumerate().filter(|(_, j)| **j != NONE);
        let mut times: Vec<u64> = pairs.map(|(i, &j)| circuits.at_pair(i, j as usize)).collect();
        times.sort_unstable();
        let sums = times.iter().scan(0, |sum, &t| Some(std::mem::replace(sum, *sum + u128::from(t)))).collect();
        Self { times, sums }
    }

    /// What the configuration carries in this open time.
    fn up_to(&self, open: u64) -> u128 {
        let whole = self.times.partition_point(|&t| t <= open);
        let cut = (self.times.len() - whole) as u128 * u128::from(open);
        cut + match whole {
            0 => 0,
            n => self.sums[n - 1] + u128::from(self.times[n - 1]),
        }
    }
}
