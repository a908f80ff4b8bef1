//! Messages from access points about their links, and from the proxy to senders.
//!
//! Both have an epoch and a sequence, so that late and doubled ones are dropped.

use timeplane_model::{Bytes, FlowId, LinkId, Rate, Time};
use timeplane_radio::LinkTraceState;

/// The current modulation and coding of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkUse {
    /// The rate of data; not zero.
    pub rate: Rate,
    /// The MCS, by the standard's number.
    pub mcs: u8,
}

/// The state of a link at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSample {
    /// Rate and MCS; `None` in an outage.
    pub uses: Option<LinkUse>,
    /// Numbers of the transmit and receive beams.
    pub beams: (u16, u16),
    /// The level that these beams receive, in hundredths of a dBm; also in an outage.
    pub level_cdbm: i32,
}

impl From<&LinkTraceState> for LinkSample {
    /// The access point's view of a state, without losses.
    fn from(state: &LinkTraceState) -> Self {
        Self {
            // Rates of link traces are whole numbers.
            uses: state.link.map(|l| LinkUse { rate: l.rate, mcs: l.mcs.name().parse().unwrap_or_default() }),
            beams: (state.tx as u16, state.rx as u16),
            level_cdbm: (state.level.get() * 100.0).round() as i32,
        }
    }
}

/// The queue of an access point for its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// Bytes in the queue.
    pub bytes: Bytes,
    /// Packets in the queue.
    pub packets: u32,
    /// Packets dropped since the access point's start.
    pub drops: u64,
}

/// An access point's report on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// Counts the starts of the access point's agent.
    pub epoch: u32,
    /// Counts its reports of this epoch.
    pub sequence: u64,
    /// When it was taken, by the access point's clock.
    pub taken_at: Time,
    /// The number of the link.
    pub link: LinkId,
    /// The state of the link.
    pub sample: LinkSample,
    /// The queue for the link.
    pub queue: QueueSample,
}

/// A command for a TCP sender: C = R T of section III of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steer {
    /// Counts the starts of the proxy.
    pub epoch: u32,
    /// Counts its messages of this epoch, over all flows.
    pub sequence: u64,
    /// The number of the flow.
    pub flow: FlowId,
    /// The most bytes of the flow in flight; zero in an outage.
    pub window: Bytes,
    /// The rate of sending, so that a larger window does not burst into the queue; `None` leaves it
    /// to the sender.
    pub rate: Option<Rate>,
}

/// The newest message of a peer that may restart, to recognize late and doubled ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freshness(Option<(u32, u64)>);

impl Freshness {
    /// Whether a message is newer than all before; if so, it becomes the newest one.
    pub fn accept(&mut self, epoch: u32, sequence: u64) -> bool {
        let new = self.0.is_none_or(|newest| newest < (epoch, sequence));
        if new {
            self.0 = Some((epoch, sequence));
        }
        new
    }
}
