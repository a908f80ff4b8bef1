//! Hosts that connected controllers list, and hosts that no list has had for long.
//!
//! Programs must not wait for the latter.

use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{Duration, HostId, Time};

/// The hosts that controllers know. A host is away if a controller is connected and none of the
/// connected ones has it. Without a controller nothing is known of hosts, and nobody is away.
#[derive(Clone, Debug, Default)]
pub struct Presence {
    /// The last list of each connected controller, by the controller's place.
    lists: BTreeMap<usize, BTreeSet<HostId>>,
    /// Hosts that were there once.
    known: BTreeSet<HostId>,
    /// Since when hosts are away; `None` once [`due`](Self::due) has returned them.
    away: BTreeMap<HostId, Option<Time>>,
}

impl Presence {
    /// Takes a controller's list of joined hosts.
    pub fn told(&mut self, now: Time, controller: usize, joined: impl IntoIterator<Item = HostId>) {
        let joined: BTreeSet<HostId> = joined.into_iter().collect();
        self.known.extend(&joined);
        self.lists.insert(controller, joined);
        self.update(now);
    }

    /// Handles the loss of the connection to a controller.
    pub fn lost(&mut self, now: Time, controller: usize) {
        self.lists.remove(&controller);
        self.update(now);
    }

    fn update(&mut self, now: Time) {
        let is_there = |host: &HostId| self.lists.is_empty() || self.lists.values().any(|list| list.contains(host));
        for host in &self.known {
            if is_there(host) {
                self.away.remove(host);
            } else {
                self.away.entry(*host).or_insert(Some(now));
            }
        }
    }

    /// The hosts that have been away for `patience`, each once until it has been there again.
    pub fn due(&mut self, now: Time, patience: Duration) -> Vec<HostId> {
        let waits = |since: &Option<Time>| since.is_some_and(|at| now - at >= patience);
        let due: Vec<HostId> = self.away.iter().filter(|(_, since)| waits(since)).map(|(host, _)| *host).collect();
        for host in &due {
            self.away.insert(*host, None);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn at(seconds: i64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn hosts<const N: usize>(numbers: [u32; N]) -> [HostId; N] {
        numbers.map(HostId)
    }

    #[test]
    fn a_host_that_left_is_due_once() {
        let mut presence = Presence::default();
        presence.told(at(0), 0, hosts([0, 1, 2]));
        presence.told(at(5), 0, hosts([0, 2]));
        assert_eq!(presence.due(at(14), PATIENCE), []);
        // A list without news changes nothing.
        presence.told(at(14), 0, hosts([0, 2]));
        assert_eq!(presence.due(at(15), PATIENCE), hosts([1]));
        assert_eq!(presence.due(at(100), PATIENCE), []);
        // It returns, and leaves again.
        presence.told(at(101), 0, hosts([0, 1, 2]));
        presence.told(at(102), 0, hosts([0, 2]));
        assert_eq!((presence.due(at(111), PATIENCE), presence.due(at(112), PATIENCE)), (vec![], vec![HostId(1)]));
    }

    #[test]
    fn one_that_returns_in_time_and_one_that_never_came_are_not() {
        let mut presence = Presence::default();
        presence.told(at(0), 0, hosts([0, 1]));
        presence.told(at(1), 0, hosts([0]));
        presence.told(at(10), 0, hosts([0, 1]));
        assert_eq!(presence.due(at(60), PATIENCE), []);
    }

    #[test]
    fn without_controllers_everybody_waits() {
        let mut presence = Presence::default();
        presence.told(at(0), 0, hosts([0, 1]));
        presence.told(at(1), 0, hosts([0]));
        presence.lost(at(2), 0);
        assert_eq!(presence.due(at(60), PATIENCE), []);
        // A controller that has been started anew hears of hosts one after the other.
        presence.told(at(60), 0, hosts([0]));
        assert_eq!(presence.due(at(69), PATIENCE), []);
        presence.told(at(69), 0, hosts([0, 1]));
        assert_eq!(presence.due(at(100), PATIENCE), []);
    }

    #[test]
    fn one_controller_that_has_it_is_enough() {
        let mut presence = Presence::default();
        presence.told(at(0), 0, hosts([0, 1]));
        presence.told(at(0), 1, hosts([0, 1]));
        presence.told(at(1), 0, hosts([0]));
        assert_eq!(presence.due(at(60), PATIENCE), []);
        presence.lost(at(60), 1);
        assert_eq!((presence.due(at(69), PATIENCE), presence.due(at(70), PATIENCE)), (vec![], vec![HostId(1)]));
    }
}
