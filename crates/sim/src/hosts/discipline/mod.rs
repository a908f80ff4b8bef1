//! Queue disciplines of an access point, as state machines.
//!
//! A discipline decides what happens to a packet when it comes and when it is about to leave. The
//! queue with its packets and times belongs to the caller.

use crate::engine::time::SimTime;
use timeplane_model::{Bytes, Duration};

/// The bound of a queue. A packet that does not fit is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// In packets.
    Packets(u64),
    /// In bytes.
    Bytes(Bytes),
}

/// A queue discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// Drops packets that do not fit.
    DropTail {
        /// The bound.
        limit: Limit,
    },
    /// Marks ECN-capable packets that find at least this many others (DCTCP, SIGCOMM 2010, section
    /// 3.1).
    EcnThreshold {
        /// The threshold.
        packets: u64,
        /// The bound.
        limit: Limit,
    },
    /// Controlled delay (RFC 8289): drops or marks packets while the shortest wait of an interval
    /// is too long.
    CoDel {
        /// The acceptable wait: 5 ms in the RFC.
        target: Duration,
        /// About the longest round trip of the traffic: 100 ms in the RFC.
        interval: Duration,
        /// The bound.
        limit: Limit,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
    },
}

/// What a discipline reads of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Size in bytes.
    pub bytes: u64,
    /// Whether it is ECN-capable.
    pub ect: bool,
}

/// The fate of a packet that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnArrival {
    /// It joins the queue.
    Take,
    /// It joins the queue, marked.
    Mark,
    /// It is dropped.
    Drop,
}

/// The fate of the packet at the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDeparture {
    /// It leaves.
    Send,
    /// It leaves, marked.
    Mark,
    /// It is dropped; ask at the same time for the next one.
    Drop,
}

/// A discipline with its state.
#[derive(Clone, Debug)]
pub struct QueueState {
    discipline: Discipline,
    /// Largest packet, in bytes.
    mtu: u64,
    codel: CoDel,
}

impl QueueState {
    /// The discipline of an empty queue of packets of at most `mtu` bytes.
    pub fn new(discipline: Discipline, mtu: u64) -> Self {
        Self { discipline, mtu, codel: CoDel::default() }
    }

    /// A packet comes and finds `packets` and `bytes` in the queue.
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

    /// The packet at the head could leave at `now`. It has waited for `waited`, and leaves `bytes`
    /// behind it. Called for each packet of the queue, in the order of time.
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
    /// The control law dropped the packet before. The fate of the next one decides when the next
    /// drop is.
    unsettled: bool,
}

/// `interval / sqrt(count)` after `t` (section 3.3). The square root of IEEE 754 is the same
/// everywhere.
fn control_law(t: SimTime, interval: Duration, count: u64) -> SimTime {
    t + Duration::from_ps((interval.as_ps() as f64 / (count as f64).sqrt()) as i64)
}

impl CoDel {
    /// Section 5.6: whether waits have been too long for an interval. A queue of at most one packet
    /// is never too long.
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
        // Where it stopped dropping not long ago, it continues at nearly the rate that was right
        // then.
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
