//! PFC frames from controllers to hosts.
//!
//! Frames leave one after the other through an interface of a controller. A host obeys each of them
//! after a reaction time, and in the order of arrival.

use crate::engine::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use timeplane_model::{Duration, Fabric};
use timeplane_scenario::{ReactionTimes, SignalSpec};
use timeplane_workload::Streams;

/// Interfaces of controllers, and reactions of hosts.
#[derive(Debug)]
pub struct Signals {
    times: ReactionTimes,
    /// Time of a frame on the line.
    frame: Duration,
    /// Idle time on the line between two frames.
    spacing: Duration,
    /// The interface that reaches each host.
    interface: Vec<u32>,
    /// When each interface can send again.
    free_at: Vec<SimTime>,
    /// When each host obeys its last frame.
    obeyed: Vec<SimTime>,
    draws: Xoshiro256PlusPlus,
}

impl Signals {
    /// Idle interfaces for this many relays, or for the one controller. They are as fast as the
    /// links of hosts.
    pub fn new(spec: SignalSpec, fabric: &Fabric, controllers: u32, streams: &Streams) -> Self {
        let interface = spec.interfaces_of(fabric, controllers);
        let interfaces = interface.iter().max().map_or(0, |most| *most as usize + 1);
        Self {
            times: spec.reaction.times(),
            frame: spec.frame_time(fabric),
            spacing: spec.frame_gap,
            interface,
            free_at: vec![SimTime::ZERO; interfaces],
            obeyed: vec![SimTime::ZERO; fabric.hosts() as usize],
            draws: streams.fast("control", 0, "reactions"),
        }
    }

    /// When a frame that is ready at `at` has left for a host.
    pub fn departure(&mut self, at: SimTime, host: u32) -> SimTime {
        let free_at = &mut self.free_at[self.interface[host as usize] as usize];
        let departure = at.max(*free_at) + self.frame;
        *free_at = departure + self.spacing;
        departure
    }

    /// The shortest time from a closing frame's being ready to its effect, without the latency.
    pub fn least_until_off(&self) -> Duration {
        self.frame + self.times.off_least
    }

    /// When a host that receives a closing frame at `at` stops to send from that queue.
    pub fn off(&mut self, at: SimTime, host: u32) -> SimTime {
        let (least, most) = (self.times.off_least, self.times.off_most);
        self.obey(at, host, least, most)
    }

    /// When a host that receives an opening frame at `at` starts to send from that queue.
    pub fn on(&mut self, at: SimTime, host: u32) -> SimTime {
        let (least, most) = (self.times.on_least, self.times.on_most);
        self.obey(at, host, least, most)
    }

    fn obey(&mut self, at: SimTime, host: u32, least: Duration, most: Duration) -> SimTime {
        let obeyed = (at + self.between(least, most)).max(self.obeyed[host as usize]);
        self.obeyed[host as usize] = obeyed;
        obeyed
    }

    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let uniform = (self.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        least + (most - least).scale(uniform)
    }
}
