//! What an access point says of its link, and what a sender is told.

use timeplane_model::{Bytes, FlowId, LinkId, Rate, Time};
use timeplane_radio::LinkTraceState;

/// How an access point uses its link now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkUse {
    /// The rate of data; not zero.
    pub rate: Rate,
    /// The MCS, by the standard's number.
    pub mcs: u8,
}

/// What an access point knows of its link at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSample {
    /// Rate and MCS; none in an outage.
    pub uses: Option<LinkUse>,
    /// Transmit and receive beam, by their numbers.
    pub beams: (u16, u16),
    /// What these beams receive, in hundredths of a dBm; also in an outage.
    pub level_cdbm: i32,
}

impl From<&LinkTraceState> for LinkSample {
    /// What the access point knows of a state: not its losses.
    fn from(state: &LinkTraceState) -> Self {
        Self {
            // Numbers of the rates of a link trace are whole.
            uses: state.link.map(|l| LinkUse { rate: l.rate, mcs: l.mcs.name().parse().unwrap_or_default() }),
            beams: (state.tx as u16, state.rx as u16),
            level_cdbm: (state.level.get() * 100.0).round() as i32,
        }
    }
}

/// What waits at an access point for its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// Bytes that wait.
    pub bytes: Bytes,
    /// Packets that wait.
    pub packets: u32,
    /// Packets that found no room, since the access point's start.
    pub drops: u64,
}

/// A report of an access point about one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// Counts the starts of the access point's agent.
    pub epoch: u32,
    /// Counts its reports of this epoch.
    pub sequence: u64,
    /// When it was taken, by the access point's clock.
    pub taken_at: Time,
    /// Which link.
    pub link: LinkId,
    /// What the link does.
    pub sample: LinkSample,
    /// What waits for it.
    pub queue: QueueSample,
}

/// What a sender of TCP shall do: C = R T of the paper's section III.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steer {
    /// Counts the starts of the proxy.
    pub epoch: u32,
    /// Counts its messages of this epoch, over all flows.
    pub sequence: u64,
    /// Whose window.
    pub flow: FlowId,
    /// The most bytes of the flow that may be under way; zero in an outage.
    pub window: Bytes,
    /// How fast they may leave, so that a window that jumps does not burst into the queue; none: as fast as the sender likes.
    pub rate: Option<Rate>,
}

/// The newest message of a peer that may restart, so that late and doubled ones are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freshness(Option<(u32, u64)>);

impl Freshness {
    /// Whether a message of this epoch and sequence is newer than all before it; it then is the newest.
    pub fn accept(&mut self, epoch: u32, sequence: u64) -> bool {
        let new = self.0.is_none_or(|newest| newest < (epoch, sequence));
        if new {
            self.0 = Some((epoch, sequence));
        }
        new
    }
}
