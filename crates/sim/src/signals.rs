//! Control frames on their way to the hosts: one after the other through an interface, obeyed after a reaction time.

use crate::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use timeplane_model::{Bytes, Duration, Fabric, HostId};
use timeplane_protocol::Pfc;
use timeplane_scenario::{Interfaces, ReactionTimes, SignalSpec};
use timeplane_workload::Streams;

/// The controller's interfaces, and how fast hosts obey.
#[derive(Debug)]
pub struct Signals {
    times: ReactionTimes,
    /// Line time of a control frame, and what passes before the next.
    frame: Duration,
    gap: Duration,
    /// Per host, the interface by which it is reached.
    interface: Vec<u32>,
    /// Per interface, when it can send again.
    free_at: Vec<SimTime>,
    draws: Xoshiro256PlusPlus,
}

impl Signals {
    /// Interfaces at rest. They are as fast as the hosts they reach.
    pub fn new(spec: SignalSpec, fabric: &Fabric, streams: &Streams) -> Self {
        let mut switches: Vec<u32> = Vec::new();
        let mut of = |h: u32| {
            let switch = match spec.interfaces {
                Interfaces::One => 0,
                Interfaces::PerEdgeSwitch => fabric.link(fabric.uplink(HostId(h))).to.0,
            };
            let known = switches.iter().position(|&s| s == switch);
            known.unwrap_or_else(|| {
                switches.push(switch);
                switches.len() - 1
            }) as u32
        };
        let interface: Vec<u32> = (0..fabric.hosts()).map(&mut of).collect();
        let rate = fabric.link(fabric.uplink(HostId(0))).spec.rate;
        Self {
            times: spec.reaction.times(),
            frame: rate.time_for(Bytes::new(u64::from(Pfc::WIRE_BYTES))),
            gap: spec.frame_gap,
            interface,
            free_at: vec![SimTime::ZERO; switches.len()],
            draws: streams.fast("control", 0, "reactions"),
        }
    }

    /// When a frame for `host` has left that is ready at `at`.
    pub fn departure(&mut self, at: SimTime, host: u32) -> SimTime {
        let free_at = &mut self.free_at[self.interface[host as usize] as usize];
        let departure = at.max(*free_at) + self.frame;
        *free_at = departure + self.gap;
        departure
    }

    /// When a host that has got a frame at `at` begins no more frames of the queue that it closes.
    pub fn off(&mut self, at: SimTime) -> SimTime {
        let (least, most) = (self.times.off_least, self.times.off_most);
        at + self.between(least, most)
    }

    /// When a host that has got a frame at `at` begins frames of the queue that it opens.
    pub fn on(&mut self, at: SimTime) -> SimTime {
        let (least, most) = (self.times.on_least, self.times.on_most);
        at + self.between(least, most)
    }

    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let uniform = (self.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        least + (most - least).scale(uniform)
    }
}
