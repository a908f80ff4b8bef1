//! Plans of controllers: consecutive slots, or rates.
//!
//! Values are checked when they are created.

use crate::fabric::Fabric;
use crate::grant::{Class, PathTag};
use crate::ids::{HostId, LinkId};
use crate::units::{Bytes, Duration, Rate, Time};

/// Simultaneous transmissions, with each host at most once per side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matching {
    /// Per source, its destination.
    outputs: Vec<Option<HostId>>,
}

/// The table is not a matching.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchingError {
    /// Two sources have one destination.
    #[error("hosts {first} and {second} both send to host {output}")]
    Shared {
        /// The shared destination.
        output: u32,
        /// One source of it.
        first: u32,
        /// Another source of it.
        second: u32,
    },
    /// A destination is not a host.
    #[error("host {input} sends to host {output}, but the hosts are 0 to {last}")]
    Range {
        /// Source of the pair.
        input: u32,
        /// Destination of the pair.
        output: u32,
        /// Number of the last host.
        last: u32,
    },
    /// A host sends to itself.
    #[error("host {host} sends to itself")]
    Itself {
        /// Number of the host.
        host: u32,
    },
}

impl Matching {
    /// A matching from each source's destination.
    ///
    /// # Errors
    /// If sources share a destination, a destination is not a host, or a host sends to itself.
    pub fn new(outputs: Vec<Option<HostId>>) -> Result<Self, MatchingError> {
        let mut taken: Vec<Option<u32>> = vec![None; outputs.len()];
        for (input, output) in outputs.iter().enumerate() {
            let Some(output) = output else { continue };
            let input = input as u32;
            if output.0 == input {
                return Err(MatchingError::Itself { host: input });
            }
            match taken.get_mut(output.index()) {
                None => {
                    let last = outputs.len() as u32 - 1;
                    return Err(MatchingError::Range { input, output: output.0, last });
                }
                Some(Some(first)) => {
                    return Err(MatchingError::Shared { output: output.0, first: *first, second: input });
                }
                Some(free) => *free = Some(input),
            }
        }
        Ok(Self { outputs })
    }
    /// Per source, its destination.
    pub fn outputs(&self) -> &[Option<HostId>] {
        &self.outputs
    }
    /// All pairs, by source.
    pub fn pairs(&self) -> impl Iterator<Item = (HostId, HostId)> + '_ {
        self.outputs.iter().enumerate().filter_map(|(i, o)| o.map(|o| (HostId(i as u32), o)))
    }
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.outputs.iter().flatten().count()
    }
    /// Whether no host sends.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One pair's part of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Sender.
    pub source: HostId,
    /// Receiver.
    pub destination: HostId,
    /// Class of the queue.
    pub class: Class,
    /// Path; `None` leaves it to the fabric's ECMP.
    pub path: Option<PathTag>,
    /// Rate in wire bit/s; `None` is the sender's line rate.
    pub rate: Option<Rate>,
    /// Most wire bytes, for instance for a small receive buffer; `None` is limited by time only.
    pub bytes: Option<Bytes>,
}

/// The transmissions do not form a slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// A link would carry more than it can.
    #[error("link {link} would carry {load} of its {rate}, with {source_host} -> {destination} on it", source_host = source_host.0, destination = destination.0, link = link.0)]
    Overload {
        /// Number of the link.
        link: LinkId,
        /// Load of the link in this slot.
        load: Rate,
        /// Rate of the link.
        rate: Rate,
        /// Source of a transmission that uses it.
        source_host: HostId,
        /// Destination of that transmission.
        destination: HostId,
    },
    /// The slot's open time is not positive.
    #[error("a slot is open for {open}: it must be positive")]
    Open {
        /// Open time of the slot.
        open: Duration,
    },
    /// A host is unknown, or sends to itself.
    #[error("a slot has {source_host} -> {destination} among {hosts} hosts")]
    Hosts {
        /// Number of the sending host.
        source_host: u32,
        /// Number of the receiving host.
        destination: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// There is no route between two hosts, in a fabric without some of its links.
    #[error("a slot has {source_host} -> {destination}, and there is no route")]
    Unreachable {
        /// Number of the sending host.
        source_host: u32,
        /// Number of the receiving host.
        destination: u32,
    },
}

/// Transmissions that overload no link, and how long their gates are open.
///
/// `open` includes neither guard nor dark time. A [`Matching`] on a nonblocking switch is the
/// special case with one partner each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    transmissions: Vec<Transmission>,
    open: Duration,
}

impl Slot {
    /// A slot, checked against the links of the fabric.
    ///
    /// Each transmission counts on all links of its path. If there are several shortest paths and
    /// the transmission names none, only its first and last link are certain. Only these are
    /// checked then.
    ///
    /// # Errors
    /// If a link would be overloaded, a host is unknown or has no route to its partner, or `open`
    /// is not positive.
    pub fn new(transmissions: Vec<Transmission>, open: Duration, fabric: &Fabric) -> Result<Self, SlotError> {
        if open <= Duration::ZERO {
            return Err(SlotError::Open { open });
        }
        let mut load = vec![0u64; fabric.links().len()];
        for t in &transmissions {
            let hosts = fabric.hosts();
            if t.source.0 >= hosts || t.destination.0 >= hosts || t.source == t.destination {
                return Err(SlotError::Hosts { source_host: t.source.0, destination: t.destination.0, hosts });
            }
            if !fabric.reaches(t.source, t.destination) {
                return Err(SlotError::Unreachable { source_host: t.source.0, destination: t.destination.0 });
            }
            let line = fabric.link(fabric.uplink(t.source)).spec.rate;
            let rate = t.rate.unwrap_or(line);
            each_certain_link(fabric, t, |link| {
                let on = &mut load[link.index()];
                *on += rate.as_bps();
                let capacity = fabric.link(link).spec.rate;
                if *on > capacity.as_bps() {
                    return Err(SlotError::Overload {
                        link,
                        load: Rate::bps(*on),
                        rate: capacity,
                        source_host: t.source,
                        destination: t.destination,
                    });
                }
                Ok(())
            })?;
        }
        Ok(Self { transmissions, open })
    }
    /// All transmissions of the slot.
    pub fn transmissions(&self) -> &[Transmission] {
        &self.transmissions
    }
    /// Open time of the gates.
    pub fn open(&self) -> Duration {
        self.open
    }
}

/// Calls `each` with the links that a transmission certainly crosses, in their order.
fn each_certain_link<E>(
    fabric: &Fabric,
    t: &Transmission,
    mut each: impl FnMut(LinkId) -> Result<(), E>,
) -> Result<(), E> {
    let (uplink, to) = (fabric.uplink(t.source), t.destination);
    each(uplink)?;
    if t.path.is_none() && !fabric.is_single_path(t.source, to) {
        return each(fabric.downlink(to));
    }
    let mut at = fabric.link(uplink).to;
    while at != to.node() {
        // Of a single path, any hash finds the next link.
        let link = t.path.map_or_else(|| fabric.next_link(at, to, 0), |tag| fabric.tagged_link(at, to, tag));
        each(link)?;
        at = fabric.link(link).to;
    }
    Ok(())
}

/// A slot and the time after it: guard, or the dark time of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleEntry {
    /// Transmissions and their open time.
    pub slot: Slot,
    /// Time from the slot's end to the next slot's start.
    pub guard: Duration,
}

/// The number of one pass through a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round(pub u64);

/// Slots in order, with the time at which they take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Number of the round.
    pub round: Round,
    /// Opening of the first slot, by the controller's clock. A schedule takes effect at once and
    /// completely.
    pub effective: Time,
    /// Slots in order.
    pub entries: Vec<ScheduleEntry>,
}

impl Schedule {
    /// Time from the first slot's start to the last one's guard or dark time, included.
    pub fn length(&self) -> Duration {
        self.entries.iter().fold(Duration::ZERO, |sum, e| sum + e.slot.open() + e.guard)
    }
    /// Each slot with its start and end, by the controller's clock.
    pub fn timed(&self) -> impl Iterator<Item = (Time, Time, &Slot)> + '_ {
        let mut at = self.effective;
        self.entries.iter().map(move |e| {
            let start = at;
            at += e.slot.open() + e.guard;
            (start, start + e.slot.open(), &e.slot)
        })
    }
}

/// A rate for every pair in wire bit/s, with row and column sums within the hosts' links.
#[derive(Clone, Debug, PartialEq)]
pub struct RateMatrix {
    hosts: u32,
    rates: Vec<Rate>,
}

impl RateMatrix {
    /// A matrix by rows: `rates[source * hosts + destination]`.
    ///
    /// # Errors
    /// If a host would send or receive more than its link carries.
    pub fn new(rates: Vec<Rate>, fabric: &Fabric) -> Result<Self, SlotError> {
        let hosts = fabric.hosts();
        let n = hosts as usize;
        assert_eq!(rates.len(), n * n, "a rate for every pair");
        for h in 0..n {
            let row: u64 = rates[h * n..(h + 1) * n].iter().map(|r| r.as_bps()).sum();
            let column: u64 = rates[h..].iter().step_by(n).map(|r| r.as_bps()).sum();
            let host = HostId(h as u32);
            for (link, load) in [(fabric.uplink(host), row), (fabric.downlink(host), column)] {
                let rate = fabric.link(link).spec.rate;
                if load > rate.as_bps() {
                    let load = Rate::bps(load);
                    return Err(SlotError::Overload { link, load, rate, source_host: host, destination: host });
                }
            }
        }
        Ok(Self { hosts, rates })
    }
    /// One pair's rate.
    pub fn rate(&self, source: HostId, destination: HostId) -> Rate {
        self.rates[source.index() * self.hosts as usize + destination.index()]
    }
}

/// A scheduler's decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Consecutive slots: timeslots, TDMA slots, circuit configurations.
    Slots(Vec<ScheduleEntry>),
    /// A rate for every pair, until the next plan.
    Rates(RateMatrix),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Framing, LinkSpec, Switch};

    fn send(source: u32, destination: u32) -> Transmission {
        Transmission {
            source: HostId(source),
            destination: HostId(destination),
            class: Class(0),
            path: None,
            rate: None,
            bytes: None,
        }
    }
    fn tree() -> Fabric {
        let link =
            LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        Fabric::tree(2, 2, Switch::default(), link, link).unwrap()
    }

    #[test]
    fn a_matching_that_exists_is_valid() {
        let h = |i| Some(HostId(i));
        assert!(Matching::new(vec![h(1), h(2), None]).is_ok());
        assert_eq!(
            Matching::new(vec![h(2), h(2), None]),
            Err(MatchingError::Shared { output: 2, first: 0, second: 1 })
        );
        assert_eq!(Matching::new(vec![h(0)]), Err(MatchingError::Itself { host: 0 }));
        assert_eq!(Matching::new(vec![h(7), None]), Err(MatchingError::Range { input: 0, output: 7, last: 1 }));
    }

    #[test]
    fn a_slot_that_exists_overloads_no_link() {
        let open = Duration::from_us(300);
        // Both pairs cross the root: they share the uplink of edge switch 0.
        let both = Slot::new(vec![send(0, 2), send(1, 3)], open, &tree());
        assert!(matches!(both, Err(SlotError::Overload { .. })), "{both:?}");
        // A pair under one switch can send at the same time as a pair across switches.
        assert!(Slot::new(vec![send(0, 1), send(1, 2)], open, &tree()).is_ok());
        // At half the rate, both fit.
        let half = |t: Transmission| Transmission { rate: Some(Rate::gbps(5)), ..t };
        assert!(Slot::new(vec![half(send(0, 2)), half(send(1, 3))], open, &tree()).is_ok());
        assert!(Slot::new(vec![send(0, 0)], open, &tree()).is_err());
        assert!(Slot::new(vec![], Duration::ZERO, &tree()).is_err());
    }

    #[test]
    fn a_schedule_knows_its_times() {
        let slot = Slot::new(vec![send(0, 1)], Duration::from_us(300), &tree()).unwrap();
        let entry = ScheduleEntry { slot, guard: Duration::from_us(15) };
        let s = Schedule { round: Round(1), effective: Time::from_ps(0), entries: vec![entry.clone(), entry] };
        assert_eq!(s.length(), Duration::from_us(630));
        let starts: Vec<i64> = s.timed().map(|(start, _, _)| start.as_ps()).collect();
        assert_eq!(starts, [0, 315_000_000]);
    }

    #[test]
    fn a_rate_matrix_keeps_to_the_links() {
        let f = tree();
        let mut rates = vec![Rate::ZERO; 16];
        rates[1] = Rate::gbps(6);
        rates[9] = Rate::gbps(4);
        assert!(RateMatrix::new(rates.clone(), &f).is_ok());
        rates[13] = Rate::gbps(1);
        assert!(RateMatrix::new(rates, &f).is_err());
    }
}
