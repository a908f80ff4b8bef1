//! A circuit schedule under construction, which all circuit schedulers share.
//!
//! It enforces the window, the least open time and the limit on configurations.

use super::lines::{Lines, NONE};
use super::{CircuitParameters, Configuration, Retune};
use timeplane_model::{Duration, HostId, Matching};

/// Appends configurations and tracks the demand that remains. It enforces the window, the least
/// open time and the limit on configurations, charges dark time, and merges configurations with
/// equal matchings.
pub(super) struct Builder<'a> {
    parameters: &'a CircuitParameters,
    /// Demand that no circuit has carried.
    pub(super) left: Lines,
    /// By sender, the receiver that the switch connects it to.
    up: Vec<u32>,
    /// Whether `up` is known.
    known: bool,
    elapsed: u64,
    plan: Vec<Configuration>,
    /// Scratch buffer for the next matching.
    next: Vec<u32>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(parameters: &'a CircuitParameters, left: Lines, standing: Option<&Matching>) -> Self {
        let mut up = vec![NONE; left.ports];
        if let Some(standing) = standing {
            for (i, j) in standing.pairs() {
                up[i.index()] = j.0;
            }
        }
        Self {
            parameters,
            next: Vec::with_capacity(up.len()),
            left,
            up,
            known: standing.is_some(),
            elapsed: 0,
            plan: Vec::new(),
        }
    }

    /// Dark time of a change, picoseconds.
    pub(super) fn dark(&self) -> u64 {
        self.parameters.dark.as_ps() as u64
    }

    /// The least open time, at least one picosecond.
    pub(super) fn least(&self) -> u64 {
        (self.parameters.least_open.as_ps() as u64).max(1)
    }

    /// Remaining time of the window.
    pub(super) fn room(&self) -> u64 {
        self.parameters.window.as_ps() as u64 - self.elapsed
    }

    /// The longest open time of another configuration with a dark time; `None` if no other fits.
    pub(super) fn open_room(&self) -> Option<u64> {
        if self.plan.len() as u64 >= u64::from(self.parameters.most) {
            return None;
        }
        self.room().checked_sub(self.dark()).filter(|&room| room >= self.least())
    }

    /// Whether the packet switch can have carried the remaining demand when the plan so far ends.
    pub(super) fn rest_fits(&self) -> bool {
        self.left.longest() <= self.by_packets(self.elapsed)
    }

    /// What a port sends through the packet switch in a time, as line time of a circuit.
    pub(super) fn by_packets(&self, time: u64) -> u64 {
        by_packets(self.parameters, time)
    }

    /// Adds a configuration with those circuits of a permutation that still have demand. `outputs`
    /// may connect ports to themselves: these stay idle.
    ///
    /// The open time is `open`, raised to the least open time and cut to the window. Returns the
    /// open time. Returns `None`, and changes nothing, if no configuration fits or no circuit has
    /// demand.
    pub(super) fn add_useful(&mut self, outputs: &[u32], open: u64) -> Option<u64> {
        if self.choose_useful(outputs) { self.add_next(open, false) } else { None }
    }

    /// Like `add_useful`, but open no longer than needed until the packet switch can have carried
    /// the rest.
    pub(super) fn add_enough(&mut self, outputs: &[u32], open: u64) -> Option<u64> {
        if self.choose_useful(outputs) { self.add_next(open, true) } else { None }
    }

    /// Copies the circuits that still have demand to `next`. Returns whether there are any.
    fn choose_useful(&mut self, outputs: &[u32]) -> bool {
        self.next.clear();
        let n = self.left.ports;
        let useful =
            |(i, &j): (usize, &u32)| if j != NONE && self.left.time[i * n + j as usize] > 0 { j } else { NONE };
        self.next.extend(outputs.iter().enumerate().map(useful));
        self.next.iter().any(|&j| j != NONE)
    }

    /// Like `add_useful`, with all circuits, whether they have demand or not.
    pub(super) fn add_all(&mut self, outputs: &[u32], open: u64) -> Option<u64> {
        self.next.clear();
        self.next.extend(outputs.iter().enumerate().map(|(i, &j)| if j as usize == i { NONE } else { j }));
        self.add_next(open, false)
    }

    /// The shortest open time of `next` after which the rest fits the packet switch, if `open` is
    /// long enough for that.
    fn enough(&self, dark: u64, open: u64) -> u64 {
        let n = self.left.ports;
        let fits = |open: u64| {
            let by_packets = self.by_packets(self.elapsed + dark + open);
            let mut idle = vec![true; n];
            let rows = self.next.iter().enumerate().all(|(i, &j)| {
                if j == NONE {
                    return self.left.rows[i] <= by_packets;
                }
                let carried = self.left.at_pair(i, j as usize).min(open);
                idle[j as usize] = false;
                self.left.rows[i].max(self.left.columns[j as usize]) - carried <= by_packets
            });
            rows && self.left.columns.iter().zip(idle).all(|(&sum, idle)| !idle || sum <= by_packets)
        };
        if !fits(open) {
            return open;
        }
        let (mut short, mut enough) = (0, open);
        while short < enough {
            let middle = short + (enough - short) / 2;
            if fits(middle) { enough = middle } else { short = middle + 1 }
        }
        enough
    }

    fn add_next(&mut self, open: u64, enough: bool) -> Option<u64> {
        let changes = |(next, up): (&u32, &u32)| *next != NONE && next != up;
        let stays = self.known && !self.next.iter().zip(&self.up).any(changes);
        let all_stop = self.parameters.retune == Retune::AllStop;
        if stays {
            // Taking circuits down would gain nothing, and may make all others dark: they stay up
            // and idle.
            self.next.clone_from(&self.up);
        }
        let dark = if stays { 0 } else { self.dark() };
        let merges = stays && !self.plan.is_empty();
        if !merges && self.plan.len() as u64 >= u64::from(self.parameters.most) {
            return None;
        }
        let room = self.room().checked_sub(dark).filter(|&room| room >= self.least())?;
        let open = if enough { self.enough(dark, open) } else { open };
        let open = open.max(self.least()).min(room);
        for (i, (&j, &before)) in self.next.iter().zip(&self.up).enumerate() {
            if j == NONE {
                continue;
            }
            // If only the moved ports go dark, the others carry on.
            let carries = if !all_stop && self.known && j == before { open + dark } else { open };
            self.left.take(i, j as usize, carries);
        }
        self.elapsed += dark + open;
        if merges {
            if let Some(last) = self.plan.last_mut() {
                last.open += Duration::from_ps(open as i64);
            }
        } else {
            self.plan.push(Configuration {
                matching: matching(&self.next),
                dark: Duration::from_ps(dark as i64),
                open: Duration::from_ps(open as i64),
            });
            self.up.clone_from(&self.next);
            self.known = true;
        }
        Some(open)
    }

    pub(super) fn finish(self) -> Vec<Configuration> {
        self.plan
    }
}

/// What a port sends through the packet switch in a time, as line time of a circuit.
pub(super) fn by_packets(parameters: &CircuitParameters, time: u64) -> u64 {
    let (packet, circuit) = (u128::from(parameters.packet.as_bps()), u128::from(parameters.circuit.as_bps()));
    u64::try_from(u128::from(time) * packet / circuit).unwrap_or(u64::MAX)
}

/// Converts a table in which no two senders share a receiver.
pub(super) fn matching(outputs: &[u32]) -> Matching {
    let outputs = outputs.iter().map(|&j| (j != NONE).then_some(HostId(j))).collect();
    Matching::new(outputs).expect("an algorithm's matching shares no port")
}
