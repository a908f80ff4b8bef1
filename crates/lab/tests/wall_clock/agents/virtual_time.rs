//! The world in virtual time, which the protocol's own tests use too.

#[path = "../../../../protocol/tests/it/common/mod.rs"]
mod common;

use super::World;
use super::bodies::HOSTS;
use common::{SLOT_BYTES, World as Inner, parameters};
use timeplane_model::{Backlog, Duration, HostId};
use timeplane_protocol::{Address, BacklogReport, Input, Message, SignalConfig, SlotControllerConfig};

pub struct VirtualTime {
    inner: Inner,
    offered: u64,
    epochs: u32,
    standby: bool,
}

pub fn world(standby: bool) -> VirtualTime {
    let us = Duration::from_us;
    let signals = SignalConfig { hold: us(3_355), slack: us(7), delay: us(10) };
    let config = SlotControllerConfig {
        control_latency: us(14),
        signals: Some(signals),
        ..SlotControllerConfig::new(parameters())
    };
    let mut inner = Inner::new(HOSTS, config);
    if standby {
        inner.two_controllers(config.slots.round() * 2 + config.message_time() * 2);
    }
    VirtualTime { inner, offered: 0, epochs: 0, standby }
}

impl VirtualTime {
    /// A round in which every host sends to every other one.
    fn round() -> Duration {
        parameters().period() * i64::from(HOSTS - 1)
    }
}

impl World for VirtualTime {
    fn offer(&mut self, slots: u32) {
        let bytes = u64::from(slots) * SLOT_BYTES;
        for i in 0..HOSTS {
            for j in (0..HOSTS).filter(|j| *j != i) {
                *self.inner.hosts[i as usize].queues.entry(j).or_default() += bytes;
                self.offered += bytes;
            }
        }
    }
    fn run(&mut self, rounds: u32) {
        let until = Duration::from_ps(self.inner.now) + Self::round() * i64::from(rounds);
        self.inner.run(until, |_| false);
    }
    fn run_until_delivered(&mut self, most_rounds: u32) -> bool {
        let until = Duration::from_ps(self.inner.now) + Self::round() * i64::from(most_rounds);
        self.inner.run(until, |w| w.waiting() == 0);
        self.inner.waiting() == 0
    }
    fn delivered(&self) -> f64 {
        self.inner.sendings.iter().map(|s| s.bytes).sum::<u64>() as f64 / SLOT_BYTES as f64
    }
    fn foreign(&mut self) -> u64 {
        self.inner.overlaps().len() as u64
    }
    fn disturb(&mut self, lost: f64, again: f64) {
        self.inner.network.lost = (lost * 1000.0) as u64;
        self.inner.network.doubled = (again * 1000.0) as u64;
    }
    fn stale(&self) -> u64 {
        self.inner.counted(|h| h.stale)
    }
    fn kill_controller(&mut self) {
        self.inner.dead = true;
    }
    fn restart_controller(&mut self) {
        self.epochs += 1;
        if self.standby {
            let takeover = self.inner.config.slots.round() * 2 + self.inner.config.message_time() * 2;
            self.inner.controller = self.inner.follower(takeover, 0);
            self.inner.dead = false;
        } else {
            self.inner.restart_controller(self.epochs);
        }
    }
    fn kill_host(&mut self, host: u32) {
        for h in &mut self.inner.hosts {
            h.queues.remove(&host);
        }
        self.inner.hosts[host as usize].queues.clear();
        // What the controller's driver says of a host that has left.
        let now = self.inner.controller_clock.read(self.inner.now);
        let report = BacklogReport {
            epoch: 0,
            sequence: u64::MAX,
            taken_at: now,
            obeys: 0,
            heard: 0,
            backlog: Backlog::default(),
        };
        let input = Input::Message { from: Address::Host(HostId(host)), message: Message::Report(Box::new(report)) };
        self.inner.controller.handle(now, input, &mut Vec::new());
    }
    fn restart_host(&mut self, host: u32) {
        self.epochs += 1;
        self.inner.restart_host(host, self.epochs);
    }
}
