//! Control frames on their way to the hosts: one after the other through an interface, obeyed after a reaction time.

use crate::engine::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use timeplane_model::{Duration, Fabric};
use timeplane_scenario::{ReactionTimes, SignalSpec};
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
    /// Per host, when it has obeyed its last frame: it obeys them in the order in which they come.
    obeyed: Vec<SimTime>,
    draws: Xoshiro256PlusPlus,
}

impl Signals {
    /// Interfaces at rest, of so many controllers that are in charge of hosts. They are as fast as the hosts they reach.
    pub fn new(spec: SignalSpec, fabric: &Fabric, controllers: u32, streams: &Streams) -> Self {
        let interface = spec.interfaces_of(fabric, controllers);
        let interfaces = interface.iter().max().map_or(0, |most| *most as usize + 1);
        Self {
            times: spec.reaction.times(),
            frame: spec.frame_time(fabric),
            gap: spec.frame_gap,
            interface,
            free_at: vec![SimTime::ZERO; interfaces],
            obeyed: vec![SimTime::ZERO; fabric.hosts() as usize],
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

    /// The least time from when a closing frame is ready until a host obeys it, without its way.
    pub fn least_until_off(&self) -> Duration {
        self.frame + self.times.off_least
    }

    /// When a host that has got a frame at `at` begins no more frames of the queue that it closes.
    pub fn off(&mut self, at: SimTime, host: u32) -> SimTime {
        let (least, most) = (self.times.off_least, self.times.off_most);
        self.obey(at, host, least, most)
    }

    /// When a host that has got a frame at `at` begins frames of the queue that it opens.
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
