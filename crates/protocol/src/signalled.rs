//! The gates of a host under signals.
//!
//! The newest PFC frame decides which queues are open. Grants by signal tell which queues its class
//! stands for.

use crate::agent::{Opening, Output};
use crate::message::Pfc;
use timeplane_model::{Class, Duration, Grant, HostId, Medium, Time, Trigger};

/// The state of a host's gates under signals.
///
/// A frame closes what the frame before opened, and opens the queues of its class. A class below
/// the number of destinations opens the queue to that host. A higher class opens the queues of all
/// grants that name it, and nothing if the host knows of none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signalled {
    /// Epoch and sequence of the newest frame.
    newest: Option<(u32, u64)>,
    /// Grants by signal with their classes and the ends of their leases, the newest last.
    classes: Vec<(u16, Grant, Time)>,
    /// Queues that are open, or whose time is over.
    open: Vec<(HostId, Class)>,
}

impl Signalled {
    /// The epoch of the newest frame.
    pub(crate) fn epoch(&self) -> Option<u32> {
        self.newest.map(|(epoch, _)| epoch)
    }

    /// Takes grants by signal from a message that was sent `late` before `now`, by the host's
    /// clock. Returns how many it took.
    ///
    /// Leases count from the sending, so the sender's clock does not matter.
    pub(crate) fn learn(&mut self, now: Time, late: Duration, grants: &[Grant]) -> u64 {
        self.classes.retain(|c| c.2 > now);
        let class = |g: &Grant| match g.start {
            Trigger::Signal(number) => u16::try_from(number).ok(),
            Trigger::At(_) | Trigger::Never => None,
        };
        let new = grants.iter().filter_map(|g| Some((class(g)?, *g, g.lease.saturating_add(late))));
        let before = self.classes.len();
        self.classes.extend(new);
        (self.classes.len() - before) as u64
    }

    /// Obeys a frame at `now` and returns how many queues it opens; `None` for an old frame.
    pub(crate) fn obey(
        &mut self,
        now: Time,
        pfc: Pfc,
        host: HostId,
        destinations: u16,
        out: &mut Vec<Output>,
    ) -> Option<bool> {
        let this = Some((pfc.epoch, pfc.sequence));
        if self.newest >= this {
            return None;
        }
        self.newest = this;
        let end = now.saturating_add(pfc.hold);
        let openings: Vec<Opening> = match pfc.open {
            None => Vec::new(),
            Some(class) if class < destinations => vec![to_destination(class, now, end)],
            Some(class) => {
                let named = self.classes.iter().filter(|c| c.0 == class);
                named.map(|(_, grant, lease)| Opening::of(grant, now, end.min(*lease))).collect()
            }
        };
        let openings: Vec<Opening> = openings.into_iter().filter(|o| o.until > now && o.destination != host).collect();
        let queue = |o: &Opening| (o.destination, o.class);
        for (destination, class) in self.open.drain(..) {
            if !openings.iter().any(|o| queue(o) == (destination, class)) {
                out.push(Output::Close { destination, class });
            }
        }
        self.open.extend(openings.iter().map(queue));
        let opened = !openings.is_empty();
        out.extend(openings.into_iter().map(Output::Open));
        Some(opened)
    }
}

fn to_destination(class: u16, from: Time, until: Time) -> Opening {
    let destination = HostId(u32::from(class));
    Opening {
        destination,
        class: Class(0),
        medium: Medium::Fabric,
        rate: None,
        bytes: None,
        packets: None,
        from,
        until,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_us(1);

    fn at(us: i64) -> Time {
        Time::ZERO + US * us
    }
    fn frame(sequence: u64, open: Option<u16>, hold: i64) -> Pfc {
        Pfc { epoch: 0, sequence, open, hold: US * hold }
    }
    fn grant(number: u32, destination: u32, lease: Time) -> Grant {
        Grant {
            destination: HostId(destination),
            class: Class(0),
            medium: Medium::Fabric,
            rate: None,
            bytes: None,
            packets: None,
            start: Trigger::Signal(number),
            end: Trigger::Never,
            lease,
        }
    }
    /// Openings with their ends in us, and closings.
    fn obey(s: &mut Signalled, now: Time, pfc: Pfc) -> (Vec<(u32, i64)>, Vec<u32>) {
        let (mut out, mut opened, mut closed) = (vec![], vec![], vec![]);
        s.obey(now, pfc, HostId(9), 10, &mut out);
        for output in out {
            match output {
                Output::Open(o) => opened.push((o.destination.0, (o.until - Time::ZERO).as_ps() / 1_000_000)),
                Output::Close { destination, .. } => closed.push(destination.0),
                other => panic!("{other:?}"),
            }
        }
        (opened, closed)
    }

    #[test]
    fn the_newest_frame_says_what_is_open() {
        let mut s = Signalled::default();
        assert_eq!(obey(&mut s, at(0), frame(5, Some(3), 100)), (vec![(3, 100)], vec![]));
        // Old frames and doubles change nothing. The same class again extends the opening.
        assert_eq!(obey(&mut s, at(1), frame(4, None, 0)), (vec![], vec![]));
        assert_eq!(obey(&mut s, at(1), frame(5, Some(4), 100)), (vec![], vec![]));
        assert_eq!(obey(&mut s, at(50), frame(6, Some(3), 100)), (vec![(3, 150)], vec![]));
        assert_eq!(obey(&mut s, at(60), frame(7, Some(4), 100)), (vec![(4, 160)], vec![3]));
        assert_eq!(obey(&mut s, at(70), frame(8, None, 0)), (vec![], vec![4]));
        assert_eq!(obey(&mut s, at(80), frame(9, None, 0)), (vec![], vec![]));
        // Grants to the host itself, or without a duration, are dropped.
        assert_eq!(obey(&mut s, at(90), frame(10, Some(9), 10)), (vec![], vec![]));
        assert_eq!(obey(&mut s, at(90), frame(11, Some(1), 0)), (vec![], vec![]));
        // A controller that restarts is newer than all before.
        let restarted = Pfc { epoch: 1, ..frame(0, Some(2), 10) };
        assert_eq!(obey(&mut s, at(100), restarted), (vec![(2, 110)], vec![]));
    }

    #[test]
    fn a_class_opens_what_its_grants_name_and_nothing_after_their_lease() {
        let mut s = Signalled::default();
        // Sent at 5 by a clock that shows 1,005 then, and heard at 7. Leases are 995 earlier here,
        // and 2 more for the latency.
        let late = at(7) - at(1_005);
        assert_eq!(
            s.learn(at(7), late, &[grant(12, 1, at(1_105)), grant(12, 2, at(1_105)), grant(13, 4, at(1_205))]),
            3
        );
        assert_eq!(obey(&mut s, at(10), frame(1, Some(12), 50)), (vec![(1, 60), (2, 60)], vec![]));
        assert_eq!(obey(&mut s, at(20), frame(2, Some(13), 50)), (vec![(4, 70)], vec![1, 2]));
        assert_eq!(obey(&mut s, at(90), frame(3, Some(12), 50)), (vec![(1, 107), (2, 107)], vec![4]));
        assert_eq!(obey(&mut s, at(110), frame(4, Some(12), 50)), (vec![], vec![1, 2]));
        // A class without grants opens nothing.
        assert_eq!(obey(&mut s, at(111), frame(5, Some(14), 50)), (vec![], vec![]));
        assert_eq!(s.learn(at(300), Duration::ZERO, &[Grant { start: Trigger::Never, ..grant(0, 1, at(400)) }]), 0);
    }
}
