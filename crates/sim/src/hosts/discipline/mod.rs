//! Queue disciplines of an access point, as state machines: what becomes of a packet when it comes, and when it is about to leave.

use crate::engine::time::SimTime;
use timeplane_model::{Bytes, Duration};

/// How much a queue may hold. A packet that would not fit is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(Bytes),
}

/// A queue discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// Loses what does not fit.
    DropTail {
        /// What it may hold.
        limit: Limit,
    },
    /// Marks ECN-capable packets that find at least so many others (DCTCP, SIGCOMM 2010, section 3.1).
    EcnThreshold {
        /// From how many packets on it marks.
        packets: u64,
        /// What it may hold.
        limit: Limit,
    },
    /// Controlled delay (RFC 8289): loses, or marks, packets where the least wait of an interval was too long.
    CoDel {
        /// An acceptable wait. The RFC has 5 ms.
        target: Duration,
        /// About the longest round trip of what passes. The RFC has 100 ms.
        interval: Duration,
        /// What it may hold.
        limit: Limit,
        /// ECN-capable packets are marked where others are lost.
        ecn: bool,
    },
}

/// What a discipline looks at of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Its size.
    pub bytes: u64,
    /// Whether it is ECN-capable.
    pub ect: bool,
}

/// What becomes of a packet that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnArrival {
    /// It joins the queue.
    Take,
    /// It joins the queue, marked.
    Mark,
    /// It is lost.
    Drop,
}

/// What becomes of the packet at the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDeparture {
    /// It leaves.
    Send,
    /// It leaves, marked.
    Mark,
    /// It is lost: ask at the same time for the next one.
    Drop,
}

/// A queue's discipline with what it remembers. The queue itself, its packets and the times at which they came, are the caller's.
#[derive(Clone, Debug)]
pub struct QueueState {
    discipline: Discipline,
    /// Largest packet, bytes.
    mtu: u64,
    codel: CoDel,
}

impl QueueState {
    /// For an empty queue of packets of at most `mtu` bytes.
    pub fn new(discipline: Discipline, mtu: u64) -> Self {
        Self { discipline, mtu, codel: CoDel::default() }
    }

    /// A packet comes, and finds so many `packets` and `bytes` waiting.
    pub fn arrive(&self, item: Item, packets: u64, bytes: u64) -> OnArrival {
        let (Discipline::DropTail { limit } | Discipline::EcnThreshold { limit, .. } | Discipline::CoDel { limit, .. }) =
            self.discipline;
        let fits = match limit {
            Limit::Packets(most) => packets < most,
            Limit::Bytes(most) => bytes.saturating_add(item.bytes) <= most.get(),
        };
        match self.discipline {
            _ if !fits => OnArrival::Drop,
            Discipline::EcnThreshold { packets: threshold, .. } if item.ect && packets >= threshold => OnArrival::Mark,
            _ => OnArrival::Take,
        }
    }

    /// The packet at the head could leave at `now`; it has waited for `waited`, and leaves `bytes` behind it. To be asked for
    /// each packet of the queue, in the order of time.
    pub fn depart(&mut self, now: SimTime, item: Item, waited: Duration, bytes: u64) -> OnDeparture {
        let Discipline::CoDel { target, interval, ecn, .. } = self.discipline else { return OnDeparture::Send };
        let too_late = self.codel.is_too_late(now, waited >= target && bytes > self.mtu, interval);
        self.codel.decide(now, too_late, interval, ecn && item.ect)
    }
}

/// The variables of RFC 8289, section 5.3.
#[derive(Clone, Debug, Default)]
struct CoDel {
    /// When the wait will have been too long for an interval; `None` while it is not too long.
    first_above: Option<SimTime>,
    drop_next: SimTime,
    count: u64,
    last_count: u64,
    dropping: bool,
    /// The packet before was lost by the control law: what becomes of the next one says when the next drop is.
    unsettled: bool,
}

/// `interval / sqrt(count)` after `t` (section 3.3). The square root of IEEE 754 is the same everywhere.
fn control_law(t: SimTime, interval: Duration, count: u64) -> SimTime {
    t + Duration::from_ps((interval.as_ps() as f64 / (count as f64).sqrt()) as i64)
}

impl CoDel {
    /// Section 5.6: whether waits have been too long for an interval. A queue of no more than a packet is never too long.
    fn is_too_late(&mut self, now: SimTime, above: bool, interval: Duration) -> bool {
        if !above {
            self.first_above = None;
            return false;
        }
        let Some(first_above) = self.first_above else {
            self.first_above = Some(now + interval);
            return false;
        };
        now >= first_above
    }

    /// Section 5.5.
    fn decide(&mut self, now: SimTime, too_late: bool, interval: Duration, mark: bool) -> OnDeparture {
        if core::mem::take(&mut self.unsettled) && too_late {
            self.drop_next = control_law(self.drop_next, interval, self.count);
        }
        if self.dropping {
            self.dropping = too_late;
            if !too_late || now < self.drop_next {
                return OnDeparture::Send;
            }
            self.count += 1;
            if mark {
                self.drop_next = control_law(self.drop_next, interval, self.count);
                return OnDeparture::Mark;
            }
            self.unsettled = true;
            return OnDeparture::Drop;
        }
        if !too_late {
            return OnDeparture::Send;
        }
        self.dropping = true;
        // Where it stopped dropping not long ago, it goes on at nearly the rate that was right then.
        let delta = self.count.saturating_sub(self.last_count);
        let recently = now - self.drop_next < interval * 16;
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, interval, self.count);
        if mark { OnDeparture::Mark } else { OnDeparture::Drop }
    }
}

#[cfg(test)]
mod tests;
