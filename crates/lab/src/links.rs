//! Traffic on the links of a lab, as the kernel counts it at the switch's ports.
//!
//! The counters are read before and after a run, and become rows of the table of links.

use super::fabric::{Fabric, host_port};
use serde_json::Value;
use timeplane_live::netns::NetError;
use timeplane_model::{Bytes, HostId};
use timeplane_results::LinkRow;

/// Bytes of preamble, FCS and inter-frame gap, which the kernel does not count.
const FRAMING: u64 = 24;

/// Frames and their bytes, with Ethernet's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of these frames, without preamble, FCS and inter-frame gap.
    pub bytes: u64,
}

/// Traffic of hosts to the switch and back, by host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts(Vec<[LinkCount; 2]>);

impl LinkCounts {
    /// Reads the ports' counters since their creation.
    ///
    /// # Errors
    /// If the counters cannot be read.
    pub fn read(fabric: &Fabric) -> Result<Self, NetError> {
        let text = fabric.switch().ip("-j -s link show")?;
        let all: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        let of = |host: u16| {
            let port = host_port(host);
            let stats = all.iter().find(|link| link["ifname"] == *port).map(|link| &link["stats64"]);
            let Some(stats) = stats.filter(|s| s.is_object()) else {
                let command = format!("ip -n {} -j -s link show", fabric.switch().name());
                return Err(NetError::Failed { command, message: format!("it has no counters of {port}") });
            };
            let count = |way: &str| {
                let number = |what: &str| stats[way][what].as_u64().unwrap_or(0);
                LinkCount { frames: number("packets"), bytes: number("bytes") }
            };
            // The port receives what the host sends.
            Ok([count("rx"), count("tx")])
        };
        (0..fabric.parameters().hosts).map(of).collect::<Result<_, _>>().map(Self)
    }

    /// The difference to an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: LinkCount, before: LinkCount| LinkCount {
            frames: now.frames.saturating_sub(before.frames),
            bytes: now.bytes.saturating_sub(before.bytes),
        };
        let both = self.0.iter().zip(&earlier.0);
        Self(both.map(|(now, before)| [less(now[0], before[0]), less(now[1], before[1])]).collect())
    }

    /// Rows of the table of links, in the order of links.
    pub fn rows(&self, fabric: &timeplane_model::Fabric) -> Vec<LinkRow> {
        let of = |(host, ways): (u32, &[LinkCount; 2])| {
            let links = [fabric.uplink(HostId(host)), fabric.downlink(HostId(host))];
            links
                .into_iter()
                .zip(*ways)
                .map(|(number, LinkCount { frames, bytes })| {
                    let link = fabric.link(number);
                    let wire = bytes + FRAMING * frames;
                    LinkRow {
                        link: number.0,
                        from: link.from.0,
                        to: link.to.0,
                        sent_packets: frames,
                        sent_bytes: wire,
                        busy_ps: link.spec.rate.time_for(Bytes::new(wire)).as_ps(),
                        // A virtual link has no queue.
                        max_queue_bytes: 0,
                        late_packets: 0,
                    }
                })
                .collect::<Vec<_>>()
        };
        let mut rows: Vec<LinkRow> = (0..).zip(&self.0).flat_map(of).collect();
        rows.sort_by_key(|row| row.link);
        rows
    }
}
