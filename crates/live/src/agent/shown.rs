//! What an agent counts, and shows of itself.

use crate::counters::shared_counters;
use crate::gate::GateCounters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

shared_counters! {
    /// What an agent has counted, readable from other threads.
    AgentCounters {
        /// Signals obeyed.
        signals,
        /// Control frames that were no signal for this host.
        refused_signals,
        /// Signals, grants and rates that were known already, or of a controller that has been
        /// replaced.
        stale,
        /// Grants, and rates, that came too late.
        late,
        /// Reports sent; what goes to two controllers is one.
        reports,
        /// Their bytes, as `Message::wire_bytes` counts them.
        report_bytes,
        /// Frames that left.
        frames,
        /// Their bytes on the wire.
        wire_bytes,
        /// Frames that left for the circuit switch; they are among those above.
        circuit_frames,
        /// Their bytes on the wire.
        circuit_wire_bytes,
        /// Frames of reports about streams that left.
        repairs,
        /// Bytes of all frames that left, without Ethernet's header.
        sent_bytes,
        /// Frames that came to the gate too late, and are sent again.
        too_late,
        /// Frames sent while no controller was heard of.
        unscheduled,
        /// Frames that came in.
        received,
        /// Their bytes, without Ethernet's header.
        received_bytes,
        /// Frames that could not be read.
        malformed,
        /// Frames that the receive buffer had no room for.
        overrun,
        /// How often it joined a controller.
        joined,
    }
}

/// What an agent shows of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Which host it is.
    pub host: u32,
    /// Which start of its agent.
    pub epoch: u32,
    /// Hosts that have joined, itself among them, as its controller says.
    pub joined: Vec<u32>,
    /// Of [`AgentCounters`].
    pub agent: BTreeMap<String, u64>,
    /// What the kernel's programs have counted.
    pub gate: GateCounters,
    /// Of what programs send and receive: [`StreamCounters`](super::StreamCounters).
    pub streams: serde_json::Value,
}
