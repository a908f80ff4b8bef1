//! What the controllers of slots, timeslots, rates and circuits and a proxy are told, from the keys of a scenario: the same in the simulator and on real hosts.

mod circuits;

pub use circuits::{circuit_algorithm, circuit_controller};

use crate::{
    PathColouring, PlanSpec, ProxyPolicy, RateEstimator, RateNormaliser, RatesSpec, SlotFill, SlotMetric, TdmaSpec,
    TimeslotsSpec,
};
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, HostId, LinkSpec, Node, Rate, Time};
use timeplane_protocol::{
    Estimator, MakeScheduler, Policy, PredictedConfig, ProactiveConfig, RateControllerConfig, RelayConfig,
    SignalConfig, SlotControllerConfig, Standby, Succession, TimeslotControllerConfig,
};
use timeplane_schedule::{Colouring, Fill, Metric, Normaliser, Schedulers, SlotParameters, UnknownScheduler};

/// What slots leave of the links to short flows.
pub fn background(spec: &PlanSpec) -> Rate {
    match spec {
        PlanSpec::Tdma(TdmaSpec { background: Some(b), .. }) => b.rate,
        _ => Rate::ZERO,
    }
}

/// The fabric as a plan knows it: what is left of the links.
pub fn planned_on(spec: &PlanSpec, fabric: &Arc<Fabric>) -> Arc<Fabric> {
    let background = background(spec);
    if background > Rate::ZERO { Arc::new(less(fabric, background)) } else { Arc::clone(fabric) }
}

/// What a relay is told, of the controller that plans so.
pub fn relay_config(spec: &TdmaSpec, number: u32, fabric: &Fabric) -> RelayConfig {
    RelayConfig {
        number,
        relays: spec.relays(),
        epoch: 0,
        control_latency: spec.control_latency,
        gather: spec.gather(),
        signals: signal_config(spec, fabric),
    }
}

/// One of two controllers of slots: the first or the second, which leads at once or follows.
///
/// # Errors
/// Where the scenario names a scheduler that is not there.
pub fn one_of_two(
    spec: &TdmaSpec,
    config: SlotControllerConfig,
    place: u32,
    leads: bool,
    schedulers: &Schedulers,
    fabric: &Arc<Fabric>,
) -> Result<Standby, UnknownScheduler> {
    let build = schedulers.factory(&spec.scheduler)?;
    let slots = config.slots;
    let make: MakeScheduler = Box::new(move || build(&slots));
    let succession = Succession { takeover: spec.takeover(), controllers: 2, place };
    let begin = if leads { Standby::leading } else { Standby::new };
    Ok(begin(config, succession, make, Arc::clone(fabric)))
}

/// A fabric whose links have so much less.
fn less(fabric: &Fabric, rate: Rate) -> Fabric {
    let slower =
        |spec: LinkSpec| LinkSpec { rate: Rate::bps(spec.rate.as_bps().saturating_sub(rate.as_bps())), ..spec };
    let switches = fabric.nodes().iter().filter_map(|n| match n {
        Node::Switch(switch) => Some(*switch),
        Node::Host(_) => None,
    });
    // Both directions of a wire are alike.
    let wires: Vec<_> = fabric.links().iter().step_by(2).map(|l| (l.from, l.to, slower(l.spec))).collect();
    Fabric::new(fabric.hosts(), switches.collect(), &wires).expect("a fabric of the same shape")
}

/// How a controller of slots signals; `None` where the hosts' clocks open gates.
pub fn signal_config(spec: &TdmaSpec, fabric: &Fabric) -> Option<SignalConfig> {
    let s = spec.signals?;
    let times = s.reaction.times();
    let skew = s.skew(fabric, spec.relays());
    let delay = spec.control_latency + s.frame_time(fabric) + (skew + times.on_least + times.on_most) / 2;
    Some(SignalConfig { hold: s.hold, slack: skew + times.off_most, delay })
}

/// What a controller of slots is told, of packets of `mtu` bytes.
pub fn slot_controller(spec: &TdmaSpec, fabric: &Fabric, mtu: u32) -> SlotControllerConfig {
    let frame = fabric.links().iter().map(|l| l.spec.framing.wire(mtu)).max().unwrap_or(mtu);
    let frame = Bytes::new(u64::from(frame));
    let slots = SlotParameters { open: spec.slot, gap: spec.guard, slots: spec.round_slots, frame };
    let signals = signal_config(spec, fabric);
    SlotControllerConfig {
        control_latency: spec.control_way(),
        compute_time: spec.compute_time,
        relays: spec.relays(),
        relay_error: spec.relay_error(),
        // Where frames open gates, no host's clock counts.
        clock_error: if signals.is_some() { Duration::ZERO } else { spec.clock_bound() },
        signals,
        receive_buffers: spec.receive.is_some(),
        ..SlotControllerConfig::new(slots)
    }
}

/// What a controller of timeslots is told, of packets of `mtu` bytes.
pub fn timeslot_controller(spec: &TimeslotsSpec, fabric: &Fabric, mtu: u32) -> TimeslotControllerConfig {
    let link = &fabric.link(fabric.uplink(HostId(0))).spec;
    let frame = Bytes::new(u64::from(link.framing.wire(mtu)));
    let slot = spec.slot.unwrap_or_else(|| link.rate.time_for(frame));
    TimeslotControllerConfig {
        epoch: 0,
        start: Time::ZERO,
        slot,
        slot_bytes: link.rate.bytes_in(slot),
        fill: match spec.fill {
            SlotFill::Packet => Fill::Packet,
            SlotFill::Packets => Fill::Packets,
            SlotFill::Fragments => Fill::Fragments,
        },
        metric: match spec.metric {
            SlotMetric::Ocf => Metric::Ocf,
            SlotMetric::Srjf => Metric::Srjf,
            SlotMetric::Mmf => Metric::Mmf,
        },
        colouring: match spec.colouring {
            PathColouring::EulerSplit => Colouring::EulerSplit,
            PathColouring::Paull => Colouring::Paull,
        },
        batch: spec.batch,
        ahead: spec.ahead.unwrap_or_else(|| spec.least_ahead()),
        compute_time: spec.compute_time,
        fallback: spec.report_every,
    }
}

/// What a controller of rates is told.
pub fn rate_controller(spec: &RatesSpec) -> RateControllerConfig {
    RateControllerConfig {
        epoch: 0,
        estimator: match spec.estimator {
            RateEstimator::Backlogged => Estimator::Backlogged,
            RateEstimator::Horizon(horizon) => Estimator::Horizon(horizon),
            RateEstimator::Arrivals(constant) => Estimator::Arrivals(constant),
        },
        normaliser: match spec.normaliser {
            RateNormaliser::ScaleBoth => Normaliser::ScaleBoth,
            RateNormaliser::ScaleDown => Normaliser::ScaleDown,
            RateNormaliser::MaxMin => Normaliser::MaxMin,
            RateNormaliser::Proportional => Normaliser::Proportional,
        },
        every: spec.every,
        compute_time: spec.compute_time,
        lease: spec.report_every * 10 + spec.control_latency * 2 + spec.compute_time,
        threshold_ppm: (spec.threshold * 1e6) as u32,
        fallback: spec.report_every,
    }
}

/// How a proxy decides on windows.
pub fn window_policy(policy: ProxyPolicy) -> Policy {
    match policy {
        ProxyPolicy::Reactive {} => Policy::Reactive,
        ProxyPolicy::Proactive(p) => {
            Policy::Proactive(ProactiveConfig { window: p.window, drop: p.drop as usize, ttr: p.ttr, growth: p.growth })
        }
        ProxyPolicy::Predicted(p) => Policy::Predicted(PredictedConfig { boldness: p.boldness }),
    }
}
