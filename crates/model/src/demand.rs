//! Demand: the backlog of hosts.
//!
//! Hosts report it to controllers, by destination or flow by flow.

use crate::grant::Class;
use crate::ids::{CoflowId, HostId};
use crate::units::{Bytes, Time};

/// Backlog of one host for one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogEntry {
    /// Destination of the bytes.
    pub destination: HostId,
    /// Queued bytes, in wire bytes.
    pub bytes: Bytes,
    /// Bytes queued for it since the host's start, sent or not; only if a scheme needs it.
    pub arrived: Option<Bytes>,
}

/// Packets of one flow in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Destination of the queue.
    pub destination: HostId,
    /// Class of the queue.
    pub class: Class,
    /// Arrival time by the host's clock.
    pub arrived: Time,
    /// Number of packets.
    pub packets: u32,
    /// Their wire bytes.
    pub bytes: Bytes,
}

/// Backlog of one host for one destination that belongs to one coflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoflowBacklog {
    /// Destination of the bytes.
    pub destination: HostId,
    /// The coflow that they belong to.
    pub coflow: CoflowId,
    /// Queued bytes, in wire bytes.
    pub bytes: Bytes,
}

/// One host's row of the demand. Entries are ordered by destination, unique and nonempty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    entries: Vec<BacklogEntry>,
    coflows: Vec<CoflowBacklog>,
    /// The same flow by flow, if a scheme needs it: ordered by destination and class, and by
    /// departure within a queue.
    pub bursts: Vec<Burst>,
    /// Free space of the host's receive buffer; `None` if it is unlimited.
    pub room: Option<Bytes>,
}

impl Backlog {
    /// A row from entries in any order: sorts them, drops empty ones and adds up equal
    /// destinations.
    pub fn new(mut entries: Vec<BacklogEntry>) -> Self {
        entries.retain(|e| e.bytes > Bytes::ZERO);
        entries.sort_by_key(|e| e.destination);
        entries.dedup_by(|later, first| {
            let same = later.destination == first.destination;
            if same {
                first.bytes += later.bytes;
            }
            same
        });
        Self { entries, coflows: Vec::new(), bursts: Vec::new(), room: None }
    }
    /// A row of bytes per destination only.
    pub fn of_bytes(bytes: impl IntoIterator<Item = (HostId, Bytes)>) -> Self {
        let entry = |(destination, bytes)| BacklogEntry { destination, bytes, arrived: None };
        Self::new(bytes.into_iter().map(entry).collect())
    }
    /// A row of bursts in the order of [`bursts`](Self::bursts); bytes per destination are their
    /// sums.
    pub fn of_bursts(bursts: Vec<Burst>) -> Self {
        let row = Self::of_bytes(bursts.iter().map(|b| (b.destination, b.bytes)));
        Self { bursts, ..row }
    }
    /// The same row with the parts of it that belong to coflows, in any order. Adds up parts of the
    /// same coflow, and cuts them to the bytes of their destination, the last coflows first.
    pub fn with_coflows(mut self, mut parts: Vec<CoflowBacklog>) -> Self {
        parts.sort_by_key(|p| (p.destination, p.coflow));
        parts.dedup_by(|later, first| {
            let same = (later.destination, later.coflow) == (first.destination, first.coflow);
            if same {
                first.bytes += later.bytes;
            }
            same
        });
        let mut last = None;
        let mut room = Bytes::ZERO;
        for part in &mut parts {
            if last.replace(part.destination) != Some(part.destination) {
                room = self.bytes(part.destination);
            }
            part.bytes = part.bytes.min(room);
            room = room.saturating_sub(part.bytes);
        }
        parts.retain(|p| p.bytes > Bytes::ZERO);
        self.coflows = parts;
        self
    }
    /// The parts that belong to coflows, if a scheme needs them: ordered by destination and coflow,
    /// unique and nonempty. All parts of a destination have at most its bytes; the rest of these
    /// belongs to no coflow.
    pub fn coflows(&self) -> &[CoflowBacklog] {
        &self.coflows
    }
    /// Entries by destination.
    pub fn entries(&self) -> &[BacklogEntry] {
        &self.entries
    }
    /// Backlog for `destination`.
    pub fn bytes(&self, destination: HostId) -> Bytes {
        match self.entries.binary_search_by_key(&destination, |e| e.destination) {
            Ok(i) => self.entries[i].bytes,
            Err(_) => Bytes::ZERO,
        }
    }
    /// Total backlog.
    pub fn total(&self) -> Bytes {
        self.entries.iter().map(|e| e.bytes).sum()
    }
    /// Whether the backlog is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Backlog of all pairs of hosts: one [`Backlog`] per source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    rows: Vec<Backlog>,
}

impl Demand {
    /// No demand among `hosts` hosts.
    pub fn none(hosts: u32) -> Self {
        Self { rows: vec![Backlog::default(); hosts as usize] }
    }
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.rows.len() as u32
    }
    /// All rows, by source.
    pub fn rows(&self) -> &[Backlog] {
        &self.rows
    }
    /// One source's row.
    pub fn row(&self, source: HostId) -> &Backlog {
        &self.rows[source.index()]
    }
    /// Replaces one source's row.
    ///
    /// # Panics
    /// If the row names an unknown host or `source` itself.
    pub fn set_row(&mut self, source: HostId, row: Backlog) {
        let n = self.hosts();
        assert!(row.entries.iter().all(|e| e.destination.0 < n && e.destination != source), "{source:?}: {row:?}");
        self.rows[source.index()] = row;
    }
    /// Total backlog.
    pub fn total(&self) -> Bytes {
        self.rows.iter().map(Backlog::total).sum()
    }
    /// Whether the backlog is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(Backlog::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_sorted_and_without_holes() {
        let b = |h, n| (HostId(h), Bytes::new(n));
        let row = Backlog::of_bytes([b(3, 5), b(1, 7), b(2, 0), b(3, 1)]);
        assert_eq!(
            row.entries().iter().map(|e| (e.destination.0, e.bytes.get())).collect::<Vec<_>>(),
            [(1, 7), (3, 6)]
        );
        assert_eq!(row.bytes(HostId(3)), Bytes::new(6));
        assert_eq!(row.bytes(HostId(2)), Bytes::ZERO);
    }

    #[test]
    fn a_row_of_bursts_has_their_sums() {
        let burst = |h, class, n| Burst {
            destination: HostId(h),
            class: Class(class),
            arrived: Time::ZERO,
            packets: 1,
            bytes: Bytes::new(n),
        };
        let bursts = vec![burst(1, 0, 5), burst(1, 2, 6), burst(2, 0, 0), burst(4, 0, 7)];
        let row = Backlog::of_bursts(bursts.clone());
        assert_eq!(row.bursts, bursts);
        assert_eq!(
            row.entries(),
            Backlog::of_bytes([(HostId(1), Bytes::new(11)), (HostId(4), Bytes::new(7))]).entries()
        );
    }

    #[test]
    fn coflows_are_parts_of_a_row() {
        let part = |h, c, n| CoflowBacklog { destination: HostId(h), coflow: CoflowId(c), bytes: Bytes::new(n) };
        let row = Backlog::of_bytes([(HostId(1), Bytes::new(10)), (HostId(2), Bytes::new(5))]);
        let row = row.with_coflows(vec![part(2, 9, 4), part(1, 7, 6), part(1, 3, 2), part(1, 7, 3), part(3, 1, 1)]);
        // Ten bytes for host 1: two of coflow 3, and eight of nine of coflow 7. Host 3 has none.
        assert_eq!(row.coflows(), [part(1, 3, 2), part(1, 7, 8), part(2, 9, 4)]);
        assert_eq!(row.bytes(HostId(2)), Bytes::new(5));
    }

    #[test]
    #[should_panic(expected = "h1")]
    fn nobody_sends_to_itself() {
        Demand::none(2).set_row(HostId(1), Backlog::of_bytes([(HostId(1), Bytes::new(1))]));
    }
}
