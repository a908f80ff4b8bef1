//! A shuffle: every host sends the same amount to every other.
//!
//! Jitter may delay each flow at random.

use crate::cdf::LARGEST;
use crate::error::WorkloadError;
use crate::numbers::below;
use crate::source::{Facts, FlowArrival, LATEST};
use crate::streams::Streams;
use timeplane_model::{Bytes, Duration, Fabric, HostId};
use timeplane_scenario::Shuffle;

#[derive(Debug)]
pub(crate) struct ShuffleSource {
    hosts: u32,
    bytes: Bytes,
    jitter: Duration,
}

/// Checks that a jitter is not negative and not too long.
pub(crate) fn check_jitter(key: &'static str, jitter: Duration) -> Result<(), WorkloadError> {
    if jitter.is_negative() || jitter.as_ps() > LATEST / 2 {
        return Err(WorkloadError::Value {
            key,
            found: jitter.to_string(),
            allowed: "0 or more, at most 26 days".into(),
        });
    }
    Ok(())
}

impl ShuffleSource {
    pub(crate) fn load(spec: &Shuffle, fabric: &Fabric) -> Result<(Self, Facts), WorkloadError> {
        check_jitter("workload.shuffle.jitter", spec.jitter)?;
        let hosts = fabric.hosts();
        let flows = u64::from(hosts) * (u64::from(hosts) - 1);
        let total = spec.bytes.get().checked_mul(flows).filter(|_| (1..=LARGEST).contains(&spec.bytes.get()));
        let Some(total) = total else {
            let allowed = "from 1 B to 1 PB, and less than 18 EB in all".to_owned();
            return Err(WorkloadError::Value { key: "workload.shuffle.bytes", found: spec.bytes.to_string(), allowed });
        };
        let facts = Facts {
            kind: "shuffle",
            flows: Some(flows),
            bytes: Some(total),
            mean_flow_bytes: spec.bytes.get() as f64,
            ..Facts::default()
        };
        Ok((Self { hosts, bytes: spec.bytes, jitter: spec.jitter }, facts))
    }

    /// What each host sends, and receives.
    pub(crate) const fn of_host(&self) -> Bytes {
        Bytes::new(self.bytes.get() * (self.hosts as u64 - 1))
    }

    /// All flows in listed order: in step k = 1, 2, ... every host i, in order, sends to host i + k
    /// modulo the hosts. So every step is a permutation.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowArrival> + Send + use<> {
        let Self { hosts, bytes, .. } = *self;
        (1..hosts).flat_map(move |k| {
            (0..hosts).map(move |i| FlowArrival {
                at: Duration::ZERO,
                source: HostId(i),
                destination: HostId(((u64::from(i) + u64::from(k)) % u64::from(hosts)) as u32),
                bytes,
                coflow: None,
            })
        })
    }

    pub(crate) fn arrivals(&self, seed: u64) -> Box<dyn Iterator<Item = FlowArrival> + Send + '_> {
        if self.jitter == Duration::ZERO {
            return Box::new(self.flows());
        }
        let streams = Streams::new(seed);
        let mut rngs: Vec<_> = (0..self.hosts).map(|h| streams.fast("workload", h.into(), "jitter")).collect();
        let mut flows: Vec<_> = self.flows().collect();
        for flow in &mut flows {
            flow.at = Duration::from_ps(below(&mut rngs[flow.source.index()], self.jitter.as_ps() as u64) as i64);
        }
        // The sort is stable: flows with equal times keep their listed order.
        flows.sort_by_key(|f| f.at);
        Box::new(flows.into_iter())
    }
}
