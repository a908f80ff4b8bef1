//! Workloads of one collective operation among groups of hosts, repeated in steps.
//!
//! Checks that several workloads share are here, too.

use crate::emit::{EmitFault, Emitter};
use crate::error::WorkloadError;
use crate::graph::Work;
use crate::source::Facts;
use crate::steps::{Steps, groups};
use timeplane_model::{Bytes, Duration, Fabric};
use timeplane_scenario::{CollectiveSpec, MOST_STEPS};

fn value(key: &'static str, found: impl ToString, allowed: impl Into<String>) -> WorkloadError {
    WorkloadError::Value { key, found: found.to_string(), allowed: allowed.into() }
}

/// Checks the number of steps.
pub(crate) fn check_steps(key: &'static str, steps: u32) -> Result<(), WorkloadError> {
    if (1..=MOST_STEPS).contains(&steps) {
        return Ok(());
    }
    Err(value(key, steps, format!("1 to {MOST_STEPS}")))
}

/// Checks a scaling factor of times or sizes.
pub(crate) fn check_scale(key: &'static str, scale: f64) -> Result<(), WorkloadError> {
    if scale > 0.0 && scale <= 1e9 {
        return Ok(());
    }
    Err(value(key, scale, "above 0, at most 1e9"))
}

pub(crate) fn load(spec: &CollectiveSpec, fabric: &Fabric, mtu: Bytes) -> Result<(Steps, Facts), WorkloadError> {
    check_steps("workload.collective.steps", spec.steps)?;
    if spec.bytes == Bytes::ZERO {
        return Err(value("workload.collective.bytes", spec.bytes, "at least 1 B"));
    }
    if spec.compute.is_negative() {
        return Err(value("workload.collective.compute", spec.compute, "0 or more"));
    }
    let hosts = fabric.hosts();
    let size = spec.group.unwrap_or(hosts);
    let block = u64::from(size) * u64::from(spec.stride);
    if size < 2 || block == 0 || !u64::from(hosts).is_multiple_of(block) {
        let allowed =
            format!("at least 2 ranks, which times the stride, {}, divide the number of hosts, {hosts}", spec.stride);
        return Err(value("workload.collective.group", size, allowed));
    }
    let mut emitter = Emitter::default();
    let fault = |fault| match fault {
        EmitFault::Refused(allowed) => value("workload.collective.algorithm", format!("for {size} ranks"), allowed),
        EmitFault::Graph(fault) => value("workload.collective.bytes", spec.bytes, fault.allowed()),
    };
    for members in groups(hosts, size, spec.stride) {
        let entry = |emitter: &mut Emitter| emitter.graph.node(Work::Compute(spec.compute), None);
        let entries: Result<Vec<u32>, _> = members.iter().map(|_| entry(&mut emitter)).collect();
        let entries = entries.map_err(|e| fault(e.into()))?;
        emitter.collective(spec.operation, spec.algorithm, spec.bytes, &members, &entries).map_err(fault)?;
    }
    let graph = emitter.graph.finish().map_err(|e| fault(e.into()))?;
    let steps = Steps::new("workload.collective.steps", graph, spec.steps, fabric, mtu)?;
    let facts = facts("collective", &steps);
    Ok((steps, facts))
}

/// Facts of a workload of steps.
pub(crate) fn facts(kind: &'static str, steps: &Steps) -> Facts {
    let (flows, bytes) = steps.graph().transfers();
    let count = u64::from(steps.count());
    let coflows = steps.coflows();
    Facts {
        kind,
        flows: Some(flows * count),
        bytes: Some(bytes.saturating_mul(count)),
        mean_flow_bytes: if flows > 0 { bytes as f64 / flows as f64 } else { 0.0 },
        coflows: (coflows > 0).then_some(coflows),
        ..Facts::default()
    }
}

/// Scales a size: zero stays zero, and any other size stays at least one byte.
pub(crate) fn scaled(bytes: u64, scale: f64) -> u64 {
    if bytes == 0 || scale == 1.0 { bytes } else { ((bytes as f64 * scale).round() as u64).max(1) }
}

/// A computation of `units` times `ps` picoseconds, scaled; `None` if it is longer than 26 days.
pub(crate) fn computing(units: u64, ps: u64, scale: f64) -> Option<Duration> {
    let time = units as f64 * ps as f64 * scale;
    let exact = units.checked_mul(ps).filter(|_| scale == 1.0).and_then(|t| i64::try_from(t).ok());
    let ps = exact.or_else(|| (time < i64::MAX as f64 / 4.0).then_some(time.round() as i64))?;
    (ps <= crate::source::LATEST / 2).then(|| Duration::from_ps(ps))
}
