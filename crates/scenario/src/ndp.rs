//! The `transport.ndp` table: NDP (Handley et al., SIGCOMM 2017), where receivers pull packets and
//! switches cut packets that find a full queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;
use timeplane_transport::ndp::Spray;

/// NDP: receivers pull packets at the rate of their links, and switches cut packets down to their
/// headers.
///
/// A sender sends its window at once. The switches of the scheme hold few packets; the memory and
/// the marking of `fabric.switch` do not apply to them. A packet that finds its queue full loses
/// its payload. Its header goes on before all data, with acknowledgements and pulls. Headers have
/// 46 B: frames of 64 B on an Ethernet, 84 B with preamble and pause.
///
/// Each packet that arrives lets the receiver send one pull later, which asks for one packet more.
/// A host sends its pulls at the rate of full packets on its link, flow by flow in turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ndp {
    /// Packets that a sender sends before it hears of the receiver. A flow has its full rate if
    /// they take at least a round trip to send.
    pub window: u32,
    /// Data packets that wait at a port of a switch, besides the one that is sent. The packet that
    /// comes next is cut, or the last one in the queue, with equal probability.
    pub queue: u32,
    /// Headers, acknowledgements and pulls that wait at a port of a switch; further ones are lost.
    /// While data waits too, ten of them leave for each data packet. By default they take as much
    /// memory as 8 packets of 9 kB.
    pub headers: u32,
    /// How long a sender waits for an answer to a packet before it repeats it. It doubles with each
    /// timeout in a row. Timeouts come from lost headers, bit errors and failures only, unless
    /// `nic.discipline` lets packets wait in their host for as long.
    pub rto: Duration,
    /// Choice of the path of each packet.
    pub spray: Spray,
}

impl Default for Ndp {
    fn default() -> Self {
        Self { window: 30, queue: 8, headers: 1125, rto: Duration::from_ms(1), spray: Spray::default() }
    }
}
