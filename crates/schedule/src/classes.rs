//! Which class number each destination of a sender has.

use std::collections::BTreeMap;
use timeplane_model::HostId;

/// Classes of PFC frames for pairs of hosts, from round to round.
///
/// A PFC frame opens a class, not a destination, and it has eight of them (2,048 with 11 bits). A frame is acted upon by its destination
/// only, so that each sender has a name space of its own ("Practical TDMA for datacenter Ethernet", section 5.1), and needs as many
/// classes as it has destinations in one round. Where it has more over time, classes change their meaning between rounds ("recolouring";
/// REACToR, section 3.4).
///
/// A pair keeps its class for as long as the class is not needed: a round changes no more than the destinations that have none, which is the
/// least possible. New ones get classes that stand for nobody, lowest first, then those whose destination has been in no round for longest.
/// The same calls give the same classes.
///
/// A round takes time in proportion to its pairs, and to the classes of each sender that evicts; memory, to the pairs that have classes.
#[derive(Clone, Debug)]
pub struct ClassMap {
    /// The classes that may be given.
    first: u16,
    number: u16,
    /// By sender.
    tables: Vec<Table>,
    /// Counts rounds.
    round: u64,
}

/// One sender's classes, counted from the first that may be given.
#[derive(Clone, Debug, Default)]
struct Table {
    classes: Vec<Option<Holder>>,
    by_destination: BTreeMap<HostId, u16>,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    destination: HostId,
    /// The last round that it was in.
    used: u64,
}

/// A class that means something else from the coming round on; its sender has to be told before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recolouring {
    /// Whose class.
    pub source: HostId,
    /// The class.
    pub class: u16,
    /// What it stands for now.
    pub destination: HostId,
    /// What it stood for before.
    pub before: Option<HostId>,
}

/// A round that cannot have classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassError {
    /// Classes run out.
    #[error("host {} sends to {needed} destinations in a round, but there are {available} classes", source_host.0)]
    RunOut {
        /// The first sender that has too many destinations.
        source_host: HostId,
        /// How many it has.
        needed: usize,
        /// How many classes there are.
        available: usize,
    },
    /// A sender does not exist.
    #[error("host {} sends in a round, but there are {hosts} hosts", source_host.0)]
    Unknown {
        /// The sender.
        source_host: HostId,
        /// How many hosts there are.
        hosts: usize,
    },
}

impl ClassMap {
    /// For `hosts` senders, none of which has a class in use. Each may use the classes of `classes`: all but those that have a meaning
    /// of their own, as REACToR's eighth, which is always open towards the packet network.
    pub fn new(hosts: u32, classes: core::ops::Range<u16>) -> Self {
        let number = classes.end.saturating_sub(classes.start);
        Self { first: classes.start, number, tables: vec![Table::default(); hosts as usize], round: 0 }
    }

    /// How many classes each sender may use.
    pub fn available(&self) -> usize {
        usize::from(self.number)
    }

    /// Gives a class to every pair of the coming round (sender and destination, in any order, some perhaps several times), and says what
    /// changes by it, in the order of senders, then of classes.
    ///
    /// # Errors
    /// Where a sender does not exist, or has more destinations than there are classes. Nothing changes then.
    pub fn begin_round(
        &mut self,
        pairs: impl IntoIterator<Item = (HostId, HostId)>,
    ) -> Result<Vec<Recolouring>, ClassError> {
        let mut pairs: Vec<(HostId, HostId)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        pairs.dedup();
        let senders = || pairs.chunk_by(|a, b| a.0 == b.0);
        for round in senders() {
            let (source_host, needed) = (round[0].0, round.len());
            if source_host.index() >= self.tables.len() {
                return Err(ClassError::Unknown { source_host, hosts: self.tables.len() });
            }
            if needed > self.available() {
                return Err(ClassError::RunOut { source_host, needed, available: self.available() });
            }
        }
        self.round += 1;
        let mut changes = Vec::new();
        for round in senders() {
            let before = changes.len();
            let source = round[0].0;
            let change = |(class, destination, before)| {
                changes.push(Recolouring { source, class: self.first + class, destination, before });
            };
            self.tables[source.index()].begin_round(round, self.round, self.number, change);
            changes[before..].sort_unstable_by_key(|c: &Recolouring| c.class);
        }
        Ok(changes)
    }

    /// The class of a pair, if it has one.
    pub fn class(&self, source: HostId, destination: HostId) -> Option<u16> {
        let table = self.tables.get(source.index())?;
        table.by_destination.get(&destination).map(|c| self.first + c)
    }

    /// All classes of a sender that stand for a destination, in their order: what a host that has just started is told.
    pub fn names(&self, source: HostId) -> impl Iterator<Item = (u16, HostId)> + '_ {
        let classes = self.tables.get(source.index()).map_or(&[][..], |t| &t.classes);
        (self.first..=u16::MAX).zip(classes).filter_map(|(c, h)| h.map(|h| (c, h.destination)))
    }

    /// Takes all classes of a sender back, as where it has failed.
    pub fn forget(&mut self, source: HostId) {
        if let Some(table) = self.tables.get_mut(source.index()) {
            *table = Table::default();
        }
    }
}

impl Table {
    /// Classes for a round's pairs, which are sorted and as many as there are classes at most.
    fn begin_round(
        &mut self,
        pairs: &[(HostId, HostId)],
        round: u64,
        number: u16,
        mut change: impl FnMut((u16, HostId, Option<HostId>)),
    ) {
        let mut missing = Vec::new();
        for &(_, destination) in pairs {
            match self.by_destination.get(&destination) {
                Some(&class) => self.classes[usize::from(class)] = Some(Holder { destination, used: round }),
                None => missing.push(destination),
            }
        }
        if missing.is_empty() {
            return;
        }
        // Free classes first: those between, then those that have never been given.
        let given = self.classes.len() as u16;
        let between = (0..given).filter(|&c| self.classes[usize::from(c)].is_none());
        let mut classes: Vec<u16> = between.chain(given..number).take(missing.len()).collect();
        if classes.len() < missing.len() {
            let holder = |c: u16| self.classes[usize::from(c)].filter(|h| h.used < round);
            let mut idle: Vec<(u64, u16)> = (0..given).filter_map(|c| holder(c).map(|h| (h.used, c))).collect();
            idle.sort_unstable();
            classes.extend(idle.into_iter().map(|(_, c)| c).take(missing.len() - classes.len()));
        }
        debug_assert_eq!(classes.len(), missing.len(), "a round needs no more classes than there are");
        for (class, destination) in classes.into_iter().zip(missing) {
            let at = usize::from(class);
            if at >= self.classes.len() {
                self.classes.resize(at + 1, None);
            }
            let before = self.classes[at].replace(Holder { destination, used: round }).map(|h| h.destination);
            if let Some(before) = before {
                self.by_destination.remove(&before);
            }
            self.by_destination.insert(destination, class);
            change((class, destination, before));
        }
    }
}
