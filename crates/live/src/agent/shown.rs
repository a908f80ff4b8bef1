//! Counters and public state of an agent. The status page, the Unix socket and the controllers show
//! them.

use crate::counters::shared_counters;
use crate::gate::GateCounters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

shared_counters! {
    /// Counters of an agent, readable from other threads.
    AgentCounters {
        /// Signals obeyed.
        signals,
        /// Control frames that were not a valid signal for this host.
        refused_signals,
        /// Frames between hosts that were refused as their tag is wrong.
        refused_forged,
        /// Frames between hosts that were refused as they have no tag.
        refused_unsealed,
        /// Frames between hosts that were refused as they have a tag, and this host has no keys.
        refused_sealed,
        /// IP packets that were refused as they had arrived before.
        refused_repeated,
        /// Frames between hosts that were refused as no controller names their agent.
        refused_stale,
        /// Frames between hosts that were refused as their addresses are those of no known host.
        refused_foreign,
        /// Signals, grants and rates that repeat known ones or come from a replaced controller.
        stale,
        /// Grants and rates that arrived too late.
        late,
        /// Grants that have opened a gate; under a plan of timeslots, timeslots that have begun.
        timeslots,
        /// Timeslots that were over before the agent's thread was awake, or that are too short for
        /// the error of the clock.
        timeslots_missed,
        /// Timeslots that arrived before the controller's clock was known.
        timeslots_unclocked,
        /// How wrong the difference to the controller's clock may be, in nanoseconds, under a plan
        /// of timeslots.
        clock_error_ns,
        /// Reports sent; a report to two controllers counts once.
        reports,
        /// Bytes of these reports, as `Message::wire_bytes` counts them.
        report_bytes,
        /// Frames that left.
        frames,
        /// Their bytes on the wire.
        wire_bytes,
        /// Frames that left for the circuit switch; they are included in `frames`.
        circuit_frames,
        /// Bytes of these frames on the wire.
        circuit_wire_bytes,
        /// Repair reports of streams that left.
        repairs,
        /// Bytes of all frames that left, without Ethernet's header.
        sent_bytes,
        /// Frames that the gate refused as too late; they are sent again.
        too_late,
        /// Frames sent without slots while controllers were silent.
        unscheduled,
        /// Frames received.
        received,
        /// Bytes of these frames, without Ethernet's header.
        received_bytes,
        /// Invalid frames and messages.
        malformed,
        /// Frames lost as the receive buffer was full.
        overrun,
        /// Number of times that it joined a controller.
        joined,
        /// The last round trip over the demand channel to the controller that rules, in
        /// nanoseconds. No signal that is later than that and the limit opens the gate.
        round_trip_ns,
    }
}

impl AgentCounters {
    /// Those that may fall.
    pub const GAUGES: [&str; 2] = ["round_trip_ns", "clock_error_ns"];
}

/// The public state of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the host in the scenario.
    pub host: u32,
    /// Number of this start of the agent.
    pub epoch: u32,
    /// Hosts that have joined the controller, including this one.
    pub joined: Vec<u32>,
    /// Values of [`AgentCounters`].
    pub agent: BTreeMap<String, u64>,
    /// Counters of the kernel's programs.
    pub gate: GateCounters,
    /// Counters of streams: [`StreamCounters`](super::StreamCounters).
    pub streams: serde_json::Value,
}
