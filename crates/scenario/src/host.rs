//! The `[scheme.NAME.host]` tables: the time that hosts themselves take for packets.
//! It comes in addition to the time of links and switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// Hosts of a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// Time of a host for each packet of data and each acknowledgement.
    pub latency: HostLatency,
}

/// Time of a host for a packet: from its queues to the wire when it sends, and from the wire to the
/// transport when it receives.
///
/// Each packet draws its times, uniform between two bounds, and packets never overtake each other.
/// Hosts work on many packets at once, so the rate stays that of the link. Gates are in front of
/// the sending time, as they are in programs: slots lag, and the guard time has to cover the
/// variation. Control messages and repair reports have latencies of their own. Ideal times and
/// bounds are those of the network, without hosts, so that all schemes are measured on one scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostLatency {
    /// Hosts pass packets on at once.
    #[default]
    None,
    /// Sockets of an operating system: 17.5 to 47 us in each direction. Rumble et al. ("It's Time
    /// for Low Latency", HotOS 2011, table 1) have 15 us for its network stack and 2.5 to 32 us
    /// for network interfaces. Their range is taken as the bounds of one host.
    Kernel,
    /// A program that reads and writes the interface without the kernel: 2.5 us to send, the
    /// fastest interface of Rumble et al., and 5 us to receive, as Practical TDMA has it (section
    /// 5.3).
    Bypass,
    /// Measured times.
    Times(HostTimes),
}

/// Bounds of the times of a host for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostTimes {
    /// Minimum time to send.
    pub send_least: Duration,
    /// Maximum time to send.
    pub send_most: Duration,
    /// Minimum time to receive.
    pub receive_least: Duration,
    /// Maximum time to receive.
    pub receive_most: Duration,
}

impl HostLatency {
    /// The bounds; `None` where hosts take no time.
    pub fn times(self) -> Option<HostTimes> {
        let times = match self {
            Self::None => return None,
            Self::Kernel => HostTimes {
                send_least: Duration::from_ns(17_500),
                send_most: Duration::from_us(47),
                receive_least: Duration::from_ns(17_500),
                receive_most: Duration::from_us(47),
            },
            Self::Bypass => HostTimes {
                send_least: Duration::from_ns(2_500),
                send_most: Duration::from_ns(2_500),
                receive_least: Duration::from_us(5),
                receive_most: Duration::from_us(5),
            },
            Self::Times(times) => times,
        };
        (times.send_most > Duration::ZERO || times.receive_most > Duration::ZERO).then_some(times)
    }

    /// Longest difference between the sending times of two packets.
    pub fn send_spread(self) -> Duration {
        self.times().map_or(Duration::ZERO, |t| t.send_most - t.send_least)
    }
}
